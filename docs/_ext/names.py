"""Link public names in the text of pages to the reference.

A name is a literal such as ``GraphClassifier``, ``gp.GraphKernel`` or ``relaxwl.explanation.explain``. It is linked
where it occurs first on a page, and in tables.
"""

import re
from typing import Any

from docutils import nodes

NAME = re.compile(r"(?:relaxwl\.)?((?:[a-z_]+\.)*\w+)(?:\(.*\))?")
# Pages whose tables have names of another library in the first column.
OTHERS = ("coming-from/grakel", "coming-from/wwl-and-pwl", "coming-from/transport")


def public_names(app: Any) -> dict[str, str]:
    """Return the full name of each class and each qualified function under its possible short forms."""
    found: dict[str, set[str]] = {}
    for full, entry in app.env.get_domain("py").objects.items():
        if entry.objtype in ("class", "exception", "function") and not entry.aliased and full.startswith("relaxwl."):
            parts = full.removeprefix("relaxwl.").split(".")
            shortest = len(parts) if entry.objtype == "function" and len(parts) > 1 else 1
            for length in range(shortest, len(parts) + 1):
                found.setdefault(".".join(parts[-length:]), set()).add(full)
    return {short: names.pop() for short, names in found.items() if len(names) == 1}


def link_names(app: Any, doctree: nodes.document, docname: str) -> None:
    """Wrap literals that are public names into references; pages of the reference and the gallery have their own."""
    if docname.startswith(("api", "gallery/", "command-line/")):
        return
    names, done = public_names(app), set()
    for literal in list(doctree.findall(nodes.literal)):
        match = NAME.fullmatch(literal.astext())
        full = names.get(match[1]) if match else None
        within = [node for node in _ancestors(literal) if isinstance(node, (nodes.reference, nodes.title, nodes.entry))]
        is_cell = any(isinstance(node, nodes.entry) for node in within)
        if docname in OTHERS and is_cell and within[-1].parent.index(within[-1]) == 0:
            continue
        if full is None or len(within) > is_cell or (full in done and not is_cell):
            continue
        done.add(full)
        entry = app.env.get_domain("py").objects[full]
        address = app.builder.get_relative_uri(docname, entry.docname) + f"#{entry.node_id}"
        reference = nodes.reference("", "", internal=True, refuri=address, reftitle=full)
        literal.replace_self(reference)
        reference += literal


def _ancestors(node: Any) -> list[Any]:
    return [] if node.parent is None else [node.parent, *_ancestors(node.parent)]


def setup(app: Any) -> dict[str, Any]:
    """Register ``link_names``."""
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
