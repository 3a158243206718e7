"""Bemis-Murcko scaffolds: ring systems and what joins them, by which molecules are kept together in splits."""

from typing import Any

import numpy as np

from relaxwl.graphs.arrays import Int64
from relaxwl.molecules.reading import as_molecules


def scaffolds(X: Any) -> Int64:
    """Return a number for each molecule (SMILES or RDKit's); those with the same scaffold have the same.

    Molecules without rings have no scaffold to share: each has a number of its own.

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
