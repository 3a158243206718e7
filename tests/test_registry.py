"""Kernels and predictors by one list of names."""

import pytest

from relaxwl._registry import ENTRIES, estimator_names, get_estimator
from relaxwl.kernels import kernel_names


def test_predictors_come_behind_kernels():
    assert estimator_names() == [*kernel_names(), "auto", "molecules"]
    assert all(entry.regressor for entry in ENTRIES[-2:])


def test_regression_needs_an_entry_that_predicts():
    assert get_estimator("auto").for_task("regression").estimator_class().__name__ == "GraphRegressor"
    with pytest.raises(ValueError, match="wl does not predict numbers"):
        get_estimator("wl").for_task("regression")
