"""Estimators on top of blocks of kernels, or of explicit features: they see arrays and know nothing of graphs.

A head learns from the Gram matrices of named blocks between the training objects (or from a sparse matrix of features)
and predicts from those between new and training objects. All heads say in ``weights`` how much each block counts, in
``rows`` which training objects they compare with, in ``values`` what an explanation explains (one column for each
class, or one for the number), and in ``tried`` and ``chosen`` what the report tells.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight

from relaxwl._deadline import Deadline, TimeLimitReached, time_limit
from relaxwl._execution import map_chunks
from relaxwl._progress import report
from relaxwl.learning.choosing import (
    FAVOURITE,
    N_LINEAR,
    PENALTIES,
    RIDGES,
    Scores,
    chosen,
    decision_table,
    decisions_out_of_fold,
    fit_slope,
    inner_folds,
    machine,
    plain_folds,
    score_kernel,
)
from relaxwl.learning.gaussian_process import GaussianProcess, Prediction
from relaxwl.learning.voting import VotingMachine

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
Blocks = Mapping[str, Float64]

# Folds whose decisions say how sure a classifier is.
CALIBRATION_FOLDS = 5
LINEAR_FOLDS = 3
# Kernels that make up less than this share of a covariance are not named in reports.
LEAST_SHARE = 0.005


@dataclass(frozen=True)
class Tried:
    """Something that took part in a choice, and its cross-validated score."""

    name: str
    score: float
    detail: str = ""


@dataclass(frozen=True)
class Options:
    """How to fit.

    Attributes
    ----------
    seed : int
        Of the folds.
    class_weight : dict, "balanced" or None
        Weights of the classes, by code.
    n_jobs, verbose
        Threads, and whether to log.
    done : float
        Which share of the work is done before the head begins.
    deadline : Deadline
        When it should end.
    averages : dict of dict
        Averages of blocks to choose from: by name, one over the share of each block. ``{"all": {"exact": 2, "coarse":
        2}}`` is the mean of two. The first is preferred unless another is better by more than a standard error.
    """

    seed: int = 0
    class_weight: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    done: float = 0.0
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    averages: Mapping[str, Mapping[str, float]] | None = None

    def share(self, part: float) -> float:
        """Return which share of all work is done when a part of what is left for the head is."""
        return self.done + part * (1 - self.done)


class Head:
    """What heads have in common; see the module."""

    rows: Int64
    tried: tuple[Tried, ...]
    chosen: str

    def __init__(self, options: Options | None = None) -> None:
        self.options = Options() if options is None else options
        self.left_out: list[str] = []

    @property
    def score(self) -> float:
        """The score of what was chosen."""
        return next((one.score for one in self.tried if one.name == self.chosen), float("nan"))

    def to_state(self) -> dict[str, Any]:
        """Return what predictions need."""
        return {name: value for name, value in vars(self).items() if name not in ("options", "left_out", "tried")}

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Return what :meth:`to_state` kept."""
        head = cls()
        vars(head).update(state)
        return head


def average(blocks: Blocks, parts: Mapping[str, float]) -> Float64:
    """Return the sum of some blocks, each divided by a number."""
    total = np.zeros_like(next(iter(blocks.values())))
    for name, number in parts.items():
        total += blocks[name] / number
    return total


class KernelSVM(Head):
    """A support vector machine on an average of blocks; inner folds choose the average and the penalty."""

    machine: VotingMachine
    slope: float
    parts: dict[str, float]

    @property
    def weights(self) -> dict[str, float]:
        """How much each block counts."""
        return {name: 1 / number for name, number in self.parts.items()}

    def fit(self, blocks: Blocks, codes: Int64) -> Self:
        """Learn from Gram matrices and class codes from 0 on."""
        options = self.options
        averages = options.averages or {"all": dict.fromkeys(blocks, len(blocks))}
        folds = inner_folds(codes, options.seed)
        scores: list[Scores] = []
        for place, (name, parts) in enumerate(averages.items() if folds else (), 1):
            if scores and options.deadline.remaining() == 0:
                limit = options.deadline.seconds
                self.left_out.append(f"choice of {name}: the time limit of {limit:g} s was reached")
                continue
            gram = average(blocks, parts)
            scores.append(score_kernel(name, gram, codes, folds, options.class_weight, options.n_jobs))
            told = (name, 100 * scores[-1].best, scores[-1].penalty)
            share = options.share(place / len(averages))
            report(options.verbose, "%s: %.1f %% right with C = %g", *told, share=share)
        first = next(iter(averages))
        best = chosen(scores, len(codes)) if scores else Scores(first, float("nan"), FAVOURITE)
        if not scores:
            self.left_out.append(f"choosing: no class but at most one has three examples; C = {FAVOURITE:g}")
        self.tried = tuple(Tried(one.name, one.best, f"C = {one.penalty:g}") for one in scores or [best])
        self.chosen, self.penalty = best.name, best.penalty
        self.parts = dict(averages[best.name])
        gram = average(blocks, self.parts)
        n_classes = int(codes.max()) + 1

        def fitted(train: Int64) -> VotingMachine:
            return VotingMachine.of(
                machine(gram[np.ix_(train, train)], codes[train], self.penalty, options.class_weight)
            )

        def decide(train: Int64, test: Int64) -> Float64:
            part = fitted(train)
            return part.decisions(gram[np.ix_(test, train[part.support])])

        folds = inner_folds(codes, options.seed + 1, CALIBRATION_FOLDS, 1)
        self.slope = fit_slope(*decisions_out_of_fold(decide, codes, n_classes, folds, options.n_jobs))
        self.machine = fitted(np.arange(len(codes)))
        self.rows = self.machine.support
        return self

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.machine.n_classes

    def decisions(self, blocks: Blocks, own: Blocks) -> Float64:
        """Return one column for each class; the largest entry of a row decides."""
        return self.machine.decisions(average(blocks, self.parts))

    def probabilities(self, decisions: Float64) -> Float64:
        """Return the probability of each class."""
        return np.asarray(softmax(self.slope * decisions, axis=1))

    def values(self, blocks: Blocks, own: Blocks) -> Float64:
        """Return how clearly each class wins against the others."""
        return self.machine.margins(average(blocks, self.parts))


class _Processes(Head):
    """Gaussian processes on the same blocks, each with weights of its own."""

    processes: list[GaussianProcess]
    blocks: list[str]
    weights: dict[str, float]

    def _fit(self, blocks: Blocks, targets: list[Float64]) -> None:
        """Fit a process for each vector of targets; blocks without any weight are forgotten."""
        matrices, names = list(blocks.values()), list(blocks)
        found = [self._fitted(matrices, y) for y in targets]
        self.weights = dict(zip(names, np.mean([process.weights_ for process in found], axis=0).tolist(), strict=True))
        self.rows = np.arange(len(targets[0]))
        used = [place for place, name in enumerate(names) if self.weights[name] > 0] or list(range(len(names)))
        self.blocks = [names[place] for place in used]
        for process in found:
            process.weights_ = process.weights_[used]
        self.processes = found
        self.chosen = "Gaussian process"

    def _fitted(self, matrices: list[Float64], y: Float64) -> GaussianProcess:
        """Learn the weights within the time that is left; out of time, take them from fewer steps."""
        left = self.options.deadline.remaining()
        try:
            with time_limit(None if left is None else max(left, 1.0)):
                return GaussianProcess(verbose=self.options.verbose).fit(matrices, y)
        except TimeLimitReached:
            self.left_out.append("most steps towards the best weights: the time limit was reached")
            return GaussianProcess(n_starts=1, max_iter=1, verbose=self.options.verbose).fit(matrices, y)

    def _tried(self, score: float) -> None:
        total = sum(self.weights.values()) or 1.0
        shares = {name: weight / total for name, weight in self.weights.items()}
        largest = sorted(shares, key=lambda name: -shares[name])
        counted = "; ".join(f"{name}: {shares[name]:.0%}" for name in largest if shares[name] >= LEAST_SHARE)
        self.tried = (Tried(self.chosen, score, f"by {counted or 'none of the kernels'}"),)

    def _predictions(self, blocks: Blocks, own: Blocks) -> list[Prediction]:
        cross, diagonals = [blocks[name] for name in self.blocks], [own[name] for name in self.blocks]
        return [process.predict(cross, diagonals) for process in self.processes]


class ProcessRegressor(_Processes):
    """A Gaussian process, which weighs the blocks by their marginal likelihood."""

    def fit(self, blocks: Blocks, y: Float64) -> Self:
        """Learn from Gram matrices and numbers."""
        self._fit(blocks, [y])
        self._tried(float(np.sqrt(np.mean((y - self.processes[0].leave_one_out().mean) ** 2))))
        return self

    def predict(self, blocks: Blocks, own: Blocks) -> Prediction:
        """Return mean and variance of a new measurement of each object."""
        return self._predictions(blocks, own)[0]

    def values(self, blocks: Blocks, own: Blocks) -> Float64:
        """Return the predictions as a column."""
        return self.predict(blocks, own).mean[:, None]


class ProcessClassifier(_Processes):
    """A Gaussian process for each class on being in it (1) or not (-1); one alone, for the second, of two classes.

    Leave-one-out scores, which are to be had in closed form, calibrate the probabilities by a logistic regression.
    """

    coefficients: Float64
    intercepts: Float64

    def fit(self, blocks: Blocks, codes: Int64) -> Self:
        """Learn from Gram matrices and class codes from 0 on."""
        n_classes = int(codes.max()) + 1
        self._fit(
            blocks, [np.where(codes == code, 1.0, -1.0) for code in ([1] if n_classes == 2 else range(n_classes))]
        )
        scores = np.column_stack([_standardized(process.leave_one_out()) for process in self.processes])
        calibrator = LogisticRegression(C=10.0, max_iter=1000).fit(scores, codes)
        self.coefficients, self.intercepts = calibrator.coef_, calibrator.intercept_
        self._tried(float(np.mean(calibrator.predict(scores) == codes)))
        return self

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return 2 if len(self.processes) == 1 else len(self.processes)

    def decisions(self, blocks: Blocks, own: Blocks) -> Float64:
        """Return the score of each class; of two classes, half the score of the second, for and against."""
        scores = np.column_stack([_standardized(found) for found in self._predictions(blocks, own)])
        return decision_table(scores[:, 0]) if len(self.processes) == 1 else scores

    def probabilities(self, decisions: Float64) -> Float64:
        """Return the probability of each class."""
        scores = decisions[:, 1:] - decisions[:, :1] if len(self.processes) == 1 else decisions
        calibrated = scores @ self.coefficients.T + self.intercepts
        if len(self.processes) > 1:
            return np.asarray(softmax(calibrated, axis=1))
        return np.column_stack([1 - expit(calibrated), expit(calibrated)])

    def values(self, blocks: Blocks, own: Blocks) -> Float64:
        """Return the mean of the process of each class."""
        means = np.column_stack([found.mean for found in self._predictions(blocks, own)])
        return np.column_stack([-means, means]) if len(self.processes) == 1 else means


def _standardized(prediction: Prediction) -> Float64:
    """Return the mean in units of its deviation: what a probit model would look at."""
    scores: Float64 = prediction.mean / np.sqrt(1 + prediction.variance)
    return scores


class Linear(Head):
    """A linear model of explicit features: ``coefficients`` (n_outputs, n_features) and ``intercepts``."""

    coefficients: Float64
    intercepts: Float64

    def values(self, features: csr_array) -> Float64:
        """Return the sums that the features make, and their opposites where two classes share one."""
        return np.asarray(features @ self.directions.T + self.intercepts * self._signs)

    @property
    def directions(self) -> Float64:
        """The coefficients behind each column of ``values``."""
        return self._signs[:, None] * self.coefficients

    @property
    def _signs(self) -> Float64:
        return np.ones(len(self.coefficients))


class LinearClassifier(Linear):
    """A linear support vector machine, its penalty by inner folds."""

    slope: float

    def fit(self, features: csr_array, codes: Int64) -> Self:
        """Learn from features and class codes from 0 on."""
        options = self.options
        folds = inner_folds(codes, options.seed, LINEAR_FOLDS, 1)
        n_classes = int(codes.max()) + 1
        held_out = np.concatenate([test for _, test in folds])
        weights, penalties = compute_sample_weight(options.class_weight, codes), PENALTIES[:N_LINEAR]
        accuracy = np.zeros(len(penalties))
        tables: list[Float64] = []
        for place, C in enumerate(penalties):

            def decide(fold: tuple[Int64, Int64], C: float = C) -> Float64:
                train, test = fold
                fitted = self._model(C).fit(features[train], codes[train])
                return decision_table(fitted.decision_function(features[test]))

            tables.append(np.concatenate(map_chunks(decide, folds, options.n_jobs)))
            accuracy[place] = np.average(tables[-1].argmax(axis=1) == codes[held_out], weights=weights[held_out])
            report(options.verbose, "linear SVM with C = %g: %.1f %% right", C, 100 * accuracy[place])
        best = int(accuracy.argmax())
        self.slope = fit_slope(tables[best], codes[held_out]) if tables[best].shape[1] == n_classes else 1.0
        fitted = self._model(penalties[best]).fit(features, codes)
        self.coefficients, self.intercepts = fitted.coef_, fitted.intercept_
        self.tried = (Tried("linear SVM", float(accuracy[best]), f"C = {penalties[best]:g}"),)
        self.chosen = "linear SVM"
        return self

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return max(len(self.coefficients), 2)

    def decisions(self, features: csr_array) -> Float64:
        """Return one column for each class; the largest entry of a row decides."""
        values = self.values(features)
        return values / 2 if len(self.coefficients) == 1 else values

    def probabilities(self, decisions: Float64) -> Float64:
        """Return the probability of each class."""
        return np.asarray(softmax(self.slope * decisions, axis=1))

    @property
    def _signs(self) -> Float64:
        return np.array([-1.0, 1.0]) if len(self.coefficients) == 1 else np.ones(len(self.coefficients))

    def _model(self, C: float) -> LinearSVC:
        return LinearSVC(C=C, class_weight=self.options.class_weight, random_state=0, max_iter=2000)


class LinearRegressor(Linear):
    """Ridge regression, its penalty by inner folds; the deviation is that of predictions out of fold."""

    deviation: float

    def fit(self, features: csr_array, y: Float64) -> Self:
        """Learn from features and numbers."""
        options = self.options
        folds = plain_folds(len(y), options.seed, LINEAR_FOLDS)
        errors: dict[float, float] = {}
        for ridge in RIDGES:

            def residuals(fold: tuple[Int64, Int64], ridge: float = ridge) -> Float64:
                train, test = fold
                return np.asarray(y[test] - _ridge(ridge).fit(features[train], y[train]).predict(features[test]))

            found = np.concatenate(map_chunks(residuals, folds, options.n_jobs))
            errors[ridge] = float(np.sqrt(np.mean(found**2)))
            report(options.verbose, "ridge regression with penalty %g: RMSE %.4g", ridge, errors[ridge])
        best = min(errors, key=lambda ridge: errors[ridge])
        self.deviation = errors[best]
        fitted = _ridge(best).fit(features, y)
        self.coefficients, self.intercepts = fitted.coef_[None], np.array([fitted.intercept_])
        self.tried = tuple(Tried(f"ridge {ridge:g}", error) for ridge, error in errors.items())
        self.chosen = f"ridge {best:g}"
        return self

    def predict(self, features: csr_array) -> Prediction:
        """Return the predictions, and the same variance for all of them."""
        mean = self.values(features)[:, 0]
        return Prediction(mean, np.full(len(mean), self.deviation**2))


def _ridge(penalty: float) -> Ridge:
    return Ridge(alpha=penalty, solver="lsqr")
