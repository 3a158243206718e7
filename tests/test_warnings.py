"""Warnings point at the user's own line."""

import warnings

from relaxwl import as_collection
from relaxwl._validation import warn_user


def test_a_warning_names_the_line_that_called_the_package():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_user("directly")
        as_collection([(2, [(0, 1), (1, 1)])])  # a self-loop, dropped several calls below
    assert [warning.filename for warning in caught] == [__file__, __file__]
    assert caught[1].lineno == caught[0].lineno + 1
    assert all(warning.category is UserWarning for warning in caught)
