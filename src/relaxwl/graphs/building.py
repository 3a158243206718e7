"""From edges as users have them to one clean adjacency: checks, symmetry, no loops, no repetitions."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from relaxwl.graphs.arrays import Float64, Int32, Int64, first_of_runs, prefix_sums
from relaxwl.graphs.labels import Label, encode_labels, plain_label

if TYPE_CHECKING:
    import networkx

# Vertex numbers and codes are int32: half the memory traffic of int64, and checked on construction.
MAX_NODES = np.iinfo(np.int32).max

DIRECTED = "the graph is directed, and the kernels are for undirected graphs; pass symmetrize=True to forget directions"


class GraphError(ValueError):
    """A graph that cannot be read; the message names its index in the input."""

    def __init__(self, index: int, problem: str) -> None:
        super().__init__(f"graph {index}: {problem}")
        self.index = index


class CollectionBuilder:
    """Gathers graphs one by one, checks each, and builds the collection at the end."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._edges: list[Int64] = []
        self._columns: dict[str, list[Any]] = {
            name: [] for name in ("node_labels", "edge_labels", "node_attributes", "edge_attributes")
        }

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
        """Add a graph with local vertex numbers; labels and attributes are sequences aligned with nodes and edges."""
        index = len(self._sizes)
        size = _node_count(n_nodes, index)
        pairs = _edge_array(edges, size, index)
        columns = {
            "node_labels": _label_column(node_labels, size, "vertices", index),
            "edge_labels": _label_column(edge_labels, len(pairs), "edges", index),
            "node_attributes": _attribute_column(node_attributes, size, "vertices", index),
            "edge_attributes": _attribute_column(edge_attributes, len(pairs), "edges", index),
        }
        for name, column in columns.items():
            self._check_agrees(name, column, index)
            self._columns[name].append(column)
        self._sizes.append(size)
        self._edges.append(pairs)

    def _check_agrees(self, name: str, column: Any, index: int) -> None:
        """Every graph must carry what the first one carries."""
        if index == 0:
            return
        first, words = self._columns[name][0], name.replace("_", " ")
        if (first is None) != (column is None):
            has, lacks = ("none", "some") if first is not None else ("some", "none")
            raise GraphError(index, f"has {has} of the {words} that graph 0 has {lacks} of; give them for all or none")
        if column is not None and isinstance(column, np.ndarray) and column.shape[1] != first.shape[1]:
            raise GraphError(index, f"{words} have length {column.shape[1]}, but those of graph 0 {first.shape[1]}")

    def build(self) -> dict[str, Any]:
        """Return all graphs added as the arguments of ``GraphCollection``."""
        sizes = np.array(self._sizes, np.int64)
        offsets = prefix_sums(sizes)
        shifted = [edges + start for edges, start in zip(self._edges, offsets, strict=False)]
        joined = {name: self._joined(name) for name in self._columns}
        return assemble(
            offsets,
            np.concatenate(shifted) if shifted else np.empty((0, 2), np.int64),
            node_labels=joined["node_labels"],
            edge_labels=joined["edge_labels"],
            node_attributes=joined["node_attributes"],
            edge_attributes=joined["edge_attributes"],
        )

    def _joined(self, name: str) -> Any:
        columns = self._columns[name]
        if not columns or columns[0] is None:
            return None
        if isinstance(columns[0], np.ndarray):
            return np.concatenate(columns)
        return [value for column in columns for value in column]


def assemble(
    offsets: Int64,
    edges: NDArray[np.integer[Any]],
    *,
    node_labels: Sequence[Label] | NDArray[Any] | None = None,
    edge_labels: Sequence[Label] | NDArray[Any] | None = None,
    node_attributes: Float64 | None = None,
    edge_attributes: Float64 | None = None,
    where: Callable[[int], str] | None = None,
) -> dict[str, Any]:
    """Return the arguments of ``GraphCollection`` for edges over global vertex numbers, each listed once or twice.

    Self-loops and repetitions are dropped; repetitions that contradict each other (in label or attributes) are
    an error. The caller has checked the ranges. ``where`` turns the position of an edge into words for the error.
    """
    n_nodes = int(offsets[-1])
    check_node_count(n_nodes)
    edges = edges.astype(np.int64, copy=False).reshape(-1, 2)
    codes, vocabulary = encode_labels(edge_labels) if edge_labels is not None else (None, None)
    proper = edges[:, 0] != edges[:, 1]
    listed = None if codes is None and edge_attributes is None else np.flatnonzero(proper)
    if not proper.all():
        edges = edges[proper]
    keys = np.concatenate([edges[:, 0] * n_nodes + edges[:, 1], edges[:, 1] * n_nodes + edges[:, 0]])
    source_edges = None
    if listed is None:
        keys.sort()
        first = first_of_runs(keys)
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = first_of_runs(keys)
        position = listed[order % max(len(listed), 1)]
        source_edges = position[first]
        _check_repetitions(keys, first, position, codes, edge_attributes, offsets, where)
    keys = keys[first]
    sources, targets = np.divmod(keys, max(n_nodes, 1))
    indptr = prefix_sums(np.bincount(sources, minlength=n_nodes))
    node_codes, node_vocabulary = encode_labels(node_labels) if node_labels is not None else (None, None)
    return {
        "offsets": offsets,
        "indptr": indptr,
        "indices": targets.astype(np.int32),
        "node_codes": node_codes,
        "node_vocabulary": node_vocabulary,
        "edge_codes": None if codes is None else codes[source_edges],
        "edge_vocabulary": vocabulary,
        "node_attributes": node_attributes,
        "edge_attributes": None if edge_attributes is None else edge_attributes[source_edges],
    }


def _check_repetitions(
    keys: Int64,
    first: NDArray[np.bool_],
    position: Int64,
    codes: Int32 | None,
    attributes: Float64 | None,
    offsets: Int64,
    where: Callable[[int], str] | None,
) -> None:
    """Refuse an edge that is listed twice with different labels or attributes."""
    reference = position[np.flatnonzero(first)[np.cumsum(first) - 1]]
    for name, values in (("labels", codes), ("attributes", attributes)):
        if values is None:
            continue
        differs = values[position] != values[reference]
        bad = np.flatnonzero(differs.any(axis=1) if differs.ndim == 2 else differs)
        if not len(bad):
            continue
        entry = int(bad[0])
        source, target = divmod(int(keys[entry]), int(offsets[-1]))
        graph = int(np.searchsorted(offsets, source, side="right")) - 1
        start = int(offsets[graph])
        place = f" ({where(int(position[entry]))})" if where is not None else ""
        raise GraphError(
            graph, f"edge ({source - start}, {target - start}) is listed twice with different {name}{place}"
        )


def check_node_count(n_nodes: int) -> None:
    """Refuse more vertices than int32 can number."""
    if n_nodes > MAX_NODES:
        raise ValueError(f"{n_nodes} vertices are more than the {MAX_NODES} that a collection can hold; split the data")


def as_list(graphs: Any, what: str) -> list[Any]:
    """Consume an iterable once; say clearly when a single graph was given instead."""
    if hasattr(graphs, "nodes") or hasattr(graphs, "toarray") or (isinstance(graphs, np.ndarray) and graphs.ndim == 2):
        raise TypeError(f"expected a list of {what}, got a single {type(graphs).__name__}: put it in a list, [graph]")
    try:
        return list(graphs)
    except TypeError:
        raise TypeError(f"expected a list of {what}, got {type(graphs).__name__}") from None


def _node_count(n_nodes: Any, index: int) -> int:
    if isinstance(n_nodes, bool) or not isinstance(n_nodes, (int, np.integer)) or n_nodes < 0:
        raise GraphError(index, f"the number of vertices must be an integer >= 0, not {n_nodes!r}")
    return int(n_nodes)


def _edge_array(edges: Any, n_nodes: int, index: int) -> Int64:
    values = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges))
    if values.size == 0:
        return np.empty((0, 2), np.int64)
    if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "iu":
        raise GraphError(index, f"edges must be pairs of vertex numbers, not an array of shape {values.shape}")
    outside = np.flatnonzero((values < 0).any(axis=1) | (values >= n_nodes).any(axis=1))
    if len(outside):
        u, v = values[outside[0]]
        raise GraphError(index, f"edge ({u}, {v}) names a vertex outside 0..{n_nodes - 1}")
    return values.astype(np.int64)


def _label_column(labels: Any, length: int, what: str, index: int) -> list[Label] | None:
    if labels is None:
        return None
    if isinstance(labels, Mapping):
        missing = [key for key in range(length) if key not in labels]
        if missing:
            raise GraphError(index, f"{what}: number {missing[0]} has no label")
        labels = [labels[key] for key in range(length)]
    if isinstance(labels, str):
        raise GraphError(index, f"the labels of the {what} are one string {labels!r}; give a sequence of labels")
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if len(values) != length:
        raise GraphError(index, f"{len(values)} labels for {length} {what}")
    try:
        plain = [plain_label(value) for value in values]
    except (TypeError, ValueError) as error:
        raise GraphError(index, str(error)) from None
    if None in plain:
        raise GraphError(index, f"{what}: number {plain.index(None)} has no label; label all {what} or none")
    return plain


def _attribute_column(attributes: Any, length: int, what: str, index: int) -> Float64 | None:
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
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise GraphError(index, f"the attributes of the {what} contain NaN or infinity (first at number {bad[0]})")
    return values


def adjacency_arcs(matrix: Any, index: int, symmetrize: bool) -> tuple[int, Int64, Float64 | None]:
    """Return the size, the edges and, unless all are 1, the weights of an adjacency matrix."""
    if hasattr(matrix, "tocoo"):
        entries = matrix.tocoo()
        shape, rows, columns, values = entries.shape, entries.row, entries.col, entries.data
        kept = values != 0
        rows, columns, values = rows[kept], columns[kept], values[kept]
    else:
        dense = np.asarray(matrix)
        shape = dense.shape
        if dense.dtype.kind not in "biuf":
            raise GraphError(index, f"an adjacency matrix holds numbers, not {dense.dtype}")
        rows, columns = np.nonzero(dense) if dense.ndim == 2 else (np.empty(0, int), np.empty(0, int))
        values = dense[rows, columns] if dense.ndim == 2 else dense
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(index, f"an adjacency matrix must be square, not of shape {tuple(shape)}")
    if not np.isfinite(values).all():
        raise GraphError(index, "the adjacency matrix contains NaN or infinity")
    edges = np.column_stack([rows, columns]).astype(np.int64)
    if symmetrize:
        return shape[0], edges, None
    forward, backward = rows.astype(np.int64) * shape[0] + columns, columns.astype(np.int64) * shape[0] + rows
    there, back = np.argsort(forward, kind="stable"), np.argsort(backward, kind="stable")
    if not (np.array_equal(forward[there], backward[back]) and np.array_equal(values[there], values[back])):
        raise GraphError(index, DIRECTED)
    weights = None if (values == 1).all() else np.asarray(values, np.float64).reshape(-1, 1)
    return shape[0], edges, weights


def node_values(graph: "networkx.Graph", name: str, index: int) -> list[Label]:
    """Return the node attribute ``name`` of every vertex."""
    values = []
    for node, data in graph.nodes(data=True):
        if name not in data:
            raise GraphError(index, f"node {node!r} has no attribute {name!r}")
        values.append(data[name])
    return values


def node_vectors(graph: "networkx.Graph", names: Sequence[str], index: int) -> Float64:
    """Return the numeric node attributes ``names`` of every vertex, joined to one vector each."""
    columns = [np.array(node_values(graph, name, index), np.float64) for name in names]
    return np.column_stack([column.reshape(graph.number_of_nodes(), -1) for column in columns])
