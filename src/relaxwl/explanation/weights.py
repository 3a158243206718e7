"""A linear model on a kernel's features: one weight for each class and each cluster of neighborhoods."""

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, NuSVC

from relaxwl._validation import check_choice, infer_task, plain_targets
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.learning.heads import RIDGES
from relaxwl.learning.svm import QuietSVC

# Penalties of support vector machines on features whose mean squared length is 1.
PENALTIES = tuple(2.0**power for power in (-4, -2, 0, 2, 4, 6, 8, 10))
DEFAULT_PENALTY = 1.0  # if there are too few graphs to choose
N_FOLDS = 5
MAX_ITERATIONS = 10**6


@dataclass(frozen=True, eq=False)
class ExplainedTarget:
    """The classes of the graphs; numeric targets are divided into two classes for display.

    Attributes
    ----------
    classes : array
        The classes, sorted; for numbers the names of the lower and the higher half.
    codes : int64 array (n_graphs,)
        The class of each graph.
    values : float64 array (n_graphs,) or None
        The targets, if they are numeric.
    middle : float
        The number that separates the halves.
    """

    classes: NDArray[Any]
    codes: Int64
    values: Float64 | None = None
    middle: float = 0.0

    @property
    def chance(self) -> float:
        """Share of the largest class."""
        return float(np.bincount(self.codes).max() / len(self.codes))


def read_target(y: ArrayLike, n_graphs: int, task: str | None = None) -> ExplainedTarget:
    """Return the target, as classes or numbers by :func:`relaxwl._validation.infer_task` unless the task is given.

    >>> read_target([0.1, 0.7, 3.2, 4.5], 4, "regression").classes.tolist()
    ['below 1.95', '1.95 and above']
    """
    values = plain_targets(y, n_graphs)
    if task is not None:
        check_choice("task", task, ("classification", "regression"))
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise ValueError("y must have at least two classes: there is nothing to separate")
    if (task or infer_task(values)) == "regression":
        if values.dtype.kind not in "iufb" or not np.isfinite(values).all():
            raise ValueError("y must contain finite numbers for regression")
        numbers = values.astype(np.float64)
        middle = float(np.median(numbers))
        if middle == numbers.min():  # no value is lower
            middle = float(numbers.mean())
        names = np.array([f"below {middle:.4g}", f"{middle:.4g} and above"])
        return ExplainedTarget(names, (numbers >= middle).astype(np.int64), numbers, middle)
    return ExplainedTarget(classes, codes.astype(np.int64))


@dataclass(frozen=True, eq=False)
class LinearWeights:
    """One linear score for each class; the largest score wins.

    Attributes
    ----------
    coef : float64 array (n_classes, n_features)
        Weights; with two classes the rows are each other's negatives.
    intercept : float64 array (n_classes,)
        Scores of a graph without nodes.
    accuracy : float or None
        Share of held-out graphs that are classified correctly in nested cross-validation, in which C is chosen without
        the held-out graphs too (the kernel's clusters, fitted without classes, are those of all graphs); None for a
        given model and if a class has less than three graphs.
    penalty : float or None
        The C of the support vector machine chosen by cross-validation; for numbers the penalty of the regression.
    r2 : float or None
        For numbers: share of the variance of held-out graphs that the regression explains, with a penalty chosen
        without them; 0 for a constant prediction by the mean of all.
    """

    coef: Float64
    intercept: Float64
    accuracy: float | None = None
    penalty: float | None = None
    r2: float | None = None

    def scores(self, features: csr_array) -> Float64:
        """Return the scores (n_graphs, n_classes)."""
        return np.asarray(features @ self.coef.T) + self.intercept


def fit_weights(features: csr_array, y: Int64, n_classes: int, random_state: int) -> LinearWeights:
    """Fit one-vs-rest support vector machines on unscaled features, with C chosen by cross-validation.

    The model is fitted on the Gram matrix, scaled to mean diagonal 1, and its weights are computed from the support
    vectors, so that thousands of correlated counts converge as fast as a few.
    """
    gram = (features @ features.T).toarray()
    scale = float(gram.diagonal().mean()) or 1.0
    gram /= scale
    smallest = int(np.bincount(y, minlength=n_classes).min())
    # A model that stops early still has weights; the accuracy shows how good they are.
    model = OneVsRestClassifier(QuietSVC(kernel="precomputed", max_iter=MAX_ITERATIONS))
    accuracy, penalty = None, DEFAULT_PENALTY
    if smallest >= 2:
        folds = StratifiedKFold(min(N_FOLDS, smallest), shuffle=True, random_state=random_state)
        penalty, accuracy = _choose_penalty(model, gram, y, [test for _, test in folds.split(gram, y)])
    fitted = model.set_params(estimator__C=penalty).fit(gram, y)
    # Σ αᵢyᵢφ(xᵢ) of each model; if there is only one class, the model is a constant.
    rows = [
        np.asarray(features[single.support_].T @ single.dual_coef_[0]) / scale
        if hasattr(single, "support_")
        else np.zeros(features.shape[1])
        for single in fitted.estimators_
    ]
    intercepts = [float(single.intercept_[0]) for single in fitted.estimators_]
    return LinearWeights(*_one_for_each_class(np.array(rows), np.array(intercepts)), accuracy, penalty)


def _choose_penalty(model: Any, gram: Float64, y: Int64, folds: list[Int64]) -> tuple[float, float | None]:
    """Return the C that is best in cross-validation, and the accuracy in nested cross-validation.

    Nested: for each fold, C is chosen by the other folds, with models that have not seen the fold. A model without
    folds f and g is used in the choice for f and in that for g, so the total time is two to three times that of a
    cross-validation that is not nested.
    """
    n_folds = len(folds)
    # Accuracy on fold g if folds f and g are left out.
    right = np.zeros((len(PENALTIES), n_folds, n_folds))
    # Without both of two folds, no training data would be left.
    for f, g in combinations_with_replacement(range(n_folds), 2) if n_folds > 2 else [(0, 0), (1, 1)]:
        train = np.setdiff1d(np.arange(len(y)), np.union1d(folds[f], folds[g]))
        known, to_known = gram[np.ix_(train, train)], {test: gram[np.ix_(folds[test], train)] for test in (f, g)}
        for index, penalty in enumerate(PENALTIES):
            model.set_params(estimator__C=penalty).fit(known, y[train])
            for outer, test in {(f, g), (g, f)}:
                right[index, outer, test] = (model.predict(to_known[test]) == y[folds[test]]).mean()
    by_fold = right.diagonal(axis1=1, axis2=2)
    best = PENALTIES[int(by_fold.mean(axis=1).argmax())]
    if n_folds == 2:
        return best, None
    chosen = [int(np.delete(right[:, f], f, axis=1).mean(axis=1).argmax()) for f in range(n_folds)]
    return best, float(by_fold[chosen, np.arange(n_folds)].mean())


def fit_regression(features: csr_array, values: Float64, middle: float, random_state: int) -> LinearWeights:
    """Fit a ridge regression on unscaled features; its scores are the difference of a number from ``middle``.

    The penalty is the one with the best leave-one-out predictions. To estimate R², each fold is held out in turn, also
    from the choice of the penalty.
    """
    scale = float(features.power(2).sum(axis=1).mean()) or 1.0
    model, r2 = RidgeCV(scale * np.array(RIDGES)), None
    order = np.random.default_rng(random_state).permutation(len(values))
    if len(values) > N_FOLDS:
        errors = np.zeros(len(values))
        for test in np.array_split(order, N_FOLDS):
            train = np.setdiff1d(order, test)
            errors[test] = model.fit(features[train], values[train]).predict(features[test]) - values[test]
        r2 = 1 - float((errors**2).sum() / ((values - values.mean()) ** 2).sum())
    model.fit(features, values)
    coef, intercepts = _one_for_each_class(model.coef_[None], np.array([model.intercept_ - middle]))
    return LinearWeights(coef, intercepts, None, float(model.alpha_ / scale), r2)


def given_weights(model: Any, n_features: int, target: ExplainedTarget) -> LinearWeights:
    """Read the weights of a fitted linear model, or of one for each class; its classes must be those of the graphs."""
    singles = getattr(model, "estimators_", [model]) if isinstance(model, OneVsRestClassifier) else [model]
    for single in singles:
        if not hasattr(single, "coef_"):
            raise ValueError(
                "model must be a fitted linear model with coef_ (LinearSVC, LogisticRegression, OneVsRestClassifier of "
                f"these, ...), and {type(single).__name__} has none; fit one on kernel.transform(graphs), or take it "
                "out of a search (best_estimator_) or pipeline (its last step)"
            )
    weights = [single.coef_ for single in singles]
    rows = [np.atleast_2d(row.toarray() if hasattr(row, "toarray") else row) for row in weights]
    coef, classes = np.concatenate(rows).astype(np.float64), target.classes
    intercept = np.concatenate([np.atleast_1d(getattr(single, "intercept_", 0.0)) for single in singles])
    intercept = np.broadcast_to(np.asarray(intercept, np.float64), len(coef))
    if target.values is not None:
        if coef.shape != (1, n_features):
            raise ValueError(f"model must be a regression on {n_features} features, and its weights are {coef.shape}")
        return LinearWeights(*_one_for_each_class(coef, intercept - target.middle))
    if isinstance(model, (SVC, NuSVC)) and len(classes) > 2:
        raise ValueError("model has a weight vector for each pair of classes; use LinearSVC or OneVsRestClassifier")
    if coef.shape[1] != n_features:
        raise ValueError(f"model was fitted on {coef.shape[1]} features, and the kernel has {n_features}")
    known = getattr(model, "classes_", None)
    if known is not None and not np.array_equal(np.asarray(known), classes):
        raise ValueError(f"model knows the classes {list(known)}, and y has {list(classes)}")
    if coef.shape[0] not in ({1, 2} if len(classes) == 2 else {len(classes)}):
        raise ValueError(f"model has {coef.shape[0]} weight vectors for {len(classes)} classes")
    return LinearWeights(*_one_for_each_class(coef, intercept))


def _one_for_each_class(coef: Float64, intercept: Float64) -> tuple[Float64, Float64]:
    if len(coef) > 1:
        return coef, intercept
    return np.concatenate([-coef, coef]), np.concatenate([-intercept, intercept])
