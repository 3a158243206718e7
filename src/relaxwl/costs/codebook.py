"""Attribute vectors as codes of a codebook, with costs between its entries."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from relaxwl._memory import check_memory
from relaxwl._validation import RandomState, as_seed

Label = Any
FloatArray = NDArray[np.float64]

# Relative tolerance of comparisons between sums of floats, which differ by rounding.
RELATIVE_TOLERANCE = 1e-9

# Bound below which all integers are exact as floats.
MAX_EXACT = 2**53


def exceeds(cost: Any, bound: Any) -> Any:
    """Whether costs exceed their bounds by more than rounding; relative, because costs may be of any size.

    >>> exceeds(np.array([9e-10, 1.0]), np.array([2e-10, 1.0 - 1e-12]))
    array([ True, False])
    """
    return cost > bound * (1.0 + RELATIVE_TOLERANCE)


def check_metric(matrix: FloatArray, labels: tuple[Label, ...]) -> None:
    """Raise a ValueError naming labels and numbers unless the matrix is a metric on labels and blank."""
    names = [*(repr(label) for label in labels), "⊥ (the blank)"]

    def refuse(broken: NDArray[np.bool_], sentence: Callable[[int, int], str]) -> None:
        if broken.any():
            i, j = np.argwhere(broken)[0].tolist()
            raise ValueError(f"the edit cost is not a metric: {sentence(i, j)}")

    def cost(i: int, j: int) -> str:
        return f"γ({names[i]}, {names[j]}) = {matrix[i, j]:g}"

    finite = np.isfinite(matrix)
    off_diagonal = ~np.eye(len(matrix), dtype=bool)
    refuse(~finite, lambda i, j: f"{cost(i, j)} is not finite")
    refuse(~off_diagonal & (matrix != 0), lambda i, j: f"{cost(i, j)}, but must be 0")
    refuse(off_diagonal & (matrix <= 0), lambda i, j: f"{cost(i, j)}, but must be positive")
    refuse(exceeds(matrix, matrix.T), lambda i, j: f"{cost(i, j)}, but {cost(j, i)}")
    for middle in range(len(matrix)):
        detour = matrix[:, middle, None] + matrix[None, middle, :]
        refuse(
            exceeds(matrix, detour),
            lambda i, j, k=middle: f"{cost(i, j)} is more than {cost(i, k)} plus {cost(k, j)}",  # type: ignore[misc]
        )


def uniform_matrix(n_labels: int, relabel: float, blank: float) -> FloatArray:
    """Return a matrix with 0 on the diagonal, ``blank`` in the last row and column, ``relabel`` elsewhere."""
    matrix = np.full((n_labels + 1, n_labels + 1), relabel, dtype=np.float64)
    matrix[-1, :] = blank
    matrix[:, -1] = blank
    np.fill_diagonal(matrix, 0.0)
    return matrix


@dataclass(frozen=True)
class UniformCosts:
    """The costs of :func:`uniform_matrix` without a matrix, for a large number of labels.

    It is indexed like the matrix, by arrays of integers.

    Examples
    --------
    >>> costs = UniformCosts(100_000, 1.0, 2.0)
    >>> len(costs), costs.max()
    (100001, 2.0)
    >>> costs[np.array([7, 7, 7]), np.array([7, 8, -1])]
    array([0., 1., 2.])
    """

    n_labels: int
    relabel: float
    blank: float

    def __len__(self) -> int:
        return self.n_labels + 1

    def max(self, initial: float = 0.0) -> float:
        """Return the largest cost."""
        return max(initial, self.relabel if self.n_labels > 1 else 0.0, self.blank if self.n_labels else 0.0)

    def __getitem__(self, places: tuple[Any, ...]) -> FloatArray:
        row, column = (np.where(np.asarray(place) < 0, len(self) + np.asarray(place), place) for place in places)
        apart = np.where((row == self.n_labels) | (column == self.n_labels), self.blank, self.relabel)
        return np.asarray(np.where(row == column, 0.0, apart))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the full matrix."""
        check_memory(16.0 * len(self) ** 2, f"the costs between {self.n_labels} labels", "use fewer labels")
        return uniform_matrix(self.n_labels, self.relabel, self.blank).astype(dtype or np.float64, copy=False)


def distinct_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Return the labels as a tuple of Python values; repeated ones raise an error."""
    names = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    seen: set[Label] = set()
    for name in names:
        if name is None:
            raise ValueError("labels must not contain None, which stands for the blank")
        if name in seen:
            raise ValueError(f"labels must be distinct, but {name!r} occurs more than once")
        seen.add(name)
    return names


def listing(labels: Sequence[Label]) -> str:
    """Return the labels as a short list."""
    shown = ", ".join(repr(label) for label in labels[:6])
    return f"[{shown}, … {len(labels) - 6} more]" if len(labels) > 6 else f"[{shown}]"


def label_to_data(label: Label) -> Any:
    """Return a JSON-serializable label, tuples as lists."""
    if isinstance(label, tuple):
        return [label_to_data(part) for part in label]
    if isinstance(label, (int, float, str)):
        return label
    raise ValueError(f"the label {label!r} cannot be written as data: only numbers, strings and tuples of them can")


def label_from_data(label: Any) -> Label:
    """Return a label from JSON, lists as tuples."""
    return tuple(label_from_data(part) for part in label) if isinstance(label, list) else label


def check_finite(largest: float, depth: int) -> None:
    """Raise an error if distances between trees of this depth may be infinite."""
    if not math.isfinite(largest):
        raise ValueError(f"depth {depth} makes distances larger than floating point holds; use a smaller depth")


def cost_text(cost: float) -> str:
    """Return a cost or distance as text: exact integers with all digits.

    >>> cost_text(1234567.0), cost_text(1.5), cost_text(0.1 + 0.2), cost_text(1e300)
    ('1234567', '1.5', '0.3', '1e+300')
    """
    return f"{cost:.0f}" if cost.is_integer() and abs(cost) <= MAX_EXACT else f"{cost:.12g}"


Metric = Literal["euclidean", "cityblock", "chebyshev"]
# Divisors of the columns before distances are computed; "auto" until a codebook is fitted.
Scale = tuple[float, ...] | str | None

# Names in SciPy of the distances of attribute vectors that are always metrics.
METRICS: dict[str, Metric] = {
    "euclidean": "euclidean",
    "manhattan": "cityblock",
    "cityblock": "cityblock",
    "chebyshev": "chebyshev",
}
# Maximum number of distinct vectors from which a codebook is made; more are sampled.
SKETCH_ROWS = 1 << 16


# Marks a missing value of a vector in the labels of trees.
GAP = "?"


@dataclass(frozen=True, eq=False)
class Codebook:
    """The attribute vectors of the codes, in lexicographic order, and the costs between them.

    Attributes
    ----------
    centers : ndarray of shape (k, d)
        The vector of each code; read-only.
    metric : str
        Name of the distance in SciPy's ``cdist``.
    blank : float
        Cost of inserting or deleting a node; no two codes are farther apart than twice this.
    relabel : float or EditCost
        Cost added for different labels in :meth:`paired_matrix`, or edit costs of labels.
    missing : float or None
        Distance of a missing value (NaN) from any other of its column; None if no value may be missing.
    scale : tuple of float or None
        Divisor of each column before distances are computed; None for 1.
    """

    centers: FloatArray
    metric: Metric = "euclidean"
    blank: float = 1.0
    relabel: Any = 1.0
    missing: float | None = None
    scale: Scale = None

    def __post_init__(self) -> None:
        checked_scale("scale", self.scale, fitted=True)
        for name in ("blank", "relabel", "missing"):
            value = getattr(self, name)
            # NumPy would make an integer matrix from an integer.
            object.__setattr__(self, name, float(value) if isinstance(value, int) else value)
        frozen = np.array(self.centers, dtype=np.float64)
        frozen.setflags(write=False)
        object.__setattr__(self, "centers", frozen)

    def __len__(self) -> int:
        return len(self.centers)

    def codes_of(self, attributes: ArrayLike) -> NDArray[np.int32]:
        """Return the nearest code of each attribute vector; the lowest of equally near ones."""
        rows = attribute_rows(attributes, self.missing)
        if rows.shape[1] != self.centers.shape[1]:
            raise ValueError(
                f"attributes has {rows.shape[1]} columns, but the codebook was made from {self.centers.shape[1]}"
            )
        distinct, inverse, _ = _distinct_rows(rows)
        codes = np.empty(len(distinct), dtype=np.int32)
        # Distances are computed in blocks, because all at once would need too much memory.
        block = max(1, 4_000_000 // max(1, len(self.centers)))
        for start in range(0, len(distinct), block):
            rows = scaled(distinct[start : start + block], self.scale)
            distances = vector_distances(rows, scaled(self.centers, self.scale), self.metric, self.missing)
            codes[start : start + block] = distances.argmin(axis=1)
        return codes[inverse]

    def node_matrix(self) -> FloatArray:
        """Return γ over the codes and, last, the blank: min(distance, 2·blank), and ``blank`` from ⊥."""
        return self._capped(self.centers, None)

    def paired_matrix(self, pairs: Sequence[tuple[Label, int]]) -> FloatArray:
        """Return γ over pairs (label, code) and, last, the blank.

        γ = min(cost of the labels + distance of the codes, 2·blank); see :meth:`EditCost.from_attributes` for why this
        is a metric.
        """
        return self._capped(self.centers[[code for _, code in pairs]], [label for label, _ in pairs])

    def _capped(self, rows: FloatArray, names: Sequence[Label] | None) -> FloatArray:
        rows = scaled(rows, self.scale)
        distances = vector_distances(rows, rows, self.metric, self.missing)
        return capped_matrix(distances, names, self.blank, self.relabel)


def checked_scale(name: str, scale: Any, fitted: bool = False) -> Scale:
    """Return a validated scale of the columns: "auto" (unless ``fitted``), None, or a number > 0 for each column."""
    if scale is None or (isinstance(scale, str) and scale == "auto" and not fitted):
        return scale
    try:
        divisors = tuple(float(value) for value in scale)
    except (TypeError, ValueError):
        divisors = ()
    if isinstance(scale, str) or not divisors or not all(0 < value < math.inf for value in divisors):
        raise ValueError(f"{name} must be 'auto', None or a finite number > 0 for each column, not {scale!r}")
    return divisors


def scaled(rows: FloatArray, scale: Scale) -> FloatArray:
    """Return rows with columns divided by their scale; "auto", if not fitted, is 1."""
    if scale is None or isinstance(scale, str):
        return rows
    if rows.shape[1] != len(scale):
        raise ValueError(f"scale has {len(scale)} numbers, and attribute vectors have {rows.shape[1]}")
    divided: FloatArray = rows / np.array(scale)
    return divided


def vector_distances(a: FloatArray, b: FloatArray, metric: Metric, missing: float | None) -> FloatArray:
    """Return the distances between the rows of two tables.

    With ``missing``, the distance within a column is min(difference, 2·missing), ``missing`` from NaN to a number and 0
    from NaN to NaN. That is a metric for the same reason as costs with a blank, and a norm of metrics is a metric too.
    """
    if missing is None:
        return cdist(a, b, metric) if len(a) and len(b) else np.zeros((len(a), len(b)))
    total = np.zeros((len(a), len(b)))
    for x, y in zip(a.T[:, :, None], b.T[:, None, :], strict=True):
        absent = np.isnan(x).astype(np.float64) + np.isnan(y)  # number of missing values
        gap = np.where(absent == 0, np.minimum(np.abs(x - y), 2 * missing), missing * (absent == 1))
        if metric == "chebyshev":
            np.maximum(total, gap, out=total)
        else:
            total += gap if metric == "cityblock" else gap**2
    return np.sqrt(total) if metric == "euclidean" else total


def capped_matrix(distances: FloatArray, names: Sequence[Label] | None, blank: float, relabel: Any) -> FloatArray:
    """Return min(cost of the names + distance, 2·blank), and ``blank`` from the last point."""
    n = len(distances)
    matrix = np.full((n + 1, n + 1), blank)
    matrix[:n, :n] = distances
    if names is not None:
        codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
        which = np.array([codes[name] for name in names], dtype=np.int64)
        if isinstance(relabel, (int, float)):
            matrix[:n, :n] += relabel * (which[:, None] != which[None, :])
        else:
            matrix[:n, :n] += relabel.node_matrix(list(codes))[np.ix_(which, which)]
    np.minimum(matrix, 2 * blank, out=matrix)
    np.fill_diagonal(matrix, 0.0)
    return matrix


@dataclass(frozen=True, eq=False)
class Sketch:
    """Distinct attribute vectors (or a sample of many) in lexicographic order, and the number of their occurrences.

    A sample consists of the vectors with the lowest hashes. So the sketch of a collection can be computed from sketches
    of its parts, and depends neither on the order of the nodes nor on the parts.
    """

    vectors: FloatArray
    counts: NDArray[np.int64]
    whole: bool = True

    @classmethod
    def of(cls, attributes: ArrayLike, missing: float | None = None) -> "Sketch":
        """Return the sketch of vectors, one per row; NaN is allowed if it has a cost."""
        rows = attribute_rows(attributes, missing)
        return cls(rows, np.ones(len(rows), np.int64))._reduced()

    @classmethod
    def join(cls, parts: "Sequence[Sketch]") -> "Sketch | None":
        """Merge sketches; None if there are none."""
        if not parts:
            return None
        vectors, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("vectors", "counts"))
        return cls(vectors, counts, all(part.whole for part in parts))._reduced()

    def deviations(self) -> tuple[float, ...]:
        """Return the standard deviation of each column without missing values, 1 for constant columns."""
        present = ~np.isnan(self.vectors) * self.counts[:, None]
        number = np.maximum(present.sum(axis=0), 1)
        values = np.nan_to_num(self.vectors)
        apart = values - (present * values).sum(axis=0) / number
        found = np.sqrt((present * apart**2).sum(axis=0) / number)
        lowest, highest = (best.reduce(self.vectors, axis=0, initial=np.nan) for best in (np.fmin, np.fmax))
        return tuple(np.where((highest > lowest) & (found > 0), found, 1.0).tolist())

    def _reduced(self) -> "Sketch":
        vectors, which, _ = _distinct_rows(self.vectors)
        counts = np.bincount(which, self.counts, minlength=len(vectors)).astype(np.int64)
        if len(vectors) <= SKETCH_ROWS:
            return Sketch(vectors, counts, self.whole)
        # A hash of the content of each row.
        state = np.full(len(vectors), 0x243F6A8885A308D3, np.uint64)
        for column in np.where(np.isnan(vectors), np.nan, vectors).T.copy():  # NaN has many bit patterns
            state = (state ^ column.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            state ^= state >> np.uint64(29)
        kept = np.sort(np.argsort(state, kind="stable")[:SKETCH_ROWS])
        return Sketch(vectors[kept], counts[kept], whole=False)


def quantize(
    sketch: Sketch, n_codes: int | None, random_state: RandomState, missing: float | None = None, scale: Scale = None
) -> FloatArray:
    """Return the distinct rows, or ``n_codes`` k-means centers of them, in lexicographic order."""
    if n_codes is None and not sketch.whole:
        raise ValueError(f"more than {SKETCH_ROWS} distinct attribute vectors need a codebook: give its size (n_codes)")
    distinct, counts = scaled(sketch.vectors, scale), sketch.counts
    if len(distinct) == 0:
        raise ValueError("attributes is empty: a codebook needs at least one attribute vector")
    if n_codes is None or n_codes >= len(distinct):
        return sketch.vectors
    from sklearn.cluster import KMeans

    weights, present = counts.astype(np.float64), ~np.isnan(distinct)
    points = distinct
    if missing is not None:  # missing values become means, and indicators are added as columns
        known = weights @ present
        means = weights @ np.where(present, distinct, 0.0) / np.where(known > 0, known, 1.0)
        points = np.hstack([np.where(present, distinct, means), missing * ~present])
    model = KMeans(n_clusters=n_codes, n_init=4, random_state=as_seed(random_state) % 2**32)
    model.fit(points, sample_weight=weights)
    centers = np.asarray(model.cluster_centers_, dtype=np.float64)
    if missing is not None:
        members = np.eye(n_codes)[model.labels_].T * weights
        known = members @ present
        with np.errstate(invalid="ignore"):
            centers = members @ np.where(present, distinct, 0.0) / known
        centers[2 * known < members.sum(axis=1)[:, None]] = np.nan  # missing in most members
    return _distinct_rows(centers if scale is None else centers * np.array(scale))[0]


def _distinct_rows(rows: FloatArray) -> tuple[FloatArray, NDArray[np.intp], NDArray[np.intp]]:
    """Return the sorted distinct rows, the index of each row among them, and their counts; NaN equals NaN."""
    gaps = np.isnan(rows)
    keys = np.hstack([np.where(gaps, 0.0, rows), gaps]) if gaps.any() else rows
    _, first, inverse, counts = np.unique(keys, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return rows[first], inverse.reshape(-1), counts


def attribute_rows(attributes: ArrayLike, missing: float | None = None) -> FloatArray:
    """Return attributes as float64 rows, with -0.0 replaced by 0.0; NaN is allowed only if it has a cost."""
    rows = np.asarray(attributes, dtype=np.float64)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2:
        raise ValueError(f"attributes must be of shape (n, d), not {rows.shape}")
    wrong = ~np.isfinite(rows) if missing is None else np.isinf(rows)
    bad = np.flatnonzero(wrong.any(axis=1))
    if len(bad):
        advice = "; EditCost.from_attributes(…).with_missing(…) gives NaN a cost" if np.isnan(rows[bad]).any() else ""
        raise ValueError(
            f"attributes has a value that is NaN or infinite in row {bad[0]} ({len(bad)} such rows in all){advice}"
        )
    return rows + 0.0
