import numpy as np
import ot
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from clustering.measures import METHODS, cost, grounds, improved, measures, random_ground
from relaxwl.clustering.barycenter import bregman_barycenter, transport_barycenter


@settings(max_examples=60, deadline=None)
@given(measures(max_members=4), grounds())
def test_lp_is_the_optimum(members, ground):
    found = cost(members, transport_barycenter(members, ground, "lp"), ground)
    assert found == pytest.approx(naive.optimal_barycenter_cost(members, ground), abs=1e-7)


@settings(max_examples=100, deadline=None)
@given(measures(), grounds(), st.data())
def test_order_of_the_methods(members, ground, data):
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(members), max_size=len(members))), float)
    weights[0] += 1
    costs = {m: cost(members, transport_barycenter(members, ground, m, weights), ground, weights) for m in METHODS}
    assert all(costs["lp"] <= value + 1e-7 for value in costs.values())
    assert costs["median"] <= costs["medoid"] + 1e-9
    assert costs["medoid"] == pytest.approx(
        min(cost(members, member, ground, weights) for member in members[weights > 0])
    )
    assert costs["medoid"] <= min(cost(members, member, ground, weights) for member in members[weights > 0]) + 1e-9


@settings(max_examples=100, deadline=None)
@given(measures(), grounds())
def test_median_is_integral_and_no_single_unit_can_be_moved_for_less(members, ground):
    center = transport_barycenter(members, ground)
    assert np.array_equal(center, np.rint(center))
    assert (center >= 0).all()
    changes = naive.barycenter_move_changes(members, center, ground, np.ones(len(members)))
    used = np.append(members.any(axis=0), True)
    assert changes[:, used].min() >= -1e-9


@settings(max_examples=60, deadline=None)
@given(measures(), grounds(), st.data())
@pytest.mark.parametrize("method", METHODS)
def test_weights_mean_repetition_and_order_does_not_matter(method, members, ground, data):
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(members), max_size=len(members)))
    weights[0] += 1
    order = data.draw(st.permutations(range(len(members))))
    once = transport_barycenter(members, ground, method, weights)
    again = transport_barycenter(np.repeat(members, weights, axis=0), ground, method)
    other = transport_barycenter(members[order], ground, method, np.array(weights)[order])
    expected = cost(members, once, ground, weights)
    assert cost(members, again, ground, weights) == pytest.approx(expected, rel=1e-5)
    assert cost(members, other, ground, weights) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_members_that_leave_no_choice(method):
    ground = random_ground(np.random.default_rng(0), 5)
    member = np.array([0, 3, 0, 1, 0])
    tolerance = 1e-2 if method == "entropic" else 1e-9  # the regularization blurs
    assert cost([member], transport_barycenter([member], ground, method), ground) <= tolerance
    assert cost([member], transport_barycenter([member] * 7, ground, method), ground) <= tolerance
    assert np.array_equal(transport_barycenter(np.zeros((3, 5)), ground, method), np.zeros(5))


@pytest.mark.parametrize("method", METHODS)
def test_empty_members_draw_the_barycenter_to_nothing(method):
    ground = 1.0 - np.eye(3)
    members = np.array([[0, 0], [0, 0], [0, 0], [1, 2]])
    center = transport_barycenter(members, ground, method)
    assert center.sum() == pytest.approx(0.75 if method == "mean" else 0, abs=0.1)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_costs_anything_where_all_points_coincide_with_blank(method):
    center = transport_barycenter([[1, 2], [0, 3]], np.zeros((3, 3)), method)
    assert center.shape == (2,)
    assert np.isfinite(center).all()


def test_the_barycenter_may_be_heavier_than_every_member():
    # Three members with two units each, all units far from one another but near to a point between: one each.
    ground = np.full((4, 4), 2.0)
    np.fill_diagonal(ground, 0.0)
    ground[-1, :-1] = ground[:-1, -1] = 10.0
    members = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    heavy = np.ones(3)
    blank_is_near = ground.copy()
    blank_is_near[-1, :-1] = blank_is_near[:-1, -1] = 1.0
    center = transport_barycenter(members, blank_is_near, "lp")
    assert cost(members, center, blank_is_near) == pytest.approx(cost(members, heavy, blank_is_near))
    assert cost(members, center, blank_is_near) == pytest.approx(naive.optimal_barycenter_cost(members, blank_is_near))
    assert np.array_equal(transport_barycenter(members, blank_is_near), heavy)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("method", ["median", "lp", "medoid"])
def test_the_unit_of_cost_does_not_matter(method, scale):
    rng = np.random.default_rng(3)
    members, ground = rng.integers(0, 4, (9, 6)), random_ground(rng, 6)
    expected = cost(members, transport_barycenter(members, ground, method), ground)
    scaled = transport_barycenter(members, ground * scale, method)
    assert cost(members, scaled, ground) == pytest.approx(expected)


def test_lp_with_small_real_masses():
    rng = np.random.default_rng(4)
    members, ground = rng.random((5, 4)), random_ground(rng, 4)
    expected = naive.optimal_barycenter_cost(members, ground)
    assert cost(members, transport_barycenter(members, ground, "lp"), ground) == pytest.approx(expected)
    small = transport_barycenter(members * 1e-9, ground, "lp")
    assert cost(members, small * 1e9, ground) == pytest.approx(expected)


@pytest.mark.parametrize("regularization", [0.05, 0.5])
def test_entropic_barycenter_agrees_with_pot(regularization):
    rng = np.random.default_rng(5)
    members = rng.integers(0, 4, (6, 5))
    members[:, rng.integers(5)] = 1
    ground = random_ground(rng, 5)
    ground /= ground.max()
    total = max(members.sum(axis=1).max(), 2 * members.sum(axis=1).mean())
    histograms = np.column_stack([members, total - members.sum(axis=1)]) / total
    weights = np.full(6, 1 / 6)
    expected = ot.bregman.barycenter(
        np.maximum(histograms, 1e-300).T, ground, regularization, weights, stopThr=1e-13, numItermax=50_000
    )
    found = bregman_barycenter(histograms, ground, regularization, weights, 1e-12, 20_000)
    assert found == pytest.approx(expected, abs=1e-6)
    if regularization == 0.05:
        assert transport_barycenter(members, ground, "entropic") == pytest.approx(expected[:-1] * total, abs=1e-3)


def test_entropic_barycenter_survives_huge_costs():
    ground = (1.0 - np.eye(3)) * 1e20
    center = transport_barycenter([[1, 2], [1, 2], [2, 1]], ground, "entropic")
    assert np.isfinite(center).all()
    assert center.sum() <= 6.001


def test_median_reaches_the_optimum_on_most_random_clusters():
    rng = np.random.default_rng(6)
    gaps = []
    for _ in range(40):
        n_points = int(rng.integers(3, 12))
        members, ground = rng.poisson(1.0, (int(rng.integers(3, 40)), n_points)), random_ground(rng, n_points)
        costs = [cost(members, transport_barycenter(members, ground, method), ground) for method in ("median", "lp")]
        gaps.append(costs[0] / costs[1] - 1)
    assert np.mean(gaps) < 0.005
    assert max(gaps) < 0.03


def test_heavy_centers_need_no_more_memory_than_light_ones():
    rng = np.random.default_rng(7)
    members, ground = rng.integers(0, 10**9, (20, 5)), random_ground(rng, 5)
    center = transport_barycenter(members, ground)
    optimum = cost(members, transport_barycenter(members, ground, "lp"), ground)
    assert cost(members, center, ground) <= 1.03 * optimum


def test_sparse_and_dense_points_and_weights_are_left_alone():
    rng = np.random.default_rng(8)
    members, ground, weights = rng.poisson(1.0, (6, 5)), random_ground(rng, 5), rng.random(6)
    for matrix in (members, scipy.sparse.csr_matrix(members), scipy.sparse.coo_array(members)):
        before = matrix.copy()
        found = transport_barycenter(matrix, ground, "median", weights)
        assert np.array_equal(found, transport_barycenter(members, ground, "median", weights))
        assert (before != matrix).sum() == 0


@pytest.mark.parametrize("method", METHODS)
def test_improvement_of_many_clusters(method):
    rng = np.random.default_rng(9)
    rows, ground = rng.poisson(1.0, (12, 6)), random_ground(rng, 6)
    clusters = [(np.array([1, 4, 7, 10]), np.array([1.0, 2.0, 1.0, 1.0])), (np.array([2, 3, 8]), np.ones(3))]
    found = improved(method, rows, clusters, [0, 5], ground)
    assert found == [improved(method, rows, [one], [at], ground)[0] for one, at in zip(clusters, [0, 5], strict=True)]
    for (members, weights), at, (root, points, masses) in zip(clusters, [0, 5], found, strict=True):
        assert root == 0
        assert (np.diff(points) > 0).all()
        center = np.zeros(6)
        center[points] = masses
        if method == "median":
            assert cost(rows[members], center, ground, weights) < cost(rows[members], rows[at], ground, weights)
        else:
            assert center == pytest.approx(transport_barycenter(rows[members], ground, method, weights))


@pytest.mark.parametrize("method", METHODS)
def test_roots_of_centers_are_medians(method):
    rng = np.random.default_rng(3)
    rows, ground = rng.poisson(1.0, (30, 4)), random_ground(rng, 4)
    roots, root_cost = rng.integers(5, size=30), random_ground(rng, 5)[:5, :5]
    for seed in range(5):
        members = np.sort(np.random.default_rng(seed).choice(30, 9, replace=False))
        weights = rng.integers(1, 4, 9).astype(float)
        sums = {root: weights @ root_cost[root, roots[members]] for root in sorted(set(roots[members].tolist()))}
        found = improved(method, rows, [(members, weights)], [0], ground, roots, root_cost)
        assert found[0][0] == min(sums, key=sums.get)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "best"}, "method must be one of median, lp"),
        ({"points": [[0.5, 1]]}, "'median' needs points with whole-number masses; for real ones use method 'lp'"),
        ({"points": [[-1, 1]]}, "points must be finite masses of at least 0, not -1.0 in row 0"),
        ({"points": [[1, 1], [np.nan, 1]]}, "not nan in row 1"),
        ({"points": [[1, 1, 1]]}, r"points must have shape \(n, 2\)"),
        ({"points": [1, 1]}, r"points must have shape \(n, 2\)"),
        ({"points": np.empty((0, 2))}, "at least one row"),
        ({"weights": [1]}, "weights must be 2 finite numbers"),
        ({"weights": [1, -1]}, "weights must be 2 finite numbers"),
        ({"weights": [0, 0]}, "weights must not all be 0"),
        ({"ground": [[0, 5, 1], [5, 0, 1], [1, 1, 0]]}, "triangle inequality"),
    ],
)
def test_bad_input_is_named(arguments, message):
    defaults = {"points": [[1, 0], [0, 2]], "ground": 1.0 - np.eye(3)}
    with pytest.raises(ValueError, match=message):
        transport_barycenter(**(defaults | arguments))


def test_points_must_be_numbers():
    with pytest.raises(TypeError, match="points must be real numbers"):
        transport_barycenter([["a", "b"]], 1.0 - np.eye(3))


@pytest.mark.parametrize("method", ["median", "lp", "entropic", "medoid", "mean"])
@pytest.mark.parametrize("unit", [1e308, 1e-308])
def test_only_ratios_of_weights_matter(method, unit):
    ground = np.array([[0, 1, 3], [1, 0, 3], [3, 3, 0]])
    measures = np.array([[2, 0], [1, 1], [0, 1]])
    weights = np.array([1.0, 0.5, 0.25])
    expected = transport_barycenter(measures, ground, method, weights)
    np.testing.assert_allclose(transport_barycenter(measures, ground, method, weights * unit), expected, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-100, 1e6, 1e100])
def test_entropic_barycenters_of_costs_and_masses_of_any_size(unit):
    ground = np.array([[0, 1, 3], [1, 0, 3], [3, 3, 0]])
    measures = np.array([[2.0, 0], [2, 0], [0, 1]])
    assert transport_barycenter(measures, ground * unit, "entropic").sum() > 0
    np.testing.assert_allclose(
        transport_barycenter(measures * unit, ground, "entropic") / unit,
        transport_barycenter(measures, ground, "entropic"),
        rtol=1e-6,
    )
