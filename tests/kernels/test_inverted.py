"""Products of sparse counts kept by columns, beside dense ones."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from relaxwl.kernels.inverted import InvertedCounts

COUNTS = st.integers(0, 5).flatmap(lambda n: arrays(np.float64, (n, 4), elements=st.integers(0, 3).map(float)))


@settings(max_examples=30)
@given(COUNTS, COUNTS)
def test_products_and_minima_are_those_of_dense_rows(kept, asked):
    counts = InvertedCounts(csr_array(kept))
    assert len(counts) == len(kept)
    np.testing.assert_array_equal(counts.products(csr_array(asked)), asked @ kept.T)
    minima = np.minimum(asked[:, None], kept[None]).sum(axis=2)
    np.testing.assert_array_equal(counts.products(csr_array(asked), minimum=True), minima)
