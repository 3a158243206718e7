"""Gathering rows two ways, and the sort that lets one of them do without sorting rows."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxwl.unfolding._compiled import Adjacency, counting_order, gather_coded_rows, gather_rows
from small_graphs import collection, random_graphs


@settings(max_examples=30)
@given(st.lists(st.integers(0, 6), max_size=20))
def test_counting_order_is_a_stable_sort(ids):
    ids = np.array(ids, np.int32)
    assert counting_order(ids, 7).tolist() == np.argsort(ids, kind="stable").tolist()


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_rows_are_gathered_alike_by_handing_out_and_by_asking(seed, n_children):
    """Ids from ``n_children`` on were not known at fitting; some rows are too long to be sorted by insertion."""
    graphs = collection(random_graphs(3, max_nodes=40, seed=seed, density=0.8))
    rng = np.random.default_rng(seed)
    n_total = n_children + 3
    previous = rng.integers(0, n_total, graphs.n_nodes).astype(np.int32)
    adjacency = Adjacency(graphs.indptr, graphs.indices, np.empty(0, np.int32))
    begin, end = int(graphs.offsets[1]), int(graphs.offsets[3])
    handed = gather_rows(begin, end, adjacency, previous, n_children, n_total)
    asked = gather_coded_rows(begin, end, adjacency, previous, n_children, 1, n_total)
    indptr, points, counts, size = handed
    assert size == asked[3] == indptr[-1]
    assert indptr.tolist() == asked[0].tolist()
    assert points[:size].tolist() == asked[1][:size].tolist()
    assert counts[:size].tolist() == asked[2][:size].tolist()
    for row, node in enumerate(range(begin, end)):
        children = previous[graphs.indices[graphs.indptr[node] : graphs.indptr[node + 1]]]
        expected = np.unique(np.where(children < n_children, children, n_children + children), return_counts=True)
        span = slice(indptr[row], indptr[row + 1])
        assert (points[span].tolist(), counts[span].tolist()) == tuple(part.tolist() for part in expected)
