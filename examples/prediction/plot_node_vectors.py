"""
Nodes as vectors of attributes and structure
============================================

:class:`~relaxwl.ContinuousWeisfeilerLehman` describes a node by numbers: attributes, and structural features such as
its degree and the number of its triangles. The vectors are averaged over neighborhoods and counted in random
partitions. The example applies it to attributes and to structure, and describes the clusters that separate the classes.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import relaxwl

# %%
# **Attributes.** People in a network have an age. Ages have the same distribution in both classes, but in class 1
# friends are of similar age. Years need no scaling: attributes are standardized.

rng = np.random.default_rng(0)


def make_network(similar: int) -> nx.Graph:
    """Return a ring of friends of friends, in class 1 in the order of age."""
    graph = nx.connected_watts_strogatz_graph(24, 4, 0.2, seed=int(rng.integers(2**31)))
    ages = np.sort(rng.normal(40, 12, 24)) + rng.normal(0, 4, 24)
    ages = ages if similar else rng.permutation(ages)
    nx.set_node_attributes(graph, dict(enumerate(ages)), "age")
    return graph


y = np.array([0, 1] * 50)
networks = relaxwl.as_collection([make_network(similar) for similar in y], node_attributes="age")


def accuracy(kernel, graphs, y):
    """Return the mean accuracy of a support vector machine in 5-fold cross-validation."""
    K = kernel.fit_kernel_matrix(graphs)  # does not use the classes
    return cross_val_score(SVC(kernel="precomputed", C=10), K, y, cv=5).mean()


scores = {
    f"depth {depth}": accuracy(relaxwl.ContinuousWeisfeilerLehman("attributes", depth, random_state=0), networks, y)
    for depth in (0, 1, 2)
}
print({name: f"{score:.2f}" for name, score in scores.items()})

# %%
# At depth 0 the kernel compares the ages alone, which are alike in both classes. From depth 1 on, each person's
# vector holds the mean of their own age and the mean age of their friends, which varies more where friends are of
# similar age.
#
# **Structure.** Ego networks of level 1 have no labels and no attributes. Structural features tell the four models
# apart. The neighborhoods of most nodes to depth 2 occur once, so that exact matching has little to compare.

graphs, models = relaxwl.datasets.make_egonets(120, level=1, n_nodes=(90, 110), random_state=0)
kernels = {
    "WL": relaxwl.WeisfeilerLehman(max_depth=2, normalize=True),
    "R-WL*": relaxwl.RelaxedWeisfeilerLehman(2, 10, n_clusters=2.0, max_iter=0, normalize="depth", random_state=0),
    "degrees": relaxwl.ContinuousWeisfeilerLehman("degree", random_state=0),
    "structure": relaxwl.ContinuousWeisfeilerLehman("structure", random_state=0),
}
of_structure = {name: accuracy(kernel, graphs, models) for name, kernel in kernels.items()}

print({name: f"{score:.2f}" for name, score in of_structure.items()})

figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained", sharey=True)
for plot, (title, values) in zip(axes, {"ages of friends": scores, "ego networks": of_structure}.items(), strict=True):
    plot.bar(list(values), list(values.values()))
    plot.axhline(1 / (2 if values is scores else 4), color="black", linestyle=":", label="chance")
    plot.set(title=title, ylim=(0, 1.03))
axes[0].set(ylabel="accuracy")
axes[0].legend()
plt.show()

# %%
# Clusters are described in the units of the data: the values of the center that are farthest from the mean.

few = relaxwl.ContinuousWeisfeilerLehman(["degree", "triangles", "core"], max_depth=1, n_partitions=4, random_state=0)
print(relaxwl.explanation.explain(few, graphs, models, n_permutations=99).summary(4))

# %%
# **Summary.** Use the kernel where nodes have numeric attributes, or where they have no labels. Where labels are rich,
# as in molecules, the tree kernels are more accurate. ``features="auto"`` takes attributes, structure and labels
# together.
