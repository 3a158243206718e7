"""Descriptors: their scale, their kinds, and what they are fitted on."""

import numpy as np
import pytest
from scipy.stats import norm

from molecules.small_molecules import TEXTS
from relaxwl.molecules import Descriptors, descriptors
from relaxwl.molecules.descriptors import KINDS, descriptor_names, kind_of

Chem = pytest.importorskip("rdkit.Chem")


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


def test_descriptors_are_normal_scores_of_their_ranks():
    texts = ["C" * n for n in (1, 2, 3, 30, 2)]
    model = Descriptors().fit(texts)
    place = model.names_.index("HeavyAtomCount")
    column = model.transform(texts)[:, place]
    # Ranks, of which the two of length 2 share the middle: how far the longest lies from the others does not matter.
    scores = norm.ppf(np.array([0.5, 2, 3.5, 4.5, 2]) / 5)
    np.testing.assert_allclose(column, (scores - scores.mean()) / scores.std())
    between, beyond = model.transform(["C" * 10, "C" * 60])[:, place]
    assert column[2] < between < column[3] == beyond


def test_every_descriptor_is_of_a_kind():
    kinds = [kind_of(name) for name in descriptor_names()]
    assert set(kinds) == set(KINDS)
    assert kind_of("fr_COO") == "fragments"
    assert kind_of("NumHDonors") == "counts"
    assert kind_of("SMR_VSA1") == "surfaces"
    assert kind_of("Chi0") == "topology"
    assert kind_of("MolLogP") == "the whole"


def test_a_molecule_that_was_described_before_is_taken_apart_as_one_read_anew():
    fitted = Descriptors().fit(TEXTS)
    for text in ("CC(C)=CCCC(C)=CC=O", "Cc1occc1C(=O)Nc1ccccc1"):
        used = Chem.MolFromSmiles(text)
        fitted.transform([used])
        np.testing.assert_array_equal(fitted.without_nodes([used]), fitted.without_nodes([text]))
