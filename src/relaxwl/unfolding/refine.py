"""One Weisfeiler-Lehman step: from the ids of one depth to the distinct rows and ids of the next."""

import itertools
from functools import partial

import numpy as np

from relaxwl._execution import map_chunks
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int32, Int64
from relaxwl.unfolding import _compiled
from relaxwl.unfolding.rows import TreeRows, canonical_order, distinct, join_rows

# Nodes of one chunk: large enough to hide the call, small enough that every core gets several.
CHUNK_NODES = 1 << 17


def leaves(roots: Int32) -> tuple[TreeRows, Int32]:
    """Return the distinct depth-0 trees and one id for each node; ``roots`` holds the nodes' root codes."""
    codes, ids = np.unique(roots, return_inverse=True)
    rows = TreeRows(
        codes.astype(np.int32), np.zeros(len(codes) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), 0
    )
    return rows, ids.astype(np.int32)


def refine(
    graphs: GraphCollection,
    roots: Int32,
    previous: Int32,
    n_children: int,
    *,
    edge_codes: Int32 | None = None,
    n_edge_codes: int = 1,
    n_jobs: int | None = None,
) -> tuple[TreeRows, Int32]:
    """Return the distinct trees one level deeper, in canonical order, and the id of each node's tree.

    Two nodes get the same id exactly if they have the same root code and the same multiset of
    (edge code, previous id) among their neighbors.

    Parameters
    ----------
    graphs : GraphCollection
    roots : int32 array (n_nodes,)
        Root code of each node: its label's code, whatever the depth.
    previous : int32 array (n_nodes,)
        Id of each node at the depth below: of its tree, or of the tree's cluster.
    n_children : int
        Number of known ids; ids from here on (unseen trees) make points behind all known ones.
    edge_codes : int32 array (n_adjacent,), optional
        Code of the edge behind each adjacency entry; left out, edges have no labels.
    n_edge_codes : int
        Number of known edge codes.

    Examples
    --------
    >>> path = GraphCollection.from_edges([(4, [(0, 1), (1, 2), (2, 3)])])
    >>> rows, ids = refine(path, path.node_codes, path.node_codes, 1)
    >>> ids, rows.degrees
    (array([0, 1, 1, 0], dtype=int32), array([1, 2], dtype=int32))
    """
    edges = np.empty(0, np.int32) if edge_codes is None else edge_codes
    n_total = max(n_children, int(previous.max(initial=-1)) + 1)
    _check_points(n_children, n_edge_codes, n_total, int(edges.max(initial=0)) + 1)
    chunk = partial(_distinct_of_span, graphs, roots, previous, n_children, edges, n_edge_codes, n_total)
    parts = map_chunks(chunk, graph_spans(graphs, CHUNK_NODES), n_jobs)
    if len(parts) == 1:
        return _in_canonical_order(*parts[0])
    rows, places = merge_rows([rows.take(representatives) for rows, representatives, _ in parts])
    return rows, np.concatenate([place[ids] for place, (_, _, ids) in zip(places, parts, strict=True)])


def merge_rows(parts: list[TreeRows]) -> tuple[TreeRows, list[Int32]]:
    """Return the distinct rows of all parts, in canonical order, and for each part which of them its rows are."""
    joined = join_rows(parts)
    rows, ids = _in_canonical_order(joined, *distinct(joined))
    return rows, np.split(ids, np.cumsum([len(part) for part in parts])[:-1])


def _in_canonical_order(rows: TreeRows, representatives: Int64, ids: Int32) -> tuple[TreeRows, Int32]:
    """Return the representatives of rows, sorted by content, and ids that count them in this order."""
    ordered = canonical_order(rows, representatives)
    rank = np.empty(len(rows), np.int32)
    rank[ordered] = np.arange(len(ordered), dtype=np.int32)
    return rows.take(ordered), rank[representatives][ids]


def graph_spans(graphs: GraphCollection, nodes_per_span: int) -> list[tuple[int, int]]:
    """Cut the graphs into spans of about ``nodes_per_span`` nodes, never through a graph; at least one span."""
    wanted: Int64 = np.arange(nodes_per_span, graphs.n_nodes, nodes_per_span)
    cuts = np.unique(np.searchsorted(graphs.offsets, wanted))
    bounds = [0, *cuts[(cuts > 0) & (cuts < graphs.n_graphs)], graphs.n_graphs]
    return [(int(start), int(stop)) for start, stop in itertools.pairwise(bounds)]


def _distinct_of_span(
    graphs: GraphCollection,
    roots: Int32,
    previous: Int32,
    n_children: int,
    edge_codes: Int32,
    n_edge_codes: int,
    n_total: int,
    span: tuple[int, int],
) -> tuple[TreeRows, Int64, Int32]:
    """Return the rows of a span of graphs, which of them are distinct, and the id of each; arrays in, arrays out."""
    start, stop = (int(graphs.offsets[graph]) for graph in span)
    adjacency = _compiled.Adjacency(graphs.indptr, graphs.indices, edge_codes)
    if graphs.directed or len(edge_codes):
        gathered = _compiled.gather_coded_rows(start, stop, adjacency, previous, n_children, n_edge_codes, n_total)
    else:
        gathered = _compiled.gather_rows(start, stop, adjacency, previous, n_children, n_total)
    indptr, points, counts = gathered
    # A copy, because graphs' arrays are read only, and for such compiled code would be made a second time.
    rows = TreeRows(roots[start:stop].copy(), indptr, points, counts, n_children, n_edge_codes)
    return rows, *distinct(rows)


def _check_points(n_children: int, n_edge_codes: int, n_total: int, n_total_edges: int) -> None:
    largest = n_children * n_edge_codes + n_total * n_total_edges
    if largest > np.iinfo(np.int32).max:
        raise ValueError(
            f"{n_total} distinct trees with {n_total_edges} edge labels need {largest} points, more than int32 can "
            "number; use edge_labels=False, a smaller max_depth, or the relaxed kernel with fewer clusters"
        )
