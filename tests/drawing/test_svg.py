"""Texts and styles of pictures."""

from drawn_pictures import SVG, parsed, texts
from relaxwl import drawing


def test_text_is_escaped_and_fit_for_xml():
    svg = drawing.tree_svg(["<script>", "a&b\x00", "\ud800"], [-1, 0, 0], edge_labels=["", "<b>", '"'], title="<title>")
    assert "<script>" not in svg
    assert set(texts(svg)) == {"<script>", "a&b\ufffd", "\ufffd", "<b>", '"'}
    assert parsed(svg).find(f"{SVG}title").text == "<title>"
    assert parsed(svg).get("role") == "img"


def test_style_is_embedded_on_request():
    for svg in (
        drawing.tree_svg(["a"], [-1], embed_style=False),
        drawing.mapping_svg((["a"], [-1]), (["a"], [-1]), [], embed_style=False),
        drawing.graph_svg(1, [], embed_style=False),
    ):
        assert "<style>" not in svg
    assert "prefers-color-scheme:dark" in drawing.tree_svg(["a"], [-1])
