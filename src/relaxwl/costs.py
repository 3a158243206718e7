"""What an edit costs: γ on labels and the blank ⊥, validated to be a metric.

Everything exact in this package (cancelling equal children, pruning, memoising) rests on γ being a metric, so
a γ that is not one is refused with the labels that break it. The blank stands for "no vertex": the distance
of a label from the blank is what inserting or deleting a vertex with this label costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

Label = Any
FloatArray = NDArray[np.float64]
NodeCost = Callable[[Label, Label], float]
RandomState = int | np.random.Generator | np.random.RandomState | None
Metric = Literal["euclidean", "cityblock", "chebyshev"]

# Sums of floats that should be equal differ in the last digits; anything beyond this is a real violation.
RELATIVE_TOLERANCE = 1e-9

# Beyond this, neighbouring whole numbers share a float.
MAX_EXACT = 2**53

# SciPy's names of the distances on attribute vectors that are metrics without further conditions.
METRICS: dict[str, Metric] = {
    "euclidean": "euclidean",
    "manhattan": "cityblock",
    "cityblock": "cityblock",
    "chebyshev": "chebyshev",
}


class EditCost:
    """The costs of relabelling, inserting and deleting vertices, and of relabelling edges.

    Without arguments everything costs 1. Other costs come from :meth:`from_matrix`, :meth:`from_callable` and
    :meth:`from_attributes`. An ``EditCost`` cannot be changed, compares by value and can be pickled.

    Parameters
    ----------
    relabel : float, default=1.0
        Cost of replacing a vertex label by another one; at most ``2 * insert_delete``, as deleting and
        inserting a vertex replaces its label too.
    insert_delete : float, default=1.0
        Cost of inserting or deleting one vertex.
    edge_relabel : float, default=1.0
        Cost of replacing an edge label by another one, where edge labels are used at all.
    edge_blank : float, default=0.0
        What the edge to its parent adds to the cost of inserting or deleting a vertex, where edge labels are used.

    Examples
    --------
    >>> EditCost().node_matrix(["C", "O"])
    array([[0., 1., 1.],
           [1., 0., 1.],
           [1., 1., 0.]])
    >>> EditCost(relabel=5)
    Traceback (most recent call last):
    ...
    ValueError: relabel=5.0 is more than deleting and inserting (2 * insert_delete = 2.0): γ would not be a metric
    """

    __slots__ = ("_rule", "edge_blank", "edge_relabel")
    _rule: _Rule
    edge_relabel: float
    edge_blank: float

    def __init__(
        self,
        relabel: float = 1.0,
        insert_delete: float = 1.0,
        edge_relabel: float = 1.0,
        edge_blank: float = 0.0,
    ) -> None:
        self._fill(
            _Uniform(_positive("relabel", relabel), _positive("insert_delete", insert_delete)),
            edge_relabel,
            edge_blank,
        )

    def _fill(self, rule: _Rule, edge_relabel: float, edge_blank: float) -> None:
        object.__setattr__(self, "_rule", rule)
        object.__setattr__(self, "edge_relabel", _positive("edge_relabel", edge_relabel))
        object.__setattr__(self, "edge_blank", _positive("edge_blank", edge_blank, zero=True))

    @classmethod
    def _of(cls, rule: _Rule, edge_relabel: float, edge_blank: float) -> EditCost:
        cost = cls.__new__(cls)
        cost._fill(rule, edge_relabel, edge_blank)
        return cost

    @classmethod
    def from_matrix(
        cls,
        labels: Iterable[Label],
        matrix: ArrayLike,
        *,
        edge_relabel: float = 1.0,
        edge_blank: float = 0.0,
    ) -> EditCost:
        """Return costs given as a matrix over the labels and, last, the blank.

        Parameters
        ----------
        labels : iterable of k distinct labels
            The label of each row but the last.
        matrix : array-like of shape (k + 1, k + 1)
            ``matrix[i, j]`` is the cost of relabelling, the last row and column that of inserting and deleting.
        edge_relabel, edge_blank : float
            As in :class:`EditCost`.

        Examples
        --------
        >>> cost = EditCost.from_matrix(["C", "N"], [[0, 0.5, 1], [0.5, 0, 1], [1, 1, 0]])
        >>> cost.node_matrix(["N"])
        array([[0., 1.],
               [1., 0.]])
        """
        names = _distinct(labels)
        square = np.array(matrix, dtype=np.float64)
        if square.shape != (len(names) + 1, len(names) + 1):
            raise ValueError(
                f"matrix has shape {square.shape}, but {len(names)} labels and the blank (last) need "
                f"({len(names) + 1}, {len(names) + 1})"
            )
        return cls._of(_Matrix(names, tuple(map(tuple, square.tolist()))), edge_relabel, edge_blank)

    @classmethod
    def from_callable(cls, function: NodeCost, *, edge_relabel: float = 1.0, edge_blank: float = 0.0) -> EditCost:
        """Return costs given as a function of two labels, ``None`` being the blank.

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
            raise TypeError(f"function must be callable with two labels, got {type(function).__name__}")
        return cls._of(_Callable(function), edge_relabel, edge_blank)

    @classmethod
    def from_attributes(
        cls,
        metric: str = "euclidean",
        blank: float = 1.0,
        n_codes: int | None = None,
        *,
        relabel: float = 1.0,
        edge_relabel: float = 1.0,
        edge_blank: float = 0.0,
    ) -> EditCost:
        """Return costs that are distances between vertex attribute vectors.

        γ(x, y) = min(distance(x, y), 2·blank), and γ(x, ⊥) = blank. Where vertices have labels too, γ is
        min(relabel·[labels differ] + distance, 2·blank). A sum of metrics is a metric on pairs; capping a metric
        keeps the triangle inequality; and a further point at distance ``blank`` from all others keeps it because
        no distance exceeds 2·blank. So γ is a metric whatever the attributes are.

        Parameters
        ----------
        metric : {"euclidean", "manhattan", "chebyshev"}, default="euclidean"
            Distance between attribute vectors.
        blank : float, default=1.0
            Cost of inserting or deleting a vertex; choose it in the scale of the attributes.
        n_codes : int or None, default=None
            Size of the codebook to which attributes are quantised (k-means); None keeps every distinct vector.
        relabel : float, default=1.0
            What differing labels add, where vertices have labels and attributes.
        edge_relabel, edge_blank : float
            As in :class:`EditCost`.

        Examples
        --------
        >>> EditCost.from_attributes(blank=2).node_matrix([(0, 0), (3, 4), (0, 1)])
        array([[0., 4., 1., 2.],
               [4., 0., 4., 2.],
               [1., 4., 0., 2.],
               [2., 2., 2., 0.]])
        """
        if metric not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(sorted(METRICS))}, got {metric!r}")
        whole = isinstance(n_codes, (int, np.integer)) and not isinstance(n_codes, bool)
        if n_codes is not None and (not whole or n_codes < 1):
            raise ValueError(f"n_codes must be a positive integer or None, got {n_codes!r}")
        rule = _Attributes(
            METRICS[metric],
            _positive("blank", blank),
            None if n_codes is None else int(n_codes),
            _positive("relabel", relabel),
        )
        return cls._of(rule, edge_relabel, edge_blank)

    @property
    def uses_attributes(self) -> bool:
        """Whether the costs are distances of attribute vectors, so that a :meth:`codebook` is needed."""
        return isinstance(self._rule, _Attributes)

    @property
    def function(self) -> NodeCost | None:
        """The function that the costs are taken from, if they were made by :meth:`from_callable`."""
        return self._rule.function if isinstance(self._rule, _Callable) else None

    def node_matrix(self, labels: Iterable[Label]) -> FloatArray:
        """Return γ over the given distinct labels and, last, the blank: float64 of shape (k + 1, k + 1).

        With attribute costs a label is an attribute vector, or a pair (label, attribute vector).

        Raises
        ------
        ValueError
            If γ is not a metric on exactly these labels, or knows no cost for one of them.
        """
        names = _distinct(labels)
        matrix = self._rule.matrix(names)
        if self._rule.needs_check:
            _check_metric(matrix, names)
        return matrix

    def edge_matrix(
        self,
        labels: Iterable[Label],
        node_labels: Iterable[Label] | None = None,
        *,
        node_costs: FloatArray | None = None,
    ) -> FloatArray:
        """Return γ over the given distinct edge labels and, last, the blank: float64 of shape (e + 1, e + 1).

        A child is a pair (edge, tree) at distance γ(edge, edge') + d(tree, tree') from another, and at
        ``edge_blank`` + (cost of deleting the tree) from ⊥. That is a pseudo-metric exactly if relabelling an edge
        and the vertex below it is never dearer than deleting and inserting both, for the vertex labels in use:
        γ(e, e') + γ(a, b) ≤ 2·edge_blank + γ(a, ⊥) + γ(⊥, b). Larger trees then comply too, since the distance of
        two trees is at most that of their roots plus the cost of deleting and inserting all that is below.

        Parameters
        ----------
        labels : iterable of distinct edge labels
            The edge labels in use.
        node_labels : iterable of distinct vertex labels, optional
            The vertex labels in use. None stands for all that a matrix lists, or any two for uniform costs.
        node_costs : ndarray of shape (k + 1, k + 1), optional
            γ over the vertex labels or codes in use, the blank last, where the caller has it already. Costs made
            from a callable or from attributes are checked against edges only if this or ``node_labels`` is given.

        Examples
        --------
        >>> EditCost(edge_blank=0.5).edge_matrix(["-", "="])
        array([[0. , 1. , 0.5],
               [1. , 0. , 0.5],
               [0.5, 0.5, 0. ]])
        """
        names = _distinct(labels)
        if len(names) > 1:
            nodes = self._rule.known_labels() if node_labels is None else _distinct(node_labels)
            if node_costs is None:
                node_costs = self._rule.matrix(nodes)
            elif node_labels is None:
                nodes = tuple(f"code {code}" for code in range(len(node_costs) - 1))
            self._check_edges(names, nodes, node_costs)
        return _uniform_matrix(len(names), self.edge_relabel, self.edge_blank)

    def _check_edges(self, edges: tuple[Label, ...], nodes: tuple[Label, ...], node_costs: FloatArray) -> None:
        """Raise unless replacing an edge and its vertex costs at most deleting and inserting them."""
        blank = node_costs[:-1, -1]
        slack = blank[:, None] + blank[None, :] - node_costs[:-1, :-1]
        if not slack.size:
            return
        a, b = np.unravel_index(int(np.argmin(slack)), slack.shape)
        allowed = 2 * self.edge_blank + float(slack[a, b])
        if self.edge_relabel > allowed + RELATIVE_TOLERANCE * max(1.0, self.edge_relabel):
            needed = self.edge_blank + (self.edge_relabel - allowed) / 2
            cheaper = f"edge_relabel ≤ {allowed:g} or " if allowed > 0 else ""
            raise ValueError(
                f"edge costs: replacing the edge label {edges[0]!r} by {edges[1]!r} costs {self.edge_relabel:g} and "
                f"the vertex label {nodes[a]!r} by {nodes[b]!r} costs {node_costs[a, b]:g}, together more than "
                f"deleting and inserting both ({2 * self.edge_blank + blank[a] + blank[b]:g}); use {cheaper}"
                f"edge_blank ≥ {needed:g}"
            )

    def codebook(
        self,
        attributes: ArrayLike,
        random_state: RandomState = None,
    ) -> Codebook:
        """Quantise attribute vectors, one a row, into the codes that stand for them from then on.

        Examples
        --------
        >>> book = EditCost.from_attributes(blank=1).codebook([[0.5], [0.0], [0.5]])
        >>> book.codes_of([[0.1], [7.0]])
        array([0, 1], dtype=int32)
        >>> book.node_matrix()
        array([[0. , 0.5, 1. ],
               [0.5, 0. , 1. ],
               [1. , 1. , 0. ]])
        """
        if not isinstance(self._rule, _Attributes):
            raise ValueError("only costs made by EditCost.from_attributes have a codebook of attributes")
        centers = _quantise(_attribute_rows(attributes), self._rule.n_codes, random_state)
        return Codebook(centers, self._rule.metric, self._rule.blank, self._rule.relabel)

    def to_dict(self) -> dict[str, Any]:
        """Return the costs as a structure that JSON can hold; :meth:`from_dict` is the way back."""
        return {
            **self._rule.to_dict(),
            "edge_relabel": self.edge_relabel,
            "edge_blank": self.edge_blank,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EditCost:
        """Return the costs that :meth:`to_dict` described.

        Examples
        --------
        >>> EditCost.from_dict(EditCost(relabel=0.5).to_dict())
        EditCost(relabel=0.5, insert_delete=1.0, edge_relabel=1.0, edge_blank=0.0)
        """
        options = dict(data)
        kind = options.pop("kind", None)
        makers: dict[Any, Callable[..., EditCost]] = {
            "uniform": cls,
            "matrix": cls.from_matrix,
            "attributes": cls.from_attributes,
        }
        if kind not in makers:
            raise ValueError(f"data describes no edit costs: kind is {kind!r}")
        if kind == "matrix":
            options["labels"] = [_from_json(label) for label in options["labels"]]
        return makers[kind](**options)

    def __repr__(self) -> str:
        return f"EditCost{self._rule.describe()}, edge_relabel={self.edge_relabel}, edge_blank={self.edge_blank})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EditCost):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[Any, ...]:
        return (self._rule, self.edge_relabel, self.edge_blank)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"EditCost cannot be changed: make a new one instead of setting {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"EditCost cannot be changed: {name} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return (EditCost._of, self._content())


class _Rule(Protocol):
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
class _Uniform:
    """One cost for all relabelling and one for all inserting and deleting."""

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
        return _uniform_matrix(len(labels), self.relabel, self.insert_delete)

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
class _Matrix:
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
                + f"; it knows {_listing(self.labels)}"
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
            "labels": [_to_json(label) for label in self.labels],
            "matrix": [list(row) for row in self.rows],
        }

    def describe(self) -> str:
        """Return the open constructor call; a large matrix is not written out."""
        return f".from_matrix({_listing(self.labels)}, <{len(self.rows)} x {len(self.rows)} matrix>"


@dataclass(frozen=True)
class _Callable:
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
class _Attributes:
    """Capped distances between attribute vectors."""

    metric: Metric
    blank: float
    n_codes: int | None
    relabel: float
    needs_check = False

    def matrix(self, labels: tuple[Label, ...]) -> FloatArray:
        """Return γ over attribute vectors, or over pairs (label, attribute vector)."""
        paired = [isinstance(label, tuple) and len(label) == 2 and isinstance(label[1], tuple) for label in labels]
        if any(paired) and not all(paired):
            raise ValueError("attribute costs: some vertices have a label beside their attributes, some have none")
        vectors = [label[1] if paired[0] else label for label in labels]
        try:
            rows = _attribute_rows([v if isinstance(v, tuple) else (v,) for v in vectors] or np.empty((0, 1)))
        except (TypeError, ValueError) as error:
            raise ValueError(
                "attribute costs need labels that are numbers, tuples of as many numbers each, or pairs (label, "
                f"tuple of numbers); got {_listing(labels)}"
            ) from error
        names = [label[0] for label in labels] if any(paired) else None
        return _capped_matrix(rows, names, self.metric, self.blank, self.relabel)

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
            "relabel": self.relabel,
        }

    def describe(self) -> str:
        """Return the open constructor call."""
        return (
            f".from_attributes(metric={self.metric!r}, blank={self.blank}, n_codes={self.n_codes}, "
            f"relabel={self.relabel}"
        )


@dataclass(frozen=True, eq=False)
class Codebook:
    """The attribute vectors that stand for all others, in lexicographic order, and their costs.

    Attributes
    ----------
    centers : ndarray of shape (k, d)
        The vector of each code; read-only.
    metric : str
        Name of the distance, as SciPy's ``cdist`` knows it.
    blank : float
        Cost of inserting or deleting a vertex; no two codes are farther apart than twice this.
    relabel : float
        What differing labels add in :meth:`paired_matrix`.
    """

    centers: FloatArray
    metric: Metric = "euclidean"
    blank: float = 1.0
    relabel: float = 1.0

    def __post_init__(self) -> None:
        frozen = np.array(self.centers, dtype=np.float64)
        frozen.setflags(write=False)
        object.__setattr__(self, "centers", frozen)

    def __len__(self) -> int:
        return len(self.centers)

    def codes_of(self, attributes: ArrayLike) -> NDArray[np.int32]:
        """Return the nearest code of each attribute vector; the lowest of equally near ones."""
        rows = _attribute_rows(attributes)
        if rows.shape[1] != self.centers.shape[1]:
            raise ValueError(
                f"attributes has {rows.shape[1]} columns, but the codebook was made from {self.centers.shape[1]}"
            )
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        codes = np.empty(len(distinct), dtype=np.int32)
        # One block of distances at a time: all at once would not fit for many vertices and codes.
        block = max(1, 4_000_000 // max(1, len(self.centers)))
        for start in range(0, len(distinct), block):
            distances = cdist(distinct[start : start + block], self.centers, self.metric)
            codes[start : start + block] = distances.argmin(axis=1)
        return codes[inverse.ravel()]

    def node_matrix(self) -> FloatArray:
        """Return γ over the codes and, last, the blank: min(distance, 2·blank), and ``blank`` from ⊥."""
        return _capped_matrix(self.centers, None, self.metric, self.blank, self.relabel)

    def paired_matrix(self, pairs: Sequence[tuple[Label, int]]) -> FloatArray:
        """Return γ over pairs (label, code) and, last, the blank.

        γ = min(relabel·[labels differ] + distance of the codes, 2·blank); see
        :meth:`EditCost.from_attributes` for why this is a metric.
        """
        rows = self.centers[[code for _, code in pairs]]
        return _capped_matrix(rows, [label for label, _ in pairs], self.metric, self.blank, self.relabel)


def checked_cost(cost: EditCost | None) -> EditCost:
    """Return the given costs, or those of 1 for everything if none are given."""
    if cost is not None and not isinstance(cost, EditCost):
        raise TypeError(f"cost must be an EditCost or None, got {cost!r}")
    return EditCost() if cost is None else cost


def check_finite(largest: float, depth: int) -> None:
    """Refuse trees of a depth at which distances may be as large as infinity."""
    if not math.isfinite(largest):
        raise ValueError(f"depth {depth} makes distances larger than floating point holds; use a smaller depth")


def cost_text(cost: float) -> str:
    """Return a cost or distance to be read: whole numbers with all digits as long as they are exact.

    >>> cost_text(1234567.0), cost_text(1.5), cost_text(0.1 + 0.2), cost_text(1e300)
    ('1234567', '1.5', '0.3', '1e+300')
    """
    return f"{cost:.0f}" if cost.is_integer() and abs(cost) <= MAX_EXACT else f"{cost:.12g}"


def _capped_matrix(
    rows: FloatArray, names: Sequence[Label] | None, metric: Metric, blank: float, relabel: float
) -> FloatArray:
    """Return min([names differ]·relabel + distance of the rows, 2·blank), and ``blank`` from the last point."""
    n = len(rows)
    matrix = np.full((n + 1, n + 1), blank)
    if n:
        matrix[:n, :n] = cdist(rows, rows, metric)
    if names is not None:
        codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
        which = np.array([codes[name] for name in names], dtype=np.int64)
        matrix[:n, :n] += relabel * (which[:, None] != which[None, :])
    np.minimum(matrix, 2 * blank, out=matrix)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _quantise(rows: FloatArray, n_codes: int | None, random_state: RandomState) -> FloatArray:
    """Return the distinct rows, or as many k-means centres of them as asked for, in lexicographic order."""
    if len(rows) == 0:
        raise ValueError("attributes is empty: a codebook needs at least one attribute vector")
    # Sorted distinct rows with their counts: the order of the vertices cannot matter.
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    if n_codes is None or n_codes >= len(distinct):
        return distinct
    from sklearn.cluster import KMeans

    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**31))
    model = KMeans(n_clusters=n_codes, n_init=4, random_state=random_state)
    model.fit(distinct, sample_weight=counts.astype(np.float64))
    return np.unique(np.asarray(model.cluster_centers_, dtype=np.float64), axis=0)


def _attribute_rows(attributes: ArrayLike) -> FloatArray:
    """Return attributes as finite float64 rows, with no negative zero to tell equal rows apart."""
    rows = np.asarray(attributes, dtype=np.float64)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2:
        raise ValueError(f"attributes must be of shape (n, d), got {rows.shape}")
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise ValueError(
            f"attributes has a value that is NaN or infinite in row {bad[0]} ({len(bad)} such rows in all)"
        )
    return rows + 0.0


def _uniform_matrix(n_labels: int, relabel: float, blank: float) -> FloatArray:
    """Return a matrix with 0 on the diagonal, ``blank`` in the last row and column, ``relabel`` elsewhere."""
    matrix = np.full((n_labels + 1, n_labels + 1), relabel, dtype=np.float64)
    matrix[-1, :] = blank
    matrix[:, -1] = blank
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _check_metric(matrix: FloatArray, labels: tuple[Label, ...]) -> None:
    """Raise a ValueError naming labels and numbers unless the matrix is a metric on labels and blank."""
    names = [*(repr(label) for label in labels), "⊥ (the blank)"]

    def refuse(broken: NDArray[np.bool_], sentence: Callable[[int, int], str]) -> None:
        if broken.any():
            i, j = np.argwhere(broken)[0].tolist()
            raise ValueError(f"the edit cost is not a metric: {sentence(i, j)}")

    def cost(i: int, j: int) -> str:
        return f"γ({names[i]}, {names[j]}) = {matrix[i, j]:g}"

    finite = np.isfinite(matrix)
    tolerance = RELATIVE_TOLERANCE * max(1.0, float(np.abs(matrix[finite]).max(initial=0.0)))
    off_diagonal = ~np.eye(len(matrix), dtype=bool)
    refuse(~finite, lambda i, j: f"{cost(i, j)} is not finite")
    refuse(~off_diagonal & (matrix != 0), lambda i, j: f"{cost(i, j)}, but must be 0")
    refuse(off_diagonal & (matrix <= 0), lambda i, j: f"{cost(i, j)}, but must be positive")
    refuse(np.abs(matrix - matrix.T) > tolerance, lambda i, j: f"{cost(i, j)}, but {cost(j, i)}")
    for middle in range(len(matrix)):
        detour = matrix[:, middle, None] + matrix[None, middle, :]
        refuse(
            matrix > detour + tolerance,
            lambda i, j, k=middle: f"{cost(i, j)} is more than {cost(i, k)} plus {cost(k, j)}",  # type: ignore[misc]
        )


def _positive(name: str, value: float, *, zero: bool = False) -> float:
    """Return the value as float if it is a finite positive (or zero, where allowed) number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise ValueError(f"{name} must be a finite {'non-negative' if zero else 'positive'} number, got {value!r}")
    return number


def _distinct(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Return the labels as a tuple of Python values, refusing repeated ones."""
    names = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    seen: set[Label] = set()
    for name in names:
        if name is None:
            raise ValueError("labels must not contain None, which stands for the blank")
        if name in seen:
            raise ValueError(f"labels must be distinct, but {name!r} occurs more than once")
        seen.add(name)
    return names


def _listing(labels: Sequence[Label]) -> str:
    """Return the labels as a short list."""
    shown = ", ".join(repr(label) for label in labels[:6])
    return f"[{shown}, … {len(labels) - 6} more]" if len(labels) > 6 else f"[{shown}]"


def _to_json(label: Label) -> Any:
    """Return a label as JSON can hold it, tuples as lists."""
    if isinstance(label, tuple):
        return [_to_json(part) for part in label]
    if isinstance(label, (int, float, str)):
        return label
    raise ValueError(f"the label {label!r} cannot be written as data: only numbers, strings and tuples of them can")


def _from_json(label: Any) -> Label:
    """Return a label that JSON held, lists as tuples."""
    return tuple(_from_json(part) for part in label) if isinstance(label, list) else label
