"""Blocks of kernels: related similarities of several views, each scaled on the training objects, averaged."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from sklearn.utils.validation import check_is_fitted

from relaxwl._execution import Deadline, TimeLimitReached, check_time, spans, time_limit
from relaxwl._memory import MemoryRefusal
from relaxwl._progress import report
from relaxwl._validation import as_seed, check_choice
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.inputs import as_collection
from relaxwl.kernels.base import GraphKernel, Settings, check_graphs
from relaxwl.learning.heads import average
from relaxwl.learning.linear import ROWS_AT_ONCE
from relaxwl.predictors.portfolio import EFFORTS, portfolio
from relaxwl.predictors.views import Objects, VectorView, View

Kinds = tuple[tuple[str, ...], ...]

# Blocks of nodes as vectors: of structure alone, or with attributes; at depth 0 without their neighbors. Combinations
# that contain them are favored in the selection.
STRUCTURE, VECTORS = ("structure, depth 0", "structure"), ("vectors, depth 0", "vectors")
NODE_VECTORS = (*STRUCTURE, *VECTORS)
# Candidates of model selection: kinds of kernels with equal weights, each the mean of some blocks. Missing blocks are
# skipped.
COMBINATIONS: dict[str, Kinds] = {
    "all": (("exact",), ("fine", "coarse"), ("paths",)),
    "all + structure": (("exact",), ("fine", "coarse"), ("paths",), STRUCTURE),
    "all + vectors": (("exact",), ("fine", "coarse"), ("paths",), VECTORS),
    "vectors": (VECTORS,),
    "vectors, depth 0": (VECTORS[:1],),
    "relaxed": (("fine", "coarse"),),
    "coarse": (("coarse",),),
    "broad": (("coarse",), ("paths",)),
    "exact": (("exact",),),
    "attributes": (("exact",), ("fine", "coarse"), ("paths",), ("attributes",)),
}
# Name of the sum of all blocks.
COMBINED = "all kernels"
# Number of rows of a large Gram matrix that are computed at a time.
GRAM_ROWS = 512
# Relative variance below which a similarity is constant on the training objects, up to rounding, and has no scale.
CONSTANT = 1e-9


class KernelBlocks:
    """Fitted views, and the Gram matrices of blocks of their similarities.

    Every similarity is divided by its variance over the training objects (its mean diagonal minus its mean), so that
    none outweighs the others. A block is the mean over its views of the mean of the view's similarities in it.

    Parameters
    ----------
    views : sequence of View
        The views, the cheapest first.
    left_out : sequence of str, default=()
        Descriptions of omitted views, with reasons.

    Attributes
    ----------
    views : list of View
        The fitted views.
    scales : list of list of float
        Factor of each similarity of each view.
    """

    def __init__(self, views: Sequence[View], left_out: Sequence[str] = ()) -> None:
        self.views = list(views)
        self.left_out = list(left_out)
        self.scales: list[list[float]] = []

    def to_state(self) -> dict[str, Any]:
        """Return the state for a model file."""
        return {"views": self.views, "scales": self.scales}

    @classmethod
    def from_state(cls, views: list[View], scales: list[list[float]]) -> "KernelBlocks":
        """Restore a model from the result of :meth:`to_state`."""
        blocks = cls(views)
        blocks.scales = scales
        return blocks

    @property
    def names(self) -> list[str]:
        """The names of the blocks."""
        return list(dict.fromkeys(block for view in self.views for block in view.blocks))

    def fit(self, objects: Objects, seconds: float | None = None, verbose: int = 0) -> dict[str, Float64]:
        """Fit the views within some seconds (the first in any case); return the blocks of the training objects."""
        totals: dict[str, Float64] = {}

        def add(view: View, training: Any) -> None:
            matrices = view.matrices(training)
            self.scales.append([_scale(matrix) for matrix in matrices])
            _add_means(totals, view, matrices, self.scales[-1])

        self._fit_views(objects, add, seconds, verbose)
        return self._divided(totals)

    def fit_sampled(
        self, objects: Objects, n_sampled: int, targets: Float64 | None, seconds: float | None = None, verbose: int = 0
    ) -> None:
        """Fit the views as :meth:`fit` does, but scale similarities on some of the objects; no large matrix is made.

        Given standardized targets (n_objects, n_targets), columns of vectors are weighted by their relevance to them.
        """
        rows = np.linspace(0, len(objects) - 1, min(n_sampled, len(objects))).astype(np.int64)

        def add(view: View, training: Any) -> None:
            if targets is not None and isinstance(view, VectorView):
                view.weigh_columns(rows, targets[rows])
            self.scales.append([_scale(matrix) for matrix in view.matrices(view.take(training, rows))])

        self._fit_views(objects, add, seconds, verbose)

    def varying_names(self) -> list[str]:
        """Return the names of the blocks that are not constant on the training objects, or of all if none is."""
        both = zip(self.views, self.scales, strict=True)
        pairs = [pair for view, scales in both for pair in zip(view.blocks, scales, strict=True)]
        return list(dict.fromkeys(block for block, scale in pairs if scale > 0)) or self.names

    def combine(self, weights: Mapping[str, float]) -> None:
        """Replace all blocks by one, their weighted sum; remove similarities without weight."""
        views, totals = [], []
        for view, scales in zip(self.views, self.scales, strict=True):
            shares = np.zeros(len(scales))
            for place, (block, scale) in enumerate(zip(view.blocks, scales, strict=True)):
                alike = zip(view.blocks, scales, strict=True)
                n_alike = max(sum(other == block and one > 0 for other, one in alike), 1)
                n_views = sum(block in other.blocks for other in self.views)
                shares[place] = weights.get(block, 0.0) * scale / (n_alike * n_views)
            views.append((view, np.flatnonzero(shares)))
            totals.append(shares)
        kept = [place for place, (_, used) in enumerate(views) if len(used)]
        if not kept:  # all similarities are constant: keep one of them
            views[0], kept = (views[0][0], np.zeros(1, np.int64)), [0]
        self.scales = []
        for place in kept:
            view, used = views[place]
            view.select(used)
            view.blocks = (COMBINED,) * len(used)
            # A block is the mean over views of means over similarities; these factors convert it to the sum.
            self.scales.append((totals[place][used] * len(used) * len(kept)).tolist())
        self.views = [views[place][0] for place in kept]

    def gram(self) -> NDArray[np.float32]:
        """Return the Gram matrix of the training objects in the only block, in single precision to save memory."""
        n_objects = self.views[0].n_training()
        total = np.empty((n_objects, n_objects), np.float32)
        for start, stop in spans(n_objects, GRAM_ROWS):
            check_time()
            rows, others = self.training(np.arange(start, stop)), self.training(np.arange(start, n_objects))
            (block,) = self.matrices(rows, others).values()
            total[start:stop, start:] = block
            total[start:, start:stop] = block.T
        return total

    def fit_features(self, objects: Objects, seconds: float | None = None, verbose: int = 0) -> list[csr_array]:
        """Fit the views within some seconds (the first in any case); return their concatenated explicit features.

        They are returned as blocks of rows in single precision, because a million objects take much memory.
        """
        places = [np.arange(*span) for span in spans(len(objects), ROWS_AT_ONCE)]
        parts: list[list[csr_array]] = [[] for _ in places]

        def add(view: View, training: Any) -> None:
            found = [view.features(view.take(training, some)).astype(np.float32) for some in places]
            for part, features in zip(parts, found, strict=True):
                part.append(features)
            view.training = None

        self._fit_views(objects, add, seconds, verbose)
        return [csr_array(hstack(parts.pop(0), format="csr")) for _ in range(len(parts))]

    def _fit_views(
        self, objects: Objects, add: Callable[[View, Any], None], seconds: float | None, verbose: int
    ) -> None:
        """Fit the views one by one, and pass each with its training objects to ``add``; record omitted views."""
        deadline, planned = Deadline(seconds), self.views
        self.views = []
        refusal: MemoryRefusal | None = None
        for place, view in enumerate(planned, 1):
            left, started = deadline.remaining(), time.perf_counter()
            if self.views and left == 0:
                self.left_out.append(f"{view.name}: the time limit for kernels of {seconds:.2g} s was reached")
                continue
            try:
                with time_limit(left if self.views else None):
                    add(view, view.fit(objects))
            except TimeLimitReached:
                if not self.views or deadline.remaining() != 0:  # the time limit of the caller
                    raise
                self.left_out.append(f"{view.name}: not finished within the time limit for kernels of {seconds:.2g} s")
                continue
            except MemoryRefusal as error:
                refusal = error
                self.left_out.append(f"{view.name}: {error}")
                continue
            self.views.append(view)
            details = (view.name, time.perf_counter() - started)
            report(verbose, "%s: fitted in %.1f s", *details, share=place / (len(planned) + 1))
        if refusal is not None and not self.views:
            raise refusal

    def represent(self, objects: Objects) -> list[Any]:
        """Return the representation of objects in each view."""
        return [view.represent(objects) for view in self.views]

    def matrices(self, x: list[Any], y: list[Any] | None = None) -> dict[str, Float64]:
        """Return the Gram matrix of each block between representations; without ``y`` within ``x``."""
        others = [None] * len(x) if y is None else y
        return self._mean([view.matrices(*pair) for view, *pair in zip(self.views, x, others, strict=True)])

    def own(self, x: list[Any]) -> dict[str, Float64]:
        """Return, for each block, the similarity of each object with itself."""
        return self._mean([view.own(one) for view, one in zip(self.views, x, strict=True)])

    def training(self, rows: Int64) -> list[Any]:
        """Return the representation of some training objects in each view."""
        return [view.take(view.training, rows) for view in self.views]

    def keep(self, blocks: Collection[str]) -> None:
        """Remove the views without any similarity in these blocks, which would slow down predictions."""
        kept = [place for place, view in enumerate(self.views) if any(block in blocks for block in view.blocks)]
        self.views = [self.views[place] for place in kept]
        self.scales = [self.scales[place] for place in kept]

    def features(self, objects: Objects) -> csr_array:
        """Return the features of objects."""
        parts = [view.features(one) for view, one in zip(self.views, self.represent(objects), strict=True)]
        return csr_array(hstack(parts, format="csr"))

    def node_features(self, objects: Objects) -> csr_array:
        """Return the features of one object, node by node; rows sum to the object's features, except for vectors."""
        return csr_array(hstack([view.node_features(objects) for view in self.views], format="csr"))

    def _mean(self, found: list[list[Float64]]) -> dict[str, Float64]:
        totals: dict[str, Float64] = {}
        for view, arrays, scales in zip(self.views, found, self.scales, strict=True):
            _add_means(totals, view, arrays, scales)
        return self._divided(totals)

    def _divided(self, totals: dict[str, Float64]) -> dict[str, Float64]:
        """Divide the sum over the views of each block by the number of views, in place."""
        for block, total in totals.items():
            total /= sum(block in view.blocks for view in self.views)
        return totals


def _add_means(totals: dict[str, Float64], view: View, arrays: list[Float64], scales: list[float]) -> None:
    """Add, for each block, the mean of a view's scaled similarities; arrays are overwritten."""
    for block in dict.fromkeys(view.blocks):
        own = [(array, scale) for name, array, scale in zip(view.blocks, arrays, scales, strict=True) if name == block]
        n_scaled = max(sum(scale > 0 for _, scale in own), 1)
        for array, scale in own:
            array *= scale / n_scaled
            totals[block] = np.add(totals[block], array, out=totals[block]) if block in totals else array


def _scale(matrix: Float64) -> float:
    """Return the inverse of the variance of the training objects, or 0 if they are all equal.

    A constant that is added to a kernel does not change a support vector machine, or a Gaussian process with its own
    mean, so this is the scale of the centered kernel, and centering is not necessary.
    """
    diagonal = float(matrix.diagonal().mean())
    variance = diagonal - float(matrix.mean())
    return 1 / variance if variance > CONSTANT * diagonal else 0.0


def averages(blocks: Collection[str]) -> dict[str, dict[str, float]]:
    """Return the distinct combinations of these blocks, by name: one over the share of each block.

    Additional vectors (the block "extra") are added to every average, or used alone. If no combination is known, all
    blocks have equal weights.

    >>> averages(["exact", "extra"])
    {'all + extra': {'exact': 2, 'extra': 2}, 'all': {'exact': 1}, 'extra': {'extra': 1}}
    """
    found: dict[Kinds, str] = {}
    for name in COMBINATIONS:
        found.setdefault(kinds_of(name, blocks), name)
    graphs = {name: _parts(kinds) for kinds, name in found.items() if kinds}
    if not graphs:
        return {"all": {block: len(blocks) for block in blocks}}
    if "extra" not in blocks:
        return graphs
    joined: dict[str, dict[str, float]] = {
        f"{name} + extra": {block: 2 * number for block, number in parts.items()} | {"extra": 2}
        for name, parts in graphs.items()
    }
    return {**joined, "all": graphs["all"], "extra": {"extra": 1}}


def kinds_of(combination: str, there: Collection[str]) -> Kinds:
    """Return the kinds of kernels of a combination, without missing blocks."""
    check_choice("combination", combination, COMBINATIONS)
    kinds = (tuple(block for block in kind if block in there) for kind in COMBINATIONS[combination])
    return tuple(kind for kind in kinds if kind)


def _parts(kinds: Kinds) -> dict[str, float]:
    return {block: len(kinds) * len(kind) for kind in kinds for block in kind}


class AveragedKernel(GraphKernel):
    """Average of exact and relaxed Weisfeiler-Lehman kernels with default settings.

    Every kernel is divided by its variance over the fitted graphs (its mean diagonal minus its mean), so that none
    outweighs the others; related kernels form a block, and a combination is the mean of some blocks. The best
    ``combination`` can be found by model selection; one fit covers all combinations.

    Parameters
    ----------
    combination : str, default="all"
        One of "all", "all + structure" and "all + vectors" (with nodes as vectors, where they have no labels or have
        attributes), "vectors", "vectors, depth 0" (without their neighbors), "relaxed", "coarse", "broad" (few clusters
        and shortest paths), "exact", "attributes" (all, with the attributes of edges).
    effort : {"quick", "balanced", "thorough"}, default="balanced"
        Number of partitions and depths, and whether shortest paths are used.
    time_limit : float, optional
        Seconds after which no further kernel is fitted; ``left_out_`` lists the kernels left out.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int or None, default=None
        Seeds the partitions.
    verbose : int, default=0
        1 logs each kernel.

    Attributes
    ----------
    views_ : list of View
        The fitted kernels.
    blocks_ : list of str
        Names of the blocks.
    left_out_ : list of str
        Kernels that were not tried, with reasons.

    See Also
    --------
    relaxwl.GraphClassifier : Choose a combination by cross-validation.
    relaxwl.kernels.get_kernel : A single kernel by its name.

    Examples
    --------
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(12, level=1, random_state=0)
    >>> kernel = AveragedKernel(effort="quick", random_state=0).fit(graphs)
    >>> kernel.blocks_
    ['exact', 'structure, depth 0', 'structure', 'coarse', 'fine']
    >>> kernel.kernel_matrix(graphs).shape
    (12, 12)
    """

    def __init__(
        self,
        combination: str = "all",
        effort: str = "balanced",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.combination = combination
        self.effort = effort
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit all kernels.

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
        self.fit_prepare(X)
        return self

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
        """Return all combinations; some are equal if a block is missing.

        Returns
        -------
        list of dict
            Settings for :meth:`compare`.
        """
        return [{"combination": name} for name in COMBINATIONS]

    def fit_prepare(self, X: Any) -> list[Any]:
        """Fit all kernels and return the representations of the graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        list
            A representation of the graphs for each kernel.
        """
        kinds_of(self.combination, ())
        check_choice("effort", self.effort, EFFORTS)
        objects = Objects(as_collection(X).with_parts(given=()))
        if not len(objects):
            raise ValueError("there are no graphs to fit")
        seed = as_seed(self.random_state)
        self._blocks = KernelBlocks(*portfolio(objects.graphs, self.effort, seed, self.n_jobs, self.verbose))
        self._blocks.fit(objects, self.time_limit, self.verbose)
        self.views_, self.left_out_, self.blocks_ = self._blocks.views, self._blocks.left_out, self._blocks.names
        prepared = [view.training for view in self.views_]
        for view in self.views_:
            view.training = None
        return prepared

    def prepare(self, X: Any) -> list[Any]:
        """Return the representations of graphs.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        list
            A representation of the graphs for each kernel.
        """
        check_is_fitted(self)
        first: Any = self.views_[0]
        return self._blocks.represent(Objects(check_graphs(first.kernel, X)))

    def compare(self, x: Any, y: Any = None, settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return a Gram matrix for each ``combination`` of the settings.

        Parameters
        ----------
        x : list
            Graphs, from :meth:`prepare` or :meth:`fit_prepare`.
        y : list, optional
            The graphs to compare with; by default those of ``x``.
        settings : sequence of dict, default=({},)
            Combinations, as :meth:`variations` returns them.

        Returns
        -------
        list of float64 array (n_graphs of x, n_graphs of y)
            The matrices.
        """
        return self._combined(self._blocks.matrices(x, y), settings)

    def compare_own(self, x: Any, settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return the similarity of each graph with itself, for each ``combination`` of the settings.

        Parameters
        ----------
        x : list
            Graphs, from :meth:`prepare` or :meth:`fit_prepare`.
        settings : sequence of dict, default=({},)
            Combinations, as :meth:`variations` returns them.

        Returns
        -------
        list of float64 array (n_graphs,)
            The diagonals of the Gram matrices.
        """
        return self._combined(self._blocks.own(x), settings)

    def _combined(self, blocks: Mapping[str, Float64], settings: Sequence[Settings]) -> list[Float64]:
        """Return the mean of each combination's kinds; that of "all", or of all blocks, if all kinds are missing."""
        self._check_settings(settings, "combination")
        found = []
        for setting in settings:
            name = setting.get("combination", self.combination)
            kinds = kinds_of(name, blocks) or kinds_of("all", blocks) or (tuple(blocks),)
            found.append(average(blocks, _parts(kinds)))
        return found
