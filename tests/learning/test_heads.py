"""Heads on blocks of kernels and on features: what they choose, predict and explain."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from relaxwl._execution import Deadline
from relaxwl.learning import heads
from relaxwl.learning.heads import Options

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(60, 3))
CODES = (POINTS[:, 0] > 0).astype(np.int64) + (POINTS[:, 0] > 1)
SIGNAL, NOISE = POINTS[:, :1] @ POINTS[:, :1].T, RNG.normal(size=(60, 5)) @ RNG.normal(size=(5, 60))
BLOCKS = {"signal": SIGNAL, "noise": NOISE @ NOISE.T / 60}
OWN = {name: matrix.diagonal() for name, matrix in BLOCKS.items()}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_find_the_block_that_tells(n_classes):
    codes = np.minimum(CODES, n_classes - 1)
    head = heads.ProcessClassifier().fit(BLOCKS, codes)
    cross = {name: matrix[:, head.rows] for name, matrix in BLOCKS.items()}
    decisions = head.decisions(cross, OWN)
    probabilities = head.probabilities(decisions)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert decisions.shape == probabilities.shape == head.values(cross, OWN).shape == (60, n_classes)
    assert np.mean(probabilities.argmax(axis=1) == codes) > 0.85
    assert head.weights["signal"] > head.weights.get("noise", 0)
    assert 0.5 < head.score <= 1
    again = heads.ProcessClassifier.from_state(**head.to_state())
    np.testing.assert_array_equal(again.probabilities(again.decisions(cross, OWN)), probabilities)


@pytest.mark.parametrize("n_factored", [20, None])
def test_a_process_has_a_given_share_of_noise(n_factored):
    codes = np.minimum(CODES, 1)
    head = heads.ProcessClassifier(Options(n_factored=n_factored, noise_share=0.5)).fit(BLOCKS, codes)
    process = head.process
    covariances = [weight * matrix for weight, matrix in zip(process.weights_, BLOCKS.values(), strict=True)]
    shares = np.array([matrix.diagonal().mean() for matrix in covariances])
    np.testing.assert_allclose(shares / process.noise_, 0.5, rtol=0.3)  # scaled on the sample
    targets, covariance = np.where(codes, 1.0, -1.0), sum(covariances)
    ridge = np.linalg.inv(covariance + process.noise_ * np.eye(60))
    np.testing.assert_allclose(process.dual_[:, 0], ridge @ (targets - process.mean_), atol=1e-2)
    assert np.mean(head.probabilities(head.decisions(BLOCKS, OWN)).argmax(axis=1) == codes) > 0.85


def test_a_process_forgets_blocks_without_weight():
    y = POINTS[:, 0] + 0.01 * RNG.normal(size=60)
    head = heads.ProcessRegressor().fit(BLOCKS, y)
    assert head.blocks == ["signal"]
    assert head.weights["noise"] == 0
    found = head.predict({"signal": SIGNAL}, {"signal": OWN["signal"]})
    np.testing.assert_allclose(found.mean, y, atol=0.1)
    np.testing.assert_array_equal(head.values({"signal": SIGNAL}, {"signal": OWN["signal"]})[:, 0], found.mean)
    assert "signal: 100%" in head.tried[0].detail


def test_copies_are_one_observation_with_their_mean_and_less_noise():
    y = POINTS[:, 0] + 0.3 * RNG.normal(size=60)
    copied = np.concatenate([np.arange(60), [3, 3, 8]])
    thirds = np.where(np.isin(copied, [3]), 1 / 3, np.where(copied == 8, 1 / 2, 1.0))
    blocks = {name: matrix[np.ix_(copied, copied)] for name, matrix in BLOCKS.items()}
    once, again = heads.ProcessRegressor().fit(BLOCKS, y), heads.ProcessRegressor().fit(blocks, y[copied], thirds)
    np.testing.assert_array_equal(again.rows, once.rows)
    found, expected = again.predict(BLOCKS, OWN), once.predict(BLOCKS, OWN)
    np.testing.assert_allclose(found.mean, expected.mean)
    np.testing.assert_allclose(found.variance, expected.variance)
    # Without weights a copy is a second measurement: the variance falls a little there, and not to nothing elsewhere.
    twice = heads.ProcessRegressor().fit(blocks, y[copied])
    assert twice.process.ratios_[[3, 8, 9]].tolist() == [1 / 3, 1 / 2, 1]
    assert twice.process.noise_ > 0.3 * once.process.noise_
    assert len(twice.calibration.scores) == 63


def test_rows_of_one_group_are_left_out_together():
    groups = np.arange(60) // 2
    head = heads.ProcessRegressor(Options(groups=groups)).fit(BLOCKS, POINTS[:, 0])
    folds = {fold: set(groups[np.flatnonzero(head.calibration.folds == fold)]) for fold in range(5)}
    assert head.calibration.folds.shape == (60,)
    assert heads._joined(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 3])).tolist() == [0, 0, 0, 1]
    assert folds


@pytest.mark.parametrize("n_classes", [2, 3])
def test_where_kernels_tell_nothing_classes_have_the_probabilities_of_their_shares(n_classes):
    codes = np.arange(60) % n_classes
    codes[:10] = 0
    head = heads.ProcessClassifier().fit({"noise": np.eye(60)}, codes)
    found = head.probabilities(head.decisions({"noise": np.zeros((2, 60))}, {"noise": np.ones(2)}))
    np.testing.assert_allclose(found, np.tile(np.bincount(codes) / 60, (2, 1)), atol=1e-3)


def test_rare_classes_gain_by_weights():
    rng = np.random.default_rng(1)
    codes = (rng.random(400) < 0.1).astype(np.int64)
    points = codes[:, None] + rng.normal(size=(400, 2))
    blocks, own = {"signal": points @ points.T}, {"signal": (points**2).sum(axis=1)}
    weights = np.where(codes, 5.0, 5 / 9)

    def recalled(head):
        return head.probabilities(head.decisions(blocks, own)).argmax(axis=1)[codes == 1].mean()

    plain, weighted = heads.ProcessClassifier().fit(blocks, codes), heads.ProcessClassifier()
    assert recalled(weighted.fit(blocks, codes, weights / weights.mean())) > recalled(plain) + 0.3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_classifiers_are_sums(n_classes):
    codes, features = np.minimum(CODES, n_classes - 1), csr_array(POINTS)
    head = heads.LinearClassifier().fit(features, codes)
    values = head.values(features)
    np.testing.assert_allclose(values[:, -1], POINTS @ head.directions[-1] + head.intercepts[-1])
    assert np.mean(head.decisions(features).argmax(axis=1) == codes) > 0.8
    np.testing.assert_array_equal(head.probabilities(head.decisions(features)).argmax(axis=1), values.argmax(axis=1))


def test_linear_regression_says_how_far_off_it_is():
    y = POINTS @ [1.0, 2.0, 0.0] + 0.1 * RNG.normal(size=60)
    head = heads.LinearRegressor().fit(csr_array(POINTS), y)
    found = head.predict(csr_array(POINTS))
    assert np.sqrt(np.mean((found.mean - y) ** 2)) < 2 * head.deviation < 0.4
    assert (found.variance == head.deviation**2).all()
    assert head.chosen in [one.name for one in head.tried]


@pytest.mark.parametrize("kind", ["LinearClassifier", "LinearRegressor"])
def test_of_many_examples_a_part_chooses_the_penalty(kind, monkeypatch):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(600, 8))
    numbers = features @ rng.normal(size=8) + rng.normal(size=600)
    y = (numbers > 0).astype(int) if kind == "LinearClassifier" else numbers
    whole = getattr(heads, kind)().fit(csr_array(features), y)
    monkeypatch.setattr(heads, "CHOICE_ROWS", 200)
    monkeypatch.setattr(heads, "LEAST_RARE", 10)
    part = getattr(heads, kind)().fit(csr_array(features), y)
    details = {one.name: one.detail for one in part.tried}
    assert details.pop(part.chosen) == ""
    assert set(details.values()) == {"on 200 of 600 examples"}
    assert part.score == pytest.approx(whole.score, rel=0.05)
    assert np.corrcoef(part.coefficients, whole.coefficients)[0, 1] > 0.99  # the penalty may be another
    assert len(part.calibration.scores) == 600
    monkeypatch.setattr(heads, "LEAST_RARE", 600)  # classes that are rare need all examples
    if kind == "LinearClassifier":
        assert {one.detail for one in getattr(heads, kind)().fit(csr_array(features), y).tried} == {""}


def test_out_of_time_a_linear_model_is_the_mean_of_the_folds():
    head = heads.LinearClassifier(Options(deadline=Deadline(1e-6))).fit(csr_array(POINTS), np.minimum(CODES, 1))
    assert len(head.tried) == 1
    np.testing.assert_allclose(head.coefficients, head.fold_coefficients.mean(axis=0))
    assert ["time limit" in one for one in head.left_out] == [True, True]
