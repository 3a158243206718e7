"""One kernel from many: blocks of related kernels, each scaled on the fitted graphs, and a few sums of blocks."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from relaxwl._deadline import Deadline, TimeLimitReached, time_limit
from relaxwl._progress import report
from relaxwl._validation import as_seed, check_choice
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.inputs import as_collection
from relaxwl.kernels.base import GraphKernel, Settings
from relaxwl.kernels.counting import Counts
from relaxwl.predictors.portfolio import EFFORTS, Family, portfolio

Kinds = tuple[tuple[str, ...], ...]

# What model selection chooses from: kinds of kernels that weigh equally, each the mean of some blocks. What is not
# there is skipped.
COMBINATIONS: dict[str, Kinds] = {
    "all": (("exact",), ("fine", "coarse"), ("paths",)),
    "relaxed": (("fine", "coarse"),),
    "coarse": (("coarse",),),
    "broad": (("coarse",), ("paths",)),
    "exact": (("exact",),),
    "attributes": (("exact",), ("fine", "coarse"), ("paths",), ("attributes",)),
}
# A view that does not tell the fitted graphs apart, but for rounding, has no scale.
CONSTANT = 1e-9


@dataclass
class Prepared:
    """Graphs as the families see them; for the fitted graphs also their Gram matrices, block by block."""

    parts: list[list[Counts]]
    blocks: dict[str, Float64] | None = None

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return int(self.parts[0][0].matrix.shape[0])

    def take(self, graphs: Int64) -> "Prepared":
        """Return some of the graphs, without Gram matrices."""
        return Prepared([[_rows(counts, graphs) for counts in part] for part in self.parts])

    def to_state(self) -> dict[str, Any]:
        """Return the counts as arrays, for a model file."""
        return {"parts": [[_stored(counts) for counts in part] for part in self.parts]}

    @classmethod
    def from_state(cls, parts: list[list[dict[str, Any]]]) -> "Prepared":
        """Return what :meth:`to_state` kept; compiled code will index with it, so all of it is checked."""
        return cls([[_restored(**counts) for counts in part] for part in parts])


class AveragedKernel(GraphKernel):
    """An average of Weisfeiler-Lehman kernels, exact and relaxed, for those who do not want to choose.

    Every kernel is divided by its variance over the fitted graphs (its mean diagonal minus its mean), so that none
    outweighs the others; related kernels form a block, and a combination is the mean of some blocks. Which
    ``combination`` fits best is for model selection to say: one fit covers all of them.

    Parameters
    ----------
    combination : str
        One of "all", "relaxed", "coarse", "broad" (few groups and shortest paths), "exact", "attributes" (all, with
        the attributes of vertices).
    effort : {"quick", "balanced", "thorough"}
        How many partitions, how deep, and whether along shortest paths.
    time_limit : float, optional
        Seconds after which no further kernel is fitted; what that leaves out is said in ``left_out_``.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int or None
        Seeds the groupings.
    verbose : int
        1 logs each kernel.

    Attributes
    ----------
    families_ : list of Family
        The fitted kernels.
    scales_ : list of list of float
        What each view of each family is multiplied by.
    blocks_ : list of str
        The blocks that there are.
    left_out_ : list of str
        What was not tried, and why.

    Examples
    --------
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(12, level=1, random_state=0)
    >>> kernel = AveragedKernel(effort="quick", random_state=0).fit(graphs)
    >>> kernel.blocks_
    ['exact', 'coarse', 'fine']
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
        """Fit all kernels; ``y`` is ignored."""
        self.fit_prepare(X)
        return self

    def kernel_matrix(self, X: Any, Y: Any = None) -> Float64:
        """Return the Gram matrix between ``X`` and ``Y`` (by default ``X`` itself) as a dense array."""
        return self.compare(self.prepare(X), None if Y is None else self.prepare(Y))[0]

    def variations(self) -> list[Settings]:
        """Return all combinations; where a block is not there, some of them are the same."""
        return [{"combination": name} for name in COMBINATIONS]

    def fit_prepare(self, X: Any) -> Prepared:
        """Fit, and return the graphs as all kernels see them, with the Gram matrices of the blocks."""
        self._validate_parameters()
        # Without the note of what users named: each kernel would warn of what others take up.
        graphs = as_collection(X).with_parts(given=())
        if not len(graphs):
            raise ValueError("there are no graphs to fit")
        plan = portfolio(graphs, self.effort, as_seed(self.random_state), self.n_jobs, self.verbose)
        self.left_out_ = list(plan.left_out)
        self.families_: list[Family] = []
        self.scales_: list[list[float]] = []
        self.n_graphs_in_ = len(graphs)
        fitted = Prepared([], {})
        deadline = Deadline(self.time_limit)
        for place, family in enumerate(plan.families, 1):
            self._enter(family, graphs, fitted, deadline, share=place / (len(plan.families) + 1))
        self.blocks_ = list(fitted.blocks or {})
        return fitted

    def prepare(self, X: Any) -> Prepared:
        """Return graphs as all kernels see them."""
        check_is_fitted(self)
        graphs = as_collection(X)
        return Prepared([family.kernel.prepare(graphs) for family in self.families_])

    def compare(self, x: Prepared, y: Prepared | None = None, settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return a Gram matrix for each ``combination`` of the settings."""
        self._check_settings(settings, "combination")
        blocks = self.block_matrices(x, y)
        return [self.combined(blocks, setting.get("combination", self.combination)) for setting in settings]

    def compare_own(self, x: Prepared, settings: Sequence[Settings] = ({},)) -> list[Float64]:
        """Return the similarity of each graph with itself, for each ``combination`` of the settings."""
        self._check_settings(settings, "combination")
        blocks = self.block_diagonals(x)
        return [self.combined(blocks, setting.get("combination", self.combination)) for setting in settings]

    # ------------------------------------------------------------------------------------------------- blocks

    def block_matrices(self, x: Prepared, y: Prepared | None = None) -> dict[str, Float64]:
        """Return the Gram matrix of each block: the mean of its scaled views."""
        if y is None and x.blocks is not None:
            return x.blocks
        others: Sequence[list[Counts] | None] = [None] * len(x.parts) if y is None else y.parts
        blocks: dict[str, Float64] = {}
        for place, (part, other) in enumerate(zip(x.parts, others, strict=True)):
            self._add(blocks, place, self.families_[place].matrices(part, other))
        return self._averaged(blocks)

    def block_diagonals(self, x: Prepared) -> dict[str, Float64]:
        """Return, for each block, the similarity of each graph with itself."""
        blocks: dict[str, Float64] = {}
        for place, part in enumerate(x.parts):
            self._add(blocks, place, self.families_[place].own(part))
        return self._averaged(blocks)

    def combinations(self) -> list[str]:
        """Return the combinations that differ on the fitted graphs, "all" first."""
        check_is_fitted(self)
        found: dict[Kinds, str] = {}
        for name in COMBINATIONS:
            found.setdefault(_kinds_of(name, self.blocks_), name)
        return [name for kinds, name in found.items() if kinds]

    def combined(self, blocks: dict[str, Float64], combination: str) -> Float64:
        """Return the mean of a combination's kinds; of all blocks that there are, if it has none of them."""
        kinds = _kinds_of(combination, blocks) or (tuple(blocks),)
        total = np.zeros_like(next(iter(blocks.values())))
        for kind in kinds:
            for block in kind:
                total += blocks[block] / (len(kinds) * len(kind))
        return total

    def restrict(self, combination: str) -> list[int]:
        """Keep the families of one combination alone, and return where they stood among all."""
        self.combination = combination
        kinds = _kinds_of(combination, self.blocks_)
        return self.restrict_to_blocks([block for kind in kinds for block in kind])

    def restrict_to_blocks(self, wanted: Sequence[str]) -> list[int]:
        """Keep the families of some blocks alone, and return where they stood among all."""
        kept = [place for place, family in enumerate(self.families_) if family.block in wanted]
        kept = kept or list(range(len(self.families_)))
        self.families_ = [self.families_[place] for place in kept]
        self.scales_ = [self.scales_[place] for place in kept]
        self.blocks_ = list(dict.fromkeys(family.block for family in self.families_))
        return kept

    def _validate_parameters(self) -> None:
        _kinds_of(self.combination, ())
        check_choice("effort", self.effort, EFFORTS)

    def _check_loaded(self) -> None:
        if len(self.scales_) != len(self.families_):
            raise ValueError("there must be scales for each family")
        for family, scales in zip(self.families_, self.scales_, strict=True):
            if len(scales) != len(family.views) or not all(isinstance(one, (int, float)) for one in scales):
                raise ValueError("there must be a scale for each view")

    def _enter(
        self, family: Family, graphs: GraphCollection, fitted: Prepared, deadline: Deadline, share: float
    ) -> None:
        """Fit a family within the time that is left, the first in any case; ``share`` of all work is done then."""
        left = deadline.remaining()
        started = time.perf_counter()
        if self.families_ and left == 0:
            self.left_out_.append(f"{family.name}: the time limit for kernels of {self.time_limit:.2g} s was reached")
            return
        try:
            with time_limit(left if self.families_ else None):
                part = family.kernel.fit_prepare(graphs)
                matrices = family.matrices(part)
        except TimeLimitReached:
            if not self.families_ or deadline.remaining() != 0:  # the limit of whoever called
                raise
            self.left_out_.append(
                f"{family.name}: not finished within the time limit for kernels of {self.time_limit:.2g} s"
            )
            return
        self.families_.append(family)
        self.scales_.append([_scale(matrix) for matrix in matrices])
        fitted.parts.append(part)
        assert fitted.blocks is not None
        n_before = sum(other.block == family.block for other in self.families_[:-1])
        _extend_mean(fitted.blocks, family.block, n_before, _mean_view(matrices, self.scales_[-1]))
        report(self.verbose, "%s: fitted in %.1f s", family.name, time.perf_counter() - started, share=share)

    def _add(self, blocks: dict[str, Float64], place: int, views: list[Float64]) -> None:
        mean = _mean_view(views, self.scales_[place])
        block = self.families_[place].block
        blocks[block] = blocks[block] + mean if block in blocks else mean

    def _averaged(self, blocks: dict[str, Float64]) -> dict[str, Float64]:
        sizes = {block: sum(family.block == block for family in self.families_) for block in blocks}
        return {block: total / sizes[block] for block, total in blocks.items()}


def _rows(counts: Counts, graphs: Int64) -> Counts:
    return Counts(csr_array(counts.matrix[graphs]), counts.unknown_squares[graphs], counts.unknown_sums[graphs])


def _stored(counts: Counts) -> dict[str, Any]:
    matrix = counts.matrix
    arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
    unknown = {"unknown_squares": counts.unknown_squares, "unknown_sums": counts.unknown_sums}
    return {**arrays, **unknown, "n_columns": int(matrix.shape[1])}


def _restored(indptr: Any, indices: Any, data: Any, n_columns: int, unknown_squares: Any, unknown_sums: Any) -> Counts:
    vectors = {"indptr": indptr, "indices": indices, "data": data, "squares": unknown_squares, "sums": unknown_sums}
    for name, vector in vectors.items():
        kind = "i" if name in ("indptr", "indices") else "f"
        if not (isinstance(vector, np.ndarray) and vector.ndim == 1 and vector.dtype.kind == kind):
            raise ValueError(f"{name} of counts must be a vector of numbers")
    n_graphs = len(indptr) - 1
    matrix = csr_array((data, indices, indptr), shape=(n_graphs, n_columns))
    matrix.check_format(full_check=True)
    fits = len(unknown_squares) == len(unknown_sums) == n_graphs and matrix.has_sorted_indices
    if not fits or not all(np.isfinite(values).all() and values.min(initial=0) >= 0 for values in (data, unknown_sums)):
        raise ValueError("counts must be finite, from 0 on, in ascending columns, for each graph")
    return Counts(matrix, unknown_squares, unknown_sums)


def _kinds_of(combination: str, there: Collection[str]) -> Kinds:
    """Return the kinds of kernels of a combination, without the blocks that are not there."""
    check_choice("combination", combination, COMBINATIONS)
    kinds = (tuple(block for block in kind if block in there) for kind in COMBINATIONS[combination])
    return tuple(kind for kind in kinds if kind)


def _scale(matrix: Float64) -> float:
    """Return 1 over the variance of the fitted graphs, or 0 where they are all the same.

    A support vector machine and a Gaussian process with a mean of its own do not feel a constant that is added to a
    kernel, so this is the scale of the centred kernel, and there is no need to centre.
    """
    diagonal = float(matrix.diagonal().mean())
    variance = diagonal - float(matrix.mean())
    return 1 / variance if variance > CONSTANT * diagonal else 0.0


def _mean_view(views: list[Float64], scales: list[float]) -> Float64:
    total = np.zeros_like(views[0])
    for view, scale in zip(views, scales, strict=True):
        total += view * scale
    total /= max(sum(scale > 0 for scale in scales), 1)
    return total


def _extend_mean(blocks: dict[str, Float64], block: str, n_before: int, added: Float64) -> None:
    """Let another matrix take part in the mean of a block."""
    if block in blocks:
        blocks[block] *= n_before / (n_before + 1)
        blocks[block] += added / (n_before + 1)
    else:
        blocks[block] = added
