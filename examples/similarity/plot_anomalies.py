"""
Detecting anomalous graphs
==========================

A one-class SVM is trained on normal graphs and scores held-out normal graphs and graphs of another kind.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

import relaxwl

# %%
# Normal graphs are noisy copies of two templates, anomalous ones copies of a third with the same numbers of nodes,
# edges and labels.

graphs, kind = relaxwl.datasets.make_perturbed(
    180, n_classes=3, n_nodes=40, n_edges=120, rewired=0.15, n_labels=4, random_state=0
)
normal, anomalous = np.flatnonzero(kind < 2), np.flatnonzero(kind == 2)
train, held_out = normal[:80], normal[80:]

# %%
# The kernel is fitted on normal graphs only.

kernel = relaxwl.RelaxedWeisfeilerLehman(
    max_depth=2, n_partitions=10, depth_weights=[0, 1, 1], normalize=True, random_state=0
).fit(graphs[train])
detector = OneClassSVM(kernel="precomputed", nu=0.1).fit(kernel.kernel_matrix(graphs[train]))
scores = {
    "normal, held out": detector.decision_function(kernel.kernel_matrix(graphs[held_out], graphs[train])),
    "anomalous": detector.decision_function(kernel.kernel_matrix(graphs[anomalous], graphs[train])),
}
truth = np.repeat([1, 0], [len(held_out), len(anomalous)])
print(f"area under the ROC curve {roc_auc_score(truth, np.concatenate(list(scores.values()))):.2f} (chance: 0.5)")

# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
bins = np.histogram_bin_edges(np.concatenate(list(scores.values())), 15)
for name, values in scores.items():
    axes.hist(values, bins, alpha=0.7, label=name)
axes.axvline(0, color="black", linestyle=":")
axes.set(xlabel="decision function (positive: normal)", ylabel="graphs")
axes.legend()
plt.show()

# %%
# **Summary.** A kernel fitted on normal graphs scores new graphs. No anomalous graph is needed for training.
