"""Measures, grounds and clusters for tests of barycenters."""

import numpy as np
import scipy.sparse
from hypothesis import strategies as st

from relaxwl.clustering.barycenter import better_centers
from relaxwl.distances.batch import transport_distance
from relaxwl.distances.transport import GroundCost
from relaxwl.unfolding import TreeRows
from strategies import metric_matrices

METHODS = ("median", "lp", "entropic", "medoid", "mean")
N_POINTS = 4


def cost(members, center, ground, weights=None):
    weights = np.ones(len(members)) if weights is None else weights
    return sum(w * transport_distance(member, center, ground) for w, member in zip(weights, members, strict=True))


def grounds(n_points=N_POINTS):
    """Metrics with ⊥ last, some with points that coincide."""

    def with_duplicate(matrix, same):
        order = np.arange(len(matrix))
        if same:
            order[1] = 0
        return matrix[np.ix_(order, order)]

    return st.builds(with_duplicate, metric_matrices(n_points + 1), st.booleans())


def measures(max_members=6, n_points=N_POINTS, largest=4):
    row = st.lists(st.integers(0, largest), min_size=n_points, max_size=n_points)
    return st.lists(row, min_size=1, max_size=max_members).map(np.array)


def csr(members):
    matrix = scipy.sparse.csr_array(members.astype(float))
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


def sparse(center):
    points = np.flatnonzero(center)
    return points.astype(np.int32), center[points].astype(float)


def random_ground(rng, n_points):
    places = rng.integers(0, 8, (n_points + 1, 3))
    return np.abs(places[:, None] - places[None]).sum(axis=-1).astype(float)


def improved(method, rows, clusters, present, ground, roots=None, root_cost=None):
    """Return root, points and masses of the improved center of each cluster (members, weights); present are rows."""
    roots = np.zeros(len(rows), np.int32) if roots is None else roots.astype(np.int32)
    costs = GroundCost(ground, np.zeros((1, 1)) if root_cost is None else root_cost)
    measures = TreeRows(roots, *csr(rows), rows.shape[1])
    starts = np.cumsum([0, *(len(members) for members, _ in clusters)])
    members, weights = (np.concatenate(parts) for parts in zip(*clusters, strict=True))
    centers = measures.take(np.array(present))
    found = better_centers(method, starts, members, weights, measures, costs, centers, (0, len(clusters)))
    assert found.counts.dtype == np.float64
    return [(root, points.tolist(), masses.tolist()) for root, points, masses in map(found.row, range(len(found)))]
