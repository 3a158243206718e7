"""Collections of random graphs, and others that differ from them."""

import numpy as np

from relaxwl import GraphCollection


def random_graphs(n_graphs, chance=0.3, seed=0, labels=False):
    """Return graphs of 8 to 12 nodes whose pairs are joined with a probability."""
    rng = np.random.default_rng(seed)
    graphs = []
    for n in rng.integers(8, 13, n_graphs).tolist():
        edges = np.argwhere(np.triu(rng.random((n, n)) < chance, 1)).tolist()
        graphs.append((n, edges, rng.choice(["a", "b"], n).tolist()) if labels else (n, edges))
    return GraphCollection.from_edges(graphs)


SPARSE, SPARSE_TOO, DENSE = random_graphs(20), random_graphs(16, seed=1), random_graphs(18, 0.6, seed=2)
