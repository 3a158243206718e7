"""Transport distances straight from their definitions: slow, obvious, and importing nothing from the package."""

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog


def padded(x, y):
    """Append to the lighter measure, at ⊥, what it lacks."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    missing = x.sum() - y.sum()
    return np.append(x, max(0.0, -missing)), np.append(y, max(0.0, missing))


def transport_by_program(x, y, ground):
    """Minimise Σ plan·cost subject to the marginals, as a linear program over all pairs of points with mass."""
    x, y = padded(x, y)
    sources, sinks = np.flatnonzero(x), np.flatnonzero(y)
    if len(sources) == 0 or len(sinks) == 0:
        return 0.0
    cost = np.asarray(ground, float)[np.ix_(sources, sinks)]
    n, m = cost.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    # One equation follows from the others; leaving it out forgives the rounding of the total mass.
    equations = np.vstack([rows, columns[:-1]])
    sides = np.concatenate([x[sources], y[sinks][:-1]])
    return float(linprog(cost.ravel(), A_eq=equations, b_eq=sides, method="highs").fun)


def transport_by_units(x, y, ground):
    """Spread whole masses out into units and match them one to one."""
    x, y = padded(x, y)
    sources = np.repeat(np.arange(len(x)), x.astype(int))
    sinks = np.repeat(np.arange(len(y)), y.astype(int))
    cost = np.asarray(ground, float)[np.ix_(sources, sinks)]
    return float(cost[linear_sum_assignment(cost)].sum())


def relaxed_by_definition(x, y, ground):
    """Return the dearer of: supply to its nearest sinks, demand from its nearest sources, common mass cancelled."""
    x, y = padded(x, y)
    common = np.minimum(x, y)
    x, y = x - common, y - common
    sources, sinks = np.flatnonzero(x), np.flatnonzero(y)
    if len(sources) == 0 or len(sinks) == 0:
        return 0.0
    cost = np.asarray(ground, float)[np.ix_(sources, sinks)]
    return max(x[sources] @ cost.min(axis=1), y[sinks] @ cost.min(axis=0))


def tree_distance(a, b, node_cost, memo=None):
    """Return the edit distance of two trees (label, children): roots on roots, children matched, padded by empty trees.

    ``node_cost(label, label)`` has None for the blank.
    """
    memo = {} if memo is None else memo
    if (a, b) not in memo:
        n = max(len(a[1]), len(b[1]))
        cost = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                if i < len(a[1]) and j < len(b[1]):
                    cost[i, j] = tree_distance(a[1][i], b[1][j], node_cost, memo)
                elif i < len(a[1]):
                    cost[i, j] = deletion(a[1][i], node_cost)
                else:
                    cost[i, j] = deletion(b[1][j], node_cost)
        memo[a, b] = node_cost(a[0], b[0]) + float(cost[linear_sum_assignment(cost)].sum())
    return memo[a, b]


def deletion(tree, node_cost):
    """Return the cost of deleting all vertices of a tree."""
    return node_cost(tree[0], None) + sum(deletion(child, node_cost) for child in tree[1])


def unfold(neighbors, labels, node, depth):
    """Return the unfolding tree of a vertex as nested tuples (label, children)."""
    if depth == 0:
        return (labels[node], ())
    return (labels[node], tuple(sorted(unfold(neighbors, labels, other, depth - 1) for other in neighbors[node])))
