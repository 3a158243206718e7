"""The Gaussian process against scikit-learn's, and its behavior where matrices are singular."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from relaxwl.learning.gaussian_process import GaussianProcess, _Covariance, _Problem


def _kernels(a, b):
    squared = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    return [np.exp(-squared / 2), a @ b.T]


def _diagonals(a):
    return [np.ones(len(a)), (a**2).sum(axis=1)]


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 2))
    y = np.sin(2 * X[:, 0]) + 0.7 * X[:, 1] + 0.2 * rng.normal(size=90)
    return X[:60], y[:60] - y[:60].mean(), X[60:], y[60:]


def test_prediction_equals_scikit_learns_for_the_same_weights(sample):
    X, y, X_new, _ = sample
    process = GaussianProcess().fit(_kernels(X, X), y)
    a, b = process.weights_
    kernel = ConstantKernel(a) * RBF(1.0) + ConstantKernel(b) * DotProduct(0, "fixed") + WhiteKernel(process.noise_)
    reference = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y - process.mean_)
    mean, deviation = reference.predict(X_new, return_std=True)
    found = process.predict(_kernels(X_new, X), _diagonals(X_new))
    np.testing.assert_allclose(found.mean, mean + process.mean_, rtol=1e-8)
    # Ours doubts the mean too.
    assert (found.variance >= deviation**2 - 1e-9).all()
    np.testing.assert_allclose(found.variance, deviation**2, atol=0.05)
    assert process.log_likelihood_ == pytest.approx(reference.log_marginal_likelihood_value_)


def test_likelihood_is_at_least_scikit_learns_best(sample):
    X, y, _, _ = sample
    kernel = ConstantKernel() * RBF(1.0, "fixed") + ConstantKernel() * DotProduct(0, "fixed") + WhiteKernel()
    reference = GaussianProcessRegressor(kernel, n_restarts_optimizer=3, random_state=0).fit(X, y)
    process = GaussianProcess().fit(_kernels(X, X), y)
    assert process.log_likelihood_ >= reference.log_marginal_likelihood_value_ - 1e-3


@pytest.fixture
def problem(sample):
    X, y, _, _ = sample
    targets = np.column_stack([y / y.std(), np.roll(y, 7) / y.std()])
    return _Problem(_kernels(X, X), np.array([1.0, 2.0]), targets, np.linspace(0.5, 1.5, len(y)))


def test_slopes_are_those_of_the_likelihood(problem):
    point = np.array([0.5, 0.3, 0.1])
    found, _ = _Covariance.of(problem, point).derivatives(problem)
    expected = approx_fprime(point, lambda variances: _Covariance.of(problem, variances).log_likelihood, 1e-7)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_information_is_the_mean_of_observed_and_expected(problem):
    point = np.array([0.5, 0.3, 0.1])
    covariance = _Covariance.of(problem, point)
    _, found = covariance.derivatives(problem)
    parts = [kernel / scale for kernel, scale in zip(problem.kernels, problem.scales, strict=True)]
    parts.append(np.diag(problem.ratios))
    inverse = np.linalg.inv(problem.covariance(point))
    ones = inverse.sum(axis=1)
    projected = inverse - np.outer(ones, ones) / ones.sum()
    dual = projected @ problem.targets
    np.testing.assert_allclose(covariance.dual, dual)
    expected = [[0.5 * np.trace(dual.T @ a @ projected @ b @ dual) for b in parts] for a in parts]
    np.testing.assert_allclose(found, expected)
    # The definition: half the sum of -d²L/dadb, whose trace term is +½tr(PaPb), and of the expectation of it.
    observed = approx_fprime(point, lambda v: _Covariance.of(problem, v).derivatives(problem)[0], 1e-6)
    fisher = np.array([[np.trace(inverse @ a @ inverse @ b) for b in parts] for a in parts])  # of two columns
    np.testing.assert_allclose(found, (-observed + fisher) / 2, rtol=1e-3, atol=1e-2)


def test_units_of_targets_and_kernels_do_not_matter(sample):
    X, y, X_new, _ = sample
    plain = GaussianProcess().fit(_kernels(X, X), y)
    scaled = GaussianProcess().fit([1e3 * kernel for kernel in _kernels(X, X)], 1e-4 * y + 50)
    one = plain.predict(_kernels(X_new, X), _diagonals(X_new))
    other = scaled.predict([1e3 * k for k in _kernels(X_new, X)], [1e3 * d for d in _diagonals(X_new)])
    np.testing.assert_allclose(1e-4 * one.mean + 50, other.mean, rtol=1e-6)
    np.testing.assert_allclose(1e-8 * one.variance, other.variance, rtol=1e-3)
    tiny = GaussianProcess().fit(_kernels(X, X), 1e-13 * y).predict(_kernels(X_new, X), _diagonals(X_new))
    np.testing.assert_allclose(1e13 * tiny.mean, one.mean, rtol=1e-6)


def test_leave_one_out_equals_leaving_each_out(sample):
    X, y, _, _ = sample
    process = GaussianProcess().fit(_kernels(X, X), y)
    covariance = sum(w * k for w, k in zip(process.weights_, _kernels(X, X), strict=True))
    covariance = covariance + process.noise_ * np.eye(len(y))
    groups = np.arange(len(y))
    groups[[17, 30]] = 5  # copies of an example are left out with it
    for found, parts in ((process.leave_one_out(), ([0], [17])), (process.leave_one_out(groups), ([0], [5, 17, 30]))):
        for part in parts:
            rest = np.delete(np.arange(len(y)), part)
            solved = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[np.ix_(rest, part)])
            np.testing.assert_allclose(found.mean[part], process.mean_ + (y[rest] - process.mean_) @ solved, rtol=1e-6)
            variance = np.diag(covariance[np.ix_(part, part)] - covariance[np.ix_(part, rest)] @ solved)
            np.testing.assert_allclose(found.variance[part], variance, rtol=1e-6)


def test_without_a_part_equals_learning_from_the_rest(sample):
    X, y, _, _ = sample
    process = GaussianProcess().fit(_kernels(X, X), 5 * y + 3)
    covariance = sum(w * k for w, k in zip(process.weights_, _kernels(X, X), strict=True))
    covariance = covariance + process.noise_ * np.eye(len(y))
    parts = [np.arange(10), np.array([1, 17])]
    for part, dual, mean in zip(parts, *process.without(parts), strict=True):
        rest = np.delete(np.arange(len(y)), part)
        inverse = np.linalg.inv(covariance[np.ix_(rest, rest)])
        expected = (inverse @ (5 * y[rest] + 3)).sum() / inverse.sum()
        assert mean[0] == pytest.approx(expected)
        assert not dual[part].any()
        np.testing.assert_allclose(dual[rest, 0], inverse @ (5 * y[rest] + 3 - expected), rtol=1e-6, atol=1e-9)


def test_duplicates_and_low_rank_are_no_obstacle():
    x = np.repeat(np.arange(5.0), 8)[:, None]
    process = GaussianProcess().fit([x @ x.T, np.ones((40, 40))], 2 * x[:, 0] + 1)
    found = process.predict([np.array([[7.0]]) @ x.T, np.ones((1, 40))], [np.array([49.0]), np.ones(1)])
    assert found.mean[0] == pytest.approx(15, abs=0.05)
    assert np.isfinite(found.variance).all()


def test_useless_kernel_gets_no_weight(sample):
    X, _, _, _ = sample
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(60, 60))
    weights = GaussianProcess().fit([_kernels(X, X)[0], noise @ noise.T], np.sin(2 * X[:, 0])).weights_
    assert weights[1] < 1e-4 * weights[0]


def test_many_examples_are_screened_on_few(sample):
    rng = np.random.default_rng(5)
    X = rng.uniform(-3, 3, size=(900, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=900)
    process = GaussianProcess().fit(_kernels(X, X), y)
    assert process.noise_ == pytest.approx(0.01, rel=0.15)


def test_few_contradictions_among_many_examples_are_not_all_noise():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, size=(800, 1))
    y = np.sin(2 * x[:, 0])
    # Two pairs of equal examples with unlike targets: screening, which takes some of all, misses them.
    x[1], x[3] = x[0], x[2]
    y[1], y[3] = y[0] + 0.4, y[2] - 0.4
    squared = (x - x.T) ** 2
    process = GaussianProcess().fit([np.exp(-2 * squared)], y)
    assert process.noise_ < 0.1 * y.var()
    assert process.log_likelihood_ > 0


@pytest.mark.parametrize("y", [np.full(4, 3.0), [3.0]])
def test_constant_targets_predict_themselves(y):
    process = GaussianProcess().fit([np.eye(len(y))], y)
    assert process.predict([np.zeros((1, len(y)))], [np.ones(1)]).mean[0] == pytest.approx(3)


@pytest.mark.parametrize(
    ("kernels", "y", "message"),
    [
        ([], [1.0], "at least one matrix"),
        ([np.eye(2)], [1.0, np.nan], r"y\[1\] is not"),
        ([np.eye(2), np.eye(3)], [1.0, 2.0], r"kernel 1 must be of shape \(2, 2\)"),
        ([np.full((2, 2), np.inf)], [1.0, 2.0], "kernel 0 must be finite"),
        ([-np.eye(2)], [1.0, 2.0], "positive semidefinite"),
    ],
)
def test_bad_input_is_named(kernels, y, message):
    with pytest.raises(ValueError, match=message):
        GaussianProcess().fit(kernels, y)


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 2))
    y = 3 + np.sin(2 * X[:, 0]) + 0.7 * X[:, 1] + 0.2 * rng.normal(size=500)
    return X[:400], y[:400], X[400:], y[400:]


def _solved(process, kernels, y, kept):
    """Solve for dual and mean of some examples directly."""
    covariance = sum(w * k for w, k in zip(process.weights_, kernels, strict=True)) + process.noise_ * np.eye(len(y))
    by_target, ones = np.linalg.solve(covariance[np.ix_(kept, kept)], np.column_stack([y, np.ones(len(y))])[kept]).T
    mean = by_target.sum() / ones.sum()
    dual = np.zeros(len(y))
    dual[kept] = by_target - mean * ones
    return dual, mean


def test_means_of_many_examples_are_those_of_all(many):
    X, y, X_new, y_new = many
    kernels = _kernels(X, X)
    process = GaussianProcess(n_factored=100).fit(kernels, y)
    assert process.factor_.shape == (100, 100)
    assert len(process.sample_) == 100
    dual, mean = _solved(process, kernels, y, np.arange(len(y)))
    np.testing.assert_allclose(process.dual_[:, 0], dual, atol=1e-2 * np.abs(dual).max())
    assert process.mean_ == pytest.approx(mean, abs=1e-3)
    exact = GaussianProcess().fit(kernels, y).predict(_kernels(X_new, X), _diagonals(X_new))
    found = process.predict(_kernels(X_new, X), _diagonals(X_new))
    assert np.mean((found.mean - y_new) ** 2) < 1.1 * np.mean((exact.mean - y_new) ** 2)


def test_parts_of_many_examples_are_left_out(many):
    X, y, _, _ = many
    kernels, parts = _kernels(X, X), [np.arange(80), np.arange(80, 400, 3)]
    process = GaussianProcess(n_factored=100).fit(kernels, y, parts)
    for part, dual, mean in zip(parts, *process.without(parts), strict=True):
        expected, expected_mean = _solved(process, kernels, y, np.setdiff1d(np.arange(len(y)), part))
        np.testing.assert_allclose(dual[:, 0], expected, atol=1e-2 * np.abs(expected).max())
        assert mean[0] == pytest.approx(expected_mean, abs=1e-3)


def test_variances_of_many_examples_are_calibrated(many):
    X, y, X_new, y_new = many
    kernels, folds = _kernels(X, X), np.array_split(np.random.default_rng(0).permutation(400), 5)
    process = GaussianProcess(n_factored=100).fit(kernels, y, folds)
    means = np.zeros((400, 1))
    for fold, dual, mean in zip(folds, *process.without(folds), strict=True):
        means[fold] = mean + process.covariances(kernels, fold) @ dual
    found = process.calibrate(kernels, means)
    assert np.mean((y - found.mean[:, 0]) ** 2 / found.variance) == pytest.approx(1)
    new = process.predict(_kernels(X_new, X), _diagonals(X_new))
    assert 0.7 < np.mean((y_new - new.mean) ** 2 / new.variance) < 1.4
    # Where no example is near, the variance is larger.
    far = process.predict(_kernels(X_new + 50, X), _diagonals(X_new + 50))
    assert far.variance.min() > new.variance.max()


def test_many_examples_come_back_from_a_state(many):
    X, y, X_new, _ = many
    process = GaussianProcess(n_factored=50).fit(_kernels(X, X), y)
    again = GaussianProcess.from_state(**process.to_state())
    arguments = _kernels(X_new, X), _diagonals(X_new)
    np.testing.assert_array_equal(again.means(arguments[0]), process.predict(*arguments).mean)
    again.factor([kernel[np.ix_(process.sample_, process.sample_)] for kernel in _kernels(X, X)])
    for found, expected in zip(again.predict(*arguments), process.predict(*arguments), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("rank", [1, 3])
def test_many_examples_of_low_rank_in_single_precision(rank):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, rank))
    y = X[:, 0] + 0.1 * rng.normal(size=600)
    process = GaussianProcess(n_factored=200).fit([(X @ X.T).astype(np.float32)], y, [np.arange(100)])
    (mean, _) = process.predict([X @ X.T], [(X**2).sum(axis=1)])
    assert np.mean((mean - y) ** 2) < 0.012


@pytest.mark.parametrize("unit", [1e-30, 1e-20, 1e20])
def test_many_examples_in_any_unit(many, unit):
    X, y, X_new, _ = many
    kernels, parts = [kernel.astype(np.float32) for kernel in _kernels(X, X)], [np.arange(80)]
    one, other = (GaussianProcess(n_factored=100).fit(kernels, factor * y, parts) for factor in (1.0, unit))
    means = [process.predict(_kernels(X_new, X), _diagonals(X_new)).mean for process in (one, other)]
    np.testing.assert_allclose(means[1] / unit, means[0], rtol=1e-3)
    np.testing.assert_allclose(other.without(parts)[1] / unit, one.without(parts)[1], rtol=1e-3)


def test_what_a_sample_does_not_know_is_refused(many):
    X, y, _, _ = many
    with pytest.raises(ValueError, match="need the covariance of all examples"):
        GaussianProcess(n_factored=50).fit(_kernels(X, X), y).leave_one_out()
    with pytest.raises(ValueError, match="positive semidefinite"):
        GaussianProcess(n_factored=50).fit([-np.exp(-_kernels(X, X)[1])], y)


def test_a_kernel_of_zeros_is_no_kernel(many):
    _, y, _, _ = many
    process = GaussianProcess(n_factored=50).fit([np.zeros((400, 400), np.float32)], y)
    assert process.mean_ == pytest.approx(y.mean())


def test_the_search_ends_where_the_likelihood_does_not_grow_as_foretold(sample, monkeypatch):
    X, y, _, _ = sample
    derivatives = _Covariance.derivatives

    def downhill(covariance, problem):
        slopes, information = derivatives(covariance, problem)
        return -1e6 * slopes, information

    monkeypatch.setattr(_Covariance, "derivatives", downhill)
    process = GaussianProcess().fit(_kernels(X, X), y)
    assert np.isfinite(process.weights_).all()
