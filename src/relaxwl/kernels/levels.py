"""The distinct trees of one depth over all parts of the graphs: how kernels are fitted in memory and to shards.

A kernel that can be fitted to shards has a method :meth:`PartwiseKernel.fit_parts`, which accesses the graphs only by
:class:`Parts`: a function is called for each part (:meth:`Parts.each`), and its results stay on the worker and are
passed to other functions for the same part, or are joined and sent to this process (:meth:`Parts.joined`). A collection
in memory is one part, and all functions then run in this process.

Functions must be module-level functions, not methods or closures, because they are sent to workers by name. They are
deterministic and do not change their arguments, so that results that are lost with a worker can be computed again
elsewhere. The model must not depend on how the graphs are divided into parts: join by content (sorted distinct rows,
smallest keys), and sum whole numbers or in an order that is determined by content.

Each part finds its own distinct trees (:class:`Level`). A few are merged in this process. Many are cut at common
positions of the canonical order into chunks, each with all trees between two positions, and merged per chunk. All
chunks together have the same rows as a collection in memory. No task uses more than one part or one chunk.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import getitem
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from relaxwl.costs.codebook import UniformCosts, check_finite
from relaxwl.distances.transport import GroundCost
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64, prefix_sums
from relaxwl.kernels.counting import COUNTERS, Counter, Counts, SubtreeCounter
from relaxwl.unfolding import TreeRows, leaves, refine
from relaxwl.unfolding.rows import canonical_order, join_rows, merge_rows

# Number of bits of the node in a number that combines graph and node.
NODE_BITS = 32
# Number of members listed for each cluster, the nearest to its center first.
N_EXAMPLES = 5
# Maximum number of rows of a chunk before merging, and minimum number if there is a chunk for each thread.
CHUNK_ROWS, LEAST_CHUNK_ROWS = 1 << 18, 1 << 14
# Maximum number of chunks for which tasks receive whole parts or chunks; for more, they receive pieces cut by others.
FEW_CHUNKS = 4
# Maximum number of rows of all parts together that are merged in this process.
FEW_ROWS = 1 << 14
# Number of sampled rows per full chunk, from which the borders of chunks are chosen.
OVERSAMPLING = 32


Prepared = TypeVar("Prepared")
# A result of a function, or a future of it in another process.
Handle = Any
# Advice if a kernel cannot be fitted to shards.
SAMPLE_ADVICE = "fit it on a sample: kernel.fit(shards.sample(10_000)[0])"
# Number of results that are joined at a time.
FAN_IN = 16


class Tasks(Protocol):
    """Interface for running functions, in this process or on workers."""

    @property
    def n_threads(self) -> int:
        """Number of functions that can run at the same time."""

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Submit a function call; arguments may be handles, also within lists. ``name`` is shown in dashboards."""

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Wait for results and return them."""

    def share(self, value: Any) -> Handle:
        """Return a handle of a value for many calls, which is sent once."""


class LocalTasks:
    """Tasks that are run immediately in this process."""

    n_threads = 1

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Call a function."""
        return function(*arguments)

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Return the results."""
        return list(handles)

    def share(self, value: Any) -> Handle:
        """Return the value itself."""
        return value


class Part(Protocol):
    """Some consecutive graphs."""

    @property
    def first_graph(self) -> int:
        """Number of the first of them among all graphs."""

    def prepared(self, prepare: Callable[[GraphCollection], Prepared]) -> Prepared:
        """Return a function of the graphs; in memory it is computed once."""


class Parts:
    """Graphs that a kernel is fitted to, in parts.

    Parameters
    ----------
    parts : list of Part
        All graphs, in order.
    kind : GraphCollection
        An empty collection with the vocabularies of all graphs; in memory, the graphs themselves.
    tasks : Tasks
        Runs the functions.

    Attributes
    ----------
    in_memory : bool
        Whether all graphs are one part in this process. Then ``fit_parts`` returns their counts.
    """

    in_memory = False

    def __init__(self, parts: Sequence[Part], kind: GraphCollection, tasks: Tasks) -> None:
        self.parts, self.kind, self.tasks = parts, kind, tasks

    def __len__(self) -> int:
        return len(self.parts)

    def known(self, prepare: Callable[[GraphCollection], Prepared]) -> Prepared:
        """Return, in this process, a function of the graphs if they are in memory, else of an empty collection."""
        return prepare(self.kind)

    def each(
        self, name: str, function: Callable[..., Any], *arguments: Any, own: Sequence[Handle] | None = None
    ) -> list[Handle]:
        """Call ``function(part, *arguments)`` for each part; ``function(part, own[i], *arguments)`` with ``own``.

        Parameters
        ----------
        name : str
            Name in dashboards.
        function : function of a module
            Accesses the graphs by ``part.prepared``.
        *arguments : values, or handles as :meth:`share` returns them
        own : list of handles, optional
            One for each part, returned by an earlier call.

        Returns
        -------
        results : list of handles
        """
        first = [[]] * len(self.parts) if own is None else [[one] for one in own]
        return [
            self.tasks.submit(name, function, part, *mine, *arguments)
            for part, mine in zip(self.parts, first, strict=True)
        ]

    def joined(self, name: str, join: Callable[[list[Any]], Any], results: Sequence[Handle]) -> Any:
        """Return, in this process, ``join(list of results)`` of the results of all parts, a few at a time, in order."""
        results = list(results) if len(results) > 1 else [self.tasks.submit(name, join, list(results))]
        while len(results) > 1:
            starts = range(0, len(results), FAN_IN)
            results = [self.tasks.submit(name, join, results[start : start + FAN_IN]) for start in starts]
        return self.tasks.gather(results)[0]

    def share(self, value: Any) -> Handle:
        """Return a handle of a value for many calls, which is sent to each worker once."""
        return self.tasks.share(value)


class Whole(Parts):
    """A collection in memory, which is its own and only part."""

    in_memory = True
    first_graph = 0

    def __init__(self, graphs: GraphCollection) -> None:
        super().__init__([self], graphs, LocalTasks())
        self._made: tuple[Any, Any] = None, None

    def known(self, prepare: Callable[[GraphCollection], Prepared]) -> Prepared:
        """Return a function of the graphs."""
        return self.prepared(prepare)

    def prepared(self, prepare: Callable[[GraphCollection], Prepared]) -> Prepared:
        """Return a function of the graphs; the last one is remembered."""
        if self._made[0] is not prepare:
            self._made = prepare, prepare(self.kind)
        return cast(Prepared, self._made[1])


class PartwiseKernel(Protocol):
    """A kernel that can be fitted to shards: ``kernel.fit(shards)`` calls ``fit_parts``, as does ``fit(graphs)``.

    For other kernels, an error message advises to fit the kernel to a sample. To score shards, a fitted kernel needs
    only ``weighted_counts``.
    """

    def fit_parts(self, parts: Parts) -> list[Counts] | None:
        """Fit to all graphs; parameters have been checked before.

        Returns
        -------
        counts : list of Counts, or None
            The counts of the graphs at each depth, if ``parts.in_memory``; otherwise ignored.
        """


class Summary(NamedTuple):
    """The members of clusters; see :class:`Partition`."""

    sizes: Int64
    n_trees: Int64
    radius: Float64
    examples: Int64


class Tally(NamedTuple):
    """Sizes, numbers of trees and radius of clusters, and the nearest members of each: cluster, distance, row, node.

    Tallies of consecutive rows are joined to the tally of all rows.
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
        """Merge tallies."""
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
        """Return the members of the clusters."""
        examples = np.full((len(self.sizes), N_EXAMPLES, 2), -1, np.int64)
        place = np.arange(len(self.clusters)) - np.searchsorted(self.clusters, self.clusters)
        examples[self.clusters, place, 0] = self.nodes >> NODE_BITS
        examples[self.clusters, place, 1] = self.nodes & ((1 << NODE_BITS) - 1)
        return Summary(self.sizes, self.n_trees, self.radius, examples)


class RowPlacement(NamedTuple):
    """Consecutive distinct trees and their clusters; called, it tallies the members of each cluster.

    ``first`` is the first node that has each tree (graph << 32 | node of the graph), ``number`` how many have it, and
    ``start`` the number of the first tree.
    """

    labels: Int32
    distances: Float64
    first: Int64
    number: Int64
    start: int
    n_clusters: int

    def __call__(self) -> Tally:
        """Count and measure the members of each cluster."""
        sizes = np.bincount(self.labels, self.number, minlength=self.n_clusters).astype(np.int64)
        n_trees = np.bincount(self.labels, minlength=self.n_clusters)
        radius = np.zeros(self.n_clusters)
        np.maximum.at(radius, self.labels, self.distances)
        rows = self.start + np.arange(len(self.labels))
        return Tally(sizes, n_trees, radius, self.labels, self.distances, rows, self.first)._nearest()


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


Encode = Callable[[GraphCollection], Encoded]


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct rows in canonical order; the first node that has each, and how many have it.

    A node is ``graph << 32 | node of the graph``, with graphs numbered over all parts.
    """

    rows: TreeRows
    first: Int64
    number: Int64

    def __len__(self) -> int:
        return len(self.rows)

    def __sizeof__(self) -> int:
        return self.rows.__sizeof__() + self.first.nbytes + self.number.nbytes

    def span(self, start: int, stop: int) -> "Distinct":
        """Return some consecutive rows."""
        return Distinct(self.rows.take(np.arange(start, stop)), self.first[start:stop], self.number[start:stop])


# For a part: its rows, and the row of each node. For a chunk: its rows, and the indices of each part's rows in it.
PartRows = tuple[Distinct, Int32]
Chunk = tuple[Distinct, list[Any]]


class Placed(NamedTuple):
    """The cluster of each row, chunk by chunk, and the members of all clusters."""

    labels: list[Handle]
    members: Tally | RowPlacement


class Level:
    """The distinct rows of a depth, in canonical order.

    Parameters
    ----------
    parts : Parts
        The graphs.
    encode : Encode
        Encodes roots and edges; the result of :meth:`Parts.share`.
    depth : int
    ids : list of handles
        For each part, the ids of its nodes at the depth below; not used at depth 0.
    n_below : int
        Number of ids.
    n_jobs : int, optional
        Number of threads.

    Attributes
    ----------
    n_rows : int
        Number of distinct rows.
    is_here : bool
        Whether they are in this process, in one chunk.
    """

    def __init__(
        self, parts: Parts, encode: Encode, depth: int, ids: list[Handle], n_below: int, n_jobs: int | None = None
    ) -> None:
        self._parts, self.depth = parts, depth
        self._tasks: Tasks = LocalTasks()
        self.is_here = True
        self._found = parts.each("refine", refine_part, encode, depth, n_below, n_jobs, own=ids)
        self._chunks: list[Handle]
        if parts.in_memory:
            self._chunks = [(self._found[0][0], [slice(None)])]
        else:
            submit = parts.tasks.submit
            samples = parts.tasks.gather([submit("sample", sample, one, FEW_ROWS // len(parts)) for one in self._found])
            few = [whole for _, _, whole in samples if whole is not None]
            if len(few) == len(samples):
                self._chunks = [merge(few)]
            else:
                self._tasks, self.is_here = parts.tasks, False
                self._chunks = self._shuffled(sum(size for size, _, _ in samples), [some for _, some, _ in samples])
        sizes = self._tasks.gather([self._tasks.submit("count", chunk_size, chunk) for chunk in self._chunks])
        self._starts = prefix_sums(np.array(sizes, np.int64))
        self.n_rows = int(self._starts[-1])

    def _shuffled(self, n_rows: int, samples: list[TreeRows]) -> list[Handle]:
        """Group equal rows of all parts into chunks."""
        submit = self._tasks.submit
        n_chunks = max(-(-n_rows // CHUNK_ROWS), min(self._tasks.n_threads, n_rows // LEAST_CHUNK_ROWS), 1)
        borders = self._tasks.share(splitters(samples, n_chunks))
        if n_chunks <= FEW_CHUNKS:
            return [submit("merge", merge_cut, self._found, borders, place) for place in range(n_chunks)]
        cuts = [submit("cut", cut, one, borders) for one in self._found]
        return [
            submit("merge", merge, [submit("piece", getitem, pieces, place) for pieces in cuts])
            for place in range(n_chunks)
        ]

    def take(self, numbers: Int64 | None = None) -> TreeRows:
        """Return the rows with these ascending numbers; all by default."""
        submit = self._tasks.submit
        if numbers is None:
            taken = [submit("pick", take_rows, chunk, None) for chunk in self._chunks]
        else:
            cuts = np.searchsorted(numbers, self._starts)
            taken = [
                submit("pick", take_rows, chunk, numbers[begin:end] - start)
                for chunk, start, (begin, end) in zip(self._chunks, self._starts[:-1], pairwise(cuts), strict=True)
                if begin < end or len(self._chunks) == 1
            ]
        rows = self._tasks.gather(taken)
        return rows[0] if len(rows) == 1 else join_rows(rows)

    def assign(self, partitioner: Any, centers: TreeRows, ground: GroundCost) -> Placed:
        """Predict the cluster of every row with a fitted partitioner, chunk by chunk."""
        shared = self._tasks.share((partitioner, centers, ground))
        found = [
            self._tasks.submit("assign", assign_chunk, chunk, shared, start, self.depth, self.is_here)
            for chunk, start in zip(self._chunks, self._starts[:-1].tolist(), strict=True)
        ]
        return self._placed(found)

    def place(self, labels: Int32, distances: Float64, n_clusters: int) -> Placed:
        """Give the chunks the clusters of all rows, and the distances to their centers."""
        found = []
        for chunk, (start, stop) in zip(self._chunks, pairwise(self._starts.tolist()), strict=True):
            placed = labels[start:stop], distances[start:stop], start, n_clusters, self.is_here
            found.append(self._tasks.submit("place", place_chunk, chunk, *placed))
        return self._placed(found)

    def _placed(self, results: list[Handle]) -> Placed:
        members = self._tasks.gather([self._tasks.submit("members", getitem, result, 1) for result in results])
        return Placed(results, members[0] if self.is_here else Tally.joined(members))

    def node_ids(self, placed: Placed | None = None) -> list[Handle]:
        """Return, for each part, the cluster of each node; without clusters, the number of its row."""
        submit = self._tasks.submit
        if placed is None:
            if self._parts.in_memory:
                return [self._found[0][1]]
            values = [submit("number", row_numbers, int(start), int(stop)) for start, stop in pairwise(self._starts)]
        else:
            values = placed.labels
        pairs = list(zip(self._chunks, values, strict=True))
        if not self.is_here and len(pairs) <= FEW_CHUNKS:
            return [
                submit("return", spread_all, found, self._chunks, values, part)
                for part, found in enumerate(self._found)
            ]
        return [
            self._parts.tasks.submit("return", spread, found, [submit("piece", answer, *pair, part) for pair in pairs])
            for part, found in enumerate(self._found)
        ]


def fit_counter(
    parts: Parts, encode: Encode, base: str, ids: list[Handle], n_known: int, n_jobs: int | None
) -> tuple[Counter, Counts | None]:
    """Return a counter with the columns of all parts, given the ids of their nodes; and the counts if in memory."""
    if base == "subtree" and not parts.in_memory:  # each id has a column
        counter = SubtreeCounter()
        counter.n_columns = n_known
        return counter, None
    found = parts.each("columns", count_part, parts.share(encode), base, n_known, n_jobs, parts.in_memory, own=ids)
    fitted: tuple[Counter, Counts | None] = parts.joined("columns", join_counters, found)
    return fitted


def check_base(base: str) -> None:
    """Raise an error for shortest paths in shards."""
    if base == "shortest-path":
        raise ValueError(f"base='shortest-path' cannot be fitted to shards; {SAMPLE_ADVICE}")


# ------------------------------------------------------------------------------------------------------------- tasks


def count_part(
    part: Part, ids: Int32, encode: Encode, base: str, n_known: int, n_jobs: int | None, here: bool
) -> tuple[Counter, Counts | None]:
    """Fit a counter to one part; counts are not sent anywhere."""
    counter, (graphs, edges) = COUNTERS[base](), part.prepared(encode).counted
    counts = counter.fit(graphs, ids, n_known, n_jobs, edges)
    return counter, counts if here else None


def join_counters(parts: list[tuple[Any, Counts | None]]) -> tuple[Counter, Counts | None]:
    """Return a counter with the columns of all parts."""
    if len(parts) == 1:
        return parts[0]
    joined = copy.copy(parts[0][0])
    joined.keys = np.unique(np.concatenate([counter.keys for counter, _ in parts]))
    return joined, None


def refine_part(
    part: Part, ids: Int32 | None, encode: Encode, depth: int, n_below: int, n_jobs: int | None
) -> PartRows:
    """Return the distinct rows of one part, and the row of each of its nodes."""
    encoded = part.prepared(encode)
    rows, row_of_node = refined(encoded, depth, ids, n_below, n_jobs)
    nodes, offsets = np.empty(len(rows), np.int64), encoded.graphs.offsets
    nodes[row_of_node[::-1]] = np.arange(len(row_of_node))[::-1]  # the first node of a row is written last
    number = np.bincount(row_of_node, minlength=len(rows))
    graph = np.searchsorted(offsets, nodes, side="right") - 1
    first = (part.first_graph + graph) << NODE_BITS | (nodes - offsets[graph])
    return Distinct(rows, first, number), row_of_node


def refined(
    encoded: Encoded, depth: int, ids: Int32 | None, n_below: int, n_jobs: int | None
) -> tuple[TreeRows, Int32]:
    """Return the distinct rows of a depth and the row of each node, given the ids of the depth below."""
    if depth == 0 or ids is None:
        return leaves(encoded.roots)
    edges = {"edge_codes": encoded.edges, "n_edge_codes": encoded.n_edge_codes}
    return refine(encoded.graphs, encoded.roots, ids, n_below, **edges, n_jobs=n_jobs)  # type: ignore[arg-type]


def sample(found: PartRows, few: int) -> tuple[int, TreeRows, Distinct | None]:
    """Return the number of rows of a part, and an evenly spaced sample; at least one row, if there are any.

    If there are at most ``few`` rows, they are all returned as well.
    """
    rows = found[0].rows
    n_taken = -(-len(rows) * OVERSAMPLING // CHUNK_ROWS)
    some = rows.take((np.arange(n_taken) * 2 + 1) * len(rows) // (2 * max(n_taken, 1)))
    return len(rows), some, found[0] if len(rows) <= few else None


def splitters(samples: list[TreeRows], n_chunks: int) -> TreeRows:
    """Return the first row of each chunk except the first chunk."""
    joined = join_rows(samples)
    order = canonical_order(joined, np.arange(len(joined)))
    return joined.take(order[np.arange(1, n_chunks) * len(order) // n_chunks])


def cut(found: PartRows, borders: TreeRows) -> list[Distinct]:
    """Return the rows of each chunk; equal rows of different parts are in the same chunk."""
    rows = found[0]
    cuts = [0, *rows.rows.count_before(borders).tolist(), len(rows)]
    return [rows.span(start, stop) for start, stop in pairwise(cuts)]


def merge_cut(found: list[PartRows], borders: TreeRows, place: int) -> Chunk:
    """Cut the rows of all parts, and merge those of one chunk."""
    return merge([cut(one, borders)[place] for one in found])


def merge(parts: list[Distinct]) -> Chunk:
    """Return the distinct rows of a chunk, and for each part the indices of its rows among them."""
    rows, places = merge_rows([part.rows for part in parts])
    first = np.full(len(rows), np.iinfo(np.int64).max)
    number = np.zeros(len(rows), np.int64)
    for part, place in zip(parts, places, strict=True):  # a part has each row once
        first[place] = np.minimum(first[place], part.first)
        number[place] += part.number
    return Distinct(rows, first, number), places


def chunk_size(chunk: Chunk) -> int:
    """Return the number of rows of a chunk."""
    return len(chunk[0])


def take_rows(chunk: Chunk, numbers: Int64 | None) -> TreeRows:
    """Return some rows of a chunk, or all."""
    return chunk[0].rows if numbers is None else chunk[0].rows.take(numbers)


def assign_chunk(
    chunk: Chunk, shared: tuple[Any, TreeRows, GroundCost], start: int, depth: int, here: bool
) -> tuple[Int32, Tally | RowPlacement]:
    """Predict the clusters of a chunk's rows, the first of which has the number ``start``."""
    (partitioner, centers, ground), rows = shared, chunk[0].rows
    check_finite(largest_distance(rows, ground), depth)
    labels, distances = partitioner.predict_with_distances(rows, ground)
    labels = checked_labels(labels, rows, len(centers), f"{type(partitioner).__name__}.predict_with_distances")
    return place_chunk(chunk, labels, distances, start, len(centers), here)


def place_chunk(
    chunk: Chunk, labels: Int32, distances: Float64, start: int, n_clusters: int, here: bool
) -> tuple[Int32, Tally | RowPlacement]:
    """Return the clusters of a chunk's rows and their members; in this process these are tallied when needed."""
    members = RowPlacement(labels, distances, chunk[0].first, chunk[0].number, start, n_clusters)
    return labels, members if here else members()


def row_numbers(start: int, stop: int) -> tuple[Int32]:
    """Return consecutive numbers in place of clusters."""
    return (np.arange(start, stop, dtype=np.int32),)


def answer(chunk: Chunk, placed: tuple[Any, ...], part: int) -> NDArray[Any]:
    """Return the clusters of the rows of a part in a chunk."""
    return np.asarray(placed[0][chunk[1][part]])


def spread_all(found: PartRows, chunks: list[Chunk], placed: list[tuple[Any, ...]], part: int) -> NDArray[Any]:
    """Return the cluster of each node of a part, given those of all rows."""
    return spread(found, [answer(chunk, one, part) for chunk, one in zip(chunks, placed, strict=True)])


def spread(found: PartRows, values: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the value of each node of a part, given those of its rows in each chunk."""
    return (values[0] if len(values) == 1 else np.concatenate(values))[found[1]]


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
