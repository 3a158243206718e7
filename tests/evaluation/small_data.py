"""Small data sets for evaluations."""

import numpy as np

from relaxwl.graphs import GraphCollection


def random_graph(rng, n_nodes, density):
    pairs = [(i, j) for i in range(n_nodes) for j in range(i)]
    chosen = rng.random(len(pairs)) < density
    return n_nodes, [pair for pair, take in zip(pairs, chosen, strict=True) if take]


def random_graphs(n_graphs, seed=0, densities=(0.25, 0.45)):
    """Random graphs in two classes of different density: told apart often, but not always."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_graphs) % len(densities)
    graphs = [random_graph(rng, int(rng.integers(5, 10)), densities[c]) for c in y]
    return GraphCollection.from_edges(graphs), np.array(["sparse", "dense"])[y]
