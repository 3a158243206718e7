"""Baselines made of counts: histograms of labels, shortest paths, optimal assignment by Weisfeiler-Lehman labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relaxwl._progress import report
from relaxwl._validation import check_flag, check_number
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, prefix_sums
from relaxwl.graphs.labels import match_codes
from relaxwl.kernels.base import CountKernel, Settings
from relaxwl.kernels.counting import Counts, EdgeCounter, ShortestPathCounter, SubtreeCounter, join_counts
from relaxwl.kernels.gram import self_similarities
from relaxwl.kernels.model_schema import check_counters, check_unary, require
from relaxwl.kernels.wl import WeisfeilerLehman, matched_codes


class DepthFeatures(CountKernel):
    """A count kernel with a block of features for each depth, compared by the dot product with equal weights."""

    base = "subtree"
    similarity = "dot"
    depth_weights = None


class FlatFeatures(DepthFeatures):
    """A count kernel without depths: one block of features, one Gram matrix."""

    max_depth = 0

    def variations(self) -> list[Settings]:
        """Return one setting: there is nothing to choose from.

        Returns
        -------
        list of dict
            One empty setting.
        """
        return [{}]


def node_codes_in(graphs: GraphCollection, vocabulary: tuple[object, ...] | None) -> Int32:
    """Return the node labels' codes in a fitted vocabulary; unseen labels get codes after the known ones."""
    return matched_codes(graphs, vocabulary, None, False)[0]


def n_known_labels(vocabulary: tuple[object, ...] | None) -> int:
    """Return the number of codes of a vocabulary; unlabeled graphs have one common label."""
    return 1 if vocabulary is None else len(vocabulary)


def label_names(vocabulary: tuple[object, ...] | None) -> list[str]:
    """Return a name for each code."""
    return ["·"] if vocabulary is None else [str(label) for label in vocabulary]


# Values of γ in model selection, in addition to the dot product.
GAMMAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


@dataclass(repr=False, eq=False)
class VertexEdgeHistogram(FlatFeatures):
    """Histograms of node labels and of edge labels, concatenated.

    k(G, G') = Σ_a n_a(G)·n_a(G') + Σ_e m_e(G)·m_e(G'), where n_a counts the nodes with label a and m_e the edges with
    label e. Edges without labels count by the unordered pair of labels at their ends. On unlabeled graphs the features
    are the number of nodes and the number of edges, a minimal baseline for structural kernels. With two features a
    linear kernel is too weak, so a Gaussian kernel of the histograms x, exp(−γ·‖x − x'‖²), is available too.

    Parameters
    ----------
    gamma : float, optional
        The γ > 0 of a Gaussian kernel; None for the dot product. Model selection tries both.
    edge_labels : bool, default=True
        Whether edges are counted by their labels if they have labels.
    normalize : bool, default=False
        Scale histograms to length 1, and with them the dot products.
    n_jobs : int, optional
        Number of threads for the Gram matrix; the result does not depend on it.
    verbose : int, default=0
        1 logs progress.

    See Also
    --------
    relaxwl.WeisfeilerLehman : Counts of identical neighborhoods.

    References
    ----------
    Sugiyama & Borgwardt, Halting in random walk kernels, NeurIPS 2015.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], list("CNC")), (2, [(0, 1)], list("CC"))])
    >>> kernel = VertexEdgeHistogram().fit(graphs)
    >>> kernel.get_feature_names_out().tolist()
    ['node C', 'node N', 'edge C–C', 'edge C–N']
    >>> kernel.transform(graphs).toarray()
    array([[2., 1., 0., 2.],
           [2., 0., 1., 0.]])
    """

    gamma: float | None = None
    edge_labels: bool = True
    normalize: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        if self.gamma is not None:
            check_number("gamma", self.gamma)

    def variations(self) -> list[Settings]:
        """Return the dot product (``gamma=None``) and some γ of the Gaussian kernel.

        Returns
        -------
        list of dict
            Settings that one fit covers.
        """
        return [{"gamma": gamma} for gamma in (None, *GAMMAS)]

    def compare(
        self, x: list[Counts], y: list[Counts] | None = None, settings: Sequence[Settings] = ({},)
    ) -> list[Float64]:
        """Return a Gram matrix for each ``gamma`` of the settings.

        Parameters
        ----------
        x : graphs as :meth:`prepare` returns them
            The graphs.
        y : list of Counts, optional
            Counts of the graphs to compare with; by default ``x``.
        settings : sequence of dict, default=({},)
            Changed parameters, among those of :meth:`variations`.

        Returns
        -------
        list of float64 arrays
            One for each of the settings.
        """
        self._check_settings(settings, "gamma")
        gammas = [setting.get("gamma", self.gamma) for setting in settings]
        products = super().compare(x, y, [{"max_depth": 0}])[0]
        distances = products if gammas == [None] else self._distances(products, x, y)
        return [products if gamma is None else np.exp(-gamma * distances) for gamma in gammas]

    def compare_own(self, x: list[Counts], settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return the similarity of each graph with itself, for each ``gamma`` of the settings.

        Parameters
        ----------
        x : graphs as :meth:`prepare` returns them
            The graphs.
        settings : sequence of dict, default=({},)
            Changed parameters, among those of :meth:`variations`.

        Returns
        -------
        list of float64 arrays (n_graphs,)
            One for each of the settings.
        """
        self._check_settings(settings, "gamma")
        gammas = [setting.get("gamma", self.gamma) for setting in settings]
        own = super().compare_own(x)[0]
        return [own if gamma is None else np.ones_like(own) for gamma in gammas]

    def _distances(self, products: Float64, counts_x: list[Counts], counts_y: list[Counts] | None) -> Float64:
        """Return squared distances of histograms, given their products; unseen labels are included."""
        squares_x = self._squares(counts_x)
        squares_y = squares_x if counts_y is None else self._squares(counts_y)
        distances = np.maximum(squares_x[:, None] + squares_y - 2 * products, 0.0)
        if counts_y is None:
            np.fill_diagonal(distances, 0.0)
        return distances

    def _squares(self, counts: list[Counts]) -> Float64:
        """Return the squared lengths of histograms: with ``normalize`` 1, or 0 for a graph without nodes."""
        squares = self_similarities(counts[0])
        return (squares > 0).astype(np.float64) if self.normalize else squares

    def _fit_counts(self, graphs: GraphCollection) -> list[Counts]:
        report(self.verbose, "histograms of %d graphs", graphs.n_graphs)
        self.node_vocabulary_ = graphs.node_vocabulary
        self.edge_vocabulary_ = graphs.edge_vocabulary if self.edge_labels else None
        self._nodes = SubtreeCounter()
        self._edges: SubtreeCounter | EdgeCounter
        n_labels = n_known_labels(self.node_vocabulary_)
        nodes = self._nodes.fit(graphs, graphs.node_codes, n_labels)
        if self.edge_vocabulary_ is None:
            self._edges = EdgeCounter()
            edges = self._edges.fit(graphs, graphs.node_codes, n_labels)
        else:
            self._edges = SubtreeCounter()
            edges = self._edges.fit(*self._edges_alone(graphs), len(self.edge_vocabulary_))
        return [join_counts([nodes, edges], [1.0, 1.0])]

    def _counts(self, graphs: GraphCollection) -> list[Counts]:
        codes = node_codes_in(graphs, self.node_vocabulary_)
        nodes = self._nodes.count(graphs, codes)
        if self.edge_vocabulary_ is None:
            edges = self._edges.count(graphs, codes)
        else:
            edges = self._edges.count(*self._edges_alone(graphs))
        return [join_counts([nodes, edges], [1.0, 1.0])]

    def _edges_alone(self, graphs: GraphCollection) -> tuple[GraphCollection, Int32]:
        """Return graphs whose nodes are the edges of the given ones, and the edges' label codes."""
        alone = GraphCollection(prefix_sums(graphs.edge_counts), np.zeros(graphs.n_edges + 1, np.int64), [])
        if graphs.n_edges == 0:
            return alone, np.empty(0, np.int32)
        if graphs.edge_codes is None or graphs.edge_vocabulary is None:
            raise ValueError("the kernel was fitted on graphs with edge labels, and these graphs have none")
        once = np.repeat(np.arange(graphs.n_nodes), graphs.degrees) < graphs.indices
        return alone, match_codes(graphs.edge_vocabulary, self.edge_vocabulary_ or ())[graphs.edge_codes[once]]

    def _check_loaded(self) -> None:
        n_labels = n_known_labels(self.node_vocabulary_)
        by_label = self.edge_vocabulary_ is not None
        n_ends = len(self.edge_vocabulary_ or ()) if by_label else n_labels
        kinds = SubtreeCounter, SubtreeCounter if by_label else EdgeCounter
        check_counters([self._nodes, self._edges], [n_labels, n_ends], kinds=kinds)
        check_unary(self, [n_labels + self._edges.n_columns])

    def _column_names(self) -> list[str]:
        names = label_names(self.node_vocabulary_)
        ends = names if self.edge_vocabulary_ is None else label_names(self.edge_vocabulary_)
        nodes = [f"node {name}" for name in names]
        return nodes + [f"edge {self._edges.describe(column, ends)}" for column in range(self._edges.n_columns)]


@dataclass(repr=False, eq=False)
class ShortestPath(FlatFeatures):
    """The shortest-path kernel, as explicit features.

    k(G, G') = number of pairs of (ordered pair of distinct connected nodes of G, the same in G') with equal labels
    at the two ends and equal distances. A feature is (label, label', distance), found by a breadth-first search from
    each node.

    Parameters
    ----------
    node_labels : bool, default=True
        Whether the labels at the ends are used, if there are any; otherwise only distances.
    normalize : bool, default=False
        Scale features and Gram matrix so that every graph has similarity 1 with itself.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    verbose : int, default=0
        1 logs progress.

    See Also
    --------
    relaxwl.WeisfeilerLehman : Counts of identical neighborhoods.

    References
    ----------
    Borgwardt & Kriegel, Shortest-path kernels on graphs, ICDM 2005.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])])
    >>> kernel = ShortestPath().fit(graphs)
    >>> kernel.get_feature_names_out().tolist()
    ['·–1–·', '·–2–·']
    >>> kernel.transform(graphs).toarray()
    array([[4., 2.],
           [6., 0.]])
    """

    node_labels: bool = True
    normalize: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        check_flag("node_labels", self.node_labels)

    def _fit_counts(self, graphs: GraphCollection) -> list[Counts]:
        self.node_vocabulary_ = graphs.node_vocabulary if self.node_labels else None
        report(self.verbose, "shortest paths of %d graphs", graphs.n_graphs)
        self._counter = ShortestPathCounter()
        n_known = n_known_labels(self.node_vocabulary_)
        return [self._counter.fit(graphs, self._codes(graphs), n_known, self.n_jobs)]

    def _counts(self, graphs: GraphCollection) -> list[Counts]:
        return [self._counter.count(graphs, self._codes(graphs), self.n_jobs)]

    def _codes(self, graphs: GraphCollection) -> Int32:
        if not self.node_labels:
            return np.zeros(graphs.n_nodes, np.int32)
        return node_codes_in(graphs, self.node_vocabulary_)

    def _check_loaded(self) -> None:
        require(self.node_labels or self.node_vocabulary_ is None, "labels that do not count must not be kept")
        check_counters([self._counter], [n_known_labels(self.node_vocabulary_)], kinds=(ShortestPathCounter,))
        check_unary(self, [self._counter.n_columns])

    def _column_names(self) -> list[str]:
        names = label_names(self.node_vocabulary_)
        return [self._counter.describe(column, names) for column in range(self._counter.n_columns)]


class WLOptimalAssignment(WeisfeilerLehman):
    """The Weisfeiler-Lehman optimal assignment kernel.

    Nodes of two graphs are matched one to one so that the number of depths at which matched nodes have the same
    label is as large as possible. Labels that differ stay different at greater depth, so they form a tree, and on a
    tree the best matching has a closed form: k(G, G') = Σ_depth Σ_label min(count in G, count in G'), the histogram
    intersection of Weisfeiler-Lehman counts.

    Parameters
    ----------
    max_depth : int, default=5
        Number of refinement steps; all depths from 0 on are used.
    edge_labels : bool, default=False
        Whether edge labels are used in the refinement.
    normalize : bool, default=False
        Scale the Gram matrix so that every graph has similarity 1 with itself.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    verbose : int, default=0
        1 logs progress.

    See Also
    --------
    relaxwl.WeisfeilerLehman : Counts of identical neighborhoods.

    References
    ----------
    Kriege, Giscard & Wilson, On valid optimal assignment kernels, NeurIPS 2016.

    Examples
    --------
    >>> from relaxwl.graphs import GraphCollection
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])])
    >>> WLOptimalAssignment(max_depth=1).fit_kernel_matrix(graphs)
    array([[6., 4.],
           [4., 6.]])
    """

    base = "subtree"
    similarity = "intersection"
    depth_weights = None

    def __init__(
        self,
        max_depth: int = 5,
        edge_labels: bool = False,
        normalize: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.edge_labels = edge_labels
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.verbose = verbose
