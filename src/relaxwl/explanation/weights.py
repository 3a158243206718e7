"""A linear model on a kernel's features: one weight for each class and each group of neighbourhoods."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from relaxwl.graphs.arrays import Float64, Int64

# With kernels scaled to mean diagonal 1 the useful penalties lie here.
PENALTIES = tuple(2.0**power for power in (-5, -3, -1, 1, 3, 5))
N_FOLDS = 5
MAX_ITERATIONS = 10**6


@dataclass(frozen=True, eq=False)
class LinearWeights:
    """One linear score for each class; the largest score wins.

    Attributes
    ----------
    coef : float64 array (n_classes, n_features)
        Weights; with two classes the rows are each other's negatives.
    intercept : float64 array (n_classes,)
        What a graph without any vertex would score.
    accuracy : float or None
        Share of graphs classified rightly in cross-validation; None for a given model.
    penalty : float or None
        The C of the support vector machine that cross-validation chose.
    """

    coef: Float64
    intercept: Float64
    accuracy: float | None = None
    penalty: float | None = None

    def scores(self, features: csr_array) -> Float64:
        """Return the scores (n_graphs, n_classes)."""
        return np.asarray(features @ self.coef.T) + self.intercept


def fit_weights(features: csr_array, y: Int64, n_classes: int, random_state: int) -> LinearWeights:
    """Fit a support vector machine, one class against the rest, on features as they are; C by cross-validation.

    The machine is fitted on the Gram matrix, scaled to mean diagonal 1, and its weights are read off the support
    vectors: so thousands of correlated counts converge as quickly as few.
    """
    gram = (features @ features.T).toarray()
    mean = float(gram.diagonal().mean())
    gram /= mean if mean > 0 else 1.0
    smallest = int(np.bincount(y, minlength=n_classes).min())
    machine = OneVsRestClassifier(SVC(kernel="precomputed", max_iter=MAX_ITERATIONS))
    accuracy, penalty = None, 1.0
    with warnings.catch_warnings():
        # A machine that stops early still gives weights; how good they are is what the accuracy says.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if smallest >= 2:
            folds = StratifiedKFold(min(N_FOLDS, smallest), shuffle=True, random_state=random_state)
            search = GridSearchCV(machine, {"estimator__C": PENALTIES}, cv=folds, refit=False).fit(gram, y)
            accuracy, penalty = float(search.best_score_), float(search.best_params_["estimator__C"])
        fitted = machine.set_params(estimator__C=penalty).fit(gram, y)
    rows = [_weights(single, features) / (mean if mean > 0 else 1.0) for single in fitted.estimators_]
    intercepts = [float(single.intercept_[0]) for single in fitted.estimators_]
    return LinearWeights(*_one_for_each_class(np.array(rows), np.array(intercepts)), accuracy, penalty)


def given_weights(model: Any, n_features: int, classes: NDArray[Any]) -> LinearWeights:
    """Read the weights of a fitted linear model; its classes must be those of the graphs."""
    if not hasattr(model, "coef_"):
        raise ValueError(
            f"model must be a fitted linear model with coef_ (LinearSVC, LogisticRegression, ...), and "
            f"{type(model).__name__} has none; fit it on kernel.transform(graphs) first"
        )
    coef = np.atleast_2d(np.asarray(model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_, float))
    if isinstance(model, SVC) and len(classes) > 2:
        raise ValueError("model has a weight vector for each pair of classes; use LinearSVC or OneVsRestClassifier")
    if coef.shape[1] != n_features:
        raise ValueError(f"model was fitted on {coef.shape[1]} features, and the kernel has {n_features}")
    known = getattr(model, "classes_", None)
    if known is not None and not np.array_equal(np.asarray(known), classes):
        raise ValueError(f"model knows the classes {list(known)}, and y has {list(classes)}")
    if coef.shape[0] not in ({1, 2} if len(classes) == 2 else {len(classes)}):
        raise ValueError(f"model has {coef.shape[0]} weight vectors for {len(classes)} classes")
    intercept = np.atleast_1d(np.asarray(getattr(model, "intercept_", 0.0), np.float64))
    return LinearWeights(*_one_for_each_class(coef, np.broadcast_to(intercept, len(coef)).copy()))


def _weights(machine: Any, features: csr_array) -> Float64:
    """Return Σ αᵢyᵢφ(xᵢ) of a machine that was fitted on the Gram matrix."""
    if not hasattr(machine, "support_"):  # one class only: a constant
        return np.zeros(features.shape[1])
    return np.asarray(features[machine.support_].T @ machine.dual_coef_[0])


def _one_for_each_class(coef: Float64, intercept: Float64) -> tuple[Float64, Float64]:
    if len(coef) > 1:
        return coef, intercept
    return np.concatenate([-coef, coef]), np.concatenate([-intercept, intercept])
