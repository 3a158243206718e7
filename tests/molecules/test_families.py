"""Families of descriptors: bit for bit the values of RDKit's functions, each called for itself."""

import contextlib
from itertools import combinations

import numpy as np
import pytest

from relaxwl.molecules import Descriptors
from relaxwl.molecules.descriptors import descriptor_names, raw_descriptors
from relaxwl.molecules.families import FAMILIES, FRAGMENTS, MAX_PATHS, Shared, absent_fragments

Chem = pytest.importorskip("rdkit.Chem")
BCUT2D = pytest.importorskip("rdkit.Chem.rdMolDescriptors").BCUT2D
RDKIT = dict(pytest.importorskip("rdkit.Chem.Descriptors").descList)
# Not known to RDKit 2024.3, which has other values of BertzCT for bonds to metals and finds no fr_prisulfonamd.
NEWER = {"Phi"} - RDKIT.keys()

# Rings that meet, metals, ions, radicals, isotopes, dummies, several parts, stereochemistry, and a drug or two.
TEXT = """
C O N [He] [Fe] [Og] [H][H] [2H][2H] * *C* [Na+].[Cl-] CC.CC CCO.O C1CC1.C [CH3] [CH2]C [O][O] O=C=O [C-]#[O+]
C12CC1C2 C1CC1C1CC1 C12C3C4C1C5C2C3C45 C1CC2CCC1C2 CC1CC1 C1CCC1C C1CC11CC1 C12C3C1C23 C1CC2CC3CC4CC1C2C34
[2H]C([2H])([2H])O F/C=C/F FC=CF C/C=C\\C(C)(F)Cl C[C@H](N)C(=O)O OC[C@H]1OC(O)[C@H](O)[C@@H](O)[C@@H]1O
CP(=O)(O)OC OP(O)(O)=O CS(=O)(=O)N CS(C)=O CC=S CSC#N CN=C=S CCS c1ccsc1 c1cscn1 CSC c1cc[se]c1 C[Si](C)(C)C
F[U](F)(F)(F)(F)F C[Hg]C B1OB(O)OB1 N->[Pt](Cl)(Cl)<-N CC[Mg]Br CI(C)C FS(F)(F)(F)(F)F OCl(=O)(=O)=O
[N-]=[N+]=NC C#CC#N [NH3+]CC([O-])=O C[N+](C)(C)C N#[N+]c1ccccc1 [O-][N+](=O)c1ccccc1 Cc1ccccc1[N+](=O)[O-]
COP(=O)(O)O CS(C)(=O)=O CC=CC C1C=CNC=C1 C1=CC=CC=CC=C1 [Fe+2].[cH-]1cccc1.[cH-]1cccc1 OCCN1CCCC1 OCC Oc1ccccc1CO FCCBr
CC(=O)Oc1ccccc1C(=O)O CN1C=NC2=C1C(=O)N(C(=O)N2C)C CC(C)Cc1ccc(cc1)C(C)C(=O)O CN1CCC23C4Oc5c3c(CC1C2C=CC4O)ccc5O
CC1(C)SC2C(NC(=O)Cc3ccccc3)C(=O)N2C1C(=O)O Clc1ccc2c(c1)C(=NCC(=O)N2C)c1ccccc1
"""
VARIED = TEXT.split()


def of_rdkit(molecule):
    values = []
    for name in descriptor_names():
        try:
            values.append(float(RDKIT[name](molecule)))
        except (ArithmeticError, LookupError, ValueError, RuntimeError):
            values.append(np.nan)
    return values


def check(molecules):
    found = np.array(raw_descriptors([Chem.Mol(one) for one in molecules], descriptor_names()))
    wanted = np.array([of_rdkit(Chem.Mol(one)) for one in molecules])
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    eigenvalues = np.array([name.startswith("BCUT2D") for name in descriptor_names()])
    same |= np.isclose(found, wanted, rtol=1e-9, atol=1e-9) & eigenvalues
    if NEWER:
        same[:, descriptor_names().index("BertzCT")] = True
    assert not [
        (Chem.MolToSmiles(molecules[place]), descriptor_names()[column]) for place, column in np.argwhere(~same)
    ]


def test_all_values_are_those_of_rdkit():
    check([Chem.MolFromSmiles(text) for text in VARIED])


def test_values_with_hydrogens_as_atoms_are_those_of_rdkit():
    check([Chem.AddHs(Chem.MolFromSmiles(text)) for text in VARIED[::2]])


def test_values_without_an_atom_are_those_of_rdkit(monkeypatch):
    model = Descriptors().fit(["CCO", "CCN", "c1ccccc1"])
    seen = []
    monkeypatch.setattr(Descriptors, "transform", lambda self, molecules: seen.extend(molecules))
    for text in [*VARIED[-6::2], "C1CC2CCC1C2", "C1=CC=CC=CC=C1"]:
        model.without_nodes([text])
    check(seen[::2])


def test_every_descriptor_of_a_family_is_one_of_rdkit():
    names = [name for family in FAMILIES for name in family]
    assert len(set(names)) == len(names)
    assert set(names) - NEWER <= RDKIT.keys()
    assert {f"fr_{name}" for part in FRAGMENTS.values() for name in part} <= RDKIT.keys()


def test_fragments_that_may_be_absent_are_found_where_they_are():
    seen, absent = set(), set()
    for text in VARIED:
        molecule = Chem.MolFromSmiles(text)
        absent |= absent_fragments(Shared(molecule))
        seen |= {name for name, function in RDKIT.items() if name.startswith("fr_") and function(molecule)}
    assert absent == {f"fr_{name}" for part in FRAGMENTS.values() for name in part}
    # So that the values above were compared in molecules with each of them.
    assert absent - seen <= ({"fr_prisulfonamd"} if NEWER else set())


def test_paths_are_those_of_rdkit_in_its_order():
    for text in VARIED:
        molecule = Chem.MolFromSmiles(text)
        for n_bonds, paths in zip((2, 3, 4), Shared(molecule).paths, strict=True):
            found = Chem.FindAllPathsOfLengthN(molecule, n_bonds + 1, useBonds=False)
            assert [tuple(path) for path in found] == [tuple(path) for path in paths.tolist()]


def test_paths_are_not_listed_where_they_are_too_many():
    for text in ("C" * 60, "C1CC2CCC1C2" * 9):
        molecule = Chem.MolFromSmiles(text)
        assert Shared(molecule).n_walks == len(Chem.FindAllPathsOfLengthN(molecule, 4))
    cluster = Chem.RWMol()
    for _ in range(14):
        cluster.AddAtom(Chem.Atom("U"))
    for one, other in combinations(range(14), 2):
        cluster.AddBond(one, other, Chem.BondType.SINGLE)
    Chem.SanitizeMol(cluster)
    assert Shared(cluster).n_walks > MAX_PATHS
    values = dict(zip(descriptor_names(), raw_descriptors([cluster], descriptor_names())[0], strict=True))
    of_paths = {"Chi2n", "Chi2v", "Chi3n", "Chi3v", "Chi4n", "Chi4v", "Kappa2", "Kappa3", "Phi"} - NEWER
    assert np.isnan([values[name] for name in of_paths]).all()
    assert values["HeavyAtomCount"] == 14


@pytest.mark.parametrize("repeated", ["C", "C([2H])", "[H][H]."])
def test_large_molecules_have_no_eigenvalues(repeated, monkeypatch):
    """Hydrogens that RDKit keeps count, and those that it removes do not."""
    most = 60
    monkeypatch.setattr("relaxwl.molecules.families.MAX_EIGENVALUES", most)
    size = Chem.MolFromSmiles(repeated.strip(".")).GetNumAtoms()
    allowed, large = (Chem.MolFromSmiles((repeated * (most // size + n)).strip(".")) for n in (0, 1))
    assert allowed.GetNumAtoms() == most
    names = descriptor_names()
    for molecule, has_values in (
        (allowed, True),
        (Chem.AddHs(allowed), True),
        (large, False),
        (Chem.AddHs(large), False),
    ):
        values = dict(zip(names, raw_descriptors([molecule], names)[0], strict=True))
        found = [value for name, value in values.items() if name.startswith("BCUT2D")]
        expected = [np.nan] * 8
        if has_values:
            with contextlib.suppress(RuntimeError):  # RDKit 2024.3 fails where hydrogens are atoms
                expected = list(BCUT2D(molecule))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert np.isfinite(values["MolWt"])
