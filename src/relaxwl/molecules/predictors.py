"""Predictors of what molecules do: SMILES in, answers with their uncertainty out."""

import os
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from relaxwl._memory import refuse_beyond_memory
from relaxwl._progress import report
from relaxwl._validation import GraphEstimator, as_seed, as_targets, check_integer
from relaxwl.datasets.smiles import AtomLabels
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.kernels import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.learning.gaussian_process import GaussianProcess, Prediction
from relaxwl.molecules.explaining import GroupEffect, MoleculeExplanation, merged_groups
from relaxwl.molecules.persistence import read_model, write_model
from relaxwl.molecules.reading import as_molecules
from relaxwl.molecules.views import Batch, DescriptorView, FingerprintView, GraphView, View
from relaxwl.predictors.novelty import QUANTILE
from relaxwl.predictors.report import FitReport, Tried

# Kernels that make up less than this share of a covariance are not named in reports.
LEAST_SHARE = 0.005
VIEWS = ("wl", "relaxed", "descriptors", "fingerprints")


class _MoleculeModel(GraphEstimator):
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
        """Say how far molecules lie from those of the fit, so that one sees when a prediction is a guess.

        The distance to the nearest, in the similarity that the model found, in units of what 95 % of the fitted
        molecules stay below among each other: a molecule with a value above 1 is stranger than these.
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

    def _batch(self, X: Any) -> Batch:
        return Batch(as_molecules(X), self.atom_labels)

    def _fit_kernels(self, batch: Batch) -> list[Float64]:
        self._started = time.monotonic()
        self.seed_ = as_seed(self.random_state)
        self.n_molecules_in_ = n = len(batch.molecules)
        self.views_: list[View] = self._make_views(self.seed_)
        self.kernel_names_ = [name for view in self.views_ for name in view.names]
        refuse_beyond_memory(
            (len(self.kernel_names_) + 3) * 8.0 * n**2,
            f"{len(self.kernel_names_)} kernel matrices of {n} molecules",
            "fit on fewer molecules, or with fewer views",
        )
        kernels: list[Float64] = []
        for place, view in enumerate(self.views_, 1):
            kernels += view.fit(batch)
            report(self.verbose, "%s: done", view.title, share=place / (len(self.views_) + 1))
        self._smiles = [_smiles(molecule) for molecule in batch.molecules]
        return kernels

    def _make_views(self, seed: int) -> list[View]:
        check_integer("max_depth", self.max_depth, least=1)
        check_integer("n_partitions", self.n_partitions, least=1)
        unknown = [name for name in self.views if name not in VIEWS]
        if isinstance(self.views, str) or unknown or not self.views:
            raise ValueError(f"views must be some of {', '.join(VIEWS)}, not {self.views!r}")
        depths = sorted({1, 2, self.max_depth} & set(range(self.max_depth + 1)))
        common: dict[str, Any] = {"edge_labels": True, "similarity": "tanimoto", "n_jobs": self.n_jobs}
        # Many cheap partitions say more than few good ones, and are quicker; so no round of k-means.
        relaxed = RelaxedWeisfeilerLehman(self.max_depth, self.n_partitions, max_iter=0, random_state=seed, **common)
        made: dict[str, View] = {
            "wl": GraphView("WL", WeisfeilerLehman(self.max_depth, **common), depths),
            "relaxed": GraphView("R-WL*", relaxed, depths),
            "descriptors": DescriptorView(),
            "fingerprints": FingerprintView(),
        }
        return [made[name] for name in VIEWS if name in self.views]

    def _compare(self, X: Any) -> list[Float64]:
        batch = self._batch(X)
        return [matrix for view in self.views_ for matrix in view.compare(batch)]

    def _masked(self, molecule: Any) -> list[Float64]:
        batch = self._batch([molecule])
        return [matrix for view in self.views_ for matrix in view.masked(batch)]

    def _explain(self, molecule: Any, process: GaussianProcess, sign: int = 1) -> MoleculeExplanation:
        """Say what atoms do to what a process predicts, or with ``sign`` -1 to its opposite."""
        whole = float(_predicted(process, self._compare([molecule])).mean[0])
        without = _predicted(process, self._masked(molecule)).mean
        groups = partial(self._group_effects, molecule, process, sign)
        return MoleculeExplanation(molecule, sign * whole, sign * (whole - without), groups)

    def _group_effects(self, molecule: Any, process: GaussianProcess, sign: int) -> list[GroupEffect]:
        """Return what the groups of its atoms do to a prediction, the strongest first."""
        batch = self._batch([molecule])
        kernels = {view: view.compare(batch) for view in self.views_}
        whole = float(_predicted(process, [matrix for found in kernels.values() for matrix in found]).mean[0])
        effects = []
        # The relaxed view comes last and is asked first: its trees are the centres of groups.
        for view in (view for view in reversed(self.views_) if isinstance(view, GraphView)):
            groups, masked = view.without_groups(batch)
            repeated = {other: [np.repeat(m, len(groups), axis=0) for m in found] for other, found in kernels.items()}
            without = _predicted(process, [m for found in {**repeated, view: masked}.values() for m in found]).mean
            effects += [
                GroupEffect(group.atoms, view.tree(group, batch), group.depth, sign * (whole - float(value)))
                for group, value in zip(groups, without, strict=True)
                if value != whole
            ]
        return merged_groups(effects)

    def _similarity(self, kernels: list[Float64]) -> Float64:
        """Return the mean of the kernels by the weights that were found, so that a molecule has 1 with itself."""
        weights = self._weights if self._weights.any() else np.ones(len(kernels))
        return np.asarray(sum(weight * kernel for weight, kernel in zip(weights, kernels, strict=True)) / weights.sum())

    def _keep_weights(self, weights: Float64, kernels: list[Float64]) -> None:
        self._weights = weights
        own = self._similarity(kernels)
        np.fill_diagonal(own, 0)
        distance = float(np.quantile(1 - own.max(axis=1), QUANTILE))
        self._own_distance = distance if distance > 0 else 1.0

    def _summary(self, task: str, metric: str, score: float, baseline: tuple[float, str]) -> FitReport:
        """Return what the fit came to: the score of leaving one out, and how much each kernel counts."""
        total = float(self._weights.sum()) or 1.0
        shares = {name: weight / total for name, weight in zip(self.kernel_names_, self._weights, strict=True)}
        largest = sorted(shares, key=lambda name: -shares[name])
        counted = "; ".join(f"{name}: {shares[name]:.0%}" for name in largest if shares[name] >= LEAST_SHARE)
        tried = Tried("Gaussian process", score, f"by {counted or 'none of the kernels'}")
        seconds = time.monotonic() - self._started
        return FitReport(
            f"{self.n_molecules_in_} molecules, {task}",
            metric,
            (tried,),
            tried.name,
            score,
            *baseline,
            tuple(f"{len(view.names)} of {view.title}" for view in self.views_),
            (),
            seconds,
        )


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
    report_ : FitReport
        The error of leaving one out beside that of the mean, and the weights; print it.

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
        batch = self._batch(X)
        self._targets = as_targets(y, len(batch.molecules), "molecules")
        kernels = self._fit_kernels(batch)
        self._keep(kernels, [GaussianProcess(verbose=self.verbose).fit(kernels, self._targets)])
        return self

    def _process_targets(self) -> list[Float64]:
        return [self._targets]

    def _keep(self, kernels: list[Float64], processes: list[GaussianProcess]) -> None:
        (self.process_,) = processes
        self._processes = processes
        self._keep_weights(self.process_.weights_, kernels)
        y = self._targets
        error = _root_mean_square(y - self.process_.leave_one_out().mean)
        spread = _root_mean_square((y - y.mean()) * len(y) / max(len(y) - 1, 1))
        task = f"targets from {y.min():.4g} to {y.max():.4g}"
        self.report_ = self._summary(task, "RMSE", error, (spread, "mean of the others"))

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
        return [self._explain(molecule, self.process_) for molecule in as_molecules(X)]


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
        _refuse_names(targets)
        check_classification_targets(targets)
        self.classes_, codes = np.unique(targets, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes, not only {self.classes_[0]!r}")
        batch = self._batch(X)
        if len(batch.molecules) != len(targets):
            raise ValueError(f"y must hold one class for each of {len(batch.molecules)} molecules, not {len(targets)}")
        kernels = self._fit_kernels(batch)
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
        right = float(np.mean(self.calibrator_.predict(scores) == self._targets))
        largest = float(np.bincount(self._targets).max() / len(self._targets))
        task = f"{len(self.classes_)} classes"
        self.report_ = self._summary(task, "accuracy", right, (largest, "largest class"))

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
        places = self.predict_proba(molecules).argmax(axis=1).tolist()
        if len(self.classes_) == 2:
            pairs = zip(molecules, places, strict=True)
            return [self._explain(molecule, self.processes_[0], 2 * place - 1) for molecule, place in pairs]
        return [
            self._explain(molecule, self.processes_[place]) for molecule, place in zip(molecules, places, strict=True)
        ]


def _root_mean_square(values: Float64) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _smiles(molecule: Any) -> str:
    from rdkit import Chem

    return str(Chem.MolToSmiles(molecule))


def _predicted(process: GaussianProcess, kernels: list[Float64]) -> Prediction:
    return process.predict(kernels, [np.ones(len(kernel)) for kernel in kernels])


def _standardised(prediction: Prediction) -> Float64:
    """Return the mean in units of its deviation: what a probit model would look at."""
    scores: Float64 = prediction.mean / np.sqrt(1 + prediction.variance)
    return scores


def _refuse_names(targets: NDArray[Any]) -> None:
    """Refuse targets most of which are different; before scikit-learn, which warns of as many classes.

    What is no class at all is left to it: several columns, broken numbers, and objects that have no order.
    """
    if targets.ndim != 1 or (targets.dtype.kind == "f" and (targets != np.rint(targets)).any()):
        return
    try:
        number = len(np.unique(targets))
    except TypeError:
        return
    if number > max(2, len(targets) / 2):
        found = f"not {number} for {len(targets)} molecules: that looks like names; take another target"
        raise ValueError(f"y must hold classes of at least two molecules on average, {found}")
