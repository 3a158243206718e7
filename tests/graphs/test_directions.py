"""Arcs forwards, backwards and both ways, beside sets of pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxwl.graphs.building import arc_adjacency, both_ways, reversed_arcs, symmetric

N_NODES = 5
NODES = st.integers(0, N_NODES - 1)
ARCS = st.lists(st.tuples(NODES, NODES), max_size=15)


def as_array(arcs):
    return np.array(arcs, np.int64).reshape(-1, 2)


def pairs(indptr, indices):
    """Return the arcs of an adjacency in its order."""
    return list(zip(np.repeat(np.arange(N_NODES), np.diff(indptr)).tolist(), indices.tolist(), strict=True))


def adjacency(arcs):
    return arc_adjacency(as_array(arcs), N_NODES, np.empty(0, np.int64))


@settings(max_examples=30)
@given(ARCS)
def test_an_adjacency_has_each_proper_arc_once_in_order(arcs):
    original = np.empty(len(arcs), np.int64)
    indptr, indices, listed = arc_adjacency(as_array(arcs), N_NODES, original)
    assert pairs(indptr, indices) == sorted({arc for arc in arcs if arc[0] != arc[1]})
    # An entry is the first listing of its arc; a loop and a first listing are their own, a repetition is the first's.
    assert [arcs[place] for place in listed] == pairs(indptr, indices)
    assert [arcs.index(arc) for arc in pairs(indptr, indices)] == listed.tolist()
    expected = [place if arc[0] == arc[1] else arcs.index(arc) for place, arc in enumerate(arcs)]
    assert original.tolist() == expected


@settings(max_examples=30)
@given(ARCS)
def test_turning_arcs_round_keeps_track_of_them(arcs):
    indptr, indices, _ = adjacency(arcs)
    back_indptr, back_indices, entries = reversed_arcs(indptr, indices)
    forward = pairs(indptr, indices)
    assert pairs(back_indptr, back_indices) == sorted((head, tail) for tail, head in forward)
    assert [forward[entry][::-1] for entry in entries] == pairs(back_indptr, back_indices)


@settings(max_examples=30)
@given(ARCS)
def test_both_ways_a_node_sees_what_leaves_and_what_enters(arcs):
    indptr, indices, _ = adjacency(arcs)
    forward = pairs(indptr, indices)
    seen_indptr, seen, entries, entering = both_ways(indptr, indices)
    for node in range(N_NODES):
        span = slice(seen_indptr[node], seen_indptr[node + 1])
        found = list(zip(seen[span].tolist(), entering[span].tolist(), strict=True))
        leaving = [(head, False) for tail, head in forward if tail == node]
        assert sorted(found) == sorted(leaving + [(tail, True) for tail, head in forward if head == node])
        assert found[: len(leaving)] == leaving
    for at, (entry, turned) in enumerate(zip(entries, entering, strict=True)):
        assert seen[at] == forward[entry][0 if turned else 1]


@settings(max_examples=30)
@given(ARCS, st.booleans())
def test_symmetric_arcs_have_counterparts(arcs, completed):
    arcs = sorted({*arcs, *((head, tail) for tail, head in arcs)}) if completed else sorted(set(arcs))
    assert symmetric(as_array(arcs), None, N_NODES) == all((head, tail) in arcs for tail, head in arcs)


@pytest.mark.parametrize(("values", "expected"), [([3, 5, 3, 5], True), ([3, 5, 3, 4], False), ([3, 3, 5, 5], False)])
def test_symmetric_arcs_carry_the_same_both_ways(values, expected):
    arcs = as_array([(0, 1), (1, 2), (1, 0), (2, 1)])
    assert symmetric(arcs, np.array(values), N_NODES) == expected
