"""Work within a fold: the selection of parameters for kernels, and the predictions of all estimators.

Every setting of a fitted kernel and every C is scored on the training part. Other estimators are fitted on the training
graphs with their targets, and predict the test graphs.
"""

import contextlib
import hashlib
import inspect
import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from relaxwl._execution import map_chunks, time_limit
from relaxwl._progress import printable
from relaxwl._registry import get_estimator
from relaxwl.costs import EditCost
from relaxwl.evaluation.folds import Split
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.kernels.base import GraphKernel
from relaxwl.kernels.registry import Entry, Variant
from relaxwl.learning.scoring import get_score
from relaxwl.learning.svm import PathScores, SVMPrediction, predict, score_path, submatrix, training_scale

# Parameters that do not identify a kernel: they change how it is computed, or are set in each repetition.
NOT_IDENTITY = frozenset({"n_jobs", "random_state", "sparse_output", "verbose"})


def resolve(kernels: Any, depths: tuple[int, ...] | None = None) -> list[Entry]:
    """Return the estimators given by the argument ``kernels``, with the depths to select from.

    Parameters
    ----------
    kernels : str, estimator, iterable of these, or mapping from name to one of these
        Names are those of ``relaxwl.kernels.registry``. A string may contain several names, separated by commas.
        An estimator is a GraphKernel, or has ``fit(graphs, y)`` and ``predict(graphs)``.
    depths : tuple of int, optional
        The depths to select from, for kernels with this setting.

    Examples
    --------
    >>> from relaxwl.kernels import WeisfeilerLehman
    >>> [estimator.name for estimator in resolve({"shallow": WeisfeilerLehman(max_depth=1)})]
    ['shallow']
    """
    if isinstance(kernels, Mapping):
        entries = [
            replace(get_estimator(kernel), name=str(name), title=printable(str(name)))
            if isinstance(kernel, str)
            else _own(kernel, str(name))
            for name, kernel in kernels.items()
        ]
    else:
        if isinstance(kernels, str):
            kernels = [name.strip() for name in kernels.split(",") if name.strip()]
        listed = kernels if isinstance(kernels, Iterable) else [kernels]
        entries = [get_estimator(item) if isinstance(item, str) else _own(item) for item in listed]
    if not entries:
        raise ValueError("kernels is empty; name at least one kernel")
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two kernels are called {name!r}; give them names of their own with a dict name → kernel")
    return [entry.within(depths) for entry in entries]


def _own(estimator: Any, name: str | None = None) -> Entry:
    """Return the entry of a user-defined estimator."""
    predicts = all(hasattr(estimator, method) for method in ("fit", "predict", "get_params"))
    if isinstance(estimator, type) or not (isinstance(estimator, GraphKernel) or predicts):
        raise TypeError(
            f"kernels must be names, GraphKernel estimators or predictors with fit and predict, not {estimator!r}"
        )
    title = type(estimator).__name__ if name is None else printable(name)
    return Entry(title, title, prototype=estimator)


def is_kernel(entry: Entry) -> bool:
    """Return whether an estimator is a kernel, which is combined with a support vector machine, or a predictor."""
    return issubclass(entry.estimator_class(), GraphKernel)


def identity(entry: Entry, *, require_name: bool = False) -> str:
    """Return a digest of an estimator's variants and all their parameters; the same in every process.

    Code, such as a function that returns the number of clusters, is identified only by the estimator's name.

    Parameters
    ----------
    entry : Entry
        The estimator.
    require_name : bool, default=False
        Whether to raise an error for an estimator with code but without its own name, which identifies records.
    """
    code: list[str] = []

    def identifying(estimator: Any) -> dict[str, Any]:
        parameters = estimator.get_params().items()
        return {name: value for name, value in parameters if name.rpartition("__")[2] not in NOT_IDENTITY}

    def described(value: Any) -> Any:
        """Return a JSON-serializable description of a parameter: plain data, or class and state of objects."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, Mapping):
            return {str(key): described(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [described(item) for item in value]
        if isinstance(value, (set, frozenset)):
            return sorted((described(item) for item in value), key=json.dumps)
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return ["array", value.dtype.str, list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
        path = f"{type(value).__module__}.{type(value).__qualname__}"
        if isinstance(value, EditCost):
            with contextlib.suppress(TypeError, ValueError):  # costs defined by a function
                return described(value.to_dict())
        elif hasattr(value, "get_params") and not isinstance(value, type):
            return [path, described(identifying(value))]
        elif path.startswith("relaxwl.") and hasattr(value, "__dict__"):
            return [path, described(vars(value))]
        code.append(getattr(value, "__qualname__", path))
        return code[-1]

    content = described([[variant.parameters, variant.settings, variant.estimator] for variant in entry.variants()])
    if code and require_name and entry.prototype is not None and entry.name == type(entry.prototype).__name__:
        raise ValueError(
            f"a parameter of {entry.name} is code ({code[0]}), by which a stored record cannot be recognized; name the "
            f"kernel, as in {{'my kernel': {entry.name}(...)}}, and give it another name when you change the code"
        )
    return hashlib.sha256(json.dumps([entry.name if code else "", content], sort_keys=True).encode()).hexdigest()


# Minimum deviation in scores, so that the density of a wrong prediction with deviation 0 is finite.
LEAST_DEVIATION = 1e-9
# Nominal coverage of the intervals whose coverage is measured.
INTERVAL = 0.95
# Number and sizes of graphs in the warm-up. Smaller graphs would not run all code, such as that for graphlets of five
# nodes.
N_GRAPHS = 10
LEAST_NODES, MAX_NODES = 8, 40
# Time limit of the warm-up: enough to compile everything, while slow kernels are not waited for.
MAX_SECONDS = 60.0

logger = logging.getLogger(__name__)


@dataclass
class Choice:
    """The best setting found so far for a fold, the predictions with it, and the cost of the search.

    For estimators other than kernels, ``correct`` is -1; ``values`` and ``deviations`` are used in regression.
    """

    correct: int = -1
    parameters: dict[str, Any] = field(default_factory=dict)
    prediction: SVMPrediction | None = None
    probabilities: Float64 | None = None
    values: Float64 | None = None
    deviations: Float64 | None = None
    n_candidates: int = 0
    n_fits: int = 0
    n_unconverged: int = 0
    fit_seconds: float = 0.0
    gram_seconds: float = 0.0
    transform_seconds: float = 0.0
    svm_seconds: float = 0.0


@dataclass(frozen=True)
class FittedVariant:
    """A fitted kernel: the Gram matrices of all its settings (of all graphs, or of training graphs), and their cost.

    ``parameters`` are those of each of the ``matrices``; ``prepared`` is the kernel's representation of the graphs, for
    comparison with others.
    """

    variant: Variant
    prepared: Any
    parameters: list[dict[str, Any]]
    matrices: list[Float64]
    fit_seconds: float
    gram_seconds: float

    @property
    def nbytes(self) -> int:
        """Memory of the Gram matrices in bytes."""
        return sum(matrix.nbytes for matrix in self.matrices)


def fit_variant(variant: Variant, graphs: GraphCollection) -> FittedVariant:
    """Fit a kernel, and check the Gram matrices of its settings once for all folds."""
    kernel = variant.estimator
    started = time.perf_counter()
    prepared = kernel.fit_prepare(graphs)
    fitted = time.perf_counter()
    matrices = [np.ascontiguousarray(matrix, np.float64) for matrix in kernel.compare(prepared, None, variant.settings)]
    finished = time.perf_counter()
    for setting, matrix in zip(variant.settings, matrices, strict=True):
        if matrix.shape != (len(graphs), len(graphs)) or not np.isfinite(matrix).all():
            raise ValueError(f"{kernel} gave no finite square Gram matrix with {setting}")
    parameters = [{**variant.parameters, **setting} for setting in variant.settings]
    return FittedVariant(variant, prepared, parameters, matrices, fitted - started, finished - fitted)


# Reports that a share of some work is done, with a description; called from several threads.
Advance = Callable[[float, str], None]


def part_of(advance: Advance, n_parts: int) -> Advance:
    """Return a function that reports shares of one of ``n_parts`` equal parts of some work."""
    return lambda share, what: advance(share / n_parts, what)


class Selection:
    """Selection of the best setting for each fold, kernel by kernel.

    A fold predicts as soon as a kernel is better than the previous ones, not after all kernels. So only the Gram
    matrices of one kernel are in memory, at the cost of a few additional fits among hundreds.

    Parameters
    ----------
    splits : sequence of Split
        The folds; positions refer to rows of the Gram matrices.
    y : array of class codes
        Classes of the rows. Those of test graphs are not used (and missing in the inductive protocol).
    C : sequence of float
        Penalties, ascending.
    n_jobs : int, optional
        Number of threads.
    solver : {"path", "libsvm"}, default="path"
        Solver of the SVMs that choose parameters; the final fit of a fold is always LIBSVM.
    """

    def __init__(
        self, splits: Sequence[Split], y: Int64, C: Sequence[float], n_jobs: int | None, solver: str = "path"
    ) -> None:
        self.splits, self.y, self.C, self.n_jobs, self.solver = splits, y, C, n_jobs, solver
        self.choices = [Choice() for _ in splits]

    def enter(self, fitted: FittedVariant, advance: Advance, unseen: Callable[[int], Float64] | None = None) -> None:
        """Compare a fitted kernel with the best setting so far, in every fold.

        ``unseen(position)`` returns the Gram matrix between test and training graphs for the candidate at ``position``;
        without it, the test graphs are rows of the candidates' own matrices.
        """
        matrices, n_C = fitted.matrices, len(self.C)
        scales = [[training_scale(matrix.diagonal()[split.train]) for split in self.splits] for matrix in matrices]
        tasks = [
            (fold, position, inner)
            for position in range(len(matrices))
            for fold, split in enumerate(self.splits)
            for inner in split.inner
        ]

        def scored(task: tuple[int, int, tuple[Int64, Int64]]) -> PathScores:
            fold, position, (fit, held_out) = task
            scale = scales[position][fold]
            scores = score_path(matrices[position], self.y, fit, held_out, scale, self.C, self.solver)
            advance(1 / len(tasks), "choosing")
            return scores

        # Number of correct predictions in the inner folds.
        correct = np.zeros((len(self.splits), len(matrices), n_C), np.int64)
        for (fold, position, _), scores in zip(tasks, map_chunks(scored, tasks, self.n_jobs), strict=True):
            correct[fold, position] += scores.correct
            choice = self.choices[fold]
            choice.n_fits += scores.n_fits
            choice.n_unconverged += scores.n_unconverged
            choice.svm_seconds += scores.seconds

        def predicted(fold: int) -> None:
            """Fit on the whole training part of a fold with the best setting, and predict its test part."""
            split, choice = self.splits[fold], self.choices[fold]
            # The first maximum in row-major order: ties go to the first candidate, and to its smallest C.
            position, penalty = divmod(int(correct[fold].argmax()), n_C)
            matrix, scale = matrices[position], scales[position][fold]
            training = submatrix(matrix, split.train, split.train, scale)
            rows = unseen(position) * scale if unseen else submatrix(matrix, split.test, split.train, scale)
            choice.prediction = predict(training, rows, self.y[split.train], self.C[penalty])
            choice.n_fits += 1
            choice.svm_seconds += choice.prediction.seconds
            choice.correct = int(correct[fold].max())
            choice.parameters = {**fitted.parameters[position], "C": self.C[penalty]}

        improved = [fold for fold, choice in enumerate(self.choices) if correct[fold].max() > choice.correct]
        map_chunks(predicted, improved, self.n_jobs)
        for choice in self.choices:
            choice.n_candidates += len(matrices)
            choice.fit_seconds += fitted.fit_seconds
            choice.gram_seconds += fitted.gram_seconds


# ------------------------------------------------------------------------------- estimators that predict by themselves


def classify(estimator: Any, training: GraphCollection, labels: Any, unseen: GraphCollection, classes: Any) -> Choice:
    """Fit a classifier and predict unseen graphs; predictions are codes that index ``classes``."""
    started = time.perf_counter()
    estimator.fit(training, labels)
    fitted = time.perf_counter()
    found = np.asarray(estimator.predict(unseen)).tolist()
    strange = set(found) - set(classes)
    if strange:
        raise ValueError(f"{estimator} predicted the class {strange.pop()!r}, which is not one of {list(classes)}")
    codes = np.array([list(classes).index(label) for label in found], np.int64)
    choice = Choice(prediction=SVMPrediction(codes, True, 0.0), n_candidates=1, fit_seconds=fitted - started)
    if hasattr(estimator, "predict_proba"):
        choice.probabilities = _in_order(estimator, estimator.predict_proba(unseen), classes)
    choice.transform_seconds = time.perf_counter() - fitted
    return choice


def regress(estimator: Any, training: GraphCollection, targets: Float64, unseen: GraphCollection) -> Choice:
    """Fit a regressor and predict unseen graphs, with standard deviations if it computes them."""
    started = time.perf_counter()
    estimator.fit(training, targets)
    fitted = time.perf_counter()
    if "return_std" in inspect.signature(estimator.predict).parameters:
        values, deviations = np.asarray(estimator.predict(unseen, return_std=True), np.float64)
    else:
        values, deviations = np.asarray(estimator.predict(unseen), np.float64), None
    if values.shape != (len(unseen),) or not np.isfinite(values).all():
        raise ValueError(f"{estimator} gave no finite number for each of {len(unseen)} graphs")
    choice = Choice(n_candidates=1, values=values, deviations=deviations, fit_seconds=fitted - started)
    choice.transform_seconds = time.perf_counter() - fitted
    return choice


def _in_order(estimator: Any, probabilities: Any, classes: Any) -> Float64:
    """Return the probabilities (n, n_classes) in the order of ``classes``; 0 for a class not seen in fitting."""
    ordered = np.zeros((len(probabilities), len(classes)))
    known = {label: column for column, label in enumerate(np.asarray(estimator.classes_).tolist())}
    for code, label in enumerate(classes):
        if label in known:
            ordered[:, code] = probabilities[:, known[label]]
    return ordered


def regression_scores(targets: Float64, values: Float64, deviations: Float64 | None) -> dict[str, float]:
    """Return errors, the explained variance, and with deviations the predictive density and the coverage.

    >>> scores = regression_scores(np.array([0.0, 2.0]), np.array([0.0, 1.0]), None)
    >>> {name: round(score, 3) for name, score in scores.items()}
    {'rmse': 0.707, 'mae': 0.5, 'r2': 0.5, 'spearman': 1.0}
    """
    errors = values - targets
    scores = {name: get_score(name, "regression")(targets, values) for name in ("rmse", "mae", "r2", "spearman")}
    if deviations is not None:
        deviations = np.maximum(deviations, LEAST_DEVIATION)
        scores["nlpd"] = float(-np.mean(norm.logpdf(targets, values, deviations)))
        scores["coverage"] = float(np.mean(np.abs(errors) <= norm.ppf((1 + INTERVAL) / 2) * deviations))
    return scores


# ------------------------------------------------------------------------------------------- a run that does not count


def warm_up(estimator: Entry, graphs: GraphCollection, n_jobs: int | None, *, unseen: bool) -> None:
    """Run an evaluation of each variant on a few small graphs, which compiles all functions.

    The first fit of a kernel in a process loads modules and compiles code, which can take longer than the fit itself
    and must not be timed. These kernels have their own seed, so that no result and no random stream depends on them.
    Only kernels of this package are run, because the cost and side effects of other fits are unknown.

    Parameters
    ----------
    estimator : Entry
        The kernel.
    graphs : GraphCollection
        Graphs of the evaluation.
    n_jobs : int, optional
        Number of threads.
    unseen : bool
        Whether the kernel will be applied to graphs that it was not fitted to.
    """
    by_size = np.argsort(graphs.node_counts, kind="stable")
    sizes = graphs.node_counts[by_size]
    part = graphs[by_size[(sizes >= LEAST_NODES) & (sizes <= MAX_NODES)][:N_GRAPHS]]
    if not is_kernel(estimator) or not estimator.estimator_class().__module__.startswith("relaxwl.") or not len(part):
        return
    everything = np.arange(len(part))
    for variant in estimator.variants(0, n_jobs):
        try:
            with time_limit(MAX_SECONDS):
                fitted, kernel = fit_variant(variant, part), variant.estimator
                if unseen:
                    kernel.compare(kernel.prepare(part), fitted.prepared, variant.settings)
                score_path(fitted.matrices[0], everything % 2, everything, everything, 1.0, (1.0,))
        except Exception as error:  # errors of a kernel are reported by the evaluation itself
            logger.debug("%s in a run that does not count: %s", estimator.name, error)
