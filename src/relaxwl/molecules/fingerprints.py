"""Unfolded Morgan fingerprints as counts: every environment of an atom has its own column."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from sklearn.utils.validation import check_is_fitted

from relaxwl._validation import check_choice, check_flag, check_integer
from relaxwl.graphs.arrays import Float64, Int64, prefix_sums
from relaxwl.kernels.base import CountKernel
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.levels import Graphs
from relaxwl.kernels.model_schema import check_unary, fitted, vector
from relaxwl.kernels.unary import unary_steps
from relaxwl.molecules.reading import as_molecules, with_dummies

ATOMS = ("elements", "roles")


class MorganFingerprints(CountKernel):
    """Counts of circular environments (Morgan, ECFP), one column per environment of the training molecules.

    ``transform`` returns the counts, ``kernel_matrix`` the Tanimoto similarities Σ min / Σ max between them, where
    environments that do not occur in the training molecules add to Σ max.

    Parameters
    ----------
    radius : int, default=2
        Radius of the environments in bonds.
    atoms : {"elements", "roles"}, default="elements"
        Atom properties: element, charge, hydrogens and bonds (ECFP), or roles (FCFP): donor or acceptor of hydrogen
        bonds, acid, base, halogen, aromatic.
    n_jobs : int, optional
        Number of threads of ``kernel_matrix``.
    normalize : bool, default=False
        Whether unary features have length 1.

    Attributes
    ----------
    environments_ : array (n_columns,)
        RDKit's number of each environment, in ascending order.

    See Also
    --------
    Descriptors : Properties of whole molecules.
    relaxwl.WeisfeilerLehman : Counts of the neighborhoods of atoms.

    Examples
    --------
    >>> MorganFingerprints(radius=0).fit_transform(["CCO", "CC"]).toarray()
    array([[1., 1., 1.],
           [0., 0., 2.]])
    """

    max_depth, base, similarity, depth_weights, normalize = 0, "subtree", "tanimoto", None, False

    def __init__(
        self, radius: int = 2, atoms: str = "elements", n_jobs: int | None = None, normalize: bool = False
    ) -> None:
        self.radius = radius
        self.atoms = atoms
        self.normalize = normalize
        self.n_jobs = n_jobs

    def transform(self, X: Any) -> csr_array:
        """Return the counts; unseen environments are ignored.

        Parameters
        ----------
        X : sequence of SMILES or of RDKit molecules
            The molecules.

        Returns
        -------
        csr_array (n_molecules, n_columns) of float64
            The counts.
        """
        return self.prepare(X)[0].matrix

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> csr_array:
        """Fit and return the counts, as ``fit(X).transform(X)`` in one pass.

        Parameters
        ----------
        X : sequence of SMILES or of RDKit molecules
            The molecules.
        y : ignored
            Not used; present for API consistency.
        **fit_params : ignored
            Not used; present for API consistency.

        Returns
        -------
        csr_array (n_molecules, n_columns) of float64
            The counts.
        """
        return self.fit_prepare(X)[0].matrix

    def counts_without_nodes(self, X: Any) -> list[Counts]:
        """Return a row for each atom of one molecule: the counts without the environments of that atom.

        Parameters
        ----------
        X : sequence with one SMILES or RDKit molecule
            The molecule.

        Returns
        -------
        list of Counts
            One element, with a row per atom.
        """
        check_is_fitted(self)
        (molecule,) = as_molecules(X)
        centered = _centered_environments(molecule, self._generator())
        others = [chain(*centered[:atom], *centered[atom + 1 :]) for atom in range(molecule.GetNumAtoms())]
        return [self._counted(*_listed([Counter(numbers) for numbers in others]))]

    def node_columns(self, X: Any) -> tuple[Int64, Int64]:
        """Return pairs of an atom of one molecule and the column of a known environment around it.

        Parameters
        ----------
        X : sequence with one SMILES or RDKit molecule
            The molecule.

        Returns
        -------
        atoms : int64 array (n_pairs,)
            The atoms.
        columns : int64 array (n_pairs,)
            The columns.
        """
        check_is_fitted(self)
        (molecule,) = as_molecules(X)
        centered = _centered_environments(molecule, self._generator())
        atoms = np.repeat(np.arange(len(centered)), [len(numbers) for numbers in centered])
        numbers = np.fromiter(chain(*centered), np.int64)
        columns, known = self._columns(numbers)
        return atoms[known], columns[known]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for each environment: RDKit's number.

        Parameters
        ----------
        input_features : ignored
            Not used; present for API consistency.

        Returns
        -------
        array (n_columns,) of str
            The names.
        """
        check_is_fitted(self)
        return np.array([f"environment {number}" for number in self.environments_.tolist()], dtype=object)

    def _validate_parameters(self) -> None:
        check_integer("radius", self.radius)
        check_choice("atoms", self.atoms, ATOMS)
        check_flag("normalize", self.normalize)

    def _check_loaded(self) -> None:
        if (np.diff(self.environments_) <= 0).any():
            raise ValueError("environments_ must ascend")
        check_unary(self, [len(self.environments_)])

    def fit_prepare(self, X: Any) -> list[Counts]:
        """Fit the kernel and return the counts.

        Parameters
        ----------
        X : sequence of SMILES or of RDKit molecules
            The molecules.

        Returns
        -------
        list of Counts
            One element.
        """
        self._validate_parameters()
        found = self._found(as_molecules(X))
        self.environments_: Int64 = np.unique(found[1])
        counts = self._counted(*found)
        self.unary_ = [unary_steps(counts.matrix.indices, counts.matrix.data, counts.matrix.shape[1])]
        return [counts]

    def fit_source(self, source: Graphs) -> None:
        """Fit to the molecules of shards, which keep their SMILES.

        Parameters
        ----------
        source : Graphs
            The shards.
        """
        self._validate_parameters()
        self.environments_ = source.joined(_distinct, source.each(environments_of_part, self))

    def prepare(self, X: Any) -> list[Counts]:
        """Return the counts of molecules.

        Parameters
        ----------
        X : sequence of SMILES or of RDKit molecules
            The molecules.

        Returns
        -------
        list of Counts
            One element.
        """
        check_is_fitted(self)
        return [self._counted(*self._found(as_molecules(X)))]

    def _found(self, molecules: list[Any]) -> tuple[Int64, Int64, Float64]:
        """Return (indptr, numbers, counts): the environments of each molecule."""
        generator = self._generator()
        return _listed([generator.GetSparseCountFingerprint(one).GetNonzeroElements() for one in molecules])

    def _generator(self) -> Any:
        from rdkit.Chem import rdFingerprintGenerator

        roles = rdFingerprintGenerator.GetMorganFeatureAtomInvGen() if self.atoms == "roles" else None
        return rdFingerprintGenerator.GetMorganGenerator(radius=self.radius, atomInvariantsGenerator=roles)

    def _columns(self, environments: Int64) -> tuple[Int64, NDArray[np.bool_]]:
        """Return the column of each environment, and whether it is known."""
        columns = np.searchsorted(self.environments_, environments)
        known = columns < len(self.environments_)
        known[known] = self.environments_[columns[known]] == environments[known]
        return columns, known

    def _counted(self, indptr: Int64, environments: Int64, values: Float64) -> Counts:
        """Return counts in the known columns, and sums of the others."""
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        columns, known = self._columns(environments)
        n_rows = len(indptr) - 1
        places = rows[known], columns[known]
        matrix: csr_array = coo_array((values[known], places), shape=(n_rows, len(self.environments_))).tocsr()
        unknown = np.bincount(rows[~known], values[~known], minlength=n_rows).astype(np.float64)
        squares = np.bincount(rows[~known], values[~known] ** 2, minlength=n_rows).astype(np.float64)
        return Counts(matrix, squares, unknown)


fitted("MorganFingerprints", environments_=vector(np.int64, least=0))


class StructuralKeys(MorganFingerprints):
    """The 166 MACCS keys: presence of groups and rings that are typical of drugs, one column per key that occurs."""

    radius, atoms, normalize = 0, "elements", False

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def counts_without_nodes(self, X: Any) -> list[Counts]:
        """Return a row for each atom of one molecule: the keys of the molecule with a dummy in place of that atom.

        Parameters
        ----------
        X : sequence with one SMILES or RDKit molecule
            The molecule.

        Returns
        -------
        list of Counts
            One element, with a row per atom.
        """
        check_is_fitted(self)
        (molecule,) = as_molecules(X)
        return self.prepare(with_dummies(molecule))

    def _found(self, molecules: list[Any]) -> tuple[Int64, Int64, Float64]:
        from rdkit.Chem import rdMolDescriptors

        keys: Any = rdMolDescriptors.GetMACCSKeysFingerprint
        return _listed([dict.fromkeys(keys(one).GetOnBits(), 1) for one in molecules])


def fingerprints(X: Any, radius: int = 2) -> csr_array:
    """Return the Morgan counts of molecules.

    Parameters
    ----------
    X : sequence of SMILES or of RDKit molecules
        The molecules.
    radius : int, default=2
        Radius of the environments in bonds.

    Returns
    -------
    csr_array (n_molecules, n_columns) of float64
        The counts.

    See Also
    --------
    MorganFingerprints : Count other molecules in the same columns.

    Examples
    --------
    >>> fingerprints(["CCO", "CC"], radius=0).toarray()
    array([[1., 1., 1.],
           [0., 0., 2.]])
    """
    return MorganFingerprints(radius).fit_transform(X)


def environments_of_part(graphs: Any, kernel: MorganFingerprints) -> Int64:
    """Return the distinct environments of a shard."""
    return np.unique(kernel._found(as_molecules(graphs))[1])


def _distinct(parts: list[Int64]) -> Int64:
    return np.unique(np.concatenate(parts))


def _listed(found: Sequence[Mapping[int, int]]) -> tuple[Int64, Int64, Float64]:
    """Return (indptr, numbers, counts) of the counts of each molecule."""
    indptr = prefix_sums(np.array([len(counts) for counts in found], np.int64))
    numbers = np.array([number for counts in found for number in counts], np.int64)
    values = np.array([count for counts in found for count in counts.values()], np.float64)
    return indptr, numbers, values


def _centered_environments(molecule: Any, generator: Any) -> list[list[int]]:
    """Return, for each atom, the environments around it."""
    from rdkit.Chem import rdFingerprintGenerator

    output = rdFingerprintGenerator.AdditionalOutput()
    output.AllocateBitInfoMap()
    generator.GetSparseCountFingerprint(molecule, additionalOutput=output)
    centered: list[list[int]] = [[] for _ in range(molecule.GetNumAtoms())]
    for number, places in output.GetBitInfoMap().items():
        for atom, _ in places:
            centered[atom].append(number)
    return centered
