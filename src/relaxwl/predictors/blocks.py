"""Blocks of kernels: related similarities of several views, each scaled on the training objects, averaged."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from relaxwl._execution import Deadline, TimeLimitReached, check_time, spans, time_limit
from relaxwl._memory import MemoryRefusal
from relaxwl._progress import report
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.learning.linear import ROWS_AT_ONCE
from relaxwl.predictors.views import Objects, VectorView, View

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

    A constant that is added to a kernel does not change a Gaussian process with its own mean, so this is the scale of
    the centered kernel, and centering is not necessary.
    """
    diagonal = float(matrix.diagonal().mean())
    variance = diagonal - float(matrix.mean())
    return 1 / variance if variance > CONSTANT * diagonal else 0.0
