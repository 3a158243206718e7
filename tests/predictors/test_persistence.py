import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from kernels.models import opened, written
from relaxwl import GraphClassifier, GraphRegressor, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.datasets import make_egonets
from relaxwl.kernels.persistence import ModelFileError
from relaxwl.learning.gaussian_process import GaussianProcess
from small_graphs import BONDS, collection, random_graphs, with_attributes

GRAPHS, Y = make_egonets(32, level=1, n_nodes=(24, 36), random_state=0)
EXTRA = np.random.default_rng(0).normal(size=(32, 2))
CLASSIFIER = GraphClassifier(effort="quick", random_state=0)
REGRESSOR = GraphRegressor(effort="quick", random_state=0)


@pytest.mark.parametrize("extra", [None, EXTRA], ids=["graphs", "vectors too"])
@pytest.mark.parametrize("many", [False, True], ids=["kernels", "linear"])
def test_a_classifier_comes_back_as_it_was(tmp_path, monkeypatch, extra, many):
    if many:
        monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 3)
    names = np.array(["a", "b", "c", "d"])[Y]
    model = clone(CLASSIFIER).fit(GRAPHS, names, extra=extra)
    model.save(tmp_path / "model.rwl")
    again = GraphClassifier.load(tmp_path / "model.rwl")
    np.testing.assert_array_equal(again.predict_proba(GRAPHS, extra), model.predict_proba(GRAPHS, extra))
    np.testing.assert_array_equal(again.predict(GRAPHS, extra), model.predict(GRAPHS, extra))
    np.testing.assert_array_equal(again.novelty(GRAPHS, extra), model.novelty(GRAPHS, extra))
    assert again.report_ == model.report_
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize("many", [False, True], ids=["kernels", "linear"])
def test_a_regressor_comes_back_as_it_was(tmp_path, monkeypatch, many):
    if many:
        monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 3)
    model = clone(REGRESSOR).fit(GRAPHS, EXTRA[:, 0], extra=EXTRA)
    model.save(tmp_path / "model.rwl")
    again = GraphRegressor.load(tmp_path / "model.rwl")
    np.testing.assert_array_equal(again.predict(GRAPHS, extra=EXTRA), model.predict(GRAPHS, extra=EXTRA))
    # The covariance is not in the file, and is factored again when a deviation is asked for.
    deviations = [one.predict(GRAPHS, True, EXTRA)[1] for one in (model, again)]
    np.testing.assert_allclose(*deviations, rtol=1e-6)


def test_labels_edge_labels_attributes_and_paths(tmp_path):
    for graphs in (collection(random_graphs(12, bonds=BONDS)), with_attributes(random_graphs(12))):
        model = GraphClassifier(random_state=0).fit(graphs, np.arange(12) % 2)
        model.save(tmp_path / "model.rwl")
        again = GraphClassifier.load(tmp_path / "model.rwl")
        np.testing.assert_array_equal(again.predict_proba(graphs), model.predict_proba(graphs))


def test_the_wrong_class_is_named(tmp_path):
    clone(CLASSIFIER).fit(GRAPHS, Y).save(tmp_path / "model.rwl")
    with pytest.raises(ValueError, match="holds a GraphClassifier"):
        GraphRegressor.load(tmp_path / "model.rwl")
    (tmp_path / "model.rwl").write_bytes(b"no model")
    with pytest.raises(ModelFileError):
        GraphClassifier.load(tmp_path / "model.rwl")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the files of some predictors, by name."""
    path = tmp_path_factory.mktemp("saved") / "model.rwl"
    models = {
        "classifier": (clone(CLASSIFIER), Y, None),
        "regressor": (clone(REGRESSOR), EXTRA[:, 0], EXTRA),
        "targets": (clone(REGRESSOR), EXTRA, None),
        "classes": (clone(CLASSIFIER), np.column_stack([Y, Y]), None),
        "linear": (clone(CLASSIFIER), Y, EXTRA),
        "linear regressor": (clone(REGRESSOR), EXTRA[:, 0], None),
    }
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, (model, y, extra) in models.items():
            if name == "linear":  # and those after it
                patch.setattr("relaxwl.predictors.base.LINEAR_FROM", 3)
            model.fit(GRAPHS, y, extra=extra).save(path)
            found[name] = path.read_bytes()
    return found


def changed(value):
    """Return a function that changes the item at a place of a tree."""
    return lambda items, key, arrays: items.__setitem__(key, value)


def array(change):
    """Return a function that changes the array that a place of a tree leads to."""

    def apply(items, key, arrays):
        number = len(arrays)
        arrays.append(np.asarray(change(arrays[items[key]["array"]])))
        items[key] = {"array": number}

    return apply


SVM, PROCESS = ["_heads", "list", 0, "state"], ["_heads", "list", 0, "state", "process", "state"]
BLOCKS = ["_blocks", "state"]
VIEW = [*BLOCKS, "views", "list", 0, "state"]
COUNTS = [*VIEW, "training", "list", 0, "state"]
LAST = [*BLOCKS, "views", "list", -1, "state"]


@pytest.mark.parametrize(
    ("name", "place", "change", "message"),
    [
        ("classifier", [*COUNTS, "data"], array(lambda data: data * 0 + 1e308), "data must contain numbers up to"),
        ("classifier", ["classes_"], changed({"list": [0, 1]}), "classes"),
        ("classifier", ["classes_"], array(lambda c: c[::-1]), "different classes, in order"),
        ("classifier", ["classes_"], array(lambda c: c[:2]), "must be one of 2 classes"),
        ("classes", ["classes_", "list", 1], array(lambda c: c[:1]), "must be one of 1 classes"),
        ("classifier", ["classes_"], array(lambda c: np.where(c, c, np.nan)), "different classes"),
        ("classifier", ["classes_"], array(lambda c: np.arange(1001)), "2 to 1000 classes"),
        ("classifier", ["_novelty", "state", "reference"], array(lambda r: np.arange(9.0)[::-1]), "must ascend"),
        ("classifier", ["report_", "state", "score"], changed("x"), "score must be a finite number"),
        ("regressor", ["report_"], changed({"object": "FitReports", "number": 10**6, "state":
            {"names": {"tuple": []}, "reports": {"tuple": []}}}), "a report for each head"),
        ("targets", ["report_", "state", "names", "tuple"], changed(["x"]), "a name for each report"),
        ("targets", ["report_", "state", "reports", "tuple"], changed([]), "a name for each report"),
        ("regressor", ["kernel_weights_"], changed(None), "kernel_weights_ must be there"),
        ("regressor", ["kernel_weights_"], changed({"dict": {"x": 1.0}}), "must be those of the blocks"),
        ("regressor", ["kernel_weights_"], changed({"dict": {"extra": 1e308}}), "must be a finite number from 0"),
        ("regressor", [*PROCESS, "noise_"], changed(1e308), "noise_ must be a finite number from 0 to 1e.140"),
        ("regressor", [*LAST, "training"], array(lambda table: table * 0 + 1e308), "training must contain numbers up"),
        ("linear regressor", [*SVM, "deviation"], changed(1e308), "deviation must be a finite number from 0"),
        ("classifier", ["report_", "state", "tried"], changed({"tuple": [1]}), "must be a Trial"),
        ("classifier", [*BLOCKS, "scales", "list", 0, "list", 0], changed(float("nan")), "must be a finite number"),
        ("classifier", [*BLOCKS, "scales", "list", 0, "list", 0], changed(-1.0), "must be a finite number"),
        ("classifier", [*BLOCKS, "scales", "list", 0, "list", 0], changed(10**400), "must be a finite number"),
        ("classifier", [*BLOCKS, "scales", "list", 0, "list"], changed([1.0]), "a scale for each similarity"),
        ("classifier", [*BLOCKS, "scales"], changed({"list": []}), "scales for each view"),
        ("classifier", [*BLOCKS, "views"], changed({"list": []}), "views must be a list of 1 to"),
        ("classifier", [*VIEW, "settings", "tuple", 0], changed({"dict": {"decay": -1}}), "decay must be"),
        ("classifier", [*VIEW, "settings", "tuple", 0], changed({"dict": {"similarity": "x"}}), "similarity must be"),
        ("classifier", [*VIEW, "settings", "tuple", 0], changed({"dict": {"max_depth": 99}}), "max_depth must be"),
        ("classifier", [*VIEW, "blocks", "tuple"], changed(["exact"]), "a block for each"),
        ("classifier", [*VIEW, "training"], changed(None), "must have objects"),
        ("classifier", [*COUNTS, "data"], array(lambda data: -data), "data must contain numbers from 0 on"),
        ("classifier", [*COUNTS, "data"], array(lambda data: data.astype(np.float32)), "array of float64"),
        ("classifier", [*COUNTS, "indices"], array(lambda indices: indices + 10**6), "complete model"),
        # SciPy took it, and ended the process in the first product.
        ("classifier", [*COUNTS, "indptr"], array(lambda indptr: np.append(indptr[:-1], indptr[:1])), "must ascend"),
        ("classifier", ["target_names_", "list"], changed(["y", "y"]), "a name for each target"),
        ("classifier", ["report_", "state", "tried"], changed({"tuple": []}), "tried must be a tuple of 1 to"),
        ("classifier", [*COUNTS, "unknown_squares"], array(lambda u: u - 1), "unknown_squares must contain"),
        ("classifier", [*COUNTS, "unknown_sums"], array(lambda u: u * np.nan), "unknown_sums must contain finite"),
        ("classifier", [*COUNTS, "n_columns"], changed(10**6), "must be those of its kernel"),
        ("classifier", ["n_objects_in_"], changed(31), "must have objects"),
        ("classifier", ["names_"], changed({"tuple": ["a"]}), "there must be 32 names"),
        ("classifier", ["_heads"], changed({"list": []}), "_heads must be a list of 1 to"),
        ("classifier", ["_takes_extra"], changed(1), "_takes_extra must be a bool"),
        ("regressor", [*PROCESS, "noise_"], changed({"list": []}), "noise_ must be a finite number"),
        ("regressor", [*PROCESS, "noise_"], changed(-1.0), "noise_ must be a finite number"),
        ("regressor", [*PROCESS, "weights_"], array(lambda w: -w - 1), "weights_ must contain numbers from 0 on"),
        ("regressor", [*PROCESS, "weights_"], array(lambda w: [*w, 1.0]), "weights_ must be of shape"),
        ("regressor", [*PROCESS, "weights_"], array(lambda w: w + 1e308), "weights_ must contain numbers up to"),
        ("regressor", [*PROCESS, "dual_"], array(lambda d: d[:-1]), "ratios_ must be of shape"),
        ("regressor", [*SVM, "blocks", "list", 0], changed("nothing"), "blocks of a head"),
        ("regressor", [*LAST, "scaler", "state", "n_columns_"], changed(1), "kept_ must be ascending"),
        ("regressor", [*LAST, "scaler", "state", "deviation_"], array(lambda d: d * 0), "deviation_ must contain"),
        # It made predictions that are not finite.
        ("regressor", [*LAST, "scaler", "state", "mean_"], array(lambda m: m * 0 + 1e308), "mean_ must not be far"),
        ("regressor", [*LAST, "similarities", "list", 0, "state", "unit"], changed(0.0), "unit must be"),
        ("regressor", [*LAST, "similarities", "list", 0, "state", "columns"], array(lambda c: c + 9), "columns must"),
        ("linear", [*SVM, "coefficients"], array(lambda c: c[:, :-1]), "coefficients must be of shape"),
        ("linear", [*SVM, "coefficients"], array(lambda c: c[:2]), "there must be coefficients of classes"),
        ("linear", [*SVM, "slope"], changed(0), "slope must be a finite number from"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_refused_at_loading(saved, tmp_path, name, place, change, message):
    header, arrays = opened(saved[name])
    items = header["state"]
    *way, last = place
    for key in way:
        items = items[key]
    change(items, last, arrays)
    (tmp_path / "crafted.rwl").write_bytes(written(header, arrays))
    kind = GraphClassifier if name in ("classifier", "classes", "linear") else GraphRegressor
    with pytest.raises(ModelFileError, match=message):
        kind.load(tmp_path / "crafted.rwl")


def test_parts_may_not_be_shared_to_make_work(saved, tmp_path):
    header, arrays = opened(saved["targets"])
    heads = header["state"]["_heads"]["list"]
    heads[1] = {"same": heads[0]["number"]}
    (tmp_path / "crafted.rwl").write_bytes(written(header, arrays))
    with pytest.raises(ModelFileError, match="heads must be different objects"):
        GraphRegressor.load(tmp_path / "crafted.rwl")


def repeated(number):
    """Return a function that repeats the first item of a list, shared, so that the file stays small."""

    def apply(items, key, arrays):
        first = items[key]["list"][0]
        items[key]["list"] += [{"same": first["number"]} for _ in range(number)]

    return apply


def more_folds(items, key, arrays):
    for name in ("fold_duals", "fold_means"):
        array(lambda values: np.repeat(values, 21, axis=0))(items[key], name, arrays)


@pytest.mark.parametrize(
    ("name", "place", "change", "message"),
    [
        ("classifier", [*BLOCKS, "views"], repeated(1000), "views must be a list of 1 to 64"),
        (
            "classifier",
            [*BLOCKS, "views", "list", -1, "state", "kernel", "state", "n_partitions"],
            changed(9000),
            "n_part",
        ),
        ("classifier", [*VIEW, "blocks"], changed({"tuple": ["x"] * 257}), "blocks must be a tuple of 1 to 256 items"),
        ("regressor", SVM, more_folds, "at most 20 folds"),
        ("regressor", ["_heads"], repeated(10**5), "_heads must be a list of 1 to"),
        ("classifier", ["target_names_"], changed({"list": ["x"] * 10**5}), "target_names_ must be a list of"),
        ("classifier", ["classes_"], array(lambda c: np.arange(10**5)), "2 to 1000 classes"),
        ("classifier", [*VIEW, "kernel", "state", "max_depth"], changed(10**5), "max_depth must be a whole number"),
    ],
)
def test_files_that_ask_for_much_are_refused_at_once(saved, tmp_path, name, place, change, message):
    test_parts_that_do_not_fit_are_refused_at_loading(saved, tmp_path, name, place, change, message)  # compiles
    started = time.process_time()
    test_parts_that_do_not_fit_are_refused_at_loading(saved, tmp_path, name, place, change, message)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "classes",
    [
        pd.Series(["b", "a"] * 6), pd.Categorical(["b", "a"] * 6), np.array(["b", "a"] * 6, object),
        [True, False] * 6, np.array([2, 7] * 6, np.int8), np.array([1.0, 2.0] * 6), np.array(["x", "y"] * 6)[:, None],
    ],
    ids=lambda classes: type(classes).__name__,
)  # fmt: skip
def test_classes_keep_their_type(classes, tmp_path):
    model = clone(CLASSIFIER).fit(GRAPHS[:12], classes)
    model.save(tmp_path / "model.rwl")
    again = GraphClassifier.load(tmp_path / "model.rwl")
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(GRAPHS[:4]).tolist() == model.predict(GRAPHS[:4]).tolist()
    assert set(again.classes_.tolist()) == set(np.asarray(classes).ravel().tolist())


def test_loading_fits_nothing(saved, tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("nothing is to be computed")

    for kind in (GaussianProcess, RelaxedWeisfeilerLehman, WeisfeilerLehman):
        monkeypatch.setattr(kind, "fit", refuse)
    monkeypatch.setattr(RelaxedWeisfeilerLehman, "prepare", refuse)
    monkeypatch.setattr(WeisfeilerLehman, "prepare", refuse)
    (tmp_path / "model.rwl").write_bytes(saved["regressor"])
    assert GraphRegressor.load(tmp_path / "model.rwl").report_.score > 0
