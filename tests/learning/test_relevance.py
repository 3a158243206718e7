import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from relaxwl.learning.relevance import column_weights


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_weights_of_columns_equal_those_by_differences(seed, n_targets):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(rng.integers(5, 15), rng.integers(1, 5)))
    table[1] = table[0]  # equal rows pull in no direction
    targets = rng.normal(size=(len(table), n_targets))
    np.testing.assert_allclose(
        column_weights(table, targets), naive.column_weights(table, targets), rtol=1e-4, atol=1e-8
    )


def test_the_column_that_targets_follow_has_the_largest_weight():
    table = np.random.default_rng(0).normal(size=(300, 5))
    weights = column_weights(table, np.sin(2 * table[:, 2:3]))
    assert weights.argmax() == 2
    assert weights[2] > 4
    np.testing.assert_allclose(weights.mean(), 1)


def test_rows_or_targets_without_differences_leave_the_weights_at_1():
    np.testing.assert_array_equal(column_weights(np.ones((4, 3)), np.arange(4.0)[:, None]), np.ones(3))
    np.testing.assert_array_equal(column_weights(np.eye(4), np.zeros((4, 1))), np.ones(4))
    assert column_weights(np.ones((4, 0)), np.zeros((4, 1))).shape == (0,)
