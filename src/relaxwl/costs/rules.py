"""The ways to state the costs of labels: one number, a matrix, a function, or distances of attributes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from relaxwl.costs.codebook import (
    GAP,
    LabelCosts,
    Metric,
    Scale,
    attribute_rows,
    capped_matrix,
    scaled,
    vector_distances,
)
from relaxwl.costs.metric import FloatArray, Label, label_to_data, listing, uniform_matrix

# What the edge to a child carries if arcs count: whether the arc leaves its parent or enters it.
DIRECTION_MARKS = ("→", "←")

# More labels than this that cost all the same are kept as a rule; fewer as a matrix, which compiled code knows already.
MANY_LABELS = 2048

NodeCost = Callable[[Label, Label], float]


class Rule(Protocol):
    """How γ is found for a set of labels: one frozen, hashable class for each way to state costs."""

    @property
    def needs_check(self) -> bool:
        """Whether γ may fail to be a metric."""

    def matrix(self, labels: tuple[Label, ...]) -> FloatArray:
        """Return γ over the labels and, last, the blank."""

    def known_labels(self) -> tuple[Label, ...]:
        """Return labels that stand for all that may occur; empty if nothing is known about them."""

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of the constructor named by ``kind``."""

    def describe(self) -> str:
        """Return the constructor call, its bracket left open."""


@dataclass(frozen=True)
class UniformRule:
    """One cost for all relabeling and one for all inserting and deleting."""

    relabel: float
    insert_delete: float
    needs_check = False

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
        """Return two labels: uniform costs treat all alike."""
        return ("any", "other")

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of EditCost."""
        return {"kind": "uniform", "relabel": self.relabel, "insert_delete": self.insert_delete}

    def describe(self) -> str:
        """Return the open constructor call."""
        return f"(relabel={self.relabel}, insert_delete={self.insert_delete}"


@dataclass(frozen=True)
class MatrixRule:
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
        """Return the open constructor call; a large matrix is not written out."""
        return f".from_matrix({listing(self.labels)}, <{len(self.rows)} x {len(self.rows)} matrix>"


@dataclass(frozen=True)
class CallableRule:
    """Costs that the user's function tells."""

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

    def known_labels(self) -> tuple[Label, ...]:
        """Return nothing: a function does not say what it accepts."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Refuse: code is not data."""
        raise ValueError(
            "edit costs made from a callable cannot be written as data: only pickle can keep them, or use "
            "EditCost.from_matrix"
        )

    def describe(self) -> str:
        """Return the open constructor call."""
        return f".from_callable({getattr(self.function, '__qualname__', repr(self.function))}"


@dataclass(frozen=True)
class EdgeAttributes:
    """Distances between attribute vectors of edges, and into how many codes the vectors are quantized."""

    metric: Metric
    n_codes: int | None
    missing: float | None = None
    scale: Scale = None

    def matrix(self, edges: tuple[Label, ...], relabel: float) -> FloatArray:
        """Return the costs between edges, each a vector or a pair (label, vector).

        Differing labels add ``relabel``. Arcs that point another way cost at least ``relabel``: the larger of the two,
        as their sum could exceed deleting and inserting. A maximum of metrics is a metric.
        """
        paired = [isinstance(edge, tuple) and len(edge) == 2 and isinstance(edge[1], tuple) for edge in edges]
        vectors = [edge[1] if pair else edge for edge, pair in zip(edges, paired, strict=True)]
        try:
            rows = scaled(_rows(vectors, self.missing), self.scale)
        except (TypeError, ValueError) as error:
            raise ValueError(f"edge_metric needs edges with attribute vectors, not {listing(edges)}") from error
        costs = vector_distances(rows, rows, self.metric, self.missing)
        signs = [
            _direction_and_label(edge[0]) if pair else (None, None) for edge, pair in zip(edges, paired, strict=True)
        ]
        costs += relabel * _differ([label for _, label in signs])
        turned = relabel * _differ([direction for direction, _ in signs])
        return np.asarray(np.maximum(costs, turned), dtype=np.float64)


def _rows(vectors: list[Label], missing: float | None) -> FloatArray:
    """Return vectors as they stand in labels as rows of a table."""
    tuples = [vector if isinstance(vector, tuple) else (vector,) for vector in vectors]
    if missing is not None:
        tuples = [tuple(math.nan if value == GAP else value for value in vector) for vector in tuples]
    return attribute_rows(tuples or np.empty((0, 1)), missing)


def _direction_and_label(symbol: Label) -> tuple[Label, Label]:
    """Split what stands on the edge of a tree, as ``relaxwl.graphs.directions`` puts it together."""
    if symbol in DIRECTION_MARKS:
        return symbol, None
    if isinstance(symbol, tuple) and len(symbol) == 2 and symbol[0] in DIRECTION_MARKS:
        return symbol[0], symbol[1]
    return None, symbol


def _differ(values: list[Label]) -> FloatArray:
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    which = np.array([numbers[value] for value in values], dtype=np.int64)
    differ: FloatArray = (which[:, None] != which[None, :]).astype(np.float64)
    return differ


@dataclass(frozen=True)
class AttributeRule:
    """Capped distances between attribute vectors."""

    metric: Metric
    blank: float
    n_codes: int | None
    relabel: float | LabelCosts
    missing: float | None = None
    scale: Scale = None
    needs_check = False

    def matrix(self, labels: tuple[Label, ...]) -> FloatArray:
        """Return γ over attribute vectors, or over pairs (label, attribute vector)."""
        paired = [isinstance(label, tuple) and len(label) == 2 and isinstance(label[1], tuple) for label in labels]
        if any(paired) and not all(paired):
            raise ValueError("attribute costs: some nodes have a label beside their attributes, some have none")
        vectors = [label[1] if paired[0] else label for label in labels]
        try:
            rows = _rows(vectors, self.missing)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "attribute costs need labels that are numbers, tuples of as many numbers each, or pairs (label, "
                f"tuple of numbers), not {listing(labels)}"
            ) from error
        names = [label[0] for label in labels] if any(paired) else None
        rows = scaled(rows, self.scale)
        distances = vector_distances(rows, rows, self.metric, self.missing)
        return capped_matrix(distances, names, self.blank, self.relabel)

    def known_labels(self) -> tuple[Label, ...]:
        """Return nothing: attributes are not known in advance."""
        return ()

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
        """Return the open constructor call."""
        return (
            f".from_attributes(metric={self.metric!r}, blank={self.blank}, n_codes={self.n_codes}, "
            f"relabel={self.relabel}, scale={scale_to_data(self.scale)!r}"
        )


def scale_to_data(scale: Scale) -> list[float] | str | None:
    """Return a scale as JSON can hold it."""
    return list(scale) if isinstance(scale, tuple) else scale
