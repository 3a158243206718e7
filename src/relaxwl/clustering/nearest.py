"""Exact nearest-center search, pruned by bounds that never exceed the true distance."""

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import cached_property, map_chunks, spans
from relaxwl.clustering import _search_compiled as compiled
from relaxwl.clustering._search_compiled import BLOCK, CenterSide, Costs, Found, RowSide
from relaxwl.costs import UniformCosts
from relaxwl.distances.pairwise import paired_distances
from relaxwl.distances.transport import Costs as PointCosts
from relaxwl.distances.transport import GroundCost
from relaxwl.graphs.arrays import Float64, Int32, Int64
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.rows import RowArrays

Float32 = NDArray[np.float32]

# Rows of one task; fixed, so that results do not depend on the number of workers.
CHUNK_ROWS = 1024
# Numbers in a table that one task fills.
CHUNK_TABLE = 1 << 16
# Up to this number of points whole costs are turned into real ones: one compiled version less.
SMALL_GROUND = 2048
# Pivots of the second bound, computed only for centers that the first could not rule out.
MAX_PIVOTS = 256
# Pairs of rows that pivots are judged by.
SAMPLE = 256
# Rows that show which bounds suit the data, and the number of pairs (row, center) from which on they are asked.
TRIAL_ROWS = 48
TRIAL_PAIRS = 1 << 23
# Below 2 to this power sums of whole numbers are exact, in single and in double precision.
EXACT_SINGLE, EXACT = 22, 50
# About what things cost, in nanoseconds: a group of pivots for one center; a pivot of the second bound for one center,
# or for an entry of a row; a center that the first bound leaves; an exact solve.
BATCH_COST, DEEP_COST, LEFT_COST, SOLVE_COST = 0.5, 0.5, 60.0, 700.0


class Plan(NamedTuple):
    """Which bounds to use: pivots of the first; whether ⊥ is discounted in the tables; the second pivots."""

    n_pivots: int = 4
    discounted: bool = True
    deep: bool = True


def lipschitz_functions(ground: GroundCost) -> Float64:
    """Return, for every point q and many pivots p (⊥ among them), M[q, p] - M[⊥, p], without the row of ⊥.

    Each column is 1-Lipschitz in q by the triangle inequality and 0 at ⊥, so by Kantorovich duality
    ``|Σ (x - y) · column| <= W(x, y)`` for measures x and y of any mass.
    """
    # Of points that are all alike, ⊥ says as much as many.
    alike = isinstance(ground.children, UniformCosts)
    pivots = np.array([ground.n_points]) if alike else evenly(ground.n_points + 1, MAX_PIVOTS)
    chosen = ground.between(np.arange(ground.n_points + 1), pivots)
    return np.ascontiguousarray(chosen[:-1] - chosen[-1])


def choose_pivots(embeddings: Float64, n_pivots: int) -> Int64:
    """Return the pivots that together bound the distances within a sample best, chosen greedily.

    ``embeddings`` (n_sample, n_all_pivots) are the sample's values; pairs are consecutive halves of the sample.
    """
    half = len(embeddings) // 2
    gaps = np.abs(embeddings[:half] - embeddings[half : 2 * half])
    covered = np.zeros(half)
    chosen: list[int] = []
    for _ in range(min(n_pivots, embeddings.shape[1])):
        gains = np.maximum(gaps, covered[:, None]).sum(axis=0)
        gains[chosen] = -1
        chosen.append(int(np.argmax(gains)))
        covered = np.maximum(covered, gaps[:, chosen[-1]])
    return np.array(chosen, np.int64)


def evenly(n: int, size: int) -> Int64:
    """Return at most ``size`` of the numbers below ``n``, evenly spread.

    Over the canonical order that sees every kind of row, without random numbers and whatever ``n_jobs`` is.
    """
    return np.unique(np.linspace(0, n - 1, min(n, size)).astype(np.int64))


@dataclass
class Search:
    """Rows ready to be searched for their nearest among changing centers.

    Attributes
    ----------
    labels, distances : arrays (n_rows,)
        The nearest center of each row and its distance; -1 where none was searched yet.
    others : float64 array (n_rows,)
        A lower bound on each row's distance to all other centers.
    counters : int64 array
        What the bounds did; see ``_search_compiled``.
    n_measured : int
        Exact solves by :meth:`measure`.
    plan : Plan, optional
        Which bounds to use; the first search chooses, by a sample of the rows.
    """

    rows: TreeRows
    ground: GroundCost
    n_jobs: int | None = None
    plan: Plan | None = None
    labels: Int32 = field(init=False)
    distances: Float64 = field(init=False)
    others: Float64 = field(init=False)
    counters: Int64 = field(init=False)
    n_measured: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        n_rows = len(self.rows)
        children = self.ground.children
        if not isinstance(children, UniformCosts) and len(children) <= SMALL_GROUND:
            self.ground = replace(self.ground, children=children.astype(np.float64, copy=False))
        self.labels = np.full(n_rows, -1, np.int32)
        self.distances = np.full(n_rows, np.inf)
        self.others = np.zeros(n_rows)
        self.counters = np.zeros(compiled.N_COUNTERS, np.int64)
        self.measures = self.rows.measures()
        self.masses = self.measures.counts
        self.costs = Costs(self.ground.costs, self.ground.root_costs)

    def assign(self, centers: TreeRows, subset: Int64 | None = None, allowed: NDArray[np.bool_] | None = None) -> None:
        """Search the nearest center of the rows ``subset`` among the ``allowed`` centers and their present ones."""
        subset = np.arange(len(self.rows)) if subset is None else subset
        if not len(subset):
            return
        if self.plan is None:
            self.plan = self._chosen_plan(centers, len(subset))
        numbers = np.arange(len(centers)) if allowed is None else np.flatnonzero(allowed)
        side = self._center_side(centers, numbers, self.plan)
        found = Found(self.labels, self.distances, self.others)
        task = partial(_assign_span, subset, (self.measures.arrays, self._row_side), side, self.costs, found)
        self.counters += np.sum(map_chunks(task, spans(len(subset), CHUNK_ROWS), self.n_jobs), axis=0, dtype=np.int64)

    def measure(self, centers: TreeRows, subset: Int64) -> Float64:
        """Return, for all rows, the distance to the own center: computed for ``subset``, as known for the others."""
        self.n_measured += len(subset)
        out = self.distances.copy()
        pairs = np.column_stack([subset, self.labels[subset]])
        out[subset] = paired_distances(self.measures, centers, pairs, self.ground, self.n_jobs)
        return out

    def shifts(self, old: TreeRows, new: TreeRows) -> Float64:
        """Return how far each center moved."""
        each = np.arange(len(old))
        return paired_distances(old, new, np.column_stack([each, each]), self.ground, self.n_jobs)

    def embeddings(self, n_pivots: int) -> Float64:
        """Return the values of some 1-Lipschitz functions: no gap between two rows exceeds their distance."""
        return self._embed(self.measures, np.ascontiguousarray(self._functions[:, self._chosen_pivots(n_pivots)]))

    # ----------------------------------------------------------------------------------------------- bounds

    def _chosen_plan(self, centers: TreeRows, n_searched: int) -> Plan:
        """Return the plan that is cheapest for a few rows; for a small search, one that is never bad."""
        if n_searched * len(centers) < TRIAL_PAIRS:
            return Plan(discounted=self._has_near_points)
        cost = partial(_expected_cost, self, self.rows.take(evenly(len(self.rows), TRIAL_ROWS)), centers)
        best = cost(Plan()), Plan()
        for change in ({"discounted": False}, {"n_pivots": 0}, {"n_pivots": 12}, {"deep": False}):
            changed = best[1]._replace(**change)
            best = min(best, (cost(changed), changed))
        return best[1]

    @property
    def _current_plan(self) -> Plan:
        """The plan, once a search has chosen it."""
        return cast(Plan, self.plan)

    @cached_property
    def _row_side(self) -> RowSide:
        slots, factors, _, _ = self._slots
        functions, shallow = np.empty((self.rows.n_points, 0)), np.empty((len(self.rows), 0), np.float32)
        if self._current_plan.deep:
            functions = self._functions
        if self._current_plan.n_pivots:
            shallow = self._scaled(self._embed(self.measures, self._pivot_functions))
        return RowSide(slots, factors, shallow, functions)

    def _center_side(self, centers: TreeRows, numbers: Int64, plan: Plan) -> tuple[RowArrays, CenterSide]:
        """Return the centers with these numbers in the order of their mass, and all that bounds need of them."""
        totals = centers.masses[numbers].astype(np.float64)
        order = np.argsort(totals, kind="stable")
        numbers, totals = numbers[order], totals[order]
        sorted_centers = centers.take(numbers).measures()
        places = np.full(len(centers), -1, np.int64)
        places[numbers] = np.arange(len(numbers))
        discount = self._blank_discount if plan.discounted else 0.0
        heavy, light = self._tables(sorted_centers, discount)
        shallow = np.empty((0, heavy.shape[1]), np.float32)
        if plan.n_pivots:
            shallow = np.zeros((plan.n_pivots, heavy.shape[1]), np.float32)
            shallow[:, : len(numbers)] = self._scaled(self._embed(sorted_centers, self._pivot_functions)).T
        deep = self._embed(sorted_centers, self._functions) if plan.deep else np.empty((len(numbers), 0))
        blank_costs, blank_masses = _by_blank_cost(sorted_centers, self.ground)
        exponent = max(self._exponent, self._cost_exponent + math.frexp(float(totals.max(initial=0)))[1])
        is_whole = self._is_whole and sorted_centers.is_integral
        rounding = 0.0 if is_whole and exponent < EXACT_SINGLE else compiled.ROUNDING
        deep_margin = 0.0 if is_whole and exponent < EXACT else self._rounding_margin(exponent)
        margin = rounding * _largest(self._row_side.shallow, shallow) + self._scale * deep_margin
        side = CenterSide(
            self._scale, rounding, numbers, places, totals, heavy, light, discount, blank_costs, blank_masses, shallow,
            margin, deep, deep_margin, 0.25 if is_whole else np.inf,
        )  # fmt: skip
        return sorted_centers.arrays, side

    def _tables(self, centers: TreeRows, discount: float) -> tuple[Float32, Float32]:
        _, _, slot_points, slot_masses = self._slots
        padded = -(-len(centers) // BLOCK) * BLOCK
        heavy, light = np.zeros((2, len(slot_points), padded), np.float32)
        task = partial(
            _fill_span,
            slot_points,
            slot_masses,
            centers.arrays,
            self.costs.ground,
            discount,
            self._scale,
            (heavy, light),
        )
        map_chunks(task, spans(len(slot_points), max(64, CHUNK_TABLE // max(padded, 1))), self.n_jobs)
        return heavy, light

    @cached_property
    def _slots(self) -> tuple[Int32, Float32, Int32, Float64]:
        """Return the table row of each entry and a factor; and of each table row a point and a mass.

        Few distinct pairs (point, count) have a table row each; else each point has one, for infinite mass.
        """
        rows = self.rows
        if rows.counts.dtype.kind in "iu":
            numbers, points, counts = _distinct_pairs(rows)
            if len(points) <= 4 * len(np.unique(points)) + len(rows.points) // 16:
                return numbers, np.ones(len(numbers), np.float32), points, counts
        used, places = np.unique(rows.points, return_inverse=True)
        return places.astype(np.int32), self.masses.astype(np.float32), used, np.full(len(used), np.inf)

    @cached_property
    def _functions(self) -> Float64:
        return lipschitz_functions(self.ground)

    @cached_property
    def _pivot_functions(self) -> Float64:
        """The functions of the first bound, some repeated where there are too few points."""
        wanted = self._current_plan.n_pivots
        return np.ascontiguousarray(np.take(self._functions, np.resize(self._chosen_pivots(wanted), wanted), axis=1))

    def _chosen_pivots(self, wanted: int) -> Int64:
        sample = evenly(len(self.rows), SAMPLE)
        sample = np.concatenate([sample[0::2], sample[1::2]])
        return choose_pivots(self._embed(self.rows.take(sample), self._functions), wanted)

    @cached_property
    def _blank_discount(self) -> float:
        """The least cost of deleting a unit."""
        return float(self.ground.to_blank[:-1].min(initial=np.inf)) if self.ground.n_points else 0.0

    @cached_property
    def _has_near_points(self) -> bool:
        """Whether points can be nearer to each other than to ⊥; if not, what finds no equal costs as much as deleting.

        Then, as with labels that all cost the same, the tables alone say the distance.
        """
        children = self.ground.children
        if isinstance(children, UniformCosts) and self.ground.edges is None:
            return children.relabel < self._blank_discount
        if self.ground.edges is not None or isinstance(children, UniformCosts) or len(children) > SMALL_GROUND:
            return True
        apart = children[:-1, :-1][~np.eye(len(children) - 1, dtype=bool)]
        return bool(apart.min(initial=np.inf) < self._blank_discount)

    @cached_property
    def _cost_exponent(self) -> int:
        return math.frexp(max(self.ground.largest, float(self.ground.roots.max(initial=0))))[1]

    @cached_property
    def _exponent(self) -> int:
        """The power of two that no sum of costs exceeds by much."""
        return self._cost_exponent + math.frexp(float(self.rows.masses.max(initial=0)))[1]

    @cached_property
    def _scale(self) -> float:
        """A power of two that takes every sum of costs to the middle of the range of single precision."""
        return 2.0 ** -min(max(self._exponent, -1000), 1000)

    @cached_property
    def _is_whole(self) -> bool:
        return self.rows.is_integral and self.ground.is_whole

    @property
    def margin(self) -> float:
        """What rounding may add to the gap between embeddings of two rows."""
        return 0.0 if self._is_whole and self._exponent < EXACT else self._rounding_margin(self._exponent)

    def _rounding_margin(self, exponent: int) -> float:
        widest = int(np.diff(self.rows.indptr).max(initial=0))
        return math.ldexp(widest + 8.0, min(exponent - 52, 900))

    def _scaled(self, embeddings: Float64) -> Float32:
        return (embeddings * self._scale).astype(np.float32)

    def _embed(self, rows: TreeRows, functions: Float64) -> Float64:
        out = np.empty((len(rows), functions.shape[1]))
        masses = rows.counts.astype(np.float64)
        task = partial(_embed_span, rows.indptr, rows.points, masses, functions, out)
        map_chunks(task, spans(len(rows), 16 * CHUNK_ROWS), self.n_jobs)
        return out


def nearest(rows: TreeRows, centers: TreeRows, ground: GroundCost, n_jobs: int | None = None) -> tuple[Int32, Float64]:
    """Return the nearest center of each row (ties to the lowest index) and its exact distance."""
    search = Search(rows, ground, n_jobs)
    search.assign(centers)
    return search.labels, search.distances


def _expected_cost(search: Search, sample: TreeRows, centers: TreeRows, plan: Plan) -> float:
    """Return about how many nanoseconds a sample takes under a plan, from what its search counts."""
    trial = Search(sample, search.ground, search.n_jobs, plan)
    trial.assign(centers)
    counted: list[int] = trial.counters.tolist()
    n_rows, left, _, _, solved, abandoned = counted
    first = BATCH_COST * n_rows * (plan.n_pivots // compiled.PIVOT_BATCH) * len(centers)
    second = DEEP_COST * (len(sample.points) + left) * min(search.ground.n_points + 1, MAX_PIVOTS) if plan.deep else 0.0
    return first + second + LEFT_COST * left + SOLVE_COST * (solved + abandoned)


def _distinct_pairs(rows: TreeRows) -> tuple[Int32, Int32, Float64]:
    """Return which distinct pair (point, count) each entry is, and the pairs, sorted."""
    width = int(rows.counts.max(initial=0)) + 1
    if rows.n_points * width > max(1 << 22, 4 * len(rows.points)):
        keys, places = np.unique(rows.points * np.int64(width) + rows.counts, return_inverse=True)
        return places.astype(np.int32), (keys // width).astype(np.int32), (keys % width).astype(np.float64)
    seen = np.zeros(rows.n_points * width, np.int32)
    compiled.mark_pairs(rows.points, rows.counts, width, seen)
    keys = np.flatnonzero(seen)
    seen[keys] = np.arange(len(keys))
    numbers = np.empty(len(rows.points), np.int32)
    compiled.look_up_pairs(rows.points, rows.counts, width, seen, numbers)
    return numbers, (keys // width).astype(np.int32), (keys % width).astype(np.float64)


def _by_blank_cost(centers: TreeRows, ground: GroundCost) -> tuple[Float64, Float64]:
    """Return each center's entries by rising cost from ⊥: these costs, and the masses."""
    costs = ground.to_blank[centers.points]
    order = np.lexsort((costs, np.repeat(np.arange(len(centers)), np.diff(centers.indptr))))
    return costs[order], centers.counts[order]


def _largest(*values: Float32) -> float:
    return max(float(np.abs(some).max(initial=0)) for some in values)


def _embed_span(
    indptr: Int64, points: Int32, masses: Float64, functions: Float64, out: Float64, span: tuple[int, int]
) -> None:
    start, stop = span
    compiled.embed_rows(start, stop, indptr, points, masses, functions, out)


def _fill_span(
    slot_points: Int32,
    slot_masses: Float64,
    centers: RowArrays,
    ground: PointCosts,
    discount: float,
    scale: float,
    tables: tuple[Float32, Float32],
    span: tuple[int, int],
) -> None:
    start, stop = span
    compiled.fill_tables(
        start, stop, slot_points, slot_masses, centers.indptr, centers.points, centers.counts, ground, discount, scale,
        *tables,
    )  # fmt: skip


def _assign_span(
    subset: Int64,
    rows: tuple[RowArrays, RowSide],
    centers: tuple[RowArrays, CenterSide],
    costs: Costs,
    found: Found,
    span: tuple[int, int],
) -> Int64:
    start, stop = span
    counters: Int64 = compiled.nearest_centers(start, stop, subset, *rows, *centers, costs, found)
    return counters
