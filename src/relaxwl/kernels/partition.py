"""A look into one grouping of one depth: centres, sizes, members, radius, and the centres as trees."""

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from relaxwl.distances.batched import paired_distances
from relaxwl.distances.ground import Ground
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.graphs.labels import Label
from relaxwl.kernels.chains import Grouped
from relaxwl.unfolding import Rows
from relaxwl.unfolding.encoding import RootEncoding
from relaxwl.unfolding.tree import UnfoldingTree

# Members named for each group, the nearest to its centre first.
N_EXAMPLES = 5


class Trees(Protocol):
    """Numbered trees of one depth: what the rows of the next depth are drawn with."""

    def tree(self, number: int) -> UnfoldingTree:
        """Return the tree with this number."""


@dataclass(frozen=True)
class ExactTrees:
    """The distinct trees of one depth, built when asked for."""

    rows: Rows
    roots: RootEncoding
    edge_labels: tuple[Label, ...] | None
    below: Trees | None
    built: dict[int, UnfoldingTree] = field(default_factory=dict, repr=False, compare=False)

    def tree(self, number: int) -> UnfoldingTree:
        """Return the tree of a row."""
        if number not in self.built:
            root, points, counts = self.rows.row(number)
            self.built[number] = _tree(self.roots.tree_label(root), points, counts, self)
        return self.built[number]

    @property
    def n_below(self) -> int:
        """Number of trees of the depth below."""
        return self.rows.n_children


@dataclass(frozen=True)
class Partition:
    """The groups of trees of one depth.

    Attributes
    ----------
    depth, index : int
        Depth of the trees, and number of the partition.
    centers : Rows
        The centres: root codes and masses over the points of the depth below.
    sizes : int64 array (k,)
        Number of vertices of the fitted graphs in each group.
    n_trees : int64 array (k,)
        Number of distinct trees in each group.
    radius : float64 array (k,)
        Largest distance of a tree of the group to its centre.
    examples : int64 array (k, 5, 2)
        Members (graph, vertex) nearest to the centre; -1 where there are fewer.
    """

    depth: int
    index: int
    centers: Rows
    sizes: Int64
    n_trees: Int64
    radius: Float64
    examples: Int64
    n_below: int = field(repr=False)
    drawn: Rows = field(repr=False)
    roots: RootEncoding = field(repr=False)
    edge_labels: tuple[Label, ...] | None = field(repr=False)
    below: Trees | None = field(repr=False)
    built: dict[int, UnfoldingTree] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.centers)

    def __repr__(self) -> str:
        return f"Partition(depth {self.depth}: {int(self.n_trees.sum())} trees in {len(self)} groups)"

    def center_tree(self, center: int) -> UnfoldingTree:
        """Return a centre as a tree, its children drawn through the centres of the depths below.

        Where a centre's masses are not whole numbers the tree is that of the nearest member.
        """
        if not 0 <= center < len(self):
            raise IndexError(f"centre {center} is out of range: there are {len(self)}")
        if center not in self.built:
            root, points, masses = self.drawn.row(center)
            self.built[center] = _tree(self.roots.tree_label(root), points, masses, self)
        return self.built[center]

    tree = center_tree

    def members(self, center: int) -> list[tuple[int, int]]:
        """Return a few members (graph, vertex) of a group, the nearest to its centre first."""
        return [(int(graph), int(node)) for graph, node in self.examples[center] if graph >= 0]


def _tree(label: Label, points: NDArray[Any], masses: NDArray[Any], level: "ExactTrees | Partition") -> UnfoldingTree:
    """Build the tree of a row from the trees of the depth below."""
    children: list[UnfoldingTree] = []
    edges: list[Label] = []
    for point, mass in zip(points.tolist(), masses.tolist(), strict=True):
        edge, child = divmod(point, max(level.n_below, 1))
        if level.below is None:
            raise ValueError("trees of depth 0 have no children")
        children += [level.below.tree(child)] * round(mass)
        if level.edge_labels is not None:
            edges += [level.edge_labels[edge]] * round(mass)
    return UnfoldingTree(label, children, edges if edges else None)


def describe_partition(
    graphs: GraphCollection,
    depth: int,
    index: int,
    place: int,
    grouped: Grouped,
    centers: Rows,
    roots: RootEncoding,
    edge_labels: tuple[Label, ...] | None,
    below: Trees | None,
    n_jobs: int | None,
) -> Partition:
    """Sum up the groups that one partitioner (the one at ``place``) made of the fitted graphs' trees."""
    labels = grouped.labels[place]
    k, n_rows = len(centers), len(grouped.rows)
    distances = distances_to_centers(grouped.rows, labels, centers, grouped.ground, n_jobs)
    radius = np.zeros(k)
    np.maximum.at(radius, labels, distances)
    # Rows by group, and by distance within a group; the first of each group is its nearest member.
    order = np.lexsort((np.arange(n_rows), distances, labels))
    firsts = np.searchsorted(labels[order], np.arange(k))
    drawn = centers if centers.is_integral else _nearest_members(grouped.rows, order, firsts, labels, centers)
    return Partition(
        depth,
        index,
        centers,
        np.bincount(labels[grouped.row_of_node], minlength=k),
        np.bincount(labels, minlength=k),
        radius,
        _examples(graphs, grouped.row_of_node, order, firsts, np.bincount(labels, minlength=k), n_rows),
        grouped.rows.n_children,
        drawn,
        roots,
        edge_labels,
        below,
    )


def distances_to_centers(
    rows: Rows, labels: NDArray[np.int32], centers: Rows, ground: Ground, n_jobs: int | None
) -> Float64:
    """Return the exact distance of each row to the centre of its group."""
    pairs = np.column_stack([np.arange(len(rows)), labels])
    return paired_distances(rows, centers, pairs, ground, n_jobs)


def _nearest_members(rows: Rows, order: Int64, firsts: Int64, labels: NDArray[np.int32], centers: Rows) -> Rows:
    """Return the centres, those with masses that are not whole replaced by their nearest members, or else rounded."""
    fractions = np.abs(centers.counts - np.rint(centers.counts))
    broken = np.bincount(np.repeat(np.arange(len(centers)), np.diff(centers.indptr)), fractions, len(centers)) > 0
    replaced = np.flatnonzero(broken & (np.bincount(labels, minlength=len(centers)) > 0))
    rounded = replace(centers, counts=np.rint(centers.counts))
    return rounded.replaced(rows.take(order[firsts[replaced]]).measures(), replaced)


def _examples(
    graphs: GraphCollection, row_of_node: NDArray[np.int32], order: Int64, firsts: Int64, n_trees: Int64, n_rows: int
) -> Int64:
    """Return one vertex (graph, number in the graph) for each of the first few rows of every group."""
    vertex_of_row = np.empty(n_rows, np.int64)
    vertex_of_row[row_of_node[::-1]] = np.arange(len(row_of_node))[::-1]  # the first vertex of each row stays
    examples = np.full((len(firsts), N_EXAMPLES, 2), -1, np.int64)
    for place in range(N_EXAMPLES):
        some = np.flatnonzero(n_trees > place)
        vertices = vertex_of_row[order[firsts[some] + place]]
        graph = np.searchsorted(graphs.offsets, vertices, side="right") - 1
        examples[some, place, 0] = graph
        examples[some, place, 1] = vertices - graphs.offsets[graph]
    return examples
