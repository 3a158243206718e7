"""What Hypothesis draws: trees as nested tuples (see naive.py), metric costs, small graphs."""

import itertools

import numpy as np
from hypothesis import strategies as st

LABELS = (1, 2, 3)
EDGES = ("x", "y")


def _children(tree, edge):
    return st.lists(st.tuples(edge, tree), max_size=3).map(tuple)


def nested_trees(labels=LABELS, edges=(None,), max_leaves=5):
    """Trees ``(label, ((edge label, tree), ...))``."""
    label, edge = st.sampled_from(labels), st.sampled_from(edges)
    leaf = st.tuples(label, st.just(()))
    return st.recursive(leaf, lambda tree: st.tuples(label, _children(tree, edge)), max_leaves=max_leaves)


@st.composite
def metric_matrices(draw, n_points=4, largest=9):
    """Integral metrics: the shortest ways through a complete graph with random lengths."""
    matrix = np.zeros((n_points, n_points))
    for i, j in itertools.combinations(range(n_points), 2):
        matrix[i, j] = matrix[j, i] = draw(st.integers(1, largest))
    for middle in range(n_points):
        matrix = np.minimum(matrix, matrix[:, middle, None] + matrix[None, middle, :])
    return matrix


def cost_function(labels, matrix):
    """A cost matrix, the blank last, as a function in which None is the blank."""
    position = {label: i for i, label in enumerate([*labels, None])}
    return lambda a, b: float(matrix[position[a], position[b]])


class PlainGraph:
    """The least that an unfolding tree can be made from."""

    def __init__(self, n_nodes, edges, labels=None, edge_labels=None):
        self.n_nodes = n_nodes
        self.adjacency = [[] for _ in range(n_nodes)]
        self.labels = labels
        self.names = None if edge_labels is None else [[] for _ in range(n_nodes)]
        for position, (a, b) in enumerate(edges):
            for start, end in ((a, b), (b, a)):
                self.adjacency[start].append(end)
                if self.names is not None:
                    self.names[start].append(edge_labels[position])

    def neighbors(self, node):
        return self.adjacency[node]

    def node_label(self, node):
        return None if self.labels is None else self.labels[node]

    def edge_labels_of(self, node):
        return None if self.names is None else self.names[node]


@st.composite
def plain_graphs(draw, max_nodes=5, edges=None):
    """Small labelled graphs, with edge labels from ``edges`` if given."""
    n_nodes = draw(st.integers(1, max_nodes))
    possible = list(itertools.combinations(range(n_nodes), 2))
    chosen = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=n_nodes, max_size=n_nodes))
    names = None if edges is None else [draw(st.sampled_from(edges)) for _ in chosen]
    return (n_nodes, chosen, labels, names)


def permuted(graph, order):
    """The same graph with vertex v renamed to ``order[v]``, edges listed the other way round."""
    n_nodes, edges, labels, names = graph
    renamed = [(order[b], order[a]) for a, b in reversed(edges)]
    moved = [None] * n_nodes
    for vertex, label in enumerate(labels):
        moved[order[vertex]] = label
    return (n_nodes, renamed, moved, None if names is None else names[::-1])
