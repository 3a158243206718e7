"""Predictors of what molecules do: SMILES in, answers with their uncertainty out."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from relaxwl._memory import refuse_beyond_memory
from relaxwl._progress import report
from relaxwl._validation import as_seed, check_integer
from relaxwl.datasets.smiles import AtomLabels
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.kernels import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.learning.gaussian_process import GaussianProcess, Prediction
from relaxwl.molecules.persistence import read_model, write_model
from relaxwl.molecules.reading import as_molecules
from relaxwl.molecules.views import Batch, DescriptorView, FingerprintView, GraphView, View

VIEWS = ("wl", "relaxed", "descriptors", "fingerprints")


@dataclass(frozen=True)
class MoleculeExplanation:
    """What each atom of a molecule does to its prediction.

    Attributes
    ----------
    molecule : rdkit.Chem.Mol
        The molecule.
    prediction : float
        What is predicted for it.
    effects : array (n_atoms,)
        How much lower the prediction would be without what lies around the atom: trees and environments that start
        at it are taken out of the counts, and descriptors are those of the molecule with a dummy in its place. The
        effects do not add up to the prediction, since neither similarities nor descriptors are sums over atoms.
    """

    molecule: Any
    prediction: float
    effects: Float64

    def to_svg(self, width: int = 400, height: int = 300) -> str:
        """Draw the molecule, each atom in the colour of its effect."""
        from relaxwl.molecules.drawing import molecule_svg

        return molecule_svg(self.molecule, self.effects, width, height)

    def _repr_html_(self) -> str:
        """Show the picture in notebooks and on pages."""
        return self.to_svg().partition("?>")[2]


class _MoleculeModel(BaseEstimator):
    """What regressor and classifier share: the views on molecules and their kernels."""

    def __init__(
        self,
        views: Sequence[str] = VIEWS,
        max_depth: int = 4,
        n_partitions: int = 30,
        atom_labels: AtomLabels = "element",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.views = views
        self.max_depth = max_depth
        self.n_partitions = n_partitions
        self.atom_labels = atom_labels
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def novelty(self, X: Any) -> Float64:
        """Return how far molecules lie from all that were fitted: 1 is as far as these lie from each other.

        The distance to the nearest, in the similarity that the model found, is divided by the median of the training
        molecules' own. From 2 or so on a prediction is a guess.
        """
        check_is_fitted(self)
        nearest: Float64 = self._similarity(self._compare(X)).max(axis=1)
        return (1 - nearest) / self._own_distance

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file of JSON; see :meth:`load`.

        The file holds the training molecules as SMILES, their targets, the settings and what was learned from them: it
        is small, and :meth:`load` computes the kernels again.
        """
        check_is_fitted(self)
        write_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; nothing in the file is executed. Takes about as long as the kernels."""
        model: Self = read_model(path, {kind.__name__: kind for kind in (cls, *cls.__subclasses__())})
        return model

    def _fit_kernels(self, X: Any, n_targets: int) -> list[Float64]:
        batch = Batch(as_molecules(X), self.atom_labels)
        self.seed_ = as_seed(self.random_state)
        if len(batch.molecules) != n_targets:
            raise ValueError(f"X has {len(batch.molecules)} molecules, but y has {n_targets} values")
        self.views_: list[View] = self._make_views()
        self.kernel_names_ = [name for view in self.views_ for name in view.names]
        refuse_beyond_memory(
            (len(self.kernel_names_) + 3) * 8.0 * n_targets**2,
            f"{len(self.kernel_names_)} kernel matrices of {n_targets} molecules",
            "fit on fewer molecules, or with fewer views",
        )
        kernels: list[Float64] = []
        for view in self.views_:
            kernels += view.fit(batch)
            report(self.verbose, "%s: done", view.names[0].partition(",")[0])
        self.n_molecules_in_ = n_targets
        self._smiles = [_smiles(molecule) for molecule in batch.molecules]
        return kernels

    def _make_views(self) -> list[View]:
        check_integer("max_depth", self.max_depth, least=1)
        check_integer("n_partitions", self.n_partitions, least=1)
        unknown = [name for name in self.views if name not in VIEWS]
        if isinstance(self.views, str) or unknown or not self.views:
            raise ValueError(f"views must be some of {', '.join(VIEWS)}, not {self.views!r}")
        depths = sorted({1, 2, self.max_depth} & set(range(self.max_depth + 1)))
        common: dict[str, Any] = {"edge_labels": True, "similarity": "tanimoto", "n_jobs": self.n_jobs}
        # Many cheap partitions say more than few good ones, and are quicker; so no round of k-means.
        relaxed = RelaxedWeisfeilerLehman(
            self.max_depth, self.n_partitions, max_iter=0, random_state=self.seed_, **common
        )
        made: dict[str, View] = {
            "wl": GraphView("WL", WeisfeilerLehman(self.max_depth, **common), depths),
            "relaxed": GraphView("R-WL*", relaxed, depths),
            "descriptors": DescriptorView(),
            "fingerprints": FingerprintView(),
        }
        return [made[name] for name in VIEWS if name in self.views]

    def _compare(self, X: Any) -> list[Float64]:
        batch = Batch(as_molecules(X), self.atom_labels)
        return [matrix for view in self.views_ for matrix in view.compare(batch)]

    def _masked(self, molecule: Any) -> list[Float64]:
        batch = Batch([molecule], self.atom_labels)
        return [matrix for view in self.views_ for matrix in view.masked(batch)]

    def _similarity(self, kernels: list[Float64]) -> Float64:
        """Return the mean of the kernels by the weights that were found, so that a molecule has 1 with itself."""
        weights = self._weights if self._weights.any() else np.ones(len(kernels))
        return np.asarray(sum(weight * kernel for weight, kernel in zip(weights, kernels, strict=True)) / weights.sum())

    def _keep_weights(self, weights: Float64, kernels: list[Float64]) -> None:
        self._weights = weights
        own = self._similarity(kernels)
        np.fill_diagonal(own, 0)
        distance = float(np.median(1 - own.max(axis=1)))
        self._own_distance = distance if distance > 0 else 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


class MoleculeRegressor(RegressorMixin, _MoleculeModel):
    """Predict a number for each molecule, with its uncertainty, by a Gaussian process on several kernels.

    Molecules are compared as graphs (WL), as graphs whose similar neighbourhoods count as alike (R-WL*), by RDKit's
    descriptors and by Morgan counts, at several scales each. How much every kernel counts follows from the marginal
    likelihood, on the training molecules alone. Needs RDKit (``pip install relaxwl[chem]``).

    Parameters
    ----------
    views : sequence of str
        Which of "wl", "relaxed", "descriptors" and "fingerprints" to use.
    max_depth : int
        Depth of the largest trees of the graph kernels; 1 and 2 are used beside it.
    n_partitions : int
        Number of random groupings of R-WL*.
    atom_labels
        Labels of atoms; see :func:`relaxwl.molecules.from_smiles`.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, Generator or None
        Seeds the groupings of R-WL*.
    verbose : int
        1 logs progress.

    Attributes
    ----------
    kernel_names_ : list of str
        The kernels.
    process_ : GaussianProcess
        ``process_.weights_`` are the kernels' weights, ``process_.noise_`` is the variance of the noise.

    Examples
    --------
    >>> smiles = ["C", "CC", "CCC", "CCCC", "CCO", "CCCO", "CCCCO", "CO"]
    >>> carbons = [1, 2, 3, 4, 2, 3, 4, 1]
    >>> model = MoleculeRegressor(random_state=0).fit(smiles, carbons)
    >>> mean, deviation = model.predict(["CC(C)O"], return_std=True)
    >>> bool(abs(mean[0] - 3) < 2 * deviation[0])
    True
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from SMILES (or RDKit molecules) and one number for each."""
        targets = np.asarray(y, np.float64)
        if targets.ndim != 1:
            raise ValueError(f"y must be a vector, not an array of shape {targets.shape}")
        kernels = self._fit_kernels(X, len(targets))
        self._targets = targets
        self._keep(kernels, [GaussianProcess(verbose=self.verbose).fit(kernels, targets)])
        return self

    def _process_targets(self) -> list[Float64]:
        return [self._targets]

    def _keep(self, kernels: list[Float64], processes: list[GaussianProcess]) -> None:
        (self.process_,) = processes
        self._processes = processes
        self._keep_weights(self.process_.weights_, kernels)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the predictions; with ``return_std`` also the standard deviation of a new measurement."""
        prediction = self.predict_distribution(X)
        return (prediction.mean, np.sqrt(prediction.variance)) if return_std else prediction.mean

    def predict_distribution(self, X: Any) -> Prediction:
        """Return mean and variance of a new measurement of each molecule."""
        check_is_fitted(self)
        return _predicted(self.process_, self._compare(X))

    def explain(self, X: Any) -> list[MoleculeExplanation]:
        """Return what the atoms of each molecule do to its prediction."""
        check_is_fitted(self)
        molecules = as_molecules(X)
        predictions = self.predict(molecules)
        return [
            MoleculeExplanation(molecule, float(whole), whole - _predicted(self.process_, self._masked(molecule)).mean)
            for molecule, whole in zip(molecules, predictions, strict=True)
        ]


class MoleculeClassifier(ClassifierMixin, _MoleculeModel):
    """Predict a class for each molecule, with probabilities.

    The views and kernels are those of :class:`MoleculeRegressor`. For each class a Gaussian process is fitted to being
    in it (1) or not (-1), and its leave-one-out scores calibrate the probabilities, in closed form.

    Parameters are those of :class:`MoleculeRegressor`.

    Attributes
    ----------
    classes_ : array
        The classes.
    processes_ : list of GaussianProcess
        One for each class; one alone, for the second, where there are two.

    Examples
    --------
    >>> smiles = ["C", "CC", "CCC", "CCCC", "CO", "CCO", "CCCO", "CCCCO"]
    >>> model = MoleculeClassifier(random_state=0).fit(smiles, ["alkane"] * 4 + ["alcohol"] * 4)
    >>> model.predict(["CCCCC", "CCCCCO"]).tolist()
    ['alkane', 'alcohol']
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from SMILES (or RDKit molecules) and the class of each."""
        targets = np.asarray(y)
        check_classification_targets(targets)
        self.classes_, codes = np.unique(targets, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes, not only {self.classes_[0]!r}")
        kernels = self._fit_kernels(X, len(targets))
        self._targets = codes.astype(np.int64)
        self._keep(kernels, [GaussianProcess(verbose=self.verbose).fit(kernels, y) for y in self._process_targets()])
        return self

    def _process_targets(self) -> list[Float64]:
        chosen = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(self._targets == code, 1.0, -1.0) for code in chosen]

    def _keep(self, kernels: list[Float64], processes: list[GaussianProcess]) -> None:
        self.processes_ = self._processes = processes
        self._keep_weights(np.mean([process.weights_ for process in processes], axis=0), kernels)
        scores = np.column_stack([_standardised(process.leave_one_out()) for process in processes])
        self.calibrator_ = LogisticRegression(C=10.0, max_iter=1000).fit(scores, self._targets)

    def decision_function(self, X: Any) -> Float64:
        """Return the scores: one for each molecule with two classes, one for each class with more."""
        check_is_fitted(self)
        kernels = self._compare(X)
        scores = np.column_stack([_standardised(_predicted(process, kernels)) for process in self.processes_])
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Float64:
        """Return the probability of each class."""
        scores = self.decision_function(X)
        return np.asarray(self.calibrator_.predict_proba(scores.reshape(len(scores), -1)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each molecule."""
        likeliest: Int64 = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def explain(self, X: Any) -> list[MoleculeExplanation]:
        """Return what the atoms of each molecule do to the score of its predicted class."""
        check_is_fitted(self)
        molecules = as_molecules(X)
        kernels = self._compare(molecules)
        scores = np.column_stack([_predicted(process, kernels).mean for process in self.processes_])
        places = self.predict_proba(molecules).argmax(axis=1)
        return [
            self._explained(molecule, score, int(place))
            for molecule, score, place in zip(molecules, scores, places, strict=True)
        ]

    def _explained(self, molecule: Any, scores: Float64, place: int) -> MoleculeExplanation:
        binary = len(self.classes_) == 2
        process, sign = (self.processes_[0], 2 * place - 1) if binary else (self.processes_[place], 1)
        whole = float(scores[0 if binary else place])
        without = _predicted(process, self._masked(molecule)).mean
        return MoleculeExplanation(molecule, sign * whole, sign * (whole - without))


def _smiles(molecule: Any) -> str:
    from rdkit import Chem

    return str(Chem.MolToSmiles(molecule))


def _predicted(process: GaussianProcess, kernels: list[Float64]) -> Prediction:
    return process.predict(kernels, [np.ones(len(kernel)) for kernel in kernels])


def _standardised(prediction: Prediction) -> Float64:
    """Return the mean in units of its deviation: what a probit model would look at."""
    scores: Float64 = prediction.mean / np.sqrt(1 + prediction.variance)
    return scores
