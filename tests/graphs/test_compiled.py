"""The adjacency of undirected edges, beside sets of pairs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxwl.graphs._compiled import symmetric_adjacency

N_NODES = 5
NODES = st.integers(0, N_NODES - 1)


@settings(max_examples=30)
@given(st.lists(st.tuples(NODES, NODES), max_size=15), st.booleans())
def test_each_edge_stands_once_at_both_ends(edges, traced):
    original = np.empty(len(edges) if traced else 0, np.int64)
    indptr, neighbors, listed = symmetric_adjacency(np.array(edges, np.int64).reshape(-1, 2), N_NODES, original)
    arcs = list(zip(np.repeat(np.arange(N_NODES), np.diff(indptr)).tolist(), neighbors.tolist(), strict=True))
    assert arcs == sorted({(u, v) for a, b in edges if a != b for u, v in ((a, b), (b, a))})
    if traced:
        first = {}
        for place, edge in enumerate(edges):
            first.setdefault(frozenset(edge), place)
        assert listed.tolist() == [first[frozenset(arc)] for arc in arcs]
        proper = [place if len(set(edge)) == 1 else first[frozenset(edge)] for place, edge in enumerate(edges)]
        assert original.tolist() == proper
    else:
        assert len(listed) == 0
