"""Contestants that predict by themselves: fitted on the training graphs of a fold with their targets, then asked."""

import inspect
import time
from typing import Any

import numpy as np
from scipy.stats import norm

from relaxwl.evaluation.selection import Choice
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.learning.svm import Prediction
from relaxwl.predictors.transductive import TransductiveClassifier

# Probabilities and deviations below this count as this: a sure error costs much, but not everything.
LEAST_PROBABILITY = 1e-15
LEAST_DEVIATION = 1e-9
# The share of targets that should lie in the intervals whose coverage is measured.
INTERVAL = 0.95


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
        values, choice.deviations = (
            np.asarray(part, np.float64) for part in estimator.predict(unseen, return_std=True)
        )
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
    {'rmse': 0.7071067811865476, 'mae': 0.5, 'r2': 0.5}
    """
    errors = values - targets
    spread = float(((targets - targets.mean()) ** 2).sum())
    squares = float((errors**2).sum())
    scores = {
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(np.abs(errors).mean()),
        "r2": 1 - squares / spread if spread > 0 else 0.0,
    }
    if deviations is not None:
        deviations = np.maximum(deviations, LEAST_DEVIATION)
        scores["nlpd"] = float(-np.mean(norm.logpdf(targets, values, deviations)))
        scores["coverage"] = float(np.mean(np.abs(errors) <= norm.ppf((1 + INTERVAL) / 2) * deviations))
    return scores
