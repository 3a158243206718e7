"""The check against chance, against its definition."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_selection import f_classif

from relaxwl.explanation.explain import check_chance
from relaxwl.explanation.weights import read_target


def slow_effect(column, y):
    """Share of the variance that class means explain."""
    mean = column.mean()
    between = sum((y == k).sum() * (column[y == k].mean() - mean) ** 2 for k in np.unique(y))
    return between / ((column - mean) ** 2).sum()


def of(y, task="classification"):
    return read_target(y, len(y), task)


def test_effect_and_p_value_are_as_defined():
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    features = rng.poisson(2.0, (24, 7)).astype(float)
    features[:, 0] += 3 * (y == 1)
    effects, p_values = check_chance(csr_array(features), of(y), 50, seed=5)
    expected = [slow_effect(column, y) for column in features.T]
    np.testing.assert_allclose(effects, expected)
    again = np.random.default_rng(5)
    largest = []
    for _ in range(50):
        shuffled = again.permutation(y)
        largest.append(max(slow_effect(column, shuffled) for column in features.T))
    for effect, p_value in zip(expected, p_values, strict=True):
        assert p_value == pytest.approx((1 + sum(value >= effect - 1e-12 for value in largest)) / 51)


def test_effect_orders_features_like_the_f_statistic():
    rng = np.random.default_rng(1)
    y = np.arange(30) % 2
    features = rng.normal(size=(30, 9))
    effects, p_values = check_chance(csr_array(features), of(y), 0, seed=0)
    np.testing.assert_array_equal(np.argsort(effects), np.argsort(f_classif(features, y)[0]))
    assert (p_values == 1).all()


def test_constant_features_have_no_effect():
    features = csr_array(np.column_stack([np.full(10, 0.1), np.arange(10.0)]))
    effects, p_values = check_chance(features, of(np.arange(10) % 2), 20, seed=0)
    assert effects[0] == 0
    assert p_values[0] == 1


def test_nothing_varies():
    _, p_values = check_chance(csr_array(np.ones((6, 2))), of(np.arange(6) % 2), 20, seed=0)
    assert (p_values == 1).all()


def test_few_are_significant_by_chance():
    rng = np.random.default_rng(2)
    y = np.arange(20) % 2
    hits = 0
    for seed in range(40):
        features = csr_array(rng.poisson(1.0, (20, 30)).astype(float))
        hits += check_chance(features, of(y), 99, seed)[1].min() <= 0.05
    # 2 of 40 are expected; 9 or more would happen once in ten thousand times.
    assert hits < 9


def test_numbers_are_compared_by_correlation():
    rng = np.random.default_rng(3)
    y = rng.normal(size=25)
    features = rng.normal(size=(25, 6))
    features[:, 0] += y
    effects, p_values = check_chance(csr_array(features), of(y, "regression"), 40, seed=1)
    expected = [np.corrcoef(column, y)[0, 1] ** 2 for column in features.T]
    np.testing.assert_allclose(effects, expected)
    again, largest = np.random.default_rng(1), []
    for _ in range(40):
        shuffled = y[again.permutation(25)]
        largest.append(max(np.corrcoef(column, shuffled)[0, 1] ** 2 for column in features.T))
    for effect, p_value in zip(expected, p_values, strict=True):
        assert p_value == pytest.approx((1 + sum(value >= effect - 1e-12 for value in largest)) / 41)
