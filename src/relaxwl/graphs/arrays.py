"""The few array operations on spans that every CSR structure of the package needs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
