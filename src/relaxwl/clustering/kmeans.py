"""Wasserstein k-means on rows: exact assignments, centres that minimise the sum of distances."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from relaxwl._memory import refuse_beyond_memory
from relaxwl._progress import report
from relaxwl._validation import check_choice, check_integer
from relaxwl.clustering._search_compiled import ABANDONED, SOLVED, spread_seeds
from relaxwl.clustering.barycenter import Method
from relaxwl.clustering.crowd import Crowd, HeldCrowd
from relaxwl.clustering.nearest import Search, evenly, nearest
from relaxwl.distances.ground import Ground
from relaxwl.distances.transport import as_square, check_ground
from relaxwl.graphs.arrays import Float64, Int32, Int64
from relaxwl.unfolding import Rows, check_rows

NumberOfClusters = int | float | str | Callable[[int], int]
INITS = ("random", "k-means++")
# Rounds where max_iter does not say.
ROUNDS = 8
# Of more rows than that, a sample with so many for each cluster comes first.
MANY_ROWS = 4096
SAMPLE_ROWS = 16
SAMPLE_ROUNDS = 4
FINAL_ROUNDS = 1
# Rounds that max_iter does not ask for end with one that lowers the sum of distances by less than this part of it.
LEAST_GAIN = 1 / 64
# Where max_iter does not say, and of many rows, so many members, evenly spread, suggest a centre; all of them judge it.
SUGGESTING = 48
# A centre waits with its update until this share of its cluster has changed.
UPDATE_SHARE = 0.1
# Pivots that rule out most rows that a new seed is too far from.
SEEDING_PIVOTS = 16


def number_of_clusters(n_clusters: NumberOfClusters, n_rows: int) -> int:
    """Return how many clusters a rule asks for, between 1 and ``n_rows``.

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
            "n_clusters must be an integer >= 1, 'sqrt', 'log2', a number f > 0.0 meaning f·√rows, or a function of "
            f"the number of rows, not {n_clusters!r}"
        )
    return min(max(int(wanted), 1), max(n_rows, 1))


class WassersteinKMeans(ClusterMixin, BaseEstimator):
    """k-means on trees under the exact tree edit distance.

    Rows are assigned to the nearest centre (ties to the lowest index); a centre is replaced where a better one for its
    cluster is found, so the sum of distances never grows; until nothing changes.

    Parameters
    ----------
    n_clusters : int, "sqrt", "log2", float or callable
        Number of clusters, or how to take it from the number of rows; a float f means f·√rows.
    center : {"median", "lp", "entropic", "medoid", "mean"}
        How centres are found; see :func:`relaxwl.transport_barycenter`. In clusters of many rows, or where
        ``max_iter`` does not say, 48 members suggest a centre, and it is taken if it serves all of them better in sum.
    init : {"k-means++", "random"}
        How seeds are drawn among the rows: by their distance to the seeds before, which leads to the lowest sums of
        distances, or uniformly, so that there are many centres where there are many rows.
    max_iter : int, optional
        Rounds of updating and assigning on all rows after the first assignment; with 0 and "random" seeds that
        assignment is all there is. By default as many as pay: up to 8 of up to 4,096 rows; of more, a few rows for each
        cluster, evenly spread over the canonical order, are clustered first, and one round on all rows follows. In both
        cases a round that gains next to nothing is the last.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, Generator or None
        Draws the seeds.
    verbose : int
        1 logs every round.

    Attributes
    ----------
    labels_ : int32 array (n_rows,)
        Cluster of each row.
    distances_ : float64 array (n_rows,)
        Distance of each row to its centre.
    centers_ : Rows
        The centres.
    inertia_ : float
        Weighted sum of distances.
    n_iter_ : int
        Rounds done on all rows.
    n_solves_, n_abandoned_, n_measured_ : float
        Exact transport solves for each row and round (the first assignment is a round). In searching the nearest
        centres: ``n_solves_`` that found a distance up to the best known so far, and ``n_abandoned_`` that ended once
        they had passed it. Outside searching: ``n_measured_`` of members against updated centres, to the end. The
        solves inside the updates themselves, those between old and new centres and those of the start are not counted.

    Examples
    --------
    Leaves hang below one label; six rows have 1, 2, 3, 10, 11 and 12 of them.

    >>> counts = np.array([1, 2, 3, 10, 11, 12], np.int32)
    >>> rows = Rows(np.zeros(6, np.int32), np.arange(7), np.zeros(6, np.int32), counts, 1)
    >>> kmeans = WassersteinKMeans(n_clusters=2, random_state=0).fit(rows, ground=1.0 - np.eye(2))
    >>> kmeans.inertia_, sorted(kmeans.centers_.counts.tolist())
    (4.0, [2.0, 11.0])
    """

    def __init__(
        self,
        n_clusters: NumberOfClusters = "sqrt",
        center: str = "median",
        init: str = "k-means++",
        max_iter: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.center = center
        self.init = init
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Rows,
        y: Any = None,
        *,
        ground: Ground | NDArray[Any],
        root_cost: Float64 | None = None,
        sample_weight: Float64 | None = None,
        check: bool = True,
    ) -> Self:
        """Cluster rows.

        Parameters
        ----------
        X : Rows
            Distinct trees of one depth.
        y : ignored
        ground : float array (n_points + 1, n_points + 1), or Ground
            Distances between the points, ⊥ last: a pseudo-metric. A :class:`relaxwl.distances.ground.Ground` brings the
            costs between root codes along.
        root_cost : float array (n_roots, n_roots), optional
            Costs between root codes; 1 between different ones by default.
        sample_weight : float array (n_rows,), optional
            Weights of the rows in centres and objective; all 1 by default.
        check : bool
            Whether to check that ``ground`` and ``root_cost`` are pseudo-metrics (cubic in the number of points).
            Without it a :class:`Ground` and its rows are taken as they are: compiled code reads where they say.
        """
        self._validate()
        X, self.ground_ = _admitted(X, ground, root_cost, check)
        if len(X) == 0:
            raise ValueError("there are no rows to cluster")
        if self.center == "median" and not X.is_integral:
            raise ValueError("center 'median' needs whole-number masses; for real ones use 'lp', 'entropic' or 'mean'")
        weights, unit = _weights(X, sample_weight)
        crowd = HeldCrowd(X, self.ground_, weights, self.n_jobs)
        self.centers_, self.n_iter_ = self.settle(crowd)
        search = crowd.search
        self.labels_, self.distances_ = search.labels, search.distances
        self.inertia_ = crowd.objective * unit
        solved, abandoned = search.counters[[SOLVED, ABANDONED]]
        self.n_solves_, self.n_abandoned_, self.n_measured_ = (
            int(count) / len(X) / (self.n_iter_ + 1) for count in (solved, abandoned, search.n_measured)
        )
        return self

    def settle(self, crowd: Crowd) -> tuple[Rows, int]:
        """Find centres for a crowd of rows, wherever they are; return them and the rounds made on all rows."""
        self._validate()
        rng = np.random.default_rng(self.random_state)
        k = number_of_clusters(self.n_clusters, len(crowd))
        sampling = self.max_iter is None and len(crowd) > MANY_ROWS
        n_rounds = self.max_iter if self.max_iter is not None else FINAL_ROUNDS if sampling else ROUNDS
        if k == len(crowd):  # every row is a centre; nothing can be better
            sampling, n_rounds = False, 0
        asked = self._asked(sampling, len(crowd), k, rng)
        centers = crowd.ask(asked, partial(self._start, sampling, k, rng))
        crowd.assign(centers)
        return self._rounds(crowd, centers, n_rounds)

    def predict(self, X: Rows) -> Int32:
        """Return the nearest centre of each row; rows may be new, over the same points."""
        return self.predict_with_distances(X)[0]

    def predict_with_distances(self, X: Rows) -> tuple[Int32, Float64]:
        """Return the nearest centre of each row and its distance."""
        check_is_fitted(self)
        X = check_rows(X, self.ground_.n_points, len(self.ground_.roots))
        return nearest(X, self.centers_, self.ground_, self.n_jobs)

    # ----------------------------------------------------------------------------------------------- inside

    def _validate(self) -> None:
        check_choice("init", self.init, INITS)
        if self.max_iter is not None:
            check_integer("max_iter", self.max_iter)
        check_choice("center", self.center, get_args(Method))

    def _asked(self, sampling: bool, n_rows: int, k: int, rng: np.random.Generator) -> Int64:
        """Return the numbers of the rows from which the first centres are made."""
        if sampling:
            return evenly(n_rows, SAMPLE_ROWS * k)
        return _drawn(n_rows, k, rng) if self.init == "random" else np.arange(n_rows)

    def _start(
        self, sampling: bool, k: int, rng: np.random.Generator, rows: Rows, ground: Ground, weights: Float64
    ) -> Rows:
        """Return the first centres, given the rows that they are made from."""
        if len(rows) == k:
            return rows.measures()
        crowd = HeldCrowd(rows, ground, weights, self.n_jobs)
        if self.init == "random":
            seeds = rows.take(_drawn(len(rows), k, rng)).measures()
        else:
            seeds = _spread_seeds(crowd.search, k, weights, rng)
        if not sampling:
            return seeds
        crowd.assign(seeds)
        report(self.verbose, "  %d rows as a sample", len(rows))
        return self._rounds(crowd, seeds, SAMPLE_ROUNDS)[0]

    def _rounds(self, crowd: Crowd, centers: Rows, n_rounds: int) -> tuple[Rows, int]:
        """Update centres and assignments until nothing changes; return the final centres and the rounds made."""
        by_gain = self.max_iter is None
        least_gain = LEAST_GAIN if by_gain else 0.0
        limit = SUGGESTING if by_gain or len(crowd) > MANY_ROWS else None
        moved = np.zeros(len(centers), bool)
        changes = crowd.sizes.copy()  # rows that came or went since a centre's last update
        solved, done = crowd.n_solved, 0
        before, now = np.inf, crowd.objective
        while done < n_rounds and before - now >= least_gain * now:
            due = _due(moved, changes, crowd.sizes)
            new = _updated(crowd, centers, due, self.center, limit)
            changes[due] = 0
            moved = ~new.same_as(centers)
            if not moved.any():
                if not changes.any():
                    break
                continue
            changed = crowd.reassign(centers, new, moved)
            centers = new
            changes += changed
            before, now = now, crowd.objective
            done += 1
            report(
                self.verbose,
                "  round %d: objective %.6g, %d centres moved, %d rows changed cluster, %.2f exact solves a row",
                done, now, moved.sum(), changed.sum() // 2, (crowd.n_solved - solved) / len(crowd),
            )  # fmt: skip
            solved = crowd.n_solved
        return centers, done


def _drawn(n_rows: int, k: int, rng: np.random.Generator) -> Int64:
    """Draw the numbers of k different rows."""
    return np.sort(rng.choice(n_rows, k, replace=False))


def _due(moved: NDArray[np.bool_], changes: Int64, sizes: Int64) -> NDArray[np.bool_]:
    """Return which centres to update: those on the move, and those of clusters that changed by more than a little.

    A few rows more or less seldom move a centre, and looking for a better one takes all members. When no cluster has
    changed much, the small changes have their turn.
    """
    due = moved | (changes > UPDATE_SHARE * sizes)
    return due if due.any() else changes > 0


def _updated(crowd: Crowd, centers: Rows, due: NDArray[np.bool_], method: str, limit: int | None) -> Rows:
    """Return the centres after one update: better ones where they were due and found, and reseeded empty ones.

    The distances of the rows whose centres were replaced are brought up to date in ``crowd``.
    """
    which = np.flatnonzero(due & (crowd.loads > 0))
    found = crowd.suggest(centers, which, method, limit)
    new = centers.replaced(found, which)
    differs = ~new.same_as(centers)[which]
    which, found = which[differs], found.take(np.flatnonzero(differs))
    cost_before, cost_after = crowd.measure(new, which)
    better = which[cost_after[which] < cost_before[which] * (1 - 1e-12)]
    centers = centers.replaced(found.take(np.searchsorted(which, better)), better)
    crowd.keep(better)
    empty = np.flatnonzero(crowd.sizes == 0)
    if not len(empty):
        return centers
    worst = crowd.worst(len(empty))
    return centers.replaced(worst.measures(), empty[: len(worst)])


def _spread_seeds(search: Search, k: int, weights: Float64, rng: np.random.Generator) -> Rows:
    """Draw rows one after the other, in proportion to their weight times their distance to those drawn before."""
    uniforms, seeds = rng.random(k), np.empty(k, np.int64)
    n_drawn = spread_seeds(
        search.measures.arrays, search.embeddings(SEEDING_PIVOTS), weights, uniforms, search.costs, search.margin,
        seeds, np.empty(len(weights)),
    )  # fmt: skip
    if n_drawn < k:  # every row left coincides with a seed or has no weight
        left = np.setdiff1d(np.arange(len(weights)), seeds[:n_drawn])
        seeds[n_drawn:] = left[: k - n_drawn]
    return search.rows.take(np.sort(seeds)).measures()


def _admitted(rows: Any, ground: Ground | NDArray[Any], root_cost: Any, check: bool) -> tuple[Rows, Ground]:
    """Return rows and costs as the compiled code wants them, after a check that they fit each other."""
    if not isinstance(ground, Ground):
        roots = _equal_roots(rows) if root_cost is None else as_square(root_cost, "root_cost", blank=False)
        ground = Ground(as_square(ground), roots)
    elif not check:
        return rows, ground
    if check:
        check_ground(ground.children)
        check_ground(ground.roots, "root_cost", blank=False)
        if ground.edges is not None:
            check_ground(ground.edges, "edges")
    return check_rows(rows, ground.n_points, len(ground.roots)), ground


def _equal_roots(rows: Any) -> Float64:
    """Return the cost 1 between different roots of these rows."""
    n_roots = int(rows.roots.max(initial=0)) + 1 if isinstance(rows, Rows) else 1
    refuse_beyond_memory(16.0 * n_roots**2, f"the costs between root codes up to {n_roots - 1}", "give root_cost")
    return 1.0 - np.eye(n_roots)


def _weights(rows: Rows, sample_weight: Float64 | None) -> tuple[Float64, float]:
    """Return the weights in units of a power of two, and that unit: sums of the largest numbers would overflow."""
    if sample_weight is None:
        return np.ones(len(rows)), 1.0
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (len(rows),) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"sample_weight must hold {len(rows)} finite numbers >= 0, one for each row")
    exponent = math.frexp(float(weights.max()))[1]
    return np.ldexp(weights, -exponent), math.ldexp(1.0, exponent - 1) * 2.0
