"""
Weighted edges
==============

Edge weights are used as an attribute of edges. Both classes have the same structure and the same distribution of edge
weights. In one class the edges at a node have mixed weights, in the other they are all strong or all weak.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import relaxwl

rng = np.random.default_rng(0)


def network(mixed: bool) -> np.ndarray:
    """Return a weighted adjacency matrix of two components of 12 nodes with weights near 0.2 and 1."""
    known = np.triu(rng.random((24, 24)) < 0.3, 1)
    half = np.arange(24) < 12
    known[np.ix_(half, ~half)] = False
    strong = rng.random((24, 24)) < 0.5 if mixed else np.broadcast_to(half[:, None], (24, 24))
    weights = known * np.where(strong, 1.0, 0.2) * rng.uniform(0.9, 1.1, (24, 24))
    return weights + weights.T


y = np.arange(200) % 2
graphs = relaxwl.as_collection([network(mixed=bool(target)) for target in y])
print(graphs)

# %%
# Weights are an edge attribute. With ``EditCost.from_attributes(edge_metric=…)`` replacing an edge costs the difference
# of the weights, which are quantized to a few values.

weighted = relaxwl.EditCost.from_attributes(edge_metric="euclidean", n_edge_codes=6)
bare = relaxwl.GraphCollection(graphs.offsets, graphs.indptr, graphs.indices)


def accuracy(kernel: relaxwl.RelaxedWeisfeilerLehman, given: relaxwl.GraphCollection) -> float:
    """Mean accuracy over five folds."""
    return float(cross_val_score(make_pipeline(kernel, SVC(kernel="linear", C=100)), given, y, cv=5).mean())


settings = {"max_depth": 1, "normalize": True, "random_state": 0}
with_weights = accuracy(relaxwl.RelaxedWeisfeilerLehman(cost=weighted, **settings), graphs)
without = accuracy(relaxwl.RelaxedWeisfeilerLehman(**settings), bare)
print(f"with weights {with_weights:.0%}, without {without:.0%}")

figure, axes = plt.subplots(figsize=(5, 2), layout="constrained")
axes.barh(["without weights", "with weights"], [without, with_weights], color=["gray", "C1"])
axes.axvline(0.5, color="black", linestyle=":", label="chance")
axes.set(xlim=(0, 1), xlabel="accuracy on held-out graphs")
axes.legend()
plt.show()

# %%
# **Summary.** Edge weights are used when the edit cost includes them. Without the weights the accuracy is at chance
# level here.
