"""The transport distance between two measures over a ground pseudo-metric, with ⊥ as a free reservoir."""

from typing import Any, Literal, overload

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from relaxwl.distances import _compiled
from relaxwl.graphs.arrays import Float64

# Ground costs may break the axioms by this part of the values compared, and this part of the largest cost.
RELATIVE_TOLERANCE = 1e-9
FLOOR_TOLERANCE = 1e-12


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

    The lighter measure is filled up at the blank ⊥, the last ground point, and the cheapest transport of one into
    the other is found. This is a metric on measures of any total mass if ``ground`` is one on points.

    Parameters
    ----------
    x, y : array of length k, or sparse row vector
        Masses at the k ground points other than ⊥: finite, also in sum, not negative, whole or real.
    ground : array (k + 1, k + 1)
        Costs between the points, ⊥ last: symmetric, zero on the diagonal, with the triangle inequality. Different
        points may be at distance zero.
    return_plan : bool, default=False
        Return the transport plan as well.
    check : bool, default=True
        Check that ``ground`` is a pseudo-metric, which takes about k³ steps. The result is wrong if it is not one.

    Returns
    -------
    distance : float
        Exact for whole masses and costs as long as the total mass times the largest cost stays below 2**50. Otherwise
        correct up to rounding, which is about 1e-15 of the mass moved times the largest cost.
    plan : sparse array (k + 1, k + 1), only with ``return_plan``
        Mass moved from each point (row) to each point (column). Row sums are x and column sums are y, each followed
        by what it was filled up with at ⊥. Mass that both have at a point stays there, on the diagonal.

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
    costs = check_ground(ground) if check else as_square(ground)
    points_x, masses_x = _measure("x", x, len(costs) - 1)
    points_y, masses_y = _measure("y", y, len(costs) - 1)
    with np.errstate(over="ignore"):
        if not np.isfinite((masses_x.sum() + masses_y.sum()) * max(1.0, costs.max())):
            raise ValueError("the mass of x and y together, also times the largest cost, must be finite; scale it down")
    measures = points_x, masses_x, points_y, masses_y
    if not return_plan:
        return float(_compiled.pair_distance(*measures, costs, np.inf))
    distance, sources, sinks, amounts = _compiled.pair_plan(*measures, costs)
    common = np.minimum(_dense(points_x, masses_x, len(costs)), _dense(points_y, masses_y, len(costs)))
    stays = np.flatnonzero(common)
    rows, columns = np.concatenate([stays, sources]), np.concatenate([stays, sinks])
    values = np.concatenate([common[stays], amounts])
    plan = scipy.sparse.coo_array((values, (rows, columns)), shape=costs.shape).tocsr()
    return float(distance), plan


def check_ground(ground: ArrayLike, name: str = "ground", blank: bool = True) -> NDArray[Any]:
    """Return ``ground`` as a C-contiguous array after checking that it is a pseudo-metric.

    Symmetry and the triangle inequality are required up to one part in a billion of the costs compared (and one part
    in 10**12 of the largest): distances between centers carry rounding errors. Errors call the matrix ``name``, and its
    last point ⊥ if it is the ``blank``.

    Raises
    ------
    ValueError
        If it is not, naming the points that show it.

    Examples
    --------
    >>> check_ground([[0, 5, 1], [5, 0, 1], [1, 1, 0]])
    Traceback (most recent call last):
    ...
    ValueError: ground breaks the triangle inequality: ground[0, 1] = 5.0 > ground[0, ⊥] + ground[⊥, 1] = 1.0 + 1.0
    """
    costs = as_square(ground, name, blank)
    floor = FLOOR_TOLERANCE * float(costs.max(initial=0))

    def place(i: int, j: int) -> str:
        points = ("⊥" if blank and index == len(costs) - 1 else str(index) for index in (i, j))
        return f"{name}[{', '.join(points)}]"

    def entry(i: int, j: int) -> str:
        return f"{place(i, j)} = {float(costs[i, j])}"

    for wrong, what in (
        (~np.isfinite(costs), "has a cost that is not finite:"),
        (costs < 0, "has a cost that is negative:"),
        (np.diag(np.diagonal(costs) != 0), "must be zero on the diagonal, but"),
    ):
        if wrong.any():
            raise ValueError(f"{name} {what} {entry(*np.argwhere(wrong)[0])}")
    unequal = np.argwhere(np.abs(costs - costs.T) > RELATIVE_TOLERANCE * costs + floor)
    if len(unequal):
        i, j = unequal[0]
        raise ValueError(f"{name} must be symmetric, but {entry(i, j)} and {entry(j, i)}")
    i, j, k = _compiled.broken_triangle(costs, 1.0 + RELATIVE_TOLERANCE, floor)
    if i >= 0:
        raise ValueError(
            f"{name} breaks the triangle inequality: {entry(i, j)} > {place(i, k)} + {place(k, j)} = "
            f"{float(costs[i, k])} + {float(costs[k, j])}"
        )
    return costs


def as_square(ground: ArrayLike, name: str = "ground", blank: bool = True) -> Float64:
    """Return ground as a C-contiguous square array of a type the solver reads."""
    costs = np.asarray(ground)
    if costs.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be an array of real numbers, not dtype {costs.dtype}")
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or costs.shape[0] == 0:
        points = "one row a point and ⊥ last" if blank else "one row a point"
        raise ValueError(f"{name} must be square with {points}, not of shape {costs.shape}")
    return np.ascontiguousarray(costs, np.float64)


def _measure(name: str, masses: Any, n_points: int) -> tuple[NDArray[np.int32], Float64]:
    """Return the points with positive mass, ascending, and their masses; refuse what is no measure."""
    if scipy.sparse.issparse(masses):
        sparse: Any = masses
        entries = sparse.tocoo()
        if entries.ndim == 2 and entries.shape[0] != 1:
            raise ValueError(f"{name} must be one sparse row vector, not of shape {entries.shape}")
        length, positions, values = entries.shape[-1], entries.coords[-1], entries.data
    else:
        values = np.asarray(masses)
        if values.ndim != 1:
            raise ValueError(f"{name} must be one vector of masses, not of shape {values.shape}")
        length, positions = len(values), np.arange(len(values))
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, not dtype {values.dtype}")
    if length != n_points:
        raise ValueError(
            f"{name} must have one mass for each of the {n_points} points other than ⊥, not {length}; "
            "ground has one row and column more, for ⊥"
        )
    dense: Float64 = np.bincount(positions, values.astype(np.float64), n_points).astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(dense) & (dense >= 0)))
    if len(wrong):
        raise ValueError(f"{name} must hold finite masses of at least 0, not {dense[wrong[0]]} at point {wrong[0]}")
    points = np.flatnonzero(dense)
    return points.astype(np.int32), dense[points]


def _dense(points: NDArray[np.int32], masses: Float64, length: int) -> Float64:
    vector = np.zeros(length)
    vector[points] = masses
    return vector
