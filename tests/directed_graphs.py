"""Random directed graphs as plain tuples, and as collections."""

import networkx as nx
import numpy as np

from relaxwl import as_collection


def random_digraphs(number=12, seed=0):
    """Graphs as (n, arcs, node labels, arc labels)."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(number):
        n = int(rng.integers(1, 6))
        possible = [(u, v) for u in range(n) for v in range(n) if u != v]
        arcs = sorted(possible[i] for i in rng.permutation(len(possible))[: rng.integers(0, len(possible) + 1)])
        graphs.append((n, arcs, rng.integers(0, 2, n).tolist(), rng.integers(0, 2, len(arcs)).tolist()))
    return graphs


def directed_collection(graphs, arc_labels=False):
    drawn = []
    for n, arcs, labels, names in graphs:
        graph = nx.DiGraph()
        graph.add_nodes_from((v, {"label": labels[v]}) for v in range(n))
        graph.add_edges_from(
            (u, v, {"label": name} if arc_labels else {}) for (u, v), name in zip(arcs, names, strict=True)
        )
        drawn.append(graph)
    return as_collection(drawn)
