"""Molecules of RDKit."""

import pytest

from relaxwl import as_collection
from relaxwl.molecules import from_rdkit, from_smiles

Chem = pytest.importorskip("rdkit.Chem")


def test_rdkit_molecules_are_graphs_to_every_function():
    molecules = [Chem.MolFromSmiles(text) for text in ("CCO", "c1ccccc1")]
    assert as_collection(molecules) == from_smiles(["CCO", "c1ccccc1"]) == from_rdkit(molecules)
    with pytest.raises(TypeError, match="put a single graph in a list"):
        as_collection(molecules[0])
