import warnings

import numpy as np
import pandas
import pytest

from relaxwl import as_collection
from relaxwl._validation import (
    ParameterError,
    as_classes,
    as_generator,
    as_numbers,
    as_seed,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    plain_targets,
    warn_user,
)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, -1, np.float64(2)])
def test_what_is_no_natural_number_is_refused_by_name(value):
    with pytest.raises(ParameterError, match=r"depth must be an integer >= 0, not "):
        check_integer("depth", value)


@pytest.mark.parametrize(
    ("bounds", "words"), [((2, 5), "from 2 to 5"), ((None, 5), "<= 5"), ((7, None), ">= 7"), ((None, None), "integer,")]
)
def test_bounds_are_told(bounds, words):
    with pytest.raises(ParameterError, match=words):
        check_integer("depth", 6 if bounds != (None, None) else "6", *bounds)


def test_integers_come_back_as_python_integers():
    assert type(check_integer("depth", np.int32(3))) is int
    assert check_integer("depth", -3, least=None) == -3


def test_a_refusal_is_both_a_value_error_and_a_type_error():
    assert issubclass(ParameterError, ValueError)
    assert issubclass(ParameterError, TypeError)


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "1", True, None, 1j])
def test_numbers_must_be_finite_and_positive(value):
    with pytest.raises(ParameterError, match="cost must be a finite number > 0, not "):
        check_number("cost", value)


def test_zero_and_an_upper_bound_can_be_allowed():
    assert check_number("cost", 0, zero=True) == 0.0
    with pytest.raises(ParameterError, match=r">= 0 and <= 1, not 1\.5"):
        check_number("share", 1.5, zero=True, most=1)


def test_flags_and_choices():
    assert check_flag("on", np.True_) is True
    with pytest.raises(ParameterError, match="on must be True or False, not 'no'"):
        check_flag("on", "no")
    assert check_choice("base", "edge", ("subtree", "edge")) == "edge"
    with pytest.raises(ParameterError, match="base must be one of subtree, edge, not 3"):
        check_choice("base", 3, ("subtree", "edge"))


@pytest.mark.parametrize(
    "make",
    [lambda: 3, lambda: np.random.SeedSequence(3), lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)],
)
def test_every_kind_of_random_state_repeats(make):
    assert as_generator(make()).integers(2**40) == as_generator(make()).integers(2**40)
    assert as_seed(make()) == as_seed(make())


def test_an_integer_is_its_own_seed_and_a_generator_advances():
    assert as_seed(2**40) == 2**40
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng
    assert as_seed(rng) != as_seed(rng)
    assert as_seed(None) != as_seed(None)


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (["a", "b"], "U"),
        ([True, False], "b"),
        ([1, 2.5], "f"),
        (np.array(["a", "b"], dtype=object), "U"),
        (np.array([[1], [2]]), "i"),
        (pandas.Series(["a", "b"]), "U"),
        (pandas.Series([1, 2], dtype="Int64"), "i"),
        (pandas.Categorical(["x", "y"]), "U"),
        (pandas.Index([3, 4]), "i"),
    ],
)
def test_targets_become_plain(y, kind):
    found = plain_targets(y, 2)
    assert found.dtype.kind == kind
    assert found.tolist() == np.asarray(y).ravel().tolist()


@pytest.mark.parametrize(
    ("y", "problem"),
    [
        (["a", 1], r"y\[1\] is 1"),
        (["a", float("nan")], r"y\[1\] is nan"),
        ([1, None], r"y\[1\] is None"),
        (np.array([1j, 2]), r"y\[0\] is 1j"),
        (np.array(["2020", "2021"], "datetime64[Y]"), r"y\[0\] is datetime"),
        ([2**70, 1], "too large"),
        ([1, 2, 3], r"one value for each of 2 graphs, not an array of shape \(3,\)"),
    ],
)
def test_other_targets_are_refused(y, problem):
    with pytest.raises(ParameterError, match=problem):
        plain_targets(y, 2)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.0, np.nan, 1.0, 1.0], r"y\[1\] is missing"),
        ([0.5, 1.5, 1.5, 0.5], "Unknown label type: continuous"),
        ([1, 1, 1, 1], "at least two classes, and all graphs are of class 1"),
        (["a", "b", "c", "d"], "look like names"),
    ],
)
def test_what_are_no_classes_is_named(y, message):
    with pytest.raises(ParameterError, match=message):
        as_classes(y, 4)


@pytest.mark.parametrize(
    ("y", "message"),
    [(["a", "b"], "not strings"), ([1.0, np.nan], r"y\[1\] is nan"), ([1.0, 1e200], r"y\[1\] is 1e\+200")],
)
def test_what_are_no_numbers_is_named(y, message):
    with pytest.raises(ParameterError, match=message):
        as_numbers(y, 2)
    assert as_numbers([True, False], 2).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("value", [-1, True, "7", 1.5])
def test_other_random_states_are_refused(value):
    for function in (as_generator, as_seed):
        with pytest.raises(ParameterError, match="random_state must be an integer >= 0"):
            function(value)


# -------- warnings point at the user's own line


def test_a_warning_names_the_line_that_called_the_package():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_user("directly")
        as_collection([(2, [(0, 1), (1, 1)])])  # a self-loop, dropped several calls below
    assert [warning.filename for warning in caught] == [__file__, __file__]
    assert caught[1].lineno == caught[0].lineno + 1
    assert all(warning.category is UserWarning for warning in caught)
