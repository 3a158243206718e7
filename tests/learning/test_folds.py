import numpy as np

from relaxwl.learning.folds import plain_folds, stratified_folds


def test_folds_hold_out_each_example_of_common_classes_once():
    y = np.array([0] * 10 + [1] * 8 + [2])
    folds = stratified_folds(y, 0, 3)
    held_out = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(y))
    assert held_out.tolist() == [1] * 18 + [0]
    assert all(18 in train and not set(train) & set(test) for train, test in folds)
    assert stratified_folds(np.array([0, 1]), 0, 3) == []


def test_folds_keep_groups_together():
    rng = np.random.default_rng(0)
    groups, y = rng.integers(30, size=60), rng.integers(3, size=60)
    for folds in (stratified_folds(y, 0, 3, groups), plain_folds(60, 0, 5, groups)):
        assert folds
        for train, test in folds:
            assert not set(groups[train]) & set(groups[test])
            assert sorted([*train, *test]) == list(range(60))
    alone = np.arange(60)
    for own, plain in (
        (stratified_folds(y, 0, 3, alone), stratified_folds(y, 0, 3)),
        (plain_folds(60, 0, 5, alone), plain_folds(60, 0, 5)),
    ):
        assert [test.tolist() for _, test in own] == [test.tolist() for _, test in plain]
