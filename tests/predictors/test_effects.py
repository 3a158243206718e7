"""What nodes and clusters of them do to predictions."""

import numpy as np
import pytest

from predictors.small_data import GRAPHS, TEST
from relaxwl import GraphClassifier, GraphRegressor
from relaxwl.predictors.effects import ClusterEffect, NodeEffects, merged_clusters
from relaxwl.unfolding.tree import UnfoldingTree
from small_graphs import collection


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
    decision = model.decision_function(GRAPHS[:2], extra=extra[:2])
    assert [one.value for one in found] == pytest.approx(np.abs(decision))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_effects_of_linear_models_add_up(monkeypatch, n_classes):
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 5)
    y, extra = np.arange(20) % n_classes, np.random.default_rng(0).normal(size=(20, 2))
    model = GraphClassifier(effort="quick", random_state=0).fit(GRAPHS, y, extra=extra)
    predicted = model.predict(TEST, extra=extra[:6])
    scaled = (extra[:6] - extra.mean(axis=0)) / extra.std(axis=0) / np.sqrt(2)
    for place, found in enumerate(model.explain(TEST, extra=extra[:6])):
        assert found.adds_up
        assert found.prediction == predicted[place]
        assert found.effects.shape == (TEST[place].n_nodes,)
        weights, intercepts = model._heads[0].coefficients, model._heads[0].intercepts
        sign, row = (1.0 if found.prediction else -1.0, 0) if n_classes == 2 else (1.0, found.prediction)
        assert found.rest == pytest.approx(sign * (intercepts[row] + weights[row][-2:] @ scaled[place]))
        assert found.clusters() == []


def test_effects_of_linear_regressions_add_up(monkeypatch):
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 5)
    model = GraphRegressor(effort="quick", random_state=0).fit(GRAPHS, GRAPHS.edge_counts.astype(float))
    for found, value in zip(model.explain(TEST), model.predict(TEST), strict=True):
        assert found.value == pytest.approx(value)
        assert found.rest == pytest.approx(model._heads[0].intercepts[0])


def test_clusters_stand_beside_the_picture():
    model = GraphRegressor(effort="quick", random_state=0).fit(GRAPHS, GRAPHS.edge_counts.astype(float))
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
