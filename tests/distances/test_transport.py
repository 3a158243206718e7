"""The exact transport solver against linear programming, assignment and POT."""

import numpy as np
import ot
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from relaxwl.datasets import load_tu
from relaxwl.distances import _compiled
from relaxwl.distances.batched import level_distances
from relaxwl.distances.ground import Ground
from relaxwl.distances.transport import check_ground, transport_distance
from relaxwl.unfolding import leaves, refine

RELATIVE = 1e-9


def random_ground(rng, n_points, kind):
    """Return a pseudo-metric over n_points and ⊥: Euclidean, whole, with duplicates, uniform or of two scales."""
    places = rng.random((n_points + 1, 3))
    if kind == "duplicates":
        places[: n_points // 2] = places[rng.integers(0, n_points // 2 + 1, n_points // 2)]
    if kind == "scales":
        places *= 10.0 ** rng.integers(-6, 7, (n_points + 1, 1))
    ground = np.abs(places[:, None] - places[None]).sum(-1)
    if kind == "whole":
        ground = np.ceil(5 * ground)
    if kind == "uniform":
        ground = 1.0 - np.eye(n_points + 1)
    return ground


KINDS = ["euclidean", "whole", "duplicates", "scales", "uniform"]


def random_measure(rng, n_points, kind):
    """Return masses: real, whole, sparse, huge and tiny together, or few equal ones."""
    if kind == "real":
        return rng.random(n_points)
    if kind == "whole":
        return rng.integers(0, 4, n_points).astype(float)
    if kind == "sparse":
        return rng.random(n_points) * (rng.random(n_points) < 0.3)
    if kind == "scales":
        return 10.0 ** rng.uniform(-6, 6, n_points) * (rng.random(n_points) < 0.7)
    return (rng.random(n_points) < 0.5) / 3.0


MASSES = ["real", "whole", "sparse", "scales", "equal"]


def by_pot(x, y, ground):
    a, b = naive.padded_measures(x, y)
    total = a.sum()
    if total == 0:
        return 0.0
    return ot.emd2(a / total, b / b.sum(), np.ascontiguousarray(ground, float), numItermax=10**7) * total


def spans_of(x, y):
    """Return two vectors of masses as points, masses, start and end of each."""
    spans = []
    for masses in (x, y):
        points = np.flatnonzero(masses).astype(np.int32)
        spans += [points, masses[points].astype(float), 0, len(points)]
    return spans


def solve_twice(x, y, ground):
    """Return the distance with closed forms, and by shortest paths alone."""
    spans = spans_of(x, y)
    scratch = _compiled.make_scratch(len(x) + len(y))
    quick = _compiled.pair_distance(*spans, ground, np.inf, *scratch)
    return quick, _compiled.pair_plan(*spans[:2], *spans[4:6], ground, *scratch)[0]


@pytest.mark.parametrize("masses", MASSES)
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_linear_program(kind, masses):
    rng = np.random.default_rng(7)
    for _ in range(12):
        n_points = int(rng.integers(1, 9))
        ground = random_ground(rng, n_points, kind)
        x, y = random_measure(rng, n_points, masses), random_measure(rng, n_points, masses)
        quick, paths = solve_twice(x, y, ground)
        # HiGHS itself is accurate to about 1e-7 of the largest term only when scales mix.
        tolerance = 1e-6 if "scales" in (kind, masses) else RELATIVE
        assert quick == pytest.approx(naive.padded_transport_by_program(x, y, ground), rel=tolerance, abs=1e-9)
        assert paths == pytest.approx(quick, rel=RELATIVE, abs=1e-15)


@pytest.mark.parametrize("masses", MASSES)
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_pot(kind, masses):
    rng = np.random.default_rng(11)
    for _ in range(12):
        n_points = int(rng.integers(2, 60))
        ground = random_ground(rng, n_points, kind)
        x, y = random_measure(rng, n_points, masses), random_measure(rng, n_points, masses)
        quick, paths = solve_twice(x, y, ground)
        assert paths == pytest.approx(quick, rel=RELATIVE, abs=1e-15)
        assert quick == pytest.approx(by_pot(x, y, ground), rel=RELATIVE, abs=1e-12)


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
    """Return two measures of `side` points each that share none, and a ground: nothing can be cancelled."""
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
        ground = level_distances(rows, Ground(ground, 1.0 - np.eye(2))).astype(float)
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


def problem(max_points=7):
    """Return a strategy for (x, y, ground) with whole masses and a whole metric."""

    def build(drawn):
        x, y, places = drawn
        places = np.array(places, float)
        return np.array(x), np.array(y), np.abs(places[:, None] - places[None]).sum(-1)

    def sized(n):
        masses = st.lists(st.integers(0, 5), min_size=n, max_size=n)
        place = st.tuples(st.integers(0, 6), st.integers(0, 6))
        return st.tuples(masses, masses, st.lists(place, min_size=n + 1, max_size=n + 1)).map(build)

    return st.integers(0, max_points).flatmap(sized)


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
@given(problem(), st.integers(0, 60))
def test_early_end_never_passes_the_distance(drawn, cutoff):
    x, y, ground = drawn
    value = _compiled.pair_distance(*spans_of(x, y), ground, float(cutoff), *_compiled.make_scratch(20))
    distance = transport_distance(x, y, ground, check=False)
    assert value == distance if distance <= cutoff else cutoff < value <= distance


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
        ([1.0], "one mass for each of the 2 points"),
        ([1.0, 1.0, 1.0], "one mass for each of the 2 points"),
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
    with pytest.raises(TypeError, match="x must hold real numbers"):
        transport_distance(["a", "b"], [1, 1], 1 - np.eye(3))
    with pytest.raises(TypeError, match="ground must be an array of real numbers"):
        transport_distance([1, 1], [1, 1], np.eye(3).astype(complex))


def test_inputs_are_left_alone():
    x, y, ground = np.array([3.0, 0, 1]), np.array([0, 2.0, 2]), 1 - np.eye(4)
    kept = x.copy(), y.copy(), ground.copy()
    transport_distance(x, y, ground, return_plan=True)
    for now, before in zip((x, y, ground), kept, strict=True):
        np.testing.assert_array_equal(now, before)
