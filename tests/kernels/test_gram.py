import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.sparse import csr_array, random_array

from relaxwl.kernels.gram import InvertedCounts, gram

COUNTS = st.integers(0, 12).flatmap(lambda n: arrays.arrays(np.float64, (n, 7), elements=st.integers(0, 4)))


def minima(a, b):
    return np.minimum(a[:, None, :], b[None, :, :]).sum(axis=2)


@given(COUNTS, COUNTS)
def test_products_and_minima_follow_the_definition(a, b):
    sparse_a, sparse_b = csr_array(a), csr_array(b)
    np.testing.assert_array_equal(gram(sparse_a, sparse_b), a @ b.T)
    np.testing.assert_array_equal(gram(sparse_a), a @ a.T)
    np.testing.assert_array_equal(gram(sparse_a, sparse_b, minimum=True), minima(a, b))
    np.testing.assert_array_equal(gram(sparse_a, minimum=True), minima(a, a))


@given(COUNTS, COUNTS)
def test_products_with_rows_kept_by_columns(kept, asked):
    counts = InvertedCounts(csr_array(kept))
    assert len(counts) == len(kept)
    np.testing.assert_array_equal(counts.products(csr_array(asked)), asked @ kept.T)
    np.testing.assert_array_equal(counts.products(csr_array(asked), minimum=True), minima(asked, kept))


def frequent_and_rare(n_rows, seed):
    rng = np.random.default_rng(seed)
    shares = np.concatenate([np.full(10, 0.6), np.full(500, 0.01)])
    present = rng.random((n_rows, len(shares))) < shares
    return csr_array(present * rng.integers(1, 9, present.shape).astype(float))


@pytest.mark.parametrize("minimum", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.12, 2.0])
def test_dense_and_sparse_parts_agree_whatever_their_share(monkeypatch, minimum, share):
    monkeypatch.setattr("relaxwl.kernels.gram.DENSE_SHARE", share)
    a, b = frequent_and_rare(150, 0), frequent_and_rare(70, 1)
    define = minima if minimum else lambda x, y: x @ y.T
    for n_jobs in (1, 2):
        np.testing.assert_array_equal(gram(a, b, minimum=minimum, n_jobs=n_jobs), define(a.toarray(), b.toarray()))
        np.testing.assert_array_equal(gram(a, minimum=minimum, n_jobs=n_jobs), define(a.toarray(), a.toarray()))


def test_inputs_are_not_changed_and_results_are_symmetric():
    a = random_array((40, 30), density=0.2, random_state=np.random.default_rng(0), format="csr")
    before = a.toarray()
    result = gram(a)
    np.testing.assert_array_equal(result, result.T)
    np.testing.assert_array_equal(a.toarray(), before)
    assert result.dtype == np.float64


def test_blocks_of_the_whole():
    a = frequent_and_rare(60, 2)
    whole = gram(a, minimum=True)
    np.testing.assert_array_equal(gram(a[:20], a[20:], minimum=True), whole[:20, 20:])
    np.testing.assert_array_equal(gram(a[:20], minimum=True), whole[:20, :20])


def test_nothing_to_multiply():
    assert gram(csr_array((0, 5))).shape == (0, 0)
    assert gram(csr_array((3, 0))).tolist() == [[0.0] * 3] * 3
    assert gram(csr_array((3, 5)), csr_array((0, 5)), minimum=True).shape == (3, 0)
