"""The relaxed Weisfeiler-Lehman kernels, which match similar neighborhoods."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from relaxwl._execution import map_long
from relaxwl._memory import check_memory
from relaxwl._progress import ProgressBar, report
from relaxwl._validation import as_seed, check_choice, check_flag, check_integer
from relaxwl.clustering.kmeans import NumberOfClusters, WassersteinKMeans, cluster_rules
from relaxwl.clustering.partitioners import IdentityPartitioner, KMeansPartitioner, Partitioner
from relaxwl.costs import EditCost
from relaxwl.costs.codebook import Sketch
from relaxwl.distances.pairwise import level_bytes
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int32
from relaxwl.graphs.building import DIRECTIONS
from relaxwl.kernels.chains import Encoder, Partition, apply_chain, distances_of_centers, fit_chain
from relaxwl.kernels.clusters import Chain, ClusterKernel, LevelClusters, concatenated
from relaxwl.kernels.counting import Counter, Counts
from relaxwl.kernels.levels import SAMPLE_ADVICE, Encoded, Graphs, Levels
from relaxwl.kernels.model_schema import check_levels
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding, attributes_of, check_edge_labels, edge_attributes_of

UNSEEN = ("relabel", "error")


@dataclass(repr=False, eq=False)
class RelaxedWeisfeilerLehman(ClusterKernel):
    """Relaxed Weisfeiler-Lehman kernels: graphs as histograms of clusters of similar neighborhoods.

    The distinct unfolding trees of each depth are clustered by their tree edit distance, several times with different
    seeds, and a graph is described by the number of its nodes in each cluster.

    By default there are four partitions: one in which every distinct tree is a cluster, which is the Weisfeiler-Lehman
    kernel, and three of growing tolerance, whose centers are randomly drawn trees. All counts are compared by one
    Tanimoto similarity, in which partitions count alike. The setting of the paper is ``get_kernel("rwl-star-paper")``.

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the largest trees.
    n_partitions : int, default=4
        Number of independent partitions.
    n_clusters : int, "sqrt", "log2", float, callable, "all", or list or tuple of these, default=("all", 2.0, 1.0, 0.5)
        Number of clusters at each depth, or a rule that computes it from the number of distinct trees; a float f means
        f·√trees, and "all" that every distinct tree is a cluster, so that trees not seen in fitting match nothing.
        Partitions cycle through the values of a list.
    approximate : bool, default=True
        True is R-WL*: after a depth is clustered, trees are replaced by the centers of their clusters in deeper trees.
        False is R-WL: exact distances at every depth, which needs the distances between all distinct trees.
    partitioner : object, optional
        Another way to cluster trees; see ``relaxwl.clustering.partitioners``. Wasserstein k-means by default.
    center : {"median", "lp", "entropic", "medoid", "mean"}, default="median"
        Method of k-means for centers; see :func:`relaxwl.transport_barycenter`.
    max_iter : int or None, default=0
        Rounds of k-means over all trees; None ends when improvement stalls, see :class:`relaxwl.WassersteinKMeans`.
        With 0 the centers are randomly drawn trees: several such partitions are as accurate as a few optimized ones,
        and much faster.
    init : {"random", "k-means++"}, default="random"
        Initialization of k-means; see :class:`relaxwl.WassersteinKMeans`. Uniformly drawn seeds give more clusters
        where there are many trees, which usually separates graphs better than the lower sum of distances of k-means++.
    cost : EditCost, optional
        Costs of relabeling, inserting and deleting; by default all are 1.
    edge_labels : bool, default=False
        Whether edge labels are used.
    directions : {"both", "out", "in"}, default="both"
        Which arcs of directed graphs lead from a node to its children in the tree: outgoing, incoming, or both, where
        the two directions differ by the cost ``edge_relabel``. Ignored for undirected graphs.
    base : {"subtree", "edge", "shortest-path"}, default="subtree"
        Counted objects in the graphs relabeled by clusters.
    similarity : {"tanimoto", "dot", "intersection"}, default="tanimoto"
        Similarity of two graphs' weighted counts in :meth:`kernel_matrix`: Σ min(x, y) / Σ max(x, y), Σ x·y, or Σ min.
        Tanimoto similarity is between 0 and 1, so ``normalize=True`` does not change it; with "depth" it is the
        weighted sum of the similarities of all depths. Features that do not occur in the fitted graphs add to Σ max.
    depth_weights : sequence of float, optional
        A weight >= 0 for each depth; all 1 by default.
    normalize : bool or "depth", default=False
        Scale features and Gram matrix so that every graph has similarity 1 with itself; with "depth" this holds at each
        depth, so that all depths have the same weight.
    unseen : {"relabel", "error"}, default="relabel"
        Treatment of labels that do not occur in the fitted graphs: use them as new labels, or raise an error.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, Generator or None, default=None
        Seeds the partitions.
    verbose : int, default=0
        1 logs each depth, 2 also the rounds of k-means.
    sparse_output : bool, default=True
        Whether :meth:`transform` returns a sparse array; False suits ``set_output(transform="pandas")``.

    Attributes
    ----------
    partitions_ : list of list of Partition
        ``partitions_[p][depth]``: the clusters, their sizes, members and centers.

    See Also
    --------
    WeisfeilerLehman : Matches identical neighborhoods.
    WassersteinKMeans : The default clustering.

    References
    ----------
    Schulz, Horváth, Welke and Wrobel, A generalized Weisfeiler-Lehman graph kernel.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges(
    ...     [(4, [(0, 1), (0, 2), (0, 3)]), (5, [(0, 1), (0, 2), (0, 3), (0, 4)]), (4, [(0, 1), (1, 2), (2, 3)])]
    ... )
    >>> kernel = RelaxedWeisfeilerLehman(max_depth=1, n_partitions=1, n_clusters=2, random_state=0)
    >>> kernel.fit(graphs).weighted_counts(graphs).toarray()
    array([[4., 3., 1.],
           [5., 4., 1.],
           [4., 4., 0.]])
    >>> print(kernel.partitions_[0][1].center_tree(1))
    0(0,0,0)
    """

    max_depth: int = 4
    n_partitions: int = 4
    n_clusters: NumberOfClusters | Sequence[NumberOfClusters] = ("all", 2.0, 1.0, 0.5)
    approximate: bool = True
    partitioner: Any = None
    center: str = "median"
    max_iter: int | None = 0
    init: str = "random"
    cost: EditCost | None = None
    edge_labels: bool = False
    base: str = "subtree"
    similarity: str = "tanimoto"
    depth_weights: Sequence[float] | None = None
    normalize: bool | str = False
    unseen: str = "relabel"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    sparse_output: bool = True
    directions: str = "both"

    takes_directed = True

    # ----------------------------------------------------------------------------------------------- fitting

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        check_flag("approximate", self.approximate)
        check_choice("directions", self.directions, DIRECTIONS)
        check_integer("n_partitions", self.n_partitions, 1)
        check_levels(self)
        cluster_rules(self.n_clusters, of_trees=True)
        if self.max_iter is not None:
            check_integer("max_iter", self.max_iter)
        check_choice("unseen", self.unseen, UNSEEN)
        if self.cost is not None and not isinstance(self.cost, EditCost):
            raise TypeError(f"cost must be a relaxwl.EditCost, not {type(self.cost).__name__}")
        is_object = hasattr(self.partitioner, "fit") and not isinstance(self.partitioner, type)
        if self.partitioner is not None and not is_object:
            raise TypeError(
                "partitioner must be an object with fit(rows, ground, rng), such as KMeansPartitioner(), not "
                f"{self.partitioner!r}"
            )

    def uses(self) -> frozenset[str]:
        """Return which labels and attributes of graphs are used.

        Returns
        -------
        frozenset of str
            Names of parts of graphs, such as "node_labels".
        """
        cost = EditCost() if self.cost is None else self.cost
        used = {"node_attributes": cost.uses_attributes, "edge_attributes": cost.uses_edge_attributes}
        return super().uses() | {part for part, counts in used.items() if counts}

    def fit_source(self, source: Graphs) -> list[Counts] | None:
        """Fit to graphs in memory, or to shards; see ``relaxwl.kernels.levels.SourceKernel``.

        Parameters
        ----------
        source : Graphs
            The graphs.

        Returns
        -------
        counts : list of Counts, or None
            Counts of the graphs at each depth, if they are in memory.
        """
        self._check_source(source)
        seed = as_seed(self.random_state)
        self._fit_encodings(source, seed)
        levels = source.levels(self._encoder, self.n_jobs)
        # R-WL compares all trees, unless each of them is a cluster of its own.
        fresh = [
            one for depth in range(self.max_depth + 1) for one in self._partitioners(depth, range(self.n_partitions))
        ]
        if not self.approximate and any(type(one) is not IdentityPartitioner for one in fresh):
            _check_exact_memory(levels.known, self.max_depth, self.n_jobs, self.verbose)
        # Chains run in parallel in memory, and one after the other on shards, where each uses all workers.
        firsts = range(self.n_partitions if self.approximate else 1)
        # Depths are weighted by their number: deeper trees take longer, and those of depth 0 take no time.
        steps = self.n_partitions * self.max_depth * (self.max_depth + 1) / 2
        with ProgressBar(type(self).__name__, steps or 1.0, verbose=self.verbose) as progress:
            fit = partial(self._fit_chain, levels, seed, progress)
            chains = map_long(fit, firsts, self.n_jobs) if source.in_memory else [fit(first) for first in firsts]
        # The partitions of all chains, each with a partition, its counter and its counts for every depth.
        found = [list(zip(*depths, strict=True)) for chain in chains for depths in zip(*chain, strict=True)]
        self.partitions_: list[list[Partition]] = [list(partitions) for partitions, _, _ in found]
        self._counters: list[list[Counter]] = [list(counters) for _, counters, _ in found]
        if not source.in_memory:
            return None
        return [concatenated(list(of_depth)) for of_depth in zip(*(counts for _, _, counts in found), strict=True)]

    def _check_source(self, source: Graphs) -> None:
        """Raise an error for graphs without nodes, or for parameters that shards do not support."""
        if source.in_memory:
            if source.graphs.n_nodes == 0:
                raise ValueError("the graphs have no nodes: there is nothing to fit")
            return
        if not self.approximate:
            raise ValueError(f"approximate=False compares all distinct trees, too many in shards; {SAMPLE_ADVICE}")
        max_iter = self.max_iter
        if self.partitioner is not None:
            max_iter = getattr(getattr(self.partitioner, "kmeans", None), "max_iter", None)
        if max_iter:
            raise ValueError(
                f"max_iter={max_iter} updates centers over all distinct trees, which shards cannot: use max_iter=None "
                f"(centers from a sample of the trees) or max_iter=0 (trees drawn at random), or {SAMPLE_ADVICE}"
            )

    def _fit_encodings(self, source: Graphs, seed: int) -> None:
        """Take the symbols at roots and on edges from all graphs."""
        cost = EditCost() if self.cost is None else self.cost
        settings = self.directions, self.edge_labels
        used: InUse = source.joined(join_in_use, source.each(in_use, *settings, self.uses(), cost.missing))
        labels, edge_labels = source.graphs.node_vocabulary, used.edge_vocabulary
        known = None if labels is None else tuple(labels[code] for code in used.roots.tolist())
        roots = RootEncoding.of(known, cost, used.vectors, seed)
        edges_count = self.edge_labels or (source.graphs.directed and self.directions == "both")
        edges = EdgeEncoding.of(used.edges, edge_labels, roots.cost, edges_count, used.edge_vectors, seed)
        # Codes of attributes, and pairs of a label and a code, are known only after the codebooks are made.
        if roots.lacks_symbols:
            roots = roots.with_symbols(source.joined(join_sets, source.each(symbols_in, roots, *settings)))
        if edges.lacks_symbols:
            found = source.joined(join_sets, source.each(symbols_in, edges, *settings))
            edges = edges.with_symbols(found, edge_labels)
        self.root_encoding_, self.edge_encoding_ = roots, edges

    def _fit_chain(
        self, levels: Levels, seed: int, progress: ProgressBar, first: int
    ) -> list[list[tuple[Partition, Counter, Counts | None]]]:
        """Fit one chain, depth by depth and partition by partition; ``first`` is the number of its first partition."""
        indices = [first] if self.approximate else range(self.n_partitions)
        chain = fit_chain(
            levels,
            [self._partitioners(depth, indices) for depth in range(self.max_depth + 1)],
            lambda depth, index: np.random.default_rng([seed, first + index, depth]),
            use_clusters=self.approximate,
            n_jobs=self.n_jobs,
            first=first,
        )
        found = []
        for level, fitted in chain:
            found.append([
                (partition, *levels.fit_counter(self.base, ids, len(partition))) for partition, ids in fitted
            ])  # fmt: skip
            for partition, _ in fitted:
                figures = partition.index, level.depth, level.n_rows, len(partition)
                progress.add(level.depth, "partition %d, depth %d: %d trees in %d clusters", *figures)
            del level, fitted  # releases results on workers before the next depth
        return found

    @property
    def _encoder(self) -> Encoder:
        """The encoder of graphs."""
        roots, edges = self.root_encoding_, self.edge_encoding_
        return Encoder(roots, edges, self.directions, self.edge_labels, self.unseen)

    def _partitioners(self, depth: int, indices: Sequence[int]) -> list[Partitioner]:
        """Return fresh partitioners of a depth, for the partitions with these numbers."""
        if depth == 0 and self.root_encoding_.codebook is None:
            return [IdentityPartitioner() for _ in indices]
        if self.partitioner is not None:
            return [deepcopy(self.partitioner) for _ in indices]
        rules = cluster_rules(self.n_clusters, of_trees=True)
        given = {name: getattr(self, name) for name in ("center", "init", "max_iter", "n_jobs")}
        return [
            IdentityPartitioner()
            if rule == "all"
            else KMeansPartitioner(WassersteinKMeans(rule, verbose=self.verbose - 1, **given))
            for rule in (rules[index % len(rules)] for index in indices)
        ]

    # ------------------------------------------------------------------------------------------------ clusters

    def _counter(self, level: LevelClusters) -> Counter:
        return self._counters[level.partition][level.depth]

    def _chains(self, graphs: GraphCollection, n_partitions: int | None = None) -> list[Chain]:
        encoded, partitions = self._encoder(graphs), self.partitions_[:n_partitions]
        # Each partition of R-WL* is a chain of its own; those of R-WL share their trees.
        chains = [[one] for one in partitions] if self.approximate else [partitions]
        return [self._levels(encoded, [list(level) for level in zip(*chain, strict=True)]) for chain in chains]

    def _levels(self, encoded: Encoded, chain: list[list[Partition]]) -> Chain:
        """Yield the clusters of the nodes of each depth."""
        for found in apply_chain(chain, encoded, use_clusters=self.approximate, n_jobs=self.n_jobs):
            yield [
                LevelClusters(
                    partition.depth,
                    partition.index,
                    len(partition),
                    one.row_of_node,
                    one.labels,
                    partition.center_tree,
                    partition.depth == 0,
                    encoded.counted[1],
                    partial(one.distances, self.n_jobs),
                    partial(distances_of_centers, chain, partition, encoded, self.n_jobs),
                )
                for one in found
                for partition in [one.partition]
            ]

    def _column_names(self) -> list[str]:
        names = []
        for depth in range(len(self.partitions_[0])):
            for index, partition in enumerate(self.partitions_):
                clusters = [_cluster_name(partition[depth], cluster) for cluster in range(len(partition[depth]))]
                counter = self._counters[index][depth]
                names += [
                    f"depth {depth}, partition {index}: {counter.describe(column, clusters, self.edge_encoding_.names)}"
                    for column in range(counter.n_columns)
                ]
        return names


class InUse(NamedTuple):
    """Codes that occur on nodes and edges of graphs, and attribute vectors."""

    roots: Int32
    edges: Int32
    vectors: Sketch | None
    edge_vectors: Sketch | None
    edge_vocabulary: tuple[Any, ...] | None


def in_use(
    graphs: GraphCollection, directions: str, edge_labels: bool, uses: frozenset[str], missing: float | None
) -> InUse:
    """Return the codes and vectors that occur in graphs."""
    seen = graphs.seen(directions, edge_labels=edge_labels)
    check_edge_labels(seen, edge_labels)
    edges_count = edge_labels or (graphs.directed and directions == "both")
    codes = seen.edge_codes if edges_count else None
    return InUse(
        np.unique(graphs.node_codes),
        np.empty(0, np.int32) if codes is None else np.unique(codes),
        Sketch.of(attributes_of(graphs), missing) if "node_attributes" in uses else None,
        Sketch.of(edge_attributes_of(seen), missing) if "edge_attributes" in uses else None,
        seen.edge_vocabulary,
    )


def join_in_use(parts: list[InUse]) -> InUse:
    """Merge the codes and vectors of several shards."""
    return InUse(
        np.unique(np.concatenate([part.roots for part in parts])),
        np.unique(np.concatenate([part.edges for part in parts])),
        Sketch.join([part.vectors for part in parts if part.vectors is not None]),
        Sketch.join([part.edge_vectors for part in parts if part.edge_vectors is not None]),
        next((part.edge_vocabulary for part in parts if part.edge_vocabulary is not None), None),
    )


def symbols_in(
    graphs: GraphCollection, encoding: RootEncoding | EdgeEncoding, directions: str, edge_labels: bool
) -> set[Any]:
    """Return the attribute codes, or pairs (label, code), that occur in graphs."""
    if isinstance(encoding, EdgeEncoding):
        graphs = graphs.seen(directions, edge_labels=edge_labels)
    return set(encoding.symbols_of(graphs)[1])


def join_sets(parts: list[set[Any]]) -> set[Any]:
    """Return the union of the sets."""
    return set().union(*parts)


def _check_exact_memory(encoded: Encoded, max_depth: int, n_jobs: int | None, verbose: int) -> None:
    """Raise an error if the distances of R-WL between all distinct trees do not fit into memory; refining is cheap.

    The numbers of trees and pairs are logged, because distances take most of the time and report no progress.
    """
    rows: list[TreeRows] = []
    ids = encoded.roots
    for depth in range(max_depth):
        level, ids = encoded.refined(depth, ids, len(rows[-1]) if rows else 0, n_jobs)
        rows.append(level)
    assert encoded.root_costs is not None, "relaxed kernels have costs"
    needed = sum(level_bytes(rows, encoded.root_costs, encoded.edge_costs))
    check_memory(
        needed,
        f"exact distances between up to {max((len(level) for level in rows), default=0)} distinct trees of a depth",
        "use approximate=True (R-WL*), a smaller max_depth, or fewer graphs",
    )
    for depth, level in enumerate(rows):
        pairs = len(level) * (len(level) - 1) // 2
        report(verbose, "exact distances at depth %d: %d distinct trees, %d pairs", depth, len(level), pairs)
    report(verbose, "the distances take %.1f MB", needed / 1e6)


def _cluster_name(partition: Partition, cluster: int) -> str:
    """Name a cluster by its number and its center, if that is small enough to be read."""
    tree = partition.center_tree(cluster)
    return f"#{cluster} {tree}" if tree.size <= 12 else f"#{cluster} {tree.label}(… {tree.size} nodes)"
