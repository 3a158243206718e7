"""Groups of molecules that splits keep together: those with the same Bemis-Murcko scaffold, and copies."""

from typing import Any

import numpy as np

from relaxwl.graphs.arrays import Int64
from relaxwl.molecules.reading import as_molecules


def scaffolds(X: Any) -> Int64:
    """Return a group number for each molecule; molecules with the same Bemis-Murcko scaffold share one.

    Molecules without rings have no scaffold; each has its own number, shared by its copies.

    Parameters
    ----------
    X : sequence of SMILES or of RDKit molecules
        The molecules.

    Returns
    -------
    int64 array (n_molecules,)
        The numbers, for instance as ``groups`` of ``GroupKFold``.

    See Also
    --------
    duplicates : Copies of one molecule.

    Examples
    --------
    >>> scaffolds(["c1ccccc1C", "c1ccccc1CC", "CCO", "CCN"]).tolist()
    [0, 0, 1, 2]
    """
    molecules = as_molecules(X)
    from rdkit import Chem
    from rdkit.Chem.Scaffolds import MurckoScaffold

    murcko: Any = MurckoScaffold
    found = (murcko.MurckoScaffoldSmiles(mol=one, includeChirality=False) for one in molecules)
    return _numbered([text or Chem.MolToSmiles(one) for text, one in zip(found, molecules, strict=True)])


def duplicates(X: Any) -> Int64:
    """Return a group number for each molecule; copies of a molecule have the same number.

    Copies are recognized by their canonical SMILES, stereochemistry included.

    Parameters
    ----------
    X : sequence of SMILES or of RDKit molecules
        The molecules.

    Returns
    -------
    int64 array (n_molecules,)
        The numbers.

    See Also
    --------
    scaffolds : Molecules with one scaffold.

    Examples
    --------
    >>> duplicates(["CCO", "OCC", "CCN"]).tolist()
    [0, 0, 1]
    """
    from rdkit import Chem

    return _numbered([Chem.MolToSmiles(molecule) for molecule in as_molecules(X)])


def _numbered(texts: list[str]) -> Int64:
    """Return numbers of texts, in the order in which they first appear."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)
