"""Reading of molecules: SMILES or RDKit molecules as RDKit molecules."""

from collections.abc import Iterable
from typing import Any

from relaxwl.datasets.smiles import MoleculeCollection, MoleculeError, is_rdkit_molecule, read_smiles
from relaxwl.graphs import Graph, GraphCollection


def as_molecules(X: Any, n_jobs: int | None = None) -> list[Any]:
    """Return RDKit molecules for SMILES, RDKit molecules or a collection that stores them.

    A data frame must have one column, or a column called smiles, ignoring case. Errors name the position of a molecule
    that cannot be read. Many SMILES are read by ``n_jobs`` processes.

    >>> [molecule.GetNumAtoms() for molecule in as_molecules(["CCO", "C"])]
    [3, 1]
    """
    if isinstance(X, MoleculeCollection) and all(isinstance(source, str) for source in X.sources):
        return read_smiles(X.sources, max_atoms=None, n_jobs=n_jobs)  # sizes were checked when they were read first
    if isinstance(X, MoleculeCollection):
        return as_molecules(X.sources, n_jobs)
    if isinstance(X, GraphCollection):
        raise TypeError("expected SMILES or RDKit molecules, not a GraphCollection without molecules")
    columns = getattr(X, "columns", None)
    if columns is not None and hasattr(X, "iloc"):
        titles = [str(title).strip().lower() for title in columns]
        if len(titles) != 1 and titles.count("smiles") != 1:
            raise TypeError(f"expected a table with one column of SMILES, or one called smiles, not {list(columns)}")
        X = X.iloc[:, 0 if len(titles) == 1 else titles.index("smiles")]
    if isinstance(X, str) or not isinstance(X, Iterable):
        raise TypeError(f"expected a list of SMILES or RDKit molecules, not {type(X).__name__}")
    items = list(X)
    if items and all(isinstance(item, Graph) and isinstance(item.collection, MoleculeCollection) for item in items):
        return as_molecules([item.collection.sources[item.index] for item in items], n_jobs)
    are_molecules = [is_rdkit_molecule(item) for item in items]
    if not any(are_molecules):
        return read_smiles(items, n_jobs=n_jobs)
    for index, (item, is_molecule) in enumerate(zip(items, are_molecules, strict=True)):
        if not is_molecule:
            raise MoleculeError(index, item, "expected an RDKit molecule, as others of the list are")
    return items


def with_dummies(molecule: Any) -> list[Any]:
    """Return copies of a molecule, in each of which a dummy replaces another atom."""
    from rdkit import Chem

    masked = []
    for index in range(molecule.GetNumAtoms()):
        editable = Chem.RWMol(molecule)
        editable.ReplaceAtom(index, Chem.Atom(0))
        copy = editable.GetMol()
        copy.ClearComputedProps()  # also the stereochemistry, which may differ in the copy
        copy.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(copy)
        masked.append(copy)
    return masked
