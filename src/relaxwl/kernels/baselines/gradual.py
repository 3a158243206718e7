"""Gradual WL: at each step, clusters of nodes are split by k-means on the counts of their neighbors."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from relaxwl._execution import check_time
from relaxwl._progress import report
from relaxwl._validation import as_generator, check_integer
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64, prefix_sums
from relaxwl.kernels.baselines.histograms import label_names, n_known_labels, node_codes_in
from relaxwl.kernels.clusters import Chain, ClusterKernel, LevelClusters
from relaxwl.kernels.counting import Counts, SubtreeCounter, checked_rows
from relaxwl.kernels.model_schema import HUGE, MAX_DEPTH, check_unary, fitted, labels, listed, require, vector
from relaxwl.unfolding import TreeRows, refine

# Maximum number of rounds of k-means, which nearly converges after a few; clusters need not be optimal.
MAX_ROUNDS = 20
# Number of pairs of a row and a center that are compared at a time.
PAIRS_AT_ONCE = 1 << 20
# Tolerance of ties between squared distances; ties go to the lowest center.
TIE = 1e-9


def _center_arrays(value: Any, what: str) -> None:
    """Check the arrays of a sparse matrix."""
    require(isinstance(value, tuple) and len(value) == 3, f"{what} must be values, columns and starts of rows")
    vector(np.float64, least=-HUGE, most=HUGE)(value[0], what)
    for numbers in value[1:]:
        vector((np.int32, np.int64))(numbers, what)


fitted(
    "GradualWL", node_vocabulary_=labels, centers_=listed(_center_arrays, MAX_DEPTH),
    center_bounds_=listed(vector(np.int64), MAX_DEPTH),
)  # fmt: skip


@dataclass(repr=False, eq=False)
class GradualWL(ClusterKernel):
    """Gradual Weisfeiler-Lehman: nested clusters of nodes, each split into at most ``n_clusters`` at a step.

    Nodes begin in clusters by label. At each step a node is described by the number of its neighbors in each cluster,
    and every cluster is split by k-means on these counts. Nodes that differ slightly may stay together for some steps,
    and nodes in different clusters are never merged. A graph is the histogram of its nodes' clusters at all
    steps.

    With more clusters than there are different neighborhoods it is the Weisfeiler-Lehman subtree kernel.

    Parameters
    ----------
    max_depth : int, default=4
        Number of steps.
    n_clusters : int, default=4
        Maximum number of parts into which a cluster is split.
    similarity : {"dot", "intersection", "tanimoto"}, default="dot"
        Similarity of two graphs' counts in :meth:`kernel_matrix`; the clusters are nested, so the intersection is the
        optimal assignment of nodes.
    normalize : bool or "depth", default=False
        Scale features and Gram matrix so that every graph has similarity 1 with itself, in total or at each step.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, Generator or None, default=None
        Seeds k-means.
    verbose : int, default=0
        1 logs progress.

    See Also
    --------
    relaxwl.WeisfeilerLehman : Counts of identical neighborhoods.

    References
    ----------
    Bause & Kriege, Gradual Weisfeiler-Leman: slow and steady wins the race, LoG 2022, arXiv 2209.09048.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(4, [(0, 1), (0, 2), (0, 3)]), (4, [(0, 1), (1, 2), (2, 3)])])
    >>> kernel = GradualWL(max_depth=1, n_clusters=3, random_state=0)
    >>> kernel.fit_transform(graphs).toarray()
    array([[4., 3., 0., 1.],
           [4., 2., 2., 0.]])
    """

    max_depth: int = 4
    n_clusters: int = 4
    similarity: str = "dot"
    normalize: bool | str = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    base = "subtree"
    depth_weights = None

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        check_integer("n_clusters", self.n_clusters, 1)

    def _fit_counts(self, graphs: GraphCollection) -> list[Counts]:
        # Slices keep the vocabulary of the whole collection; labels that no node has count as unseen.
        used, codes = np.unique(graphs.node_codes, return_inverse=True)
        vocabulary = graphs.node_vocabulary
        self.node_vocabulary_ = None if vocabulary is None else tuple(vocabulary[code] for code in used)
        self.centers_: list[tuple[Float64, Int32, Int32]] = []
        self.center_bounds_: list[Int64] = []
        rng = as_generator(self.random_state)
        clusters: Int32 = codes.astype(np.int32)
        n_parents, counts = n_known_labels(self.node_vocabulary_), []
        for depth in range(self.max_depth + 1):
            if depth:
                rows, row_of_node = refine(graphs, clusters, clusters, n_parents, n_jobs=self.n_jobs)
                weights = np.bincount(row_of_node, minlength=len(rows)).astype(np.float64)
                labels, centers, bounds = split_clusters(rows, weights, n_parents, int(self.n_clusters), rng)
                self.centers_.append((centers.data, centers.indices, centers.indptr))
                self.center_bounds_.append(bounds)
                clusters, n_parents = labels[row_of_node], int(bounds[-1])
            report(self.verbose, "step %d of %d: %d clusters", depth, self.max_depth, n_parents,
                   share=(depth + 1) / (self.max_depth + 1))  # fmt: skip
            counts.append(SubtreeCounter(n_parents).count(graphs, clusters))
        return counts

    def _chains(self, graphs: GraphCollection, n_partitions: int | None = None) -> list[Chain]:
        return [self._levels(graphs)]

    def _levels(self, graphs: GraphCollection) -> Chain:
        """Yield the cluster of every node at each step; larger numbers are clusters of labels that were not fitted."""

        def center(depth: int, cluster: int) -> str:
            return self._cluster_names()[depth][cluster]

        clusters, nodes = node_codes_in(graphs, self.node_vocabulary_), np.arange(graphs.n_nodes, dtype=np.int32)
        n_labels = n_known_labels(self.node_vocabulary_)
        yield [LevelClusters(0, 0, n_labels, nodes, clusters, partial(center, 0), are_labels=True)]
        for depth, (parts, bounds) in enumerate(zip(self.centers_, self.center_bounds_, strict=True), 1):
            centers, n_known = _checked_centers(parts, bounds), len(bounds) - 1
            n_before = max(n_known, int(clusters.max(initial=-1)) + 1)
            rows, row_of_node = refine(graphs, clusters, clusters, n_before, n_jobs=self.n_jobs)
            labels = int(bounds[-1]) + np.arange(len(rows))  # all clusters of a new label are new
            has_parts = np.append(np.diff(bounds) > 0, np.zeros(n_before - n_known, bool))
            known = np.flatnonzero(has_parts[rows.roots])
            counts = neighbor_counts(rows, n_before)[known][:, :n_known]
            labels[known] = nearest(counts, rows.roots[known], centers, bounds)
            found = labels.astype(np.int32)
            clusters = found[row_of_node]
            yield [LevelClusters(depth, 0, int(bounds[-1]), row_of_node, found, partial(center, depth))]

    def _check_loaded(self) -> None:
        n_parents = [n_known_labels(self.node_vocabulary_)]
        for parts, bounds in zip(self.centers_, self.center_bounds_, strict=True):
            if not isinstance(bounds, np.ndarray) or bounds.dtype != np.int64 or bounds.shape != (n_parents[-1] + 1,):
                raise ValueError(f"center_bounds_ must say where the parts of each of {n_parents[-1]} clusters begin")
            _checked_centers(parts, bounds)
            n_parents.append(int(bounds[-1]))
        if len(n_parents) != self.max_depth + 1:
            raise ValueError(f"there must be centers for each of {self.max_depth} steps")
        check_unary(self, n_parents)

    def _cluster_names(self) -> list[list[str]]:
        """Return the name of each cluster at each step: its label, and which part it is of which part of the label."""
        names = [label_names(self.node_vocabulary_)]
        for bounds in self.center_bounds_:
            parents = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
            names.append([f"{names[-1][parent]}.{part - bounds[parent]}" for part, parent in enumerate(parents)])
        return names

    def _column_names(self) -> list[str]:
        return [f"depth {depth}: {name}" for depth, names in enumerate(self._cluster_names()) for name in names]


def _checked_centers(parts: tuple[Float64, Int32, Int32], bounds: Int64) -> csr_array:
    """Return the centers of the parts of all clusters; damaged model files raise an error."""
    if bounds[0] != 0 or (np.diff(bounds) < 0).any() or len(parts[2]) != bounds[-1] + 1:
        raise ValueError("the clusters of the kernel are damaged; fit it again")
    return checked_rows(*parts, len(bounds) - 1)


def neighbor_counts(rows: TreeRows, n_parents: int) -> csr_array:
    """Return how many neighbors each row has in each cluster: (n_rows, n_parents)."""
    return csr_array((rows.counts.astype(np.float64), rows.points, rows.indptr), (len(rows), n_parents))


def split_clusters(
    rows: TreeRows, weights: Float64, n_parents: int, n_clusters: int, rng: np.random.Generator
) -> tuple[Int32, csr_array, Int64]:
    """Split every cluster by k-means on its members' neighbor counts, all clusters at once.

    Parameters
    ----------
    rows : TreeRows
        The distinct (cluster of the node, clusters of its neighbors).
    weights : array (n_rows,)
        Number of nodes with each.
    n_parents, n_clusters : int
        Number of clusters, and of parts of each at most.
    rng : Generator
        Draws the first centers.

    Returns
    -------
    labels : array (n_rows,)
        The new clusters; parts of a cluster have adjacent numbers, in the order of their first rows.
    centers : sparse array (n_parts, n_parents)
        Mean counts of each part.
    bounds : array (n_parents + 1,)
        The parts of cluster g are those from ``bounds[g]`` to ``bounds[g + 1] - 1``.
    """
    counts, cluster = neighbor_counts(rows, n_parents), rows.roots.astype(np.int64)
    n_parts = np.minimum(np.bincount(cluster, minlength=n_parents), n_clusters)
    bounds = prefix_sums(n_parts)
    centers = counts[_seeds(counts, cluster, weights, n_parts, n_clusters, rng)]
    labels = nearest(counts, cluster, centers, bounds)
    for _ in range(MAX_ROUNDS if (np.bincount(cluster) > n_clusters).any() else 0):
        check_time()
        centers = _means(counts, labels, weights, centers)
        before, labels = labels, nearest(counts, cluster, centers, bounds)
        if np.array_equal(before, labels):
            break
    # Parts in the order of their first rows within each cluster; empty parts are left out.
    parts, firsts = np.unique(labels, return_index=True)
    owners = cluster[firsts]
    centers, bounds = (
        centers[parts[np.lexsort((firsts, owners))]],
        prefix_sums(np.bincount(owners, minlength=n_parents)),
    )
    # Ties go to the lowest of the new numbers, as for other graphs.
    return nearest(counts, cluster, centers, bounds).astype(np.int32), centers, bounds


def nearest(counts: csr_array, cluster: Any, centers: csr_array, bounds: Int64) -> Int64:
    """Return, for each row, the nearest of the centers of its cluster (the lowest of equally near ones)."""
    sizes = np.diff(bounds)[cluster]
    squares = np.asarray(centers.multiply(centers).sum(axis=1)).ravel()
    labels = np.empty(len(sizes), np.int64)
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, np.arange(PAIRS_AT_ONCE, ends[-1] if len(ends) else 0, PAIRS_AT_ONCE))
    for start, stop in zip([0, *cuts], [*cuts, len(sizes)], strict=True):
        if stop <= start:
            continue
        row = np.repeat(np.arange(start, stop), sizes[start:stop])
        first = prefix_sums(sizes[start:stop])
        center = bounds[cluster[row]] + np.arange(len(row)) - np.repeat(first[:-1], sizes[start:stop])
        products = np.asarray(counts[row].multiply(centers[center]).sum(axis=1)).ravel()
        distances = squares[center] - 2 * products
        least = np.repeat(np.minimum.reduceat(distances, first[:-1]), sizes[start:stop])
        near = np.flatnonzero(distances <= least + TIE)
        _, of_row = np.unique(row[near], return_index=True)
        labels[start:stop] = center[near[of_row]]
    return labels


def _seeds(
    counts: csr_array, cluster: Int64, weights: Float64, n_parts: Int64, n_clusters: int, rng: np.random.Generator
) -> Int64:
    """Return the rows that are the first centers, cluster by cluster, drawn as in k-means++."""
    order = np.argsort(cluster, kind="stable")
    starts = prefix_sums(np.bincount(cluster, minlength=len(n_parts)))
    chosen = np.zeros((len(n_parts), min(n_clusters, int(n_parts.max(initial=0)))), np.int64)
    squares = np.asarray(counts.multiply(counts).sum(axis=1)).ravel()
    distances = np.ones(len(cluster))
    for turn in range(chosen.shape[1]):
        active = np.flatnonzero(n_parts > turn)
        heights = np.concatenate([[0.0], np.cumsum((weights * distances)[order])])
        low, high = heights[starts[active]], heights[starts[active + 1]]
        drawn = np.searchsorted(heights, low + rng.random(len(active)) * (high - low), side="right") - 1
        chosen[active, turn] = order[np.clip(drawn, starts[active], starts[active + 1] - 1)]
        center = chosen[cluster, turn]
        products = np.asarray(counts.multiply(counts[center]).sum(axis=1)).ravel()
        apart = np.maximum(squares + squares[center] - 2 * products, 0.0)
        distances = np.where(n_parts[cluster] > turn, apart if turn == 0 else np.minimum(distances, apart), distances)
    return chosen[np.arange(chosen.shape[1]) < n_parts[:, None]]


def _means(counts: csr_array, labels: Int64, weights: Float64, old: csr_array) -> csr_array:
    """Return the mean counts of each part; an empty part keeps its center."""
    n_parts = old.shape[0]
    masses = np.bincount(labels, weights, n_parts)
    shares = csr_array((weights / masses[labels], (labels, np.arange(len(labels)))), (n_parts, len(labels)))
    kept = csr_array((np.where(masses > 0, 0.0, 1.0), (np.arange(n_parts),) * 2), (n_parts, n_parts))
    return csr_array(shares @ counts + kept @ old)
