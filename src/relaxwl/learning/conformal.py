"""Conformal intervals and sets of classes from out-of-fold predictions (CV+), or from a held-out part.

Each calibration example has a nonconformity score under the model of its fold, which did not see it. This score is
compared with the scores that a new object would have under the same model, so the finite-sample bound of CV+ holds
(Barber, Candès, Ramdas and Tibshirani 2021; Romano, Sesia and Candès 2020). A held-out part is the case of one fold,
which is split conformal prediction with its exact guarantee.
"""

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import spans

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

# Number of pairs of new objects and calibration examples that are compared at a time.
PAIRS_AT_ONCE = 4_000_000


def intervals(means: Float64, stds: Float64, folds: Int64, scores: Float64, coverage: float) -> Float64:
    """Return intervals that hold the target of a new object with the given probability.

    Parameters
    ----------
    means, stds : arrays (n_new, n_folds)
        Prediction and standard deviation of each new object by the model of each fold.
    folds : array (n_calibration,)
        The fold of each calibration example, whose model did not see it.
    scores : array (n_calibration,)
        Absolute error of each calibration example in units of its predicted standard deviation, out of fold.
    coverage : float
        Probability between 0 and 1.

    Returns
    -------
    array (n_new, 2)
        Lower and upper ends; infinite if there are too few calibration examples for the coverage.

    Examples
    --------
    >>> intervals(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(9, int), np.arange(1.0, 10.0), 0.8)
    array([[-8.,  8.]])
    """
    n = len(scores)
    ends = np.empty((len(means), 2))
    # The k-th smallest of n values, for k above n, is infinite.
    k = _rank(coverage, n)
    for start, stop in spans(len(means), max(PAIRS_AT_ONCE // max(n, 1), 1)):
        centers, halves = means[start:stop, folds], stds[start:stop, folds] * scores
        if k > n:
            ends[start:stop] = -np.inf, np.inf
            continue
        ends[start:stop, 0] = -np.partition(halves - centers, k - 1, axis=1)[:, k - 1]
        ends[start:stop, 1] = np.partition(centers + halves, k - 1, axis=1)[:, k - 1]
    return ends


def class_sets(
    probabilities: Float64, folds: Int64, scores: Float64, codes: Int64, coverage: float, by_class: bool = False
) -> NDArray[np.bool_]:
    """Return sets of classes that hold the class of a new object with the given probability.

    Parameters
    ----------
    probabilities : array (n_new, n_folds, n_classes)
        Class probabilities of each new object by the model of each fold.
    folds : array (n_calibration,)
        The fold of each calibration example, whose model did not see it.
    scores : array (n_calibration,)
        One minus the probability of the true class of each calibration example, out of fold.
    codes : array (n_calibration,)
        Class codes of the calibration examples.
    coverage : float
        Probability between 0 and 1.
    by_class : bool, default=False
        Compare each class with the calibration examples of that class alone, so that rare classes are covered too.

    Returns
    -------
    bool array (n_new, n_classes)
        A set may be empty: no class is likely enough for such an object.
    """
    n_new, _, n_classes = probabilities.shape
    inside = np.zeros((n_new, n_classes), bool)
    for code in range(n_classes):
        compared = codes == code if by_class else np.ones(len(codes), bool)
        own, fold = scores[compared], folds[compared]
        needed = _rank(coverage, len(own))
        for start, stop in spans(n_new, max(PAIRS_AT_ONCE // max(len(own), 1), 1)):
            smaller = (own < 1 - probabilities[start:stop, fold, code]).sum(axis=1)
            inside[start:stop, code] = smaller < needed
    return inside


def _rank(coverage: float, n: int) -> int:
    """Return ⌈coverage·(n + 1)⌉, not raised by rounding errors of the product."""
    return int(np.ceil(np.round(coverage * (n + 1), 9)))
