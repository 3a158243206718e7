"""The compiled loops for vectors of nodes, on the cases that graphs seldom are."""

import numpy as np

from relaxwl.kernels import _compiled as compiled


def test_rows_of_equal_hashes_are_told_apart_by_content():
    rows = np.array([[1, 2], [1, 3], [1, 3]], np.float32)
    equal = np.zeros(3, np.uint64)
    assert compiled.first_of_equal(rows, equal, np.arange(3)).tolist() == [True, True, False]


def test_hashes_know_the_order_of_columns_and_no_negative_zero():
    rows = np.array([[1, 2], [2, 1], [0, 0], [-0.0, 0]], np.float32)
    hashes = compiled.row_hashes(rows)
    assert len(set(hashes.tolist())) == 3
    assert hashes[2] == hashes[3]


def test_rows_are_drawn_by_their_counts():
    hashes = compiled.row_hashes(np.arange(2000, dtype=np.float32)[:, None])
    counts = np.where(np.arange(2000) % 2, 9, 1)
    drawn = [np.argsort(compiled.drawing_keys(hashes, counts, np.uint64(seed)))[0] for seed in range(400)]
    assert 0.85 < np.mean(np.array(drawn) % 2) < 0.95
    assert len(set(drawn)) > 300


def test_shares_of_a_large_hub_do_not_overflow():
    n_leaves = 200_000
    indptr = np.concatenate([[0, n_leaves], n_leaves + 1 + np.arange(n_leaves)])
    share, unit, heavy = compiled.walk_shares(np.array([0, n_leaves + 1]), indptr, 1e12)
    assert 2 * n_leaves * float(share.max()) < 2.0**63
    assert share[1] == unit[1]
    assert not heavy.any()
    assert compiled.walk_shares(np.array([0, n_leaves + 1]), indptr, 1e9)[2].nonzero()[0].tolist() == [0]
