"""Kernels that meet all graphs, and folds that learn from some of them."""

import numpy as np
import pytest
from sklearn.base import clone

from relaxwl import GraphClassifier
from relaxwl.datasets import make_egonets
from relaxwl.evaluation import cross_validate
from relaxwl.molecules import from_smiles
from relaxwl.predictors.blocks import KernelBlocks
from relaxwl.predictors.transductive import TransductiveClassifier

QUICK = GraphClassifier(effort="quick", random_state=0)
GRAPHS, Y = make_egonets(40, level=1, n_nodes=(24, 36), random_state=0)
NAMES = np.array(["a", "b", "c", "d"])[Y]


def test_with_all_classes_it_is_the_classifier():
    model = clone(QUICK).fit(GRAPHS, NAMES)
    shared = TransductiveClassifier(clone(QUICK), GRAPHS).learn(np.arange(40), NAMES)
    assert shared.classes_.tolist() == model.classes_.tolist()
    assert shared.choice["combination"] == model.report_.chosen
    np.testing.assert_allclose(shared.predict_proba(np.arange(40)), model.predict_proba(GRAPHS), atol=1e-9)


def test_folds_do_not_depend_on_those_before():
    train, test = np.arange(8, 40), np.arange(8)
    fresh = TransductiveClassifier(clone(QUICK), GRAPHS).learn(train, NAMES[train]).predict_proba(test)
    used = TransductiveClassifier(clone(QUICK).set_params(time_limit=1e5), GRAPHS)
    used.learn(np.arange(32), NAMES[:32])
    np.testing.assert_array_equal(used.learn(train, NAMES[train]).predict_proba(test), fresh)


def test_classifiers_of_molecules_are_fitted_in_each_fold():
    pytest.importorskip("rdkit.Chem")
    molecules = from_smiles(["C" * n + end for n in range(1, 7) for end in ("", "O")])
    settings = {"n_folds": 2, "n_repeats": 1, "inner_folds": 2, "random_state": 0}
    results = cross_validate(["molecules"], molecules, [0, 1] * 6, **settings)
    assert results.cell("data", "molecules").mean > 0.5


@pytest.mark.slow
def test_evaluation_fits_kernels_once_or_in_each_fold(monkeypatch):
    fitted = []
    original = KernelBlocks.fit

    def counting(self, objects, *arguments):
        fitted.append(len(objects))
        return original(self, objects, *arguments)

    monkeypatch.setattr(KernelBlocks, "fit", counting)
    settings = {"n_folds": 2, "n_repeats": 1}
    together = cross_validate(QUICK, GRAPHS, NAMES, **settings).cell("data", "GraphClassifier")
    assert fitted == [40]
    assert set(together.records[0].parameters) == {"combination", "C"}
    assert together.records[0].scores["log_loss"] > 0
    fitted.clear()
    alone = cross_validate(QUICK, GRAPHS, NAMES, protocol="inductive", **settings).cell("data", "GraphClassifier")
    assert fitted == [20, 20]
    assert together.records[0].test_indices == alone.records[0].test_indices
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 5)
    fitted.clear()
    cross_validate(QUICK, GRAPHS, NAMES, **settings)
    assert fitted == []  # too many graphs for Gram matrices: linear machines in each fold
