"""Matrices of costs must be metrics, up to rounding; costs in words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from costs.examples import THREE, is_metric
from relaxwl._memory import MemoryRefusal
from relaxwl.costs import EditCost
from relaxwl.costs.codebook import UniformCosts, cost_text


@settings(deadline=None)
@given(hnp.arrays(np.float64, (4, 4), elements=st.integers(-1, 4)))
def test_exactly_metrics_are_accepted(matrix):
    cost = EditCost.from_matrix("abc", matrix)
    if is_metric(matrix):
        assert np.array_equal(cost.node_matrix("abc"), matrix)
    else:
        with pytest.raises(ValueError, match=r"the edit cost is not a metric: γ\("):
            cost.node_matrix("abc")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((0, 0), 1, r"γ\('a', 'a'\) = 1, but must be 0"),
        ((0, 1), 0, r"γ\('a', 'b'\) = 0, but must be positive"),
        ((0, 1), 1.5, r"γ\('a', 'b'\) = 1.5, but γ\('b', 'a'\) = 1"),
        ((3, 1), np.nan, r"γ\(⊥ \(the blank\), 'b'\) = nan is not finite"),
        ((0, 2), 3, r"γ\('a', 'c'\) = 3 is more than γ\('a', 'b'\) = 1 plus γ\('b', 'c'\) = 1"),
    ],
)
def test_violations_name_labels_and_numbers(place, value, message):
    matrix = np.array(THREE, dtype=float)
    matrix[place] = value
    if value == 3:
        matrix[place[::-1]] = value
    with pytest.raises(ValueError, match=message):
        EditCost.from_matrix("abc", matrix).node_matrix("abc")


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (0.0, "0"),
        (3.0, "3"),
        (1234567.0, "1234567"),
        (2.0**53, "9007199254740992"),
        (1e300, "1e+300"),
        (1.5, "1.5"),
        (1234567.5, "1234567.5"),
        (0.1 + 0.2, "0.3"),
        (np.float64(7), "7"),
    ],
)
def test_costs_are_written_with_all_digits(cost, text):
    assert cost_text(cost) == text


@pytest.mark.parametrize("scale", [1e-300, 1e-10, 1.0, 1e10, 1e300])
def test_costs_are_compared_relatively(scale):
    broken = scale * np.array([[0, 9, 1], [9, 0, 1], [1, 1, 0]])
    with pytest.raises(ValueError, match="is more than"):
        EditCost.from_matrix("ab", broken).node_matrix("ab")
    rounded = scale * np.array([[0, 0.3, 0.2], [0.3, 0, 0.1], [0.2, 0.1, 0]])  # 0.1 + 0.2 is not 0.3
    EditCost.from_matrix("ab", rounded).node_matrix("ab")


def test_a_small_violation_beside_large_costs_is_seen():
    matrix = np.full((4, 4), 1e9)
    matrix[:2, :2] = 9e-3
    matrix[2, :2] = matrix[:2, 2] = 1e-3
    np.fill_diagonal(matrix, 0)
    with pytest.raises(ValueError, match=r"γ\('a', 'b'\) = 0.009 is more than"):
        EditCost.from_matrix("abc", matrix).node_matrix("abc")


@pytest.mark.parametrize("n_labels", [0, 1, 2, 5])
def test_uniform_costs_are_indexed_like_their_matrix(n_labels):
    rule = UniformCosts(n_labels, 1.5, 1.0)
    matrix = EditCost(1.5, 1.0).node_matrix(range(n_labels))
    every = np.arange(n_labels + 1)
    assert len(rule) == len(matrix)
    assert rule.max(initial=0) == matrix.max(initial=0)
    np.testing.assert_array_equal(rule[np.ix_(every, every)], matrix)
    np.testing.assert_array_equal(rule[every, -1], matrix[every, -1])
    np.testing.assert_array_equal(np.asarray(rule), matrix)


def test_many_labels_are_not_written_out():
    rule = EditCost().uniform_costs(10**6)
    assert rule == UniformCosts(10**6, 1.0, 1.0)
    with pytest.raises(MemoryRefusal, match="1000000 labels"):
        np.asarray(rule)
    assert EditCost().uniform_costs(100) is None
    assert EditCost.from_callable(lambda a, b: float(a != b)).uniform_costs(10**6) is None
