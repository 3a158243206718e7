"""Morgan fingerprints as counts."""

import numpy as np
import pytest

from molecules.small_molecules import TEXTS
from relaxwl.molecules import MorganFingerprints
from relaxwl.molecules.fingerprints import StructuralKeys, fingerprints

Chem = pytest.importorskip("rdkit.Chem")


def test_fingerprints_count_what_training_molecules_have():
    model = MorganFingerprints(radius=1).fit(["CCO"])
    (counts,) = model.prepare(["CCO", "CCN"])
    assert counts.matrix.sum(axis=1).tolist() == [6, 3]
    assert counts.unknown_sums.tolist() == [0, 3]
    assert fingerprints(TEXTS).shape[0] == len(TEXTS)
    assert len(model.get_feature_names_out()) == counts.matrix.shape[1]


def test_similarities_are_those_of_tanimoto():
    model = MorganFingerprints().fit(TEXTS)
    found, counts = model.kernel_matrix([*TEXTS, "CCCl"], TEXTS), model.transform(TEXTS).toarray()
    expected = [[np.minimum(a, b).sum() / np.maximum(a, b).sum() for b in counts] for a in counts]
    np.testing.assert_allclose(found[:-1], expected)
    whole = MorganFingerprints().fit([*TEXTS, "CCCl"])
    np.testing.assert_allclose(found[-1], whole.kernel_matrix(["CCCl"], TEXTS)[0])  # all that it has counts


def test_an_atom_without_its_environments():
    model = MorganFingerprints(1)
    training = model.fit_prepare(["CCO"])
    # Around each atom: itself, and itself with its neighbors. Without the oxygen 4 of the 6 remain.
    without = model.compare(model.counts_without_nodes(["CCO"]), training)[0]
    assert without[:, 0].tolist() == pytest.approx([4 / 6] * 3)


def test_keys_are_those_of_rdkit_also_without_an_atom():
    keys = pytest.importorskip("rdkit.Chem.MACCSkeys").GenMACCSKeys
    smiles = [*TEXTS, "c1ccccc1C(=O)N", "CCS(=O)(=O)O"]
    model = StructuralKeys().fit(smiles)
    expected = np.array([list(keys(Chem.MolFromSmiles(one))) for one in smiles])
    np.testing.assert_array_equal(model.transform(smiles).toarray(), expected[:, expected.any(axis=0)])
    (without,) = model.counts_without_nodes(["CCN"])
    names = model.get_feature_names_out().tolist()
    nitrogen = without.matrix.toarray()[:, names.index("environment 161")]  # key 161: nitrogen
    assert nitrogen.tolist() == [1, 1, 0]
