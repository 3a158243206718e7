"""Kernels of vectors beside the graphs."""

import numpy as np
import pytest

from relaxwl.learning.vectors import VectorKernel, as_table


def test_vectors_have_variance_one_and_constant_columns_no_part():
    table = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 100.0, 0.0] + 5
    kernel = VectorKernel().fit(table)
    matrix = kernel.matrix(table, table)
    assert matrix.diagonal().mean() - matrix.mean() == pytest.approx(1.0, rel=0.02)
    np.testing.assert_allclose(kernel.diagonal(table), matrix.diagonal())
    assert np.linalg.eigvalsh(matrix).min() > -1e-9
    np.testing.assert_allclose(matrix, VectorKernel().fit(table[:, :2]).matrix(table[:, :2], table[:, :2]))
    assert VectorKernel().fit(np.ones((3, 2))).matrix(np.ones((1, 2)), np.ones((1, 2))).shape == (1, 1)
    with pytest.raises(ValueError, match="finite"):
        as_table([np.nan])
