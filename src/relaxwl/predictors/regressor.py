"""GraphRegressor: graphs in, numbers and their deviations out."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from relaxwl._deadline import TimeLimitReached, time_limit
from relaxwl._validation import as_targets
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.learning.gaussian_process import GaussianProcess, Prediction
from relaxwl.predictors.averaged import Prepared
from relaxwl.predictors.base import GraphPredictor
from relaxwl.predictors.effects import VertexEffects, vertex_effects
from relaxwl.predictors.linear import LinearRegression
from relaxwl.predictors.report import FitReport, Tried

# A Gaussian process takes the cube of the number of graphs: beyond this, linear regression.
PROCESS_UP_TO = 5_000


class GraphRegressor(RegressorMixin, GraphPredictor):
    """A regressor of graphs that says how sure it is.

    By default a Gaussian process: its covariance is a sum of blocks of kernels (exact and relaxed Weisfeiler-Lehman
    kernels, along shortest paths too where that is affordable, and vectors beside the graphs), and the weight of each,
    the noise and the mean maximise the marginal likelihood. Beyond 5,000 graphs it is a ridge regression on explicit
    features, and ``report_`` says so.

    Parameters
    ----------
    effort : {"quick", "balanced", "thorough"}
        How many kernels, partitions and depths.
    time_limit : float, optional
        Seconds that fitting may take, roughly; less is tried then, and ``report_`` says what was left out.
    node_label, edge_label, node_attributes, edge_attributes, symmetrize, directed, missing
        Where graphs of other libraries keep what, as in :func:`relaxwl.as_collection`.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int or None
        Seeds groupings and folds.
    verbose : int
        1 logs what is fitted.

    Attributes
    ----------
    kernel_ : AveragedKernel
        The fitted kernels.
    kernel_weights_ : dict
        The weight of each block of kernels in the covariance, in units of the squared target.
    report_ : FitReport
        What was tried and chosen, with the error of leaving one out beside that of the mean; print it.

    Examples
    --------
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, _ = make_egonets(40, level=1, random_state=0)
    >>> density = graphs.edge_counts / graphs.node_counts
    >>> model = GraphRegressor(effort="quick", random_state=0).fit(graphs[:30], density[:30])
    >>> mean, deviation = model.predict(graphs[30:], return_std=True)
    >>> mean.shape, deviation.shape, model.score(graphs[30:], density[30:]) > 0.5
    ((10,), (10,), True)
    """

    def __init__(
        self,
        effort: str = "balanced",
        time_limit: float | None = None,
        node_label: str | None = None,
        edge_label: str | None = None,
        node_attributes: str | Sequence[str] | None = None,
        edge_attributes: str | Sequence[str] | None = None,
        symmetrize: bool = False,
        directed: bool | None = None,
        missing: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.effort = effort
        self.time_limit = time_limit
        self.node_label = node_label
        self.edge_label = edge_label
        self.node_attributes = node_attributes
        self.edge_attributes = edge_attributes
        self.symmetrize = symmetrize
        self.directed = directed
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, extra: Any = None) -> Self:
        """Learn from graphs and their targets.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : array-like (n_graphs,)
            Their targets.
        extra : array-like (n_graphs, n_columns), optional
            Numbers that are known of each graph besides: a kernel on them joins the covariance.
        """
        graphs, table = self._checked_input(X, extra)
        targets = as_targets(y, len(graphs), "graphs")
        if self._is_large(graphs) or len(graphs) > PROCESS_UP_TO:
            return self._fit_linear(graphs, table, targets)
        blocks = self._fit_kernels(graphs, table)
        self._process = self._fitted_process(list(blocks.values()), targets)
        self._blocks = list(blocks)
        self.kernel_weights_ = dict(zip(self._blocks, self._process.weights_.tolist(), strict=True))
        self.report_ = self._report(targets)
        self._forget_the_others()
        return self

    def predict(self, X: Any, return_std: bool = False, extra: Any = None) -> Any:
        """Return the prediction for each graph, with ``return_std`` also its standard deviation, noise included."""
        check_is_fitted(self)
        parts = [self._batch(graphs, table) for graphs, table in self._batches(X, extra)]
        mean = np.concatenate([np.zeros(0), *(mean for mean, _ in parts)])
        if not return_std:
            return mean
        return mean, np.concatenate([np.zeros(0), *(deviation for _, deviation in parts)])

    def score(self, X: Any, y: Any, sample_weight: Any = None, extra: Any = None) -> float:
        """Return the coefficient of determination, R²."""
        return float(r2_score(y, self.predict(X, extra=extra), sample_weight=sample_weight))

    def explain(self, X: Any, extra: Any = None) -> list[VertexEffects]:
        """Return, for each graph, what its vertices do to the prediction.

        The effect of a vertex is the change of the prediction when its counts are taken out; see
        :class:`relaxwl.predictors.VertexEffects`, which also says when effects add up.
        :func:`relaxwl.reports.write_effects` makes a page of them.
        """
        check_is_fitted(self)
        graphs = self._graphs(X)
        table = self._new_extra(extra, graphs)
        if isinstance(self.kernel_, LinearRegression):
            return self.kernel_.explain(graphs, table)

        def prepare(count: Any, graph: GraphCollection) -> Prepared:
            return Prepared([count(family.kernel, graph) for family in self.kernel_.families_])

        def values(prepared: Prepared, place: int) -> Float64:
            own = None if table is None else np.repeat(table[[place]], prepared.n_graphs, axis=0)
            return self._process_prediction(prepared, own).mean

        return vertex_effects(graphs, prepare, values, self.predict(graphs, extra=extra))

    # ------------------------------------------------------------------------------------------------ inside

    _kept = ("kernel_weights_", "_process", "_blocks")

    def _n_compared(self) -> int:
        return len(self._process.dual_)

    def _fitted_process(self, matrices: list[Float64], targets: Float64) -> GaussianProcess:
        """Learn the weights within the time that is left; out of time, take them from fewer steps."""
        left = None if self.time_limit is None else max(self.time_limit - self._elapsed(), 1.0)
        try:
            with time_limit(left):
                return GaussianProcess(verbose=self.verbose).fit(matrices, targets)
        except TimeLimitReached:
            self.kernel_.left_out_.append("most steps towards the best weights: the time limit was reached")
            return GaussianProcess(n_starts=1, max_iter=1, verbose=self.verbose).fit(matrices, targets)

    def _forget_the_others(self) -> None:
        """Drop the kernels whose blocks have no weight: they would cost time and memory in every prediction."""
        used = [block for block, weight in self.kernel_weights_.items() if weight > 0] or self._blocks
        kept = self.kernel_.restrict_to_blocks(used)
        self._training.parts = [self._training.parts[place] for place in kept]

    def _batch(self, graphs: GraphCollection, extra: Float64 | None) -> tuple[Float64, Float64]:
        if isinstance(self.kernel_, LinearRegression):
            mean = self.kernel_.predict(graphs, extra)
            return mean, np.full(len(mean), self.kernel_.deviation_)
        found = self._process_prediction(self.kernel_.prepare(graphs), extra)
        return found.mean, np.sqrt(found.variance)

    def _process_prediction(self, prepared: Prepared, extra: Float64 | None) -> Prediction:
        cross, own = self._cross_blocks(prepared, extra), self.kernel_.block_diagonals(prepared)
        if extra is not None:
            own = {**own, "extra": self._extra_kernel.diagonal(extra)}
        # A block that was dropped has no weight, so zeros stand for it.
        shape = (prepared.n_graphs, len(self._process.dual_))
        matrices = [cross.get(block, np.zeros(shape)) for block in self._blocks]
        diagonals = [own.get(block, np.zeros(prepared.n_graphs)) for block in self._blocks]
        return self._process.predict(matrices, diagonals)

    def _fit_linear(self, graphs: GraphCollection, extra: Float64 | None, targets: Float64) -> Self:
        model = LinearRegression(self.effort, self._seed, self.n_jobs, self.verbose)
        self._fit_extra(extra)
        errors = model.fit(graphs, extra, targets)
        self.kernel_ = model
        self._fit_novelty(graphs)
        model.left_out_.append(f"a Gaussian process: {len(graphs)} graphs are too many, so linear regression")
        tried = tuple(Tried(f"ridge {ridge:g}", error) for ridge, error in errors.items())
        best = min(tried, key=lambda one: one.score)
        self.report_ = self._summary(targets, tried, best)
        return self

    def _report(self, targets: Float64) -> FitReport:
        residuals = targets - self._process.leave_one_out().mean
        error = float(np.sqrt(np.mean(residuals**2)))
        spread = float(targets.var()) or 1.0
        own = {block: weight / spread for block, weight in self.kernel_weights_.items()}
        shares = ", ".join(f"{block} {share:.2g}" for block, share in own.items())
        detail = f"weights: {shares}; noise {self._process.noise_ / spread:.2g} of the variance"
        best = Tried("Gaussian process", error, detail)
        return self._summary(targets, (best,), best)

    def _summary(self, targets: Float64, tried: tuple[Tried, ...], best: Tried) -> FitReport:
        n = len(targets)
        left_out_mean = (targets.sum() - targets) / max(n - 1, 1)
        return FitReport(
            f"{n} graphs, targets from {targets.min():.4g} to {targets.max():.4g}",
            "RMSE",
            tried,
            best.name,
            best.score,
            float(np.sqrt(np.mean((targets - left_out_mean) ** 2))),
            "mean of the others",
            tuple(family.name for family in self.kernel_.families_),
            tuple(self.kernel_.left_out_),
            self._elapsed(),
        )
