import numpy as np
import pytest

from relaxwl.learning import _compiled
from relaxwl.learning.choosing import (
    FAVORITE,
    FEW_EXAMPLES,
    PENALTIES,
    Scores,
    chosen,
    clearly_best,
    decision_table,
    fit_slope,
    inner_folds,
    plain_folds,
    score_kernel,
)
from relaxwl.learning.scoring import get_score

ACCURACY = get_score(None, "classification")


def scores(name, best, n_examples):
    return Scores(name, best, FAVORITE, np.sqrt(best * (1 - best) / n_examples))


def test_folds_hold_out_each_example_of_common_classes_equally_often():
    y = np.array([0] * 10 + [1] * 8 + [2])
    folds = inner_folds(y, 0)
    held_out = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(y))
    assert held_out.tolist() == [5] * 18 + [0]
    assert all(18 in train and not set(train) & set(test) for train, test in folds)
    assert inner_folds(np.array([0, 1]), 0) == []
    assert len(inner_folds(np.arange(5000) % 2, 0)) == 3


def test_folds_keep_groups_together():
    rng = np.random.default_rng(0)
    groups, y = rng.integers(30, size=60), rng.integers(3, size=60)
    for folds in (inner_folds(y, 0, groups=groups), plain_folds(60, 0, 5, groups)):
        assert folds
        for train, test in folds:
            assert not set(groups[train]) & set(groups[test])
            assert sorted([*train, *test]) == list(range(60))
    alone = np.arange(60)
    for own, plain in (
        (inner_folds(y, 0, groups=alone), inner_folds(y, 0)),
        (plain_folds(60, 0, 5, alone), plain_folds(60, 0, 5)),
    ):
        assert [test.tolist() for _, test in own] == [test.tolist() for _, test in plain]


def test_the_first_keeps_its_place_unless_another_is_clearly_better():
    assert chosen([scores("all", 0.80, 100), scores("other", 0.83, 100)]).name == "all"
    assert chosen([scores("all", 0.80, 100), scores("other", 0.85, 100)]).name == "other"
    assert chosen([scores("all", 0.80, 10_000), scores("other", 0.83, 10_000)]).name == "other"


def test_a_favored_one_needs_half_a_standard_error_of_the_paired_difference():
    first = np.repeat([1.0, 0.0], [60, 40])

    def scored(name, n_gained, n_lost):
        samples = first.copy()
        samples[60 : 60 + n_gained], samples[:n_lost] = 1.0, 0.0
        return Scores(name, samples.mean(), FAVORITE, 0.05, samples)

    everything = Scores("all", 0.6, FAVORITE, 0.05, first)
    # The error of a difference of 1 in 100 is 1 % where one example differs, and 4.6 % where 21 do.
    for candidate, taken in ((scored("joined", 1, 0), True), (scored("joined", 11, 10), False)):
        assert candidate.best == pytest.approx(0.61)
        assert (chosen([everything, candidate], ["joined"]) is candidate) == taken
        assert chosen([everything, candidate]) is everything
    # Others have to be better than what took the first place.
    other = Scores("other", 0.66, FAVORITE, 0.05, first)
    assert chosen([everything, other], ["joined"]) is other
    assert chosen([everything, scored("joined", 4, 0), other], ["joined"]).name == "joined"


@pytest.mark.parametrize("score", ["accuracy", "log_loss"])
def test_scores_are_means_of_their_samples(score):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    points = y[:, None] + rng.normal(size=(40, 2))
    found = score_kernel("one", points @ points.T, y, inner_folds(y, 0), get_score(score, "classification"))
    assert found.samples.mean() == pytest.approx(found.best)
    assert len(found.samples) == (40 if score == "accuracy" else 15)


def test_the_favorite_penalty_keeps_its_place_unless_another_is_clearly_better():
    assert clearly_best(np.array([0.80, 0.83, 0.84]), np.full(3, 0.04), 1) == 1
    assert clearly_best(np.array([0.80, 0.83, 0.84]), np.full(3, 0.004), 1) == 2
    assert clearly_best(np.array([1.0, 1.0]), np.zeros(2), 1) == 1
    rng = np.random.default_rng(0)
    y = (np.arange(60) % 3 == 0).astype(np.int64)
    points = y + rng.normal(scale=0.1, size=60)
    easy = score_kernel("easy", np.outer(points, points), y, inner_folds(y, 0), ACCURACY)
    assert (easy.best, easy.penalty) == (1.0, FAVORITE)
    small = score_kernel("small", 1e-3 * np.outer(points, points), y, inner_folds(y, 0), ACCURACY)
    assert small.penalty > FAVORITE
    assert small.penalty in PENALTIES


def test_slopes_make_probabilities_of_decisions():
    rng = np.random.default_rng(0)
    decisions = rng.normal(size=4000)
    y = (rng.random(4000) < 1 / (1 + np.exp(-3 * decisions))).astype(np.int64)
    assert fit_slope(decision_table(decisions), y) == pytest.approx(3, rel=0.1)
    assert fit_slope(np.zeros((0, 2)), np.zeros(0, np.int64)) == 1


@pytest.mark.parametrize(("n_examples", "compiled"), [(FEW_EXAMPLES, False), (FEW_EXAMPLES + 1, True)])
def test_few_examples_are_scored_without_compiling_a_path(monkeypatch, n_examples, compiled):
    rng = np.random.default_rng(0)
    y = np.arange(n_examples) % 2
    points = rng.normal(size=(n_examples, 3)) + y[:, None]
    gram, folds = points @ points.T, inner_folds(y, 0)
    expected = score_kernel("either", gram, y, folds, ACCURACY)
    called = []
    path = _compiled.solution_path
    monkeypatch.setattr(_compiled, "solution_path", lambda *args: called.append(1) or path(*args))
    assert score_kernel("either", gram, y, folds, ACCURACY) == expected
    assert bool(called) == compiled
    monkeypatch.setattr("relaxwl.learning.choosing.FEW_EXAMPLES", 0 if not compiled else 10**6)
    other = score_kernel("either", gram, y, folds, ACCURACY)
    assert other.penalty == expected.penalty
    assert other.best == pytest.approx(expected.best, abs=2 / n_examples)
