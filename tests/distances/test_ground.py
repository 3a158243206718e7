import pickle
from dataclasses import replace

import numpy as np
import pytest

import naive
from clustering_rows import random_content, random_ground, tree_rows
from relaxwl._memory import MemoryRefusal
from relaxwl.clustering import WassersteinKMeans
from relaxwl.costs.codebook import UniformCosts
from relaxwl.distances.pairwise import blank_distances, level_distances, paired_distances, row_distances
from relaxwl.distances.transport import GroundCost, leaf_costs, point_parts

ROOTS = 1 - np.eye(4)
CHILDREN, EDGES = random_ground(5), random_ground(3, seed=1) / 4


def written_out(children, edges):
    """Write out the costs between all points, pair by pair."""
    pairs = [(edge, child) for edge in range(len(edges) - 1) for child in range(len(children) - 1)]
    pairs.append((len(edges) - 1, len(children) - 1))
    return np.array([[edges[e, f] + children[c, d] for f, d in pairs] for e, c in pairs])


def test_points_are_edges_with_children():
    ground = GroundCost(CHILDREN, ROOTS, EDGES)
    assert ground.n_points == 15
    np.testing.assert_array_equal(np.asarray(ground), written_out(CHILDREN, EDGES))
    np.testing.assert_array_equal(ground.to_blank, written_out(CHILDREN, EDGES)[-1])
    np.testing.assert_array_equal(
        ground.between([3, 15], [0, 7, 7]), written_out(CHILDREN, EDGES)[[3, 15]][:, [0, 7, 7]]
    )
    assert ground.largest >= written_out(CHILDREN, EDGES).max()
    assert not ground.is_whole


def test_without_edges_a_point_is_a_child():
    ground = GroundCost(CHILDREN, ROOTS)
    assert ground.costs is CHILDREN
    assert ground.n_points == 5
    assert ground.largest == CHILDREN.max()
    assert ground.is_whole
    np.testing.assert_array_equal(np.asarray(ground), CHILDREN)
    again = pickle.loads(pickle.dumps(ground))
    np.testing.assert_array_equal(again.roots, ROOTS)


def test_points_that_came_later_follow_the_known_ones():
    new = np.array([[2, 0], [1, 4]])  # a known child behind a new edge label, a new child behind a known one
    ground = GroundCost(CHILDREN, ROOTS, EDGES, point_parts(EDGES, CHILDREN, 2, 4, new))
    everything, known = written_out(CHILDREN, EDGES), [0, 1, 2, 3, 5, 6, 7, 8]
    kept = [*known, 2 * 5 + 1, 4, 15]
    np.testing.assert_array_equal(np.asarray(ground), everything[np.ix_(kept, kept)])


@pytest.mark.parametrize("scale", [1.0, 4.0])  # real and whole costs
def test_distances_over_a_factored_ground_are_those_over_all_pairs(scale):
    content = random_content(60, 15)
    rows = tree_rows(content, 15)
    factored, plain = (
        GroundCost(CHILDREN, ROOTS, scale * EDGES),
        GroundCost(written_out(CHILDREN, scale * EDGES), ROOTS),
    )
    np.testing.assert_array_equal(level_distances(rows, factored), level_distances(rows, plain))
    np.testing.assert_array_equal(row_distances(rows, rows, factored), row_distances(rows, rows, plain))
    centers = rows.take(np.arange(0, 60, 7)).measures()
    np.testing.assert_array_equal(row_distances(rows, centers, factored), row_distances(rows, centers, plain))
    pairs = np.random.default_rng(0).integers(0, 9, (40, 2))
    found = paired_distances(rows, centers, pairs, factored)
    np.testing.assert_array_equal(found, paired_distances(rows, centers, pairs, plain))
    np.testing.assert_array_equal(blank_distances(rows, factored), blank_distances(rows, plain))
    expected = naive.row_distance(content[3], content[40], plain.children, ROOTS)
    assert row_distances(rows, rows, factored)[3, 40] == pytest.approx(expected)


@pytest.mark.parametrize("center", ["median", "lp", "entropic", "medoid", "mean"])
def test_groups_over_a_factored_ground_are_those_over_all_pairs(center):
    rows = tree_rows(random_content(60, 15), 15)
    factored, plain = GroundCost(CHILDREN, ROOTS, EDGES), GroundCost(written_out(CHILDREN, EDGES), ROOTS)
    found, expected = (
        WassersteinKMeans(6, center, random_state=0).fit(rows, ground=ground) for ground in (factored, plain)
    )
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.distances_, expected.distances_)
    assert found.centers_ == expected.centers_
    np.testing.assert_array_equal(found.predict(rows), expected.labels_)


def test_all_pairs_are_not_written_out_beyond_memory(monkeypatch):
    monkeypatch.setattr("relaxwl._memory.physical_memory", lambda: 2000.0)
    with pytest.raises(MemoryRefusal, match="the costs between 15 points"):
        np.asarray(GroundCost(CHILDREN, ROOTS, EDGES))


@pytest.mark.parametrize(("relabel", "blank"), [(1.0, 1.0), (1.5, 1.0), (0.25, 3.0)])
@pytest.mark.parametrize("with_edges", [False, True])
def test_equal_costs_as_a_rule_are_those_of_the_matrix(relabel, blank, with_edges):
    rows, rule, edges = tree_rows(random_content(40, 8, seed=4), 8), UniformCosts(8, relabel, blank), None
    if with_edges:
        rows, rule = replace(rows, n_children=4, n_edge_codes=2), UniformCosts(4, relabel, blank)
        edges = 0.5 * (1.0 - np.eye(3))
    roots = UniformCosts(3, relabel, blank)
    by_rule, by_matrix = GroundCost(rule, roots, edges), GroundCost(np.asarray(rule), np.asarray(roots), edges)
    assert (by_rule.largest, by_rule.is_whole, by_rule.n_points) == (
        by_matrix.largest, by_matrix.is_whole, by_matrix.n_points,
    )  # fmt: skip
    np.testing.assert_array_equal(np.asarray(by_rule), np.asarray(by_matrix))
    np.testing.assert_array_equal(blank_distances(rows, by_rule), blank_distances(rows, by_matrix))
    np.testing.assert_array_equal(level_distances(rows, by_rule), level_distances(rows, by_matrix))
    np.testing.assert_array_equal(
        row_distances(rows, rows.measures(), by_rule), row_distances(rows, rows.measures(), by_matrix)
    )
    for center in ("median", "medoid"):
        found, expected = (
            WassersteinKMeans(5, center=center, random_state=0).fit(rows, ground=ground, check=False)
            for ground in (by_rule, by_matrix)
        )
        np.testing.assert_array_equal(found.labels_, expected.labels_)
        np.testing.assert_array_equal(found.distances_, expected.distances_)


def test_leaves_that_cost_all_the_same_stay_a_rule():
    leaves = tree_rows([(2, {}), (0, {})], 0)
    assert leaf_costs(leaves, GroundCost(np.zeros((1, 1)), UniformCosts(9, 1.0, 2.0))) == UniformCosts(2, 1.0, 2.0)
    assert leaf_costs(leaves, GroundCost(np.zeros((1, 1)), 1 - np.eye(4))) is None
    twice = tree_rows([(2, {}), (2, {})], 0)
    assert leaf_costs(twice, GroundCost(np.zeros((1, 1)), UniformCosts(9, 1.0, 2.0))) is None
