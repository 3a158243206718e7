"""Attribute vectors as codes: a codebook stands for all vectors of a collection, with costs between its entries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from relaxwl._validation import RandomState, as_seed
from relaxwl.costs.metric import FloatArray, Label

Metric = Literal["euclidean", "cityblock", "chebyshev"]

# SciPy's names of the distances on attribute vectors that are metrics without further conditions.
METRICS: dict[str, Metric] = {
    "euclidean": "euclidean",
    "manhattan": "cityblock",
    "cityblock": "cityblock",
    "chebyshev": "chebyshev",
}


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
        rows = attribute_rows(attributes)
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
        return capped_matrix(self.centers, None, self.metric, self.blank, self.relabel)

    def paired_matrix(self, pairs: Sequence[tuple[Label, int]]) -> FloatArray:
        """Return γ over pairs (label, code) and, last, the blank.

        γ = min(relabel·[labels differ] + distance of the codes, 2·blank); see
        :meth:`EditCost.from_attributes` for why this is a metric.
        """
        rows = self.centers[[code for _, code in pairs]]
        return capped_matrix(rows, [label for label, _ in pairs], self.metric, self.blank, self.relabel)


def capped_matrix(
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


def quantise(attributes: ArrayLike, n_codes: int | None, random_state: RandomState) -> FloatArray:
    """Return the distinct rows, or as many k-means centres of them as asked for, in lexicographic order."""
    rows = attribute_rows(attributes)
    if len(rows) == 0:
        raise ValueError("attributes is empty: a codebook needs at least one attribute vector")
    # Sorted distinct rows with their counts: the order of the vertices cannot matter.
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    if n_codes is None or n_codes >= len(distinct):
        return distinct
    from sklearn.cluster import KMeans

    model = KMeans(n_clusters=n_codes, n_init=4, random_state=as_seed(random_state) % 2**32)
    model.fit(distinct, sample_weight=counts.astype(np.float64))
    return np.unique(np.asarray(model.cluster_centers_, dtype=np.float64), axis=0)


def attribute_rows(attributes: ArrayLike) -> FloatArray:
    """Return attributes as finite float64 rows, with no negative zero to tell equal rows apart."""
    rows = np.asarray(attributes, dtype=np.float64)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2:
        raise ValueError(f"attributes must be of shape (n, d), not {rows.shape}")
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise ValueError(
            f"attributes has a value that is NaN or infinite in row {bad[0]} ({len(bad)} such rows in all)"
        )
    return rows + 0.0
