"""Morgan fingerprints as counts, unfolded: every environment of an atom has a column of its own."""

from itertools import chain
from typing import Any, Self

import numpy as np
from scipy.sparse import coo_array, csr_array
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from relaxwl._validation import GraphEstimator, check_choice, check_integer
from relaxwl.graphs.arrays import Float64, Int64, prefix_sums
from relaxwl.kernels.counting import Counts
from relaxwl.molecules.reading import as_molecules

ATOMS = ("elements", "roles")


class MorganFingerprints(TransformerMixin, GraphEstimator):
    """Counts of circular environments (Morgan, ECFP), one column for each that the training molecules have.

    Parameters
    ----------
    radius : int
        Bonds from the centre of an environment to its rim.
    atoms : {"elements", "roles"}
        How atoms are told apart: by element, charge, hydrogens and bonds (ECFP), or by what they do (FCFP): donor or
        acceptor of hydrogen bonds, acid, base, halogen, aromatic.

    Attributes
    ----------
    environments_ : array (n_columns,)
        RDKit's number of each environment, in ascending order.

    Examples
    --------
    >>> MorganFingerprints(radius=0).fit_transform(["CCO", "CC"]).toarray()
    array([[1., 1., 1.],
           [0., 0., 2.]])
    """

    def __init__(self, radius: int = 2, atoms: str = "elements") -> None:
        self.radius = radius
        self.atoms = atoms

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which environments there are; ``X`` are SMILES or RDKit molecules."""
        check_integer("radius", self.radius)
        check_choice("atoms", self.atoms, ATOMS)
        _, environments, _ = _environments(as_molecules(X), self._generator())
        self.environments_: Int64 = np.unique(environments)
        return self

    def transform(self, X: Any) -> csr_array:
        """Return the counts, a CSR array; environments that were not met in fitting are left out."""
        return self.counts(X).matrix

    def counts(self, X: Any) -> Counts:
        """Return the counts with what belongs to environments that were not met in fitting."""
        check_is_fitted(self)
        return self._counted(*_environments(as_molecules(X), self._generator()))

    def counts_without_each(self, molecule: Any) -> Counts:
        """Return a row for each atom of one molecule: its counts less the environments around that atom."""
        check_is_fitted(self)
        centred = _centred_environments(molecule, self._generator())
        n_atoms = molecule.GetNumAtoms()
        others = [chain(*centred[:atom], *centred[atom + 1 :]) for atom in range(n_atoms)]
        found = [np.unique(np.fromiter(numbers, np.int64), return_counts=True) for numbers in others]
        indptr = prefix_sums(np.array([len(numbers) for numbers, _ in found], np.int64))
        numbers, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return self._counted(indptr, numbers, values.astype(np.float64))

    def _generator(self) -> Any:
        from rdkit.Chem import rdFingerprintGenerator

        roles = rdFingerprintGenerator.GetMorganFeatureAtomInvGen() if self.atoms == "roles" else None
        return rdFingerprintGenerator.GetMorganGenerator(radius=self.radius, atomInvariantsGenerator=roles)

    def _counted(self, indptr: Int64, environments: Int64, values: Float64) -> Counts:
        """Put counts into the columns that are known."""
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        columns = np.searchsorted(self.environments_, environments)
        known = columns < len(self.environments_)
        known[known] = self.environments_[columns[known]] == environments[known]
        n_rows = len(indptr) - 1
        places = rows[known], columns[known]
        matrix: csr_array = coo_array((values[known], places), shape=(n_rows, len(self.environments_))).tocsr()
        unknown = np.bincount(rows[~known], values[~known], minlength=n_rows).astype(np.float64)
        squares = np.bincount(rows[~known], values[~known] ** 2, minlength=n_rows).astype(np.float64)
        return Counts(matrix, squares, unknown)


def fingerprints(X: Any, radius: int = 2) -> csr_array:
    """Return the Morgan counts of molecules; to put others into the same columns, fit :class:`MorganFingerprints`."""
    return MorganFingerprints(radius).fit(X).transform(X)


def _environments(molecules: list[Any], generator: Any) -> tuple[Int64, Int64, Float64]:
    """Return (indptr, numbers, counts): the environments of each molecule."""
    found = [generator.GetSparseCountFingerprint(molecule).GetNonzeroElements() for molecule in molecules]
    indptr = prefix_sums(np.array([len(counts) for counts in found], np.int64))
    numbers = np.array([number for counts in found for number in counts], np.int64)
    values = np.array([count for counts in found for count in counts.values()], np.float64)
    return indptr, numbers, values


def _centred_environments(molecule: Any, generator: Any) -> list[list[int]]:
    """Return, for each atom, the environments around it."""
    from rdkit.Chem import rdFingerprintGenerator

    output = rdFingerprintGenerator.AdditionalOutput()
    output.AllocateBitInfoMap()
    generator.GetSparseCountFingerprint(molecule, additionalOutput=output)
    centred: list[list[int]] = [[] for _ in range(molecule.GetNumAtoms())]
    for number, places in output.GetBitInfoMap().items():
        for atom, _ in places:
            centred[atom].append(number)
    return centred
