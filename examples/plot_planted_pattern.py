"""
A planted pattern, found again
==============================

Half of these graphs hide a pattern that is hardly ever the same twice. ``explain`` says which groups of neighbourhoods
separate the classes better than chance, draws their centres, and shows where in a graph they are.
"""

from pathlib import Path

import networkx as nx
import numpy as np

import relaxwl

# %%
# Random graphs with labels a, b and c. Each has a hub labelled c with seven neighbours of its own, and seven labels
# that are mostly a. In class "pattern" the neighbours of the hub have these, in class "plain" vertices anywhere.

rng = np.random.default_rng(0)


def make_graph(planted: bool) -> nx.Graph:
    """Return a random graph with a hub."""
    graph = nx.gnm_random_graph(30, 40, seed=int(rng.integers(2**31)))
    labels = rng.choice(["a", "b", "c"], 37)
    places = np.arange(30, 37) if planted else rng.choice(30, 7, replace=False)
    labels[places[rng.random(7) < 0.8]] = "a"
    graph.add_edges_from(("hub", spoke) for spoke in range(30, 37))
    nx.set_node_attributes(graph, {**dict(enumerate(labels.tolist())), "hub": "c"}, "label")
    graph.add_edges_from((spoke, int(rng.integers(30))) for spoke in range(30, 37))
    return graph


y = np.array(["pattern", "plain"] * 40)
graphs = relaxwl.as_collection([make_graph(kind == "pattern") for kind in y], node_label="label")

# %%
# Groups better than chance come first, with their centres as trees: the label of the root, then its neighbours'.

kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=1, n_partitions=1, n_clusters=2.0, random_state=0)
explanation = relaxwl.explanation.explain(kernel, graphs, y)
print(explanation.summary(4))

# %%
# Where the most telling group of class "pattern" lies in the first graph.

top = next(group for group in explanation.clusters if explanation.classes[group.typical_class] == "pattern")
found = explanation.explain_graph(0)
Path("planted_pattern.svg").write_text(found.to_svg(n_clusters=3), encoding="utf-8")
Path("planted_center.svg").write_text(top.center.to_svg(), encoding="utf-8")
for name, presence in zip(explanation.classes, top.presence, strict=True):
    print(f"group {top.rank}, centre {top.center}: in {presence:.0%} of the graphs of class {name}")

# %%
# **What was learnt.** The pattern was not given, only classes. The kernel found neighbourhoods that resemble each
# other without being equal, and a permutation test says which of them to believe. ``relaxwl.reports.write_explorer``
# makes a page of it.
