"""Texts and styles of pictures."""

from drawn_pictures import SVG, parsed, texts
from relaxwl import drawing
from relaxwl.drawing import PlainTree


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
