"""Morgan fingerprints as counts."""

import pytest

from molecules.small_molecules import TEXTS
from relaxwl.molecules import MorganFingerprints, fingerprints

pytest.importorskip("rdkit.Chem")


def test_fingerprints_count_what_training_molecules_have():
    model = MorganFingerprints(radius=1).fit(["CCO"])
    counts = model.counts(["CCO", "CCN"])
    assert counts.matrix.sum(axis=1).tolist() == [6, 3]
    assert counts.unknown_sums.tolist() == [0, 3]
    assert fingerprints(TEXTS).shape[0] == len(TEXTS)
