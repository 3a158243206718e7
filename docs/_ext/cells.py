"""Mark cells of tables by the length of their text, so that the style sheet can keep short ones on one line."""

from typing import Any

from docutils import nodes

# Characters; numbers such as "84.59 ± 1.33 (5)" are short, names of tests are long.
SHORT, LONG = 18, 45


def mark_cells(app: Any, doctree: nodes.document) -> None:
    """Add the class ``short`` to cells with little text and ``long`` to those with a long word."""
    for entry in doctree.findall(nodes.entry):
        if len(entry.astext()) <= SHORT:
            entry["classes"].append("short")
        elif max(map(len, entry.astext().split())) > LONG:
            entry["classes"].append("long")


def setup(app: Any) -> dict[str, Any]:
    """Register ``mark_cells``."""
    app.connect("doctree-read", mark_cells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
