"""Folds of the examples that a head learns from; copies of an example stay together."""

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

Int64 = NDArray[np.int64]
Folds = list[tuple[Int64, Int64]]


def stratified_folds(y: Int64, seed: int, n_folds: int, groups: Int64 | None = None) -> Folds:
    """Return stratified folds, as pairs of training and held-out examples; groups are not split.

    A class with fewer examples than folds is not held out: its examples are in every training part.
    """
    if groups is not None:
        firsts = np.unique(groups, return_index=True)[1]
        return _with_copies(stratified_folds(y[firsts], seed, n_folds), firsts, groups)
    sizes = np.bincount(y)
    lonely, common = np.flatnonzero(sizes[y] < n_folds), np.flatnonzero(sizes[y] >= n_folds)
    if len(common) < n_folds:
        return []
    drawn = StratifiedKFold(n_folds, shuffle=True, random_state=seed % 2**32).split(common, y[common])
    return [(np.sort(np.concatenate([common[train], lonely])), common[test]) for train, test in drawn]


def plain_folds(n: int, seed: int, n_folds: int, groups: Int64 | None = None) -> Folds:
    """Return folds for numeric targets; groups are not split."""
    if groups is not None:
        firsts = np.unique(groups, return_index=True)[1]
        return _with_copies(plain_folds(len(firsts), seed, n_folds), firsts, groups) if len(firsts) > 1 else []
    drawn = KFold(min(n_folds, n), shuffle=True, random_state=seed % 2**32)
    return [(train, test) for train, test in drawn.split(np.arange(n))]


def _with_copies(folds: Folds, firsts: Int64, groups: Int64) -> Folds:
    """Return folds of the first example of each group with all examples of the group."""
    held_out = [np.isin(groups, groups[firsts[test]]) for _, test in folds]
    return [(np.flatnonzero(~inside), np.flatnonzero(inside)) for inside in held_out]
