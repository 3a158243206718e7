import hashlib
import io
import json
import zipfile

import numpy as np
import pytest
from sklearn.base import clone

from relaxwl import GraphClassifier, GraphRegressor
from relaxwl.datasets import make_egonets
from relaxwl.kernels.persistence import ModelFileError
from small_graphs import BONDS, collection, random_graphs, with_attributes

GRAPHS, Y = make_egonets(32, level=1, random_state=0)
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
    np.testing.assert_array_equal(again.novelty(GRAPHS), model.novelty(GRAPHS))
    assert again.report_ == model.report_
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize("many", [False, True], ids=["kernels", "linear"])
def test_a_regressor_comes_back_as_it_was(tmp_path, monkeypatch, many):
    if many:
        monkeypatch.setattr("relaxwl.predictors.regressor.PROCESS_UP_TO", 3)
    model = clone(REGRESSOR).fit(GRAPHS, EXTRA[:, 0], extra=EXTRA)
    model.save(tmp_path / "model.rwl")
    again = GraphRegressor.load(tmp_path / "model.rwl")
    for one, other in zip(model.predict(GRAPHS, True, EXTRA), again.predict(GRAPHS, True, EXTRA), strict=True):
        np.testing.assert_array_equal(one, other)


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


def crafted(content, path, place, value):
    """Write a model file with one value changed, found by the names on the way to it, and checksums made right."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["model.json"])
    item = header["model"]["state"]
    *way, last = place
    for name in way:
        item = item[name]
    item[last] = value(item[last]) if callable(value) else value
    del header["checksum"]
    header["checksum"] = hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()
    members["model.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.rwl"
    clone(CLASSIFIER).fit(GRAPHS, Y).save(path)
    classifier = path.read_bytes()
    clone(REGRESSOR).fit(GRAPHS, EXTRA[:, 0], extra=EXTRA).save(path)
    return {GraphClassifier: classifier, GraphRegressor: path.read_bytes()}


@pytest.mark.parametrize(
    ("kind", "place", "value", "message"),
    [
        (GraphClassifier, ["_machine", "state", "n_classes"], 5, "coefficients of the machine must be of shape"),
        (GraphClassifier, ["_machine", "state", "n_classes"], 10**9, "n_classes must be a whole number"),
        (GraphClassifier, ["_machine", "state", "support"], {"array": 0}, "support of the machine"),
        (GraphClassifier, ["classes_"], {"list": [0, 1]}, "must be different classes"),
        (GraphClassifier, ["_choice"], "nothing", "'nothing' is no choice"),
        (GraphClassifier, ["_choice"], "extra", "needs vectors"),
        (GraphClassifier, ["_slope"], float("nan"), "_slope must be a finite number"),
        (GraphClassifier, ["_novelty", "state", "usual"], "x", "could not convert"),
        (GraphClassifier, ["_novelty", "state", "units"], {"array": 0}, "the units of novelty"),
        (GraphClassifier, ["report_", "state", "score"], "x", "a score in the report must be a number"),
        (GraphClassifier, ["report_", "state", "tried"], {"tuple": [1]}, "does not hold a complete model"),
        (GraphClassifier, ["kernel_", "state", "blocks_"], {"list": ["x"]}, "blocks_ must be those of the families"),
        (GraphRegressor, ["_process", "state", "predict"], 1, "has no predict"),
        (GraphRegressor, ["_process", "state", "noise_"], {"list": []}, "noise_ of the process must be"),
        (GraphRegressor, ["_process", "state", "dual_"], {"array": 0}, "of the process must be"),
        (GraphRegressor, ["_blocks"], {"list": []}, "weights must be of blocks"),
        (GraphRegressor, ["_extra"], None, "vectors must have a weight"),
        (GraphRegressor, ["_extra_kernel", "state", "n_columns_"], 1, "kept_ must be columns"),
        (GraphRegressor, ["_extra_kernel", "state"], dict, "has no attribute 'n_columns_'|vectors must have 0"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_refused_at_loading(saved, tmp_path, kind, place, value, message):
    value = {} if value is dict else value
    if place[-1] == "predict":  # an attribute that the object does not have
        place, value = place[:-1], lambda state: {**state, "predict": 1}
    crafted(saved[kind], tmp_path / "crafted.rwl", place, value)
    with pytest.raises(ModelFileError, match=message):
        kind.load(tmp_path / "crafted.rwl")
