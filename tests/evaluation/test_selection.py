"""The choice of parameters within a fold."""

import functools
import json
import os
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.metrics import r2_score, root_mean_squared_error

import relaxwl
from evaluation.small_data import random_graphs
from evaluation.toy_kernels import QUICK
from relaxed_kernels import optimized
from relaxwl import EditCost, WeisfeilerLehman
from relaxwl.evaluation import cross_validate
from relaxwl.evaluation.folds import Split
from relaxwl.evaluation.selection import (
    N_GRAPHS,
    FittedVariant,
    Selection,
    identity,
    part_of,
    regression_scores,
    resolve,
    warm_up,
)
from relaxwl.graphs import GraphCollection
from user_partitioners import KMedoidsPartitioner, RadiusPartitioner


def test_names_of_kernels_may_be_given_names_of_their_own(toy):
    (entry,) = resolve({"mine": "wl"})
    assert (entry.name, entry.title) == ("mine", "mine")
    assert identity(entry) == identity(resolve("wl")[0])
    results = cross_validate({"mine": "wl", "counts": "ve-hist"}, *toy, **QUICK)
    assert results.kernels == ["mine", "counts"]


def test_of_equal_variants_the_first_wins():
    gram = np.diag(np.ones(12)) + np.equal.outer(np.arange(12) % 2, np.arange(12) % 2)
    y = np.arange(12) % 2
    train, test = np.arange(8), np.arange(8, 12)
    split = Split(train, test, ((train[:4], train[4:]), (train[4:], train[:4])))
    blind = np.ones((12, 12))
    selection = Selection([split], y, (1.0, 2.0), 1)
    done = []

    def advance(share, what):
        done.append(share)
        assert what == "choosing"

    for name, matrix in (("blind", blind), ("first", gram), ("equal", gram), ("worse", blind)):
        selection.enter(FittedVariant(None, None, [{"name": name}], [matrix], 0.0, 0.0), part_of(advance, 4))
    assert sum(done) == pytest.approx(1)
    assert selection.choices[0].parameters == {"name": "first", "C": 1.0}
    assert selection.choices[0].n_candidates == 4


def test_the_solver_of_scikit_learn_gives_the_same_table(toy):
    ours, theirs = (cross_validate("wl", *toy, solver=solver, **QUICK) for solver in ("path", "libsvm"))
    assert [r.predictions for r in ours.folds] == [r.predictions for r in theirs.folds]
    assert [r.inner_accuracy for r in ours.folds] == [r.inner_accuracy for r in theirs.folds]
    assert theirs.folds[0].settings["solver"] == "libsvm"
    with pytest.raises(ValueError, match="solver must be one of path, libsvm"):
        cross_validate("wl", *toy, solver="magic")


def test_ties_go_to_the_first_candidate_and_the_smallest_c():
    # Every graph is its own class's only feature: all depths and all C are perfect.
    labels = np.arange(40) % 2
    separable = GraphCollection.from_edges([(3, [(0, 1), (1, 2)][: 1 + label]) for label in labels])
    results = cross_validate(WeisfeilerLehman(max_depth=3), separable, labels, depths=(1, 2, 3), **QUICK)
    assert {json.dumps(record.parameters) for record in results.folds} == {'{"max_depth": 1, "C": 0.125}'}
    assert results.cell("toy", "WeisfeilerLehman").mean == 1


def test_depths_restrict_the_choice(toy):
    results = cross_validate(WeisfeilerLehman(max_depth=3), *toy, depths=[2], **QUICK)
    assert {record.parameters["max_depth"] for record in results.folds} == {2}
    assert {record.n_candidates for record in results.folds} == {1}


@pytest.mark.parametrize("kernel", ["wl", "wwl", "ve-hist", "rwl-star"])
def test_gram_matrices_are_timed_apart_from_the_fit(toy, kernel):
    for record in cross_validate(kernel, *toy, n_folds=3, n_repeats=1, inner_folds=2).folds:
        assert record.gram_seconds > 0
        assert record.fit_seconds > 0
        assert record.kernel_seconds == record.fit_seconds + record.gram_seconds


def test_time_limit_stops_the_choice_of_parameters_too(toy):
    results = cross_validate(WeisfeilerLehman(max_depth=2), *toy, time_limit=1e-9, **QUICK)
    assert results.cell("toy", "WeisfeilerLehman").given_up == "out of time"


FOURFOLD = {"n_folds": 4, "n_repeats": 2}


class Density(BaseEstimator):
    """A classifier by the share of node pairs that are edges."""

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
    """A regressor on the number of nodes, which says how sure it is."""

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
    results = cross_validate(["wl", Density()], *toy, **FOURFOLD)
    cell = results.cell("data", "Density")
    assert cell.mean > 0.8
    assert [size for size, _ in Density.seen] == [30] * 8
    assert len({seed for _, seed in Density.seen}) == 2  # reseeded at each repetition
    record = cell.records[0]
    assert record.inner_accuracy is None
    assert record.accuracy == np.mean(np.equal(record.targets, record.predictions))
    assert record.scores["log_loss"] < 1
    assert set(record.scores) == {"log_loss", "balanced_accuracy", "mcc", "roc_auc", "average_precision"}
    assert record.test_indices == results.cell("data", "wl").records[0].test_indices
    assert "Density" in str(results)


def test_a_class_that_does_not_exist_is_refused(toy):
    with pytest.raises(ValueError, match="predicted the class 'medium', which is not one of"):
        cross_validate(Density(says="medium"), *toy, **FOURFOLD)


def test_regression(tmp_path):
    graphs, _ = random_graphs(40)
    y = 2.0 * graphs.node_counts + np.random.default_rng(0).standard_normal(40)
    store = tmp_path / "results.jsonl"
    results = cross_validate([Line(), Mean()], graphs, y, task="regression", store=store, **FOURFOLD)
    line, mean = (results.cell("data", name) for name in ("Line", "Mean"))
    assert line.metric == "rmse"
    assert line.mean < mean.mean
    assert set(line.records[0].scores) == {"rmse", "mae", "r2", "spearman", "nlpd", "coverage"}
    assert set(mean.records[0].scores) == {"rmse", "mae", "r2", "spearman"}
    assert len(line.records[0].deviations) == 10
    assert results.predictions("data", "Line").shape == (2, 40)
    table = str(results)
    assert table.startswith("RMSE")
    assert str(cross_validate([Line(), Mean()], graphs, y, task="regression", store=store, **FOURFOLD)) == table
    assert (
        cross_validate(["stats-rf"], graphs, y, task="regression", **FOURFOLD).cell("data", "stats-rf").mean < mean.mean
    )


def test_regression_needs_regressors_and_numbers(toy):
    graphs, y = toy
    with pytest.raises(
        ValueError, match=r"wl does not predict numbers; regression needs a regressor on graphs: .*stats-rf"
    ):
        cross_validate("wl", graphs, np.arange(40.0), task="regression")
    with pytest.raises(ValueError, match="y must contain finite numbers"):
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
    assert regression_scores(np.ones(3), np.zeros(3), None)["r2"] == 0
    assert regression_scores(np.zeros(2), np.zeros(2), np.zeros(2))["coverage"] == 1


class Foreign(WeisfeilerLehman):
    """A kernel from elsewhere, whose fits we must not add to."""


@pytest.fixture
def fits(monkeypatch):
    """Numbers of graphs of all fits of WeisfeilerLehman."""
    seen = []
    fit_prepare = WeisfeilerLehman.fit_prepare

    def spied(self, X):
        seen.append(len(X))
        return fit_prepare(self, X)

    monkeypatch.setattr(WeisfeilerLehman, "fit_prepare", spied)
    return seen


def test_it_happens_once_and_only_before_something_is_computed(toy, fits, tmp_path):
    store = tmp_path / "results.jsonl"
    for _ in range(2):
        cross_validate("wl", *toy, n_folds=3, n_repeats=2, C=(1.0,), store=store)
        assert fits == [N_GRAPHS, len(toy[1])]


@pytest.mark.parametrize("protocol", ["transductive", "inductive"])
def test_it_changes_no_result(toy, monkeypatch, protocol):
    def predictions():
        results = cross_validate("gs,rwl-star", *toy, n_folds=3, n_repeats=1, C=(1.0,), protocol=protocol)
        return [results.predictions("data", kernel).tolist() for kernel in ("gs", "rwl-star")]

    warm = predictions()
    monkeypatch.setattr("relaxwl.evaluation.protocol.warm_up", lambda *args, **kwargs: None)
    assert predictions() == warm


def test_kernels_from_elsewhere_do_not_take_part(toy, fits):
    warm_up(resolve(Foreign())[0], toy[0], None, unseen=True)
    assert fits == []
    warm_up(resolve(WeisfeilerLehman())[0], toy[0], None, unseen=True)
    assert fits == [N_GRAPHS]


def test_errors_are_for_the_run_that_counts(toy):
    warm_up(resolve(WeisfeilerLehman(max_depth=-1))[0], toy[0], None, unseen=True)


def test_two_threads_leave_the_warnings_of_the_process_alone(toy):
    before = list(warnings.filters)
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(cross_validate, "wl", *toy, n_folds=3, n_repeats=2, C=(1.0,)) for _ in range(6)]
        for run in runs:
            run.result()
    # scikit-learn sets these for a moment when it checks arrays, and two threads at once may leave them behind.
    momentary = {np.exceptions.ComplexWarning, np.exceptions.VisibleDeprecationWarning}
    assert {filtered[2] for filtered in set(warnings.filters) - set(before)} <= momentary
    assert set(before) <= set(warnings.filters)


def test_nothing_touches_the_warning_filters():
    """They belong to the process: changing them, even for a moment, takes warnings from other threads."""
    touching = re.compile(r"catch_warnings|simplefilter|filterwarnings")
    rooms = [Path(relaxwl.__file__).parent / room for room in ("evaluation", "kernels", "learning")]
    found = [path for room in rooms for path in room.rglob("*.py") if touching.search(path.read_text("utf-8"))]
    assert found == []


# -------- which kernels an argument means, and what identifies them


def of(kernel, name=None):
    return identity(resolve(kernel if name is None else {name: kernel})[0])


def plain(**parameters):
    return of(WeisfeilerLehman(**parameters))


def relaxed(name=None, **parameters):
    return of(optimized(**parameters), name)


def test_identity_is_that_of_the_kernel_not_of_its_means():
    assert plain() == plain(n_jobs=2) == plain(verbose=1)
    assert plain() != plain(max_depth=2)
    assert relaxed() == relaxed(random_state=3)
    assert plain(depth_weights=np.ones(5)) == plain(depth_weights=np.ones(5))
    assert plain(depth_weights=np.ones(5)) != plain(depth_weights=np.arange(5.0))
    assert plain() == of(WeisfeilerLehman(), "named")  # plain data need no name


def test_the_choice_belongs_to_the_identity():
    assert identity(resolve("wl")[0]) != identity(resolve("wl", (1, 2))[0])
    assert (
        len({identity(entry) for entry in resolve("ve-hist,wl,gs,sp,wwl,pwl,wl-oa,rwl,rwl-star,gwl,gwl-oa,auto")}) == 12
    )


def test_estimators_are_cloned_and_given_threads_and_seeds():
    kernel = optimized()
    [variant] = resolve(kernel)[0].variants(7, 3)
    assert variant.parameters == {}
    assert variant.estimator is not kernel
    assert (variant.estimator.n_jobs, variant.estimator.random_state) == (3, 7)
    assert (kernel.n_jobs, kernel.random_state) == (None, None)
    assert variant.settings == tuple({"max_depth": depth} for depth in range(5))
    [own] = resolve(WeisfeilerLehman(n_jobs=1))[0].variants(7, 3)
    assert own.estimator.n_jobs == 1


def test_names_must_be_told_apart():
    with pytest.raises(ValueError, match="two kernels are called 'WeisfeilerLehman'"):
        resolve([WeisfeilerLehman(), WeisfeilerLehman(max_depth=1)])
    assert [c.name for c in resolve({"a": WeisfeilerLehman(), "b": WeisfeilerLehman(max_depth=1)})] == ["a", "b"]


def test_what_is_no_kernel_is_refused():
    for wrong in ([3], WeisfeilerLehman):
        with pytest.raises(TypeError, match="names, GraphKernel estimators or predictors"):
            resolve(wrong)
    with pytest.raises(ValueError, match="kernels is empty"):
        resolve([])


def test_names_are_those_of_the_registry():
    estimators = resolve("wl, rwl-star,pwl")
    assert [(c.name, c.title) for c in estimators] == [("wl", "WL"), ("rwl-star", "R-WL*"), ("pwl", "PWL")]
    with pytest.raises(ValueError, match="there is no kernel 'xl'"):
        resolve("xl")


def test_names_can_be_written_everywhere():
    [entry] = resolve({"caf\udce9": WeisfeilerLehman()})
    assert entry.name == entry.title == r"caf\udce9"


def test_data_are_told_apart_by_content():
    cheap, dear = np.full((3, 3), 1.0) - np.eye(3), np.full((3, 3), 2.0) - 2 * np.eye(3)
    assert relaxed(cost=EditCost.from_matrix("ab", cheap)) == relaxed(cost=EditCost.from_matrix("ab", cheap))
    assert relaxed(cost=EditCost.from_matrix("ab", cheap)) != relaxed(cost=EditCost.from_matrix("ab", dear))
    assert relaxed(n_clusters=[2.0, "sqrt"]) != relaxed(n_clusters=["sqrt", 2.0])
    assert relaxed(partitioner=KMedoidsPartitioner()) == relaxed(partitioner=KMedoidsPartitioner())
    assert relaxed(partitioner=RadiusPartitioner(1.0)) != relaxed(partitioner=RadiusPartitioner(2.0))


class Rule:
    """A partitioner, or a rule for the number of groups, as users write them."""

    def fit(self, rows, ground, rng):
        return self

    def __call__(self, n):
        return n // 2


CODE = {
    "function": {"n_clusters": lambda n: n // 2},
    "in a list": {"n_clusters": [2.0, lambda n: n // 2]},
    "partial": {"n_clusters": functools.partial(max, 3)},
    "object": {"n_clusters": Rule()},
    "partitioner": {"partitioner": Rule()},
    "cost": {"cost": EditCost.from_callable(lambda a, b: 1.0 * (a != b))},
}


@pytest.mark.parametrize("parameters", CODE.values(), ids=CODE)
def test_code_is_known_by_the_name_that_the_user_gives(parameters, tmp_path, toy):
    kernel = optimized(**parameters)
    assert relaxed("a", **parameters) == relaxed("a", **parameters)
    assert relaxed("a", **parameters) != relaxed("b", **parameters)
    identity(resolve({"a": kernel})[0])
    with pytest.raises(ValueError, match="a parameter of RelaxedWeisfeilerLehman is code"):
        cross_validate(kernel, *toy, store=tmp_path / "results.jsonl")


def test_without_a_store_code_needs_no_name(toy):
    kernel = optimized(max_depth=1, n_clusters=lambda n: 2)
    assert len(cross_validate(kernel, *toy, n_folds=2, n_repeats=1, C=(1.0,)).folds) == 2


@pytest.mark.slow
def test_identity_is_the_same_in_another_process():
    program = """
from relaxwl import EditCost, RelaxedWeisfeilerLehman
from relaxwl.evaluation.selection import identity, resolve
kernel = RelaxedWeisfeilerLehman(n_clusters=lambda n: 3, cost=EditCost(2.0))
print(*[identity(entry) for entry in [*resolve("wl,rwl-star,auto"), *resolve({"mine": kernel})]])
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, timeout=120, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1
