"""What all Weisfeiler-Lehman kernels share: counts at every depth become features, Gram matrices and names."""

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from relaxwl._execution import spans
from relaxwl._validation import check_choice, check_flag, check_integer
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.inputs import as_collection
from relaxwl.kernels.admission import admit, admit_for_fit
from relaxwl.kernels.counting import Counts, join_counts
from relaxwl.kernels.gram import gram
from relaxwl.kernels.persistence import load_model, save_model

# Graphs that are compared with each other to know the similarity of each with itself.
OWN_AT_ONCE = 32
# Parameters by name.
Settings = dict[str, Any]

BASES = ("subtree", "edge", "shortest-path")
SIMILARITIES = ("dot", "intersection", "tanimoto")


class GraphKernel(BaseEstimator):
    """What every kernel of this package offers: ``fit`` and ``kernel_matrix``.

    ``kernel_matrix`` between fitted and unseen graphs is what scikit-learn's ``SVC(kernel="precomputed")`` wants. Who
    chooses among settings asks in two steps, so that one fit and one look at the graphs serve them all: :meth:`prepare`
    (or :meth:`fit_prepare`) says what graphs look like to the kernel, and :meth:`compare` makes a Gram matrix of it for
    each setting that the fit covers, such as the depths of a Weisfeiler-Lehman kernel or the λ of a Laplacian one.
    """

    takes_directed: bool = False
    directed_: bool = False  # models of old files have never met other graphs

    def uses(self) -> frozenset[str]:
        """Return which labels and attributes of graphs take part, such as ``edge_labels``; the rest is warned of."""
        return frozenset({"node_labels"})

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what is needed to compare graphs with these ones."""
        raise NotImplementedError

    def kernel_matrix(self, X: Any, Y: Any = None) -> Float64:
        """Return the Gram matrix between ``X`` and ``Y`` (by default ``X`` itself) as a dense array."""
        raise NotImplementedError

    def fit_kernel_matrix(self, X: Any) -> Float64:
        """Fit, and return the Gram matrix of ``X``; the same as ``fit(X).kernel_matrix(X)``, in one pass."""
        return self.compare(self.fit_prepare(X))[0]

    def variations(self) -> list[Settings]:
        """Return the settings that one fit covers: parameters that :meth:`compare` takes other values of."""
        return [{}]

    def prepare(self, X: Any) -> Any:
        """Return what :meth:`compare` needs to know about graphs; its form is the kernel's own affair."""
        return admit(self, X)

    def fit_prepare(self, X: Any) -> Any:
        """Fit, and return what :meth:`prepare` would return for ``X``, in one pass."""
        graphs = as_collection(X)
        return self.fit(graphs).prepare(graphs)

    def compare(self, x: Any, y: Any = None, settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return a Gram matrix for each of the settings, between graphs as :meth:`prepare` returns them.

        Parameters
        ----------
        x, y : what ``prepare`` or ``fit_prepare`` returned
            The graphs; without ``y`` those of ``x`` among themselves.
        settings : sequence of dict
            Parameters with other values than the kernel's own, from what :meth:`variations` varies; ``{}`` changes
            nothing.
        """
        self._check_settings(settings)
        return [self.kernel_matrix(x, y) for _ in settings]

    def compare_own(self, x: Any, settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return, for each of the settings, the similarity of each graph with itself.

        ``x`` is what :meth:`prepare` returned. What was not met in fitting is included, as it is in a graph's norm.
        """
        parts = [self.compare(x[start:stop], None, settings) for start, stop in spans(len(x), OWN_AT_ONCE)]
        return [
            np.concatenate([np.zeros(0), *(part[place].diagonal() for part in parts)]) for place in range(len(settings))
        ]

    def kernel_diagonal(self, X: Any) -> Float64:
        """Return the similarity of each graph with itself, what was not met in fitting included."""
        return self.compare_own(self.prepare(X))[0]

    def _check_settings(self, settings: Sequence[Settings], *varied: str) -> None:
        """Refuse settings that would need a fit of their own."""
        for name in dict.fromkeys(name for setting in settings for name in setting):
            if name not in varied:
                raise ValueError(f"{name} cannot change after the fit of {type(self).__name__}; fit a kernel for each")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


class CountKernel(TransformerMixin, GraphKernel):
    """A graph kernel with explicit counts for every depth.

    Subclasses say how graphs become counts (``_fit_counts`` and ``_counts``, one :class:`Counts` a depth) and what the
    columns are called (``_column_names``); everything that users call is here.
    """

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
        """Return which labels and attributes of graphs take part."""
        return super().uses() | ({"edge_labels"} if self.edge_labels else set())

    def _fit_counts(self, graphs: GraphCollection) -> list[Counts]:
        raise NotImplementedError

    def _counts(self, graphs: GraphCollection) -> list[Counts]:
        raise NotImplementedError

    def _column_names(self) -> list[str]:
        raise NotImplementedError

    # ---------------------------------------------------------------------------------------- what users call

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which trees (or groups of trees) there are.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts, or ShardedCollection
            The graphs. Shards are fitted on the current Dask client, where there is one; the model is the same.
        y : ignored
            Present because scikit-learn passes it.
        """
        if hasattr(X, "fit_kernel"):
            self._validate_parameters()
            X.fit_kernel(self)
        else:
            self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the features of ``X``; the same as ``fit(X).transform(X)``, in one pass."""
        if hasattr(X, "fit_kernel"):
            return self.fit(X).transform(X)
        return self._output(self._fit(X))

    def transform(self, X: Any) -> Any:
        """Return the features of graphs: a CSR array (n_graphs, n_features) of weighted counts.

        The dot product of two rows is the kernel value (``similarity="dot"``). With ``normalize`` the rows (or their
        parts of each depth) have length 1, where what was not met in fitting counts towards a graph's length too.
        With ``sparse_output=False`` the array is dense, or a table after ``set_output(transform="pandas")``. Those of
        shards are a Dask array of sparse blocks, one a shard, that nothing is computed of yet.
        """
        if hasattr(X, "transform_by"):
            check_is_fitted(self)
            return X.transform_by(self)
        return self._output(self._apply(X))

    def weighted_counts(self, X: Any) -> csr_array:
        """Return what :meth:`transform` returns, always sparse, whatever the similarity that acts on it."""
        return self._features(self._apply(X))

    def kernel_matrix(self, X: Any, Y: Any = None) -> Float64:
        """Return the Gram matrix between ``X`` and ``Y`` (by default ``X`` itself) as a dense array."""
        return self.compare(self._apply(X), None if Y is None else self._apply(Y))[0]

    def variations(self) -> list[Settings]:
        """Return the depths from 0 to ``max_depth``; ``similarity`` may vary too."""
        return [{"max_depth": depth} for depth in range(self.max_depth + 1)]

    def prepare(self, X: Any) -> list[Counts]:
        """Return the counts of graphs at each depth, for :meth:`compare`."""
        return self._apply(X)

    def fit_prepare(self, X: Any) -> list[Counts]:
        """Fit, and return the counts of ``X`` at each depth, in one pass."""
        return self._fit(X)

    def compare(
        self, x: list[Counts], y: list[Counts] | None = None, settings: Sequence[Settings] = ({},)
    ) -> list[Float64]:
        """Return a Gram matrix for each of the settings: the kernel cut at a ``max_depth``, with a ``similarity``."""
        self._check_settings(settings, "max_depth", "similarity")
        wanted = [(setting.get("similarity", self.similarity), setting.get("max_depth")) for setting in settings]
        cuts = {}
        for similarity in dict.fromkeys(similarity for similarity, _ in wanted):
            check_choice("similarity", similarity, SIMILARITIES)
            depths = {depth for other, depth in wanted if other == similarity and depth is not None}
            cuts[similarity] = self._prefix_grams(x, y, similarity, depths) if depths else {}
        return [self._gram(x, y, kind) if depth is None else cuts[kind][depth] for kind, depth in wanted]

    def compare_own(self, x: list[Counts], settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return the similarity of each graph with itself, for ``max_depth`` and ``similarity`` of each setting."""
        self._check_settings(settings, "max_depth", "similarity")
        return [
            self._own(x[: setting.get("max_depth", len(x) - 1) + 1], setting.get("similarity", self.similarity))
            for setting in settings
        ]

    def _own(self, counts: list[Counts], similarity: str) -> Float64:
        intersect = similarity != "dot"
        weights = self._weights(self.max_depth + 1)[: len(counts)]
        of_depths = [_squared_norms(part, intersect) for part in counts]
        if self.normalize == "depth":
            return np.asarray(weights @ [own > 0 for own in of_depths], np.float64)
        own: Float64 = weights @ np.array(of_depths)
        return (own > 0).astype(np.float64) if self.normalize or similarity == "tanimoto" else own

    def weighted(self, counts: list[Counts], similarity: str) -> tuple[csr_array, Float64]:
        """Return weighted counts of all depths as a similarity takes them, and that of each graph with itself.

        The latter are Σ counts for minima and Σ counts² for the dot product, what was not met in fitting included.
        """
        check_choice("similarity", similarity, SIMILARITIES)
        joined = self._joined(counts, intersect=similarity != "dot")
        return joined.matrix, _squared_norms(joined, similarity != "dot")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features; each says its depth and what it counts."""
        check_is_fitted(self)
        return np.array(self._column_names(), dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted kernel to one file of arrays and JSON, without pickle; see :meth:`load`."""
        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a kernel of this class, or of one derived from it, that :meth:`save` wrote.

        Safe for files from elsewhere: nothing in them is executed. ``relaxwl.kernels.load_kernel`` reads any kernel.
        """
        # The registry imports this module; only now are the classes of kernels that nobody used so far needed.
        from relaxwl.kernels.registry import import_kernels

        import_kernels()
        kinds = [kind for kind in (cls, *descendants(cls)) if kind._column_names is not CountKernel._column_names]
        kernel: Self = load_model(path, {kind.__name__: kind for kind in kinds})
        return kernel

    # ----------------------------------------------------------------------------------------------- inside

    def _fit(self, X: Any) -> list[Counts]:
        self._validate_parameters()
        graphs = admit_for_fit(self, X)
        counts = self._fit_counts(graphs)
        self.n_graphs_in_ = len(graphs)
        return counts

    def _apply(self, X: Any) -> list[Counts]:
        check_is_fitted(self)
        return self._counts(admit(self, X))

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
        self._weights(self.max_depth + 1)

    def _weights(self, n_depths: int) -> Float64:
        """Return the weight of each depth."""
        if self.depth_weights is None:
            return np.ones(n_depths)
        weights = np.asarray(self.depth_weights, np.float64)
        if weights.shape != (n_depths,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError(
                f"depth_weights must be {n_depths} finite numbers >= 0, one for each depth from 0 to "
                f"{n_depths - 1}, not {self.depth_weights!r}"
            )
        return weights

    def _output(self, counts: list[Counts]) -> Any:
        """Return features in the form that users asked for; those who may have meant something else are told."""
        if self.similarity != "dot":
            warnings.warn(
                f"transform returns counts, on which the {self.similarity} similarity of {type(self).__name__} has no "
                "influence; for a model that uses it, put relaxwl.KernelMatrix(kernel) before "
                'SVC(kernel="precomputed")',
                UserWarning,
                stacklevel=3,
            )
        features = self._features(counts)
        return features if self.sparse_output else features.toarray()

    def _joined(self, counts: list[Counts], depth_range: slice = slice(None), *, intersect: bool = False) -> Counts:
        """Put depths side by side: scaled by √α for the dot product, by α for minima."""
        weights = self._weights(len(counts))[depth_range]
        scales = weights if intersect else np.sqrt(weights)
        return join_counts(counts[depth_range], list(scales))

    def _features(self, counts: list[Counts]) -> csr_array:
        if self.normalize == "depth":
            return self._joined([replace(part, matrix=_of_length_one(part)) for part in counts]).matrix
        joined = self._joined(counts)
        return _of_length_one(joined) if self.normalize else joined.matrix

    def _gram(self, counts_x: list[Counts], counts_y: list[Counts] | None, similarity: str) -> Float64:
        if self.normalize == "depth":
            *_, (total, _, _) = self._running_grams(counts_x, counts_y, similarity)
            return total
        matrix, own_x, own_y = self._joined_gram(counts_x, counts_y, similarity)
        self._finish(matrix, own_x, own_y, similarity)
        return matrix

    def _finish(self, matrix: Float64, own_x: Float64, own_y: Float64, similarity: str) -> None:
        """Turn, in place, dot products or minima of whole graphs (or of one depth) into what users asked for.

        A Tanimoto similarity is 1 for a graph with itself already, so ``normalize`` has nothing to do there.
        """
        if similarity == "tanimoto":
            _divide_by_unions(matrix, own_x, own_y)
        elif self.normalize:
            _divide_by_norms(matrix, own_x, own_y)

    def _joined_gram(
        self, counts_x: list[Counts], counts_y: list[Counts] | None, similarity: str, depths: slice = slice(None)
    ) -> tuple[Float64, Float64, Float64]:
        """Return the dot products (or minima) of some depths together, and those of each graph with itself."""
        intersect = similarity != "dot"
        x = self._joined(counts_x, depths, intersect=intersect)
        y = None if counts_y is None else self._joined(counts_y, depths, intersect=intersect)
        matrix = gram(x.matrix, None if y is None else y.matrix, minimum=intersect, n_jobs=self.n_jobs)
        squared_x = _squared_norms(x, intersect)
        return matrix, squared_x, squared_x if y is None else _squared_norms(y, intersect)

    def _running_grams(
        self, counts_x: list[Counts], counts_y: list[Counts] | None, similarity: str
    ) -> Iterator[tuple[Float64, Float64, Float64]]:
        """Yield, for each depth, the sums of all depths so far of what ``_joined_gram`` returns, in the same memory."""
        total: Float64 | None = None
        norms_x, norms_y = np.zeros(1), np.zeros(1)
        for depth, weight in enumerate(self._weights(len(counts_x))):
            part, squared_x, squared_y = self._joined_gram(counts_x, counts_y, similarity, slice(depth, depth + 1))
            if self.normalize == "depth":
                self._finish(part, squared_x, squared_y, similarity)
                part *= weight
            total = part if total is None else np.add(total, part, out=total)
            norms_x, norms_y = norms_x + squared_x, norms_y + squared_y
            yield total, norms_x, norms_y

    def _prefix_grams(
        self, counts_x: list[Counts], counts_y: list[Counts] | None, similarity: str, depths: set[int]
    ) -> dict[int, Float64]:
        """Return the Gram matrices of the kernels cut at some depths, every one normalised by itself."""
        if not depths <= set(range(len(counts_x))):
            raise ValueError(f"the kernel was fitted to depth {len(counts_x) - 1}; {max(depths)} needs another fit")
        prefixes = {}
        for depth, (total, norms_x, norms_y) in enumerate(self._running_grams(counts_x, counts_y, similarity)):
            if depth in depths:
                prefixes[depth] = total.copy()
                if self.normalize != "depth":
                    self._finish(prefixes[depth], norms_x, norms_y, similarity)
            if depth == max(depths):
                break
        return prefixes


def descendants(kind: Any) -> list[Any]:
    """Return all classes derived from a class."""
    return [found for child in kind.__subclasses__() for found in (child, *descendants(child))]


def _squared_norms(joined: Counts, intersect: bool) -> Float64:
    """Return k(G, G) of each graph, with everything that was not met in fitting."""
    if intersect:
        return np.asarray(joined.matrix.sum(axis=1) + joined.unknown_sums)
    return np.asarray(joined.matrix.power(2).sum(axis=1) + joined.unknown_squares)


def _of_length_one(counts: Counts) -> csr_array:
    """Return the counts of each graph divided by their length, to which unknown columns belong."""
    lengths = _lengths(_squared_norms(counts, intersect=False))
    matrix = counts.matrix.copy()
    matrix.data = matrix.data / np.repeat(lengths, np.diff(matrix.indptr))
    return matrix


def _divide_by_norms(matrix: Float64, squared_x: Float64, squared_y: Float64) -> None:
    """Divide by the lengths, in place; by their product, so that a symmetric matrix stays exactly symmetric."""
    lengths_y = _lengths(squared_y)
    for row, length in zip(matrix, _lengths(squared_x), strict=True):
        row /= length * lengths_y


def _divide_by_unions(minima: Float64, sums_x: Float64, sums_y: Float64) -> None:
    """Turn Σ min into Σ min / Σ max, in place: what two graphs share among all that they have.

    Σ max = Σx + Σy − Σ min, and what was not met in fitting counts in these sums. Two graphs without any weight have
    nothing in common: 0/0 is 0, as the similarity of a graph of length 0 is under ``normalize``.

    The matrix is positive semidefinite whatever the sums are: m / (a + b − m) = Σ_n (m / (a + b))ⁿ over n ≥ 1, where
    the minima m and 1 / (a + b) are positive semidefinite, and so are products and sums of such matrices.
    """
    for row, total in zip(minima, sums_x, strict=True):
        unions = total + sums_y - row
        np.divide(row, unions, out=row, where=unions > 0)
        np.minimum(row, 1.0, out=row)  # fractional weights round


def _lengths(squares: Float64) -> Float64:
    """Return what to divide by: a graph of length 0 (no vertices, or no weight) stays at 0 with everything."""
    return np.where(squares > 0, np.sqrt(squares), 1.0)
