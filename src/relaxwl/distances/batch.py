"""Exact transport distances of many measures over one ground: all pairs, listed pairs, nearest measures.

All measures become rows without roots (:class:`relaxwl.unfolding.TreeRows`), so that pairs are solved as those of trees
are. Balanced problems get a point ⊥ that is never used, except for differences of the masses by rounding.
"""

from functools import partial
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from relaxwl._execution import spans
from relaxwl._memory import check_memory
from relaxwl._validation import check_integer
from relaxwl.distances import _compiled
from relaxwl.distances.pairwise import distance_dtype, fill_symmetric, paired_distances, row_distances, run_tasks
from relaxwl.distances.transport import GroundCost, as_square, check_ground, is_whole
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.unfolding import TreeRows

# Relative difference up to which the masses of a balanced problem are equal.
BALANCE = 1e-9
# Largest mass of a point that is counted in whole units.
MAX_UNITS = float(np.iinfo(np.int32).max)
# Number of rows per task of the search for nearest rows, and of functions by which distances are bounded.
CHUNK_QUERIES, N_PIVOTS = 16, 16


def transport_distances(
    X: Any,
    Y: Any = None,
    ground: ArrayLike | None = None,
    *,
    pairs: ArrayLike | None = None,
    return_plans: bool = False,
    check: bool = True,
    n_jobs: int | None = None,
) -> Any:
    """Return the exact costs of turning measures into others, for all pairs or listed ones.

    Parameters
    ----------
    X : array (n, k), or sparse array
        A measure in each row: its masses at k points of ``ground``, nonnegative, with a finite sum.
    Y : array (m, k), or sparse array, optional
        Other measures; by default those of ``X``, and each pair is computed once.
    ground : array (k + 1, k + 1) or (k, k), default=None
        Must be given: the costs between the points, symmetric, zero on the diagonal, with the triangle inequality.
        Different points may be at distance zero. With k + 1 points the last one is the blank ⊥, at which the lighter
        measure of a pair is padded; with k points the problems are balanced: the two measures of a pair must have the
        same mass.
    pairs : int array (n_pairs, 2), optional
        Pairs (row of X, row of Y) to compute; by default all.
    return_plans : bool, default=False
        Return the transport plans as well, which needs ``pairs``.
    check : bool, default=True
        Check that ``ground`` is a pseudo-metric, which takes about k³ steps. The result is wrong otherwise.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    distances : float64 array (n, m), or (n_pairs,) with ``pairs``
        Exact for whole masses and costs if the total mass times the largest cost is below 2**50. Otherwise correct up
        to rounding, which is about 1e-15 of the mass moved times the largest cost.
    plans : list of sparse arrays, only with ``return_plans``
        For each pair, the mass moved from each point (row) to each point (column), of the shape of ``ground``. Mass
        that both have at a point is on the diagonal.

    See Also
    --------
    transport_nearest : The nearest measures only, much faster.
    transport_distance : One pair.

    Notes
    -----
    Masses of a balanced pair that differ by less than one part in 10**9 are taken as equal; the difference is moved at
    half the largest cost. Pairs of few units of mass are matched hundreds at a time, other small ones are solved by
    shortest augmenting paths, large ones by the network simplex method.

    Examples
    --------
    Points 0 and 1 are close; ⊥ is far from both.

    >>> ground = np.array([[0, 1, 3], [1, 0, 3], [3, 3, 0]])
    >>> transport_distances([[2, 0], [1, 1], [0, 1]], ground=ground)
    array([[0., 1., 4.],
           [1., 0., 3.],
           [4., 3., 0.]])

    Without ⊥, masses must be equal:

    >>> distances, plans = transport_distances(
    ...     [[0.5, 0.5]], [[1, 0], [0, 1]], [[0, 1], [1, 0]], pairs=[(0, 1)], return_plans=True
    ... )
    >>> distances
    array([0.5])
    >>> plans[0].toarray()
    array([[0. , 0.5],
           [0. , 0.5]])
    """
    problem = _problem(("X", X), ("Y", X if Y is None else Y), ground, check)
    x, y, costs, _, _ = problem
    if pairs is not None:
        listed = checked_pairs(pairs, len(x), len(y))
        _check_balance(problem, listed[:, 0], listed[:, 1])
        if not return_plans:
            return paired_distances(x.measures(), y.measures(), listed, costs, n_jobs, watched=True)
        found = [_plan(problem, i, j) for i, j in listed.tolist()]
        return np.array([distance for distance, _ in found]), [plan for _, plan in found]
    if return_plans:
        raise ValueError("return_plans needs pairs, because the plans of all pairs fill the memory; list those needed")
    _check_balance(problem, np.zeros(len(y), np.int64), np.arange(len(y)))
    _check_balance(problem, np.arange(len(x)), np.zeros(len(x), np.int64))
    check_memory(9.0 * len(x) * len(y), "the distances of all pairs", "list the pairs that are needed (pairs)")
    if Y is not None:
        return np.ascontiguousarray(row_distances(x, y, costs, n_jobs, watched=True), np.float64)
    dtype = distance_dtype(costs, float(x.masses.max(initial=0))) if x.counts.dtype.kind == "i" else np.dtype(float)
    distances = np.empty((len(x), len(x)), dtype)
    fill_symmetric(x, costs.in_type(dtype), distances, n_jobs, watched=True)
    return distances.astype(np.float64, copy=False)


def transport_nearest(
    X: Any, Y: Any, ground: ArrayLike, k: int = 1, *, check: bool = True, n_jobs: int | None = None
) -> tuple[Float64, Int64]:
    """Return the k nearest measures of each measure, exactly, without computing all distances.

    Bounds of all distances are computed first: the mass of a measure is moved from the nearest points of the other, and
    sums of 1-Lipschitz functions. Pairs are then solved in ascending order of their bounds, each until it is known to
    be farther than the k-th best.

    Parameters
    ----------
    X : array (n, p), or sparse array
        Measures whose neighbors are searched, as in :func:`transport_distances`.
    Y : array (m, p), or sparse array
        Measures among which they are searched.
    ground : array (p + 1, p + 1) or (p, p)
        Costs between the points, as in :func:`transport_distances`.
    k : int, default=1
        Number of neighbors, at most m.
    check : bool, default=True
        Check that ``ground`` is a pseudo-metric.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    distances : float64 array (n, k)
        Distances of the neighbors, ascending.
    indices : int64 array (n, k)
        The neighbors, as rows of Y; of equally near ones, the first.

    See Also
    --------
    transport_distances : All distances.

    Examples
    --------
    >>> ground = np.array([[0, 1, 3], [1, 0, 3], [3, 3, 0]])
    >>> transport_nearest([[2, 0]], [[0, 1], [1, 1], [0, 3]], ground, k=2)
    (array([[1., 4.]]), array([[1, 0]]))
    """
    problem = _problem(("X", X), ("Y", Y), ground, check)
    _check_balance(problem, np.zeros(len(problem.y), np.int64), np.arange(len(problem.y)))
    _check_balance(problem, np.arange(len(problem.x)), np.zeros(len(problem.x), np.int64))
    return nearest_rows(
        problem.x, problem.y, problem.padded, check_integer("k", k, least=1, most=len(problem.y)), n_jobs
    )


def nearest_rows(
    x: TreeRows, y: TreeRows, ground: NDArray[Any], k: int, n_jobs: int | None = None
) -> tuple[Float64, Int64]:
    """Return distances and numbers of the k nearest rows of ``y``, without roots, for each row of ``x``."""
    n_points = len(ground) - 1
    # Each column is 1-Lipschitz by the triangle inequality, and 0 at ⊥: no gap between sums exceeds the distance.
    pivots = np.unique(np.linspace(0, n_points, min(N_PIVOTS, n_points + 1)).astype(np.int64))
    functions = ground[:, pivots].astype(np.float64)
    functions = functions[:-1] - functions[-1]
    sides = []
    for rows in (x, y):
        masses = scipy.sparse.csr_array((rows.counts, rows.points, rows.indptr), shape=(len(rows), n_points))
        values = np.ascontiguousarray(masses @ functions)
        sides.append(_compiled.Measures(rows.indptr, rows.points, rows.counts.astype(np.float64), values))
    distances, numbers = np.full((len(x), k), np.inf), np.full((len(x), k), len(y), np.int64)
    found, largest = _compiled.Found(distances, numbers), float(ground.max())

    def search(span: tuple[int, int]) -> None:
        _compiled.nearest_rows(*span, *sides, ground, largest, found)

    run_tasks([partial(search, span) for span in spans(len(x), CHUNK_QUERIES)], n_jobs, watched=True)
    return distances, numbers


@overload
def transport_distance(
    x: Any, y: Any, ground: ArrayLike, return_plan: Literal[False] = False, check: bool = True
) -> float: ...
@overload
def transport_distance(
    x: Any, y: Any, ground: ArrayLike, return_plan: Literal[True], check: bool = True
) -> tuple[float, scipy.sparse.csr_array]: ...
def transport_distance(
    x: Any, y: Any, ground: ArrayLike, return_plan: bool = False, check: bool = True
) -> float | tuple[float, scipy.sparse.csr_array]:
    """Return the exact cost of turning one measure into another.

    The measure with smaller mass is padded at the blank ⊥, the last ground point, and the optimal transport is
    computed. This is a metric on measures of any total mass if ``ground`` is a metric on points.

    Parameters
    ----------
    x, y : array of length k, or sparse row vector
        Masses at k ground points: nonnegative, with a finite sum.
    ground : array (k + 1, k + 1) or (k, k)
        Costs between the points: symmetric, zero on the diagonal, with the triangle inequality. Different points may be
        at distance zero. With k + 1 points the last one is ⊥; with k points both measures must have the same mass.
    return_plan : bool, default=False
        Return the transport plan as well.
    check : bool, default=True
        Check that ``ground`` is a pseudo-metric, which takes about k³ steps. The result is wrong otherwise.

    Returns
    -------
    distance : float
        Exact for integral masses and costs if the total mass times the largest cost is below 2**50. Otherwise correct
        up to rounding, which is about 1e-15 of the mass moved times the largest cost.
    plan : sparse array of the shape of ``ground``, only with ``return_plan``
        Mass moved from each point (row) to each point (column). Row sums are x and column sums are y, each followed by
        the mass that was added at ⊥. Mass that both have at a point is on the diagonal.

    See Also
    --------
    transport_distances : Many pairs at once.
    transport_barycenter : The measure with the smallest sum of distances to given ones.

    Examples
    --------
    Points 0 and 1 are close; ⊥ is far from both.

    >>> ground = np.array([[0, 1, 3], [1, 0, 3], [3, 3, 0]])
    >>> transport_distance([2, 0], [1, 1], ground)
    1.0
    >>> distance, plan = transport_distance([2, 0], [0, 1], ground, return_plan=True)
    >>> distance
    4.0
    >>> plan.toarray()
    array([[0., 1., 1.],
           [0., 0., 0.],
           [0., 0., 0.]])
    """
    problem = _problem(("x", _one_row("x", x)), ("y", _one_row("y", y)), ground, check)
    first = np.zeros(1, np.int64)
    _check_balance(problem, first, first)
    if return_plan:
        return _plan(problem, 0, 0)
    measures = problem.x.points, problem.x.measures().counts, problem.y.points, problem.y.measures().counts
    return float(_compiled.pair_distance(*measures, problem.padded, np.inf))


def _one_row(name: str, masses: Any) -> Any:
    """Return a vector of masses as the only row of a table."""
    if not scipy.sparse.issparse(masses):
        if np.ndim(masses) != 1:
            raise ValueError(f"{name} must be one vector of masses, not of shape {np.shape(masses)}")
        return np.asarray(masses)[None]
    sparse: Any = masses
    if sparse.ndim == 2 and sparse.shape[0] != 1:
        raise ValueError(f"{name} must be one sparse row vector, not of shape {sparse.shape}")
    return sparse.reshape(1, -1)


class _Problem(NamedTuple):
    """Measures as rows, and the costs between points, ⊥ last.

    ``padded`` are the costs as an array; ``size`` is the number of points that were given, one less than its length if
    the problem is balanced.
    """

    x: TreeRows
    y: TreeRows
    costs: GroundCost
    padded: Float64
    size: int


def _problem(x: tuple[str, Any], y: tuple[str, Any], ground: ArrayLike | None, check: bool) -> _Problem:
    """Check measures (name, masses) and the ground."""
    if ground is None:
        raise ValueError("ground must be given: the costs between the points, with ⊥ last unless masses are equal")
    costs = as_square(ground)
    size = len(costs)
    rows = _rows(*x, size)
    if rows.n_children == size:  # balanced: a point ⊥ as far from all others as the triangle inequality allows
        costs = np.pad(check_ground(ground, blank=False) if check else costs, (0, 1), constant_values=costs.max() / 2)
        costs[-1, -1] = 0.0
    elif check:
        costs = check_ground(ground)
    others = rows if y[1] is x[1] else _rows(*y, size, rows.n_children)
    with np.errstate(over="ignore"):
        most = sum(float(each.masses.max(initial=0)) for each in (rows, others)) * max(1.0, float(costs.max()))
    if not np.isfinite(most):
        names = f"{x[0]} and {y[0]}"
        raise ValueError(f"the mass of {names} together, also times the largest cost, must be finite; scale it down")
    return _Problem(rows, others, GroundCost(costs, np.zeros((1, 1))), costs, size)


def _rows(name: str, masses: Any, size: int, expected: int | None = None) -> TreeRows:
    """Return the measures as rows with whole counts, if all are whole numbers, or real masses."""
    table: Any = masses if scipy.sparse.issparse(masses) else np.asarray(masses)
    if table.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be real numbers, not dtype {table.dtype}")
    if table.ndim != 2:
        raise ValueError(f"{name} must have one row of masses for each measure, not the shape {table.shape}")
    n_points = table.shape[1]
    if n_points != expected and (expected is not None or n_points not in (size - 1, size)):
        points = f"the {size - 1} points other than ⊥" if expected is None else f"{expected} points"
        note = f"ground has {size} points, with ⊥ last, or without ⊥ if all masses are equal"
        raise ValueError(f"{name} must have one mass for each of {points}, not {n_points}; {note}")
    table = scipy.sparse.csr_array(table, dtype=np.float64, copy=True)
    table.sum_duplicates()  # also sorts
    wrong = np.flatnonzero(~(np.isfinite(table.data) & (table.data >= 0)))
    if len(wrong):
        place = f"point {table.indices[wrong[0]]}"
        raise ValueError(f"{name} must be finite masses of at least 0, not {table.data[wrong[0]]} at {place}")
    table.eliminate_zeros()
    whole = is_whole(table.data) and table.data.max(initial=0) <= MAX_UNITS
    counts = table.data.astype(np.int32) if whole else table.data
    roots = np.zeros(table.shape[0], np.int32)
    return TreeRows(roots, table.indptr.astype(np.int64), table.indices.astype(np.int32), counts, n_points)


def _check_balance(problem: _Problem, first: Int64, second: Int64) -> None:
    """Raise an error if the masses of a pair of rows differ in a balanced problem."""
    if len(problem.padded) == problem.size or not (len(problem.x) and len(problem.y)):
        return
    a, b = problem.x.masses[first], problem.y.masses[second]
    unequal = np.flatnonzero(np.abs(a - b) > BALANCE * np.maximum(a, b))
    if len(unequal):
        i, j = first[unequal[0]], second[unequal[0]]
        raise ValueError(
            f"a ground without ⊥ needs equal masses, but row {i} of the first has mass {a[unequal[0]]} and row "
            f"{j} of the second {b[unequal[0]]}; divide each row by its sum, or add the costs of ⊥ as the last row "
            "and column of ground"
        )


def checked_pairs(pairs: ArrayLike, n_rows: int, n_others: int) -> Int64:
    """Return pairs of numbers below the two sizes, int64 (n, 2)."""
    listed = np.asarray(pairs)
    if listed.size == 0:
        return np.empty((0, 2), np.int64)
    if listed.ndim != 2 or listed.shape[1] != 2 or listed.dtype.kind not in "iu":
        raise ValueError(f"pairs must be whole numbers of shape (n, 2), not of shape {listed.shape}, {listed.dtype}")
    wrong = np.flatnonzero(((listed < 0) | (listed >= [n_rows, n_others])).any(axis=1))
    if len(wrong):
        i, j = listed[wrong[0]].tolist()
        raise ValueError(f"pairs[{wrong[0]}] = ({i}, {j}) must be from (0, 0) to ({n_rows - 1}, {n_others - 1})")
    return np.ascontiguousarray(listed, np.int64)


def _plan(problem: _Problem, i: int, j: int) -> tuple[float, scipy.sparse.csr_array]:
    """Return the distance of two rows and an optimal plan."""
    (_, points_x, counts_x), (_, points_y, counts_y) = problem.x.row(i), problem.y.row(j)
    masses_x, masses_y = counts_x.astype(np.float64), counts_y.astype(np.float64)
    distance, sources, sinks, amounts = _compiled.pair_plan(points_x, masses_x, points_y, masses_y, problem.padded)
    stays, of_x, of_y = np.intersect1d(points_x, points_y, return_indices=True)
    # In a balanced problem only rounding goes to ⊥, which the plan leaves out.
    given = (sources < problem.size) & (sinks < problem.size)
    rows, columns = np.concatenate([stays, sources[given]]), np.concatenate([stays, sinks[given]])
    values = np.concatenate([np.minimum(masses_x[of_x], masses_y[of_y]), amounts[given]])
    plan = scipy.sparse.coo_array((values, (rows, columns)), shape=(problem.size, problem.size)).tocsr()
    return float(distance), plan
