"""Contestants that predict by themselves, and the scores of their predictions."""

from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.metrics import r2_score, root_mean_squared_error

from evaluation.small_data import random_graphs
from relaxwl.evaluation import cross_validate
from relaxwl.evaluation.predicting import classify_transductively, log_loss, regression_scores

QUICK = {"n_folds": 4, "n_repeats": 2}


class Density(BaseEstimator):
    """A classifier by the share of vertex pairs that are edges."""

    seen: ClassVar = []

    def __init__(self, random_state=None, says=None):
        self.random_state = random_state
        self.says = says

    def fit(self, X, y):
        Density.seen.append((len(X), self.random_state))
        self.classes_ = np.unique(y)
        values = self._values(X)
        self.middle_ = np.mean([values[y == label].mean() for label in self.classes_])
        return self

    def _values(self, X):
        return X.edge_counts / (X.node_counts * (X.node_counts - 1) / 2)

    def predict_proba(self, X):
        sure = 1 / (1 + np.exp(-20 * (self._values(X) - self.middle_)))
        return np.column_stack([sure, 1 - sure])  # "dense" comes before "sparse"

    def predict(self, X):
        if self.says is not None:
            return np.full(len(X), self.says)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Line(BaseEstimator):
    """A regressor on the number of vertices, which says how sure it is."""

    def fit(self, X, y):
        self.slope_, self.offset_ = np.polyfit(X.node_counts, y, 1)
        self.deviation_ = np.std(y - self.slope_ * X.node_counts - self.offset_)
        return self

    def predict(self, X, return_std=False):
        values = self.slope_ * X.node_counts + self.offset_
        return (values, np.full(len(X), self.deviation_)) if return_std else values


class Mean(BaseEstimator):
    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_predictor_stands_beside_kernels_and_sees_training_graphs_only(toy):
    Density.seen = []
    results = cross_validate(["wl", Density()], *toy, **QUICK)
    cell = results.cell("data", "Density")
    assert cell.mean > 0.8
    assert [size for size, _ in Density.seen] == [30] * 8
    assert len({seed for _, seed in Density.seen}) == 2  # reseeded at each repetition
    record = cell.records[0]
    assert record.inner_accuracy is None
    assert record.accuracy == np.mean(np.equal(record.targets, record.predictions))
    assert record.scores["log_loss"] < 1
    assert record.test_indices == results.cell("data", "wl").records[0].test_indices
    assert len(results.sketches) == 1  # that of the kernel
    assert "Density" in str(results)


def test_a_class_that_does_not_exist_is_refused(toy):
    with pytest.raises(ValueError, match="predicted the class 'medium', which is not one of"):
        cross_validate(Density(says="medium"), *toy, **QUICK)


def test_regression(tmp_path):
    graphs, _ = random_graphs(40)
    y = 2.0 * graphs.node_counts + np.random.default_rng(0).standard_normal(40)
    store = tmp_path / "results.jsonl"
    results = cross_validate([Line(), Mean()], graphs, y, task="regression", store=store, **QUICK)
    line, mean = (results.cell("data", name) for name in ("Line", "Mean"))
    assert line.metric == "rmse"
    assert line.mean < mean.mean
    assert set(line.records[0].scores) == {"rmse", "mae", "r2", "nlpd", "coverage"}
    assert set(mean.records[0].scores) == {"rmse", "mae", "r2"}
    assert len(line.records[0].deviations) == 10
    assert results.predictions("data", "Line").shape == (2, 40)
    table = str(results)
    assert table.startswith("RMSE")
    assert str(cross_validate([Line(), Mean()], graphs, y, task="regression", store=store, **QUICK)) == table
    assert cross_validate(["stats-rf"], graphs, y, task="regression", **QUICK).cell("data", "stats-rf").mean < mean.mean


def test_regression_needs_regressors_and_numbers(toy):
    graphs, y = toy
    with pytest.raises(
        ValueError, match=r"wl does not predict numbers; regression needs a regressor on graphs: .*stats-rf"
    ):
        cross_validate("wl", graphs, np.arange(40.0), task="regression")
    with pytest.raises(ValueError, match="y must hold finite numbers"):
        cross_validate(Mean(), graphs, y, task="regression")
    with pytest.raises(ValueError, match="task must be one of"):
        cross_validate(Mean(), graphs, y, task="ranking")


def test_scores_are_those_of_scikit_learn_and_scipy():
    rng = np.random.default_rng(0)
    targets, values, deviations = rng.standard_normal(50), rng.standard_normal(50), rng.uniform(0.5, 2, 50)
    scores = regression_scores(targets, values, deviations)
    assert scores["rmse"] == pytest.approx(root_mean_squared_error(targets, values))
    assert scores["mae"] == pytest.approx(np.abs(targets - values).mean())
    assert scores["r2"] == pytest.approx(r2_score(targets, values))
    assert scores["nlpd"] == pytest.approx(-norm(values, deviations).logpdf(targets).mean())
    assert scores["coverage"] == np.mean(np.abs(targets - values) <= 1.959964 * deviations)
    probabilities = rng.dirichlet(np.ones(3), 50)
    codes = rng.integers(0, 3, 50)
    assert log_loss(probabilities, codes) == pytest.approx(sklearn_log_loss(codes, probabilities, labels=[0, 1, 2]))
    assert regression_scores(np.ones(3), np.zeros(3), None)["r2"] == 0
    assert regression_scores(np.zeros(2), np.zeros(2), np.zeros(2))["coverage"] == 1


def test_what_a_transductive_classifier_says_is_put_in_order():
    class Knowing:
        classes_ = np.array(["b", "a"])
        choice, kernel_seconds, seconds = {"C": 1.0}, 3.0, 2.0

        def learn(self, train, labels):
            self.learned = dict(zip(train.tolist(), labels, strict=True))

        def predict_proba(self, test):
            return np.array([[0.9, 0.1], [0.2, 0.8]])[test]

    shared = Knowing()
    found = classify_transductively(shared, np.array([2, 3]), ["a", "b"], np.array([0, 1]), ["a", "b", "c"])
    assert shared.learned == {2: "a", 3: "b"}
    assert found.probabilities.tolist() == [[0.1, 0.9, 0.0], [0.8, 0.2, 0.0]]
    assert found.prediction.classes.tolist() == [1, 0]
    assert (found.prediction.converged, found.prediction.seconds) == (True, 0.0)  # its time is told as a whole
    assert (found.fit_seconds, found.svm_seconds, found.parameters) == (3.0, 2.0, {"C": 1.0})
