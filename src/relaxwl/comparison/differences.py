"""Differences of two collections: clusters of neighborhoods, statistics and descriptors, and typical graphs."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from relaxwl._progress import html_table
from relaxwl.comparison.design import Design
from relaxwl.comparison.views import Pool, SubgraphStatistics
from relaxwl.explanation.explanation import describe_tree
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64, prefix_sums
from relaxwl.kernels.clusters import ClusterKernel, LevelClusters
from relaxwl.predictors.views import CountView, StatisticsScaler, VectorView
from relaxwl.unfolding.tree import UnfoldingTree

# Share of the graphs with a node in a cluster that is tested, and maximum number of clusters of a kernel.
LEAST_GRAPHS, MAX_CLUSTERS = 0.1, 5000
# Columns whose permutations are in memory at a time.
COLUMNS_AT_ONCE = 256
# Number of graphs that are listed as most and least typical, and of rows that are printed.
N_TYPICAL, N_PRINTED = 5, 10
# Number of differences, the most significant, whose centers are built as trees; there may be thousands.
N_DESCRIBED = 200
# Effects beyond this are the same: one side does not vary, and the other has another value.
MAX_EFFECT = 99.0


@dataclass(frozen=True)
class Difference:
    """A cluster of neighborhoods, a statistic or a descriptor, and how it differs.

    Attributes
    ----------
    kind : str
        "cluster", or the view: "statistics", "subgraphs", "clustering" or "descriptors".
    name : str
        The statistic, or the center of the cluster in words.
    means : tuple of float
        Its mean in each collection; of clusters, the number of nodes of a graph that belong to it. With strata or
        covariates, graphs are weighted so that the collections agree in these.
    effect : float
        Difference of the means, the second minus the first, in standard deviations (Cohen's d).
    pvalue : float
        p-value, corrected for everything that is compared (largest statistic over the permutations of the test).
    depth : int or None
        Depth of the center.
    center : UnfoldingTree or None
        The center; None for statistics, and for clusters of vectors, which are described by their name.
    """

    kind: str
    name: str
    means: tuple[float, float]
    effect: float
    pvalue: float
    depth: int | None = None
    center: UnfoldingTree | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences of two collections; the result of ``explain()`` of a test.

    Parameters
    ----------
    found : tuple of Difference
        Everything that was compared, the most significant first.
    typical : tuple of two tuples of int
        Positions in each collection of the graphs that look most like their own collection.
    atypical : tuple of two tuples of int
        Positions of the graphs that look most like the other one.
    names : tuple of str
        Names of the collections.

    See Also
    --------
    relaxwl.two_sample_test : Test whether two collections differ.

    Examples
    --------
    >>> from relaxwl import two_sample_test
    >>> paths = [(n, [(i, i + 1) for i in range(n - 1)]) for n in range(4, 12)]
    >>> stars = [(n, [(0, i + 1) for i in range(n - 1)]) for n in range(4, 12)]
    >>> found = two_sample_test(paths, stars, n_permutations=99, random_state=0).explain()
    >>> len(found.significant) > 10
    True
    """

    found: tuple[Difference, ...]
    typical: tuple[tuple[int, ...], tuple[int, ...]]
    atypical: tuple[tuple[int, ...], tuple[int, ...]]
    names: tuple[str, str]

    @property
    def significant(self) -> tuple[Difference, ...]:
        """Those with a corrected p-value of at most 0.05."""
        return tuple(one for one in self.found if one.pvalue <= 0.05)

    def rows(self, n_rows: int = N_PRINTED) -> list[tuple[str, ...]]:
        """Return the most significant differences as rows of text.

        Parameters
        ----------
        n_rows : int, default=10
            Maximum number of rows.

        Returns
        -------
        list of tuple of str
            Name, means, effect with the collection that has more, and p-value.
        """
        return [
            (one.name if one.depth is None else f"cluster of depth {one.depth}: {one.name}", f"{one.means[0]:.4g}",
             f"{one.means[1]:.4g}", f"{one.effect:+.2f}, more in {self.names[one.effect > 0]}", f"{one.pvalue:.3g}")
            for one in self.found[:n_rows]
        ]  # fmt: skip

    @property
    def heads(self) -> tuple[str, ...]:
        """The titles of the rows."""
        return ("what", f"mean in {self.names[0]}", f"mean in {self.names[1]}", "effect", "p-value")

    def __str__(self) -> str:
        counted = f"{len(self.significant)} of {len(self.found)} clusters and statistics differ significantly"
        return "\n".join([counted, *(f"  {what}: {x} and {y} ({effect}, p = {p})"
                                     for what, x, y, effect, p in self.rows())])  # fmt: skip

    def to_pandas(self) -> Any:
        """Return everything that was compared as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            Kind, name, depth, means, effect and corrected p-value.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("a table of differences needs pandas: pip install pandas") from None
        return pd.DataFrame([
            {"kind": one.kind, "name": one.name, "depth": one.depth, f"mean {self.names[0]}": one.means[0],
             f"mean {self.names[1]}": one.means[1], "effect": one.effect, "pvalue": one.pvalue}
            for one in self.found
        ])  # fmt: skip

    def _repr_html_(self) -> str:
        """Show the most significant differences in a notebook."""
        return f"<p>{escape(str(self).splitlines()[0])}</p>{html_table(self.heads, self.rows())}"


@dataclass(frozen=True, eq=False)
class _Columns:
    """Columns of one view: what is tested, what is shown, and names; of clusters the level and number of each."""

    kind: str
    tested: csc_array
    shown: csc_array
    names: list[str]
    centers: list[tuple[LevelClusters, int]]


def find_differences(
    pool: Pool,
    design: Design,
    residuals: Float64,
    probabilities: Float64,
    sizes: tuple[int, int],
    names: tuple[str, str],
) -> Differences:
    """Compare all columns of all views by the permutations ``residuals``; see :class:`Differences`."""
    parts = list(_columns(pool))
    observed, largest = [], np.zeros(len(residuals))
    # All columns of all views are compared by one largest value of each permutation, some columns at a time.
    for part in parts:
        for start in range(0, part.tested.shape[1], COLUMNS_AT_ONCE):
            products = np.asarray(residuals @ part.tested[:, start : start + COLUMNS_AT_ONCE].toarray())
            spread = products.std(axis=0)
            z = np.abs(products - products.mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf)
            observed.append(z[0])
            np.maximum(largest, z.max(axis=1), out=largest)
    scores = np.concatenate([np.zeros(0), *observed])
    # Equal scores count as reached in spite of rounding.
    ordered = np.sort(largest)
    pvalues = (len(largest) - np.searchsorted(ordered, scores - 1e-9)) / len(largest)

    found: list[Difference] = []
    centers: list[tuple[LevelClusters, int] | None] = []
    for part in parts:
        means, effects = _effects(part.shown, design)
        for name, pair, effect in zip(part.names, means.T.tolist(), effects.tolist(), strict=True):
            found.append(Difference(part.kind, name, (pair[0], pair[1]), effect, float(pvalues[len(found)])))
        centers += part.centers or [None] * len(part.names)
    order = np.lexsort((-scores, pvalues)).tolist()
    for place in order[:N_DESCRIBED]:
        if (center := centers[place]) is not None:
            level, number = center
            tree = level.center(number)
            name, drawn = (tree, None) if isinstance(tree, str) else (describe_tree(tree), tree)
            found[place] = replace(found[place], name=name, depth=level.depth, center=drawn)
    # The probability of the own side, of the graphs of each side in the order of their collection.
    own = np.where(design.is_y, probabilities, 1 - probabilities)
    orders = []
    for side in (False, True):
        members = np.flatnonzero(design.is_y == side)
        places = pool.places[members] - (sizes[0] if side else 0)
        orders.append(places[np.lexsort((places, -own[members]))])
    return Differences(
        tuple(found[place] for place in order),
        (_first(orders[0]), _first(orders[1])),
        (_first(orders[0][::-1]), _first(orders[1][::-1])),
        names,
    )


def _first(order: Int64) -> tuple[int, ...]:
    return tuple(order[:N_TYPICAL].tolist())


def _effects(shown: csc_array, design: Design) -> tuple[Float64, Float64]:
    """Return the weighted mean of each column on both sides (2, n_columns), and the differences in deviations."""
    means, variances = np.zeros((2, shown.shape[1])), np.zeros((2, shown.shape[1]))
    # Weights make the sides agree in strata and covariates, so that means differ by what the test has found.
    for place, side in enumerate((~design.is_y, design.is_y)):
        weights = design.weights * side / (design.weights @ side)
        means[place] = shown.T @ weights
        variances[place] = shown.power(2).T @ weights - means[place] ** 2
    spread = np.sqrt(np.maximum(variances.mean(axis=0), 0.0))
    gaps = means[1] - means[0]
    effects = np.divide(gaps, spread, out=np.sign(gaps) * MAX_EFFECT, where=spread > 1e-9 * np.abs(gaps))
    return means, np.clip(effects, -MAX_EFFECT, MAX_EFFECT)


def _columns(pool: Pool) -> Iterator[_Columns]:
    """Yield the columns of each view that have a meaning."""
    for view in pool.fitted.views:
        if isinstance(view, VectorView) and view.training is not None:
            # Ranks are tested, but the values themselves are shown.
            shown = view.training
            if isinstance(view.scaler, StatisticsScaler):
                shown = view.scaler.statistics.transform(pool.graphs)[:, view.scaler.ranks.kept]
            elif isinstance(view.scaler, SubgraphStatistics):
                shown = view.scaler.table(pool.graphs)[:, view.scaler.ranks.kept]
            kept = np.flatnonzero(np.ptp(view.training, axis=0) > 0)
            tables = csc_array(view.training[:, kept]), csc_array(shown[:, kept])
            unit = " (standardized)" if view.name == "descriptors" else ""
            yield _Columns(view.name, *tables, [view.scaler.names_[place] + unit for place in kept.tolist()], [])
        elif isinstance(view, CountView) and view.has_clusters:
            yield _cluster_columns(view.kernel, pool.graphs)


def _cluster_columns(kernel: ClusterKernel, graphs: GraphCollection) -> _Columns:
    """Return the counts of the clusters of a kernel that occur in enough graphs, without equal ones."""
    levels = kernel.levels(graphs)
    nodes, columns = kernel.node_columns(graphs, levels)
    starts = prefix_sums(np.array([level.n_clusters for level in levels], np.int64))
    pairs = graphs.graph_of_node[nodes], columns
    counts = csc_array((np.ones(len(nodes)), pairs), (len(graphs), int(starts[-1])))
    counts.sum_duplicates()
    n_graphs = np.diff(counts.indptr)
    # A cluster of few graphs cannot be significant, and would only make the correction stricter.
    frequent = np.flatnonzero(n_graphs >= max(3, int(LEAST_GRAPHS * len(graphs))))
    frequent = np.sort(frequent[np.argsort(-n_graphs[frequent], kind="stable")[:MAX_CLUSTERS]])
    # Clusters of several depths and partitions often have the same counts; the first one stands for all.
    seen: dict[bytes, int] = {}
    for column in frequent.tolist():
        span = slice(*counts.indptr[column : column + 2])
        seen.setdefault(counts.indices[span].tobytes() + counts.data[span].tobytes(), column)
    kept = np.array(list(seen.values()), np.int64)
    of_column = np.searchsorted(starts, kept, side="right") - 1
    # Statistics count labels already.
    told = np.array([not levels[place].are_labels for place in of_column.tolist()], bool)
    kept, of_column = kept[told], of_column[told]
    numbers = (kept - starts[of_column]).tolist()
    centers = [(levels[place], number) for place, number in zip(of_column.tolist(), numbers, strict=True)]
    tables = csc_array(counts[:, kept])
    return _Columns("cluster", tables, tables, ["cluster"] * len(kept), centers)
