"""Ground costs between the points of rows, and the check that they are a pseudo-metric."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from relaxwl._memory import check_memory
from relaxwl.costs.codebook import UniformCosts
from relaxwl.distances._compiled import EqualCosts, FactoredCosts
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.unfolding import TreeRows

# Tolerances of the metric axioms, relative to the values compared and to the largest cost.
RELATIVE_TOLERANCE = 1e-9
FLOOR_TOLERANCE = 1e-12


Costs = NDArray[Any] | FactoredCosts | EqualCosts


@dataclass(frozen=True, eq=False)
class GroundCost:
    """The costs between points (edge code, child), ⊥ last, and between root codes.

    The cost of two points is the cost of their edges plus the distance of their children, and deleting a child costs
    the blank of its edge plus the deletion of its tree. The sum is never stored for all pairs of points: with 32 edge
    codes and 1,000 children it would take 8 GB.

    An edge code represents the label of an edge or the code of its attributes, and in directed graphs also the end
    that it is seen from.

    Parameters
    ----------
    children : array (n_children + 1, n_children + 1) or UniformCosts
        Distances between children, ⊥ last.
    roots : float64 array or UniformCosts
        Costs between root codes; with the blank last if trees can be deleted.
    edges : float64 array (n_edges + 1, n_edges + 1), optional
        Costs between edge codes, with the blank last; by default edges are ignored and a point is a child.
    parts : int32 array (2, n_points + 1), optional
        Edge code and child of each point, ⊥ last; see ``point_parts``, which makes the default.

    See Also
    --------
    relaxwl.unfolding.TreeRows : Rows over these points.

    Examples
    --------
    Two children at distance 1, two edge labels at cost 0.5; a child is deleted at cost 3, whatever its edge.

    >>> children = np.array([[0, 1, 3], [1, 0, 3], [3, 3, 0]])
    >>> edges = np.array([[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]])
    >>> ground = GroundCost(children, np.zeros((1, 1)), edges)
    >>> ground.n_points
    4
    >>> np.asarray(ground)
    array([[0. , 1. , 0.5, 1.5, 3. ],
           [1. , 0. , 1.5, 0.5, 3. ],
           [0.5, 1.5, 0. , 1. , 3. ],
           [1.5, 0.5, 1. , 0. , 3. ],
           [3. , 3. , 3. , 3. , 0. ]])
    """

    children: NDArray[Any] | UniformCosts
    roots: Float64 | UniformCosts
    edges: NDArray[Any] | None = None
    parts: Int32 | None = None

    def __post_init__(self) -> None:
        if self.edges is not None and self.parts is None:
            object.__setattr__(self, "parts", point_parts(self.edges, self.children))

    @property
    def n_points(self) -> int:
        """Number of points, without ⊥."""
        return (len(self.children) if self.parts is None else self.parts.shape[1]) - 1

    @property
    def costs(self) -> Costs:
        """The costs between points for compiled code: a plain matrix, uniform costs, or the terms of a sum."""
        if self.edges is None or self.parts is None:
            return _compiled_costs(self.children)
        return FactoredCosts(_compiled_costs(self.children), self.edges, self.parts[0], self.parts[1])

    @property
    def root_costs(self) -> Costs:
        """The costs between root codes for compiled code."""
        return _compiled_costs(self.roots)

    @property
    def largest(self) -> float:
        """The largest cost between two points, or a number above it."""
        largest_edge = 0.0 if self.edges is None else float(self.edges.max())
        return float(self.children.max()) + largest_edge

    @property
    def is_whole(self) -> bool:
        """Whether all costs are integers."""
        return all(is_whole(costs) for costs in (self.children, self.roots, self.edges) if costs is not None)

    @property
    def to_blank(self) -> Float64:
        """Cost of deleting each point, ⊥ last."""
        return self.between(np.arange(self.n_points + 1), np.array([self.n_points])).ravel()

    def between(self, points: NDArray[np.integer], others: NDArray[np.integer]) -> Float64:
        """Return the costs of all ``points`` to all ``others``.

        Parameters
        ----------
        points : int array
            Points.
        others : int array
            Other points.

        Returns
        -------
        float64 array (n points, n others)
            The costs.
        """
        if self.edges is None or self.parts is None:
            return np.asarray(self.children[np.ix_(points, others)], np.float64)
        (edges, children), (other_edges, other_children) = self.parts[:, points], self.parts[:, others]
        distances = np.asarray(self.children[np.ix_(children, other_children)], np.float64)
        distances += self.edges[np.ix_(edges, other_edges)]
        return distances

    def in_type(self, dtype: np.dtype[Any]) -> "GroundCost":
        """Return integral costs in the type of the distances, which limits the number of compiled versions.

        Parameters
        ----------
        dtype : dtype
            Type of the distances.

        Returns
        -------
        GroundCost
            The converted costs.
        """
        kept = dtype if dtype.kind == "u" else None
        converted: dict[str, Any] = {
            name: np.ascontiguousarray(costs, np.float64 if name == "roots" else kept)
            for name in ("children", "roots", "edges")
            if isinstance(costs := getattr(self, name), np.ndarray)
        }
        return replace(self, **converted)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Write out the costs between all points."""
        check_memory(
            8.0 * (self.n_points + 1) ** 2,
            f"the costs between {self.n_points} points",
            "ask for those of a few points (ground.between)",
        )
        everything = np.arange(self.n_points + 1)
        return self.between(everything, everything).astype(np.float64 if dtype is None else dtype, copy=False)


def leaf_costs(leaves: TreeRows, ground: GroundCost) -> UniformCosts | None:
    """Return the distances between distinct trees of depth 0, ⊥ last, if all costs are equal; else None."""
    if not isinstance(ground.roots, UniformCosts) or leaves.n_points or len(np.unique(leaves.roots)) < len(leaves):
        return None
    return replace(ground.roots, n_labels=len(leaves))


def _compiled_costs(costs: NDArray[Any] | UniformCosts) -> NDArray[Any] | EqualCosts:
    return EqualCosts(costs.n_labels, costs.relabel, costs.blank) if isinstance(costs, UniformCosts) else costs


def point_parts(
    edges: NDArray[Any],
    children: NDArray[Any] | UniformCosts,
    n_edge_codes: int | None = None,
    n_children: int | None = None,
    new: Int32 | None = None,
) -> Int32:
    """Return edge code and child of each point, int32 (2, n_points + 1), ⊥ last.

    The points are numbered as in :class:`relaxwl.unfolding.TreeRows`: each of the first ``n_edge_codes`` edge codes
    with each of the first ``n_children`` children (by default all that have costs), then the ``new`` ones, given as
    such an array.
    """
    n_edge_codes = len(edges) - 1 if n_edge_codes is None else n_edge_codes
    n_children = len(children) - 1 if n_children is None else n_children
    known = np.divmod(np.arange(n_edge_codes * n_children), max(n_children, 1))
    blank = [[len(edges) - 1], [len(children) - 1]]
    return np.hstack([np.stack(known), np.empty((2, 0)) if new is None else new, blank]).astype(np.int32)


def is_whole(values: NDArray[Any] | UniformCosts) -> bool:
    """Return whether all values are integers, whatever their type."""
    if isinstance(values, UniformCosts):
        return values.relabel.is_integer() and values.blank.is_integer()
    return values.dtype.kind in "biu" or bool(np.all(values == np.floor(values)))


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
    for k in range(len(costs)):
        detours = costs[:, k, None] + costs[k]
        if (costs > (1.0 + RELATIVE_TOLERANCE) * detours + floor).any():
            i, j = np.argwhere(costs > (1.0 + RELATIVE_TOLERANCE) * detours + floor)[0]
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
