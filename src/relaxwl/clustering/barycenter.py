"""Barycenters: measures with a small sum of transport distances to the members of a cluster; five methods."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from relaxwl._validation import check_choice
from relaxwl.clustering import _compiled
from relaxwl.distances.transport import GroundCost, check_ground
from relaxwl.graphs.arrays import Float64, Int32, Int64, expand_spans, prefix_sums
from relaxwl.unfolding import TreeRows

Center = tuple[Int32, Float64]

# Maximum number of members for which the median also starts from the medoid, so that no member is better.
FEW = 16
# Mass above which the median starts from the rounded optimum of the linear program; maximum number of rounds of moves.
HEAVY, MEDIAN_ROUNDS = 1000.0, 1000
# Regularization of the entropic barycenter in units of the ground cost, and tolerance of its iteration.
REGULARIZATION = 0.05
ENTROPIC_TOLERANCE = 1e-6
# Minimum regularization relative to the largest cost: a weaker one is lost in rounding and takes too many rounds.
FINEST = 2.0**-24
ENTROPIC_ROUNDS = 1000
# Sums below this may have lost terms by underflow; it exceeds the smallest float by more than the precision of a sum.
UNDERFLOW = 1e-280
# Masses below this share of the total are residues of an iteration and are dropped.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class MeasureCluster:
    """Weighted members (rows of a CSR structure) over a ground cost with ⊥ last."""

    members: Int64
    weights: Float64
    indptr: Int64
    points: Int32
    masses: Float64
    ground: GroundCost

    @property
    def arrays(self) -> tuple[Int64, Float64, Int64, Int32, Float64]:
        """The members as arrays for compiled code."""
        return self.members, self.weights, self.indptr, self.points, self.masses

    def mean(self) -> Float64:
        """Return the weighted mean as masses over all points."""
        starts = self.indptr[self.members]
        lengths = self.indptr[self.members + 1] - starts
        entries = expand_spans(starts, lengths)
        sums = np.bincount(
            self.points[entries], np.repeat(self.weights, lengths) * self.masses[entries], self.ground.n_points
        )
        return np.asarray(sums / self.weights.sum(), np.float64)

    def medoid(self) -> Center:
        """Return the member with the smallest weighted sum of distances; ties go to the first by content."""
        spans = [slice(*self.indptr[row : row + 2]) for row in self.members]
        centers = [(self.points[span], self.masses[span]) for span in spans]

        def rank(center: Center) -> tuple[Any, ...]:
            cost = _compiled.center_cost(*self.arrays, *center, self.ground.costs)
            return cost, len(center[0]), list(zip(*(part.tolist() for part in center), strict=True))

        return min(centers, key=rank)

    def compact(self) -> tuple[scipy.sparse.csr_array, Float64, Int64]:
        """Return the members' masses over the points that they use, the ground between these and ⊥, and the points."""
        starts = self.indptr[self.members]
        lengths = self.indptr[self.members + 1] - starts
        entries = expand_spans(starts, lengths)
        support, columns = np.unique(self.points[entries], return_inverse=True)
        shape = (len(self.members), len(support))
        matrix = scipy.sparse.csr_array((self.masses[entries], columns, prefix_sums(lengths)), shape=shape)
        kept = np.append(support, self.ground.n_points)
        return matrix, self.ground.between(kept, kept), support.astype(np.int64)


def transport_barycenter(
    points: Any, ground: ArrayLike, method: str = "median", weights: ArrayLike | None = None
) -> Float64:
    """Return a barycenter: a measure with a small weighted sum of transport distances to the given ones.

    Distances are those of :func:`relaxwl.transport_distance`, where missing mass is added at the blank ⊥, the last
    ground point. So the mass of the barycenter is free. Only points with mass in some measure have mass in the
    barycenter.

    Parameters
    ----------
    points : array or sparse matrix (n, k)
        Measures, one per row: nonnegative masses at the k ground points other than ⊥.
    ground : array (k + 1, k + 1)
        Costs between the points, ⊥ last: a pseudo-metric.
    method : {"median", "lp", "entropic", "medoid", "mean"}, default="median"
        ``"median"`` needs and returns integral masses, so that the barycenter of trees is a tree; it is found by local
        search and is usually optimal. ``"lp"`` is optimal, by linear programming, and slow. ``"entropic"`` regularizes
        the transport (strength 0.05 in units of the ground cost), as is common in the literature. ``"medoid"`` is the
        best of the given measures, ``"mean"`` their mean.
    weights : array (n,), optional
        Weights of the measures, at least 0; all 1 by default.

    Returns
    -------
    barycenter : float64 array (k,)
        Masses.

    See Also
    --------
    relaxwl.transport_distance : The distance that is summed.
    relaxwl.WassersteinKMeans : Clustering around such barycenters.

    Examples
    --------
    Points 0 and 1 are close; ⊥ is far from both. Two of three measures have two units.

    >>> ground = np.array([[0, 1, 3], [1, 0, 3], [3, 3, 0]])
    >>> measures = np.array([[2, 0], [1, 1], [0, 1]])
    >>> transport_barycenter(measures, ground)
    array([1., 1.])
    >>> transport_barycenter(measures, ground, method="mean")
    array([1.        , 0.66666667])
    """
    costs = np.ascontiguousarray(check_ground(ground), np.float64)
    measures = _measures(points, len(costs) - 1)
    n_measures = measures.shape[0]
    importance = np.ones(n_measures) if weights is None else np.asarray(weights, np.float64)
    if importance.shape != (n_measures,) or not (np.isfinite(importance) & (importance >= 0)).all():
        raise ValueError(f"weights must be {n_measures} finite numbers of at least 0, one for each row of points")
    if not importance.any():
        raise ValueError("weights must not all be 0")
    # Only ratios matter. Sums of large weights could overflow, so they are divided by a power of two, which is exact.
    importance = np.ldexp(importance, -math.frexp(float(importance.max()))[1])
    members = np.flatnonzero(importance > 0)
    cluster = MeasureCluster(
        members,
        importance[members],
        measures.indptr.astype(np.int64),
        measures.indices.astype(np.int32),
        measures.data,
        GroundCost(costs, np.zeros((1, 1))),
    )
    center_points, center_masses = SOLVERS[check_choice("method", method, SOLVERS)](cluster)
    barycenter = np.zeros(len(costs) - 1)
    barycenter[center_points] = center_masses
    return barycenter


def better_centers(
    method: str,
    starts: Int64,
    members: Int64,
    weights: Float64,
    rows: TreeRows,
    ground: GroundCost,
    centers: TreeRows,
    span: tuple[int, int],
) -> TreeRows:
    """Return new centers of a span of clusters, for k-means; safe to call from several threads.

    The members of cluster c are ``members[starts[c] : starts[c + 1]]``, all of positive weight. Medians are the present
    centers after their best moves, other centers are recomputed. A new center may be worse; the caller compares them.
    """
    if method == "median":
        costs = _compiled.Costs(ground.costs, ground.root_costs)
        roots, indptr, points, masses = _compiled.better_medians(
            *span, starts, members, weights, rows.arrays, centers.arrays, costs
        )
        return replace(centers, roots=roots, indptr=indptr, points=points, counts=masses)
    parts = []
    for first, last in pairwise(starts[span[0] : span[1] + 1].tolist()):
        own, own_weights = members[first:last], weights[first:last]
        root = int(_compiled.median_root(own, own_weights, rows.roots, ground.root_costs))
        cluster = MeasureCluster(own, own_weights, rows.indptr, rows.points, rows.counts, ground)
        parts.append((root, *SOLVERS[method](cluster)))
    return TreeRows.from_parts(parts, centers.n_children, centers.n_edge_codes)


# ------------------------------------------------------------------------------------------------------ methods


def _mean(cluster: MeasureCluster) -> Center:
    return _sparse(cluster.mean())


def _median(cluster: MeasureCluster) -> Center:
    """Improve the rounded mean by the best moves of units until none helps; with few members, also the medoid."""
    if (cluster.masses != np.rint(cluster.masses)).any():
        raise ValueError(
            "method 'median' needs points with whole-number masses; for real ones use method 'lp', 'entropic' or 'mean'"
        )
    if cluster.masses.max(initial=0) > HEAVY:  # moves of single units would take too long
        points, masses = _lp(cluster)
        starts = [(points, np.rint(masses))]
    else:
        starts = [_sparse(np.rint(cluster.mean()))]
    if len(cluster.members) <= FEW:
        starts.append(cluster.medoid())
    best, least = starts[0], np.inf
    for points, masses in starts:
        for _ in range(MEDIAN_ROUNDS):
            points, masses, saved = _compiled.best_moves(*cluster.arrays, points, masses, cluster.ground.costs)
            if saved <= 0:
                break
        cost = _compiled.center_cost(*cluster.arrays, points, masses, cluster.ground.costs)
        if cost < least:
            best, least = (points, masses), cost
    return best


def _lp(cluster: MeasureCluster) -> Center:
    """Solve the linear program of the barycenter.

    Variables are the masses b of the barycenter and x[i, q, p], the mass that member i sends from q to p. All other
    mass of a member goes to ⊥, and all other mass of the barycenter comes from ⊥, so its mass is not limited. With both
    included in the objective, x[i, q, p] saves ``M[q, ⊥] + M[⊥, p] - M[q, p]``. Arcs that save nothing are left out,
    because the path through ⊥ is as good.
    """
    matrix, ground, support = cluster.compact()
    n_points = len(support)
    deleting = ground[:-1, -1]
    detours = deleting[:, None] + deleting
    savings = detours - ground[:-1, :-1]
    useful, targets = np.nonzero(savings > 1e-12 * detours)
    if matrix.nnz == 0 or len(useful) == 0:
        return np.empty(0, np.int32), np.empty(0)
    arcs_of = np.searchsorted(useful, np.arange(n_points + 1))
    entries = np.repeat(np.arange(matrix.nnz), np.diff(arcs_of)[matrix.indices])
    arcs = expand_spans(arcs_of[matrix.indices], np.diff(arcs_of)[matrix.indices])
    member = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[entries]
    costs = np.concatenate(
        [deleting * cluster.weights.sum(), -cluster.weights[member] * savings[useful[arcs], targets[arcs]]]
    )
    # Rows of the program: the mass of a member at a point; the mass of the barycenter at a point, for every member.
    n_arcs, columns = len(arcs), n_points + np.arange(len(arcs))
    received, inverse = np.unique(member * n_points + targets[arcs], return_inverse=True)
    rows = np.concatenate([entries, matrix.nnz + inverse, matrix.nnz + np.arange(len(received))])
    values = np.concatenate([np.ones(2 * n_arcs), -np.ones(len(received))])
    constraints = scipy.sparse.csr_array(
        (values, (rows, np.concatenate([columns, columns, received % n_points]))),
        shape=(matrix.nnz + len(received), n_points + n_arcs),
    )
    # HiGHS has absolute tolerances, so costs and masses are scaled to about 1.
    unit = matrix.data.mean()
    limits = np.concatenate([matrix.data / unit, np.zeros(len(received))])
    solution: Any = linprog(  # type: ignore[call-overload]
        costs / np.abs(costs).max(), A_ub=constraints, b_ub=limits, bounds=(0, None), method="highs"
    )
    if solution.status != 0:
        raise RuntimeError(f"the linear program of a barycenter was not solved: {solution.message}")
    return _sparse(solution.x[:n_points] * unit, support)


def _entropic(cluster: MeasureCluster, regularization: float = REGULARIZATION) -> Center:
    """Return the entropic barycenter by iterative Bregman projections.

    All members are padded at ⊥ to the same total, the larger of the greatest mass and twice the mean mass: the former
    so that all members fit, the latter so that an exact barycenter fits. The regularization is doubled if numbers
    overflow in spite of logarithms.
    """
    matrix, ground, support = cluster.compact()
    unit = math.ldexp(1.0, math.frexp(float(matrix.data.max(initial=0)))[1] - 1)
    dense = matrix.toarray() / unit
    sums = dense.sum(axis=1)
    total = max(float(sums.max()), 2 * float(np.average(sums, weights=cluster.weights)))
    if total == 0:
        return np.empty(0, np.int32), np.empty(0)
    histograms = np.column_stack([dense, total - sums]) / total
    weights = cluster.weights / cluster.weights.sum()
    largest = float(ground.max())
    regularization = max(regularization, FINEST * largest)
    while regularization <= largest or regularization == REGULARIZATION:
        barycenter = bregman_barycenter(histograms, ground, regularization, weights)
        if abs(barycenter.sum() - 1) < 0.1:  # not if numbers were lost or are NaN
            return _sparse(barycenter[:-1] * (total * unit), support)
        regularization *= 2
    raise RuntimeError(f"the entropic barycenter of costs up to {largest:g} was not found; use method 'lp' or 'median'")


def bregman_barycenter(
    histograms: Float64,
    costs: Float64,
    regularization: float,
    weights: Float64,
    tolerance: float = ENTROPIC_TOLERANCE,
    max_rounds: int = ENTROPIC_ROUNDS,
) -> Float64:
    """Return the entropic barycenter of histograms of sum 1, one per row; NaN where numbers overflow.

    Iterative Bregman projections in the logarithmic domain: scalings alternate between the histograms and their common
    other marginal, which is the weighted geometric mean. The regularization starts larger and is decreased to its final
    value, which needs far fewer rounds and converges to the same result. The iteration ends when no marginal is farther
    from the barycenter than the tolerance (sum of differences), or after ``max_rounds``.
    """
    strengths = [max(regularization, float(costs.max()) / 8)]
    while strengths[-1] > regularization:
        strengths.append(max(strengths[-1] / 4, regularization))
    potentials = np.zeros_like(histograms)  # regularization times logarithms of scalings
    barycenter = np.full(histograms.shape[1], np.nan)
    with np.errstate(all="ignore"):
        log_histograms = np.log(histograms)
        for strength in strengths:
            log_kernel = -costs / strength
            kernel = np.exp(log_kernel)
            scalings = potentials / strength
            for _ in range(max_rounds if strength == regularization else max_rounds // 20):
                reached = _log_products(scalings, log_kernel, kernel)
                sent = _log_products(log_histograms - reached, log_kernel, kernel)
                marginals = scalings + sent
                log_barycenter = weights @ marginals
                scalings = log_barycenter - sent
                barycenter = np.exp(log_barycenter)
                error = np.abs(np.exp(marginals) - barycenter).sum(axis=1).max()
                if not error > tolerance:
                    break
            potentials = scalings * strength
    return barycenter


def _log_products(logs: Float64, log_kernel: Float64, kernel: Float64) -> Float64:
    """Return log(exp(logs) @ kernel), for any size of the logarithms (the kernel is symmetric).

    The plain product is correct unless it underflows; entries that do are summed separately, relative to their maxima.
    """
    peaks = logs.max(axis=1, keepdims=True)
    products = np.exp(logs - peaks) @ kernel
    out: Float64 = np.log(products) + peaks
    low_rows, low_columns = np.nonzero(products < UNDERFLOW)
    block = max(1, (1 << 22) // logs.shape[1])
    for start in range(0, len(low_rows), block):
        rows, columns = low_rows[start : start + block], low_columns[start : start + block]
        terms = logs[rows] + log_kernel[columns]
        top = terms.max(axis=1)
        out[rows, columns] = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
    return out


def _measures(points: Any, n_points: int) -> Any:
    """Return the measures as a canonical CSR array of positive float64 masses; invalid ones raise an error."""
    array: Any = points if scipy.sparse.issparse(points) else np.asarray(points)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"points must be real numbers, not dtype {array.dtype}")
    if array.ndim != 2 or array.shape[1] != n_points:
        raise ValueError(
            f"points must have shape (n, {n_points}), one mass for each ground point other than ⊥, not {array.shape}"
        )
    if array.shape[0] == 0:
        raise ValueError("points must have at least one row: the barycenter of an empty set is not defined")
    measures: Any = scipy.sparse.csr_array(array, dtype=np.float64, copy=True)
    measures.sum_duplicates()
    measures.eliminate_zeros()
    wrong = np.flatnonzero(~(np.isfinite(measures.data) & (measures.data > 0)))
    if len(wrong):
        row = int(np.searchsorted(measures.indptr, wrong[0], side="right")) - 1
        raise ValueError(f"points must be finite masses of at least 0, not {measures.data[wrong[0]]} in row {row}")
    return measures


def _sparse(masses: Float64, support: Int64 | None = None) -> Center:
    """Return the points (those of ``support``, if given) with non-negligible mass, and their masses."""
    kept = np.flatnonzero(masses > NEGLIGIBLE * masses.sum())
    return (kept if support is None else support[kept]).astype(np.int32), masses[kept]


SOLVERS: dict[str, Callable[[MeasureCluster], Center]] = {
    "median": _median, "lp": _lp, "entropic": _entropic, "medoid": MeasureCluster.medoid, "mean": _mean,
}  # fmt: skip
