"""The loop of fits and of other graphs: trees, distances between them, clusters, their members and centers."""

import numpy as np
import pytest

import naive
from kernels.variants import TRAIN, VARIANTS, as_nested, kernel_of
from relaxed_kernels import optimized
from relaxwl import EditCost, GraphCollection, UnfoldingTree, WassersteinKMeans
from relaxwl.clustering.partitioners import IdentityPartitioner, KMeansPartitioner
from relaxwl.datasets import load_tu
from relaxwl.distances.pairwise import blank_distances, level_bytes, paired_distances, row_distances, tree_distances
from relaxwl.distances.transport import GroundCost
from relaxwl.kernels.chains import (
    Assignment,
    Encoder,
    _Below,
    _covering,
    apply_chain,
    center_costs,
    distances_of_centers,
    fit_chain,
)
from relaxwl.kernels.levels import Encoded, Graphs, largest_distance
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding
from small_graphs import BONDS, collection, random_graphs


def encoded(graphs, edge_labels=False, cost=None, fitted=None):
    """Encode graphs; ``fitted`` graphs decide which labels are known."""
    together = collection(graphs)
    cost = EditCost() if cost is None else cost
    known = together if fitted is None else collection(fitted)
    encoder = Encoder(
        RootEncoding.fit(known, cost), EdgeEncoding.fit(known, cost, edge_labels), edge_labels=edge_labels
    )
    return Data(encoder, together)


class Data:
    """Graphs, and what encodes them."""

    def __init__(self, encoder, graphs):
        self.encoder, self.graphs, self.encoded = encoder, graphs, encoder(graphs)


class Measured(IdentityPartitioner):
    """Every tree a group of its own, but the chain cannot know that distances are not looked at."""


def chain(data, max_depth, use_clusters, make=Measured):
    """Return the partition and the assignment of each depth of a chain with one partition."""
    levels = Graphs(data.graphs).levels(data.encoder)
    found = fit_chain(
        levels, [[make()] for _ in range(max_depth + 1)], lambda depth, _: np.random.default_rng(depth),
        use_clusters=use_clusters,
    )  # fmt: skip
    fitted = [(level.n_rows, *one) for level, (one,) in found]
    applied = apply_chain([[partition] for _, partition, _ in fitted], data.encoded, use_clusters=use_clusters)
    result = []
    for (n_rows, partition, groups), (again,) in zip(fitted, applied, strict=True):
        assert n_rows == len(again.rows)
        labels = np.empty(len(again.rows), np.int32)
        labels[again.row_of_node] = groups
        solved = partition.members_.distances
        result.append((partition, Assignment(partition, again.rows, again.row_of_node, labels, again.ground, solved)))
    return result


def applied(partitions, data, use_clusters):
    """Return the assignment of each depth, given the partitions of a chain with one partition."""
    levels = apply_chain([[one] for one in partitions], data.encoded, use_clusters=use_clusters)
    return [found for level in levels for found in level]


@pytest.mark.parametrize("edge_labels", [False, True])
@pytest.mark.parametrize("use_clusters", [True, False])
def test_with_every_tree_a_group_lower_levels_have_tree_distances(edge_labels, use_clusters):
    graphs = random_graphs(10, bonds=BONDS)
    data = encoded(graphs, edge_labels)
    for depth, (level, grouped) in enumerate(chain(data, 3, use_clusters)[:-1]):
        expected, ids = tree_distances(data.graphs, depth, edge_labels=edge_labels)
        np.testing.assert_array_equal(level.lower.distances[:-1, :-1], expected)
        np.testing.assert_array_equal(grouped.row_of_node, ids)


@pytest.mark.parametrize("use_clusters", [True, False])
def test_distances_of_unseen_trees_are_those_of_trees_seen_together(use_clusters):
    train, test = (
        random_graphs(6, bonds=BONDS),
        random_graphs(5, 6, seed=1, labels=("C", "Xe"), bonds=("single", "triple")),
    )
    levels = [level for level, _ in chain(encoded(train, True), 2, use_clusters)]
    new = encoded(test, True, fitted=train)
    grouped = applied(levels, new, use_clusters)
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
    assert all(level.lower.distances is None for level in levels[:-1])
    for quick, full in zip(applied(levels, new, True), applied(measured, new, True), strict=True):
        np.testing.assert_array_equal(quick.labels, full.labels)
        np.testing.assert_array_equal(quick.distances(), full.distances())
        assert quick.rows == full.rows
        own, other = (
            distances_of_centers([[one] for one in known], found.partition, new.encoded)
            for known, found in ((levels, quick), (measured, full))
        )
        if quick.partition.depth:  # of single trees nobody asks which are similar
            assert own is None
        else:
            np.testing.assert_array_equal(own, other)


def test_groups_below_a_partitioner_that_looks_at_distances_are_measured():
    data = encoded(random_graphs(10))
    kinds = iter(
        [IdentityPartitioner(), IdentityPartitioner(), KMeansPartitioner(WassersteinKMeans(3)), IdentityPartitioner()]
    )
    fitted = chain(data, 3, True, lambda: next(kinds))
    assert [level.lower.distances is None for level, _ in fitted[:-1]] == [False, False, True]
    assert fitted[-1][0].lower is None
    again = applied([level for level, _ in fitted], data, True)
    for (_, grouped), found in zip(fitted, again, strict=True):
        np.testing.assert_array_equal(found.labels, grouped.labels)


def plain(rows, index):
    root, points, counts = rows.row(index)
    return root, dict(zip(points.tolist(), counts.tolist(), strict=True))


def nested(tree):
    return (tree[0], tuple((edge, nested(child)) for edge, child in tree[1]) if len(tree) > 1 else ())


@pytest.mark.parametrize("use_clusters", [True, False])
def test_whole_costs_stay_exact_for_unseen_trees(use_clusters):
    # Distances are kept in the smallest whole-number type, and unseen trees must not push them into a coarser one.
    train, test = random_graphs(6), random_graphs(6, 9, seed=1, density=0.8)
    levels = [level for level, _ in chain(encoded(train), 2, use_clusters)]
    for grouped in applied(levels, encoded(test, fitted=train), use_clusters):
        children = grouped.ground.children
        assert children.dtype.kind in "uf"
        assert children.dtype != np.float16
        np.testing.assert_array_equal(children, np.rint(children))
        np.testing.assert_array_equal(children, children.T)


def test_known_graphs_get_their_groups_again():
    data = encoded(random_graphs(12, bonds=BONDS), True)
    fitted = chain(data, 2, True, lambda: KMeansPartitioner(WassersteinKMeans(4)))
    for (_, grouped), again in zip(fitted, applied([level for level, _ in fitted], data, True), strict=True):
        np.testing.assert_array_equal(again.labels, grouped.labels)
        np.testing.assert_array_equal(again.row_of_node, grouped.row_of_node)
        np.testing.assert_allclose(np.asarray(again.ground), np.asarray(grouped.ground))


def test_group_distances_are_symmetric_pseudo_metrics():
    rng = np.random.default_rng(0)
    ground = GroundCost(1 - np.eye(6), 1 - np.eye(4))
    parts = [(int(rng.integers(3)), np.array([0, 2, 4], np.int32), rng.integers(1, 9, 3) / 4) for _ in range(8)]
    parts.append(parts[0])  # centers may coincide
    centers = TreeRows.from_parts(parts, 5)
    distances = center_costs(centers, ground, None)
    plain_centers = [(root, dict(zip(p.tolist(), m.tolist(), strict=True))) for root, p, m in parts]
    np.testing.assert_allclose(distances, naive.center_grounds(plain_centers, ground.children, ground.roots), atol=1e-9)
    assert distances[0, 8] == 0.0
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_allclose(blank_distances(centers, ground), distances[-1, :-1])


def test_unknown_points_are_numbered_without_gaps():
    lower = 1 - np.eye(6)  # ids 0 to 4, of which 3 and 4 were not met in fitting
    data = Encoded(None, None, None, 1, (None, None), np.zeros((2, 2)))
    rows = TreeRows(np.zeros(1, np.int32), np.array([0, 2]), np.array([1, 3 + 4], np.int32), np.ones(2, np.int32), 3)
    covered, ground = _covering(rows, _Below(None, 3, lower), data)
    assert covered.points.tolist() == [1, 3]
    assert ground.n_points == 4


@pytest.mark.parametrize("edge_labels", [False, True])
def test_memory_of_the_exact_kernel_is_known_before(edge_labels):
    data = encoded(random_graphs(20, bonds=BONDS), edge_labels)
    levels = [level for level, _ in chain(data, 3, False)]
    needed = level_bytes([level.lower.known for level in levels[:-1]], data.encoded.root_costs, data.encoded.edge_costs)
    for level, n_bytes in zip(levels[:-1], needed, strict=True):
        built = level.lower.distances.nbytes
        assert built <= n_bytes <= 4 * built


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), [("EGO-1", 4), ("NCI1", 10), ("PROTEINS", 10), ("IMDB-BINARY", 4)])
@pytest.mark.parametrize("center", ["median", "mean"])
def test_real_groups_are_those_of_all_distances(shared, name, step, center):
    graphs = load_tu(shared / "data" / f"{name}.zip")[0][::step]
    data = Data(Encoder(RootEncoding.fit(graphs, EditCost()), EdgeEncoding(EditCost(), None)), graphs)
    for level, grouped in chain(data, 3, True, lambda: KMeansPartitioner(WassersteinKMeans(center=center))):
        distances = row_distances(grouped.rows, level.centers.measures(), grouped.ground)
        nearest = distances <= distances.min(axis=1, keepdims=True) + 1e-8
        np.testing.assert_array_equal(grouped.labels, nearest.argmax(axis=1))


# --------------------------------------------------------------------------------------------- what feeds and is told


class ByRoot:
    """Groups trees by their roots alone."""

    def fit(self, rows, ground, rng):
        self.roots, labels = np.unique(rows.roots, return_inverse=True)
        return labels, rows.take(np.unique(labels, return_index=True)[1])

    def predict(self, rows, ground):
        return np.searchsorted(self.roots, rows.roots)


def test_distances_that_partitioners_know_are_not_solved_again(monkeypatch):
    data = encoded(random_graphs(12))
    expected = [
        found.distances() for level, found in chain(data, 2, True, lambda: KMeansPartitioner(WassersteinKMeans(4)))
    ]

    def between_centers(rows, centers, *arguments):
        assert rows is centers, "distances to centers are known"
        return paired_distances(rows, centers, *arguments)

    monkeypatch.setattr("relaxwl.kernels.chains.paired_distances", between_centers)
    fitted = chain(data, 2, True, lambda: KMeansPartitioner(WassersteinKMeans(4)))
    again = applied([level for level, _ in fitted], data, True)
    for known, found, (level, assignment) in zip(expected, again, fitted, strict=True):
        np.testing.assert_array_equal(assignment.distances(), known)
        np.testing.assert_array_equal(found.distances(), known)
        assert level.radius.max() == known.max()


@pytest.mark.parametrize("use_clusters", [True, False])
def test_distances_that_nobody_told_are_computed(use_clusters):
    data = encoded(random_graphs(8))
    for level, found in chain(data, 2, use_clusters, ByRoot):
        costs = np.asarray(found.ground)
        expected = [
            naive.row_distance(plain(found.rows, row), plain(level.centers, label), costs, found.ground.roots)
            for row, label in enumerate(found.labels.tolist())
        ]
        np.testing.assert_allclose(found.distances(), expected)
        assert level.radius.max() == pytest.approx(max(expected))


@pytest.mark.parametrize(("cost", "depth"), [(None, 150), (EditCost(1e308, 1e308), 1)])
@pytest.mark.parametrize("use_clusters", [True, False])
def test_distances_beyond_floating_point_are_refused(cost, depth, use_clusters):
    complete = [(300, [(a, b) for a in range(300) for b in range(a)], None, None)]
    with pytest.raises(ValueError, match="makes distances larger than floating point holds; use a smaller depth"):
        chain(encoded(complete, cost=cost), depth, use_clusters)


def test_no_distance_exceeds_its_bound():
    parts = [(0, [0], [1.0]), (1, [1], [2.0]), (1, [], [])]
    rows = TreeRows.from_parts(
        [(root, np.array(points, np.int32), np.array(masses)) for root, points, masses in parts], 2
    )
    costs = np.array([[0.0, 7.0, 5.0], [7.0, 0.0, 5.0], [5.0, 5.0, 0.0]])
    ground = GroundCost(costs, np.array([[0.0, 6.0, 3.0], [6.0, 0.0, 3.0], [3.0, 3.0, 0.0]]))
    deletions = blank_distances(rows, ground)
    assert deletions.tolist() == [8.0, 13.0, 3.0]
    assert largest_distance(rows, ground) == 2 * (2 * 5.0 + 6.0) + 7.0 + 6.0
    assert 2 * deletions.max() <= largest_distance(rows, ground)
    assert row_distances(rows, rows, ground).max() <= largest_distance(rows, ground)


# ------------------------------------------------------------------------------------------- partitions and their trees


@pytest.mark.parametrize("variant", ["R-WL*", "R-WL", "edge labels", "exact edge labels", "real centers", "radius"])
def test_partitions_show_what_was_found(variant):
    train = collection(TRAIN)
    kernel = kernel_of(VARIANTS[variant]).fit(train)
    groups = kernel.node_clusters(train)
    assert len(kernel.partitions_) == 2
    for p, levels in enumerate(kernel.partitions_):
        assert [level.depth for level in levels] == [0, 1, 2]
        for depth, level in enumerate(levels):
            assert level.index == p
            assert level.sizes.sum() == train.n_nodes
            np.testing.assert_array_equal(level.sizes, np.bincount(groups[p][depth], minlength=len(level)))
            assert (level.radius >= 0).all()
            assert repr(level) == f"Partition(depth {depth}: {level.n_trees.sum()} trees in {len(level)} clusters)"
            for center in range(len(level)):
                tree = level.center_tree(center)
                assert tree.depth <= depth
                assert str(UnfoldingTree.parse(str(tree))) == str(tree)
                members = level.members(center)
                assert len(members) == min(5, level.n_trees[center])
                for graph, node in members:
                    assert groups[p][depth][train.offsets[graph] + node] == center
    for found in kernel.levels(train):
        level = kernel.partitions_[found.partition][found.depth]
        rows, distances = found.row_of_node, found.row_distances()
        for center in range(len(level)):
            nodes = [train.offsets[graph] + node for graph, node in level.members(center)]
            assert all(rows[node] not in rows[:node] for node in nodes)  # the first node with its tree
            nearest = np.sort(distances[found.labels == center])[: len(nodes)]
            np.testing.assert_allclose(distances[rows[nodes]], nearest, atol=1e-9)
    with pytest.raises(IndexError, match="center 99 is out of range"):
        kernel.partitions_[0][0].center_tree(99)


def test_radius_is_the_largest_distance_to_the_center():
    graphs = random_graphs(10, 6, seed=5)
    kernel = kernel_of({"approximate": False}).fit(collection(graphs))
    flat = [tree for graph in naive.refinements(graphs, 1)[1] for tree in graph]
    level, groups = kernel.partitions_[0][1], kernel.node_clusters(collection(graphs))[0][1]
    for center in range(len(level)):
        tree = as_nested(level.center_tree(center))
        distances = [
            naive.recursive_tree_distance(nested(own), tree)
            for own, group in zip(flat, groups, strict=True)
            if group == center
        ]
        assert level.radius[center] == max(distances)


def test_centers_that_are_not_whole_are_drawn_as_their_nearest_members():
    graphs = GraphCollection.from_edges([(n + 1, [(0, i) for i in range(1, n + 1)]) for n in (6, 6, 6, 7, 7)])
    kernel = optimized(2, 1, n_clusters=1, center="mean", random_state=0).fit(graphs)
    for level in kernel.partitions_[0]:
        for center in range(len(level)):
            assert level.center_tree(center).size >= 1
