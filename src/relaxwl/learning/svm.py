"""Support vector models on Gram matrices: scores of many C on one split, and the final fit of a fold.

The final fit of a fold is scikit-learn's ``SVC(kernel="precomputed")``, that is LIBSVM. The thousands of fits that
choose its parameters solve the same problem to the same tolerance with the same one-vs-one votes, but in the compiled
code of this package: it solves a whole path of C values, starts each fit from the previous one, moves all free
variables at once if steps by pairs are slow, and omits the input checks, which take ten times as long as LIBSVM itself
on a hundred graphs. A path ends when the box no longer binds: if no dual variable has reached C, the same solution is
optimal for all larger C.

Compiling this code takes 8 s. If only a few small problems are solved, as in a predictor of up to 200 graphs
(``choosing.FEW_EXAMPLES``), LIBSVM solves these too.

Without moving all free variables at once (``polish``), a path of ten C in one inner fold takes 2.0 times as long on
IMDB-BINARY with WL and 3.1 with R-WL*, 3.9 and 3.7 on PROTEINS, 27 and 4.2 on NCI1, 1.0 on EGO-1. Its factorization
(``cholesky``) and continuing at the boundary of the box (``walk``) gain nothing on WL; on R-WL* a factor of 2.7 on
IMDB-BINARY, 1.2 on NCI1, 1.0 on PROTEINS.
"""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from relaxwl._execution import spans
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.learning import _compiled

# Solvers of the fits that choose parameters: the compiled path, or LIBSVM, with which results can be verified.
SOLVERS = ("path", "libsvm")
MAX_ITERATIONS = 10**6
TOLERANCE = 1e-3
# Number of rows of Gram matrices that are copied at a time, so that intermediate copies stay in the cache.
ROWS_AT_ONCE = 64


class QuietSVC(SVC):
    """An SVC without convergence warnings; the records count unconverged fits.

    Python's warning filters are global to the process, so changing them for a fit would affect other threads.
    """

    def _warn_from_fit_status(self) -> None:
        """Do not warn: ``fit_status_`` is evaluated."""


@dataclass(frozen=True)
class PathScores:
    """Correct predictions on one split, as (n_C, n_held_out), and their cost (in fits of two classes)."""

    hits: NDArray[np.bool_]
    n_fits: int
    n_unconverged: int
    seconds: float

    @property
    def correct(self) -> Int64:
        """Number of correct predictions for every C."""
        return np.asarray(np.count_nonzero(self.hits, axis=1), np.int64)


@dataclass(frozen=True)
class SVMPrediction:
    """Predicted class codes of unseen graphs, from one fitted SVM, whose largest dual coefficient is ``largest``."""

    classes: Int64
    converged: bool
    seconds: float
    largest: float = np.inf


def training_scale(diagonal: Float64) -> float:
    """Return the factor that scales the mean of a training part's diagonal to 1 (1 if that is impossible).

    >>> training_scale(np.array([2.0, 6.0]))
    0.25
    """
    mean = float(diagonal.mean()) if len(diagonal) else 0.0
    return 1 / mean if mean > 0 else 1.0


def submatrix(gram: Float64, rows: Int64, columns: Int64, scale: float, dtype: Any = np.float64) -> NDArray[Any]:
    """Return a scaled copy of the chosen rows and columns."""
    part = np.empty((len(rows), len(columns)), dtype)
    for start, stop in spans(len(rows), ROWS_AT_ONCE):
        part[start:stop] = scale * gram.take(rows[start:stop], axis=0).take(columns, axis=1)
    return part


def score_path(
    gram: Float64, y: Int64, fit: Int64, held_out: Int64, scale: float, C: Sequence[float], solver: str = "path"
) -> PathScores:
    """Fit on ``fit`` with every C (ascending) and count the correct predictions on ``held_out``.

    ``y`` are class codes of all rows of the Gram matrix, of which those of ``fit`` and ``held_out`` are used. Every
    pair of classes votes, and ties go to the lower class, as in LIBSVM; with the solver ``"libsvm"``, LIBSVM is fitted
    once for each C.
    """
    started = time.perf_counter()
    predict_path = _path_predictions if solver == "path" else _libsvm_predictions
    predicted, n_fits, n_unconverged = predict_path(gram, y, fit, held_out, scale, C)
    return PathScores(predicted == y[held_out], n_fits, n_unconverged, time.perf_counter() - started)


def _path_predictions(
    gram: Float64, y: Int64, fit: Int64, held_out: Int64, scale: float, C: Sequence[float]
) -> tuple[Int64, int, int]:
    """Return the predicted classes (n_C, n_held_out), the number of fits, and how many of them did not converge."""
    penalties = np.asarray(C, np.float64)
    classes = np.unique(y[fit])
    votes = np.zeros((len(classes), len(penalties), len(held_out)), np.int64)
    n_fits = n_unconverged = 0
    for a, b in itertools.combinations(range(len(classes)), 2):
        pair = fit[(y[fit] == classes[a]) | (y[fit] == classes[b])]
        signs = np.where(y[pair] == classes[a], 1.0, -1.0)
        training = submatrix(gram, pair, pair, scale, np.float32)
        path, biases, fitted, unconverged = _compiled.solution_path(
            training, signs, penalties, TOLERANCE, MAX_ITERATIONS
        )
        decisions = path @ submatrix(gram, pair, held_out, scale) + biases[:, None]
        votes[a] += decisions > 0
        votes[b] += decisions <= 0
        n_fits += fitted
        n_unconverged += unconverged
    return classes[votes.argmax(axis=0)], n_fits, n_unconverged


def _libsvm_predictions(
    gram: Float64, y: Int64, fit: Int64, held_out: Int64, scale: float, C: Sequence[float]
) -> tuple[Int64, int, int]:
    """Return the same as `_path_predictions`, using scikit-learn only; its paths end when the box does not bind."""
    training, unseen = submatrix(gram, fit, fit, scale), submatrix(gram, held_out, fit, scale)
    predictions: list[SVMPrediction] = []
    for penalty in C:
        predictions.append(predict(training, unseen, y[fit], penalty))
        if predictions[-1].converged and predictions[-1].largest < penalty:
            break
    n_unconverged = sum(not prediction.converged for prediction in predictions)
    classes = [prediction.classes for prediction in predictions]
    return np.array(classes + classes[-1:] * (len(C) - len(classes))), len(predictions), n_unconverged


def predict(training: Float64, unseen: Float64, y: Int64, C: float) -> SVMPrediction:
    """Fit on a scaled (n, n) training matrix and predict the rows of the equally scaled (m, n) matrix ``unseen``."""
    started = time.perf_counter()
    svm = QuietSVC(kernel="precomputed", C=C, max_iter=MAX_ITERATIONS, tol=TOLERANCE).fit(training, y)
    classes = np.asarray(svm.predict(unseen), np.int64)
    largest = float(np.abs(svm.dual_coef_).max(initial=0.0))
    return SVMPrediction(classes, svm.fit_status_ == 0, time.perf_counter() - started, largest)
