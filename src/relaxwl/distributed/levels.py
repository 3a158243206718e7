"""The distinct trees of one depth over all shards.

Every shard finds its own; they are cut at common places of the canonical order, so that each partition has all trees
between two of them, and there become distinct. The partitions one behind the other are the rows that one machine would
find. No task sees more than one shard, or the trees of one partition as the shards have them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from operator import getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl.clustering import crowd
from relaxwl.costs import check_finite
from relaxwl.distances.ground import Ground
from relaxwl.distributed.shards import ShardedCollection
from relaxwl.distributed.tasks import Handle, Tasks, hold, pick
from relaxwl.graphs.arrays import Int32, Int64, prefix_sums
from relaxwl.kernels import _compiled
from relaxwl.kernels.chains import largest_distance
from relaxwl.unfolding import Rows
from relaxwl.unfolding.rows import canonical_order, distinct, join_rows

# Trees of one partition, as the shards have them: what a task holds, and how many partitions there are.
PARTITION_ROWS = 1 << 18
# Rows of all shards together that come to the client: so few are made distinct there.
FEW_ROWS = 1 << 14
# A partition is this many times as large as the stretch between two trees of the sample that it is cut by.
OVERSAMPLING = 32
# The vertex of a graph behind the number of the graph, in one number.
VERTEX_BITS = 32


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct rows in canonical order; the first vertex that has each, and how many have it.

    A vertex is ``graph << 32 | vertex of the graph``, with graphs numbered over all shards.
    """

    rows: Rows
    first: Int64
    number: Int64

    def __len__(self) -> int:
        return len(self.rows)

    def __sizeof__(self) -> int:
        return self.rows.__sizeof__() + self.first.nbytes + self.number.nbytes

    def span(self, start: int, stop: int) -> "Distinct":
        """Return some consecutive rows."""
        return Distinct(self.rows.take(np.arange(start, stop)), self.first[start:stop], self.number[start:stop])


def join(parts: list[Distinct]) -> Distinct:
    """Put parts one behind the other."""
    return Distinct(
        join_rows([part.rows for part in parts]),
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.number for part in parts]),
    )


# What a shard finds: its rows, and the row of each vertex. What a partition has: rows, and which those of a shard are.
Found = tuple[Distinct, Int32]
Merged = tuple[Distinct, list[Int32]]


class Level:
    """The distinct rows of a depth, in partitions that lie with the workers.

    ``ids`` are what each vertex of each shard has from the depth below (None at depth 0), ``kernel`` is the handle of
    the kernel that says how shards are refined, ``ground`` that of the costs between points, if somebody looks at
    distances, and ``again`` says that shards were read, and so checked, before. How large
    distances can become is asked here, but for few rows: the task that groups them looks.
    """

    def __init__(
        self,
        tasks: Tasks,
        kernel: Handle,
        shards: ShardedCollection,
        depth: int,
        ids: list[Handle],
        n_below: int,
        ground: Handle,
        again: bool,
    ) -> None:
        self._tasks = tasks
        starts = prefix_sums(np.array([part.n_graphs for part in shards.manifest.parts], np.int64))
        found = [
            tasks.submit("refine", refine_shard, kernel, shard, start, depth, below, n_below, again)
            for shard, start, below in zip(shards.singles(), starts[:-1].tolist(), ids, strict=True)
        ]
        told = tasks.gather([tasks.submit("sample", sample, one, FEW_ROWS // len(found)) for one in found])
        few = [whole for _, _, whole in told if whole is not None]
        if len(few) == len(found) and sum(map(len, few)) <= crowd.CHUNK_ROWS:
            merged = merge(few)
            self.sizes, self._merged = [len(merged[0])], [hold(tasks, merged)]
        else:
            self._merged = self._shuffled(found, [(size, some) for size, some, _ in told])
            counted = tasks.gather([tasks.submit("count", extent, merged, ground) for merged in self._merged])
            self.sizes = [size for size, _ in counted]
            check_finite(max(largest for _, largest in counted), depth)
        self.depth, self.n_rows = depth, sum(self.sizes)
        # Few rows may stay with the ids of the vertices, so that no task need part them.
        self._found = found if len(self._merged) == 1 else pick(tasks, 1, found)

    def _shuffled(self, found: list[Handle], told: list[tuple[int, Rows]]) -> list[Handle]:
        tasks, samples = self._tasks, [some for _, some in told]
        n_partitions = -(-sum(size for size, _ in told) // PARTITION_ROWS)
        if n_partitions <= 1:
            return [tasks.submit("merge", merge, pick(tasks, 0, found))]
        borders = hold(tasks, splitters(samples, n_partitions))
        cuts = [tasks.submit("cut", cut, one, borders) for one in found]
        return [
            tasks.submit("merge", merge, [tasks.submit("piece", getitem, parts, place) for parts in cuts])
            for place in range(n_partitions)
        ]

    def rows(self) -> list[Handle]:
        """Return the rows, partition by partition."""
        return pick(self._tasks, 0, self._merged)

    def chunks(self, sizes: list[int]) -> list[Handle]:
        """Return the rows in chunks of other sizes than the partitions'."""
        return self._regrouped("chunk", join_spans, self.rows(), self.sizes, sizes)

    def ids(self) -> list[Handle]:
        """Return, shard by shard, the number of the row of each vertex."""
        starts = prefix_sums(np.array(self.sizes, np.int64))
        numbers = [
            self._tasks.submit("number", np.arange, start, stop, 1, np.int32)
            for start, stop in pairwise(starts.tolist())
        ]
        return self._back(numbers)

    def values_of_vertices(self, chunks: list[Handle], sizes: list[int]) -> list[Handle]:
        """Return, shard by shard, what each vertex has, given what the rows have, in chunks of these sizes."""
        return self._back(self._regrouped("part", join_values, chunks, sizes, self.sizes))

    def _back(self, values: list[Handle]) -> list[Handle]:
        tasks = self._tasks
        pairs = list(zip(self._merged, values, strict=True))
        if len(pairs) == 1:
            return [
                tasks.submit("return", spread_one, found, *pairs[0], shard) for shard, found in enumerate(self._found)
            ]
        return [
            tasks.submit("return", spread, ids, [tasks.submit("piece", answer, *pair, shard) for pair in pairs])
            for shard, ids in enumerate(self._found)
        ]

    def _regrouped(
        self, name: str, put_together: Any, handles: list[Handle], sizes: list[int], wanted: list[int]
    ) -> list[Handle]:
        return [
            self._tasks.submit(name, put_together, [handles[source] for source, _, _ in parts], [p[1:] for p in parts])
            for parts in overlaps(sizes, wanted)
        ]


# ------------------------------------------------------------------------------------------------------------- tasks


def refine_shard(
    kernel: Any, shard: ShardedCollection, first_graph: int, depth: int, ids: Int32 | None, n_below: int, again: bool
) -> Found:
    """Return the distinct rows of one shard, and the row of each of its vertices."""
    graphs = shard.read_again(0) if again else shard[0]
    rows, row_of_node = kernel.refined_part(graphs, depth, np.empty(0, np.int32) if ids is None else ids, n_below)
    vertices, number = _compiled.first_and_number(row_of_node, len(rows))
    graph = np.searchsorted(graphs.offsets, vertices, side="right") - 1
    first = (first_graph + graph) << VERTEX_BITS | (vertices - graphs.offsets[graph])
    return Distinct(rows, first, number), row_of_node


def extent(merged: Merged, ground: Ground | None) -> tuple[int, float]:
    """Return the number of rows of a partition, and a bound on their distances."""
    rows = merged[0].rows
    return len(rows), 0.0 if ground is None else largest_distance(rows, ground)


def sample(found: Found, few: int) -> tuple[int, Rows, Distinct | None]:
    """Return the number of rows of a shard, and some of them, evenly spread; at least one, if there are any.

    If there are few, all that is known of them comes along.
    """
    rows = found[0].rows
    n_taken = -(-len(rows) * OVERSAMPLING // PARTITION_ROWS)
    some = rows.take((np.arange(n_taken) * 2 + 1) * len(rows) // (2 * max(n_taken, 1)))
    return len(rows), some, found[0] if len(rows) <= few else None


def splitters(samples: list[Rows], n_partitions: int) -> Rows:
    """Return the rows at which partitions begin, but for the first."""
    joined = join_rows(samples)
    order = canonical_order(joined, np.arange(len(joined)))
    return joined.take(order[np.arange(1, n_partitions) * len(order) // n_partitions])


def cut(found: Found, borders: Rows) -> list[Distinct]:
    """Return the rows of each partition; equal rows of different shards come into the same."""
    rows = found[0]
    cuts = [0, *rows.rows.count_before(borders).tolist(), len(rows)]
    return [rows.span(start, stop) for start, stop in pairwise(cuts)]


def merge(parts: list[Distinct]) -> Merged:
    """Return the distinct rows of a partition, and for each shard which of them its rows are."""
    joined = join(parts)
    representatives, which = distinct(joined.rows)
    ordered = canonical_order(joined.rows, representatives)
    rank = np.empty(len(joined), np.int32)
    rank[ordered] = np.arange(len(ordered), dtype=np.int32)
    ids = rank[representatives][which]
    first = np.full(len(ordered), np.iinfo(np.int64).max)
    np.minimum.at(first, ids, joined.first)
    number = np.zeros(len(ordered), np.int64)
    np.add.at(number, ids, joined.number)
    borders = np.cumsum([len(part) for part in parts])[:-1]
    return Distinct(joined.rows.take(ordered), first, number), np.split(ids, borders)


def answer(merged: Merged, values: NDArray[Any], shard: int) -> NDArray[Any]:
    """Return what the rows of a shard in a partition have, given what all rows of the partition have."""
    return values[merged[1][shard]]


def spread(local_ids: Int32, values: list[NDArray[Any]]) -> NDArray[Any]:
    """Return what each vertex of a shard has, given what its rows have in each partition."""
    return np.concatenate(values)[local_ids]


def spread_one(found: Found, merged: Merged, values: NDArray[Any], shard: int) -> NDArray[Any]:
    """Return what each vertex of a shard has, where there is one partition only."""
    return answer(merged, values, shard)[found[1]]


def join_spans(parts: list[Distinct], spans: list[tuple[int, int]]) -> Distinct:
    """Put spans of partitions one behind the other."""
    return join([part.span(*span) for part, span in zip(parts, spans, strict=True)])


def join_values(parts: list[NDArray[Any]], spans: list[tuple[int, int]]) -> NDArray[Any]:
    """Put spans of arrays one behind the other."""
    return np.concatenate([part[start:stop] for part, (start, stop) in zip(parts, spans, strict=True)])


def overlaps(sizes: Iterable[int], wanted: Iterable[int]) -> list[list[tuple[int, int, int]]]:
    """Return, for a row of pieces cut anew, from where each new piece comes: (old piece, start, stop), at least one.

    >>> overlaps([3, 4], [5, 2])
    [[(0, 0, 3), (1, 0, 2)], [(1, 2, 4)]]
    """
    old, new = prefix_sums(np.array(list(sizes), np.int64)), prefix_sums(np.array(list(wanted), np.int64))
    found = []
    for start, stop in pairwise(new.tolist()):
        first = min(int(np.searchsorted(old, start, side="right")) - 1, len(old) - 2)
        last = max(int(np.searchsorted(old, stop, side="left")), first + 1)
        pieces = [
            (place, max(start, int(old[place])) - int(old[place]), min(stop, int(old[place + 1])) - int(old[place]))
            for place in range(first, last)
        ]
        found.append([piece for piece in pieces if piece[1] < piece[2]] or pieces[:1])
    return found
