"""Random rows over a random ground cost."""

import numpy as np

from relaxwl.unfolding import TreeRows


def random_ground(n_points, seed=0):
    """Draw whole costs between 3 and 6, ⊥ last: always a metric."""
    costs = np.random.default_rng(seed).integers(3, 7, (n_points + 1, n_points + 1)).astype(float)
    upper = np.triu(costs, 1)
    return upper + upper.T


def random_content(n_rows, n_points, seed=0, n_roots=3):
    """Draw distinct rows (root code, {point: count}), in canonical order."""
    rng = np.random.default_rng(seed)
    rows = {}
    while len(rows) < n_rows:
        chosen = rng.choice(n_points, rng.integers(0, min(4, n_points) + 1), replace=False)
        kinds = {int(point): int(rng.integers(1, 4)) for point in sorted(chosen)}
        root = int(rng.integers(n_roots))
        rows[root, sum(kinds.values()), tuple(kinds.items())] = (root, kinds)
    return [rows[key] for key in sorted(rows)]


def tree_rows(content, n_points):
    """Make rows over ``n_points`` points of plain content."""
    lengths = [len(kinds) for _, kinds in content]
    return TreeRows(
        np.array([root for root, _ in content], np.int32),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([point for _, kinds in content for point in sorted(kinds)], np.int32),
        np.array([kinds[point] for _, kinds in content for point in sorted(kinds)], np.int32),
        n_points,
    )
