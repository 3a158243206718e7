"""Graphs in Parquet files, one row per graph, in the columns of graph hubs; read and written in batches."""

import contextlib
import itertools
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from relaxwl._memory import check_memory
from relaxwl._storage import atomic_write, require_regular
from relaxwl._validation import as_floats, check_choice, check_integer, overlong, plain_targets, repeated
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.graphs.building import (
    CollectionBuilder,
    as_names,
    common_direction,
    common_names,
    join_labels,
    join_vectors,
    tells_directions,
    there_are,
)
from relaxwl.graphs.labels import Label, Vocabulary, plain_label

Batch = tuple[GraphCollection, NDArray[Any] | None]

# Names of columns in write_parquet and in data hubs; the first that exists is read.
COLUMNS = {
    "node_labels": ("node_label",),
    "edge_labels": ("edge_label",),
    "node_attributes": ("node_feat", "x"),
    "edge_attributes": ("edge_attr", "edge_weight"),
}
METADATA = b"relaxwl"
BATCH = 1024
# Bytes of memory per value of a column while rows are converted to graphs.
VALUE_BYTES = 100
# Exceptions raised by pyarrow for damaged files, and by this package for rows that are not graphs.
READ_ERRORS = (
    ArithmeticError, AttributeError, LookupError, MemoryError, NotImplementedError, OSError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip
ADVICE = "read it with a smaller batch_size"
LACKING = "edge_index lacks a node number"
EDGE_FORMS = ("lists", "pairs")
# Maximum number of nodes beyond the number of values in a file: num_nodes alone could otherwise ask for millions.
BARE_NODES = 2**20


def read_parquet(
    path: str | os.PathLike[str],
    *,
    target: str | None = "y",
    batch_size: int | None = None,
    directed: bool | None = None,
    missing: Label | None = None,
    edge_form: str | None = None,
    node_label: str | Sequence[str] | None = None,
    edge_label: str | Sequence[str] | None = None,
    node_attributes: str | Sequence[str] | None = None,
    edge_attributes: str | Sequence[str] | None = None,
) -> Any:
    """Read graphs from a Parquet file with one row per graph; needs the extra ``parquet``.

    Pages of the file are read by pyarrow, and memory is bounded by the sizes that the file declares: read files of
    unknown origin in a process of their own.

    Parameters
    ----------
    path : path
        A file with the columns ``edge_index`` (two lists of node numbers, or a list of pairs), ``num_nodes``, and
        optionally ``node_label``, ``edge_label`` (lists), ``node_feat``, ``edge_attr`` (lists of lists or of numbers)
        and ``name``.
    target : str or None, default="y"
        Column of the targets; ``y`` is None if the column does not exist.
    batch_size : int, optional
        Return an iterator over batches ``(graphs, y)`` of this size, which needs the memory of one batch.
    directed : bool, optional
        Whether ``edge_index`` contains arcs. By default as recorded by :func:`write_parquet`; otherwise graphs (of a
        batch) are directed if an arc has no reverse with the same label and attributes.
    missing : label, optional
        The label of nodes and edges that have none; attributes may then be missing as well. Missing attributes written
        by :func:`write_parquet` stay missing in any case.
    edge_form : {"lists", "pairs"}, optional
        Format of ``edge_index``, needed only if all graphs have two edges or none.
    node_label, edge_label, node_attributes, edge_attributes : str or list of str, optional
        Columns to read instead of the default ones; several labels give tuples, ``[]`` reads none.

    Returns
    -------
    graphs : GraphCollection
        The graphs; with ``batch_size``, an iterator over pairs ``(graphs, y)`` is returned instead.
    y : array or None
        The targets.

    See Also
    --------
    write_parquet : Write such a file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(Path(folder, "two.parquet"), GraphCollection.from_edges([(2, [(0, 1)]), (1, [])]))
    ...     read_parquet(Path(folder, "two.parquet"))
    (GraphCollection(2 graphs, 3 nodes, 1 edge), None)
    """
    columns = {"node_label": node_label, "edge_label": edge_label}
    columns |= {"node_attributes": node_attributes, "edge_attributes": edge_attributes}
    if edge_form is not None:
        check_choice("edge_form", edge_form, EDGE_FORMS)
    asked = _Asked(target, directed, missing, edge_form, columns)
    if batch_size is not None:
        return _batches(path, check_integer("batch_size", batch_size, least=1), asked)
    with _naming(path):
        noted = _noted(path)
        rows = [row for part in _row_batches(path, None, asked, noted) for row in part]
        return _collection(rows, asked, noted), _target(rows)


def write_parquet(
    path: str | os.PathLike[str],
    graphs: GraphCollection | Iterable[Batch],
    y: Sequence[Any] | NDArray[Any] | None = None,
) -> None:
    """Write graphs to a Parquet file for :func:`~relaxwl.datasets.read_parquet`; needs the extra ``parquet``.

    Parameters
    ----------
    path : path
        The file; it is created when all graphs are written.
    graphs : GraphCollection, or iterable of (graphs, y)
        The graphs, or batches of graphs with the same direction, labels and attributes.
    y : sequence, optional
        A target for each graph, if ``graphs`` is a collection.

    See Also
    --------
    read_parquet : Read such a file.
    write_tu : Write the TU layout.

    Examples
    --------
    >>> import tempfile
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["C", "O", "C"]), (1, [], ["N"])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(Path(folder, "two.parquet"), graphs, [0, 1])
    ...     again, y = read_parquet(Path(folder, "two.parquet"))
    >>> again == graphs, y
    (True, array([0, 1]))
    """
    arrow, parquet = _pyarrow()
    batches = _cut(graphs, y) if isinstance(graphs, GraphCollection) else iter(graphs)
    writer = None
    with atomic_write(path) as file:
        try:
            for part, values in batches:
                table = arrow.table(_table(part, values))
                if writer is None:
                    noted = {"directed": part.directed, "json": [c for c in ("node", "edge") if _is_json(part, c)]}
                    schema = table.schema.with_metadata({METADATA: json.dumps(noted).encode()})
                    writer = parquet.ParquetWriter(file, schema)
                writer.write_table(table.cast(schema))
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise ValueError("there are no graphs to write")


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'relaxwl[parquet]'") from None
    return pyarrow, pyarrow.parquet


# ------------------------------------------------------------------------------------------------------- writing


def _cut(graphs: GraphCollection, y: Sequence[Any] | NDArray[Any] | None) -> Iterator[Batch]:
    values = None if y is None else np.asarray(y)
    if values is not None and (values.ndim != 2 or values.dtype.kind not in "biuf" or len(values) != len(graphs)):
        values = plain_targets(y, len(graphs))
    for start in range(0, max(len(graphs), 1), BATCH):
        span = slice(start, start + BATCH)
        yield graphs[span], None if values is None else values[span]


def _table(graphs: GraphCollection, y: NDArray[Any] | None) -> dict[str, Any]:
    """Return the columns of some graphs; undirected edges are listed in both directions."""
    nodes, entries = graphs.offsets, graphs.indptr[graphs.offsets]
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    starts = np.repeat(nodes[:-1], np.diff(entries))
    ends = [sources - starts, graphs.indices - starts]
    spans = [slice(a, b) for a, b in itertools.pairwise(entries.tolist())]
    node_spans = [slice(a, b) for a, b in itertools.pairwise(nodes.tolist())]
    columns: dict[str, Any] = {
        "edge_index": [[end[span].tolist() for end in ends] for span in spans],
        "num_nodes": graphs.node_counts,
    }
    for kind, cuts in (("node", node_spans), ("edge", spans)):
        codes, vocabulary = getattr(graphs, f"{kind}_codes"), getattr(graphs, f"{kind}_vocabulary")
        if vocabulary is not None:
            names = [json.dumps(label) for label in vocabulary] if _is_json(graphs, kind) else vocabulary
            columns[f"{kind}_label"] = [[names[code] for code in codes[cut].tolist()] for cut in cuts]
        attributes = getattr(graphs, f"{kind}_attributes")
        if attributes is not None:
            columns[COLUMNS[f"{kind}_attributes"][0]] = [attributes[cut].tolist() for cut in cuts]
    if graphs.names is not None:
        columns["name"] = list(graphs.names)
    if y is not None:
        columns["y"] = list(np.asarray(y).tolist())
    return columns


def _is_json(graphs: GraphCollection, kind: str) -> bool:
    """Whether labels are not all integers or all text, so that a column of one type cannot hold them."""
    vocabulary: Vocabulary = getattr(graphs, f"{kind}_vocabulary") or ()
    return not any(all(isinstance(label, one) for label in vocabulary) for one in (int, str))


# ------------------------------------------------------------------------------------------------------- reading


class _Noted(NamedTuple):
    """Metadata written by :func:`write_parquet`; other files have none."""

    ours: bool
    directed: bool | None
    json: frozenset[str]


class _Asked(NamedTuple):
    """Arguments of :func:`read_parquet`."""

    target: str | None
    directed: bool | None
    missing: Label | None
    edge_form: str | None
    columns: dict[str, Any]


@contextlib.contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert errors of pyarrow on damaged files to errors that name the file."""
    try:
        yield
    except READ_ERRORS as error:
        if isinstance(error, (OSError, ValueError)) and os.fspath(path) in str(error):
            raise
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ValueError(f"{os.fspath(path)} cannot be read as graphs in Parquet: {reason}") from error


def _noted(path: str | os.PathLike[str]) -> _Noted:
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {os.fspath(path)}")
    require_regular(path)
    _, parquet = _pyarrow()
    metadata = parquet.read_schema(path).metadata or {}
    try:
        content = json.loads(metadata.get(METADATA, b"{}"))
        directed, kinds = content.get("directed"), content.get("json", [])
        if directed not in (None, True, False) or not isinstance(kinds, list) or not {*kinds} <= {"node", "edge"}:
            raise ValueError
    except (AttributeError, RecursionError, TypeError, ValueError):
        raise ValueError("its relaxwl metadata is damaged; write it anew with write_parquet") from None
    return _Noted(METADATA in metadata, directed, frozenset(kinds))


def _batches(path: str | os.PathLike[str], size: int, asked: _Asked) -> Iterator[Batch]:
    with _naming(path):
        noted = _noted(path)
        for rows in _row_batches(path, size, asked, noted):
            yield _collection(rows, asked, noted), _target(rows)


Row = dict[str, Any]


def _row_batches(path: str | os.PathLike[str], size: int | None, asked: _Asked, noted: _Noted) -> Iterator[list[Row]]:
    """Yield rows as small arrays, batch by batch; without a ``size`` the caller keeps all of them in memory."""
    _, parquet = _pyarrow()
    with parquet.ParquetFile(path) as file:
        known = file.schema_arrow.names
        if (twice := repeated(known)) is not None:
            raise ValueError(f"it has more than one column {twice!r}")
        chosen = _chosen(known, asked.columns, path)
        for name, depths in (("edge_index", (2,)), ("num_nodes", (0, 1))):
            kind = file.schema_arrow.field(name).type if name in known else None
            if kind is not None and not any(_holds_integers(kind, depth) for depth in depths):
                raise ValueError(
                    f"{name} must contain integers{', in lists of lists' * max(depths[0] - 1, 0)}, not {kind}"
                )
        read = {"edge_index", "num_nodes", "name", asked.target, *(name for names in chosen.values() for name in names)}
        wanted = [name for name in known if name in read]
        # The sizes that the file declares say before reading whether its content fits into memory. They are those of
        # the writer: pyarrow reads the pages, and a file that was made to mislead it may take more.
        metadata = file.metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        chunks = [group.column(place) for group in groups for place in range(metadata.num_columns)]
        chunks = [chunk for chunk in chunks if chunk.path_in_schema.partition(".")[0] in wanted]
        n_rows, n_values = metadata.num_rows, sum(chunk.num_values for chunk in chunks)
        n_bytes = VALUE_BYTES * n_values + sum(chunk.total_uncompressed_size for chunk in chunks)
        share = 1.0 if size is None else min(size / max(n_rows, 1), 1.0)
        check_memory(share * n_bytes, f"its {n_values} values", ADVICE)
        n_bare = BARE_NODES + n_values
        form = "lists" if noted.ours else asked.edge_form or _edge_form(file)
        begin = 0
        for batch in file.iter_batches(size or BATCH, columns=wanted):
            check_memory(VALUE_BYTES / 8 * batch.nbytes, f"{len(batch)} of its rows", ADVICE)
            rows = [_row(row, begin + at, chosen, noted.json, form, asked) for at, row in enumerate(batch.to_pylist())]
            n_bare -= sum(row["n_nodes"] for row in rows)
            if n_bare < 0:
                raise GraphError(begin, "num_nodes of this or an earlier graph is far larger than the file allows")
            begin += len(rows)
            yield rows


def _holds_integers(kind: Any, depth: int) -> bool:
    """Whether a type is integers nested in ``depth`` lists; a column without values has the type null."""
    types = _pyarrow()[0].types
    if types.is_null(kind):
        return True
    if depth:
        return hasattr(kind, "value_field") and _holds_integers(kind.value_type, depth - 1)
    return bool(types.is_integer(kind))


def _edge_form(file: Any) -> str:
    """Return whether ``edge_index`` holds two lists for each graph or a list of pairs, by the sizes of all of them."""
    found: dict[str, int] = {}
    open_question, begin = None, 0
    for batch in file.iter_batches(BATCH, columns=["edge_index"]):
        for index, rows in enumerate(batch.column(0).to_pylist(), begin):
            sizes = [len(row or ()) for row in rows or ()]
            if len(sizes) == 2 and sizes[0] == sizes[1] != 2:
                found.setdefault("lists", index)
            elif len(sizes) != 2 and set(sizes) <= {2}:
                found.setdefault("pairs", index) if sizes else None
            elif sizes != [2, 2]:
                raise GraphError(
                    index, "edge_index must be two lists of node numbers of one length, or a list of pairs"
                )
            elif None in (*rows[0], *rows[1]):
                raise GraphError(index, LACKING)
            elif rows[0][1] != rows[1][0]:  # otherwise, both forms describe the same edges
                open_question = index
        begin += len(batch)
    if len(found) > 1:
        raise GraphError(max(found.values()), "edge_index holds two lists here and pairs elsewhere, or the reverse")
    if not found and open_question is not None:
        problem = "edge_index is 2 × 2, and so are all others: two lists or two pairs?"
        raise GraphError(open_question, f"{problem} pass edge_form='lists' or edge_form='pairs'")
    return next(iter(found), "lists")


def _chosen(known: list[str], columns: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Return the columns to read for labels and attributes of nodes and edges."""
    if "edge_index" not in known:
        raise ValueError(f"{os.fspath(path)} has no column edge_index; {there_are(known)}")
    chosen = {}
    for part, usual in COLUMNS.items():
        asked = columns.get(part.removesuffix("s") if part.endswith("labels") else part)
        names = next(([name] for name in usual if name in known), []) if asked is None else list(as_names(asked))
        for name in names:
            if name not in known:
                raise ValueError(f"{os.fspath(path)} has no column {name!r}; {there_are(known)}")
        chosen[part] = names
    for kind in ("node", "edge"):  # a column that is used as label is not an attribute too, unless requested
        if columns.get(f"{kind}_attributes") is None:
            chosen[f"{kind}_attributes"] = [
                name for name in chosen[f"{kind}_attributes"] if name not in chosen[f"{kind}_labels"]
            ]
    return chosen


def _row(row: Row, index: int, chosen: dict[str, list[str]], as_json: frozenset[str], form: str, asked: _Asked) -> Row:
    edges = _edges(row["edge_index"], form, index)
    size = row.get("num_nodes")
    if isinstance(size, list):  # as in some data hubs
        if len(size) != 1:
            raise GraphError(index, f"num_nodes must be one integer, not a list of {len(size)}")
        (size,) = size
    n_nodes = size if size is not None else int(edges.max(initial=-1)) + 1
    found: Row = {
        "index": index,
        "n_nodes": n_nodes,
        "edges": edges,
        "name": row.get("name"),
        "y": row.get(asked.target or ""),
    }
    for part, names in chosen.items():
        length = n_nodes if part.startswith("node") else len(edges)
        values = [row[name] if row[name] is not None else [] for name in names]
        if not names:
            found[part] = None
        elif part.endswith("attributes"):
            found[part] = join_vectors(values, length, index)
        else:
            for name, column in zip(names, values, strict=True):
                if not isinstance(column, list) or len(column) not in (0, length):  # a text would be split into letters
                    given = f"a list of {len(column)}" if isinstance(column, list) else repr(column)[:60]
                    problem = f"{name} must be a list with a label for each {part[:4]} ({length}), not {given}"
                    raise GraphError(index, problem)
            read = json.loads if part.split("_")[0] in as_json else _label
            found[part] = join_labels([[read(value) for value in column] for column in values], asked.missing)
    return found


def _edges(given: list[list[int]] | None, form: str, index: int) -> NDArray[np.int64]:
    """Return the pairs of an ``edge_index``, which must have the shape of its form."""
    rows = given or [[], []]
    lengths = {len(row) if row is not None else -1 for row in rows}
    if not any(rows):
        return np.empty((0, 2), np.int64)
    if (form == "lists" and (len(rows) != 2 or len(lengths) > 1)) or (form == "pairs" and lengths != {2}):
        wanted = "two lists of node numbers of one length" if form == "lists" else "a list of pairs of node numbers"
        raise GraphError(index, f"edge_index must be {wanted}")
    if any(number is None for row in rows for number in row):
        raise GraphError(index, LACKING)
    try:
        edges = np.array(rows, np.int64)
    except OverflowError:
        raise GraphError(index, "edge_index contains numbers of nodes beyond 2^63; nodes count from 0") from None
    return edges.T if form == "lists" else edges


def _label(value: Any) -> Any:
    """Return a label; a list of one label is replaced by the label."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return None if value is None else plain_label(value)


def _collection(rows: list[Row], asked: _Asked, noted: _Noted) -> GraphCollection:
    directed = noted.directed if asked.directed is None else asked.directed
    if directed is None:
        parts = ("edges", "n_nodes", "edge_labels", "edge_attributes")
        found = [tells_directions(*(row[part] for part in parts)) for row in rows]
        directed = common_direction(found, None, inferred=True)
    builder = CollectionBuilder(directed=directed, missing=asked.missing, gaps=noted.ours)
    for row in rows:
        builder.add(row["n_nodes"], row["edges"], **{part: row[part] for part in COLUMNS})
    found = [row["name"] for row in rows]
    # Strings written by write_parquet are names, even if they are empty.
    ours = noted.ours and bool(found) and all(isinstance(name, str) for name in found)
    names = tuple(map(str, found)) if ours else common_names(found)
    if names is None and any(row["name"] not in (None, "") for row in rows):
        warnings.warn(
            "the graphs have no names: the column 'name' does not contain a text or an integer for each of them",
            stacklevel=3,
        )
    return GraphCollection(**builder.build(), names=names)


def _target(rows: list[Row]) -> NDArray[Any] | None:
    values = [row["y"] for row in rows]
    if not values or all(value is None for value in values):
        return None
    if all(isinstance(value, list) and len(value) == 1 for value in values):
        values = [value[0] for value in values]
    if any(isinstance(value, list) for value in values):
        lengths = [len(value) if isinstance(value, list) else None for value in values]
        if lengths.count(lengths[0]) < len(lengths):
            odd = next(row["index"] for row, length in zip(rows, lengths, strict=True) if length != lengths[0])
            raise GraphError(odd, "its target is not a list of the same length as those of the graphs before")
        return as_floats(values)
    if any(isinstance(value, (int, float)) for value in values):
        values = [np.nan if value is None else value for value in values]
    if (long := overlong(values)) is not None:
        raise ValueError(f"y[{long}] is a text of {len(values[long])} characters; give classes shorter names")
    return plain_targets(values, len(values))
