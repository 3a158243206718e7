"""Conformal intervals and sets cover what they promise, on data drawn anew."""

import numpy as np
import pytest

import naive
from relaxwl.learning.conformal import class_sets, intervals


def test_intervals_equal_the_definition():
    rng = np.random.default_rng(0)
    means, stds = rng.normal(size=(7, 3)), rng.uniform(0.5, 2, size=(7, 3))
    folds, scores = rng.integers(3, size=23), rng.exponential(size=23)
    for coverage in (0.5, 0.8, 0.9, 0.99):
        found = intervals(means, stds, folds, scores, coverage)
        assert np.allclose(found, naive.cv_plus_intervals(means, stds, folds, scores, coverage), rtol=0, atol=1e-12)
    assert np.isinf(intervals(means, stds, folds, scores, 0.99)).all(), "23 examples cannot promise 99 %"


@pytest.mark.parametrize("by_class", [False, True])
def test_sets_equal_the_definition(by_class):
    rng = np.random.default_rng(1)
    probabilities = rng.dirichlet(np.ones(3), size=(9, 4))
    folds, scores, codes = rng.integers(4, size=30), rng.uniform(size=30), rng.integers(3, size=30)
    found = class_sets(probabilities, folds, scores, codes, 0.8, by_class)
    assert (found == naive.cv_plus_sets(probabilities, folds, scores, codes, 0.8, by_class)).all()


def _cross_fitted(rng, n):
    """Return a line fitted out of fold: folds, standardized errors, and the models."""
    x, noise = rng.normal(size=n), rng.normal(size=n)
    y, folds = 2 * x + noise, np.arange(n) % 5
    models = [np.polyfit(x[folds != fold], y[folds != fold], 1) for fold in range(5)]
    scores = np.array([abs(y[i] - np.polyval(models[folds[i]], x[i])) for i in range(n)])
    return models, folds, scores


def test_intervals_cover_data_drawn_anew():
    rng = np.random.default_rng(2)
    covered = []
    for _ in range(200):
        models, folds, scores = _cross_fitted(rng, 60)
        x = rng.normal(size=10)
        means = np.column_stack([np.polyval(model, x) for model in models])
        ends = intervals(means, np.ones_like(means), folds, scores, 0.8)
        y = 2 * x + rng.normal(size=10)
        covered.append((ends[:, 0] <= y) & (y <= ends[:, 1]))
    assert 0.78 < np.mean(covered) < 0.85


def test_sets_by_class_cover_a_rare_class():
    rng = np.random.default_rng(3)
    covered, plain = [], []
    for _ in range(100):
        codes = (rng.uniform(size=300) < 0.1).astype(int)
        x = rng.normal(size=300) + 1.5 * codes
        chance = lambda z: np.stack([1 - 1 / (1 + np.exp(3 - 1.5 * z)), 1 / (1 + np.exp(3 - 1.5 * z))], axis=-1)  # noqa: E731
        scores = 1 - chance(x)[np.arange(300), codes]
        new = rng.normal(size=20) + 1.5
        folds = np.zeros(300, int)
        covered.append(class_sets(chance(new)[:, None], folds, scores, codes, 0.9, by_class=True)[:, 1])
        plain.append(class_sets(chance(new)[:, None], folds, scores, codes, 0.9)[:, 1])
    assert np.mean(covered) > 0.88 > np.mean(plain)
