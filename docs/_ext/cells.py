"""Mark cells of tables and literals by their length, so that the style sheet can keep short ones on one line.

Punctuation is kept on the line of the formula or short word of code before it.
"""

import html
import re
from typing import Any

from docutils import nodes

# Characters; numbers such as "84.59 ± 1.33 (5)" are short, names of classes may be wide, names of tests are long.
SHORT, WIDE, LONG = 18, 26, 45
PUNCTUATION = re.compile(r"[.,:;)?!]+")


def mark_cells(app: Any, doctree: nodes.document) -> None:
    """Add the class ``short`` to cells with little text, and ``wide`` or ``long`` to those with such a word."""
    for entry in doctree.findall(nodes.entry):
        longest = max(map(len, entry.astext().split()), default=0)
        if len(entry.astext()) <= SHORT:
            entry["classes"].append("short")
        elif longest > WIDE:
            entry["classes"].append("long" if longest > LONG else "wide")


def mark_literals(app: Any, doctree: nodes.document) -> None:
    """Add the class ``short`` to literals whose words fit on a line of a phone, such as ``--node-label``."""
    for literal in doctree.findall(nodes.literal):
        if max(map(len, literal.astext().split()), default=0) <= WIDE:
            literal["classes"].append("short")


def keep_punctuation(app: Any, doctree: nodes.document) -> None:
    """Put each formula or literal of one short word into one element with the punctuation that follows it."""
    for node in [*doctree.findall(nodes.math), *doctree.findall(nodes.literal)]:
        following = node.next_node(descend=False, siblings=True)
        match = PUNCTUATION.match(following.astext()) if isinstance(following, nodes.Text) else None
        may_break = isinstance(node, nodes.literal) and (len(node.astext()) > WIDE or " " in node.astext())
        if match is None or may_break:
            continue
        parent, position = node.parent, node.parent.index(node)
        rest = nodes.Text(following.astext()[match.end() :])
        parent[position : position + 2] = [nodes.inline("", "", node, nodes.Text(match[0]), classes=["together"]), rest]


def break_names(app: Any, doctree: nodes.document, docname: str) -> None:
    """Let the names of long cells break between their words."""
    for entry in doctree.findall(nodes.entry):
        for literal in list(entry.findall(nodes.literal)) if "long" in entry["classes"] else ():
            text = re.sub(r"(::|[/_.(])", r"\1<wbr>", html.escape(literal.astext()))
            literal.replace_self(nodes.raw("", f'<code class="docutils literal">{text}</code>', format="html"))


def setup(app: Any) -> dict[str, Any]:
    """Register the functions above; names are linked before they are broken."""
    app.connect("doctree-read", mark_cells)
    app.connect("doctree-read", mark_literals)
    app.connect("doctree-read", keep_punctuation)
    app.connect("doctree-resolved", break_names, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
