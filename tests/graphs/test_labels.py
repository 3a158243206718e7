"""Labels: one form for equal values, vocabularies sorted by value, codes matched by value."""

import enum
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaxwl.graphs.labels import encode_labels, label_order, match_codes, plain_label, sort_labels

SCALARS = st.one_of(
    st.integers(-5, 5), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=3)
)
LABELS = st.one_of(SCALARS, st.tuples(SCALARS, SCALARS), st.tuples(st.tuples(SCALARS)))


def test_vocabulary_is_sorted_by_value_not_by_text():
    assert sort_labels([10, 9, "b", 2, "a", (2, "x"), (1, "y"), 1.5]) == (1.5, 2, 9, 10, "a", "b", (1, "y"), (2, "x"))


@given(st.lists(LABELS, max_size=8), st.randoms(use_true_random=False))
def test_order_depends_on_values_alone(labels, random):
    shuffled = list(labels)
    random.shuffle(shuffled)
    expected, found = sort_labels(labels), sort_labels(shuffled)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


def test_equal_numbers_are_one_label_whichever_comes_first():
    for order in itertools.permutations([True, 1, 1.0, np.int8(1), np.float32(1)]):
        assert repr(sort_labels(order)) == "(1,)"
    assert repr(plain_label(-0.0)) == "0"


@given(st.lists(LABELS, max_size=12))
def test_codes_point_to_the_values(labels):
    codes, vocabulary = encode_labels(labels)
    assert codes.dtype == np.int32
    assert [vocabulary[code] for code in codes] == labels
    assert set(vocabulary) == set(labels)
    assert list(vocabulary) == sorted(vocabulary, key=label_order)


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, -1, 3], np.int16),
        np.array([True, False, True]),
        np.array([0.5, 2.0, -0.0, 0.0]),
        np.array(["b", "a", "b"]),
        np.array([[1, 0], [0, 1]]),
        np.array([2, "a"], object),
    ],
)
def test_arrays_are_encoded_as_lists_are(values):
    codes, vocabulary = encode_labels(values)
    expected_codes, expected = encode_labels(values.tolist())
    assert repr(vocabulary) == repr(expected)
    assert codes.tolist() == expected_codes.tolist()


class Element(enum.StrEnum):
    CARBON = "C"


class Charge(enum.IntEnum):
    PLUS = 1


def test_subclasses_are_reduced_to_their_value():
    assert repr(plain_label(Element.CARBON)) == "'C'"
    assert repr(plain_label(Charge.PLUS)) == "1"
    assert repr(plain_label(np.str_("x"))) == "'x'"
    assert repr(plain_label(np.array(2.0))) == "2"
    assert plain_label([1, [2, np.float64(0.5)]]) == (1, (2, 0.5))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), np.float32("nan"), (1, float("nan"))])
def test_labels_must_be_finite(bad):
    with pytest.raises(ValueError, match="finite"):
        plain_label(bad)
    with pytest.raises(ValueError, match="finite"):
        encode_labels(np.array([0.0, np.nan]))


@pytest.mark.parametrize("bad", [None, {1}, {"a": 1}, object(), b"C", 1j, (1, None), frozenset({1})])
def test_what_is_no_label_is_refused(bad):
    with pytest.raises(TypeError, match="a label must be a number, a string or a tuple"):
        plain_label(bad)


@pytest.mark.parametrize("bad", [2**63, -(2**63) - 1, np.array([2**63], np.uint64)[0], (1, 2**70)])
def test_integers_have_64_bits(bad):
    with pytest.raises(ValueError, match="use 64 bits or texts"):
        plain_label(bad)
    assert plain_label(2**63 - 1) == 2**63 - 1
    assert plain_label(1e30) == 1e30


def test_nesting_is_limited():
    nested = 1
    for _ in range(100):
        nested = [nested]
    assert sort_labels([nested, 2])[0] == 2
    for deep in ([nested], (nested,)):
        with pytest.raises(ValueError, match="more than 100 tuples within each other"):
            plain_label(deep)


@given(st.sets(LABELS, max_size=6), st.sets(LABELS, max_size=6))
def test_codes_are_matched_by_value(known, met):
    reference, vocabulary = sort_labels(known), sort_labels(met)
    codes = match_codes(vocabulary, reference)
    assert len(set(codes.tolist())) == len(vocabulary)
    for value, code in zip(vocabulary, codes, strict=True):
        if value in known:
            assert reference[code] == value
        else:
            assert code >= len(reference)
