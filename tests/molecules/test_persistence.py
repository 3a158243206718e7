"""Models of molecules in files."""

import json

import numpy as np
import pytest

from molecules.small_molecules import SMILES
from relaxwl.kernels.persistence import ModelFileError
from relaxwl.molecules import MoleculeClassifier, MoleculeRegressor

pytest.importorskip("rdkit.Chem")


def test_saved_models_answer_alike(fitted, tmp_path):
    fitted.save(tmp_path / "model.rwl")
    loaded = MoleculeRegressor.load(tmp_path / "model.rwl")
    new = ["CCCl", "CCCCO"]
    for one, other in zip(fitted.predict(new, return_std=True), loaded.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_allclose(fitted.novelty(new), loaded.novelty(new), rtol=1e-6)
    classifier = MoleculeClassifier(views=("wl",)).fit(SMILES, np.repeat(["a", "b", "c"], 10))
    classifier.save(tmp_path / "classes.rwl")
    again = MoleculeClassifier.load(tmp_path / "classes.rwl")
    np.testing.assert_allclose(classifier.predict_proba(new), again.predict_proba(new), rtol=1e-6)
    assert again.predict(SMILES).tolist() == classifier.predict(SMILES).tolist()
    with pytest.raises(ModelFileError, match="holds a MoleculeClassifier"):
        MoleculeRegressor.load(tmp_path / "classes.rwl")


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "relaxwl-molecules", "version": 99}', "\xff"])
def test_files_that_are_no_models_are_named(tmp_path, content):
    (tmp_path / "bad.rwl").write_bytes(content.encode("latin-1"))
    with pytest.raises(ModelFileError, match=r"bad\.rwl"):
        MoleculeRegressor.load(tmp_path / "bad.rwl")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("max_depth", 10**9, "max_depth must be an integer from 1 to 50"),
        ("n_partitions", 10**9, "n_partitions must be an integer from 1 to 1000"),
        ("n_jobs", 10**6, "n_jobs must not be in a file"),
        ("class", ["x"], "holds a"),
        ("views", ["wl", 1], "views must be texts"),
        ("smiles", [1] * 30, "smiles must be texts"),
        ("targets", [[1.0]] * 30, "targets must be numbers"),
        ("targets", [1.0], "a target for each molecule"),
    ],
)
def test_models_that_would_take_for_ever_or_do_not_fit_are_refused(fitted, tmp_path, field, value, message):
    path = tmp_path / "model.rwl"
    fitted.save(path)
    content = json.loads(path.read_bytes())
    (content if field in content else content["parameters"])[field] = value
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=rf"model\.rwl .*{message}"):
        MoleculeRegressor.load(path)
