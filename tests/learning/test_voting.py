import tracemalloc

import numpy as np
import pytest
from sklearn.svm import SVC

from relaxwl.learning.voting import OneVsOneSVM


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_decisions_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(80, 3))
    y = np.repeat(np.arange(n_classes), 80 // n_classes + 1)[:80]
    points[:, 0] += y
    gram = points @ points.T
    fitted = SVC(kernel="precomputed", C=0.5).fit(gram[:60, :60], y[rng.permutation(80)[:60]])
    machine = OneVsOneSVM.of(fitted)
    values = gram[60:, :60]
    decisions = machine.decisions(values[:, machine.support])
    expected = fitted.decision_function(values)
    if n_classes == 2:
        np.testing.assert_allclose(decisions[:, 1] - decisions[:, 0], expected, atol=1e-9)
    else:
        np.testing.assert_allclose(decisions, expected, atol=1e-9)
    margins = machine.margins(values[:, machine.support])
    np.testing.assert_allclose(margins.sum(axis=1), 0, atol=1e-9)
    confidences = machine.confidences(values[:, machine.support])
    np.testing.assert_array_equal(confidences.argmax(axis=1), decisions.argmax(axis=1))
    if n_classes > 2:
        same = decisions.argmax(axis=1) == margins.argmax(axis=1)
        assert same.sum() > 0
        clear = np.sort(margins, axis=1)[:, -1] - np.sort(margins, axis=1)[:, -2] > 1e-3
        np.testing.assert_array_equal(confidences[same & clear], margins[same & clear])


def test_the_class_with_the_most_votes_comes_first_where_another_has_the_largest_margin():
    # Class 0 wins both of its pairs narrowly; class 1 wins its other pair by far.
    machine = OneVsOneSVM(np.zeros(1, np.int64), np.array([[0.1], [0.1], [9.0]]), np.zeros(3), 3)
    assert machine.margins(np.ones((1, 1))).argmax() == 1
    (confidences,) = machine.confidences(np.ones((1, 1)))
    assert confidences.argmax() == 0
    assert confidences[0] - confidences[1] < 1e-4


def test_many_classes_take_memory_in_proportion():
    n_classes, n_rows = 400, 30
    n_pairs = n_classes * (n_classes - 1) // 2
    decisions = np.random.default_rng(0).normal(size=n_pairs)
    machine = OneVsOneSVM(np.zeros(0, np.int64), np.zeros((n_pairs, 0)), decisions, n_classes)
    tracemalloc.start()
    try:
        confidences = machine.confidences(np.zeros((n_rows, 0)))
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    first, second = np.triu_indices(n_classes, 1)
    sums = np.bincount(first, decisions, n_classes) - np.bincount(second, decisions, n_classes)
    np.testing.assert_allclose(machine.margins(np.zeros((n_rows, 0))), [sums / (n_classes - 1)] * n_rows, atol=1e-9)
    votes = np.bincount(np.where(decisions > 0, first, second), minlength=n_classes)
    assert set(votes[confidences.argmax(axis=1)]) == {votes.max()}
