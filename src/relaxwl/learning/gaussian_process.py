"""Gaussian processes on weighted sums of kernels; the weights are learned from the data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import blas, cho_factor, cho_solve, lapack, solve_triangular
from scipy.optimize import lsq_linear

from relaxwl._execution import cached_property, check_time, spans
from relaxwl._progress import report

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

# Bounds of weights and noise, for targets of variance 1 and kernels of mean diagonal 1.
MAX_WEIGHT = 1e3
NOISE = (5e-6, 8.0)
# Share of the variance of the targets below which a weight is set to 0.
NEGLIGIBLE = 1e-5
# Noise of the starting points, as a share of the variance.
STARTING_NOISE = (0.1, 0.5, 0.02)
# Noise that goes with equal weights, as a share of the variance.
PRIOR_NOISE = 0.3
# Starting points are optimized on the first number of evenly spread examples, the best of them on the second number,
# then on all examples: a step takes time cubic in the number of examples, and a few steps on all are sufficient.
STAGES = (500, 1500)
# Maximum number of examples that all count in learning the weights; of more, only those of the stages do.
LEARNED_ON_ALL = 2500
# Steps end when the expected increase of the log-likelihood per example is at most this.
LEAST_GROWTH = 1e-4
# Logarithm of the maximum factor by which a step may change weights and noise: initial value, and bound.
REACHES = (2.0, 4.0)
# Minimum of this logarithm: if steps must be smaller, the likelihood does not grow along its gradient.
LEAST_REACH = 1e-8
# Ridge of the information matrix, relative to its diagonal, without which similar kernels would exchange huge weights.
RIDGE = 1e-3
# Shares of the mean diagonal that are added to the diagonal, in turn, until a matrix is positive definite.
JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)
# Conjugate gradients end when the residuals are this share of the right-hand sides, or after this number of steps.
RESIDUAL, MAX_STEPS = 1e-4, 500
# Minimum noise for many examples, as a share of the variance: with less, many steps would be needed.
LEAST_NOISE = 1e-3
# Shares of the variance that are added to the diagonal of a sample's covariance, in turn, until it can be factored; it
# may have single precision, and is used only as a preconditioner.
SAMPLE_JITTERS = (1e-6, 1e-4, 1e-2)
# Number of rows of many examples that are processed at a time.
ROWS_AT_ONCE = 1024


class Prediction(NamedTuple):
    """Mean of each prediction, in the shape of the targets, and its variance, which all columns of targets share."""

    mean: Float64
    variance: Float64


class GaussianProcess:
    """Gaussian process whose covariance is a sum of given kernels, each with a weight >= 0, plus noise and a mean.

    Weights, noise and mean maximize the marginal likelihood. Kernels are matrices: ``fit`` takes those between the
    training examples, ``predict`` those between new and training examples. Kernels that explain nothing end with
    weight 0. The uncertainty of the mean counts in the variances.

    Several columns of targets, such as the memberships of classes, share weights, noise and one factorization; each has
    its own mean, and the likelihood is that of all columns. An example of weight w has the noise of the mean of w
    measurements, noise / w.

    A covariance of many examples is not factored. With more than ``n_factored`` examples, weights and noise maximize
    the likelihood of a sample of this size, evenly spread over the sorted targets. Predictions use all examples, by
    conjugate gradients; their variances are those of the sample, times a factor estimated from out-of-fold errors.

    Parameters
    ----------
    n_starts : int, default=2
        Number of starting points of the optimization, from 1 to 3.
    max_iter : int, default=60
        Maximum number of steps from each.
    verbose : int, default=0
        1 logs the results.
    n_factored : int, optional
        Maximum number of examples whose covariance is factored; by default there is no limit.
    noise_share : float, optional
        Share of the variance of the targets that is noise; the kernels get equal shares of the rest. By default weights
        and noise are learned.
    prior_size : float, default=0.0
        Number of targets as which equal weights count: the weights are the mean of those of maximum likelihood, which
        count as the number of targets in all columns, and of equal weights with some noise.

    Attributes
    ----------
    weights_ : array (n_kernels,)
        Weight of each kernel, in units of the squared target.
    noise_ : float
        Variance of the noise.
    mean_ : array (n_columns,)
        Prediction far from all training examples.
    log_likelihood_ : float
        Logarithm of the marginal likelihood.
    jitter_ : float
        Amount added to the variance of each example so that the covariance could be factored; usually 0.
    sample_ : array or None
        Positions of the examples whose covariance was factored; None if it was that of all.
    inflation_ : float
        Factor of the variances of the sample; 1 without a sample.

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

    dual_: Float64
    factor_: Float64
    ratios_: Float64
    _without_parts: tuple[Float64, Float64]
    sample_: Int64 | None = None
    inflation_: float = 1.0

    def __init__(
        self,
        n_starts: int = 2,
        max_iter: int = 60,
        verbose: int = 0,
        n_factored: int | None = None,
        noise_share: float | None = None,
        prior_size: float = 0.0,
    ) -> None:
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.verbose = verbose
        self.n_factored = n_factored
        self.noise_share = noise_share
        self.prior_size = prior_size

    def fit(
        self,
        kernels: Sequence[ArrayLike],
        y: ArrayLike,
        parts: Sequence[Int64] = (),
        example_weights: Float64 | None = None,
    ) -> Self:
        """Learn weights, noise and means.

        Parameters
        ----------
        kernels : sequence of array (n, n)
            Kernel matrices of n examples; those of many examples may be in single precision.
        y : array (n,) or (n, n_columns)
            Their targets.
        parts : sequence of array of int, default=()
            Examples that :meth:`without` will leave out; for a sample of many examples, only these are possible.
        example_weights : array (n,), optional
            Weights > 0 of the examples, with a mean of 1; all 1 by default.
        """
        n_factored = len(np.asarray(y)) if self.n_factored is None else self.n_factored
        is_sampled = len(np.asarray(y)) > n_factored
        whole, center, unit = _standardized(kernels, y, example_weights, is_sampled)
        self.is_table_ = np.ndim(y) == 2
        self.sample_ = whole.spread(n_factored) if is_sampled else None
        problem = whole if self.sample_ is None else whole.take(self.sample_)
        variances = self._learned(problem)
        if is_sampled:
            variances[-1] = max(variances[-1], LEAST_NOISE * variances[:-1].sum())
        fitted = _Covariance.of(problem, variances)

        # What predictions need, in the units of the targets.
        self.weights_: Float64 = variances[:-1] / problem.scales * unit**2
        self.noise_ = float(variances[-1]) * unit**2
        self.jitter_ = fitted.jitter * unit**2
        self.log_likelihood_ = float(fitted.log_likelihood - problem.targets.size * np.log(unit))
        self.factor_ = fitted.factor * unit
        if self.sample_ is None:
            self.dual_, self.mean_ = fitted.dual / unit, center + unit * fitted.means
        else:
            (dual, *duals), (means, *part_means) = self._solved(whole, variances, parts)
            self.dual_, self.mean_ = dual / unit, center + unit * means
            self._without_parts = np.array(duals) / unit, center + unit * np.array(part_means)
        self._residuals = center + unit * whole.targets - self.mean_
        self.ratios_ = whole.ratios

        counted = f"{np.count_nonzero(self.weights_)} of {len(self.weights_)} kernels count"
        report(self.verbose, "Gaussian process: %s, noise %.3g", counted, self.noise_)
        if self.jitter_:
            report(self.verbose, "the covariance was singular: %.1e was added to each variance", self.jitter_)
        return self

    def to_state(self) -> dict[str, Any]:
        """Return the state for a model file, without the covariance: :meth:`factor` computes it again."""
        names = ["weights_", "noise_", "jitter_", "mean_", "log_likelihood_", "dual_", "ratios_", "is_table_"]
        names += ["sample_", "inflation_"]
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Restore a model from the result of :meth:`to_state`."""
        process = cls()
        vars(process).update(state)
        return process

    def factor(self, kernels: Sequence[Float64]) -> None:
        """Factor the covariance of the training examples (of the sample if there is one), of which kernels are given.

        Needed for variances of a model that was restored from its state.
        """
        ratios = self.ratios_ if self.sample_ is None else self.ratios_[self.sample_]
        covariance = self._summed([np.asarray(kernel, np.float64) for kernel in kernels])
        covariance.flat[:: len(covariance) + 1] += self.noise_ * ratios + self.jitter_
        self.factor_ = np.asfortranarray(np.linalg.cholesky(covariance))

    def means(self, kernels: Sequence[ArrayLike]) -> Float64:
        """Return the means for m new examples, without variances.

        Parameters
        ----------
        kernels : sequence of array (m, n)
            Kernel values between new and training examples, one matrix per kernel.
        """
        cross = self._summed([np.asarray(kernel, np.float64) for kernel in kernels])
        return self._shaped(self.mean_ + cross @ self.dual_)

    def predict(
        self, kernels: Sequence[ArrayLike], diagonals: Sequence[ArrayLike], *, noise: bool = True
    ) -> Prediction:
        """Return means and variances for m new examples.

        Parameters
        ----------
        kernels : sequence of array (m, n)
            Kernel values between new and training examples, one matrix per kernel.
        diagonals : sequence of array (m,)
            Kernel value of each new example with itself, one array per kernel.
        noise : bool, default=True
            Whether the variance is that of a new measurement, including noise, or of the noise-free value.
        """
        cross = self._summed([np.asarray(kernel, np.float64) for kernel in kernels])
        prior = self._summed([np.asarray(diagonal, np.float64) for diagonal in diagonals])
        return Prediction(self._shaped(self.mean_ + cross @ self.dual_), self._variances(cross, prior, noise))

    def _shaped(self, columns: Float64) -> Float64:
        """Return columns in the shape of the targets."""
        return columns if self.is_table_ else columns[:, 0]

    def _variances(self, cross: Float64, prior: Float64, noise: bool = True) -> Float64:
        """Return the variances of examples with these covariances, with training examples and with themselves."""
        factored = cross if self.sample_ is None else cross[:, self.sample_]
        both = np.column_stack([factored.T, np.ones(factored.shape[1])])
        both = solve_triangular(self.factor_, both, lower=True, check_finite=False)
        whitened, ones = both[:, :-1], both[:, -1]
        explained = np.einsum("ij,ij->j", whitened, whitened)
        # The mean is estimated too, which far from all examples adds 1/(1ᵀA⁻¹1) to the variance.
        doubt = (1 - ones @ whitened) ** 2 / (ones @ ones)
        variance = np.maximum(prior - explained, 0) + doubt + (self.noise_ if noise else 0)
        return np.asarray(self.inflation_ * variance)

    @cached_property
    def inverse_(self) -> Float64:
        """The inverse of the covariance; cached until it is deleted, because it takes as long as a factorization."""
        inverse: Float64 = lapack.dpotri(self.factor_, lower=1)[0]
        inverse += np.tril(inverse, -1).T
        return inverse

    def leave_one_out(self, groups: Int64 | None = None) -> Prediction:
        """Return leave-one-out predictions of the training examples (leave-one-group-out with groups), noise included.

        Exact for the fitted weights, which depend on all examples; not available for a sample of many examples. The
        noise is that of an example of weight 1, as in :meth:`predict`.
        """
        if self.sample_ is not None:
            raise ValueError("leave-one-out predictions need the covariance of all examples, not of a sample")
        precision = np.diag(self.inverse_)
        errors, variance = self.dual_ / precision[:, None], 1 / precision
        numbers, sizes = (np.zeros(0), np.zeros(0)) if groups is None else np.unique(groups, return_counts=True)
        for number in numbers[sizes > 1]:
            members = np.flatnonzero(groups == number)
            covariance = np.linalg.inv(self.inverse_[np.ix_(members, members)])
            errors[members], variance[members] = covariance @ self.dual_[members], np.diag(covariance)
        variance = variance + self.noise_ * (1 - self.ratios_)
        return Prediction(self._shaped(self.mean_ + self._residuals - errors), variance)

    def without(self, parts: Sequence[Int64]) -> tuple[Float64, Float64]:
        """Return duals (n_parts, n, n_columns) and means (n_parts, n_columns) of what all but each part would teach.

        Weights and noise are those of the fit. The inverse of a covariance without some rows follows from the full one.
        """
        if self.sample_ is not None:
            return self._without_parts
        inverse, n_columns = self.inverse_, self.dual_.shape[1]
        right = np.column_stack([self._residuals + self.mean_, np.ones(len(self.dual_))])
        duals, means = np.zeros((len(parts), len(right), n_columns)), np.zeros((len(parts), n_columns))
        for place, part in enumerate(parts):
            kept = right.copy()
            kept[part] = 0.0
            solved = inverse @ kept
            solved -= inverse[:, part] @ np.linalg.solve(inverse[np.ix_(part, part)], solved[part])
            solved[part] = 0.0
            by_target, ones = solved[:, :-1], solved[:, -1:]
            means[place] = by_target.sum(axis=0) / ones.sum()
            duals[place] = by_target - means[place] * ones
        return duals, means

    def forget_parts(self) -> None:
        """Delete the arrays for leave-one-out predictions and :meth:`without`, to free memory."""
        for name in ("inverse_", "_without_parts"):
            self.__dict__.pop(name, None)

    def calibrate(self, kernels: Sequence[Float64], means: Float64) -> Prediction:
        """Return predictions of the training examples whose means were found without them, after a fit to a sample.

        Their variances follow from the covariances with the sample, and are scaled, because all examples explain more:
        the mean squared error in units of the variance becomes 1.
        """
        assert self.sample_ is not None
        own = self._summed([np.diag(kernel) for kernel in kernels])
        variances = np.empty(len(means))
        for start, stop in spans(len(means), ROWS_AT_ONCE):
            cross = self._summed([kernel[start:stop] for kernel in kernels])
            variances[start:stop] = self._variances(cross, own[start:stop])
        # Variances of members of the sample are leave-one-out variances, without their own targets.
        variances[self.sample_] = 1 / np.diag(self.inverse_) + self.noise_ * (1 - self.ratios_[self.sample_])
        errors = self._residuals + self.mean_ - means.reshape(len(means), -1)
        self.inflation_ = float(np.mean(errors**2 / variances[:, None])) or 1.0
        return Prediction(means, self.inflation_ * variances)

    def _solved(self, whole: "_Problem", variances: Float64, parts: Sequence[Int64]) -> tuple[Float64, Float64]:
        """Return duals (1 + n_parts, n, n_columns) and means of the processes that learn from all, and all but a part.

        Conjugate gradients for all of them at once, in the units of the problem. The preconditioner is the covariance
        explained by the examples of the sample, with the unexplained variance on its diagonal.
        """
        assert self.sample_ is not None
        pairs = [(kernel, w) for kernel, w in zip(whole.kernels, variances[:-1] / whole.scales, strict=True) if w]
        n_objects, n_columns = whole.targets.shape
        noise = float(variances[-1]) * whole.ratios
        columns, own = np.zeros((n_objects, len(self.sample_))), np.zeros(n_objects)
        for kernel, weight in pairs:
            columns += weight * kernel[:, self.sample_]
            own += weight * np.diag(kernel)
        root = solve_triangular(_factored_sample(columns[self.sample_]), columns.T, lower=True, check_finite=False)
        left = (noise + np.maximum(own - np.einsum("ij,ij->j", root, root), 0.0))[:, None]
        whitened = root / np.sqrt(left.T)
        smaller = whitened @ whitened.T
        smaller.flat[:: len(smaller) + 1] += 1.0
        less = [smaller, *(smaller - whitened[:, part] @ whitened[:, part].T for part in parts)]
        factors = [cho_factor(matrix, overwrite_a=True, check_finite=False) for matrix in less]

        def covariance(x: Float64) -> Float64:
            moved = (weight * (kernel @ x.astype(kernel.dtype)) for kernel, weight in pairs)
            return np.asarray(sum(moved, start=noise[:, None] * x))

        # Right-hand sides are the columns of targets and a column of ones, each without every part in turn.
        def precondition(x: Float64) -> Float64:
            scaled = x / left
            moved = root @ scaled
            for place, factor in enumerate(factors):
                moved[:, place :: len(factors)] = cho_solve(factor, moved[:, place :: len(factors)], check_finite=False)
            return np.asarray(scaled - root.T @ moved / left)

        kept = np.ones((n_objects, 1 + len(parts)), bool)
        for place, part in enumerate(parts, 1):
            kept[part, place] = False
        sides = [np.where(kept, column[:, None], 0.0) for column in whole.targets.T]
        right, everywhere = np.concatenate([*sides, kept], axis=1), np.tile(kept, n_columns + 1)
        found = conjugate_gradients(covariance, precondition, right, everywhere)
        residuals = np.where(everywhere, covariance(found) - right, 0.0)
        worst = float((np.linalg.norm(residuals, axis=0) / np.maximum(np.linalg.norm(right, axis=0), 1e-300)).max())
        if not worst < 1:
            raise ValueError("the kernels of many examples must be positive semidefinite; no solution was found")
        report(self.verbose, "conjugate gradients: relative residual %.1e", worst)
        by_column = found.reshape(n_objects, n_columns + 1, -1).transpose(2, 0, 1)
        by_target, ones = by_column[:, :, :-1], by_column[:, :, -1:]
        means = by_target.sum(axis=1) / ones.sum(axis=1)
        return np.ascontiguousarray(by_target - means[:, None] * ones), means

    def _learned(self, problem: "_Problem") -> Float64:
        """Return the weights and noise of maximum likelihood, unless they are given by ``noise_share``."""
        n_kernels = problem.n_kernels
        if self.noise_share is not None:
            return _start(n_kernels, self.noise_share)
        stages = problem.stages()
        starts = [_start(n_kernels, share) for share in STARTING_NOISE[: max(1, self.n_starts)]]
        found = [_climb(stages[0], start, self.max_iter) for start in starts]
        best = max(range(len(found)), key=lambda place: (found[place].log_likelihood, -place))
        variances = found[best].variances
        for stage in stages[1:]:
            variances = _climb(stage, variances, self.max_iter).variances
        variances[:-1][variances[:-1] < NEGLIGIBLE] = 0.0
        # The likelihood of few examples often finds nothing but noise, or a single kernel.
        prior = self.prior_size / (self.prior_size + problem.targets.size)
        return (1 - prior) * variances + prior * _start(n_kernels, PRIOR_NOISE)

    def covariances(self, kernels: Sequence[Float64], rows: Int64) -> Float64:
        """Return the covariances of some training examples with all of them, without noise."""
        return self._summed([kernel[rows] for kernel in kernels])

    def _summed(self, arrays: list[Float64]) -> Float64:
        if len(arrays) != len(self.weights_):
            raise ValueError(f"kernels must be {len(self.weights_)}, one for each that was fitted, not {len(arrays)}")
        total = np.zeros(arrays[0].shape)
        for weight, array in zip(self.weights_, arrays, strict=True):
            if weight:
                total += weight * array
        return total


def _factored_sample(covariance: Float64) -> Float64:
    """Return the lower Cholesky factor of the covariance of a sample, with the smallest jitter that works."""
    unit = max(float(np.trace(covariance)) / len(covariance), 1e-12)
    for share in SAMPLE_JITTERS:
        covariance.flat[:: len(covariance) + 1] += share * unit
        try:
            return np.asarray(np.linalg.cholesky(covariance))
        except np.linalg.LinAlgError:
            continue
    raise ValueError("the sum of the kernels has eigenvalues well below 0: the kernels must be positive semidefinite")


def conjugate_gradients(
    apply: Callable[[Float64], Float64],
    precondition: Callable[[Float64], Float64],
    right: Float64,
    kept: NDArray[np.bool_],
) -> Float64:
    """Solve a positive definite system for each column of ``right``, in the rows marked by its column of ``kept``.

    >>> matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> conjugate_gradients(lambda x: matrix @ x, lambda x: x, np.eye(2), np.ones((2, 2), bool)).round(6)
    array([[ 0.6, -0.2],
           [-0.2,  0.4]])
    """
    found, residuals = np.zeros_like(right), right.copy()
    better = np.where(kept, precondition(residuals), 0.0)
    direction, product = better.copy(), np.einsum("ij,ij->j", residuals, better)
    goal = RESIDUAL * np.linalg.norm(right, axis=0)
    for _ in range(MAX_STEPS):
        moved = np.where(kept, apply(direction), 0.0)
        curvature = np.einsum("ij,ij->j", direction, moved)
        step = np.divide(product, curvature, out=np.zeros_like(product), where=curvature > 0)
        found += step * direction
        residuals -= step * moved
        if (np.linalg.norm(residuals, axis=0) <= goal).all():
            break
        better = np.where(kept, precondition(residuals), 0.0)
        previous, product = product, np.einsum("ij,ij->j", residuals, better)
        direction *= np.divide(product, previous, out=np.zeros_like(product), where=previous > 0)
        direction += better
    return found


# ---------------------------------------------------------------------------------------------- the likelihood


@dataclass(frozen=True)
class _Problem:
    """Kernels scaled to a mean diagonal of 1, standardized targets (n, n_columns), and noise of examples as ratios."""

    kernels: list[Float64]
    scales: Float64
    targets: Float64
    ratios: Float64

    @property
    def n_kernels(self) -> int:
        return len(self.kernels)

    def stages(self) -> "list[_Problem]":
        """Return the problem on few examples, on more, and on all of them unless they are many."""
        smaller = [self.take(self.spread(size)) for size in STAGES if len(self.targets) > 1.5 * size]
        return smaller if len(self.targets) > LEARNED_ON_ALL else [*smaller, self]

    def spread(self, size: int) -> Int64:
        """Return the positions of ``size`` examples, evenly spread over the sorted targets."""
        order = np.lexsort(self.targets.T[::-1])
        return np.sort(order[np.linspace(0, len(order) - 1, size).astype(np.int64)])

    def take(self, kept: Int64) -> "_Problem":
        """Return the problem of some examples."""
        grid = np.ix_(kept, kept)
        kernels = [kernel[grid].astype(np.float64, copy=False) for kernel in self.kernels]
        return _Problem(kernels, self.scales, self.targets[kept], self.ratios[kept])

    def covariance(self, variances: Float64) -> Float64:
        """Return the sum of the kernels by their weights, with the noise, the last variance, on its diagonal."""
        total = np.zeros(self.kernels[0].size)
        for kernel, weight in zip(self.kernels, variances[:-1] / self.scales, strict=True):
            if weight:
                total = blas.daxpy(kernel.ravel(), total, a=weight)  # in place, in one pass over memory
        covariance: Float64 = total.reshape(self.kernels[0].shape)
        covariance.flat[:: len(covariance) + 1] += variances[-1] * self.ratios
        return covariance

    def factored(self, variances: Float64) -> tuple[Float64, float]:
        """Return the lower Cholesky factor, and the jitter added to a diagonal that is singular by rounding."""
        for share in JITTERS:
            covariance = self.covariance(variances)
            jitter = share * float(np.trace(covariance)) / len(covariance)
            covariance.flat[:: len(covariance) + 1] += jitter
            # LAPACK is column-major: the transpose, which is equal, is factored in place.
            factor, failed = lapack.dpotrf(covariance.T, lower=1, clean=1, overwrite_a=1)
            if not failed:
                return factor, jitter
        raise ValueError(
            "the sum of the kernels has eigenvalues well below 0: the kernels must be positive semidefinite; "
            f"adding {JITTERS[-1]:g} of the mean variance did not help"
        )


@dataclass(frozen=True)
class _Covariance:
    """A factored covariance A with derived quantities; ``dual`` is A⁻¹(y - means), ``ones`` is A⁻¹1."""

    variances: Float64
    jitter: float
    factor: Float64
    dual: Float64
    ones: Float64
    means: Float64
    log_likelihood: float

    @classmethod
    def of(cls, problem: _Problem, variances: Float64) -> "_Covariance":
        factor, jitter = problem.factored(variances)
        n_examples, n_columns = problem.targets.shape
        solved = lapack.dpotrs(factor, np.column_stack([problem.targets, np.ones(n_examples)]), lower=1)[0]
        solved_y, ones = solved[:, :-1], solved[:, -1]
        # The best means for this covariance, by generalized least squares.
        means = solved_y.sum(axis=0) / ones.sum()
        dual = solved_y - np.multiply.outer(ones, means)
        half_log_determinant = float(np.log(np.diag(factor)).sum())
        fit = float(((problem.targets - means) * dual).sum())
        value = -0.5 * fit - n_columns * (half_log_determinant + 0.5 * n_examples * np.log(2 * np.pi))
        return cls(variances, jitter, factor, dual, ones, means, float(value))

    def derivatives(self, problem: _Problem) -> tuple[Float64, Float64]:
        """Return the gradient of the likelihood with respect to weights and noise, and the average information matrix.

        The information is the average of the observed and the expected one, in which all costly terms cancel. The means
        are optimal, so they add nothing to the gradient.
        """
        n_columns = problem.targets.shape[1]
        inverse = lapack.dpotri(self.factor, lower=1)[0]
        traces = [_symmetric_dot(inverse, kernel) for kernel in problem.kernels]
        traces.append(float(np.diag(inverse) @ problem.ratios))
        units = np.append(problem.scales, 1.0)
        moved = [kernel @ self.dual for kernel in problem.kernels]
        # (n_variances, n, n_columns): the derivative of the covariance by each variance, times each dual.
        by_variance = np.stack([*moved, problem.ratios[:, None] * self.dual]) / units[:, None, None]
        slopes = 0.5 * (np.einsum("knc,nc->k", by_variance, self.dual) - n_columns * np.array(traces) / units)
        flat = np.concatenate(list(by_variance), axis=1)
        solved = lapack.dpotrs(self.factor, flat, lower=1)[0]
        solved -= np.outer(self.ones, self.ones @ flat) / self.ones.sum()
        solved = solved.reshape(len(flat), len(units), n_columns)
        return slopes, 0.5 * np.einsum("knc,nlc->kl", by_variance, solved, optimize=True)


def _climb(problem: _Problem, start: Float64, max_iter: int) -> _Covariance:
    """Maximize the likelihood iteratively and return the maximum.

    Each step goes to the maximum of a quadratic model with this gradient and information in a trust region, which grows
    while the model predicts the increase, and otherwise shrinks.
    """
    here = _Covariance.of(problem, start)
    slopes, information = here.derivatives(problem)
    reach, farthest = REACHES
    for _ in range(max_iter):
        check_time()
        if reach < LEAST_REACH:
            break
        there_at, growth = _highest(here.variances, slopes, information, reach)
        if growth < LEAST_GROWTH * problem.targets.size:
            break
        there = _Covariance.of(problem, there_at)
        grown = there.log_likelihood - here.log_likelihood
        reach = min(2 * reach, farthest) if grown > growth / 2 else reach if grown > growth / 10 else reach / 4
        if grown > 0:
            here = there
            slopes, information = here.derivatives(problem)
    return here


def _highest(variances: Float64, slopes: Float64, information: Float64, reach: float) -> tuple[Float64, float]:
    """Return the weights and noise that maximize the quadratic model within the trust region, and the expected gain."""
    least, most = _within_reach(variances, reach)
    # A constant kernel is equivalent to the mean, and has no information except for rounding.
    units = np.sqrt(np.maximum(np.diag(information), 1e-9))
    scaled = information / np.multiply.outer(units, units) + RIDGE * np.eye(len(units))
    # By completing the square, the quadratic model becomes a least-squares problem.
    root = np.linalg.cholesky(scaled).T
    right = solve_triangular(root, slopes / units, trans="T")
    bounds = (least - variances) * units, (most - variances) * units
    step = lsq_linear(root, right, bounds, method="bvls").x / units
    growth = float(slopes @ step - 0.5 * step @ information @ step)
    return np.clip(variances + step, least, most), growth


def _within_reach(variances: Float64, reach: float) -> tuple[Float64, Float64]:
    """Return bounds of weights and noise for one step; a weight below the noise may become 0 or equal to it."""
    least, most = variances * np.exp(-reach), variances * np.exp(reach)
    noise = variances[-1]
    least[:-1][variances[:-1] < noise] = 0
    most[:-1] = np.minimum(np.maximum(most[:-1], noise * min(reach, 1.0)), MAX_WEIGHT)
    least[-1], most[-1] = np.clip([least[-1], most[-1]], *NOISE)
    return least, most


def _start(n_kernels: int, noise: float) -> Float64:
    return np.append(np.full(n_kernels, (1 - noise) / n_kernels), noise)


def _symmetric_dot(lower: Float64, symmetric: Float64) -> float:
    """Return the sum of products of two symmetric matrices, the first of which is given by its lower triangle."""
    doubled = 2 * float(lower.T.ravel() @ symmetric.ravel())  # LAPACK is column-major: transposed, this is a view
    return doubled - float(np.diag(lower) @ np.diag(symmetric))


def _scale(kernel: Float64) -> float:
    mean = float(np.trace(kernel)) / len(kernel)
    return mean if mean > 0 else 1.0


def _standardized(
    kernels: Sequence[ArrayLike], y: ArrayLike, example_weights: Float64 | None, is_sampled: bool
) -> tuple[_Problem, Float64, float]:
    """Return the problem in its own units, the mean of each column of targets, and their common deviation."""
    matrices, targets = _checked(kernels, y, is_sampled)
    center = targets.mean(axis=0)
    spread = float(np.sqrt(targets.var(axis=0).mean()))
    # Targets count as constant if they differ only by rounding, or if their squares would underflow to 0.
    unit = spread if spread > max(1e-12 * float(np.abs(center).max()), 1e-100) else 1.0
    scales = np.array([_scale(matrix) for matrix in matrices])
    ratios = np.ones(len(targets)) if example_weights is None else 1 / np.asarray(example_weights, np.float64)
    return _Problem(matrices, scales, (targets - center) / unit, ratios), center, unit


def _checked(kernels: Sequence[ArrayLike], y: ArrayLike, is_sampled: bool) -> tuple[list[Float64], Float64]:
    targets = np.asarray(y, np.float64)
    if targets.ndim not in (1, 2) or not targets.size:
        raise ValueError(f"y must be a vector or a table of at least one number, not an array of shape {targets.shape}")
    targets = targets.reshape(len(targets), -1)
    if not np.isfinite(targets).all():
        raise ValueError(f"y must be finite, but y[{int(np.flatnonzero(~np.isfinite(targets).all(axis=1))[0])}] is not")
    matrices: list[Any] = [np.ascontiguousarray(kernel) for kernel in kernels]
    if not is_sampled:  # matrices of many examples are not copied, because copies could be too large
        matrices = [matrix.astype(np.float64, copy=False) for matrix in matrices]
    if not matrices:
        raise ValueError("kernels must contain at least one matrix")
    for place, matrix in enumerate(matrices):
        if matrix.shape != (len(targets), len(targets)):
            raise ValueError(f"kernel {place} must be of shape {(len(targets),) * 2}, not {matrix.shape}")
        if not np.isfinite(matrix).all():
            raise ValueError(f"kernel {place} must be finite")
    return matrices, targets
