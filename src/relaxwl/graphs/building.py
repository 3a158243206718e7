"""From edges as users have them to one clean adjacency: checks, symmetry, no loops, no repetitions."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._memory import check_memory
from relaxwl._validation import is_integer
from relaxwl._warnings import warn_user
from relaxwl.graphs import _compiled
from relaxwl.graphs.arrays import Float64, Int32, Int64, first_of_runs, prefix_sums
from relaxwl.graphs.directions import arc_adjacency, symmetric
from relaxwl.graphs.labels import Label, encode_labels, plain_label

if TYPE_CHECKING:
    import networkx

# Node numbers and codes are int32: half the memory traffic of int64, and checked on construction.
MAX_NODES = np.iinfo(np.int32).max

# Stands for an attribute that is not there: None may be one that is.
ABSENT = object()

DIRECTED = "the graph is directed; relaxwl.as_collection(graphs, symmetrize=True) forgets directions"


class GraphError(ValueError):
    """A graph that cannot be read; the message names its index in the input."""

    def __init__(self, index: int, problem: str, name: str | None = None) -> None:
        super().__init__(f"graph {index}{f' ({name})' if name else ''}: {problem}")
        self.index = index
        self.problem = problem
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is pickled by its message alone unless told otherwise, and would not survive a worker process.
        return GraphError, (self.index, self.problem, self.name)


class CollectionBuilder:
    """Gathers graphs one by one, checks each, and builds the collection at the end.

    Parameters
    ----------
    directed : bool
        Whether pairs of nodes are arcs from the first to the second.
    missing : label, optional
        Stands for labels that are None; without it they are refused. With it, attributes may be NaN.
    gaps : bool
        Whether attributes may be NaN in any case.
    """

    def __init__(self, *, directed: bool = False, missing: Label | None = None, gaps: bool = False) -> None:
        self._directed = directed
        self._missing = missing
        self._gaps = gaps or missing is not None
        self._sizes: list[int] = []
        self._edges: list[Int64] = []
        self._columns: dict[str, list[Any]] = {
            name: [] for name in ("node_labels", "edge_labels", "node_attributes", "edge_attributes")
        }
        self._reference: dict[str, int] = {}

    def add(
        self,
        n_nodes: Any,
        edges: Any,
        *,
        node_labels: Any = None,
        edge_labels: Any = None,
        node_attributes: Any = None,
        edge_attributes: Any = None,
    ) -> None:
        """Add a graph with local node numbers; labels and attributes are in line with nodes and edges."""
        index = len(self._sizes)
        size = _node_count(n_nodes, index)
        pairs, partial = _edge_array(edges, size, index), self._gaps
        columns = {
            "node_labels": _label_column(node_labels, size, "nodes", index, self._missing),
            "edge_labels": _label_column(edge_labels, len(pairs), "edges", index, self._missing),
            "node_attributes": _attribute_column(node_attributes, size, "nodes", index, partial),
            "edge_attributes": _attribute_column(edge_attributes, len(pairs), "edges", index, partial),
        }
        for name, column in columns.items():
            # A graph without nodes or edges has nothing to label, so it agrees with labeled and unlabeled ones.
            if size if name.startswith("node") else len(pairs):
                self._reference.setdefault(name, index)
                self._columns[name].append(column)
                self._check_agrees(name, column, index)
            else:
                self._columns[name].append(column)
        self._sizes.append(size)
        self._edges.append(pairs)

    def _check_agrees(self, name: str, column: Any, index: int) -> None:
        """Every graph must carry what the first one carries that has anything to carry it on."""
        reference = self._reference[name]
        first, words = self._columns[name][reference], name.replace("_", " ")
        if (first is None) != (column is None):
            here, there = ("no", "some") if column is None else ("", "none")
            problem = f"it has {here} {words}, but graph {reference} has {there}".replace("  ", " ")
            raise GraphError(index, f"{problem}; give them for all graphs or for none")
        if isinstance(column, np.ndarray) and column.shape[1] != first.shape[1]:
            problem = f"its {words} have length {column.shape[1]}, but those of graph {reference} {first.shape[1]}"
            raise GraphError(index, problem)

    def build(self) -> dict[str, Any]:
        """Return all graphs added as the arguments of ``GraphCollection``."""
        sizes = np.array(self._sizes, np.int64)
        offsets = prefix_sums(sizes)
        shifted = [edges + start for edges, start in zip(self._edges, offsets, strict=False)]
        joined = {name: self._joined(name) for name in self._columns}
        pairs = np.concatenate(shifted) if shifted else np.empty((0, 2), np.int64)
        given = {name for name, values in joined.items() if values is not None}
        warn_of_dropped(pairs, int(offsets[-1]), self._directed)
        arguments = assemble(
            offsets,
            pairs,
            directed=self._directed,
            node_labels=joined["node_labels"],
            edge_labels=joined["edge_labels"],
            node_attributes=joined["node_attributes"],
            edge_attributes=joined["edge_attributes"],
        )
        return {**arguments, "given": given}

    def _joined(self, name: str) -> Any:
        """Return the values of all graphs one after the other, or None where there are none."""
        columns = self._columns[name]
        if name not in self._reference:
            return next((column for column in columns if column is not None), None)
        if columns[self._reference[name]] is None:
            return None
        filled = [column for column in columns if column is not None and len(column)]
        if isinstance(filled[0], np.ndarray):
            return np.concatenate(filled)
        return [value for column in filled for value in column]


def assemble(
    offsets: Int64,
    edges: NDArray[np.integer[Any]],
    *,
    directed: bool = False,
    node_labels: Sequence[Label] | NDArray[Any] | None = None,
    edge_labels: Sequence[Label] | NDArray[Any] | None = None,
    node_attributes: Float64 | None = None,
    edge_attributes: Float64 | None = None,
    where: Callable[[int], str] | None = None,
) -> dict[str, Any]:
    """Return the arguments of ``GraphCollection`` for edges over global node numbers, each listed once or twice.

    With ``directed``, a pair is an arc from its first node to its second, and listed once. Self-loops and repetitions
    are dropped; repetitions that contradict each other (in label or attributes) are an error. The caller has checked
    the ranges. ``where`` turns the position of an edge into words for the error.
    """
    n_nodes = int(offsets[-1])
    check_node_count(n_nodes)
    if n_nodes > 2**20:  # below, it is not worth looking
        check_memory(32.0 * n_nodes, f"a collection of {n_nodes} nodes", "use fewer nodes")
    edges = edges.astype(np.int64, copy=False).reshape(-1, 2)
    codes, vocabulary = encode_labels(edge_labels) if edge_labels is not None else (None, None)
    carries_data = codes is not None or edge_attributes is not None
    original = np.empty(len(edges) if carries_data else 0, np.int64)
    adjacency = arc_adjacency if directed else _compiled.symmetric_adjacency
    indptr, indices, listed = adjacency(edges, n_nodes, original)
    if carries_data:
        _check_repetitions(edges, original, codes, edge_attributes, offsets, where)
    node_codes, node_vocabulary = encode_labels(node_labels) if node_labels is not None else (None, None)
    return {
        "offsets": offsets,
        "indptr": indptr,
        "indices": indices,
        "directed": directed,
        "node_codes": node_codes,
        "node_vocabulary": node_vocabulary,
        "edge_codes": None if codes is None else codes[listed],
        "edge_vocabulary": vocabulary,
        "node_attributes": node_attributes,
        "edge_attributes": None if edge_attributes is None else edge_attributes[listed],
    }


def _check_repetitions(
    edges: Int64,
    original: Int64,
    codes: Int32 | None,
    attributes: Float64 | None,
    offsets: Int64,
    where: Callable[[int], str] | None,
) -> None:
    """Refuse an edge that is listed twice with different labels or attributes; ``original`` is its first listing."""
    for name, values in (("labels", codes), ("attributes", attributes)):
        if values is None:
            continue
        first = values[original]
        differs = (values != first) & ~((values != values) & (first != first))  # a value missing twice is the same
        bad = np.flatnonzero(differs.any(axis=1) if differs.ndim == 2 else differs)
        if not len(bad):
            continue
        edge = int(bad[0])
        source, target = sorted(int(node) for node in edges[edge])
        graph = int(np.searchsorted(offsets, source, side="right")) - 1
        start = int(offsets[graph])
        place = f" ({where(edge)})" if where is not None else ""
        raise GraphError(
            graph, f"edge ({source - start}, {target - start}) is listed twice with different {name}{place}"
        )


def warn_of_dropped(edges: Int64, n_nodes: int, directed: bool) -> None:
    """Say how many self-loops and parallel edges a collection leaves out; an edge listed both ways is not parallel."""
    proper = edges[edges[:, 0] != edges[:, 1]]
    n_loops, n_parallel = len(edges) - len(proper), _count_parallel(proper, n_nodes, directed)
    if n_loops or n_parallel:
        counted = ((n_loops, "self-loop"), (n_parallel, "parallel edge"))
        words = " and ".join(f"{count} {what}{'s' if count > 1 else ''}" for count, what in counted if count)
        between = "from one node to another" if directed else "between two nodes"
        warn_user(f"{words} dropped: there is at most one edge {between}, and none from a node to itself")


def _count_parallel(pairs: Int64, n_nodes: int, directed: bool) -> int:
    """Return how many pairs are left out as repetitions; undirected edges may be listed once each way."""
    forwards = pairs[:, 0] < pairs[:, 1]
    ends = pairs if directed else np.sort(pairs, axis=1)
    keys = ends[:, 0] * n_nodes + ends[:, 1]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(first_of_runs(keys[order]))
    if directed or len(starts) == len(pairs):
        return len(pairs) - len(starts)
    ways = [np.add.reduceat(way[order].astype(np.int64), starts) for way in (forwards, ~forwards)]
    return int((np.maximum(*ways) - 1).sum())


def check_node_count(n_nodes: int) -> None:
    """Refuse more nodes than int32 can number."""
    if n_nodes > MAX_NODES:
        raise ValueError(f"{n_nodes} nodes are more than the {MAX_NODES} that a collection can hold; split the data")


def checked_names(names: Sequence[Any], n_graphs: int) -> tuple[str, ...]:
    """Return names of graphs as texts; those that are integers are numbers of a user, and as good as texts."""
    texts = tuple(str(name) for name in names)
    for index, name in enumerate(names):
        if not isinstance(name, str) and not is_integer(name):
            raise GraphError(index, f"a name must be a text or an integer, not {type(name).__name__} {name!r}")
    if len(texts) != n_graphs:
        raise ValueError(f"there must be a name for each of {n_graphs} graphs, not {len(texts)} names")
    return texts


def common_names(found: Sequence[Any]) -> tuple[str, ...] | None:
    """Return what graphs are called, if each of them has a text or an integer for a name; else None."""
    named = [name for name in found if is_integer(name) or (isinstance(name, str) and name)]
    return tuple(map(str, named)) if found and len(named) == len(found) else None


def as_list(graphs: Any, what: str) -> list[Any]:
    """Consume an iterable once; say clearly when a single graph was given instead."""
    if hasattr(graphs, "nodes") or hasattr(graphs, "toarray") or (isinstance(graphs, np.ndarray) and graphs.ndim == 2):
        raise TypeError(
            f"graphs must be a list of {what}, not a single {type(graphs).__name__}: put it in a list, [graph]"
        )
    try:
        return list(graphs)
    except TypeError:
        raise TypeError(f"graphs must be a list of {what}, not {type(graphs).__name__}") from None


def _node_count(n_nodes: Any, index: int) -> int:
    if not is_integer(n_nodes) or n_nodes < 0:
        raise GraphError(index, f"the number of nodes must be an integer >= 0, not {n_nodes!r}")
    if n_nodes > MAX_NODES:
        raise GraphError(index, f"{n_nodes} nodes are more than the {MAX_NODES} that fit; split the data")
    return int(n_nodes)


def _edge_array(edges: Any, n_nodes: int, index: int) -> Int64:
    try:
        values = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges))
    except (TypeError, ValueError):
        raise GraphError(index, "the edges must be a sequence of pairs of node numbers") from None
    if values.size == 0:
        return np.empty((0, 2), np.int64)
    if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "iu":
        found = f"an array of shape {values.shape} and type {values.dtype}"
        raise GraphError(index, f"the edges must be a sequence of pairs of node numbers, not {found}")
    outside = np.flatnonzero((values < 0).any(axis=1) | (values >= n_nodes).any(axis=1))
    if len(outside):
        u, v = values[outside[0]]
        allowed = f"0..{n_nodes - 1}" if n_nodes else "a graph without nodes"
        raise GraphError(index, f"edge ({u}, {v}) names a node outside {allowed}")
    return values.astype(np.int64)


def _label_column(labels: Any, length: int, what: str, index: int, missing: Label | None) -> list[Label] | None:
    if labels is None:
        return None
    if isinstance(labels, Mapping):
        labels = [labels.get(key) for key in range(length)]
    if isinstance(labels, (str, bytes, Set)) or not isinstance(labels, Iterable):
        raise GraphError(index, f"the labels of the {what} must be a sequence, not {type(labels).__name__} {labels!r}")
    values = list(labels)
    if len(values) != length:
        raise GraphError(index, f"{len(values)} labels for {length} {what}")
    if missing is not None:
        values = [missing if value is None else value for value in values]
    absent = next((position for position, value in enumerate(values) if value is None), None)
    if absent is not None:
        problem = f"{what}: number {absent} has no label; label all {what} or none"
        raise GraphError(index, f"{problem}, or say with missing=… what label stands for none")
    try:
        return [plain_label(value) for value in values]
    except (TypeError, ValueError) as error:
        raise GraphError(index, str(error)) from None


def _attribute_column(attributes: Any, length: int, what: str, index: int, partial: bool) -> Float64 | None:
    if attributes is None:
        return None
    try:
        values = np.array(attributes, np.float64)
    except (TypeError, ValueError) as error:
        raise GraphError(index, f"the attributes of the {what} are not numbers of one shape: {error}") from None
    if values.size == 0 and length == 0:
        return values.reshape(0, values.shape[1] if values.ndim == 2 else 1)
    if values.ndim == 1:
        values = values.reshape(-1, 1)
    if values.ndim != 2 or len(values) != length:
        raise GraphError(index, f"attributes of shape {values.shape} for {length} {what}")
    bad = np.flatnonzero((np.isinf(values) if partial else ~np.isfinite(values)).any(axis=1))
    if len(bad):
        advice = "" if partial else "; with missing=… values may be missing"
        raise GraphError(
            index, f"the attributes of the {what} contain NaN or infinity (first at number {bad[0]}){advice}"
        )
    return values


def adjacency_arcs(matrix: Any, index: int, symmetrize: bool) -> tuple[int, Int64, Float64 | None, bool]:
    """Return the size, the arcs, unless all are 1 the weights, and whether the matrix lacks symmetry."""
    shape, rows, columns, values = _matrix_entries(matrix, index)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(index, f"an adjacency matrix must be square, not of shape {tuple(shape)}")
    if values.dtype.kind not in "biuf":
        raise GraphError(index, f"an adjacency matrix holds numbers, not {values.dtype}")
    if not np.isfinite(values).all():
        raise GraphError(index, "the adjacency matrix contains NaN or infinity")
    edges = np.column_stack([rows, columns]).astype(np.int64)
    if symmetrize:
        return shape[0], edges, None, False
    weights = None if (values == 1).all() else np.asarray(values, np.float64).reshape(-1, 1)
    return shape[0], edges, weights, not symmetric(edges, values, shape[0])


def common_direction(found: Sequence[bool | None], directed: bool | None, *, inferred: bool) -> bool:
    """Return whether a collection is directed, given what each of its graphs says.

    Parameters
    ----------
    found : sequence
        True for a directed graph, False for another, None for pairs that do not tell.
    directed : bool or None
        What the caller says; None leaves it to the graphs.
    inferred : bool
        Whether a graph is directed for want of symmetry alone, so that symmetric ones may stand beside it.
    """
    wanted = True in found if directed is None else directed
    reason = "directed=True" if directed else f"graph {list(found).index(True)} is directed" if wanted else ""
    for index, one in enumerate(found):
        if one and not wanted:
            raise GraphError(index, DIRECTED)
        if wanted and one is False and not inferred:
            raise GraphError(index, f"the graph is undirected, but {reason}; a collection is one or the other")
        if wanted and one is None and directed is None:
            raise GraphError(index, f"its edges have no direction, but {reason}; say directed=True if they are arcs")
    return wanted


def _matrix_entries(matrix: Any, index: int) -> tuple[tuple[int, ...], Int64, Int64, NDArray[Any]]:
    """Return the shape of a dense or sparse matrix and the rows, columns and values of its entries other than 0."""
    if hasattr(matrix, "tocoo"):
        # Entries stored twice count as their sum, in SciPy and here; the copy leaves the caller's matrix as it is.
        entries = matrix.tocoo(copy=True)
        entries.sum_duplicates()
        kept = entries.data != 0
        return entries.shape, entries.row[kept].astype(np.int64), entries.col[kept].astype(np.int64), entries.data[kept]
    try:
        dense = np.asarray(matrix)
    except ValueError:
        raise GraphError(index, "the rows of the adjacency matrix differ in length") from None
    if dense.ndim != 2:
        return dense.shape, np.empty(0, np.int64), np.empty(0, np.int64), dense
    rows, columns = np.nonzero(dense)
    return dense.shape, rows, columns, dense[rows, columns]


def named_columns(graphs: Sequence["networkx.Graph"], kind: str, name: str, *, partial: bool) -> list[list[Any]]:
    """Return an attribute of all nodes or edges (``kind``) of each graph; None where there is none, if ``partial``."""
    columns: list[list[Any]] = []
    if partial:
        check_known(name, {key: None for graph in graphs for key in _attribute_names(graph, kind)})
    for index, graph in enumerate(graphs):
        items = list(getattr(graph, kind)(data=name, default=None if partial else ABSENT))
        columns.append([item[-1] for item in items])
        absent = next((item[:-1] for item in items if item[-1] is ABSENT), None)
        if absent is not None:
            place = f"edge {absent!r}" if kind == "edges" else f"node {absent[0]!r}"
            there = there_are(_attribute_names(graph, kind))
            raise GraphError(index, f"{place} has no attribute {name!r}; {there}", graph.graph.get("name"))
    return columns


def _attribute_names(graph: "networkx.Graph", kind: str) -> dict[Any, None]:
    return {key: None for *_, data in getattr(graph, kind)(data=True) for key in data}


def check_known(name: str, known: Collection[Any]) -> None:
    """Refuse the name of an attribute that no graph has, although they have others: it is probably misspelt."""
    if known and name not in known:
        raise ValueError(f"no graph has the attribute {name!r}; {there_are(known)}")


def without_gaps(columns: list[list[Any]]) -> list[list[Any]]:
    """Return the numbers or vectors of all graphs with NaN, or as many as a vector has, in place of None.

    >>> without_gaps([[[1, 2], None], []])
    [[[1, 2], array([nan, nan])], []]
    """
    known = next((value for column in columns for value in column if value is not None), None)
    gap = np.full(np.shape(known), np.nan) if known is not None else np.nan
    return [[gap if value is None else value for value in column] for column in columns]


def there_are(names: Iterable[Any]) -> str:
    """Return what there is to choose from, in words."""
    listed = [repr(name) for name in names]
    more = f", … {len(listed) - 10} more" if len(listed) > 10 else ""
    return f"there is {', '.join(listed[:10])}{more}" if listed else "there are no attributes"


def join_labels(columns: Sequence[Sequence[Any]], missing: Label | None = None) -> list[Any]:
    """Return one label an item: the value itself if there is one column, else a tuple of one value a column.

    >>> join_labels([["C", "N"], [0, None]], missing="?")
    [('C', 0), ('N', '?')]
    """
    if len(columns) == 1:
        return list(columns[0])
    return [tuple(missing if part is None else part for part in parts) for parts in zip(*columns, strict=True)]


def as_names(names: str | Sequence[str] | None) -> Sequence[str]:
    """Return the names of attributes as a sequence: one name is a sequence of one, None an empty one."""
    return [names] if isinstance(names, str) else names or []


def join_vectors(columns: Sequence[Any], length: int, index: int) -> Float64:
    """Join numeric attributes, each one number or one vector per node or edge, to one vector each."""
    try:
        arrays = [np.array(column, np.float64) for column in columns]
    except (TypeError, ValueError) as error:
        raise GraphError(index, f"the attributes are not numbers of one shape: {error}") from None
    # A width of -1 cannot be inferred for graphs without nodes, whose width does not matter.
    parts = [array.reshape(length, -1 if length else 0) for array in arrays]
    return np.column_stack(parts) if parts else np.empty((length, 0))
