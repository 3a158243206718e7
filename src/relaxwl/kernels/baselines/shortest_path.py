"""SP: which labels lie at which distance from each other."""

import logging

import numpy as np

from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int32, Int64, prefix_sums
from relaxwl.kernels.baselines._features import FlatFeatures, label_names, n_known_labels, node_codes_in
from relaxwl.kernels.counting import Counts, ShortestPathCounter
from relaxwl.kernels.limits import watched
from relaxwl.unfolding.refine import graph_spans

logger = logging.getLogger(__name__)

# Vertices between two looks at the clock: several chunks of the counter, at most some seconds of work.
WATCHED_NODES = 1 << 14


class ShortestPath(FlatFeatures):
    """The shortest-path kernel, as explicit features.

    k(G, G') = number of pairs of (ordered pair of distinct connected vertices of G, the same in G') with equal labels
    at the two ends and equal distances. A feature is (label, label', distance), found by a breadth-first search from
    each vertex.

    Parameters
    ----------
    node_labels : bool
        Whether the labels at the ends count, where there are some; else distances alone.
    normalize : bool
        Scale features and Gram matrix so that every graph has similarity 1 with itself.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    time_limit : float, optional
        Seconds after which a call ends with :class:`relaxwl.kernels.limits.TimeLimitReached`.

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
        time_limit: float | None = None,
    ) -> None:
        self.node_labels = node_labels
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.time_limit = time_limit

    def _fit_block(self, graphs: GraphCollection) -> Counts:
        self.node_vocabulary_ = graphs.node_vocabulary if self.node_labels else None
        self._counter = _WatchedPathCounter()
        return self._counter.fit(graphs, self._codes(graphs), n_known_labels(self.node_vocabulary_), self.n_jobs)

    def _block(self, graphs: GraphCollection) -> Counts:
        return self._counter.count(graphs, self._codes(graphs), self.n_jobs)

    def _codes(self, graphs: GraphCollection) -> Int32:
        if not self.node_labels:
            return np.zeros(graphs.n_nodes, np.int32)
        return node_codes_in(graphs, self.node_vocabulary_)

    def _column_names(self) -> list[str]:
        names = label_names(self.node_vocabulary_)
        return [self._counter.describe(column, names) for column in range(self._counter.n_columns)]


class _WatchedPathCounter(ShortestPathCounter):
    """Counts a part of the graphs at a time, so that the clock can be looked at in between."""

    def _runs(self, graphs: GraphCollection, ids: Int32, n_jobs: int | None) -> tuple[Int64, Int64, Int32]:
        parts = []
        for start, stop in watched(graph_spans(graphs, WATCHED_NODES), "shortest paths", logger):
            nodes = slice(int(graphs.offsets[start]), int(graphs.offsets[stop]))
            parts.append(super()._runs(graphs[start:stop], ids[nodes], n_jobs))
        lengths = np.concatenate([np.diff(indptr) for indptr, _, _ in parts])
        return prefix_sums(lengths), np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])
