"""Scores of predictions by name: one table for choosing settings, reports, evaluation and the command line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn import metrics

from relaxwl._validation import ParameterError

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

# Share of a class below which accuracy is not informative.
RARE = 0.1


@dataclass(frozen=True)
class Score:
    """A score by its name.

    Attributes
    ----------
    name : str
        Name in ``scoring=`` and on the command line.
    title : str
        Name in reports.
    task : {"classification", "regression"}
        Task whose predictions are scored.
    greater_is_better : bool
        Whether larger values are better.
    of : callable
        For classification a function of class codes, probabilities (n, n_classes) and sample weights; for regression of
        targets, predictions and sample weights.
    """

    name: str
    title: str
    task: str
    greater_is_better: bool
    of: Callable[[Any, Any, Any], float]

    def __reduce__(self) -> Any:
        return get_score, (self.name, self.task)

    @property
    def sign(self) -> int:
        """1 if larger values are better, else -1."""
        return 1 if self.greater_is_better else -1

    def __call__(self, y: Any, predicted: Any, sample_weight: Any = None) -> float:
        """Return the score; NaN if it is not defined, such as ROC AUC if only one class occurs."""
        return float(self.of(np.asarray(y), np.asarray(predicted, np.float64), sample_weight))


def get_score(scoring: str | None, task: str) -> Score:
    """Return a score by name, or the default of a task: accuracy or RMSE.

    Examples
    --------
    >>> get_score(None, "regression").title
    'RMSE'
    >>> get_score("roc_auc", "classification")([0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    1.0
    """
    offered = {score.name: score for score in SCORES if score.task == task}
    name = next(iter(offered)) if scoring is None else scoring
    if not isinstance(name, str) or name not in offered:
        raise ParameterError(f"scoring must be one of {', '.join(offered)} for {task}, not {scoring!r}")
    return offered[name]


def _by_class(metric: Callable[..., Any], **options: Any) -> Callable[[Any, Any, Any], float]:
    """Return the score of predicted classes."""
    return lambda y, table, weight: metric(y, table.argmax(axis=1), sample_weight=weight, **options)


def _mean_over_classes(metric: Callable[..., Any]) -> Callable[[Any, Any, Any], float]:
    """Return a ranking score: of the second of two classes, else the one-vs-rest mean over all classes."""

    def score(y: Int64, table: Float64, weight: Any) -> float:
        codes = [1] if table.shape[1] == 2 else range(table.shape[1])
        found = [
            metric(y == code, table[:, code], sample_weight=weight) for code in codes if 0 < (y == code).sum() < len(y)
        ]
        return float(np.mean(found)) if found else np.nan

    return score


def _log_loss(y: Int64, table: Float64, weight: Any) -> float:
    return float(metrics.log_loss(y, table, sample_weight=weight, labels=np.arange(table.shape[1])))


def _balanced_accuracy(y: Int64, table: Float64, weight: Any) -> float:
    options = {"labels": np.unique(y), "average": "macro", "sample_weight": weight, "zero_division": 0.0}
    return float(metrics.recall_score(y, table.argmax(axis=1), **options))


def _rmse(y: Float64, predicted: Float64, weight: Any) -> float:
    return float(np.sqrt(np.average(np.square(y - predicted), weights=weight)))


def _spearman(y: Float64, predicted: Float64, weight: Any) -> float:
    """Return the rank correlation, without weights; NaN if all values are equal."""
    return float(spearmanr(y, predicted).statistic) if np.ptp(y) > 0 and np.ptp(predicted) > 0 else np.nan


def _r2(y: Float64, predicted: Float64, weight: Any) -> float:
    return float(metrics.r2_score(y, predicted, sample_weight=weight)) if len(y) > 1 else np.nan


SCORES = (
    Score("accuracy", "accuracy", "classification", True, _by_class(metrics.accuracy_score)),
    Score("balanced_accuracy", "balanced accuracy", "classification", True, _balanced_accuracy),
    Score("roc_auc", "ROC AUC", "classification", True, _mean_over_classes(metrics.roc_auc_score)),
    Score(
        "average_precision",
        "average precision",
        "classification",
        True,
        _mean_over_classes(metrics.average_precision_score),
    ),
    Score("mcc", "MCC", "classification", True, _by_class(metrics.matthews_corrcoef)),
    Score("log_loss", "log loss", "classification", False, _log_loss),
    Score("rmse", "RMSE", "regression", False, _rmse),
    Score(
        "mae", "MAE", "regression", False, lambda y, p, weight: metrics.mean_absolute_error(y, p, sample_weight=weight)
    ),
    Score("r2", "R²", "regression", True, _r2),
    Score("spearman", "Spearman correlation", "regression", True, _spearman),
)


def rare_class_warning(codes: Int64, score: Score) -> str | None:
    """Return a warning if a class is so rare that accuracy is not informative, else None."""
    shares = np.bincount(codes) / max(len(codes), 1)
    rarest, largest = float(shares[shares > 0].min(initial=1.0)), float(shares.max(initial=0.0))
    if score.name != "accuracy" or rarest >= RARE * largest:
        return None
    return (
        f"the rarest class has {rarest:.1%} of the examples, so accuracy is not informative: always "
        f"predicting the majority class reaches {largest:.1%}; consider scoring='roc_auc' or 'average_precision'"
    )
