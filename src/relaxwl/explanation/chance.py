"""How well single features separate the classes, and how well they would by chance."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from relaxwl.graphs.arrays import Float64, Int64

# Permuted class sums held at the same time, as a number of matrix entries.
BATCH_ENTRIES = 1 << 23


@dataclass(frozen=True, eq=False)
class ChanceCheck:
    """Effects of the features and how often chance makes a larger one.

    Attributes
    ----------
    effect : float64 array (n_features,)
        Share of a feature's variance that the classes explain (η²), from 0 to 1.
    p_value : float64 array (n_features,)
        Share of the permutations of the classes, the given one included, in which *any* feature had at least this
        effect: corrected for looking at many features (Westfall and Young, 1993, single step).
    """

    effect: Float64
    p_value: Float64


def check_chance(features: csr_array, y: Int64, n_classes: int, n_permutations: int, seed: int) -> ChanceCheck:
    """Compare the effect of each feature with the largest effect under permuted classes."""
    sizes = np.bincount(y, minlength=n_classes).astype(np.float64)
    n_graphs, n_features = features.shape
    mean = np.asarray(features.sum(axis=0)) / n_graphs
    total = np.asarray(features.power(2).sum(axis=0)) - n_graphs * mean**2
    # What is left of a constant feature is rounding.
    varies = total > 1e-9 * np.maximum(np.asarray(features.power(2).sum(axis=0)), 1e-300)
    columns = csr_array(features[:, np.flatnonzero(varies)])
    effect = np.zeros(n_features)
    effect[varies] = _effects(columns, np.eye(n_classes)[y].T[None], sizes, mean[varies], total[varies])[0]
    largest = _largest_by_chance(columns, y, sizes, mean[varies], total[varies], n_permutations, seed)
    # An equal effect counts as reached, whatever rounding did to it.
    reached = len(largest) - np.searchsorted(np.sort(largest), effect - 1e-12)
    return ChanceCheck(effect, (1 + reached) / (1 + len(largest)))


def _largest_by_chance(
    columns: csr_array, y: Int64, sizes: Float64, mean: Float64, total: Float64, n_permutations: int, seed: int
) -> Float64:
    """Return the largest effect of any feature in each of the permutations."""
    if not columns.shape[1]:
        return np.zeros(n_permutations)
    rng = np.random.default_rng(seed)
    one_hot = np.eye(len(sizes))
    batch = max(1, BATCH_ENTRIES // (len(sizes) * max(columns.shape)))
    largest = []
    for start in range(0, n_permutations, batch):
        number = min(batch, n_permutations - start)
        shuffled = np.stack([one_hot[rng.permutation(y)].T for _ in range(number)])
        largest.append(_effects(columns, shuffled, sizes, mean, total).max(axis=1))
    return np.concatenate([np.empty(0), *largest])


def _effects(columns: csr_array, members: Float64, sizes: Float64, mean: Float64, total: Float64) -> Float64:
    """Return η² (n_divisions, n_features); ``members`` (n_divisions, n_classes, n_graphs) has a 1 for a member."""
    n_divisions, n_classes, n_graphs = members.shape
    sums = np.asarray(members.reshape(-1, n_graphs) @ columns).reshape(n_divisions, n_classes, -1)
    between = (sums**2 / sizes[:, None]).sum(axis=1) - n_graphs * mean**2
    return np.asarray(np.clip(between / total, 0.0, 1.0))
