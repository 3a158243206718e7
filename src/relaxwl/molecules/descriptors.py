"""RDKit's descriptors of whole molecules, scaled to comparable columns on the training molecules."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from relaxwl._execution import map_processes
from relaxwl._validation import GraphEstimator, check_number
from relaxwl.datasets.smiles import import_rdkit
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.kernels.model_schema import listed, number, of, optional, record, require, texts, vector, whole
from relaxwl.molecules.families import FAMILIES, Shared, absent_fragments
from relaxwl.molecules.reading import as_molecules, with_dummies

# Descriptors that are not computed: qed, a weighted mean of others that takes a quarter of the total time, and two that
# take seconds for a molecule of 200 atoms.
LEFT_OUT = frozenset({"qed", "Ipc", "AvgIpc"})
# Number of decimals to which logarithms of values are rounded, so that rounding errors do not distinguish them.
DECIMALS = 9
# Maximum number of molecules, evenly spaced among those of the fit, whose ranks determine the scale.
N_RANKED = 5000
# Kinds of descriptors, and the beginnings of their names.
BEGINNINGS = {
    "fragments": ("fr_",),
    "topology": ("Chi", "Kappa", "BCUT", "Bertz", "Balaban", "Hall", "Phi"),
    "counts": ("Num", "Ring", "Heavy", "NHOH", "NO"),
}
KINDS = (*BEGINNINGS, "surfaces", "the whole")


class Descriptors(TransformerMixin, GraphEstimator):
    """RDKit descriptors (about 200: sizes, charges, surfaces, fragments), scaled to comparable columns.

    Descriptors that are constant or undefined on the training molecules are dropped. Each of the others is replaced by
    its normal score (the normal quantile of its rank, with interpolation between ranks), because many have long tails,
    then standardized and clipped. Undefined values of new molecules are replaced by the mean. With more than 5,000
    molecules the scale is computed from 5,000 evenly spaced ones.

    Parameters
    ----------
    clip : float, default=5.0
        Largest distance from the mean, in standard deviations.
    n_jobs : int, optional
        Number of processes for many molecules, as in joblib; the result does not depend on it.

    Attributes
    ----------
    names_ : list of str
        The descriptors kept.
    mean_, deviation_ : array (n_kept,)
        Mean and standard deviation of the normal scores.

    See Also
    --------
    MorganFingerprints : Counts of circular environments.
    MoleculeRegressor : A predictor that uses both.

    Examples
    --------
    >>> table = Descriptors().fit_transform(["CCO", "CCN", "c1ccccc1"])
    >>> table.shape[0], bool(abs(table).max() <= 5)
    (3, True)
    """

    n_jobs: int | None = None

    def __init__(self, clip: float = 5.0, n_jobs: int | None = None) -> None:
        self.clip = clip
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Select descriptors and compute their scale.

        Parameters
        ----------
        X : sequence of SMILES or of RDKit molecules
            The molecules.
        y : ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self.fit_table(self._raw(X, descriptor_names()))
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Float64:
        """Fit and return the scaled descriptors of ``X``.

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
        float64 array (n_molecules, n_kept)
            The scaled descriptors.
        """
        table = self._raw(X, descriptor_names())
        self.fit_table(table)
        places = {name: place for place, name in enumerate(descriptor_names())}
        return self._scaled(table[:, [places[name] for name in self.names_]])

    def transform(self, X: Any) -> Float64:
        """Return the scaled descriptors of molecules.

        Parameters
        ----------
        X : sequence of SMILES or of RDKit molecules
            The molecules.

        Returns
        -------
        float64 array (n_molecules, n_kept)
            The scaled descriptors.
        """
        check_is_fitted(self)
        return self._scaled(self._raw(X, self.names_))

    def without_nodes(self, X: Any) -> Float64:
        """Return the scaled descriptors of one molecule with each atom in turn replaced by a dummy.

        Parameters
        ----------
        X : sequence with one SMILES or RDKit molecule
            The molecule.

        Returns
        -------
        float64 array (n_atoms, n_kept)
            The scaled descriptors.
        """
        (molecule,) = as_molecules(X)
        return self.transform(with_dummies(molecule))

    @property
    def kinds_(self) -> NDArray[Any]:
        """The kind of each descriptor kept: one of ``KINDS``."""
        return np.array([kind_of(name) for name in self.names_])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the descriptors kept.

        Parameters
        ----------
        input_features : ignored
            Not used; present for API consistency.

        Returns
        -------
        array (n_kept,) of str
            The names.
        """
        check_is_fitted(self)
        return np.array(self.names_, dtype=object)

    def _raw(self, X: Any, names: list[str]) -> Float64:
        """Return RDKit's values, NaN if undefined."""
        found = map_processes(partial(raw_descriptors, names=names), as_molecules(X), self.n_jobs)
        return np.array(found).reshape(len(found), len(names))

    def fit_table(self, table: Float64) -> None:
        """Compute the scale from a table of RDKit descriptors.

        Parameters
        ----------
        table : float64 array (n_molecules, n_descriptors)
            The values of ``descriptor_names()``.
        """
        check_number("clip", self.clip)
        names = descriptor_names()
        if not len(table):
            raise ValueError("there are no molecules to fit descriptors on")
        table = table[ranked_rows(len(table))]
        values = _comparable(table)
        kept: NDArray[np.bool_] = np.isfinite(values).all(axis=0) & (values != values[0]).any(axis=0)
        self.names_ = [name for name, is_kept in zip(names, kept, strict=True) if is_kept]
        self._ranks = [_ranked(column) for column in values[:, kept].T]
        scores = self._scored(table[:, kept])
        self.mean_, self.deviation_ = scores.mean(axis=0), scores.std(axis=0)

    def _scored(self, table: Float64) -> Float64:
        scores = np.empty_like(table)
        for place, (column, (values, known)) in enumerate(zip(_comparable(table).T, self._ranks, strict=True)):
            scores[:, place] = np.interp(column, values, known)
        return scores

    def _scaled(self, table: Float64) -> Float64:
        scaled = (self._scored(table) - self.mean_) / self.deviation_
        scaled[np.isnan(scaled)] = 0
        clipped: Float64 = np.clip(scaled, -self.clip, self.clip)
        return clipped


def _check_descriptors(found: Descriptors) -> None:
    require(found.names_ and len(set(found.names_)) == len(found.names_), "names_ must be different descriptors")
    _require_known(found.names_)
    require(len(found.names_) == len(found.mean_) == len(found.deviation_), "mean_ must be those of names_")
    require(len(found._ranks) == len(found.names_), "_ranks must be those of names_")
    for pair in found._ranks:
        require(len(pair) == 2, "_ranks must be pairs")
        for part in pair:
            vector(np.float64)(part, "_ranks")
        require(len(pair[0]) == len(pair[1]) and (np.diff(pair[0]) > 0).all(), "_ranks must ascend")


record(
    Descriptors, _check_descriptors, clip=number(1e-9, 1e9), n_jobs=optional(whole(2**31, -(2**31))), names_=texts,
    mean_=vector(np.float64),
    deviation_=vector(np.float64, least=1e-100), _ranks=listed(of(tuple)),
)  # fmt: skip


def descriptors(X: Any) -> Float64:
    """Return the scaled descriptors of molecules.

    Parameters
    ----------
    X : sequence of SMILES or of RDKit molecules
        The molecules.

    Returns
    -------
    float64 array (n_molecules, n_kept)
        The scaled descriptors.

    See Also
    --------
    Descriptors : Scale the descriptors of other molecules alike.

    Examples
    --------
    >>> descriptors(["CCO", "CCN", "c1ccccc1"]).shape[0]
    3
    """
    return Descriptors().fit_transform(X)


def descriptor_names() -> list[str]:
    """Return the names of RDKit's descriptors that are computed."""
    return [name for name in _functions() if name not in LEFT_OUT]


def kind_of(name: str) -> str:
    """Return the kind of a descriptor: one of ``KINDS``."""
    if "VSA" in name:  # surfaces, by charge, lipophilicity, …
        return "surfaces"
    return next((kind for kind, beginnings in BEGINNINGS.items() if name.startswith(beginnings)), "the whole")


def raw_descriptors(molecules: Sequence[Any], names: list[str]) -> list[Float64]:
    """Return RDKit's values for each molecule, NaN if undefined."""
    from rdkit import rdBase

    functions = _require_known(names)
    family_of = {name: family for family in FAMILIES for name in family}
    # In the order of names, because results that RDKit caches in the molecule may change later descriptors.
    families = list(dict.fromkeys(family_of.get(name, (name,)) for name in names))
    rows = []
    with rdBase.BlockLogs():
        for molecule in molecules:
            shared = Shared(molecule)
            values = dict.fromkeys(absent_fragments(shared), 0.0)
            for family in families:
                if family in FAMILIES:
                    found = _found(FAMILIES[family], shared)
                    values.update(zip(family, found or [np.nan] * len(family), strict=True))
                elif family[0] not in values:
                    values[family[0]] = _found(functions[family[0]], molecule)
            rows.append(np.array([values[name] for name in names], np.float64))
    return rows


def ranked_rows(n_molecules: int) -> Int64:
    """Return the molecules whose ranks determine the scale: all, or evenly spaced ones."""
    return np.linspace(0, n_molecules - 1, min(n_molecules, N_RANKED)).astype(np.int64)


def _functions() -> dict[str, Any]:
    """Return RDKit's function for each name."""
    import_rdkit()
    import rdkit.Chem.Descriptors

    return dict(rdkit.Chem.Descriptors.descList)


def _require_known(names: list[str]) -> dict[str, Any]:
    """Return RDKit's functions; raise an error if one is missing."""
    functions = _functions()
    missing = [name for name in names if name not in functions]
    if missing:
        raise ValueError(f"this version of RDKit has no descriptor {missing[0]}, with which the model was fitted")
    return functions


def _found(function: Any, of: Any) -> Any:
    """Return the result of a function, or None after an error, which becomes NaN in an array of numbers."""
    try:
        return function(of)
    except (ArithmeticError, LookupError, ValueError, RuntimeError):
        return None


def _comparable(table: Float64) -> Float64:
    """Return rounded logarithms of absolute values, with their signs; infinite and huge values become NaN."""
    usable = np.where(np.abs(table) < 1e100, table, np.nan)
    result: Float64 = np.round(np.sign(usable) * np.log1p(np.abs(usable)), DECIMALS)
    return result


def _ranked(column: Float64) -> tuple[Float64, Float64]:
    """Return the values of a column, ascending, and the normal score of each, by the middle of its ranks."""
    values, counts = np.unique(column, return_counts=True)
    return values, ndtri((np.cumsum(counts) - counts / 2) / len(column))
