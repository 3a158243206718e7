"""
Why two graphs are alike
========================

The value of a kernel is a sum over groups of neighbourhoods. So the similarity of two graphs can be taken apart: which
groups make it, and how much does each add?
"""

import matplotlib.pyplot as plt

import relaxwl

# %%
graphs, y = relaxwl.datasets.make_perturbed(60, n_classes=3, n_nodes=24, rewired=0.1, n_labels=3, random_state=0)
kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=1, n_partitions=1, normalize=True, random_state=0)
explanation = relaxwl.explanation.explain(kernel, graphs, y)
first, second = (y == 0).nonzero()[0][:2]
other = (y == 1).nonzero()[0][0]

# %%
# Two graphs from the same template, and one from another.

for pair in ((first, second), (first, other)):
    why = explanation.explain_pair(*pair)
    print(f"graphs {pair[0]} and {pair[1]}: similarity {why.value:.3f}")
    for item in why.shared[:4]:
        print(
            f"  {item.share:4.0%} from {item.counts[0]} and {item.counts[1]} neighbourhoods like {item.cluster.center}"
        )

# %%
# The shares add up to the whole.

why = explanation.explain_pair(first, second)
shown = [item for item in why.shared if item.cluster.depth == 1][:12]
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.barh([str(item.cluster.center) for item in shown][::-1], [item.value for item in shown][::-1])
axes.set(xlabel=f"part of the similarity, {why.value:.3f} in all", title="groups of depth 1, by their centres")
plt.show()
print(f"sum of all shares: {sum(item.share for item in why.shared):.3f}")

# %%
# **What was learnt.** A number between two graphs is made of things that can be named, counted and drawn.
