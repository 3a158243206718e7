"""VE-Hist: how often each vertex label and each edge label occurs."""

import numpy as np

from relaxwl.graphs import GraphCollection, match_codes
from relaxwl.graphs.arrays import Int32, prefix_sums
from relaxwl.kernels.baselines._features import FlatFeatures, label_names, n_known_labels, node_codes_in
from relaxwl.kernels.counting import Counts, EdgeCounter, SubtreeCounter, join_counts


class VertexEdgeHistogram(FlatFeatures):
    """Histograms of vertex labels and of edge labels, side by side.

    k(G, G') = Σ_a n_a(G)·n_a(G') + Σ_e m_e(G)·m_e(G'), where n_a counts the vertices with label a and m_e the edges
    with label e. Edges without labels count by the unordered pair of labels at their ends. On unlabelled graphs this
    leaves the number of vertices and the number of edges: what a structural kernel has to beat.

    Parameters
    ----------
    edge_labels : bool
        Whether edges count by their own labels where they have some.
    normalize : bool
        Scale features and Gram matrix so that every graph has similarity 1 with itself.
    n_jobs : int, optional
        Number of threads for the Gram matrix; the result does not depend on it.
    time_limit : float, optional
        Seconds after which a call ends with :class:`relaxwl.kernels.limits.TimeLimitReached`.

    References
    ----------
    Sugiyama & Borgwardt, Halting in random walk kernels, NeurIPS 2015.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], list("CNC")), (2, [(0, 1)], list("CC"))])
    >>> kernel = VertexEdgeHistogram().fit(graphs)
    >>> kernel.get_feature_names_out().tolist()
    ['vertex C', 'vertex N', 'edge C–C', 'edge C–N']
    >>> kernel.transform(graphs).toarray()
    array([[2., 1., 0., 2.],
           [2., 0., 1., 0.]])
    """

    def __init__(
        self,
        edge_labels: bool = True,
        normalize: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.edge_labels = edge_labels
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.time_limit = time_limit

    def _fit_block(self, graphs: GraphCollection) -> Counts:
        self.node_vocabulary_ = graphs.node_vocabulary
        self.edge_vocabulary_ = graphs.edge_vocabulary if self.edge_labels else None
        self._vertices = SubtreeCounter()
        self._edges: SubtreeCounter | EdgeCounter
        n_labels = n_known_labels(self.node_vocabulary_)
        vertices = self._vertices.fit(graphs, graphs.node_codes, n_labels)
        if self.edge_vocabulary_ is None:
            self._edges = EdgeCounter()
            edges = self._edges.fit(graphs, graphs.node_codes, n_labels)
        else:
            self._edges = SubtreeCounter()
            edges = self._edges.fit(*self._edges_alone(graphs), len(self.edge_vocabulary_))
        return join_counts([vertices, edges], [1.0, 1.0])

    def _block(self, graphs: GraphCollection) -> Counts:
        codes = node_codes_in(graphs, self.node_vocabulary_)
        vertices = self._vertices.count(graphs, codes)
        if self.edge_vocabulary_ is None:
            edges = self._edges.count(graphs, codes)
        else:
            edges = self._edges.count(*self._edges_alone(graphs))
        return join_counts([vertices, edges], [1.0, 1.0])

    def _edges_alone(self, graphs: GraphCollection) -> tuple[GraphCollection, Int32]:
        """Return graphs whose vertices are the edges of the given ones, and the edges' label codes."""
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
        vertices = [f"vertex {name}" for name in names]
        return vertices + [f"edge {self._edges.describe(column, ends)}" for column in range(self._edges.n_columns)]
