"""Tables of molecules and their targets."""

import gc
import sys
import time

import numpy as np
import pytest

from relaxwl._memory import forget_peak_memory, peak_memory
from relaxwl.datasets import load_molecules
from relaxwl.datasets.molecules import MoleculeTableError, read_molecules
from relaxwl.molecules import from_smiles

Chem = pytest.importorskip("rdkit.Chem")


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
        ("Smiles,SMILES,y\nC,C,1\n", "has the columns Smiles and SMILES for 'smiles'"),
        ("smiles,y\nC,1\nCC,1_0\n", "line 3, column 'y': '1_0' is not a finite number"),
        ("smiles,y,y\nC,1,1\n", "more than one column 'y'"),
        ("smiles,y\nC,1\nCC\n", "line 3: 1 fields, but the header has 2"),
        ("smiles,y\nC,1\n".encode("utf-16-le").decode("ascii"), "NUL"),
        ("smiles,y\nC,1\nCC,high\n", "line 3, column 'y': 'high' is not a finite number"),
        ('smiles,y\n"C,1\n', "line 2: unexpected end of data"),
        ("smiles,y\nC,1\nC(,1\n", r"line 3, column 'smiles': 'C\(': not a valid SMILES string"),
    ],
)
def test_errors_of_tables_name_file_and_line(tmp_path, content, message):
    file = tmp_path / "bad.csv"
    file.write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        load_molecules(file, target="y")
    assert "bad.csv" in str(caught.value)
    assert isinstance(caught.value, MoleculeTableError)


@pytest.mark.parametrize("text", ["1_0", "\u0663", "\uff11\uff12", "0x10", "1e400", "-inf", "Infinity", "-nan", "1,5"])
def test_targets_that_are_no_numbers_are_missing_or_errors(tmp_path, text):
    file = tmp_path / "numbers.csv"
    file.write_text(f'smiles,y\nC,1\nCC,"{text}"\nCCC,1e-400\n', encoding="utf-8")
    for target in ("y", ["y"]):
        with pytest.raises(MoleculeTableError, match=r"line 3, column 'y': .* is not a finite number"):
            load_molecules(file, target=target)
        with pytest.warns(UserWarning, match="1 of 3 targets are missing"):
            found = load_molecules(file, target=target, errors="nan")[1]
        # The last one is rounded to the nearest double.
        np.testing.assert_array_equal(found if target == "y" else found["y"], [1, np.nan, 0])


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
    file.write_text("smiles,y\nC,inf\nCC,2\n")
    with pytest.warns(UserWarning, match="1 of 2 targets"):
        np.testing.assert_array_equal(load_molecules(file, target="y", errors="nan")[1], [np.nan, 2])


def test_molecules_are_named_by_their_column_or_their_smiles(tmp_path):
    file = tmp_path / "named.csv"
    file.write_text("ID,Smiles,batch\nx1,C,b1\nx2,CC,b2\n")
    assert load_molecules(file)[0].names == ("x1", "x2")
    assert load_molecules(file, name="batch")[0].names == ("b1", "b2")
    assert read_molecules(file).columns == {"ID": ["x1", "x2"], "Smiles": ["C", "CC"], "batch": ["b1", "b2"]}
    file.write_text("ID,Smiles\nx1,C\n,CC\n")
    assert load_molecules(file)[0].names == ("C", "CC")
    with pytest.raises(MoleculeTableError, match="has no column 'batch'"):
        load_molecules(file, name="batch")


def test_lines_of_smiles(tmp_path):
    file = tmp_path / "lines.smi"
    file.write_text("CCO ethanol, pure\n\nC methane\n")
    graphs, _ = load_molecules(file)
    assert graphs.names == ("ethanol, pure", "methane")
    assert graphs.sources == ("CCO", "C")


def v3000(n_atoms, bonds=(), properties="", counts=None):
    """Return a molecule of uranium atoms as an SDF file of the newer form has it."""
    atoms = [f"M  V30 {number} U {number}.0 0 0 0" for number in range(1, n_atoms + 1)]
    lines = [f"M  V30 {number} 1 {one} {other}" for number, (one, other) in enumerate(bonds, 1)]
    return "\n".join([
        "title", "", "", "  0  0  0     0  0            999 V3000", "M  V30 BEGIN CTAB",
        f"M  V30 COUNTS {counts or f'{n_atoms} {len(lines)}'} 0 0 0", "M  V30 BEGIN ATOM", *atoms, "M  V30 END ATOM",
        "M  V30 BEGIN BOND", *lines, "M  V30 END BOND", "M  V30 END CTAB", "M  END", f"{properties}$$$$", "",
    ])  # fmt: skip


def test_sdf_files_that_announce_much_are_refused_before_they_are_read(tmp_path):
    file = tmp_path / "large.sdf"
    cluster = [(one, other) for one in range(1, 61) for other in range(1, one)]
    for text, message in (
        (v3000(1, counts="99999999 0"), "99999999 atoms are more than max_atoms=1000"),
        (v3000(1, counts="9-\nM  V30 9999999 0"), "99999999 atoms are more than max_atoms=1000"),
        (v3000(60, cluster), "1710 rings are more than max_atoms=1000"),  # RDKit would take half a minute
    ):
        file.write_text(v3000(2, [(1, 2)]) + text)
        with pytest.raises(MoleculeTableError, match=rf"large\.sdf, molecule 2: {message}"):
            load_molecules(file)
        with pytest.warns(UserWarning, match="1 of 2 molecules"):
            assert len(load_molecules(file, errors="skip")[0]) == 1


def test_sdf_files_without_records_are_refused(tmp_path):
    file = tmp_path / "lines.sdf"
    for text in ("a note", v3000(2, [(1, 2)]).replace("\n", "\r")):
        file.write_text(text)
        with pytest.raises(MoleculeTableError, match=r"lines\.sdf contains no records"):
            load_molecules(file)


def test_a_property_of_an_sdf_file_does_not_replace_its_molecule(tmp_path):
    file = tmp_path / "named.sdf"
    file.write_text(v3000(2, [(1, 2)], ">  <smiles>\nCCO\n\n"))
    graphs, _ = load_molecules(file)
    assert (graphs.sources, graphs.names) == (("[U][U]",), ("title",))
    file.write_bytes(v3000(1, properties=">  <p>\nX\n\n").encode().replace(b"X", b"\xff"))
    with pytest.raises(MoleculeTableError, match=r"named\.sdf, molecule 1 is not text in UTF-8"):
        load_molecules(file)


def test_sdf_files(tmp_path):
    file = tmp_path / "some.sdf"
    with Chem.SDWriter(str(file)) as writer:
        for name, smiles, value in (("ethanol", "CCO", "-5.0"), ("methane", "C", "2.0"), ("ethane", "CC", "")):
            molecule = Chem.AddHs(Chem.MolFromSmiles(smiles))
            molecule.SetProp("_Name", name)
            if value:
                molecule.SetProp("expt", value)
            writer.write(molecule)
    with pytest.raises(MoleculeTableError, match=r"some\.sdf, line 3, column 'expt': '' is not a finite number"):
        load_molecules(file, target="expt")
    with pytest.warns(UserWarning, match="1 of 3 targets"):
        graphs, y = load_molecules(file, target="expt", errors="skip")
    assert graphs.names == ("ethanol", "methane")
    assert graphs.sources == ("CCO", "C")
    assert graphs[0].n_nodes == 3
    assert y.tolist() == [-5, 2]
    with pytest.raises(MoleculeTableError, match="molecule 1: 9 atoms are more than max_atoms=2"):
        load_molecules(file, max_atoms=2)
    text = file.read_text().replace(" C ", " Q9 ", 1)
    file.write_text(text)
    with pytest.raises(MoleculeTableError, match=r"some\.sdf, molecule 1: "):
        load_molecules(file)
    with pytest.warns(UserWarning, match="1 of 3 molecules"):
        assert load_molecules(file, errors="nan")[0].node_counts.tolist() == [0, 1, 2]


def test_file_that_is_no_text(tmp_path):
    (tmp_path / "latin.csv").write_bytes("smiles\n\xe9\n".encode("latin-1"))
    with pytest.raises(MoleculeTableError, match="UTF-8"):
        load_molecules(tmp_path / "latin.csv")
    with pytest.raises(FileNotFoundError, match=r"absent\.csv"):
        load_molecules(tmp_path / "absent.csv")


def test_several_targets_keep_their_gaps(tmp_path):
    file = tmp_path / "assays.csv"
    file.write_text(
        "ID,mol_id,Smiles,a,b,c\nx1,1,CCO,1,yes,\nx2,2,C,NA,no,2\nx3,3,CC,0,,3\nx4,4,CCC,1,yes,4\nx5,5,CCN,,no,5\n"
    )
    _, y = load_molecules(file, target=["a", "b"])
    np.testing.assert_array_equal(y["a"], [1, np.nan, 0, 1, np.nan])
    assert y["b"].tolist() == ["yes", "no", None, "yes", "no"]
    assert list(load_molecules(file, target="all")[1]) == ["a", "b", "c"]
    assert load_molecules(file, target=["c"])[1]["c"].tolist()[1:] == [2, 3, 4, 5]
    with pytest.raises(MoleculeTableError, match="no column of numbers or classes"):
        load_molecules(_written(tmp_path / "bare.csv", "id,smiles\n1,C\n"), target="all")
    with pytest.raises(MoleculeTableError, match=r"line 3, column 'a': 'NA' is not a finite number; errors='skip'"):
        load_molecules(file, target="a")


def test_standardized_molecules_are_neutral_and_whole(tmp_path):
    file = _written(tmp_path / "salts.csv", "name,smiles\nacetate,CC(=O)[O-].[Na+]\nethanol,CCO\n")
    assert load_molecules(file, standardize=True)[0].sources == ("CC(=O)O", "CCO")
    assert load_molecules(file, standardize=True)[0].names == ("acetate", "ethanol")
    assert read_molecules(file).molecules[0].GetNumAtoms() == 5
    assert read_molecules(file, standardize=True).columns["smiles"][0] == "CC(=O)[O-].[Na+]"


def test_a_table_is_printed_in_one_line(tmp_path):
    file = _written(tmp_path / "many.csv", "id,smiles\n" + "".join(f"{n},C\n" for n in range(300)))
    table = read_molecules(file)
    assert repr(table) == "MoleculeTable(many: 300 molecules; columns id, smiles)"
    assert table._repr_html_().count("<tr>") == 6
    file.write_text("SMILES,Compound ID,valid\nCCO,ethanol,1\n")
    assert read_molecules(file).names == ["ethanol"]
    assert list(read_molecules(file, target="all").y) == ["valid"]


def _written(path, text):
    path.write_text(text)
    return path


def test_a_table_of_many_columns_is_read_in_proportion(tmp_path):
    titles = [f"c{number}" for number in range(20_000)]
    (tmp_path / "wide.csv").write_text(f"smiles,{','.join(titles)}\nC{',1' * len(titles)}\n")
    started = time.process_time()
    assert len(read_molecules(tmp_path / "wide.csv", target="all").molecules) == 1
    assert time.process_time() - started < 10  # each title was once compared with all others


def test_many_rows_that_lack_many_columns_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxwl.datasets.molecules.MAX_FILLED", 1000)
    titles = [f"c{number}" for number in range(199)]
    (tmp_path / "wide.csv").write_text(f"smiles,{','.join(titles)}\n" + "C\n" * 1000)
    with pytest.raises(MoleculeTableError, match=r"wide\.csv, line 7: 6 rows do not have the 200 columns"):
        read_molecules(tmp_path / "wide.csv", errors="skip")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets the peak")
@pytest.mark.parametrize(("smiles", "n_atoms"), [("C", 1), ("c1ccccc1" * 100, 600)])
def test_molecules_take_memory_by_their_atoms(tmp_path, smiles, n_atoms):
    file, number = tmp_path / "many.csv", 60_000 // (n_atoms + 2)
    file.write_text("smiles\n" + f"{smiles}\n" * number)
    read_molecules(file, n_jobs=1)
    gc.collect()
    forget_peak_memory()
    before = peak_memory()
    read_molecules(file, n_jobs=1)
    assert peak_memory() - before <= number * (4096 + 1536 * n_atoms)


@pytest.mark.parametrize("target", ["y", ["y"]])
def test_a_long_class_among_many_is_refused(tmp_path, target, monkeypatch):
    file = tmp_path / "classes.csv"
    file.write_text("smiles,y\n" + "C,a\n" * 99 + f"C,{'x' * 200}\n")
    assert str(read_molecules(file, target="y").y.dtype) == "<U200"
    monkeypatch.setattr("relaxwl._validation.FREE_CHARACTERS", 10_000)
    with pytest.raises(MoleculeTableError, match=r"classes\.csv, line 101, column 'y': a text of 200 char"):
        read_molecules(file, target=target)


def test_sdf_files_of_many_properties_that_most_lack_are_refused(tmp_path, monkeypatch):
    block = "\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C   0  0\nM  END\n"
    file = tmp_path / "many.sdf"
    file.write_text("".join(f"{block}>  <p{number}>\n1\n\n$$$$\n" for number in range(100)))
    assert len(read_molecules(file).columns) == 102
    monkeypatch.setattr("relaxwl.datasets.molecules.MAX_FILLED", 1000)
    monkeypatch.setattr("relaxwl.datasets.molecules.CELLS_PER_BYTE", 0)
    with pytest.raises(MoleculeTableError, match=r"many\.sdf: it has 102 properties, which most of its 100 molecules"):
        read_molecules(file)


def test_sdf_files_whose_rings_share_many_atoms_are_refused_before_they_are_read(tmp_path):
    bonds = [(3 * one + a, (3 * one + b) % 60) for one in range(20) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))]
    lines = ["", "", "", f"{60:3}{len(bonds):3}  0  0  0  0  0  0  0  0999 V2000"]
    lines += ["    0.0000    0.0000    0.0000 C   0  0" for _ in range(60)]
    lines += [f"{one + 1:3}{other + 1:3}  1  0" for one, other in bonds]
    file = tmp_path / "circle.sdf"
    file.write_text("\n".join([*lines, "M  END", "$$$$", ""]))
    with pytest.raises(MoleculeTableError, match=r"circle.sdf, molecule 1: its rings share too many atoms"):
        read_molecules(file)
