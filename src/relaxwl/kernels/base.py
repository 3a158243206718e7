"""Base classes of graph kernels: counts at every depth become features, Gram matrices and names."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from relaxwl._execution import check_time, spans
from relaxwl._progress import ProgressBar
from relaxwl._validation import GraphEstimator, check_choice, check_flag, check_integer, check_sparse_output, warn_user
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.inputs import as_collection
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.gram import gram_matrices, joined_depths, own_similarities, self_similarities
from relaxwl.kernels.persistence import load_model, save_model
from relaxwl.kernels.unary import step_names, unary_features, unary_steps, weighted_features

# Number of graphs that are compared at a time to find the similarity of each with itself.
OWN_AT_ONCE = 32
# Parameters by name.
Settings = dict[str, Any]

BASES = ("subtree", "edge", "shortest-path")
SIMILARITIES = ("dot", "intersection", "tanimoto")


class GraphKernel(GraphEstimator):
    """Base class of all graph kernels: ``fit`` and ``kernel_matrix``.

    ``kernel_matrix`` between fitted and unseen graphs suits scikit-learn's ``SVC(kernel="precomputed")``. Model
    selection uses two steps, so that one fit serves all settings: :meth:`prepare` (or :meth:`fit_prepare`) returns a
    representation of the graphs, and :meth:`compare` returns a Gram matrix for each setting that the fit covers, such
    as the depths of a Weisfeiler-Lehman kernel or the λ of a Laplacian kernel.

    See Also
    --------
    CountKernel : Kernels with explicit features.
    """

    takes_directed: bool = False
    directed_: bool = False  # for models in old files, which were fitted to undirected graphs

    def uses(self) -> frozenset[str]:
        """Return which labels and attributes of graphs are used, such as ``edge_labels``; others give a warning.

        Returns
        -------
        frozenset of str
            Names of parts of graphs, such as "node_labels".
        """
        return frozenset({"node_labels"})

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the kernel.

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
        raise NotImplementedError

    def kernel_matrix(self, X: Any, Y: Any = None) -> Float64:
        """Return the Gram matrix between two collections of graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        Y : as ``X``, optional
            The graphs to compare with; by default those of ``X``.

        Returns
        -------
        float64 array (n_graphs of X, n_graphs of Y)
            The kernel values.
        """
        raise NotImplementedError

    def fit_kernel_matrix(self, X: Any) -> Float64:
        """Fit the kernel and return the Gram matrix of ``X``, as ``fit(X).kernel_matrix(X)`` in one pass.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        float64 array (n_graphs, n_graphs)
            The kernel values.
        """
        return self.compare(self.fit_prepare(X))[0]

    def variations(self) -> list[Settings]:
        """Return the settings that one fit covers, for :meth:`compare`.

        Returns
        -------
        list of dict
            Settings that one fit covers.
        """
        return [{}]

    def prepare(self, X: Any) -> Any:
        """Return the representation of graphs for :meth:`compare`; its type depends on the kernel.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        graphs
            Representation for :meth:`compare`.
        """
        return check_graphs(self, X)

    def fit_prepare(self, X: Any) -> Any:
        """Fit the kernel and return the result of :meth:`prepare` for ``X``, in one pass.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        graphs
            Representation for :meth:`compare`.
        """
        graphs = as_collection(X)
        return self.fit(graphs).prepare(graphs)

    def compare(self, x: Any, y: Any = None, settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return a Gram matrix for each of the settings, between graphs as :meth:`prepare` returns them.

        Parameters
        ----------
        x : result of :meth:`prepare` or :meth:`fit_prepare`
            The graphs.
        y : result of :meth:`prepare` or :meth:`fit_prepare`, optional
            Other graphs; by default those of ``x``.
        settings : sequence of dict, default=({},)
            Changed parameters, among those of :meth:`variations`; ``{}`` changes nothing.

        Returns
        -------
        list of float64 arrays
            One for each of the settings.
        """
        self._check_settings(settings)
        return [self.kernel_matrix(x, y) for _ in settings]

    def compare_own(self, x: Any, settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return, for each of the settings, the similarity of each graph with itself.

        Features that do not occur in the fitted graphs are included, as in the norm of a graph.

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
        parts = [self.compare(x[start:stop], None, settings) for start, stop in spans(len(x), OWN_AT_ONCE)]
        return [
            np.concatenate([np.zeros(0), *(part[place].diagonal() for part in parts)]) for place in range(len(settings))
        ]

    def kernel_diagonal(self, X: Any) -> Float64:
        """Return the similarity of each graph with itself, including features unseen in fitting.

        This is the diagonal of the Gram matrix of the fitted graphs. In the matrix of new graphs, features
        unseen in fitting are not compared with each other, so that its diagonal may be smaller, also normalized.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        float64 array (n_graphs,)
            The similarities.
        """
        return self.compare_own(self.prepare(X))[0]

    def _check_settings(self, settings: Sequence[Settings], *varied: str) -> None:
        """Raise an error for settings that need a separate fit."""
        for name in dict.fromkeys(name for setting in settings for name in setting):
            if name not in varied:
                raise ValueError(f"{name} cannot change after the fit of {type(self).__name__}; fit a kernel for each")


class CountKernel(TransformerMixin, GraphKernel):
    """A graph kernel with explicit counts for every depth.

    Subclasses say how graphs become counts (``_fit_counts`` and ``_counts``, one :class:`Counts` a depth) and what the
    columns are called (``_column_names``); everything that users call is here. ``unary_`` holds, for each depth, the
    steps of the unary code (see :mod:`relaxwl.kernels.unary`), which depend on the counts of the fit.

    See Also
    --------
    relaxwl.WeisfeilerLehman : An example.
    """

    unary_: list[tuple[Int64, Float64]]

    max_depth: int
    base: str
    similarity: str
    depth_weights: Sequence[float] | None
    normalize: bool | str
    n_jobs: int | None
    verbose: int = 0
    edge_labels: bool = False
    sparse_output: bool = True

    def uses(self) -> frozenset[str]:
        """Return which labels and attributes of graphs are used.

        Returns
        -------
        frozenset of str
            Names of parts of graphs, such as "node_labels".
        """
        return super().uses() | ({"edge_labels"} if self.edge_labels else set())

    def _fit_counts(self, graphs: GraphCollection) -> list[Counts]:
        """Fit to graphs and return their counts at each depth."""
        raise NotImplementedError

    def _counts(self, graphs: GraphCollection) -> list[Counts]:
        """Return the counts of other graphs at each depth."""
        raise NotImplementedError

    def _column_names(self) -> list[str]:
        """Return what each column counts, depth by depth."""
        raise NotImplementedError

    def _validate_parameters(self) -> None:
        check_integer("max_depth", self.max_depth)
        check_choice("base", self.base, BASES)
        check_choice("similarity", self.similarity, SIMILARITIES)
        if self.normalize != "depth" and not isinstance(self.normalize, (bool, np.bool_)):
            raise ValueError(f"normalize must be True, False or 'depth', not {self.normalize!r}")
        if not isinstance(self.verbose, (bool, int, np.integer)):
            raise ValueError(f"verbose must be an integer, 0 for silence, not {self.verbose!r}")
        check_flag("edge_labels", self.edge_labels)
        check_flag("sparse_output", self.sparse_output)
        weights_of_depths(self, self.max_depth + 1)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the kernel to graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts, or ShardedCollection
            The graphs. Shards are processed on the current Dask client if there is one; the model is the same.
        y : ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        if hasattr(X, "fit_kernel"):
            self._validate_parameters()
            self.__dict__.pop("unary_", None)  # of an earlier fit
            X.fit_kernel(self)
        else:
            self.fit_prepare(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit the kernel and return the features of ``X``, as ``fit(X).transform(X)`` in one pass.

        Parameters
        ----------
        X : as in :meth:`fit`
            The graphs.
        y, **fit_params : ignored
            Not used; present for API consistency.

        Returns
        -------
        csr_array (n_graphs, n_features) of float64
            As :meth:`transform` returns it.
        """
        if hasattr(X, "fit_kernel"):
            return self.fit(X).transform(X)
        features = explicit_features(self, self.fit_prepare(X))
        check_sparse_output(self)
        return features if self.sparse_output else features.toarray()

    def transform(self, X: Any) -> Any:
        """Return explicit features of graphs, for linear models.

        With ``similarity="dot"`` the features are weighted counts, with "intersection" a unary code of the counts (see
        :meth:`unary_features`); their dot products are the kernel values. Tanimoto similarity Σ min / Σ max is no dot
        product of sparse features: with it the features are the unary code scaled to length 1. Their dot products
        c = Σ min / √(Σx · Σy) grow with it; where the sums of two graphs are equal it is c / (2 − c).

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts, or ShardedCollection
            The graphs.

        Returns
        -------
        csr_array (n_graphs, n_features) of float64
            With ``normalize`` rows (or their parts of each depth) have length 1, where features unseen in fitting count
            in the length. With ``sparse_output=False`` the array is dense, or a table after
            ``set_output(transform="pandas")``. Features of shards are a lazy Dask array with one sparse block per
            shard.
        """
        check_is_fitted(self)
        if hasattr(X, "transform_by"):
            return X.transform_by(self)
        features = explicit_features(self, self.prepare(X))
        check_sparse_output(self)
        return features if self.sparse_output else features.toarray()

    def weighted_counts(self, X: Any) -> csr_array:
        """Return weighted counts, one column per cluster, independently of ``similarity``.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        csr_array (n_graphs, n_clusters) of float64
            Counts times √α of their depth; with ``normalize`` divided by the length of the row, or of each depth.
        """
        counts = self.prepare(X)
        return weighted_features(counts, weights_of_depths(self, len(counts)), self.normalize)

    def unary_features(self, counts: list[Counts]) -> csr_array:
        """Return explicit features of the intersection kernel, independently of ``similarity``.

        A cluster with the largest training count m has the columns 1, ..., m, of which a graph with count c fills the
        first c with √α of the depth; if counts are large (or not integers) there is a column for each distinct training
        count instead, which a count between two steps fills in proportion. So the dot product with the features of any
        training graph is Σ α·min, normalized according to ``normalize``. Counts above the training counts, and features
        unseen in fitting, count only in the norm.

        Parameters
        ----------
        counts : list of Counts
            Raw counts at each depth, from :meth:`prepare` or :meth:`fit_prepare`.

        Returns
        -------
        csr_array (n_graphs, n_features) of float64
            The features.
        """
        check_is_fitted(self)
        return unary_features(counts, fitted_steps(self), weights_of_depths(self, len(counts)), self.normalize)

    def kernel_matrix(self, X: Any, Y: Any = None) -> Float64:
        """Return the Gram matrix between ``X`` and ``Y`` (by default ``X`` itself) as a dense array.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        Y : as ``X``, optional
            The graphs to compare with; by default those of ``X``.

        Returns
        -------
        float64 array (n_graphs of X, n_graphs of Y)
            The kernel values.
        """
        return self.compare(self.prepare(X), None if Y is None else self.prepare(Y))[0]

    def variations(self) -> list[Settings]:
        """Return the depths from 0 to ``max_depth``; ``similarity`` may vary too.

        Returns
        -------
        list of dict
            Settings that one fit covers.
        """
        return [{"max_depth": depth} for depth in range(self.max_depth + 1)]

    def prepare(self, X: Any) -> list[Counts]:
        """Return raw counts, for :meth:`compare` and :meth:`unary_features`.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        list of Counts
            For each depth a sparse matrix (graphs × clusters) and, for each graph, the sum and the sum of squares of
            the counts of features unseen in fitting.
        """
        check_is_fitted(self)
        return self._counts(check_graphs(self, X))

    def fit_prepare(self, X: Any) -> list[Counts]:
        """Fit the kernel and return the result of :meth:`prepare` for ``X``, in one pass.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        list of Counts
            One for each depth.
        """
        self._validate_parameters()
        graphs = check_training_graphs(self, X)
        counts = self._fit_counts(graphs)
        self.unary_ = [unary_steps(part.matrix.indices, part.matrix.data, part.matrix.shape[1]) for part in counts]
        self.n_graphs_in_ = len(graphs)
        return counts

    def compare(
        self, x: list[Counts], y: list[Counts] | None = None, settings: Sequence[Settings] = ({},)
    ) -> list[Float64]:
        """Return a Gram matrix for each of the settings ``max_depth`` and ``similarity``.

        Parameters
        ----------
        x : list of Counts
            Counts of the graphs, as :meth:`prepare` returns them.
        y : list of Counts, optional
            Counts of the graphs to compare with; by default ``x``.
        settings : sequence of dict, default=({},)
            Changed parameters, among those of :meth:`variations`.

        Returns
        -------
        list of float64 arrays
            One for each of the settings.
        """
        self._check_settings(settings, "max_depth", "similarity")
        last = len(x) - 1
        wanted = [(setting.get("similarity", self.similarity), setting.get("max_depth", last)) for setting in settings]
        for similarity, depth in wanted:
            check_choice("similarity", similarity, SIMILARITIES)
            if not 0 <= depth <= last:
                raise ValueError(f"the kernel was fitted to depth {last}; {depth} needs another fit")
        return gram_matrices(x, y, wanted, weights_of_depths(self, len(x)), self.normalize, self.n_jobs)

    def compare_own(self, x: list[Counts], settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return the similarity of each graph with itself, for ``max_depth`` and ``similarity`` of each setting.

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
        self._check_settings(settings, "max_depth", "similarity")
        weights, found = weights_of_depths(self, len(x)), []
        for setting in settings:
            n_depths, similarity = setting.get("max_depth", len(x) - 1) + 1, setting.get("similarity", self.similarity)
            found.append(own_similarities(x[:n_depths], weights[:n_depths], similarity, self.normalize))
        return found

    def weighted(self, counts: list[Counts], similarity: str) -> tuple[csr_array, Float64]:
        """Return weighted counts of all depths for a similarity, and the similarity of each graph with itself.

        The latter are Σ counts for minima and Σ counts² for the dot product, including features unseen in fitting.

        Parameters
        ----------
        counts : list of Counts
            Counts at each depth, as :meth:`prepare` returns them.
        similarity : {"dot", "intersection", "tanimoto"}
            The similarity.

        Returns
        -------
        matrix : csr_array (n_graphs, n_columns)
            Weighted counts.
        own : float64 array (n_graphs,)
            Similarity of each graph with itself.
        """
        minimum = check_choice("similarity", similarity, SIMILARITIES) != "dot"
        joined = joined_depths(counts, weights_of_depths(self, len(counts)), minimum)
        return joined.matrix, self_similarities(joined, minimum)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features of :meth:`transform`: depth and counted tree or cluster.

        Parameters
        ----------
        input_features : ignored
            Not used; present for API consistency.

        Returns
        -------
        array (n_features,) of str
            The names.
        """
        check_is_fitted(self)
        names = self._column_names()
        return np.array(names if self.similarity == "dot" else step_names(names, fitted_steps(self)), dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted kernel to a file of arrays and JSON, without pickle; see :meth:`load`.

        Parameters
        ----------
        path : path
            The file; an existing file is replaced when the new one is complete.
        """
        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a kernel of this class, or of a derived class, from a file written by :meth:`save`.

        No content of the file is executed. ``relaxwl.kernels.load_kernel`` loads any kernel.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        fitted kernel
            A kernel with the same features.
        """
        # Not imported above, because the registry imports this module, and kernel classes are needed only now.
        from relaxwl.kernels.registry import import_kernels

        import_kernels()
        kinds = [kind for kind in (cls, *descendants(cls)) if kind._column_names is not CountKernel._column_names]
        kernel: Self = load_model(path, {kind.__name__: kind for kind in kinds})
        return kernel


def descendants(kind: Any) -> list[Any]:
    """Return all classes derived from a class."""
    return [found for child in kind.__subclasses__() for found in (child, *descendants(child))]


def weights_of_depths(kernel: CountKernel, n_depths: int) -> Float64:
    """Return the weight of each depth, all 1 by default."""
    if kernel.depth_weights is None:
        return np.ones(n_depths)
    weights = np.asarray(kernel.depth_weights, np.float64)
    if weights.shape != (n_depths,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            f"depth_weights must be {n_depths} finite numbers >= 0, one for each depth from 0 to {n_depths - 1}, "
            f"not {kernel.depth_weights!r}"
        )
    return weights


def explicit_features(kernel: CountKernel, counts: list[Counts]) -> csr_array:
    """Return the features of linear models, given raw counts; see :meth:`CountKernel.transform`."""
    weights = weights_of_depths(kernel, len(counts))
    if kernel.similarity == "dot":
        return weighted_features(counts, weights, kernel.normalize)
    # A graph has the Tanimoto similarity 1 with itself even if the kernel does not normalize.
    scaled = kernel.normalize or kernel.similarity == "tanimoto"
    return unary_features(counts, fitted_steps(kernel), weights, scaled)


def fitted_steps(kernel: CountKernel) -> list[tuple[Int64, Float64]]:
    """Return the steps of the unary code of each depth."""
    if not hasattr(kernel, "unary_"):
        raise ValueError(
            "the kernel was fitted to shards without the counts that unary features need; fit it with "
            "similarity='intersection' or 'tanimoto'"
        )
    return kernel.unary_


# Labels and attributes that a kernel may ignore, and how it can use them.
ADVICE = {
    "edge_labels": "edge_labels=True uses them",
    "node_attributes": "ContinuousWeisfeilerLehman() uses them, or costs made by EditCost.from_attributes()",
    "edge_attributes": "RelaxedWeisfeilerLehman(cost=EditCost.from_attributes(edge_metric='euclidean')) uses them",
}


def check_training_graphs(kernel: GraphKernel, X: Any) -> GraphCollection:
    """Return the graphs of a fit; warn of labels and attributes that are not used, and store their type."""
    graphs = as_collection(X)
    if graphs.directed and not kernel.takes_directed:
        raise ValueError(
            f"{type(kernel).__name__} is not defined for directed graphs; "
            "relaxwl.as_collection(graphs, symmetrize=True) ignores directions"
        )
    # Users who made a collection know its edge labels, and that these are used only on request.
    given = graphs.given - {"edge_labels"} if isinstance(X, GraphCollection) else graphs.given
    unused = [part for part in ADVICE if part in given and part not in kernel.uses()]
    if unused:
        words = "; ".join(f"{part.replace('_', ' ').replace('node', 'node')} ({ADVICE[part]})" for part in unused)
        warn_user(f"{type(kernel).__name__} ignores {words}")
    kernel.directed_ = graphs.directed
    return graphs


def check_graphs(kernel: Any, X: Any) -> GraphCollection:
    """Return graphs for a fitted estimator; raise an error if directed and undirected graphs are mixed."""
    if isinstance(X, GraphCollection):
        graphs = X
        if graphs.directed != kernel.directed_ and graphs.n_graphs:
            fitted, given = ("directed", "undirected") if kernel.directed_ else ("undirected", "directed")
            raise ValueError(f"the kernel was fitted on {fitted} graphs, and these graphs are {given}")
        return graphs
    # Symmetric matrices and lists of pairs may be directed or not; they are read like the graphs of the fit.
    return as_collection(X, directed=kernel.directed_)


Item = TypeVar("Item")

# Seconds between two progress messages.
PROGRESS_INTERVAL = 5.0


def watched(items: Sequence[Item], what: str, verbose: int = 0) -> Iterator[Item]:
    """Yield the items one by one, checking the time limit before each; ``verbose`` shows the progress."""
    with ProgressBar(what, len(items), verbose=verbose, every=PROGRESS_INTERVAL) as progress:
        for done, item in enumerate(items):
            check_time()
            yield item
            progress.add(1, "%s: %d of %d parts done", what, done + 1, len(items))
