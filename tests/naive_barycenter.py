"""Barycentres by definition, slow and obvious. Imports nothing from the package."""

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog


def distance(x, y, ground):
    """Cheapest matching of single units, the lighter side filled up at ⊥ (the last point); whole masses only."""
    total = int(max(sum(x), sum(y)))
    blank = len(ground) - 1
    units_x = np.repeat(np.arange(blank + 1), [*np.asarray(x, int), total - int(sum(x))])
    units_y = np.repeat(np.arange(blank + 1), [*np.asarray(y, int), total - int(sum(y))])
    costs = ground[np.ix_(units_x, units_y)]
    return float(costs[linear_sum_assignment(costs)].sum())


def real_distance(x, y, ground):
    """The transport program as it stands; real masses."""
    total = max(sum(x), sum(y))
    return _program([np.append(x, total - sum(x))], ground, [1.0], np.append(y, total - sum(y)))


def cost(members, center, ground, weights=None):
    """Weighted sum of distances to a centre."""
    weights = np.ones(len(members)) if weights is None else weights
    return sum(w * real_distance(member, center, ground) for w, member in zip(weights, members, strict=True))


def optimal_cost(members, ground, weights=None):
    """The least weighted sum of distances to any measure: all members filled up at ⊥ to more mass than can matter."""
    weights = np.ones(len(members)) if weights is None else weights
    total = 1 + 2 * np.sum(members)
    padded = [np.append(member, total - sum(member)) for member in members]
    return _program(padded, ground, weights, None)


def _program(padded, ground, weights, center):
    """Least cost of plans from each padded member to one common marginal, which is free unless given."""
    n, size = len(padded), len(ground)
    plans = n * size * size
    equalities, values = [], []
    for i in range(n):
        for q in range(size):
            sends, receives = np.zeros((size, size)), np.zeros((size, size))
            sends[q], receives[:, q] = 1, 1
            for block, value, marginal in ((sends, padded[i][q], 0), (receives, 0, -1)):
                row = np.zeros(plans + size)
                row[i * size * size : (i + 1) * size * size] = block.ravel()
                row[plans + q] = marginal
                equalities.append(row)
                values.append(value)
    bounds = [(0, None)] * plans + ([(0, None)] * size if center is None else [(mass, mass) for mass in center])
    costs = np.concatenate([np.concatenate([w * ground.ravel() for w in weights]), np.zeros(size)])
    return linprog(costs, A_eq=np.array(equalities), b_eq=values, bounds=bounds).fun


def move_changes(members, center, ground, weights):
    """How the cost changes if one unit of a centre moves from a point (or ⊥) to another; infinite where it cannot."""
    size = len(ground)
    before = sum(w * distance(member, center, ground) for w, member in zip(weights, members, strict=True))
    changes = np.full((size, size), np.inf)
    for origin in range(size):
        for goal in range(size):
            moved = np.append(center, 1)
            moved[origin] -= 1
            moved[goal] += 1
            if moved[origin] >= 0:
                after = sum(w * distance(m, moved[:-1], ground) for w, m in zip(weights, members, strict=True))
                changes[origin, goal] = after - before
    return changes
