"""Scores by name equal their definitions."""

import numpy as np
import pytest
from sklearn import metrics

from relaxwl.learning.scoring import SCORES, get_score, rare_class_warning

RNG = np.random.default_rng(0)
CODES = RNG.integers(2, size=60)
TABLE = RNG.dirichlet([1, 1], size=60)
Y = RNG.normal(size=50)
PREDICTED = Y + RNG.normal(size=50)

EXPECTED = {
    "accuracy": (TABLE.argmax(axis=1) == CODES).mean(),
    "balanced_accuracy": metrics.balanced_accuracy_score(CODES, TABLE.argmax(axis=1)),
    "roc_auc": np.mean([(a > b) for a in TABLE[CODES == 1, 1] for b in TABLE[CODES == 0, 1]]),
    "average_precision": metrics.average_precision_score(CODES, TABLE[:, 1]),
    "mcc": np.corrcoef(CODES, TABLE.argmax(axis=1))[0, 1],
    "log_loss": -np.log(TABLE[np.arange(60), CODES]).mean(),
    "rmse": np.sqrt(np.mean((Y - PREDICTED) ** 2)),
    "mae": np.abs(Y - PREDICTED).mean(),
    "r2": 1 - np.sum((Y - PREDICTED) ** 2) / np.sum((Y - Y.mean()) ** 2),
    "spearman": np.corrcoef(Y.argsort().argsort(), PREDICTED.argsort().argsort())[0, 1],
}


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_score_equals_its_definition(score):
    y, predicted = (CODES, TABLE) if score.task == "classification" else (Y, PREDICTED)
    assert get_score(score.name, score.task)(y, predicted) == pytest.approx(EXPECTED[score.name], abs=1e-12)


def test_several_classes_average_each_against_the_others():
    codes = np.arange(30) % 3
    table = RNG.dirichlet([1, 1, 1], size=30)
    expected = metrics.roc_auc_score(codes, table, multi_class="ovr")
    assert get_score("roc_auc", "classification")(codes, table) == pytest.approx(expected)


def test_undefined_scores_are_nan():
    assert np.isnan(get_score("roc_auc", "classification")([1, 1], [[0.5, 0.5], [0.1, 0.9]]))
    assert np.isnan(get_score("spearman", "regression")([1.0, 1.0], [0.1, 0.2]))


def test_sample_weights_count():
    assert get_score(None, "classification")([0, 1], [[0.9, 0.1], [0.9, 0.1]], [3, 1]) == 0.75


def test_unknown_names_are_refused_with_those_of_the_task():
    with pytest.raises(ValueError, match="one of rmse, mae, r2, spearman for regression, not 'roc_auc'"):
        get_score("roc_auc", "regression")


def test_rare_classes_are_warned_of_where_accuracy_is_the_score():
    codes = np.array([0] * 97 + [1] * 3)
    assert "reaches 97.0%" in rare_class_warning(codes, get_score(None, "classification"))
    assert rare_class_warning(codes, get_score("roc_auc", "classification")) is None
    for n_classes in (2, 15):  # of many classes each is small, and none is rare
        assert rare_class_warning(np.arange(60) % n_classes, get_score(None, "classification")) is None
