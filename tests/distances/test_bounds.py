"""Lower bounds are never above the exact distance, on random measures and on real rows."""

import numpy as np
import pytest

import naive
from relaxwl.datasets import load_tu
from relaxwl.distances.batched import level_distances, row_distances
from relaxwl.distances.bounds import blank_bound, pivot_bound, pivot_embedding, relaxed_bound
from relaxwl.unfolding import TreeRows, leaves, refine


def random_rows(rng, n_rows, n_points, real=False):
    """Return rows of up to six entries; real masses stand for centres."""
    lengths = rng.integers(0, min(6, n_points) + 1, n_rows)
    points = [np.sort(rng.choice(n_points, length, replace=False)) for length in lengths]
    counts = rng.random(lengths.sum()) if real else rng.integers(1, 4, lengths.sum()).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return TreeRows(np.zeros(n_rows, np.int32), indptr, np.concatenate(points).astype(np.int32), counts, n_points)


def dense(rows):
    masses = np.zeros((len(rows), rows.n_points))
    for row in range(len(rows)):
        span = slice(rows.indptr[row], rows.indptr[row + 1])
        masses[row, rows.points[span]] = rows.counts[span]
    return masses


def random_ground(rng, n_points, whole):
    places = rng.random((n_points + 1, 2))
    places[n_points // 2] = places[0]
    ground = np.abs(places[:, None] - places[None]).sum(-1)
    return np.ceil(4 * ground) if whole else ground


def all_bounds(rows_a, rows_b, ground):
    """Return every bound there is, by name."""
    everywhere = range(len(ground))
    embedded = [pivot_embedding(rows, ground, everywhere) for rows in (rows_a, rows_b)]
    return {
        "blank": blank_bound(rows_a, rows_b, ground),
        "pivot": pivot_bound(*embedded),
        "relaxed": relaxed_bound(rows_a, rows_b, ground),
    }


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_bounds_hold_on_random_rows(whole, real):
    rng = np.random.default_rng(1)
    for n_points in (1, 2, 5, 20):
        ground = random_ground(rng, n_points, whole)
        rows_a, rows_b = random_rows(rng, 30, n_points), random_rows(rng, 25, n_points, real)
        exact = row_distances(rows_a, rows_b, ground, np.zeros((1, 1)))
        for name, bound in all_bounds(rows_a, rows_b, ground).items():
            assert (bound <= exact * (1 + 1e-12) + 1e-12).all(), name
            assert (bound >= 0).all(), name


def load_levels(shared, name, depth):
    graphs, _ = load_tu(shared / "data" / f"{name}.zip")
    rows, ids = leaves(graphs.node_codes)
    levels = [rows]
    for _ in range(depth):
        rows, ids = refine(graphs, graphs.node_codes, ids, len(levels[-1]))
        levels.append(rows)
    return graphs, levels


@pytest.mark.shared
@pytest.mark.parametrize(("name", "depth"), [("MUTAG", 3), ("NCI1", 2), ("EGO-1", 2), ("PROTEINS", 2)])
def test_bounds_hold_on_real_rows(shared, name, depth):
    graphs, levels = load_levels(shared, name, depth)
    costs = 1.0 - np.eye(len(graphs.node_vocabulary or (0,)) + 1)
    ground = np.zeros((1, 1), np.uint8)
    for rows in levels[:-1]:
        ground = level_distances(rows, ground, costs)
    rng = np.random.default_rng(0)
    rows_a, rows_b = (levels[-1].take(np.sort(rng.choice(len(levels[-1]), 70, replace=False))) for _ in range(2))
    exact = row_distances(rows_a, rows_b, ground, np.zeros_like(costs))
    bounds = all_bounds(rows_a, rows_b, ground)
    for name_of_bound, bound in bounds.items():
        assert (bound <= exact).all(), name_of_bound
    # They are worth having: the larger of the two good ones is most of the distance.
    assert np.maximum(bounds["pivot"], bounds["relaxed"]).sum() >= 0.7 * exact.sum()


def test_relaxed_bound_is_as_defined():
    rng = np.random.default_rng(2)
    ground = random_ground(rng, 8, whole=True)
    rows_a, rows_b = random_rows(rng, 15, 8), random_rows(rng, 15, 8)
    expected = [[naive.relaxed_transport_cost(x, y, ground) for y in dense(rows_b)] for x in dense(rows_a)]
    np.testing.assert_allclose(relaxed_bound(rows_a, rows_b, ground), expected)


def test_the_blank_as_pivot_is_the_blank_bound():
    rng = np.random.default_rng(3)
    ground = random_ground(rng, 9, whole=False)
    rows = random_rows(rng, 20, 9)
    embedding = pivot_embedding(rows, ground, [len(ground) - 1])
    np.testing.assert_allclose(pivot_bound(embedding, embedding), blank_bound(rows, rows, ground))


def test_one_sided_rows_meet_the_relaxed_bound():
    ground = random_ground(np.random.default_rng(5), 4, whole=False)
    rows = random_rows(np.random.default_rng(6), 10, 4)
    empty = TreeRows(np.zeros(1, np.int32), np.zeros(2, np.int64), rows.points[:0], rows.counts[:0], 4)
    exact = row_distances(rows, empty, ground, np.zeros((1, 1)))
    np.testing.assert_allclose(relaxed_bound(rows, empty, ground), exact)
    np.testing.assert_allclose(blank_bound(rows, empty, ground), exact)
