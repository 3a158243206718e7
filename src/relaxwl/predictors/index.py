"""Nearest graphs: exact search by Tanimoto or cosine similarity in sparse counts."""

from typing import Any, NamedTuple, Self

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
from relaxwl.kernels.inverted import InvertedCounts

METRICS = ("tanimoto", "cosine")
# Parts added one by one are put together when there are more than this: a query goes through each.
MAX_PARTS = 16


class Neighbours(NamedTuple):
    """Positions of the most similar graphs in the order in which they were added, and how similar they are."""

    indices: Int64
    similarities: Float64


class GraphIndex(BaseEstimator):
    """Finds the most similar among many graphs, exactly.

    The graphs' weighted counts are kept by columns, so that a query touches only what it shares with others.

    Parameters
    ----------
    kernel : WeisfeilerLehman or RelaxedWeisfeilerLehman, optional
        Its counts, with its depth weights, are compared; ``WeisfeilerLehman()`` by default. It is cloned, and fitted
        by :meth:`fit` alone: what the graphs of the fit do not have counts only in the size of later graphs.
    metric : {"tanimoto", "cosine"}
        Σ min / Σ max of the counts, or the cosine between them.

    Attributes
    ----------
    kernel_ : the fitted kernel

    Examples
    --------
    >>> from relaxwl import GraphCollection
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (4, [(0, 1), (1, 2), (2, 3)]), (2, [(0, 1)])])
    >>> index = GraphIndex(WeisfeilerLehman(max_depth=1)).fit(graphs)
    >>> index.query(graphs[1], k=2)
    Neighbours(indices=array([1, 0]), similarities=array([1.  , 0.75]))
    >>> index.add(graphs[[2]]).query(graphs[2], k=2).indices
    array([2, 3])
    """

    def __init__(self, kernel: CountKernel | None = None, metric: str = "tanimoto") -> None:
        self.kernel = kernel
        self.metric = metric

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the kernel to graphs, and keep them; ``y`` is ignored."""
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
        """Keep more graphs, without another fit; they follow those that are there."""
        check_is_fitted(self)
        self._keep(*self._weighted(self.kernel_.prepare(as_collection(X))))
        return self

    def query(self, X: Any, k: int = 5) -> Neighbours:
        """Return the ``k`` most similar graphs, the most similar first; of equals, that which was added first.

        For one graph two vectors of length k (or of the number of graphs, if there are less), for a list of graphs or
        a collection two matrices with a row for each.
        """
        check_is_fitted(self)
        check_integer("k", k, least=1)
        single = isinstance(X, Graph)
        counts, sizes = self._weighted(self.kernel_.prepare(as_collection([X] if single else X)))
        found = [self._nearest(counts[[row]], sizes[row], k) for row in range(len(sizes))]
        width = min(k, len(self))
        indices = np.array([neighbours.indices for neighbours in found], np.int64).reshape(-1, width)
        similarities = np.array([neighbours.similarities for neighbours in found]).reshape(-1, width)
        return Neighbours(indices[0], similarities[0]) if single else Neighbours(indices, similarities)

    def __len__(self) -> int:
        return len(self._sizes)

    def _weighted(self, counts: Any) -> tuple[csr_array, Float64]:
        """Return weighted counts, and what the similarity is divided by: their sums or lengths."""
        return self.kernel_.weighted(counts, "tanimoto" if self.metric == "tanimoto" else "dot")

    def _keep(self, matrix: csr_array, sizes: Float64) -> None:
        if matrix.shape[0]:
            self._parts.append(InvertedCounts(matrix))
            self._sizes = np.concatenate([self._sizes, sizes])
        if len(self._parts) > MAX_PARTS:
            self._parts = [InvertedCounts(csr_array(vstack([part.matrix for part in self._parts], format="csr")))]

    def _nearest(self, row: csr_array, size: float, k: int) -> Neighbours:
        tanimoto = self.metric == "tanimoto"
        parts = [part.products(row, minimum=tanimoto)[0] for part in self._parts]
        shared = np.concatenate([np.zeros(0), *parts])
        divisor = size + self._sizes - shared if tanimoto else np.sqrt(size * self._sizes)
        similarities = np.divide(shared, divisor, out=np.zeros_like(shared), where=divisor > 0)
        best = _largest(similarities, min(k, len(similarities)))
        return Neighbours(best, similarities[best])


def _largest(values: Float64, k: int) -> Int64:
    """Return the places of the k largest values, the largest first, of equals the first."""
    if not k:
        return np.zeros(0, np.int64)
    least = np.partition(values, len(values) - k)[len(values) - k]
    candidates = np.flatnonzero(values >= least)
    order: Int64 = np.lexsort((candidates, -values[candidates]))
    return candidates[order[:k]]
