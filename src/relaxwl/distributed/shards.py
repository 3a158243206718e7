"""A folder of shards: a manifest, and parts of bounded size that are read one at a time.

A part is an ``npz`` archive of plain arrays (nothing in it is executed) with codes into its own label vocabulary; the
manifest has the vocabulary of all parts, so that a shard has the same codes as in the whole collection. Parts are
written atomically, and the manifest last, so that an interrupted writer resumes after the last complete part. The
unfinished manifest contains the mark of its writer; if another writer replaces it, the first one stops with an error.
While a writer checks its mark and enters a part, a file that it created exclusively keeps others out. Graphs are
released from memory only after they are listed in the manifest, so that a caller who continues after a full disk loses
none.
"""

import contextlib
import json
import os
import platform
import secrets
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from relaxwl._memory import MemoryRefusal, check_memory
from relaxwl._storage import (
    BYTES_PER_BYTE,
    FREE_BYTES,
    TEMPORARY_SUFFIX,
    atomic_write,
    is_readable,
    require_regular,
    sha256,
)
from relaxwl._validation import as_generator, check_integer, counted, plain_targets
from relaxwl.datasets.smiles import MoleculeCollection, check_sizes
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import prefix_sums
from relaxwl.graphs.building import check_clean
from relaxwl.graphs.labels import Vocabulary, match_codes, plain_label, sort_labels

FORMAT, VERSION = "relaxwl shards", 1
MANIFEST = "manifest.json"
# Manifest of a writer that has not finished.
UNFINISHED = "manifest.unfinished.json"
# File that a writer creates exclusively while it enters a part: it holds the writer's machine and process number.
LOCK = "manifest.lock"
# Maximum sizes of a part and of an attribute vector in a manifest.
MAX_NODES, MAX_EDGES, MAX_ATTRIBUTES = 2**31 - 1, 2**40, 2**20
# Bytes of memory of a manifest per byte of its file, and exceptions that a malicious file may cause.
MANIFEST_BYTES = 20
# Seconds to wait for another writer, which may have been stopped while it was writing a part.
WAIT_SECONDS = 60.0
DAMAGE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
# Graphs and their targets.
Batch = tuple[GraphCollection, NDArray[Any] | None]
ARRAYS = ("offsets", "indptr", "indices", "node_codes", "edge_codes", "node_attributes", "edge_attributes")


class ShardError(ValueError):
    """A folder of shards that cannot be used; the message names the file."""


@dataclass(frozen=True)
class PartRecord:
    """The entry of one part in the manifest."""

    name: str
    n_graphs: int
    n_nodes: int
    n_edges: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The manifest of a folder of shards.

    ``target`` is the kind of ``y`` (as in ``dtype.kind``), or None without targets. ``writer`` is the mark of the
    current writer, None if the folder is complete.
    """

    parts: tuple[PartRecord, ...] = ()
    node_vocabulary: Vocabulary | None = None
    edge_vocabulary: Vocabulary | None = None
    n_node_attributes: int | None = None
    n_edge_attributes: int | None = None
    directed: bool = False
    target: str | None = None
    writer: str | None = None

    def grown(self, part: PartRecord, graphs: GraphCollection, y: NDArray[Any] | None) -> "Manifest":
        """Return the manifest with one more part; a part with other labels or attributes raises an error."""
        described = _described(graphs, y)
        if not self.parts:
            return replace(described, parts=(part,), writer=self.writer)
        known = self.agreeing(described, *self._sizes)
        described = described.agreeing(known, part.n_graphs, part.n_nodes, part.n_edges)
        for field in ("n_node_attributes", "n_edge_attributes", "directed", "target"):
            before, now = getattr(known, field), getattr(described, field)
            if before != now:
                raise ShardError(
                    f"all graphs must agree: {field} was {before} so far, and is {now} from {part.name} on"
                )
        return replace(
            known,
            parts=(*self.parts, part),
            node_vocabulary=_joined("node", known.node_vocabulary, described.node_vocabulary, part.name),
            edge_vocabulary=_joined("edge", known.edge_vocabulary, described.edge_vocabulary, part.name),
        )

    @property
    def _sizes(self) -> tuple[int, ...]:
        """Number of graphs, nodes and edges."""
        return tuple(sum(getattr(part, name) for part in self.parts) for name in ("n_graphs", "n_nodes", "n_edges"))

    def agreeing(self, other: "Manifest", n_graphs: int, n_nodes: int, n_edges: int) -> "Manifest":
        """Return the manifest with the fields of ``other`` that cannot be known without graphs, nodes or edges."""
        borrowed = [
            *([] if n_graphs else ["directed"]),
            *([] if n_nodes else ["node_vocabulary", "n_node_attributes"]),
            *([] if n_edges else ["edge_vocabulary", "n_edge_attributes"]),
        ]
        return replace(self, **{name: getattr(other, name) for name in borrowed})

    def write(self, path: Path) -> None:
        """Write the manifest atomically."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        if self.writer is None:
            del content["writer"]
        with atomic_write(path) as file:
            file.write(json.dumps(content, indent=1).encode())

    @classmethod
    def read(cls, path: Path) -> "Manifest":
        """Read and validate a manifest."""
        try:
            check_memory(MANIFEST_BYTES * require_regular(path), f"reading {path}", "is it a manifest?")
            content = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise ShardError(f"{path.parent} is not a folder of shards: there is no {path.name} in it") from None
        except (OSError, ValueError, RecursionError) as error:
            raise ShardError(f"{path} cannot be read: {error}") from None
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise ShardError(f"{path} is not the manifest of a folder of shards")
        version = content.pop("version", None)
        if version != VERSION:
            raise ShardError(f"{path} has version {version!r}; this relaxwl reads version {VERSION}")
        try:
            return _checked(cls(**content))
        except DAMAGE as error:
            raise ShardError(f"{path} is damaged: {str(error) or type(error).__name__}") from None


class ShardWriter:
    """Writer of graphs into a folder of shards.

    Parameters
    ----------
    folder : path
        Created if it does not exist. The folder of an interrupted writer is continued: ``n_written`` is the number of
        graphs in it, which the caller skips. If two writers use a folder at the same time, the first one stops with an
        error. Threads and processes do not share a writer.
    graphs_per_shard : int, default=10_000
        Number of graphs of each shard but the last. A worker holds a few shards at a time; 100,000 to
        1,000,000 nodes per shard are a good size.

    See Also
    --------
    ShardedCollection : Read a folder of shards.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(20, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     with ShardWriter(folder, graphs_per_shard=8) as writer:
    ...         writer.add(graphs, y)
    ...     shards = ShardedCollection.open(folder)
    ...     print(shards, shards.to_collection() == graphs)
    ShardedCollection(20 graphs in 3 shards, 2815 nodes, 12148 edges) True
    """

    def __init__(self, folder: str | os.PathLike[str], graphs_per_shard: int = 10_000) -> None:
        self.folder = Path(folder)
        self.graphs_per_shard = check_integer("graphs_per_shard", graphs_per_shard, least=1)
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = self.folder / UNFINISHED
        with _locked(self.folder):
            if (self.folder / MANIFEST).exists():
                raise ShardError(
                    f"{self.folder} holds finished shards already; give another folder, or remove it first"
                )
            found = Manifest.read(unfinished) if unfinished.exists() else Manifest()
            self._manifest = replace(found, writer=secrets.token_hex(8))
            self._manifest.write(unfinished)
            clear_leftovers(self.folder)
        self._waiting: list[Batch] = []
        self._n_waiting = 0
        self._process = os.getpid()

    def __reduce__(self) -> Any:
        raise TypeError("a ShardWriter cannot be copied or sent to other processes; use a separate folder for each")

    @property
    def n_written(self) -> int:
        """Number of graphs that are stored in the folder."""
        return self.written.n_graphs

    @property
    def written(self) -> "ShardedCollection":
        """The graphs that are stored in the folder."""
        return ShardedCollection(self.folder, self._manifest)

    def add(self, graphs: GraphCollection, y: ArrayLike | None = None) -> None:
        """Append graphs, with their targets if there are any.

        If writing fails, as on a full disk, the graphs are kept and written later: continue with the next graphs or
        with :meth:`finish`, and do not add the same graphs again.

        Parameters
        ----------
        graphs : GraphCollection
            The graphs.
        y : array-like (n_graphs,), optional
            Their targets.
        """
        target = None if y is None else plain_targets(y, len(graphs))
        if any((other is None) != (target is None) for _, other in self._waiting[:1]):
            raise ValueError("y must be given for all graphs or for none")
        self._waiting.append((graphs, target))
        self._n_waiting += len(graphs)
        while self._n_waiting >= self.graphs_per_shard:
            self._write(self.graphs_per_shard)

    def finish(self) -> "ShardedCollection":
        """Write the remaining graphs and the manifest, which completes the folder.

        Returns
        -------
        ShardedCollection
            The graphs of the folder.
        """
        if self._n_waiting or not self._manifest.parts:
            self._write(self._n_waiting)
        with _locked(self.folder):
            self._check_alone()
            self._manifest = replace(self._manifest, writer=None)
            self._manifest.write(self.folder / MANIFEST)
            (self.folder / UNFINISHED).unlink(missing_ok=True)
        return ShardedCollection(self.folder, self._manifest)

    def _write(self, n_graphs: int) -> None:
        graphs, y, rest = self._taken(n_graphs)
        name = _part_name(len(self._manifest.parts))
        with contextlib.ExitStack() as stack:
            with atomic_write(self.folder / name) as file:
                # Not compressed, because unpacking a part at each depth would take longer than all other work on it.
                np.savez(file, **_arrays(graphs, y))  # type: ignore[arg-type]
                stack.enter_context(_locked(self.folder))
                self._check_alone()
            part = PartRecord(name, len(graphs), graphs.n_nodes, graphs.n_edges, sha256(self.folder / name))
            grown = self._manifest.grown(part, graphs, y)
            grown.write(self.folder / UNFINISHED)
        self._manifest, self._waiting, self._n_waiting = grown, rest, self._n_waiting - n_graphs

    def _check_alone(self) -> None:
        """Raise an error if another writer has taken the folder, or if this is a copy in a forked child."""
        path, is_copy = self.folder / UNFINISHED, os.getpid() != self._process
        if is_copy or not path.exists() or Manifest.read(path).writer != self._manifest.writer:
            raise _not_alone(self.folder)

    def _taken(self, n_graphs: int) -> tuple[GraphCollection, NDArray[Any] | None, list[Batch]]:
        """Return the first pending graphs, and what is pending behind them."""
        taken: list[Batch] = []
        rest, left = self._waiting.copy(), n_graphs
        while left:
            graphs, y = rest.pop(0)
            if len(graphs) > left:
                rest.insert(0, (graphs[left:], None if y is None else y[left:]))
                graphs, y = graphs[:left], None if y is None else y[:left]
            taken.append((graphs, y))
            left -= len(graphs)
        targets = [y for _, y in taken if y is not None]
        joined = MoleculeCollection.concatenate(graphs for graphs, _ in taken)
        return joined, np.concatenate(targets) if targets else None, rest

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()


class ShardedCollection(Sequence[GraphCollection]):
    """Graphs in a folder of shards; a sequence of shards, each a :class:`relaxwl.GraphCollection`.

    Open a folder with :meth:`open`; write one with :class:`ShardWriter` or ``relaxwl shard``. A slice contains the
    selected shards. Shards are read lazily, and their checksums are verified.

    Parameters
    ----------
    folder : path
        The folder.
    manifest : Manifest
        Its manifest; :meth:`open` reads it.

    See Also
    --------
    ShardWriter : Write a folder of shards.
    predict : Predictions for all graphs.
    transform : Features of all graphs.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from relaxwl.datasets import make_egonets
    >>> with TemporaryDirectory() as folder:
    ...     with ShardWriter(folder, graphs_per_shard=8) as writer:
    ...         writer.add(*make_egonets(20, random_state=0))
    ...     shards = ShardedCollection.open(folder)
    ...     [len(shard) for shard in shards]
    [8, 8, 4]
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> "ShardedCollection":
        """Open a folder; its manifest is read and checked, the shards are not.

        Parameters
        ----------
        folder : path
            The folder.

        Returns
        -------
        ShardedCollection
            The graphs of the folder.
        """
        path = Path(folder)
        if not (path / MANIFEST).exists() and (path / UNFINISHED).exists():
            raise ShardError(f"{path} is incomplete: run the command that writes it again to resume")
        return cls(path, Manifest.read(path / MANIFEST))

    def __len__(self) -> int:
        return len(self.manifest.parts)

    @property
    def n_graphs(self) -> int:
        """Number of graphs in all shards."""
        return sum(part.n_graphs for part in self.manifest.parts)

    @property
    def n_nodes(self) -> int:
        """Number of nodes in all shards."""
        return sum(part.n_nodes for part in self.manifest.parts)

    @property
    def n_edges(self) -> int:
        """Number of edges in all shards."""
        return sum(part.n_edges for part in self.manifest.parts)

    @property
    def y(self) -> NDArray[Any] | None:
        """The targets of all graphs, read from all parts; None if there are none."""
        if self.manifest.target is None:
            return None
        nothing = np.empty(
            0, f"{self.manifest.target}1" if self.manifest.target in "bU" else f"{self.manifest.target}8"
        )
        return np.concatenate([nothing, *(self._targets(part) for part in self.manifest.parts)])

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of all graphs, read from all parts; None if some graphs have none."""
        found = [self._read(part, again=True).names for part in self.manifest.parts]
        return None if None in found else tuple(name for names in found for name in names or ())

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return ShardedCollection(self.folder, replace(self.manifest, parts=self.manifest.parts[key]))
        return self._read(self.manifest.parts[key])

    def __iter__(self) -> Iterator[GraphCollection]:
        return (self._read(part) for part in self.manifest.parts)

    def singles(self) -> "list[ShardedCollection]":
        """Return collections of one shard each, which are small to send.

        Returns
        -------
        list of ShardedCollection
            The collections.
        """
        return [self[index : index + 1] for index in range(len(self))]

    def nothing(self) -> GraphCollection:
        """Return an empty collection with the labels and attributes of the shards.

        Returns
        -------
        GraphCollection
            A collection without graphs.
        """
        return _recoded(GraphCollection([0], [0], [], directed=self.manifest.directed), self.manifest)

    def to_collection(self) -> GraphCollection:
        """Return all graphs as one collection in memory.

        Returns
        -------
        GraphCollection
            The graphs, in order.
        """
        return MoleculeCollection.concatenate(self)

    def sample(self, n_graphs: int, random_state: Any = 0) -> tuple[GraphCollection, NDArray[Any] | None]:
        """Return some graphs, drawn at random, in order, and their targets; shards are read one at a time.

        A model that is fitted to a sample is applied to all graphs by :func:`relaxwl.distributed.predict` and
        ``kernel.transform(shards)``.

        Parameters
        ----------
        n_graphs : int
            Number of graphs, or all if there are fewer.
        random_state : int or Generator, default=0
            Seeds the draw.

        Returns
        -------
        graphs : GraphCollection
            The graphs.
        y : array (n_graphs,) or None
            Their targets.
        """
        wanted = min(check_integer("n_graphs", n_graphs), self.n_graphs)
        chosen = np.sort(as_generator(random_state).choice(self.n_graphs, wanted, replace=False))
        starts = prefix_sums(np.array([part.n_graphs for part in self.manifest.parts], np.int64))
        graphs, targets = [self.nothing()], []
        if self.manifest.target is not None:
            targets = [self[:0].y]
        for part, (start, stop) in zip(self.manifest.parts, pairwise(starts), strict=True):
            mine = chosen[(chosen >= start) & (chosen < stop)] - start
            if len(mine):
                graphs.append(self._read(part)[mine])
            if len(mine) and self.manifest.target is not None:
                targets.append(self._targets(part)[mine])
        return MoleculeCollection.concatenate(graphs), np.concatenate(targets) if targets else None

    # Kernels do not import this module; they call these methods of the collection instead.

    def fit_kernel(self, kernel: Any) -> None:
        """Fit a kernel to all graphs, for ``kernel.fit(shards)``.

        Parameters
        ----------
        kernel : graph kernel
            The kernel to fit.
        """
        from relaxwl.distributed.fitting import fit

        fit(kernel, self)

    def fit_features(self, blocks: Any, verbose: int = 0) -> Any:
        """Fit the views of a predictor, for ``predictor.fit(shards)``.

        Parameters
        ----------
        blocks : KernelBlocks
            The views to fit.
        verbose : int, default=0
            1 logs progress.

        Returns
        -------
        context manager
            It returns the features of all shards (``ShardRows``), for linear models.
        """
        from relaxwl.distributed.learning import fit_features

        return fit_features(blocks, self, verbose)

    def transform_by(self, kernel: Any) -> Any:
        """Return the features of all graphs as a Dask array, for ``kernel.transform(shards)``.

        Parameters
        ----------
        kernel : fitted kernel
            The kernel.

        Returns
        -------
        dask.array.Array (n_graphs, n_features)
            The features, a block per shard.
        """
        from relaxwl.distributed.applying import transform

        return transform(kernel, self)

    def __repr__(self) -> str:
        return (
            f"ShardedCollection({counted(self.n_graphs, 'graph')} in {counted(len(self), 'shard')}, "
            f"{counted(self.n_nodes, 'node')}, {counted(self.n_edges, 'edge')})"
        )

    def read_again(self, index: int) -> GraphCollection:
        """Return a shard that was read before, without checking its graphs again.

        Parameters
        ----------
        index : int
            Number of the shard.

        Returns
        -------
        GraphCollection
            The graphs of the shard.
        """
        return self._read(self.manifest.parts[index], again=True)

    def _read(self, part: PartRecord, again: bool = False) -> GraphCollection:
        arrays = self._load(part)
        try:
            present: dict[str, Any] = {name: _typed(name, arrays[name]) for name in ARRAYS if name in arrays}
            for kind in ("node", "edge"):
                if f"{kind}_vocabulary" in arrays and f"{kind}_codes" not in arrays:
                    raise ValueError(f"{kind}_codes are missing")
            graphs = GraphCollection(
                **present,
                directed=self.manifest.directed,
                node_vocabulary=_labels(_json(arrays, "node_vocabulary")),
                edge_vocabulary=_labels(_json(arrays, "edge_vocabulary")),
                names=_texts(arrays, "names", part.n_graphs),
            )
            if not again:
                check_clean(graphs)
            if (len(graphs), graphs.n_nodes, graphs.n_edges) != (part.n_graphs, part.n_nodes, part.n_edges):
                raise ValueError(f"it differs from the manifest: {graphs!r}")
            graphs, smiles = _recoded(graphs, self.manifest), _texts(arrays, "smiles", part.n_graphs)
            check_sizes(smiles or (), graphs.node_counts)
            return graphs if smiles is None else MoleculeCollection.of(graphs, [text or None for text in smiles])
        except DAMAGE as error:
            raise ShardError(f"{self.folder / part.name} is damaged: {str(error) or type(error).__name__}") from None

    def _targets(self, part: PartRecord) -> NDArray[Any]:
        y = self._load(part).get("y")
        if y is None or y.shape != (part.n_graphs,) or y.dtype.kind != self.manifest.target:
            raise ShardError(f"{self.folder / part.name} is damaged: it must have a target for each of its graphs")
        return y

    def _load(self, part: PartRecord) -> dict[str, NDArray[Any]]:
        path = self.folder / part.name
        try:
            if sha256(path) != part.sha256:
                raise ShardError(f"{path} is damaged: it does not match its checksum; write it again")
            _check_unpacked(path)
            with np.load(path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            if not all(isinstance(array, np.ndarray) for array in arrays.values()):  # NumPy returns others as bytes
                raise ValueError("it has members that are not arrays")
            return arrays
        except FileNotFoundError:
            raise ShardError(f"{path} is missing; the manifest names it, and all workers must see it") from None
        except (ShardError, MemoryRefusal):
            raise
        except Exception as error:  # NumPy and zipfile raise various exceptions for malicious files
            raise ShardError(f"{path} cannot be read: {error}") from None


# --------------------------------------------------------------------------------------------------------- inside


def clear_leftovers(folder: Path) -> None:
    """Remove temporary files of killed writers, and in a finished folder their manifest and lock."""
    left = list(folder.glob(f".*{TEMPORARY_SUFFIX}"))
    if (folder / MANIFEST).exists():
        left += [folder / UNFINISHED, *([folder / LOCK] if _is_left(folder / LOCK) else [])]
    for path in left:
        with contextlib.suppress(OSError):  # on Windows, another writer may have it open
            path.unlink(missing_ok=True)


def _not_alone(folder: Path) -> ShardError:
    left = f", or remove {LOCK} in it if none is" if (folder / LOCK).exists() else ""
    return ShardError(f"another process is writing to {folder}; use a separate folder for each{left}")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other writers out of a folder; wait for a while if there is one."""
    path, end = folder / LOCK, time.monotonic() + WAIT_SECONDS
    while True:
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(f"{os.getpid()} {platform.node()}")
            break
        except FileExistsError:
            if _is_left(path):
                path.unlink(missing_ok=True)
            elif time.monotonic() > end:  # the other one was stopped, or runs on another machine and was killed
                raise _not_alone(folder) from None
            else:
                time.sleep(0.01)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _is_left(path: Path) -> bool:
    """Whether the process that created a lock on this machine has ended."""
    try:
        number, machine = path.read_text(encoding="utf-8").split(" ", 1)
        if os.name == "posix" and machine == platform.node():  # on Windows, a signal would end the process
            os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):  # it is being written or removed, or belongs to another user
        return False
    return False


def _check_unpacked(path: Path) -> None:
    """Raise an error if a part would decompress to far more than its size or the available memory."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    total = sum(member.file_size for member in members)
    if not all(map(is_readable, members)) or total > FREE_BYTES + BYTES_PER_BYTE * path.stat().st_size:
        raise ShardError(f"{path} is not a part of a folder of shards: it would unpack to {total / 2**20:.0f} MiB")
    check_memory(2.0 * total, f"reading {path}", "write smaller shards (graphs_per_shard)")


def _described(graphs: GraphCollection, y: NDArray[Any] | None) -> Manifest:
    """Return the fields of a manifest that describe these graphs."""
    nodes, edges = graphs.node_attributes, graphs.edge_attributes
    return Manifest(
        (),
        _used(graphs.node_codes, graphs.node_vocabulary),
        _used(graphs.edge_codes, graphs.edge_vocabulary),
        None if nodes is None else nodes.shape[1],
        None if edges is None else edges.shape[1],
        bool(getattr(graphs, "directed", False)),
        None if y is None else y.dtype.kind,
    )


def _used(codes: NDArray[Any] | None, vocabulary: Vocabulary | None) -> Vocabulary | None:
    """Return the labels that occur, in order."""
    if codes is None or vocabulary is None:
        return None
    return tuple(vocabulary[code] for code in np.unique(codes))


def _joined(kind: str, before: Vocabulary | None, now: Vocabulary | None, name: str) -> Vocabulary | None:
    if (before is None) != (now is None):
        raise ShardError(f"all graphs must agree: some have {kind} labels and some, from {name} on, have not")
    return None if before is None or now is None else sort_labels([*before, *now])


def _arrays(graphs: GraphCollection, y: NDArray[Any] | None) -> dict[str, NDArray[Any]]:
    """Return the arrays of a part; vocabularies are stored as JSON."""
    arrays = {name: getattr(graphs, name) for name in ARRAYS if getattr(graphs, name) is not None}
    texts = {name: getattr(graphs, name) for name in ("node_vocabulary", "edge_vocabulary", "names")}
    sources = getattr(graphs, "sources", [None])
    if any(sources) and all(source is None or isinstance(source, str) for source in sources):
        texts["smiles"] = [source or "" for source in sources]
    for name, value in texts.items():
        if value is not None:
            arrays[name] = np.frombuffer(json.dumps(value).encode(), np.uint8)
    return arrays if y is None else {**arrays, "y": y}


def _typed(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array after checking its type."""
    wanted = np.float64 if name.endswith("attributes") else np.int64 if name in ("offsets", "indptr") else np.int32
    if array.dtype != wanted:
        raise ValueError(f"{name} must be of type {np.dtype(wanted).name}, not {array.dtype}")
    return array


def _json(arrays: dict[str, NDArray[Any]], name: str) -> Any:
    """Return the JSON value in an array of bytes, or None if there is none."""
    return None if name not in arrays else json.loads(arrays[name].tobytes())


def _texts(arrays: dict[str, NDArray[Any]], name: str, n_graphs: int) -> list[str] | None:
    """Return the names or SMILES of the graphs of a part, or None if it has none."""
    texts = _json(arrays, name)
    if texts is None:
        return None
    if not isinstance(texts, list) or len(texts) != n_graphs or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name} must be a text for each of its {n_graphs} graphs")
    return texts


def _recoded(graphs: GraphCollection, manifest: Manifest) -> GraphCollection:
    """Return the graphs with codes into the vocabulary of the whole collection."""
    values: dict[str, Any] = {name: getattr(graphs, name) for name in ARRAYS}
    for kind, n_carriers in (("node", graphs.n_nodes), ("edge", len(graphs.indices))):
        own, known = getattr(graphs, f"{kind}_vocabulary"), getattr(manifest, f"{kind}_vocabulary")
        width = getattr(manifest, f"n_{kind}_attributes")
        if n_carriers == 0:
            values[f"{kind}_codes"] = None if known is None else np.empty(0, np.int32)
            values[f"{kind}_attributes"] = None if width is None else np.empty((0, width))
        elif width != (None if values[f"{kind}_attributes"] is None else values[f"{kind}_attributes"].shape[1]):
            raise ValueError(f"{kind} attributes of the part and of the manifest differ in number")
        elif (own is None) != (known is None):
            raise ValueError(f"{kind} labels are in the part or in the manifest, but not in both")
        elif own is not None:
            matched = match_codes(own, known)
            values[f"{kind}_codes"] = matched[values[f"{kind}_codes"]]
            if values[f"{kind}_codes"].max(initial=-1) >= len(known):
                raise ValueError(f"it has {kind} labels that the manifest lacks")
        values[f"{kind}_vocabulary"] = known
    return graphs.with_parts(**values)


def _checked(manifest: Manifest) -> Manifest:
    """Return a validated manifest from JSON data."""
    if not isinstance(manifest.parts, list):
        raise ValueError("parts must be a list")
    if not manifest.parts and manifest.writer is None:
        raise ValueError("it names no parts")
    names = {field.name for field in fields(PartRecord)}
    parts = []
    for index, part in enumerate(manifest.parts):
        if not isinstance(part, dict) or set(part) != names:
            raise ValueError(f"part {index} must have {', '.join(sorted(names))}")
        _check_part(part, index)
        parts.append(PartRecord(**part))
    for name in ("n_node_attributes", "n_edge_attributes"):
        if getattr(manifest, name) is not None:
            check_integer(name, getattr(manifest, name), 0, MAX_ATTRIBUTES)
    if manifest.target not in (None, *"biufU") or not isinstance(manifest.directed, bool):
        raise ValueError("target or directed has a value that is not allowed")
    if manifest.writer is not None and not isinstance(manifest.writer, str):
        raise ValueError("writer must be a text")
    return replace(
        manifest,
        parts=tuple(parts),
        node_vocabulary=_labels(manifest.node_vocabulary),
        edge_vocabulary=_labels(manifest.edge_vocabulary),
    )


def _check_part(part: dict[str, Any], index: int) -> None:
    for name, most in (("n_graphs", MAX_NODES), ("n_nodes", MAX_NODES), ("n_edges", MAX_EDGES)):
        check_integer(f"{name} of part {index}", part[name], 0, most)
    if part["name"] != _part_name(index) or not isinstance(part["sha256"], str):
        raise ValueError(f"part {index} must be {_part_name(index)}, with its checksum")


def _part_name(index: int) -> str:
    return f"part-{index:06d}.npz"


def _labels(values: Any) -> Vocabulary | None:
    """Return the labels of a file, after checking that they are distinct and sorted."""
    if values is None:
        return None
    if not isinstance(values, list):
        raise ValueError("labels must be a list")
    labels = tuple(plain_label(value) for value in values)
    if labels != sort_labels(labels):
        raise ValueError("labels must be distinct and in order")
    return labels
