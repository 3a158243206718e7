"""Wasserstein k-means on rows: exact assignments, centers that minimize the sum of distances."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from relaxwl._execution import cached_property, map_chunks, spans
from relaxwl._memory import check_memory
from relaxwl._progress import report
from relaxwl._validation import ParameterError, check_choice, check_integer
from relaxwl.clustering import _compiled as compiled
from relaxwl.clustering._compiled import BLOCK, N_PIVOTS, TIE, CenterSide, Costs, Nearest, RowSide
from relaxwl.clustering.barycenter import SOLVERS, better_centers
from relaxwl.costs.codebook import UniformCosts
from relaxwl.distances.pairwise import paired_distances
from relaxwl.distances.transport import GroundCost, as_square, check_ground
from relaxwl.graphs.arrays import Float64, Int32, Int64, expand_spans, prefix_sums
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.rows import RowArrays, check_rows, join_rows

NumberOfClusters = int | float | str | Callable[[int], int]
INITS = ("random", "k-means++")
# Maximum number of rounds if max_iter is None.
ROUNDS = 8
# Number of rows above which centers are computed from a sample of this size, or of SAMPLE_ROWS per cluster if larger.
MANY_ROWS = 4096
SAMPLE_ROWS = 16
# If max_iter is None, rounds end when one lowers the sum of distances by less than this share of it.
LEAST_GAIN = 1 / 64
# Maximum number of members from which a center is computed, if max_iter is None or rows are many; all members judge it.
SUGGESTING = 48
# Share of a cluster that must have changed before its center is updated.
UPDATE_SHARE = 0.1
# Maximum number of medians per task, and minimum number of tasks. Other centers take longer and have a task each.
MEDIANS_AT_ONCE, MEDIAN_TASKS = 8, 4
# Number of pivots by which most rows that are too far from a new seed are excluded.
SEEDING_PIVOTS = 16


def number_of_clusters(n_clusters: NumberOfClusters, n_rows: int) -> int:
    """Return the number of clusters of a rule, between 1 and ``n_rows``.

    >>> number_of_clusters("sqrt", 30), number_of_clusters(2.0, 30), number_of_clusters("log2", 30)
    (5, 10, 4)
    """
    if callable(n_clusters):
        wanted = n_clusters(n_rows)
    elif n_clusters == "sqrt":
        wanted = math.isqrt(n_rows)
    elif n_clusters == "log2":
        wanted = int(math.log2(max(n_rows, 1)))
    elif isinstance(n_clusters, (int, np.integer)) and not isinstance(n_clusters, bool):
        if n_clusters < 1:
            raise ValueError(f"n_clusters must be at least 1, not {n_clusters}")
        wanted = int(n_clusters)
    elif isinstance(n_clusters, float) and math.isfinite(n_clusters) and n_clusters > 0:
        wanted = int(n_clusters * math.sqrt(n_rows))
    else:
        raise ValueError(
            "n_clusters must be an integer >= 1, 'sqrt', 'log2', a number f > 0.0 meaning f·√rows, a function of the "
            f"number of rows, or, for relaxed kernels, 'all', not {n_clusters!r}"
        )
    return min(max(int(wanted), 1), max(n_rows, 1))


def cluster_rules(n_clusters: Any, *, of_trees: bool = False) -> list[NumberOfClusters]:
    """Return the validated rules for numbers of clusters, through which partitions cycle.

    Partitions ``of_trees`` may have the rule "all", for which nothing is searched: every distinct tree is a cluster.
    """
    rules = list(n_clusters) if isinstance(n_clusters, (list, tuple)) else [n_clusters]
    if not rules:
        raise ParameterError("n_clusters is empty; give at least one number of clusters")
    for rule in rules:
        if not (of_trees and rule == "all"):
            number_of_clusters(rule, 1)
    return rules


@dataclass(repr=False, eq=False)
class WassersteinKMeans(ClusterMixin, BaseEstimator):
    """k-means on trees under the exact tree edit distance.

    Rows are assigned to the nearest center (ties to the lowest index); a center is replaced if a better one for its
    cluster is found, so that the sum of distances never increases; this is repeated until nothing changes.

    Parameters
    ----------
    n_clusters : int, "sqrt", "log2", float or callable, default="sqrt"
        Number of clusters, or a rule that computes it from the number of rows; a float f means f·√rows.
    center : {"median", "lp", "entropic", "medoid", "mean"}, default="median"
        Method for centers; see :func:`relaxwl.transport_barycenter`. In large clusters, or if ``max_iter`` is None, a
        center is computed from 48 members and accepted if it reduces the sum of distances of all members.
    init : {"k-means++", "random"}, default="k-means++"
        Choice of the initial centers among the rows: by their distance to earlier ones, which gives the lowest sums of
        distances, or uniformly, so that there are more centers where there are more rows.
    max_iter : int, optional
        Rounds of updating and assigning on all rows after the first assignment; with 0 there is only the first
        assignment. By default until improvement stalls: at most 8 rounds on up to 4,096 rows. With more rows the
        centers are computed from a sample of 16 rows per cluster and at least 4,096 rows, evenly spread over the
        canonical order, with one update; then every row is assigned once.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, Generator or None, default=None
        Seeds the initialization.
    verbose : int, default=0
        1 logs every round.

    Attributes
    ----------
    labels_ : int32 array (n_rows,)
        Cluster of each row.
    distances_ : float64 array (n_rows,)
        Distance of each row to its center.
    centers_ : TreeRows
        The centers.
    inertia_ : float
        Weighted sum of distances.
    n_iter_ : int
        Number of rounds on all rows.

    See Also
    --------
    transport_barycenter : The centers.

    Examples
    --------
    Six trees have the same root label and 1, 2, 3, 10, 11 and 12 leaves.

    >>> counts = np.array([1, 2, 3, 10, 11, 12], np.int32)
    >>> rows = TreeRows(np.zeros(6, np.int32), np.arange(7), np.zeros(6, np.int32), counts, 1)
    >>> kmeans = WassersteinKMeans(n_clusters=2, random_state=0).fit(rows, ground=1.0 - np.eye(2))
    >>> kmeans.inertia_, sorted(kmeans.centers_.counts.tolist())
    (4.0, [2.0, 11.0])
    """

    n_clusters: NumberOfClusters = "sqrt"
    center: str = "median"
    init: str = "k-means++"
    max_iter: int | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def fit(
        self,
        X: TreeRows,
        y: Any = None,
        *,
        ground: GroundCost | NDArray[Any],
        root_cost: Float64 | None = None,
        sample_weight: Float64 | None = None,
        check: bool = True,
    ) -> Self:
        """Cluster rows.

        Parameters
        ----------
        X : TreeRows
            Distinct trees of one depth.
        y : ignored
            Not used; present for API consistency.
        ground : float array (n_points + 1, n_points + 1), or GroundCost
            Distances between the points, ⊥ last: a pseudo-metric. A
            :class:`~relaxwl.distances.transport.GroundCost` also has the costs between root codes.
        root_cost : float array (n_roots, n_roots), optional
            Costs between root codes; 1 between different ones by default.
        sample_weight : float array (n_rows,), optional
            Weights of the rows in centers and objective; all 1 by default.
        check : bool, default=True
            Whether to check that ``ground`` and ``root_cost`` are pseudo-metrics (cubic in the number of points).
            Without the check a :class:`~relaxwl.distances.transport.GroundCost` and its rows are not validated.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._validate()
        is_checked = not check and isinstance(ground, GroundCost)
        if root_cost is not None and not isinstance(ground, GroundCost):
            ground = GroundCost(as_square(ground), as_square(root_cost, "root_cost", blank=False))
        self.ground_ = as_ground(ground, X)
        if check:
            check_ground(self.ground_.children)
            check_ground(self.ground_.roots, "root_cost", blank=False)
            if self.ground_.edges is not None:
                check_ground(self.ground_.edges, "edges")
        X = X if is_checked else check_rows(X, self.ground_.n_points, len(self.ground_.roots))
        if len(X) == 0:
            raise ValueError("there are no rows to cluster")
        if self.center == "median" and not X.is_integral:
            raise ValueError("center 'median' needs whole-number masses; for real ones use 'lp', 'entropic' or 'mean'")
        weights, unit = _weights(X, sample_weight)
        rng = np.random.default_rng(self.random_state)
        search, numbers = Search(X, self.ground_, self.n_jobs), self.sample(len(X), rng)
        if numbers is None:
            n_rounds = ROUNDS if self.max_iter is None else self.max_iter
            seeds = self._seeds(search, number_of_clusters(self.n_clusters, len(X)), weights, rng)
            search.assign(seeds)
            self.centers_, self.n_iter_ = self._rounds(search, seeds, weights, n_rounds)
        else:
            self.centers_ = self.fit_sample(X.take(numbers), self.ground_, len(X), rng, weights[numbers])
            self.n_iter_ = 0
            search.assign(self.centers_)
        self.labels_, self.distances_ = search.labels, search.distances
        self.inertia_ = float((weights * search.distances).sum()) * unit
        return self

    def sample(self, n_rows: int, rng: np.random.Generator) -> Int64 | None:
        """Return the numbers of the rows from which centers are computed, ascending; None if all rows are used.

        Parameters
        ----------
        n_rows : int
            Number of rows, which are in canonical order.
        rng : Generator
            Random generator, also used by :meth:`fit_sample`.

        Returns
        -------
        numbers : int64 array or None
            The sample for :meth:`fit_sample`, after which every row is assigned to the nearest center.
        """
        self._validate()
        k = number_of_clusters(self.n_clusters, n_rows)
        if k == n_rows:  # every row is a center; nothing can be better
            return np.arange(n_rows)
        if self.init == "random" and self.max_iter == 0:
            return _drawn(n_rows, k, rng)
        if not self.max_iter and n_rows > MANY_ROWS:
            return evenly(n_rows, max(MANY_ROWS, SAMPLE_ROWS * k))
        return None

    def fit_sample(
        self, rows: TreeRows, ground: GroundCost, n_rows: int, rng: np.random.Generator, weights: Float64 | None = None
    ) -> TreeRows:
        """Return the centers computed from the rows that :meth:`sample` selected.

        Parameters
        ----------
        rows : TreeRows
            The sample.
        ground : GroundCost
            Costs between the points of rows and between roots.
        n_rows : int
            Number of all rows.
        rng : Generator
            The generator that was passed to :meth:`sample`.
        weights : float64 array, optional
            Weights of the sample; all 1 by default.

        Returns
        -------
        centers : TreeRows
            The centers.
        """
        k = number_of_clusters(self.n_clusters, n_rows)
        if len(rows) == k:
            return rows.measures()
        search, weights = Search(rows, ground, self.n_jobs), np.ones(len(rows)) if weights is None else weights
        seeds = self._seeds(search, k, weights, rng)
        if self.max_iter == 0:
            return seeds
        report(self.verbose, "  %d rows as a sample", len(rows))
        search.assign(seeds)
        return _updated(search, seeds, np.arange(k), weights, self.center, SUGGESTING)

    def predict(self, X: TreeRows) -> Int32:
        """Return the nearest center of each row; rows may be new.

        Parameters
        ----------
        X : TreeRows
            Rows over the points of the fit; they may be new.

        Returns
        -------
        labels : int32 array (n_rows,)
            The cluster of each row.
        """
        return self.predict_with_distances(X)[0]

    def predict_with_distances(self, X: TreeRows) -> tuple[Int32, Float64]:
        """Return the nearest center of each row and its distance.

        Parameters
        ----------
        X : TreeRows
            Rows over the points of the fit; they may be new.

        Returns
        -------
        labels : int32 array (n_rows,)
            The cluster of each row.
        distances : float64 array (n_rows,)
            The distance of each row to its center.
        """
        check_is_fitted(self)
        X = check_rows(X, self.ground_.n_points, len(self.ground_.roots))
        return nearest(X, self.centers_, self.ground_, self.n_jobs)

    # ----------------------------------------------------------------------------------------------- inside

    def _validate(self) -> None:
        check_choice("init", self.init, INITS)
        if self.max_iter is not None:
            check_integer("max_iter", self.max_iter)
        check_choice("center", self.center, SOLVERS)

    def _seeds(self, search: Search, k: int, weights: Float64, rng: np.random.Generator) -> TreeRows:
        """Draw k of the rows as the first centers."""
        if self.init == "k-means++":
            return _spread_seeds(search, k, weights, rng)
        return search.rows.take(_drawn(len(search.rows), k, rng)).measures()

    def _rounds(self, search: Search, centers: TreeRows, weights: Float64, n_rounds: int) -> tuple[TreeRows, int]:
        """Update centers and assignments until nothing changes; return the final centers and the rounds made.

        A center is updated if it moved in the last round or if more than UPDATE_SHARE of its cluster has changed: a few
        rows seldom move a center, and the search for a better one uses all members. If there is no such center, those
        of clusters with smaller changes are updated.
        """
        by_gain, k = self.max_iter is None, len(centers)
        least_gain = LEAST_GAIN if by_gain else 0.0
        limit = SUGGESTING if by_gain or len(weights) > MANY_ROWS else None
        sizes = np.bincount(search.labels, minlength=k)
        moved, changes = np.zeros(k, bool), sizes.copy()  # rows that came or went since a center's last update
        done, before, now = 0, np.inf, float((weights * search.distances).sum())
        while done < n_rounds and before - now >= least_gain * now:
            due = moved | (changes > UPDATE_SHARE * sizes)
            due = due if due.any() else changes > 0
            new = _updated(search, centers, np.flatnonzero(due), weights, self.center, limit)
            changes[due] = 0
            moved = ~new.same_as(centers)
            if not moved.any():
                if not changes.any():
                    break
                continue
            labels = search.labels.copy()
            search.assign(new)
            differs = labels != search.labels
            changes += np.bincount(labels[differs], minlength=k) + np.bincount(search.labels[differs], minlength=k)
            centers, sizes = new, np.bincount(search.labels, minlength=k)
            before, now = now, float((weights * search.distances).sum())
            done += 1
            report(
                self.verbose,
                "  round %d: objective %.6g, %d centers moved, %d rows changed cluster",
                done, now, moved.sum(), differs.sum(),
            )  # fmt: skip
        return centers, done


def _drawn(n_rows: int, k: int, rng: np.random.Generator) -> Int64:
    """Draw the numbers of k different rows."""
    return np.sort(rng.choice(n_rows, k, replace=False))


def _updated(
    search: Search, centers: TreeRows, due: Int64, weights: Float64, method: str, limit: int | None
) -> TreeRows:
    """Return the centers after one update.

    The centers in ``due`` are replaced if a better one is found, and those of empty clusters by the rows that are
    farthest from their centers. The distances of rows whose centers were replaced are updated in ``search``.
    """
    k = len(centers)
    which = due[np.bincount(search.labels, weights, minlength=k)[due] > 0]
    found = _suggested(search, centers, which, weights, method, limit)
    new = centers.replaced(found, which)
    differs = ~new.same_as(centers)[which]
    which, found = which[differs], found.take(np.flatnonzero(differs))
    measured = search.measure(new, np.flatnonzero(np.isin(search.labels, which)))
    cost_before, cost_after = (
        np.bincount(search.labels, weights * distances, minlength=k) for distances in (search.distances, measured)
    )
    better = which[cost_after[which] < cost_before[which] * (1 - 1e-12)]
    centers = centers.replaced(found.take(np.searchsorted(which, better)), better)
    improved = np.isin(search.labels, better)
    search.distances[improved] = measured[improved]
    empty = np.flatnonzero(np.bincount(search.labels, minlength=k) == 0)
    if len(empty):
        loss = weights * search.distances
        worst = np.argsort(-loss, kind="stable")[: len(empty)]
        worst = worst[loss[worst] > 0]
        centers = centers.replaced(search.rows.take(worst).measures(), empty[: len(worst)])
    return centers


def _suggested(
    search: Search, centers: TreeRows, which: Int64, weights: Float64, method: str, limit: int | None
) -> TreeRows:
    """Return a new center for each cluster in ``which``, computed from at most ``limit`` members."""
    # Large clusters first, so that threads end at about the same time.
    order = np.argsort(-np.bincount(search.labels, minlength=len(centers))[which], kind="stable")
    present = centers.take(which[order]).measures()
    starts, members = _suggesting(search.labels, weights, which[order], len(centers), limit)
    improve = partial(
        better_centers, method, starts, members, weights[members], search.measures, search.ground, present
    )
    at_once = min(max(len(which) // MEDIAN_TASKS, 1), MEDIANS_AT_ONCE) if method == "median" else 1
    made = map_chunks(improve, spans(len(which), at_once), search.n_jobs)
    return join_rows([present.take(np.empty(0, np.int64)), *made]).take(np.argsort(order))


def _suggesting(
    labels: Int32, weights: Float64, which: Int64, n_centers: int, limit: int | None
) -> tuple[Int64, Int64]:
    """Return the members from which new centers are computed: offsets for the clusters in ``which``, and rows.

    Members without weight are left out; of more than ``limit`` members, evenly spaced ones are taken.
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


def _spread_seeds(search: Search, k: int, weights: Float64, rng: np.random.Generator) -> TreeRows:
    """Draw rows one by one, with probability proportional to their weight times their distance to earlier seeds.

    A row is compared only with the newest seed, and only if the pivots do not show that an older seed is as near.
    """
    embeddings, roots = search.embeddings(SEEDING_PIVOTS), search.rows.roots
    distances, seeds = np.ones(len(weights)), list[int]()
    for uniform in rng.random(k).tolist():
        reached = np.cumsum(weights * distances)
        if not reached[-1] > 0:  # all remaining rows coincide with a seed or have no weight
            left = np.setdiff1d(np.arange(len(weights)), seeds)
            seeds += left[: k - len(seeds)].tolist()
            break
        seeds.append(int(np.searchsorted(reached, min(uniform * reached[-1], np.nextafter(reached[-1], 0)), "right")))
        known = np.full(len(weights), np.inf) if len(seeds) == 1 else distances
        gaps = np.abs(embeddings - embeddings[seeds[-1]]).max(axis=1, initial=0.0) - search.margin
        near = np.flatnonzero(search.ground.roots[roots, roots[seeds[-1]]] + gaps <= known * (1.0 - TIE))
        pairs = np.column_stack([near, np.full(len(near), seeds[-1])])
        known[near] = np.minimum(known[near], paired_distances(search.measures, search.measures, pairs, search.ground))
        distances = known
    return search.rows.take(np.sort(seeds)).measures()


def as_ground(ground: GroundCost | NDArray[Any], rows: TreeRows) -> GroundCost:
    """Return a ground unchanged; a plain matrix gets the cost 1 between different roots of these rows."""
    if isinstance(ground, GroundCost):
        return ground
    size = int(rows.roots.max(initial=0)) + 2 if isinstance(rows, TreeRows) else 1
    check_memory(16.0 * size**2, f"the costs between root codes up to {size - 2}", "give root_cost")
    return GroundCost(as_square(ground), 1.0 - np.eye(size))


def _weights(rows: TreeRows, sample_weight: Float64 | None) -> tuple[Float64, float]:
    """Return weights divided by a power of two, and that power, to avoid overflow of sums."""
    if sample_weight is None:
        return np.ones(len(rows)), 1.0
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (len(rows),) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"sample_weight must be {len(rows)} finite numbers >= 0, one for each row")
    exponent = math.frexp(float(weights.max()))[1]
    return np.ldexp(weights, -exponent), math.ldexp(1.0, exponent - 1) * 2.0


Float32 = NDArray[np.float32]

# Number of rows per task; fixed, so that results do not depend on the number of workers.
CHUNK_ROWS = 1024
# Number of entries of a table that one task fills.
CHUNK_TABLE = 1 << 16
# Maximum number of points for which whole costs are converted to floats, to have one compiled version less.
SMALL_GROUND = 2048
# Maximum number of pivots from which those of the bounds are chosen.
MAX_PIVOTS = 256
# Maximum number of rows, taken in pairs, by which pivots are chosen.
SAMPLE = 256
# Exponents of 2 below which sums of integers are exact in single and in double precision.
EXACT_SINGLE, EXACT = 22, 50


def lipschitz_functions(ground: GroundCost) -> Float64:
    """Return, for every point q and many pivots p (⊥ among them), M[q, p] - M[⊥, p], without the row of ⊥.

    Each column is 1-Lipschitz in q by the triangle inequality and 0 at ⊥, so by Kantorovich duality
    ``|Σ (x - y) · column| <= W(x, y)`` for measures x and y of any mass.
    """
    # If all points have equal costs, ⊥ alone is as good as many pivots.
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
    """Return at most ``size`` evenly spaced numbers below ``n``.

    Applied to rows in canonical order, this selects all kinds of rows without random numbers.
    """
    return np.unique(np.linspace(0, n - 1, min(n, size)).astype(np.int64))


@dataclass
class Search:
    """Search for the nearest centers of fixed rows as centers change.

    Attributes
    ----------
    labels, distances : arrays (n_rows,)
        The nearest center of each row and its distance; -1 before the first search.
    """

    rows: TreeRows
    ground: GroundCost
    n_jobs: int | None = None
    labels: Int32 = field(init=False)
    distances: Float64 = field(init=False)

    def __post_init__(self) -> None:
        n_rows = len(self.rows)
        children = self.ground.children
        if not isinstance(children, UniformCosts) and len(children) <= SMALL_GROUND:
            self.ground = replace(self.ground, children=children.astype(np.float64, copy=False))
        self.labels = np.full(n_rows, -1, np.int32)
        self.distances = np.full(n_rows, np.inf)
        self.measures = self.rows.measures()
        self.masses = self.measures.counts
        self.costs = Costs(self.ground.costs, self.ground.root_costs)

    def assign(self, centers: TreeRows) -> None:
        """Find the nearest center of each row."""
        if not len(self.rows):
            return
        side, found = self._center_side(centers), Nearest(self.labels, self.distances)
        rows, row_side = self.measures.arrays, self._row_side

        def search(span: tuple[int, int]) -> None:
            compiled.nearest_centers(*span, rows, row_side, *side, self.costs, found)

        map_chunks(search, spans(len(self.rows), CHUNK_ROWS), self.n_jobs)

    def measure(self, centers: TreeRows, subset: Int64) -> Float64:
        """Return the distance of each row to its center: computed for ``subset``, as stored for the others."""
        out = self.distances.copy()
        pairs = np.column_stack([subset, self.labels[subset]])
        out[subset] = paired_distances(self.measures, centers, pairs, self.ground, self.n_jobs)
        return out

    def embeddings(self, n_pivots: int) -> Float64:
        """Return the values of some 1-Lipschitz functions: no gap between two rows exceeds their distance."""
        return self._embed(self.measures, np.ascontiguousarray(self._functions[:, self._chosen_pivots(n_pivots)]))

    # ----------------------------------------------------------------------------------------------- bounds

    @cached_property
    def _row_side(self) -> RowSide:
        slots, factors, _, _ = self._slots
        return RowSide(slots, factors, self._scaled(self._embed(self.measures, self._pivot_functions)))

    def _center_side(self, centers: TreeRows) -> tuple[RowArrays, CenterSide]:
        """Return the centers sorted by mass, and the data for the bounds."""
        totals = centers.masses.astype(np.float64)
        numbers = np.argsort(totals, kind="stable")
        totals, sorted_centers = totals[numbers], centers.take(numbers).measures()
        places = np.argsort(numbers)
        discount = self._blank_discount if self._has_near_points else 0.0
        heavy, light = self._tables(sorted_centers, discount)
        pivots = np.zeros((N_PIVOTS, heavy.shape[1]), np.float32)
        pivots[:, : len(numbers)] = self._scaled(self._embed(sorted_centers, self._pivot_functions)).T
        blank_costs, blank_masses = _by_blank_cost(sorted_centers, self.ground)
        exponent = max(self._exponent, self._cost_exponent + math.frexp(float(totals.max(initial=0)))[1])
        is_whole = self._is_whole and sorted_centers.is_integral
        rounding = 0.0 if is_whole and exponent < EXACT_SINGLE else compiled.ROUNDING
        exact_margin = 0.0 if is_whole and exponent < EXACT else _rounding_margin(exponent, self.rows, sorted_centers)
        largest = max(float(np.abs(values).max(initial=0)) for values in (self._row_side.pivots, pivots))
        margin = rounding * largest + self._scale * exact_margin
        side = CenterSide(
            self._scale, rounding, numbers, places, totals, heavy, light, discount, blank_costs, blank_masses, pivots,
            margin, 0.25 if is_whole else np.inf,
        )  # fmt: skip
        return sorted_centers.arrays, side

    def _tables(self, centers: TreeRows, discount: float) -> tuple[Float32, Float32]:
        _, _, slot_points, slot_masses = self._slots
        padded = -(-len(centers) // BLOCK) * BLOCK
        heavy, light = np.zeros((2, len(slot_points), padded), np.float32)
        entries = centers.indptr, centers.points, centers.counts

        def fill(span: tuple[int, int]) -> None:
            compiled.fill_tables(
                *span, slot_points, slot_masses, *entries, self.costs.ground, discount, self._scale, heavy, light
            )

        map_chunks(fill, spans(len(slot_points), max(64, CHUNK_TABLE // max(padded, 1))), self.n_jobs)
        return heavy, light

    @cached_property
    def _slots(self) -> tuple[Int32, Float32, Int32, Float64]:
        """Return the table row and a factor of each entry, and the point and mass of each table row.

        If there are few distinct pairs (point, count), each has a table row; else each point has one, of infinite mass.
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
        """The functions of the first bound, some repeated if there are too few points."""
        chosen = np.resize(self._chosen_pivots(N_PIVOTS), N_PIVOTS)
        return np.ascontiguousarray(self._functions[:, chosen])

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
        """Whether points can be nearer to each other than to ⊥; if not, unmatched points cost as much as deleting.

        In that case, as for uniform label costs, the tables alone give the distance.
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
        """Exponent of a power of two that no sum of costs exceeds by much."""
        return self._cost_exponent + math.frexp(float(self.rows.masses.max(initial=0)))[1]

    @cached_property
    def _scale(self) -> float:
        """A power of two that scales all sums of costs to the middle of the range of single precision."""
        return 2.0 ** -min(max(self._exponent, -1000), 1000)

    @cached_property
    def _is_whole(self) -> bool:
        return self.rows.is_integral and self.ground.is_whole

    @property
    def margin(self) -> float:
        """Upper bound of the rounding error of a gap between embeddings of two rows."""
        return 0.0 if self._is_whole and self._exponent < EXACT else _rounding_margin(self._exponent, self.rows)

    def _scaled(self, embeddings: Float64) -> Float32:
        return (embeddings * self._scale).astype(np.float32)

    def _embed(self, rows: TreeRows, functions: Float64) -> Float64:
        """Return the sums of functions, which vanish at ⊥, over the entries of rows."""
        shape = (len(rows), len(functions))
        masses = csr_array((rows.counts.astype(np.float64), rows.points, rows.indptr), shape=shape)
        return np.asarray(masses @ functions)


def nearest(rows: TreeRows, centers: TreeRows, ground: GroundCost, n_jobs: int | None = None) -> tuple[Int32, Float64]:
    """Return the nearest center of each row (ties to the lowest index) and its exact distance."""
    search = Search(rows, ground, n_jobs)
    search.assign(centers)
    return search.labels, search.distances


def _rounding_margin(exponent: int, *compared: TreeRows) -> float:
    """Return the maximum rounding error of two sums over entries of rows, of numbers up to 2**exponent in total."""
    widest = max(int(np.diff(rows.indptr).max(initial=0)) for rows in compared)
    return math.ldexp(widest + 8.0, min(exponent - 52, 900))


def _distinct_pairs(rows: TreeRows) -> tuple[Int32, Int32, Float64]:
    """Return the index of the distinct pair (point, count) of each entry, and the sorted pairs."""
    width = int(rows.counts.max(initial=0)) + 1
    if rows.n_points * width > max(1 << 22, 4 * len(rows.points)):
        keys, places = np.unique(rows.points * np.int64(width) + rows.counts, return_inverse=True)
        return places.astype(np.int32), (keys // width).astype(np.int32), (keys % width).astype(np.float64)
    numbers, of_entry = np.zeros(rows.n_points * width, np.int32), rows.points * np.int64(width) + rows.counts
    numbers[of_entry] = 1
    keys = np.flatnonzero(numbers)
    numbers[keys] = np.arange(len(keys))
    return numbers[of_entry], (keys // width).astype(np.int32), (keys % width).astype(np.float64)


def _by_blank_cost(centers: TreeRows, ground: GroundCost) -> tuple[Float64, Float64]:
    """Return each center's entries by ascending cost from ⊥: these costs, and the masses."""
    costs = ground.to_blank[centers.points]
    order = np.lexsort((costs, np.repeat(np.arange(len(centers)), np.diff(centers.indptr))))
    return costs[order], centers.counts[order]
