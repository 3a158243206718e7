"""A table of molecules for the tests of commands."""

import pytest

from molecules.small_molecules import ROWS


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """Write a table of molecules; without RDKit, skip what needs it."""
    pytest.importorskip("rdkit.Chem")
    path = tmp_path_factory.mktemp("tables") / "solubility.csv"
    lines = [f'"name {place}",{smiles},{value}' for place, (smiles, value) in enumerate(ROWS)]
    path.write_text("\n".join(["name,structure,measured", *lines]) + "\n")
    return path
