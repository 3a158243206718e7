"""Distances between graphs: the definition, the axioms, blocks, and neighbors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import naive
from relaxwl import EditCost, WeisfeilerLehman, as_collection, tree_distances, tree_edit_distance, unfolding_tree
from relaxwl.datasets import load_tu
from relaxwl.distances import graphs as module
from relaxwl.distances.graphs import GraphDistance, graph_distances
from relaxwl.graphs import GraphCollection
from small_graphs import collection, random_graphs, shuffled, with_attributes
from strategies import plain_graphs

TREE_MOVER = EditCost(relabel=2**0.5)
FACTORS = st.lists(st.sampled_from([0.5, 1.0, 1.5]), min_size=2, max_size=2)


@settings(deadline=None, max_examples=40)
@given(plain_graphs(), plain_graphs(), FACTORS, st.booleans())
def test_the_definition(graph, other, factors, shares):
    unit = {1: (1, 0, 0), 2: (0, 1, 0), 3: (0, 0, 1)}
    graphs = collection([graph, other])
    found = graph_distances(graphs, depth=2, cost=TREE_MOVER, discount=factors, normalize=shares)

    def cost(a, b):
        return naive.euclidean_cost(unit.get(a), unit.get(b)) if a != b else 0.0

    expected = naive.graph_distance(graph, other, 2, cost, factors, shares)
    assert found[0, 1] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert not found.diagonal().any()
    assert graph_distances(graphs[:1], graphs[1:], depth=2, cost="euclidean", discount=factors, normalize=shares)[
        0, 0
    ] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    options = {"depth": 2, "cost": TREE_MOVER, "discount": factors, "normalize": shares, "pairs": [(0, 1)]}
    distances, plans = graph_distances(graphs, return_plans=True, **options)
    assert distances[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    mass = [1 / max(g[0], 1) if shares else 1.0 for g in (graph, other)]
    np.testing.assert_allclose(plans[0].toarray()[:-1].sum(axis=1), mass[0])
    np.testing.assert_allclose(plans[0].toarray()[:, :-1].sum(axis=0), mass[1])


def test_vectors_with_and_without_labels():
    raw = random_graphs(4, max_nodes=4, seed=3)
    for labeled in (False, True):
        graphs = with_attributes(raw, seed=1, labeled=labeled)
        vectors = graphs.node_attributes
        if labeled:
            vectors = np.hstack([vectors, np.eye(3)[graphs.node_codes]])
        offsets = graphs.offsets
        own = [
            (n, edges, [tuple(v) for v in vectors[offsets[i] : offsets[i + 1]]], None)
            for i, (n, edges, *_) in enumerate(raw)
        ]
        found = graph_distances(graphs, depth=2, cost="euclidean", discount=0.7)
        for i in range(len(own)):
            for j in range(i):
                expected = naive.graph_distance(own[i], own[j], 2, naive.euclidean_cost, [0.7, 0.7])
                assert found[i, j] == pytest.approx(expected, rel=1e-9)
        default = graph_distances(graphs, depth=2, discount=0.7)
        assert (default == found).all() != labeled  # with labels, attributes are used on request only


def test_many_vectors_are_represented_by_centers(monkeypatch):
    graphs = with_attributes(random_graphs(6, seed=2))
    exact = graph_distances(graphs, depth=1)
    monkeypatch.setattr(module, "MAX_VECTORS", 4)
    monkeypatch.setattr(module, "N_CODES", 3)
    assert len(np.unique(graphs.node_attributes, axis=0)) > 4
    coarse = graph_distances(graphs, depth=1)
    assert 0 < np.abs(coarse - exact).max() < exact.max()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.booleans(), st.sampled_from([1.0, 0.4, [2.0, 0.5]]))
def test_axioms_of_a_metric(seed, normalize, discount):
    graphs = random_graphs(5, max_nodes=5, seed=seed)
    rng = np.random.default_rng(seed)
    options = {"depth": 2, "discount": discount, "normalize": normalize}
    both = graph_distances(collection([*graphs, *(shuffled(graph, rng) for graph in graphs)]), **options)
    assert (both == both.T).all()
    assert (both >= 0).all()
    atol = 1e-12 * both.max()
    np.testing.assert_allclose(both[:5, 5:], both[:5, :5], atol=atol)  # also zeros of each graph and its copy
    detours = (both[:, :, None] + both[None]).min(axis=1)
    assert (both <= detours + atol).all()


def test_zero_exactly_for_graphs_that_wl_does_not_tell_apart():
    ring, triangles = [(i, (i + 1) % 6) for i in range(6)], [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    path = [(i, i + 1) for i in range(5)]
    graphs = GraphCollection.from_edges([(6, ring), (6, triangles), (6, path), (3, [(0, 1), (1, 2), (0, 2)])])
    same = WeisfeilerLehman(3, normalize=True).fit_kernel_matrix(graphs) > 1 - 1e-12
    np.testing.assert_array_equal(graph_distances(graphs, normalize=True) == 0, same)
    assert graph_distances(graphs)[0, 1] == 0
    assert graph_distances(graphs)[1, 3] > 0  # the same shares, other numbers


def test_blocks_give_the_same_distances(monkeypatch):
    graphs = collection(random_graphs(30, max_nodes=7, seed=4, density=0.3))
    pairs = np.random.default_rng(0).integers(0, 30, (40, 2))
    for options in ({}, {"discount": [0.5, 2.0, 0.3], "normalize": True}, {"cost": EditCost(0.5, 2.0)}):
        whole = graph_distances(graphs, **options)
        neighbors = GraphDistance(**options).fit(graphs[:20]).kneighbors(graphs[20:], 4)
        for limit in (0, 2000, 20000):
            monkeypatch.setattr(module, "FULL_BYTES", limit)
            np.testing.assert_allclose(graph_distances(graphs, n_jobs=2, **options), whole, rtol=1e-12)
            np.testing.assert_allclose(
                graph_distances(graphs[:7], graphs, **options), whole[:7], rtol=1e-12, atol=1e-12
            )
            listed, plans = graph_distances(graphs, pairs=pairs, return_plans=True, **options)
            np.testing.assert_allclose(listed, whole[tuple(pairs.T)], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(graph_distances(graphs, pairs=pairs, **options), listed, rtol=1e-12, atol=1e-12)
            assert plans[0].shape == tuple(graphs.node_counts[pairs[0]] + 1)
            np.testing.assert_allclose(
                GraphDistance(**options).fit(graphs[:20]).kneighbors(graphs[20:], 4)[0], neighbors[0]
            )
            monkeypatch.undo()
        order = np.argsort(whole[20:, :20], axis=1, kind="stable")[:, :4]
        np.testing.assert_allclose(neighbors[0], np.take_along_axis(whole[20:, :20], order, axis=1))


def test_edge_labels_and_directions():
    raw = random_graphs(6, seed=5, bonds=("x", "y"))
    graphs = collection(raw)
    distances, ids = tree_distances(graphs, 1, edge_labels=True)
    found = graph_distances(graphs, depth=1, edge_labels=True)
    sizes = [ids[graphs.offsets[i] : graphs.offsets[i + 1]] for i in range(6)]
    for i in range(6):
        for j in range(6):
            if len(sizes[i]) == len(sizes[j]):
                costs = distances[np.ix_(sizes[i], sizes[j])].astype(float)
                n = len(costs)
                expected = n * naive.uniform_transport_cost(costs) if n else 0.0
                assert found[i, j] == pytest.approx(expected, abs=1e-6)
    arcs = GraphCollection.from_edges(
        [(2, [(0, 1)]), (2, [(1, 0)]), (3, [(0, 1), (0, 2)]), (3, [(1, 0), (2, 0)])], directed=True
    )
    assert graph_distances(arcs, depth=1).tolist()[0][:2] == [0, 0]
    assert graph_distances(arcs, depth=1)[2, 3] > 0


def test_discounts_of_trees():
    graphs = collection(random_graphs(3, seed=8))
    nodes = [(g, node) for g in range(3) for node in range(graphs[g].n_nodes)]
    trees = [unfolding_tree(graphs[g], node, 3) for g, node in nodes]
    for discount in (0.5, [0.25, 3.0, 0.5]):
        expected = [[tree_edit_distance(a, b, discount=discount) for b in trees] for a in trees]
        np.testing.assert_allclose(tree_distances(graphs, 3, nodes, discount=discount), expected, rtol=1e-12)
    assert tree_edit_distance(trees[0], trees[0], discount=[1, 2, 3]) == 0
    with pytest.raises(ValueError, match="discount must be a number, or one for each of 3 levels"):
        tree_distances(graphs, 3, discount=[1.0])
    with pytest.raises(ValueError, match="discount must be a finite number > 0"):
        graph_distances(graphs, discount=0)


def test_empty_collections_and_graphs():
    graphs = GraphCollection.from_edges([(0, []), (2, [(0, 1)]), (0, [])])
    assert graph_distances(graphs, depth=1).tolist() == [[0, 4, 0], [4, 0, 4], [0, 4, 0]]
    assert graph_distances(graphs, depth=1, normalize=True).tolist() == [[0, 2, 0], [2, 0, 2], [0, 2, 0]]
    assert graph_distances(graphs[:0]).shape == (0, 0)
    assert graph_distances(graphs, graphs[:0]).shape == (3, 0)
    assert graph_distances(graphs, pairs=[]).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cost": "manhattan"}, "cost must be an EditCost, 'euclidean' or None"),
        ({"depth": -1}, "depth must be an integer >= 0"),
        ({"return_plans": True}, "return_plans needs pairs"),
        ({"pairs": [(0, 9)]}, r"pairs\[0\]"),
        ({"normalize": "no"}, "normalize must be True or False"),
        ({"Y": GraphCollection.from_edges([(1, [])])}, "must have node labels, or neither"),
    ],
)
def test_errors_name_the_argument(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        graph_distances(collection(random_graphs(3)), **arguments)


def test_the_transformer():
    graphs = collection(random_graphs(24, seed=6))
    y = graphs.node_counts > 4
    own = GraphDistance(depth=2, discount=0.5)
    np.testing.assert_array_equal(clone(own).fit_transform(graphs), clone(own).fit(graphs).transform(graphs))
    assert own.fit(graphs).get_feature_names_out()[:2].tolist() == ["graph0", "graph1"]
    model = make_pipeline(own, KNeighborsClassifier(1, metric="precomputed")).fit(graphs, y)
    assert (model.predict(graphs) == y).all()
    with pytest.raises(ValueError, match="n_neighbors must be an integer from 1 to 24"):
        own.kneighbors(graphs, 25)


@pytest.mark.shared
def test_real_graphs(shared):
    graphs, _ = load_tu(shared / "data" / "MUTAG.zip")
    graphs = graphs[:40]
    distances, ids = tree_distances(graphs, 3)
    found = graph_distances(graphs, n_jobs=2)
    np.testing.assert_array_equal(found, graph_distances(graphs))
    for i, j in ((0, 5), (3, 17)):
        left, right = (ids[graphs.offsets[g] : graphs.offsets[g + 1]] for g in (i, j))
        n = max(len(left), len(right))
        padded = np.zeros((n, n))
        padded[: len(left), : len(right)] = distances[np.ix_(left, right)]
        alone, side = (left, i) if len(left) == n else (right, j)
        sizes = [unfolding_tree(graphs[side], node, 3).size for node in range(len(alone))]
        if len(left) < n:
            padded[len(left) :] = sizes
        else:
            padded[:, len(right) :] = np.array(sizes)[:, None]
        rows, columns = naive.linear_sum_assignment(padded)
        assert found[i, j] == padded[rows, columns].sum()


def test_edge_labels_that_one_collection_has_do_not_count():
    bonds = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["C", "C", "O"])])
    plain = as_collection([(3, [(0, 1), (1, 2)], ["C", "C", "O"], ["x", "y"])])
    assert graph_distances(bonds, plain).tolist() == [[0.0]]
    with pytest.raises(ValueError, match="some collections have edge labels and some have none"):
        graph_distances(bonds, plain, edge_labels=True)
