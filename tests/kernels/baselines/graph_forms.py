"""Random graphs, and the same graphs in the form of the oracles and of GraKeL."""

import networkx as nx
import numpy as np

from relaxwl.graphs import GraphCollection


def random_graphs(seed, n_graphs=8, n_labels=3, max_nodes=9):
    """Random graphs of 1 to ``max_nodes`` vertices; ``n_labels=0`` leaves them unlabelled."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(n_graphs):
        n = int(rng.integers(1, max_nodes + 1))
        edges = list(nx.gnp_random_graph(n, rng.uniform(0.1, 0.7), seed=int(rng.integers(2**31))).edges)
        labels = [["a", "b", "c", "d"][code] for code in rng.integers(0, max(n_labels, 1), n)]
        parts.append((n, edges, labels) if n_labels else (n, edges))
    return GraphCollection.from_edges(parts)


def renumbered(graphs, seed):
    """Return the graphs with their vertices in another order."""
    rng = np.random.default_rng(seed)
    parts = []
    for graph in plain_graphs(graphs):
        neighbors, labels = graph
        place = rng.permutation(len(labels)).tolist()
        edges = [(place[v], place[u]) for v, near in enumerate(neighbors) for u in near if v < u]
        moved = [None] * len(labels)
        for vertex, label in enumerate(labels):
            moved[place[vertex]] = label
        parts.append((len(labels), edges, moved) if graphs.is_labelled else (len(labels), edges))
    return GraphCollection.from_edges(parts)


def plain_graphs(graphs):
    """Return the graphs as the oracles take them: lists of neighbours and labels."""
    plain = []
    for graph in range(len(graphs)):
        start, stop = int(graphs.offsets[graph]), int(graphs.offsets[graph + 1])
        neighbors = [
            (graphs.indices[graphs.indptr[v] : graphs.indptr[v + 1]] - start).tolist() for v in range(start, stop)
        ]
        codes = graphs.node_codes[start:stop].tolist()
        labels = [graphs.node_vocabulary[code] for code in codes] if graphs.is_labelled else codes
        plain.append((neighbors, labels))
    return plain


def grakel_graphs(graphs):
    """Return the graphs as GraKeL takes them, labels as codes."""
    converted = []
    for graph, (neighbors, labels) in enumerate(plain_graphs(graphs)):
        start = int(graphs.offsets[graph])
        edges = {v: dict.fromkeys(near, 1.0) for v, near in enumerate(neighbors)}
        converted.append((edges, {v: int(graphs.node_codes[start + v]) for v in range(len(labels))}))
    return converted


def is_psd(matrix):
    return np.linalg.eigvalsh(matrix).min() >= -1e-9 * max(np.abs(matrix).max(), 1)
