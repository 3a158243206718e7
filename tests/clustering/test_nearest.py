import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from clustering_rows import tree_rows
from relaxwl.clustering import _compiled
from relaxwl.clustering import nearest as nearest_module
from relaxwl.clustering.kmeans import nearest
from relaxwl.clustering.nearest import Search, choose_pivots, lipschitz_functions
from relaxwl.clustering.partitioners import Ground
from relaxwl.datasets import load_tu
from relaxwl.distances.batched import level_distances, row_distances
from relaxwl.kernels.partition import distances_to_centers
from relaxwl.unfolding import Rows, leaves, refine
from strategies import metric_matrices

N_POINTS = 4
CHILDREN = st.dictionaries(st.integers(0, N_POINTS - 1), st.integers(1, 4), max_size=N_POINTS)
ROWS = st.lists(st.tuples(st.integers(0, 2), CHILDREN), min_size=1, max_size=12)
MASSES = st.integers(1, 12).map(lambda quarters: quarters / 4)
CENTERS = st.lists(
    st.tuples(st.integers(0, 2), st.dictionaries(st.integers(0, N_POINTS - 1), MASSES, max_size=N_POINTS)),
    min_size=1,
    max_size=6,
)


def make_centers(content, n_points=N_POINTS):
    return Rows.from_parts(
        [
            (root, np.array(sorted(masses), np.int32), np.array([masses[point] for point in sorted(masses)], float))
            for root, masses in content
        ],
        n_points,
    )


@settings(max_examples=25)
@given(ROWS, CENTERS, metric_matrices(N_POINTS + 1), metric_matrices(3))
def test_nearest_centers_are_those_of_brute_force(rows, centers, ground, root_cost):
    labels, distances = nearest(tree_rows(rows, N_POINTS), make_centers(centers), ground, root_cost)
    expected_labels, expected = naive.nearest_centers(rows, centers, ground, root_cost, tolerance=1e-7)
    np.testing.assert_allclose(distances, expected, atol=1e-9)
    assert labels.tolist() == expected_labels


@settings(max_examples=40)
@given(ROWS, st.data(), metric_matrices(N_POINTS + 1))
def test_ties_and_duplicates_go_to_the_lowest_index(rows, data, ground):
    # Points 0 and 1 coincide, and so do the first two centres: nothing but the index tells them apart.
    ground[1], ground[:, 1] = ground[0], ground[:, 0]
    ground[0, 1] = ground[1, 0] = 0.0
    centers = data.draw(st.lists(st.sampled_from(rows), min_size=1, max_size=4))
    centers = [centers[0], *centers]
    labels, distances = nearest(tree_rows(rows, N_POINTS), make_centers(centers), ground, 1 - np.eye(3))
    expected_labels, expected = naive.nearest_centers(rows, centers, ground, 1 - np.eye(3))
    np.testing.assert_allclose(distances, expected, atol=1e-12)
    assert labels.tolist() == expected_labels
    assert 1 not in labels


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64])
def test_whole_number_grounds_of_any_type(dtype):
    rng = np.random.default_rng(0)
    content = [
        (int(rng.integers(2)), {int(p): int(rng.integers(1, 4)) for p in rng.choice(9, 3, False)}) for _ in range(60)
    ]
    ground = (1 + (rng.integers(0, 2, (10, 10)))).astype(dtype)  # 1 or 2: always a metric
    ground = np.triu(ground, 1) + np.triu(ground, 1).T
    rows = tree_rows(content, 9)
    labels, distances = nearest(rows, rows.take(np.arange(0, 60, 7)).measures(), ground, 1 - np.eye(2))
    expected_labels, expected = naive.nearest_centers(content, content[::7], ground, 1 - np.eye(2))
    assert labels.tolist() == expected_labels
    np.testing.assert_array_equal(distances, expected)


def test_chunks_and_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    content = [(0, {int(p): int(rng.integers(1, 5)) for p in rng.choice(9, 4, False)}) for _ in range(200)]
    rows, ground = tree_rows(content, 9), 1 - np.eye(10)
    centers = rows.take(np.arange(20)).measures()
    labels, distances = nearest(rows, centers, ground, np.zeros((1, 1)))
    monkeypatch.setattr("relaxwl.clustering.nearest.CHUNK_ROWS", 16)
    for n_jobs in (1, 2):
        again, distances_again = nearest(rows, centers, ground, np.zeros((1, 1)), n_jobs)
        np.testing.assert_array_equal(again, labels)
        np.testing.assert_array_equal(distances_again, distances)
    np.testing.assert_array_equal(
        distances_to_centers(rows, labels, centers, Ground(ground, np.zeros((1, 1))), None), distances
    )


def test_the_bound_on_other_centers_is_one():
    rng = np.random.default_rng(2)
    content = [(0, {int(p): int(rng.integers(1, 5)) for p in rng.choice(6, 3, False)}) for _ in range(40)]
    rows, ground = tree_rows(content, 6), 1 - np.eye(7)
    search = Search(rows, ground, np.zeros((1, 1)))
    search.assign(rows.take(np.arange(8)).measures())
    for row, label, bound in zip(content, search.labels, search.others, strict=True):
        distances = [naive.row_distance(row, center, ground, np.zeros((1, 1))) for center in content[:8]]
        assert bound <= min(d for c, d in enumerate(distances) if c != label) + 1e-9
    solved, abandoned, searched = search.counters
    assert searched == 40
    assert 0 < solved + abandoned < 40 * 8  # brute force would solve all


def bounds_of_the_search(search, centers):
    """Return both bounds of every pair of a row and a centre, (n_rows, n_centers) each, computed as the search does."""
    deep_rows, deep = (search._embed(measures, search.functions) for measures in (search.rows, centers))
    shallow = np.ascontiguousarray(deep[:, search.pivots].T)
    first, second = np.empty((2, len(search.rows), len(centers)))
    for row, root in enumerate(search.rows.roots):
        root_costs = search.root_cost[root, centers.roots]
        _compiled.bound_all(search.embeddings[row], shallow, root_costs, first[row])
        for center in range(len(centers)):
            second[row, center] = root_costs[center] + _compiled.pivot_bound(deep_rows[row], deep[center], np.inf)
    return first, second


@settings(max_examples=40)
@given(ROWS, CENTERS, metric_matrices(N_POINTS + 1), metric_matrices(3), st.booleans(), st.sampled_from([2, 256]))
def test_bounds_are_never_above_the_distance(rows, centers, ground, root_cost, coincide, max_pivots):
    # Rows and centres of any mass, empty ones among them: what ⊥ fills up does not change a bound.
    if coincide:
        ground[1], ground[:, 1] = ground[0], ground[:, 0]
        ground[0, 1] = ground[1, 0] = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_module, "MAX_PIVOTS", max_pivots)
        search = Search(tree_rows(rows, N_POINTS), ground, root_cost)
    first, second = bounds_of_the_search(search, make_centers(centers))
    exact = np.array([[naive.row_distance(row, center, ground, root_cost) for center in centers] for row in rows])
    assert (first <= second + 1e-9).all()
    assert (second <= exact + 1e-7).all()  # the linear program of the oracle is no more exact than that
    # The distance to nothing is found in full: ⊥ is always a pivot.
    to_nothing = bounds_of_the_search(search, make_centers([(0, {})]))[1][:, 0]
    expected = [naive.row_distance(row, (0, {}), ground, root_cost) for row in rows]
    np.testing.assert_allclose(to_nothing, expected)


def test_a_bound_ends_early_with_a_gap_above_the_limit():
    embedding, center = np.array([1.0, 5.0, 0.0]), np.array([2.0, 2.0, 9.0])
    assert [_compiled.pivot_bound(embedding, center, limit) for limit in (np.inf, 4.0, 2.0, 0.5)] == [9, 9, 3, 1]


@pytest.mark.shared
@pytest.mark.parametrize(("name", "depth"), [("MUTAG", 3), ("NCI1", 2), ("EGO-1", 2), ("PROTEINS", 2)])
def test_bounds_hold_on_real_rows(shared, name, depth):
    graphs, _ = load_tu(shared / "data" / f"{name}.zip")
    costs = 1.0 - np.eye(len(graphs.node_vocabulary or (0,)) + 1)
    (rows, ids), ground = leaves(graphs.node_codes), np.zeros((1, 1), np.uint8)
    for _ in range(depth):
        ground = level_distances(rows, ground, costs)
        rows, ids = refine(graphs, graphs.node_codes, ids, len(rows))
    rng = np.random.default_rng(0)
    sample, others = (rows.take(np.sort(rng.choice(len(rows), 70, replace=False))) for _ in range(2))
    first, second = bounds_of_the_search(Search(sample, ground, costs), others.take(np.arange(70)).measures())
    exact = row_distances(sample, others, ground, costs)
    assert (first <= second).all()
    assert (second <= exact).all()
    assert second.sum() >= 0.6 * exact.sum()  # worth having


@given(metric_matrices(6))
def test_functions_are_lipschitz_and_vanish_at_blank(ground):
    functions = lipschitz_functions(ground)
    assert functions.shape == (5, 6)
    gaps = np.abs(functions[:, None, :] - functions[None, :, :]).max(axis=2)
    assert (gaps <= ground[:-1, :-1] + 1e-12).all()
    assert (np.abs(functions).max(axis=1) <= ground[:-1, -1] + 1e-12).all()


def test_pivots_are_few_and_different():
    embeddings = np.random.default_rng(0).random((20, 30))
    pivots = choose_pivots(embeddings, 12)
    assert len(set(pivots.tolist())) == 12
    assert choose_pivots(np.zeros((1, 3)), 12).tolist() == [0, 1, 2]


def test_no_rows():
    labels, distances = nearest(tree_rows([], N_POINTS), make_centers([(0, {})]), 1 - np.eye(5), np.zeros((1, 1)))
    assert len(labels) == len(distances) == 0


def test_rows_and_centers_without_children():
    rows = tree_rows([(0, {}), (1, {}), (1, {0: 1})], N_POINTS)
    labels, distances = nearest(rows, make_centers([(1, {}), (0, {})]), 1 - np.eye(5), 1 - np.eye(2))
    assert labels.tolist() == [1, 0, 0]
    assert distances.tolist() == [0.0, 0.0, 1.0]


def test_depth_zero_has_no_points():
    rows = Rows(np.array([0, 1, 2], np.int32), np.zeros(4, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), 0)
    labels, distances = nearest(rows, rows.take(np.array([2])).measures(), np.zeros((1, 1)), 1 - np.eye(3))
    assert labels.tolist() == [0, 0, 0]
    assert distances.tolist() == [1.0, 1.0, 0.0]


def test_centers_can_be_looked_at_and_replaced():
    centers = make_centers([(0, {1: 2.0}), (1, {}), (2, {0: 0.5, 3: 1.0})])
    assert not centers.is_integral
    np.testing.assert_array_equal(centers.to_matrix().toarray(), [[0, 2, 0, 0], [0, 0, 0, 0], [0.5, 0, 0, 1]])
    new = centers.replaced(make_centers([(2, {2: 1.0}), (0, {1: 1.0})]), np.array([2, 0]))
    assert new.is_integral
    assert new.same_as(centers).tolist() == [False, True, False]
    assert new.row(0)[2].tolist() == [1.0]
    assert new.row(2)[1].tolist() == [2]
    assert len(make_centers([])) == 0
