"""Rows among centres: what the rounds of k-means ask of the rows and tell them.

The rounds themselves (``clustering.kmeans``) see centres and sums over clusters only. So rows may as well lie in chunks
in many processes: whoever holds them there offers the methods of :class:`Crowd` too.
"""
# ruff: noqa: D102 - what the methods of a crowd do is said in the protocol

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import map_chunks, spans
from relaxwl.clustering._search_compiled import SOLVED, TIE
from relaxwl.clustering.barycenter import Clusters, improvement
from relaxwl.clustering.nearest import Plan, Search
from relaxwl.distances.ground import Ground
from relaxwl.graphs.arrays import Float64, Int32, Int64, expand_spans, prefix_sums
from relaxwl.unfolding import Rows
from relaxwl.unfolding.rows import join_rows

Result = TypeVar("Result")
# Sums over clusters are summed up in chunks of so many rows, wherever these are: so their last digits agree.
CHUNK_ROWS = 1 << 15
# Medians that one task improves, if there are enough for several tasks. Other centres take longer: one each.
MEDIANS_AT_ONCE, MEDIAN_TASKS = 8, 4


class Crowd(Protocol):
    """Rows in canonical order, each with a weight and, after :meth:`assign`, a centre."""

    def __len__(self) -> int:
        """Return the number of rows."""

    @property
    def sizes(self) -> Int64:
        """Number of rows at each centre."""

    @property
    def loads(self) -> Float64:
        """Sum of the weights at each centre."""

    @property
    def objective(self) -> float:
        """Weighted sum of the distances."""

    @property
    def n_solved(self) -> int:
        """Exact solves so far in searching."""

    def ask(self, numbers: Int64, function: Callable[[Rows, Ground, Float64], Result]) -> Result:
        """Return what a function makes of the rows with these numbers, their ground and their weights."""

    def assign(self, centers: Rows) -> None:
        """Give every row to its nearest centre."""

    def suggest(self, centers: Rows, which: Int64, method: str, limit: int | None) -> Rows:
        """Return a new centre for each cluster in ``which``; of more than ``limit`` members some suggest it."""

    def measure(self, centers: Rows, which: Int64) -> tuple[Float64, Float64]:
        """Return the sum of distances of each cluster as it is, and with other centres for those in ``which``."""

    def keep(self, better: Int64) -> None:
        """Take what was measured for the clusters in ``better`` as the distances of their members."""

    def worst(self, number: int) -> Rows:
        """Return the rows that are served worst, if they are not served perfectly."""

    def reassign(self, old: Rows, new: Rows, moved: NDArray[np.bool_]) -> Int64:
        """Bring the assignment up to date after some centres moved; return how many came to or left each."""


class Found(NamedTuple):
    """Where rows are; all that a crowd knows beside them."""

    labels: Int32
    distances: Float64
    others: Float64
    counters: Int64
    plan: Plan | None
    measured: Float64
    n_centers: int


class HeldCrowd:
    """A crowd in this process, searched by ``n_jobs`` threads."""

    def __init__(
        self, rows: Rows, ground: Ground, weights: Float64, n_jobs: int | None = None, found: Found | None = None
    ) -> None:
        self.weights = weights
        self.search = search = Search(rows, ground, n_jobs)
        self.measured, self.n_centers = search.distances, 0
        self.grown = np.zeros(len(rows), bool)
        if found is not None:
            # Copies: what was found so far may be asked for again.
            search.labels, search.distances = found.labels.copy(), found.distances.copy()
            search.others, search.counters = found.others.copy(), found.counters.copy()
            search.plan, self.measured, self.n_centers = found.plan, found.measured, found.n_centers

    @property
    def found(self) -> Found:
        """Where the rows are."""
        search = self.search
        return Found(
            search.labels, search.distances, search.others, search.counters, search.plan, self.measured, self.n_centers
        )

    def __len__(self) -> int:
        return len(self.search.rows)

    @property
    def sizes(self) -> Int64:
        return np.bincount(self.search.labels, minlength=self.n_centers)

    @property
    def loads(self) -> Float64:
        return self._sums(np.ones(len(self)))

    @property
    def objective(self) -> float:
        losses = self.weights * self.search.distances
        return sum(float(losses[start:stop].sum()) for start, stop in spans(len(self), CHUNK_ROWS))

    @property
    def n_solved(self) -> int:
        return int(self.search.counters[SOLVED])

    def ask(self, numbers: Int64, function: Callable[[Rows, Ground, Float64], Result]) -> Result:
        return function(self.search.rows.take(numbers), self.search.ground, self.weights[numbers])

    def assign(self, centers: Rows) -> None:
        self.n_centers = len(centers)
        self.search.assign(centers)

    def suggest(self, centers: Rows, which: Int64, method: str, limit: int | None) -> Rows:
        # Large clusters first, so that no worker is left with one at the end.
        order = np.argsort(-self.sizes[which], kind="stable")
        search, present = self.search, centers.take(which[order]).measures()
        starts, members = _suggesting(search.labels, self.weights, which[order], len(centers), limit)
        clusters = Clusters(starts, members, self.weights[members], search.measures, search.ground)
        improve = partial(improvement(method), clusters, present)
        at_once = min(max(len(which) // MEDIAN_TASKS, 1), MEDIANS_AT_ONCE) if method == "median" else 1
        made = map_chunks(improve, spans(len(which), at_once), search.n_jobs)
        return join_rows([present.take(np.empty(0, np.int64)), *made]).take(np.argsort(order))

    def measure(self, centers: Rows, which: Int64) -> tuple[Float64, Float64]:
        self.n_centers = len(centers)
        members = np.flatnonzero(_is_among(self.search.labels, which, len(centers)))
        self.measured = self.search.measure(centers, members)
        return self._sums(self.search.distances), self._sums(self.measured)

    def keep(self, better: Int64) -> None:
        search = self.search
        improved = _is_among(search.labels, better, self.n_centers)
        self.grown = improved & (self.measured > search.distances * (1 + TIE))
        search.distances[improved] = self.measured[improved]

    def worst(self, number: int) -> Rows:
        return self.losses(number)[1]

    def losses(self, number: int) -> tuple[Float64, Rows]:
        """Return the rows that are served worst, and how badly."""
        search = self.search
        loss = self.weights * search.distances
        worst = np.lexsort((np.arange(len(loss)), -loss))[:number]
        worst = worst[loss[worst] > 0]
        return loss[worst], search.rows.take(worst)

    def reassign(self, old: Rows, new: Rows, moved: NDArray[np.bool_]) -> Int64:
        """Bring the assignment up to date, looking only where something can have changed.

        A row whose own distance did not grow can only be won by a centre that moved. A row whose bound on all other
        centres, lessened by the farthest move, stays above its own distance keeps its centre.
        """
        search, before = self.search, self.search.labels.copy()
        shifts = search.shifts(old, new)
        farthest = np.argsort(-shifts)[:2]
        other_shift = np.full(len(self), shifts[farthest[0]])
        other_shift[search.labels == farthest[0]] = shifts[farthest[-1]] if len(farthest) > 1 else 0.0
        # Rounded down by more than what computed distances may be wrong by.
        lessened = search.others * (1 - TIE) - other_shift * (1 + TIE)
        safe = lessened > search.distances * (1 + TIE)
        search.others[safe] = lessened[safe]
        # Where most centres moved, preparing a search of those alone would cost more than it saves.
        in_part = ~safe & ~self.grown & (2 * moved.sum() <= len(moved))
        partly = np.flatnonzero(in_part)
        bound_on_unmoved = search.others[partly]
        search.assign(new, np.flatnonzero(~safe & ~in_part))
        search.assign(new, partly, moved)
        search.others[partly] = np.minimum(search.others[partly], bound_on_unmoved)
        changed, k = before != search.labels, len(new)
        return np.bincount(before[changed], minlength=k) + np.bincount(search.labels[changed], minlength=k)

    def _sums(self, values: Float64) -> Float64:
        """Return the weighted sum of values at each centre, chunk by chunk."""
        sums = np.zeros(self.n_centers)
        for start, stop in spans(len(self), CHUNK_ROWS):
            weighted = self.weights[start:stop] * values[start:stop]
            sums += np.bincount(self.search.labels[start:stop], weighted, minlength=self.n_centers)
        return sums


def _is_among(labels: Int32, which: Int64, k: int) -> NDArray[np.bool_]:
    """Return which rows are in one of some clusters."""
    chosen = np.zeros(k, bool)
    chosen[which] = True
    return chosen[labels]


def _suggesting(
    labels: Int32, weights: Float64, which: Int64, n_centers: int, limit: int | None
) -> tuple[Int64, Int64]:
    """Return the members that suggest new centres: where those of each cluster in ``which`` start, and their rows.

    Those without weight have no say; of more than ``limit`` members some are taken, evenly spread.
    """
    places = np.full(n_centers, -1, np.int64)
    places[which] = np.arange(len(which))
    places = places[labels]
    rows = np.flatnonzero((places >= 0) & (weights > 0))
    members = rows[np.argsort(places[rows], kind="stable")]
    sizes = np.bincount(places[rows], minlength=len(which))
    if limit is None or (sizes <= limit).all():
        return prefix_sums(sizes), members
    starts, large = prefix_sums(sizes)[:-1], np.flatnonzero(sizes > limit)
    taken = np.ones(len(members), bool)
    taken[expand_spans(starts[large], sizes[large])] = False
    taken[starts[large] + np.linspace(0, sizes[large] - 1, limit).astype(np.int64)] = True
    return prefix_sums(np.minimum(sizes, limit)), members[taken]
