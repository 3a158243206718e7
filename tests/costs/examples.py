"""Costs for the tests, and what a metric is."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

THREE = [[0, 1, 2, 1], [1, 0, 1, 1], [2, 1, 0, 1], [1, 1, 1, 0]]


def absolute_difference(a, b):
    if a == b:
        return 0
    return 1.0 if a is None or b is None else min(abs(a - b), 2.0)


def is_metric(matrix):
    triangle = matrix[:, None, :] <= matrix[:, :, None] + matrix[None, :, :] + 1e-9
    off_diagonal = matrix[~np.eye(len(matrix), dtype=bool)]
    return bool((matrix == matrix.T).all() and triangle.all() and (off_diagonal > 0).all() and not matrix.trace())


rows = hnp.arrays(np.float64, st.tuples(st.integers(1, 8), st.just(2)), elements=st.integers(-3, 3).map(float))
