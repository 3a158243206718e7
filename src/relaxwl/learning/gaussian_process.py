"""Gaussian processes on sums of given kernels: how much each kernel counts is learned from the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack, solve_triangular
from scipy.optimize import fmin_l_bfgs_b

from relaxwl._deadline import check_time
from relaxwl._progress import report

Float64 = NDArray[np.float64]

# Bounds of the logarithms of weights and noise, for targets of variance 1 and kernels of mean diagonal 1.
LOG_WEIGHTS = (-14.0, 7.0)
LOG_NOISE = (-12.0, 2.0)
# A weight below this share of the variance of the targets is no better than none.
NEGLIGIBLE = 1e-5
# Shares of the variance that the starting points take for noise.
STARTING_NOISE = (0.1, 0.5, 0.02)
# Starting points are tried on the first number of examples, evenly spread. The best is followed on the second, then on
# all of them: a step on all costs the cube of their number, and few are left to take.
STAGES = (500, 1500)
# Steps end when the logarithm of the likelihood grows by less than this share of itself: hundredths, mostly.
LEAST_GROWTH = 2e-5
# Shares of the mean diagonal that are added to it, one after the other, until a matrix is positive definite.
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)


class Prediction(NamedTuple):
    """Mean and variance of each answer."""

    mean: Float64
    variance: Float64


class GaussianProcess:
    """Gaussian process whose covariance is a sum of given kernels, each with a weight >= 0, plus noise and a mean.

    Weights, noise and mean maximise the marginal likelihood. Kernels are matrices: ``fit`` takes those between the
    training examples, ``predict`` those between new and training examples. Kernels that explain nothing end with
    weight 0. The uncertainty of the mean counts in the variances.

    Parameters
    ----------
    n_starts : int
        Starting points of the optimisation, from 1 to 3.
    max_iter : int
        Steps of the optimisation from each.
    verbose : int
        1 logs what was found.

    Attributes
    ----------
    weights_ : array (n_kernels,)
        Weight of each kernel, in units of the squared target.
    noise_ : float
        Variance of the noise.
    mean_ : float
        What is predicted where no training example is near.
    log_likelihood_ : float
        Logarithm of the marginal likelihood.
    jitter_ : float
        What had to be added to the variance of each example so that the covariance could be factored; mostly 0.

    Examples
    --------
    >>> x = np.linspace(0, 6, 30)
    >>> def kernels(a, b):
    ...     return [np.exp(-(np.subtract.outer(a, b) ** 2)), np.multiply.outer(a, b)]
    >>> process = GaussianProcess().fit(kernels(x, x), np.sin(x))
    >>> mean, variance = process.predict(kernels(np.array([1.5]), x), [np.ones(1), np.array([2.25])])
    >>> print(mean.round(3))
    [0.997]
    """

    def __init__(self, n_starts: int = 2, max_iter: int = 60, verbose: int = 0) -> None:
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(self, kernels: Sequence[ArrayLike], y: ArrayLike) -> Self:
        """Learn weights, noise and mean from the kernel matrices (n, n) of n examples and their targets."""
        problem, center, unit = _standardised(kernels, y)
        return self._settle(problem, center, unit, *_weights_and_noise(self._maximised(problem)))

    def condition(self, kernels: Sequence[ArrayLike], y: ArrayLike, weights: ArrayLike, noise: float) -> Self:
        """Take weights and noise as given, and learn the rest, as :meth:`fit` does with those that it finds."""
        problem, center, unit = _standardised(kernels, y)
        given = np.asarray(weights, np.float64)
        if given.shape != (problem.n_kernels,) or not np.isfinite(given).all() or (given < 0).any():
            raise ValueError(f"weights must be {problem.n_kernels} finite numbers >= 0, one for each kernel")
        if not 0 < noise < np.inf:
            raise ValueError(f"noise must be a finite number > 0, not {noise!r}")
        return self._settle(problem, center, unit, given * problem.scales / unit**2, noise / unit**2)

    def _settle(self, problem: "_Problem", center: float, unit: float, weights: Float64, noise: float) -> Self:
        """Keep what predictions need, in the units of the targets."""
        fitted = _Covariance.of(problem, weights, noise)
        targets = center + unit * problem.targets
        self.weights_: Float64 = fitted.weights / problem.scales * unit**2
        self.noise_ = fitted.noise * unit**2
        self.jitter_ = fitted.jitter * unit**2
        self.mean_ = center + unit * fitted.mean
        self.log_likelihood_ = fitted.log_likelihood - len(targets) * np.log(unit)
        self.factor_: Float64 = fitted.factor * unit
        self.dual_: Float64 = fitted.dual / unit
        self._residuals = targets - self.mean_
        ones = solve_triangular(self.factor_, np.ones(len(targets)), lower=True, check_finite=False)
        self._whitened_ones: Float64 = ones
        self._report()
        return self

    def predict(
        self, kernels: Sequence[ArrayLike], diagonals: Sequence[ArrayLike], *, noise: bool = True
    ) -> Prediction:
        """Return mean and variance for m new examples.

        Parameters
        ----------
        kernels : sequence of array (m, n)
            Kernel values between new and training examples, one matrix a kernel.
        diagonals : sequence of array (m,)
            Kernel value of each new example with itself, one array a kernel.
        noise : bool
            Whether the variance is that of a new measurement, noise included, or of the value behind it.
        """
        cross = self._summed([np.asarray(kernel, np.float64) for kernel in kernels])
        prior = self._summed([np.asarray(diagonal, np.float64) for diagonal in diagonals])
        whitened = solve_triangular(self.factor_, cross.T, lower=True, check_finite=False)
        explained = np.einsum("ij,ij->j", whitened, whitened)
        # The mean is estimated too: far from all examples that alone leaves 1/(1ᵀA⁻¹1) of doubt.
        doubt = (1 - self._whitened_ones @ whitened) ** 2 / (self._whitened_ones @ self._whitened_ones)
        variance = np.maximum(prior - explained, 0) + doubt + (self.noise_ if noise else 0)
        return Prediction(self.mean_ + cross @ self.dual_, variance)

    def leave_one_out(self) -> Prediction:
        """Return what would be predicted for each training example, noise included, from all others.

        Exact for the weights found, which every example had its part in.
        """
        inverse = lapack.dpotri(self.factor_, lower=1)[0]
        precision = np.diag(inverse)
        return Prediction(self.mean_ + self._residuals - self.dual_ / precision, 1 / precision)

    def log_density(self, prediction: Prediction, y: ArrayLike) -> Float64:
        """Return the logarithm of the density that a prediction gives to each true value."""
        targets = np.asarray(y, np.float64)
        return -0.5 * (np.log(2 * np.pi * prediction.variance) + (targets - prediction.mean) ** 2 / prediction.variance)

    def _maximised(self, problem: "_Problem") -> Float64:
        """Return the logarithms of weights and noise with the largest likelihood that was found."""
        screened, *larger = problem.stages()
        starts = [_start(problem.n_kernels, share) for share in STARTING_NOISE[: max(1, self.n_starts)]]
        found = [_climb(screened, start, self.max_iter) for start in starts]
        best = max(range(len(found)), key=lambda place: (found[place][1], -place))
        parameters = found[best][0]
        for stage in larger:
            # Examples that contradict each other may all have been left out before. Without noise the others would be
            # absurdly unlikely, and the first step away would end where everything is noise.
            noisier = [np.append(parameters[:-1], max(parameters[-1], np.log(share))) for share in STARTING_NOISE]
            likeliest = max([parameters, *noisier], key=partial(_likelihood, stage))
            parameters = _climb(stage, likeliest, self.max_iter)[0]
        return parameters

    def _summed(self, arrays: list[Float64]) -> Float64:
        if len(arrays) != len(self.weights_):
            raise ValueError(f"kernels must be {len(self.weights_)}, one for each that was fitted, not {len(arrays)}")
        total = np.zeros_like(arrays[0])
        for weight, array in zip(self.weights_, arrays, strict=True):
            if weight:
                total += weight * array
        return total

    def _report(self) -> None:
        shares = ", ".join(f"{weight:.3g}" for weight in self.weights_)
        report(self.verbose, "Gaussian process: weights %s, noise %.3g, mean %.3g", shares, self.noise_, self.mean_)
        if self.jitter_:
            report(self.verbose, "the covariance was singular: %.1e was added to each variance", self.jitter_)


# ---------------------------------------------------------------------------------------------- the likelihood


@dataclass(frozen=True)
class _Problem:
    """Kernels, what divides each so that its mean diagonal is 1, and targets of mean 0 and variance 1."""

    kernels: list[Float64]
    scales: Float64
    targets: Float64

    @property
    def n_kernels(self) -> int:
        return len(self.kernels)

    def stages(self) -> "list[_Problem]":
        """Return the problem on few examples, on more, and on all of them."""
        return [*(self._thinned(size) for size in STAGES if len(self.targets) > 1.5 * size), self]

    def _thinned(self, size: int) -> "_Problem":
        """Return ``size`` examples: evenly spread over the sorted targets, so that all ranges are there."""
        order = np.argsort(self.targets, kind="stable")
        kept = np.sort(order[np.linspace(0, len(order) - 1, size).astype(np.int64)])
        grid = np.ix_(kept, kept)
        return _Problem([kernel[grid] for kernel in self.kernels], self.scales, self.targets[kept])

    def covariance(self, weights: Float64, noise: float) -> Float64:
        total = np.zeros_like(self.kernels[0])
        for kernel, weight in zip(self.kernels, weights / self.scales, strict=True):
            if weight:
                total += weight * kernel
        total.flat[:: len(total) + 1] += noise
        return total


@dataclass(frozen=True)
class _Covariance:
    """A factored covariance with what follows from it; ``dual`` is A⁻¹(y - mean)."""

    weights: Float64
    noise: float
    jitter: float
    factor: Float64
    dual: Float64
    mean: float
    log_likelihood: float

    @classmethod
    def of(cls, problem: _Problem, weights: Float64, noise: float) -> "_Covariance":
        factor, jitter = _factored(problem.covariance(weights, noise))
        right = np.column_stack([problem.targets, np.ones(len(problem.targets))])
        (solved_y, solved_ones) = lapack.dpotrs(factor, right, lower=1)[0].T
        # The best mean for this covariance, by generalised least squares.
        mean = float(solved_y.sum() / solved_ones.sum())
        dual = solved_y - mean * solved_ones
        residuals = problem.targets - mean
        half_log_determinant = float(np.log(np.diag(factor)).sum())
        fit = float(residuals @ dual)
        value = -0.5 * fit - half_log_determinant - 0.5 * len(residuals) * np.log(2 * np.pi)
        return cls(weights, noise, jitter, factor, dual, mean, float(value))

    def gradient(self, problem: _Problem) -> Float64:
        """Return the derivatives by the logarithms of weights and noise; the mean is at its best, so it adds none."""
        inverse = lapack.dpotri(self.factor, lower=1)[0]
        traces = [_symmetric_dot(inverse, kernel) for kernel in problem.kernels]
        fits = [float(self.dual @ (kernel @ self.dual)) for kernel in problem.kernels]
        by_weight = 0.5 * (np.array(fits) - np.array(traces)) * self.weights / problem.scales
        by_noise = 0.5 * (float(self.dual @ self.dual) - float(np.trace(inverse))) * self.noise
        return np.append(by_weight, by_noise)


def _likelihood(problem: _Problem, parameters: Float64) -> float:
    return _Covariance.of(problem, np.exp(parameters[:-1]), float(np.exp(parameters[-1]))).log_likelihood


def _climb(problem: _Problem, start: Float64, max_iter: int) -> tuple[Float64, float]:
    """Follow the gradient of the likelihood; return where that ends, and the likelihood there."""

    def loss(parameters: Float64) -> tuple[float, Float64]:
        check_time()
        covariance = _Covariance.of(problem, np.exp(parameters[:-1]), float(np.exp(parameters[-1])))
        return -covariance.log_likelihood, -covariance.gradient(problem)

    bounds = [LOG_WEIGHTS] * problem.n_kernels + [LOG_NOISE]
    growth = LEAST_GROWTH / np.finfo(np.float64).eps
    found, value, _ = fmin_l_bfgs_b(loss, start, bounds=bounds, maxiter=max_iter, factr=growth, pgtol=1e-3)
    return np.asarray(found, np.float64), -float(value)


def _start(n_kernels: int, noise: float) -> Float64:
    start: Float64 = np.log(np.append(np.full(n_kernels, (1 - noise) / n_kernels), noise))
    return start


def _weights_and_noise(parameters: Float64) -> tuple[Float64, float]:
    weights = np.exp(parameters[:-1])
    return np.where(weights < NEGLIGIBLE, 0.0, weights), float(np.exp(parameters[-1]))


def _factored(covariance: Float64) -> tuple[Float64, float]:
    """Return the lower Cholesky factor, and what was added to the diagonal where rounding left the matrix singular."""
    size = float(np.trace(covariance)) / len(covariance)
    for share in JITTERS:
        shifted = covariance
        if share:
            shifted = covariance.copy()
            shifted.flat[:: len(covariance) + 1] += share * size
        factor, failed = lapack.dpotrf(shifted, lower=1, clean=1)
        if not failed:
            return factor, share * size
    raise ValueError(
        "the sum of the kernels has eigenvalues well below 0: the kernels must be positive semidefinite; "
        f"adding {JITTERS[-1]:g} of the mean variance did not help"
    )


def _symmetric_dot(lower: Float64, symmetric: Float64) -> float:
    """Return the sum of products of two symmetric matrices, of which the first holds its lower triangle alone."""
    doubled = 2 * float(lower.T.ravel() @ symmetric.ravel())  # LAPACK writes by columns: transposed, this is a view
    return doubled - float(np.diag(lower) @ np.diag(symmetric))


def _scale(kernel: Float64) -> float:
    mean = float(np.trace(kernel)) / len(kernel)
    return mean if mean > 0 else 1.0


def _standardised(kernels: Sequence[ArrayLike], y: ArrayLike) -> tuple[_Problem, float, float]:
    """Return the problem in its own units, and the mean and deviation of the targets."""
    matrices, targets = _checked(kernels, y)
    center, spread = float(targets.mean()), float(targets.std())
    unit = spread if spread > 1e-12 * max(1.0, abs(center)) else 1.0
    scales = np.array([_scale(matrix) for matrix in matrices])
    return _Problem(matrices, scales, (targets - center) / unit), center, unit


def _checked(kernels: Sequence[ArrayLike], y: ArrayLike) -> tuple[list[Float64], Float64]:
    targets = np.asarray(y, np.float64)
    if targets.ndim != 1 or not len(targets):
        raise ValueError(f"y must be a vector of at least one number, not an array of shape {targets.shape}")
    if not np.isfinite(targets).all():
        raise ValueError(f"y must be finite, but y[{int(np.flatnonzero(~np.isfinite(targets))[0])}] is not")
    matrices = [np.ascontiguousarray(kernel, np.float64) for kernel in kernels]
    if not matrices:
        raise ValueError("kernels must hold at least one matrix")
    for place, matrix in enumerate(matrices):
        if matrix.shape != (len(targets), len(targets)):
            raise ValueError(f"kernel {place} must be of shape {(len(targets),) * 2}, not {matrix.shape}")
        if not np.isfinite(matrix).all():
            raise ValueError(f"kernel {place} must be finite")
    return matrices, targets
