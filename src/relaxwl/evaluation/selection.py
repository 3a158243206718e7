"""What happens within a fold: the choice of parameters for kernels, and the predictions of all estimators.

Every setting of a fitted kernel and every C is scored on the training part. Estimators that predict by themselves are
fitted on the training graphs with their targets, and then asked.
"""

import inspect
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import norm

from relaxwl._deadline import time_limit
from relaxwl._execution import map_chunks
from relaxwl.evaluation.estimators import is_kernel
from relaxwl.evaluation.folds import Split
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.kernels.registry import Entry, Variant
from relaxwl.learning.scoring import get_score
from relaxwl.learning.svm import PathScores, Prediction, predict, score_path, submatrix, training_scale
from relaxwl.predictors.transductive import TransductiveClassifier

# Probabilities and deviations below this count as this: a sure error costs much, but not everything.
LEAST_PROBABILITY = 1e-15
LEAST_DEVIATION = 1e-9
# The share of targets that should lie in the intervals whose coverage is measured.
INTERVAL = 0.95
# Graphs of a run that does not count. Smaller ones would leave out part of the code, such as that for graphlets of five
# nodes.
N_GRAPHS = 10
LEAST_NODES = 8
MAX_NODES = 200
# Enough to compile everything; a kernel that is slow on a handful of graphs is not worth waiting for.
MAX_SECONDS = 60.0

logger = logging.getLogger(__name__)


@dataclass
class Choice:
    """The best setting found so far for a fold, the predictions with it, and what the search has cost.

    A estimator that predicts by itself leaves ``correct`` at -1; ``values`` and ``deviations`` are of regression.
    """

    correct: int = -1
    parameters: dict[str, Any] = field(default_factory=dict)
    prediction: Prediction | None = None
    probabilities: Float64 | None = None
    values: Float64 | None = None
    deviations: Float64 | None = None
    gram: Float64 | None = None
    n_candidates: int = 0
    n_fits: int = 0
    n_unconverged: int = 0
    fit_seconds: float = 0.0
    gram_seconds: float = 0.0
    transform_seconds: float = 0.0
    svm_seconds: float = 0.0
    offered: dict[str, list[Any]] = field(default_factory=dict)

    def offer(self, settings: Sequence[dict[str, Any]]) -> None:
        """Note what there is to choose from: the values of each parameter, in the order in which they came."""
        for name, value in (pair for setting in settings for pair in setting.items()):
            values = self.offered.setdefault(name, [])
            if value not in values:
                values.append(value)

    def count(self, scores: PathScores) -> None:
        """Add up what a path of C values has cost."""
        self.n_fits += scores.n_fits
        self.n_unconverged += scores.n_unconverged
        self.svm_seconds += scores.seconds


@dataclass(frozen=True)
class Candidate:
    """A Gram matrix and the parameters that gave it: what model selection chooses from."""

    parameters: dict[str, Any]
    matrix: Float64


@dataclass(frozen=True)
class FittedVariant:
    """A fitted kernel: the Gram matrices of all its settings (of all graphs, or of training graphs), and their price.

    ``prepared`` is what the kernel knows of the graphs, for comparing others with them.
    """

    variant: Variant
    prepared: Any
    candidates: list[Candidate]
    fit_seconds: float
    gram_seconds: float

    @property
    def nbytes(self) -> int:
        """Memory that the Gram matrices take."""
        return sum(candidate.matrix.nbytes for candidate in self.candidates)


def fit_variant(variant: Variant, graphs: GraphCollection) -> FittedVariant:
    """Fit a kernel, and check the Gram matrices of its settings once for all folds."""
    kernel = variant.estimator
    started = time.perf_counter()
    prepared = kernel.fit_prepare(graphs)
    fitted = time.perf_counter()
    matrices = kernel.compare(prepared, None, variant.settings)
    finished = time.perf_counter()
    candidates = []
    for setting, matrix in zip(variant.settings, matrices, strict=True):
        checked: Float64 = np.ascontiguousarray(matrix, np.float64)  # compiled code takes nothing else
        if checked.shape != (len(graphs), len(graphs)) or not np.isfinite(checked).all():
            raise ValueError(f"{kernel} gave no finite square Gram matrix with {setting}")
        candidates.append(Candidate({**variant.parameters, **setting}, checked))
    return FittedVariant(variant, prepared, candidates, fitted - started, finished - fitted)


# Counts a share of some work as done, and tells what it was; several threads may call it.
Advance = Callable[[float, str], None]


def part_of(advance: Advance, n_parts: int) -> Advance:
    """Return what counts shares of one of ``n_parts`` equal parts of some work."""
    return lambda share, what: advance(share / n_parts, what)


class Selection:
    """Folds in which fitted kernels compete, one after the other.

    A fold predicts as soon as a kernel is better than those before, and not when all are known: so the Gram matrices of
    one kernel at a time are in memory, and the price is a few fits more among hundreds.

    Parameters
    ----------
    splits : sequence of Split
        The folds; positions refer to rows of the Gram matrices.
    y : array of class codes
        Classes of the rows. Those of test graphs are not used (in the inductive protocol they are not even there).
    C : sequence of float
        Penalties, ascending.
    n_jobs : int, optional
        Number of threads.
    solver : {"path", "libsvm"}
        Solver of the SVMs that choose parameters; the final fit of a fold is always LIBSVM.
    """

    def __init__(
        self, splits: Sequence[Split], y: Int64, C: Sequence[float], n_jobs: int | None, solver: str = "path"
    ) -> None:
        self.splits, self.y, self.C, self.n_jobs, self.solver = splits, y, C, n_jobs, solver
        self.choices = [Choice() for _ in splits]

    def enter(self, fitted: FittedVariant, advance: Advance, unseen: Callable[[int], Float64] | None = None) -> None:
        """Let a fitted kernel compete in every fold.

        ``unseen(position)`` returns the Gram matrix between test and training graphs in the candidate at ``position``;
        without it the test graphs are rows of the candidates' own matrices.
        """
        scales = [
            [training_scale(candidate.matrix.diagonal()[split.train]) for split in self.splits]
            for candidate in fitted.candidates
        ]
        correct = self._inner_scores(fitted, scales, advance)
        improved = [fold for fold, choice in enumerate(self.choices) if correct[fold].max() > choice.correct]
        map_chunks(partial(self._predict, fitted, scales, correct, unseen), improved, self.n_jobs)
        for choice in self.choices:
            choice.n_candidates += len(fitted.candidates)
            choice.offer([candidate.parameters for candidate in fitted.candidates])
            choice.offer([{"C": penalty} for penalty in self.C])
            choice.fit_seconds += fitted.fit_seconds
            choice.gram_seconds += fitted.gram_seconds

    def _inner_scores(self, fitted: FittedVariant, scales: list[list[float]], advance: Advance) -> Int64:
        """Return how many training graphs inner folds got right: (n_folds, n_candidates, n_C)."""
        tasks = [
            (fold, position, inner)
            for position in range(len(fitted.candidates))
            for fold, split in enumerate(self.splits)
            for inner in split.inner
        ]

        def scored(task: tuple[int, int, tuple[Int64, Int64]]) -> PathScores:
            fold, position, (fit, held_out) = task
            gram = fitted.candidates[position].matrix
            scores = score_path(gram, self.y, fit, held_out, scales[position][fold], self.C, self.solver)
            advance(1 / len(tasks), "choosing")
            return scores

        correct = np.zeros((len(self.splits), len(fitted.candidates), len(self.C)), np.int64)
        for (fold, position, _), scores in zip(tasks, map_chunks(scored, tasks, self.n_jobs), strict=True):
            correct[fold, position] += scores.correct
            self.choices[fold].count(scores)
        return correct

    def _predict(
        self,
        fitted: FittedVariant,
        scales: list[list[float]],
        correct: Int64,
        unseen: Callable[[int], Float64] | None,
        fold: int,
    ) -> None:
        """Fit on a fold's whole training part with the best setting, and predict its test part."""
        split, choice = self.splits[fold], self.choices[fold]
        # The first maximum in row-major order: of equals the first candidate, and of its C the smallest.
        position, penalty = divmod(int(correct[fold].argmax()), len(self.C))
        candidate, scale = fitted.candidates[position], scales[position][fold]
        training = submatrix(candidate.matrix, split.train, split.train, scale)
        if unseen is None:
            rows = submatrix(candidate.matrix, split.test, split.train, scale)
        else:
            rows = unseen(position) * scale
        choice.prediction = predict(training, rows, self.y[split.train], self.C[penalty])
        choice.n_fits += 1
        choice.svm_seconds += choice.prediction.seconds
        choice.correct = int(correct[fold].max())
        choice.parameters = {**candidate.parameters, "C": self.C[penalty]}
        # One picture of the matrix is enough, so the other folds let it go.
        choice.gram = candidate.matrix if fold == 0 else None


# ------------------------------------------------------------------------------- estimators that predict by themselves


def classify(estimator: Any, training: GraphCollection, labels: Any, unseen: GraphCollection, classes: Any) -> Choice:
    """Fit a classifier and predict unseen graphs; what comes out are codes that index ``classes``."""
    choice, predicted = _fitted(estimator, training, labels), time.perf_counter()
    found = estimator.predict(unseen)
    code_of = {label: code for code, label in enumerate(classes)}
    try:
        codes = np.array([code_of[label] for label in np.asarray(found).tolist()], np.int64)
    except KeyError as error:
        raise ValueError(f"{estimator} predicted the class {error}, which is not one of {list(classes)}") from None
    if hasattr(estimator, "predict_proba"):
        choice.probabilities = _in_order(estimator, estimator.predict_proba(unseen), classes)
    choice.transform_seconds = time.perf_counter() - predicted
    choice.prediction = Prediction(codes, True, 0.0)
    return choice


def classify_transductively(
    shared: TransductiveClassifier, train: Int64, labels: Any, test: Int64, classes: Any
) -> Choice:
    """Learn from the classes of some of the graphs that the kernels have met, and predict others of them."""
    shared.learn(train, labels)
    predicted = time.perf_counter()
    probabilities = _in_order(shared, shared.predict_proba(test), classes)
    return Choice(
        parameters=shared.choice,
        prediction=Prediction(probabilities.argmax(axis=1), True, 0.0),
        probabilities=probabilities,
        n_candidates=1,
        fit_seconds=shared.kernel_seconds,
        transform_seconds=time.perf_counter() - predicted,
        svm_seconds=shared.seconds,
    )


def regress(estimator: Any, training: GraphCollection, targets: Float64, unseen: GraphCollection) -> Choice:
    """Fit a regressor and predict unseen graphs, with deviations where it knows them."""
    choice, predicted = _fitted(estimator, training, targets), time.perf_counter()
    if "return_std" in inspect.signature(estimator.predict).parameters:
        values, choice.deviations = np.asarray(estimator.predict(unseen, return_std=True), np.float64)
    else:
        values = np.asarray(estimator.predict(unseen), np.float64)
    if values.shape != (len(unseen),) or not np.isfinite(values).all():
        raise ValueError(f"{estimator} gave no finite number for each of {len(unseen)} graphs")
    choice.transform_seconds = time.perf_counter() - predicted
    choice.values = values
    return choice


def _fitted(estimator: Any, training: GraphCollection, targets: Any) -> Choice:
    started = time.perf_counter()
    estimator.fit(training, targets)
    return Choice(n_candidates=1, fit_seconds=time.perf_counter() - started)


def _in_order(estimator: Any, probabilities: Any, classes: Any) -> Float64:
    """Return the probabilities (n, n_classes) in the order of ``classes``; a class not met in fitting has none."""
    ordered = np.zeros((len(probabilities), len(classes)))
    known = {label: column for column, label in enumerate(np.asarray(estimator.classes_).tolist())}
    for code, label in enumerate(classes):
        if label in known:
            ordered[:, code] = probabilities[:, known[label]]
    return ordered


def log_loss(probabilities: Float64, codes: Int64) -> float:
    """Return the mean negative log probability of the true classes.

    >>> round(log_loss(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([0, 1])), 4)
    0.3466
    """
    of_truth = np.maximum(probabilities[np.arange(len(codes)), codes], LEAST_PROBABILITY)
    return float(-np.log(of_truth).mean())


def regression_scores(targets: Float64, values: Float64, deviations: Float64 | None) -> dict[str, float]:
    """Return errors, the explained variance, and with deviations the predictive density and the coverage.

    >>> regression_scores(np.array([0.0, 2.0]), np.array([0.0, 1.0]), None)
    {'rmse': 0.7071067811865476, 'mae': 0.5, 'r2': 0.5, 'spearman': 1.0}
    """
    errors = values - targets
    spread = float(((targets - targets.mean()) ** 2).sum())
    squares = float((errors**2).sum())
    scores = {
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(np.abs(errors).mean()),
        "r2": 1 - squares / spread if spread > 0 else 0.0,
        "spearman": get_score("spearman", "regression")(targets, values),
    }
    if deviations is not None:
        deviations = np.maximum(deviations, LEAST_DEVIATION)
        scores["nlpd"] = float(-np.mean(norm.logpdf(targets, values, deviations)))
        scores["coverage"] = float(np.mean(np.abs(errors) <= norm.ppf((1 + INTERVAL) / 2) * deviations))
    return scores


# ------------------------------------------------------------------------------------------- a run that does not count


def warm_up(estimator: Entry, graphs: GraphCollection, n_jobs: int | None, *, unseen: bool) -> None:
    """Do with a few small graphs what an evaluation does with each variant, and forget what comes out.

    The first fit of a kernel in a process loads modules and compiles code, which can take longer than the fit itself
    and must not be timed. These kernels have a seed of their own, so that no result and no random stream depends on it.
    Only kernels of this package take part: what a fit of others costs or changes is not for us to know.

    Parameters
    ----------
    estimator : Entry
        The kernel.
    graphs : GraphCollection
        Graphs that it is going to meet.
    n_jobs : int, optional
        Number of threads.
    unseen : bool
        Whether it is going to meet graphs that it was not fitted to.
    """
    part = small_part(graphs)
    if not is_kernel(estimator) or not estimator.estimator_class().__module__.startswith("relaxwl.") or not len(part):
        return
    everything = np.arange(len(part))
    for variant in estimator.variants(0, n_jobs):
        try:
            with time_limit(MAX_SECONDS):
                fitted, kernel = fit_variant(variant, part), variant.estimator
                if unseen:
                    kernel.compare(kernel.prepare(part), fitted.prepared, variant.settings)
                score_path(fitted.candidates[0].matrix, everything % 2, everything, everything, 1.0, (1.0,))
        except Exception as error:  # what is wrong with a kernel shows in the run that counts
            logger.debug("%s in a run that does not count: %s", estimator.name, error)


def small_part(graphs: GraphCollection) -> GraphCollection:
    """Return ten of the smaller graphs, or as many of them (perhaps none) as together have few nodes.

    >>> graphs = GraphCollection.from_edges([(n, [(0, 1)]) for n in (2000, 3, 10, 9, 4000)])
    >>> small_part(graphs).node_counts.tolist()
    [3, 9, 10]
    """
    by_size = np.argsort(graphs.node_counts, kind="stable")
    sizes = graphs.node_counts[by_size]
    start = max(min(int(np.searchsorted(sizes, LEAST_NODES)), len(sizes) - N_GRAPHS), 0)
    n_taken = int(np.searchsorted(np.cumsum(sizes[start : start + N_GRAPHS]), MAX_NODES, side="right"))
    return graphs[by_size[start : start + n_taken]]
