"""Molecules that belong together in splits: those of one Bemis-Murcko scaffold, and copies of one molecule."""

from typing import Any

import numpy as np

from relaxwl.graphs.arrays import Int64
from relaxwl.molecules.reading import as_molecules


def scaffolds(X: Any) -> Int64:
    """Return a number for each molecule; molecules with the same Bemis-Murcko scaffold have the same.

    Molecules without rings have no scaffold to share: each has a number of its own.


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
    from rdkit.Chem.Scaffolds import MurckoScaffold

    murcko: Any = MurckoScaffold
    numbers: dict[object, int] = {}
    found = []
    for place, molecule in enumerate(molecules):
        text = murcko.MurckoScaffoldSmiles(mol=molecule, includeChirality=False)
        found.append(numbers.setdefault(text or place, len(numbers)))
    return np.array(found, np.int64)


def duplicates(X: Any) -> Int64:
    """Return a number for each molecule; copies of a molecule have the same.

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

    numbers: dict[str, int] = {}
    texts = [Chem.MolToSmiles(molecule) for molecule in as_molecules(X)]
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)
