"""Random forests on graph statistics: a baseline that uses twelve of them, or all."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.utils.validation import check_is_fitted

from relaxwl._validation import GraphEstimator, as_seed, check_choice
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.graphs.labels import match_codes
from relaxwl.inputs import as_collection
from relaxwl.kernels.base import check_graphs
from relaxwl.kernels.statistics import GraphStatistics

# Quantiles of the degrees of a graph.
QUANTILES = (0.25, 0.5, 0.75)


@dataclass(repr=False, eq=False)
class _StatisticsForest(GraphEstimator):
    """Base class of random forests on graph statistics."""

    n_estimators: int = 300
    statistics: str = "basic"
    n_jobs: int | None = None
    random_state: Any = None

    def _forest(self, seed: int) -> Any:
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : array (n_graphs,)
            Targets.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        check_choice("statistics", self.statistics, ("basic", "all"))
        graphs = as_collection(X)
        self.directed_ = graphs.directed
        self.table_ = GraphStatistics(self.n_jobs).fit(graphs)
        self.node_vocabulary_ = graphs.node_vocabulary
        self.edge_vocabulary_ = graphs.edge_vocabulary
        self.forest_ = self._forest(as_seed(self.random_state) % 2**32)
        self.forest_.fit(self._statistics(graphs), np.asarray(y))
        return self

    def predict(self, X: Any) -> Any:
        """Predict the class or number of each graph.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        array (n_graphs,)
            The predictions.
        """
        check_is_fitted(self)
        return self.forest_.predict(self._statistics(check_graphs(self, X)))

    def _statistics(self, graphs: GraphCollection) -> Float64:
        if self.statistics == "all":
            return self.table_.transform(graphs)
        columns = [structure(graphs)]
        if self.node_vocabulary_ is not None:
            columns.append(_shares(graphs.graph_of_node, graphs.node_codes, graphs.node_vocabulary,
                                   self.node_vocabulary_, graphs.n_graphs))  # fmt: skip
        if self.edge_vocabulary_ is not None:
            edge_graphs = np.repeat(graphs.graph_of_node, graphs.degrees)
            columns.append(_shares(edge_graphs, graphs.edge_codes, graphs.edge_vocabulary,
                                   self.edge_vocabulary_, graphs.n_graphs))  # fmt: skip
        if graphs.node_attributes is not None:
            columns.append(_means(graphs.graph_of_node, graphs.node_attributes, graphs.n_graphs))
        return np.hstack(columns)


class StatisticsForestClassifier(ClassifierMixin, _StatisticsForest):
    """Random forest classifier on graph statistics: a baseline for kernels.

    The basic statistics are the numbers of nodes, edges, components and triangles, density, clustering; mean, standard
    deviation, maximum and quartiles of the degrees; fractions of node and edge labels; and means of attributes.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    statistics : {"basic", "all"}, default="basic"
        ``"basic"`` are twelve statistics of sizes, degrees and triangles with the labels and attributes; ``"all"`` are
        those of :class:`relaxwl.GraphStatistics`.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, Generator or None, default=None
        Seeds the forest.

    See Also
    --------
    StatisticsForestRegressor : The same for numbers.

    Examples
    --------
    >>> path, triangle = (3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])
    >>> graphs = GraphCollection.from_edges([path, triangle] * 5)
    >>> forest = StatisticsForestClassifier(10, random_state=0).fit(graphs, ["path", "triangle"] * 5)
    >>> forest.predict(graphs[:2]).tolist()
    ['path', 'triangle']
    """

    def _forest(self, seed: int) -> RandomForestClassifier:
        return RandomForestClassifier(self.n_estimators, n_jobs=self.n_jobs, random_state=seed)

    @property
    def classes_(self) -> Any:
        """The classes, in the order of the columns of :meth:`predict_proba`."""
        return self.forest_.classes_

    def predict_proba(self, X: Any) -> Float64:
        """Return the probability of each class for each graph.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        float64 array (n_graphs, n_classes)
            The probabilities.
        """
        check_is_fitted(self)
        return np.asarray(self.forest_.predict_proba(self._statistics(check_graphs(self, X))))


class StatisticsForestRegressor(RegressorMixin, _StatisticsForest):
    """Random forest regressor on graph statistics: a baseline for kernels.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    statistics : {"basic", "all"}, default="basic"
        ``"basic"`` are twelve statistics of sizes, degrees and triangles with the labels and attributes; ``"all"`` are
        those of :class:`relaxwl.GraphStatistics`.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, Generator or None, default=None
        Seeds the forest.

    See Also
    --------
    StatisticsForestClassifier : The same for classes.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])] * 5)
    >>> StatisticsForestRegressor(10, random_state=0).fit(graphs, [2.0, 3.0] * 5).predict(graphs[:2]).shape
    (2,)
    """

    def _forest(self, seed: int) -> RandomForestRegressor:
        return RandomForestRegressor(self.n_estimators, n_jobs=self.n_jobs, random_state=seed)


def structure(graphs: GraphCollection) -> Float64:
    """Return structural statistics of each graph, without labels: (n_graphs, 12).

    >>> graphs = GraphCollection.from_edges([(4, [(0, 1), (1, 2), (0, 2)])])
    >>> nodes, edges, components, triangles, density, clustering, *_ = structure(graphs)[0].tolist()
    >>> nodes, edges, components, triangles, density, clustering
    (4.0, 3.0, 2.0, 1.0, 0.5, 1.0)
    """
    n, of_node = graphs.n_graphs, graphs.graph_of_node
    degrees = graphs.degrees.astype(np.float64)
    adjacency = csr_array((np.ones(len(graphs.indices)), graphs.indices, graphs.indptr), (graphs.n_nodes,) * 2)
    wedges = np.bincount(of_node, degrees * (degrees - 1), n)
    triangles = np.bincount(of_node, _triangles(graphs, adjacency), n)
    component = connected_components(adjacency, directed=False)[1] if graphs.n_nodes else np.empty(0, np.int64)
    firsts = np.unique(component, return_index=True)[1]
    pairs = graphs.node_counts * (graphs.node_counts - 1) / 2
    quantiles = [
        np.quantile(degrees[start:stop], [*QUANTILES, 1.0]) if stop > start else np.zeros(len(QUANTILES) + 1)
        for start, stop in zip(graphs.offsets[:-1], graphs.offsets[1:], strict=True)
    ]
    means = np.bincount(of_node, degrees, n) / np.maximum(graphs.node_counts, 1)
    squares = np.bincount(of_node, degrees**2, n) / np.maximum(graphs.node_counts, 1)
    columns = [
        graphs.node_counts,
        graphs.edge_counts,
        np.bincount(of_node[firsts], minlength=n),
        triangles,
        graphs.edge_counts / np.maximum(pairs, 1),
        6 * triangles / np.maximum(wedges, 1),
        means,
        np.sqrt(np.maximum(squares - means**2, 0)),
    ]
    return np.column_stack([*columns, np.array(quantiles).reshape(n, len(QUANTILES) + 1)]).astype(np.float64)


def _triangles(graphs: GraphCollection, adjacency: csr_array) -> Float64:
    """Return the number of triangles of each node; each triangle is counted only at its node of lowest degree.

    Edges are directed from lower to higher degree, so that hubs have few outgoing edges, of which pairs are formed.
    """
    rank = np.empty(graphs.n_nodes, np.int64)
    rank[np.lexsort((np.arange(graphs.n_nodes), graphs.degrees))] = np.arange(graphs.n_nodes)
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    upward = adjacency.copy()
    upward.data = (rank[sources] < rank[graphs.indices]).astype(np.float64)
    upward.eliminate_zeros()
    return np.asarray((upward @ upward).multiply(upward).sum(axis=1)).ravel()


def _shares(of: Int64, codes: Any, vocabulary: Any, known: tuple[object, ...], n_graphs: int) -> Float64:
    """Return the share of each known label among the nodes (or edges) of each graph."""
    counts = np.zeros((n_graphs, len(known) + 1))
    if vocabulary is not None and codes is not None:
        matched = np.minimum(match_codes(vocabulary, known)[codes], len(known))
        np.add.at(counts, (of, matched), 1.0)
    return np.asarray((counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))[:, :-1])


def _means(of: Int64, values: Float64, n_graphs: int) -> Float64:
    """Return the mean of each attribute over the nodes of each graph."""
    sums = np.column_stack([np.bincount(of, column, n_graphs) for column in values.T])
    return np.asarray(sums / np.maximum(np.bincount(of, minlength=n_graphs), 1)[:, None])
