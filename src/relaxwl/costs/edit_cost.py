"""Costs of edits: γ on labels and the blank ⊥, validated to be a metric.

All exact methods of this package (canceling equal children, pruning, memoizing) require that γ is a metric, so any
other γ raises an error that names the labels that violate it. The blank stands for "no node": the distance of a
label from the blank is the cost of inserting or deleting a node with this label.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from relaxwl._validation import RandomState, as_floats, check_choice, check_integer, check_number
from relaxwl.costs.codebook import (
    GAP,
    METRICS,
    Codebook,
    FloatArray,
    Label,
    Metric,
    Scale,
    Sketch,
    UniformCosts,
    attribute_rows,
    capped_matrix,
    check_metric,
    checked_scale,
    distinct_labels,
    exceeds,
    label_from_data,
    label_to_data,
    listing,
    quantize,
    scaled,
    uniform_matrix,
    vector_distances,
)

# Labels of edges to children in trees of directed graphs: the arc leaves or enters the parent.
DIRECTION_MARKS = ("→", "←")

# Maximum number of labels whose uniform costs are stored as a matrix, for which functions are already compiled.
MANY_LABELS = 2048

NodeCost = Callable[[Label, Label], float]


class Rule:
    """Costs γ over a set of labels; one frozen, hashable class for each way to state costs."""

    needs_check = False  # whether γ might not be a metric

    def matrix(self, labels: tuple[Label, ...]) -> FloatArray:
        """Return γ over the labels and, last, the blank."""
        raise NotImplementedError

    def known_labels(self) -> tuple[Label, ...]:
        """Return labels that represent all possible ones; empty if they are unknown."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of the constructor named by ``kind``."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return the constructor call without the closing parenthesis."""
        raise NotImplementedError


@dataclass(frozen=True)
class UniformRule(Rule):
    """One cost for all relabeling and one for all inserting and deleting."""

    relabel: float
    insert_delete: float

    def __post_init__(self) -> None:
        if self.relabel > 2 * self.insert_delete:
            raise ValueError(
                f"relabel={self.relabel} is more than deleting and inserting (2 * insert_delete = "
                f"{2 * self.insert_delete}): γ would not be a metric"
            )

    def matrix(self, labels: tuple[Label, ...]) -> FloatArray:
        """Return γ over the labels and the blank."""
        return uniform_matrix(len(labels), self.relabel, self.insert_delete)

    def known_labels(self) -> tuple[Label, ...]:
        """Return two labels, which represent all because costs are uniform."""
        return ("any", "other")

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of EditCost."""
        return {"kind": "uniform", "relabel": self.relabel, "insert_delete": self.insert_delete}

    def describe(self) -> str:
        """Return the constructor call without the closing parenthesis."""
        return f"(relabel={self.relabel}, insert_delete={self.insert_delete}"


@dataclass(frozen=True)
class MatrixRule(Rule):
    """Costs listed for every pair of known labels."""

    labels: tuple[Label, ...]
    rows: tuple[tuple[float, ...], ...]
    needs_check = True

    def matrix(self, labels: tuple[Label, ...]) -> FloatArray:
        """Return the rows and columns of the labels and of the blank."""
        position = {label: i for i, label in enumerate(self.labels)}
        missing = [label for label in labels if label not in position]
        if missing:
            raise ValueError(
                f"the cost matrix has no row for the label {missing[0]!r}"
                + (f" (nor for {len(missing) - 1} more)" if len(missing) > 1 else "")
                + f"; it knows {listing(self.labels)}"
            )
        chosen = [*(position[label] for label in labels), len(self.labels)]
        return np.array(self.rows, dtype=np.float64)[np.ix_(chosen, chosen)]

    def known_labels(self) -> tuple[Label, ...]:
        """Return all labels of the matrix."""
        return self.labels

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of EditCost.from_matrix."""
        return {
            "kind": "matrix",
            "labels": [label_to_data(label) for label in self.labels],
            "matrix": [list(row) for row in self.rows],
        }

    def describe(self) -> str:
        """Return the constructor call without the closing parenthesis; a large matrix is abbreviated."""
        return f".from_matrix({listing(self.labels)}, <{len(self.rows)} x {len(self.rows)} matrix>"


@dataclass(frozen=True)
class CallableRule(Rule):
    """Costs given by a function."""

    function: NodeCost
    needs_check = True

    def matrix(self, labels: tuple[Label, ...]) -> FloatArray:
        """Call the function for all ordered pairs, so that an asymmetric one is noticed."""
        points = [*labels, None]
        return np.array([[self._call(a, b) for b in points] for a in points], dtype=np.float64)

    def _call(self, a: Label, b: Label) -> float:
        cost = self.function(a, b)
        try:
            return float(cost)
        except (TypeError, ValueError):
            raise TypeError(f"function must return a number, but function({a!r}, {b!r}) is {cost!r}") from None

    def to_dict(self) -> dict[str, Any]:
        """Raise an error: functions cannot be serialized."""
        raise ValueError(
            "edit costs made from a callable cannot be written as data: only pickle can keep them, or use "
            "EditCost.from_matrix"
        )

    def describe(self) -> str:
        """Return the constructor call without the closing parenthesis."""
        return f".from_callable({getattr(self.function, '__qualname__', repr(self.function))}"


@dataclass(frozen=True)
class EdgeAttributes:
    """Distances between attribute vectors of edges, and the number of codes into which vectors are quantized."""

    metric: Metric
    n_codes: int | None
    missing: float | None = None
    scale: Scale = None

    def matrix(self, edges: tuple[Label, ...], relabel: float) -> FloatArray:
        """Return the costs between edges, each a vector or a pair (label, vector).

        Different labels add ``relabel``. Between arcs of different directions, the cost is at least ``relabel``: the
        maximum, because a sum could exceed deleting and inserting. A maximum of metrics is a metric.
        """
        try:
            rows = scaled(_rows(edges, self.missing), self.scale)
        except (TypeError, ValueError) as error:
            raise ValueError(f"edge_metric needs edges with attribute vectors, not {listing(edges)}") from error
        costs = vector_distances(rows, rows, self.metric, self.missing)
        # Directions and labels that edges of a tree have besides vectors, as encoded by ``relaxwl.graphs``.
        directions, labels = [], []
        for edge in edges:
            symbol = edge[0] if _is_pair(edge) else None
            split = (symbol[0], symbol[1]) if isinstance(symbol, tuple) and len(symbol) == 2 else (symbol, None)
            direction, label = split if split[0] in DIRECTION_MARKS else (None, symbol)
            directions.append(direction)
            labels.append(label)
        costs += relabel * _differ(labels)
        return np.asarray(np.maximum(costs, relabel * _differ(directions)), dtype=np.float64)


def _is_pair(label: Label) -> bool:
    return isinstance(label, tuple) and len(label) == 2 and isinstance(label[1], tuple)


def _rows(labels: tuple[Label, ...], missing: float | None) -> FloatArray:
    """Return the vectors of labels, each a number, a vector or a pair (label, vector), as rows of a table."""
    vectors = [label[1] if _is_pair(label) else label for label in labels]
    tuples = [vector if isinstance(vector, tuple) else (vector,) for vector in vectors]
    if missing is not None:
        tuples = [tuple(math.nan if value == GAP else value for value in vector) for vector in tuples]
    return attribute_rows(tuples or np.empty((0, 1)), missing)


def _differ(values: list[Label]) -> FloatArray:
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    which = np.array([numbers[value] for value in values], dtype=np.int64)
    differ: FloatArray = (which[:, None] != which[None, :]).astype(np.float64)
    return differ


@dataclass(frozen=True)
class AttributeRule(Rule):
    """Capped distances between attribute vectors."""

    metric: Metric
    blank: float
    n_codes: int | None
    relabel: float | EditCost
    missing: float | None = None
    scale: Scale = None

    def matrix(self, labels: tuple[Label, ...]) -> FloatArray:
        """Return γ over attribute vectors, or over pairs (label, attribute vector)."""
        paired = [_is_pair(label) for label in labels]
        if any(paired) and not all(paired):
            raise ValueError("attribute costs: some nodes have a label beside their attributes, some have none")
        try:
            rows = _rows(labels, self.missing)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "attribute costs need labels that are numbers, tuples of as many numbers each, or pairs (label, "
                f"tuple of numbers), not {listing(labels)}"
            ) from error
        names = [label[0] for label in labels] if any(paired) else None
        rows = scaled(rows, self.scale)
        distances = vector_distances(rows, rows, self.metric, self.missing)
        return capped_matrix(distances, names, self.blank, self.relabel)

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of EditCost.from_attributes."""
        return {
            "kind": "attributes",
            "metric": self.metric,
            "blank": self.blank,
            "n_codes": self.n_codes,
            "relabel": self.relabel.to_dict() if hasattr(self.relabel, "to_dict") else self.relabel,
            "scale": scale_to_data(self.scale),
        }

    def describe(self) -> str:
        """Return the constructor call without the closing parenthesis."""
        return (
            f".from_attributes(metric={self.metric!r}, blank={self.blank}, n_codes={self.n_codes}, "
            f"relabel={self.relabel}, scale={scale_to_data(self.scale)!r}"
        )


def scale_to_data(scale: Scale) -> list[float] | str | None:
    """Return a JSON-serializable scale."""
    return list(scale) if isinstance(scale, tuple) else scale


@dataclass(frozen=True, init=False, repr=False)
class EditCost:
    """The costs of relabeling, inserting and deleting nodes, and of relabeling edges.

    By default all costs are 1. Other costs are defined by :meth:`from_matrix`, :meth:`from_callable` and
    :meth:`from_attributes`. An ``EditCost`` is immutable, compares by value and can be pickled.

    Parameters
    ----------
    relabel : float, default=1.0
        Cost of replacing a node label by another one; at most ``2 * insert_delete``, the cost of deleting and inserting
        a node.
    insert_delete : float, default=1.0
        Cost of inserting or deleting one node.
    edge_relabel : float, default=1.0
        Cost of replacing an edge label by another one, if edge labels are used.
    edge_blank : float, default=0.0
        Additional cost of inserting or deleting a node for the edge to its parent, if edge labels are used.

    See Also
    --------
    relaxwl.tree_edit_distance : Distance of two trees.
    relaxwl.RelaxedWeisfeilerLehman : Kernel that clusters trees by these costs.

    Examples
    --------
    >>> EditCost().node_matrix(["C", "O"])
    array([[0., 1., 1.],
           [1., 0., 1.],
           [1., 1., 0.]])
    >>> try:
    ...     EditCost(relabel=5)
    ... except ValueError as error:
    ...     print(error)
    relabel=5.0 is more than deleting and inserting (2 * insert_delete = 2.0): γ would not be a metric
    """

    _rule: Rule
    edge_relabel: float
    edge_blank: float | None
    _edges: EdgeAttributes | None

    def __init__(
        self, relabel: float = 1.0, insert_delete: float = 1.0, edge_relabel: float = 1.0, edge_blank: float = 0.0
    ) -> None:
        rule = UniformRule(check_number("relabel", relabel), check_number("insert_delete", insert_delete))
        vars(self).update(vars(EditCost._of(rule, edge_relabel, edge_blank)))

    @classmethod
    def _of(
        cls, rule: Rule, edge_relabel: float, edge_blank: float | None, edges: EdgeAttributes | None = None
    ) -> EditCost:
        blank = None if edge_blank is None else check_number("edge_blank", edge_blank, zero=True)
        cost = cls.__new__(cls)
        values = {"_rule": rule, "edge_relabel": check_number("edge_relabel", edge_relabel), "edge_blank": blank}
        vars(cost).update(values, _edges=edges)
        return cost

    @classmethod
    def from_matrix(
        cls, labels: Iterable[Label], matrix: ArrayLike, *, edge_relabel: float = 1.0, edge_blank: float = 0.0
    ) -> EditCost:
        """Return costs given as a matrix over the labels, with the blank last.

        Parameters
        ----------
        labels : iterable of k distinct labels
            The label of each row but the last.
        matrix : array-like of shape (k + 1, k + 1)
            ``matrix[i, j]`` is the cost of relabeling, the last row and column that of inserting and deleting.
        edge_relabel : float, default=1.0
            As in :class:`EditCost`.
        edge_blank : float, default=0.0
            As in :class:`EditCost`.

        Returns
        -------
        EditCost
            The costs.

        Examples
        --------
        >>> cost = EditCost.from_matrix(["C", "N"], [[0, 0.5, 1], [0.5, 0, 1], [1, 1, 0]])
        >>> cost.node_matrix(["N"])
        array([[0., 1.],
               [1., 0.]])
        """
        names = distinct_labels(labels)
        square = as_floats(matrix)
        if square.shape != (len(names) + 1, len(names) + 1):
            raise ValueError(
                f"matrix has shape {square.shape}, but {len(names)} labels and the blank (last) need "
                f"({len(names) + 1}, {len(names) + 1})"
            )
        return cls._of(MatrixRule(names, tuple(map(tuple, square.tolist()))), edge_relabel, edge_blank)

    @classmethod
    def from_callable(cls, function: NodeCost, *, edge_relabel: float = 1.0, edge_blank: float = 0.0) -> EditCost:
        """Return costs given as a function of two labels; ``None`` is the blank.

        Parameters
        ----------
        function : callable
            Function of two labels that returns a number.
        edge_relabel : float, default=1.0
            As in :class:`EditCost`.
        edge_blank : float, default=0.0
            As in :class:`EditCost`.

        Returns
        -------
        EditCost
            The costs; they can be pickled if the function can, but not stored in model files.

        Examples
        --------
        >>> cost = EditCost.from_callable(lambda a, b: 0 if a == b else 1 if None in (a, b) else min(abs(a - b), 2))
        >>> cost.node_matrix([1, 2, 9])
        array([[0., 1., 2., 1.],
               [1., 0., 2., 1.],
               [2., 2., 0., 1.],
               [1., 1., 1., 0.]])
        """
        if not callable(function):
            raise TypeError(f"function must be callable with two labels, not {type(function).__name__}")
        return cls._of(CallableRule(function), edge_relabel, edge_blank)

    @classmethod
    def from_attributes(
        cls,
        metric: str | None = None,
        blank: float = 1.0,
        n_codes: int | None = None,
        *,
        scale: ArrayLike | str | None = "auto",
        relabel: float | EditCost = 1.0,
        edge_metric: str | None = None,
        n_edge_codes: int | None = None,
        edge_relabel: float = 1.0,
        edge_blank: float | None = None,
    ) -> EditCost:
        """Return costs that are distances between attribute vectors of nodes, of edges, or of both.

        γ(x, y) = min(distance(x, y), 2·blank), and γ(x, ⊥) = blank. Where nodes have labels too, γ is min(cost of the
        labels + distance, 2·blank). A sum of metrics is a metric on pairs; capping a metric keeps the triangle
        inequality; and a further point at distance ``blank`` from all others keeps it because no distance exceeds
        2·blank. So γ is a metric for all attributes.

        Parameters
        ----------
        metric : {"euclidean", "manhattan", "chebyshev"}, optional
            Distance between the attribute vectors of nodes: by default "euclidean", or, if only ``edge_metric`` is
            given, none: nodes are then compared by their labels, at the cost ``relabel``.
        blank : float, default=1.0
            Cost of inserting or deleting a node; choose it in the scale of the attributes.
        n_codes : int or None, default=None
            Size of the codebook to which attributes are quantized (k-means); None keeps every distinct vector.
        relabel : float or EditCost, default=1.0
            Cost of different labels, if nodes have labels and attributes: a number, or an ``EditCost`` such as that of
            a matrix.
        scale : "auto", None or array-like of shape (n_attributes,), default="auto"
            Divisor of each column before distances are computed; ``blank`` is in these units. ``"auto"`` uses the
            standard deviations over the nodes and edges of the graphs that a kernel (or :meth:`codebook`) is fitted to,
            and stores them in the model; without a fit, as in ``tree_edit_distance``, it is 1. None uses the values
            unchanged. An array applies to nodes, or to edges if only these have a metric.
        edge_metric : {"euclidean", "manhattan", "chebyshev"}, optional
            Distance between the attribute vectors of edges, such as weights; by default they are not used.
        n_edge_codes : int or None, default=None
            Size of the codebook of edges.
        edge_relabel : float, default=1.0
            Cost of different edge labels, if they are used, and the minimal cost of different directions.
        edge_blank : float, optional
            Additional cost of inserting or deleting a node for the edge to its parent; by default half of the largest
            cost between edges, the smallest value that is valid for all costs of nodes. Costs between edges are limited
            to twice a given ``edge_blank``.

        Returns
        -------
        EditCost
            The costs.

        Examples
        --------
        Weights of 0.5, 1 and 4 on edges, and nodes with labels:

        >>> EditCost.from_attributes(edge_metric="euclidean").edge_matrix([0.5, 1.0, 4.0])
        array([[0.  , 0.5 , 3.5 , 1.75],
               [0.5 , 0.  , 3.  , 1.75],
               [3.5 , 3.  , 0.  , 1.75],
               [1.75, 1.75, 1.75, 0.  ]])

        Attributes of nodes:

        >>> EditCost.from_attributes(blank=2).node_matrix([(0, 0), (3, 4), (0, 1)])
        array([[0., 4., 1., 2.],
               [4., 0., 4., 2.],
               [1., 4., 0., 2.],
               [2., 2., 2., 0.]])

        Nodes with a label and a number each, where C and N are half as far apart as other labels:

        >>> labels = EditCost.from_matrix("CNO", [[0, 0.5, 1, 1], [0.5, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]])
        >>> cost = EditCost.from_attributes(blank=2, relabel=labels)
        >>> cost.node_matrix([("C", (0.0,)), ("N", (0.25,)), ("O", (0.0,))])
        array([[0.  , 0.75, 1.  , 2.  ],
               [0.75, 0.  , 1.25, 2.  ],
               [1.  , 1.25, 0.  , 2.  ],
               [2.  , 2.  , 2.  , 0.  ]])
        """
        blank = check_number("blank", blank)
        if not isinstance(relabel, EditCost):
            relabel = check_number("relabel", relabel)
        elif relabel.uses_attributes or relabel.uses_edge_attributes:
            raise ValueError("relabel must be a number or costs of labels, not costs of attributes")
        edges, divisors = None, checked_scale("scale", scale)
        if edge_metric is not None:
            edges = EdgeAttributes(
                _metric("edge_metric", edge_metric),
                _n_codes("n_edge_codes", n_edge_codes),
                scale="auto" if metric is not None and isinstance(divisors, tuple) else divisors,
            )
        elif n_edge_codes is not None:
            raise ValueError("n_edge_codes is the number of codes for edges: give edge_metric too")
        if metric is None and edges is not None:
            if n_codes is not None:
                raise ValueError("n_codes is the number of codes for nodes: give metric too")
            rule: Rule = relabel._rule if isinstance(relabel, EditCost) else UniformRule(relabel, blank)
            return cls._of(rule, edge_relabel, edge_blank, edges)
        metric = "euclidean" if metric is None else metric
        rule = AttributeRule(_metric("metric", metric), blank, _n_codes("n_codes", n_codes), relabel, scale=divisors)
        return cls._of(rule, edge_relabel, edge_blank, edges)

    def fitted(self, vectors: Sketch | None = None, edge_vectors: Sketch | None = None) -> EditCost:
        """Return these costs with ``scale="auto"`` replaced by the standard deviations of attribute vectors.

        Parameters
        ----------
        vectors, edge_vectors : Sketch, optional
            Attribute vectors of nodes and of edges.

        Returns
        -------
        EditCost
            The costs.
        """
        rule, edges = self._rule, self._edges
        if vectors is not None and isinstance(rule, AttributeRule) and rule.scale == "auto":
            rule = replace(rule, scale=vectors.deviations())
        if edge_vectors is not None and edges is not None and edges.scale == "auto":
            edges = replace(edges, scale=edge_vectors.deviations())
        return EditCost._of(rule, self.edge_relabel, self.edge_blank, edges)

    def with_missing(self, missing: float) -> EditCost:
        """Return these costs of attributes with a cost for missing values (NaN).

        A missing value has distance ``missing`` from every value of its column, and 0 from another missing value.
        Distances between values of a column are limited to ``2 * missing``, so that γ stays a metric.
        ``as_collection(…, missing=…)`` reads graphs of which some nodes or edges lack an attribute.

        Parameters
        ----------
        missing : float
            Distance of a missing value.

        Returns
        -------
        EditCost
            The costs.

        Examples
        --------
        >>> from math import nan
        >>> EditCost.from_attributes(blank=2).with_missing(0.5).node_matrix([(1.0, 7.0), (1.0, nan), (1.25, nan)])
        array([[0.        , 0.5       , 0.55901699, 2.        ],
               [0.5       , 0.        , 0.25      , 2.        ],
               [0.55901699, 0.25      , 0.        , 2.        ],
               [2.        , 2.        , 2.        , 0.        ]])
        """
        missing = check_number("missing", missing)
        if not isinstance(self._rule, AttributeRule) and self._edges is None:
            raise ValueError("only costs made by EditCost.from_attributes support missing values")
        rule = replace(self._rule, missing=missing) if isinstance(self._rule, AttributeRule) else self._rule
        edges = None if self._edges is None else replace(self._edges, missing=missing)
        return EditCost._of(rule, self.edge_relabel, self.edge_blank, edges)

    @property
    def missing(self) -> float | None:
        """Distance of a missing attribute value from other values, if there is one."""
        rule = self._rule if isinstance(self._rule, AttributeRule) else self._edges
        return None if rule is None else rule.missing

    @property
    def uses_attributes(self) -> bool:
        """Whether the costs are distances of attribute vectors, so that a :meth:`codebook` is needed."""
        return isinstance(self._rule, AttributeRule)

    @property
    def uses_edge_attributes(self) -> bool:
        """Whether the costs of edges are distances of attribute vectors, so that an :meth:`edge_codebook` is needed."""
        return self._edges is not None

    @property
    def function(self) -> NodeCost | None:
        """The function of the costs, if they were defined by :meth:`from_callable`."""
        return self._rule.function if isinstance(self._rule, CallableRule) else None

    def node_matrix(self, labels: Iterable[Label]) -> FloatArray:
        """Return γ over the given distinct labels, with the blank last.

        Parameters
        ----------
        labels : iterable of k distinct labels
            The labels; with attribute costs, attribute vectors or pairs (label, attribute vector).

        Returns
        -------
        float64 array of shape (k + 1, k + 1)
            The costs.

        Raises
        ------
        ValueError
            If γ is not a metric on these labels, or is not defined for one of them.
        """
        names = distinct_labels(labels)
        matrix = self._rule.matrix(names)
        if self._rule.needs_check:
            check_metric(matrix, names)
        return matrix

    def uniform_costs(self, n_labels: int) -> UniformCosts | None:
        """Return uniform γ over many labels without a matrix.

        Parameters
        ----------
        n_labels : int
            Number of labels.

        Returns
        -------
        UniformCosts or None
            The costs; None if they are not uniform, or if there are so few that :meth:`node_matrix` is used.
        """
        if not isinstance(self._rule, UniformRule) or n_labels <= MANY_LABELS:
            return None
        return UniformCosts(n_labels, self._rule.relabel, self._rule.insert_delete)

    def edge_matrix(
        self,
        labels: Iterable[Label],
        node_labels: Iterable[Label] | None = None,
        *,
        node_costs: FloatArray | None = None,
    ) -> FloatArray:
        """Return γ over the given distinct edge labels, with the blank last.

        A child is a pair (edge, tree) at distance γ(edge, edge') + d(tree, tree') from another, and at ``edge_blank`` +
        (cost of deleting the tree) from ⊥. That is a pseudo-metric exactly if relabeling an edge and the node below it
        never costs more than deleting and inserting both, for the node labels in use: γ(e, e') + γ(a, b) ≤ 2·edge_blank
        + γ(a, ⊥) + γ(⊥, b). This then holds for larger trees too, since the distance of two trees is at most that of
        their roots plus the cost of deleting and inserting everything below.

        Parameters
        ----------
        labels : iterable of distinct edge labels
            The edge labels in use.
        node_labels : iterable of distinct node labels, optional
            The node labels in use; by default all labels of a matrix, or any two for uniform costs.
        node_costs : ndarray of shape (k + 1, k + 1), optional
            γ over the node labels or codes in use, with the blank last, if it is already known. Costs from a callable
            or from attributes are checked against edges only if this or ``node_labels`` is given.

        Returns
        -------
        float64 array of shape (e + 1, e + 1)
            The costs.

        Examples
        --------
        >>> EditCost(edge_blank=0.5).edge_matrix(["-", "="])
        array([[0. , 1. , 0.5],
               [1. , 0. , 0.5],
               [0.5, 0.5, 0. ]])
        """
        names = distinct_labels(labels)
        if self._edges is None:
            blank = self.edge_relabel / 2 * (len(names) > 1) if self.edge_blank is None else self.edge_blank
            costs = uniform_matrix(len(names), self.edge_relabel, blank)
        else:
            between = self._edges.matrix(names, self.edge_relabel)
            blank = float(between.max(initial=0.0)) / 2 if self.edge_blank is None else self.edge_blank
            costs = np.full((len(names) + 1, len(names) + 1), blank)
            costs[:-1, :-1] = np.minimum(between, 2 * blank) if blank > 0 else between
            costs[-1, -1] = 0.0
        if len(names) < 2:
            return costs
        nodes = self._rule.known_labels() if node_labels is None else distinct_labels(node_labels)
        if node_costs is None:
            node_costs = self._rule.matrix(nodes)
        elif node_labels is None:
            nodes = tuple(f"code {code}" for code in range(len(node_costs) - 1))
        e, f = np.unravel_index(int(np.argmax(costs[:-1, :-1])), (len(names), len(names)))
        dearest, deleting = float(costs[e, f]), node_costs[:-1, -1]
        slack = deleting[:, None] + deleting[None, :] - node_costs[:-1, :-1]
        if not slack.size:
            return costs
        a, b = np.unravel_index(int(np.argmin(slack)), slack.shape)
        allowed, both = 2 * blank + float(slack[a, b]), 2 * blank + deleting[a] + deleting[b]
        # Sums are compared instead of differences, because 1 + 0.1 - 1 is not exactly 0.1.
        if exceeds(dearest + node_costs[a, b], both):
            cheaper = f"edge_relabel ≤ {allowed:g} or " if allowed > 0 else ""
            raise ValueError(
                f"edge costs: replacing the edge label {names[e]!r} by {names[f]!r} costs {dearest:g} and "
                f"the node label {nodes[a]!r} by {nodes[b]!r} costs {node_costs[a, b]:g}, together more than "
                f"deleting and inserting both ({both:g}); use {cheaper}edge_blank ≥ {blank + (dearest - allowed) / 2:g}"
            )
        return costs

    def codebook(self, attributes: ArrayLike | Sketch, random_state: RandomState = None) -> Codebook:
        """Quantize attribute vectors of nodes into codes.

        Parameters
        ----------
        attributes : array-like (n, d) or Sketch
            The attribute vectors.
        random_state : int, Generator or None, default=None
            Seed of k-means.

        Returns
        -------
        Codebook
            The codes and the costs between them.

        Examples
        --------
        >>> book = EditCost.from_attributes(blank=1, scale=None).codebook([[0.5], [0.0], [0.5]])
        >>> book.codes_of([[0.1], [7.0]])
        array([0, 1], dtype=int32)
        >>> book.node_matrix()
        array([[0. , 0.5, 1. ],
               [0.5, 0. , 1. ],
               [1. , 1. , 0. ]])

        In standard deviations, which are 10 years:

        >>> EditCost.from_attributes(blank=1).codebook([[30.0], [50.0]]).node_matrix()
        array([[0., 2., 1.],
               [2., 0., 1.],
               [1., 1., 0.]])
        """
        if not isinstance(self._rule, AttributeRule):
            raise ValueError("only costs made by EditCost.from_attributes have a codebook of attributes")
        book = _codebook(self._rule, attributes, random_state)
        return replace(book, blank=self._rule.blank, relabel=self._rule.relabel)

    def edge_codebook(self, attributes: ArrayLike | Sketch, random_state: RandomState = None) -> Codebook:
        """Quantize attribute vectors of edges into codes.

        Parameters
        ----------
        attributes : array-like (n, d) or Sketch
            The attribute vectors.
        random_state : int, Generator or None, default=None
            Seed of k-means.

        Returns
        -------
        Codebook
            The codes and the costs between them.
        """
        if self._edges is None:
            raise ValueError("only costs made by EditCost.from_attributes(edge_metric=…) have a codebook of edges")
        return _codebook(self._edges, attributes, random_state)

    def to_dict(self) -> dict[str, Any]:
        """Return the costs as a JSON-serializable dict; see :meth:`from_dict`.

        Returns
        -------
        dict
            The costs.
        """
        edges: dict[str, Any] = {}
        if self._edges is not None:
            edges = {"edge_metric": self._edges.metric, "n_edge_codes": self._edges.n_codes}
            edges["edge_scale"] = scale_to_data(self._edges.scale)
        missing = {} if self.missing is None else {"missing": self.missing}
        blanks = {"edge_relabel": self.edge_relabel, "edge_blank": self.edge_blank}
        return {**self._rule.to_dict(), **blanks, **edges, **missing}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EditCost:
        """Return the costs from the result of :meth:`to_dict`.

        Parameters
        ----------
        data : mapping
            The result of :meth:`to_dict`.

        Returns
        -------
        EditCost
            The costs.

        Examples
        --------
        >>> EditCost.from_dict(EditCost(relabel=0.5).to_dict())
        EditCost(relabel=0.5, insert_delete=1.0, edge_relabel=1.0, edge_blank=0.0)
        """
        kind, edges = data.get("kind"), None
        if kind == "uniform":
            rule: Rule = cls(data["relabel"], data["insert_delete"])._rule
        elif kind == "matrix":
            rule = cls.from_matrix(map(label_from_data, data["labels"]), data["matrix"])._rule
        elif kind == "attributes":
            relabel = cls.from_dict(data["relabel"]) if isinstance(data["relabel"], Mapping) else data["relabel"]
            given = {name: data[name] for name in ("metric", "blank", "n_codes", "scale")}
            rule = cls.from_attributes(**given, relabel=relabel)._rule
        else:
            raise ValueError(f"data does not describe edit costs: kind is {kind!r}")
        if "edge_metric" in data:
            scale = checked_scale("edge_scale", data["edge_scale"])
            n_codes = _n_codes("n_edge_codes", data["n_edge_codes"])
            edges = EdgeAttributes(_metric("edge_metric", data["edge_metric"]), n_codes, scale=scale)
        cost = cls._of(rule, data["edge_relabel"], data["edge_blank"], edges)
        return cost.with_missing(data["missing"]) if "missing" in data else cost

    def __repr__(self) -> str:
        edges = ""
        if self._edges is not None:
            edges = f", edge_metric={self._edges.metric!r}, n_edge_codes={self._edges.n_codes}"
            if not isinstance(self._rule, AttributeRule):
                edges += f", scale={scale_to_data(self._edges.scale)!r}"
        return (
            f"EditCost{self._rule.describe()}, edge_relabel={self.edge_relabel}, edge_blank={self.edge_blank}{edges})"
            + ("" if self.missing is None else f".with_missing({self.missing})")
        )


def _codebook(
    rule: AttributeRule | EdgeAttributes, attributes: ArrayLike | Sketch, random_state: RandomState
) -> Codebook:
    sketch = attributes if isinstance(attributes, Sketch) else Sketch.of(attributes, rule.missing)
    scale = sketch.deviations() if rule.scale == "auto" else rule.scale
    centers = quantize(sketch, rule.n_codes, random_state, rule.missing, scale)
    return Codebook(centers, rule.metric, missing=rule.missing, scale=scale)


def _metric(name: str, value: str) -> Metric:
    return METRICS[check_choice(name, value, METRICS)]


def _n_codes(name: str, value: int | None) -> int | None:
    return None if value is None else check_integer(name, value, least=1)


def checked_cost(cost: EditCost | None) -> EditCost:
    """Return the given costs, or those of 1 for everything if none are given."""
    if cost is not None and not isinstance(cost, EditCost):
        raise TypeError(f"cost must be an EditCost or None, not {cost!r}")
    return EditCost() if cost is None else cost
