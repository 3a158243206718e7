"""Wasserstein k-means on rows: exact assignments, centres that minimise the sum of distances."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from relaxwl._execution import map_chunks
from relaxwl._progress import report
from relaxwl._validation import check_choice, check_integer
from relaxwl.clustering._search_compiled import ABANDONED, SOLVED, spread_seeds
from relaxwl.clustering.barycenter import CenterUpdate, Method, center_update
from relaxwl.clustering.nearest import Search, evenly, nearest
from relaxwl.distances.ground import Ground
from relaxwl.distances.transport import as_square, check_ground
from relaxwl.graphs.arrays import Float64, Int32, Int64
from relaxwl.unfolding import Rows, check_rows

NumberOfClusters = int | float | str | Callable[[int], int]
Part = tuple[int, Int32, Float64]
INITS = ("auto", "sample", "random", "k-means++")
# A sample has so many rows for each cluster, and is clustered in so many rounds.
SAMPLE_ROWS = 16
SAMPLE_ROUNDS = 4
# Rounds on all rows where max_iter does not say: after a sample of many rows, and else.
FINAL_ROUNDS = 2
ROUNDS = 8
MANY_ROWS = 4096
# After a sample so many members, evenly spread, suggest a better centre; all of them judge it.
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
        How centres are found; see :func:`relaxwl.transport_barycenter`.
    init : {"auto", "sample", "random", "k-means++"}
        Seeds are rows, drawn uniformly ("random") or by their distance to the seeds before ("k-means++"). With "sample"
        a few rows for each cluster, evenly spread over the canonical order, are clustered first, from seeds of the
        second kind, and their centres are the start: lower sums of distances in less time. "auto" is "sample", or
        "random" where ``max_iter`` is 0: one assignment and nothing else.
    max_iter : int, optional
        Rounds of updating and assigning on all rows after the first assignment. By default 8, or 2 after a sample of
        more than 4,096 rows.
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
        init: str = "auto",
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
        weights, unit = _weights(X, sample_weight)
        rng = np.random.default_rng(self.random_state)
        k = number_of_clusters(self.n_clusters, len(X))
        search = Search(X, self.ground_, self.n_jobs)
        init, n_rounds = self._course(len(X))
        if k == len(X):  # every row is a centre; nothing can be better
            init, n_rounds = "rows", 0
        centers = self._start(init, search, k, weights, rng)
        search.assign(centers)
        limit = SUGGESTING if init == "sample" else None
        centers, self.n_iter_ = self._rounds(search, centers, weights, n_rounds, limit)
        self.centers_, self.labels_, self.distances_ = centers, search.labels, search.distances
        self.inertia_ = float(weights @ search.distances) * unit
        solved, abandoned = search.counters[[SOLVED, ABANDONED]]
        self.n_solves_, self.n_abandoned_, self.n_measured_ = (
            int(count) / len(X) / (self.n_iter_ + 1) for count in (solved, abandoned, search.n_measured)
        )
        return self

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

    def _course(self, n_rows: int) -> tuple[str, int]:
        """Return where to start and how many rounds to make."""
        init = self.init
        if init == "auto":
            init = "random" if self.max_iter == 0 else "sample"
        if self.max_iter is not None:
            return init, int(self.max_iter)
        return init, FINAL_ROUNDS if init == "sample" and n_rows > MANY_ROWS else ROUNDS

    def _start(self, init: str, search: Search, k: int, weights: Float64, rng: np.random.Generator) -> Rows:
        """Return the first centres."""
        rows = search.rows
        if init == "rows":
            return rows.measures()
        if init == "random":
            return rows.take(np.sort(rng.choice(len(rows), k, replace=False))).measures()
        if init == "k-means++":
            return _spread_seeds(search, k, weights, rng)
        sample = evenly(len(rows), SAMPLE_ROWS * k)
        part = Search(rows.take(sample), search.ground, search.n_jobs)
        seeds = _spread_seeds(part, k, weights[sample], rng)
        part.assign(seeds)
        report(self.verbose, "  %d of %d rows as a sample", len(sample), len(rows))
        return self._rounds(part, seeds, weights[sample], SAMPLE_ROUNDS)[0]

    def _rounds(
        self, search: Search, centers: Rows, weights: Float64, n_rounds: int, limit: int | None = None
    ) -> tuple[Rows, int]:
        """Update centres and assignments until nothing changes; return the final centres and the rounds made."""
        update = partial(_new_center, search, weights, center_update(self.center), limit)
        k = len(centers)
        moved = np.zeros(k, bool)
        changes = np.bincount(search.labels, minlength=k)  # rows that came or went since a centre's last update
        solved, done = int(search.counters[SOLVED]), 0
        while done < n_rounds:
            due = _due(moved, changes, np.bincount(search.labels, minlength=k))
            distances_before = search.distances.copy()
            new = _updated(search, centers, weights, due, update)
            changes[due] = 0
            moved = ~new.same_as(centers)
            if not moved.any():
                if not changes.any():
                    break
                continue
            before = search.labels.copy()
            _reassign(search, centers, new, moved, search.distances > distances_before + search.tolerance)
            centers = new
            changed = before != search.labels
            changes += np.bincount(before[changed], minlength=k) + np.bincount(search.labels[changed], minlength=k)
            done += 1
            report(
                self.verbose,
                "  round %d: objective %.6g, %d centres moved, %d rows changed cluster, %.2f exact solves a row",
                done, weights @ search.distances, moved.sum(), changed.sum(),
                (int(search.counters[SOLVED]) - solved) / len(search.rows),
            )  # fmt: skip
            solved = int(search.counters[SOLVED])
        return centers, done


def _due(moved: NDArray[np.bool_], changes: Int64, sizes: Int64) -> NDArray[np.bool_]:
    """Return which centres to update: those on the move, and those of clusters that changed by more than a little.

    A few rows more or less seldom move a centre, and looking for a better one takes all members. When no cluster has
    changed much, the small changes have their turn.
    """
    due = moved | (changes > UPDATE_SHARE * sizes)
    return due if due.any() else changes > 0


def _updated(
    search: Search, centers: Rows, weights: Float64, due: NDArray[np.bool_], update: Callable[..., Part]
) -> Rows:
    """Return the centres after one update: better ones where they were due and found, and reseeded empty ones.

    The distances of the rows whose centres were replaced are brought up to date in ``search``.
    """
    clusters = _members(search.labels, len(centers))
    which = np.flatnonzero(due & (np.bincount(search.labels, weights, minlength=len(centers)) > 0))
    # Large clusters first, so that no worker is left with one at the end.
    largest_first = np.argsort([-len(clusters[cluster]) for cluster in which], kind="stable")
    tasks = [(clusters[cluster], centers.row(cluster)) for cluster in which[largest_first]]
    made = map_chunks(update, tasks, search.n_jobs)
    parts = [made[place] for place in np.argsort(largest_first)]
    found = Rows.from_parts(parts, centers.n_children, centers.n_edge_codes)
    new = centers.replaced(found, which)
    differs = ~new.same_as(centers)[which]
    which, found = which[differs], found.take(np.flatnonzero(differs))
    members = np.concatenate([np.empty(0, np.int64), *(clusters[c] for c in which)])
    measured = search.measure(new, members)
    cost_before = np.bincount(search.labels, weights * search.distances, minlength=len(centers))
    cost_after = np.bincount(search.labels, weights * measured, minlength=len(centers))
    better = which[cost_after[which] < cost_before[which] * (1 - 1e-12)]
    centers = centers.replaced(found.take(np.searchsorted(which, better)), better)
    improved = np.isin(search.labels, better)
    search.distances[improved] = measured[improved]
    empty = np.array([c for c in range(len(centers)) if not len(clusters[c])], np.int64)
    return _reseeded(search, centers, weights, empty)


def _members(labels: Int32, k: int) -> list[Int64]:
    """Return the row numbers of each cluster, ascending."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, k)))


def _new_center(
    search: Search, weights: Float64, update: CenterUpdate, limit: int | None, task: tuple[Int64, Part]
) -> Part:
    """Return a new centre of a cluster: the 1-median of the roots, and what ``update`` makes of the children.

    ``task`` is the members and the present centre. Of more than ``limit`` members some are taken, evenly spread.
    """
    members, (_, points, masses) = task
    if limit is not None and len(members) > limit:
        members = members[weights[members] > 0]
        members = members[evenly(len(members), limit)]
    rows, weight = search.rows, weights[members]
    root = _median_root(rows.roots[members], weight, search.ground.roots)
    points, masses = update(members, weight, rows.indptr, rows.points, search.masses, search.ground, points, masses)
    return root, points, masses


def _median_root(roots: Int32, weights: Float64, root_cost: Float64) -> int:
    """Return the root with the smallest weighted sum of costs to all roots; the lowest of equals."""
    if (roots == roots[0]).all():
        return int(roots[0])
    root_weights = np.bincount(roots, weights, minlength=len(root_cost))
    used = np.flatnonzero(root_weights)
    return int(used[np.argmin(root_cost[np.ix_(used, used)] @ root_weights[used])])


def _reseeded(search: Search, centers: Rows, weights: Float64, empty: Int64) -> Rows:
    """Move the centres of empty clusters to the rows that are served worst, if any is not served perfectly."""
    if not len(empty):
        return centers
    loss = np.where(search.distances > search.tolerance, weights * search.distances, 0.0)
    worst = np.lexsort((np.arange(len(search.rows)), -loss))[: len(empty)]
    worst = worst[loss[worst] > 0]
    return centers.replaced(search.rows.take(worst).measures(), empty[: len(worst)])


def _reassign(search: Search, old: Rows, new: Rows, moved: NDArray[np.bool_], grown: NDArray[np.bool_]) -> None:
    """Bring the assignment up to date after some centres moved, looking only where something can have changed.

    A row whose own distance did not grow can only be won by a centre that moved. A row whose bound on all other
    centres, lessened by the farthest move, stays above its own distance keeps its centre.
    """
    shifts = search.shifts(old, new)
    farthest = np.argsort(-shifts)[:2]
    other_shift = np.full(len(search.rows), shifts[farthest[0]])
    other_shift[search.labels == farthest[0]] = shifts[farthest[-1]] if len(farthest) > 1 else 0.0
    safe = search.others - other_shift > search.distances + search.tolerance
    whole = np.flatnonzero(~safe & grown)
    partly = np.flatnonzero(~safe & ~grown)
    bound_on_unmoved = search.others[partly]
    search.others[safe] -= other_shift[safe]
    search.assign(new, whole)
    search.assign(new, partly, moved)
    search.others[partly] = np.minimum(search.others[partly], bound_on_unmoved)


def _spread_seeds(search: Search, k: int, weights: Float64, rng: np.random.Generator) -> Rows:
    """Draw rows one after the other, in proportion to their weight times their distance to those drawn before."""
    uniforms, seeds = rng.random(k), np.empty(k, np.int64)
    n_drawn = spread_seeds(
        search.measures.arrays, search.embeddings(SEEDING_PIVOTS), weights, uniforms, search.costs, search.tolerance,
        seeds, np.empty(len(weights)),
    )  # fmt: skip
    if n_drawn < k:  # every row left coincides with a seed or has no weight
        left = np.setdiff1d(np.arange(len(weights)), seeds[:n_drawn])
        seeds[n_drawn:] = left[: k - n_drawn]
    return search.rows.take(np.sort(seeds)).measures()


def _admitted(rows: Any, ground: Ground | NDArray[Any], root_cost: Any, check: bool) -> tuple[Rows, Ground]:
    """Return rows and costs as the compiled code wants them, after a check that they fit each other."""
    if not isinstance(ground, Ground):
        n_roots = int(rows.roots.max(initial=0)) + 1 if isinstance(rows, Rows) else 1
        roots = 1.0 - np.eye(n_roots) if root_cost is None else as_square(root_cost, "root_cost", blank=False)
        ground = Ground(as_square(ground), roots)
    elif not check:
        return rows, ground
    if check:
        check_ground(ground.children)
        check_ground(ground.roots, "root_cost", blank=False)
        if ground.edges is not None:
            check_ground(ground.edges, "edges")
    return check_rows(rows, ground.n_points, len(ground.roots)), ground


def _weights(rows: Rows, sample_weight: Float64 | None) -> tuple[Float64, float]:
    """Return the weights in units of a power of two, and that unit: sums of the largest numbers would overflow."""
    if sample_weight is None:
        return np.ones(len(rows)), 1.0
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (len(rows),) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"sample_weight must hold {len(rows)} finite numbers >= 0, one for each row")
    exponent = math.frexp(float(weights.max()))[1]
    return np.ldexp(weights, -exponent), math.ldexp(1.0, exponent - 1) * 2.0
