from collections import Counter
from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from clustering.search_cases import CENTERS, N_POINTS, ROWS, UNITS, make_centers
from clustering_rows import random_content, random_ground, tree_rows
from directed_graphs import directed_collection, random_digraphs
from relaxed_kernels import optimized
from relaxwl import EditCost, GraphCollection
from relaxwl.clustering import kmeans as nearest_module
from relaxwl.clustering.kmeans import Search, choose_pivots, evenly, lipschitz_functions, nearest
from relaxwl.clustering.partitioners import KMeansPartitioner
from relaxwl.distances.pairwise import paired_distances, row_distances
from relaxwl.distances.transport import GroundCost
from relaxwl.unfolding import TreeRows
from strategies import metric_matrices


@settings(max_examples=60)
@given(ROWS, CENTERS, metric_matrices(N_POINTS + 1), metric_matrices(3), UNITS)
def test_nearest_centers_are_those_of_brute_force(rows, centers, ground, root_cost, unit):
    search = Search(tree_rows(rows, N_POINTS), GroundCost(ground * unit, root_cost * unit))
    search.assign(make_centers(centers))
    expected_labels, expected = naive.nearest_centers(rows, centers, ground, root_cost, tolerance=1e-7)
    np.testing.assert_allclose(search.distances / unit, expected, atol=1e-9)
    assert search.labels.tolist() == expected_labels


@settings(max_examples=30)
@given(CENTERS, CENTERS, metric_matrices(N_POINTS + 1), metric_matrices(3))
def test_rows_may_have_real_masses(rows, centers, ground, root_cost):
    search = Search(make_centers(rows), GroundCost(ground, root_cost))
    search.assign(make_centers(centers))
    expected_labels, expected = naive.nearest_centers(rows, centers, ground, root_cost, tolerance=1e-7)
    np.testing.assert_allclose(search.distances, expected, atol=1e-9)
    assert search.labels.tolist() == expected_labels


@settings(max_examples=40)
@given(ROWS, CENTERS, metric_matrices(N_POINTS + 1), metric_matrices(3), st.data())
def test_a_known_center_changes_nothing(rows, centers, ground, root_cost, data):
    own = data.draw(st.lists(st.integers(0, len(centers) - 1), min_size=len(rows), max_size=len(rows)))
    distances = np.array([[naive.row_distance(row, center, ground, root_cost) for center in centers] for row in rows])
    search = Search(tree_rows(rows, N_POINTS), GroundCost(ground, root_cost))
    search.labels[:], search.distances[:] = own, distances[np.arange(len(rows)), own]
    search.assign(make_centers(centers))
    least = distances.min(axis=1, keepdims=True)
    assert search.labels.tolist() == (distances <= least + 1e-7).argmax(axis=1).tolist()
    np.testing.assert_allclose(search.distances, least[:, 0], atol=1e-7)


def spread_metric(rng, n_points, exponents, whole=False):
    """Costs whose decimal exponents are drawn from a range: points in clusters in clusters, the dearest outside."""
    ground, clusters = np.zeros((n_points, n_points)), [[point] for point in rng.permutation(n_points)]
    for height in np.sort(10.0 ** rng.uniform(*exponents, n_points - 1)):
        first, second = (clusters.pop(rng.integers(len(clusters))) for _ in range(2))
        apart = height * rng.uniform(1, 1.5, (len(first), len(second)))
        ground[np.ix_(first, second)], ground[np.ix_(second, first)] = apart, apart.T
        clusters.append(first + second)
    for middle in range(n_points):
        ground = np.minimum(ground, ground[:, middle, None] + ground[None, middle, :])
    return np.ceil(ground) if whole else ground


def light_content(rng):
    """Rows (root code, {point: count}) of at most five units."""
    drawn = [(int(rng.integers(3)), Counter(rng.integers(0, 6, rng.integers(0, 6)).tolist())) for _ in range(30)]
    return sorted(drawn, key=lambda row: (row[0], sorted(row[1].items())))


def forbidding(ground, blank):
    """The same costs, but inserting and deleting cost a number beside which they vanish."""
    ground = ground.copy()
    ground[-1, :-1] = ground[:-1, -1] = blank
    return ground


def assert_nearest(labels, distances, rows, centers, cost, whole):
    """Compare with all distances in rational numbers; whole costs must be found to the last digit, ties included."""
    for row, label, distance in zip(rows, labels, distances, strict=True):
        exact = [cost(row, center) for center in centers]
        least = min(exact)
        if whole:
            assert (label, distance) == (exact.index(least), least)
        else:
            assert exact[label] <= least * (1 + Fraction(1, 10**13))
            assert float(distance) == pytest.approx(float(least), rel=1e-13, abs=0)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("blank", [None, 1e8, 1e10, 1e12])
def test_nearest_over_costs_of_every_size(whole, seed, blank):
    rng = np.random.default_rng(seed)
    span = (0, 12) if whole else (-12, 12)
    ground = spread_metric(rng, 7, span if blank is None else (0, 1), whole)
    roots = spread_metric(rng, 3, span if blank is None else (0, 1), whole)
    ground = ground if blank is None else forbidding(ground, blank)
    content = light_content(rng)
    chosen = np.sort(rng.choice(len(content), 9, replace=False))
    rows = tree_rows(content, 6)

    def cost(row, center):
        x, y = ([kinds.get(point, 0) for point in range(6)] for _, kinds in (row, center))
        return Fraction(float(roots[row[0], center[0]])) + naive.rational_transport(x, y, ground)

    centers = [content[place] for place in chosen]
    labels, distances = nearest(rows, rows.take(chosen).measures(), GroundCost(ground, roots))
    assert_nearest(labels, distances, content, centers, cost, whole)


@pytest.mark.parametrize("edge_cost", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("child_cost", [1e-12, 1.0, 1e12])
def test_nearest_over_edges_and_children_of_different_size(edge_cost, child_cost):
    # Points are pairs (edge code, child); deleting costs as much as the dearer of both.
    rng = np.random.default_rng(0)
    children, edges = child_cost * (1.0 - np.eye(4)), edge_cost * (1.0 - np.eye(3))
    children[-1, :-1] = children[:-1, -1] = max(edge_cost, child_cost)
    edges[-1] = edges[:, -1] = 0.0
    ground = GroundCost(children, np.zeros((3, 3)), edges)
    content, dense = light_content(rng), np.asarray(ground)
    chosen = np.sort(rng.choice(len(content), 9, replace=False))
    rows = replace(tree_rows(content, 6), n_children=3, n_edge_codes=2)

    def cost(row, center):
        return naive.rational_transport(
            *([kinds.get(point, 0) for point in range(6)] for _, kinds in (row, center)), dense
        )

    labels, distances = nearest(rows, rows.take(chosen).measures(), ground)
    assert_nearest(labels, distances, content, [content[place] for place in chosen], cost, whole=False)


class Compared(KMeansPartitioner):
    """k-means that compares its labels with all distances."""

    n_rows = 0

    def fit(self, rows, ground, rng=None):
        labels, centers = super().fit(rows, ground, rng)
        self.compare(labels, rows, ground)
        return labels, centers

    def predict_with_distances(self, rows, ground):
        labels, distances = super().predict_with_distances(rows, ground)
        self.compare(labels, rows, ground)
        return labels, distances

    def compare(self, labels, rows, ground):
        everything = row_distances(rows, self.centers_, ground)
        least = everything.min(axis=1)
        assert (everything[np.arange(len(rows)), labels] <= least * (1 + 1e-13)).all()
        ties = everything <= least[:, None] * (1 + 1e-15)
        assert (labels <= np.argmax(ties, axis=1)).all()
        Compared.n_rows += len(rows)


@pytest.mark.parametrize(
    "cost",
    [EditCost(insert_delete=1e10), EditCost(1e-12, 1e12), EditCost(insert_delete=1e8, edge_relabel=1e-6), "attributes"],
)
def test_kernels_of_directed_graphs_and_attributes_find_the_nearest(cost):
    if cost == "attributes":
        cost = EditCost.from_attributes(blank=1e9, n_codes=12)
        rng = np.random.default_rng(0)
        drawn = [nx.gnp_random_graph(8, 0.4, seed=number) for number in range(12)]
        for graph in drawn:
            nx.set_node_attributes(graph, {v: 10.0 ** rng.uniform(-12, 9, 2) for v in graph}, "x")
        graphs = GraphCollection.from_networkx(drawn, node_attributes="x")
    else:
        graphs = directed_collection(random_digraphs(30), arc_labels=True)
    labels = cost.edge_relabel < 1
    kernel = optimized(
        max_depth=3, n_partitions=2, cost=cost, partitioner=Compared(), edge_labels=labels, random_state=0
    )
    before = Compared.n_rows
    kernel.fit(graphs[: len(graphs) // 2]).transform(graphs)
    assert Compared.n_rows > before + 100


def test_many_centers_fill_several_blocks():
    rng = np.random.default_rng(3)
    content = [
        (int(rng.integers(3)), {int(p): int(rng.integers(1, 6)) for p in rng.choice(12, 4, False)}) for _ in range(300)
    ]
    rows, ground = tree_rows(content, 12), random_ground(12)
    centers = rows.take(np.arange(0, 300, 7)).measures()
    expected = row_distances(rows, centers, GroundCost(ground, 1 - np.eye(3)))
    labels, distances = nearest(rows, centers, GroundCost(ground, 1 - np.eye(3)))
    np.testing.assert_array_equal(labels, expected.argmin(axis=1))
    np.testing.assert_array_equal(distances, expected.min(axis=1))


@settings(max_examples=40)
@given(ROWS, st.data(), metric_matrices(N_POINTS + 1))
def test_ties_and_duplicates_go_to_the_lowest_index(rows, data, ground):
    # Points 0 and 1 coincide, and so do the first two centers: nothing but the index tells them apart.
    ground[1], ground[:, 1] = ground[0], ground[:, 0]
    ground[0, 1] = ground[1, 0] = 0.0
    centers = data.draw(st.lists(st.sampled_from(rows), min_size=1, max_size=4))
    centers = [centers[0], *centers]
    labels, distances = nearest(tree_rows(rows, N_POINTS), make_centers(centers), GroundCost(ground, 1 - np.eye(3)))
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
    labels, distances = nearest(rows, rows.take(np.arange(0, 60, 7)).measures(), GroundCost(ground, 1 - np.eye(2)))
    expected_labels, expected = naive.nearest_centers(content, content[::7], ground, 1 - np.eye(2))
    assert labels.tolist() == expected_labels
    np.testing.assert_array_equal(distances, expected)


def test_chunks_and_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    content = [(0, {int(p): int(rng.integers(1, 5)) for p in rng.choice(9, 4, False)}) for _ in range(200)]
    rows, ground = tree_rows(content, 9), 1 - np.eye(10)
    centers = rows.take(np.arange(20)).measures()
    labels, distances = nearest(rows, centers, GroundCost(ground, np.zeros((1, 1))))
    monkeypatch.setattr("relaxwl.clustering.kmeans.CHUNK_ROWS", 16)
    for n_jobs in (1, 2):
        again, distances_again = nearest(rows, centers, GroundCost(ground, np.zeros((1, 1))), n_jobs)
        np.testing.assert_array_equal(again, labels)
        np.testing.assert_array_equal(distances_again, distances)
    pairs = np.column_stack([np.arange(len(rows)), labels])
    np.testing.assert_array_equal(
        paired_distances(rows, centers, pairs, GroundCost(ground, np.zeros((1, 1)))), distances
    )


def test_distinct_pairs_are_found_by_marks_and_by_sorting(monkeypatch):
    rng = np.random.default_rng(0)
    rows = tree_rows([(0, {int(p): int(rng.integers(1, 9)) for p in rng.choice(9, 3, False)}) for _ in range(50)], 9)
    marked = nearest_module._distinct_pairs(rows)
    wide = tree_rows([(0, {0: 10**6}), (0, {0: 2, 7: 1})], 9)
    numbers, points, counts = nearest_module._distinct_pairs(wide)
    assert (points.tolist(), counts.tolist(), numbers.tolist()) == ([0, 0, 7], [2, 10**6, 1], [1, 0, 2])
    numbers, points, counts = marked
    np.testing.assert_array_equal(points[numbers], rows.points)
    np.testing.assert_array_equal(counts[numbers], rows.counts)
    assert len(set(zip(points.tolist(), counts.tolist(), strict=True))) == len(points)


def test_samples_are_spread_evenly():
    assert evenly(10, 4).tolist() == [0, 3, 6, 9]
    assert evenly(3, 9).tolist() == [0, 1, 2]


@given(metric_matrices(6))
def test_functions_are_lipschitz_and_vanish_at_blank(ground):
    functions = lipschitz_functions(GroundCost(ground, np.zeros((1, 1))))
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
    labels, distances = nearest(
        tree_rows([], N_POINTS), make_centers([(0, {})]), GroundCost(1 - np.eye(5), np.zeros((1, 1)))
    )
    assert len(labels) == len(distances) == 0


def test_rows_and_centers_without_children():
    rows = tree_rows([(0, {}), (1, {}), (1, {0: 1})], N_POINTS)
    labels, distances = nearest(rows, make_centers([(1, {}), (0, {})]), GroundCost(1 - np.eye(5), 1 - np.eye(2)))
    assert labels.tolist() == [1, 0, 0]
    assert distances.tolist() == [0.0, 0.0, 1.0]


def test_depth_zero_has_no_points():
    rows = TreeRows(
        np.array([0, 1, 2], np.int32), np.zeros(4, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), 0
    )
    labels, distances = nearest(rows, rows.take(np.array([2])).measures(), GroundCost(np.zeros((1, 1)), 1 - np.eye(3)))
    assert labels.tolist() == [0, 0, 0]
    assert distances.tolist() == [1.0, 1.0, 0.0]


def test_centers_can_be_looked_at_and_replaced():
    centers = make_centers([(0, {1: 2.0}), (1, {}), (2, {0: 0.5, 3: 1.0})])
    assert not centers.is_integral
    assert centers.masses.tolist() == [2.0, 0.0, 1.5]
    new = centers.replaced(make_centers([(2, {2: 1.0}), (0, {1: 1.0})]), np.array([2, 0]))
    assert new.is_integral
    assert new.same_as(centers).tolist() == [False, True, False]
    assert new.row(0)[2].tolist() == [1.0]
    assert new.row(2)[1].tolist() == [2]
    assert len(make_centers([])) == 0


@pytest.mark.parametrize("deleting", [1.0, 0.5, 2.0])
def test_labels_that_all_cost_the_same(deleting):
    content = random_content(200, 6, seed=2)
    ground = 1.0 - np.eye(7)
    ground[-1, :-1] = ground[:-1, -1] = deleting
    search = Search(tree_rows(content, 6), GroundCost(ground, np.zeros((3, 3))))
    centers = content[::20]
    search.assign(make_centers([(root, {p: float(n) for p, n in kinds.items()}) for root, kinds in centers]))
    labels, distances = naive.nearest_centers(content, centers, ground, np.zeros((3, 3)), tolerance=1e-7)
    assert search.labels.tolist() == labels
    np.testing.assert_allclose(search.distances, distances, atol=1e-9)
    assert search._has_near_points == (deleting > 1.0)
