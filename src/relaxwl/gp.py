"""Graph kernels inside scikit-learn's Gaussian processes."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.inputs import as_collection
from relaxwl.kernels import WeisfeilerLehman
from relaxwl.kernels.base import CountKernel

__all__ = ["GraphKernel"]

Bounds = tuple[float, float] | str


class GraphKernel(Kernel):
    """Graph kernel for scikit-learn's Gaussian processes, with an amplitude and a weight for each depth.

    The covariance of two graphs is ``amplitude`` times the weighted mean (``depth_weights``) of the graph kernel
    truncated at each depth from 0 on. Amplitude and weights are hyperparameters with gradients; add a ``WhiteKernel``
    for noise.

    The graph kernel is fitted on the graphs of the first call, those passed to ``GaussianProcessRegressor.fit``. Their
    matrices of each depth are cached, so that a step of the optimization only sums them, and a prediction transforms
    only the new graphs.

    Parameters
    ----------
    kernel : WeisfeilerLehman or RelaxedWeisfeilerLehman, optional
        The kernel; by default ``WeisfeilerLehman`` with ``similarity="tanimoto"``. Similarities of 1 with itself
        (tanimoto, or ``normalize=True``) suit Gaussian processes best.
    amplitude : float, default=1.0
        Variance of the values of a graph.
    depth_weights : float or array (max_depth + 1,), default=1.0
        Weight of the kernel truncated at each depth; only ratios matter.
    amplitude_bounds : pair of float or "fixed", default=(1e-4, 1e4)
        Bounds of ``amplitude``; "fixed" leaves it as it is.
    depth_weights_bounds : pair of float or "fixed", default=(1e-3, 1e3)
        Bounds of ``depth_weights``; "fixed" leaves them as they are.

    See Also
    --------
    relaxwl.GraphRegressor : A Gaussian process that chooses its kernels.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import WhiteKernel
    >>> graphs = GraphCollection.from_edges([(n, [(i, i + 1) for i in range(n - 1)]) for n in range(2, 12)])
    >>> sizes = np.arange(2.0, 12.0)
    >>> kernel = GraphKernel(WeisfeilerLehman(1, similarity="tanimoto"), amplitude=10.0) + WhiteKernel(0.1)
    >>> model = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(list(graphs[:9]), sizes[:9])
    >>> mean, std = model.predict(list(graphs[9:]), return_std=True)
    >>> bool(abs(mean[0] - 11) < 2)
    True
    """

    def __init__(
        self,
        kernel: CountKernel | None = None,
        amplitude: float = 1.0,
        depth_weights: Any = 1.0,
        amplitude_bounds: Bounds = (1e-4, 1e4),
        depth_weights_bounds: Bounds = (1e-3, 1e3),
    ) -> None:
        self.kernel = kernel
        self.amplitude = amplitude
        self.depth_weights = depth_weights
        self.amplitude_bounds = amplitude_bounds
        self.depth_weights_bounds = depth_weights_bounds

    @property
    def hyperparameter_amplitude(self) -> Hyperparameter:
        """The variance of the values."""
        return Hyperparameter("amplitude", "numeric", self.amplitude_bounds)

    @property
    def hyperparameter_depth_weights(self) -> Hyperparameter:
        """The weights of the depths."""
        n_depths = self._depths
        return Hyperparameter("depth_weights", "numeric", self.depth_weights_bounds, n_depths)

    @property
    def requires_vector_input(self) -> bool:
        """False, because graphs are not vectors."""
        return False

    def is_stationary(self) -> bool:
        """Return False: the kernel is not a function of differences of its inputs.

        Returns
        -------
        bool
            Always False.
        """
        return False

    @property
    def theta(self) -> Float64:
        """Logarithms of the free hyperparameters; a single depth weight is expanded to one weight per depth."""
        values = {
            "amplitude": np.array([self.amplitude]),
            "depth_weights": np.broadcast_to(np.asarray(self.depth_weights, np.float64), self._depths),
        }
        free = [values[hyperparameter.name] for hyperparameter in self.hyperparameters if not hyperparameter.fixed]
        return np.asarray(np.log(np.concatenate([np.ones(0), *free])))

    @theta.setter
    def theta(self, theta: Float64) -> None:
        Kernel.theta.fset(self, theta)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the covariances (n, m) between ``X`` and ``Y`` (by default ``X`` itself).

        With ``eval_gradient`` also their derivatives (n, n, n_hyperparameters) by the logarithms of those that are
        free; only without ``Y``.
        """
        if Y is not None and eval_gradient:
            raise ValueError("the gradient can only be evaluated when Y is None")
        cuts = self._cuts(X, Y)
        weights = self._shares()
        mean = np.tensordot(weights, cuts, axes=1)
        covariance = self.amplitude * mean
        if not eval_gradient:
            return covariance
        parts: list[Float64] = []
        if not self.hyperparameter_amplitude.fixed:
            parts.append(covariance[..., None])
        if not self.hyperparameter_depth_weights.fixed:
            # Weights are normalized, so increasing one depth decreases the shares of the others.
            by_weight = self.amplitude * weights[:, None, None] * (cuts - mean)
            parts.append(np.moveaxis(by_weight, 0, -1))
        empty = np.empty((*covariance.shape, 0))
        return covariance, np.concatenate(parts, axis=-1) if parts else empty

    def diag(self, X: Any) -> Float64:
        """Return the variance of each graph.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.

        Returns
        -------
        float64 array (n_graphs,)
            The variances.
        """
        prepared = self._prepared(X)
        own = np.array(self._fitted.compare_own(prepared, self._settings))
        return np.asarray(self.amplitude * self._shares() @ own)

    def __repr__(self) -> str:
        weights = ", ".join(f"{weight:.3g}" for weight in self._shares())
        return f"GraphKernel(amplitude={self.amplitude:.3g}, depth_weights=[{weights}])"

    def __eq__(self, other: object) -> bool:
        # scikit-learn's comparison of parameters does not support arrays.
        return self is other

    __hash__ = None  # type: ignore[assignment]

    # ---------------------------------------------------------------------------------------------------- inside

    @property
    def _graph_kernel(self) -> CountKernel:
        return WeisfeilerLehman(similarity="tanimoto") if self.kernel is None else self.kernel

    @property
    def _depths(self) -> int:
        return int(self._graph_kernel.max_depth) + 1

    @property
    def _settings(self) -> list[dict[str, Any]]:
        return [{"max_depth": depth} for depth in range(self._depths)]

    def _shares(self) -> Float64:
        weights = np.broadcast_to(np.asarray(self.depth_weights, np.float64), self._depths)
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(f"depth_weights must be numbers >= 0, not all 0, not {self.depth_weights!r}")
        return np.asarray(weights / weights.sum())

    def _prepared(self, X: Any) -> Any:
        """Return the counts of graphs; those of the fit are kept."""
        if not hasattr(self, "_fitted"):
            self._fitted: CountKernel = clone(self._graph_kernel)
            # Stored with the counts, so that identity comparisons cannot confuse it with a new object.
            self._training = X
            self._counts = self._fitted.fit_prepare(_graphs(X))
            self._training_cuts: Float64 | None = None
        return self._counts if X is self._training else self._fitted.prepare(_graphs(X))

    def _cuts(self, X: Any, Y: Any) -> Float64:
        """Return the Gram matrices of the kernel cut at each depth; those of the fit are computed once."""
        x = self._prepared(X)
        if x is self._counts and (Y is None or Y is self._training):
            if self._training_cuts is None:
                self._training_cuts = np.array(self._fitted.compare(x, settings=self._settings))
            return self._training_cuts
        y = None if Y is None else self._prepared(Y)
        return np.array(self._fitted.compare(x, y, self._settings))


def _graphs(X: Any) -> GraphCollection:
    """Return a collection; scikit-learn passes lists as arrays of objects."""
    return as_collection(X.tolist() if isinstance(X, np.ndarray) and X.dtype == object else X)
