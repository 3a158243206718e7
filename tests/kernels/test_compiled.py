"""Sparse products and intersections, beside NumPy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from relaxwl.kernels._compiled import Compressed, add_dense, add_products


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_both_ways_add_what_the_definition_says(seed, minimum):
    rng = np.random.default_rng(seed)
    n_rows, n_others, n_columns = rng.integers(1, 8, 3)
    rows, others = (rng.integers(0, 3, (n, n_columns)).astype(np.float64) for n in (n_rows, n_others))
    combine = np.minimum if minimum else np.multiply
    expected = 1.0 + combine(rows[:, None], others[None]).sum(axis=2)
    a, columns = csr_array(rows), csr_array(others.T)
    by_rows, by_columns = (Compressed(one.indptr, one.indices, one.data) for one in (a, columns))
    dense, sparse = np.ones((2, n_rows, n_others))
    add_dense(0, n_rows, by_rows, np.ascontiguousarray(others.T), 0, minimum, dense)
    add_products(0, n_rows, by_rows, columns.indptr[a.indices].astype(np.int64), by_columns, minimum, sparse)
    np.testing.assert_array_equal(dense, expected)
    np.testing.assert_array_equal(sparse, expected)
