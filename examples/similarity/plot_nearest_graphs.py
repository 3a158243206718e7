"""
Finding the graphs most similar to a query
==========================================

A kernel is fitted on a collection once. Then any graph, also a new one, can be compared with the whole collection.
"""

import matplotlib.pyplot as plt
import numpy as np

import relaxwl

# %%
# A collection of 120 noisy copies of six template graphs, and another copy as a query.

graphs, template = relaxwl.datasets.make_perturbed(
    121, n_classes=6, n_nodes=40, rewired=0.15, n_labels=3, random_state=0
)
query, collection = graphs[:1], graphs[1:]
print(collection)

# %%
# ``kernel_matrix(query, collection)`` is one row with the similarity of the query to each graph.
# The Tanimoto similarity of a graph with itself is 1.

kernel = relaxwl.RelaxedWeisfeilerLehman(
    max_depth=2, n_partitions=20, max_iter=0, similarity="tanimoto", random_state=0
).fit(collection)
similarity = kernel.kernel_matrix(query, collection)[0]
order = np.argsort(-similarity, kind="stable")
for rank, graph in enumerate(order[:5], start=1):
    print(f"{rank}. graph {graph:3d}, similarity {similarity[graph]:.3f}, template {template[1:][graph]}")
print(f"the query comes from template {template[0]}")

# %%
# The ranking: most of the first graphs are copies of the same template.

same = template[1:][order] == template[0]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.bar(np.arange(len(order)), similarity[order], width=1, color=np.where(same, "tab:orange", "lightgray"))
axes.set(xlabel="graphs, most similar first", ylabel="similarity with the query")
axes.set_ylim(similarity.min() * 0.95, 1)
axes.legend(handles=[plt.Rectangle((0, 0), 1, 1, color="tab:orange")], labels=["same template as the query"])
plt.show()

# %%
# **Summary.** After one fit each query costs one row of similarities. For large collections and top-k queries see
# :class:`~relaxwl.GraphIndex`.
