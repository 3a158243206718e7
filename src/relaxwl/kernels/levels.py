"""The graphs of a fit, and the distinct trees of each depth: what kernels are fitted to.

A kernel is fitted to a *source* of graphs. :class:`Graphs` is the one in memory. Shards have another with the same
methods (``relaxwl.distributed.levels``), which runs the given functions where the graphs are and joins their results; a
fit must not depend on how the graphs are divided. So functions are those of a module, deterministic, and results are
joined by content: sorted distinct rows, sums of whole numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import cached_property
from relaxwl.clustering.partitioners import Partitioner
from relaxwl.costs.codebook import UniformCosts, check_finite
from relaxwl.distances.pairwise import paired_distances
from relaxwl.distances.transport import GroundCost
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64
from relaxwl.kernels.counting import COUNTERS, Counter, Counts
from relaxwl.unfolding import TreeRows, leaves, refine
from relaxwl.unfolding.rows import check_rows

# Number of bits of the node in a number that combines graph and node.
NODE_BITS = 32
# Number of members listed for each cluster, the nearest to its center first.
N_EXAMPLES = 5
# Advice if a kernel cannot be fitted to shards.
SAMPLE_ADVICE = "fit it on a sample: kernel.fit(shards.sample(10_000)[0])"
# Ids of nodes: an array in memory, or a handle for each shard.
Ids = Any


@dataclass(frozen=True)
class Encoded:
    """Graphs with codes for their roots and edges, and the costs between codes, the blank last.

    Attributes
    ----------
    graphs : GraphCollection
        The graphs as they are traversed.
    roots : int32 array (n_nodes,)
        Root code of each node.
    edges : int32 array (n_adjacent,) or None
        Code of each adjacency entry; None if edges are not used.
    n_edge_codes : int
        Number of known edge codes; 1 if edges are not used.
    counted : tuple of GraphCollection and int32 array or None
        The graphs in which labels are counted, and the codes of their edges.
    root_costs, edge_costs : float64 array (or UniformCosts), float64 array or None
        Costs between codes; None if distances are not used.
    """

    graphs: GraphCollection
    roots: Int32
    edges: Int32 | None
    n_edge_codes: int
    counted: tuple[GraphCollection, Int32 | None]
    root_costs: Float64 | UniformCosts | None = None
    edge_costs: Float64 | None = None

    def refined(self, depth: int, ids: Int32, n_below: int, n_jobs: int | None) -> tuple[TreeRows, Int32]:
        """Return the distinct trees of a depth and the tree of each node, given the ids of the depth below."""
        if depth == 0:
            return leaves(self.roots)
        edges = {"edge_codes": self.edges, "n_edge_codes": self.n_edge_codes}
        return refine(self.graphs, self.roots, ids, n_below, **edges, n_jobs=n_jobs)  # type: ignore[arg-type]


class Summary(NamedTuple):
    """The members of clusters; see :class:`relaxwl.kernels.chains.Partition`."""

    sizes: Int64
    n_trees: Int64
    radius: Float64
    examples: Int64


class Tally(NamedTuple):
    """Sizes, numbers of trees and radius of clusters, and the trees nearest to each center.

    Of these trees it has the cluster, the distance, the number, and the first node (graph << 32 | node of the graph).
    Shards make a tally for each chunk of trees, and join them.
    """

    sizes: Int64
    n_trees: Int64
    radius: Float64
    labels: Int32
    distances: Float64
    rows: Int64
    first: Int64

    def nearest(self) -> "Tally":
        """Keep a few trees of each cluster, the nearest first."""
        order = np.lexsort((self.rows, self.distances, self.labels))
        labels = self.labels[order]
        kept = order[np.arange(len(order)) - np.searchsorted(labels, labels) < N_EXAMPLES]
        members: Any = (column[kept] for column in self[3:])
        return Tally(*self[:3], *members)

    def summary(self) -> Summary:
        """Return the members of the clusters."""
        examples = np.full((len(self.sizes), N_EXAMPLES, 2), -1, np.int64)
        place = np.arange(len(self.labels)) - np.searchsorted(self.labels, self.labels)
        nodes = self.first & ((1 << NODE_BITS) - 1)
        examples[self.labels, place] = np.column_stack([self.first >> NODE_BITS, nodes])
        return Summary(self.sizes, self.n_trees, self.radius, examples)


class RowPlacement(NamedTuple):
    """Consecutive distinct trees and their clusters, which are tallied when that is needed.

    ``first`` is the first node that has each tree (graph << 32 | node of the graph), ``number`` how many have it.
    """

    labels: Int32
    distances: Float64
    first: Int64
    number: Int64
    n_clusters: int
    start: int = 0

    def nearest(self) -> Tally:
        """Count and measure the members of each cluster."""
        sizes = np.bincount(self.labels, self.number, minlength=self.n_clusters).astype(np.int64)
        n_trees, radius = np.bincount(self.labels, minlength=self.n_clusters), np.zeros(self.n_clusters)
        np.maximum.at(radius, self.labels, self.distances)
        rows = self.start + np.arange(len(self.labels))
        return Tally(sizes, n_trees, radius, self.labels, self.distances, rows, self.first).nearest()

    def summary(self) -> Summary:
        """Return the members of the clusters."""
        return self.nearest().summary()


class Clustered(NamedTuple):
    """The clusters of a depth: their centers, the cluster of each node, and the members from which they were made."""

    centers: TreeRows
    ids: Ids
    members: RowPlacement | Tally


class Level:
    """The distinct trees of one depth, in canonical order, and the tree of each node.

    Parameters
    ----------
    depth : int
    rows : TreeRows
        The distinct trees.
    row_of_node : int32 array (n_nodes,)
        The tree of each node.
    offsets : int64 array (n_graphs + 1,)
        The nodes of graph g are those from ``offsets[g]`` to ``offsets[g + 1] - 1``.
    """

    def __init__(self, depth: int, rows: TreeRows, row_of_node: Int32, offsets: Int64) -> None:
        self.depth, self.n_rows, self.ids = depth, len(rows), row_of_node
        self._rows, self._offsets = rows, offsets

    def take(self, numbers: Int64 | None = None) -> TreeRows:
        """Return the trees with these ascending numbers; all by default."""
        return self._rows if numbers is None else self._rows.take(numbers)

    @cached_property
    def _nodes(self) -> tuple[Int64, Int64]:
        return first_nodes(self.ids, self.n_rows, self._offsets)

    def cluster(
        self, partitioner: Partitioner, ground: GroundCost, rng: np.random.Generator, n_jobs: int | None
    ) -> Clustered:
        """Fit a partitioner to the trees."""
        labels, centers, distances = fit_partitioner(partitioner, self._rows, ground, rng, self.depth, n_jobs)
        members = RowPlacement(labels, distances, *self._nodes, len(centers))
        return Clustered(centers, labels[self.ids], members)


class Levels:
    """The distinct trees of graphs in memory, depth by depth, and the counters of their columns.

    Parameters
    ----------
    graphs : GraphCollection
        The graphs.
    encoder : callable
        Returns graphs with codes.
    n_jobs : int, optional
        Number of threads.

    Attributes
    ----------
    known : Encoded
        The codes of these graphs; of shards, only the costs between all codes.
    """

    def __init__(self, graphs: GraphCollection, encoder: Any, n_jobs: int | None = None) -> None:
        self.encoder, self.n_jobs = encoder, n_jobs
        self.known: Encoded = encoder(graphs)

    def at(self, depth: int, ids: Ids, n_below: int) -> Level:
        """Return the trees of a depth, whose children are the ids of the depth below; there are ``n_below`` ids."""
        rows, row_of_node = self.known.refined(depth, ids, n_below, self.n_jobs)
        return Level(depth, rows, row_of_node, self.known.graphs.offsets)

    def fit_counter(self, base: str, ids: Ids, n_known: int) -> tuple[Counter, Counts | None]:
        """Return a counter with a column for each item that occurs, and the counts, which shards do not return."""
        counter, (graphs, edges) = COUNTERS[base](), self.known.counted
        return counter, counter.fit(graphs, ids, n_known, self.n_jobs, edges)


class Graphs:
    """A source of graphs in memory.

    Parameters
    ----------
    graphs : GraphCollection
        All graphs; those of shards are an empty collection with the same labels.
    """

    in_memory = True

    def __init__(self, graphs: GraphCollection) -> None:
        self.graphs = graphs

    def levels(self, encoder: Any, n_jobs: int | None = None) -> Levels:
        """Return the distinct trees of the graphs."""
        return Levels(self.graphs, encoder, n_jobs)

    def each(self, function: Callable[..., Any], *arguments: Any, own: Any = None) -> Any:
        """Return ``function(graphs, *arguments)`` or, given the result of an earlier call, ``(graphs, own, ...)``.

        The result of shards stays on the workers, one for each shard.
        """
        return function(self.graphs, *arguments) if own is None else function(self.graphs, own, *arguments)

    def joined(self, join: Callable[[list[Any]], Any], found: Any) -> Any:
        """Return a result of :meth:`each` in this process; those of shards are joined."""
        return found


class SourceKernel(Protocol):
    """A kernel that can be fitted to shards: ``kernel.fit(shards)`` calls ``fit_source``, as ``fit(graphs)`` does.

    For other kernels, an error message advises to fit the kernel to a sample. Every fitted kernel scores shards.
    """

    def fit_source(self, source: Graphs) -> list[Counts] | None:
        """Fit to all graphs; parameters have been checked before.

        Returns
        -------
        counts : list of Counts, or None
            The counts of the graphs at each depth, if ``source.in_memory``; otherwise ignored.
        """


def first_nodes(row_of_node: Int32, n_rows: int, offsets: Int64, first_graph: int = 0) -> tuple[Int64, Int64]:
    """Return the first node that has each tree, as ``graph << 32 | node of the graph``, and how many have it."""
    nodes = np.empty(n_rows, np.int64)
    nodes[row_of_node[::-1]] = np.arange(len(row_of_node))[::-1]  # the first node of a tree is written last
    graph = np.searchsorted(offsets, nodes, side="right") - 1
    first = (first_graph + graph) << NODE_BITS | (nodes - offsets[graph])
    return first, np.bincount(row_of_node, minlength=n_rows)


def fit_partitioner(
    partitioner: Any, rows: TreeRows, ground: GroundCost, rng: np.random.Generator, depth: int, n_jobs: int | None
) -> tuple[Int32, TreeRows, Float64]:
    """Return the cluster of each row, the centers, and the distance of each row to its center.

    Partitioners may be user-defined, so their results are checked.
    """
    name = type(partitioner).__name__
    # Costs of deep trees of many children may exceed floating point, and clusters would then be arbitrary.
    check_finite(largest_distance(rows, ground), depth)
    labels, centers = partitioner.fit(rows, ground, rng)
    centers = check_rows(centers, rows.n_points, len(ground.roots) - 1, f"the centers that {name}.fit returned")
    labels = checked_labels(labels, rows, len(centers), f"{name}.fit")
    distances = checked_distances(getattr(partitioner, "distances_", None), rows)
    return labels, centers, center_distances(rows, labels, centers, ground, n_jobs) if distances is None else distances


def center_distances(
    rows: TreeRows, labels: Int32, centers: TreeRows, ground: GroundCost, n_jobs: int | None
) -> Float64:
    """Return the exact distance of each row to its cluster's center; a row of a new cluster is its own center."""
    # Rows of new clusters have the distance 0, because they are their own centers.
    known, distances = np.flatnonzero(labels < len(centers)), np.zeros(len(labels))
    pairs = np.column_stack([known, labels[known]])
    distances[known] = paired_distances(rows, centers.measures(), pairs, ground, n_jobs)
    return distances


def largest_distance(rows: TreeRows, ground: GroundCost) -> float:
    """Return a bound on all distances of trees, by deleting two of them; 0 if distances are not used."""
    if ground.n_points != rows.n_points:
        return 0.0
    masses = rows.degrees if rows.counts.dtype.kind == "i" else rows.masses
    with np.errstate(over="ignore"):
        deletion = masses.max(initial=0) * ground.to_blank.max() + ground.roots.max()
        return float(2 * deletion + ground.largest + ground.roots.max())


def checked_labels(labels: Any, rows: TreeRows, n_clusters: float, source: str) -> Int32:
    """Return cluster numbers as int32; invalid ones raise an error."""
    labels = np.asarray(labels)
    if labels.shape != (len(rows),) or (len(rows) and labels.dtype.kind not in "iu"):
        raise ValueError(f"{source} must return one whole number for each of {len(rows)} rows")
    if len(rows) and not 0 <= labels.min() <= labels.max() < min(n_clusters, 2**31):
        raise ValueError(
            f"{source} returned cluster numbers from {labels.min()} to {labels.max()}; they count the clusters from 0"
        )
    return np.asarray(labels, np.int32)


def checked_distances(distances: NDArray[Any] | None, rows: TreeRows) -> Float64 | None:
    """Return the distance that a partitioner computed for each row, or None if these are no such distances."""
    known = isinstance(distances, np.ndarray) and distances.shape == (len(rows),) and distances.dtype.kind == "f"
    return distances if known else None
