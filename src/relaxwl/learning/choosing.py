"""Selection of Gram matrices and penalties by cross-validation, and calibration of out-of-fold decisions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC

from relaxwl._execution import map_chunks
from relaxwl.learning.scoring import Score
from relaxwl.learning.svm import MAX_ITERATIONS, TOLERANCE, QuietSVC, score_path
from relaxwl.learning.voting import OneVsOneSVM

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
Folds = list[tuple[Int64, Int64]]

# The grid of penalties for kernels whose centered mean diagonal is 1, and a value that is seldom far from the best.
# Linear models use only the first N_LINEAR, because larger ones take much longer. (Evaluations use the paper's grid.)
PENALTIES = tuple(2.0**power for power in (-4, -2, 0, 2, 4, 6, 8, 10))
FAVORITE = 4.0
N_LINEAR = 5
# The grid of penalties of ridge regressions, in descending order, so that ties go to the smoothest model.
RIDGES = tuple(2.0**power for power in (6, 4, 2, 0, -2, -4, -6, -8))
N_FOLDS = 3
# Maximum number of examples for which LIBSVM is used: it scores a kernel in 0.2 s. The compiled path takes 0.02 s, but
# 8 s to compile, longer than the whole fit of a predictor on so few examples.
FEW_EXAMPLES = 200
# Minimum number of predictions in cross-validation: for a few graphs, folds are drawn repeatedly.
N_PREDICTIONS = 1000
MAX_REPETITIONS = 5
# Number of standard errors of the difference by which a favored candidate must be better than the first candidate.
FAVORED_MARGIN = 0.5
# Range of the logarithm of the slope by which decisions are converted to probabilities.
SLOPES = (-4.0, 5.0)


@dataclass(frozen=True)
class Scores:
    """The score of one kernel over all inner folds (larger is better), its standard error, and the chosen penalty.

    ``best`` is the mean of ``samples``: the share of correct predictions of each held-out example, or the score of each
    fold. The samples of two kernels on the same folds are paired.
    """

    name: str
    best: float
    penalty: float
    error: float = 0.0
    samples: Float64 = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)


def inner_folds(
    y: Int64, seed: int, n_folds: int = N_FOLDS, repetitions: int | None = None, groups: Int64 | None = None
) -> Folds:
    """Return stratified folds, repeated if there are few examples; groups are not split.

    A class with a single example cannot be held out: its example is in every training part.
    """
    if groups is not None:
        firsts = np.unique(groups, return_index=True)[1]
        return _with_copies(inner_folds(y[firsts], seed, n_folds, repetitions), firsts, groups)
    repeats = repetitions or int(np.clip(round(N_PREDICTIONS / len(y)), 1, MAX_REPETITIONS))
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


def plain_folds(n: int, seed: int, n_folds: int, groups: Int64 | None = None) -> Folds:
    """Return folds for numeric targets; groups are not split."""
    if groups is not None:
        firsts = np.unique(groups, return_index=True)[1]
        return _with_copies(plain_folds(len(firsts), seed, n_folds), firsts, groups) if len(firsts) > 1 else []
    drawn = KFold(min(n_folds, n), shuffle=True, random_state=seed % 2**32)
    return [(train, test) for train, test in drawn.split(np.arange(n))]


def _with_copies(folds: Folds, firsts: Int64, groups: Int64) -> Folds:
    """Return folds of the first example of each group with all examples of the group."""
    held_out = [np.isin(groups, groups[firsts[test]]) for _, test in folds]
    return [(np.flatnonzero(~inside), np.flatnonzero(inside)) for inside in held_out]


def score_kernel(
    name: str,
    gram: Float64,
    y: Int64,
    folds: Folds,
    score: Score,
    weights: Float64 | None = None,
    n_jobs: int | None = None,
) -> Scores:
    """Return the cross-validated score of a support vector machine on one Gram matrix; ``y`` are class codes.

    Weights of the examples are used in fitting and in the score, so that errors of important classes count in both. The
    score is negated if smaller values are better.
    """
    if score.name == "accuracy" and weights is None:
        solver = "libsvm" if len(y) <= FEW_EXAMPLES else "path"
        hits = map_chunks(lambda fold: score_path(gram, y, *fold, 1.0, PENALTIES, solver).hits, folds, n_jobs)
        shares, often = np.zeros((len(PENALTIES), len(y))), np.zeros(len(y))
        for (_, test), hit in zip(folds, hits, strict=True):
            shares[:, test] += hit
            often[test] += 1
        values = shares.sum(axis=1) / often.sum()
        samples = shares[:, often > 0] / often[often > 0]
        errors = np.sqrt(values * (1 - values) / len(y))
    else:
        found = np.array(map_chunks(lambda fold: _fold_scores(gram, y, *fold, score, weights), folds, n_jobs))
        samples = found.T
        values = np.nan_to_num(np.nanmean(found, axis=0), nan=-np.inf)
        errors = np.nan_to_num(np.nanstd(found, axis=0) / np.sqrt(max(len(found), 1)))
    place = clearly_best(values, errors, PENALTIES.index(FAVORITE))
    return Scores(name, float(values[place]), PENALTIES[place], float(errors[place]), samples[place])


def _fold_scores(gram: Float64, y: Int64, train: Int64, test: Int64, score: Score, weights: Float64 | None) -> Float64:
    """Return the score of each penalty on the held-out part of a fold, negated if smaller is better."""
    own = None if weights is None else weights[train]
    found = []
    for C in PENALTIES:
        model = OneVsOneSVM.of(fit_svc(gram[np.ix_(train, train)], y[train], C, own))
        table = model.decisions(gram[np.ix_(test, train[model.support])])
        if score.name == "log_loss":
            table = softmax(fit_slope(table, y[test]) * table, axis=1)
        found.append(score.sign * score(y[test], table, None if weights is None else weights[test]))
    return np.array(found)


def clearly_best(values: Float64, errors: Float64, favorite: int) -> int:
    """Return the index of the best score, or of the favorite if the best is not clearly better.

    The best of several may lead by chance, so it must be better by more than a standard error.
    """
    best = int(values.argmax())
    return best if values[best] - values[favorite] > errors[favorite] else favorite


def chosen(scores: Sequence[Scores], favored: Collection[str] = ()) -> Scores:
    """Return the best, or the first one if the best is not clearly better.

    The best of those whose names are ``favored`` replaces the first one if the mean of the paired differences exceeds
    half its standard error: candidates that are expected to help need less evidence.
    """
    first, others = scores[0], [one for one in scores[1:] if one.name not in favored]
    best = max((one for one in scores[1:] if one.name in favored), key=lambda one: one.best, default=None)
    if best is not None:
        gaps = best.samples - first.samples
        gaps = gaps[np.isfinite(gaps)]
        if len(gaps) and gaps.mean() > FAVORED_MARGIN * gaps.std() / np.sqrt(len(gaps)):
            first = best
    left = [first, *others]
    values, errors = (np.array([getattr(one, name) for one in left]) for name in ("best", "error"))
    return left[clearly_best(values, errors, 0)]


def fit_svc(gram: Float64, y: Int64, C: float, weights: Float64 | None = None) -> SVC:
    """Fit LIBSVM on a Gram matrix; its decisions have one column for each class, or one for two classes."""
    model = QuietSVC(kernel="precomputed", C=C, max_iter=MAX_ITERATIONS, tol=TOLERANCE)
    fitted: SVC = model.fit(gram, y, sample_weight=weights)
    return fitted


def decision_table(decisions: Float64) -> Float64:
    """Return one column for each class, also for two classes; the largest entry of a row is the decision."""
    if decisions.ndim == 2:
        return decisions
    return np.column_stack([-decisions, decisions]) / 2


def fit_slope(decisions: Float64, y: Int64) -> float:
    """Return the slope a > 0 that maximizes the likelihood of the true classes under softmax(a·decisions).

    The same slope is used for all classes, so that no decision changes.
    """
    if not len(y):
        return 1.0

    def loss(log_slope: float) -> float:
        likelihood = log_softmax(np.exp(log_slope) * decisions, axis=1)
        return -float(likelihood[np.arange(len(y)), y].mean())

    return float(np.exp(minimize_scalar(loss, bounds=SLOPES, method="bounded").x))
