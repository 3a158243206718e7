"""How well single features separate the classes (or follow numbers), and how well they would by chance."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from relaxwl.explanation.targets import Target
from relaxwl.graphs.arrays import Float64

# Permuted class sums held at the same time, as a number of matrix entries.
BATCH_ENTRIES = 1 << 23


@dataclass(frozen=True, eq=False)
class ChanceCheck:
    """Effects of the features and how often chance makes a larger one.

    Attributes
    ----------
    effect : float64 array (n_features,)
        Share of a feature's variance that the classes explain (η²), from 0 to 1; of numbers: its squared correlation
        with them.
    p_value : float64 array (n_features,)
        Share of the permutations of the classes, the given one included, in which *any* feature had at least this
        effect: corrected for looking at many features (Westfall and Young, 1993, single step).
    """

    effect: Float64
    p_value: Float64


def check_chance(features: csr_array, target: Target, n_permutations: int, seed: int) -> ChanceCheck:
    """Compare the effect of each feature with the largest effect under permuted classes or numbers."""
    n_graphs, n_features = features.shape
    mean = np.asarray(features.sum(axis=0)) / n_graphs
    squares = np.asarray(features.power(2).sum(axis=0))
    total = squares - n_graphs * mean**2
    # What is left of a constant feature is rounding.
    varies = total > 1e-9 * np.maximum(squares, 1e-300)
    columns = csr_array(features[:, np.flatnonzero(varies)])
    contrasts = _contrasts(target)
    effect = np.zeros(n_features)
    effect[varies] = _effects(columns, contrasts[None], total[varies])[0]
    largest = _largest_by_chance(columns, contrasts, total[varies], n_permutations, seed)
    # An equal effect counts as reached, whatever rounding did to it.
    reached = len(largest) - np.searchsorted(np.sort(largest), effect - 1e-12)
    return ChanceCheck(effect, (1 + reached) / (1 + len(largest)))


def _contrasts(target: Target) -> Float64:
    """Return vectors (n_vectors, n_graphs) whose squared products with a feature add up to what they explain of it.

    For classes: the indicator of each class, less its mean, over the root of its size; the products are the distances
    of class means from the mean of all. For numbers: the numbers less their mean, of length 1.
    """
    if target.values is not None:
        centered = target.values - target.values.mean()
        return np.asarray(centered / np.linalg.norm(centered))[None]
    sizes = np.bincount(target.codes, minlength=len(target.classes)).astype(np.float64)
    members = np.eye(len(sizes))[target.codes].T
    return (members - (sizes / len(target.codes))[:, None]) / np.sqrt(np.maximum(sizes, 1))[:, None]


def _largest_by_chance(
    columns: csr_array, contrasts: Float64, total: Float64, n_permutations: int, seed: int
) -> Float64:
    """Return the largest effect of any feature in each of the permutations."""
    if not columns.shape[1]:
        return np.zeros(n_permutations)
    rng = np.random.default_rng(seed)
    batch = max(1, BATCH_ENTRIES // (len(contrasts) * max(columns.shape)))
    largest = []
    for start in range(0, n_permutations, batch):
        number = min(batch, n_permutations - start)
        shuffled = np.stack([contrasts[:, rng.permutation(contrasts.shape[1])] for _ in range(number)])
        largest.append(_effects(columns, shuffled, total).max(axis=1))
    return np.concatenate([np.empty(0), *largest])


def _effects(columns: csr_array, contrasts: Float64, total: Float64) -> Float64:
    """Return the explained share (n_divisions, n_features), given vectors (n_divisions, n_vectors, n_graphs)."""
    n_divisions, n_vectors, n_graphs = contrasts.shape
    products = np.asarray(contrasts.reshape(-1, n_graphs) @ columns).reshape(n_divisions, n_vectors, -1)
    return np.asarray(np.clip((products**2).sum(axis=1) / total, 0.0, 1.0))
