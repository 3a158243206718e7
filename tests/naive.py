"""The definitions, slow and obvious: oracles for the package, of which nothing is imported here.

A tree is a nested tuple ``(label, ((edge label, tree), ...))``, the edge label None where there is none. A cost is
a function of two labels in which None is the blank ⊥.
"""

import itertools
from collections import Counter

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog

# ---------------------------------------------------------------------------------------------------------------
# Trees


def unfolding_tree(neighbors, labels, vertex, depth, edge_labels=None):
    """Write the unfolding tree of a vertex out: ``neighbors[v]`` and ``edge_labels[v]`` are aligned lists."""
    if depth == 0:
        return (labels[vertex], ())
    edges = [None] * len(neighbors[vertex]) if edge_labels is None else edge_labels[vertex]
    below = [unfolding_tree(neighbors, labels, other, depth - 1, edge_labels) for other in neighbors[vertex]]
    return (labels[vertex], tuple(zip(edges, below, strict=True)))


def sorted_tree(tree):
    """Sort children everywhere by what they look like written out, so that isomorphic trees become equal."""
    label, children = tree
    return (label, tuple(sorted(((edge, sorted_tree(child)) for edge, child in children), key=repr)))


def tree_size(tree):
    return 1 + sum(tree_size(child) for _, child in tree[1])


def tree_vertices(tree):
    """Return for every vertex, the root first, its (label, edge label, parent)."""
    vertices = []

    def visit(node, edge, parent):
        vertices.append((node[0], edge, parent))
        me = len(vertices) - 1
        for child_edge, child in node[1]:
            visit(child, child_edge, me)

    visit(tree, None, None)
    return vertices


def tree_isomorphic(a, b):
    """Try every matching of the children."""
    if a[0] != b[0] or len(a[1]) != len(b[1]):
        return False
    return any(
        all(
            edge == other_edge and tree_isomorphic(child, other)
            for (edge, child), (other_edge, other) in zip(a[1], order, strict=True)
        )
        for order in itertools.permutations(b[1])
    )


# ---------------------------------------------------------------------------------------------------------------
# The tree edit distance


def discrete(a, b):
    """The cost that is 1 for everything."""
    return 0.0 if a == b else 1.0


def no_edge_cost(a, b):
    return 0.0


def is_tree_mapping(mapping, parents, other_parents):
    """Check the definition: one-to-one, root on root, parents of mapped vertices mapped."""
    definite = all((v == w) == (v2 == w2) for (v, v2), (w, w2) in itertools.product(mapping, repeat=2))
    root = (0, 0) in mapping
    structure = all((parents[v], other_parents[w]) in mapping for v, w in mapping if (v, w) != (0, 0))
    return definite and root and structure


def all_tree_mappings(a, b):
    """Yield every set of vertex pairs that satisfies the definition."""
    parents = [parent for _, _, parent in tree_vertices(a)]
    other_parents = [parent for _, _, parent in tree_vertices(b)]

    def extend(vertex, chosen):
        if vertex == len(parents):
            mapping = frozenset(chosen.items())
            assert is_tree_mapping(mapping, parents, other_parents)
            yield mapping
            return
        yield from extend(vertex + 1, chosen)
        for other in range(1, len(other_parents)):
            if other not in chosen.values() and chosen.get(parents[vertex]) == other_parents[other]:
                yield from extend(vertex + 1, {**chosen, vertex: other})

    yield from extend(1, {0: 0})


def tree_mapping_cost(mapping, a, b, cost=discrete, edge_cost=no_edge_cost):
    """Add up relabelling of mapped vertices and edges, deletion and insertion of all others."""
    left, right = tree_vertices(a), tree_vertices(b)
    total = 0.0
    for v, w in mapping:
        total += cost(left[v][0], right[w][0])
        if v != 0:
            total += edge_cost(left[v][1], right[w][1])
    for v, (label, edge, _) in enumerate(left):
        if v not in {pair[0] for pair in mapping}:
            total += cost(label, None) + edge_cost(edge, None)
    for w, (label, edge, _) in enumerate(right):
        if w not in {pair[1] for pair in mapping}:
            total += cost(None, label) + edge_cost(None, edge)
    return total


def brute_force_tree_distance(a, b, cost=discrete, edge_cost=no_edge_cost):
    """The definition of SdTed: the least cost over all mappings."""
    return min(tree_mapping_cost(mapping, a, b, cost, edge_cost) for mapping in all_tree_mappings(a, b))


def tree_deletion_cost(tree, cost=discrete, edge_cost=no_edge_cost):
    """The distance to the empty tree."""
    below = sum(edge_cost(edge, None) + tree_deletion_cost(child, cost, edge_cost) for edge, child in tree[1])
    return cost(tree[0], None) + below


def recursive_tree_distance(a, b, cost=discrete, edge_cost=no_edge_cost):
    """The recursion of the paper: a perfect matching of the child trees, both sides padded with empty trees."""
    left = [*a[1], *[None] * len(b[1])]
    right = [*b[1], *[None] * len(a[1])]
    matrix = np.zeros((len(left), len(right)))
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            if one is not None and other is not None:
                matrix[i, j] = edge_cost(one[0], other[0]) + recursive_tree_distance(one[1], other[1], cost, edge_cost)
            elif one is not None or other is not None:
                edge, tree = one or other
                matrix[i, j] = edge_cost(edge, None) + tree_deletion_cost(tree, cost, edge_cost)
    return cost(a[0], b[0]) + matrix[linear_sum_assignment(matrix)].sum()


def transport_tree_distance(a, b, cost=discrete, edge_cost=no_edge_cost):
    """The same as optimal transport between the counts of distinct children, the lighter side padded at ⊥."""
    left, right = Counter(map(_sorted_branch, a[1])), Counter(map(_sorted_branch, b[1]))
    points = [*dict.fromkeys([*left, *right]), None]
    x = np.array([left[point] for point in points], dtype=float)
    y = np.array([right[point] for point in points], dtype=float)
    x[-1], y[-1] = max(0, y.sum() - x.sum()), max(0, x.sum() - y.sum())
    ground = np.zeros((len(points), len(points)))
    for i, j in itertools.combinations(range(len(points)), 2):
        (edge, tree), other = points[i], points[j]
        if other is None:
            ground[i, j] = edge_cost(edge, None) + tree_deletion_cost(tree, cost, edge_cost)
        else:
            ground[i, j] = edge_cost(edge, other[0]) + transport_tree_distance(tree, other[1], cost, edge_cost)
        ground[j, i] = ground[i, j]
    return cost(a[0], b[0]) + transport_cost(x, y, ground)


def _sorted_branch(branch):
    return (branch[0], sorted_tree(branch[1]))


def transport_cost(x, y, ground):
    """Optimal transport between equal masses as a linear program."""
    n, m = ground.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    result = linprog(ground.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([x, y]))
    assert result.success
    return float(result.fun)
