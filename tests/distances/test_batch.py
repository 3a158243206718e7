"""Many transport distances at once: all pairs, listed ones, nearest ones, with and without the blank."""

import numpy as np
import ot
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from distances.problems import KINDS, MASSES, RELATIVE, by_pot, random_ground, random_measure
from relaxwl.distances import _compiled, batch
from relaxwl.distances.batch import transport_distance, transport_distances, transport_nearest


def measures(rng, n_rows, n_points, kind):
    return np.array([random_measure(rng, n_points, kind) for _ in range(n_rows)]).reshape(n_rows, n_points)


@st.composite
def whole_sets(draw, n_points=4):
    """Draw two sets of whole measures and a whole metric."""
    row = st.lists(st.integers(0, 4), min_size=n_points, max_size=n_points)
    x, y = (np.array(draw(st.lists(row, min_size=1, max_size=5))) for _ in range(2))
    places = np.array(draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=5, max_size=5)))
    return x, y, np.abs(places[:, None] - places[None]).sum(-1)


@settings(deadline=None, max_examples=60)
@given(whole_sets(), st.integers(1, 5))
def test_whole_sets_are_exact(drawn, k):
    x, y, ground = drawn
    expected = np.array([[naive.padded_transport_by_units(a, b, ground) for b in y] for a in x])
    np.testing.assert_array_equal(transport_distances(x, y, ground), expected)
    pairs = np.argwhere(expected >= 0)
    distances, plans = transport_distances(x, y, ground, pairs=pairs, return_plans=True)
    np.testing.assert_array_equal(distances, expected.ravel())
    np.testing.assert_array_equal(transport_distances(x, y, ground, pairs=pairs), distances)
    np.testing.assert_array_equal([(plan.toarray() * ground).sum() for plan in plans], distances)
    for (i, j), plan in zip(pairs, plans, strict=True):
        np.testing.assert_array_equal(plan.sum(axis=1), naive.padded_measures(x[i], y[j])[0])
        np.testing.assert_array_equal(plan.sum(axis=0), naive.padded_measures(x[i], y[j])[1])
    own = transport_distances(x, ground=ground)
    np.testing.assert_array_equal(own, transport_distances(x, x, ground))
    k = min(k, len(y))
    near, numbers = transport_nearest(x, y, ground, k)
    order = np.argsort(expected, axis=1, kind="stable")[:, :k]  # of equal distances, the first
    np.testing.assert_array_equal(numbers, order)
    np.testing.assert_array_equal(near, np.take_along_axis(expected, order, axis=1))


@pytest.mark.parametrize("masses", MASSES)
@pytest.mark.parametrize("kind", KINDS)
def test_real_sets_against_pot(kind, masses):
    rng = np.random.default_rng(8)
    for n_points in (1, 6, 40):
        ground = random_ground(rng, n_points, kind)
        x, y = measures(rng, 6, n_points, masses), measures(rng, 5, n_points, masses)
        expected = np.array([[by_pot(a, b, ground) for b in y] for a in x])
        scale = 1e-12 * (x.sum() + y.sum()) * ground.max()
        found = transport_distances(scipy.sparse.csr_array(x), y, ground, check=False, n_jobs=2)
        np.testing.assert_allclose(found, expected, rtol=RELATIVE, atol=scale)
        np.testing.assert_array_equal(found, transport_distances(x, y, ground, check=False))
        near, _ = transport_nearest(x, y, ground, 3, check=False)
        np.testing.assert_allclose(near, np.sort(found, axis=1)[:, :3], rtol=1e-12, atol=scale)
        own = transport_distances(x, ground=ground, check=False)
        assert (own == own.T).all()
        assert not own.diagonal().any()


@pytest.mark.parametrize("kind", KINDS)
def test_balanced_sets_against_pot_and_the_linear_program(kind):
    rng = np.random.default_rng(9)
    for n_points in (2, 7, 30):
        ground = random_ground(rng, n_points, kind)[:-1, :-1]
        x = measures(rng, 5, n_points, "real")
        x /= x.sum(axis=1, keepdims=True)
        found = transport_distances(x, ground=ground, check=False)
        atol = 1e-12 * ground.max()
        np.testing.assert_allclose(
            found, [[ot.emd2(a, b / b.sum() * a.sum(), ground) for b in x] for a in x], rtol=RELATIVE, atol=atol
        )
        assert found[0, 1] == pytest.approx(naive.transport_cost(x[0], x[1], ground), rel=1e-6, abs=1e-9 * ground.max())
        distances, plans = transport_distances(x, x, ground, pairs=[(0, 1)], return_plans=True, check=False)
        assert plans[0].shape == ground.shape
        assert (plans[0].toarray() * ground).sum() == pytest.approx(distances[0], rel=1e-9, abs=atol)
        assert transport_distance(x[0], x[1], ground, check=False) == pytest.approx(distances[0], rel=1e-12, abs=atol)
        near, _ = transport_nearest(x, x[1:], ground, 2, check=False)
        np.testing.assert_allclose(near, np.sort(found[:, 1:], axis=1)[:, :2], rtol=1e-12, atol=atol)


def test_balanced_whole_masses_are_matched_without_the_blank():
    # Moving over ⊥, half as far as the farthest points, must not be cheaper than any move.
    ground = np.array([[0, 2, 9], [2, 0, 9], [9, 9, 0]])
    assert transport_distances([[1, 0, 1]], [[0, 1, 1], [0, 2, 0]], ground).tolist() == [[2, 11]]


@pytest.mark.parametrize("scale", [1e-300, 2.0**-500, 1e150])
def test_huge_and_tiny_masses_and_costs(scale):
    rng = np.random.default_rng(3)
    for size in (3, 20, 60):
        ground = random_ground(rng, size, "euclidean")
        x, y = measures(rng, 2, size, "real"), measures(rng, 2, size, "sparse")
        expected = transport_distances(x, y, ground)
        np.testing.assert_allclose(transport_distances(scale * x, y * scale, ground), scale * expected, rtol=1e-9)
        np.testing.assert_allclose(transport_distances(x, y, scale * ground), scale * expected, rtol=1e-9)


def test_empty_measures_and_sets():
    ground = 1 - np.eye(3)
    assert transport_distances([[0, 0], [0, 2]], ground=ground).tolist() == [[0, 2], [2, 0]]
    assert transport_distances(np.zeros((0, 2)), [[1, 1]], ground).shape == (0, 1)
    assert transport_distances(np.zeros((0, 2)), ground=ground).shape == (0, 0)
    assert transport_distances([[1, 1]], ground=ground, pairs=[]).shape == (0,)
    assert transport_nearest(np.zeros((0, 2)), [[1, 1]], ground)[0].shape == (0, 1)
    assert transport_nearest([[0, 0]], [[1, 1], [0, 0]], ground)[1].tolist() == [[1]]
    assert transport_distances(np.zeros((2, 0)), ground=[[0.0]]).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("shape", [(2, 70), (12, 11), (40, 40), (70, 30)])
def test_the_simplex_method_and_shortest_paths_agree(shape, whole):
    rng = np.random.default_rng(sum(shape))
    n, m = shape
    for kind in KINDS:
        ground = random_ground(rng, n + m, kind)
        masses = rng.integers(1, 4, n + m).astype(float) if whole else rng.random(n + m)
        points = np.arange(n + m, dtype=np.int32)
        vectors, indices, tables = _compiled.make_scratch(n + m)
        spans = (0, n, 0, m)
        _compiled.load_difference(points[:n], masses[:n], points[n:], masses[n:], spans, n + m, vectors, indices)
        _compiled.load_costs(ground, indices, tables)
        expected = _compiled.successive_paths(np.inf, vectors, indices, tables)
        size = indices[_compiled.SIZES, 0] * indices[_compiled.SIZES, 1]
        tables[_compiled.FLOW] = np.nan
        assert _compiled.network_simplex(vectors, indices, tables) == pytest.approx(expected, rel=RELATIVE)
        flow = tables[_compiled.FLOW, :size].reshape(indices[_compiled.SIZES, :2])
        assert (flow >= 0).all()
        np.testing.assert_allclose(flow.sum(axis=1), vectors[_compiled.SUPPLY, : len(flow)], rtol=1e-9)
        np.testing.assert_allclose(flow.sum(axis=0), vectors[_compiled.DEMAND, : flow.shape[1]], rtol=1e-9)


def test_a_cycle_of_pivots_ends_in_shortest_paths(monkeypatch):
    monkeypatch.setattr(_compiled, "MAX_PIVOTS", 0)
    rng = np.random.default_rng(0)
    vectors, indices, tables = _compiled.make_scratch(40)
    points, masses = np.arange(40, dtype=np.int32), rng.random(40)
    ground = random_ground(rng, 40, "euclidean")
    _compiled.load_difference(
        points[:20], masses[:20], points[20:], masses[20:], (0, 20, 0, 20), 40, vectors, indices
    )  # fmt: skip
    _compiled.load_costs(ground, indices, tables)
    found = _compiled.network_simplex.py_func(vectors, indices, tables)
    assert found == pytest.approx(_compiled.successive_paths(np.inf, vectors, indices, tables))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "ground must be given"),
        ({"ground": np.ones((2, 3))}, "ground must be square"),
        ({"ground": 1 - np.eye(5)}, "X must have one mass for each of the 4 points other than ⊥, not 2"),
        ({"ground": 1 - np.eye(3), "Y": [[1, 1, 1]]}, "Y must have one mass for each of 2 points, not 3"),
        ({"ground": 1 - np.eye(2), "Y": [[1, 2]]}, "row 0 of the first has mass 2 and row 0 of the second 3"),
        ({"ground": 1 - np.eye(3), "pairs": [(0, 2)]}, r"pairs\[0\] = \(0, 2\) must be from \(0, 0\) to \(1, 1\)"),
        ({"ground": 1 - np.eye(3), "pairs": [0.5]}, "pairs must be whole numbers"),
        ({"ground": 1 - np.eye(3), "return_plans": True}, "return_plans needs pairs"),
    ],
)
def test_errors_name_the_argument(arguments, message):
    with pytest.raises(ValueError, match=message):
        transport_distances([[1, 1], [0, 2]], **arguments)


def test_only_listed_pairs_need_equal_masses():
    x = [[1, 0], [0, 1], [3, 0]]
    assert transport_distances(x, ground=1 - np.eye(2), pairs=[(0, 1)]).tolist() == [1]
    with pytest.raises(ValueError, match="equal masses"):
        transport_distances(x, ground=1 - np.eye(2), pairs=[(0, 1), (1, 2)])
    with pytest.raises(ValueError, match="equal masses"):
        transport_nearest(x, x[:1], 1 - np.eye(2))
    assert batch.BALANCE > 0
