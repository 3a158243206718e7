"""Several targets with gaps, and what is guaranteed of intervals and sets."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import r2_score

from relaxwl import GraphClassifier, GraphRegressor
from relaxwl.datasets import make_egonets
from relaxwl.predictors.targets import Target, known_values, read_targets, sampled_rows


@pytest.fixture(scope="module")
def graphs():
    return make_egonets(60, n_nodes=20, level=1, random_state=0)


def top_degrees(graphs):
    return np.maximum.reduceat(graphs.degrees, graphs.offsets[:-1]).astype(float)


def table_of(graphs, y):
    """Return two targets, texts and numbers, each with gaps in other rows."""
    dense = np.where(top_degrees(graphs) > np.median(top_degrees(graphs)), "d", "s")
    table = pd.DataFrame({"kind": y.astype(float), "density": dense.astype(object)})
    table.loc[::7, "kind"] = np.nan
    table.loc[3::9, "density"] = None
    return table


def test_each_target_is_learned_from_the_rows_that_have_it(graphs):
    graphs, y = graphs
    table = table_of(graphs, y)
    options = {"effort": "quick", "random_state": 0}
    model = GraphClassifier(**options).fit(graphs, table)
    assert model.target_names_ == ["kind", "density"]
    assert [classes.tolist() for classes in model.classes_] == [sorted(set(y.tolist())), ["d", "s"]]
    assert model.predict(graphs[:5]).shape == (5, 2)
    assert [part.shape for part in model.predict_proba(graphs[:5])] == [(5, 4), (5, 2)]
    known = np.flatnonzero(table["density"].notna())
    # Kernels are fitted to all graphs, so the same head on the same blocks is what one target alone would give.
    again = GraphClassifier(**options).fit(graphs, table[["density"]].fillna("s"))
    assert again.predict(graphs[:5]).shape == (5,), "one column is one target"
    assert model.score(graphs, table) > 0.6
    assert len(model.explain(graphs[:1], target="density")[0].effects) == graphs[0].n_nodes
    assert "mean" in str(model.report_)
    assert len(known) < len(graphs)


def test_gaps_change_nothing_of_other_targets(graphs):
    graphs, y = graphs
    whole = np.column_stack([y, y % 2]).astype(object)
    gaps = whole.copy()
    gaps[::3, 0] = None
    one = GraphClassifier(effort="quick", random_state=0).fit(graphs, whole)
    other = GraphClassifier(effort="quick", random_state=0).fit(graphs, gaps)
    np.testing.assert_array_equal(one.predict_proba(graphs)[1], other.predict_proba(graphs)[1])
    assert not np.array_equal(one.predict_proba(graphs)[0], other.predict_proba(graphs)[0])


def test_numbers_with_gaps(graphs):
    graphs, _ = graphs
    table = np.column_stack([top_degrees(graphs)] * 3)
    table += np.random.default_rng(0).normal(size=table.shape)
    table[::4, 1] = np.nan
    model = GraphRegressor(effort="quick", random_state=0).fit(graphs, table)
    mean, std = model.predict(graphs[:7], return_std=True)
    assert mean.shape == std.shape == (7, 3)
    assert model.predict_interval(graphs[:7], target=2).shape == (7, 2)
    assert np.isfinite(model.score(graphs, table))
    only_first = np.where(np.arange(3) > 0, np.nan, table)
    assert model.score(graphs, only_first) == pytest.approx(r2_score(table[:, 0], model.predict(graphs)[:, 0]))
    with pytest.raises(ValueError, match="target must be one of target 0, target 1, target 2"):
        model.predict_interval(graphs[:7])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[0, None], [1, None], [0, None]], "target 'target 1' has no values"),
        ([[0, 1], [1, 1], [0, 1]], "target 'target 1': .* at least two classes.*skip_targets=True"),
        ([[0, "a"], [1, 2], [0, "b"]], "target 'target 1': y must be all numbers or all strings"),
        ([[0, 1], [1]], "rows of equal length, not of 1 and 2 columns"),
        ([[0, 1], [1, 0]], "a row for each of 3"),
        ([[0], [None], [1]], r"but y\[1\] is None"),
    ],
)
def test_bad_tables_are_refused_by_name(y, message):
    with pytest.raises(ValueError, match=message):
        read_targets(y, 3, "graphs", classification=True)


def test_a_target_of_one_class_may_be_kept_as_a_constant(graphs):
    graphs, y = graphs
    table = np.column_stack([y, np.ones(len(y), int)])
    model = GraphClassifier(effort="quick", skip_targets=True, random_state=0).fit(graphs, table)
    assert (model.predict(graphs[:3])[:, 1] == 1).all()
    assert (model.predict_proba(graphs[:3])[1] == 1).all()


def test_gaps_of_all_kinds_are_gaps():
    found = known_values([[1, "a"], [float("nan"), None], [pd.NA, "b"]], 3, is_table=True)
    assert [rows.tolist() for rows, _ in found] == [[0], [0, 2]]
    for column in (
        [None, "a", "b"],
        pd.Series([pd.NA, "a", "b"]),
        {"y": [float("nan"), "a", "b"]},
        [[None], ["a"], ["b"]],
    ):
        ((rows, values),) = known_values(column, 3, is_table=False)
        assert (rows.tolist(), values) == ([1, 2], ["a", "b"])


@pytest.mark.parametrize(
    ("y", "is_table", "message"),
    [
        ([[1, 2]] * 3, False, r"one value for each of 3 objects, not an array of shape \(3, 2\)"),
        ([1, 2], False, r"one value for each of 3 objects, not an array of shape \(2,\)"),
        ([1, 2, 3], True, r"a table with a row for each of 3 objects, not an array of shape \(3,\)"),
        ([None] * 3, False, "y must contain a value that is not missing"),
        ([None, 1, "a"], False, r"all numbers or all strings, but y\[2\] is 'a'"),
    ],
)
def test_bad_true_values_are_refused(y, is_table, message):
    with pytest.raises(ValueError, match=message):
        known_values(y, 3, is_table=is_table)


@pytest.mark.parametrize("calibration", [pytest.param("cv", marks=pytest.mark.slow), "split"])
def test_intervals_and_sets_cover_unseen_graphs(calibration):
    graphs, y = make_egonets(240, n_nodes=20, level=1, random_state=1)
    rng = np.random.default_rng(0)
    numbers = top_degrees(graphs) + rng.normal(size=len(graphs))
    options = {"effort": "quick", "calibration": calibration, "random_state": 0}
    regressor = GraphRegressor(**options).fit(graphs[:140], numbers[:140])
    ends = regressor.predict_interval(graphs[140:], coverage=0.8)
    assert 0.65 < np.mean((ends[:, 0] <= numbers[140:]) & (numbers[140:] <= ends[:, 1])) <= 0.95
    classifier = GraphClassifier(**options).fit(graphs[:140], y[:140])
    for conditional in (None, "class"):
        inside = classifier.predict_set(graphs[140:], coverage=0.8, conditional=conditional)
        codes = np.searchsorted(classifier.classes_, y[140:])
        assert 0.65 < inside[np.arange(100), codes].mean() <= 0.97
    with pytest.raises(ValueError, match="coverage must be a probability between 0 and 1, not 90"):
        classifier.predict_set(graphs[:1], coverage=90)


def test_scores_choose_and_are_shown(graphs):
    graphs, y = graphs
    rare = (np.arange(len(y)) % 15 == 0).astype(int)
    model = GraphClassifier(effort="quick", scoring="roc_auc", random_state=0).fit(graphs, rare)
    assert "ROC AUC" in str(model.report_)
    assert "accuracy is not informative" in str(
        GraphClassifier(effort="quick", random_state=0).fit(graphs, rare).report_
    )
    with pytest.raises(ValueError, match="scoring must be one of accuracy"):
        GraphClassifier(scoring="r2").fit(graphs, rare)


def test_weights_of_objects_count(graphs):
    graphs, y = graphs
    half = np.where(y < 2, 1.0, 0.0)
    model = GraphClassifier(effort="quick", random_state=0).fit(graphs, (y % 2), sample_weight=half + 1e-6)
    assert model.score(graphs, y % 2, sample_weight=half) >= model.score(graphs, y % 2) - 0.05
    with pytest.raises(ValueError, match="sample_weight must be 60 finite numbers"):
        GraphClassifier(effort="quick").fit(graphs, y, sample_weight=[1, 2])


def test_nearest_training_graphs(graphs):
    graphs, y = graphs
    for model in (GraphClassifier(effort="quick", random_state=0), GraphRegressor(effort="quick", random_state=0)):
        distances, indices = model.fit(graphs, y).kneighbors(graphs[[4, 9]], n_neighbors=3)
        assert indices[:, 0].tolist() == [4, 9]
        assert (np.diff(distances, axis=1) >= 0).all()
        np.testing.assert_allclose(distances[:, 0], 0, atol=1e-9)


def test_probabilities_are_bounded_by_the_number_of_examples():
    graphs, _ = make_egonets(28, n_nodes=20, random_state=0)
    sizes = (top_degrees(graphs) > np.median(top_degrees(graphs))).astype(int)
    table = GraphClassifier(effort="quick", random_state=0).fit(graphs, sizes).predict_proba(graphs)
    assert table.min() >= 0.9 / 30
    np.testing.assert_allclose(table.sum(axis=1), 1)


@given(st.lists(st.sampled_from("aaaabbc"), min_size=1, max_size=30), st.integers(1, 30), st.randoms())
def test_a_sample_has_all_of_rare_classes_in_any_order(classes, size, random):
    """The number of each class is that of filling all of them equally, and the members do not depend on their order."""
    size, contents = min(size, len(classes)), np.array(random.sample(range(100), len(classes)))

    def sample(order):
        names, codes = np.unique(np.array(classes)[order], return_inverse=True)
        return order[sampled_rows([Target("class", np.arange(len(order)), codes, names)], contents[order], size)]

    found = sample(np.arange(len(classes)))
    shuffled = np.array(random.sample(range(len(classes)), len(classes)))
    assert len(found) == size
    assert set(found) == set(sample(shuffled))
    counts = {name: classes.count(name) for name in set(classes)}
    taken = {name: sum(classes[place] == name for place in found) for name in counts}
    assert all(taken[name] == counts[name] or taken[name] >= max(taken.values()) - 1 for name in counts)


def test_samples_of_several_targets_overlap_and_objects_without_a_value_come_last():
    rows = np.arange(20)
    one, other = (
        Target("one", rows[:12], np.repeat([0, 1], 6), np.array([0, 1])),
        Target("other", rows[4:16], rows[4:16] / 2),
    )
    kept = sampled_rows([one, other], rows, 8)
    assert kept.tolist() == [0, 1, 2, 4, 5, 6, 7, 8]
    assert sampled_rows([one, other], rows, 16).tolist() == rows[:16].tolist()
