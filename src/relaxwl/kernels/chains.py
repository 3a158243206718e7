"""The loop of both relaxed kernels: refine, cluster, and refine the clusters.

The input of the next refinement is the ids of the trees themselves (R-WL), or the numbers of their clusters (R-WL*).
Everything else is the same: rows of one depth over points of the depth below, distances between the points, clusters of
rows, distances between trees or centers. The graphs come in parts (``kernels.levels``): one in memory, or shards. A
task has one part, or the distinct trees of one chunk; this process has the sample from which centers are computed, the
centers and the distances between them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import map_long
from relaxwl._memory import check_memory
from relaxwl.clustering.partitioners import IdentityPartitioner, Partitioner, SamplingPartitioner, known_or_new
from relaxwl.costs.codebook import UniformCosts, check_finite
from relaxwl.distances.pairwise import blank_distances, level_distances, paired_distances, row_distances, whole_dtype
from relaxwl.distances.transport import GroundCost, is_whole, leaf_costs, point_parts
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.graphs.labels import Label
from relaxwl.kernels.levels import (
    Encoded,
    Handle,
    Level,
    Parts,
    Placed,
    RowPlacement,
    Summary,
    Tally,
    checked_labels,
    largest_distance,
    refined,
)
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding
from relaxwl.unfolding.rows import check_rows
from relaxwl.unfolding.tree import UnfoldingTree

Generators = Callable[[int, int], np.random.Generator]
# Maximum number of rows of shards for a partitioner that cannot compute its centers from a sample.
SEEN_AT_ONCE = 1 << 15
# Number of children above which memory is checked before a tree is built, and approximate bytes per child.
MANY, CHILD_BYTES = 1e6, 64


@dataclass(frozen=True, eq=False)
class Assignment:
    """The trees of nodes and their clusters, at one depth of one partition.

    Attributes
    ----------
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

    rows: TreeRows
    row_of_node: Int32
    labels: Int32
    ground: GroundCost
    solved: Float64 | None = None

    @property
    def clusters(self) -> Int32:
        """The cluster of each node."""
        return self.labels[self.row_of_node]

    def distances(self, centers: TreeRows, n_jobs: int | None) -> Float64:
        """Return the exact distance of each tree to its cluster's center; a new cluster's tree is its own center."""
        if self.solved is not None:
            return self.solved
        known = np.flatnonzero(self.labels < len(centers))
        distances = np.zeros(len(self.labels))
        pairs = np.column_stack([known, self.labels[known]])
        distances[known] = paired_distances(self.rows, centers.measures(), pairs, self.ground, n_jobs)
        return distances


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
        if number not in self.built:
            self.built[number] = self._tree(number)
        return self.built[number]

    def _tree(self, number: int) -> UnfoldingTree:
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
        return UnfoldingTree(self.roots.tree_label(root), children, edges if edges else None)


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
    members_: Any = field(repr=False)

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
            found: Tally = self.members_() if isinstance(self.members_, RowPlacement) else self.members_
            object.__setattr__(self, "members_", found.summary())
        return self.members_  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name not in Summary._fields:
            raise AttributeError(f"a Partition has no attribute {name!r}")
        return getattr(self.summary, name)

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


class Fitted(NamedTuple):
    """A partition, the cluster of each node of each part, the number of distinct trees, and their clusters."""

    partition: Partition
    ids: list[Handle]
    n_trees: int


class _Assigned(NamedTuple):
    """The depth below: ids of nodes, how many of them were seen in fitting, distances and trees."""

    ids: Any
    n_known: int
    distances: NDArray[Any] | UniformCosts | None
    trees: Trees | None = None


def fit_chain(
    parts: Parts,
    encoder: Encoder,
    make_partitioners: Callable[[int], list[Partitioner]],
    generators: Generators,
    max_depth: int,
    *,
    use_clusters: bool,
    n_jobs: int | None = None,
    first: int = 0,
) -> Iterator[list[Fitted]]:
    """Yield, from depth 0 to ``max_depth``, the fitted partitions of a chain and the clusters of the nodes.

    Parameters
    ----------
    parts : Parts
        The graphs.
    encoder : Encoder
        Encodes all labels of the graphs.
    make_partitioners : callable
        ``make_partitioners(depth)`` returns fresh partitioners.
    generators : callable
        ``generators(depth, i)`` returns the random generator of the i-th of them.
    max_depth : int
    use_clusters : bool
        Whether the next depth is refined from clusters (then a chain has one partition), or from the trees.
    n_jobs : int, optional
        Number of threads of this process.
    first : int, default=0
        Number of the first partition.

    Yields
    ------
    fitted : list of Fitted
        One for each partitioner.
    """
    costs, encode = parts.known(encoder), parts.share(encoder)
    every = [make_partitioners(depth) for depth in range(max_depth + 1)]
    below = _Assigned([None] * len(parts), 0, np.zeros((1, 1)))
    for depth, partitioners in enumerate(every):
        level = Level(parts, encode, depth, below.ids, below.n_known, n_jobs)
        ground = ground_of(below.distances, costs)
        fit = partial(_fitted, level, ground, partitioners, partial(generators, depth), n_jobs)
        found = map_long(fit, range(len(partitioners)), n_jobs)
        lower, deeper = None, [partitioner for later in every[depth + 1 :] for partitioner in later]
        if deeper and not use_clusters:
            lower = LowerLevel(level.take(), level_distances(level.take(), ground, n_jobs))
        elif deeper:
            measured = any(looks_at_distances(partitioner) for partitioner in deeper)
            lower = LowerLevel(found[0][0], center_costs(found[0][0], ground, n_jobs) if measured else None)
        fitted = []
        for place, (partitioner, (centers, placed)) in enumerate(zip(partitioners, found, strict=True)):
            drawn = Trees(_drawn(level, centers, placed), encoder.roots, encoder.edges.names, below.trees)
            partition = Partition(depth, first + place, partitioner, centers, lower, drawn, placed.members)
            fitted.append(Fitted(partition, level.node_ids(placed), level.n_rows))
        if lower is not None:
            trees = fitted[0].partition.trees
            trees = trees if use_clusters else replace(trees, rows=lower.known, built={})
            ids = fitted[0].ids if use_clusters else level.node_ids()
            below = _Assigned(ids, len(lower.known), lower.distances, trees)
        del level, found, placed  # release results on workers before the next depth
        yield fitted


def _fitted(
    level: Level,
    ground: GroundCost,
    partitioners: list[Partitioner],
    generator: Callable[[int], np.random.Generator],
    n_jobs: int | None,
    index: int,
) -> tuple[TreeRows, Placed]:
    """Fit a partitioner to the rows of a level: to a sample if it supports that, else to all rows."""
    partitioner: Any = partitioners[index]
    rng, name = generator(index), type(partitioner).__name__
    numbers = None
    if isinstance(partitioner, SamplingPartitioner) and not level.is_here:  # otherwise ``fit`` does the same
        numbers = partitioner.sample(level.n_rows, rng)
    if numbers is None and not level.is_here and level.n_rows > SEEN_AT_ONCE:
        raise ValueError(
            f"{level.n_rows} distinct trees are too many for {partitioner!r} on shards, which looks at all of them at "
            "once; use k-means (partitioner=None) with max_iter=None or max_iter=0, or fit on a sample of the graphs"
        )
    rows = level.take(numbers)
    check_finite(largest_distance(rows, ground), level.depth)
    n_points, n_roots = rows.n_points, len(ground.roots) - 1
    if numbers is not None:
        centers = check_rows(partitioner.fit_sample(rows, ground, level.n_rows, rng), n_points, n_roots)
        return centers, level.assign(partitioner, centers, ground)
    # Partitioners may be user-defined, so their results are checked.
    labels, centers = partitioner.fit(rows, ground, rng)
    centers = check_rows(centers, n_points, n_roots, f"the centers that {name}.fit returned")
    labels = checked_labels(labels, rows, len(centers), f"{name}.fit")
    solved = _checked_distances(getattr(partitioner, "distances_", None), rows)
    if solved is None:
        solved = Assignment(rows, np.empty(0, np.int32), labels, ground).distances(centers, n_jobs)
    return centers, level.place(labels, solved, len(centers))


def _drawn(level: Level, centers: TreeRows, placed: Placed) -> TreeRows:
    """Return the centers; those with fractional masses are replaced by their nearest members, or else rounded."""
    if centers.is_integral:
        return centers
    tally = placed.members() if isinstance(placed.members, RowPlacement) else placed.members
    clusters, begins = np.unique(tally.clusters, return_index=True)
    broken = centers.sums(np.abs(centers.counts - np.rint(centers.counts)))[clusters] > 0
    replaced, nearest = clusters[broken].astype(np.int64), tally.rows[begins[broken]]
    order = np.argsort(nearest)
    members = level.take(nearest[order]).measures()
    return replace(centers, counts=np.rint(centers.counts)).replaced(members, replaced[order])


def looks_at_distances(partitioner: Partitioner) -> bool:
    """Return whether a partitioner uses distances; subclasses of one that does not may use them."""
    return type(partitioner) is not IdentityPartitioner


def apply_chain(
    levels: list[list[Partition]],
    encoded: Encoded,
    *,
    use_clusters: bool,
    n_jobs: int | None = None,
    measured: bool = True,
) -> Iterator[list[Assignment]]:
    """Yield, depth by depth, the clusters of new graphs; numbers of at least k are new clusters.

    ``levels`` are the partitions of a chain, depth by depth. Distances that no partitioner uses were not computed in
    fitting. With ``measured`` they are computed now, so that every ground covers the rows' points.
    """
    below = _Assigned(np.empty(0, np.int32), 0, np.zeros((1, 1)))
    known_distances = (
        _measured(levels, encoded, n_jobs) if measured else [_lower_of(level).distances for level in levels[:-1]]
    )
    for depth, level in enumerate(levels):
        rows, row_of_node = refined(encoded, depth, below.ids, below.n_known, n_jobs)
        rows, ground = _covering(rows, below, encoded)
        found = [
            Assignment(rows, row_of_node, labels, ground, solved)
            for labels, solved in (_predicted(partition, rows, ground) for partition in level)
        ]
        yield found
        if depth + 1 == len(levels):
            return
        known = _lower_of(level).known
        if use_clusters:
            row_ids = _without_gaps(found[0].labels, len(known))
        else:
            row_ids = known_or_new(known.locate(rows), len(known))
        before = known_distances[depth]
        if use_clusters:
            known = known.measures()
        distances = None if before is None else _extended(before, known, rows, row_ids, ground, n_jobs)
        below = _Assigned(row_ids[row_of_node], len(known), distances)


def _lower_of(level: list[Partition]) -> LowerLevel:
    lower = level[0].lower
    assert lower is not None, "only the last depth has none"
    return lower


def _measured(levels: list[list[Partition]], encoded: Encoded, n_jobs: int | None) -> list[Any]:
    """Return the distances below each level but the first, computing those that fitting left out."""
    found: list[Any] = [np.zeros((1, 1))]
    for level in levels[:-1]:
        lower = _lower_of(level)
        if lower.distances is None:
            found.append(center_costs(lower.known, ground_of(found[-1], encoded), n_jobs))
        else:
            found.append(lower.distances)
    return found[1:]


def _predicted(partition: Partition, rows: TreeRows, ground: GroundCost) -> tuple[Int32, Float64 | None]:
    """Return the clusters of rows and, if the partitioner computes them, the distances to their centers."""
    partitioner: Any = partition.partitioner
    name = type(partitioner).__name__
    if hasattr(partitioner, "predict_with_distances"):
        labels, distances = partitioner.predict_with_distances(rows, ground)
        return checked_labels(labels, rows, np.inf, f"{name}.predict_with_distances"), _checked_distances(
            distances, rows
        )
    if not hasattr(partitioner, "predict"):
        raise TypeError(f"{name} has no predict(rows, ground), so new graphs cannot be transformed")
    return checked_labels(partitioner.predict(rows, ground), rows, np.inf, f"{name}.predict"), None


def _checked_distances(distances: Any, rows: TreeRows) -> Float64 | None:
    """Return the validated distances of a partitioner for each row; None if there are none."""
    if not (isinstance(distances, np.ndarray) and distances.shape == (len(rows),) and distances.dtype.kind == "f"):
        return None
    return distances


def _without_gaps(ids: Int32, n_known: int) -> Int32:
    """Renumber the ids of new clusters consecutively from ``n_known``."""
    new = ids >= n_known
    dense = ids.copy()
    dense[new] = n_known + np.unique(ids[new], return_inverse=True)[1]
    return dense


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


def _covering(rows: TreeRows, below: _Assigned, encoded: Encoded) -> tuple[TreeRows, GroundCost]:
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
