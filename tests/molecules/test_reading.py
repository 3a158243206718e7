"""SMILES and RDKit molecules are taken alike, and what is none is named."""

import numpy as np
import pytest

from molecules.small_molecules import TEXTS
from relaxwl import as_collection
from relaxwl.molecules import Descriptors, MoleculeError, descriptors
from relaxwl.molecules.reading import as_molecules

Chem = pytest.importorskip("rdkit.Chem")


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


def test_a_table_with_one_column_or_one_called_smiles():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"id": [1, 2], "Smiles": ["CCO", "C"]})
    for X in (table, table[["Smiles"]], table.Smiles):
        assert [molecule.GetNumAtoms() for molecule in as_molecules(X)] == [3, 1]
    with pytest.raises(TypeError, match=r"one column of SMILES, or one called smiles, not \['a', 'b'\]"):
        as_molecules(pandas.DataFrame({"a": ["C"], "b": ["C"]}))
