"""The exact transport solver against linear programming, assignment and POT."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from distances.problems import KINDS, RELATIVE, by_pot, problem, random_ground
from relaxwl.distances.batch import transport_distance
from relaxwl.distances.transport import check_ground


def test_whole_problems_are_exact():
    rng = np.random.default_rng(3)
    for _ in range(200):
        n_points = int(rng.integers(1, 12))
        ground = random_ground(rng, n_points, "whole")
        x, y = rng.integers(0, 4, n_points), rng.integers(0, 4, n_points)
        assert transport_distance(x, y, ground, check=False) == naive.padded_transport_by_units(x, y, ground)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("mass_scale", [1e-12, 1.0, 1e12])
def test_scaling_costs_and_masses_scales_the_distance(scale, mass_scale):
    rng = np.random.default_rng(5)
    for n_points in (3, 10, 40):
        ground = random_ground(rng, n_points, "euclidean")
        x, y = rng.random(n_points), rng.random(n_points)
        expected = transport_distance(x, y, ground) * scale * mass_scale
        assert transport_distance(mass_scale * x, mass_scale * y, scale * ground) == pytest.approx(
            expected, rel=RELATIVE
        )


def test_disjoint_large_supports():
    rng = np.random.default_rng(2)
    ground = random_ground(rng, 400, "euclidean")
    x, y = np.zeros(400), np.zeros(400)
    x[:200], y[200:] = rng.random(200), rng.random(200)
    assert transport_distance(x, y, ground, check=False) == pytest.approx(by_pot(x, y, ground), rel=RELATIVE)


@settings(deadline=None, max_examples=150)
@given(problem())
def test_plan_has_the_marginals_and_the_cost(drawn):
    x, y, ground = drawn
    distance, plan = transport_distance(x, y, ground, return_plan=True)
    padded_x, padded_y = naive.padded_measures(x, y)
    moved = plan.toarray()
    assert (moved >= 0).all()
    np.testing.assert_array_equal(moved.sum(axis=1), padded_x)
    np.testing.assert_array_equal(moved.sum(axis=0), padded_y)
    np.testing.assert_array_equal(np.diagonal(moved)[:-1], np.minimum(x, y))
    assert (moved * ground).sum() == distance == naive.padded_transport_by_units(x, y, ground)


@settings(deadline=None, max_examples=100)
@given(problem(), st.data())
def test_metric_axioms(drawn, data):
    x, y, ground = drawn
    z = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(x), max_size=len(x))), int)
    forth = transport_distance(x, y, ground)
    assert forth == transport_distance(y, x, ground)
    assert transport_distance(x, x, ground) == 0
    assert forth <= transport_distance(x, z, ground) + transport_distance(z, y, ground)


def test_real_plans_have_the_marginals():
    rng = np.random.default_rng(4)
    for n_points in (2, 5, 30):
        ground = random_ground(rng, n_points, "euclidean")
        x, y = rng.random(n_points), rng.random(n_points)
        distance, plan = transport_distance(x, y, ground, return_plan=True)
        padded_x, padded_y = naive.padded_measures(x, y)
        np.testing.assert_allclose(plan.sum(axis=1), padded_x, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(plan.sum(axis=0), padded_y, rtol=1e-12, atol=1e-14)
        assert (plan.toarray() * ground).sum() == pytest.approx(distance, rel=1e-12)


def test_sparse_vectors_and_small_types_are_read():
    ground = (1 - np.eye(4)).astype(np.uint8)
    x, y = np.array([0, 2, 1]), np.array([1, 0, 1])
    expected = transport_distance(x, y, ground)
    for make in (scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.coo_array):
        assert transport_distance(make(x.reshape(1, -1)), make(y.reshape(1, -1)), ground) == expected
    assert transport_distance(scipy.sparse.coo_array(x), y.tolist(), ground.astype(np.float32)) == expected


def test_nothing_but_the_blank():
    assert transport_distance([], [], [[0.0]]) == 0
    assert transport_distance([0, 0], [0, 0], 1 - np.eye(3)) == 0
    distance, plan = transport_distance([0, 0], [0, 3], 1 - np.eye(3), return_plan=True)
    assert distance == 3
    assert plan.toarray()[2, 1] == 3


@pytest.mark.parametrize(
    ("ground", "message"),
    [
        ([[0, 1], [2, 0]], r"symmetric, but ground\[0, ⊥\] = 1.0 and ground\[⊥, 0\] = 2.0"),
        ([[1, 1], [1, 0]], "diagonal"),
        ([[0, -1], [-1, 0]], "negative"),
        ([[0, np.nan], [np.nan, 0]], "finite"),
        ([[0, 1, 2]], "square"),
        ([[0, 9, 1], [9, 0, 1], [1, 1, 0]], r"triangle inequality: ground\[0, 1\] = 9.0 > ground\[0, ⊥\]"),
    ],
)
def test_a_ground_that_is_no_pseudo_metric_is_refused(ground, message):
    with pytest.raises(ValueError, match=message):
        check_ground(ground)


def test_pseudo_metrics_pass_the_check():
    rng = np.random.default_rng(0)
    for kind in KINDS:
        ground = random_ground(rng, 40, kind)
        np.testing.assert_array_equal(check_ground(ground), ground)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0], "one mass for each of"),
        ([1.0, 1.0, 1.0], "one mass for each of"),
        ([1.0, -1.0], "at least 0, not -1.0 at point 1"),
        ([np.nan, 1.0], "finite"),
        ([[1.0, 1.0]], "one vector"),
        (scipy.sparse.csr_array(np.eye(2)), "one sparse row vector"),
    ],
)
def test_bad_measures_are_refused(x, message):
    ground = 1 - np.eye(3)
    with pytest.raises(ValueError, match=message):
        transport_distance(x, [1, 1], ground)
    with pytest.raises(ValueError, match=message.replace("x ", "y ")):
        transport_distance([1, 1], x, ground)


@pytest.mark.parametrize(
    ("x", "y", "scale"),
    [
        ([1e308, 1e308], [0, 1], 1.0),  # one sum overflows
        ([1e308, 0], [0, 1e308], 1.0),  # both together do
        ([1e300, 0], [0, 1], 1e300),  # the cost does
    ],
)
def test_masses_beyond_all_numbers_are_refused(x, y, scale):
    with pytest.raises(ValueError, match="the mass of x and y together, also times the largest cost, must be"):
        transport_distance(x, y, scale * (1 - np.eye(3)))


def test_large_whole_masses_are_right_up_to_rounding():
    x, y = [2**50 - 1, 0, 3], [0, 2**49, 1]
    for scale in (1, 2, 2**13, 2**300):
        distance = transport_distance(scale * np.array(x, float), scale * np.array(y, float), 1 - np.eye(4))
        assert distance == pytest.approx(scale * (2.0**50 + 1), rel=1e-15)


def test_bad_types_are_refused():
    with pytest.raises(TypeError, match="x must be real numbers"):
        transport_distance(["a", "b"], [1, 1], 1 - np.eye(3))
    with pytest.raises(TypeError, match="ground must be an array of real numbers"):
        transport_distance([1, 1], [1, 1], np.eye(3).astype(complex))


def test_inputs_are_left_alone():
    x, y, ground = np.array([3.0, 0, 1]), np.array([0, 2.0, 2]), 1 - np.eye(4)
    kept = x.copy(), y.copy(), ground.copy()
    transport_distance(x, y, ground, return_plan=True)
    for now, before in zip((x, y, ground), kept, strict=True):
        np.testing.assert_array_equal(now, before)
