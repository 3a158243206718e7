"""Array operations on CSR structures."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


def prefix_sums(counts: NDArray[Any]) -> Int64:
    """Return ``[0, c0, c0 + c1, ...]``."""
    sums = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=sums[1:])
    return sums


def expand_spans(starts: Int64, counts: Int64) -> Int64:
    """Return the concatenation of ``arange(start, start + count)``.

    >>> expand_spans(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = prefix_sums(counts)
    return np.arange(int(ends[-1])) + np.repeat(starts - ends[:-1], counts)


def first_of_runs(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the first of each run of equal values."""
    first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def counting_order(codes: NDArray[Any], n_codes: int) -> tuple[Int64, Int64]:
    """Return the positions of codes below ``n_codes`` in ascending order, equal ones in order, and where each begins.

    >>> counting_order(np.array([2, 0, 2]), 3)
    (array([1, 0, 2]), array([0, 1, 1, 3]))
    """
    shape = (len(codes), n_codes)
    by_code = csr_array((np.empty(len(codes), bool), codes, np.arange(len(codes) + 1)), shape=shape).tocsc()
    return by_code.indices.astype(np.int64), by_code.indptr.astype(np.int64)


def mirror(matrix: NDArray[Any], block: int = 256) -> None:
    """Copy the upper triangle of a square matrix onto the lower one, in place and block by block."""
    for start in range(0, len(matrix), block):
        stop = start + block
        matrix[start:stop, :start] = matrix[:start, start:stop].T
        corner = matrix[start:stop, start:stop]
        # No arithmetic, because entries that are not filled yet may be any bits, for which NumPy would warn.
        corner[:] = np.where(np.tri(len(corner), dtype=bool).T, corner, corner.T)
