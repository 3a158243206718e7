"""What the predictors share: graphs of any kind, kernels that are fitted once, vectors beside the graphs."""

import os
import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from relaxwl._execution import spans
from relaxwl._memory import MEMORY_SHARE, available_memory
from relaxwl._validation import GraphEstimator, as_seed, check_choice
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.inputs import as_collection
from relaxwl.kernels import RelaxedWeisfeilerLehman
from relaxwl.kernels.persistence import save_model
from relaxwl.learning.vectors import VectorKernel, as_table
from relaxwl.predictors.averaged import AveragedKernel, Prepared
from relaxwl.predictors.novelty import Novelty
from relaxwl.predictors.portfolio import EFFORTS
from relaxwl.predictors.report import FitReport

# From so many graphs on, or where Gram matrices do not fit into memory, linear models on explicit features.
LINEAR_FROM = 10_000
# Gram matrices that are in memory at the same time: the blocks, a combination, and what a machine copies.
N_MATRICES = 8
# The part of a time limit that fitting kernels may take; the rest is for choosing.
KERNEL_SHARE = 0.7
# Graphs that are scored at once.
BATCH = 2048
# What a model file keeps of every predictor, beside its parameters.
KEPT = ("kernel_", "report_", "_training", "_extra", "_extra_kernel", "_novelty")


class GraphPredictor(GraphEstimator):
    """The part of the predictors that does not depend on what is predicted."""

    effort: str
    time_limit: float | None
    node_label: str | None
    edge_label: str | None
    node_attributes: str | Sequence[str] | None
    edge_attributes: str | Sequence[str] | None
    symmetrize: bool
    directed: bool | None
    missing: Any
    n_jobs: int | None
    random_state: Any
    verbose: int

    kernel_: Any
    report_: FitReport

    def novelty(self, X: Any) -> Float64:
        """Say how far graphs lie from the graphs of the fit, so that one sees when a prediction is a guess.

        The distances of a graph's neighbourhoods to the centres of their groups, in units of what 95 % of the fitted
        graphs stay below: a graph with a value above 1 is stranger than these.
        """
        check_is_fitted(self)
        return self._novelty.score(self._graphs(X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted predictor, kernels and all, to one file of arrays and JSON; see :meth:`load`."""
        from relaxwl.predictors import persistence  # noqa: F401 - tells the model format of our classes

        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a predictor that :meth:`save` wrote; safe for files from elsewhere: nothing in them is executed."""
        from relaxwl.predictors.persistence import load_predictor

        model: Self = load_predictor(path, (cls,))
        return model

    def to_state(self) -> dict[str, Any]:
        """Return what a model file keeps: the parameters, and what predictions need."""
        state = {name: getattr(self, name) for name in (*KEPT, *self._kept) if hasattr(self, name)}
        return {**self.get_params(deep=False), **state}

    # ------------------------------------------------------------------------------------------------ inside

    _kept: tuple[str, ...] = ()

    def _validate_parameters(self) -> None:
        check_choice("effort", self.effort, EFFORTS)
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(f"time_limit must be a number of seconds > 0 or None, not {self.time_limit!r}")

    def _check_loaded(self) -> None:
        """Check that what is compared with new graphs is what the kernels count."""
        if not isinstance(self.kernel_, AveragedKernel):
            return
        if len(self._training.parts) != len(self.kernel_.families_):
            raise ValueError("there must be counts for each kernel")
        for part, family in zip(self._training.parts, self.kernel_.families_, strict=True):
            counters = family.kernel._counters
            by_depth = list(zip(*counters, strict=True)) if isinstance(counters[0], list) else [(c,) for c in counters]
            expected = [sum(counter.n_columns for counter in depth) for depth in by_depth]
            if [counts.matrix.shape for counts in part] != [(self._n_compared(), columns) for columns in expected]:
                raise ValueError(f"the counts of {family.name} must be those of {self._n_compared()} graphs")

    def _n_compared(self) -> int:
        """Return the number of graphs of the fit that new ones are compared with."""
        raise NotImplementedError

    def _graphs(self, X: Any) -> GraphCollection:
        if isinstance(X, GraphCollection):
            return X
        return as_collection(
            X,
            node_label=self.node_label,
            edge_label=self.edge_label,
            node_attributes=self.node_attributes,
            edge_attributes=self.edge_attributes,
            symmetrize=self.symmetrize,
            directed=self.directed,
            missing=self.missing,
        )

    def _checked_input(self, X: Any, extra: Any) -> tuple[GraphCollection, Float64 | None]:
        self._validate_parameters()
        graphs = self._graphs(X)
        self._seed = as_seed(self.random_state)
        self._started = time.perf_counter()
        return graphs, None if extra is None else as_table(extra, len(graphs))

    def _is_large(self, graphs: GraphCollection) -> bool:
        needed = 8.0 * N_MATRICES * len(graphs) ** 2
        return len(graphs) > LINEAR_FROM or needed > MEMORY_SHARE * available_memory()

    def _fit_kernels(self, graphs: GraphCollection, extra: Float64 | None) -> dict[str, Float64]:
        """Fit all kernels and the measure of novelty, without targets; return the Gram matrix of each block."""
        blocks = self._fit_averages(graphs)
        self._fit_novelty(graphs)
        self._fit_extra(extra)
        if extra is not None:
            blocks = {**blocks, "extra": self._extra_kernel.matrix(extra, extra)}
        return blocks

    def _fit_averages(self, graphs: GraphCollection) -> dict[str, Float64]:
        limit = None if self.time_limit is None else KERNEL_SHARE * self.time_limit
        self.kernel_ = AveragedKernel(
            effort=self.effort, time_limit=limit, n_jobs=self.n_jobs, random_state=self._seed, verbose=self.verbose
        )
        self._training: Prepared = self.kernel_.fit_prepare(graphs)
        blocks = self._training.blocks or {}
        self._training.blocks = None
        return blocks

    def _fit_extra(self, extra: Float64 | None) -> None:
        self._extra_kernel, self._extra = VectorKernel(), extra
        if extra is not None:
            self._extra_kernel.fit(extra)

    def _fit_novelty(self, graphs: GraphCollection) -> None:
        """Take the groups that are there for a measure of novelty, or make some."""
        fitted = [family.kernel for family in getattr(self.kernel_, "families_", [])]
        relaxed = [kernel for kernel in fitted if isinstance(kernel, RelaxedWeisfeilerLehman)]
        kernel = next((one for one in relaxed if one.base == "subtree"), None)
        if kernel is None:
            kernel = RelaxedWeisfeilerLehman(2, 2, max_iter=0, random_state=self._seed, n_jobs=self.n_jobs).fit(graphs)
        self._novelty = Novelty(kernel).fit(graphs)

    def _new_extra(self, extra: Any, graphs: GraphCollection) -> Float64 | None:
        if (extra is None) != (self._extra is None):
            fitted, given = ("without", "with") if self._extra is None else ("with", "without")
            raise ValueError(f"extra must be as in fitting: the model was fitted {fitted} it, and is used {given} it")
        return None if extra is None else as_table(extra, len(graphs))

    def _batches(self, X: Any, extra: Any) -> Any:
        """Yield graphs and vectors, a batch at a time."""
        check_is_fitted(self)
        graphs = self._graphs(X)
        table = self._new_extra(extra, graphs)
        for start, stop in spans(len(graphs), BATCH):
            yield graphs[np.arange(start, stop)], None if table is None else table[start:stop]

    def _cross_blocks(self, prepared: Prepared, extra: Float64 | None) -> dict[str, Float64]:
        """Return, block by block, the kernel values between new graphs and those of the fit."""
        blocks: dict[str, Float64] = self.kernel_.block_matrices(prepared, self._training)
        if extra is not None:
            blocks = {**blocks, "extra": self._extra_kernel.matrix(extra, self._extra)}
        return blocks

    def _elapsed(self) -> float:
        return time.perf_counter() - self._started

    def _time_is_up(self) -> bool:
        return self.time_limit is not None and self._elapsed() > self.time_limit
