"""Rank the clusters of a kernel by how they separate classes."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from relaxwl.explanation.chance import ChanceCheck, check_chance
from relaxwl.explanation.explanation import ClusterEvidence, Explanation
from relaxwl.explanation.levels import ClusterLevel, count_clusters, levels
from relaxwl.explanation.targets import Target, read_target
from relaxwl.explanation.weights import LinearWeights, fit_regression, fit_weights, given_regression, given_weights
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.inputs import as_collection
from relaxwl.kernels.continuous import ContinuousWeisfeilerLehman
from relaxwl.kernels.relaxed import RelaxedWeisfeilerLehman
from relaxwl.kernels.wl import WeisfeilerLehman


def explain(
    kernel: Any,
    graphs: Any,
    y: ArrayLike,
    model: Any = None,
    *,
    task: str | None = None,
    n_permutations: int = 999,
    significance: float = 0.05,
    random_state: int = 0,
) -> Explanation:
    """Say which clusters of neighborhoods separate the classes (or go with a number), and how they look.

    Every feature of the kernel counts the nodes of one cluster, and a linear model gives it a weight for each class.
    Clusters are ranked by what they add to the distance between the mean scores of the classes, times the share of
    their variance that the classes explain: a cluster that is clearly of one class comes before a merely frequent one.
    Whether a cluster separates the classes better than chance is checked on its counts alone, by permuting the classes,
    and corrected for the number of clusters; clusters that fail come last.

    Where ``y`` holds numbers, weights are those of a ridge regression, a cluster's share is what it adds to the
    covariance of prediction and number, and the check against chance is on correlations; the graphs below and above
    the median stand for two classes in all that is told and drawn.

    Parameters
    ----------
    kernel : RelaxedWeisfeilerLehman, WeisfeilerLehman or ContinuousWeisfeilerLehman
        The kernel, with ``base="subtree"``. Centers of the last are single nodes with a description in the units of the
        data: "degree 12, 30 triangles, core 5". One that is not fitted is cloned and fitted on the graphs.
    graphs : GraphCollection or anything that ``relaxwl.as_collection`` accepts
        The graphs.
    y : array-like (n_graphs,)
        Their classes, at least two; or numbers.
    model : fitted linear model, optional
        Its ``coef_`` must belong to ``kernel.transform(graphs)``. A search (``GridSearchCV``), a
        ``OneVsRestClassifier`` of linear models and a pipeline that passes on these features as they are will do too.
        By default a support vector machine, one class against the rest, is fitted on these features, its C chosen by
        5-fold cross-validation; its accuracy is that of nested cross-validation. For numbers: a linear regression.
    task : {"classification", "regression"}, optional
        What ``y`` is; by default numbers if most of them occur once, or if they are many and have fractions.
    n_permutations : int
        Permutations in the check against chance; p-values cannot be smaller than 1 / (this + 1).
    significance : float
        Clusters with at most this p-value count as better than chance.
    random_state : int
        Seeds permutations and folds.

    Examples
    --------
    Of paths and stars of seven nodes only paths have nodes with two neighbors.

    >>> from relaxwl import GraphCollection, RelaxedWeisfeilerLehman
    >>> path, star = [(i, i + 1) for i in range(6)], [(0, i) for i in range(1, 7)]
    >>> graphs = GraphCollection.from_edges([(7, path), (7, star)] * 10)
    >>> kernel = RelaxedWeisfeilerLehman(max_depth=1, n_partitions=1, n_clusters=3, random_state=0)
    >>> explanation = explain(kernel, graphs, ["path", "star"] * 10)
    >>> explanation
    <Explanation of 20 graphs in 2 classes: 4 clusters, 3 better than chance>
    >>> top = explanation.clusters[0]
    >>> print(top.center, explanation.classes[top.typical_class], top.p_value)
    0(0,0) path 0.001
    """
    collection = as_collection(graphs)
    target = read_target(y, len(collection), task)
    _check_settings(n_permutations, significance)
    kernel = _fitted(kernel, collection)
    features = kernel.weighted_counts(collection)
    found = levels(kernel, collection)
    counts = count_clusters(found, features.shape[1])
    weights = _weights(model, kernel, features, target, random_state)
    chance = check_chance(features, target, n_permutations, random_state)
    clusters = _rank(_Table(collection, target, features, counts, weights, chance), found, significance)
    return Explanation(
        kernel, collection, target.classes, target.codes, weights, clusters, tuple(found), features, counts,
        significance, n_permutations, target,
    )  # fmt: skip


def _weights(model: Any, kernel: Any, features: csr_array, target: Target, random_state: int) -> LinearWeights:
    """Return the weights of the given model, or of one that suits the target."""
    if target.values is not None:
        if model is None:
            return fit_regression(features, target.values, target.middle, random_state)
        return given_regression(model, kernel, features.shape[1], target.middle)
    if model is None:
        return fit_weights(features, target.codes, len(target.classes), random_state)
    return given_weights(model, kernel, features.shape[1], target.classes)


class _Table:
    """The numbers of all clusters, one column a cluster."""

    def __init__(
        self,
        graphs: GraphCollection,
        target: Target,
        features: csr_array,
        counts: csr_array,
        weights: LinearWeights,
        chance: ChanceCheck,
    ) -> None:
        y, n_classes = target.codes, len(target.classes)
        members = csr_array(np.eye(n_classes)[y].T)
        n_nodes = np.maximum(np.bincount(y, graphs.node_counts, minlength=n_classes), 1)
        sizes = np.bincount(y, minlength=n_classes).astype(np.float64)
        self.counts = np.asarray(counts.sum(axis=0)).astype(np.int64)
        self.n_graphs = np.bincount(counts.indices, minlength=counts.shape[1])
        inside = (members @ counts).toarray()
        self.frequency = inside / n_nodes[:, None]
        self.mean_count: Float64 = inside / sizes[:, None]
        present = counts.copy()
        present.data[:] = 1
        self.presence = (members @ present).toarray() / sizes[:, None]
        self.weights, self.chance = weights, chance
        if target.values is None:
            sums = (members @ features).toarray()
            means, others = sums / sizes[:, None], (sums.sum(axis=0) - sums) / (len(y) - sizes)[:, None]
            separation = (weights.coef * (means - others)).sum(axis=0)
        else:
            separation = weights.coef[-1] * np.asarray(features.T @ (target.values - target.values.mean()))
        total = separation.sum()
        self.share = separation / (total if total > 0 else max(np.abs(separation).sum(), 1e-300))


def _rank(table: _Table, found: list[ClusterLevel], significance: float) -> tuple[ClusterEvidence, ...]:
    """Return all clusters that occur: those better than chance first, then by importance; ties by feature.

    Clusters of the same depth that hold the same nodes in several partitions are one: their weights add up.
    """
    better = table.chance.p_value <= significance
    equal = _equal_columns(found, len(table.counts))
    columns_of: dict[int, list[int]] = {}
    for column in np.flatnonzero(table.counts).tolist():
        columns_of.setdefault(int(equal[column]), []).append(column)
    first = np.array(list(columns_of), np.int64)
    share = np.array([table.share[columns].sum() for columns in columns_of.values()])
    # A mean over partitions, so that a cluster of several does not outrank one that each partition draws a little
    # differently; rounded, so that clusters of equal importance keep the order of their features.
    n_copies = np.array([len(columns) for columns in columns_of.values()])
    importance = np.round(share / n_copies * table.chance.effect[first], 12)
    starts = np.array([level.first_column for level in found])
    clusters = []
    for rank, place in enumerate(np.lexsort((first, -importance, ~better[first])).tolist(), 1):
        column = int(first[place])
        same = columns_of[column]
        of_column = [found[int(np.searchsorted(starts, one, side="right")) - 1] for one in same]
        cluster = column - of_column[0].first_column
        clusters.append(
            ClusterEvidence(
                rank,
                of_column[0].depth,
                tuple(level.partition for level in of_column),
                cluster,
                tuple(same),
                int(table.counts[column]),
                int(table.n_graphs[column]),
                table.frequency[:, column],
                table.mean_count[:, column],
                table.presence[:, column],
                table.weights.coef[:, same].sum(axis=1),
                float(share[place]),
                float(table.chance.effect[column]),
                float(table.chance.p_value[column]),
                bool(better[column]),
                int(table.mean_count[:, column].argmax()),
                partial(of_column[0].center_tree, cluster),
            )
        )
    return tuple(clusters)


def _equal_columns(found: list[ClusterLevel], n_columns: int) -> Int64:
    """Return, for each column, the first column of its depth that counts exactly the same nodes.

    A set of nodes is known by the sums of two random 64-bit numbers of each of its nodes.
    """
    equal = np.arange(n_columns)
    numbers = np.random.default_rng(0).integers(2**64, size=(2, len(found[0].clusters)), dtype=np.uint64)
    seen: dict[tuple[int, ...], int] = {}
    for level in found:
        columns = level.column_of_node()
        known = columns >= 0
        sums = np.zeros((level.n_clusters, 2), np.uint64)
        np.add.at(sums, columns[known] - level.first_column, numbers[:, known].T)
        for column, pair in enumerate(sums.tolist(), level.first_column):
            equal[column] = seen.setdefault((level.depth, *pair), column)
    return equal


def _check_settings(n_permutations: int, significance: float) -> None:
    if n_permutations < 0:
        raise ValueError(f"n_permutations must be at least 0, not {n_permutations}")
    if not 0 < significance < 1:
        raise ValueError(f"significance must be between 0 and 1, not {significance}")


def _fitted(kernel: Any, graphs: GraphCollection) -> Any:
    """Return the kernel if it is fitted, else a fitted copy."""
    if not isinstance(kernel, (RelaxedWeisfeilerLehman, WeisfeilerLehman, ContinuousWeisfeilerLehman)):
        raise TypeError(
            "kernel must be a RelaxedWeisfeilerLehman, WeisfeilerLehman or ContinuousWeisfeilerLehman kernel, whose "
            f"features are clusters of nodes, not {type(kernel).__name__}"
        )
    if kernel.base != "subtree":
        raise ValueError(
            f"explain needs base='subtree', whose features are clusters of neighborhoods, not {kernel.base!r}"
        )
    try:
        check_is_fitted(kernel)
    except NotFittedError:
        return clone(kernel).fit(graphs)
    return kernel
