"""Spans of CSR arrays, beside loops that say the same."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxwl.graphs.arrays import counting_order, expand_spans, first_of_runs, mirror, prefix_sums

COUNTS = st.lists(st.integers(0, 5), max_size=8)


@settings(max_examples=30)
@given(COUNTS)
def test_prefix_sums_begin_with_zero_and_end_with_the_sum(counts):
    sums = prefix_sums(np.array(counts, np.int32))
    assert sums.dtype == np.int64
    assert sums.tolist() == [sum(counts[:end]) for end in range(len(counts) + 1)]


def test_prefix_sums_of_small_types_do_not_overflow():
    assert prefix_sums(np.full(3, 2**31 - 1, np.int32))[-1] == 3 * (2**31 - 1)


@settings(max_examples=30)
@given(COUNTS, st.randoms(use_true_random=False))
def test_spans_are_written_out_one_behind_the_other(counts, random):
    starts = [random.randrange(100) for _ in counts]
    expected = [start + step for start, count in zip(starts, counts, strict=True) for step in range(count)]
    assert expand_spans(np.array(starts, np.int64), np.array(counts, np.int64)).tolist() == expected


@settings(max_examples=30)
@given(st.lists(st.integers(0, 2), max_size=10))
def test_first_of_runs(values):
    expected = [place == 0 or values[place - 1] != value for place, value in enumerate(values)]
    assert first_of_runs(np.array(values)).tolist() == expected


@settings(max_examples=30)
@given(st.lists(st.integers(0, 4), max_size=12))
def test_codes_are_sorted_and_equal_ones_keep_their_order(codes):
    order, starts = counting_order(np.array(codes, np.int32), 5)
    assert order.tolist() == sorted(range(len(codes)), key=lambda place: codes[place])
    assert starts.tolist() == [sum(code < bound for code in codes) for bound in range(6)]


def test_the_upper_triangle_is_mirrored_across_blocks():
    matrix = np.random.default_rng(0).random((150, 150))
    upper = np.triu(matrix)
    mirror(matrix, block=64)
    np.testing.assert_array_equal(matrix, upper + np.triu(upper, 1).T)
