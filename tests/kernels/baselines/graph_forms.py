"""Random graphs, and the same graphs in the form of the oracles and of GraKeL."""

import networkx as nx
import numpy as np

import naive
from relaxwl.graphs import GraphCollection


def random_graphs(seed, n_graphs=8, n_labels=3, max_nodes=9):
    """Random graphs of 1 to ``max_nodes`` nodes; ``n_labels=0`` leaves them unlabeled."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(n_graphs):
        n = int(rng.integers(1, max_nodes + 1))
        edges = list(nx.gnp_random_graph(n, rng.uniform(0.1, 0.7), seed=int(rng.integers(2**31))).edges)
        labels = [["a", "b", "c", "d"][code] for code in rng.integers(0, max(n_labels, 1), n)]
        parts.append((n, edges, labels) if n_labels else (n, edges))
    return GraphCollection.from_edges(parts)


def renumbered(graphs, seed):
    """Return the graphs with their nodes in another order."""
    rng = np.random.default_rng(seed)
    parts = []
    for n_nodes, edges, labels, _ in plain_graphs(graphs):
        place = rng.permutation(n_nodes).tolist()
        renamed = [(place[v], place[u]) for v, u in edges]
        moved = [None] * n_nodes
        for node, label in enumerate(labels):
            moved[place[node]] = label
        parts.append((n_nodes, renamed, moved) if graphs.is_labeled else (n_nodes, renamed))
    return GraphCollection.from_edges(parts)


def plain_graphs(graphs):
    """Return the graphs as the oracles take them (see naive.py), without edge labels."""
    plain = []
    for graph in range(len(graphs)):
        start, stop = int(graphs.offsets[graph]), int(graphs.offsets[graph + 1])
        edges = [
            (v - start, u - start)
            for v in range(start, stop)
            for u in graphs.indices[graphs.indptr[v] : graphs.indptr[v + 1]].tolist()
            if v < u
        ]
        codes = graphs.node_codes[start:stop].tolist()
        labels = [graphs.node_vocabulary[code] for code in codes] if graphs.is_labeled else codes
        plain.append((stop - start, edges, labels, None))
    return plain


def grakel_graphs(graphs):
    """Return the graphs as GraKeL takes them, labels as codes."""
    converted = []
    for number, graph in enumerate(plain_graphs(graphs)):
        start = int(graphs.offsets[number])
        edges = {v: dict.fromkeys(near, 1.0) for v, near in enumerate(naive.neighbor_lists(graph))}
        converted.append((edges, {v: int(graphs.node_codes[start + v]) for v in range(graph[0])}))
    return converted


def is_psd(matrix):
    return np.linalg.eigvalsh(matrix).min() >= -1e-9 * max(np.abs(matrix).max(), 1)
