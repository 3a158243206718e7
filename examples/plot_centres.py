"""
The centre of a group of trees
==============================

Groups of neighbourhoods have centres, and a centre is itself a tree: the one with the smallest sum of distances to
the members.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import relaxwl

# %%
# Group the neighbourhoods (one step deep) of labelled graphs.

graphs, _ = relaxwl.datasets.make_perturbed(40, n_classes=2, n_nodes=30, rewired=0.2, n_labels=2, random_state=0)
kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=1, n_partitions=1, n_clusters=6, random_state=0).fit(graphs)
partition = kernel.partitions_[0][1]
for group in range(len(partition)):
    print(f"group {group}: centre {partition.center_tree(group)}, {len(partition.members(group))} members shown")

# %%
# The members of the first group around its centre: distances are whole numbers of edits.

center = partition.center_tree(0)
trees = [relaxwl.unfolding_tree(graphs[graph], node, 1) for graph, node in partition.members(0)]
distances = [relaxwl.tree_edit_distance(tree, center) for tree in trees]
figure, axes = plt.subplots(figsize=(5.5, 3), layout="constrained")
axes.bar(*np.unique(distances, return_counts=True), width=0.6)
axes.set(xlabel="edits from the centre", ylabel="members", title=f"around {center}")
axes.xaxis.get_major_locator().set_params(integer=True)
plt.show()

# %%
# How the member farthest from the centre becomes the centre.

farthest = trees[int(np.argmax(distances))]
mapping = relaxwl.tree_edit_mapping(farthest, center)
print(mapping.describe())
Path("farthest_member.svg").write_text(mapping.to_svg(), encoding="utf-8")

# %%
# **What was learnt.** A column of the feature matrix is a group, a group has a centre, and the centre can be looked
# at.
