import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import naive
from comparison.random_graphs import DENSE, SPARSE, SPARSE_TOO, random_graphs
from relaxwl import GraphCollection
from relaxwl._validation import ParameterError
from relaxwl.comparison import _compiled as compiled
from relaxwl.comparison import views
from relaxwl.comparison.views import ClusteringHistogram, Pool, SubgraphStatistics, read_sides
from strategies import plain_graphs


@given(plain_graphs(max_nodes=7))
def test_small_subgraphs_are_those_of_the_definition(graph):
    n_nodes, edges, *_ = graph
    graphs = GraphCollection.from_edges([(3, [(0, 1)]), (n_nodes, edges)])
    counts = np.zeros((n_nodes, 3))
    nodes = np.arange(3, 3 + n_nodes)
    compiled.small_subgraphs(nodes, (3, 3 + n_nodes), graphs.indptr, graphs.indices, counts)
    assert counts.tolist() == [list(naive.small_subgraphs(n_nodes, edges, node)) for node in range(n_nodes)]


def test_the_work_on_subgraphs_is_bounded_and_does_not_depend_on_the_order_of_nodes(monkeypatch):
    monkeypatch.setattr(views, "MAX_STEPS", 300.0)
    graph = nx.barabasi_albert_graph(60, 3, seed=0)
    order = np.random.default_rng(0).permutation(60).tolist()
    tables = [
        SubgraphStatistics().table(GraphCollection.from_networkx([one]))
        for one in (graph, nx.relabel_nodes(graph, dict(enumerate(order))))
    ]
    assert len(tables[0][0]) == len(SubgraphStatistics().names_all)
    assert not np.array_equal(
        tables[0], views.SubgraphStatistics().table(GraphCollection.from_networkx([nx.path_graph(9)]))
    )
    np.testing.assert_array_equal(*tables)


def test_the_histogram_of_clustering_is_that_of_networkx():
    table = ClusteringHistogram().fit_transform(DENSE)
    for row, graph in zip(table, DENSE.to_networkx(), strict=True):
        values = np.array(list(nx.clustering(graph).values()))
        bins = np.minimum((values * 100 + 1e-6).astype(int), 99)
        np.testing.assert_allclose(row[:100], np.bincount(bins, minlength=100) / len(values))
        np.testing.assert_allclose(row[100:], np.cumsum(row[:100]))
    assert len(ClusteringHistogram().names_) == len(ClusteringHistogram().kinds_) == 200


def test_pooled_graphs_are_in_random_order_and_blocks_have_variance_one():
    pool = Pool.of((SPARSE, DENSE), "auto", 0, None, 0)
    joined = GraphCollection.concatenate([SPARSE, DENSE])
    assert pool.graphs == joined[pool.places]
    assert sorted(pool.places.tolist()) == list(range(38)) != pool.places.tolist()
    assert list(pool.blocks) == ["trees", "nodes", "statistics", "clustering", "subgraphs"]
    for block in pool.blocks.values():
        assert block.trace() / 38 - block.mean() == pytest.approx(1.0, abs=0.2)


def test_of_many_graphs_the_same_share_of_each_side_and_stratum_is_taken(monkeypatch):
    monkeypatch.setattr(views, "MAX_GRAPHS", 19)
    strata = np.repeat([0, 1, 0, 1], [10, 10, 4, 14])
    pool = Pool.of((SPARSE, DENSE), ["statistics"], 0, None, 0, strata)
    assert len(pool.places) == len(pool.graphs) == 19
    cells = np.bincount(2 * (pool.places >= 20) + strata[pool.places])
    assert np.abs(cells - [5, 5, 2, 7]).max() <= 1
    assert pool.notes[0] == "19 of 38 graphs were compared, drawn at random"


def test_views_can_be_chosen_and_constant_ones_are_left_out():
    assert list(Pool.of((SPARSE, DENSE), ["nodes", "trees"], 0, None, 0).blocks) == ["trees", "nodes"]
    stars = [GraphCollection.from_edges([(n, [(0, i) for i in range(1, n)]) for n in range(3, 7)])] * 2
    pool = Pool.of((stars[0], stars[1]), "auto", 0, None, 0)
    assert "clustering" not in pool.blocks
    assert "clustering: the same for all graphs" in pool.notes
    with pytest.raises(ParameterError, match="views must be 'auto' or a list of some of trees, nodes"):
        Pool.of((SPARSE, DENSE), "trees", 0, None, 0)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (SPARSE[:1], SPARSE_TOO, "X must have at least two graphs, not 1 graph"),
        (SPARSE, [], "Y must have at least two graphs, not 0 graphs"),
        (SPARSE, [nx.DiGraph([(0, 1)])] * 2, "X is undirected and Y is directed"),
        (
            [(2, [(0, 1)], ["1", "2"])] * 2,
            [(2, [(0, 1)], [1, 2])] * 2,
            "same type in both .* unlike '1' of X and 1 of Y",
        ),
        (random_graphs(3, labels=True), SPARSE, "Y has no node labels, and the other graphs have"),
    ],
)
def test_collections_that_cannot_be_compared_are_refused(x, y, message):
    with pytest.raises(ParameterError, match=message):
        read_sides(x, y)
