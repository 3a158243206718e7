"""
Connectomes: weighted graphs with named regions
===============================================

A connectome is a weighted graph of brain regions. :class:`relaxwl.GraphRegressor` predicts a number from the regions
(node labels) and the connection strengths (edge weights). The data are synthetic: connections between two of four
systems become weaker with age.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import relaxwl

# %%
# 90 connectomes of 24 regions in four systems, with the same distribution of edges at every age.

rng = np.random.default_rng(0)
SYSTEMS = ["visual", "motor", "default", "control"]


def connectome(age: float) -> nx.Graph:
    """Return a random weighted graph whose connections between two systems depend on age."""
    graph = nx.gnp_random_graph(24, 0.35, seed=int(rng.integers(2**31)))
    for node in graph:
        graph.nodes[node]["system"] = SYSTEMS[node % 4]
    for a, b, data in graph.edges(data=True):
        mean = 1.2 - 0.015 * (age - 20) if {a % 4, b % 4} == {2, 3} else 0.75
        data["strength"] = float(rng.normal(mean, 0.05))
    return graph


ages = rng.uniform(20, 80, 90)
brains = [connectome(age) for age in ages]

# %%
# Labels and weights are named in the constructor, so that ``fit`` and ``predict`` take networkx graphs. Without the
# weights the age cannot be predicted.

options = {"effort": "quick", "node_label": "system", "random_state": 0}
models = {
    "with strengths": relaxwl.GraphRegressor(edge_attributes="strength", **options),
    "without strengths": relaxwl.GraphRegressor(edge_attributes=[], **options),
}
figure, panels = plt.subplots(1, 2, figsize=(7.5, 3.4), sharey=True, layout="constrained")
for axes, (name, model) in zip(panels, models.items(), strict=True):
    mean, std = model.fit(brains[:60], ages[:60]).predict(brains[60:], return_std=True)
    print(f"{name}: RMSE {np.sqrt(np.mean((mean - ages[60:]) ** 2)):.1f} years")
    axes.errorbar(ages[60:], mean, yerr=1.645 * std, fmt="o", markersize=4, capsize=2)
    axes.plot([20, 80], [20, 80], color="0.6")
    axes.set(xlabel="age", title=name)
panels[0].set_ylabel("predicted age, 90 % interval")
plt.show()
print(f"mean predictor: RMSE {ages[60:].std():.1f} years")

# %%
# Adjacency matrices are read directly: ``relaxwl.as_collection(list_of_arrays)`` takes entries other than 1 as weights.
