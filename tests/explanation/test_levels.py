"""Where nodes fall, for relaxed and plain kernels alike."""

import numpy as np
import pytest

from explanation.planted import planted
from relaxed_kernels import optimized
from relaxwl import ContinuousWeisfeilerLehman, GraphCollection, WeisfeilerLehman, tree_edit_distance, unfolding_tree
from relaxwl.datasets import make_perturbed
from relaxwl.explanation import explain
from relaxwl.explanation import levels as members_module
from relaxwl.explanation.levels import Unfolder, count_clusters, cut, levels
from relaxwl.unfolding.tree import UnfoldingTree


def test_frequencies_are_those_of_the_groups(explanation):
    groups = explanation.kernel.node_clusters(explanation.graphs)
    owners = explanation.y[explanation.graphs.graph_of_node]
    for cluster in explanation.clusters[:20]:
        inside = groups[cluster.partition][cluster.depth] == cluster.number
        assert cluster.size == inside.sum()
        for k in (0, 1):
            assert cluster.frequency[k] == pytest.approx(inside[owners == k].mean())
            assert cluster.mean_count[k] == pytest.approx(inside[owners == k].sum() / (explanation.y == k).sum())
        with_it = np.unique(explanation.graphs.graph_of_node[inside])
        assert cluster.n_graphs == len(with_it)
        assert cluster.presence[1] == pytest.approx((explanation.y[with_it] == 1).sum() / (explanation.y == 1).sum())


@pytest.mark.parametrize(
    "kernel",
    [
        WeisfeilerLehman(2),
        optimized(2, 2, random_state=0),
        ContinuousWeisfeilerLehman("auto", 2, 2, similarity="dot", random_state=0),
    ],
    ids=repr,
)
def test_groups_count_up_to_the_features_also_of_unseen_graphs(kernel):
    graphs, _ = planted(20)
    unseen, _ = planted(10, seed=1)
    kernel.fit(graphs)
    for given in (graphs, unseen):
        counted = count_clusters(levels(kernel, given), len(kernel.get_feature_names_out()))
        np.testing.assert_array_equal(counted.toarray(), kernel.transform(given).toarray())


def test_trees_and_their_sizes_are_those_of_the_nodes():
    graphs, _ = planted(4)
    trees = Unfolder(WeisfeilerLehman(2).fit(graphs), graphs)
    assert trees.sizes(0).tolist() == [1] * graphs.n_nodes
    for position in (0, graphs.offsets[1], graphs.n_nodes - 1):
        graph, node = trees.locate(int(position))
        assert int(position) == graphs.offsets[graph] + node
        tree = trees.tree(int(position), 2)
        assert tree == unfolding_tree(graphs[graph], node, 2)
        assert trees.sizes(2)[position] == tree.size


def test_clusters_of_vectors_are_told_in_the_units_of_the_data():
    """Rings with a chord have triangles, and that is what separates them."""
    rings = [(9, [(v, (v + 1) % 9) for v in range(9)] + ([(0, 2)] if chord else [(0, 4)])) for chord in (0, 1)] * 10
    kernel = ContinuousWeisfeilerLehman(["degree", "triangles"], 1, 2, n_clusters=4, random_state=0)
    explanation = explain(kernel, GraphCollection.from_edges(rings), ["none", "chord"] * 10, n_permutations=99)
    best = explanation.clusters[0]
    assert best.better_than_chance
    with_triangles = next(one for one in explanation.clusters if one.center.label == "degree 3, 1 triangles")
    assert explanation.classes[with_triangles.typical_class] == "chord"
    told = {cluster.center.label for cluster in explanation.clusters if cluster.depth == 0}
    assert {"degree 2, 0 triangles", "degree 3, 1 triangles"} <= told
    assert "triangles" in explanation.summary()
    found = explanation.members(best)
    assert found.nearest[0].distance == 0  # a center is a node
    grouping = explanation.level(best.partition, best.depth)
    assert [member.distance for member in found.nearest] == sorted(member.distance for member in found.nearest)
    assert grouping.center_distances().shape == (grouping.n_clusters, grouping.n_clusters)
    graph = explanation.explain_graph(1)
    np.testing.assert_allclose(graph.evidence.sum(axis=0) + explanation.model.intercept, graph.scores)
    assert explanation.explain_pair(0, 1).shared


# -------- members are ordered by distance, and their scripts lead to the center


@pytest.fixture(scope="module", params=[True, False], ids=["R-WL*", "R-WL"])
def explanation(request):
    graphs, y = make_perturbed(12, n_nodes=14, n_labels=2, random_state=0)
    kernel = optimized(max_depth=2, n_partitions=2, approximate=request.param, random_state=0)
    return explain(kernel, graphs, y, n_permutations=9)


def test_members_are_in_the_cluster_and_in_order(explanation):
    groups = explanation.kernel.node_clusters(explanation.graphs)
    for cluster in explanation.clusters:
        members = explanation.members(cluster)
        everyone = [*members.nearest, *members.farthest[::-1]]
        distances = [member.distance for member in everyone]
        assert distances == sorted(distances)
        assert len({(member.graph, member.node) for member in everyone}) == len(everyone)
        for member in everyone:
            node = explanation.graphs.offsets[member.graph] + member.node
            assert groups[cluster.partition][cluster.depth][node] == cluster.number


def test_scripts_lead_to_the_center(explanation):
    for cluster in explanation.clusters[:15]:
        for member in explanation.members(cluster).nearest:
            assert member.mapping.target == cluster.center
            assert member.mapping.source == unfolding_tree(explanation.graphs[member.graph], member.node, cluster.depth)
            assert member.mapping.script().apply(member.mapping.source) == cluster.center


def test_exact_distances_are_edit_distances():
    graphs, y = make_perturbed(12, n_nodes=14, n_labels=2, random_state=0)
    kernel = optimized(max_depth=2, n_partitions=1, approximate=False, random_state=0)
    found = explain(kernel, graphs, y, n_permutations=9)
    for cluster in found.clusters:
        for member in found.members(cluster).nearest:
            assert member.distance == tree_edit_distance(member.mapping.source, cluster.center) == member.mapping.cost


def test_every_node_of_a_small_cluster_is_counted(explanation):
    for cluster in explanation.clusters:
        members = explanation.members(cluster, n_nearest=10_000)
        assert sum(member.n_alike for member in members.nearest) == cluster.size
        assert members.farthest == ()


def test_large_trees_are_cut(monkeypatch, explanation):
    monkeypatch.setattr(members_module, "MAX_COMPARED_SIZE", 8)
    cluster = max(explanation.clusters, key=lambda cluster: cluster.center.size)
    member = explanation.members(cluster).nearest[0]
    assert member.compared_depth == 1
    assert member.mapping.target == cut(cluster.center, 1)


@pytest.mark.parametrize(
    ("text", "depth", "expected"),
    [("1(2(3(4),3),2)", 0, "1"), ("1(2(3(4),3),2)", 1, "1(2,2)"), ("1(2(3(4),3),2)", 2, "1(2(3,3),2)"),
     ("1(a:2(b:3),c:2)", 1, "1(a:2,c:2)"), ("1(2)", 5, "1(2)")],
)  # fmt: skip
def test_cut(text, depth, expected):
    assert cut(UnfoldingTree.parse(text), depth) == UnfoldingTree.parse(expected)


def test_sizes_of_trees_are_counted_without_building_them(explanation):
    trees = explanation.levels[0].trees
    for depth in range(4):
        for node in (0, 20, 60):
            assert trees.sizes(depth)[node] == trees.tree(node, depth).size
