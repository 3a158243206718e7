"""The bounds of the search are bounds, and the heap takes candidates in their order."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from clustering.search_cases import CENTERS, N_POINTS, ROWS, UNITS, make_centers
from clustering_rows import tree_rows
from relaxwl.clustering import _compiled as compiled
from relaxwl.clustering import kmeans as nearest_module
from relaxwl.clustering.kmeans import Search, nearest
from relaxwl.costs.codebook import UniformCosts
from relaxwl.datasets import load_tu
from relaxwl.distances.pairwise import level_distances, row_distances
from relaxwl.distances.transport import GroundCost
from relaxwl.unfolding import leaves, refine
from strategies import metric_matrices


def bounds_of_the_search(search, centers):
    """Return both bounds of every pair, (2, n_rows, n_centers), computed as the search does."""
    rows = search.measures.arrays
    measures, side = search._center_side(centers)
    row_side, k, padded = search._row_side, len(centers), side.light.shape[1]
    starts, root_costs = np.full((2, padded), np.inf, np.float32)
    bounds, minima = np.empty(padded, np.float32), np.empty(padded // compiled.BLOCK, np.float32)
    out = np.empty((2, len(search.rows), k))
    for row, (root, total) in enumerate(zip(rows.roots, search.rows.masses.astype(float), strict=True)):
        span = rows.indptr[row], rows.indptr[row + 1]
        n_lighter = compiled.start_bounds(root, total, measures, side, search.costs, starts, root_costs)
        compiled.bound_all(row, *span, row_side, side, n_lighter, starts, root_costs, bounds, minima)
        assert minima.min() == bounds.min()
        slack = side.scale * (1 + (span[1] - span[0] + 8) * side.rounding)
        out[0, row] = bounds[:k] / slack
        nearest = np.empty(search.ground.n_points + 1)
        compiled.fill_nearest(*span, rows.points, search.costs.ground, nearest)
        for center in range(k):
            among = center, measures, side.totals[center], search.costs.ground
            root_cost = search.ground.roots[root, measures.roots[center]]
            out[1, row, center] = root_cost + compiled.nearest_bound(nearest, total, *among)
    return out[:, :, side.places]


@settings(max_examples=60)
@given(ROWS, CENTERS, metric_matrices(N_POINTS + 1), metric_matrices(3), st.booleans(), UNITS)
def test_bounds_are_never_above_the_distance(rows, centers, ground, root_cost, coincide, unit):
    # Rows and centers of any mass, empty ones among them: what ⊥ fills up does not change a bound.
    if coincide:
        ground[1], ground[:, 1] = ground[0], ground[:, 0]
        ground[0, 1] = ground[1, 0] = 0.0
    search = Search(tree_rows(rows, N_POINTS), GroundCost(ground * unit, root_cost * unit))
    bounds = bounds_of_the_search(search, make_centers(centers)) / unit
    exact = np.array([[naive.row_distance(row, center, ground, root_cost) for center in centers] for row in rows])
    assert (bounds <= exact + 1e-7).all()  # the linear program of the oracle is no more exact than that


@settings(max_examples=30)
@given(ROWS, ROWS, st.sampled_from([1.0, 0.5, 3.0]))
def test_the_first_bound_is_the_distance_where_all_labels_cost_the_same(rows, centers, cost):
    # Two trees of depth 1 differ by cost · (the larger number of leaves - the leaves that match).
    ground, root_cost = cost * (1 - np.eye(N_POINTS + 1)), cost * (1 - np.eye(3))
    search = Search(tree_rows(rows, N_POINTS), GroundCost(ground, root_cost))
    search._slots = pairs_as_slots(search.rows)
    first = bounds_of_the_search(search, make_centers(centers))[0]
    exact = [[naive.row_distance(row, center, ground, root_cost) for center in centers] for row in rows]
    np.testing.assert_allclose(first, exact, rtol=1e-5)


def pairs_as_slots(rows):
    numbers, points, counts = nearest_module._distinct_pairs(rows)
    return numbers, np.ones(len(numbers), np.float32), points, counts


@pytest.mark.shared
@pytest.mark.parametrize(("name", "depth"), [("MUTAG", 3), ("NCI1", 2), ("EGO-1", 2), ("PROTEINS", 2)])
def test_bounds_hold_on_real_rows(shared, name, depth):
    graphs, _ = load_tu(shared / "data" / f"{name}.zip")
    costs = 1.0 - np.eye(len(graphs.node_vocabulary or (0,)) + 1)
    (rows, ids), ground = leaves(graphs.node_codes), np.zeros((1, 1), np.uint8)
    for _ in range(depth):
        ground = level_distances(rows, GroundCost(ground, costs))
        rows, ids = refine(graphs, graphs.node_codes, ids, len(rows))
    rng = np.random.default_rng(0)
    sample, others = (rows.take(np.sort(rng.choice(len(rows), 70, replace=False))) for _ in range(2))
    bounds = bounds_of_the_search(Search(sample, GroundCost(ground, costs)), others.measures())
    exact = row_distances(sample, others, GroundCost(ground, costs))
    assert (bounds <= exact).all()
    assert bounds[0].sum() >= 0.7 * exact.sum()  # worth having


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_for_centers_of_many_more_points_than_rows(seed):
    # Places on a line, ⊥ at 0 and left of all others; of these, differences are exact, and sums of hundreds are not.
    rng = np.random.default_rng(seed)
    places = np.append(rng.uniform(1, 2, 400), 0.0)
    ground = np.abs(places[:, None] - places)
    points = np.flatnonzero(places[:-1] < 1.9)[:20].tolist()
    centers = [np.sort(rng.choice(400, 300, replace=False)).tolist() for _ in range(5)]
    assert min(places[center].max() for center in centers) > 1.9
    search = Search(tree_rows([(0, {point: 1}) for point in points], 400), GroundCost(ground, np.zeros((2, 2))))
    bounds = bounds_of_the_search(search, tree_rows([(0, dict.fromkeys(center, 1)) for center in centers], 400))
    # The unit of the row goes to the rightmost point, and all others come from ⊥.
    exact = [[sum(Fraction(place) for place in places[center].tolist()) - Fraction(places[point]) for center in centers]
             for point in points]  # fmt: skip
    assert (bounds <= np.array(exact, float)).all()


def test_the_search_is_exact_among_more_points_than_the_center_bound_takes():
    rng = np.random.default_rng(0)
    # Three edge labels and 2,000 node labels: 6,000 points, of which the oracle sees the few that rows use.
    n_labels, edges = 2_000, np.array([[0, 0.5, 1, 0.5], [0.5, 0, 1, 0.5], [1, 1, 0, 0.5], [0.5, 0.5, 0.5, 0]])
    ground = GroundCost(UniformCosts(n_labels, 1.0, 1.0), UniformCosts(2, 1.0, 1.0), edges)
    assert ground.n_points > compiled.MANY_POINTS
    used = np.sort(rng.choice(ground.n_points, 9, replace=False))
    content = [
        (int(rng.integers(2)), {int(point): int(rng.integers(1, 4)) for point in rng.choice(9, rng.integers(5), False)})
        for _ in range(50)
    ]
    wide = [(root, {int(used[point]): mass for point, mass in kinds.items()}) for root, kinds in content]
    labels, distances = nearest(tree_rows(wide, ground.n_points), tree_rows(wide[:12], ground.n_points), ground)
    small = ground.between(np.append(used, ground.n_points), np.append(used, ground.n_points))
    expected = naive.nearest_centers(content, content[:12], small, np.asarray(ground.roots))
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_allclose(distances, expected[1], atol=1e-9)
