"""What a record says, and when it is taken for what would be computed."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.svm import SVC

from evaluation.toy_kernels import QUICK, Huge, Noise, Slow, Spy, comparable
from relaxwl.evaluation import ResultStore, cross_validate, results_table
from relaxwl.evaluation.protocol import SKETCH_SIDE, kernel_pca, sketch_gram
from relaxwl.evaluation.records import FailedRun
from relaxwl.kernels import WeisfeilerLehman
from relaxwl.learning.svm import training_scale


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
    again = cross_validate(kernels, *toy, store=store, time_limit=30.0, **QUICK)
    assert str(again) == str(results)
    assert len(store.read_bytes().splitlines()) == n_lines
    cross_validate(kernels, *toy, store=store, time_limit=90.0, **QUICK)
    limits = [record.time_limit for record in ResultStore(store).load() if isinstance(record, FailedRun)]
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


def gram_of(n, seed=0):
    features = np.random.default_rng(seed).random((n, 6))
    return features @ features.T


@pytest.mark.parametrize("n", [3, 7, 50])
def test_kernel_pca_is_that_of_scikit_learn_up_to_sign(n):
    gram = gram_of(n)
    points, shares = kernel_pca(gram)
    expected = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit_transform(gram)
    assert np.abs(points) == pytest.approx(np.abs(expected), abs=1e-6)
    assert 0 < shares[1] <= shares[0] <= 1


def test_kernel_pca_of_identical_graphs():
    points, shares = kernel_pca(np.ones((12, 12)))
    assert np.abs(points).max() < 1e-6
    assert shares.tolist() == [0, 0]


def test_blocks_are_sorted_by_class():
    y = np.arange(200) % 2
    gram = np.where(y[:, None] == y, 1.0, 0.2)
    np.fill_diagonal(gram, 1.0)
    sketch = sketch_gram(gram, y, ["even", "odd"])
    blocks = np.array(sketch["blocks"])
    assert blocks.shape == (SKETCH_SIDE, SKETCH_SIDE)
    half = SKETCH_SIDE // 2
    assert (blocks[:half, :half] == 255).all()
    assert (blocks[:half, half:] == 0).all()
    assert sketch["class_ends"] == [0.5, 1.0]
    assert len(sketch["coordinates"]) == 200
