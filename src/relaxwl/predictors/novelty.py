"""Novelty of graphs, from distances of neighborhoods to the centers of their clusters."""

from typing import Any, Self

import numpy as np

from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.kernels import RelaxedWeisfeilerLehman
from relaxwl.kernels.levels import RowPlacement

# Number of partitions in use: distances to the centers of more partitions add little information.
N_CHAINS = 4
# Share of the fitted graphs with a novelty below 1.
QUANTILE = 0.95


class Novelty:
    """Compares the mean distance of a graph's neighborhoods to their clusters with that of the fitted graphs.

    The kernel is fitted and relaxed; distances of each depth and partition are divided by their mean over the fitted
    graphs' nodes.
    """

    def __init__(self, kernel: RelaxedWeisfeilerLehman) -> None:
        self.kernel = kernel

    def to_state(self) -> dict[str, Any]:
        """Return the state for a model file."""
        return {"kernel": self.kernel, "units": self.units_, "usual": self.usual_}

    @classmethod
    def from_state(cls, kernel: Any, units: Any, usual: float) -> "Novelty":
        """Restore a model from the result of :meth:`to_state`."""
        if not isinstance(kernel, RelaxedWeisfeilerLehman) or not isinstance(units, np.ndarray):
            raise ValueError("novelty needs a relaxed kernel and units")
        novelty = cls(kernel)
        novelty.units_, novelty.usual_ = units, float(usual)
        return novelty

    def fit(self, graphs: GraphCollection) -> Self:
        """Measure the graphs that the kernel was fitted on, or a sample of them."""
        by_node = self._fitted_distances(graphs)
        means = by_node.mean(axis=1) if by_node.shape[1] else np.ones(len(by_node))
        self.units_: Float64 = np.where(means > 0, means, 1.0)
        own = self._mean_of_graphs(graphs, by_node)
        self.usual_ = float(np.quantile(own, QUANTILE)) if len(own) else 1.0
        return self

    def score(self, graphs: GraphCollection) -> Float64:
        """Return 1 for graphs at the 95 % quantile of the fitted graphs, and proportional values for others."""
        return self._mean_of_graphs(graphs, self._distances(graphs)) / (self.usual_ if self.usual_ > 0 else 1.0)

    def _fitted_distances(self, graphs: GraphCollection) -> Float64:
        """Return the result of :meth:`_distances` for the training graphs, from the state of the fit if possible.

        Trees are refined again, which is cheap, but not assigned: their clusters and distances are still known.
        """
        encoded, rows = self.kernel._encoder(graphs), []
        for levels in self.kernel.partitions_[:N_CHAINS]:
            ids, n_below = np.empty(0, np.int32), 0
            for partition in levels:
                members = partition.members_
                if not isinstance(members, RowPlacement) or not self.kernel.approximate:
                    return self._distances(graphs)  # they were already summarized
                if members.number.sum() != graphs.n_nodes:
                    return self._distances(graphs)  # a sample of the graphs with other distinct trees
                _, row_of_node = encoded.refined(partition.depth, ids, n_below, self.kernel.n_jobs)
                ids, n_below = members.labels[row_of_node], len(partition)
                rows += [members.distances[row_of_node]] if partition.depth else []
        return np.array(rows).reshape(len(rows), graphs.n_nodes)

    def _distances(self, graphs: GraphCollection) -> Float64:
        """Return the distances (n_chains · n_depths, n_nodes) of nodes' trees to their centers."""
        rows = [
            distances[level.row_of_node]
            for level in sorted(self.kernel.levels(graphs, N_CHAINS), key=lambda level: level.partition)
            if level.depth > 0 and (distances := level.row_distances()) is not None
        ]
        return np.array(rows).reshape(len(rows), graphs.n_nodes)

    def _mean_of_graphs(self, graphs: GraphCollection, by_node: Float64) -> Float64:
        values = (by_node / self.units_[:, None]).mean(axis=0) if len(by_node) else np.zeros(graphs.n_nodes)
        sums = np.bincount(graphs.graph_of_node, values, minlength=len(graphs))
        return np.asarray(sums / np.maximum(graphs.node_counts, 1), np.float64)
