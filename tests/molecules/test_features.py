"""Descriptors and fingerprints."""

import numpy as np
import pytest

from relaxwl import as_collection
from relaxwl.molecules import Descriptors, MoleculeError, MorganFingerprints, descriptors, fingerprints

Chem = pytest.importorskip("rdkit.Chem")

TEXTS = ["CCO", "CCN", "c1ccccc1O", "CC(=O)OC", "C1CCCCC1"]


def test_descriptors_have_one_scale():
    table = descriptors(TEXTS)
    assert table.shape[0] == len(TEXTS)
    assert np.isfinite(table).all()
    assert np.abs(table).max() <= 5
    np.testing.assert_allclose(table.mean(axis=0), 0, atol=1e-9)


def test_descriptors_are_fitted_on_training_molecules_alone():
    model = Descriptors().fit(TEXTS[:3])
    table = model.transform(TEXTS[3:])
    assert table.shape == (2, len(model.get_feature_names_out()))
    np.testing.assert_array_equal(model.transform(TEXTS[:3]), Descriptors().fit_transform(TEXTS[:3]))
    assert "NumSaturatedRings" not in model.names_  # 0 for all of them
    # Partial charges of a metal are undefined: as the mean.
    assert np.isfinite(model.transform(["[Fe]", "CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC"])).all()


def test_fingerprints_count_what_training_molecules_have():
    model = MorganFingerprints(radius=1).fit(["CCO"])
    counts = model.counts(["CCO", "CCN"])
    assert counts.matrix.sum(axis=1).tolist() == [6, 3]
    assert counts.unknown_sums.tolist() == [0, 3]
    assert fingerprints(TEXTS).shape[0] == len(TEXTS)


def test_rdkit_molecules_and_texts_give_the_same():
    molecules = [Chem.MolFromSmiles(text) for text in TEXTS]
    np.testing.assert_array_equal(descriptors(TEXTS), descriptors(molecules))


def test_what_is_no_molecule_is_named():
    with pytest.raises(MoleculeError, match="molecule 1"):
        descriptors([Chem.MolFromSmiles("C"), "CC"])
    with pytest.raises(TypeError, match="GraphCollection"):
        descriptors(as_collection([(1, [])]))
    with pytest.raises(ValueError, match="no molecules"):
        Descriptors().fit([])
