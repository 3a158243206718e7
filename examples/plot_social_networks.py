"""
Social networks: what density does to equality
==============================================

The ego network of a person shows who knows whom among the person's friends. Four models of how friendships arise give
four classes, with the same numbers of people and friendships. Level 1 networks are sparse, level 4 networks dense.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import relaxwl

# %%
# The classical Weisfeiler-Lehman kernel asks whether two neighbourhoods are *equal*, the relaxed one whether they are
# *similar*. Beside their accuracies: which part of the vertices has a neighbourhood (two steps deep) that no other
# vertex of the whole collection has.

kernels = {
    "WL": relaxwl.WeisfeilerLehman(max_depth=2, normalize=True),
    "R-WL*": relaxwl.RelaxedWeisfeilerLehman(
        max_depth=2,
        n_partitions=10,
        n_clusters=2.0,
        max_iter=0,
        normalize="depth",
        similarity="intersection",
        random_state=0,
    ),
}
accuracy = {name: [] for name in kernels}
unique = []
levels = [1, 2, 3, 4]
for level in levels:
    graphs, y = relaxwl.datasets.make_egonets(120, level=level, n_nodes=(90, 110), random_state=0)
    for name, kernel in kernels.items():
        K = kernel.fit_kernel_matrix(graphs)  # classes play no part in it
        accuracy[name].append(cross_val_score(SVC(kernel="precomputed", C=100), K, y, cv=5).mean())
    sizes = np.asarray(relaxwl.WeisfeilerLehman(max_depth=2, depth_weights=[0, 0, 1]).fit_transform(graphs).sum(axis=0))
    unique.append((sizes == 1).sum() / graphs.n_nodes)
    print(f"level {level}: {unique[-1]:.0%} unique, WL {accuracy['WL'][-1]:.2f}, R-WL* {accuracy['R-WL*'][-1]:.2f}")

# %%
# The denser the networks, the fewer neighbourhoods occur twice, and the less equality can tell. With 120 graphs an
# accuracy is known to some four points only: look at the trend.

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name, values in accuracy.items():
    axes.plot(levels, values, marker="o", label=f"accuracy, {name}")
axes.plot(levels, unique, color="grey", linestyle=":", marker=".", label="neighbourhoods that occur once")
axes.axhline(0.25, color="lightgrey", zorder=0)
axes.annotate("guessing", (1, 0.26), color="grey")
axes.set(xlabel="level (density grows)", xticks=levels, ylim=(0, 1.03))
axes.legend()
plt.show()

# %%
# **What was learnt.** Look at the share of neighbourhoods that occur once. Where it is near 1, exact matching has
# nothing to count, and relaxation is worth its price.
