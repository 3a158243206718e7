"""The choice among a few Gram matrices and penalties by inner folds, and probabilities from decisions out of fold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight

from relaxwl._execution import map_chunks
from relaxwl.learning.svm import MAX_ITERATIONS, TOLERANCE, QuietSVC, score_path

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
Folds = list[tuple[Int64, Int64]]

# The grid of penalties for kernels whose centered mean diagonal is 1, and the one that is seldom far from the best.
# Linear models of features take the first of them: larger ones take longer and longer. (Evaluations have the paper's.)
PENALTIES = tuple(2.0**power for power in (-4, -2, 0, 2, 4, 6, 8, 10))
FAVOURITE = 4.0
N_LINEAR = 5
# The grid of penalties of ridge regressions, the largest first: of equals the smoothest wins.
RIDGES = tuple(2.0**power for power in (6, 4, 2, 0, -2, -4, -6, -8))
N_FOLDS = 3
# Up to so many examples LIBSVM scores a kernel within 0.2 s, and the compiled path within 0.02 s; but compiling that
# takes 8 s, more than a predictor of so few examples takes as a whole.
FEW_EXAMPLES = 200
# Folds are drawn again and again until so many predictions were made: few graphs need it, many do not.
N_PREDICTIONS = 1000
MOST_REPETITIONS = 5
# Range of the logarithm of the slope that turns decisions into probabilities.
SLOPES = (-4.0, 5.0)


@dataclass(frozen=True)
class Scores:
    """The share of right predictions of one kernel over all inner folds, with the penalty that was chosen for it."""

    name: str
    best: float
    penalty: float


def inner_folds(y: Int64, seed: int, n_folds: int = N_FOLDS, repetitions: int | None = None) -> Folds:
    """Return stratified folds, drawn several times where there are few examples.

    A class with a single example cannot be held out: its example is in every training part.
    """
    repeats = repetitions or int(np.clip(round(N_PREDICTIONS / len(y)), 1, MOST_REPETITIONS))
    sizes = np.bincount(y)
    lonely = np.flatnonzero(sizes[y] < n_folds)
    common = np.flatnonzero(sizes[y] >= n_folds)
    if len(common) < n_folds:
        return []
    folds = []
    for repeat in range(repeats):
        drawn = StratifiedKFold(n_folds, shuffle=True, random_state=(seed + repeat) % 2**32)
        for train, test in drawn.split(common, y[common]):
            folds.append((np.sort(np.concatenate([common[train], lonely])), common[test]))
    return folds


def plain_folds(n: int, seed: int, n_folds: int) -> Folds:
    """Return folds for targets that are numbers."""
    drawn = KFold(min(n_folds, n), shuffle=True, random_state=seed % 2**32)
    return [(train, test) for train, test in drawn.split(np.arange(n))]


def score_kernel(
    name: str, gram: Float64, y: Int64, folds: Folds, class_weight: Any = None, n_jobs: int | None = None
) -> Scores:
    """Return how a support vector machine does on one Gram matrix; ``y`` are class codes from 0 on.

    With class weights right predictions count by them: who wants few errors in one class wants them here as well.
    """
    weights = compute_sample_weight(class_weight, y)
    solver = "libsvm" if len(y) <= FEW_EXAMPLES else "path"

    def correct(fold: tuple[Int64, Int64]) -> NDArray[Any]:
        train, test = fold
        if class_weight is None:
            return score_path(gram, y, train, test, 1.0, PENALTIES, solver).correct
        machines = [machine(gram[np.ix_(train, train)], y[train], C, class_weight) for C in PENALTIES]
        values = gram[np.ix_(test, train)]
        return np.array([weights[test] @ (fitted.predict(values) == y[test]) for fitted in machines])

    counts = np.sum(map_chunks(correct, folds, n_jobs), axis=0)
    accuracy = counts / sum(weights[test].sum() for _, test in folds)
    place = clearly_best(accuracy, PENALTIES.index(FAVOURITE), len(y))
    return Scores(name, float(accuracy[place]), PENALTIES[place])


def clearly_best(accuracies: Float64, favourite: int, n_examples: int) -> int:
    """Return the place of the best, or that of the favourite where the best is not clearly better.

    What one of several wins by a little it wins by chance, so it has to win by a standard error.
    """
    own = accuracies[favourite]
    best = int(accuracies.argmax())
    return best if accuracies[best] - own > np.sqrt(own * (1 - own) / n_examples) else favourite


def chosen(scores: Sequence[Scores], n_examples: int) -> Scores:
    """Return the best, or the first of all, the average of everything, where the best is not clearly better."""
    return scores[clearly_best(np.array([one.best for one in scores]), 0, n_examples)]


def machine(gram: Float64, y: Int64, C: float, class_weight: Any = None) -> SVC:
    """Fit LIBSVM on a Gram matrix; its decisions have one column for each class, or one for two classes."""
    fitted: SVC = QuietSVC(
        kernel="precomputed", C=C, class_weight=class_weight, max_iter=MAX_ITERATIONS, tol=TOLERANCE
    ).fit(gram, y)
    return fitted


def decisions_out_of_fold(
    decide: Callable[[Int64, Int64], Float64], y: Int64, n_classes: int, folds: Folds, n_jobs: int | None = None
) -> tuple[Float64, Int64]:
    """Return decisions (m, n_classes) on examples that the machines had not seen, and these examples' classes.

    ``decide(train, test)`` fits on some examples and returns the decisions on others, in the form of
    :func:`decision_table`. Folds that lack a class in training are of no use here.
    """
    useful = [(train, test) for train, test in folds if len(np.unique(y[train])) == n_classes]
    found = map_chunks(lambda fold: decide(*fold), useful, n_jobs)
    if not found:
        return np.zeros((0, n_classes)), np.zeros(0, np.int64)
    return np.concatenate(found), np.concatenate([y[test] for _, test in useful])


def decision_table(decisions: Float64) -> Float64:
    """Return one column for each class, also for two classes; the largest entry of a row is the decision."""
    if decisions.ndim == 2:
        return decisions
    return np.column_stack([-decisions, decisions]) / 2


def fit_slope(decisions: Float64, y: Int64) -> float:
    """Return the slope a > 0 with which softmax(a·decisions) makes the true classes most likely.

    One number for all classes: it says how sure decisions are and changes none of them.
    """
    if not len(y):
        return 1.0

    def loss(log_slope: float) -> float:
        likelihood = log_softmax(np.exp(log_slope) * decisions, axis=1)
        return -float(likelihood[np.arange(len(y)), y].mean())

    return float(np.exp(minimize_scalar(loss, bounds=SLOPES, method="bounded").x))
