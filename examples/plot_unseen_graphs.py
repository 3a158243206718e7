"""
Graphs that the kernel has never seen
=====================================

A model that is to be used meets graphs that did not exist when it was fitted, with labels that nobody has seen. The
fitted kernel is saved, loaded elsewhere, and applied.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import LinearSVC

import relaxwl

# %%
# Fit on 120 graphs and save. The file holds plain data, nothing in it is ever executed.

graphs, y = relaxwl.datasets.make_perturbed(200, n_classes=4, n_nodes=40, rewired=0.2, n_labels=5, random_state=0)
known, unseen = graphs[:120], graphs[120:]
kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=2, n_partitions=5, normalize=True, random_state=0)
model = LinearSVC().fit(kernel.fit_transform(known), y[:120])
with TemporaryDirectory() as folder:
    kernel.save(Path(folder) / "kernel.rwl")
    loaded = relaxwl.RelaxedWeisfeilerLehman.load(Path(folder) / "kernel.rwl")

# %%
# ``transform`` puts each neighbourhood of the new graphs into the nearest group, and the columns are those of
# fitting.

features = loaded.transform(unseen)
print(f"{features.shape[0]} new graphs, {features.shape[1]} columns as before")
print(f"accuracy on them: {model.score(features, y[120:]):.2f}")

# %%
# Labels that were not met in fitting: an ever larger part of the vertices gets the unknown label 99. To plain
# Weisfeiler-Lehman a neighbourhood with an unknown label is unknown as a whole; the relaxed kernel takes it as one
# edit.


def with_unknown(graphs, share):
    """Return the graphs with some labels replaced by one that the kernels do not know."""
    rng = np.random.default_rng(0)
    return relaxwl.GraphCollection.from_edges(
        (g.n_nodes, g.edges, np.where(rng.random(g.n_nodes) < share, 99, g.node_labels).tolist()) for g in graphs
    )


plain = relaxwl.WeisfeilerLehman(max_depth=2, normalize=True)
plain_model = LinearSVC().fit(plain.fit_transform(known), y[:120])
shares = np.linspace(0, 0.6, 7)
scores = {
    "R-WL*": [model.score(loaded.transform(with_unknown(unseen, share)), y[120:]) for share in shares],
    "WL": [plain_model.score(plain.transform(with_unknown(unseen, share)), y[120:]) for share in shares],
}
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, values in scores.items():
    axes.plot(shares, values, marker="o", label=name)
axes.axhline(0.25, color="black", linestyle=":", label="guessing")
axes.set(xlabel="share of vertices with an unknown label", ylabel="accuracy", ylim=(0, 1.03))
axes.legend()
plt.show()

# %%
# **What was learnt.** Fit once, save, load, transform: new graphs cost a search for the nearest groups, and unknown
# labels do no more harm than they must.
