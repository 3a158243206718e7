"""The clusters of a kernel with their features and the trees of their nodes, and members compared with centers."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from relaxwl._execution import cached_property
from relaxwl.costs import EditCost
from relaxwl.distances.tree import TreeMapping, tree_edit_mapping
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.graphs.labels import Label
from relaxwl.kernels.clusters import ClusterKernel, LevelClusters
from relaxwl.unfolding.tree import UnfoldingTree, unfolding_tree


class Unfolder:
    """Builds the unfolding trees of a collection's nodes, with the attribute codes and edge labels of a kernel."""

    def __init__(self, kernel: Any, graphs: GraphCollection) -> None:
        directions, edges = getattr(kernel, "directions", "both"), getattr(kernel, "edge_encoding_", None)
        self.graphs = graphs.seen(directions, edge_labels=bool(kernel.edge_labels))
        counts = bool(kernel.edge_labels) or (graphs.directed and directions == "both")
        self.edge_labels = counts and self.graphs.edge_vocabulary is not None
        if edges is not None and edges.codebook is not None:
            codes, names = edges.codes_and_names(self.graphs)
            self.graphs = self.graphs.with_parts(edge_codes=codes, edge_vocabulary=names)
            self.edge_labels = True
        self._sizes: list[Float64] = [np.ones(graphs.n_nodes)]
        self._symbols: list[Label] | None = None
        encoding = getattr(kernel, "root_encoding_", None)
        if encoding is not None and encoding.codebook is not None:
            self._symbols = [encoding.tree_label(code) for code in encoding.encode(graphs)[0].tolist()]

    def locate(self, node: int) -> tuple[int, int]:
        """Return (graph, node in the graph) of a node of the collection."""
        graph = int(np.searchsorted(self.graphs.offsets, node, side="right")) - 1
        return graph, node - int(self.graphs.offsets[graph])

    def sizes(self, depth: int) -> Float64:
        """Return the sizes of the trees of all nodes, by counting walks."""
        while len(self._sizes) <= depth:
            graphs, below = self.graphs, self._sizes[-1]
            adjacency = csr_array(
                (np.ones(len(graphs.indices)), graphs.indices, graphs.indptr), shape=(graphs.n_nodes, graphs.n_nodes)
            )
            self._sizes.append(1 + np.asarray(adjacency @ below))
        return self._sizes[depth]

    def tree(self, position: int, depth: int) -> UnfoldingTree:
        """Return the unfolding tree of a node of the collection."""
        graph, node = self.locate(position)
        labels = None
        if self._symbols is not None:
            labels = self._symbols[self.graphs.offsets[graph] : self.graphs.offsets[graph + 1]]
        # Directions are already those that the kernel uses, so outgoing arcs are followed.
        return unfolding_tree(
            self.graphs[graph], node, depth, edge_labels=self.edge_labels, node_labels=labels, directions="out"
        )


@dataclass(frozen=True, eq=False)
class ClusterLevel(LevelClusters):
    """The clusters of one depth in one partition, the features that count them, and trees of their nodes.

    Attributes
    ----------
    first_column : int
        The feature that counts cluster 0; the other clusters follow.
    trees : Unfolder
        The trees of the nodes.
    """

    first_column: int = field(kw_only=True)
    trees: Unfolder = field(kw_only=True, repr=False)

    @cached_property
    def distances(self) -> Float64:
        """Distance of each node to the center of its cluster, as computed by the kernel; 0 if there are no centers."""
        found = self.row_distances()
        return np.zeros(len(self.row_of_node)) if found is None else found[self.row_of_node]

    @cached_property
    def column_of_node(self) -> Int64:
        """The feature that counts each node, -1 for a node that no feature counts."""
        clusters = self.clusters.astype(np.int64)
        return np.where(clusters < self.n_clusters, clusters + self.first_column, -1)

    def center_tree(self, cluster: int) -> UnfoldingTree:
        """Return the center of a cluster; one that is described in words is drawn as the label of a single node."""
        center = self.center(cluster)
        return UnfoldingTree(center) if isinstance(center, str) else center

    def node_tree(self, position: int, depth: int) -> UnfoldingTree:
        """Return the tree of a node of the collection, or its description in the same way."""
        if self.describe is not None:
            return UnfoldingTree(self.describe(int(self.row_of_node[position])))
        return self.trees.tree(position, depth)


def levels(kernel: ClusterKernel, graphs: GraphCollection) -> list[ClusterLevel]:
    """Return all levels of a fitted kernel, in the order of its features."""
    found, trees = kernel.levels(graphs), Unfolder(kernel, graphs)
    sizes = [level.n_clusters for level in found]
    firsts = (np.cumsum(sizes) - sizes).tolist()
    return [
        ClusterLevel(**vars(level), first_column=first, trees=trees) for level, first in zip(found, firsts, strict=True)
    ]


def count_clusters(found: list[ClusterLevel], n_columns: int) -> csr_array:
    """Return how many nodes of each graph fall into each cluster: a CSR array (n_graphs, n_columns)."""
    graphs = found[0].trees.graphs
    columns = np.concatenate([level.column_of_node for level in found])
    owners = np.tile(graphs.graph_of_node, len(found))
    known = columns >= 0
    counts = csr_array((np.ones(int(known.sum())), (owners[known], columns[known])), shape=(graphs.n_graphs, n_columns))
    counts.sum_duplicates()
    return counts


# Maximum size of trees that are compared in full; only the upper levels of larger trees are compared.
MAX_COMPARED_SIZE = 400


@dataclass(frozen=True)
class Member:
    """One node of a cluster, compared with the cluster's center.

    Attributes
    ----------
    graph, node : int
        The node: index of its graph, and its index there.
    distance : float
        Distance of its tree to the center, as computed by the kernel. R-WL* uses distances between centers of the depth
        below, so ``mapping.cost``, which is between the original trees, may differ.
    n_alike : int
        Number of nodes in the cluster whose trees are the same for the kernel.
    mapping : TreeMapping
        The cheapest mapping of the node's unfolding tree to the center.
    compared_depth : int
        Depth to which the trees were compared: less than their own if they are too large to be read.
    """

    graph: int
    node: int
    distance: float
    n_alike: int
    mapping: TreeMapping
    compared_depth: int

    @property
    def words(self) -> str:
        """Edits from the member to the center: "two leaves inserted, one node relabeled"."""
        return self.mapping.describe()


@dataclass(frozen=True)
class Members:
    """The members nearest to the center, nearest first, and the farthest of the others, farthest first."""

    nearest: tuple[Member, ...]
    farthest: tuple[Member, ...]


def find_members(level: ClusterLevel, cluster: int, cost: EditCost | None, n_nearest: int, n_farthest: int) -> Members:
    """Describe members of a cluster; of nodes with equal trees, only the first."""
    inside = np.flatnonzero(level.clusters == cluster)
    _, first, n_alike = np.unique(level.row_of_node[inside], return_index=True, return_counts=True)
    nodes = inside[first]
    order = np.lexsort((nodes, level.distances[nodes]))
    nearest, others = order[:n_nearest], order[n_nearest:]
    farthest = others[len(others) - min(n_farthest, len(others)) :][::-1]
    center = level.center_tree(cluster)
    centers = [cut(center, depth) for depth in range(level.depth + 1)]

    def member(position: int, n_alike: int) -> Member:
        """Compare one node with the center, up to the depth at which trees become too large."""
        graph, node = level.trees.locate(position)
        depth = level.depth
        # Trees grow with the depth, so one that is too large may still be compared at a smaller depth.
        while depth > 1 and max(level.trees.sizes(depth)[position], centers[depth].size) > MAX_COMPARED_SIZE:
            depth -= 1
        mapping = tree_edit_mapping(level.node_tree(position, depth), centers[depth], cost)
        return Member(graph, node, float(level.distances[position]), n_alike, mapping, depth)

    chosen = ([member(int(nodes[i]), int(n_alike[i])) for i in places] for places in (nearest, farthest))
    return Members(*map(tuple, chosen))


def cut(
    tree: UnfoldingTree, depth: int, done: dict[tuple[UnfoldingTree, int], UnfoldingTree] | None = None
) -> UnfoldingTree:
    """Return the upper part of a tree, down to a depth.

    >>> print(cut(UnfoldingTree.parse("1(2(3,4),5)"), 1))
    1(2,5)
    """
    done = {} if done is None else done  # each distinct subtree is cut once
    if tree.depth <= depth:
        return tree
    if (tree, depth) not in done:
        pieces = [cut(branch.tree, depth - 1, done) for branch in tree.branches if depth]
        branches = list(zip(pieces, tree.branches, strict=False))
        children = [piece for piece, branch in branches for _ in range(branch.multiplicity)]
        edges = [branch.edge for _, branch in branches for _ in range(branch.multiplicity)]
        done[tree, depth] = UnfoldingTree(tree.label, children, edges if tree.has_edge_labels and edges else None)
    return done[tree, depth]
