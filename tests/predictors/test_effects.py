"""What nodes and clusters of them do to predictions."""

import numpy as np
import pytest

from predictors.small_data import GRAPHS, TEST
from relaxwl import GraphClassifier, GraphRegressor
from relaxwl.predictors.effects import ClusterEffect, NodeEffects, merged_clusters
from relaxwl.unfolding.tree import UnfoldingTree
from small_graphs import collection, random_graphs


def test_what_makes_the_difference_has_the_largest_effect():
    plain = [(6, [(v, v + 1) for v in range(5)], list("CCCCCC"), None) for _ in range(12)]
    marked = [(6, [(v, v + 1) for v in range(5)], list("CCCCCN"), None) for _ in range(12)]
    graphs = collection(plain + marked)
    y = np.repeat(["plain", "marked"], 12)
    model = GraphClassifier(random_state=0).fit(graphs, y)
    found = model.explain(graphs[[20]])[0]
    assert found.prediction == "marked"
    assert found.value > 0
    assert found.strongest(1)[0] == 5
    assert found.effects.shape == (6,)
    regressor = GraphRegressor(effort="quick", random_state=0).fit(graphs, np.repeat([0.0, 1.0], 12))
    found = regressor.explain(graphs[[20]])[0]
    assert found.value == pytest.approx(regressor.predict(graphs[[20]])[0])
    assert found.effects[5] == found.effects.max() > 0


def test_vectors_stay_as_they_are():
    extra = np.random.default_rng(0).normal(size=(20, 2))
    y = np.arange(20) % 2
    model = GraphClassifier(effort="quick", random_state=0).fit(GRAPHS, y, extra=extra)
    found = model.explain(GRAPHS[:2], extra=extra[:2])
    assert [one.prediction for one in found] == model.predict(GRAPHS[:2], extra=extra[:2]).tolist()
    assert any(name.startswith("extra column") for name in (one.name for one in found[0].columns(1000)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_effects_of_linear_models_add_up(monkeypatch, n_classes):
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 5)
    y, extra = np.arange(20) % n_classes, np.random.default_rng(0).normal(size=(20, 2))
    model = GraphClassifier(effort="quick", random_state=0).fit(GRAPHS, y, extra=extra)
    predicted = model.predict(TEST, extra=extra[:6])
    views = model._blocks.views
    vectors = np.hstack([view.features(view.represent(model._objects(TEST, extra[:6]))).toarray()
                         for view in views if view.name in ("statistics", "extra")])  # fmt: skip
    columns = np.cumsum([0, *(view.n_features() for view in views)])
    columns = np.concatenate([np.arange(*columns[place : place + 2]) for place, view in enumerate(views)
                              if view.name in ("statistics", "extra")])  # fmt: skip
    for place, found in enumerate(model.explain(TEST, extra=extra[:6])):
        assert found.adds_up
        assert found.prediction == predicted[place]
        assert found.effects.shape == (TEST[place].n_nodes,)
        weights, intercepts = model._heads[0].coefficients, model._heads[0].intercepts
        sign, row = (1.0 if found.prediction else -1.0, 0) if n_classes == 2 else (1.0, found.prediction)
        assert found.rest == pytest.approx(sign * (intercepts[row] + weights[row][columns] @ vectors[place]))
        assert found.clusters() == []


def test_effects_of_linear_regressions_add_up(monkeypatch):
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 5)
    model = GraphRegressor(effort="quick", random_state=0).fit(GRAPHS, GRAPHS.edge_counts.astype(float))
    for found, value in zip(model.explain(TEST), model.predict(TEST), strict=True):
        assert found.value == pytest.approx(value)
        assert found.rest == pytest.approx(value - found.effects.sum())


def test_clusters_stand_beside_the_picture():
    graphs = collection(random_graphs(60, seed=5))
    ends = [[sorted((graph.node_labels[a], graph.node_labels[b])) for a, b in graph.edges] for graph in graphs]
    pairs = [sum(one == ["C", "N"] for one in pair) - sum(one == ["N", "N"] for one in pair) for pair in ends]
    model = GraphRegressor(effort="quick", random_state=0).fit(graphs, np.array(pairs, float))
    (found,) = model.explain(TEST[[2]])
    clusters = found.clusters(100)
    strengths = [abs(one.effect) for one in clusters]
    assert strengths == sorted(strengths, reverse=True)
    assert len({(one.depth, one.nodes) for one in clusters}) == len(clusters) > 3
    assert all(one.tree.depth <= one.depth for one in clusters)
    assert found.to_html(3).count("<figure") == 4
    assert found._repr_html_() == found.to_html()


def test_equal_clusters_are_one():
    tree = UnfoldingTree.parse("C(C,O)")
    found = [ClusterEffect((0,), tree, 1, 0.1), ClusterEffect((1,), tree, 1, -0.3), ClusterEffect((0,), tree, 1, 0.4)]
    assert [(one.nodes, one.effect) for one in merged_clusters(found)] == [((0,), 0.5), ((1,), -0.3)]


def test_pictures_of_graphs_have_a_scale():
    found = NodeEffects(GRAPHS[2], "a", 1.0, np.linspace(-1, 1, GRAPHS[2].n_nodes))
    assert "lit" in found.to_svg("a graph")
    assert "lit" not in found.to_svg("a graph", strongest=1e3)[: found.to_svg("a graph", strongest=1e3).index("</svg>")]
