"""
Centers of clusters of trees
============================

Each cluster of neighborhoods has a center, which is a tree. k-means chooses it to make the sum of distances to the
members of the cluster small.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import relaxwl

# %%
# Cluster the neighborhoods of depth 1 of labeled graphs.

graphs, _ = relaxwl.datasets.make_perturbed(40, n_classes=2, n_nodes=30, rewired=0.2, n_labels=2, random_state=0)
kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=1, n_partitions=1, n_clusters=6, random_state=0).fit(graphs)
partition = kernel.partitions_[0][1]
for cluster in range(len(partition)):
    print(f"cluster {cluster}: center {partition.center_tree(cluster)}, {len(partition.members(cluster))} examples")

# %%
# A fitted partition keeps up to five members of each cluster as examples, the nearest to the center first. With unit
# costs their distances to the center are numbers of edits.

center = partition.center_tree(0)
trees = [relaxwl.unfolding_tree(graphs[graph], node, 1) for graph, node in partition.members(0)]
distances = [relaxwl.tree_edit_distance(tree, center) for tree in trees]
figure, axes = plt.subplots(figsize=(5.5, 3), layout="constrained")
axes.bar(*np.unique(distances, return_counts=True), width=0.6)
axes.set(xlabel="distance to the center", ylabel="examples", title=f"around {center}")
axes.xaxis.get_major_locator().set_params(integer=True)
plt.show()

# %%
# The edits that turn the farthest of these examples into the center.

farthest = trees[int(np.argmax(distances))]
mapping = relaxwl.tree_edit_mapping(farthest, center)
print(mapping.describe())
_ = Path("cluster_centers_farthest.svg").write_text(mapping.to_svg(), encoding="utf-8")

# %%
# **Summary.** Each column of the feature matrix belongs to a cluster, and each cluster has a center that can be
# inspected.
