import numpy as np
import pytest

import naive
from relaxwl import EditCost
from relaxwl.clustering.partitioners import IdentityPartitioner, KMeansPartitioner
from relaxwl.datasets import load_tu
from relaxwl.distances.batched import blank_distances, row_distances
from relaxwl.distances.ground import Ground
from relaxwl.distances.pairwise import distinct_tree_distances, level_bytes
from relaxwl.kernels.chains import (
    Encoded,
    _covering,
    apply_chain,
    fit_chain,
    group_distances,
)
from relaxwl.unfolding import Rows
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding
from small_graphs import BONDS, collection, random_graphs


def encoded(graphs, edge_labels=False, cost=None, fitted=None):
    """Encode graphs; ``fitted`` graphs decide which labels are known."""
    together = collection(graphs)
    cost = EditCost() if cost is None else cost
    known = together if fitted is None else collection(fitted)
    roots, root_costs = RootEncoding.fit(known, cost).encode(together)
    edges = EdgeEncoding.fit(known, cost, edge_labels)
    return Encoded(together, roots, root_costs, *edges.encode(together, root_costs), edges.n_codes)


class Measured(IdentityPartitioner):
    """Every tree a group of its own, but the chain cannot know that distances are not looked at."""


def chain(data, max_depth, feed_groups, make=Measured):
    return list(
        fit_chain(data, max_depth, lambda _: [make()], lambda depth, _: np.random.default_rng(depth), feed_groups, None)
    )


@pytest.mark.parametrize("edge_labels", [False, True])
@pytest.mark.parametrize("feed_groups", [True, False])
def test_with_every_tree_a_group_what_is_fed_are_tree_distances(edge_labels, feed_groups):
    graphs = random_graphs(10, bonds=BONDS)
    data = encoded(graphs, edge_labels)
    for depth, (level, grouped) in enumerate(chain(data, 3, feed_groups)[:-1]):
        expected, ids = distinct_tree_distances(data.graphs, depth, edge_labels=edge_labels)
        np.testing.assert_array_equal(level.fed[:-1, :-1], expected)
        np.testing.assert_array_equal(grouped.row_of_node, ids)


@pytest.mark.parametrize("feed_groups", [True, False])
def test_distances_of_unseen_trees_are_those_of_trees_seen_together(feed_groups):
    train, test = (
        random_graphs(6, bonds=BONDS),
        random_graphs(5, 6, seed=1, labels=("C", "Xe"), bonds=("single", "triple")),
    )
    levels = [level for level, _ in chain(encoded(train, True), 2, feed_groups)]
    new = encoded(test, True, fitted=train)
    grouped = list(apply_chain(levels, new, feed_groups, None))
    flat = [tree for graph in naive.refinements(test, 2, True)[2] for tree in graph]
    edge_cost = naive.discrete_cost

    def free_blank(a, b):
        return 0.0 if a is None or b is None else edge_cost(a, b)

    last = grouped[2]
    costs = np.asarray(last.ground)
    distances = [
        [
            naive.row_distance(plain(last.rows, i), plain(last.rows, j), costs, last.ground.roots)
            for j in last.row_of_node[:6]
        ]
        for i in last.row_of_node[:6]
    ]
    expected = [
        [naive.recursive_tree_distance(nested(a), nested(b), edge_cost=free_blank) for b in flat[:6]] for a in flat[:6]
    ]
    np.testing.assert_allclose(distances, expected)


@pytest.mark.parametrize("edge_labels", [False, True])
def test_distances_that_no_partitioner_looks_at_are_left_out_until_asked_for(edge_labels):
    train = random_graphs(6, bonds=BONDS)
    test = random_graphs(5, 6, seed=1, labels=("C", "Xe"), bonds=("single", "triple"))
    data, new = encoded(train, edge_labels), encoded(test, edge_labels, fitted=train)
    levels, measured = ([level for level, _ in chain(data, 3, True, make)] for make in (IdentityPartitioner, Measured))
    assert all(level.fed is None for level in levels)
    quick = apply_chain(levels, new, True, None, measured=False)
    full, expected = apply_chain(levels, new, True, None), apply_chain(measured, new, True, None)
    for a, b, c in zip(quick, full, expected, strict=True):
        np.testing.assert_array_equal(a.labels[0], c.labels[0])
        np.testing.assert_array_equal(b.labels[0], c.labels[0])
        np.testing.assert_array_equal(b.ground, c.ground)
        assert a.rows == b.rows == c.rows


def test_groups_below_a_partitioner_that_looks_at_distances_are_measured():
    data = encoded(random_graphs(10))
    kinds = [IdentityPartitioner, IdentityPartitioner, lambda: KMeansPartitioner(3), IdentityPartitioner]
    fitted = list(fit_chain(data, 3, lambda depth: [kinds[depth]()], lambda *_: np.random.default_rng(0), True, None))
    assert [level.fed is None for level, _ in fitted] == [False, False, True, True]
    again = apply_chain([level for level, _ in fitted], data, True, None, measured=False)
    for (_, grouped), found in zip(fitted, again, strict=True):
        np.testing.assert_array_equal(found.labels[0], grouped.labels[0])


def plain(rows, index):
    root, points, counts = rows.row(index)
    return root, dict(zip(points.tolist(), counts.tolist(), strict=True))


def nested(tree):
    return (tree[0], tuple((edge, nested(child)) for edge, child in tree[1]) if len(tree) > 1 else ())


@pytest.mark.parametrize("feed_groups", [True, False])
def test_whole_costs_stay_exact_for_unseen_trees(feed_groups):
    # Distances are kept in the smallest whole-number type, and unseen trees must not push them into a coarser one.
    train, test = random_graphs(6), random_graphs(6, 9, seed=1, density=0.8)
    levels = [level for level, _ in chain(encoded(train), 2, feed_groups)]
    for grouped in apply_chain(levels, encoded(test, fitted=train), feed_groups, None):
        children = grouped.ground.children
        assert children.dtype.kind in "uf"
        assert children.dtype != np.float16
        np.testing.assert_array_equal(children, np.rint(children))
        np.testing.assert_array_equal(children, children.T)


def test_known_graphs_get_their_groups_again():
    data = encoded(random_graphs(12, bonds=BONDS), True)
    fitted = chain(data, 2, True, lambda: KMeansPartitioner(4))
    for (_, grouped), again in zip(fitted, apply_chain([level for level, _ in fitted], data, True, None), strict=True):
        np.testing.assert_array_equal(again.labels[0], grouped.labels[0])
        np.testing.assert_array_equal(again.row_of_node, grouped.row_of_node)
        np.testing.assert_allclose(again.ground, grouped.ground)


def test_group_distances_are_symmetric_pseudo_metrics():
    rng = np.random.default_rng(0)
    ground = Ground(1 - np.eye(6), 1 - np.eye(4))
    parts = [(int(rng.integers(3)), np.array([0, 2, 4], np.int32), rng.integers(1, 9, 3) / 4) for _ in range(8)]
    parts.append(parts[0])  # centres may coincide
    centers = Rows.from_parts(parts, 5)
    distances = group_distances(centers, ground, None)
    plain_centers = [(root, dict(zip(p.tolist(), m.tolist(), strict=True))) for root, p, m in parts]
    np.testing.assert_allclose(distances, naive.center_grounds(plain_centers, ground.children, ground.roots), atol=1e-9)
    assert distances[0, 8] == 0.0
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_allclose(blank_distances(centers, ground), distances[-1, :-1])


def test_unknown_points_are_numbered_without_gaps():
    fed = 1 - np.eye(6)  # ids 0 to 4, of which 3 and 4 were not met in fitting
    data = Encoded(None, None, np.zeros((2, 2)), None, None, 1)
    rows = Rows(np.zeros(1, np.int32), np.array([0, 2]), np.array([1, 3 + 4], np.int32), np.ones(2, np.int32), 3)
    covered, ground = _covering(rows, fed, 3, data)
    assert covered.points.tolist() == [1, 3]
    assert ground.n_points == 4


@pytest.mark.parametrize("edge_labels", [False, True])
def test_memory_of_the_exact_kernel_is_known_before(edge_labels):
    data = encoded(random_graphs(20, bonds=BONDS), edge_labels)
    levels = [level for level, _ in chain(data, 3, False)]
    needed = level_bytes([level.rows for level in levels[:-1]], data.root_costs, data.edge_costs)
    for level, n_bytes in zip(levels[:-1], needed, strict=True):
        built = level.fed.nbytes
        assert built <= n_bytes <= 4 * built


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), [("EGO-1", 4), ("NCI1", 10), ("PROTEINS", 10), ("IMDB-BINARY", 4)])
@pytest.mark.parametrize("center", ["median", "mean"])
def test_real_groups_are_those_of_all_distances(shared, name, step, center):
    graphs = load_tu(shared / "data" / f"{name}.zip")[0][::step]
    roots, root_costs = RootEncoding.fit(graphs, EditCost()).encode(graphs)
    data = Encoded(graphs, roots, root_costs, None, None, 1)
    for level, grouped in chain(data, 3, True, lambda: KMeansPartitioner(center=center)):
        distances = row_distances(grouped.rows, level.centers[0], grouped.ground)
        nearest = distances <= distances.min(axis=1, keepdims=True) + 1e-8
        np.testing.assert_array_equal(grouped.labels[0], nearest.argmax(axis=1))
