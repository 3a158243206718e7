"""
Graphs that do not belong
=========================

A one-class support vector machine learns what is usual from graphs alone; a few graphs of another make are mixed in.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

import relaxwl

# %%
# Usual: noisy copies of two templates. Unusual: copies of a third, with the same numbers of vertices, edges and
# labels.

graphs, kind = relaxwl.datasets.make_perturbed(
    180, n_classes=3, n_nodes=40, n_edges=120, rewired=0.15, n_labels=4, random_state=0
)
usual, unusual = np.flatnonzero(kind < 2), np.flatnonzero(kind == 2)
train, held_out = usual[:80], usual[80:]

# %%
# The kernel is fitted on the usual graphs alone.

kernel = relaxwl.RelaxedWeisfeilerLehman(
    max_depth=2, n_partitions=10, depth_weights=[0, 1, 1], normalize=True, random_state=0
).fit(graphs[train])
detector = OneClassSVM(kernel="precomputed", nu=0.1).fit(kernel.kernel_matrix(graphs[train]))
scores = {
    "usual, held out": detector.decision_function(kernel.kernel_matrix(graphs[held_out], graphs[train])),
    "unusual": detector.decision_function(kernel.kernel_matrix(graphs[unusual], graphs[train])),
}
truth = np.repeat([1, 0], [len(held_out), len(unusual)])
print(f"area under the curve {roc_auc_score(truth, np.concatenate(list(scores.values()))):.2f} (0.5 is chance)")

# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
bins = np.histogram_bin_edges(np.concatenate(list(scores.values())), 15)
for name, values in scores.items():
    axes.hist(values, bins, alpha=0.7, label=name)
axes.axvline(0, color="black", linestyle=":")
axes.set(xlabel="score: right of the line is taken as usual", ylabel="graphs")
axes.legend()
plt.show()

# %%
# **What was learnt.** A kernel fitted on what is usual scores graphs that it has never seen, and a one-class machine
# turns the scores into a decision. No unusual graph was needed to learn.
