"""
A user-defined edit cost
========================

Node labels are ordered sizes, and measurement errors move a node to a neighboring size. A cost that grows with the
difference of two sizes is more robust than one that treats all labels alike.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

import relaxwl

# %%
# A cost is a function of two labels (:meth:`~relaxwl.EditCost.from_callable` of :class:`~relaxwl.EditCost`), where
# ``None`` stands for the blank (insertion and deletion). It must be a metric; otherwise the error names labels that
# violate the triangle inequality.

SIZES = 8


def ordered(a, b):
    """Return the cost of relabeling one size to another: 1/8 per step."""
    if a == b:
        return 0.0
    return 1.0 if a is None or b is None else abs(a - b) / SIZES


cost = relaxwl.EditCost.from_callable(ordered)
try:
    relaxwl.EditCost.from_callable(lambda a, b: 0.0 if a == b else 1.0 if None in (a, b) else 9.0).node_matrix([1, 2])
except ValueError as error:
    print(error)

# %%
# Noisy copies of templates with sizes 0 to 7. A share of the sizes is then changed by one.

graphs, y = relaxwl.datasets.make_perturbed(80, n_classes=4, n_nodes=30, rewired=0.1, n_labels=SIZES, random_state=1)


def with_errors(graphs, share, rng):
    """Return the graphs with some sizes changed by one."""
    changed = []
    for graph in graphs:
        sizes = np.array(graph.node_labels)
        errors = rng.choice([-1, 0, 1], len(sizes), p=[share / 2, 1 - share, share / 2])
        changed.append((graph.n_nodes, graph.edges, np.clip(sizes + errors, 0, SIZES - 1).tolist()))
    return relaxwl.GraphCollection.from_edges(changed)


shares = [0.0, 0.2, 0.4, 0.6, 0.8]
accuracy = {"uniform cost": [], "cost by difference": []}
for share in shares:
    noisy = with_errors(graphs, share, np.random.default_rng(0))
    for name, used in zip(accuracy, (None, cost), strict=True):
        kernel = relaxwl.RelaxedWeisfeilerLehman(
            max_depth=2, n_partitions=5, cost=used, depth_weights=[0, 1, 1], normalize=True, random_state=0
        )
        K = kernel.fit_kernel_matrix(noisy)
        accuracy[name].append(cross_val_score(SVC(kernel="precomputed", C=100), K, y, cv=4).mean())

# %%
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, values in accuracy.items():
    print(f"{name:22s}", " ".join(f"{value:.2f}" for value in values))
    axes.plot(shares, values, marker="o", label=name)
axes.axhline(0.25, color="black", linestyle=":", label="chance")
axes.set(xlabel="share of sizes changed by one", ylabel="accuracy", ylim=(0, 1.03))
axes.legend()
plt.show()

# %%
# **Summary.** An edit cost is a function of two labels. It is validated before use, and kernels, distances and
# drawings all use it.
