"""
How far two neighbourhoods are apart
====================================

The unfolding trees of two atoms of two small molecules, the edit distance between them, and how one tree becomes the
other.
"""

from pathlib import Path

import relaxwl

# %%
# Acetic acid and acetamide, without their hydrogen atoms but for those that tell them apart. A vertex is an atom,
# its label the chemical element.

acetic_acid = (5, [(0, 1), (1, 2), (1, 3), (3, 4)], ["C", "C", "O", "O", "H"])
acetamide = (6, [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)], ["C", "C", "O", "N", "H", "H"])
graphs = relaxwl.GraphCollection.from_edges([acetic_acid, acetamide])

# %%
# The unfolding tree of the second carbon atom, two steps deep: its neighbours, and their neighbours, itself among
# them.

acid_tree = relaxwl.unfolding_tree(graphs[0], node=1, depth=2)
amide_tree = relaxwl.unfolding_tree(graphs[1], node=1, depth=2)
print(acid_tree.to_text())
print(amide_tree.to_text())

# %%
# Two edits lie between them: the oxygen that holds the hydrogen becomes nitrogen, and gets one hydrogen more.

mapping = relaxwl.tree_edit_mapping(acid_tree, amide_tree)
print(f"distance {mapping.cost:g}: {mapping.describe()}")
print(mapping.script())

# %%
# The picture: vertices joined by dashed lines are mapped to each other, yellow ones change their label, red ones are
# deleted and blue ones inserted. It is an SVG file for a browser or a page.

Path("tree_edit_distance.svg").write_text(mapping.to_svg(), encoding="utf-8")

# %%
# Edits need not cost the same. Where nitrogen is close to oxygen, the two neighbourhoods are closer too.

labels = ["C", "H", "N", "O"]
close = [[0, 1, 1, 1, 1], [1, 0, 1, 1, 1], [1, 1, 0, 0.25, 1], [1, 1, 0.25, 0, 1], [1, 1, 1, 1, 0]]
cost = relaxwl.EditCost.from_matrix(labels, close)
print(f"distance {relaxwl.tree_edit_distance(acid_tree, amide_tree, cost):g} where N and O are alike")

# %%
# **What was learnt.** A neighbourhood is a tree, the distance between two trees is the price of the cheapest edits,
# and the edits can be read and drawn. What an edit costs is yours to say.
