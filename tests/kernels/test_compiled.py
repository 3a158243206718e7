"""Counting ids of nodes, beside plain Python."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxwl.kernels._compiled import count_ids

IDS = st.lists(st.integers(0, 4), max_size=12)


@settings(max_examples=30)
@given(st.lists(IDS, max_size=5))
def test_ids_are_counted_graph_by_graph(graphs):
    offsets = np.cumsum([0, *map(len, graphs)])
    indptr, found, counts = count_ids(offsets, np.array([i for ids in graphs for i in ids], np.int32), 5)
    for graph, ids in enumerate(graphs):
        span = slice(indptr[graph], indptr[graph + 1])
        assert dict(zip(found[span].tolist(), counts[span].tolist(), strict=True)) == {i: ids.count(i) for i in ids}
        assert found[span].tolist() == sorted(set(ids))
