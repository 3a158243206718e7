"""Numbers are explained as numbers, not as a class for each of them."""

import numpy as np
import pytest

from explanation.test_explain import planted
from relaxwl import RelaxedWeisfeilerLehman
from relaxwl.explanation import explain
from relaxwl.explanation.weights import read_target
from relaxwl.reports import render_explorer


@pytest.fixture(scope="module")
def explanation():
    graphs, y = planted()
    noise = np.random.default_rng(0).normal(scale=0.3, size=len(y))
    kernel = RelaxedWeisfeilerLehman(max_depth=2, n_partitions=1, n_clusters=2.0, random_state=0)
    return explain(kernel, graphs, 10 + 4 * y + noise, n_permutations=99)


def test_numbers_are_recognized_and_told(explanation):
    assert "40 graphs with numbers from" in repr(explanation)
    assert len(explanation.classes) == 2
    assert explanation.model.accuracy is None
    assert explanation.model.r2 > 0.5
    assert "go with the numbers better than chance" in explanation.summary()
    assert "(the mean of all explains 0 %)" in explanation.summary()
    page = render_explorer(explanation)
    assert "stand for two classes here" in page
    assert "the mean of all explains 0 %" in page


def test_what_was_planted_goes_with_large_numbers(explanation):
    top = explanation.clusters[0]
    assert top.better_than_chance
    assert explanation.classes[top.typical_class].endswith("and above") == (top.weights[1] > 0)
    assert sum(cluster.share for cluster in explanation.clusters) == pytest.approx(1)


def test_scores_are_predictions_less_the_middle_and_add_up(explanation):
    middle = explanation.target.middle
    predicted = explanation.model.scores(explanation.features)[:, 1] + middle
    assert np.corrcoef(predicted, explanation.target.values)[0, 1] > 0.9
    found = explanation.explain_graph(3)
    assert found.evidence[:, 1].sum() + explanation.model.intercept[1] == pytest.approx(found.scores[1])


def test_what_is_taken_for_numbers():
    assert read_target(np.arange(20) % 3, 20).values is None
    assert read_target(np.arange(20) % 3, 20, "regression").values is not None
    assert read_target(np.linspace(0, 1, 20), 20).values is not None
    assert read_target(np.linspace(0, 1, 20), 20, "classification").values is None
    assert read_target([1.0, 1.0, 1.0, 2.0, 3.0], 5, "regression").codes.tolist() == [0, 0, 0, 1, 1]
    with pytest.raises(ValueError, match="finite numbers for regression"):
        read_target(["a", "b"], 2, "regression")
    with pytest.raises(ValueError, match="at least two classes"):
        read_target([1.0, 1.0], 2)
