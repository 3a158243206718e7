"""
Connectomes: stacks of weighted adjacency matrices
==================================================

A connectome is a weighted graph of brain regions, usually stored as an adjacency matrix per subject.
:class:`~relaxwl.GraphRegressor` predicts a number from the regions (node labels) and the connection strengths (edge
weights). The data are synthetic: connections between two of four systems become weaker with age.
"""

import matplotlib.pyplot as plt
import numpy as np

import relaxwl

# %%
# A stack of 90 symmetric matrices of 24 regions in four systems, with the same distribution of edges at every age.

rng = np.random.default_rng(0)
systems = np.array(["visual", "motor", "default", "control"])[np.arange(24) % 4]
ages = rng.uniform(20, 80, 90)
aging = np.isin(systems[:, None] + systems, ["defaultcontrol", "controldefault"])
means = np.where(aging, 1.2 - 0.015 * (ages[:, None, None] - 20), 0.75)
strengths = np.triu(rng.normal(means, 0.05) * (rng.random((90, 24, 24)) < 0.35), 1)
stack = strengths + strengths.transpose(0, 2, 1)
print(stack.shape, relaxwl.as_collection(stack))

# %%
# A pair of a matrix and a list of labels is a graph; entries of the matrix other than 0 and 1 are weights. Without the
# weights the age cannot be predicted.

inputs = {
    "with strengths": [(matrix, systems.tolist()) for matrix in stack],
    "without strengths": [((matrix != 0).astype(int), systems.tolist()) for matrix in stack],
}
figure, panels = plt.subplots(1, 2, figsize=(7.5, 3.4), sharey=True, layout="constrained")
for axes, (name, brains) in zip(panels, inputs.items(), strict=True):
    model = relaxwl.GraphRegressor(effort="quick", random_state=0).fit(brains[:60], ages[:60])
    mean, std = model.predict(brains[60:], return_std=True)
    print(f"{name}: RMSE {np.sqrt(np.mean((mean - ages[60:]) ** 2)):.1f} years")
    axes.errorbar(ages[60:], mean, yerr=1.645 * std, fmt="o", markersize=4, capsize=2)
    axes.plot([20, 80], [20, 80], color="0.6")
    axes.set(xlabel="age", title=name)
panels[0].set_ylabel("predicted age, 90 % interval")
plt.show()
print(f"mean predictor: RMSE {ages[60:].std():.1f} years")

# %%
# Published connectomes such as OHSU (79 subjects, unweighted) are data sets of the TU collection:
# ``relaxwl.datasets.fetch_tu("OHSU")``.

# %%
# **Summary.** A stack of matrices and the labels of the regions are sufficient as input. Here the strengths contain all
# information on age: without them the error is that of the mean predictor.
