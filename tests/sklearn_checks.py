"""scikit-learn's own checks of estimators, as far as they can do without tables of numbers."""

import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks

# What says nothing about the data. All other checks feed tables of numbers to ``fit``, and graphs are no tables.
APPLICABLE = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]
# scikit-learn 1.5 does not have all of them.
each_check = pytest.mark.parametrize("check", [name for name in APPLICABLE if hasattr(estimator_checks, name)])


def run_check(check, estimator):
    """Run one of the checks."""
    getattr(estimator_checks, check)(type(estimator).__name__, clone(estimator))
