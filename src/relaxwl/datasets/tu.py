"""Reading data sets in the layout of the TU collection: NAME_A.txt, NAME_graph_indicator.txt and so on."""

import contextlib
import io
import logging
import lzma
import os
import struct
import zipfile
import zlib
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl import _storage
from relaxwl._memory import check_memory
from relaxwl._storage import atomic_write, is_readable, member_pieces, require_regular
from relaxwl._validation import plain_targets, warn_user
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.graphs.arrays import Float64, Int64, prefix_sums
from relaxwl.graphs.building import assemble
from relaxwl.graphs.labels import Label, plain_label

logger = logging.getLogger(__name__)

OPTIONAL = ("graph_labels", "graph_attributes", "node_labels", "node_attributes", "edge_labels", "edge_attributes")
# Exceptions of the zip reader on damaged, truncated or encrypted files; a damaged directory may point anywhere.
ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, OSError, RuntimeError, ValueError, LookupError, OverflowError, MemoryError),
)
# Measured bytes of memory per graph, node and edge while graphs are made from tables, and per byte of a table.
BYTES_PER_LINE, BYTES_PER_BYTE = 64, 3
# Maximum number of columns of labels, few enough to be compared as one value.
MAX_LABEL_COLUMNS = 2**20
# Bound below which all integers are exact as float64.
MAX_EXACT_INTEGER = 2**53
# Characters in files of integers, and of other numbers.
PLAIN_INTEGERS = b"0123456789,+- \t\r\n"
PLAIN = PLAIN_INTEGERS + b".eEnaiftyNAIFTY"


class TUFormatError(ValueError):
    """A data set that does not follow the TU layout; the message names the file and the line."""


@dataclass(frozen=True, eq=False)
class TUDataset:
    """Content of the files of a TU data set.

    Attributes
    ----------
    name : str
        The NAME in NAME_A.txt.
    graphs : GraphCollection
        The graphs with their labels and attributes.
    y : array or None
        The class of each graph as an integer from 0 to C-1, in the order of the values in the file. Without classes
        (a regression data set) the graph attributes, as a vector if there is one a graph. Without either, None.
    classes : tuple of int or None
        The values in NAME_graph_labels.txt that the classes 0 to C-1 stand for; None without that file.
    graph_attributes : float array, shape (n_graphs, d), or None
        The content of NAME_graph_attributes.txt; None without that file.
    optional_files : tuple of str
        Optional files that were found and read, such as ``"node_labels"``; files with a misspelled name are not found.
    """

    name: str
    graphs: GraphCollection
    y: NDArray[Any] | None
    classes: tuple[int, ...] | None
    graph_attributes: Float64 | None
    optional_files: tuple[str, ...] = ()


def load_tu(
    path: str | os.PathLike[str], *, ignore: Collection[str] = (), directed: bool = False
) -> tuple[GraphCollection, NDArray[Any]]:
    r"""Read a data set in TU layout from a folder or a zip file.

    Parameters
    ----------
    path : path
        A folder with NAME_A.txt, NAME_graph_indicator.txt, NAME_graph_labels.txt and, where there are any, the files
        of labels and attributes; or a folder or a zip file with such a folder inside.
    ignore : collection of str, default=()
        Optional files to ignore, such as ``{"edge_attributes"}``.
    directed : bool, default=False
        Whether a line ``i, j`` is an arc from ``i`` to ``j``; else it is an edge between the two.

    Returns
    -------
    graphs : GraphCollection
        Edges may be listed once or twice; self-loops and repetitions are dropped. Several columns of labels give
        tuples.
    y : array, shape (n_graphs,)
        Classes 0 to C-1 in the order of their values in the file, which :func:`read_tu` returns. For a regression data
        set, which has graph attributes and no classes, the attributes (two-dimensional if there are several).

    Raises
    ------
    TUFormatError
        A ValueError that names the file and the line.

    See Also
    --------
    read_tu : Also return the values of classes, graph attributes and the names of the files.
    fetch_tu : Download a data set of the public collection.
    write_tu : Write a data set.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> for kind, text in {"A": "1, 2", "graph_indicator": "1 1 2", "graph_labels": "1 -1"}.items():
    ...     lines = [text] if kind == "A" else text.split()
    ...     _ = Path(folder.name, f"TOY_{kind}.txt").write_text("\n".join(lines))
    >>> graphs, y = load_tu(folder.name)
    >>> graphs
    GraphCollection(2 graphs, 3 nodes, 1 edge)
    >>> y
    array([1, 0])
    >>> folder.cleanup()
    """
    dataset = read_tu(path, ignore=ignore, directed=directed)
    if dataset.y is None:
        raise TUFormatError(
            f"{os.fspath(path)}: neither {dataset.name}_graph_labels.txt nor {dataset.name}_graph_attributes.txt is "
            "there, so the graphs have no y; read_tu(path).graphs reads the graphs alone"
        )
    return dataset.graphs, dataset.y


def read_tu(path: str | os.PathLike[str], *, ignore: Collection[str] = (), directed: bool = False) -> TUDataset:
    r"""Read a data set in TU layout with everything that its files contain.

    Parameters
    ----------
    path : path
        A folder or a zip file, as in :func:`load_tu`.
    ignore : collection of str, default=()
        Optional files to ignore, such as ``{"edge_attributes"}``.
    directed : bool, default=False
        Whether a line ``i, j`` is an arc from ``i`` to ``j``; else it is an edge between the two.

    Returns
    -------
    TUDataset
        ``name``, ``graphs``, ``y`` (None without targets), ``classes`` (values of the classes in the file),
        ``graph_attributes`` and ``optional_files``.

    See Also
    --------
    load_tu : Return graphs and targets alone.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tu(f"{folder}/TWO.zip", GraphCollection.from_edges([(2, [(0, 1)]), (1, [])]), [5, 7])
    ...     read_tu(f"{folder}/TWO.zip").classes
    (5, 7)
    """
    unknown = sorted(set(ignore) - set(OPTIONAL))
    if unknown:
        raise ValueError(f"ignore names {unknown[0]!r}, which is none of {', '.join(OPTIONAL)}")
    with _open_files(Path(path)) as files:
        size = sum(size for kind, (size, _) in files.readers.items() if kind not in ignore)
        _check_memory(2 * size, f"reading {files.place} ({size} bytes)")
        for name in files.misnamed:  # because of a typo, labels would be missing
            other = "is not a file of the TU layout and was not read; check its name"
            logger.warning("%s: %s %s", files.place, name, other)
        indicator = _Table(files, "graph_indicator", integers=True, n_columns=1)
        edges = _Table(files, "A", integers=True, n_columns=2)
        optional = {
            kind: _Table(files, kind, integers=kind.endswith("labels"), n_columns=1 if kind == "graph_labels" else None)
            for kind in OPTIONAL
            if kind in files.readers and kind not in ignore
        }
    tables = (indicator, edges, *optional.values())
    needed = sum(BYTES_PER_LINE * len(table.rows) + BYTES_PER_BYTE * table.rows.nbytes for table in tables)
    _check_memory(needed, f"making graphs of {files.place}")
    offsets = _offsets(indicator, optional.get("graph_labels") or optional.get("graph_attributes"))
    pairs = _checked_edges(edges, offsets)
    counts = {"graph": len(offsets) - 1, "node": len(indicator.rows), "edge": len(edges.rows)}
    counted_in = {"graph": "graph_labels", "node": "graph_indicator", "edge": "A"}
    for kind, table in optional.items():
        what = kind.split("_")[0]
        table.check(counts[what], f"{files.name}_{counted_in[what]}.txt", allow_nan=what == "graph")
    node_labels, node_tuples = _label_codes(optional.get("node_labels"))
    edge_labels, edge_tuples = _label_codes(optional.get("edge_labels"))
    try:
        arguments = assemble(
            offsets,
            pairs,
            directed=directed,
            node_labels=node_labels,
            edge_labels=edge_labels,
            node_attributes=optional["node_attributes"].rows if "node_attributes" in optional else None,
            edge_attributes=optional["edge_attributes"].rows if "edge_attributes" in optional else None,
            where=lambda row: f"{edges.path}, line {row + 1}",
        )
    except GraphError as error:
        advice = "directed=True reads them as arcs, ignore={'edge_labels', 'edge_attributes'} the edges alone"
        raise TUFormatError(f"{error}; {advice}") from None
    if node_tuples is not None:
        arguments["node_vocabulary"] = node_tuples
    if edge_tuples is not None:
        arguments["edge_vocabulary"] = edge_tuples
    graphs = GraphCollection(**arguments)
    classes, y = None, None
    attributes = optional["graph_attributes"].rows if "graph_attributes" in optional else None
    if "graph_labels" in optional:
        values, y = np.unique(optional["graph_labels"].rows[:, 0], return_inverse=True)
        classes = tuple(values.tolist())
    elif attributes is not None:
        y = attributes[:, 0] if attributes.shape[1] == 1 else attributes
    logger.info("%s: read with %s", files.place, ", ".join(optional) or "no optional files")
    return TUDataset(files.name, graphs, y, classes, attributes, tuple(optional))


def _check_memory(needed: int, what: str) -> None:
    check_memory(needed, what, "split the data set and read it in parts")


# ----------------------------------------------------------------------------------------------- finding the files


@dataclass(frozen=True)
class _Files:
    """The files of one data set by kind (sizes, and functions that read them), their location, and other names."""

    name: str
    place: str
    readers: dict[str, tuple[int, Callable[[], bytes]]]
    misnamed: list[str]

    @classmethod
    def of(cls, path: Path, found: dict[str, tuple[int, Callable[[], bytes]]]) -> "_Files":
        """Return the files of the one data set among relative paths."""
        stems = find_data_sets(found)
        if not stems:
            raise TUFormatError(f"{path} holds no data set in TU layout: there is no file NAME_A.txt in it")
        if len(stems) > 1:
            names = ", ".join(stems[:10]) + (", ..." if len(stems) > 10 else "")
            raise TUFormatError(f"{path} holds {len(stems)} data sets ({names}); give the path of one of them")
        kinds = {f"{stems[0]}_{kind}.txt": kind for kind in ("A", "graph_indicator", *OPTIONAL)}
        folder, name = PurePosixPath(stems[0]).parent, PurePosixPath(stems[0]).name
        others = {PurePosixPath(file) for file in found.keys() - kinds.keys()}
        beside = sorted(file.name for file in others if file.parent == folder)
        return cls(
            name,
            str(path) if str(folder) == "." else f"{path}/{folder}",
            {kind: found[file] for file, kind in kinds.items() if file in found},
            [file for file in beside if _looks_like_data(file.lower(), name.lower())],
        )


def _looks_like_data(file: str, name: str) -> bool:
    related = file.startswith(f"{name}_") or "label" in file or "attribute" in file
    return related and "readme" not in file and not file.startswith(".")


@contextlib.contextmanager
def _open_files(path: Path) -> Iterator[_Files]:
    """Find the one data set in a folder or zip file."""
    if path.is_dir():
        names = {file.name: file for file in path.glob("*.txt")}
        if not find_data_sets(names):
            names = {f"{file.parent.name}/{file.name}": file for file in path.glob("*/*.txt")}

        def read(file: Path) -> bytes:
            size = require_regular(file)
            with file.open("rb") as opened:
                return opened.read(size)  # not more, even if the file grows

        sizes = {name: file.stat().st_size if file.is_file() else 0 for name, file in names.items()}
        yield _Files.of(path, {name: (sizes[name], partial(read, file)) for name, file in names.items()})
        return
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    require_regular(path)
    if path.suffix.lower() != ".zip" and not zipfile.is_zipfile(path):
        raise TUFormatError(f"{path} is neither a folder nor a zip file; give the one that holds the data set's files")
    with path.open("rb") as file:
        with _damage_reported(path):
            archive = zipfile.ZipFile(file)
        members: dict[str, tuple[int, Callable[[], bytes]]] = {}

        def unpack(info: zipfile.ZipInfo) -> bytes:
            if not is_readable(info):
                raise TUFormatError(f"{path}: {info.filename} uses a compression that is not supported; use deflate")
            with _damage_reported(path):
                return b"".join(member_pieces(archive, info))

        for info in archive.infolist():
            name = info.filename.replace("\\", "/")  # some programs write Windows separators
            if name in members and not info.is_dir():
                raise TUFormatError(f"{path} contains {name} twice; remove one of them")
            members[name] = info.file_size, partial(unpack, info)
        files = _Files.of(path, members)
        total = sum(size for size, _ in files.readers.values())
        if total > _storage.FREE_BYTES + _storage.BYTES_PER_BYTE * path.stat().st_size:
            raise TUFormatError(
                f"{path} would unpack to {total / 2**20:.0f} MiB, more than {_storage.BYTES_PER_BYTE} times its size; "
                "unpack it if you trust it, and give the folder"
            )
        yield files


def find_data_sets(paths: Collection[str]) -> list[str]:
    """Return the common beginnings (``NAME/NAME``) of the data sets among relative paths.

    >>> find_data_sets(["MUTAG/MUTAG_A.txt", "MUTAG/README.txt", "__MACOSX/MUTAG/._MUTAG_A.txt"])
    ['MUTAG/MUTAG']
    """
    stems = set()
    for path in paths:
        hidden = any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(path).parts)
        for ending in ("_A.txt", "_graph_indicator.txt"):
            if path.endswith(ending) and not hidden:
                stems.add(path.removesuffix(ending))
    return sorted(stems)


@contextlib.contextmanager
def _damage_reported(path: Path) -> Iterator[None]:
    """Convert errors of the zip reader to errors that name the file."""
    try:
        yield
    except ZIP_ERRORS as error:
        raise TUFormatError(f"{path} cannot be read as a zip file; is it complete? ({error})") from error


# ------------------------------------------------------------------------------------------------- reading numbers


class _Table:
    """The numbers of one file, with the file name for messages."""

    def __init__(self, files: _Files, kind: str, *, integers: bool, n_columns: int | None) -> None:
        self.path = f"{files.place}/{files.name}_{kind}.txt"
        if kind not in files.readers:
            raise TUFormatError(f"{self.path} is missing; the TU layout requires it")
        # Windows editors begin UTF-8 files with a mark; empty lines at the end are ignored.
        self._raw = files.readers[kind][1]().removeprefix(b"\xef\xbb\xbf").rstrip()
        if n_columns is None:
            end = self._raw.find(b"\n")
            n_columns = self._raw.count(b",", 0, end if end >= 0 else None) + 1
        self.rows: NDArray[Any] = self._integers(n_columns) if integers else self._floats(n_columns)

    def fail(self, row: int, problem: str) -> TUFormatError:
        """Return the error for a row; lines are counted from 1."""
        return TUFormatError(f"{self.path}, line {row + 1}: {problem}")

    def check(self, expected: int, reference: str, *, allow_nan: bool) -> None:
        """Raise an error for a wrong number of lines, or for attributes that are not finite."""
        found = len(self.rows)
        if found != expected:
            place = expected if found > expected else max(found - 1, 0)
            raise self.fail(place, f"the file has {found} lines, but {reference} requires {expected}")
        if self.rows.dtype.kind == "f":
            refused = np.isinf(self.rows) if allow_nan else ~np.isfinite(self.rows)
            for row in np.flatnonzero(refused.any(axis=1))[:1]:
                raise self.fail(row, f"{self._line(row)!r} holds a value that is not finite")

    def _line(self, row: int) -> str:
        text = self._raw.split(b"\n")[row].strip().decode(errors="replace")
        return text if len(text) <= 60 else text[:57] + "..."

    def _numbers(self, dtype: type, signs: bytes, n_columns: int) -> NDArray[Any] | None:
        """Return the table parsed by NumPy, or None if it is invalid or has unusual whitespace."""
        with contextlib.suppress(ValueError):
            if self._raw and not self._raw.translate(None, signs):
                values: NDArray[Any] = np.loadtxt(io.BytesIO(self._raw), dtype, comments=None, delimiter=",", ndmin=2)
                return values if values.shape == (self._raw.count(b"\n") + 1, n_columns) else None
        return None

    def _integers(self, n_columns: int) -> Int64:
        table = self._numbers(np.int64, PLAIN_INTEGERS, n_columns)
        if table is not None:
            return table
        # Integers may be written as decimals, 1.0 or 1e0, as ``numpy.savetxt`` does.
        values = self._floats(n_columns)
        fits = np.isfinite(values) & (np.abs(values) < MAX_EXACT_INTEGER)
        integral = fits & (np.floor(values, where=fits, out=np.zeros_like(values)) == values)
        # Numbers such as 1e-400 are read as zero but have a nonzero digit in their mantissa.
        lines = self._raw.split(b"\n") if (values == 0).any() else []
        for row, column in np.argwhere(values == 0).tolist():
            mantissa = lines[row].split(b",")[column].lower().partition(b"e")[0]
            integral[row, column] = not mantissa.strip(b" \t\r+-.0")
        for row in np.flatnonzero(~integral.all(axis=1))[:1]:
            problem = (
                "does not hold integers"
                if (fits | np.isnan(values))[row].all()
                else "holds a number that is too large or infinite"
            )
            raise self.fail(row, f"{self._line(row)!r} {problem}")
        return values.astype(np.int64)

    def _floats(self, n_columns: int) -> Float64:
        values = self._numbers(np.float64, PLAIN, n_columns)
        if values is not None:
            return values
        # Parsed by Python, to find the invalid cell.
        found = array("d")
        for row, line in enumerate(self._raw.split(b"\n") if self._raw else []):
            cells = line.split(b",")
            if not line.strip():
                raise self.fail(row, "the line is empty, but not the last")
            if len(cells) != n_columns:
                columns = f"has {len(cells)} columns separated by commas, but {n_columns} are expected"
                raise self.fail(row, f"{self._line(row)!r} {columns}")
            for cell in cells:
                try:
                    found.append(float(b"x" if b"_" in cell else cell))  # Python reads 1_0 as 10
                except ValueError:
                    if not cell.strip():
                        raise self.fail(row, f"{self._line(row)!r} has an empty cell") from None
                    shown = cell.strip().decode(errors="replace")[:60]
                    raise self.fail(row, f"{shown!r} is not a number") from None
        return np.array(found, np.float64).reshape(-1, n_columns)


# ------------------------------------------------------------------------------------------------- making graphs


def _offsets(indicator: _Table, graphs: _Table | None) -> Int64:
    """Check the graph of each node and return where each graph's nodes begin.

    ``graphs`` has a line for each graph, without which a graph without nodes cannot be distinguished from an error.
    """
    numbers: Int64 = indicator.rows[:, 0]
    steps = np.diff(numbers, prepend=1)
    for row in np.flatnonzero(numbers < 1)[:1]:
        raise indicator.fail(row, f"graph {numbers[row]}, but graphs are numbered from 1")
    for row in np.flatnonzero(steps < 0)[:1]:
        raise indicator.fail(row, f"graph {numbers[row]} comes after graph {numbers[row - 1]}; sort the nodes")
    if graphs is None:
        for row in np.flatnonzero(steps > 1)[:1]:
            missing = numbers[row] - 1
            raise indicator.fail(row, f"graph {missing} has no nodes, which needs a file of graph labels")
        n_graphs = int(numbers[-1]) if len(numbers) else 0
    else:
        n_graphs = len(graphs.rows)
        for row in np.flatnonzero(numbers > n_graphs)[:1]:
            raise indicator.fail(row, f"graph {numbers[row]}, but {graphs.path} has {n_graphs} lines")
    counts = np.bincount(numbers - 1, minlength=n_graphs)
    if not counts.all():
        empty = np.flatnonzero(counts == 0)
        logger.warning("%s: %d graphs have no nodes, the first is graph %d", indicator.path, len(empty), empty[0] + 1)
    return prefix_sums(counts)


def _label_codes(table: _Table | None) -> tuple[Int64 | None, tuple[tuple[int, ...], ...] | None]:
    """Return labels as integers and, if there are several columns, the sorted tuples that 0, 1, ... represent."""
    if table is None:
        return None, None
    if table.rows.shape[1] == 1:
        return table.rows[:, 0], None
    n_columns = table.rows.shape[1]
    if n_columns > MAX_LABEL_COLUMNS:
        raise table.fail(0, f"labels of {n_columns} columns are more than the {MAX_LABEL_COLUMNS} that can be compared")
    # A row as one byte string in the order of its numbers: unsigned, with the highest byte first.
    unsigned = table.rows.view(np.uint64) ^ np.uint64(2**63)
    keys = np.ascontiguousarray(unsigned, ">u8").view(f"V{8 * n_columns}").reshape(-1)
    _, firsts, codes = np.unique(keys, return_index=True, return_inverse=True)
    return codes.reshape(-1), tuple(map(tuple, table.rows[firsts].tolist()))


def _checked_edges(edges: _Table, offsets: Int64) -> Int64:
    """Return the edges with nodes numbered from 0, after checking that each lies within one graph."""
    pairs: Int64 = edges.rows
    n_nodes = int(offsets[-1])
    if len(pairs) and (pairs.min() < 1 or pairs.max() > n_nodes):
        row = int(np.flatnonzero(((pairs < 1) | (pairs > n_nodes)).any(axis=1))[0])
        u, v = pairs[row]
        raise edges.fail(row, f"edge ({u}, {v}), but nodes are numbered from 1 to {n_nodes}")
    pairs -= 1
    graph_of_node = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    first, second = graph_of_node[pairs[:, 0]], graph_of_node[pairs[:, 1]]
    for row in np.flatnonzero(first != second)[:1]:
        (u, v), g, h = pairs[row] + 1, first[row] + 1, second[row] + 1
        raise edges.fail(row, f"edge ({u}, {v}) joins graph {g} to graph {h}")
    return pairs


Targets = Sequence[Any] | NDArray[Any]


def write_tu(path: str | os.PathLike[str], graphs: GraphCollection, y: Targets | None = None) -> None:
    r"""Write graphs in TU layout; :func:`~relaxwl.datasets.load_tu` reads them.

    Parameters
    ----------
    path : path
        A file with the extension ``.zip``: ``NAME.zip`` contains ``NAME_A.txt`` and the other files.
    graphs : GraphCollection
        Undirected edges are listed in both directions. Arcs are listed once; ``load_tu(path, directed=True)`` reads
        them.
    y : sequence, optional
        Integers or texts are classes (``NAME_graph_labels.txt``), other numbers graph attributes.

    Notes
    -----
    Labels of this layout are integers or tuples of integers. Other labels are numbered, with a warning, and
    ``README.txt`` lists the numbers.

    See Also
    --------
    load_tu : Read a data set.
    write_parquet : Write graphs with labels and attributes of any kind.

    Examples
    --------
    >>> import tempfile
    >>> from relaxwl.datasets import load_tu
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], [6, 8, 6]), (1, [], [7])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tu(f"{folder}/TWO.zip", graphs, [0, 1])
    ...     load_tu(f"{folder}/TWO.zip")
    (GraphCollection(2 graphs, 4 nodes, 2 edges, 3 node labels), array([0, 1]))
    """
    target = Path(path)
    if target.suffix.lower() != ".zip":
        raise ValueError(f"cannot write {target}: the name of a TU data set must end in .zip")
    name = target.stem
    notes: list[str] = []
    files = {f"{name}_{kind}.txt": text for kind, text in _texts(graphs, y, notes)}
    if graphs.directed:
        notes.append("The lines of the edges are arcs, from the first node to the second.")
    files["README.txt"] = "\n".join([f"{name}: {graphs.n_graphs} graphs, written by relaxwl in TU layout.", *notes, ""])
    with atomic_write(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, text in files.items():
            archive.writestr(f"{name}/{member}", text)


def _texts(graphs: GraphCollection, y: Targets | None, notes: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the kind and content of each file."""
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    yield "A", _lines(np.column_stack([sources, graphs.indices]) + 1)
    yield "graph_indicator", _lines(graphs.graph_of_node[:, None] + 1)
    for kind in ("node", "edge"):
        vocabulary, codes = getattr(graphs, f"{kind}_vocabulary"), getattr(graphs, f"{kind}_codes")
        if vocabulary is not None and codes is not None:
            yield f"{kind}_labels", _lines(_columns(vocabulary, f"{kind} labels", notes)[codes])
        attributes = getattr(graphs, f"{kind}_attributes")
        if attributes is not None:
            if np.isnan(attributes).any():
                raise ValueError(f"some {kind} attributes are missing, which TU files cannot contain; use Parquet")
            yield f"{kind}_attributes", _lines(attributes)
    if y is not None:
        values = np.asarray(y)
        if values.ndim != 2 or values.dtype.kind not in "biuf" or len(values) != len(graphs):
            values = plain_targets(y, len(graphs))
        if values.ndim == 1 and values.dtype.kind != "f":
            classes, codes = np.unique(values, return_inverse=True)
            yield "graph_labels", _lines(_columns(tuple(map(plain_label, classes)), "classes", notes)[codes])
        else:
            yield "graph_attributes", _lines(values.astype(np.float64).reshape(len(graphs), -1))
    elif not graphs.node_counts.all():
        raise ValueError("some graphs have no nodes, which the TU layout supports only with y: pass y")


def _columns(values: tuple[Label, ...], what: str, notes: list[str]) -> NDArray[np.int64]:
    """Return a row of integers for each label: its own integers, or its number if it has other values."""
    rows = [value if isinstance(value, tuple) and len(value) > 1 else (value,) for value in values]
    own = all(type(part) is int and abs(part) < MAX_EXACT_INTEGER for row in rows for part in row)
    if own and len({len(row) for row in rows}) <= 1:
        return np.array(rows, np.int64).reshape(len(rows), -1)
    warn_user(f"the {what} are not all integers, as the TU layout requires; they are numbered, see README.txt")
    meanings = "".join(f"\n  {number}  {value}" for number, value in enumerate(values))
    notes.append(f"\nThe {what} stand for{meanings}")
    return np.arange(len(values))[:, None]


def _lines(rows: NDArray[Any]) -> str:
    """Return a line for each row, with all digits."""
    return "".join(", ".join(map(repr, row)) + "\n" for row in rows.tolist())
