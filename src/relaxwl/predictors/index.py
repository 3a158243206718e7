"""Nearest graphs: exact search by Tanimoto or cosine similarity in sparse counts."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from relaxwl._validation import check_choice, check_integer
from relaxwl.graphs import Graph
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.inputs import as_collection
from relaxwl.kernels import WeisfeilerLehman
from relaxwl.kernels.base import CountKernel
from relaxwl.kernels.gram import InvertedCounts, divide_by_lengths, divide_by_unions

METRICS = ("tanimoto", "cosine")
# Maximum number of separately added parts, which are then merged, because a query goes through each.
MAX_PARTS = 16


class GraphIndex(BaseEstimator):
    """Exact nearest-neighbor search among many graphs.

    Weighted counts are stored by column, so that a query reads only the columns that it has in common with other
    graphs.

    Parameters
    ----------
    kernel : WeisfeilerLehman or RelaxedWeisfeilerLehman, optional
        Kernel whose counts, with its depth weights, are compared; by default ``WeisfeilerLehman()``. It is cloned and
        fitted by :meth:`fit` only: features that do not occur in the fitted graphs count only in the size of graphs
        that are added or queried later.
    metric : {"tanimoto", "cosine"}, default="tanimoto"
        Σ min / Σ max of the counts, or the cosine between them.

    Attributes
    ----------
    kernel_ : graph kernel
        The fitted kernel.

    See Also
    --------
    GraphClassifier.kneighbors : Nearest training objects of a fitted predictor.
    KernelDistance : All distances as a matrix.

    Examples
    --------
    >>> from relaxwl import GraphCollection
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (4, [(0, 1), (1, 2), (2, 3)]), (2, [(0, 1)])])
    >>> index = GraphIndex(WeisfeilerLehman(max_depth=1)).fit(graphs)
    >>> index.kneighbors(graphs[:2], n_neighbors=2)
    (array([[0.  , 0.25],
           [0.  , 0.25]]), array([[0, 1],
           [1, 0]]))
    >>> index.add(graphs[[2]]).kneighbors(graphs[2], n_neighbors=2)[1]
    array([[2, 3]])
    """

    def __init__(self, kernel: CountKernel | None = None, metric: str = "tanimoto") -> None:
        self.kernel = kernel
        self.metric = metric

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the kernel to graphs and store them.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            Fitted index.
        """
        check_choice("metric", self.metric, METRICS)
        kernel = WeisfeilerLehman() if self.kernel is None else self.kernel
        if not isinstance(kernel, CountKernel):
            raise TypeError(f"kernel must have counts, as WeisfeilerLehman has, not be a {type(kernel).__name__}")
        self.kernel_: CountKernel = clone(kernel)
        self._parts: list[InvertedCounts] = []
        self._sizes: Float64 = np.zeros(0)
        self._keep(*self._weighted(self.kernel_.fit_prepare(as_collection(X))))
        return self

    def add(self, X: Any) -> Self:
        """Add graphs to the index without fitting the kernel again.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        self : object
            The index with the added graphs.
        """
        check_is_fitted(self)
        self._keep(*self._weighted(self.kernel_.prepare(X)))
        return self

    def kneighbors(self, X: Any, n_neighbors: int = 5) -> tuple[Float64, Int64]:
        """Return the nearest graphs of each query, nearest first; ties keep the order in which graphs were added.

        Parameters
        ----------
        X : Graph, GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs to find neighbors of; a single graph is a list of one.
        n_neighbors : int, default=5
            Number of neighbors of each graph, at most the number of graphs in the index.

        Returns
        -------
        distances : float64 array (n_graphs, n_neighbors)
            1 minus the similarity, ascending.
        indices : int64 array (n_graphs, n_neighbors)
            Positions of the neighbors in the order in which they were added.
        """
        check_is_fitted(self)
        check_integer("n_neighbors", n_neighbors, least=1)
        if n_neighbors > len(self):
            raise ValueError(f"n_neighbors is {n_neighbors}, and the index holds {len(self)} graphs; ask for fewer")
        counts, sizes = self._weighted(self.kernel_.prepare([X] if isinstance(X, Graph) else X))
        distances, indices = np.empty((len(sizes), n_neighbors)), np.empty((len(sizes), n_neighbors), np.int64)
        tanimoto = self.metric == "tanimoto"
        divide = divide_by_unions if tanimoto else divide_by_lengths
        for place in range(len(sizes)):
            row = counts[[place]]
            similarities = np.hstack([part.products(row, minimum=tanimoto) for part in self._parts])
            divide(similarities, sizes[[place]], self._sizes)
            indices[place] = _largest(similarities[0], n_neighbors)
            distances[place] = 1 - similarities[0, indices[place]]
        return np.maximum(distances, 0.0), indices

    def __len__(self) -> int:
        return len(self._sizes)

    def _weighted(self, counts: Any) -> tuple[csr_array, Float64]:
        """Return weighted counts, and their sums or lengths, by which similarities are divided."""
        return self.kernel_.weighted(counts, "tanimoto" if self.metric == "tanimoto" else "dot")

    def _keep(self, matrix: csr_array, sizes: Float64) -> None:
        if matrix.shape[0]:
            self._parts.append(InvertedCounts(matrix))
            self._sizes = np.concatenate([self._sizes, sizes])
        if len(self._parts) > MAX_PARTS:
            self._parts = [InvertedCounts(csr_array(vstack([part.matrix for part in self._parts], format="csr")))]


def _largest(values: Float64, k: int) -> Int64:
    """Return the positions of the k largest values, the largest first; ties go to the first."""
    least = np.partition(values, len(values) - k)[len(values) - k]
    candidates = np.flatnonzero(values >= least)
    order: Int64 = np.lexsort((candidates, -values[candidates]))
    return candidates[order[:k]]
