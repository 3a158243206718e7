"""VE-Hist: how often each node label and each edge label occurs."""

from collections.abc import Sequence

import numpy as np

from relaxwl._progress import report
from relaxwl.graphs import GraphCollection, match_codes
from relaxwl.graphs.arrays import Float64, Int32, prefix_sums
from relaxwl.kernels.base import Settings
from relaxwl.kernels.baselines._features import FlatFeatures, label_names, n_known_labels, node_codes_in
from relaxwl.kernels.counting import Counts, EdgeCounter, SubtreeCounter, join_counts
from relaxwl.kernels.gram import self_similarities

# The γ that model selection chooses from, beside the dot product.
GAMMAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


class VertexEdgeHistogram(FlatFeatures):
    """Histograms of node labels and of edge labels, side by side.

    k(G, G') = Σ_a n_a(G)·n_a(G') + Σ_e m_e(G)·m_e(G'), where n_a counts the nodes with label a and m_e the edges
    with label e. Edges without labels count by the unordered pair of labels at their ends. On unlabeled graphs this
    leaves the number of nodes and the number of edges: what a structural kernel has to beat. Two numbers need more
    than a linear kernel, so a Gaussian kernel of the same histograms x, exp(−γ·‖x − x'‖²), is offered too.

    Parameters
    ----------
    gamma : float, optional
        The γ > 0 of a Gaussian kernel; None takes the dot product. model selection tries both.
    edge_labels : bool
        Whether edges count by their own labels where they have some.
    normalize : bool
        Scale histograms to length 1, and with them the dot products.
    n_jobs : int, optional
        Number of threads for the Gram matrix; the result does not depend on it.
    verbose : int
        1 logs progress.

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

    def __init__(
        self,
        gamma: float | None = None,
        edge_labels: bool = True,
        normalize: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.gamma = gamma
        self.edge_labels = edge_labels
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        if self.gamma is not None and not 0 < self.gamma < np.inf:
            raise ValueError(f"gamma must be a finite number > 0 or None, not {self.gamma!r}")

    def variations(self) -> list[Settings]:
        """Return the dot product (``gamma=None``) and some γ of the Gaussian kernel."""
        return [{"gamma": gamma} for gamma in (None, *GAMMAS)]

    def compare(
        self, x: list[Counts], y: list[Counts] | None = None, settings: Sequence[Settings] = ({},)
    ) -> list[Float64]:
        """Return a Gram matrix for each ``gamma`` of the settings."""
        self._check_settings(settings, "gamma")
        gammas = [setting.get("gamma", self.gamma) for setting in settings]
        products = super().compare(x, y, [{"max_depth": 0}])[0]
        distances = products if gammas == [None] else self._distances(products, x, y)
        return [products if gamma is None else np.exp(-gamma * distances) for gamma in gammas]

    def compare_own(self, x: list[Counts], settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return the similarity of each graph with itself, for each ``gamma`` of the settings."""
        self._check_settings(settings, "gamma")
        gammas = [setting.get("gamma", self.gamma) for setting in settings]
        own = self._own(x, self.similarity)
        return [own if gamma is None else np.ones_like(own) for gamma in gammas]

    def _distances(self, products: Float64, counts_x: list[Counts], counts_y: list[Counts] | None) -> Float64:
        """Return squared distances of histograms, given their products; what was not met in fitting counts as well."""
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

    def _fit_block(self, graphs: GraphCollection) -> Counts:
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
        return join_counts([nodes, edges], [1.0, 1.0])

    def _block(self, graphs: GraphCollection) -> Counts:
        codes = node_codes_in(graphs, self.node_vocabulary_)
        nodes = self._nodes.count(graphs, codes)
        if self.edge_vocabulary_ is None:
            edges = self._edges.count(graphs, codes)
        else:
            edges = self._edges.count(*self._edges_alone(graphs))
        return join_counts([nodes, edges], [1.0, 1.0])

    def _edges_alone(self, graphs: GraphCollection) -> tuple[GraphCollection, Int32]:
        """Return graphs whose nodes are the edges of the given ones, and the edges' label codes."""
        alone = GraphCollection(prefix_sums(graphs.edge_counts), np.zeros(graphs.n_edges + 1, np.int64), [])
        if graphs.n_edges == 0:
            return alone, np.empty(0, np.int32)
        if graphs.edge_codes is None or graphs.edge_vocabulary is None:
            raise ValueError("the kernel was fitted on graphs with edge labels, and these graphs have none")
        once = np.repeat(np.arange(graphs.n_nodes), graphs.degrees) < graphs.indices
        return alone, match_codes(graphs.edge_vocabulary, self.edge_vocabulary_ or ())[graphs.edge_codes[once]]

    def _column_names(self) -> list[str]:
        names = label_names(self.node_vocabulary_)
        ends = names if self.edge_vocabulary_ is None else label_names(self.edge_vocabulary_)
        nodes = [f"node {name}" for name in names]
        return nodes + [f"edge {self._edges.describe(column, ends)}" for column in range(self._edges.n_columns)]
