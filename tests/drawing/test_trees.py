"""Pictures of trees: complete, free of overlaps, and of bounded size."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawn_pictures import SVG, box, overlap, parsed, shapes, texts
from relaxwl import drawing
from relaxwl.drawing import PlainTree

parent_lists = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*[st.just(-1) if i == 0 else st.integers(0, i - 1) for i in range(n)]).map(list)
)


@settings(max_examples=60, deadline=None)
@given(parent_lists, st.data())
def test_nodes_of_a_tree_keep_apart_and_inside(parents, data):
    labels = data.draw(st.lists(st.text(max_size=30), min_size=len(parents), max_size=len(parents)))
    hidden = data.draw(st.lists(st.integers(0, 2), min_size=len(parents), max_size=len(parents)))
    svg = drawing.tree_svg(PlainTree(labels, parents, hidden=hidden))
    boxes = [box(element) for element in shapes(svg, "node") + shapes(svg, "note")]
    assert len(boxes) == len(parents) + sum(count > 0 for count in hidden)
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))
    width, height = (float(value) for value in parsed(svg).get("viewBox").split()[2:])
    assert all(b[0] >= 0 and b[1] >= 0 and b[2] <= width and b[3] <= height for b in boxes)


@settings(max_examples=30, deadline=None)
@given(parent_lists)
def test_parents_stand_over_the_middle_of_their_children(parents):
    svg = drawing.tree_svg(PlainTree(["x"] * len(parents), parents))
    x = [float(element.get("cx")) for element in shapes(svg, "node")]
    for parent in set(parents) - {-1}:
        children = [x[child] for child, above in enumerate(parents) if above == parent]
        assert x[parent] == pytest.approx((min(children) + max(children)) / 2, abs=0.11)


def test_long_labels_and_many_more():
    svg = drawing.tree_svg(PlainTree(["x" * 100, "b"], [-1, 0], counts=[1, 7], hidden=[0, 12345]))
    assert "x" * 17 + "…" in texts(svg)
    assert "×7" in texts(svg)
    assert "… +12,345 more" in texts(svg)
    assert "… +1.4e+331 more" in texts(drawing.tree_svg(PlainTree(["a"], [-1], hidden=[2**1100])))


def test_too_many_nodes_are_refused():
    with pytest.raises(ValueError, match="5,001 nodes are too many"):
        drawing.tree_svg(PlainTree(["a"] * 5001, [-1] + [0] * 5000))


def test_mapping_colors_and_lines():
    svg = drawing.mapping_svg(
        PlainTree(["a", "b", "c"], [-1, 0, 0]),
        PlainTree(["a", "x", "d", "d"], [-1, 0, 1, 1]),
        [(0, 0), (1, 1)],
        states=(["kept", "relabeled", "deleted"], ["kept", "relabeled", "inserted", "inserted"]),
        captions=("before", "after"),
    )
    # One of each in the legend.
    assert len(shapes(svg, "match")) == 2 + 1
    assert len(shapes(svg, "relabeled")) == 2 + 1
    assert len(shapes(svg, "deleted")) == 1 + 1
    assert len(shapes(svg, "inserted")) == 2 + 1
    assert {"before", "after", "mapped", "deleted"} <= set(texts(svg))


def test_mapping_legend_names_only_what_occurs():
    svg = drawing.mapping_svg(PlainTree(["a"], [-1]), PlainTree(["a"], [-1]), [(0, 0)], states=(["kept"], ["kept"]))
    assert texts(svg) == ["a", "a", "mapped"]


def test_mapping_marks_relabeled_edges():
    before, after = (PlainTree(["a", "b"], [-1, 0], edge_labels=["", edge]) for edge in "xy")
    states = (["kept"] * 2, ["kept"] * 2)
    svg = drawing.mapping_svg(before, after, [(0, 0), (1, 1)], states=states, relabeled_edges=[(1, 1)])
    assert [element.text for element in shapes(svg, "changed")] == ["x", "y"]


# -------- texts and styles of pictures


def test_text_is_escaped_and_fit_for_xml():
    tree = PlainTree(["<script>", "a&b\x00", "\ud800"], [-1, 0, 0], edge_labels=["", "<b>", '"'])
    svg = drawing.tree_svg(tree, title="<title>")
    assert "<script>" not in svg
    assert set(texts(svg)) == {"<script>", "a&b\ufffd", "\ufffd", "<b>", '"'}
    assert parsed(svg).find(f"{SVG}title").text == "<title>"
    assert parsed(svg).get("role") == "img"


def test_style_is_embedded_on_request():
    for svg in (
        drawing.tree_svg(PlainTree(["a"], [-1]), embed_style=False),
        drawing.mapping_svg(
            PlainTree(["a"], [-1]), PlainTree(["a"], [-1]), [], states=(["deleted"], ["inserted"]), embed_style=False
        ),
        drawing.graph_svg(1, [], embed_style=False),
    ):
        assert "<style>" not in svg
    assert "prefers-color-scheme:dark" in drawing.tree_svg(PlainTree(["a"], [-1]))
