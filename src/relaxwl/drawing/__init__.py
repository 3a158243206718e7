"""Pictures of trees, of mappings between trees, and of graphs, as SVG text; for use within the package.

The functions take lists and numbers, never objects of this package. A picture is self-contained: it includes its
style sheet, adapts to a light or dark background, and has a description for screen readers.
"""

from relaxwl.drawing.graphs import graph_svg as graph_svg
from relaxwl.drawing.graphs import molecule_svg as molecule_svg
from relaxwl.drawing.graphs import nodes_to_draw as nodes_to_draw
from relaxwl.drawing.graphs import spring_layout as spring_layout
from relaxwl.drawing.trees import DELETED as DELETED
from relaxwl.drawing.trees import INSERTED as INSERTED
from relaxwl.drawing.trees import KEPT as KEPT
from relaxwl.drawing.trees import RELABELED as RELABELED
from relaxwl.drawing.trees import STYLE as STYLE
from relaxwl.drawing.trees import TREE_ROOM as TREE_ROOM
from relaxwl.drawing.trees import PlainTree as PlainTree
from relaxwl.drawing.trees import mapping_svg as mapping_svg
from relaxwl.drawing.trees import tree_svg as tree_svg
from relaxwl.drawing.trees import tree_width as tree_width
