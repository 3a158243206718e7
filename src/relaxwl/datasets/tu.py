"""Reading data sets in the layout of the TU collection: NAME_A.txt, NAME_graph_indicator.txt and their kin."""

import contextlib
import logging
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from relaxwl._memory import check_memory
from relaxwl._storage import is_readable, member_pieces, require_regular
from relaxwl.datasets._compiled import parse_floats, parse_integers
from relaxwl.graphs import GraphCollection, GraphError, assemble
from relaxwl.graphs.arrays import Float64, Int64, prefix_sums

logger = logging.getLogger(__name__)
Found = TypeVar("Found")

OPTIONAL = ("graph_labels", "graph_attributes", "node_labels", "node_attributes", "edge_labels", "edge_attributes")
# What the zip reader raises on damaged, cut or encrypted files; it seeks to wherever a damaged directory points.
ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, OSError, RuntimeError, ValueError, LookupError, OverflowError, MemoryError),
)
# Bytes for each graph, node and edge while graphs are made of tables, and for each byte of a table; as measured.
BYTES_PER_LINE, BYTES_PER_BYTE = 64, 3
# More columns of labels than anybody has, and few enough to be compared as one value.
MAX_LABEL_COLUMNS = 2**20
# Cells that need Python's own reading of numbers are read so many at a time: as objects they are large.
DECIDED_AT_ONCE = 2**14
# Beyond this, neighboring integers share a double.
MAX_EXACT_INTEGER = 2**53


class TUFormatError(ValueError):
    """A data set that does not follow the TU layout; the message names the file and the line."""


@dataclass(frozen=True, eq=False)
class TUDataset:
    """All that the files of a TU data set say.

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
        What NAME_graph_attributes.txt says.
    optional_files : tuple of str
        Which of the optional files were there and read, such as ``"node_labels"``: a file with a misspelt name is not.
    """

    name: str
    graphs: GraphCollection
    y: NDArray[Any] | None
    classes: tuple[int, ...] | None
    graph_attributes: Float64 | None
    optional_files: tuple[str, ...] = ()


def load_tu(
    path: str | os.PathLike[str], *, ignore: Collection[str] = (), directed: bool = False, symmetrize: bool = True
) -> tuple[GraphCollection, NDArray[Any]]:
    r"""Read a data set in TU layout from a folder or a zip file.

    Parameters
    ----------
    path : path
        A folder with NAME_A.txt, NAME_graph_indicator.txt, NAME_graph_labels.txt and, where there are any, the files
        of labels and attributes; or a folder or a zip file with such a folder inside.
    ignore : collection of str
        Optional files to leave unread, such as ``{"edge_attributes"}``.
    directed : bool
        Whether a line ``i, j`` is an arc from ``i`` to ``j``; else it is an edge between the two.
    symmetrize : bool
        ``symmetrize=False`` is another way to say ``directed=True``.

    Returns
    -------
    graphs : GraphCollection
        Edges may be listed once or twice; self-loops and repetitions are dropped. Several columns of labels
        become labels that are tuples.
    y : array, shape (n_graphs,)
        Classes 0 to C-1 in the order of their values in the file; :func:`read_tu` tells these values. For a regression
        data set, which has graph attributes and no classes, the attributes (two-dimensional if several a graph).

    Raises
    ------
    TUFormatError
        A ValueError that names the file and the line.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> for kind, text in {"A": "1, 2", "graph_indicator": "1 1 2", "graph_labels": "1 -1"}.items():
    ...     lines = [text] if kind == "A" else text.split()
    ...     _ = Path(folder.name, f"TOY_{kind}.txt").write_text("\n".join(lines))
    >>> graphs, y = load_tu(folder.name)
    >>> graphs
    GraphCollection(2 graphs, 3 nodes, 1 edges)
    >>> y
    array([1, 0])
    >>> folder.cleanup()
    """
    dataset = read_tu(path, ignore=ignore, directed=directed, symmetrize=symmetrize)
    if dataset.y is None:
        raise TUFormatError(
            f"{os.fspath(path)}: neither {dataset.name}_graph_labels.txt nor {dataset.name}_graph_attributes.txt is "
            "there, so the graphs have no y; read_tu(path).graphs reads the graphs alone"
        )
    return dataset.graphs, dataset.y


def read_tu(
    path: str | os.PathLike[str], *, ignore: Collection[str] = (), directed: bool = False, symmetrize: bool = True
) -> TUDataset:
    """Read a data set in TU layout with everything that its files say; see :func:`load_tu` for the parameters."""
    unknown = sorted(set(ignore) - set(OPTIONAL))
    if unknown:
        raise ValueError(f"ignore names {unknown[0]!r}, which is none of {', '.join(OPTIONAL)}")
    with _open_files(Path(path)) as files:
        files.check_memory(ignore)
        files.warn_misnamed_files()
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
        table.check_length(counts[what], f"{files.name}_{counted_in[what]}.txt")
        table.check_finite(allow_nan=what == "graph")
    graphs = _collection(
        offsets, pairs, optional, lambda row: f"{edges.path}, line {row + 1}", directed or not symmetrize
    )
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
class _File:
    """A file that is there: its size, and a function that reads its bytes."""

    size: int
    read: Callable[[], bytes]


@dataclass(frozen=True)
class _Files:
    """The files of one data set by kind, where they are, and the names of others beside them."""

    name: str
    place: str
    readers: dict[str, _File]
    misnamed: tuple[str, ...]

    def path(self, kind: str) -> str:
        """Return what to call a file in a message."""
        return f"{self.place}/{self.name}_{kind}.txt"

    def read(self, kind: str) -> bytes:
        """Return the bytes of a file."""
        if kind not in self.readers:
            raise TUFormatError(f"{self.path(kind)} is missing; the TU layout requires it")
        return self.readers[kind].read()

    def check_memory(self, ignore: Collection[str]) -> None:
        """Refuse files that would fill the memory, before any of them is read."""
        size = sum(file.size for kind, file in self.readers.items() if kind not in ignore)
        _check_memory(2 * size, f"reading {self.place} ({size} bytes)")

    def warn_misnamed_files(self) -> None:
        """Warn about files whose names are nearly those of the layout: a letter wrong, and labels would be missing."""
        for name in self.misnamed:
            logger.warning(
                "%s: %s is no file of the TU layout and is left unread; is its name right?", self.place, name
            )


@contextlib.contextmanager
def _open_files(path: Path) -> Iterator[_Files]:
    """Find the one data set in a folder or zip file."""
    if path.is_dir():
        names = {file.name: file for file in path.glob("*.txt")}
        if not find_data_sets(names):
            names = {f"{file.parent.name}/{file.name}": file for file in path.glob("*/*.txt")}
        stem = _only_data_set(path, find_data_sets(names))
        yield _files(path, stem, {name: _file_in_folder(file) for name, file in _of_set(stem, names).items()})
        return
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    require_regular(path)
    if path.suffix.lower() != ".zip" and not zipfile.is_zipfile(path):
        raise TUFormatError(f"{path} is neither a folder nor a zip file; give the one that holds the data set's files")
    with path.open("rb") as file:
        with _damage_reported(path):
            archive = zipfile.ZipFile(file)
        members = _distinct_members(path, archive)
        stem = _only_data_set(path, find_data_sets(members))
        yield _files(
            path, stem, {name: _file_in_zip(path, archive, info) for name, info in _of_set(stem, members).items()}
        )


def _of_set(stem: str, paths: dict[str, Found]) -> dict[str, Found]:
    """Return what lies in the folder of the data set."""
    folder = PurePosixPath(stem).parent
    return {path: found for path, found in paths.items() if PurePosixPath(path).parent == folder}


def _distinct_members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name; a name that occurs twice could mean either."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.replace("\\", "/")  # some archivers write the separators of Windows
        if name in members and not info.is_dir():
            raise TUFormatError(f"{path} holds {name} twice; pack it again with one of them")
        members[name] = info
    return members


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


def _only_data_set(path: Path, stems: list[str]) -> str:
    if not stems:
        raise TUFormatError(f"{path} holds no data set in TU layout: there is no file NAME_A.txt in it")
    if len(stems) > 1:
        names = ", ".join(stems[:10]) + (", ..." if len(stems) > 10 else "")
        raise TUFormatError(f"{path} holds {len(stems)} data sets ({names}); give the path of one of them")
    return stems[0]


def _files(path: Path, stem: str, found: dict[str, _File]) -> _Files:
    kinds = {f"{stem}_{kind}.txt": kind for kind in ("A", "graph_indicator", *OPTIONAL)}
    folder, name = PurePosixPath(stem).parent, PurePosixPath(stem).name
    others = sorted(PurePosixPath(other).name for other in found.keys() - kinds.keys())
    return _Files(
        name=name,
        place=str(path) if str(folder) == "." else f"{path}/{folder}",
        readers={kind: found[file] for file, kind in kinds.items() if file in found},
        misnamed=tuple(other for other in others if _looks_like_data(other, name)),
    )


def _looks_like_data(file: str, name: str) -> bool:
    text = file.lower()
    related = text.startswith(f"{name.lower()}_") or "label" in text or "attribute" in text
    return related and "readme" not in text and not text.startswith(".")


def _file_in_folder(path: Path) -> _File:
    def read() -> bytes:
        size = require_regular(path)
        with path.open("rb") as file:
            return file.read(size)  # not more, should it grow

    return _File(path.stat().st_size if path.is_file() else 0, read)


def _file_in_zip(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _File:
    def read() -> bytes:
        if not is_readable(info):
            raise TUFormatError(f"{path}: {info.filename} is packed in a way that is not read here; use deflate")
        with _damage_reported(path):
            return b"".join(member_pieces(archive, info))

    return _File(info.file_size, read)


@contextlib.contextmanager
def _damage_reported(path: Path) -> Iterator[None]:
    """Turn whatever the zip reader says about a file into one clear error."""
    try:
        yield
    except ZIP_ERRORS as error:
        raise TUFormatError(f"{path} cannot be read as a zip file; is it complete? ({error})") from error


# ------------------------------------------------------------------------------------------------- reading numbers


class _Table:
    """The numbers of one file, and where they came from."""

    def __init__(self, files: _Files, kind: str, *, integers: bool, n_columns: int | None) -> None:
        self.path = files.path(kind)
        self._raw = files.read(kind).removeprefix(b"\xef\xbb\xbf")  # Windows editors mark UTF-8 files so
        if n_columns is None:
            end = self._raw.find(b"\n")
            n_columns = self._raw.count(b",", 0, end if end >= 0 else None) + 1
        self.rows: NDArray[Any] = self._integers(n_columns) if integers else self._floats(n_columns)

    def fail(self, row: int, problem: str) -> TUFormatError:
        """Return the error for a row; lines are counted from 1."""
        return TUFormatError(f"{self.path}, line {row + 1}: {problem}")

    def check_length(self, expected: int, reference: str) -> None:
        """Refuse another number of lines than that of the file that counts them."""
        found = len(self.rows)
        if found != expected:
            place = expected if found > expected else max(found - 1, 0)
            raise self.fail(place, f"the file has {found} lines, but {reference} asks for {expected}")

    def check_finite(self, *, allow_nan: bool) -> None:
        """Refuse infinite attributes, and those that are not a number."""
        if self.rows.dtype.kind == "f":
            refused = np.isinf(self.rows) if allow_nan else ~np.isfinite(self.rows)
            for row in np.flatnonzero(refused.any(axis=1))[:1]:
                raise self.fail(row, f"{self._line(row)!r} holds a value that is not finite")

    def _line(self, row: int) -> str:
        text = self._raw_line(row).strip().decode(errors="replace")
        return text if len(text) <= 60 else text[:57] + "..."

    def _raw_line(self, row: int) -> bytes:
        start = 0
        for _ in range(row):
            start = self._raw.index(b"\n", start) + 1
        end = self._raw.find(b"\n", start)
        return self._raw[start : end if end >= 0 else None]

    def _room(self, n_columns: int) -> tuple[int, int]:
        """Return the shape of a table for all lines up to the first wrong one, and that.

        Right lines hold a comma between two columns, so commas bound their number as newlines do: a first line of many
        commas above many empty lines asks for no more than it holds.
        """
        n_lines = self._raw.count(b"\n") + 1
        if n_columns > 1:
            n_lines = min(n_lines, self._raw.count(b",") // (n_columns - 1) + 1)
        _check_memory(8 * n_lines * n_columns, f"reading {self.path}, {n_lines} lines of {n_columns} columns,")
        return n_lines, n_columns

    def _integers(self, n_columns: int) -> Int64:
        table = np.empty(self._room(n_columns), np.int64)
        n_rows, bad = parse_integers(np.frombuffer(self._raw, np.uint8), table)
        if bad >= 0 and self._raw[bad:].strip():
            return self._integral(self._floats(n_columns))
        return table[:n_rows]

    def _integral(self, values: Float64) -> Int64:
        """Accept integers written as decimals, 1.0 or 1e0, as ``numpy.savetxt`` does."""
        fits = np.isfinite(values) & (np.abs(values) < MAX_EXACT_INTEGER)
        integral = fits & (np.floor(values, where=fits, out=np.zeros_like(values)) == values)
        for row in np.flatnonzero(~integral.all(axis=1))[:1]:
            problem = "does not hold integers" if fits[row].all() else "holds a number that is too large or infinite"
            raise self.fail(row, f"{self._line(row)!r} {problem}")
        # Of 1e-400 or 0.000…1 nothing is left in a double: a 0 must be written without other digits.
        lines = self._raw.split(b"\n") if (values == 0).any() else []
        for row, column in np.argwhere(values == 0).tolist():
            if lines[row].split(b",")[column].lower().partition(b"e")[0].strip(b" \t\r+-0."):
                raise self.fail(row, f"{self._line(row)!r} does not hold integers")
        return values.astype(np.int64)

    def _floats(self, n_columns: int) -> Float64:
        table = np.empty(self._room(n_columns), np.float64)
        # Pages that nothing is written to take no memory, so room for the worst case is free.
        undecided = np.empty((table.size, 3), np.int64)
        n_rows, n_undecided, bad = parse_floats(np.frombuffer(self._raw, np.uint8), table, undecided)
        for first in range(0, n_undecided, DECIDED_AT_ONCE):
            cells, starts, stops = undecided[first : min(first + DECIDED_AT_ONCE, n_undecided)].T
            table.reshape(-1)[cells] = self._decide(starts.tolist(), stops.tolist(), cells // n_columns)
        if bad >= 0 and self._raw[bad:].strip():
            raise self.fail(n_rows, self._what_is_wrong(n_rows, n_columns))
        return table[:n_rows]

    def _decide(self, starts: list[int], stops: list[int], rows: Int64) -> list[float]:
        """Return the doubles nearest to numbers of any length, at the given bytes of the file."""
        raw = self._raw
        texts = [raw[start:stop] for start, stop in zip(starts, stops, strict=True)]
        try:
            if b"_" not in raw[starts[0] : stops[-1]]:  # Python reads 1_0 as 10
                return [float(text) for text in texts]
        except ValueError:
            pass
        for text, row in zip(texts, rows, strict=True):
            if not _is_number(text):
                raise self.fail(row, f"{text.strip().decode(errors='replace')[:60]!r} is not a number")
        return [float(text) for text in texts]

    def _what_is_wrong(self, row: int, n_columns: int) -> str:
        line = self._line(row)
        found = self._raw_line(row).count(b",") + 1
        if not line:
            return "the line is empty, but not the last"
        if found != n_columns:
            return f"{line!r} has {found} columns separated by commas, but {n_columns} are expected"
        return f"{line!r} has an empty cell"


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return b"_" not in text


# ------------------------------------------------------------------------------------------------- making graphs


def _offsets(indicator: _Table, graphs: _Table | None) -> Int64:
    """Check the graph of each node and return where each graph's nodes begin.

    ``graphs`` has a line for each graph: only by it can a graph without nodes be told from an error.
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
            raise indicator.fail(row, f"graph {missing} has no nodes and there is no file of graph labels to say so")
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


def _collection(
    offsets: Int64, pairs: Int64, optional: dict[str, _Table], where: Callable[[int], str], directed: bool
) -> GraphCollection:
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
            where=where,
        )
    except GraphError as error:
        advice = "directed=True reads them as arcs, ignore={'edge_labels', 'edge_attributes'} the edges alone"
        raise TUFormatError(f"{error}; {advice}") from None
    if node_tuples is not None:
        arguments["node_vocabulary"] = node_tuples
    if edge_tuples is not None:
        arguments["edge_vocabulary"] = edge_tuples
    return GraphCollection(**arguments)


def _label_codes(table: _Table | None) -> tuple[Int64 | None, tuple[tuple[int, ...], ...] | None]:
    """Return labels as integers and, if there are several columns, the sorted tuples that 0, 1, ... stand for."""
    if table is None:
        return None, None
    if table.rows.shape[1] == 1:
        return table.rows[:, 0], None
    n_columns = table.rows.shape[1]
    if n_columns > MAX_LABEL_COLUMNS:
        raise table.fail(0, f"labels of {n_columns} columns are more than the {MAX_LABEL_COLUMNS} that can be compared")
    # A row as one string of bytes that sorts as its numbers do: the highest byte first, and all of them unsigned.
    unsigned = table.rows.view(np.uint64) ^ np.uint64(2**63)
    keys = np.ascontiguousarray(unsigned, ">u8").view(f"V{8 * n_columns}").reshape(-1)
    _, firsts, codes = np.unique(keys, return_index=True, return_inverse=True)
    return codes.reshape(-1), tuple(map(tuple, table.rows[firsts].tolist()))


def _checked_edges(edges: _Table, offsets: Int64) -> Int64:
    """Return the edges over nodes from 0, all of them known to lie within one graph."""
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
