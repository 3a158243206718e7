"""Graph statistics with a random forest."""

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

from kernels.baselines.graph_forms import random_graphs, renumbered
from relaxwl import GraphStatistics
from relaxwl.graphs import GraphCollection
from relaxwl.kernels.baselines.statistics import StatisticsForestClassifier, StatisticsForestRegressor, structure


def test_statistics_are_those_of_networkx():
    graphs = [nx.gnp_random_graph(n, p, seed=n) for n, p in ((1, 0.5), (8, 0.2), (15, 0.5), (30, 0.1), (12, 0.9))]
    found = structure(GraphCollection.from_networkx(graphs))
    for graph, row in zip(graphs, found, strict=True):
        degrees = [degree for _, degree in graph.degree]
        expected = [
            len(graph), graph.size(), nx.number_connected_components(graph), sum(nx.triangles(graph).values()) / 3,
            nx.density(graph), nx.transitivity(graph), np.mean(degrees), np.std(degrees),
            *np.quantile(degrees, [0.25, 0.5, 0.75, 1.0]),
        ]  # fmt: skip
        assert row == pytest.approx(expected)


def test_no_nodes_no_statistics():
    assert structure(GraphCollection.from_edges([(0, []), (2, [(0, 1)])]))[0].tolist() == [0.0] * 12
    assert structure(GraphCollection.from_edges([])).shape == (0, 12)


def test_renumbering_changes_nothing():
    graphs = random_graphs(1, n_graphs=20)
    forest = StatisticsForestClassifier(5, random_state=0).fit(graphs, np.arange(20) % 2)
    assert np.array_equal(forest._statistics(renumbered(graphs, 0)), forest._statistics(graphs))


def test_labels_count_and_unseen_ones_do_no_harm():
    def labeled(word):
        return (3, [(0, 1), (1, 2)], [word] * 3)

    graphs = GraphCollection.from_edges([labeled("a"), labeled("b")] * 6)
    y = np.array(["x", "y"] * 6)
    forest = StatisticsForestClassifier(20, random_state=0).fit(graphs, y)
    assert forest.predict(graphs).tolist() == y.tolist()
    assert forest.predict_proba(graphs).shape == (12, 2)
    assert forest.classes_.tolist() == ["x", "y"]
    assert forest.predict(GraphCollection.from_edges([labeled("c")])).shape == (1,)
    again = clone(forest).set_params(n_jobs=2).fit(graphs, y)
    assert np.array_equal(again.predict_proba(graphs), forest.predict_proba(graphs))
    assert clone(forest).set_params(random_state=2**32 + 7).fit(graphs, y).forest_.random_state == 7


def test_numbers_and_attributes():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(40)
    graphs = []
    for value in y:
        graph = nx.path_graph(4)
        nx.set_node_attributes(graph, {v: [value] for v in graph}, "a")
        graphs.append(graph)
    collection = GraphCollection.from_networkx(graphs, node_attributes="a")
    forest = StatisticsForestRegressor(50, random_state=0).fit(collection[:30], y[:30])
    assert np.corrcoef(forest.predict(collection[30:]), y[30:])[0, 1] > 0.9


def test_pairs_are_read_as_the_graphs_of_the_fit():
    arcs = [(3, [(0, 1), (1, 2), (2, 0)]), (3, [(0, 1), (0, 2)])] * 5
    graphs = GraphCollection.from_edges(arcs, directed=True)
    forest = StatisticsForestClassifier(10, random_state=0).fit(graphs, ["cycle", "tree"] * 5)
    assert forest.predict(arcs).tolist() == ["cycle", "tree"] * 5
    with pytest.raises(ValueError, match="fitted on directed graphs, and these graphs are undirected"):
        forest.predict(GraphCollection.from_edges(arcs))


def test_all_statistics():
    graphs, y = random_graphs(1, n_graphs=20), np.arange(20) % 2
    forest = StatisticsForestClassifier(5, statistics="all", random_state=0).fit(graphs, y)
    assert np.array_equal(forest._statistics(graphs), GraphStatistics().fit_transform(graphs))
    assert forest.predict(graphs).shape == (20,)
    with pytest.raises(ValueError, match="statistics must be"):
        StatisticsForestClassifier(statistics="some").fit(graphs, y)
