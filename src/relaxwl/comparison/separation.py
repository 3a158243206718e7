"""Separation of two sides: a Gaussian process predicts the side of graphs that it did not see."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from relaxwl.comparison.design import Design
from relaxwl.graphs.arrays import Float64
from relaxwl.learning.heads import PRIOR_SIZE, Options, fitted_process

# Noise of processes of a single view, whose weights are not learned, as a share of the variance.
NOISE = 0.5
# Folds in which scores are converted to probabilities.
N_FOLDS = 5
# Probabilities are kept from 0 and 1 by this share of one graph.
LEAST_SHARE = 0.5
N_RESAMPLED = 1000


@dataclass(frozen=True, eq=False)
class Separation:
    """Probabilities of side Y, each of a graph that was not used to find it, and what they say about the sides.

    Attributes
    ----------
    probabilities : float64 array (n,)
        Probability of side Y if both sides are equally frequent.
    distance : float
        Lower bound of the Jensen-Shannon distance of the two distributions (base 2), from 0 to 1.
    interval : tuple of float
        Bootstrap interval of the bound (95 %): the graphs are drawn again, and their predictions kept.
    auroc : float
        Area under the receiver operating characteristic of the predictions.
    """

    probabilities: Float64
    distance: float
    interval: tuple[float, float]
    auroc: float


def separate(blocks: Mapping[str, Float64], design: Design, seed: int, *, learned: bool = True) -> Separation:
    """Predict the side of each graph by a process on some blocks, from all graphs but those of its part.

    Each part has graphs of both sides, in the ratio of all: without a single graph, the mean of the others is lower for
    its own side, which a prediction would be misled by. Weights of the blocks are learned, or equal with a given noise.
    Probabilities follow from scores by logistic regressions on the graphs of other folds.
    """
    is_y, weights = design.is_y, design.weights
    rng = np.random.default_rng(seed)
    # As many parts as graphs of the smaller side, each with one of these and a share of the others.
    groups, n_groups = np.empty(len(is_y), np.int64), int(min(is_y.sum(), (~is_y).sum()))
    for side in (is_y, ~is_y):
        groups[side] = rng.permutation(int(side.sum())) % n_groups
    options = Options(prior_size=PRIOR_SIZE, noise_share=None if learned else NOISE)
    targets = np.where(is_y, 1.0, -1.0)[:, None]
    process = fitted_process(list(blocks.values()), targets, options, weights, (), [])
    means, variances = process.leave_one_out(groups)
    # In units of the deviations, as in a probit model, so that uncertain predictions have small scores.
    scores = means[:, 0] / np.sqrt(1 + variances)

    # A calibration that knew the graph would find a distance between equal sets, which the root enlarges.
    chances = np.full(len(is_y), 0.5)
    for fold in range(min(N_FOLDS, n_groups)):
        held_out = groups % N_FOLDS == fold
        known = ~held_out
        model = LogisticRegression(C=10.0, max_iter=1000).fit(scores[known, None], is_y[known], weights[known])
        if model.coef_[0, 0] > 0:  # else the kernels tell nothing
            chances[held_out] = model.predict_proba(scores[held_out, None])[:, 1]
    least = LEAST_SHARE / len(is_y)
    chances = np.clip(chances, least, 1 - least)
    distance, interval = _bound(np.log2(np.where(is_y, chances, 1 - chances)), is_y, weights, rng)
    return Separation(chances, distance, interval, float(roc_auc_score(is_y, scores, sample_weight=weights)))


def _bound(
    logs: Float64, is_y: NDArray[np.bool_], weights: Float64, rng: np.random.Generator
) -> tuple[float, tuple[float, float]]:
    """Return √(1 + mean of log2 of the probabilities of the own side), each side weighing half, and its interval.

    The Jensen-Shannon divergence is the largest value of this mean over all functions that give probabilities.
    """
    once, again = 1.0, np.ones(N_RESAMPLED)
    for side in (is_y, ~is_y):
        n = int(side.sum())
        # How often each graph of a side is drawn; both the sum of logarithms and that of weights follow.
        counts = rng.multinomial(n, np.full(n, 1 / n), N_RESAMPLED) @ np.column_stack([weights * logs, weights])[side]
        once += float(np.average(logs[side], weights=weights[side])) / 2
        again += counts[:, 0] / counts[:, 1] / 2
    low, high = np.quantile(np.sqrt(np.maximum(again, 0.0)), (0.025, 0.975))
    return float(np.sqrt(max(once, 0.0))), (float(low), float(high))
