"""Pictures of Gram matrices."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA

from evaluation.records import key
from relaxwl.evaluation.sketches import SKETCH_SIDE, kernel_pca, sketch_gram


def gram_of(n, seed=0):
    features = np.random.default_rng(seed).random((n, 6))
    return features @ features.T


@pytest.mark.parametrize("n", [3, 7, 50])
def test_kernel_pca_is_that_of_scikit_learn_up_to_sign(n):
    gram = gram_of(n)
    points, shares = kernel_pca(gram)
    expected = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit_transform(gram)
    assert np.abs(points) == pytest.approx(np.abs(expected), abs=1e-6)
    assert 0 < shares[1] <= shares[0] <= 1


def test_kernel_pca_of_identical_graphs():
    points, shares = kernel_pca(np.ones((12, 12)))
    assert np.abs(points).max() < 1e-6
    assert shares.tolist() == [0, 0]


def test_blocks_are_sorted_by_class():
    y = np.arange(200) % 2
    gram = np.where(y[:, None] == y, 1.0, 0.2)
    np.fill_diagonal(gram, 1.0)
    sketch = sketch_gram(gram, y, ["even", "odd"], key(), "title", {})
    blocks = np.array(sketch.blocks)
    assert blocks.shape == (SKETCH_SIDE, SKETCH_SIDE)
    half = SKETCH_SIDE // 2
    assert (blocks[:half, :half] == 255).all()
    assert (blocks[:half, half:] == 0).all()
    assert sketch.class_ends == [0.5, 1.0]
    assert len(sketch.coordinates) == 200
