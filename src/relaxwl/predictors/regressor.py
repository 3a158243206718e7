"""GraphRegressor: graphs in, numbers and their deviations out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from relaxwl._validation import as_numbers
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.learning.heads import LinearRegressor, ProcessRegressor
from relaxwl.predictors.base import GraphPredictor


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
        Seeds partitions and folds.
    verbose : int
        1 logs what is fitted.

    Attributes
    ----------
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

    def predict(self, X: Any, return_std: bool = False, extra: Any = None) -> Any:
        """Return the prediction for each object, with ``return_std`` also its standard deviation, noise included."""
        parts = [self._head.predict(*self._arrays(batch)) for batch in self._batches(X, extra)]
        mean = np.concatenate([np.zeros(0), *(part.mean for part in parts)])
        if not return_std:
            return mean
        return mean, np.sqrt(np.concatenate([np.zeros(0), *(part.variance for part in parts)]))

    def score(self, X: Any, y: Any, sample_weight: Any = None, extra: Any = None) -> float:
        """Return the coefficient of determination, R²."""
        return float(r2_score(y, self.predict(X, extra=extra), sample_weight=sample_weight))

    # ------------------------------------------------------------------------------------------------ inside

    _kernel_head = ProcessRegressor
    _linear_head = LinearRegressor
    _head_kinds = (ProcessRegressor, LinearRegressor)

    def _targets(self, y: Any, n_objects: int) -> Float64:
        return as_numbers(y, n_objects, self.things)

    def _baseline(self, targets: Float64) -> tuple[str, str, float, str]:
        left_out_mean = (targets.sum() - targets) / max(len(targets) - 1, 1)
        error = float(np.sqrt(np.mean((targets - left_out_mean) ** 2)))
        return f"targets from {targets.min():.4g} to {targets.max():.4g}", "RMSE", error, "mean of the others"

    def _predicted(self, arrays: tuple[Any, ...]) -> tuple[Any, Int64]:
        mean = self._head.predict(*arrays).mean
        return mean, np.zeros(len(mean), np.int64)
