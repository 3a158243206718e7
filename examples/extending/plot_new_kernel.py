"""
A new kernel in 30 lines
========================

A kernel implements ``fit`` and ``kernel_matrix``. It can then be evaluated with the others under nested
cross-validation.
"""

import matplotlib.pyplot as plt
import numpy as np

import relaxwl
from relaxwl.evaluation import cross_validate, results_table
from relaxwl.kernels.base import GraphKernel

# %%
# A Gaussian kernel on quantiles of the degree distribution.


class DegreeQuantiles(GraphKernel):
    """Gaussian kernel of the quantiles of the node degrees."""

    def __init__(self, n_quantiles: int = 20) -> None:
        self.n_quantiles = n_quantiles

    def _describe(self, X):
        steps = np.linspace(0, 1, self.n_quantiles)
        graphs = relaxwl.as_collection(X)
        return np.array([np.quantile(np.bincount(g.edges.ravel(), minlength=g.n_nodes), steps) for g in graphs])

    def fit(self, X, y=None):
        """Learn the scale of the distances."""
        features = self._describe(X)
        self.scale_ = np.median([np.linalg.norm(a - b) for a in features for b in features]) + 1e-12
        return self

    def kernel_matrix(self, X, Y=None):
        """Compare the graphs of X with those of Y, or with each other."""
        first = self._describe(X)
        second = first if Y is None else self._describe(Y)
        squared = ((first[:, None] - second) ** 2).sum(axis=2)
        return np.exp(-squared / self.scale_**2)


# %%
# Comparison with other kernels on the same folds; the records are :class:`~relaxwl.evaluation.Results`.

graphs, y = relaxwl.datasets.make_egonets(120, level=2, n_nodes=(60, 70), random_state=0)
kernels = {
    "degrees": DegreeQuantiles(),
    "WL": relaxwl.WeisfeilerLehman(max_depth=2),
    "R-WL*": relaxwl.RelaxedWeisfeilerLehman(max_depth=2, normalize=True, random_state=0),
}
results = cross_validate(kernels, graphs, y, n_folds=4, n_repeats=2, random_state=0, dataset="ego networks")
print(results_table(results).to_text())

# %%
# The Gram matrix of the new kernel, with graphs ordered by class.

order = np.argsort(y, kind="stable")
K = DegreeQuantiles().fit(graphs).kernel_matrix(graphs[order])
figure, axes = plt.subplots(figsize=(4.2, 3.6), layout="constrained")
figure.colorbar(axes.imshow(K, cmap="viridis"), label="similarity")
axes.set(xticks=[], yticks=[], title="graphs ordered by class")
plt.show()

# %%
# **Summary.** ``fit`` and ``kernel_matrix`` are sufficient. The baseline kernels follow the same interface:
# :class:`~relaxwl.kernels.baselines.VertexEdgeHistogram`, :class:`~relaxwl.kernels.baselines.ShortestPath`,
# :class:`~relaxwl.kernels.baselines.GraphletSampling`, :class:`~relaxwl.kernels.baselines.OddSth`,
# :class:`~relaxwl.kernels.baselines.WassersteinWL`, :class:`~relaxwl.kernels.baselines.PersistentWL`,
# :class:`~relaxwl.kernels.baselines.WLOptimalAssignment`, :class:`~relaxwl.kernels.baselines.GradualWL`. Such a
# kernel is evaluated under the same protocol as those of the library.
