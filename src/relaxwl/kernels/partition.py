"""The clusters of one depth as they were fitted, where nodes fall among them, and their centers as trees."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from relaxwl._memory import check_memory
from relaxwl.clustering.partitioners import Partitioner
from relaxwl.costs import UniformCosts
from relaxwl.distances.pairwise import paired_distances
from relaxwl.distances.transport import GroundCost
from relaxwl.graphs.arrays import Float64, Int32, Int64
from relaxwl.graphs.labels import Label
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.encoding import RootEncoding
from relaxwl.unfolding.tree import UnfoldingTree

# The node of a graph behind the number of the graph, in one number.
NODE_BITS = 32
# Members named for each cluster, the nearest to its center first.
N_EXAMPLES = 5
# From this number of children on a tree is built only if it fits into memory; about what a child takes, in bytes.
MANY, CHILD_BYTES = 1e6, 64


@dataclass(frozen=True, eq=False)
class Assignment:
    """Where nodes fall at one depth of one partition.

    Attributes
    ----------
    rows : TreeRows
        The distinct trees, to the kernel.
    row_of_node : int32 array (n_nodes,)
        The tree of each node.
    labels : int32 array (n_rows,)
        The cluster of each tree; numbers from the number of clusters on were not met in fitting.
    ground : GroundCost
        Covers the rows' points, or nothing but ⊥ where nobody looks at distances.
    solved : float64 array (n_rows,) or None
        The distance of each tree to the center of its cluster, if the partitioner told it.
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
    """What a depth hands to the next: its trees, or its clusters' centers, and the distances between them, ⊥ last.

    The distances are None where no deeper partitioner looks at them.
    """

    known: TreeRows
    distances: NDArray[Any] | UniformCosts | None


@dataclass(frozen=True, eq=False)
class Trees:
    """Rows of one depth as trees to look at, built when asked for, their children through the depth below."""

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


class Summary(NamedTuple):
    """Who is in the clusters; see :class:`Partition`."""

    sizes: Int64
    n_trees: Int64
    radius: Float64
    examples: Int64


class Tally(NamedTuple):
    """Sizes, numbers of trees and radius of clusters, and the nearest members of each: cluster, distance, row, node.

    Tallies of consecutive rows are joined to that of all.
    """

    sizes: Int64
    n_trees: Int64
    radius: Float64
    clusters: Int32
    distances: Float64
    rows: Int64
    nodes: Int64

    @classmethod
    def joined(cls, parts: "list[Tally]") -> "Tally":
        """Put tallies together."""
        sizes, n_trees, radius, *members = zip(*parts, strict=True)
        joined = [np.concatenate(column) for column in members]
        return cls._make([np.sum(sizes, axis=0), np.sum(n_trees, axis=0), np.max(radius, axis=0), *joined])._nearest()

    def _nearest(self) -> "Tally":
        """Keep the nearest members of each cluster only, nearest first."""
        order = np.lexsort((self.rows, self.distances, self.clusters))
        clusters = self.clusters[order]
        rank = np.arange(len(order)) - np.searchsorted(clusters, clusters)
        kept = order[rank < N_EXAMPLES]
        return Tally._make([*self[:3], *(column[kept] for column in self[3:])])

    def summary(self) -> Summary:
        """Return who is in the clusters."""
        examples = np.full((len(self.sizes), N_EXAMPLES, 2), -1, np.int64)
        place = np.arange(len(self.clusters)) - np.searchsorted(self.clusters, self.clusters)
        examples[self.clusters, place, 0] = self.nodes >> NODE_BITS
        examples[self.clusters, place, 1] = self.nodes & ((1 << NODE_BITS) - 1)
        return Summary(self.sizes, self.n_trees, self.radius, examples)

    def tally(self, n_clusters: int) -> "Tally":
        """Return itself."""
        return self


@dataclass(frozen=True, eq=False)
class Members:
    """All that a summary needs of consecutive distinct trees: far less than their nodes.

    ``labels`` and ``distances`` say where the trees are, ``first`` is the first node that has each (graph << 32 | node
    of the graph), ``number`` how many have it, and ``start`` the number of the first tree.
    """

    labels: Int32
    distances: Float64
    first: Int64
    number: Int64
    start: int = 0

    def tally(self, n_clusters: int) -> Tally:
        """Count and measure the members of each cluster."""
        sizes = np.bincount(self.labels, self.number, minlength=n_clusters).astype(np.int64)
        n_trees = np.bincount(self.labels, minlength=n_clusters)
        radius = np.zeros(n_clusters)
        np.maximum.at(radius, self.labels, self.distances)
        rows = self.start + np.arange(len(self.labels))
        return Tally(sizes, n_trees, radius, self.labels, self.distances, rows, self.first)._nearest()


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
        Members (graph, node) nearest to the center; -1 where there are fewer.
    fed : LowerLevel or None
        What the next depth is made of; None at the last depth.
    """

    depth: int
    index: int
    partitioner: Partitioner = field(repr=False)
    centers: TreeRows
    fed: LowerLevel | None = field(repr=False)
    trees: Trees = field(repr=False)
    members_: Members | Tally | Summary = field(repr=False)

    @classmethod
    def from_state(
        cls,
        depth: int,
        index: int,
        partitioner: Partitioner,
        centers: TreeRows,
        fed: LowerLevel | None,
        drawn: TreeRows,
        summary: tuple[Any, ...],
    ) -> "Partition":
        """Make a partition of what :meth:`to_state` kept; its trees can be drawn when those below are there."""
        return cls(depth, index, partitioner, centers, fed, Trees(drawn, None, None, None), Summary(*summary))

    def to_state(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        names = ("depth", "index", "partitioner", "centers", "fed")
        return {name: getattr(self, name) for name in names} | {"drawn": self.trees.rows, "summary": self.summary}

    def __len__(self) -> int:
        return len(self.centers)

    def __repr__(self) -> str:
        return f"Partition(depth {self.depth}: {int(self.n_trees.sum())} trees in {len(self)} clusters)"

    @property
    def summary(self) -> Summary:
        """Who is in the clusters, summed up when somebody looks for the first time."""
        if not isinstance(self.members_, Summary):
            object.__setattr__(self, "members_", self.members_.tally(len(self)).summary())
        return self.members_  # type: ignore[return-value]

    @property
    def sizes(self) -> Int64:
        """Number of nodes in each cluster."""
        return self.summary.sizes

    @property
    def n_trees(self) -> Int64:
        """Number of distinct trees in each cluster."""
        return self.summary.n_trees

    @property
    def radius(self) -> Float64:
        """Largest distance of a tree of each cluster to its center."""
        return self.summary.radius

    @property
    def examples(self) -> Int64:
        """Members (graph, node) nearest to each center."""
        return self.summary.examples

    def center_tree(self, center: int) -> UnfoldingTree:
        """Return a center as a tree, its children drawn through the centers of the depths below.

        Where a center's masses are not whole numbers the tree is that of the nearest member.
        """
        if not 0 <= center < len(self):
            raise IndexError(f"center {center} is out of range: there are {len(self)}")
        return self.trees.tree(center)

    def members(self, center: int) -> list[tuple[int, int]]:
        """Return a few members (graph, node) of a cluster, the nearest to its center first."""
        return [(int(graph), int(node)) for graph, node in self.examples[center] if graph >= 0]
