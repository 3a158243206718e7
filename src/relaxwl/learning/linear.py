"""Linear models of features in parts: loss and gradient are summed over the parts in order, SciPy's L-BFGS minimizes.

A model minimizes ½‖w‖² + C·Σ weight·loss(target, w·features + b). The loss is the squared hinge of targets -1 and 1, or
the squared error of numbers. Several models of the same rows (folds, classes) are minimized together, as one problem: a
pass over the parts evaluates all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from relaxwl._execution import check_time, map_chunks, spans

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

# A model counts as fitted when a step lowers its objective by less than this share; and the number of steps, and of
# earlier steps that are remembered.
TOLERANCE = 1e-5
MAX_STEPS = 1000
N_REMEMBERED = 6
# Rows that are gone through at once in memory; so the sums do not depend on the number of threads.
ROWS_AT_ONCE = 16_384


@dataclass(frozen=True, eq=False)
class Task:
    """Loss, targets and other settings of linear models.

    Attributes
    ----------
    loss : {"hinge", "square"}
        The loss: squared hinge or squared error.
    targets : float64 array (n_rows, n_outputs)
        -1 and 1, or numbers.
    weights : float64 array (n_rows,)
        Weight of each row; 0 leaves it out.
    folds : int64 array (n_rows,)
        The fold in which a row is held out; -1 where it never is.
    """

    loss: str
    targets: Float64
    weights: Float64
    folds: Int64

    def take(self, start: int, stop: int) -> "Task":
        """Return the part of some rows."""
        return Task(self.loss, self.targets[start:stop], self.weights[start:stop], self.folds[start:stop])


@dataclass(frozen=True, eq=False)
class Models:
    """Linear models side by side: coefficients (n_models, n_features + 1) with the intercept last.

    ``outputs`` says which column of the targets each learns, ``folds`` which fold it leaves out (-2 for none).
    """

    coefficients: Float64
    outputs: Int64
    folds: Int64


def values_of(features: csr_array, coefficients: Float64) -> Float64:
    """Return the sums that features make: (n_rows, n_models)."""
    return np.asarray(features @ np.ascontiguousarray(coefficients[:, :-1].T) + coefficients[:, -1])


def squares_of(features: csr_array, weights: Float64) -> Float64:
    """Return the weighted sum of squares of each feature."""
    data = np.square(features.data) * np.repeat(weights, np.diff(features.indptr))
    return np.bincount(features.indices, data, minlength=features.shape[1]).astype(np.float64)


def losses_of(features: csr_array, task: Task, models: Models) -> tuple[Float64, Float64]:
    """Return the loss of each model, and its gradient, without penalties."""
    values = values_of(features, models.coefficients)
    targets = np.ascontiguousarray(task.targets[:, models.outputs])  # sums depend on the layout
    weights = task.weights[:, None] * (task.folds[:, None] != models.folds)
    gaps = np.maximum(1 - targets * values, 0) if task.loss == "hinge" else targets - values
    weighted = weights * gaps
    slopes = -2 * weighted * targets if task.loss == "hinge" else -2 * weighted
    gradients = np.column_stack([np.asarray(features.T @ slopes).T, slopes.sum(axis=0)])
    return np.asarray((weighted * gaps).sum(axis=0)), gradients


class FeatureRows(Protocol):
    """Features of all objects, wherever they are."""

    n_features: int

    def squares(self, weights: Float64) -> Float64:
        """Return the weighted sum of squares of each feature."""

    def learn(self, task: Task) -> Callable[[Models], tuple[Float64, Float64]]:
        """Return a function that returns the loss and the gradient of models, summed over all rows."""

    def values(self, coefficients: Float64) -> Float64:
        """Return the sums that the features of all rows make: (n_rows, n_models)."""

    def expand(self, coefficients: Float64) -> Float64:
        """Return coefficients (..., n_features + 1) as those of the features that predictions have."""


class MemoryRows:
    """A sparse matrix in memory, in chunks of rows that do not depend on the number of threads.

    Of many labels most features are those of a single row. The gradient of such coefficients is a multiple of the row's
    values, so that one coefficient, along these values, stands for all of them: joined, they are one feature.
    """

    def __init__(self, features: csr_array, n_jobs: int | None = None) -> None:
        features, self._places, self._factors = _join_features_of_one_row(features)
        self.n_features = features.shape[1]
        self._spans = spans(features.shape[0], ROWS_AT_ONCE)
        whole = len(self._spans) == 1
        self._chunks = [features] if whole else [csr_array(features[start:stop]) for start, stop in self._spans]
        self._n_jobs = n_jobs

    def squares(self, weights: Float64) -> Float64:
        """Return the weighted sum of squares of each feature."""
        pairs = zip(self._chunks, self._spans, strict=True)
        return np.asarray(sum(squares_of(chunk, weights[slice(*span)]) for chunk, span in pairs))

    def learn(self, task: Task) -> Callable[[Models], tuple[Float64, Float64]]:
        """Return a function that returns the loss and the gradient of models, summed over all rows."""
        tasks = [task.take(*span) for span in self._spans]

        def summed(models: Models) -> tuple[Float64, Float64]:
            pairs = list(zip(self._chunks, tasks, strict=True))
            return add_losses(map_chunks(lambda pair: losses_of(*pair, models), pairs, self._n_jobs))

        return summed

    def values(self, coefficients: Float64) -> Float64:
        """Return the sums that the features of all rows make: (n_rows, n_models)."""
        found = map_chunks(lambda chunk: values_of(chunk, coefficients), self._chunks, self._n_jobs)
        return np.concatenate([np.zeros((0, len(coefficients))), *found])

    def expand(self, coefficients: Float64) -> Float64:
        """Return coefficients (..., n_features + 1) as those of the features that predictions have."""
        return np.concatenate([coefficients[..., self._places] * self._factors, coefficients[..., -1:]], axis=-1)


def _join_features_of_one_row(features: csr_array) -> tuple[csr_array, Int64, Float64]:
    """Return fewer features, and of each old one the new one it is part of and its share; unused ones have none."""
    n_features = features.shape[1]
    n_uses = np.bincount(features.indices, minlength=n_features)
    single = n_uses[features.indices] == 1
    columns, values = features.indices[single], features.data[single].astype(np.float64)
    rows = np.repeat(np.arange(features.shape[0]), np.diff(features.indptr))[single]
    own, rows = np.unique(rows, return_inverse=True)
    lengths = np.sqrt(np.bincount(rows, np.square(values), minlength=len(own)))
    is_shared = n_uses > 1
    places, factors = np.maximum(np.cumsum(is_shared) - 1, 0), is_shared.astype(np.float64)
    places[columns], factors[columns] = int(is_shared.sum()) + rows, values / lengths[rows]
    shape = n_features, int(is_shared.sum()) + len(own)
    joining = csr_array((factors.astype(features.dtype), places, np.arange(n_features + 1)), shape=shape)
    return csr_array(features @ joining) if shape[1] < n_features else features, places, factors


def add_losses(parts: Sequence[tuple[Float64, Float64]]) -> tuple[Float64, Float64]:
    """Return losses and gradients of all parts, added in order."""
    loss, gradient = parts[0][0].copy(), parts[0][1].copy()
    for more, more_gradient in parts[1:]:
        loss += more
        gradient += more_gradient
    return loss, gradient


def fit_models(
    rows: FeatureRows, task: Task, penalty: float, folds: Sequence[int], starts: Float64 | None = None
) -> Float64:
    """Return (n_folds, n_outputs, n_features + 1): the coefficients of a model for each fold left out and each output.

    Parameters
    ----------
    rows : FeatureRows
        The features.
    task : Task
        What to learn.
    penalty : float
        C: how much the losses count beside ½‖w‖².
    folds : sequence of int
        The folds that are left out, each in turn; -2 leaves out none.
    starts : array of the result's shape, optional
        Where to begin; by default at 0.
    """
    n_outputs = task.targets.shape[1]
    shape = len(folds), n_outputs, rows.n_features + 1
    outputs, left_out = np.tile(np.arange(n_outputs), len(folds)), np.repeat(np.array(folds, np.int64), n_outputs)
    # Variables in units in which a loss with all rows near their targets is equally curved along each of them.
    curvatures = np.append(1 + 2 * penalty * rows.squares(task.weights), 2 * penalty * task.weights.sum())
    units = 1 / np.sqrt(curvatures)
    learn = rows.learn(task)

    def evaluate(points: Float64) -> tuple[float, Float64]:
        check_time()
        coefficients = points.reshape(len(outputs), -1) * units
        losses, gradients = learn(Models(coefficients, outputs, left_out))
        # A copy is contiguous and aligned, whatever came from another process: sums have the same bits.
        slopes = np.array(gradients, order="C") * penalty
        slopes[:, :-1] += coefficients[:, :-1]
        value = penalty * losses + 0.5 * np.square(coefficients[:, :-1]).sum(axis=1)
        return float(value.sum()), (slopes * units).ravel()

    if starts is None:
        starts = np.zeros(shape)
        starts[:, :, -1] = np.average(task.targets, axis=0, weights=task.weights)
    # The sum of all objectives is least where each of them is.
    options: Any = {"maxiter": MAX_STEPS, "maxcor": N_REMEMBERED, "gtol": 0.0, "ftol": TOLERANCE}
    with threadpool_limits(1, "blas"):  # vectors this long would wake more threads at each step, and change its bits
        solve: Any = minimize
        found = solve(evaluate, (starts / units).ravel(), jac=True, method="L-BFGS-B", options=options).x
    return np.asarray(found.reshape(shape) * units)
