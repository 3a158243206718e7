"""A kernel on plain vectors: descriptors and covariates that come along with something else."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

Float64 = NDArray[np.float64]

# Vectors that the typical distance is taken from.
N_SAMPLED = 1000


class VectorKernel:
    """The mean of a linear and a Gaussian kernel of standardised columns, scaled to variance 1.

    >>> kernel = VectorKernel().fit([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> kernel.matrix([[1.0, 5.0]], [[1.0, 5.0]]).shape
    (1, 1)
    """

    def fit(self, vectors: Any) -> Self:
        """Learn means, deviations and the typical distance; columns that do not vary are left out."""
        table = as_table(vectors)
        deviation = table.std(axis=0)
        self.kept_ = np.flatnonzero(deviation > 1e-12 * np.maximum(np.abs(table).max(axis=0, initial=0.0), 1e-300))
        self.n_columns_ = table.shape[1]
        self.mean_: Float64 = table.mean(axis=0)[self.kept_]
        self.deviation_: Float64 = deviation[self.kept_]
        own = self._standardised(table)
        some = own[np.linspace(0, len(own) - 1, min(len(own), N_SAMPLED)).astype(np.int64)]
        distances = pdist(some, "sqeuclidean") if len(some) > 1 else np.ones(1)
        typical = float(np.median(distances)) if distances.any() else 1.0
        self.gamma_ = 1 / (typical if typical > 0 else float(distances.mean()))
        self.gaussian_scale_ = 1.0
        gaussian = np.exp(-self.gamma_ * cdist(some, some, "sqeuclidean"))
        self.gaussian_scale_ = 1 / max(1 - float(gaussian.mean()), 1e-9)
        return self

    def matrix(self, vectors: Any, others: Any) -> Float64:
        """Return the kernel values between two tables of vectors."""
        x, y = self._standardised(as_table(vectors)), self._standardised(as_table(others))
        linear = x @ y.T / max(len(self.kept_), 1)
        return (linear + self.gaussian_scale_ * np.exp(-self.gamma_ * cdist(x, y, "sqeuclidean"))) / 2

    def diagonal(self, vectors: Any) -> Float64:
        """Return the kernel value of each vector with itself."""
        x = self._standardised(as_table(vectors))
        own: Float64 = np.einsum("ij,ij->i", x, x) / max(len(self.kept_), 1)
        return (own + self.gaussian_scale_) / 2

    def _standardised(self, table: Float64) -> Float64:
        if table.shape[1] != self.n_columns_:
            raise ValueError(f"extra must have {self.n_columns_} columns, as in fitting, not {table.shape[1]}")
        return (table[:, self.kept_] - self.mean_) / self.deviation_


def as_table(vectors: Any, n_rows: int | None = None) -> Float64:
    """Return a table of finite numbers, one row an example, or say what is wrong with it."""
    table = np.asarray(vectors, np.float64)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or (n_rows is not None and len(table) != n_rows):
        expected = "a table" if n_rows is None else f"a table with one row for each of {n_rows} graphs"
        raise ValueError(f"extra must be {expected}, not an array of shape {table.shape}")
    if not np.isfinite(table).all():
        raise ValueError("extra must be finite: fill in what is missing before")
    return table
