"""Small random graphs as plain tuples (see naive.py) and as collections."""

import numpy as np

from relaxwl import GraphCollection
from relaxwl.graphs.building import CollectionBuilder

ATOMS = ("C", "N", "O")
BONDS = ("double", "single")


def collection(graphs, labeled=True):
    """Make a collection of tuples (n_nodes, edges, labels, edge labels or None)."""
    builder = CollectionBuilder()
    for n_nodes, edges, labels, names in graphs:
        builder.add(n_nodes, edges, node_labels=labels if labeled else None, edge_labels=names)
    return GraphCollection(**builder.build())


def random_graphs(n_graphs, max_nodes=7, seed=0, labels=ATOMS, bonds=None, density=0.4):
    """Draw graphs of 1 to ``max_nodes`` nodes; with ``bonds`` their edges are labeled."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(n_graphs):
        n_nodes = int(rng.integers(1, max_nodes + 1))
        edges = [(a, b) for a in range(n_nodes) for b in range(a + 1, n_nodes) if rng.random() < density]
        names = None if bonds is None else [bonds[i] for i in rng.integers(len(bonds), size=len(edges))]
        graphs.append((n_nodes, edges, [labels[i] for i in rng.integers(len(labels), size=n_nodes)], names))
    return graphs


def shuffled(graph, rng):
    """Return the same graph with nodes renamed at random."""
    n_nodes, edges, labels, names = graph
    order = rng.permutation(n_nodes)
    moved = [None] * n_nodes
    for node, label in enumerate(labels):
        moved[order[node]] = label
    return (n_nodes, [(int(order[b]), int(order[a])) for a, b in edges], moved, names)


def with_attributes(graphs, seed=0, labeled=False):
    """Make a collection of the same graphs with random vectors at the nodes."""
    rng = np.random.default_rng(seed)
    builder = CollectionBuilder()
    for n_nodes, edges, labels, _ in graphs:
        vectors = rng.integers(0, 6, (n_nodes, 2)).astype(float)
        builder.add(n_nodes, edges, node_labels=labels if labeled else None, node_attributes=vectors)
    return GraphCollection(**builder.build())
