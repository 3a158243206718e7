import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from relaxwl import GraphClassifier, GraphRegressor
from relaxwl._memory import MemoryRefusal
from relaxwl.datasets import make_egonets
from relaxwl.learning.heads import LinearClassifier
from relaxwl.predictors.blocks import KernelBlocks
from sklearn_checks import each_check, run_check
from small_graphs import collection, random_graphs, with_attributes

QUICK = GraphClassifier(effort="quick", random_state=0)
GRAPHS, Y = make_egonets(48, level=1, n_nodes=(24, 36), random_state=0)
TRAIN, TEST = np.arange(36), np.arange(36, 48)
NAMES = np.array(["ring", "small world", "random", "grown"])


@pytest.mark.filterwarnings("ignore")
@each_check
def test_scikit_learns_own_checks(check):
    run_check(check, GraphClassifier())


@pytest.fixture(scope="module")
def fitted():
    return clone(QUICK).fit(GRAPHS[TRAIN], NAMES[Y[TRAIN]])


def test_probabilities_decide(fitted):
    unseen = GRAPHS[TEST]
    assert fitted.classes_.tolist() == sorted(NAMES)
    probabilities = fitted.predict_proba(unseen)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.classes_[probabilities.argmax(axis=1)], fitted.predict(unseen))
    np.testing.assert_array_equal(fitted.decision_function(unseen).argmax(axis=1), probabilities.argmax(axis=1))
    assert fitted.score(unseen, fitted.predict(unseen)) == 1


def test_graphs_alone_or_together_and_after_a_pickle(fitted):
    unseen = GRAPHS[TEST]
    together = fitted.predict_proba(unseen)
    np.testing.assert_allclose(fitted.predict_proba(unseen[[3]])[0], together[3], atol=1e-9)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(unseen), together)
    assert fitted.predict(unseen[:0]).shape == (0,)


def test_threads_and_seeds(fitted):
    again = clone(QUICK).set_params(n_jobs=2).fit(GRAPHS[TRAIN], NAMES[Y[TRAIN]])
    np.testing.assert_array_equal(again.predict_proba(GRAPHS[TEST]), fitted.predict_proba(GRAPHS[TEST]))
    assert again.report_.tried == fitted.report_.tried


def test_order_of_nodes_changes_no_prediction(fitted):
    rng, others = np.random.default_rng(0), []
    for network in GRAPHS[TEST].to_networkx():
        others.append(nx.Graph())
        others[-1].add_nodes_from(rng.permutation(len(network)).tolist())
        others[-1].add_edges_from(network.edges)
    expected = fitted.predict_proba(GRAPHS[TEST])
    np.testing.assert_allclose(fitted.predict_proba(others), expected, rtol=1e-9, atol=1e-12)


def test_report_says_what_was_tried_beside_the_largest_class(fitted):
    report = fitted.report_
    assert report.chosen in [one.name for one in report.tried]
    text = str(report)
    assert "36 graphs, 4 classes" in text
    assert "majority class" in text
    assert report.baseline == pytest.approx(np.bincount(Y[TRAIN]).max() / 36)
    assert report.chosen == "Gaussian process"
    assert report.tried[0].detail.startswith("weights: ")
    assert set(fitted.kernel_weights_) == {"exact", "structure, depth 0", "structure", "coarse", "fine", "statistics"}


def test_two_classes_class_weights_and_other_libraries_graphs():
    graphs = [nx.cycle_graph(5 + i % 4) if i % 4 else nx.path_graph(5 + i % 3) for i in range(24)]
    y = np.array([i % 4 > 0 for i in range(24)])
    for graph in graphs:
        nx.set_node_attributes(graph, "C", "element")
    model = GraphClassifier("quick", node_label="element", class_weight="balanced", random_state=0).fit(graphs, y)
    decisions = model.decision_function(graphs)
    assert decisions.shape == (24,)
    np.testing.assert_array_equal(decisions > 0, model.predict(graphs))
    assert model.score(graphs, y) == 1


def test_errors_in_a_heavy_class_are_avoided():
    y = Y[TRAIN] == 1
    plain, heavy = (
        GraphClassifier("quick", class_weight=weights, random_state=0).fit(GRAPHS[TRAIN], y)
        for weights in (None, {True: 50})
    )
    assert heavy.predict(GRAPHS[TEST]).sum() > plain.predict(GRAPHS[TEST]).sum()
    assert "weighted accuracy" in str(heavy.report_)
    assert heavy.report_.baseline == pytest.approx(50 * y.sum() / (50 * y.sum() + (~y).sum()))


def rings(kinds, draw):
    """Rings whose class is known to what ``draw`` writes on them alone."""
    rng = np.random.default_rng(0)
    made = [nx.cycle_graph(int(rng.integers(4, 8))) for _ in kinds]
    return [draw(graph, kind, rng) for graph, kind in zip(made, kinds, strict=True)]


def turned(graph, kind, rng):
    """Side arcs lead to the ring or away from it."""
    arcs = nx.DiGraph(list(graph.edges))
    arcs.add_edges_from((len(graph) + i, i) if kind else (i, len(graph) + i) for i in range(2))
    return arcs


def weighted(graph, kind, rng):
    nx.set_edge_attributes(graph, {edge: float(rng.normal(3 * kind, 0.3)) for edge in graph.edges}, "weight")
    return graph


def half_known(graph, kind, rng):
    known = [node for node in graph if node < 2 or rng.random() < 0.5]
    nx.set_node_attributes(graph, {node: float(rng.normal(3 * kind, 0.3)) for node in known}, "size")
    return graph


@pytest.mark.parametrize(
    ("draw", "options"),
    [
        (turned, {}),
        (weighted, {"edge_attributes": "weight"}),
        (half_known, {"node_attributes": "size", "missing": "?"}),
    ],
)
def test_arcs_weights_and_missing_values_decide_the_class(draw, options, tmp_path):
    y = np.arange(24) % 2
    graphs = rings(y, draw)
    model = GraphClassifier("quick", random_state=0, **options).fit(graphs[:16], y[:16])
    assert model.score(graphs[16:], y[16:]) == 1
    assert model.novelty(graphs[16:]).shape == (8,)
    model.save(tmp_path / "model.rwl")
    again = GraphClassifier.load(tmp_path / "model.rwl")
    np.testing.assert_array_equal(again.predict_proba(graphs), model.predict_proba(graphs))
    regressor = GraphRegressor("quick", random_state=0, **options).fit(graphs[:16], y[:16])
    assert np.abs(regressor.predict(graphs[16:]) - y[16:]).max() < 0.5
    if draw is turned:
        with pytest.raises(ValueError, match="directed"):
            model.predict([graph.to_undirected() for graph in graphs])


def test_vectors_beside_the_graphs_join():
    rng = np.random.default_rng(0)
    graphs = collection(random_graphs(40))
    extra = rng.normal(size=(40, 3))
    y = (extra[:, 1] > 0).astype(int)
    model = clone(QUICK).fit(graphs, y, extra=extra)
    assert model.kernel_weights_["extra"] > 0
    assert model.score(graphs, y, extra=extra) > 0.8
    with pytest.raises(ValueError, match="the model was fitted with it"):
        model.predict(graphs)
    with pytest.raises(ValueError, match="one row for each of 40 graphs"):
        model.predict(graphs, extra=extra[:5])
    with pytest.raises(ValueError, match="extra must have 3 columns"):
        model.predict(graphs, extra=extra[:, :2])
    with pytest.raises(ValueError, match="used with it"):
        clone(QUICK).fit(graphs, y).predict(graphs, extra=extra)


def test_strange_graphs_are_novel(fitted):
    assert fitted.novelty([nx.complete_graph(40)])[0] < 0.05
    assert np.median(fitted.novelty(GRAPHS[TEST])) > 0.1


def test_out_of_time_less_is_tried_and_said():
    model = clone(QUICK).set_params(time_limit=1e-6).fit(GRAPHS[TRAIN], Y[TRAIN])
    assert len(model.report_.tried) == 1
    assert any("time limit" in reason for reason in model.report_.left_out)
    assert model.predict(GRAPHS[TEST]).shape == (12,)


def test_many_graphs_get_linear_machines(monkeypatch, fitted):
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 30)
    model = clone(QUICK).fit(GRAPHS[TRAIN], NAMES[Y[TRAIN]])
    assert isinstance(model._heads[0], LinearClassifier)
    assert "linear model on features" in str(model.report_)
    probabilities = model.predict_proba(GRAPHS[TEST])
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(GRAPHS[TEST]))
    extra = np.column_stack([Y, np.ones(48)])
    with_extra = clone(QUICK).fit(GRAPHS[TRAIN], Y[TRAIN], extra=extra[TRAIN])
    assert with_extra.predict(GRAPHS[TEST], extra=extra[TEST]).shape == (12,)


@pytest.mark.parametrize("limit", [10_000, 10])
def test_progress_goes_from_kernel_to_kernel(limit, monkeypatch, caplog):
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", limit)
    with caplog.at_level("INFO", "relaxwl"):
        GraphClassifier(effort="quick", random_state=0, verbose=1).fit(GRAPHS[TRAIN], Y[TRAIN])
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split(":")[0] for line in lines if "fitted in" in line] == [
        "WL", "nodes as vectors of structure", "statistics", "R-WL* with few clusters", "R-WL* with many clusters",
    ]  # fmt: skip
    assert ("accuracy" if limit == 10 else "Gaussian process") in lines[-1]


def test_attributes_decide_where_labels_and_shapes_do_not(tmp_path):
    graphs = with_attributes(random_graphs(60, seed=2))
    sums = np.add.reduceat(graphs.node_attributes[:, 0], graphs.offsets[:-1]) / graphs.node_counts
    y = (sums > np.median(sums)).astype(int)
    model = clone(QUICK).fit(graphs[:48], np.column_stack([y, 1 - y])[:48])
    assert model.score(graphs[48:], np.column_stack([y, 1 - y])[48:]) >= 0.75
    model.save(tmp_path / "model.rwl")
    again = GraphClassifier.load(tmp_path / "model.rwl")
    for one, other in zip(model.predict_proba(graphs), again.predict_proba(graphs), strict=True):
        np.testing.assert_array_equal(one, other)
    serial = clone(model).set_params(n_jobs=1).fit(graphs[:48], np.column_stack([y, 1 - y])[:48])
    np.testing.assert_array_equal(serial.predict_proba(graphs)[0], model.predict_proba(graphs)[0])
    found = again.explain(graphs[50:51], target=0)[0]
    assert found.effects.shape == (graphs[50].n_nodes,)
    texts = [one.text for one in found.clusters(500) if one.tree is None]
    assert texts
    assert any("attribute" in text for text in texts)
    assert "<p>" in found.to_html(500)


def test_kernels_that_do_not_fit_into_memory_are_left_out_and_said(tmp_path, monkeypatch):
    def refuse(*_):
        raise MemoryRefusal("the costs would need about 28 GiB and the limit is 4 GiB; use fewer labels")

    monkeypatch.setattr("relaxwl.kernels.RelaxedWeisfeilerLehman._fit_counts", refuse)
    model = clone(QUICK).fit(GRAPHS[TRAIN], Y[TRAIN])
    assert model.report_.kernels == ("WL", "nodes as vectors of structure", "statistics")
    refused = [line.split(":")[0] for line in model.report_.left_out]
    assert refused == ["R-WL* with few clusters", "R-WL* with many clusters"]
    assert (model.novelty(GRAPHS[TEST]) > 0).all()
    model.save(tmp_path / "model.rwl")
    again = GraphClassifier.load(tmp_path / "model.rwl")
    np.testing.assert_array_equal(again.predict_proba(GRAPHS[TEST]), model.predict_proba(GRAPHS[TEST]))
    monkeypatch.setattr("relaxwl.kernels.WeisfeilerLehman._fit_counts", refuse)
    monkeypatch.setattr("relaxwl.kernels.ContinuousWeisfeilerLehman._fit_counts", refuse)
    monkeypatch.setattr("relaxwl.kernels.statistics.GraphStatistics.transform", refuse)
    with pytest.raises(MemoryRefusal, match="28 GiB"):
        clone(QUICK).fit(GRAPHS[TRAIN], Y[TRAIN])


def test_few_graphs_of_a_class():
    graphs = collection(random_graphs(9))
    model = clone(QUICK).fit(graphs, [0, 0, 0, 0, 1, 1, 1, 1, 2])
    assert model.predict_proba(graphs).shape == (9, 3)
    tiny = clone(QUICK).fit(graphs[:3], ["a", "b", "a"])
    assert set(tiny.predict(graphs)) <= {"a", "b"}


def test_cross_validation_by_scikit_learn():
    assert len(cross_val_score(QUICK, GRAPHS, Y, cv=2)) == 2


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"effort": "more"}, Y, "effort must be one of"),
        ({"time_limit": 0}, Y, "time_limit must be"),
        ({"time_limit": "1 s"}, Y, "time_limit must be"),
        ({"scoring": "rmse"}, Y, "scoring must be one of"),
        ({"class_weight": {0: -1.0}}, Y, "class_weight must have finite numbers > 0"),
        ({"class_weight": "heavy"}, Y, "class_weight must be a dict, 'balanced' or None, not 'heavy'"),
        ({"class_weight": {7: 2.0}}, Y, "class_weight must name classes of y, not 7"),
        ({}, Y[:3], "y must contain one value for each of 48 graphs"),
        ({}, np.zeros(48, int), "at least two classes"),
        ({}, np.linspace(0, 1, 48), "Unknown label type"),
    ],
)
def test_bad_input_is_named_before_kernels_are_fitted(monkeypatch, parameters, y, message):
    monkeypatch.delattr(KernelBlocks, "fit")
    with pytest.raises(ValueError, match=message):
        GraphClassifier(**parameters).fit(GRAPHS, y)
    with pytest.raises(NotFittedError):
        GraphClassifier().predict(GRAPHS)


def test_constant_weights_are_no_weights():
    plain = clone(QUICK).fit(GRAPHS[TRAIN], Y[TRAIN]).predict_proba(GRAPHS[TEST])
    constant = clone(QUICK).fit(GRAPHS[TRAIN], Y[TRAIN], sample_weight=np.full(36, 3.0))
    np.testing.assert_array_equal(constant.predict_proba(GRAPHS[TEST]), plain)
    balanced = np.flatnonzero(np.bincount(Y)[Y] >= 12)[:48]
    y = np.arange(len(balanced)) % 2
    models = [clone(QUICK).set_params(class_weight=weights) for weights in (None, "balanced")]
    found = [model.fit(GRAPHS[balanced], y).predict_proba(GRAPHS[TEST]) for model in models]
    np.testing.assert_array_equal(*found)
    assert not models[1].report_.metric.startswith("weighted")


def test_objects_of_weight_zero_are_left_out():
    weights = np.where(np.arange(48) < 36, 1.0, 0.0)
    alone = clone(QUICK).fit(GRAPHS, Y, sample_weight=weights)
    changed = clone(QUICK).fit(GRAPHS, np.where(weights > 0, Y, 3 - Y), sample_weight=weights)
    np.testing.assert_array_equal(alone.predict_proba(GRAPHS), changed.predict_proba(GRAPHS))
    with pytest.raises(ValueError, match="sample_weight is 0 for all graphs of class 2"):
        clone(QUICK).fit(GRAPHS, Y, sample_weight=(Y != 2).astype(float))


def test_names_of_additional_features_are_compared(tmp_path):
    table = pd.DataFrame({"age": Y[TRAIN] + 0.0, "sex": np.arange(36) % 2})
    clone(QUICK).fit(GRAPHS[TRAIN], Y[TRAIN], extra=table).save(tmp_path / "model.rwl")
    model = GraphClassifier.load(tmp_path / "model.rwl")
    assert model.predict(GRAPHS[TRAIN], extra=table).shape == (36,)
    assert model.predict(GRAPHS[TRAIN], extra=table.to_numpy()).shape == (36,)  # without names there is no comparison
    with pytest.raises(
        ValueError, match="extra must have the columns of the fit, in their order: age, sex; it has sex, age"
    ):
        model.predict(GRAPHS[TRAIN], extra=table[["sex", "age"]])
