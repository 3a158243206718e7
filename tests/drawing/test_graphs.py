"""Pictures of graphs."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn_pictures import parsed, shapes, texts
from relaxwl import drawing


def test_graph():
    svg = drawing.graph_svg(4, [(0, 1), (1, 0), (1, 2), (3, 3)], labels=["<", "b", "c", "d"], highlight=[1])
    assert len(shapes(svg, "link")) == 2
    assert len(shapes(svg, "node")) == 4 + 1
    assert len(shapes(svg, "lit")) == 1
    assert "node 0: &lt;" in svg
    assert svg == drawing.graph_svg(4, [(2, 1), (0, 1)], labels=["<", "b", "c", "d"], highlight={1: 1.0})


def test_weaker_highlights_are_paler():
    svg = drawing.graph_svg(2, [(0, 1)], highlight={0: 0.0, 1: 1.0})
    assert [element.get("fill-opacity") for element in shapes(svg, "lit")] == ["0.25", "1.00"]


def test_large_graphs_are_cut_around_the_highlights():
    edges = [(v, v + 1) for v in range(9999)]
    svg = drawing.graph_svg(10_000, edges, highlight=[5000], max_nodes=50)
    assert len(shapes(svg, "lit")) == 1
    assert "node 5010<" in svg
    assert "… +9,950 more nodes" in texts(svg)
    assert len(svg) < 20_000
    assert "+9,997 more" in drawing.graph_svg(10_000, edges[:1], max_nodes=3)


def test_empty_graph():
    assert parsed(drawing.graph_svg(0, [])) is not None


# -------- layouts of graphs


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.data())
def test_layout_keeps_nodes_apart(n_nodes, data):
    possible = list(itertools.combinations(range(n_nodes), 2))
    edges = data.draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    points = drawing.spring_layout(n_nodes, edges)
    assert np.isfinite(points).all()
    assert len(np.unique(points.round(3), axis=0)) == n_nodes
