"""Linear models of features in parts: against dense solutions, whatever the parts."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from relaxwl.learning import linear
from relaxwl.learning.linear import MemoryRows, Models, Task, fit_models

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(50, 6)) * (RNG.random((50, 6)) < 0.5)
NUMBERS = DENSE @ RNG.normal(size=6) + RNG.normal(size=50)
SIGNS = np.where(NUMBERS > 0, 1.0, -1.0)
WEIGHTS = RNG.integers(0, 3, 50).astype(float)
FOLDS = np.arange(50) % 3


@pytest.fixture(autouse=True)
def exact(monkeypatch):
    monkeypatch.setattr(linear, "TOLERANCE", 1e-16)


def task(loss, *targets):
    return Task(loss, np.column_stack(targets), WEIGHTS, FOLDS)


def test_squared_errors_make_ridge_regressions():
    found = fit_models(MemoryRows(csr_array(DENSE)), task("square", NUMBERS, 2 * NUMBERS), 0.25, [0, 2, -2])
    for place, fold in enumerate((0, 2, -2)):
        own = WEIGHTS * (fold != FOLDS)
        ridge = Ridge(alpha=2.0).fit(DENSE, NUMBERS, sample_weight=own)
        expected = np.append(ridge.coef_, ridge.intercept_)
        np.testing.assert_allclose(found[place], [expected, 2 * expected], atol=1e-6)


def test_squared_hinges_make_support_vector_machines():
    found = fit_models(MemoryRows(csr_array(DENSE)), task("hinge", SIGNS), 3.0, [1])[0, 0]
    own = WEIGHTS * (FOLDS != 1)

    def objective(model):
        gaps = np.maximum(1 - SIGNS * (DENSE @ model[:-1] + model[-1]), 0)
        return 0.5 * model[:-1] @ model[:-1] + 3.0 * own @ gaps**2

    expected = minimize(objective, np.zeros(7), options={"gtol": 1e-9}).x
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert objective(found) <= objective(expected) + 1e-9


@pytest.mark.parametrize("loss", ["hinge", "square"])
def test_features_of_one_row_are_joined_and_no_model_differs(loss):
    # 40 features of single rows, several of some rows, and one that no row has.
    single, rows = np.zeros((50, 41)), RNG.integers(0, 20, 40)
    single[rows, np.arange(40)] = RNG.normal(size=40)
    dense, wanted = np.hstack([single, DENSE]), task(loss, SIGNS, NUMBERS if loss == "square" else -SIGNS)
    joined = MemoryRows(csr_array(dense))
    assert joined.n_features == DENSE.shape[1] + len(np.unique(rows))
    found = joined.expand(fit_models(joined, wanted, 0.5, [0, -2]))
    # The joined ones follow from the others, and losses do not have them.
    coefficients = np.zeros((DENSE.shape[1] + 1, 2))
    _, gradient = joined.learn(wanted)(Models(coefficients, np.arange(2), np.full(2, -2)))
    assert gradient.shape == coefficients.shape
    for place, fold in enumerate((0, -2)):
        own = WEIGHTS * (fold != FOLDS)
        for model, target in zip(found[place], wanted.targets.T, strict=True):
            values = dense @ model[:-1] + model[-1]
            gaps = target - values if loss == "square" else np.maximum(1 - target * values, 0) * target
            # At the minimum the gradient of the objective vanishes.
            np.testing.assert_allclose(model[:-1], dense.T @ (own * gaps), atol=1e-5)
            assert abs(own @ gaps) < 1e-5


@pytest.mark.parametrize("loss", ["hinge", "square"])
def test_parts_and_threads_change_nothing(monkeypatch, loss):
    features, wanted = csr_array(DENSE), task(loss, SIGNS, -SIGNS)
    whole = fit_models(MemoryRows(features), wanted, 1.0, [0, 1, 2])
    monkeypatch.setattr(linear, "ROWS_AT_ONCE", 7)
    parts = fit_models(MemoryRows(features), wanted, 1.0, [0, 1, 2])
    np.testing.assert_allclose(parts, whole, atol=1e-6)
    np.testing.assert_array_equal(fit_models(MemoryRows(features, 2), wanted, 1.0, [0, 1, 2]), parts)
    np.testing.assert_allclose(fit_models(MemoryRows(features), wanted, 1.0, [0, 1, 2], whole), whole, atol=1e-6)
    values = MemoryRows(features, 2).values(whole[0])
    np.testing.assert_allclose(values, DENSE @ whole[0, :, :-1].T + whole[0, :, -1])


def test_rows_may_come_in_lists_and_some_may_be_taken(monkeypatch):
    features, wanted = csr_array(np.hstack([DENSE, np.eye(50)])), task("hinge", SIGNS)
    whole = MemoryRows(features)
    parts = [csr_array(features[start:stop]) for start, stop in ((0, 9), (9, 30), (30, 50))]
    joined = MemoryRows(parts)
    assert parts == []  # no second copy is kept
    expected = fit_models(whole, wanted, 1.0, [0, -2])
    np.testing.assert_allclose(fit_models(joined, wanted, 1.0, [0, -2]), expected, atol=1e-6)
    rows = np.array([2, 8, 9, 31, 32, 49])
    some = joined[rows]
    assert some.n_features < joined.n_features
    coefficients = RNG.normal(size=(2, some.n_features + 1))
    np.testing.assert_allclose(some.values(coefficients), whole.values(some.expand(coefficients))[rows])
    monkeypatch.setattr(linear, "N_GRADIENTS", 2)
    grouped = MemoryRows([csr_array(features[start : start + 10]) for start in range(0, 50, 10)])
    np.testing.assert_allclose(fit_models(grouped, wanted, 1.0, [0, -2]), expected, atol=1e-6)


def test_a_failure_ends_all_models():
    class Failing(MemoryRows):
        def learn(self, task):
            def fail(models):
                raise ZeroDivisionError("lost")

            return fail

    with pytest.raises(ZeroDivisionError, match="lost"):
        fit_models(Failing(csr_array(DENSE)), task("square", NUMBERS), 1.0, [0, 1])
