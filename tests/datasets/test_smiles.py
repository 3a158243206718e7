"""SMILES and RDKit molecules as graphs, and what happens to those that cannot be read."""

import copy
import pickle
import random
import time
import warnings

import numpy as np
import pandas
import pytest

from relaxwl import GraphCollection
from relaxwl.datasets import read_molecules
from relaxwl.datasets.smiles import too_large
from relaxwl.molecules import MoleculeCollection, MoleculeError, MoleculeRegressor, descriptors, from_rdkit, from_smiles
from relaxwl.molecules.reading import as_molecules

Chem = pytest.importorskip("rdkit.Chem")


def test_atoms_and_bonds_become_nodes_and_edges():
    (graph,) = from_smiles(["CC(=O)O"])
    assert graph.node_labels == ["C", "C", "O", "O"]
    assert graph.edges.tolist() == [[0, 1], [1, 2], [1, 3]]
    assert graph.edge_labels == ["single", "double", "single"]


def test_fragments_and_single_atoms_are_molecules():
    graphs = from_smiles(["[Na+].[Cl-]", "C", "[He]"])
    assert [graph.n_nodes for graph in graphs] == [2, 1, 1]
    assert graphs.edge_vocabulary == ()


@pytest.mark.parametrize(
    ("smiles", "options", "labels"),
    [
        ("C[NH3+]", {"atom_labels": "rich"}, ["C H3", "N +1 H3"]),
        ("C[NH3+]", {"atom_labels": ("charge", "element")}, ["C", "N +1"]),
        ("[13CH4]", {"isotopes": True}, ["C isotope 13"]),
        ("C[C@H](F)Cl", {"stereo": True}, ["C", "C R", "F", "Cl"]),
        ("O", {"hydrogens": True}, ["O", "H", "H"]),
        ("CO", {"atom_labels": lambda atom: atom.GetDegree()}, [1, 1]),
    ],
)
def test_labels_say_what_was_asked_for(smiles, options, labels):
    (graph,) = from_smiles([smiles], **options)
    assert graph.node_labels == labels


def test_standardized_molecules_keep_the_given_texts_as_names():
    texts = ["CC(=O)[O-].[Na+]", "CCO", "C("]
    with pytest.warns(UserWarning, match="1 of 3"):
        graphs = from_smiles(texts, standardize=True, stereo=True, errors="nan", n_jobs=2)
    assert graphs.sources == ("CC(=O)O", "CCO", None)
    assert graphs.names == tuple(texts)
    assert graphs[:2] == from_smiles(["CC(=O)O", "CCO"], stereo=True)
    with pytest.raises(ValueError, match="standardize must be"):
        from_smiles(texts, standardize="yes")


def test_molecules_that_cannot_be_standardized_are_named(monkeypatch, tmp_path):
    from rdkit.Chem.MolStandardize import rdMolStandardize

    class Failing:
        def choose(self, molecule):
            if molecule.GetNumAtoms() == 3:
                raise ValueError("Can't kekulize mol.  Unkekulized atoms:" + " 1" * 300)
            return molecule

    model = MoleculeRegressor(("descriptors",), standardize=True).fit(["C", "CC", "CCCC", "CO"], [1, 2, 4, 1])
    monkeypatch.setattr(rdMolStandardize, "LargestFragmentChooser", Failing)
    reason = r"RDKit cannot standardize it \(Can't kekulize mol.{1,90}…\)"
    with pytest.raises(MoleculeError, match=f"molecule 1, 'CCO': {reason}"):
        from_smiles(["C", "CCO"], standardize=True)
    with pytest.raises(MoleculeError, match=f"molecule 1, 'CCO': {reason}"):
        model.predict(["C", "CCO"])
    with pytest.warns(UserWarning, match=reason):
        assert len(from_smiles(["C", "CCO"], standardize=True, errors="skip")) == 1
    with Chem.SDWriter(str(tmp_path / "two.sdf")) as writer:
        for text in ("C", "CCO"):
            writer.write(Chem.MolFromSmiles(text))
    with pytest.raises(ValueError, match=f"two.sdf, molecule 2: {reason}"):
        read_molecules(tmp_path / "two.sdf", standardize=True)


def test_double_bonds_tell_sides_apart_when_asked_to():
    graphs = from_smiles(["C/C=C/C", r"C/C=C\C"], stereo=True)
    assert [graph.edge_labels[1] for graph in graphs] == ["double E", "double Z"]
    plain = from_smiles(["C/C=C/C", r"C/C=C\C"], bond_labels=False)
    assert plain[0] == plain[1]
    assert plain.edge_vocabulary is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("C(", "not a valid SMILES string"),
        ("CN(C)(C)(C)C", "Explicit valence"),
        ("", "empty"),
        (None, "missing; errors='skip'"),
        (float("nan"), "missing"),
        (pandas.NA, "missing"),
        (np.zeros((2, 2)), "not ndarray"),
        (7, "not int"),
        ("C1CC1" * 10**4, "30000 atoms are more than max_atoms=1000 allows"),
        ("(" * 10**6, "0 atoms in 1000000 characters"),
        ("C\0", "null character"),
        ("C\nCC", "the string has several lines"),
    ],
)
def test_unreadable_texts_are_named_with_their_position(text, problem):
    with pytest.raises(MoleculeError, match=f"molecule 1, .*{problem}") as caught:
        from_smiles(["C", text])
    assert caught.value.index == 1


def test_large_molecules_are_read_where_they_are_asked_for():
    assert from_smiles(["C" * 1200], max_atoms=None)[0].n_nodes == 1200
    assert from_smiles(["[13CH2]" * 6], max_atoms=6)[0].n_nodes == 6
    with pytest.raises(MoleculeError, match="3 atoms are more than max_atoms=2"):
        from_smiles(["CCC"], max_atoms=2)
    with pytest.raises(ValueError, match="max_atoms must be an integer >= 1"):
        from_smiles(["C"], max_atoms=0)
    assert from_smiles(["C" * 1000])[0].n_nodes == 1000
    with pytest.raises(MoleculeError, match="1001 atoms are more than max_atoms=1000"):
        from_smiles(["C" * 1001])
    graphs = from_smiles(["C" * 1200], max_atoms=None)
    assert as_molecules(graphs)[0].GetNumAtoms() == 1200


def test_molecules_of_too_many_rings_are_refused_before_they_are_read():
    # Atoms of a metal that are all connected to each other: RDKit takes minutes, or ends the process.
    text = "[U]".join("".join(f"%{number}" for number in range(10, 100)) for _ in range(60))
    with pytest.raises(MoleculeError, match="2700 rings are more than max_atoms=1000 allows"):
        from_smiles([text])
    assert from_smiles(["C1CC1" * 333])[0].n_nodes == 999
    assert [bool(too_large(1000, n_rings, 1000)) for n_rings in (600, 601)] == [False, True]
    assert [bool(too_large(n_atoms, 0, 1000, hydrogens=True)) for n_atoms in (4000, 4001)] == [False, True]


def test_skipping_and_keeping_tell_what_was_lost():
    texts = ["C", "xx", "CC", "C("]
    with pytest.warns(UserWarning, match="2 of 4 molecules could not be read and are left out: 1, 'xx'"):
        graphs, index = from_smiles(texts, errors="skip", return_index=True)
    assert [graph.n_nodes for graph in graphs] == [1, 2]
    assert index.tolist() == [0, 2]
    with pytest.warns(UserWarning, match="kept, without atoms"):
        assert [graph.n_nodes for graph in from_smiles(texts, errors="nan")] == [1, 0, 2, 0]
    with pytest.warns(UserWarning, match="1 of 2"):
        assert len(from_rdkit([Chem.MolFromSmiles("C"), None], errors="nan")) == 2


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"strings": "CCO"}, TypeError, r"put it in a list"),
        ({"strings": ["C"], "errors": "ignore"}, ValueError, "errors must be one of"),
        ({"strings": ["C"], "atom_labels": "color"}, ValueError, "not 'color'"),
    ],
)
def test_wrong_arguments_are_named(arguments, kind, message):
    with pytest.raises(kind, match=message):
        from_smiles(**arguments)


@pytest.mark.slow
def test_ten_thousand_malformed_texts_neither_crash_nor_shift_rows():
    rng = random.Random(0)
    alphabet = "CNOPSFclnosBrI[]()=#+-@/\\.%123456789Hh \t*:$~?{}é\u2603\n"
    good = ["CCO", "c1ccccc1", "CC(=O)O", "C[N+](C)(C)C", "F/C=C/F", "C1CC1"]
    texts = []
    for _ in range(10_000):
        kind = rng.randrange(4)
        text = rng.choice(good)
        if kind == 1:
            text = "".join(rng.choice(alphabet) for _ in range(rng.randrange(1, 30)))
        elif kind == 2:
            place = rng.randrange(len(text))
            text = text[:place] + rng.choice(alphabet) + text[place + 1 :]
        elif kind == 3:
            text = text[: rng.randrange(len(text))]
        texts.append(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        kept = from_smiles(texts, errors="nan")
        graphs, index = from_smiles(texts, errors="skip", return_index=True)
    assert len(kept) == len(texts)
    assert len(graphs) == len(index)
    assert graphs.sources == tuple(texts[place] for place in index)
    assert (np.diff(index) > 0).all()
    sizes = np.diff(kept.offsets)
    assert np.flatnonzero(sizes).tolist() == index.tolist()
    assert np.diff(graphs.offsets).tolist() == sizes[index].tolist()
    readable = [Chem.MolFromSmiles(texts[place]) for place in index[:500]]
    assert [molecule.GetNumAtoms() for molecule in readable] == sizes[index[:500]].tolist()


def test_collections_of_molecules_stay_such():
    graphs = from_smiles(["CCO", "CC"])
    copies = pickle.loads(pickle.dumps(graphs)), graphs.with_parts(given=()), copy.deepcopy(graphs)
    for same in copies:
        assert type(same) is type(graphs)
        assert same == graphs
        assert same.sources == graphs.sources
    codes = np.zeros(len(graphs.indices), np.int32)
    assert graphs.with_parts(edge_codes=codes, edge_vocabulary=("bond",)).sources == ("CCO", "CC")


def test_collections_remember_their_molecules():
    graphs = from_smiles(["CCO", "C", "CCN"])
    assert graphs[[2, 0]].sources == ("CCN", "CCO")
    assert [molecule.GetNumAtoms() for molecule in graphs[:2].molecules()] == [3, 1]
    again = pickle.loads(pickle.dumps(graphs))
    assert again == graphs
    assert again.sources == graphs.sources
    assert (graphs + graphs[:1]).sources == ("CCO", "C", "CCN", "CCO")
    assert type(graphs + graphs[0].as_collection().to_undirected()) is MoleculeCollection
    assert type(GraphCollection.concatenate([graphs, graphs])) is GraphCollection
    with pytest.warns(UserWarning, match="1 of 2"):
        assert from_smiles(["C(", "C"], errors="nan").sources == (None, "C")
    np.testing.assert_array_equal(descriptors(graphs), descriptors(["CCO", "C", "CCN"]))


def test_processes_read_what_one_reads(monkeypatch):
    from relaxwl.molecules import Descriptors

    monkeypatch.setattr("relaxwl._execution.FEW_ITEMS", 3)
    monkeypatch.setattr("relaxwl._execution.ITEMS_AT_ONCE", 4)
    smiles = ["C" * n + "O" for n in range(1, 10)]
    alone, together = from_smiles(smiles, atom_labels="rich"), from_smiles(smiles, atom_labels="rich", n_jobs=2)
    assert together == alone
    assert together.names == alone.names
    assert together.sources == alone.sources
    np.testing.assert_array_equal(Descriptors(n_jobs=2).fit_transform(smiles), Descriptors().fit_transform(smiles))
    smiles[5], smiles[7] = "C(", "no"
    messages = []
    for n_jobs in (None, 2):
        with pytest.raises(MoleculeError) as caught:
            from_smiles(smiles, n_jobs=n_jobs)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    with pytest.warns(UserWarning, match="2 of 9 molecules could not be read"):
        assert len(from_smiles(smiles, errors="skip", n_jobs=2)) == 7


@pytest.mark.parametrize("text", ["[" * 200_000, "[C" * 100_000, "C%(1" * 50_000])
def test_brackets_that_are_never_closed_are_refused_at_once(text):
    started = time.process_time()
    with pytest.raises(MoleculeError, match="characters are more than max_atoms=1000 allows"):
        from_smiles([text])
    assert time.process_time() - started < 5  # each bracket was once followed to the end of the text


def necklace(n_rings):
    """Return the SMILES of four-membered rings in a circle, each sharing an atom with the next one."""
    middle = "".join(f"CC%({place})(C%({place + 1}))" for place in range(2, n_rings + 1))
    return f"C%(0)(C%(2)){middle}CC%({n_rings + 1})C%(0)"


@pytest.mark.parametrize(("n_rings", "times"), [(20, 1), (60, 1), (150, 1), (11, 5)])
def test_rings_that_share_many_atoms_are_refused_before_they_are_listed(n_rings, times):
    with pytest.raises(MoleculeError, match="its rings share too many atoms to be listed; max_atoms=None"):
        from_smiles([".".join([necklace(n_rings)] * times)])


def test_atoms_that_are_all_connected_to_many_others_are_refused_before_rings_are_listed():
    closures = [[f"%({20 * one + other})" for other in range(20)] for one in range(20)]
    sides = [*closures, *zip(*closures, strict=True)]
    with pytest.raises(MoleculeError, match="its rings share too many atoms"):
        from_smiles([".".join(["C" * 300, *("[U]" + "".join(one) for one in sides)])])


def test_many_rings_of_usual_molecules_are_read():
    steroids = "C1CCC2C(C1)CCC1C2CCC2CCCC12" * 20
    fullerene = (
        "c12c3c4c5c1c1c6c7c2c2c8c3c3c9c4c4c%10c5c5c1c1c6c6c%11c7c2c2c7c8c3c3c8c9c4c4c9c%10c5c5c1c1c6c6c%11c2c2c7c3c3c8"
        "c4c4c9c5c1c1c6c2c3c41"
    )
    assert from_smiles([steroids, fullerene], errors="raise").node_counts.tolist() == [340, 60]
