"""SP: which labels lie at which distance from each other."""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array, vstack

from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int32, Int64
from relaxwl.kernels.baselines._features import FlatFeatures, label_names, n_known_labels, node_codes_in
from relaxwl.kernels.counting import Counts, ShortestPathCounter
from relaxwl.kernels.limits import watched
from relaxwl.unfolding.rows import graph_spans

# Nodes between two looks at the clock: several chunks of the counter, at most some seconds of work.
WATCHED_NODES = 1 << 14


class ShortestPath(FlatFeatures):
    """The shortest-path kernel, as explicit features.

    k(G, G') = number of pairs of (ordered pair of distinct connected nodes of G, the same in G') with equal labels
    at the two ends and equal distances. A feature is (label, label', distance), found by a breadth-first search from
    each node.

    Parameters
    ----------
    node_labels : bool
        Whether the labels at the ends count, where there are some; else distances alone.
    normalize : bool
        Scale features and Gram matrix so that every graph has similarity 1 with itself.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    verbose : int
        1 logs progress every few seconds.

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

    def __init__(
        self,
        node_labels: bool = True,
        normalize: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.node_labels = node_labels
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_block(self, graphs: GraphCollection) -> Counts:
        self.node_vocabulary_ = graphs.node_vocabulary if self.node_labels else None
        n_known = n_known_labels(self.node_vocabulary_)
        parts = []
        for part, codes in self._parts(graphs):
            counter = ShortestPathCounter()
            parts.append((counter.fit(part, codes, n_known, self.n_jobs).matrix, counter.keys))
        self._counter = ShortestPathCounter()
        self._counter.n_known = n_known
        self._counter.keys = np.unique(np.concatenate([keys for _, keys in parts]))
        matrix = vstack([self._with_all_columns(*part) for part in parts], format="csr")
        return Counts(csr_array(matrix), np.zeros(len(graphs)), np.zeros(len(graphs)))

    def _block(self, graphs: GraphCollection) -> Counts:
        parts = [self._counter.count(part, codes, self.n_jobs) for part, codes in self._parts(graphs)]
        return Counts(
            csr_array(vstack([part.matrix for part in parts], format="csr")),
            np.concatenate([part.unknown_squares for part in parts]),
            np.concatenate([part.unknown_sums for part in parts]),
        )

    def _parts(self, graphs: GraphCollection) -> Iterator[tuple[GraphCollection, Int32]]:
        """Yield some graphs at a time with their nodes' codes, so that the clock can be looked at in between."""
        codes = self._codes(graphs)
        for start, stop in watched(graph_spans(graphs, WATCHED_NODES), "shortest paths", self.verbose):
            yield graphs[start:stop], codes[int(graphs.offsets[start]) : int(graphs.offsets[stop])]

    def _with_all_columns(self, matrix: csr_array, keys: Int64) -> csr_array:
        """Move the columns of one part, which stand for ``keys``, to their places among those of all parts."""
        places = np.searchsorted(self._counter.keys, keys)
        return csr_array(
            (matrix.data, places[matrix.indices], matrix.indptr), (matrix.shape[0], self._counter.n_columns)
        )

    def _codes(self, graphs: GraphCollection) -> Int32:
        if not self.node_labels:
            return np.zeros(graphs.n_nodes, np.int32)
        return node_codes_in(graphs, self.node_vocabulary_)

    def _column_names(self) -> list[str]:
        names = label_names(self.node_vocabulary_)
        return [self._counter.describe(column, names) for column in range(self._counter.n_columns)]
