"""The exact solver of one pair: distance and plan by two ways, against a linear program and POT."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from distances.problems import KINDS, MASSES, RELATIVE, by_pot, problem, random_ground, random_measure
from relaxwl.datasets import load_tu
from relaxwl.distances import _compiled
from relaxwl.distances.batch import transport_distance
from relaxwl.distances.pairwise import level_distances
from relaxwl.distances.transport import GroundCost
from relaxwl.unfolding import leaves, refine


def measures_of(x, y):
    """Return two vectors of masses as points and masses of each."""
    points = [np.flatnonzero(masses).astype(np.int32) for masses in (x, y)]
    return points[0], x[points[0]].astype(float), points[1], y[points[1]].astype(float)


def random_problems(rng, sizes, kind, masses):
    """Yield a dozen pairs of measures and their grounds, of some of these numbers of points."""
    for _ in range(12):
        n_points = int(rng.integers(sizes.start, sizes.stop))
        ground = random_ground(rng, n_points, kind)
        yield random_measure(rng, n_points, masses), random_measure(rng, n_points, masses), ground


def solve_twice(x, y, ground):
    """Return the distance with closed forms, and by shortest paths alone."""
    measures = measures_of(x, y)
    return _compiled.pair_distance(*measures, ground, np.inf), _compiled.pair_plan(*measures, ground)[0]


@pytest.mark.parametrize("masses", MASSES)
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_linear_program(kind, masses):
    for x, y, ground in random_problems(np.random.default_rng(7), range(1, 9), kind, masses):
        quick, paths = solve_twice(x, y, ground)
        # HiGHS itself is accurate to about 1e-7 of the largest term only when scales mix.
        tolerance = 1e-6 if "scales" in (kind, masses) else RELATIVE
        assert quick == pytest.approx(naive.padded_transport_by_program(x, y, ground), rel=tolerance, abs=1e-9)
        assert paths == pytest.approx(quick, rel=RELATIVE, abs=1e-15)


@pytest.mark.parametrize("masses", MASSES)
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_pot(kind, masses):
    for x, y, ground in random_problems(np.random.default_rng(11), range(2, 60), kind, masses):
        quick, paths = solve_twice(x, y, ground)
        assert paths == pytest.approx(quick, rel=RELATIVE, abs=1e-15)
        assert quick == pytest.approx(by_pot(x, y, ground), rel=RELATIVE, abs=1e-12)


@pytest.mark.slow
def test_ten_thousand_problems():
    rng = np.random.default_rng(2024)
    for number in range(10_000):
        n_points = int(rng.integers(1, 201 if number % 20 == 0 else 40))
        ground = random_ground(rng, n_points, KINDS[number % 5])
        kind = MASSES[number // 5 % 5]
        x, y = random_measure(rng, n_points, kind), random_measure(rng, n_points, kind)
        quick, paths = solve_twice(x, y, ground)
        assert paths == pytest.approx(quick, rel=RELATIVE, abs=1e-15)
        assert quick == pytest.approx(by_pot(x, y, ground), rel=RELATIVE, abs=1e-12), number
        if n_points < 12 and "scales" not in (kind, KINDS[number % 5]):
            assert quick == pytest.approx(naive.padded_transport_by_program(x, y, ground), rel=RELATIVE, abs=1e-9), (
                number
            )


def disjoint_problem(rng, side, kind):
    """Return two measures of `side` points each that share none, and a ground: nothing can be canceled."""
    x, y = np.zeros(2 * side), np.zeros(2 * side)
    places = rng.permutation(2 * side)
    x[places[:side]], y[places[side:]] = rng.integers(1, 9, (2, side)) if kind == "whole" else rng.random((2, side))
    return x, y, random_ground(rng, 2 * side, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_large_disjoint_problems(kind):
    rng = np.random.default_rng(8)
    for _ in range(30):
        x, y, ground = disjoint_problem(rng, 200, kind)
        quick, paths = solve_twice(x, y, ground)
        assert paths == pytest.approx(quick, rel=RELATIVE)
        assert quick == pytest.approx(by_pot(x, y, ground), rel=RELATIVE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["euclidean", "whole", "duplicates", "uniform"])
def test_large_problems_against_the_linear_program(kind):
    rng = np.random.default_rng(9)
    for side in (50, 60, 80, 100):
        x, y, ground = disjoint_problem(rng, side, kind)
        quick, _ = solve_twice(x, y, ground)
        assert quick == pytest.approx(naive.padded_transport_by_program(x, y, ground), rel=RELATIVE)


@pytest.mark.slow
@pytest.mark.shared
def test_real_rows_against_pot(shared):
    graphs, _ = load_tu(shared / "data" / "EGO-1.zip")
    rows, ids = leaves(graphs.node_codes)
    ground = np.zeros((1, 1))
    for _ in range(2):
        ground = level_distances(rows, GroundCost(ground, 1.0 - np.eye(2))).astype(float)
        rows, ids = refine(graphs, graphs.node_codes, ids, len(rows))
    rng = np.random.default_rng(0)
    widest = np.argsort(-np.diff(rows.indptr), kind="stable")[:500]
    for a, b in np.concatenate([rng.choice(len(rows), (2000, 2)), rng.choice(widest, (3000, 2))]):
        x, y = np.zeros((2, rows.n_points))
        for measure, row in ((x, a), (y, b)):
            _, points, counts = rows.row(row)
            measure[points] = counts
        quick, paths = solve_twice(x, y, ground)
        assert quick == paths  # whole masses and costs
        assert quick == pytest.approx(by_pot(x, y, ground), rel=RELATIVE)


@settings(deadline=None, max_examples=100)
@given(problem(), st.integers(0, 60))
def test_early_end_never_passes_the_distance(drawn, cutoff):
    x, y, ground = drawn
    value = _compiled.pair_distance(*measures_of(x, y), ground, float(cutoff))
    distance = transport_distance(x, y, ground, check=False)
    assert value == distance if distance <= cutoff else cutoff < value <= distance
