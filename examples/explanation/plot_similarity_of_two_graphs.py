"""
Explaining the similarity of two graphs
=======================================

A kernel value is a sum over clusters of neighborhoods. ``explain_pair`` of :class:`~relaxwl.explanation.Explanation`
lists the contribution of each cluster to the similarity of two graphs.
"""

import matplotlib.pyplot as plt

import relaxwl

# %%
graphs, y = relaxwl.datasets.make_perturbed(60, n_classes=3, n_nodes=24, rewired=0.1, n_labels=3, random_state=0)
kernel = relaxwl.RelaxedWeisfeilerLehman(
    max_depth=1, n_partitions=1, n_clusters="sqrt", similarity="dot", normalize=True, random_state=0
)
explanation = relaxwl.explanation.explain(kernel, graphs, y)
first, second = (y == 0).nonzero()[0][:2]
other = (y == 1).nonzero()[0][0]

# %%
# Two graphs of the same template, and two of different templates.

for pair in ((first, second), (first, other)):
    explained = explanation.explain_pair(*pair)
    print(f"graphs {pair[0]} and {pair[1]}: similarity {explained.value:.3f}")
    for item in explained.shared[:4]:
        print(
            f"  {item.share:4.0%} from {item.counts[0]} and {item.counts[1]} neighborhoods near {item.cluster.center}"
        )

# %%
# The contributions add up to the similarity.

explained = explanation.explain_pair(first, second)
shown = [item for item in explained.shared if item.cluster.depth == 1][:12]
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.barh([str(item.cluster.center) for item in shown][::-1], [item.value for item in shown][::-1])
axes.set(xlabel=f"contribution to the similarity of {explained.value:.3f}", title="clusters of depth 1 (centers)")
plt.show()
print(f"sum of all shares: {sum(item.share for item in explained.shared):.3f}")

# %%
# **Summary.** The similarity of two graphs decomposes into contributions of clusters, each with a center that can
# be drawn.
