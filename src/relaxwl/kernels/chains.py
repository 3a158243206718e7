"""The loop of all Weisfeiler-Lehman kernels: refine, cluster, and refine the clusters.

The children of the next depth's trees are the trees themselves (WL, R-WL), or their clusters (R-WL*). Everything else
is the same: rows of one depth over points of the depth below, distances between the points, clusters of rows, distances
between trees or centers. :func:`fit_chain` makes the clusters, :func:`apply_chain` finds those of other graphs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import map_long
from relaxwl._memory import check_memory
from relaxwl.clustering.partitioners import IdentityPartitioner, Partitioner, known_or_new
from relaxwl.costs.codebook import UniformCosts
from relaxwl.distances.pairwise import blank_distances, level_distances, paired_distances, row_distances, whole_dtype
from relaxwl.distances.transport import GroundCost, is_whole, leaf_costs, point_parts
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64
from relaxwl.graphs.labels import Label
from relaxwl.kernels.levels import (
    Clustered,
    Encoded,
    Ids,
    Level,
    Levels,
    RowPlacement,
    Summary,
    Tally,
    center_distances,
    checked_distances,
    checked_labels,
)
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding
from relaxwl.unfolding.tree import UnfoldingTree

# Number of children above which memory is checked before a tree is built, and approximate bytes per child.
MANY, CHILD_BYTES = 1e6, 64


@dataclass(frozen=True, eq=False)
class LowerLevel:
    """The rows below the next depth: trees, or centers of clusters, and the distances between them, ⊥ last.

    The distances are None if no deeper partitioner uses them.
    """

    known: TreeRows
    distances: NDArray[Any] | UniformCosts | None


@dataclass(frozen=True, eq=False)
class Trees:
    """Rows of one depth as trees, which are built on demand."""

    rows: TreeRows
    roots: RootEncoding | None
    edge_labels: tuple[Label, ...] | None
    below: "Trees | None"
    built: dict[int, UnfoldingTree] = field(default_factory=dict, repr=False)

    def tree(self, number: int) -> UnfoldingTree:
        """Return the tree of a row."""
        if number in self.built:
            return self.built[number]
        root, points, masses = self.rows.row(number)
        n_children = float(masses.sum())
        if n_children > MANY:
            what = f"a tree with {n_children:.3g} children"
            check_memory(CHILD_BYTES * n_children, what, "it is too large to be looked at")
        children: list[UnfoldingTree] = []
        edges: list[Label] = []
        for point, mass in zip(points.tolist(), masses.tolist(), strict=True):
            edge, child = divmod(point, self.rows.n_children)
            if self.below is None:
                raise ValueError("trees of depth 0 have no children")
            children += [self.below.tree(child)] * round(mass)
            if self.edge_labels is not None:
                edges += [self.edge_labels[edge]] * round(mass)
        assert self.roots is not None, "a model that was loaded has them"
        self.built[number] = UnfoldingTree(self.roots.tree_label(root), children, edges if edges else None)
        return self.built[number]


@dataclass(frozen=True, eq=False)
class Partition:
    """The clusters of trees of one depth, as they were fitted.

    Attributes
    ----------
    depth, index : int
        Depth of the trees, and number of the partition.
    partitioner : Partitioner
        The fitted partitioner.
    centers : TreeRows
        The centers: root codes and masses over the points of the depth below.
    sizes : int64 array (k,)
        Number of nodes of the fitted graphs in each cluster.
    n_trees : int64 array (k,)
        Number of distinct trees in each cluster.
    radius : float64 array (k,)
        Largest distance of a tree of the cluster to its center.
    examples : int64 array (k, 5, 2)
        Members (graph, node) nearest to the center; -1 if there are fewer.
    lower : LowerLevel or None
        The rows below the next depth; None at the last depth.
    """

    depth: int
    index: int
    partitioner: Partitioner = field(repr=False)
    centers: TreeRows
    lower: LowerLevel | None = field(repr=False)
    trees: Trees = field(repr=False)
    members_: RowPlacement | Tally | Summary = field(repr=False)

    @classmethod
    def from_state(cls, drawn: TreeRows, summary: tuple[Any, ...], **state: Any) -> "Partition":
        """Restore a partition from :meth:`to_state`; its trees can be drawn when those below are there."""
        return cls(**state, trees=Trees(drawn, None, None, None), members_=Summary(*summary))

    def to_state(self) -> dict[str, Any]:
        """Return the state for a model file."""
        names = ("depth", "index", "partitioner", "centers", "lower")
        return {name: getattr(self, name) for name in names} | {"drawn": self.trees.rows, "summary": self.summary}

    def __len__(self) -> int:
        return len(self.centers)

    def __repr__(self) -> str:
        return f"Partition(depth {self.depth}: {int(self.n_trees.sum())} trees in {len(self)} clusters)"

    @property
    def summary(self) -> Summary:
        """The members of the clusters, tallied at the first use."""
        if not isinstance(self.members_, Summary):
            object.__setattr__(self, "members_", self.members_.summary())
        return self.members_  # type: ignore[return-value]

    @property
    def sizes(self) -> Int64:
        """Number of nodes of the fitted graphs in each cluster."""
        return self.summary.sizes

    @property
    def n_trees(self) -> Int64:
        """Number of distinct trees in each cluster."""
        return self.summary.n_trees

    @property
    def radius(self) -> Float64:
        """Largest distance of a tree of the cluster to its center."""
        return self.summary.radius

    @property
    def examples(self) -> Int64:
        """Members (graph, node) nearest to the center; -1 if there are fewer."""
        return self.summary.examples

    def center_tree(self, center: int) -> UnfoldingTree:
        """Return a center as a tree, its children drawn through the centers of the depths below.

        Parameters
        ----------
        center : int
            Number of the cluster.

        Returns
        -------
        UnfoldingTree
            Where a center's masses are not whole numbers the tree is that of the nearest member.
        """
        if not 0 <= center < len(self):
            raise IndexError(f"center {center} is out of range: there are {len(self)}")
        return self.trees.tree(center)

    def members(self, center: int) -> list[tuple[int, int]]:
        """Return a few members of a cluster.

        Parameters
        ----------
        center : int
            Number of the cluster.

        Returns
        -------
        list of (int, int)
            Graph and node, the nearest to the center first.
        """
        return [(int(graph), int(node)) for graph, node in self.examples[center] if graph >= 0]


@dataclass(frozen=True)
class Encoder:
    """Encodes the roots and edges of graphs, with costs; sent to the workers."""

    roots: RootEncoding
    edges: EdgeEncoding
    directions: str = "both"
    edge_labels: bool = False
    unseen: str = "relabel"

    def __call__(self, graphs: GraphCollection) -> Encoded:
        """Return graphs as they are traversed, with codes; unseen symbols come last."""
        seen = graphs.seen(self.directions, edge_labels=self.edge_labels)
        roots, root_costs = self.roots.encode(graphs, self.unseen)
        edges, edge_costs = self.edges.encode(seen, root_costs, self.unseen)
        arcs = None if edges is None else edges[graphs.entries_seen(self.directions)]
        return Encoded(seen, roots, edges, self.edges.n_codes, (graphs, arcs), root_costs, edge_costs)


# --------------------------------------------------------------------------------------------------------- fitting


def fit_chain(
    levels: Levels,
    partitioners: list[list[Partitioner]],
    generator: Callable[[int, int], np.random.Generator] | None = None,
    *,
    use_clusters: bool,
    n_jobs: int | None = None,
    first: int = 0,
) -> Iterator[tuple[Level, list[tuple[Partition, Ids]]]]:
    """Yield the trees of each depth, and their partitions with the cluster of each node.

    Parameters
    ----------
    levels : Levels
        The distinct trees of the graphs, in memory or of shards.
    partitioners : list of list of Partitioner
        Fresh partitioners for each depth; none where only the trees are wanted (WL).
    generator : callable, optional
        ``generator(depth, i)`` returns the random generator of the i-th partitioner of a depth.
    use_clusters : bool
        Whether the next depth is refined from clusters (then a chain has one partition), or from the trees.
    n_jobs : int, optional
        Number of threads of this process.
    first : int, default=0
        Number of the first partition.

    Yields
    ------
    level : Level
        The trees of a depth.
    fitted : list of (Partition, ids)
        A partition for each partitioner, and the cluster of each node.
    """
    ids, n_below, trees = None, 0, None
    distances: NDArray[Any] | UniformCosts | None = np.zeros((1, 1))
    for depth, own in enumerate(partitioners):
        level = levels.at(depth, ids, n_below)
        ground: Any = ground_of(distances, levels.known) if own else None

        def fit(index: int, level: Level = level, ground: Any = ground) -> Clustered:
            assert generator is not None, "partitioners have one"
            return level.cluster(partitioners[level.depth][index], ground, generator(level.depth, index), n_jobs)

        # The partitions of R-WL look at the same trees with the same distances, and are independent.
        found = map_long(fit, range(len(own)), n_jobs)
        lower, deeper = None, [partitioner for later in partitioners[depth + 1 :] for partitioner in later]
        # Distances are expensive, and a partition into single trees does not look at them. Classes derived from that
        # partitioner may.
        measured = any(type(partitioner) is not IdentityPartitioner for partitioner in deeper)
        if deeper and use_clusters:
            centers = found[0].centers
            lower = LowerLevel(centers, center_costs(centers, ground, n_jobs) if measured else None)
        elif deeper:
            # R-WL needs the distances between all trees, which its partitions share.
            lower = LowerLevel(level.take(), level_distances(level.take(), ground, n_jobs) if measured else None)
        fitted = []
        for index, (partitioner, (centers, clusters, members)) in enumerate(zip(own, found, strict=True), first):
            drawn = centers if centers.is_integral else _drawn(level, centers, members.nearest())
            shown = Trees(drawn, levels.encoder.roots, levels.encoder.edges.names, trees)
            fitted.append((Partition(depth, index, partitioner, centers, lower, shown, members), clusters))
        yield level, fitted
        # The children of the next depth: clusters, or the trees of this one.
        if use_clusters:
            ids, n_below = fitted[0][1], len(fitted[0][0])
        else:
            ids, n_below = level.ids, level.n_rows
        if lower is not None:
            below = fitted[0][0].trees
            trees, distances = below if use_clusters else replace(below, rows=lower.known, built={}), lower.distances
        del level, found, fit  # release results on workers before the next depth


def _drawn(level: Level, centers: TreeRows, nearest: Tally) -> TreeRows:
    """Return centers with whole masses: those with fractions become their nearest members, or else are rounded."""
    clusters, begins = np.unique(nearest.labels, return_index=True)
    broken = centers.sums(np.abs(centers.counts - np.rint(centers.counts)))[clusters] > 0
    replaced, members = clusters[broken].astype(np.int64), nearest.rows[begins[broken]]
    order = np.argsort(members)
    whole = replace(centers, counts=np.rint(centers.counts))
    return whole.replaced(level.take(members[order]).measures(), replaced[order])


# -------------------------------------------------------------------------------------------------------- applying


@dataclass(frozen=True, eq=False)
class Assignment:
    """The trees of nodes and their clusters, at one depth of one partition.

    Attributes
    ----------
    partition : Partition
        The clusters.
    rows : TreeRows
        The trees that the kernel distinguishes.
    row_of_node : int32 array (n_nodes,)
        The tree of each node.
    labels : int32 array (n_rows,)
        The cluster of each tree; larger numbers than those of the clusters denote unseen trees.
    ground : GroundCost
        Costs between the rows' points, or of ⊥ alone if distances are not used.
    solved : float64 array (n_rows,) or None
        The distance of each tree to the center of its cluster, if the partitioner returned it.
    """

    partition: Partition
    rows: TreeRows
    row_of_node: Int32
    labels: Int32
    ground: GroundCost
    solved: Float64 | None = None

    def distances(self, n_jobs: int | None = None) -> Float64:
        """Return the exact distance of each tree to its cluster's center; a new cluster's tree is its own center."""
        if self.solved is not None:
            return self.solved
        return center_distances(self.rows, self.labels, self.partition.centers, self.ground, n_jobs)


class _Below(NamedTuple):
    """The depth below: ids of nodes, how many of them were seen in fitting, and their distances."""

    ids: Int32
    n_known: int
    distances: NDArray[Any] | UniformCosts | None


def apply_chain(
    levels: list[list[Partition]], encoded: Encoded, *, use_clusters: bool, n_jobs: int | None = None
) -> Iterator[list[Assignment]]:
    """Yield, depth by depth, the clusters of new graphs; numbers of at least k are new clusters.

    ``levels`` are the partitions of a chain, depth by depth.
    """
    below = _Below(np.empty(0, np.int32), 0, np.zeros((1, 1)))
    for depth, partitions in enumerate(levels):
        rows, row_of_node = encoded.refined(depth, below.ids, below.n_known, n_jobs)
        # Trees of new graphs may have children that no fitted tree has, so the ground is extended by these.
        rows, ground = _covering(rows, below, encoded)
        found = [
            Assignment(partition, rows, row_of_node, labels, ground, distances)
            for partition in partitions
            for labels, distances in [_predicted(partition.partitioner, rows, ground)]
        ]
        yield found
        lower = partitions[0].lower
        if lower is None:
            return
        known, before = lower.known, lower.distances
        if use_clusters:
            # New clusters are numbered without gaps, since each becomes a point of the next depth.
            ids, new = found[0].labels.copy(), found[0].labels >= len(known)
            ids[new] = len(known) + np.unique(ids[new], return_inverse=True)[1]
            known = known.measures()
        else:
            ids = known_or_new(known.locate(rows), len(known))
        # No partitioner of a deeper level looks at distances that fitting left out.
        distances = None if before is None else _extended(before, known, rows, ids, ground, n_jobs)
        below = _Below(ids[row_of_node], len(known), distances)


def _predicted(partitioner: Any, rows: TreeRows, ground: GroundCost) -> tuple[Int32, Float64 | None]:
    """Return the clusters of rows and, if the partitioner knows them, the distances to their centers."""
    name = type(partitioner).__name__
    if type(partitioner) is IdentityPartitioner:  # each row, also a new one, is its own center
        return partitioner.predict(rows, ground), np.zeros(len(rows))
    if hasattr(partitioner, "predict_with_distances"):
        labels, distances = partitioner.predict_with_distances(rows, ground)
        labels = checked_labels(labels, rows, np.inf, f"{name}.predict_with_distances")
        return labels, checked_distances(distances, rows)
    if not hasattr(partitioner, "predict"):
        raise TypeError(f"{name} has no predict(rows, ground), so new graphs cannot be transformed")
    return checked_labels(partitioner.predict(rows, ground), rows, np.inf, f"{name}.predict"), None


def distances_of_centers(
    levels: list[list[Partition]], partition: Partition, encoded: Encoded, n_jobs: int | None = None
) -> Float64 | None:
    """Return the distances between the centers of a partition, as ``levels[depth][...]`` of a chain.

    Distances that no partitioner uses were not computed in fitting and are computed here. A partition into single trees
    has none from depth 1 on: there may be as many trees as nodes, and nobody asked which of them are similar.
    """
    if partition.depth and type(partition.partitioner) is IdentityPartitioner:
        return None
    lower = partition.lower
    below: NDArray[Any] | UniformCosts = np.zeros((1, 1))
    if lower is not None and lower.known is partition.centers and lower.distances is not None:
        return np.asarray(lower.distances)[:-1, :-1]
    for own in (level[0].lower for level in levels[: partition.depth]):
        assert own is not None, "only the last depth has none"
        known = own.distances
        below = center_costs(own.known, ground_of(below, encoded), n_jobs) if known is None else known
    return np.asarray(center_costs(partition.centers, ground_of(below, encoded), n_jobs))[:-1, :-1]


# ------------------------------------------------------------------------------------------- distances between points


def ground_of(
    lower: NDArray[Any] | UniformCosts | None, encoded: Encoded, n_known: int | None = None, new: Int32 | None = None
) -> GroundCost:
    """Return the ground over all points of the depth below (and ``new`` ones); over ⊥ alone without distances.

    The first ``n_known`` children (by default all) were seen in fitting; see :func:`point_parts`.
    """
    assert encoded.root_costs is not None, "relaxed kernels have costs"
    if lower is None:
        return GroundCost(np.zeros((1, 1)), encoded.root_costs)
    if encoded.edge_costs is None:
        return GroundCost(lower, encoded.root_costs)
    parts = point_parts(encoded.edge_costs, lower, encoded.n_edge_codes, n_known, new)
    return GroundCost(lower, encoded.root_costs, encoded.edge_costs, parts)


def _covering(rows: TreeRows, below: _Below, encoded: Encoded) -> tuple[TreeRows, GroundCost]:
    """Return the rows and a ground that covers all their points, those unknown in fitting last.

    Unknown points (see ``unfolding.refine``) are numbered without gaps, so that the ground stays small.
    """
    n_points, lower = rows.n_points, below.distances
    is_new = rows.points >= n_points
    unknown, renamed = np.unique(rows.points[is_new], return_inverse=True)
    if len(unknown):
        points = rows.points.copy()
        points[is_new] = n_points + renamed
        rows = replace(rows, points=points, n_children=n_points + len(unknown), n_edge_codes=1)
    if lower is None:
        return rows, ground_of(None, encoded)
    new = np.stack(np.divmod(unknown - n_points, max(len(lower) - 1, 1)))
    ground = ground_of(lower, encoded, below.n_known, new)
    if encoded.edge_costs is None and len(unknown) + below.n_known + 1 < len(lower):
        kept = np.concatenate([np.arange(below.n_known), new[1], [len(lower) - 1]])
        shorter = (
            replace(lower, n_labels=len(kept) - 1) if isinstance(lower, UniformCosts) else lower[np.ix_(kept, kept)]
        )
        ground = replace(ground, children=shorter)
    return rows, ground


def center_costs(centers: TreeRows, ground: GroundCost, n_jobs: int | None) -> Float64 | UniformCosts:
    """Return the exact distances between centers, ⊥ last."""
    if (rule := leaf_costs(centers, ground)) is not None:
        return rule
    check_memory(
        16.0 * (len(centers) + 1) ** 2,
        f"the distances between {len(centers)} clusters",
        "make fewer clusters (a smaller n_clusters, a larger radius), or use fewer graphs",
    )
    out = np.zeros((len(centers) + 1, len(centers) + 1))
    measures = centers.measures()
    upper, lower = np.triu_indices(len(centers), 1)
    pairs = np.column_stack([upper, lower])
    out[upper, lower] = out[lower, upper] = paired_distances(measures, measures, pairs, ground, n_jobs)
    out[-1, :-1] = out[:-1, -1] = blank_distances(centers, ground)
    return out


def _extended(
    lower: NDArray[Any] | UniformCosts,
    known: TreeRows,
    rows: TreeRows,
    ids: Int32,
    ground: GroundCost,
    n_jobs: int | None,
) -> NDArray[Any] | UniformCosts:
    """Return the distances between the ids of fitting and the new ones, ⊥ last.

    A new id (from ``len(known)`` on, without gaps) represents its row (the first one if several rows share it); its
    distances are computed here.
    """
    n_known = len(known)
    used, first = np.unique(ids, return_index=True)
    first = first[used >= n_known]
    if not len(first):
        return lower
    new = rows.take(first)
    size = n_known + len(new)
    if leaf_costs(known, ground) and (rule := leaf_costs(new, ground)) is not None:
        return replace(rule, n_labels=size)
    lower = np.asarray(lower)
    to_known = row_distances(new, known, ground, n_jobs)
    among_new = row_distances(new, new, ground, n_jobs)
    to_blank = blank_distances(new, ground)
    blank_dtype = whole_dtype(float(to_blank.max())) if is_whole(to_blank) else np.dtype(np.float64)
    out = np.zeros((size + 1, size + 1), np.result_type(lower, to_known, among_new, blank_dtype))
    out[:n_known, :n_known] = lower[:-1, :-1]
    out[-1, :n_known] = out[:n_known, -1] = lower[-1, :-1]
    out[n_known:size, :n_known], out[:n_known, n_known:size] = to_known, to_known.T
    out[n_known:size, n_known:size] = among_new
    out[-1, n_known:size] = out[n_known:size, -1] = to_blank
    return out
