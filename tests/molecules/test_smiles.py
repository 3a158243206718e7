"""SMILES and RDKit molecules as graphs, and what happens to those that cannot be read."""

import pickle
import random
import warnings

import numpy as np
import pytest

from relaxwl import GraphCollection, as_collection
from relaxwl.datasets import MoleculeTableError, load_molecules, read_molecules
from relaxwl.molecules import MoleculeCollection, MoleculeError, descriptors, from_rdkit, from_smiles

Chem = pytest.importorskip("rdkit.Chem")


def test_atoms_and_bonds_become_vertices_and_edges():
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


def test_double_bonds_tell_sides_apart_when_asked_to():
    graphs = from_smiles(["C/C=C/C", r"C/C=C\C"], stereo=True)
    assert [graph.edge_labels[1] for graph in graphs] == ["double E", "double Z"]
    plain = from_smiles(["C/C=C/C", r"C/C=C\C"], bond_labels=False)
    assert plain[0] == plain[1]
    assert plain.edge_vocabulary is None


def test_rdkit_molecules_are_graphs_to_every_function():
    molecules = [Chem.MolFromSmiles(text) for text in ("CCO", "c1ccccc1")]
    assert as_collection(molecules) == from_smiles(["CCO", "c1ccccc1"]) == from_rdkit(molecules)
    with pytest.raises(TypeError, match="put a single graph in a list"):
        as_collection(molecules[0])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("C(", "this is no SMILES"),
        ("CN(C)(C)(C)C", "Explicit valence"),
        ("", "empty"),
        (None, "not NoneType"),
        ("C\0", "zero byte"),
    ],
)
def test_unreadable_texts_are_named_with_their_position(text, problem):
    with pytest.raises(MoleculeError, match=f"molecule 1, .*{problem}") as caught:
        from_smiles(["C", text])
    assert caught.value.index == 1


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
        ({"strings": ["C"], "atom_labels": "colour"}, ValueError, "not 'colour'"),
    ],
)
def test_wrong_arguments_are_named(arguments, kind, message):
    with pytest.raises(kind, match=message):
        from_smiles(**arguments)


def test_tables_are_read_with_their_targets(tmp_path):
    file = tmp_path / "small.csv"
    file.write_text('\ufeffname,expt,smiles\n"a, b",1.5,CCO\n\nc,-2,C\n', encoding="utf-8")
    graphs, y = load_molecules(file, target="expt")
    assert graphs == from_smiles(["CCO", "C"])
    assert y.tolist() == [1.5, -2.0]
    assert load_molecules(file)[1] is None
    assert read_molecules(file, target="name").y.tolist() == ["a, b", "c"]
    assert read_molecules(file).lines == [2, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("smiles\nC\n", "no column 'y'; its columns are smiles"),
        ("smiles,y,y\nC,1,1\n", "more than one column 'y'"),
        ("smiles,y\nC,1\nCC\n", "line 3: 1 fields, but the header has 2"),
        ("smiles,y\nC,1\nCC,high\n", "line 3, column 'y': 'high' is not a finite number"),
        ('smiles,y\n"C,1\n', "line 2: unexpected end of data"),
        ("smiles,y\nC,1\nC(,1\n", r"line 3, column 'smiles': 'C\(': this is no SMILES"),
    ],
)
def test_errors_of_tables_name_file_and_line(tmp_path, content, message):
    file = tmp_path / "bad.csv"
    file.write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        load_molecules(file, target="y")
    assert "bad.csv" in str(caught.value)
    assert isinstance(caught.value, MoleculeTableError)


def test_rows_of_tables_stay_in_line(tmp_path):
    file = tmp_path / "gaps.csv"
    file.write_text("smiles,y\nC,1\nxx,2\nCC,\nCCC,4\n")
    with pytest.warns(UserWarning, match="molecules|targets"):
        graphs, y = load_molecules(file, target="y", errors="skip")
    assert [graph.n_nodes for graph in graphs] == [1, 3]
    assert y.tolist() == [1, 4]
    with pytest.warns(UserWarning, match="molecules|targets"):
        graphs, y = load_molecules(file, target="y", errors="nan")
    assert [graph.n_nodes for graph in graphs] == [1, 0, 2, 3]
    np.testing.assert_array_equal(y, [1, 2, np.nan, 4])


def test_file_that_is_no_text(tmp_path):
    (tmp_path / "latin.csv").write_bytes("smiles\n\xe9\n".encode("latin-1"))
    with pytest.raises(MoleculeTableError, match="UTF-8"):
        load_molecules(tmp_path / "latin.csv")
    with pytest.raises(FileNotFoundError, match=r"absent\.csv"):
        load_molecules(tmp_path / "absent.csv")


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
