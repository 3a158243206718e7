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
        monkeypatch.setattr(GraphRegressor, "_most_in_matrices", 3)
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
