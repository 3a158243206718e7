"""The dual problem of a support vector machine: solved, polished, and along a path of C."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from learning.grams import gram_and_classes
from relaxwl.learning._compiled import polish, solution_path, solve
from relaxwl.learning.svm import training_scale


def test_solutions_are_those_of_libsvm():
    """Not only the same classes: the same decision values, to the tolerance at which both stop."""
    gram, y = gram_and_classes(n_features=20)
    signs = np.where(y[:60] == 1, 1.0, -1.0)
    penalties = np.array([2.0**-5, 0.5, 8.0])
    training = (gram[:60, :60] * 0.05).astype(np.float32)
    path, biases, n_fits, n_unconverged = solution_path(training, signs, penalties, 1e-6, 10**6)
    decisions = path @ gram[:60, 60:] * 0.05 + biases[:, None]
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


def objective(gram, signs, coefficients):
    return signs @ coefficients - coefficients @ gram @ coefficients / 2


@pytest.mark.parametrize(("rank", "C"), [(3, 4096.0), (30, 256.0), (400, 32.0), (400, 2.0**-8)])
def test_large_problems_reach_the_objective_of_libsvm(rank, C):
    """Large enough that coefficients are set aside and free ones polished, in double and in single precision."""
    gram, y = gram_and_classes(n=400, n_features=rank, noise=2.0)
    gram *= training_scale(gram.diagonal())
    signs = np.where(y == 1, 1.0, -1.0)
    machine = SVC(kernel="precomputed", C=C, tol=1e-5, max_iter=10**7).fit(gram, y)
    expected = np.zeros(len(y))
    expected[machine.support_] = machine.dual_coef_[0]
    best = objective(gram, signs, expected)
    for dtype in (np.float64, np.float32):
        coefficients, residuals = np.zeros(len(y)), signs.copy()
        _, converged = solve(gram.astype(dtype), signs, C, 1e-3, 10**6, coefficients, residuals)
        assert converged
        assert objective(gram, signs, coefficients) == pytest.approx(best, rel=2e-3)


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 40), st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_polishing_never_does_harm(seed, n_free, rank, n_products):
    """The objective does not fall, the box and the sum are kept, and what is not free stays where it is."""
    rng = np.random.default_rng(seed)
    n = n_free + 5
    features = rng.integers(0, 4, (n, rank)).astype(float)
    gram = features @ features.T / rank
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    lower, upper = np.where(signs > 0, 0.0, -1.0), np.where(signs > 0, 1.0, 0.0)
    free = np.sort(rng.permutation(n)[:n_free])
    start = np.where(rng.random(n) < 0.5, lower, upper)
    start[free] = (lower + (upper - lower) * rng.uniform(0.01, 0.99, n))[free]
    coefficients, residuals = start.copy(), signs - gram @ start
    used = polish(gram, free, coefficients, residuals, lower, upper, 1e-3, n_products)
    assert used <= n_products
    assert np.all((lower <= coefficients) & (coefficients <= upper))
    assert coefficients.sum() == pytest.approx(start.sum(), abs=1e-9)
    assert residuals == pytest.approx(signs - gram @ coefficients, abs=1e-8)
    assert objective(gram, signs, coefficients) >= objective(gram, signs, start) - 1e-9
    bounded = np.setdiff1d(np.arange(n), free)
    assert np.array_equal(coefficients[bounded], start[bounded])


def test_polishing_solves_what_the_box_does_not_limit():
    gram, y = gram_and_classes(n=40, n_features=60)
    signs = np.where(y == 1, 1.0, -1.0)
    coefficients, residuals, far = np.zeros(40), signs.copy(), np.full(40, 1e6)
    used = polish(gram, np.arange(40), coefficients, residuals, -far, far, 1e-3, 200)
    assert used < 200
    assert np.ptp(signs - gram @ coefficients) < 1e-3


@pytest.mark.parametrize("gram", [np.zeros((6, 6)), np.ones((6, 6))], ids=["zero", "constant"])
def test_a_kernel_that_tells_nothing_apart_puts_all_at_the_bound(gram):
    signs = np.array([1.0, -1.0] * 3)
    for C in (0.5, 4096.0):
        coefficients, residuals = np.zeros(6), signs.copy()
        bias, converged = solve(gram, signs, C, 1e-3, 10**6, coefficients, residuals)
        assert converged
        assert coefficients.tolist() == (C * signs).tolist()
        assert bias == 0


def test_two_graphs_have_the_solution_of_the_textbook():
    """α = 2 / ‖x - y‖², cut at C; the decision is the signed distance from the middle, in units of half the gap."""
    points = np.array([0.0, 4.0, 1.0, 3.0])
    gram, signs, penalties = np.outer(points, points), np.array([-1.0, 1.0]), np.array([0.25, 8.0])
    path, biases, n_fits, n_unconverged = solution_path(gram[:2, :2].astype(np.float32), signs, penalties, 1e-3, 1000)
    assert (n_fits, n_unconverged) == (1, 0)
    assert path @ gram[:2, 2:] + biases[:, None] == pytest.approx(np.array([[-0.5, 0.5]] * 2))
