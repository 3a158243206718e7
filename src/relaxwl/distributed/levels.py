"""The distinct trees of one depth over all shards: merged, clustered and counted where they are.

Each shard finds its own distinct trees. A few are merged in this process. Many are cut at common positions of the
canonical order into chunks, each with all trees between two positions, and merged per chunk. All chunks together have
the same rows as a collection in memory. No task uses more than one shard or one chunk. This process has the sample from
which centers are computed, the centers and the distances between them.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import getitem
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import cached_property
from relaxwl.clustering.partitioners import IdentityPartitioner, Partitioner, SamplingPartitioner
from relaxwl.costs.codebook import check_finite
from relaxwl.distances.transport import GroundCost
from relaxwl.distributed.tasks import Handle, LocalTasks, Tasks
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64, prefix_sums
from relaxwl.kernels.counting import COUNTERS, Counter, Counts, SubtreeCounter
from relaxwl.kernels.levels import (
    Clustered,
    Encoded,
    Graphs,
    Level,
    Levels,
    RowPlacement,
    Tally,
    checked_labels,
    first_nodes,
    fit_partitioner,
    largest_distance,
)
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.rows import canonical_order, check_rows, join_rows, merge_rows

# Maximum number of rows of a chunk before merging, and minimum number if there is a chunk for each thread.
CHUNK_ROWS, LEAST_CHUNK_ROWS = 1 << 18, 1 << 14
# Maximum number of chunks for which tasks receive whole shards or chunks; for more, they receive pieces cut by others.
FEW_CHUNKS = 4
# Maximum number of rows of all shards together that are merged in this process.
FEW_ROWS = 1 << 14
# Maximum number of rows for a partitioner that cannot compute its centers from a sample.
SEEN_AT_ONCE = 1 << 15
# Number of sampled rows per full chunk, from which the borders of chunks are chosen.
OVERSAMPLING = 32
# Number of results that are joined at a time.
FAN_IN = 16


class ShardSource(Graphs):
    """The shards of a collection as a source of graphs.

    Parameters
    ----------
    parts : list of ShardPart
        The shards in order; each reads its own graphs.
    graphs : GraphCollection
        An empty collection with the labels of all shards.
    tasks : Tasks
        Runs the functions.
    """

    in_memory = False

    def __init__(self, parts: list[Any], graphs: GraphCollection, tasks: Tasks) -> None:
        super().__init__(graphs)
        self.parts, self.tasks = parts, tasks

    def levels(self, encoder: Any, n_jobs: int | None = None) -> Levels:
        """Return the distinct trees of all shards."""
        return ShardLevels(self, encoder, n_jobs)

    def each(self, function: Callable[..., Any], *arguments: Any, own: Any = None) -> list[Handle]:
        """Return a handle of ``function(graphs, *arguments)`` for each shard; large arguments are sent once."""
        return self.each_part(call_with_graphs, function, *map(self.tasks.share, arguments), own=own)

    def each_part(self, function: Callable[..., Any], *arguments: Any, own: Any = None) -> list[Handle]:
        """Return a handle of ``function(part, own, *arguments)`` for each shard, which knows its place among all."""
        before = [None] * len(self.parts) if own is None else own
        handles = [
            self.tasks.submit(function, part, mine, *arguments) for part, mine in zip(self.parts, before, strict=True)
        ]
        self.parts = [replace(part, again=True) for part in self.parts]  # files are validated once
        return handles

    def joined(self, join: Callable[[list[Any]], Any], found: Any) -> Any:
        """Return, in this process, ``join(list of results)`` of all shards, a few at a time, in order."""
        results = list(found) if len(found) > 1 else [self.tasks.submit(join, list(found))]
        while len(results) > 1:
            starts = range(0, len(results), FAN_IN)
            results = [self.tasks.submit(join, results[start : start + FAN_IN]) for start in starts]
        return self.tasks.gather(results)[0]


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct rows in canonical order; the first node that has each, and how many have it.

    A node is ``graph << 32 | node of the graph``, with graphs numbered over all shards.
    """

    rows: TreeRows
    first: Int64
    number: Int64

    def __sizeof__(self) -> int:
        return self.rows.__sizeof__() + self.first.nbytes + self.number.nbytes


# For a shard: its rows, and the row of each node. For a chunk: its rows, and the indices of each shard's rows in it.
ShardRows = tuple[Distinct, Int32]
Chunk = tuple[Distinct, list[Any]]


class ShardLevel(Level):
    """The distinct trees of one depth of all shards, in one chunk in this process or in chunks on the workers.

    Parameters
    ----------
    depth : int
    found : list of handles
        The rows of each shard, and the row of each of its nodes.
    tasks : Tasks
        Runs the functions.
    """

    def __init__(self, depth: int, found: list[Handle], tasks: Tasks) -> None:
        self.depth, self._found, self._workers = depth, found, tasks
        self._tasks: Tasks = LocalTasks()
        samples = tasks.gather([tasks.submit(sample, one, FEW_ROWS // len(found)) for one in found])
        few = [whole for _, _, whole in samples if whole is not None]
        self.is_here = len(few) == len(samples)
        if self.is_here:
            self._chunks: list[Handle] = [merge(few)]
        else:
            self._tasks = tasks
            n_rows = sum(size for size, _, _ in samples)
            n_chunks = max(-(-n_rows // CHUNK_ROWS), min(tasks.n_threads, n_rows // LEAST_CHUNK_ROWS), 1)
            borders = tasks.share(splitters([some for _, some, _ in samples], n_chunks))
            # Few chunks are cut where they are merged; many would each receive the rows of all shards.
            if n_chunks <= FEW_CHUNKS:
                self._chunks = [tasks.submit(merge_cut, found, borders, place) for place in range(n_chunks)]
            else:
                cuts = [tasks.submit(cut, one, borders) for one in found]
                self._chunks = [
                    tasks.submit(merge, [tasks.submit(getitem, pieces, place) for pieces in cuts])
                    for place in range(n_chunks)
                ]
        # Chunks are in canonical order, so a row's number is its place in its chunk plus the rows of the chunks before.
        sizes = self._tasks.gather([self._tasks.submit(chunk_size, chunk) for chunk in self._chunks])
        self._starts: list[int] = prefix_sums(np.array(sizes, np.int64)).tolist()
        self.n_rows = self._starts[-1]

    @cached_property
    def ids(self) -> list[Handle]:  # type: ignore[override]
        """The number of each node's tree, for each shard."""
        return self._returned([self._tasks.submit(row_numbers, *span) for span in pairwise(self._starts)])

    def take(self, numbers: Int64 | None = None) -> TreeRows:
        """Return the rows with these ascending numbers; all by default."""
        if numbers is None:
            taken = [self._tasks.submit(take_rows, chunk, None) for chunk in self._chunks]
        else:
            cuts = np.searchsorted(numbers, self._starts)
            taken = [
                self._tasks.submit(take_rows, chunk, numbers[begin:end] - start)
                for chunk, start, (begin, end) in zip(self._chunks, self._starts[:-1], pairwise(cuts), strict=True)
                if begin < end or len(self._chunks) == 1
            ]
        rows = self._tasks.gather(taken)
        return rows[0] if len(rows) == 1 else join_rows(rows)

    def cluster(
        self, partitioner: Partitioner, ground: GroundCost, rng: np.random.Generator, n_jobs: int | None
    ) -> Clustered:
        """Fit a partitioner: to a sample of many rows if it can, and the chunks find their clusters; else to all."""
        numbers, submit = None, self._tasks.submit
        if isinstance(partitioner, SamplingPartitioner) and not self.is_here:  # otherwise ``fit`` does the same
            numbers = partitioner.sample(self.n_rows, rng)
        seen_at_once = numbers is None and type(partitioner) is not IdentityPartitioner
        if seen_at_once and not self.is_here and self.n_rows > SEEN_AT_ONCE:
            raise ValueError(
                f"{self.n_rows} distinct trees are too many for {partitioner!r} on shards, which looks at all of them "
                "at once; use k-means (partitioner=None) with max_iter=None or max_iter=0, or fit on a sample of the "
                "graphs"
            )
        rows, spans = self.take(numbers), list(zip(self._chunks, pairwise(self._starts), strict=True))
        # Either this process clusters all rows and sends the clusters to the chunks, or it sends centers made of the
        # sample, to which the chunks assign their rows.
        if numbers is None:
            labels, centers, distances = fit_partitioner(partitioner, rows, ground, rng, self.depth, n_jobs)
            placed = [
                submit(place_chunk, chunk, labels[start:stop], distances[start:stop], start, len(centers))
                for chunk, (start, stop) in spans
            ]
        else:
            check_finite(largest_distance(rows, ground), self.depth)
            sampler = cast(SamplingPartitioner, partitioner)
            found = sampler.fit_sample(rows, ground, self.n_rows, rng)
            centers = check_rows(found, rows.n_points, len(ground.roots) - 1)
            shared = self._tasks.share((partitioner, centers, ground))
            placed = [submit(assign_chunk, chunk, shared, start, self.depth) for chunk, (start, _) in spans]
        members = self._tasks.gather([submit(getitem, one, 1) for one in placed])
        ids = self._returned([submit(getitem, one, 0) for one in placed])
        return Clustered(centers, ids, join_tallies(members))

    def _returned(self, values: list[Handle]) -> list[Handle]:
        """Return, for each shard, the value of each node's row, given those of the rows of each chunk."""
        pairs = list(zip(self._chunks, values, strict=True))
        if not self.is_here and len(pairs) <= FEW_CHUNKS:
            return [
                self._tasks.submit(spread_all, one, self._chunks, values, shard)
                for shard, one in enumerate(self._found)
            ]
        return [
            self._workers.submit(spread, one, [self._tasks.submit(answer, *pair, shard) for pair in pairs])
            for shard, one in enumerate(self._found)
        ]


class ShardLevels(Levels):
    """The distinct trees of shards, depth by depth; ids are handles, one for each shard."""

    def __init__(self, source: ShardSource, encoder: Any, n_jobs: int | None = None) -> None:
        super().__init__(source.graphs, encoder, n_jobs)
        self._source, self._encode = source, source.tasks.share(encoder)

    def at(self, depth: int, ids: Any, n_below: int) -> ShardLevel:
        """Return the trees of a depth."""
        found = self._source.each_part(refine_shard, self._encode, depth, n_below, self.n_jobs, own=ids)
        return ShardLevel(depth, found, self._source.tasks)

    def fit_counter(self, base: str, ids: Any, n_known: int) -> tuple[Counter, Counts | None]:
        """Return a counter with the columns of all shards, and no counts."""
        if base == "subtree":  # each id has a column
            return SubtreeCounter(n_known), None
        found = self._source.each_part(count_shard, self._encode, base, n_known, self.n_jobs, own=ids)
        return self._source.joined(join_counters, found), None


# ------------------------------------------------------------------------------------------------------------- tasks


def call_with_graphs(part: Any, own: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with the graphs of a shard and, if there is one, an earlier result for the same shard."""
    return Graphs(part.graphs()).each(function, *arguments, own=own)


def count_shard(part: Any, ids: Int32, encode: Any, base: str, n_known: int, n_jobs: int | None) -> Counter:
    """Fit a counter to one shard; its counts are not sent anywhere."""
    counter, (graphs, edges) = COUNTERS[base](), encode(part.graphs()).counted
    counter.fit(graphs, ids, n_known, n_jobs, edges)
    return counter


def join_counters(counters: list[Any]) -> Counter:
    """Return a counter with the columns of all shards."""
    joined: Any = copy.copy(counters[0])
    joined.keys = np.unique(np.concatenate([counter.keys for counter in counters]))
    return cast(Counter, joined)


def refine_shard(part: Any, ids: Int32, encode: Any, depth: int, n_below: int, n_jobs: int | None) -> ShardRows:
    """Return the distinct rows of one shard, and the row of each of its nodes."""
    encoded: Encoded = encode(part.graphs())
    rows, row_of_node = encoded.refined(depth, ids, n_below, n_jobs)
    nodes = first_nodes(row_of_node, len(rows), encoded.graphs.offsets, part.first_graph)
    return Distinct(rows, *nodes), row_of_node


def sample(found: ShardRows, few: int) -> tuple[int, TreeRows, Distinct | None]:
    """Return the number of rows of a shard, and an evenly spaced sample; at least one row, if there are any.

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


def cut(found: ShardRows, borders: TreeRows) -> list[Distinct]:
    """Return the rows of each chunk; equal rows of different shards are in the same chunk."""
    distinct = found[0]
    cuts = [0, *distinct.rows.count_before(borders).tolist(), len(distinct.rows)]
    return [
        Distinct(distinct.rows.take(np.arange(start, stop)), distinct.first[start:stop], distinct.number[start:stop])
        for start, stop in pairwise(cuts)
    ]


def merge_cut(found: list[ShardRows], borders: TreeRows, place: int) -> Chunk:
    """Cut the rows of all shards, and merge those of one chunk."""
    return merge([cut(one, borders)[place] for one in found])


def merge(parts: list[Distinct]) -> Chunk:
    """Return the distinct rows of a chunk, and for each shard the indices of its rows among them."""
    rows, places = merge_rows([part.rows for part in parts])
    first = np.full(len(rows), np.iinfo(np.int64).max)
    number = np.zeros(len(rows), np.int64)
    for part, place in zip(parts, places, strict=True):  # a shard has each row once
        first[place] = np.minimum(first[place], part.first)
        number[place] += part.number
    return Distinct(rows, first, number), places


def chunk_size(chunk: Chunk) -> int:
    """Return the number of rows of a chunk."""
    return len(chunk[0].rows)


def take_rows(chunk: Chunk, numbers: Int64 | None) -> TreeRows:
    """Return some rows of a chunk, or all."""
    return chunk[0].rows if numbers is None else chunk[0].rows.take(numbers)


def assign_chunk(chunk: Chunk, shared: tuple[Any, TreeRows, GroundCost], start: int, depth: int) -> tuple[Int32, Tally]:
    """Predict the clusters of a chunk's rows, the first of which has the number ``start``."""
    (partitioner, centers, ground), rows = shared, chunk[0].rows
    check_finite(largest_distance(rows, ground), depth)
    labels, distances = partitioner.predict_with_distances(rows, ground)
    labels = checked_labels(labels, rows, len(centers), f"{type(partitioner).__name__}.predict_with_distances")
    return place_chunk(chunk, labels, distances, start, len(centers))


def place_chunk(chunk: Chunk, labels: Int32, distances: Float64, start: int, n_clusters: int) -> tuple[Int32, Tally]:
    """Return the clusters of a chunk's rows, and a tally of their members."""
    return labels, RowPlacement(labels, distances, chunk[0].first, chunk[0].number, n_clusters, start).nearest()


def join_tallies(tallies: list[Tally]) -> Tally:
    """Return the tally of all rows, given those of chunks."""
    sizes, n_trees, radius, *members = zip(*tallies, strict=True)
    joined = [np.concatenate(column) for column in members]
    return Tally(np.sum(sizes, axis=0), np.sum(n_trees, axis=0), np.max(radius, axis=0), *joined).nearest()


def row_numbers(start: int, stop: int) -> Int32:
    """Return consecutive numbers in place of clusters."""
    return np.arange(start, stop, dtype=np.int32)


def answer(chunk: Chunk, values: NDArray[Any], shard: int) -> NDArray[Any]:
    """Return the values of the rows of a shard in a chunk."""
    return np.asarray(values[chunk[1][shard]])


def spread_all(found: ShardRows, chunks: list[Chunk], values: list[NDArray[Any]], shard: int) -> NDArray[Any]:
    """Return the value of each node of a shard, given those of all rows."""
    return spread(found, [answer(chunk, one, shard) for chunk, one in zip(chunks, values, strict=True)])


def spread(found: ShardRows, values: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the value of each node of a shard, given those of its rows in each chunk."""
    return np.concatenate(values)[found[1]]
