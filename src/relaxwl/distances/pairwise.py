"""Exact tree edit distances between unfolding trees of nodes: bottom-up over distinct trees, none is built."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from relaxwl._memory import check_memory
from relaxwl._validation import check_integer
from relaxwl.costs import EditCost, UniformCosts, check_finite, checked_cost
from relaxwl.distances.batched import level_distances, whole_dtype
from relaxwl.distances.ground import GroundCost, is_whole
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64
from relaxwl.inputs import as_collection
from relaxwl.unfolding import TreeRows, leaves, refine
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding


def tree_distances(
    graphs: Any,
    depth: int,
    nodes: ArrayLike,
    cost: EditCost | None = None,
    n_jobs: int | None = None,
    *,
    edge_labels: bool = False,
) -> Float64:
    """Return the exact tree edit distances between the unfolding trees of given nodes.

    Only the subtrees that occur below these nodes are compared, so a few nodes of a large collection are cheap.

    Parameters
    ----------
    graphs : GraphCollection, or anything that :func:`relaxwl.as_collection` takes
    depth : int
        Depth of the trees; depth 0 is the node alone.
    nodes : int array (n, 2)
        Pairs (index of the graph, index of the node in the graph).
    cost : EditCost, optional
        Edit costs; 1 for every operation by default.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    edge_labels : bool, default=False
        Whether the labels of edges count.

    Returns
    -------
    distances : float64 array (n, n)
        Symmetric. Whole numbers if all costs are, exact up to 2**53.

    Examples
    --------
    The end, the middle and the other end of a path of three nodes:

    >>> path = GraphCollection.from_edges([(3, [(0, 1), (1, 2)])])
    >>> tree_distances(path, 2, [(0, 0), (0, 1), (0, 2)])
    array([[0., 3., 0.],
           [3., 0., 3.],
           [0., 3., 0.]])
    """
    unfolding = _Unfolding.of(graphs, depth, cost, edge_labels, n_jobs)
    wanted, positions = np.unique(unfolding.ids[_nodes(unfolding.graphs, nodes)], return_inverse=True)
    ground = unfolding.restricted_to(wanted).distances(n_jobs, extra=8 * len(positions) ** 2)
    return ground[np.ix_(positions, positions)].astype(np.float64)


def distinct_tree_distances(
    graphs: Any,
    depth: int,
    cost: EditCost | None = None,
    n_jobs: int | None = None,
    *,
    edge_labels: bool = False,
) -> tuple[NDArray[Any], Int32]:
    """Return the exact tree edit distances between all distinct unfolding trees, and the tree of each node.

    Parameters
    ----------
    graphs : GraphCollection, or anything that :func:`relaxwl.as_collection` takes
    depth : int
        Depth of the trees.
    cost, n_jobs, edge_labels
        As in :func:`tree_distances`.

    Returns
    -------
    distances : array (n_trees, n_trees)
        Symmetric. Where all costs are whole numbers it is of the smallest unsigned type that surely holds them
        (beware of differences, which wrap around: convert first), else float64; whole numbers are exact up to 2**53.
    ids : int32 array (n_nodes,)
        Which tree each node has, all graphs' nodes in order.

    Examples
    --------
    >>> path = GraphCollection.from_edges([(4, [(0, 1), (1, 2), (2, 3)])])
    >>> distances, ids = distinct_tree_distances(path, 2)
    >>> distances
    array([[0, 2],
           [2, 0]], dtype=uint8)
    >>> ids
    array([0, 1, 1, 0], dtype=int32)
    """
    unfolding = _Unfolding.of(graphs, depth, cost, edge_labels, n_jobs)
    return unfolding.distances(n_jobs)[:-1, :-1], unfolding.ids


@dataclass(frozen=True)
class _Unfolding:
    """The distinct trees of all depths up to one, and what edits cost.

    ``rows[d]`` holds the trees of depth d, ``ids`` the tree of each node at the last depth; ``node_costs`` and
    ``edge_costs`` are over codes in use, the blank last (``edge_costs`` is None where edge labels do not count).
    """

    graphs: GraphCollection
    rows: list[TreeRows]
    ids: Int32
    node_costs: Float64 | UniformCosts
    edge_costs: Float64 | None

    @classmethod
    def of(cls, graphs: Any, depth: int, cost: EditCost | None, edge_labels: bool, n_jobs: int | None) -> "_Unfolding":
        """Refine the graphs, level by level."""
        depth = check_integer("depth", depth)
        cost = checked_cost(cost)
        collection = as_collection(graphs)
        collection = collection.seen("both", edge_labels=edge_labels)
        edge_labels = edge_labels or collection.directed  # the direction of an arc is the label of its entry now
        roots, node_costs = RootEncoding.fit(collection, cost).encode(collection)
        edges = EdgeEncoding.fit(collection, cost, edge_labels)
        edge_codes, edge_costs = edges.encode(collection, node_costs)
        first, ids = leaves(roots)
        rows = [first]
        for _ in range(depth):
            level, ids = refine(
                collection, roots, ids, len(rows[-1]), edge_codes=edge_codes, n_edge_codes=edges.n_codes, n_jobs=n_jobs
            )
            rows.append(level)
        return cls(collection, rows, ids, node_costs, edge_costs)

    def restricted_to(self, wanted: NDArray[Any]) -> "_Unfolding":
        """Keep of the last depth only the trees wanted, and of each depth only those that occur below them."""
        kept: list[TreeRows] = []
        for depth in range(len(self.rows) - 1, -1, -1):
            rows = self.rows[depth].take(wanted)
            edges, children = np.divmod(rows.points, max(1, rows.n_children))
            wanted, renamed = np.unique(children, return_inverse=True)
            points = (edges * len(wanted) + renamed).astype(np.int32)
            kept.append(replace(rows, points=points, n_children=len(wanted)))
        return replace(self, rows=kept[::-1])

    def distances(self, n_jobs: int | None, extra: float = 0) -> NDArray[Any]:
        """Return the distances between the trees of the last depth, the empty tree last.

        ``extra`` counts the bytes that the caller is going to need.
        """
        sizes = [0.0, *level_bytes(self.rows, self.node_costs, self.edge_costs)]
        check_memory(
            max(before + after for before, after in pairwise(sizes)) + extra,
            "the distances",
            "ask tree_distances for fewer nodes, choose a smaller depth, or cluster the trees on the way with "
            "RelaxedWeisfeilerLehman(approximate=True)",
        )
        distances: NDArray[Any] = np.zeros((1, 1), np.uint8)
        for rows in self.rows:
            distances = level_distances(rows, GroundCost(distances, self.node_costs, self.edge_costs), n_jobs)
        return distances


def level_bytes(rows: list[TreeRows], node_costs: Float64 | UniformCosts, edge_costs: Float64 | None) -> list[float]:
    """Return the bytes that the distances between the distinct trees of each depth take, before any is computed.

    The cost of deleting a tree bounds its distances, and so the type that holds them.
    """
    whole = is_whole(node_costs) and (edge_costs is None or is_whole(edge_costs))
    edge_blank = 0.0 if edge_costs is None else float(edge_costs[:-1, -1].max(initial=0))
    dearest_edge = 0.0 if edge_costs is None else float(edge_costs.max(initial=0))
    sizes = []
    blank = np.zeros(1)
    for depth, level in enumerate(rows):
        with np.errstate(over="ignore"):
            deletion = blank[level.points % max(1, level.n_children)] + edge_blank
            blank = node_costs[level.roots, -1] + level.sums(level.counts * deletion)
        largest = 2 * float(blank.max(initial=0)) + dearest_edge
        check_finite(largest, depth)
        item = whole_dtype(largest).itemsize if whole else 8
        sizes.append(float(item) * (len(level) + 1) ** 2)
    return sizes


def _nodes(graphs: GraphCollection, nodes: ArrayLike) -> Int64:
    """Return the given (graph, node) pairs as node numbers in the whole collection."""
    pairs = np.asarray(nodes)
    if pairs.size == 0:
        return np.empty(0, np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"nodes must be whole numbers of shape (n, 2), pairs of graph and node index, "
            f"not of shape {pairs.shape} and dtype {pairs.dtype}"
        )
    graph, node = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    known = (graph >= 0) & (graph < graphs.n_graphs)
    size = (
        np.where(known, graphs.node_counts[np.where(known, graph, 0)], 0) if graphs.n_graphs else np.zeros_like(graph)
    )
    wrong = np.flatnonzero(~known | (node < 0) | (node >= size))
    if len(wrong):
        row = int(wrong[0])
        there = f"graph {graph[row]} has {size[row]} nodes" if known[row] else f"there are {graphs.n_graphs} graphs"
        raise ValueError(f"nodes[{row}] = ({graph[row]}, {node[row]}) does not exist: {there}, counted from 0")
    return np.asarray(graphs.offsets[graph] + node, np.int64)
