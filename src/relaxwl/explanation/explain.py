"""Rank the clusters of a kernel by how they separate classes."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from relaxwl._validation import check_integer
from relaxwl.explanation.explanation import ClusterEvidence, Explanation
from relaxwl.explanation.levels import ClusterLevel, count_clusters, levels
from relaxwl.explanation.weights import ExplainedTarget, fit_regression, fit_weights, given_weights, read_target
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.inputs import as_collection
from relaxwl.kernels.clusters import ClusterKernel

# Maximum number of entries of the matrix of permuted class sums that are in memory at a time.
BATCH_ENTRIES = 1 << 23


def check_chance(
    features: csr_array, target: ExplainedTarget, n_permutations: int, seed: int
) -> tuple[Float64, Float64]:
    """Compare the effect of each feature with the largest effect under permuted classes or numbers.

    Returns
    -------
    effect : float64 array (n_features,)
        Share of the variance of a feature that the classes explain (η²), from 0 to 1; for numbers, its squared
        correlation with them.
    p_value : float64 array (n_features,)
        Share of the permutations of the classes, the given one included, in which *any* feature had at least this
        effect: corrected for looking at many features (Westfall and Young, 1993, single step).
    """
    n_graphs, n_features = features.shape
    mean = np.asarray(features.sum(axis=0)) / n_graphs
    squares = np.asarray(features.power(2).sum(axis=0))
    total = squares - n_graphs * mean**2
    # The variation of a constant feature is only rounding.
    varies = total > 1e-9 * np.maximum(squares, 1e-300)
    columns = csr_array(features[:, np.flatnonzero(varies)])
    # Vectors (n_vectors, n_graphs) whose squared products with a feature sum to its explained part. For numbers, the
    # numbers minus their mean, scaled to length 1. For classes, the indicator of each class, minus its mean, divided by
    # the root of its size; the products are then scaled deviations of class means from the overall mean.
    if target.values is not None:
        centered = target.values - target.values.mean()
        contrasts = np.asarray(centered / np.linalg.norm(centered))[None]
    else:
        sizes = np.bincount(target.codes, minlength=len(target.classes)).astype(np.float64)
        members = np.eye(len(sizes))[target.codes].T
        contrasts = (members - (sizes / n_graphs)[:, None]) / np.sqrt(np.maximum(sizes, 1))[:, None]

    def effects(vectors: Float64) -> Float64:
        """Return the explained shares (n_divisions, n_features), given vectors (n_divisions, n_vectors, n_graphs)."""
        products = np.asarray(vectors.reshape(-1, n_graphs) @ columns).reshape(*vectors.shape[:2], -1)
        return np.asarray(np.clip((products**2).sum(axis=1) / total[varies], 0.0, 1.0))

    effect = np.zeros(n_features)
    effect[varies] = effects(contrasts[None])[0]
    largest, rng = np.zeros(n_permutations), np.random.default_rng(seed)
    batch = max(1, BATCH_ENTRIES // (len(contrasts) * max(columns.shape)))
    for start in range(0, n_permutations if varies.any() else 0, batch):
        number = min(batch, n_permutations - start)
        shuffled = np.stack([contrasts[:, rng.permutation(n_graphs)] for _ in range(number)])
        largest[start : start + number] = effects(shuffled).max(axis=1)
    # Equal effects count as reached in spite of rounding.
    reached = n_permutations - np.searchsorted(np.sort(largest), effect - 1e-12)
    return effect, (1 + reached) / (1 + n_permutations)


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
    """Find the clusters of neighborhoods that separate the classes, or are associated with a number.

    Every feature of the kernel counts the nodes of one cluster, and a linear model gives it a weight for each class.
    Clusters are ranked by their contribution to the distance between the mean scores of the classes, times the share of
    their variance that the classes explain, so that specific clusters come before frequent ones. Significance is tested
    on the counts of a cluster by permuting the classes, with a correction for the number of clusters; clusters that are
    not significant come last.

    For numeric ``y``, weights are those of a ridge regression, the share of a cluster is its contribution to the
    covariance of prediction and target, and the test is on correlations; in summaries and drawings, graphs below and
    above the median are two classes.

    Parameters
    ----------
    kernel : RelaxedWeisfeilerLehman, WeisfeilerLehman, ContinuousWeisfeilerLehman or GradualWL
        The kernel, with ``base="subtree"``. Centers of ``ContinuousWeisfeilerLehman`` are single nodes with a
        description in the units of the data: "degree 12, 30 triangles, core 5". A kernel that is not fitted is cloned
        and fitted on the graphs.
    graphs : GraphCollection or anything that ``relaxwl.as_collection`` accepts
        The graphs.
    y : array-like (n_graphs,)
        The classes (at least two) or numbers.
    model : fitted linear model, optional
        A model of ``kernel.transform(graphs)`` with ``coef_``, or a ``OneVsRestClassifier`` of linear models. By
        default a support vector machine, one class against the rest, is fitted on these features, with C selected by
        5-fold cross-validation and its accuracy estimated by nested cross-validation; for numbers, a ridge regression.
    task : {"classification", "regression"}, optional
        Kind of ``y``; by default inferred: numbers are classes if they are whole and repeat (each occurs twice on
        average, and ten times if there are more than ten different ones).
    n_permutations : int, default=999
        Number of permutations of the test; p-values are at least 1 / (n_permutations + 1).
    significance : float, default=0.05
        Clusters with at most this p-value are significant.
    random_state : int, default=0
        Seeds permutations and folds.

    Returns
    -------
    Explanation
        The ranked clusters, with methods that explain single graphs and pairs.

    See Also
    --------
    relaxwl.GraphClassifier.explain : Effects of nodes on the predictions of a classifier.
    relaxwl.reports.write_explorer : Interactive page of an explanation.

    Examples
    --------
    Of paths and stars of seven nodes only paths have nodes with two neighbors.

    >>> from relaxwl import GraphCollection, RelaxedWeisfeilerLehman
    >>> path, star = [(i, i + 1) for i in range(6)], [(0, i) for i in range(1, 7)]
    >>> graphs = GraphCollection.from_edges([(7, path), (7, star)] * 10)
    >>> kernel = RelaxedWeisfeilerLehman(max_depth=1, n_partitions=1, n_clusters=3, random_state=0)
    >>> explanation = explain(kernel, graphs, ["path", "star"] * 10)
    >>> explanation
    <Explanation of 20 graphs in 2 classes: 4 clusters, 3 significant>
    >>> top = explanation.clusters[0]
    >>> print(top.center, explanation.classes[top.typical_class], top.p_value)
    0(0,0) path 0.001
    """
    collection = as_collection(graphs)
    target = read_target(y, len(collection), task)
    check_integer("n_permutations", n_permutations)
    if not 0 < significance < 1:
        raise ValueError(f"significance must be between 0 and 1, not {significance}")
    if not isinstance(kernel, ClusterKernel):
        raise TypeError(
            "kernel must be a kernel whose features are clusters of nodes, such as RelaxedWeisfeilerLehman, not "
            f"{type(kernel).__name__}"
        )
    if kernel.base != "subtree":
        raise ValueError(
            f"explain needs base='subtree', whose features are clusters of neighborhoods, not {kernel.base!r}"
        )
    try:
        check_is_fitted(kernel)
    except NotFittedError:
        kernel = clone(kernel).fit(collection)
    features = kernel.weighted_counts(collection)
    found = levels(kernel, collection)
    counts = count_clusters(found, features.shape[1])
    if model is not None:
        weights = given_weights(model, features.shape[1], target)
    elif target.values is not None:
        weights = fit_regression(features, target.values, target.middle, random_state)
    else:
        weights = fit_weights(features, target.codes, len(target.classes), random_state)
    effect, p_value = check_chance(features, target, n_permutations, random_state)
    codes, n_classes = target.codes, len(target.classes)
    members = csr_array(np.eye(n_classes)[codes].T)
    sizes = np.bincount(codes, minlength=n_classes).astype(np.float64)
    if target.values is None:
        sums = (members @ features).toarray()
        means, others = sums / sizes[:, None], (sums.sum(axis=0) - sums) / (len(codes) - sizes)[:, None]
        separation = (weights.coef * (means - others)).sum(axis=0)
    else:
        separation = weights.coef[-1] * np.asarray(features.T @ (target.values - target.values.mean()))
    total = separation.sum()
    separation /= total if total > 0 else max(np.abs(separation).sum(), 1e-300)
    # Clusters of the same depth with the same nodes in several partitions are merged, and their weights are added.
    n_inside = np.asarray(counts.sum(axis=0)).astype(np.int64)
    equal = _equal_columns(found, len(n_inside))
    columns_of: dict[int, list[int]] = {}
    for column in np.flatnonzero(n_inside).tolist():
        columns_of.setdefault(int(equal[column]), []).append(column)
    first = np.array(list(columns_of), np.int64)
    share = np.array([separation[columns].sum() for columns in columns_of.values()])
    # A mean over partitions, so that a cluster in several partitions does not outrank one that differs slightly between
    # partitions; rounded, so that clusters of equal importance keep the order of their features.
    n_copies = np.array([len(columns) for columns in columns_of.values()])
    importance = np.round(share / n_copies * effect[first], 12)
    better = p_value <= significance
    inside, starts = (members @ counts).toarray(), np.array([level.first_column for level in found])
    n_nodes = np.maximum(np.bincount(codes, collection.node_counts, minlength=n_classes), 1)
    n_graphs = np.bincount(counts.indices, minlength=counts.shape[1])
    present = (members @ counts.sign()).toarray()
    clusters = []
    for rank, place in enumerate(np.lexsort((first, -importance, ~better[first])).tolist(), 1):
        column = int(first[place])
        same = columns_of[column]
        of_column = [found[int(np.searchsorted(starts, one, side="right")) - 1] for one in same]
        number = column - of_column[0].first_column
        clusters.append(
            ClusterEvidence(
                rank,
                of_column[0].depth,
                tuple(level.partition for level in of_column),
                number,
                tuple(same),
                int(n_inside[column]),
                int(n_graphs[column]),
                inside[:, column] / n_nodes,
                inside[:, column] / sizes,
                present[:, column] / sizes,
                weights.coef[:, same].sum(axis=1),
                float(share[place]),
                float(effect[column]),
                float(p_value[column]),
                bool(better[column]),
                int((inside[:, column] / sizes).argmax()),
                partial(of_column[0].center_tree, number),
            )
        )
    return Explanation(
        kernel, collection, target.classes, codes, weights, tuple(clusters), tuple(found), features, counts,
        significance, n_permutations, target,
    )  # fmt: skip


def _equal_columns(found: list[ClusterLevel], n_columns: int) -> Int64:
    """Return, for each column, the first column of its depth that counts exactly the same nodes.

    A set of nodes is identified by the sums of two random 64-bit numbers of each of its nodes.
    """
    equal = np.arange(n_columns)
    numbers = np.random.default_rng(0).integers(2**64, size=(2, len(found[0].clusters)), dtype=np.uint64)
    seen: dict[tuple[int, ...], int] = {}
    for level in found:
        columns = level.column_of_node
        known = columns >= 0
        sums = np.zeros((level.n_clusters, 2), np.uint64)
        np.add.at(sums, columns[known] - level.first_column, numbers[:, known].T)
        for column, pair in enumerate(sums.tolist(), level.first_column):
            equal[column] = seen.setdefault((level.depth, *pair), column)
    return equal
