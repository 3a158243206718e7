"""Construction of a validated adjacency without self-loops and repeated edges."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from relaxwl._memory import check_memory
from relaxwl._validation import as_floats, counted, is_integer, warn_user
from relaxwl.graphs.arrays import Float64, Int32, Int64, counting_order, first_of_runs, prefix_sums
from relaxwl.graphs.labels import Label, encode_labels, plain_label

if TYPE_CHECKING:
    import networkx

DIRECTIONS = ("both", "out", "in")

# Labels of edges to children in trees of directed graphs: the arc leaves or enters the parent.
LEAVES, ENTERS = "→", "←"


def clean_adjacency(
    edges: Int64, n_nodes: int, original: Int64, *, directed: bool = False
) -> tuple[Int64, Int32, Int64]:
    """Return the adjacency of edges (or arcs): ascending neighbors, no self-loops, no repetitions.

    Parameters
    ----------
    edges : int64 array (m, 2)
        Edges, or arcs from the first node to the second.
    n_nodes : int
        Number of nodes.
    original : int64 array (m,) or (0,)
        Written unless empty: the earliest listed edge that joins the same two nodes.
    directed : bool, default=False
        Whether an edge counts in one direction only.

    Returns
    -------
    indptr, neighbors : int64 array (n_nodes + 1,), int32 array (n_adjacent,)
        The adjacency.
    listed : int64 array (n_adjacent,)
        The earliest listed edge behind each entry.
    """
    ways = 1 if directed else 2
    tails, heads = (edges if directed else np.stack([edges, edges[:, ::-1]], axis=1).reshape(-1, 2)).T
    order = np.flatnonzero(tails != heads)
    # Both sorts are stable, so the earliest of equal arcs comes first.
    order = order[counting_order(heads[order], n_nodes)[0]]
    by_tail, starts = counting_order(tails[order], n_nodes)
    order = order[by_tail]
    neighbors = heads[order].astype(np.int32)
    first = first_of_runs(neighbors)
    first[starts[starts < len(first)]] = True
    listed = order[first] // ways
    if original.size:
        original[:] = np.arange(len(edges))
        original[order // ways] = np.repeat(listed, np.diff(np.append(np.flatnonzero(first), len(first))))
    return prefix_sums(first)[starts], neighbors[first], listed


def reversed_arcs(indptr: Int64, indices: Int32) -> tuple[Int64, Int32, Int64]:
    """Return the adjacency of the reversed arcs, and the original position of each entry."""
    arcs, back_indptr = counting_order(indices, len(indptr) - 1)
    return back_indptr, np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))[arcs], arcs


def both_ways(indptr: Int64, indices: Int32) -> tuple[Int64, Int32, Int64, NDArray[np.bool_]]:
    """Return, for each node, the arcs that leave it and those that enter it: neighbors, arcs, and which enter."""
    back_indptr, back_indices, back_arcs = reversed_arcs(indptr, indices)
    n_nodes = len(indptr) - 1
    nodes = np.concatenate([np.repeat(np.arange(n_nodes), np.diff(starts)) for starts in (indptr, back_indptr)])
    order = np.argsort(nodes, kind="stable")
    entering = order >= len(indices)
    return (
        indptr + back_indptr,
        np.concatenate([indices, back_indices])[order],
        np.concatenate([np.arange(len(indices)), back_arcs])[order],
        entering,
    )


def directed_symbol(entering: bool, label: Label | None) -> Label:
    """Return the symbol of the edge to a child: the direction, with the label of the arc if it is used.

    >>> directed_symbol(False, None), directed_symbol(True, "calls")
    ('→', ('←', 'calls'))
    """
    direction = ENTERS if entering else LEAVES
    return direction if label is None else (direction, label)


def symmetric(arcs: Int64, values: NDArray[Any] | None, n_nodes: int) -> bool:
    """Whether every arc has a counterpart of the same value in the other direction."""
    forward, backward = arcs[:, 0] * n_nodes + arcs[:, 1], arcs[:, 1] * n_nodes + arcs[:, 0]
    there, back = np.argsort(forward, kind="stable"), np.argsort(backward, kind="stable")
    same = np.array_equal(forward[there], backward[back])
    return same and (values is None or np.array_equal(values[there], values[back]))


def tells_directions(
    arcs: NDArray[Any], n_nodes: int, labels: Sequence[Any] | None = None, attributes: Any = None
) -> bool:
    """Whether some arc has no counterpart in the other direction, or none with the same label and attributes.

    Missing values are equal to each other. Invalid arcs and values are ignored here; the error is raised when they are
    added.

    >>> arcs = np.array([[0, 1], [1, 0]])
    >>> tells_directions(arcs[:1], 2), tells_directions(arcs, 2), tells_directions(arcs, 2, ["a", "b"])
    (True, False, True)
    """
    if not len(arcs) or arcs.dtype.kind not in "iu" or arcs.min() < 0 or arcs.max() >= n_nodes:
        return False
    arcs = arcs.astype(np.int64)
    found: list[NDArray[Any]] = []
    try:
        if labels is not None:
            known: dict[Any, int] = {}
            plain = (None if label is None else plain_label(label) for label in labels)
            found.append(np.array([known.setdefault(label, len(known)) for label in plain], np.int64))
        if attributes is not None:
            rows = np.array(attributes, np.float64).reshape(len(attributes), -1)
            found.append(np.nan_to_num(rows, copy=False, nan=np.inf))
    except (TypeError, ValueError, OverflowError):
        found = []
    found = [values for values in found if len(values) == len(arcs)] or [np.zeros(len(arcs), np.int64)]
    return not all(symmetric(arcs, values, n_nodes) or _symmetric_once(arcs, values) for values in found)


def _symmetric_once(arcs: Int64, values: NDArray[Any]) -> bool:
    """Whether arcs are symmetric with their values if each is listed once: repeated arcs need one counterpart only."""
    columns = values.reshape(len(arcs), -1)
    forwards, backwards = (np.unique(np.hstack([ends, columns]), axis=0) for ends in (arcs, arcs[:, ::-1]))
    return np.array_equal(forwards, backwards)


# Share of the largest weight up to which two directions of an edge differ by rounding.
ROUNDING = 1e-8
logger = logging.getLogger(__name__)

# Node numbers and codes are int32: half the memory traffic of int64, and checked on construction.
MAX_NODES = np.iinfo(np.int32).max

# Marks a missing attribute, because None may be the value of an attribute.
ABSENT = object()

DIRECTED = "the graph is directed; relaxwl.as_collection(graphs, symmetrize=True) ignores directions"


class GraphError(ValueError):
    """A graph that cannot be read; the message names its index in the input."""

    def __init__(self, index: int, problem: str, name: str | None = None) -> None:
        super().__init__(f"graph {index}{f' ({name})' if name else ''}: {problem}")
        self.index = index
        self.problem = problem
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is pickled by its message alone, and could not be sent from a worker process.
        return GraphError, (self.index, self.problem, self.name)


class CollectionBuilder:
    """Collects and validates graphs one by one, and builds the collection.

    Parameters
    ----------
    directed : bool, default=False
        Whether pairs of nodes are arcs from the first to the second.
    missing : label, optional
        Label in place of None, which raises an error by default. If given, attributes may be NaN.
    gaps : bool, default=False
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
        """Add a graph with local node numbers; labels and attributes are aligned with nodes and edges."""
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
                self._check_agrees(name, column, index)
            self._columns[name].append(column)
        self._sizes.append(size)
        self._edges.append(pairs)

    def _check_agrees(self, name: str, column: Any, index: int) -> None:
        """Check that a graph has the same kinds of labels and attributes as the graphs before."""
        reference = self._reference[name]
        first, words = (self._columns[name] + [column])[reference], name.replace("_", " ")
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
        joined: dict[str, Any] = {}
        for name, columns in self._columns.items():
            filled = [column for column in columns if column is not None and len(column)]
            if filled and isinstance(filled[0], np.ndarray):
                joined[name] = np.concatenate(filled)
            elif filled:
                joined[name] = [value for column in filled for value in column]
            else:  # no labels or attributes, or empty ones if there are no nodes or edges
                named = (column for column in columns if column is not None and name not in self._reference)
                joined[name] = next(named, None)
        pairs = np.concatenate(shifted) if shifted else np.empty((0, 2), np.int64)
        given = {name for name, values in joined.items() if values is not None}
        warn_of_dropped(pairs, int(offsets[-1]), self._directed)
        return {**assemble(offsets, pairs, directed=self._directed, **joined), "given": given}


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
    the ranges. ``where`` describes the position of an edge in the error message.
    """
    n_nodes = int(offsets[-1])
    check_node_count(n_nodes)
    if n_nodes > 2**20:  # below, the memory needed is negligible
        check_memory(32.0 * n_nodes, f"a collection of {n_nodes} nodes", "use fewer nodes")
    edges = edges.astype(np.int64, copy=False).reshape(-1, 2)
    codes, vocabulary = encode_labels(edge_labels) if edge_labels is not None else (None, None)
    carries_data = codes is not None or edge_attributes is not None
    original = np.empty(len(edges) if carries_data else 0, np.int64)
    indptr, indices, listed = clean_adjacency(edges, n_nodes, original, directed=directed)
    if carries_data:
        # An edge that is listed twice must have the same labels and attributes both times.
        for name, values in (("labels", codes), ("attributes", edge_attributes)):
            if values is None:
                continue
            first = values[original]
            differs = (values != first) & ~((values != values) & (first != first))  # two missing values are equal
            bad = np.flatnonzero(differs.any(axis=1) if differs.ndim == 2 else differs)
            if len(bad):
                source, target = np.sort(edges[bad[0]])
                graph = int(np.searchsorted(offsets, source, side="right")) - 1
                pair = f"({source - offsets[graph]}, {target - offsets[graph]})"
                place = f" ({where(int(bad[0]))})" if where is not None else ""
                raise GraphError(graph, f"edge {pair} is listed twice with different {name}{place}")
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


def warn_of_dropped(edges: Int64, n_nodes: int, directed: bool) -> None:
    """Warn of dropped self-loops and parallel edges; an edge listed in both directions is not parallel."""
    proper = edges[edges[:, 0] != edges[:, 1]]
    ends = proper if directed else np.sort(proper, axis=1)
    keys = ends[:, 0] * n_nodes + ends[:, 1]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(first_of_runs(keys[order]))
    n_loops, n_parallel = len(edges) - len(proper), len(proper) - len(starts)
    if not directed and n_parallel:
        forwards = (proper[:, 0] < proper[:, 1])[order]
        ways = [np.add.reduceat(way.astype(np.int64), starts) for way in (forwards, ~forwards)]
        n_parallel = int((np.maximum(*ways) - 1).sum())
    if n_loops or n_parallel:
        dropped = ((n_loops, "self-loop"), (n_parallel, "parallel edge"))
        words = " and ".join(counted(count, what) for count, what in dropped if count)
        between = "from one node to another" if directed else "between two nodes"
        warn_user(f"{words} dropped: there is at most one edge {between}, and none from a node to itself")


def check_node_count(n_nodes: int) -> None:
    """Raise an error if there are more nodes than int32 can represent."""
    if n_nodes > MAX_NODES:
        raise ValueError(f"{n_nodes} nodes are more than the {MAX_NODES} that a collection can hold; split the data")


def checked_names(names: Sequence[Any], n_graphs: int) -> tuple[str, ...]:
    """Return names of graphs as strings; integers are converted."""
    texts = tuple(str(name) for name in names)
    for index, name in enumerate(names):
        if not isinstance(name, str) and not is_integer(name):
            raise GraphError(index, f"a name must be a text or an integer, not {type(name).__name__} {name!r}")
    if len(texts) != n_graphs:
        raise ValueError(f"there must be a name for each of {n_graphs} graphs, not {len(texts)} names")
    return texts


def common_names(found: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the names of graphs if each is a string or an integer, else None."""
    named = [name for name in found if is_integer(name) or (isinstance(name, str) and name)]
    return tuple(map(str, named)) if found and len(named) == len(found) else None


def as_list(graphs: Any, what: str) -> list[Any]:
    """Consume an iterable once; raise an error if it is a single graph."""
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
        raise GraphError(index, f"{problem}, or pass missing=…, the label of those without one")
    try:
        return [plain_label(value) for value in values]
    except (TypeError, ValueError) as error:
        raise GraphError(index, str(error)) from None


def _attribute_column(attributes: Any, length: int, what: str, index: int, partial: bool) -> Float64 | None:
    if attributes is None:
        return None
    try:
        values = as_floats(attributes)
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
    """Return the size, the arcs, the weights (None if all are 1), and whether the matrix is asymmetric."""
    if hasattr(matrix, "tocoo"):
        # Duplicate entries are summed, as in SciPy; the copy leaves the caller's matrix unchanged.
        entries = matrix.tocoo(copy=True)
        entries.sum_duplicates()
        kept = entries.data != 0
        shape, rows, columns, values = entries.shape, entries.row[kept], entries.col[kept], entries.data[kept]
    else:
        try:
            dense = np.asarray(matrix)
        except ValueError:
            raise GraphError(index, "the rows of the adjacency matrix differ in length") from None
        nothing = np.zeros(0, np.int64)
        rows, columns = np.nonzero(dense) if dense.ndim == 2 else (nothing, nothing)
        shape, values = dense.shape, dense[rows, columns] if dense.ndim == 2 else dense
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(index, f"an adjacency matrix must be square, not of shape {tuple(shape)}")
    if values.dtype.kind not in "biuf":
        raise GraphError(index, f"an adjacency matrix holds numbers, not {values.dtype}")
    if not np.isfinite(values).all():
        raise GraphError(index, "the adjacency matrix contains NaN or infinity")
    edges, values = np.column_stack([rows, columns]).astype(np.int64), np.asarray(values, np.float64)
    lopsided = not symmetric(edges, values, shape[0])
    if lopsided:
        both = csr_array((values, (edges[:, 0], edges[:, 1])), shape=shape)
        # Matrices from floating-point arithmetic, such as correlations, are symmetric up to rounding only.
        rounded = abs(both - both.T).max() <= ROUNDING * np.abs(values).max()
        if rounded:
            logger.info("graph %d: the adjacency matrix is symmetric up to rounding, so the graph is undirected", index)
        if symmetrize or rounded:
            # An edge has the weight of its arc, or the mean of two.
            there = csr_array((np.ones(len(values)), (edges[:, 0], edges[:, 1])), shape=shape)
            total, often = (both + both.T).tocoo(), there + there.T
            edges, lopsided = np.column_stack([total.row, total.col]).astype(np.int64), False
            values = total.data / often[total.row, total.col]
            edges, values = edges[values != 0], values[values != 0]
    weights = None if (values == 1).all() else values.reshape(-1, 1)
    return shape[0], edges, weights, lopsided


def common_direction(found: Sequence[bool | None], directed: bool | None, *, inferred: bool) -> bool:
    """Return whether a collection is directed, given whether each of its graphs is.

    Parameters
    ----------
    found : sequence
        True for a directed graph, False for an undirected one, None if the pairs of nodes may be either.
    directed : bool or None
        Choice of the caller; None if the graphs decide.
    inferred : bool
        Whether graphs count as directed only because they are asymmetric, so that others may be symmetric.
    """
    wanted = True in found if directed is None else directed
    reason = "directed=True, or the model was fitted on directed graphs" if directed else ""
    reason = f"graph {list(found).index(True)} is directed" if wanted and not directed else reason
    for index, one in enumerate(found):
        if one and not wanted:
            raise GraphError(index, DIRECTED)
        if wanted and one is False and not inferred:
            raise GraphError(index, f"the graph is undirected, but {reason}; a collection is one or the other")
        if wanted and one is None and directed is None:
            raise GraphError(index, f"its edges have no direction, but {reason}; pass directed=True if they are arcs")
    return wanted


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
    """Raise an error for an attribute name that no graph has, which is probably misspelled."""
    if known and name not in known:
        raise ValueError(f"no graph has the attribute {name!r}; {there_are(known)}")


def without_gaps(columns: list[list[Any]]) -> list[list[Any]]:
    """Return the numbers or vectors of all graphs with None replaced by NaN, or by a vector of NaN.

    >>> without_gaps([[[1, 2], None], []])
    [[[1, 2], array([nan, nan])], []]
    """
    known = next((value for column in columns for value in column if value is not None), None)
    gap = np.full(np.shape(known), np.nan) if known is not None else np.nan
    return [[gap if value is None else value for value in column] for column in columns]


def there_are(names: Iterable[Any]) -> str:
    """Return the available names as a phrase for a message."""
    listed = [repr(name) for name in names]
    more = f", … {len(listed) - 10} more" if len(listed) > 10 else ""
    return f"there is {', '.join(listed[:10])}{more}" if listed else "there are no attributes"


def join_labels(columns: Sequence[Sequence[Any]], missing: Label | None = None) -> list[Any]:
    """Return one label per item: the value of a single column, or a tuple of the values of all columns.

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
        arrays = [as_floats(column) for column in columns]
    except (TypeError, ValueError) as error:
        raise GraphError(index, f"the attributes are not numbers of one shape: {error}") from None
    wrong = next((array.shape for array in arrays if array.shape[:1] != (length,) or array.ndim > 2), None)
    if wrong is not None:
        problem = f"attributes of shape {wrong} where {length} nodes or edges have one number or vector each"
        raise GraphError(index, problem)
    # A width of -1 cannot be inferred for graphs without nodes, whose width does not matter.
    parts = [array.reshape(length, -1 if length else 0) for array in arrays]
    return np.column_stack(parts) if parts else np.empty((length, 0))


def check_safe(values: dict[str, Any]) -> None:
    """Raise an error if indices of a collection are out of bounds; fast, called for every collection.

    >>> check_safe({"offsets": np.array([0, 2]), "indptr": np.array([0, 1, 2]), "indices": np.array([1, 7])})
    Traceback (most recent call last):
    ...
    ValueError: indices must lie from 0 to 1
    """
    indices, n_nodes = values["indices"], len(values["indptr"]) - 1
    _check_spans("offsets", values["offsets"], n_nodes)
    _check_spans("indptr", values["indptr"], len(indices))
    _check_codes("indices", indices, len(indices), n_nodes)
    for kind, length in (("node", n_nodes), ("edge", len(indices))):
        codes, attributes = values.get(f"{kind}_codes"), values.get(f"{kind}_attributes")
        if codes is not None:
            _check_codes(f"{kind}_codes", codes, length, len(values[f"{kind}_vocabulary"] or (None,)))
        if attributes is not None and (attributes.ndim != 2 or len(attributes) != length):
            raise ValueError(f"{kind}_attributes must be a table with {length} rows, not of shape {attributes.shape}")


def check_clean(graphs: Any) -> None:
    """Raise an error if the adjacency of a collection is invalid; called for data from files.

    Neighbors must be in the same graph, in ascending order and without self-loops. In undirected graphs, both entries
    of an edge must exist and have the same label and attributes.
    """
    sources, targets = np.repeat(np.arange(graphs.n_nodes, dtype=np.int32), graphs.degrees), graphs.indices
    of_node = graphs.graph_of_node
    if (of_node[sources] != of_node[targets]).any():
        raise ValueError("an edge leads from one graph to another")
    ascend = (sources[1:] > sources[:-1]) | (targets[1:] > targets[:-1])
    if not ascend.all() or (sources == targets).any():
        raise ValueError("neighbors must ascend, without loops and repetitions")
    if any(part is not None and np.isinf(part).any() for part in (graphs.node_attributes, graphs.edge_attributes)):
        raise ValueError("attributes must be finite")
    if graphs.directed:
        return
    back_indptr, back_indices, order = reversed_arcs(graphs.indptr, graphs.indices)
    if not (np.array_equal(back_indptr, graphs.indptr) and np.array_equal(back_indices, graphs.indices)):
        raise ValueError("an undirected edge is seen from one of its ends alone")
    for what, carried in (("label", graphs.edge_codes), ("attributes", graphs.edge_attributes)):
        if carried is not None and not np.array_equal(carried[order], carried, equal_nan=carried.dtype.kind == "f"):
            raise ValueError(f"an undirected edge must have the same {what} at both of its ends")


def _check_spans(name: str, bounds: NDArray[Any], length: int) -> None:
    fits = bounds.ndim == 1 and len(bounds) and bounds[0] == 0 and bounds[-1] == length
    if not fits or (bounds[1:] < bounds[:-1]).any():
        raise ValueError(f"{name} must ascend from 0 to {length}")


def _check_codes(name: str, codes: NDArray[Any], length: int, n_codes: int) -> None:
    if codes.shape != (length,):
        raise ValueError(f"{name} must be {length} numbers, not an array of shape {codes.shape}")
    if codes.size and (codes.min() < 0 or codes.max() >= n_codes):
        raise ValueError(f"{name} must lie from 0 to {n_codes - 1}")
