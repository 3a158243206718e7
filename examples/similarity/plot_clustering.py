"""
Clustering graphs
=================

Graphs are clustered by spectral clustering of the Gram matrix of a kernel. The silhouette is used to choose the number
of clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score

import relaxwl

# %%
# Noisy copies of five templates; the templates are used for evaluation only.

graphs, hidden = relaxwl.datasets.make_perturbed(
    150, n_classes=5, n_nodes=40, n_edges=120, rewired=0.15, n_labels=4, random_state=0
)
kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=2, n_partitions=10, normalize=True, random_state=0)
K = kernel.fit_kernel_matrix(graphs)
clusters = SpectralClustering(5, affinity="precomputed", random_state=0).fit_predict(K)
print(f"agreement with the templates: {adjusted_rand_score(hidden, clusters):.2f} (adjusted Rand index)")

# %%
# The silhouette for different numbers of clusters, with the distances that the kernel induces.

distances = np.sqrt(np.maximum(2 - 2 * K, 0))
np.fill_diagonal(distances, 0)
numbers = range(2, 9)
silhouettes = []
for number in numbers:
    labels = SpectralClustering(number, affinity="precomputed", random_state=0).fit_predict(K)
    silhouettes.append(silhouette_score(distances, labels, metric="precomputed"))

# %%
# The Gram matrix with graphs ordered by cluster, and the silhouettes.

order = np.argsort(clusters, kind="stable")
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.3), layout="constrained")
low, high = np.quantile(K, [0.02, 0.95])
left.imshow(K[np.ix_(order, order)], cmap="viridis", vmin=low, vmax=high)
left.set(xticks=[], yticks=[], title="similarity")
right.plot(numbers, silhouettes, marker="o")
right.set(xlabel="number of clusters", ylabel="silhouette")
plt.show()

# %%
# **Summary.** Methods that take a similarity matrix can cluster graphs. The silhouette has its maximum at the
# number of templates.
