from collections import Counter

import numpy as np
import pytest

import naive
from relaxwl._validation import ParameterError
from relaxwl.comparison import design
from relaxwl.comparison.design import Design, read_covariates, read_strata

IS_Y = np.arange(12) >= 7
NONE = np.zeros((12, 0))


def test_subsets_are_drawn_with_the_product_of_their_odds():
    odds = [0.5, 1.0, 3.0, 0.2, 2.0]
    drawn = design._with_odds(np.log(odds), 2, 20_000, np.random.default_rng(0))
    found = Counter(tuple(np.flatnonzero(row).tolist()) for row in drawn)
    chances = naive.chances_of_subsets(odds, 2)
    assert found.keys() <= chances.keys()
    for part, chance in chances.items():
        assert found[part] / 20_000 == pytest.approx(chance, abs=0.015)


def test_permutations_keep_the_sizes_of_strata():
    strata = np.array([0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1])
    found = Design.of(IS_Y, strata, NONE)
    drawn = found.permuted(50, 0) + found.expected
    np.testing.assert_allclose(drawn[0], IS_Y, atol=1e-12)
    np.testing.assert_allclose(drawn[:, strata == 0].sum(axis=1), 2)
    np.testing.assert_allclose(drawn[:, strata == 1].sum(axis=1), 3)
    assert len(np.unique(drawn.round(6), axis=0)) > 30


def test_weights_balance_strata_and_covariates():
    rng = np.random.default_rng(0)
    age = rng.normal(size=400)
    is_y = rng.random(400) < 1 / (1 + np.exp(-age))
    found = Design.of(is_y, np.arange(400) % 2, age[:, None])
    means = [np.average(found.columns[side], axis=0, weights=found.weights[side]) for side in (is_y, ~is_y)]
    np.testing.assert_allclose(*means, atol=0.01)
    assert abs(age[is_y].mean() - age[~is_y].mean()) > 0.5


def test_what_covariates_explain_is_removed_from_each_permutation():
    age = np.random.default_rng(0).normal(size=(12, 1))
    found = Design.of(IS_Y, np.zeros(12, np.int64), age)
    np.testing.assert_allclose(found.permuted(20, 0) @ found.columns, 0, atol=1e-9)


def test_sides_that_covariates_separate_have_finite_odds():
    found = Design.of(IS_Y, np.zeros(12, np.int64), np.arange(12.0)[:, None])
    assert np.isfinite(found.permuted(20, 0)).all()
    assert np.isfinite(found.weights).all()


@pytest.mark.parametrize(
    ("strata", "message"),
    [
        ((["a", "a", "b"], ["a", "a"]), "stratum 'b' has none of Y; merge it"),
        ((["a", "a"], ["a", "a"]), "strata must be a pair .* for each of 3 and 2 graphs"),
        (["a"] * 5, "strata must be a pair"),
    ],
)
def test_strata_that_cannot_be_used_are_refused(strata, message):
    with pytest.raises(ParameterError, match=message):
        read_strata(strata, 3, 2)


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        (([1, 2, 3], [[1, 2], [3, 4]]), "two tables with the same columns"),
        (([1, 2, np.nan], [1, 2]), "must be finite"),
        ((["a", "b", "c"], ["a", "b"]), "must be numbers: 'a' is not a number; give categories as strata"),
    ],
)
def test_covariates_that_cannot_be_used_are_refused(covariates, message):
    with pytest.raises(ParameterError, match=message):
        read_covariates(covariates, 3, 2)


def test_strata_and_covariates_are_read_side_by_side():
    assert read_strata(([1, 2, 1], [2, 1]), 3, 2).tolist() == [0, 1, 0, 1, 0]
    assert read_covariates(([1, 2, 3], np.array([[4], [5]])), 3, 2).tolist() == [[1], [2], [3], [4], [5]]
    assert read_covariates(None, 3, 2).shape == (5, 0)
