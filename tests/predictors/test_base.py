"""What classifier and regressor share: input, batches, and when graphs are too many for matrices."""

import networkx as nx
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from predictors.small_data import GRAPHS, TEST
from relaxwl import EditCost, GraphClassifier, GraphRegressor, as_collection
from relaxwl.predictors import base
from relaxwl.predictors.targets import Target

CLASSES = np.arange(len(GRAPHS)) % 2


@pytest.mark.parametrize("predictor", [GraphClassifier(), GraphRegressor()], ids=repr)
def test_what_is_not_fitted_says_so(predictor, tmp_path):
    for call in (predictor.predict, predictor.novelty, lambda graphs: predictor.save(tmp_path / "model")):
        with pytest.raises(NotFittedError):
            call(TEST)
    assert not list(tmp_path.iterdir())


def test_batches_change_nothing(monkeypatch):
    extra = np.random.default_rng(0).normal(size=(len(GRAPHS), 2))
    model = GraphClassifier(effort="quick", random_state=0).fit(GRAPHS, CLASSES, extra=extra)
    expected = model.predict_proba(TEST, extra=extra[: len(TEST)])
    monkeypatch.setattr(base, "BATCH", 4)
    np.testing.assert_allclose(model.predict_proba(TEST, extra=extra[: len(TEST)]), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="the model was fitted with it, and is used without it"):
        model.predict(TEST)


def test_graphs_are_read_as_the_parameters_say():
    graph = nx.DiGraph([(0, 1)])
    nx.set_node_attributes(graph, {0: "C", 1: "N"}, "element")
    predictor = GraphClassifier(node_label="element", symmetrize=True)
    found = predictor._objects([graph], None).graphs
    assert (found[0].node_labels, found.directed) == (["C", "N"], False)


@pytest.mark.parametrize(
    "model", [GraphClassifier("quick", random_state=0), GraphRegressor("quick", random_state=0)], ids=repr
)
def test_graphs_that_do_not_tell_their_type_are_those_of_the_fit(model):
    arcs = [nx.DiGraph([(0, 1), (1, 0)]), nx.DiGraph([(0, 1), (1, 2)])]
    model.fit(arcs * 4, [0, 1] * 4)
    for given, same in (([np.array([[0, 1], [1, 0]])], arcs[:1]), ([(3, [(0, 1), (1, 2)])], arcs[1:])):
        np.testing.assert_array_equal(model.predict(given), model.predict(same))
        np.testing.assert_array_equal(model.novelty(given), model.novelty(same))
    with pytest.raises(ValueError, match="the graph is undirected"):
        model.predict([nx.Graph([(0, 1)])])
    assert model.fit([arc.to_undirected() for arc in arcs * 4], [0, 1] * 4).predict([nx.path_graph(3)]) > 0.5


def test_many_graphs_or_little_memory_make_a_set_large(monkeypatch):
    predictor = GraphRegressor()
    assert not predictor._is_large(len(GRAPHS))
    monkeypatch.setattr(base, "physical_memory", lambda: 1000.0)
    assert predictor._is_large(len(GRAPHS))
    monkeypatch.undo()
    monkeypatch.setattr(base, "LINEAR_FROM", len(GRAPHS) - 1)
    assert predictor._is_large(len(GRAPHS))


def test_from_5000_and_20000_graphs_on_models_are_others(monkeypatch):
    monkeypatch.setattr(base, "physical_memory", lambda: 1e15)
    for predictor in (GraphClassifier(), GraphRegressor()):
        assert [predictor._is_large(n_graphs) for n_graphs in (20_000, 20_001)] == [False, True]
    assert [GraphRegressor()._are_many(n_graphs) for n_graphs in (5_000, 5_001)] == [False, True]


def test_kernels_are_weighed_by_at_most_six_numbers():
    numbers = [Target(str(place), np.arange(3), np.arange(3.0)) for place in range(20)]
    weighed = GraphRegressor()._weighed_targets
    assert [target.name for target in weighed(numbers)] == ["0", "3", "7", "11", "15", "19"]
    assert weighed(numbers[:4]) == numbers[:4]
    assert weighed([*numbers[:2], Target("constant", np.arange(3), np.zeros(3, int), np.array(["a"]))]) == numbers[:2]


def test_bad_limits_of_time_are_named():
    with pytest.raises(ValueError, match="time_limit must be a number of seconds > 0 or None, not -1"):
        GraphClassifier(time_limit=-1).fit(GRAPHS, CLASSES)


def test_graphs_without_edge_labels_are_refused_in_words_of_the_model():
    edges, labels = [(0, 1), (1, 2)], ["a"] * 3
    labeled = as_collection([(3, edges, labels, ["x", "xy"[place % 2]]) for place in range(12)])
    model = GraphClassifier(effort="quick", random_state=0).fit(labeled, np.arange(12) % 2)
    bare = as_collection([(3, edges, labels)])
    for call in (model.predict, model.kneighbors, model.explain):
        with pytest.raises(ValueError, match="fitted on graphs with edge labels, and these have none"):
            call(bare)


def test_additive_effects_are_those_of_linear_models(monkeypatch):
    with pytest.raises(ValueError, match=r"additive=True needs a linear model, and [0-9]+ graphs were few"):
        GraphClassifier(effort="quick", random_state=0).fit(GRAPHS[:40], CLASSES[:40]).explain(TEST[:1], additive=True)
    monkeypatch.setattr(base, "LINEAR_FROM", 10)
    model = GraphClassifier(effort="quick", random_state=0).fit(GRAPHS, CLASSES)
    (found,) = model.explain(TEST[:1], additive=True)
    assert found.adds_up


def test_costs_reach_the_relaxed_kernels(tmp_path):
    graphs = as_collection([(3, [(0, 1), (1, 2)], ["a", "ab"[place % 2], "c"]) for place in range(16)])
    cost = EditCost(relabel=2)
    model = GraphClassifier(effort="quick", cost=cost, random_state=0).fit(graphs, np.arange(16) % 2)
    kernels = [view.kernel for view in model._blocks.views if hasattr(getattr(view, "kernel", None), "cost")]
    assert kernels
    assert all(kernel.cost == cost for kernel in kernels)
    model.save(tmp_path / "model.rwl")
    again = GraphClassifier.load(tmp_path / "model.rwl")
    np.testing.assert_array_equal(again.predict_proba(graphs), model.predict_proba(graphs))
    with pytest.raises(TypeError, match="cost must be an EditCost or None, not 3"):
        GraphRegressor(cost=3).fit(graphs, np.arange(16))
