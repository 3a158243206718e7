"""What Hypothesis draws: trees as nested tuples (see naive.py), metric costs, small graphs."""

import itertools

import numpy as np
from hypothesis import strategies as st

from relaxwl.costs import EditCost
from relaxwl.unfolding.tree import UnfoldingTree

LABELS = (1, 2, 3)
EDGES = ("x", "y")
# Labels that, written one after the other, can be read in several ways.
AMBIGUOUS = (1, 2, 12, 21, 3, 23)


def _children(tree, edge):
    return st.lists(st.tuples(edge, tree), max_size=3).map(tuple)


def nested_trees(labels=LABELS, edges=(None,), max_leaves=5):
    """Trees ``(label, ((edge label, tree), ...))``."""
    label, edge = st.sampled_from(labels), st.sampled_from(edges)
    leaf = st.tuples(label, st.just(()))
    return st.recursive(leaf, lambda tree: st.tuples(label, _children(tree, edge)), max_leaves=max_leaves)


def confusable_labels():
    """Pairs of different (node label, edge label) that read the same when written one after the other."""
    pairs = list(itertools.product(AMBIGUOUS, repeat=2))
    alike = [(p, q) for p in pairs for q in pairs if p != q and f"{p[0]}{p[1]}" == f"{q[0]}{q[1]}"]
    return st.sampled_from(alike)


@st.composite
def confusable_trees(draw):
    """Pairs of trees, half of them with nothing but a root label and an edge label that are confusable."""
    trees = nested_trees(labels=AMBIGUOUS, edges=AMBIGUOUS, max_leaves=3)
    if draw(st.booleans()):
        return draw(trees), draw(trees)
    (label, edge), (other, other_edge) = draw(confusable_labels())
    child = draw(trees)
    return (label, ((edge, child),)), (other, ((other_edge, child),))


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
def plain_graphs(draw, max_nodes=5, edges=None, labels=LABELS):
    """Small labeled graphs, with edge labels from ``edges`` if given."""
    n_nodes = draw(st.integers(1, max_nodes))
    possible = list(itertools.combinations(range(n_nodes), 2))
    chosen = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    names = draw(st.lists(st.sampled_from(labels), min_size=n_nodes, max_size=n_nodes))
    edge_names = None if edges is None else [draw(st.sampled_from(edges)) for _ in chosen]
    return (n_nodes, chosen, names, edge_names)


def permuted(graph, order):
    """The same graph with node v renamed to ``order[v]``, edges listed the other way round."""
    n_nodes, edges, labels, names = graph
    renamed = [(order[b], order[a]) for a, b in reversed(edges)]
    moved = [None] * n_nodes
    for node, label in enumerate(labels):
        moved[order[node]] = label
    return (n_nodes, renamed, moved, None if names is None else names[::-1])


def as_tree(nested, order=list):
    """Return a nested pair (label, ((edge, child), …)) as a tree, children in some order."""
    label, children = nested
    children = order(children)
    edges = [edge for edge, _ in children]
    trees = [as_tree(child, order) for _, child in children]
    return UnfoldingTree(label, trees, edges if children and edges[0] is not None else None)


def matrix_cost(matrix, **edge_costs):
    """Return the costs of a matrix over LABELS, ⊥ last."""
    return EditCost.from_matrix(LABELS, matrix, **edge_costs)
