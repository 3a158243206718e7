"""Explanations on the command line."""

from relaxwl.cli import main


def test_explain_writes_a_page(dataset, tmp_path, capsys):
    page = tmp_path / "explorer.html"
    assert main(["explain", str(dataset), "-o", str(page), "--depth", "2"]) == 0
    assert "clusters of neighborhoods" in capsys.readouterr().out
    assert "<html" in page.read_text()
