"""Pictures: well-formed, complete, free of overlaps, and of bounded size."""

import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxwl import drawing

SVG = "{http://www.w3.org/2000/svg}"

parent_lists = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*[st.just(-1) if i == 0 else st.integers(0, i - 1) for i in range(n)]).map(list)
)


def parsed(svg):
    return ElementTree.fromstring(svg)


def texts(svg):
    return [element.text for element in parsed(svg).iter(f"{SVG}text")]


def shapes(svg, kind):
    return [element for element in parsed(svg).iter() if kind in element.get("class", "").split()]


def box(element):
    if element.tag == f"{SVG}circle":
        x, y, r = (float(element.get(name)) for name in ("cx", "cy", "r"))
        return (x - r, y - r, x + r, y + r)
    x, y, w, h = (float(element.get(name)) for name in ("x", "y", "width", "height"))
    return (x, y, x + w, y + h)


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@settings(max_examples=60, deadline=None)
@given(parent_lists, st.data())
def test_vertices_of_a_tree_keep_apart_and_inside(parents, data):
    labels = data.draw(st.lists(st.text(max_size=30), min_size=len(parents), max_size=len(parents)))
    hidden = data.draw(st.lists(st.integers(0, 2), min_size=len(parents), max_size=len(parents)))
    svg = drawing.tree_svg(labels, parents, hidden=hidden)
    boxes = [box(element) for element in shapes(svg, "node") + shapes(svg, "note")]
    assert len(boxes) == len(parents) + sum(count > 0 for count in hidden)
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))
    width, height = (float(value) for value in parsed(svg).get("viewBox").split()[2:])
    assert all(b[0] >= 0 and b[1] >= 0 and b[2] <= width and b[3] <= height for b in boxes)


@settings(max_examples=30, deadline=None)
@given(parent_lists)
def test_parents_stand_over_the_middle_of_their_children(parents):
    svg = drawing.tree_svg(["x"] * len(parents), parents)
    x = [float(element.get("cx")) for element in shapes(svg, "node")]
    for parent in set(parents) - {-1}:
        children = [x[child] for child, above in enumerate(parents) if above == parent]
        assert x[parent] == pytest.approx((min(children) + max(children)) / 2, abs=0.11)


def test_text_is_escaped_and_fit_for_xml():
    svg = drawing.tree_svg(["<script>", "a&b\x00", "\ud800"], [-1, 0, 0], edge_labels=["", "<b>", '"'], title="<title>")
    assert "<script>" not in svg
    assert set(texts(svg)) == {"<script>", "a&b\ufffd", "\ufffd", "<b>", '"'}
    assert parsed(svg).find(f"{SVG}title").text == "<title>"
    assert parsed(svg).get("role") == "img"


def test_long_labels_and_many_more():
    svg = drawing.tree_svg(["x" * 100, "b"], [-1, 0], counts=[1, 7], hidden=[0, 12345])
    assert "x" * 17 + "…" in texts(svg)
    assert "×7" in texts(svg)
    assert "… +12,345 more" in texts(svg)
    assert "… +1.4e+331 more" in texts(drawing.tree_svg(["a"], [-1], hidden=[2**1100]))


@pytest.mark.parametrize(
    ("labels", "parents", "message"),
    [
        (["a"], [-1, 0], "as many labels as parents"),
        ([], [], "as many labels as parents"),
        (["a", "b"], [-1, 1], "earlier vertex"),
        (["a"], [0], "-1 for the root"),
        (["a"] * 5001, [-1] + [0] * 5000, "5,001 vertices are too many"),
    ],
)
def test_bad_trees(labels, parents, message):
    with pytest.raises(ValueError, match=message):
        drawing.tree_svg(labels, parents)


def test_mapping_colours_and_lines():
    svg = drawing.mapping_svg(
        (["a", "b", "c"], [-1, 0, 0]),
        (["a", "x", "d", "d"], [-1, 0, 1, 1]),
        [(0, 0), (1, 1)],
        captions=("before", "after"),
    )
    # One of each in the legend.
    assert len(shapes(svg, "match")) == 2 + 1
    assert len(shapes(svg, "relabelled")) == 2 + 1
    assert len(shapes(svg, "deleted")) == 1 + 1
    assert len(shapes(svg, "inserted")) == 2 + 1
    assert {"before", "after", "mapped", "deleted"} <= set(texts(svg))


def test_mapping_legend_names_only_what_occurs():
    svg = drawing.mapping_svg((["a"], [-1]), (["a"], [-1]), [(0, 0)])
    assert texts(svg) == ["a", "a", "mapped"]


def test_mapping_marks_relabelled_edges():
    tree = (["a", "b"], [-1, 0])
    svg = drawing.mapping_svg(
        tree, tree, [(0, 0), (1, 1)], edge_labels=(["", "x"], ["", "y"]), relabelled_edges=[(1, 1)]
    )
    assert [element.text for element in shapes(svg, "changed")] == ["x", "y"]


def test_style_is_embedded_on_request():
    for svg in (
        drawing.tree_svg(["a"], [-1], embed_style=False),
        drawing.mapping_svg((["a"], [-1]), (["a"], [-1]), [], embed_style=False),
        drawing.graph_svg(1, [], embed_style=False),
    ):
        assert "<style>" not in svg
    assert "prefers-color-scheme:dark" in drawing.tree_svg(["a"], [-1])


def test_graph():
    svg = drawing.graph_svg(4, [(0, 1), (1, 0), (1, 2), (3, 3)], labels=["<", "b", "c", "d"], highlight=[1])
    assert len(shapes(svg, "link")) == 2
    assert len(shapes(svg, "node")) == 4 + 1
    assert len(shapes(svg, "lit")) == 1
    assert "vertex 0: &lt;" in svg
    assert svg == drawing.graph_svg(4, [(2, 1), (0, 1)], labels=["<", "b", "c", "d"], highlight={1: 1.0})


def test_weaker_highlights_are_paler():
    svg = drawing.graph_svg(2, [(0, 1)], highlight={0: 0.0, 1: 1.0})
    assert [element.get("fill-opacity") for element in shapes(svg, "lit")] == ["0.25", "1.00"]


def test_large_graphs_are_cut_around_the_highlights():
    edges = [(v, v + 1) for v in range(9999)]
    svg = drawing.graph_svg(10_000, edges, highlight=[5000], max_nodes=50)
    assert len(shapes(svg, "lit")) == 1
    assert "vertex 5010<" in svg
    assert "… +9,950 more vertices" in texts(svg)
    assert len(svg) < 20_000
    assert "+9,997 more" in drawing.graph_svg(10_000, edges[:1], max_nodes=3)


def test_given_positions_are_kept():
    svg = drawing.graph_svg(3, [], positions=[[0, 0], [1, 0], [2, 0]])
    x = [float(element.get("cx")) for element in shapes(svg, "node")]
    assert np.diff(x)[0] == pytest.approx(np.diff(x)[1], abs=0.11)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edges": [(0, 5)]}, "outside of 0 … 1"),
        ({"edges": [], "highlight": [2]}, "highlight names vertex 2, but the graph has 2"),
        ({"edges": [], "labels": ["a"]}, "labels has 1 entries for 2"),
    ],
)
def test_bad_graphs(arguments, message):
    with pytest.raises(ValueError, match=message):
        drawing.graph_svg(2, **arguments)


def test_empty_graph():
    assert parsed(drawing.graph_svg(0, [])) is not None


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.data())
def test_layout_keeps_vertices_apart(n_nodes, data):
    possible = list(itertools.combinations(range(n_nodes), 2))
    edges = data.draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    points = drawing.spring_layout(n_nodes, edges)
    assert np.isfinite(points).all()
    assert len(np.unique(points.round(3), axis=0)) == n_nodes
