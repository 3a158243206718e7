"""Groups of rows that lie in chunks with the workers: k-means as on one machine, and who is in the groups.

The client sees centres, sums over groups and a few rows of each group, never the rows. A task sees one chunk of rows
(of fixed size, the same as on one machine, so that sums agree to the last digit), the sample that k-means starts from,
or what members suggest new centres.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import spans
from relaxwl._memory import refuse_beyond_memory
from relaxwl.clustering import crowd
from relaxwl.clustering.crowd import Found, HeldCrowd
from relaxwl.clustering.nearest import evenly
from relaxwl.clustering.partitioners import KMeansPartitioner, Partitioner
from relaxwl.costs import check_finite
from relaxwl.distances.batched import blank_distances, paired_distances
from relaxwl.distances.ground import Ground
from relaxwl.distributed.levels import VERTEX_BITS, Distinct, Level
from relaxwl.distributed.tasks import Handle, Tasks, hold, pick, reduce
from relaxwl.graphs.arrays import Float64, Int32, Int64, prefix_sums
from relaxwl.kernels.chains import fit_partitioner, largest_distance
from relaxwl.kernels.partition import N_EXAMPLES, Assignment, Summary
from relaxwl.unfolding import Rows
from relaxwl.unfolding.rows import join_rows

Result = TypeVar("Result")
# Groups whose centres one task updates, and distances between centres that one task computes.
GROUPS_AT_ONCE, PAIRS_AT_ONCE = 128, 1 << 16


class Count(NamedTuple):
    """Of the rows of a chunk: how many are at each centre, the sum of distances, and the number of exact solves."""

    sizes: Int64
    objective: float
    n_solved: int


# What a task of k-means returns: where the rows of a chunk are, and what is told of them to the client.
Moved = tuple[Found, Any]


@dataclass(frozen=True, eq=False)
class Grouped:
    """The groups of one depth: a fitted partitioner, centres, and (labels, distances) of each chunk.

    Who is in them, and their distances, where these were found along with them.
    """

    partitioner: Partitioner
    centers: Rows
    places: list[Handle]
    tally: "Tally | None" = None
    distances: Float64 | None = None


class SpreadCrowd:
    """A :class:`relaxwl.clustering.crowd.Crowd` of rows of weight 1 in chunks that lie with the workers."""

    def __init__(self, tasks: Tasks, level: Level, ground: Handle) -> None:
        self._tasks, self._ground, self._depth = tasks, ground, level.depth
        # The sums of these chunks are those of one machine. At least one chunk, if an empty one.
        self.chunk_sizes = [stop - start for start, stop in spans(level.n_rows, crowd.CHUNK_ROWS)] or [0]
        self._chunks = level.chunks(self.chunk_sizes)
        self._starts = prefix_sums(np.array(self.chunk_sizes, np.int64))
        self._moved: list[Handle] = []  # of each chunk, where its rows are, and what is told of it here
        self._better: Int64 = np.empty(0, np.int64)
        self._sizes: NDArray[np.int64]  # by chunk and centre
        self.objective, self.n_solved = 0.0, 0

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def sizes(self) -> Int64:
        """Number of rows at each centre."""
        return np.asarray(self._sizes.sum(axis=0))

    @property
    def loads(self) -> Float64:
        """The same: all rows weigh 1."""
        return self.sizes.astype(np.float64)

    def ask(self, numbers: Int64, function: Callable[[Rows, Ground, Float64], Result]) -> Result:
        """Run a function in a task, on the rows with these numbers."""
        joined = self._tasks.submit("sample", join_rows, self._taken(numbers))
        result: Result
        (result,) = self._tasks.gather([self._tasks.submit("start", start_with, joined, self._ground, function)])
        return result

    def rows_at(self, numbers: Int64) -> Rows:
        """Bring a few rows here."""
        return join_rows(self._tasks.gather(self._taken(numbers)))

    def _taken(self, numbers: Int64) -> list[Handle]:
        """Return the rows with these ascending numbers, chunk by chunk."""
        cuts = np.searchsorted(numbers, self._starts)
        wanted = [numbers[start:stop] for start, stop in pairwise(cuts)]
        places = [place for place, some in enumerate(wanted) if len(some)] or [0]
        return [
            self._tasks.submit("pick", take, self._chunks[place], wanted[place] - self._starts[place])
            for place in places
        ]

    def assign(self, centers: Rows) -> None:
        """Give every row to its nearest centre."""
        sent = hold(self._tasks, centers)
        self._moved = [self._tasks.submit("assign", assign, chunk, self._ground, sent) for chunk in self._chunks]
        self._note(self._told())

    def _told(self) -> list[Any]:
        """Bring here what was found of each chunk, but for where its rows are."""
        return self._tasks.gather(pick(self._tasks, 1, self._moved, "tell"))

    def _note(self, told: list[Count]) -> None:
        self._sizes = np.array([one.sizes for one in told], np.int32)
        self.objective = sum(one.objective for one in told)
        self.n_solved = sum(one.n_solved for one in told)

    def suggest(self, centers: Rows, which: Int64, method: str, limit: int | None) -> Rows:
        """Return a new centre for each group in ``which``, from some of its members."""
        tasks, sent = self._tasks, hold(self._tasks, centers)
        wanted = chosen_members(self._sizes, which, limit)
        picked = [
            tasks.submit("pick", take_members, chunk, moved, *some)
            for chunk, moved, some in zip(self._chunks, self._moved, wanted, strict=True)
        ]
        joined = tasks.submit("members", join_members, picked)
        parts = [
            tasks.submit("update", suggest, joined, self._ground, sent, which[start:stop], method)
            for start, stop in spans(len(which), GROUPS_AT_ONCE)
        ]
        return join_rows([centers.measures().take(np.empty(0, np.int64)), *tasks.gather(parts)])

    def measure(self, centers: Rows, which: Int64) -> tuple[Float64, Float64]:
        """Return the sum of distances of each group as it is, and with other centres for those in ``which``."""
        self._moved = self._mapped("measure", measure, hold(self._tasks, centers), which)
        before, after = np.zeros((2, len(centers)))
        for some_before, some_after in self._told():
            before += some_before
            after += some_after
        return before, after

    def keep(self, better: Int64) -> None:
        """Note what is to be kept; the next task keeps it."""
        self._better = better

    def worst(self, number: int) -> Rows:
        """Return the rows that are served worst."""
        told = self._tasks.gather(self._mapped("worst", worst, self._better, number))
        loss = np.concatenate([losses for losses, _ in told])
        return join_rows([rows for _, rows in told]).take(np.argsort(-loss, kind="stable")[:number])

    def reassign(self, old: Rows, new: Rows, moved: NDArray[np.bool_]) -> Int64:
        """Bring the assignment up to date after some centres moved; return how many came to or left each."""
        sent = [hold(self._tasks, centers) for centers in (old, new)]
        self._moved = self._mapped("reassign", reassign, self._better, *sent, moved)
        told = self._told()
        self._note([count for count, _ in told])
        return np.asarray(np.sum([changes for _, changes in told], axis=0), np.int64)

    def grouped_whole(self, partitioner: Any, rng: np.random.Generator) -> Grouped:
        """Group the rows of the only chunk as on one machine."""
        (chunk,) = self._chunks
        whole = [self._tasks.submit("group", group_whole, partitioner, chunk, self._ground, rng, self._depth)]
        ((fitted, centers, tally, distances),) = self._tasks.gather(pick(self._tasks, 0, whole))
        return Grouped(fitted, centers, pick(self._tasks, 1, whole), tally, distances)

    def places(self) -> list[Handle]:
        """Return the labels and distances of the rows, chunk by chunk."""
        return [self._tasks.submit("part", places, moved) for moved in self._moved]

    def summarised(self, grouped: Grouped) -> Handle:
        """Return who is in the groups, as a :class:`Tally`."""
        if grouped.tally is not None:
            return grouped.tally
        tallies = [
            self._tasks.submit("summary", tally_chunk, chunk, found, start, len(grouped.centers))
            for chunk, found, start in zip(self._chunks, grouped.places, self._starts[:-1].tolist(), strict=True)
        ]
        return reduce(self._tasks, "summary", join_tallies, tallies)

    def _mapped(self, name: str, function: Callable[..., Any], *arguments: Any) -> list[Handle]:
        return [
            self._tasks.submit(name, function, chunk, self._ground, moved, *arguments)
            for chunk, moved in zip(self._chunks, self._moved, strict=True)
        ]


def group(partitioner: Any, rows: SpreadCrowd, rng: np.random.Generator) -> Grouped:
    """Group the rows of a level: in one task if they fit into one chunk, else chunk by chunk, by k-means."""
    if len(rows.chunk_sizes) == 1:
        return rows.grouped_whole(partitioner, rng)
    kmeans = partitioner.seeded(rng) if type(partitioner) is KMeansPartitioner else None
    if kmeans is None or (kmeans.init == "k-means++" and kmeans.max_iter is not None):
        raise ValueError(
            f"{len(rows)} distinct trees are too many for {partitioner!r} on shards, which looks at all of them at "
            "once; use k-means (partitioner=None) with init='random' or max_iter=None, or fit on a sample of the graphs"
        )
    partitioner.centers_, partitioner.n_iter_ = kmeans.settle(rows)
    return Grouped(partitioner, partitioner.centers_, rows.places())


def chosen_members(sizes: NDArray[np.integer], which: Int64, limit: int | None) -> list[tuple[Int64, Int64]]:
    """Return, chunk by chunk, which members suggest new centres: groups, and the numbers of members within the chunk.

    ``sizes`` (n_chunks, n_groups) counts the members. Of more than ``limit`` members of a group, those are chosen that
    one machine would choose, who has them one behind the other.
    """
    before = np.vstack([np.zeros(sizes.shape[1], np.int64), np.cumsum(sizes, axis=0, dtype=np.int64)])
    found: list[tuple[list[Int64], list[Int64]]] = [([], []) for _ in sizes]
    for one in which.tolist():
        total = int(before[-1, one])
        ranks = np.arange(total) if limit is None else evenly(total, limit)
        chunks = np.searchsorted(before[:, one], ranks, side="right") - 1
        for chunk in np.unique(chunks).tolist():
            local = ranks[chunks == chunk] - before[chunk, one]
            found[chunk][0].append(np.full(len(local), one))
            found[chunk][1].append(local)
    nothing = np.empty(0, np.int64)
    return [(np.concatenate([nothing, *groups]), np.concatenate([nothing, *ranks])) for groups, ranks in found]


# ----------------------------------------------------------------------------------------------------- tasks of k-means


def group_whole(
    partitioner: Any, chunk: Distinct, ground: Ground, rng: np.random.Generator, depth: int
) -> tuple[tuple[Any, Rows, "Tally", Float64 | None], tuple[Int32, Float64]]:
    """Fit a partitioner as on one machine, and say all that is asked of its groups; distances between few only."""
    check_finite(largest_distance(chunk.rows, ground), depth)
    labels, centers, solved = fit_partitioner(partitioner, chunk.rows, ground, rng)
    found = labels, Assignment(chunk.rows, np.empty(0, np.int32), labels, ground, solved).distances(centers, None)
    n, between = len(centers), None
    if n * n <= PAIRS_AT_ONCE:
        between = whole_matrix([upper_distances(centers, ground, (0, n))], centers, ground)
    return (partitioner, centers, tally_chunk(chunk, found, 0, n), between), found


def start_with(rows: Rows, ground: Ground, function: Callable[[Rows, Ground, Float64], Result]) -> Result:
    """Run what k-means starts with."""
    return function(rows, ground, np.ones(len(rows)))


def take(chunk: Distinct, numbers: Int64) -> Rows:
    """Return some rows of a chunk."""
    return chunk.rows.take(numbers)


def assign(chunk: Distinct, ground: Ground, centers: Rows) -> Moved:
    """Give the rows of a chunk to their nearest centres."""
    held = _held(chunk.rows, ground)
    held.assign(centers)
    return held.found, _count(held)


def places(moved: Moved) -> tuple[Int32, Float64]:
    """Return the group of each row of a chunk, and its distance to the centre."""
    return moved[0].labels, moved[0].distances


def _members_of_groups(labels: Int32, k: int) -> list[Int64]:
    """Return the row numbers of each group, ascending."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=k)).tolist()
    return [order[start:stop] for start, stop in zip([0, *ends[:-1]], ends, strict=True)]


def take_members(chunk: Distinct, moved: Moved, groups: Int64, ranks: Int64) -> tuple[Rows, Int32]:
    """Return some members of groups, by their place among those of the chunk, and their groups."""
    found = moved[0]
    members = _members_of_groups(found.labels, found.n_centers)
    numbers = np.array(
        [members[one][rank] for one, rank in zip(groups.tolist(), ranks.tolist(), strict=True)], np.int64
    )
    return chunk.rows.take(numbers), groups.astype(np.int32)


def join_members(parts: list[tuple[Rows, Int32]]) -> tuple[Rows, Int32]:
    """Put members together, group by group, and in canonical order within each."""
    labels = np.concatenate([groups for _, groups in parts])
    order = np.argsort(labels, kind="stable")
    return join_rows([rows for rows, _ in parts]).take(order), labels[order]


def suggest(members: tuple[Rows, Int32], ground: Ground, centers: Rows, which: Int64, method: str) -> Rows:
    """Return new centres of some groups, which all given members of theirs suggest."""
    rows, labels = members
    mine = np.flatnonzero(np.isin(labels, which))
    held = _held(rows.take(mine), ground)
    held.search.labels[:] = labels[mine]
    return held.suggest(centers, which, method, None)


def measure(chunk: Distinct, ground: Ground, moved: Moved, centers: Rows, which: Int64) -> Moved:
    """Measure the members of groups against other centres."""
    held = _held(chunk.rows, ground, moved[0])
    sums = held.measure(centers, which)
    return held.found, sums


def worst(chunk: Distinct, ground: Ground, moved: Moved, better: Int64, number: int) -> tuple[Float64, Rows]:
    """Return the rows of a chunk that are served worst, once the better centres are kept."""
    held = _held(chunk.rows, ground, moved[0])
    held.keep(better)
    return held.losses(number)


def reassign(
    chunk: Distinct, ground: Ground, moved: Moved, better: Int64, old: Rows, new: Rows, differ: NDArray[np.bool_]
) -> Moved:
    """Keep the better centres, and bring the assignment up to date."""
    held = _held(chunk.rows, ground, moved[0])
    held.keep(better)
    changes = held.reassign(old, new, differ)
    return held.found, (_count(held), changes)


def _count(held: HeldCrowd) -> Count:
    return Count(held.sizes, held.objective, held.n_solved)


def _held(rows: Rows, ground: Ground, found: Found | None = None) -> HeldCrowd:
    return HeldCrowd(rows, ground, np.ones(len(rows)), None, found)


# ------------------------------------------------------------------------------------------------- distances of groups


def distances_between(tasks: Tasks, centers: Rows, ground: Handle) -> Handle:
    """Return the exact distances between centres, ⊥ last, computed some rows at a time."""
    refuse_beyond_memory(
        16.0 * (len(centers) + 1) ** 2,
        f"the distances between {len(centers)} groups",
        "make fewer groups (a smaller n_clusters, a larger radius), or use fewer graphs",
    )
    sent, n_at_once = hold(tasks, centers), max(1, PAIRS_AT_ONCE // len(centers))
    parts = [tasks.submit("distances", upper_distances, sent, ground, span) for span in spans(len(centers), n_at_once)]
    return tasks.submit("distances", whole_matrix, parts, sent, ground)


def upper_distances(centers: Rows, ground: Ground, span: tuple[int, int]) -> Float64:
    """Return the distances of some centres to all that come behind them, one behind the other."""
    measures, (start, stop) = centers.measures(), span
    pairs = np.argwhere(np.arange(start, stop)[:, None] < np.arange(len(centers)))
    pairs[:, 0] += start
    return paired_distances(measures, measures, pairs, ground, None)


def whole_matrix(parts: list[Float64], centers: Rows, ground: Ground) -> Float64:
    """Put the distances between centres together."""
    n = len(centers)
    out = np.zeros((n + 1, n + 1))
    values = np.concatenate([np.empty(0), *parts])
    begins = prefix_sums(np.arange(n - 1, -1, -1))
    for one in range(n):
        out[one, one + 1 : n] = out[one + 1 : n, one] = values[begins[one] : begins[one + 1]]
    out[-1, :-1] = out[:-1, -1] = blank_distances(centers, ground)
    return out


# --------------------------------------------------------------------------------------------------------- who is where


class Tally(NamedTuple):
    """Sizes, numbers of trees and radius of groups, and the nearest members of each: group, distance, row, vertex."""

    sizes: Int64
    n_trees: Int64
    radius: Float64
    groups: Int32
    distances: Float64
    rows: Int64
    vertices: Int64


def as_summary(total: Tally, n_groups: int) -> tuple[Summary, Int64]:
    """Return who is in the groups, and the number of the row that is nearest to each centre (-1 if there is none)."""
    examples = np.full((n_groups, N_EXAMPLES, 2), -1, np.int64)
    begins = np.searchsorted(total.groups, np.arange(n_groups))
    place = np.arange(len(total.groups)) - begins[total.groups]
    examples[total.groups, place, 0] = total.vertices >> VERTEX_BITS
    examples[total.groups, place, 1] = total.vertices & ((1 << VERTEX_BITS) - 1)
    nearest = np.full(n_groups, -1, np.int64)
    nearest[total.groups[place == 0]] = total.rows[place == 0]
    return Summary(total.sizes, total.n_trees, total.radius, examples), nearest


def tally_chunk(chunk: Distinct, found: tuple[Int32, Float64], start: int, n_groups: int) -> Tally:
    """Count and measure the members of each group in a chunk, whose first row has the number ``start``."""
    labels, distances = found
    sizes = np.bincount(labels, chunk.number, minlength=n_groups).astype(np.int64)
    radius = np.zeros(n_groups)
    np.maximum.at(radius, labels, distances)
    n_trees = np.bincount(labels, minlength=n_groups)
    return _nearest(Tally(sizes, n_trees, radius, labels, distances, start + np.arange(len(labels)), chunk.first))


def join_tallies(parts: list[Tally]) -> Tally:
    """Put the counts of chunks together."""
    members = [np.concatenate([part[column] for part in parts]) for column in range(3, 7)]
    sizes = np.sum([part.sizes for part in parts], axis=0)
    n_trees = np.sum([part.n_trees for part in parts], axis=0)
    radius: Float64 = np.stack([part.radius for part in parts]).max(axis=0)
    return _nearest(Tally(sizes, n_trees, radius, *members))


def _nearest(tally: Tally) -> Tally:
    """Keep the nearest members of each group only, nearest first."""
    order = np.lexsort((tally.rows, tally.distances, tally.groups))
    groups = tally.groups[order]
    rank = np.arange(len(order)) - np.searchsorted(groups, groups)
    kept = order[rank < N_EXAMPLES]
    return Tally(*tally[:3], tally.groups[kept], tally.distances[kept], tally.rows[kept], tally.vertices[kept])
