"""
Tree edit distance between two neighborhoods
============================================

The neighborhood of an atom is represented by its unfolding tree (:class:`~relaxwl.UnfoldingTree`). The example computes
the edit distance between the trees of two atoms and the edits (:class:`~relaxwl.TreeMapping`) that turn one tree into
the other.
"""

from pathlib import Path

import relaxwl

# %%
# Acetic acid and acetamide, with the hydrogen atoms in which they differ. Nodes are atoms, labels are elements.

acetic_acid = (5, [(0, 1), (1, 2), (1, 3), (3, 4)], ["C", "C", "O", "O", "H"])
acetamide = (6, [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)], ["C", "C", "O", "N", "H", "H"])
graphs = relaxwl.GraphCollection.from_edges([acetic_acid, acetamide])

# %%
# The unfolding tree of depth 2 of the second carbon atom: its neighbors and their neighbors, which include the atom
# itself.

acid_tree = relaxwl.unfolding_tree(graphs[0], node=1, depth=2)
amide_tree = relaxwl.unfolding_tree(graphs[1], node=1, depth=2)
print(acid_tree.to_text())
print(amide_tree.to_text())

# %%
# The distance is 2: one oxygen becomes nitrogen, and one hydrogen is inserted.

mapping = relaxwl.tree_edit_mapping(acid_tree, amide_tree)
print(f"distance {mapping.cost:g}: {mapping.describe()}")
print(mapping.script())

# %%
# Dashed lines join nodes that are mapped to each other. Yellow nodes are relabeled, red ones deleted, blue ones
# inserted.

_ = Path("tree_edit_distance.svg").write_text(mapping.to_svg(), encoding="utf-8")

# %%
# Edit costs can be given as a matrix. Here relabeling between N and O costs 0.25.

labels = ["C", "H", "N", "O"]
close = [[0, 1, 1, 1, 1], [1, 0, 1, 1, 1], [1, 1, 0, 0.25, 1], [1, 1, 0.25, 0, 1], [1, 1, 1, 1, 0]]
cost = relaxwl.EditCost.from_matrix(labels, close)
print(f"distance {relaxwl.tree_edit_distance(acid_tree, amide_tree, cost):g} with this cost")

# %%
# **Summary.** Neighborhoods are trees, and their distance is the cost of the cheapest edit script.
