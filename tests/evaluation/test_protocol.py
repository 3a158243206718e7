"""Nested cross-validation: folds, leakage, reproducibility, interruption."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from platforms import posix
from relaxwl.evaluation import ResultStore, cross_validate, results_table
from relaxwl.evaluation.folds import Split, checked_settings, kernel_seed, outer_splits
from relaxwl.evaluation.progress import Meter
from relaxwl.evaluation.records import GivenUp
from relaxwl.evaluation.selection import Candidate, FittedVariant, Selection
from relaxwl.graphs import GraphCollection
from relaxwl.kernels import WeisfeilerLehman
from relaxwl.kernels.base import GraphKernel
from relaxwl.kernels.limits import TimeLimitReached
from relaxwl.learning.svm import training_scale

QUICK = {"n_folds": 4, "n_repeats": 2, "C": (0.125, 8.0), "dataset": "toy"}
TIMES = {"fit_seconds", "gram_seconds", "transform_seconds", "svm_seconds"}
NOT_COMPARED = {*TIMES, "peak_memory_mb", "finished_at", "n_jobs"}


def comparable(results):
    """What two runs must agree on: everything but times."""
    return [{name: v for name, v in vars(record).items() if name not in NOT_COMPARED} for record in results.folds]


class Spy(GraphKernel):
    """A kernel that writes down which graphs it met; each graph is told apart by its number of vertices."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y=None):
        Spy.seen.append(("fit", X.node_counts.tolist(), y))
        return self

    def kernel_matrix(self, X, Y=None):
        if Y is not None:
            Spy.seen.append(("between", X.node_counts.tolist(), Y.node_counts.tolist()))
        a, b = X.node_counts, X.node_counts if Y is None else Y.node_counts
        return np.minimum(a[:, None], b).astype(float)


class Noise(GraphKernel):
    """A kernel that depends on its seed alone, to see seeds arrive."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        return self

    def kernel_matrix(self, X, Y=None):
        features = np.random.default_rng(self.random_state).standard_normal((len(X), 3))
        return features @ features.T


class Cheat(GraphKernel):
    """A kernel that was told the classes of all graphs, behind the protocol's back."""

    def __init__(self, classes=None):
        self.classes = classes

    def fit(self, X, y=None):
        return self

    def kernel_matrix(self, X, Y=None):
        codes = np.unique(self.classes, return_inverse=True)[1]
        return (codes[:, None] == codes).astype(float)


class Slow(GraphKernel):
    """A kernel that never gets ready in time."""

    def fit(self, X, y=None):
        raise TimeLimitReached("the time limit of 1 seconds was reached")


class Huge(GraphKernel):
    """A kernel that needs more memory than there is."""

    def fit(self, X, y=None):
        raise MemoryError("this needs 10 TB")


class Broken(GraphKernel):
    def fit(self, X, y=None):
        return self

    def kernel_matrix(self, X, Y=None):
        return np.full((len(X), len(X)), np.nan)


@pytest.fixture
def distinct_sizes():
    """Graphs that their number of vertices identifies."""
    graphs = GraphCollection.from_edges([(n, [(0, 1)]) for n in range(2, 26)])
    return graphs, np.arange(24) % 2


@pytest.fixture
def spy():
    Spy.seen = []
    return Spy()


# ------------------------------------------------------------------------------------------------ folds


def test_folds_are_stratified_disjoint_and_differ_between_repetitions(toy):
    _, y = toy
    codes = np.unique(y, return_inverse=True)[1]
    settings = checked_settings("transductive", 4, 3, (1.0,), None, 0)
    first, second = (outer_splits(codes, settings, repetition) for repetition in (0, 1))
    assert sorted(np.concatenate([split.test for split in first]).tolist()) == list(range(40))
    assert any((a.test != b.test).any() for a, b in zip(first, second, strict=True))
    for split in first:
        assert not set(split.train) & set(split.test)
        assert np.bincount(codes[split.test]).tolist() == [5, 5]
        for fit, held_out in split.inner:
            assert sorted([*fit, *held_out]) == split.train.tolist()


def test_seeds_of_repetitions_differ():
    assert len({kernel_seed(seed, repetition) for seed in range(3) for repetition in range(5)}) == 15


# ------------------------------------------------------------------------------------------------ leakage


def test_inductive_kernels_see_training_graphs_only(distinct_sizes, spy):
    graphs, y = distinct_sizes
    results = cross_validate(spy, graphs, y, protocol="inductive", **QUICK | {"n_repeats": 1})
    sizes = graphs.node_counts
    fits = [seen for seen in Spy.seen if seen[0] == "fit"]
    betweens = [seen for seen in Spy.seen if seen[0] == "between"]
    assert len(fits) == len(betweens) == 4
    for record, (_, fitted, classes), (_, unseen, training) in zip(results.folds, fits, betweens, strict=True):
        test = sizes[record.test_indices].tolist()
        assert classes is None
        assert unseen == test
        assert fitted == training == [size for size in sizes.tolist() if size not in test]


def test_transductive_kernels_see_all_graphs_once_and_no_class(distinct_sizes, spy):
    graphs, y = distinct_sizes
    cross_validate(spy, graphs, y, **QUICK)
    # The kernel has no seed, so the second repetition takes over its matrix.
    assert Spy.seen == [("fit", graphs.node_counts.tolist(), None)]


@pytest.mark.parametrize("protocol", ["transductive", "inductive"])
def test_classes_of_test_graphs_change_nothing_but_the_score(toy, protocol, monkeypatch):
    """Flip the test classes of a fold behind the folds' back: choice and predictions stay, the accuracy is mirrored."""
    graphs, y = toy
    settings = QUICK | {"n_repeats": 1, "protocol": protocol, "inner_folds": 2}
    before = cross_validate(WeisfeilerLehman(max_depth=2), graphs, y, **settings).folds[0]
    codes = np.unique(y, return_inverse=True)[1]
    splits = outer_splits(codes, checked_settings(protocol, 4, 2, (0.125, 8.0), None, 0), 0)
    flipped = y.copy()
    flipped[before.test_indices] = np.where(y[before.test_indices] == "dense", "sparse", "dense")
    monkeypatch.setattr("relaxwl.evaluation.protocol.outer_splits", lambda *_: splits)
    after = cross_validate(WeisfeilerLehman(max_depth=2), graphs, flipped, **settings).folds[0]
    assert after.test_indices == before.test_indices
    assert after.predictions == before.predictions
    assert (after.parameters, after.inner_accuracy) == (before.parameters, before.inner_accuracy)
    assert after.accuracy == pytest.approx(1 - before.accuracy)


@pytest.mark.parametrize("protocol", ["transductive", "inductive"])
def test_shuffled_classes_give_chance(toy, protocol):
    graphs, y = toy
    kernel = WeisfeilerLehman(max_depth=3)
    means = []
    for seed in range(4):
        shuffled = np.random.default_rng(seed).permutation(y)
        results = cross_validate(kernel, graphs, shuffled, protocol=protocol, **QUICK)
        means.append(results.cell("toy", "WeisfeilerLehman").mean)
    # 40 graphs, 4 shuffles: the mean has a standard deviation of about 0.04, stratified folds pull it down a little.
    assert 0.32 < np.mean(means) < 0.65


def test_the_test_with_shuffled_classes_catches_a_kernel_that_knows_them(toy):
    graphs, y = toy
    shuffled = np.random.default_rng(0).permutation(y)
    assert cross_validate(Cheat(shuffled), graphs, shuffled, **QUICK).cell("toy", "Cheat").mean > 0.9


def test_real_classes_give_more_than_chance(toy):
    results = cross_validate(WeisfeilerLehman(max_depth=1), *toy, **QUICK)
    assert results.cell("toy", "WeisfeilerLehman").mean > 0.75


# ------------------------------------------------------------------------------------------------ the numbers


def test_a_fold_is_reproducible_from_its_record(toy):
    """Repeat a fold by hand, from nothing but its record and the data."""
    graphs, y = toy
    record = cross_validate(WeisfeilerLehman(max_depth=2), graphs, y, **QUICK).folds[5]
    depth, C = record.parameters["max_depth"], record.parameters["C"]
    gram = WeisfeilerLehman(max_depth=depth).fit_kernel_matrix(graphs)
    test = np.array(record.test_indices)
    train = np.setdiff1d(np.arange(len(y)), test)
    scale = training_scale(gram.diagonal()[train])
    machine = SVC(kernel="precomputed", C=C, max_iter=10**6).fit(gram[np.ix_(train, train)] * scale, y[train])
    assert machine.predict(gram[np.ix_(test, train)] * scale).tolist() == record.predictions
    assert np.mean(np.array(record.predictions) == y[test]) == record.accuracy
    assert record.targets == y[test].tolist()


def test_both_protocols_agree_for_a_kernel_that_learns_nothing(distinct_sizes):
    graphs, y = distinct_sizes
    folds = [cross_validate(Spy(), graphs, y, protocol=p, **QUICK).folds for p in ("transductive", "inductive")]
    assert [r.predictions for r in folds[0]] == [r.predictions for r in folds[1]]
    assert [r.inner_accuracy for r in folds[0]] == [r.inner_accuracy for r in folds[1]]


@pytest.mark.parametrize("protocol", ["transductive", "inductive"])
def test_threads_change_nothing(toy, protocol):
    kernels = {"wl": WeisfeilerLehman(max_depth=2), "noise": Noise()}
    if protocol == "inductive":
        del kernels["noise"]
    one, three = (cross_validate(kernels, *toy, protocol=protocol, n_jobs=n, **QUICK) for n in (1, 3))
    assert comparable(one) == comparable(three)


def test_kernels_are_reseeded_at_each_repetition_and_share_folds(toy):
    results = cross_validate({"a": Noise(), "b": Noise(random_state=5)}, *toy, **QUICK)
    a, b = ([r for r in results.folds if r.key.kernel == name] for name in "ab")
    assert [r.test_indices for r in a] == [r.test_indices for r in b]
    assert [r.predictions for r in a] == [r.predictions for r in b]
    assert len({r.kernel_seed for r in a}) == 2


@pytest.mark.parametrize("protocol", ["transductive", "inductive"])
def test_the_seed_of_a_record_is_the_one_that_its_kernel_got(toy, protocol, monkeypatch):
    """Each repetition has a seed of its own: a kernel that kept the first one would be fitted to the same answer."""
    seeds = []
    monkeypatch.setattr(Noise, "fit", lambda self, X, y=None: seeds.append(self.random_state) or self)
    monkeypatch.setattr(Noise, "kernel_matrix", lambda self, X, Y=None: np.ones((len(X), len(X if Y is None else Y))))
    results = cross_validate(Noise(), *toy, protocol=protocol, **QUICK)
    recorded = [record.kernel_seed for record in results.folds]
    assert len(set(recorded)) == 2
    assert seeds == (recorded if protocol == "inductive" else list(dict.fromkeys(recorded)))


def test_of_equal_variants_the_first_wins():
    gram = np.diag(np.ones(12)) + np.equal.outer(np.arange(12) % 2, np.arange(12) % 2)
    y = np.arange(12) % 2
    train, test = np.arange(8), np.arange(8, 12)
    split = Split(train, test, ((train[:4], train[4:]), (train[4:], train[:4])))
    blind = np.ones((12, 12))
    selection = Selection([split], y, (1.0, 2.0), 1)
    share = Meter(None, "data", 1).start("kernel", 0, 1)
    for name, matrix in (("blind", blind), ("first", gram), ("equal", gram), ("worse", blind)):
        selection.enter(FittedVariant(None, None, [Candidate({"name": name}, matrix)], 0.0, 0.0), share)
    assert selection.choices[0].parameters == {"name": "first", "C": 1.0}
    assert selection.choices[0].n_candidates == 4
    assert selection.choices[0].offered == {"name": ["blind", "first", "equal", "worse"], "C": [1.0, 2.0]}


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


def test_out_of_fold_predictions_cover_every_graph(toy):
    graphs, y = toy
    results = cross_validate(WeisfeilerLehman(max_depth=1), graphs, y, **QUICK)
    predictions = results.predictions("toy", "WeisfeilerLehman")
    assert predictions.shape == (2, 40)
    assert np.mean(predictions == y, axis=1) == pytest.approx(results.cell("toy", "WeisfeilerLehman").accuracies)


@pytest.mark.parametrize("kernel", ["wl", "wwl", "ve-hist", "rwl-star"])
def test_gram_matrices_are_timed_apart_from_the_fit(toy, kernel):
    for record in cross_validate(kernel, *toy, n_folds=3, n_repeats=1, inner_folds=2).folds:
        assert record.gram_seconds > 0
        assert record.fit_seconds > 0
        assert record.kernel_seconds == record.fit_seconds + record.gram_seconds


def test_progress_ends_at_the_total_and_never_goes_back(toy):
    events = []
    cross_validate({"a": WeisfeilerLehman(max_depth=1), "b": Slow()}, *toy, progress=events.append, n_jobs=2, **QUICK)
    done = [event.done for event in events]
    assert done == sorted(done)
    assert done[-1] == events[-1].total == 16
    assert {"fitting", "choosing", "done", "out of time"} <= {event.description for event in events}


# ------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"protocol": "magic"}, "protocol must be one of transductive, inductive"),
        ({"n_folds": 1}, "n_folds must be an integer >= 2"),
        ({"n_repeats": 0}, "n_repeats must be an integer >= 1"),
        ({"C": ()}, "C must be finite numbers > 0"),
        ({"C": (1, -1)}, "C must be finite numbers > 0"),
        ({"random_state": None}, "random_state must be an integer"),
        ({"n_folds": 30}, "class dense has 20 graphs: too few for n_folds=30"),
        ({"depths": [7, 8]}, r"depths 7, 8 were asked for, but the kernel WeisfeilerLehman offers 0, 1"),
        ({"time_limit": 0}, "time_limit must be a number of seconds > 0"),
    ],
)
def test_bad_settings_are_named(toy, change, words):
    with pytest.raises(ValueError, match=words):
        cross_validate(WeisfeilerLehman(max_depth=1), *toy, **QUICK | change)


def test_depths_and_names_are_checked_before_the_data():
    with pytest.raises(ValueError, match="depths 9 were asked for, but the kernel wl offers 1, 2, 3, 4, 5"):
        cross_validate(["ve-hist", "wl"], None, None, depths=[9])
    with pytest.raises(ValueError, match="two kernels are called 'wl'"):
        cross_validate(["wl", "wl"], None, None)


def test_bad_data_is_named(toy):
    graphs, y = toy
    with pytest.raises(ValueError, match="one class for each of the 40 graphs"):
        cross_validate(WeisfeilerLehman(), graphs, y[:-1])
    with pytest.raises(ValueError, match="single class"):
        cross_validate(WeisfeilerLehman(), graphs, ["a"] * 40)
    with pytest.raises(ValueError, match="no finite square Gram matrix"):
        cross_validate(Broken(), graphs, y, **QUICK)


# ------------------------------------------------------------------------------------------------ the store


def test_a_second_run_computes_nothing(toy, tmp_path, spy):
    store = tmp_path / "results.jsonl"
    first = cross_validate(spy, *toy, store=store, **QUICK)
    content = store.read_bytes()
    Spy.seen.clear()
    again = cross_validate(spy, *toy, store=store, **QUICK)
    assert Spy.seen == []
    assert store.read_bytes() == content
    assert comparable(first) == comparable(again)
    assert str(first) == str(again)
    assert len(again.sketches) == len(first.sketches) == 1
    assert again.dataset_records == first.dataset_records


def test_more_repetitions_continue_and_fewer_are_selected(toy, tmp_path):
    store = tmp_path / "results.jsonl"
    kernel = WeisfeilerLehman(max_depth=1)
    one = cross_validate(kernel, *toy, store=store, **QUICK | {"n_repeats": 1})
    two = cross_validate(kernel, *toy, store=store, **QUICK)
    assert comparable(two)[:4] == comparable(one)
    assert comparable(cross_validate(kernel, *toy, store=store, **QUICK | {"n_repeats": 1})) == comparable(one)
    assert comparable(two) == comparable(cross_validate(kernel, *toy, **QUICK))


@pytest.mark.parametrize(
    "change", [{"random_state": 1}, {"n_folds": 5}, {"C": (1.0,)}, {"protocol": "inductive"}, {"depths": (1,)}]
)
def test_other_settings_do_not_reuse_records(toy, tmp_path, change):
    store = tmp_path / "results.jsonl"
    kernel = WeisfeilerLehman(max_depth=1)
    cross_validate(kernel, *toy, store=store, **QUICK)
    changed = cross_validate(kernel, *toy, store=store, **QUICK | change)
    assert comparable(changed) == comparable(cross_validate(kernel, *toy, **QUICK | change))
    both = ResultStore(store).load()
    assert len(both.split()) == 2
    with pytest.raises(ValueError, match="2 runs"):
        results_table(both)


def test_other_classes_and_other_kernel_parameters_do_not_reuse_records(toy, tmp_path):
    graphs, y = toy
    store = tmp_path / "results.jsonl"
    for kernel, classes in [(WeisfeilerLehman(max_depth=1), y), (WeisfeilerLehman(max_depth=2), y)]:
        cross_validate(kernel, graphs, classes, store=store, **QUICK)
    cross_validate(WeisfeilerLehman(max_depth=1), graphs, y[::-1], store=store, **QUICK)
    loaded = ResultStore(store).load()
    assert len({record.key for record in loaded.folds}) == 3
    assert [len(part.folds) for part in loaded.split()] == [8, 8, 8]
    with pytest.raises(ValueError, match="runs that differ"):
        loaded.cell("toy", "WeisfeilerLehman")


def test_out_of_time_is_recorded_and_tried_again_with_more_time(toy, tmp_path):
    store = tmp_path / "results.jsonl"
    kernels = {"wl": WeisfeilerLehman(max_depth=1), "slow": Slow()}
    results = cross_validate(kernels, *toy, store=store, time_limit=60.0, **QUICK)
    assert results.cell("toy", "slow").given_up == "out of time"
    assert results.cell("toy", "wl").finished
    assert "–" in str(results)
    n_lines = len(store.read_bytes().splitlines())
    events = []
    again = cross_validate(kernels, *toy, store=store, time_limit=30.0, progress=events.append, **QUICK)
    assert events[-1].done == events[-1].total
    assert str(again) == str(results)
    assert len(store.read_bytes().splitlines()) == n_lines
    cross_validate(kernels, *toy, store=store, time_limit=90.0, **QUICK)
    limits = [record.time_limit for record in ResultStore(store).load() if isinstance(record, GivenUp)]
    assert limits == [60.0, 90.0]


def test_out_of_memory_is_recorded_and_the_others_go_on(toy):
    results = cross_validate({"huge": Huge(), "wl": WeisfeilerLehman(max_depth=1)}, *toy, **QUICK)
    assert results.cell("toy", "huge").given_up == "out of memory"
    assert results.cell("toy", "wl").finished
    assert "× out of memory" in str(results)


def test_a_refusal_for_lack_of_memory_is_out_of_memory(toy, monkeypatch):
    monkeypatch.setattr("relaxwl._memory.physical_memory", lambda: 1.0)
    results = cross_validate("rwl,wl", *toy, **QUICK)
    assert results.cell("toy", "R-WL").given_up == "out of memory"
    assert results.cell("toy", "WL").finished


@pytest.mark.parametrize("values", [np.arange(40), np.arange(40) / 7, np.arange(40) // 3 + 0.5])
def test_continuous_y_is_named_as_such(toy, values):
    graphs = toy[0][:40]
    with pytest.raises(ValueError, match=rf"y looks continuous \({len(np.unique(values))} distinct values\)"):
        cross_validate("wl", graphs, values, **QUICK)


def test_a_small_class_is_not_called_continuous(toy):
    values = np.where(np.arange(40) < 2, 0.5, 1.5)
    with pytest.raises(ValueError, match=r"class 0\.5 has 2 graphs"):
        cross_validate("wl", toy[0][:40], values, **QUICK)


def test_time_limit_stops_the_choice_of_parameters_too(toy):
    results = cross_validate(WeisfeilerLehman(max_depth=2), *toy, time_limit=1e-9, **QUICK)
    assert results.cell("toy", "WeisfeilerLehman").given_up == "out of time"


@posix
@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["transductive", "inductive"])
def test_a_killed_run_resumes_to_the_same_table(tmp_path, protocol):
    """Kill a run in the middle, from outside and without warning, then let it finish."""
    script = Path(__file__).with_name("interrupted_run.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed, whole = tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
    command = [sys.executable, str(script), protocol]
    # The script waits for ever after this many records, so it is killed in mid-run on any machine.
    with subprocess.Popen([*command, str(killed), "6"], env=environment) as process:
        deadline = time.monotonic() + 240
        while process.poll() is None and time.monotonic() < deadline:
            if killed.exists() and killed.read_bytes().count(b'"type":"fold"') >= 6:
                break
            time.sleep(0.01)
        process.kill()  # also when it was too slow: else we would wait as long as it waits
    n_before = len(ResultStore(killed).load().folds)
    assert 6 <= n_before < 24
    for path in (killed, whole):
        subprocess.run([*command, str(path), "0"], env=environment, check=True, timeout=240)
    resumed, uninterrupted = ResultStore(killed).load(), ResultStore(whole).load()
    assert comparable(resumed) == comparable(uninterrupted)
    assert str(resumed) == str(uninterrupted)
