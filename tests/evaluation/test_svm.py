"""Support vector machines: the path along C gives what separate fits give."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from relaxwl.evaluation import DEFAULT_C
from relaxwl.evaluation._compiled import decision_path, solve
from relaxwl.evaluation.svm import predict, score_path, training_scale, unconverged_is_counted


def gram_and_classes(n=90, n_classes=2, n_features=5, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    features = rng.standard_normal((n, n_features)) * noise
    features[np.arange(n), y] += 1.5
    return features @ features.T, y


@pytest.mark.parametrize(("n_classes", "n_features", "noise"), [(2, 5, 1.0), (2, 200, 1.0), (3, 200, 0.5), (4, 6, 1.0)])
def test_path_equals_one_fit_for_each_c(n_classes, n_features, noise):
    gram, y = gram_and_classes(n_classes=n_classes, n_features=n_features, noise=noise)
    fit, held_out = np.arange(0, 60), np.arange(60, 90)
    scale = training_scale(gram.diagonal()[:60])
    with unconverged_is_counted():
        scores = score_path(gram, y, fit, held_out, scale, DEFAULT_C)
        expected = []
        for C in DEFAULT_C:
            machine = SVC(kernel="precomputed", C=C, max_iter=10**6).fit(gram[:60, :60] * scale, y[:60])
            expected.append(np.count_nonzero(machine.predict(gram[60:, :60] * scale) == y[60:]))
    assert scores.correct.tolist() == expected


def test_solutions_are_those_of_libsvm():
    """Not only the same classes: the same decision values, to the tolerance at which both stop."""
    gram, y = gram_and_classes(n_features=20)
    signs = np.where(y[:60] == 1, 1.0, -1.0)
    penalties = np.array([2.0**-5, 0.5, 8.0])
    decisions, n_fits, n_unconverged = decision_path(
        gram, np.arange(60), signs, np.arange(60, 90), 0.05, penalties, 1e-6, 10**6
    )
    assert (n_fits, n_unconverged) == (3, 0)
    for C, values in zip(penalties, decisions, strict=True):
        machine = SVC(kernel="precomputed", C=C, tol=1e-6).fit(gram[:60, :60] * 0.05, y[:60])
        assert values == pytest.approx(machine.decision_function(gram[60:, :60] * 0.05), abs=1e-4)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(6, 40),
    st.integers(1, 8),
    st.sampled_from([2.0**-6, 0.25, 1.0, 16.0]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_dual_solution_is_feasible_and_optimal(seed, n, n_features, C, duplicated):
    """The optimality conditions themselves, also where graphs are equal to the kernel and the classes contradict it."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 4, (n, n_features)).astype(float)
    if duplicated:
        features[n // 2 :] = features[: n - n // 2]
    gram = features @ features.T
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    coefficients, residuals = np.zeros(n), signs.copy()
    _, converged = solve(gram, signs, C, 1e-3, 10**6, coefficients, residuals)
    assert converged
    alpha = signs * coefficients
    assert alpha.min() >= 0
    assert alpha.max() <= C
    assert coefficients.sum() == pytest.approx(0, abs=1e-9 * max(1, C))
    expected = signs - gram @ coefficients
    assert residuals == pytest.approx(expected, abs=1e-6)
    may_grow = coefficients < np.where(signs > 0, C, 0)
    may_shrink = coefficients > np.where(signs > 0, 0, -C)
    assert expected[may_grow].max(initial=-np.inf) - expected[may_shrink].min(initial=np.inf) < 1.1e-3


def test_path_stops_where_the_box_is_slack():
    gram, y = gram_and_classes(n_features=300)
    scores = score_path(gram, y, np.arange(60), np.arange(60, 90), training_scale(gram.diagonal()), DEFAULT_C)
    assert scores.n_fits < len(DEFAULT_C)


def test_non_convergence_is_counted_and_does_not_warn(monkeypatch):
    monkeypatch.setattr("relaxwl.evaluation.svm.MAX_ITERATIONS", 3)
    gram, y = gram_and_classes()
    with warnings.catch_warnings(), unconverged_is_counted():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = score_path(gram, y, np.arange(60), np.arange(60, 90), 1.0, DEFAULT_C)
        prediction = predict(gram[:60, :60], gram[60:, :60], y[:60], 1.0)
    assert scores.n_unconverged == scores.n_fits == len(DEFAULT_C)  # two classes, so one machine for each C
    assert not prediction.converged


def test_scale_is_harmless_where_all_graphs_are_empty():
    assert training_scale(np.zeros(3)) == 1
    assert training_scale(np.zeros(0)) == 1
