"""Support vector machines: the path along C gives what separate fits give."""

import numpy as np
import pytest
from sklearn.svm import SVC

from learning.grams import gram_and_classes
from relaxwl.evaluation.folds import DEFAULT_C
from relaxwl.learning.svm import SOLVERS, predict, score_path, training_scale


@pytest.mark.parametrize(("n_classes", "n_features", "noise"), [(2, 5, 1.0), (2, 200, 1.0), (3, 200, 0.5), (4, 6, 1.0)])
def test_path_equals_one_fit_for_each_c(n_classes, n_features, noise):
    gram, y = gram_and_classes(n_classes=n_classes, n_features=n_features, noise=noise)
    fit, held_out = np.arange(0, 60), np.arange(60, 90)
    scale = training_scale(gram.diagonal()[:60])
    expected = []
    for C in DEFAULT_C:
        machine = SVC(kernel="precomputed", C=C, max_iter=10**6).fit(gram[:60, :60] * scale, y[:60])
        expected.append(np.count_nonzero(machine.predict(gram[60:, :60] * scale) == y[60:]))
    for solver in SOLVERS:
        assert score_path(gram, y, fit, held_out, scale, DEFAULT_C, solver).correct.tolist() == expected


def test_path_stops_where_the_box_is_slack():
    gram, y = gram_and_classes(n_features=300)
    scores = score_path(gram, y, np.arange(60), np.arange(60, 90), training_scale(gram.diagonal()), DEFAULT_C)
    assert scores.n_fits < len(DEFAULT_C)


def test_non_convergence_is_counted_and_does_not_warn(monkeypatch):
    monkeypatch.setattr("relaxwl.learning.svm.MAX_ITERATIONS", 3)
    gram, y = gram_and_classes()
    for solver in SOLVERS:  # warnings are errors here
        scores = score_path(gram, y, np.arange(60), np.arange(60, 90), 1.0, DEFAULT_C, solver)
        assert scores.n_unconverged == scores.n_fits == len(DEFAULT_C)  # two classes, so one machine for each C
    assert not predict(gram[:60, :60], gram[60:, :60], y[:60], 1.0).converged


def test_scale_is_harmless_where_all_graphs_are_empty():
    assert training_scale(np.zeros(3)) == 1
    assert training_scale(np.zeros(0)) == 1
