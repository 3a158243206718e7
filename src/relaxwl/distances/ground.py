"""What separates the points of rows: costs between children and between edges, kept apart, and costs between roots."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._memory import check_memory
from relaxwl.costs import UniformCosts
from relaxwl.distances._compiled import EqualCosts, FactoredCosts
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.unfolding import TreeRows

Costs = NDArray[Any] | FactoredCosts | EqualCosts


@dataclass(frozen=True, eq=False)
class GroundCost:
    """The costs between points (edge code, child), ⊥ last, and between root codes.

    The cost of two points is the cost of their edges plus the distance of their children, and deleting a child costs
    the blank of its edge plus the deletion of its tree. The two parts are never written out for all pairs of points:
    with 32 edge codes and 1,000 children these would take 8 GB.

    An edge code stands for all that an edge tells: its label or the code of its attributes, and in directed graphs also
    the side that it is seen from (code = label code · 2 + side; the costs of two codes with different sides are up to
    who makes ``edges``, as long as they are a metric).

    Parameters
    ----------
    children : array (n_children + 1, n_children + 1) or UniformCosts
        Distances between children, ⊥ last.
    roots : float64 array or UniformCosts
        Costs between root codes; the blank is last where trees are to be deleted.
    edges : float64 array (n_edges + 1, n_edges + 1), optional
        Costs between edge codes, the blank last; left out, edges do not count and a point is a child.
    parts : int32 array (2, n_points + 1), optional
        Edge code and child of each point, ⊥ last; see :func:`point_parts`, which makes the default.

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
        """The costs between points, as compiled code takes them: a plain matrix, a rule, or the parts of a sum."""
        if self.edges is None or self.parts is None:
            return _compiled_costs(self.children)
        return FactoredCosts(_compiled_costs(self.children), self.edges, self.parts[0], self.parts[1])

    @property
    def root_costs(self) -> Costs:
        """The costs between root codes, as compiled code takes them."""
        return _compiled_costs(self.roots)

    @property
    def largest(self) -> float:
        """The largest cost between two points, or a number above it."""
        dearest_edge = 0.0 if self.edges is None else float(self.edges.max())
        return float(self.children.max()) + dearest_edge

    @property
    def is_whole(self) -> bool:
        """Whether all costs are whole numbers."""
        return all(is_whole(costs) for costs in (self.children, self.roots, self.edges) if costs is not None)

    @property
    def to_blank(self) -> Float64:
        """Cost of deleting each point, ⊥ last."""
        return self.between(np.arange(self.n_points + 1), np.array([self.n_points])).ravel()

    def between(self, points: NDArray[np.integer], others: NDArray[np.integer]) -> Float64:
        """Return the costs of all ``points`` to all ``others``."""
        if self.edges is None or self.parts is None:
            return np.asarray(self.children[np.ix_(points, others)], np.float64)
        (edges, children), (other_edges, other_children) = self.parts[:, points], self.parts[:, others]
        distances = np.asarray(self.children[np.ix_(children, other_children)], np.float64)
        distances += self.edges[np.ix_(edges, other_edges)]
        return distances

    def in_type(self, dtype: np.dtype[Any]) -> "GroundCost":
        """Return whole costs in the type of the distances: one type a level keeps the compiled versions few."""
        kept = dtype if dtype.kind == "u" else None
        edges = None if self.edges is None else np.ascontiguousarray(self.edges, kept)
        children, roots = self.children, self.roots
        return replace(
            self,
            children=children if isinstance(children, UniformCosts) else np.ascontiguousarray(children, kept),
            edges=edges,
            roots=roots if isinstance(roots, UniformCosts) else np.ascontiguousarray(roots, np.float64),
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Write out the costs between all points, for whoever wants to look at them all."""
        check_memory(
            8.0 * (self.n_points + 1) ** 2,
            f"the costs between {self.n_points} points",
            "ask for those of a few points (ground.between)",
        )
        everything = np.arange(self.n_points + 1)
        return self.between(everything, everything).astype(np.float64 if dtype is None else dtype, copy=False)


def leaf_costs(leaves: TreeRows, ground: GroundCost) -> UniformCosts | None:
    """Return the distances between different trees of a single node each, ⊥ last, if many cost all the same."""
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


def uniform_roots(rows: TreeRows) -> Float64:
    """Return the cost 1 between all different roots of these rows, ⊥ last."""
    size = int(rows.roots.max(initial=0)) + 2
    check_memory(16.0 * size**2, f"the costs between root codes up to {size - 2}", "give root_cost")
    return 1.0 - np.eye(size)


def is_whole(values: NDArray[Any] | UniformCosts) -> bool:
    """Tell whether all values are whole numbers, whatever their type."""
    if isinstance(values, UniformCosts):
        return values.relabel.is_integer() and values.blank.is_integer()
    return values.dtype.kind in "biu" or bool(np.all(values == np.floor(values)))
