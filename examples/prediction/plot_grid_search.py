"""
Grid search over kernel parameters
==================================

A kernel is a scikit-learn transformer. ``GridSearchCV`` searches its parameters together with those of the classifier
that follows. Where only the classifier's parameters vary, the Gram matrix is computed once.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import relaxwl

graphs, y = relaxwl.datasets.make_perturbed(90, n_classes=5, n_nodes=25, rewired=0.25, n_labels=3, random_state=0)

# %%
# **Kernel and classifier.** The pipeline is refitted in every fold, so held-out graphs do not influence the kernel.

pipeline = make_pipeline(relaxwl.RelaxedWeisfeilerLehman(normalize=True, random_state=0), SVC(kernel="linear"))
grid = {
    "relaxedweisfeilerlehman__max_depth": [1, 2],
    "relaxedweisfeilerlehman__n_clusters": [0.5, 1.0, 2.0],
    "svc__C": [10.0, 100.0],
}
search = GridSearchCV(pipeline, grid, cv=3).fit(graphs, y)
print(f"accuracy {search.best_score_:.2f} with {search.best_params_}")

# %%
# **Similarity.** :class:`~relaxwl.KernelMatrix` makes the Gram matrix a step of the pipeline, for similarities without
# explicit features.

kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=1, n_clusters=2.0, random_state=0)
pipeline = make_pipeline(relaxwl.KernelMatrix(kernel), SVC(kernel="precomputed", C=100.0))
similarities = {"kernelmatrix__kernel__similarity": ["intersection", "tanimoto"]}
second = GridSearchCV(pipeline, similarities, cv=3).fit(graphs, y)
print(f"accuracy {second.best_score_:.2f} with {second.best_params_}")

# %%
# **Classifier only.** scikit-learn selects rows and columns of a precomputed Gram matrix.

K = relaxwl.RelaxedWeisfeilerLehman(max_depth=1, n_clusters=2.0, normalize=True, random_state=0).fit_kernel_matrix(
    graphs
)
svm = GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1.0, 10.0, 100.0, 1000.0]}, cv=3).fit(K, y)
print(f"accuracy {svm.best_score_:.2f} with {svm.best_params_}")

# %%
# Results of the first search, with the best C in each cell.

results = search.cv_results_
depths, clusters = grid["relaxedweisfeilerlehman__max_depth"], grid["relaxedweisfeilerlehman__n_clusters"]
scores = np.zeros((len(depths), len(clusters)))
for parameters, score in zip(results["params"], results["mean_test_score"], strict=True):
    cell = (
        depths.index(parameters["relaxedweisfeilerlehman__max_depth"]),
        clusters.index(parameters["relaxedweisfeilerlehman__n_clusters"]),
    )
    scores[cell] = max(scores[cell], score)
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
image = axes.imshow(scores, cmap="viridis", aspect="auto")
axes.set(xticks=range(len(clusters)), yticks=range(len(depths)), xlabel="n_clusters (times √trees)", ylabel="max_depth")
axes.set_xticklabels(clusters)
axes.set_yticklabels(depths)
for (row, column), score in np.ndenumerate(scores):
    axes.text(
        column, row, f"{score:.2f}", ha="center", va="center", color="white" if score < scores.mean() else "black"
    )
figure.colorbar(image, label="accuracy")
plt.show()

# %%
# **Summary.** Kernels work in ``Pipeline`` and ``GridSearchCV`` like any transformer. The best score of a search is
# optimistic; ``relaxwl benchmark`` reports nested cross-validation.
