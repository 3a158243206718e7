"""Pictures of trees, of mappings between trees, and of graphs, as SVG text.

The functions take lists and numbers, never objects of this package. A picture is self-contained: it carries
its own style, follows a light or dark background, and says in words what it shows to those who cannot see it.
"""

from relaxwl.drawing.graphs import graph_svg, molecule_svg, nodes_to_draw, spring_layout
from relaxwl.drawing.trees import (
    DELETED,
    INSERTED,
    KEPT,
    RELABELED,
    STYLE,
    TREE_ROOM,
    PlainTree,
    mapping_svg,
    tree_svg,
    tree_width,
)

__all__ = [
    "DELETED",
    "INSERTED",
    "KEPT",
    "RELABELED",
    "STYLE",
    "TREE_ROOM",
    "PlainTree",
    "graph_svg",
    "mapping_svg",
    "molecule_svg",
    "nodes_to_draw",
    "spring_layout",
    "tree_svg",
    "tree_width",
]
