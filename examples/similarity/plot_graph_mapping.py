"""
Drawing which node of a graph corresponds to which
==================================================

The distance between two graphs is the cost of turning the nodes of one into those of the other. Its plan says which
node becomes which, also in graphs of different size.
"""

import matplotlib.pyplot as plt
import numpy as np

import relaxwl
from relaxwl.drawing.graphs import spring_layout

# %%
# A collection of 80 noisy copies of four template graphs, and another copy as a query. ``GraphDistance`` finds its
# nearest graphs.

graphs, template = relaxwl.datasets.make_perturbed(
    81, n_classes=4, n_nodes=12, n_edges=16, rewired=0.1, n_labels=3, random_state=3
)
query, collection = graphs[:1], graphs[1:]
search = relaxwl.GraphDistance(depth=2, discount=0.5).fit(collection)
distances, places = search.kneighbors(query, n_neighbors=3)
for distance, place in zip(distances[0], places[0], strict=True):
    print(f"graph {place:2d} at distance {distance:g}, template {template[1 + place]}")
print(f"the query comes from template {template[0]}")

# %%
# The plan of the pair: the rows are the nodes of the query, the columns those of the nearest graph, and the last row
# and column stand for inserting and deleting.

nearest = int(places[0, 0])
_, plans = relaxwl.graph_distances(query, collection, depth=2, discount=0.5, pairs=[(0, nearest)], return_plans=True)
plan = plans[0].tocoo()
moves = [(int(i), int(j)) for i, j in zip(plan.row, plan.col, strict=True)]
print(moves)

# %%
# Both graphs side by side. The nodes of the nearest graph stand where the nodes of the query stand that became them, so
# edges that both have look the same; the others are red. Colors are labels.

pair = [query[0], collection[nearest]]
edges = [{tuple(sorted(edge)) for edge in graph.edges.tolist()} for graph in pair]
became = dict(moves)
kept = {tuple(sorted((became[a], became[b]))) for a, b in edges[0]} & edges[1]
same = [{(a, b) for a, b in edges[0] if tuple(sorted((became[a], became[b]))) in kept}, kept]
points = [spring_layout(pair[0].n_nodes, sorted(edges[0]))]
points.append(np.array([points[0][i] for i in np.argsort([became[i] for i in range(pair[0].n_nodes)])]))
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for side, title in enumerate(("the query", f"graph {nearest}")):
    for a, b in sorted(edges[side]):
        color = "gray" if (a, b) in same[side] else "tab:red"
        axes[side].plot(*points[side][[a, b]].T, color=color, zorder=1)
    labels = pair[side].node_labels
    axes[side].scatter(*points[side].T, c=labels, cmap="Set2", s=150, edgecolors="black", zorder=2)
    for node, (x, y) in enumerate(points[side]):
        axes[side].annotate(str(node), (x, y), ha="center", va="center", fontsize=8, zorder=3)
    axes[side].set_title(title)
    axes[side].set_axis_off()
plt.show()

# %%
# **Summary.** ``graph_distances`` with ``pairs`` and ``return_plans`` explains a distance node by node.
