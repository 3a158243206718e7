"""Sparse count vectors kept by columns, so that one vector meets only those that share something with it."""

import numpy as np
from scipy.sparse import csr_array

from relaxwl.graphs.arrays import Float64
from relaxwl.kernels import _compiled
from relaxwl.kernels.gram import compressed


class InvertedCounts:
    """The rows of a sparse matrix by columns: made once, asked often.

    >>> counts = InvertedCounts(csr_array(np.array([[2.0, 0, 1], [1, 1, 0]])))
    >>> counts.products(csr_array(np.array([[3.0, 0, 1]])), minimum=True)
    array([[3., 1.]])
    """

    def __init__(self, matrix: csr_array) -> None:
        self.matrix = matrix
        self._columns, _ = _compiled.transposed(compressed(matrix), matrix.shape[1])

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def products(self, rows: csr_array, *, minimum: bool = False) -> Float64:
        """Return Σ_c a·b, or with ``minimum`` Σ_c min(a, b), between each of the given rows and each row kept."""
        out = np.zeros((rows.shape[0], len(self)))
        firsts = self._columns.indptr[rows.indices]
        _compiled.add_products(0, len(out), compressed(rows), firsts, self._columns, minimum, out)
        return out
