"""What the explorer page holds: trees, groups, graphs."""

import html

import numpy as np
import pytest

from relaxwl import UnfoldingTree, WeisfeilerLehman, tree_edit_mapping
from relaxwl.datasets import make_perturbed
from relaxwl.explanation import explain
from relaxwl.reports.explorer import render_explorer
from relaxwl.reports.explorer_data import DELETED, INSERTED, KEPT, RELABELED, TreeTable
from reports.explorer_pages import data_of, egonets, nasty, page_of


def test_clusters_are_those_of_the_explanation():
    found = egonets()
    data = data_of(page_of("egonets"))
    clusters = data["clusters"]
    assert len(clusters["depth"]) == len(found.clusters)
    for index, cluster in enumerate(found.clusters):
        assert clusters["depth"][index] == cluster.depth
        assert clusters["size"][index] == cluster.size
        assert clusters["better"][index] == cluster.better_than_chance
        assert clusters["typical"][index] == np.argmax(clusters["mean"][index])
        np.testing.assert_allclose(clusters["weight"][index], cluster.weights, rtol=1e-3)
        members = found.members(cluster)
        assert len(clusters["members"][index]) == len(members.nearest) + len(members.farthest)
    assert {(item["partition"], item["depth"]) for item in data["maps"]} == {(p, d) for p in (0, 1) for d in (1, 2, 3)}


def test_graphs_are_called_by_their_names():
    data, names = data_of(page_of("nasty")), nasty().graphs.names
    shown = {graph["id"] for graph in data["graphs"]}
    shown |= {member[1] for members in data["clusters"]["members"] for member in members}
    assert data["names"] == {str(graph): names[graph] for graph in sorted(shown)}
    assert f"Graph {names[3]};" in html.unescape(nasty().explain_graph(3).to_svg())
    assert data_of(page_of("egonets"))["names"] == {}


def test_graphs_carry_the_clusters_of_their_nodes():
    found = egonets()
    data = data_of(render_explorer(found, n_graphs=8))
    assert len(data["graphs"]) == 8
    assert sorted(graph["class"] for graph in data["graphs"]) == [0, 0, 1, 1, 2, 2, 3, 3]
    np.testing.assert_allclose(data["meta"]["intercept"], found.model.intercept, rtol=1e-3)
    for graph in data["graphs"]:
        assert graph["n_clusters"] == len(graph["clusters"])
        inside = {item.cluster.rank - 1: item.nodes.tolist() for item in found.explain_graph(graph["id"]).clusters}
        for index, count, *_ in graph["clusters"]:
            assert len(inside[index]) == count
            level = data["levels"].index([data["clusters"]["partition"][index], data["clusters"]["depth"][index]])
            assert [v for v, group in enumerate(graph["node_clusters"][level]) if group == index] == inside[index]


@pytest.mark.parametrize("normalize", [True, "depth"])
def test_evidence_on_the_page_adds_up_to_scores_of_normalized_kernels(normalize):
    graphs, y = make_perturbed(6, n_nodes=12, n_edges=14, random_state=0)
    kernel = WeisfeilerLehman(max_depth=2, normalize=normalize)
    data = data_of(render_explorer(explain(kernel, graphs, y, n_permutations=0), n_graphs=2))
    for graph in data["graphs"]:
        added = np.array([adds for _, _, *adds in graph["clusters"]]).sum(axis=0)
        np.testing.assert_allclose(added + data["meta"]["intercept"], graph["scores"], atol=0.02)
        np.testing.assert_allclose(np.sum(graph["evidence"], axis=1), added, atol=0.02)


def test_large_graphs_and_many_clusters_are_cut():
    graphs, y = make_perturbed(6, n_nodes=400, n_edges=500, random_state=0)
    found = explain(WeisfeilerLehman(max_depth=2), graphs, y, n_permutations=9)
    data = data_of(render_explorer(found, max_clusters=20, n_graphs=2))
    assert len(data["clusters"]["depth"]) == 20
    assert data["meta"]["left_out"] == len(found.clusters) - 20
    assert data["maps"] == []
    assert all(len(graph["nodes"]) == 300 == len(graph["xy"]) // 2 for graph in data["graphs"])


def expand(table: TreeTable, row: int, side: int) -> UnfoldingTree:
    """Build one of the two trees of an overlay: side 0 is before the edits, side 1 after them."""
    rows, labels, edges_of = list(table.rows), list(table.labels), list(table.edges)
    entry = rows[row]
    first = 3 if entry[0] == RELABELED else 2
    label = labels[entry[1 if side == 0 or entry[0] != RELABELED else 2]]
    stride = 3 if table.edge_labels else 2
    children, edges = [], []
    for at in range(first, len(entry), stride):
        if rows[entry[at]][0] == (INSERTED, DELETED)[side]:
            continue
        children += [expand(table, entry[at], side)] * entry[at + 1]
        edges += [edges_of[entry[at + 2]][side]] * entry[at + 1] if table.edge_labels else []
    return UnfoldingTree(label, children, edges if edges else None)


@pytest.mark.parametrize(
    ("one", "other"),
    [("a(b(a,c),c(a))", "a(a(a,b,c))"), ("a", "b"), ("a(b,b,b)", "a(b)"), ("a(b(c))", "a(b(c))"),
     ("a(x:b,y:c(x:d))", "a(x:b,x:c,y:c(y:d))")],
)  # fmt: skip
def test_overlays_hold_both_trees(one, other):
    source, target = UnfoldingTree.parse(one), UnfoldingTree.parse(other)
    table = TreeTable(edge_labels=bool(source.has_edge_labels))
    row = table.mapping(tree_edit_mapping(source, target))
    assert expand(table, row, 0) == source
    assert expand(table, row, 1) == target
    states = {entry[0] for entry in table.rows}
    assert states == {KEPT} if one == other else states != {KEPT}
