"""Kernels as steps of scikit-learn pipelines: Gram matrices, distances, and clusters of single nodes."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from relaxwl._validation import GraphEstimator, check_sparse_output
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.inputs import as_collection
from relaxwl.kernels import WeisfeilerLehman
from relaxwl.kernels.base import GraphKernel


class _OnKernel(TransformerMixin, GraphEstimator):
    """Base class of transformers with a kernel, whose parameters are set as ``kernel__max_depth``."""

    kernel: GraphKernel | None
    _default: GraphKernel

    def _new_kernel(self) -> Any:
        if self.kernel is not None and not hasattr(self.kernel, "kernel_matrix"):
            raise TypeError(f"kernel must be a graph kernel of relaxwl, not {self.kernel!r}")
        return clone(self._default if self.kernel is None else self.kernel)


class _AgainstTraining(_OnKernel):
    """A transformer that compares graphs with those that it was fitted on: one column for each of them."""

    def __init__(self, kernel: GraphKernel | None = None) -> None:
        self.kernel = kernel

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the kernel and keep the graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self.kernel_ = self._new_kernel()
        self.graphs_: GraphCollection = as_collection(X)
        self.kernel_.fit(self.graphs_)
        return self

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for each fitted graph: ``graph0``, ``graph1``, ...

        Parameters
        ----------
        input_features : ignored
            Not used; present for API consistency.

        Returns
        -------
        array (n_fitted,) of str
            The names.
        """
        check_is_fitted(self)
        return np.array([f"graph{place}" for place in range(len(self.graphs_))], dtype=object)

    def _fit_matrix(self, X: Any) -> Float64:
        self.kernel_ = self._new_kernel()
        self.graphs_ = as_collection(X)
        return np.asarray(self.kernel_.fit_kernel_matrix(self.graphs_), np.float64)

    def _graphs(self, X: Any) -> GraphCollection:
        """Return graphs, which are directed as in the fit if their format does not determine it."""
        return X if isinstance(X, GraphCollection) else as_collection(X, directed=self.graphs_.directed)

    def _matrix(self, graphs: GraphCollection) -> Float64:
        return np.asarray(self.kernel_.kernel_matrix(graphs, self.graphs_), np.float64)


class KernelMatrix(_AgainstTraining):
    """Transformer that computes Gram matrices, for estimators with ``kernel="precomputed"``.

    Kernels such as WWL have no explicit features, and those for Tanimoto similarity only approximate it. With this step
    all kernels can be used and tuned in a pipeline.

    Parameters
    ----------
    kernel : graph kernel, optional
        Any kernel of relaxwl; it is cloned. ``WeisfeilerLehman()`` by default.

    Attributes
    ----------
    kernel_ : graph kernel
        The fitted kernel.
    graphs_ : GraphCollection
        The fitted graphs, with which other graphs are compared.

    See Also
    --------
    KernelDistance : Distances instead of kernel values.
    relaxwl.WeisfeilerLehman.kernel_matrix : The matrix without a pipeline.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(24, level=1, random_state=0)
    >>> model = make_pipeline(KernelMatrix(WeisfeilerLehman(2, normalize=True)), SVC(kernel="precomputed"))
    >>> grid = {"kernelmatrix__kernel__similarity": ["dot", "intersection", "tanimoto"]}
    >>> search = GridSearchCV(model, grid, cv=2).fit(graphs, y)
    >>> search.predict(graphs).shape
    (24,)
    """

    _default = WeisfeilerLehman()

    def transform(self, X: Any) -> Float64:
        """Return the kernel values between graphs and the fitted graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        float64 array (n_graphs, n_fitted)
            The kernel values.
        """
        check_is_fitted(self)
        return self._matrix(self._graphs(X))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Float64:
        """Fit the kernel and return the Gram matrix of ``X``, as ``fit(X).transform(X)`` in one pass.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : ignored
            Not used; present for API consistency.
        **fit_params : ignored
            Not used; present for API consistency.

        Returns
        -------
        float64 array (n_graphs, n_graphs)
            The kernel values.
        """
        return self._fit_matrix(X)


class KernelDistance(_AgainstTraining):
    """Transformer that computes distances, for estimators with ``metric="precomputed"``: neighbors, t-SNE, clusters.

    The distance of two graphs is that of their features: √(k(G, G) + k(H, H) − 2·k(G, H)). Features that do not occur
    in the fitted graphs count in k(G, G), so that a graph with many of them is far from all fitted graphs.

    Parameters
    ----------
    kernel : graph kernel, optional
        Any kernel of relaxwl; it is cloned. ``WeisfeilerLehman(normalize=True)`` by default.

    Attributes
    ----------
    kernel_ : graph kernel
        The fitted kernel.
    graphs_ : GraphCollection
        The fitted graphs, to which distances are computed.

    See Also
    --------
    KernelMatrix : Kernel values instead of distances.
    GraphIndex : Nearest neighbors without the full matrix.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> graphs = GraphCollection.from_edges(
    ...     [(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)]), (4, [(0, 1), (1, 2)])]
    ... )
    >>> KernelDistance(WeisfeilerLehman(max_depth=1, normalize=True)).fit_transform(graphs).round(2)
    array([[0.  , 0.7 , 0.25],
           [0.7 , 0.  , 0.7 ],
           [0.25, 0.7 , 0.  ]])
    >>> model = make_pipeline(KernelDistance(), KNeighborsClassifier(1, metric="precomputed"))
    >>> model.fit(graphs, ["path", "ring", "path"]).predict(graphs)
    array(['path', 'ring', 'path'], dtype='<U4')
    """

    _default = WeisfeilerLehman(normalize=True)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the kernel and keep the graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        super().fit(X)
        self._own: Float64 = self.kernel_.kernel_diagonal(self.graphs_)
        return self

    def transform(self, X: Any) -> Float64:
        """Return the distances between graphs and the fitted graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        float64 array (n_graphs, n_fitted)
            The distances.
        """
        check_is_fitted(self)
        graphs = self._graphs(X)
        return _distances(self._matrix(graphs), self.kernel_.kernel_diagonal(graphs), self._own)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Float64:
        """Fit the kernel and return the distances between the graphs of ``X``, with zeros on the diagonal.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : ignored
            Not used; present for API consistency.
        **fit_params : ignored
            Not used; present for API consistency.

        Returns
        -------
        float64 array (n_graphs, n_graphs)
            The distances.
        """
        matrix = self._fit_matrix(X)
        self._own = np.diagonal(matrix).copy()
        distances = _distances(matrix, self._own, self._own)
        np.fill_diagonal(distances, 0.0)  # exact zeros in spite of rounding
        return distances


def _distances(matrix: Float64, own_x: Float64, own_y: Float64) -> Float64:
    squared = own_x[:, None] + own_y - 2 * matrix
    return np.sqrt(np.maximum(squared, 0.0))


class NodeClusters(_OnKernel):
    """Transformer that assigns nodes to clusters of similar neighborhoods, such as roles in a network.

    Rows are nodes, not graphs: all nodes of all graphs, in order. The number of columns that two nodes share is the
    number of depths and partitions at which their neighborhoods are in the same cluster. A clustering or a linear model
    on these rows finds nodes with similar roles, whether or not they are connected.

    Parameters
    ----------
    kernel : graph kernel with ``node_clusters``, optional
        ``WeisfeilerLehman`` or ``RelaxedWeisfeilerLehman``; it is cloned. ``WeisfeilerLehman(2)`` by default.
    sparse_output : bool, default=True
        Whether to return a sparse array; False suits ``set_output(transform="pandas")``.

    Attributes
    ----------
    kernel_ : graph kernel
        The fitted kernel.
    n_clusters_ : list of list of int
        Number of clusters, by partition and depth.

    See Also
    --------
    relaxwl.WeisfeilerLehman.node_clusters : The clusters as arrays.
    KernelMatrix : A transformer whose rows are graphs.

    Examples
    --------
    >>> import networkx as nx
    >>> roles = NodeClusters(WeisfeilerLehman(max_depth=1)).fit_transform(nx.star_graph(3))
    >>> roles.toarray()
    array([[1., 0., 1.],
           [1., 1., 0.],
           [1., 1., 0.],
           [1., 1., 0.]])
    """

    _default = WeisfeilerLehman(2)

    def __init__(self, kernel: GraphKernel | None = None, sparse_output: bool = True) -> None:
        self.kernel = kernel
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the clusters of the nodes of one or several graphs.

        Parameters
        ----------
        X : a graph, or as in :func:`relaxwl.as_collection`
            One graph, or several.
        y : ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._fit_clusters(X)
        return self

    def transform(self, X: Any) -> Any:
        """Return one row for each node: 1 in the column of each cluster that it belongs to.

        A neighborhood that belongs to no fitted cluster has no column.

        Parameters
        ----------
        X : a graph, or as in :func:`relaxwl.as_collection`
            One graph, or several.

        Returns
        -------
        csr_array or float64 array (n_nodes, n_clusters)
            1 where a node belongs to a cluster, else 0.
        """
        check_is_fitted(self)
        return self._columns(self.kernel_.node_clusters(_network(X, self.kernel_.directed_)))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit and return one row for each node, as ``fit(X).transform(X)``.

        Parameters
        ----------
        X : a graph, or as in :func:`relaxwl.as_collection`
            One graph, or several.
        y : ignored
            Not used; present for API consistency.
        **fit_params : ignored
            Not used; present for API consistency.

        Returns
        -------
        csr_array or float64 array (n_nodes, n_clusters)
            1 where a node belongs to a cluster, else 0.
        """
        return self._columns(self._fit_clusters(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for each column: its partition, depth and cluster.

        Parameters
        ----------
        input_features : ignored
            Not used; present for API consistency.

        Returns
        -------
        array (n_clusters,) of str
            The names.
        """
        check_is_fitted(self)
        names = [
            f"depth {depth}, partition {partition}: cluster {cluster}"
            for partition, by_depth in enumerate(self.n_clusters_)
            for depth, n_clusters in enumerate(by_depth)
            for cluster in range(n_clusters)
        ]
        return np.array(names, dtype=object)

    def _fit_clusters(self, X: Any) -> list[list[Int32]]:
        self.kernel_ = self._new_kernel()
        if not hasattr(self.kernel_, "node_clusters"):
            raise TypeError(f"kernel must have node_clusters, and {type(self.kernel_).__name__} has none")
        graphs = _network(X)
        clusters: list[list[Int32]] = self.kernel_.fit(graphs).node_clusters(graphs)
        self.n_clusters_ = [[int(ids.max(initial=-1)) + 1 for ids in by_depth] for by_depth in clusters]
        return clusters

    def _columns(self, clusters: list[list[Int32]]) -> Any:
        blocks = [
            _indicators(ids, n_clusters)
            for by_depth, sizes in zip(clusters, self.n_clusters_, strict=True)
            for ids, n_clusters in zip(by_depth, sizes, strict=True)
        ]
        columns = csr_array(hstack(blocks, format="csr"))
        check_sparse_output(self)
        return columns if self.sparse_output else columns.toarray()


def _network(X: Any, directed: bool | None = None) -> GraphCollection:
    """Return a collection, also of a single graph; ``directed`` is used if the format does not determine it."""
    if isinstance(X, GraphCollection):
        return X
    try:
        return as_collection(X, directed=directed)
    except TypeError:
        return as_collection([X], directed=directed)


def _indicators(ids: Int32, n_clusters: int) -> csr_array:
    """Return a 1 in the column of each node's cluster, and an empty row if the cluster was not seen in fitting."""
    known = ids < n_clusters
    indptr = np.concatenate([[0], np.cumsum(known)])
    return csr_array((np.ones(int(known.sum())), ids[known], indptr), shape=(len(ids), n_clusters))
