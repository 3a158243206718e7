"""
Directed graphs
===============

The graphs are programs: nodes are blocks of code, and arcs are jumps. Some programs start with a dispatcher that jumps
to many blocks, others have a common exit to which many blocks jump. The two classes differ only in the direction of
the arcs.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import relaxwl

rng = np.random.default_rng(0)


def program(dispatches: bool) -> nx.DiGraph:
    """Return a chain of blocks with jumps from the first block, or to the last one."""
    n_blocks = int(rng.integers(20, 30))
    graph = nx.DiGraph([(block, block + 1) for block in range(n_blocks - 1)])
    for distance in (2 + rng.choice(n_blocks - 2, 6, replace=False)).tolist():
        last = n_blocks - 1
        graph.add_edge(*((0, distance) if dispatches else (last - distance, last)))
    return graph


y = np.arange(100) % 2
programs = [program(dispatches=bool(target)) for target in y]

# %%
# A list of ``DiGraph`` becomes a directed collection. ``symmetrize=True`` ignores directions.

directed = relaxwl.as_collection(programs)
undirected = relaxwl.as_collection(programs, symmetrize=True)
print(directed)


def accuracy(graphs: relaxwl.GraphCollection) -> float:
    """Mean accuracy over five folds."""
    kernel = relaxwl.RelaxedWeisfeilerLehman(max_depth=3, normalize=True, random_state=0)
    return float(cross_val_score(make_pipeline(kernel, SVC(kernel="linear", C=100)), graphs, y, cv=5).mean())


with_directions, without = accuracy(directed), accuracy(undirected)
print(f"with directions {with_directions:.0%}, without {without:.0%}")

figure, axes = plt.subplots(figsize=(5, 2), layout="constrained")
axes.barh(["without directions", "with directions"], [without, with_directions], color=["gray", "C1"])
axes.axvline(0.5, color="black", linestyle=":", label="chance")
axes.set(xlim=(0, 1), xlabel="accuracy on held-out graphs")
axes.legend()
plt.show()

# %%
# In the unfolding tree each child is marked: → if the arc leads to it, ← if the arc comes from it.

print(relaxwl.unfolding_tree(directed[1], 3, 2).to_text())

# %%
# **Summary.** Directed collections use both ends of each arc. ``directions="out"`` or ``"in"`` follows arcs in one
# direction only.
