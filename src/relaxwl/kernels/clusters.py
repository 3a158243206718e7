"""Kernels that count nodes in clusters: the clusters of nodes by depth and partition, and the counts made of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from relaxwl._execution import map_chunks, map_long
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64
from relaxwl.kernels.base import CountKernel, check_graphs
from relaxwl.kernels.counting import Counter, Counts, SubtreeCounter, join_counts
from relaxwl.kernels.levels import Graphs
from relaxwl.unfolding.tree import UnfoldingTree


def _nothing() -> None:
    """Return no distances."""


@dataclass(frozen=True, eq=False)
class LevelClusters:
    """The clusters of the nodes of some graphs, at one depth of one partition.

    Attributes
    ----------
    depth, partition, n_clusters : int
        Depth and number of the partition, and its number of clusters.
    row_of_node : int32 array (n_nodes,)
        The distinct tree (or vector) of each node.
    labels : int32 array (n_rows,)
        The cluster of each tree; numbers from ``n_clusters`` on are clusters that were not seen in fitting.
    center : callable
        ``center(cluster)`` returns the center of a cluster as a tree, or its description in words.
    are_labels : bool
        Whether clusters are those of the nodes' own labels.
    edges : int32 array or None
        Code of each adjacency entry of the graphs, if edges are distinguished.
    row_distances : callable
        Returns the distance of each tree to the center of its cluster; None if clusters have no centers.
    center_distances : callable
        Returns the distances between the centers; None if there are no centers, or clusters are single trees.
    describe : callable or None
        ``describe(row)`` describes a vector in words; None for trees.
    """

    depth: int
    partition: int
    n_clusters: int
    row_of_node: Int32 = field(repr=False)
    labels: Int32 = field(repr=False)
    center: Callable[[int], UnfoldingTree | str] = field(repr=False)
    are_labels: bool = False
    edges: Int32 | None = field(default=None, repr=False)
    row_distances: Callable[[], Float64 | None] = field(default=_nothing, repr=False)
    center_distances: Callable[[], Float64 | None] = field(default=_nothing, repr=False)
    describe: Callable[[int], str] | None = field(default=None, repr=False)

    @property
    def clusters(self) -> Int32:
        """The cluster of each node."""
        return self.labels[self.row_of_node]


# The clusters of an independent chain, depth by depth, computed as they are asked for.
Chain = Iterator[list[LevelClusters]]


class ClusterKernel(CountKernel):
    """A kernel whose columns are clusters of nodes, or pairs of them, at every depth of one or several partitions.

    Subclasses say how nodes get their clusters (``_chains``); counts, names of clusters and explanations are made of
    these. With ``fit_source`` they can also be fitted to shards.

    See Also
    --------
    relaxwl.WeisfeilerLehman : Clusters of equal trees.
    relaxwl.RelaxedWeisfeilerLehman : Clusters of similar trees.
    """

    def _chains(self, graphs: GraphCollection, n_partitions: int | None = None) -> list[Chain]:
        """Return chains of clusters, which can be computed in parallel; each has one partition or several."""
        raise NotImplementedError

    def _counter(self, level: LevelClusters) -> Counter:
        """Return what counts the clusters of a level."""
        return SubtreeCounter(level.n_clusters)

    def _fit_counts(self, graphs: GraphCollection) -> list[Counts]:
        return self.fit_source(Graphs(graphs))  # type: ignore[no-any-return]

    def levels(self, X: Any, n_partitions: int | None = None) -> list[LevelClusters]:
        """Return the clusters of the nodes of graphs, in the order of the features.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        n_partitions : int, optional
            Number of partitions; by default all.

        Returns
        -------
        list of LevelClusters
            One for each depth and partition: the cluster of each node, and how centers are drawn.
        """
        check_is_fitted(self)
        # Chains are independent, but within a chain a depth is refined from the clusters of the depth below.
        chains = map_long(list, self._chains(check_graphs(self, X), n_partitions), self.n_jobs)
        found = [level for chain in chains for levels in chain for level in levels]
        return sorted(found, key=lambda level: (level.depth, level.partition))

    def node_clusters(self, X: Any) -> list[list[Int32]]:
        """Return, as ``result[partition][depth]``, the cluster of every node, all graphs' nodes in order.

        Larger numbers than those of the clusters denote labels (or trees) that do not occur in the fitted graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        list of list of int32 arrays (n_nodes,)
            For each partition and depth.
        """
        levels = self.levels(X)
        found: list[list[Int32]] = [[] for _ in range(levels[-1].partition + 1)]
        for level in levels:
            found[level.partition].append(level.clusters)
        return found

    def prepare(self, X: Any, levels: list[LevelClusters] | None = None) -> list[Counts]:
        """Return raw counts, for :meth:`compare` and :meth:`unary_features`.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        levels : list of LevelClusters, optional
            The result of :meth:`levels`, if it is known already.

        Returns
        -------
        list of Counts
            For each depth a sparse matrix (graphs × clusters) and, for each graph, the sum and the sum of squares of
            the counts of features unseen in fitting.
        """
        return super().prepare(X) if levels is None else self._counted(check_graphs(self, X), [iter(by_depth(levels))])

    def counts_without_nodes(self, X: Any, levels: list[LevelClusters] | None = None) -> list[Counts]:
        """Return the counts of one graph without those of its first, second, ... node: a row for each node.

        Counts of the node's own neighborhoods are removed and, for pairs, those with it at an end; others, also those
        of neighborhoods that contain the node, do not change.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            One graph.
        levels : list of LevelClusters, optional
            The result of :meth:`levels`, if it is known already.

        Returns
        -------
        list of Counts
            Counts at each depth.
        """
        graph = check_graphs(self, X)
        found = []
        for own in by_depth(self.levels(graph) if levels is None else levels):
            if self.base == "subtree":
                ids, sizes = np.array([level.clusters for level in own]), np.array([level.n_clusters for level in own])
                found.append(_without_own(ids, sizes))
            else:
                counted = [_without_pairs(self._counter(level), graph, level, self.n_jobs) for level in own]
                found.append(concatenated(counted))
        return found

    def counts_without_clusters(
        self, X: Any, levels: list[LevelClusters] | None = None
    ) -> tuple[list[tuple[LevelClusters, int]], list[Counts]]:
        """Return the clusters with nodes of one graph, and its counts without each of them, one row per cluster.

        Clusters of labels are left out, because they are not informative.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            One graph.
        levels : list of LevelClusters, optional
            The result of :meth:`levels`, if it is known already.

        Returns
        -------
        clusters : list of (LevelClusters, int)
            Level and number of each cluster.
        counts : list of Counts
            Counts at each depth.
        """
        levels = self.levels(X) if levels is None else levels
        clusters: list[tuple[LevelClusters, int]] = []
        rows, columns = list[int](), list[int]()
        for own in by_depth(levels):
            rows.append(len(clusters))
            first = 0  # the counts of the partitions are concatenated
            for level in own:
                # Clusters that were not seen in fitting have no columns, so removing them changes nothing.
                inside = np.unique(level.clusters[level.clusters < level.n_clusters]).tolist()
                clusters += [] if level.are_labels else [(level, number) for number in inside]
                columns += [] if level.are_labels else [first + number for number in inside]
                first += level.n_clusters
        less = []
        for counts, begin, end in zip(self.prepare(X, levels), rows, [*rows[1:], len(clusters)], strict=True):
            # All rows have the counts of the graph, and those of this depth's clusters lose one entry each.
            taken, every = np.array(columns[begin:end], np.int64), np.zeros(len(clusters), np.int64)
            values = counts.matrix.toarray()[0, taken]
            own_counts = csr_array((values, (np.arange(begin, end), taken)), (len(clusters), counts.matrix.shape[1]))
            matrix = csr_array(counts.matrix[every] - own_counts)
            matrix.eliminate_zeros()
            less.append(Counts(matrix, counts.unknown_squares[every], counts.unknown_sums[every]))
        return clusters, less

    def node_columns(self, X: Any, levels: list[LevelClusters] | None = None) -> tuple[Int64, Int64]:
        """Return pairs of a node and a column in which it is counted, if each cluster has a column.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        levels : list of LevelClusters, optional
            The result of :meth:`levels`, if it is known already.

        Returns
        -------
        nodes : int64 array (n_pairs,)
            The nodes.
        columns : int64 array (n_pairs,)
            The columns.
        """
        nodes, columns, first = [], [], 0
        for level in self.levels(X) if levels is None else levels:
            known = np.flatnonzero(level.clusters < level.n_clusters)
            nodes.append(known)
            columns.append(level.clusters[known].astype(np.int64) + first)
            first += level.n_clusters
        return np.concatenate(nodes), np.concatenate(columns)

    def _counts(self, graphs: GraphCollection) -> list[Counts]:
        return self._counted(graphs, self._chains(graphs))

    def _counted(self, graphs: GraphCollection, chains: list[Chain]) -> list[Counts]:
        """Return the counts of graphs at each depth, given the chains of their clusters."""

        def count(level: LevelClusters) -> Counts:
            return self._counter(level).count(graphs, level.clusters, self.n_jobs, level.edges)

        def counted(chain: Chain) -> list[list[Counts]]:
            # A depth is counted before the next one is computed, so that clusters of few depths are in memory.
            return [map_chunks(count, levels, self.n_jobs) for levels in chain]

        # The columns of a depth are those of its partitions, one after the other.
        of_chains = map_long(counted, chains, self.n_jobs)
        return [concatenated([one for chain in depth for one in chain]) for depth in zip(*of_chains, strict=True)]


def by_depth(levels: list[LevelClusters]) -> list[list[LevelClusters]]:
    """Return the levels of each depth."""
    return [list(group) for _, group in groupby(levels, lambda level: level.depth)]


def concatenated(partitions: list[Counts]) -> Counts:
    """Return the counts of all partitions of a depth, one after the other."""
    return partitions[0] if len(partitions) == 1 else join_counts(partitions, [1.0] * len(partitions))


def _without_own(ids: Int32, sizes: Int64) -> Counts:
    """Return the counts of clusters in a graph without each node, whose clusters are ``ids`` (n_partitions, n_nodes).

    Numbers from the size of a partition on are clusters that were not seen in fitting.
    """
    n_nodes, first = ids.shape[1], np.cumsum(sizes) - sizes
    known = ids < sizes[:, None]
    columns, counts = np.unique((ids + first[:, None])[known], return_counts=True)
    nodes = np.broadcast_to(np.arange(n_nodes), ids.shape)
    own = csr_array((np.ones(int(known.sum())), (nodes[known], (ids + first[:, None])[known])), (n_nodes, sizes.sum()))
    everything = csr_array((counts.astype(np.float64), (np.zeros(len(columns), int), columns)), (1, int(sizes.sum())))
    less = csr_array(everything[np.zeros(n_nodes, int)] - own)
    less.eliminate_zeros()
    # Counts of the clusters that were not seen; without one node, the sum of squares decreases by c² − (c − 1)².
    often = np.array([np.bincount(row, minlength=1)[row] for row in ids]) * ~known
    sums = float((~known).sum()) - (~known).sum(axis=0)
    return Counts(less, float(often.sum()) - (2 * often - ~known).sum(axis=0), sums)


def _without_pairs(counter: Any, graph: GraphCollection, level: LevelClusters, n_jobs: int | None) -> Counts:
    """Count pairs in copies of a graph, in each of which another node has an unknown id.

    Counts of pairs that were not seen in fitting are those of the whole graph, because the node's part is unknown.
    """
    n, ids = graph.n_nodes, level.clusters
    renamed, edges = np.tile(ids, n), None if level.edges is None else np.tile(level.edges, n)
    renamed[np.arange(n) * (n + 1)] = max(counter.n_known, int(ids.max(initial=-1)) + 1)
    counts = counter.count(graph[np.zeros(n, int)], renamed, n_jobs, edges)
    whole = counter.count(graph, ids, n_jobs, level.edges)
    return Counts(counts.matrix, np.repeat(whole.unknown_squares, n), np.repeat(whole.unknown_sums, n))
