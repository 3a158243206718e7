"""Graphs of networkx."""

from hypothesis import given
from hypothesis import strategies as st

from relaxwl.graphs import GraphCollection
from relaxwl.inputs import as_collection


@given(st.data())
def test_networkx_round_trip_needs_no_names(data):
    sizes = data.draw(st.lists(st.integers(0, 4), max_size=3))
    graphs = GraphCollection.from_edges(
        (size, [(u, v) for u in range(size) for v in range(u) if data.draw(st.booleans())], [*range(size)])
        for size in sizes
    )
    assert list(as_collection(graphs.to_networkx())) == list(graphs) or not graphs.n_nodes
