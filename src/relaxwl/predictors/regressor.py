"""GraphRegressor: regression on graphs with standard deviations."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from relaxwl.costs import EditCost
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.learning.conformal import intervals
from relaxwl.learning.heads import LinearRegressor, ProcessRegressor
from relaxwl.learning.scoring import Score, get_score
from relaxwl.predictors.base import GraphPredictor
from relaxwl.predictors.targets import Target, known_values


class GraphRegressor(RegressorMixin, GraphPredictor):
    """Predict a number for each graph, with its standard deviation.

    The model is a Gaussian process whose covariance is a weighted sum of kernels (exact and relaxed Weisfeiler-Lehman
    kernels, also with shortest paths if the graphs are small enough, and kernels on additional features). Weights,
    noise and mean maximize the marginal likelihood. Beyond 5,000 graphs the weights are learned from 1,500 of them, and
    beyond 20,000 the model is a ridge regression on explicit features; ``report_`` states both.

    Parameters
    ----------
    effort : {"quick", "balanced", "thorough"}, default="balanced"
        Number of kernels, partitions and depths. Linear models (beyond 20,000 graphs) use the kernels of "quick" also
        with "balanced".
    time_limit : float, optional
        Approximate limit of the fit in seconds. Fewer settings are tried, and ``report_`` lists those left out.
    scoring : str, optional
        Score used in reports, and by linear models to select a penalty: "rmse" (default), "mae", "r2" or
        "spearman"; ``score`` returns it, or R² by default.
    calibration : {"cv", "split"}, default="cv"
        Calibration of :meth:`predict_interval`: on out-of-fold predictions (CV+), or on a quarter of the objects that
        is held out from training.
    cost : EditCost, optional
        Costs of relabeling, inserting and deleting in relaxed kernels. By default all costs are 1, and kernels of
        attributes use costs on the scale of the attributes.
    node_label, edge_label, node_attributes, edge_attributes : str or list of str, optional
        Names of the labels and attributes to read, as in :func:`relaxwl.as_collection`.
    symmetrize : bool, default=False
        Ignore the directions of directed graphs.
    directed : bool, optional
        Whether edges are arcs, if the graphs do not determine it; see :func:`relaxwl.as_collection`.
    missing : label, optional
        Label of nodes and edges without a label; by default partially labeled graphs raise an error.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int or None, default=None
        Seeds partitions and folds.
    verbose : int, default=0
        1 logs what is fitted.

    Attributes
    ----------
    kernel_weights_ : dict
        The weight of each block of kernels in the covariance, in units of the squared target (beyond 5,000 objects
        as shares of the sum).
    report_ : FitReport
        Settings tried and chosen, with the leave-one-out error and that of the mean predictor; print it.

    See Also
    --------
    GraphClassifier : Predict classes instead of numbers.
    relaxwl.molecules.MoleculeRegressor : The same for molecules.
    relaxwl.gp.GraphKernel : A kernel for scikit-learn's Gaussian processes.

    Examples
    --------
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, _ = make_egonets(40, level=1, random_state=0)
    >>> density = graphs.edge_counts / graphs.node_counts
    >>> model = GraphRegressor(effort="quick", random_state=0).fit(graphs[:30], density[:30])
    >>> mean, std = model.predict(graphs[30:], return_std=True)
    >>> mean.shape, std.shape, model.score(graphs[30:], density[30:]) > 0.5
    ((10,), (10,), True)
    """

    def __init__(
        self,
        effort: str = "balanced",
        time_limit: float | None = None,
        scoring: str | None = None,
        calibration: str = "cv",
        node_label: str | None = None,
        edge_label: str | None = None,
        node_attributes: str | Sequence[str] | None = None,
        edge_attributes: str | Sequence[str] | None = None,
        symmetrize: bool = False,
        directed: bool | None = None,
        missing: Any = None,
        cost: EditCost | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.effort = effort
        self.time_limit = time_limit
        self.scoring = scoring
        self.calibration = calibration
        self.node_label = node_label
        self.edge_label = edge_label
        self.node_attributes = node_attributes
        self.edge_attributes = edge_attributes
        self.symmetrize = symmetrize
        self.directed = directed
        self.missing = missing
        self.cost = cost
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any, return_std: bool = False, extra: Any = None) -> Any:
        """Return the prediction for each object.

        Parameters
        ----------
        X : as in ``fit``
            The objects.
        return_std : bool, default=False
            Whether to return standard deviations as well.
        extra : array-like (n_objects, n_columns), optional
            Additional features of the objects, as in ``fit``.

        Returns
        -------
        mean : float64 array (n_objects,) or (n_objects, n_targets)
            The predictions.
        std : float64 array of the same shape
            Standard deviations of new measurements, noise included; only with ``return_std``.
        """
        check_is_fitted(self)
        numbers = range(len(self._heads))
        means, variances = [np.zeros((0, len(self._heads)))], [np.zeros((0, len(self._heads)))]
        if return_std:
            self._factor(numbers)
        for batch in self._batches(X, extra):
            pairs = list(zip(self._heads, self._inputs(batch, numbers), strict=True))
            if return_std:
                found = [head.predict(*arrays) for head, arrays in pairs]
                means.append(np.column_stack([one.mean for one in found]))
                variances.append(np.column_stack([one.variance for one in found]))
            else:
                means.append(np.column_stack([head.values(*arrays)[:, 0] for head, arrays in pairs]))
        mean, std = np.concatenate(means), np.sqrt(np.concatenate(variances))
        if not self._is_table:
            mean, std = mean[:, 0], std[:, 0]
        return (mean, std) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.9, target: Any = None, extra: Any = None) -> Float64:
        """Return conformal prediction intervals, which contain a new measurement with probability ``coverage``.

        The intervals are calibrated on out-of-fold predictions (CV+) or on held-out objects (``calibration="split"``)
        and are wider where the model is uncertain; the user guide states the guarantees.

        Parameters
        ----------
        X : as in ``fit``
            The objects.
        coverage : float, default=0.9
            Probability between 0 and 1.
        target : str or int, optional
            One of several targets.
        extra : array-like, optional
            Additional features of the objects, as in ``fit``.

        Returns
        -------
        float64 array (n_objects, 2)
            Lower and upper bounds; infinite if there are too few objects for the coverage.
        """
        parts = [np.zeros((0, 2))]
        for (means, stds), of in self._calibrated(X, coverage, self._target_number(target), extra):
            parts.append(intervals(means, stds, of.folds, of.scores, coverage))
        return np.concatenate(parts)

    def score(self, X: Any, y: Any, sample_weight: Any = None, extra: Any = None) -> float:
        """Return the score selected by ``scoring``, by default R².

        Parameters
        ----------
        X : as in ``fit``
            The objects.
        y : as in ``fit``
            The true values; missing values are ignored.
        sample_weight : array-like (n_objects,), optional
            Weights of the objects.
        extra : array-like (n_objects, n_columns), optional
            Additional features of the objects, as in ``fit``.

        Returns
        -------
        float
            The score; with several targets, the mean over them.
        """
        score = get_score(self.scoring or "r2", self._task)
        predicted = self.predict(X, extra=extra).reshape(-1, len(self._heads))
        weights = self._object_weights(sample_weight, len(predicted))
        found = []
        for number, (known, values) in enumerate(known_values(y, len(predicted), self._is_table)):
            own = None if weights is None else weights[known]
            if len(values):
                found.append(score(np.array(values, np.float64), predicted[known, number], own))
        return float(np.nanmean(found))

    # ------------------------------------------------------------------------------------------------ inside

    _kernel_head: Any = ProcessRegressor
    _linear_head: Any = LinearRegressor
    _head_kinds = (ProcessRegressor, LinearRegressor)
    _task = "regression"

    def _baseline(self, target: Target, score: Score) -> tuple[str, float, str]:
        y = target.values
        left_out_mean = (y.sum() - y) / max(len(y) - 1, 1)
        return f"targets from {y.min():.4g} to {y.max():.4g}", score(y, left_out_mean), "mean predictor"

    def _predicted(self, number: int, arrays: tuple[Any, ...]) -> tuple[Any, Int64]:
        mean = self._heads[number].values(*arrays)[:, 0]
        return mean, np.zeros(len(mean), np.int64)
