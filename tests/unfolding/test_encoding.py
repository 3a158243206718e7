import numpy as np
import pytest

from relaxwl import EditCost, GraphCollection
from relaxwl.graphs.building import CollectionBuilder
from relaxwl.unfolding.encoding import COPIES, EdgeEncoding, RootEncoding, check_edge_labels
from small_graphs import collection, random_graphs

COSTS = 1 - np.eye(2)  # of one label and ⊥


def attributed(vectors, labels=None):
    builder = CollectionBuilder()
    for place, rows in enumerate(vectors):
        names = None if labels is None else labels[place]
        edges = [(i, i + 1) for i in range(len(rows) - 1)]
        builder.add(len(rows), edges, node_labels=names, node_attributes=np.array(rows, float).reshape(len(rows), -1))
    return GraphCollection(**builder.build())


def one(labels, names=None):
    return collection([(len(labels), [(0, 1)] if len(labels) > 1 else [], labels, names)])


def test_labels_are_matched_by_value():
    fitted = RootEncoding.fit(one(["C", "O"]), EditCost())
    assert fitted.symbols == ("C", "O")
    codes, costs = fitted.encode(one(["O", "N", "C"]))
    assert codes.tolist() == [1, 2, 0]  # N is new, so behind the known ones
    np.testing.assert_array_equal(costs, 1 - np.eye(4))
    assert fitted.tree_label(1) == "O"


def test_labels_that_do_not_occur_have_no_symbol():
    graphs = collection([(1, [], ["C"], None), (1, [], ["N"], None), (1, [], ["O"], None)])
    assert RootEncoding.fit(graphs[[0, 2]], EditCost()).symbols == ("C", "O")


def test_room_for_the_costs_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr("relaxwl.unfolding.encoding.check_memory", lambda *words: asked.append(words))
    RootEncoding.fit(one(["C", "O"]), EditCost()).encode(one(["O", "N", "C"]))
    assert asked[-1][0] == COPIES * 8 * 4**2  # three labels and ⊥, a number each
    assert "3 different labels" in asked[-1][1]


def test_unseen_labels_can_be_refused():
    fitted = RootEncoding.fit(one(["C", "O"]), EditCost())
    with pytest.raises(ValueError, match=r"unseen='error'.*do not occur in the fitted graphs: \('N',\)"):
        fitted.encode(one(["N"]), unseen="error")
    fitted.encode(one(["O"]), unseen="error")


def test_a_matrix_of_costs_must_know_every_label():
    cost = EditCost.from_matrix(["C", "O"], 1 - np.eye(3))
    fitted = RootEncoding.fit(one(["C", "O"]), cost)
    with pytest.raises(ValueError, match="'N'"):
        fitted.encode(one(["N"]))
    wider = EditCost.from_matrix(["C", "O", "N"], 1 - np.eye(4))
    assert RootEncoding.fit(one(["C", "O"]), wider).encode(one(["N"]))[1].shape == (4, 4)


def test_labeled_and_unlabeled_do_not_mix():
    labeled, plain = one(["C", "O"]), GraphCollection.from_edges([(2, [(0, 1)])])
    with pytest.raises(ValueError, match="fitted on labeled graphs, and these graphs are unlabeled"):
        RootEncoding.fit(labeled, EditCost()).encode(plain)
    with pytest.raises(ValueError, match="fitted on unlabeled graphs, and these graphs are labeled"):
        RootEncoding.fit(plain, EditCost()).encode(labeled)


@pytest.mark.parametrize("unseen", ["relabel", "error"])
def test_a_graph_without_nodes_has_no_label_that_could_be_unseen(unseen):
    cost = EditCost.from_matrix(["C", "O"], 1 - np.eye(3))
    codes, costs = RootEncoding.fit(one(["C", "O"]), cost).encode(GraphCollection.from_edges([(0, [])]), unseen)
    assert len(codes) == 0
    assert costs.shape == (3, 3)


def test_attributes_alone():
    cost = EditCost.from_attributes(blank=1.0, n_codes=2)
    fitted = RootEncoding.fit(attributed([[0.0, 0.1], [5.0, 5.1]]), cost)
    assert fitted.symbols == (0, 1)
    codes, costs = fitted.encode(attributed([[5.2, -0.1, 5.0]]))
    assert codes[0] == codes[2] != codes[1]
    assert costs.shape == (3, 3)
    np.testing.assert_allclose(costs[0, 1], min(5.0 / np.std([0.0, 0.1, 5.0, 5.1]), 2.0))  # in deviations
    assert fitted.cost.codebook([[0.0]]).scale == fitted.codebook.scale  # kept in the costs of the model
    plain = RootEncoding.fit(attributed([[0.0, 0.1], [5.0, 5.1]]), EditCost.from_attributes(n_codes=2, scale=None))
    np.testing.assert_allclose(plain.encode(attributed([[5.2]]))[1][0, 1], 2.0)  # capped at twice the blank
    assert fitted.tree_label(int(codes[1])) == (0.05,)


def test_attributes_with_labels_are_pairs():
    cost = EditCost.from_attributes(blank=1.0, n_codes=2)
    fitted = RootEncoding.fit(attributed([[0.0, 0.0], [5.0]], [["C", "O"], ["C"]]), cost)
    assert fitted.symbols == (("C", 0), ("C", 1), ("O", 0))
    assert fitted.tree_label(2) == ("O", (0.0,))
    codes, costs = fitted.encode(attributed([[5.0, 0.0, 0.0]], [["O", "C", "N"]]))
    # O at 5 is a new pair; N is a new label: both behind the known ones.
    assert sorted(codes.tolist()) == [0, 3, 4]
    assert costs.shape == (6, 6)
    with pytest.raises(ValueError, match="do not occur in the fitted graphs"):
        fitted.encode(attributed([[5.0]], [["O"]]), unseen="error")


def test_attributes_that_are_not_there():
    with pytest.raises(ValueError, match="cost measures node attributes, and these graphs have none"):
        RootEncoding.fit(one(["C"]), EditCost.from_attributes(blank=1.0))


def test_edge_labels_count_only_if_asked_for():
    graphs = one(["C", "C"], ["single"])
    ignored = EdgeEncoding.fit(graphs, EditCost(), edge_labels=False)
    assert ignored.encode(graphs, COSTS) == (None, None)
    assert ignored.n_codes == 1
    with pytest.raises(ValueError, match="edge_labels=True, but the graphs have no edge labels"):
        check_edge_labels(one(["C", "C"]), True)


def test_edge_labels_are_matched_by_value():
    fitted = EdgeEncoding.fit(one(["C", "C"], ["single"]), EditCost(), edge_labels=True)
    other = collection([(3, [(0, 1), (1, 2)], ["C"] * 3, ["aromatic", "single"])])
    codes, costs = fitted.encode(other, COSTS)
    assert sorted(codes.tolist()) == [0, 0, 1, 1]
    assert costs.shape == (3, 3)
    assert costs[0, 1] == 1.0
    assert costs[0, 2] == 0.0  # deleting an edge with its child is free by default
    with pytest.raises(ValueError, match="edge labels do not occur in the fitted graphs"):
        fitted.encode(other, COSTS, unseen="error")


def test_no_edges_to_take_labels_from():
    lonely = one(["C"])
    fitted = EdgeEncoding.fit(lonely, EditCost(), edge_labels=True)
    assert fitted.n_codes == 0
    assert len(fitted.encode(lonely, COSTS)[0]) == 0
    assert EdgeEncoding.fit(collection(random_graphs(3, bonds=("a", "b"))), EditCost(), True).n_codes == 2
    with pytest.raises(ValueError, match="none of these graphs has an edge"):
        EdgeEncoding.fit(lonely, EditCost.from_attributes(edge_metric="euclidean"), edge_labels=False)
