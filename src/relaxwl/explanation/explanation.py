"""Results of an explanation: clusters of neighborhoods, single graphs, pairs of graphs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array

from relaxwl import drawing
from relaxwl._execution import cached_property
from relaxwl._validation import check_number, counted
from relaxwl.explanation.levels import ClusterLevel, Members, find_members
from relaxwl.explanation.weights import ExplainedTarget, LinearWeights
from relaxwl.graphs import Graph, GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.unfolding.tree import UnfoldingTree


def plane(distances: Float64) -> Float64:
    """Place points in the plane by classical scaling; returns an array (n, 2), the same each time.

    The square roots of the distances are scaled, which are a metric too: tree distances have a few very large values,
    which would move all other points close together.

    Examples
    --------
    >>> x, y = plane(np.abs(np.subtract.outer([0.0, 1.0, 9.0], [0.0, 1.0, 9.0]))).T
    >>> bool(abs(x[0] - x[1]) < abs(x[1] - x[2]))
    True
    """
    n = len(distances)
    if n < 3:
        span = float(distances.max(initial=0.0)) ** 0.5
        return np.column_stack([np.linspace(0.0, span, n), np.zeros(n)])
    centered = (distances.mean(axis=0) + distances.mean(axis=1)[:, None] - distances.mean() - distances) / 2
    # All eigenvalues, because solvers for the largest two fail if many are equal, as for equidistant points.
    values, vectors = np.linalg.eigh(centered)
    axes = vectors[:, :-3:-1]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    return np.asarray(axes * signs * np.sqrt(np.maximum(values[:-3:-1], 0.0)))


@dataclass(frozen=True, eq=False)
class ClusterEvidence:
    """One cluster of neighborhoods and how it separates the classes; arrays have one entry per class.

    Attributes
    ----------
    rank : int
        Place in the ranking, from 1 on.
    depth : int
        Depth of the trees.
    partitions, columns : tuple of int
        The partitions in which the same nodes form a cluster, and the feature of each.
    number : int
        Number of the cluster in the first of these partitions.
    size, n_graphs : int
        Nodes in the cluster, and graphs with such a node.
    frequency : float64 array
        Share of the nodes of a class that are in the cluster.
    mean_count : float64 array
        Mean number of nodes in the cluster per graph of a class. The kernel's features, and therefore the weights and
        the significance, are based on these counts; if graphs of one class are larger, ``frequency`` may be largest in
        another class.
    presence : float64 array
        Share of the graphs of a class with a node in the cluster.
    weights : float64 array
        Weights of the linear model; positive weights are evidence for the class.
    share : float
        Contribution of the cluster to the distance between the mean scores of each class and the others, as a share of
        the sum over all clusters; negative if the cluster reduces this distance.
    effect, p_value : float
        Share of the variance of its counts that the classes explain, and the probability that any cluster has at least
        this effect if classes are permuted at random.
    better_than_chance : bool
        Whether ``p_value`` is at most the significance asked for. Otherwise the cluster is not significant.
    typical_class : int
        Index of the class with the largest ``mean_count``: its graphs have most nodes in the cluster.
    """

    rank: int
    depth: int
    partitions: tuple[int, ...]
    number: int
    columns: tuple[int, ...]
    size: int
    n_graphs: int
    frequency: Float64
    mean_count: Float64
    presence: Float64
    weights: Float64
    share: float
    effect: float
    p_value: float
    better_than_chance: bool
    typical_class: int
    _build: Callable[[], UnfoldingTree] = field(repr=False)

    @property
    def partition(self) -> int:
        """The first partition with this cluster, which ``number`` and :attr:`center` refer to."""
        return self.partitions[0]

    @property
    def importance(self) -> float:
        """Rank criterion: ``share``, on average over the partitions with this cluster, times ``effect``."""
        return self.share / len(self.columns) * self.effect

    @cached_property
    def center(self) -> UnfoldingTree:
        """The center of the cluster as a tree."""
        return self._build()

    def __repr__(self) -> str:
        chance = f"p = {self.p_value:.3g}" if self.better_than_chance else "not significant"
        return (
            f"<cluster {self.number} of depth {self.depth}, {_partitions(self.partitions)}, rank {self.rank}: "
            f"{counted(self.size, 'node')}, {chance}>"
        )


@dataclass(frozen=True, eq=False)
class ClusterInGraph:
    """A cluster and the nodes of one graph in it; ``contribution`` is what they add to the score of each class."""

    cluster: ClusterEvidence
    nodes: Int64
    contribution: Float64


@dataclass(frozen=True, eq=False)
class GraphExplanation:
    """Contributions of the nodes of a graph to the scores of the classes.

    Attributes
    ----------
    graph : int
        Index of the graph.
    scores : float64 array (n_classes,)
        The model's scores.
    actual, predicted : int
        Index of the graph's class, and of the class with the largest score.
    evidence : float64 array (n_nodes, n_classes)
        What each node adds to the scores; the columns sum up to ``scores`` less the model's intercepts.
    clusters : tuple of ClusterInGraph
        The clusters with a node in this graph, in the order of the ranking.
    """

    graph: int
    scores: Float64
    actual: int
    predicted: int
    evidence: Float64
    clusters: tuple[ClusterInGraph, ...]
    _drawn: Graph = field(repr=False)

    def to_svg(self, n_clusters: int = 3, *, title: str | None = None) -> str:
        """Return a drawing of the graph as SVG text, with the nodes of its most important clusters highlighted.

        Parameters
        ----------
        n_clusters : int, default=3
            Number of clusters shown: the first ones of the ranking with a node in this graph, only those better than
            chance unless there are none. A node in all of them is highlighted most, one in few of them less.
        title : str, optional
            Text for screen readers.
        """
        if n_clusters < 0:
            raise ValueError(f"n_clusters must be at least 0, not {n_clusters}")
        better = tuple(item for item in self.clusters if item.cluster.better_than_chance)
        telling = (better or self.clusters)[:n_clusters]
        hits = np.bincount(np.concatenate([np.empty(0, np.int64), *(item.nodes for item in telling)]))
        lit = np.flatnonzero(hits)
        words = ", ".join(str(item.cluster.rank) for item in telling) or "none"
        words += "" if better else ", not significant"
        labels = self._drawn.node_labels
        return drawing.graph_svg(
            self._drawn.n_nodes,
            [(a, b) for a, b in self._drawn.edges.tolist()],
            labels=None if labels is None else [str(label) for label in labels],
            highlight={int(node): float(hits[node]) / len(telling) for node in lit},
            title=title
            or f"Graph {self._drawn.name or self.graph}; {len(lit)} nodes highlighted, which are in clusters {words}",
        )

    def _repr_svg_(self) -> str:
        """Draw the graph in a notebook."""
        return self.to_svg()


@dataclass(frozen=True)
class SharedCluster:
    """A cluster with nodes in two graphs: their number in each, and the contribution to the kernel value."""

    cluster: ClusterEvidence
    counts: tuple[int, int]
    value: float
    share: float


@dataclass(frozen=True)
class PairExplanation:
    """The kernel value of two graphs, and the clusters that contribute to it, in descending order."""

    graphs: tuple[int, int]
    value: float
    shared: tuple[SharedCluster, ...]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Clusters associated with the classes or numbers of graphs; returned by :func:`~relaxwl.explanation.explain`.

    Parameters
    ----------
    kernel : estimator
        The fitted kernel.
    graphs : GraphCollection
        The graphs.
    classes : array
        The classes, sorted.
    y : int64 array
        The index of each graph's class.
    model : LinearWeights
        Weights and, if it was fitted here, accuracy of the linear model.
    clusters : tuple of ClusterEvidence
        All clusters that occur: significant ones first, both parts ordered by ``importance``.
    levels : tuple of ClusterLevel
        The clusters of each depth and partition.
    features : csr_array
        Weighted counts of the clusters, the input of the linear model.
    counts : csr_array
        Number of nodes of each graph in each cluster.
    significance : float
        Largest p-value of significant clusters.
    n_permutations : int
        Number of permutations of the test.
    target : ExplainedTarget
        Classes or numbers, as given; for numbers ``classes`` are a lower and an upper half, and scores are differences
        from the value between them.

    See Also
    --------
    explain : Fit a kernel and a linear model, and rank the clusters.

    Examples
    --------
    >>> from relaxwl import GraphCollection, WeisfeilerLehman
    >>> from relaxwl.explanation import explain
    >>> path, star = [(i, i + 1) for i in range(6)], [(0, i) for i in range(1, 7)]
    >>> graphs = GraphCollection.from_edges([(7, path), (7, star)] * 10)
    >>> explanation = explain(WeisfeilerLehman(max_depth=1), graphs, ["path", "star"] * 10)
    >>> explanation.explain_graph(0).predicted
    0
    """

    kernel: Any
    graphs: GraphCollection
    classes: NDArray[Any]
    y: Int64
    model: LinearWeights
    clusters: tuple[ClusterEvidence, ...]
    levels: tuple[ClusterLevel, ...] = field(repr=False)
    features: csr_array = field(repr=False)
    counts: csr_array = field(repr=False)
    significance: float
    n_permutations: int
    target: ExplainedTarget = field(repr=False)

    def __repr__(self) -> str:
        better = sum(cluster.better_than_chance for cluster in self.clusters)
        return (
            f"<Explanation of {counted(len(self.graphs), 'graph')} {self.what}: "
            f"{counted(len(self.clusters), 'cluster')}, {better} significant>"
        )

    @property
    def what(self) -> str:
        """The targets in words: the number of classes, or the range of the numbers."""
        values = self.target.values
        if values is None:
            return f"in {len(self.classes)} classes"
        return f"and targets from {values.min():.4g} to {values.max():.4g}"

    @property
    def quality(self) -> str:
        """Accuracy of the linear model on held-out graphs and that of the baseline, in words; empty if unknown."""
        if self.model.r2 is not None:
            explained = f"{100 * self.model.r2:.0f} % of the variance of held-out graphs"
            return f"A linear model on the clusters explains {explained} (the mean predictor explains 0 %)."
        if self.model.accuracy is None:
            return ""
        return (
            f"A linear model on the clusters classifies {100 * self.model.accuracy:.1f} % of held-out graphs correctly "
            f"(nested cross-validation); majority-class baseline {100 * self.target.chance:.1f} %."
        )

    @property
    def telling(self) -> str:
        """The relation of significant clusters to the targets, in words."""
        return f"significantly associated with the {'classes' if self.target.values is None else 'target'}"

    @cached_property
    def by_column(self) -> dict[int, ClusterEvidence]:
        """The clusters by the number of their feature."""
        return {column: cluster for cluster in self.clusters for column in cluster.columns}

    def level(self, partition: int, depth: int) -> ClusterLevel:
        """Return the clusters of one depth in one partition.

        Parameters
        ----------
        partition, depth : int
            Numbers of the partition and of the depth.

        Returns
        -------
        ClusterLevel
            The level, with the cluster of each node.
        """
        for level in self.levels:
            if (level.partition, level.depth) == (partition, depth):
                return level
        raise ValueError(f"there is no partition {partition} with depth {depth}")

    def members(self, cluster: ClusterEvidence, n_nearest: int = 3, n_farthest: int = 2) -> Members:
        """Return the members nearest to and farthest from the center of a cluster, with the edits to the center.

        Parameters
        ----------
        cluster : ClusterEvidence
            One of ``clusters``.
        n_nearest : int, default=3
            Maximum number of nearest members.
        n_farthest : int, default=2
            Maximum number of farthest members.

        Returns
        -------
        Members
            Tuples ``nearest`` and ``farthest``.
        """
        level = self.level(cluster.partition, cluster.depth)
        encoding = getattr(self.kernel, "edge_encoding_", None)  # its costs have the scale of the fitted attributes
        cost = None if encoding is None else encoding.cost
        return find_members(level, cluster.number, cost, n_nearest, n_farthest)

    def center_distances(self, partition: int, depth: int) -> Float64 | None:
        """Return the exact distances between the cluster centers of one depth in one partition.

        Parameters
        ----------
        partition, depth : int
            Numbers of the partition and of the depth.

        Returns
        -------
        float64 array (n_clusters, n_clusters) or None
            The distances; None if clusters have no centers, or are single trees.
        """
        return self.level(partition, depth).center_distances()

    def explain_graph(self, graph: int) -> GraphExplanation:
        """Return the clusters of the nodes of a graph and their contributions to the scores of the model.

        Parameters
        ----------
        graph : int
            Index of the graph.

        Returns
        -------
        GraphExplanation
            Scores, ``evidence`` of each node, and the clusters; ``to_svg()`` draws the graph.
        """
        graph = self._index(graph)
        row = self.features[[graph]]
        scores = self.model.scores(row)[0]
        contribution = self.model.coef[:, row.indices] * row.data
        counts = self.counts[[graph]]
        start, stop = self.graphs.offsets[graph : graph + 2]
        added = self._by_rank(row.indices, contribution.T)
        found = [
            ClusterInGraph(cluster, np.flatnonzero(level.clusters[start:stop] == cluster.number), added[rank])
            for rank in sorted(added)
            for cluster in [self.clusters[rank - 1]]
            for level in [self.level(cluster.partition, cluster.depth)]
        ]
        # All nodes of a cluster add the same to its feature.
        unit = np.zeros((self.features.shape[1] + 1, len(self.classes)))
        unit[row.indices] = contribution.T
        unit[counts.indices] /= counts.data[:, None]
        evidence = np.zeros((stop - start, len(self.classes)))
        for level in self.levels:
            evidence += unit[level.column_of_node[start:stop]]
        return GraphExplanation(
            graph, scores, int(self.y[graph]), int(scores.argmax()), evidence, tuple(found), self.graphs[graph]
        )

    def explain_pair(self, first: int, second: int) -> PairExplanation:
        """Return the contributions of clusters to the kernel value of two graphs; they sum to the value.

        Parameters
        ----------
        first, second : int
            Indices of the graphs.

        Returns
        -------
        PairExplanation
            The value, and the ``shared`` clusters with the largest contributions first.
        """
        first, second = self._index(first), self._index(second)
        # One collection of both, so that a tree that was not seen in fitting has the same number in both graphs.
        value = float(self.kernel.kernel_matrix(self.graphs[[first, second]])[0, 1])
        is_dot, given = self.kernel.similarity == "dot", self.kernel.depth_weights
        n_depths = self.levels[-1].depth + 1
        weights = np.ones(n_depths) if given is None else np.asarray(given, np.float64)
        # By depth, the similarity of each graph with itself (with clusters not seen in fitting), and of both.
        own, both, terms = np.zeros((2, n_depths)), np.zeros(n_depths), []
        for level in self.levels:
            size = max(level.n_clusters, int(level.clusters.max(initial=0)) + 1)
            spans = (slice(*self.graphs.offsets[graph : graph + 2]) for graph in (first, second))
            a, b = (np.bincount(level.clusters[span], minlength=size) for span in spans)
            own[:, level.depth] += ((a**2).sum(), (b**2).sum()) if is_dot else (a.sum(), b.sum())
            alike = (a * b if is_dot else np.minimum(a, b))[: level.n_clusters]
            both[level.depth] += alike.sum()
            terms.append((alike, np.full(level.n_clusters, level.depth)))
        tanimoto, by_depth = self.kernel.similarity == "tanimoto", self.kernel.normalize == "depth"
        norms = own if by_depth else np.repeat((own @ weights)[:, None], n_depths, axis=1)
        divisor = (
            norms.sum(axis=0) - (both if by_depth else weights @ both) if tanimoto else np.sqrt(norms.prod(axis=0))
        )
        if not tanimoto and not self.kernel.normalize:
            divisor = np.ones(n_depths)
        counts, depths = (np.concatenate(parts) for parts in zip(*terms, strict=True))
        columns = np.flatnonzero(counts)
        values = (counts * (weights / np.where(divisor > 0, divisor, 1.0))[depths])[columns]
        a, b = (self.counts[[graph]].toarray()[0] for graph in (first, second))
        added = self._by_rank(columns, values)
        shared = []
        for rank in sorted(added, key=lambda rank: (-added[rank], rank)):
            cluster = self.clusters[rank - 1]
            pair = int(a[cluster.columns[0]]), int(b[cluster.columns[0]])
            part = float(added[rank])
            shared.append(SharedCluster(cluster, pair, part, part / value if value else 0.0))
        return PairExplanation((first, second), value, tuple(shared))

    def _by_rank(self, columns: NDArray[np.integer[Any]], values: Float64) -> dict[int, Any]:
        """Return, for each ranked cluster, the sum of the values of its features (one row per feature)."""
        added: dict[int, Any] = {}
        for column, value in zip(columns.tolist(), values, strict=True):
            if column in self.by_column:
                rank = self.by_column[column].rank
                added[rank] = added.get(rank, 0.0) + value
        return added

    def summary(self, n_clusters: int = 10) -> str:
        """Return the highest-ranked clusters in words, one per line.

        Parameters
        ----------
        n_clusters : int, default=10
            Maximum number of clusters.

        Returns
        -------
        str
            The text.
        """
        better = sum(cluster.better_than_chance for cluster in self.clusters)
        lines = [f"{len(self.clusters)} clusters, {better} {self.telling}."]
        lines += [self.quality] if self.quality else []
        for cluster in self.clusters[:n_clusters]:
            tree = describe_tree(cluster.center) if cluster.center.size <= 12 else f"{cluster.center.size:,} nodes"
            chance = f"p = {cluster.p_value:.3g}" if cluster.better_than_chance else "not significant"
            kind = "class " if self.target.values is None else "graphs "
            lines.append(
                f"{cluster.rank}. depth {cluster.depth}, {_partitions(cluster.partitions)}: enriched in {kind}"
                f"{self.classes[cluster.typical_class]}, {100 * cluster.share:.1f} % of the separation, {chance}; "
                f"center {tree}"
            )
        return "\n".join(lines)

    def to_pandas(self, confidence: float = 0.95) -> Any:
        """Return the clusters as a pandas DataFrame, one row per cluster in the order of the ranking.

        Parameters
        ----------
        confidence : float, default=0.95
            Level of the confidence intervals.

        Returns
        -------
        pandas.DataFrame
            Rank, depth, number of partitions, size, graphs, mean counts of each class, the class in which the cluster
            is enriched, the difference of the mean counts between that class and the others with Welch's confidence
            interval and Cohen's d (for numeric targets the correlation with Fisher's interval), the share of explained
            variance, the p-value and the center. Intervals are of single clusters; the p-value is corrected for all.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("Explanation.to_pandas needs pandas: pip install pandas") from None
        check_number("confidence", confidence, most=1.0)
        rows = []
        names: tuple[str, ...]
        for cluster in self.clusters:
            counts = self.counts[:, [cluster.columns[0]]].toarray()[:, 0]
            if self.target.values is None:
                inside = self.y == cluster.typical_class
                names = ("difference", "low", "high", "cohens_d")
                values = _mean_difference(counts[inside], counts[~inside], confidence)
            else:
                names, values = ("correlation", "low", "high"), _correlation(counts, self.target.values, confidence)
            means = {f"mean in {name}": mean for name, mean in zip(self.classes, cluster.mean_count, strict=True)}
            rows.append({
                "rank": cluster.rank,
                "depth": cluster.depth,
                "n_partitions": len(cluster.partitions),
                "n_nodes": cluster.size,
                "n_graphs": cluster.n_graphs,
                **means,
                "enriched in": self.classes[cluster.typical_class],
                **dict(zip(names, values, strict=True)),
                "explained_variance": cluster.effect,
                "p_value": cluster.p_value,
                "center": describe_tree(cluster.center),
            })  # fmt: skip
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        """Show the ranking as a table in a notebook."""
        lines = self.summary().split("\n")
        ranked = [line for line in lines if line[:1].isdigit() and ". depth" in line]
        head = "<br>".join(escape(line) for line in lines[: len(lines) - len(ranked)])
        items = "".join(f"<li>{escape(line.partition('. ')[2])}</li>" for line in ranked)
        return f"<p>{head}</p><ol>{items}</ol>"

    def _index(self, graph: int) -> int:
        if not -len(self.graphs) <= graph < len(self.graphs):
            raise IndexError(f"graph {graph} is out of range for {counted(len(self.graphs), 'graph')}")
        return int(graph) % len(self.graphs)


def _partitions(numbers: tuple[int, ...]) -> str:
    """Return the partitions of a cluster as text."""
    return f"partition {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} partitions"


def describe_tree(tree: UnfoldingTree) -> str:
    """Return a tree in plain text: labels and rounded attributes, children in parentheses with their numbers.

    Examples
    --------
    >>> describe_tree(UnfoldingTree.parse("[[work,m],[32.34]](0.986:C,0.986:C,1:N)"))
    'work, m; 32.3 (2 × [0.986] C, [1] N)'
    """
    children = []
    for branch in tree.branches:
        number = f"{branch.multiplicity} × " if branch.multiplicity > 1 else ""
        edge = "" if branch.edge is None else f"[{_plain(branch.edge)}] "
        children.append(number + edge + describe_tree(branch.tree))
    return _plain(tree.label) + (f" ({', '.join(children)})" if children else "")


def _plain(label: Any) -> str:
    """Return a label without brackets: parts of tuples, and pairs of a label and attributes."""
    if isinstance(label, tuple):
        separator = "; " if any(isinstance(part, tuple) for part in label) else ", "
        return separator.join(_plain(part) for part in label)
    return f"{label:.3g}" if isinstance(label, float) else str(label)


def _mean_difference(inside: Float64, others: Float64, confidence: float) -> tuple[float, ...]:
    """Return the difference of two means, Welch's confidence interval, and Cohen's d; NaN where undefined."""
    n, m = len(inside), len(others)
    difference = float(inside.mean() - others.mean())
    if min(n, m) < 2:
        return difference, np.nan, np.nan, np.nan
    a, b = inside.var(ddof=1) / n, others.var(ddof=1) / m
    pooled = np.sqrt(((n - 1) * n * a + (m - 1) * m * b) / (n + m - 2))
    if pooled == 0:
        return difference, difference, difference, np.nan
    half = stats.t.ppf((1 + confidence) / 2, (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1))) * np.sqrt(a + b)
    return difference, difference - half, difference + half, float(difference / pooled)


def _correlation(counts: Float64, values: Float64, confidence: float) -> tuple[float, ...]:
    """Return the correlation of counts and numbers with Fisher's confidence interval; NaN where undefined."""
    if np.ptp(counts) == 0 or np.ptp(values) == 0:
        return np.nan, np.nan, np.nan
    r = float(np.clip(np.corrcoef(counts, values)[0, 1], -1.0, 1.0))
    if len(counts) < 4 or abs(r) == 1:
        return r, np.nan, np.nan
    half = stats.norm.ppf((1 + confidence) / 2) / np.sqrt(len(counts) - 3)
    return r, float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))
