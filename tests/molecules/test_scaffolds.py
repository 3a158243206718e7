"""Molecules with the same rings, joined alike, share a scaffold."""

import pytest

from relaxwl.molecules import duplicates, from_smiles, scaffolds

Chem = pytest.importorskip("rdkit.Chem")

# Toluene and phenol have benzene's ring; diphenylmethane has two of them; pyridine's is another.
RINGS = ["Cc1ccccc1", "c1ccccc1Cc1ccccc1", "Oc1ccccc1", "c1ccncc1", "Cc1ccccc1Cc1ccccc1"]


def test_side_chains_do_not_count_but_rings_and_what_joins_them_do():
    assert scaffolds(RINGS).tolist() == [0, 1, 0, 2, 1]


def test_molecules_without_rings_stand_alone_with_their_copies():
    assert scaffolds(["CCO", "c1ccccc1", "OCC", "CCN", "c1ccccc1"]).tolist() == [0, 1, 0, 2, 1]


def test_texts_molecules_and_collections_agree():
    molecules = [Chem.MolFromSmiles(text) for text in RINGS]
    assert scaffolds(molecules).tolist() == scaffolds(from_smiles(RINGS)).tolist() == scaffolds(RINGS).tolist()


def test_copies_of_a_molecule_share_a_number_however_they_are_written():
    assert duplicates(["CCO", "CCN", "OCC", "C[C@H](N)O", "C[C@@H](N)O"]).tolist() == [0, 1, 0, 2, 3]
