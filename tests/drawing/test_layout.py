"""Layouts of graphs."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxwl import drawing


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.data())
def test_layout_keeps_nodes_apart(n_nodes, data):
    possible = list(itertools.combinations(range(n_nodes), 2))
    edges = data.draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    points = drawing.spring_layout(n_nodes, edges)
    assert np.isfinite(points).all()
    assert len(np.unique(points.round(3), axis=0)) == n_nodes
