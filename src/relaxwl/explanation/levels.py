"""Where the nodes of a collection fall: one view on the clusters of relaxed and plain Weisfeiler-Lehman kernels."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from relaxwl._execution import cached_property
from relaxwl.distances.transport import GroundCost
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64
from relaxwl.graphs.labels import Label
from relaxwl.kernels.chains import center_costs
from relaxwl.kernels.continuous import ContinuousWeisfeilerLehman
from relaxwl.kernels.partition import Assignment, Partition
from relaxwl.kernels.relaxed import RelaxedWeisfeilerLehman
from relaxwl.kernels.wl import WeisfeilerLehman
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.tree import UnfoldingTree, unfolding_tree


class Unfolder:
    """Builds the trees of a collection's nodes as a kernel sees them, attribute codes and edge labels included."""

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
        """Return how large the trees of all nodes are, without building any: walks are counted."""
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
        # The graphs are seen as the kernel sees them already, so their arcs are followed as they are.
        return unfolding_tree(
            self.graphs[graph], node, depth, edge_labels=self.edge_labels, node_labels=labels, directions="out"
        )


@dataclass(frozen=True, eq=False)
class ClusterLevel:
    """The clusters of one depth in one partition, and the nodes in them.

    Attributes
    ----------
    partition, depth, n_clusters : int
        Which level it is, and how many clusters it has.
    first_column : int
        The feature that counts cluster 0; the other clusters follow.
    found : Assignment
        Where the nodes fall.
    trees : Unfolder
        The nodes' trees.
    described : Partition or None
        The clusters as they were fitted; None where clusters are single trees without centers.
    """

    partition: int
    depth: int
    n_clusters: int
    first_column: int
    found: Assignment = field(repr=False)
    trees: Unfolder = field(repr=False)
    described: Partition | None = field(default=None, repr=False)
    n_jobs: int | None = field(default=None, repr=False)

    @cached_property
    def clusters(self) -> Int32:
        """Cluster of each node; numbers from ``n_clusters`` on were not met in fitting."""
        return self.found.clusters

    @property
    def rows(self) -> Int32:
        """Nodes with the same number have, to the kernel, the same tree."""
        return self.found.row_of_node

    @cached_property
    def distances(self) -> Float64:
        """Distance of each node's tree to the center of its cluster, as the kernel measures it."""
        if self.described is None:
            return np.zeros(len(self.rows))
        return self.found.distances(self.described.centers, self.n_jobs)[self.rows]

    @property
    def centers(self) -> TreeRows | None:
        """The centers; None where clusters have none."""
        return None if self.described is None else self.described.centers

    def column_of_node(self) -> Int64:
        """Return the feature that counts each node, -1 for a node that no feature counts."""
        clusters = self.clusters.astype(np.int64)
        return np.where(clusters < self.n_clusters, clusters + self.first_column, -1)

    def center_tree(self, cluster: int) -> UnfoldingTree:
        """Return the center of a cluster; where clusters are single trees, that tree."""
        if self.described is not None:
            return self.described.center_tree(cluster)
        return self.trees.tree(int(np.flatnonzero(self.clusters == cluster)[0]), self.depth)

    def center_distances(self, n_jobs: int | None = None) -> Float64 | None:
        """Return the exact distances between the centers; None where clusters have no centers."""
        if self.described is None:
            return None
        fed = self.described.fed
        if fed is not None and fed.known is self.described.centers and fed.distances is not None:
            return np.asarray(fed.distances[:-1, :-1])
        return center_costs(self.described.centers, self.found.ground, n_jobs)[:-1, :-1]


class Describer(Unfolder):
    """Writes vectors of nodes in the units of the data, as trees of one node: there is nothing below."""

    def __init__(self, kernel: ContinuousWeisfeilerLehman, graphs: GraphCollection, vectors: Any) -> None:
        self.kernel, self.graphs, self.vectors = kernel, graphs, vectors

    def sizes(self, depth: int) -> Float64:
        """Return 1 for each node."""
        return np.ones(self.graphs.n_nodes)

    def tree(self, position: int, depth: int) -> UnfoldingTree:
        """Return the description of a node's vector."""
        return UnfoldingTree(self.kernel.describe(depth, self.vectors[position]))


@dataclass(frozen=True, eq=False)
class VectorLevel(ClusterLevel):
    """Clusters of vectors of nodes; distances are in standard deviations."""

    points: Any = field(default=None, repr=False)

    @cached_property
    def distances(self) -> Float64:
        """Distance of each node's vector to the center of its cluster."""
        trees = cast(Describer, self.trees)
        return np.asarray(np.linalg.norm(trees.vectors - self.points[self.clusters], axis=1) / trees.kernel.unit_)

    def center_tree(self, cluster: int) -> UnfoldingTree:
        """Return the description of a center."""
        return UnfoldingTree(cast(Describer, self.trees).kernel.describe(self.depth, self.points[cluster]))

    def center_distances(self, n_jobs: int | None = None) -> Float64:
        """Return the distances between the centers."""
        return np.asarray(cdist(self.points, self.points) / cast(Describer, self.trees).kernel.unit_)


def levels(kernel: Any, graphs: GraphCollection) -> list[ClusterLevel]:
    """Return all levels of a fitted kernel, in the order of its features."""
    if isinstance(kernel, ContinuousWeisfeilerLehman):
        return list(_of_vectors(kernel, graphs))
    return _relaxed(kernel, graphs) if isinstance(kernel, RelaxedWeisfeilerLehman) else _identical(kernel, graphs)


def count_clusters(found: list[ClusterLevel], n_columns: int) -> csr_array:
    """Return how many nodes of each graph fall into each cluster: a CSR array (n_graphs, n_columns)."""
    graphs = found[0].trees.graphs
    columns = np.concatenate([level.column_of_node() for level in found])
    owners = np.tile(graphs.graph_of_node, len(found))
    known = columns >= 0
    counts = csr_array((np.ones(int(known.sum())), (owners[known], columns[known])), shape=(graphs.n_graphs, n_columns))
    counts.sum_duplicates()
    return counts


def _relaxed(kernel: RelaxedWeisfeilerLehman, graphs: GraphCollection) -> list[ClusterLevel]:
    trees = Unfolder(kernel, graphs)
    result: list[ClusterLevel] = []
    column = 0
    for described, found in sorted(kernel.assignments(graphs), key=lambda item: (item[0].depth, item[0].index)):
        size = len(described)
        result.append(
            ClusterLevel(described.index, described.depth, size, column, found, trees, described, kernel.n_jobs)
        )
        column += size
    return result


def _of_vectors(kernel: ContinuousWeisfeilerLehman, graphs: GraphCollection) -> Iterator[ClusterLevel]:
    column, nothing = 0, GroundCost(np.zeros((1, 1)), np.zeros((1, 1)))
    for depth, (vectors, of_node, clusters) in enumerate(kernel.assignments(graphs)):
        trees, bounds = Describer(kernel, graphs, vectors[of_node]), kernel.center_bounds_[depth].tolist()
        for partition, (start, stop) in enumerate(pairwise(bounds)):
            found = Assignment(TreeRows.from_parts([], 0), of_node, clusters[partition], nothing)
            points = kernel.centers_[depth][start:stop]
            yield VectorLevel(partition, depth, stop - start, column, found, trees, points=points)
            column += stop - start


def _identical(kernel: WeisfeilerLehman, graphs: GraphCollection) -> list[ClusterLevel]:
    result: list[ClusterLevel] = []
    column = 0
    trees = Unfolder(kernel, graphs)
    nothing = GroundCost(np.zeros((1, 1)), np.zeros((1, 1)))
    for depth, (known, ids) in enumerate(zip(kernel.rows_, kernel.node_clusters(graphs)[0], strict=True)):
        labels = np.arange(max(len(known), int(ids.max(initial=-1)) + 1), dtype=np.int32)
        result.append(ClusterLevel(0, depth, len(known), column, Assignment(known, ids, labels, nothing), trees))
        column += len(known)
    return result
