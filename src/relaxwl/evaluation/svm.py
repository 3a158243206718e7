"""Support vector machines on Gram matrices: scores of many C on one split, and the final fit of a fold.

The classifier is scikit-learn's ``SVC(kernel="precomputed")``, that is LIBSVM, which releases the interpreter lock: the
splits of a candidate run in threads. A path of C values stops where the box no longer binds: if no dual variable has
reached C, the same solution is optimal for every larger C (the conditions of optimality are the same), so its
predictions are taken over instead of being computed again.
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from relaxwl.graphs.arrays import Float64, Int64

MAX_ITERATIONS = 10**6
# A dual variable counts as below C when it is so by more than rounding.
BELOW_BOX = 1 - 1e-9


@dataclass(frozen=True)
class PathScores:
    """Numbers of correct predictions for every C on one split, and what they cost."""

    correct: Int64
    n_fits: int
    n_unconverged: int
    seconds: float


@dataclass(frozen=True)
class Prediction:
    """Predicted class codes of unseen graphs, from one fitted machine."""

    classes: Int64
    converged: bool
    seconds: float


def training_scale(diagonal: Float64) -> float:
    """Return the factor that brings the mean of a training part's diagonal to 1 (1 where that is impossible).

    >>> training_scale(np.array([2.0, 6.0]))
    0.25
    """
    mean = float(diagonal.mean()) if len(diagonal) else 0.0
    return 1 / mean if mean > 0 else 1.0


def submatrix(gram: Float64, rows: Int64, columns: Int64, scale: float) -> Float64:
    """Return a scaled copy of the chosen rows and columns."""
    part = gram.take(rows, axis=0).take(columns, axis=1)
    part *= scale
    return part


def score_path(gram: Float64, y: Int64, fit: Int64, held_out: Int64, scale: float, C: Sequence[float]) -> PathScores:
    """Fit on ``fit`` with every C in turn (ascending) and count the correct predictions on ``held_out``."""
    started = time.perf_counter()
    training, unseen = submatrix(gram, fit, fit, scale), submatrix(gram, held_out, fit, scale)
    correct = np.zeros(len(C), np.int64)
    n_fits = n_unconverged = 0
    for position, value in enumerate(C):
        machine = _fitted(training, y[fit], value)
        n_fits += 1
        n_unconverged += machine.fit_status_
        correct[position] = np.count_nonzero(_predicted(machine, unseen) == y[held_out])
        if _box_is_slack(machine, value):
            correct[position + 1 :] = correct[position]
            break
    return PathScores(correct, n_fits, n_unconverged, time.perf_counter() - started)


def predict(training: Float64, unseen: Float64, y: Int64, C: float) -> Prediction:
    """Fit on a scaled (n, n) training matrix and predict the rows of the equally scaled (m, n) matrix ``unseen``."""
    started = time.perf_counter()
    machine = _fitted(training, y, C)
    classes = _predicted(machine, unseen)
    return Prediction(classes, machine.fit_status_ == 0, time.perf_counter() - started)


@contextmanager
def unconverged_is_counted() -> Iterator[None]:
    """Silence the warning about non-convergence, which the records count, for a block and all threads it starts.

    Python's warning filters belong to the process, so threads must not change them one by one.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _fitted(training: Float64, y: Int64, C: float) -> SVC:
    # The caller has checked the whole matrix once; checking every copy again takes as long as a small fit.
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        return SVC(kernel="precomputed", C=C, max_iter=MAX_ITERATIONS).fit(training, y)


def _predicted(machine: SVC, unseen: Float64) -> Int64:
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        return np.asarray(machine.predict(unseen), np.int64)


def _box_is_slack(machine: SVC, C: float) -> bool:
    largest = float(np.abs(machine.dual_coef_).max(initial=0.0))
    return machine.fit_status_ == 0 and largest < C * BELOW_BOX
