"""Members are ordered by distance, and their scripts lead to the center."""

import pytest

from relaxwl import RelaxedWeisfeilerLehman, tree_edit_distance, unfolding_tree
from relaxwl.datasets import make_perturbed
from relaxwl.explanation import explain
from relaxwl.explanation import levels as members_module
from relaxwl.explanation.levels import cut
from relaxwl.unfolding.tree import UnfoldingTree


@pytest.fixture(scope="module", params=[True, False], ids=["R-WL*", "R-WL"])
def explanation(request):
    graphs, y = make_perturbed(12, n_nodes=14, n_labels=2, random_state=0)
    kernel = RelaxedWeisfeilerLehman(max_depth=2, n_partitions=2, approximate=request.param, random_state=0)
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
            assert member.note == ""
            assert member.mapping.target == cluster.center
            assert member.mapping.source == unfolding_tree(explanation.graphs[member.graph], member.node, cluster.depth)
            assert member.script.apply(member.mapping.source) == cluster.center


def test_exact_distances_are_edit_distances():
    graphs, y = make_perturbed(12, n_nodes=14, n_labels=2, random_state=0)
    kernel = RelaxedWeisfeilerLehman(max_depth=2, n_partitions=1, approximate=False, random_state=0)
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
    assert "depth 1 of 2" in member.note
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
