"""Linear models of features in parts: loss and gradient are summed over the parts in order, SciPy's L-BFGS minimizes.

A model minimizes ½‖w‖² + C·Σ weight·loss(target, w·features + b). The loss is the squared hinge of targets -1 and 1, or
the squared error of numbers. Several models of the same rows (folds, classes) are minimized together, as one problem: a
pass over the parts evaluates all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array, hstack
from threadpoolctl import threadpool_limits

from relaxwl._execution import check_time, map_chunks, spans
from relaxwl.learning import _compiled

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

# Steps end when one lowers the objective by less than this share, times ROUGHNESS for rough models, or after MAX_STEPS.
# N_REMEMBERED is the number of stored corrections of L-BFGS.
TOLERANCE = 1e-5
ROUGHNESS = 10
MAX_STEPS = 1000
N_REMEMBERED = 12
# Number of rows per part in memory; fixed, so that sums do not depend on the number of threads.
ROWS_AT_ONCE = 16_384
# Number of gradients that are computed separately and then added; each takes memory if there are millions of features.
N_GRADIENTS = 8


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
        The fold in which a row is held out; -1 if it is in no fold.
    """

    loss: str
    targets: Float64
    weights: Float64
    folds: Int64

    def take(self, rows: slice | Int64) -> "Task":
        """Return the part of some rows."""
        return Task(self.loss, self.targets[rows], self.weights[rows], self.folds[rows])


@dataclass(frozen=True, eq=False)
class Models:
    """Several linear models: coefficients (n_features + 1, n_models) with the intercept last.

    ``outputs`` are the columns of the targets that they learn, ``folds`` the folds that they leave out (-2 for none).
    """

    coefficients: Float64
    outputs: Int64
    folds: Int64


def values_of(features: csr_array, coefficients: Float64) -> Float64:
    """Return the linear outputs: (n_rows, n_models)."""
    return np.asarray(features @ np.ascontiguousarray(coefficients[:, :-1].T) + coefficients[:, -1])


def squares_of(features: csr_array, weights: Float64) -> Float64:
    """Return the weighted sum of squares of each feature."""
    data = np.square(features.data) * np.repeat(weights, np.diff(features.indptr))
    return np.bincount(features.indices, data, minlength=features.shape[1]).astype(np.float64)


def losses_of(features: csr_array, task: Task, models: Models) -> tuple[Float64, Float64]:
    """Return the loss of each model, and the gradient (n_features + 1, n_models), without penalties."""
    return _losses_of([(features, task)], models)


def _losses_of(parts: Sequence[tuple[csr_array, Task]], models: Models) -> tuple[Float64, Float64]:
    """Return losses and gradients of several parts, summed in order."""
    losses, gradients = np.zeros(len(models.folds)), np.zeros(models.coefficients.shape)
    for features, task in parts:
        rows = features.indptr, features.indices, features.data
        targets, given = (task.targets, task.weights, task.folds), (models.coefficients, models.outputs, models.folds)
        _compiled.add_losses(rows, targets, given, task.loss == "hinge", losses, gradients)
    return losses, gradients


class FeatureRows(Protocol):
    """Features of all objects, in memory or on workers.

    ``single`` (n_rows,) is the value of a feature that occurs only in this row, 0 if there is none. These features come
    last, in the order of the rows; losses and gradients are those of the others.
    """

    n_features: int
    single: Float64

    def __getitem__(self, rows: Int64) -> "FeatureRows":
        """Return some of the rows, in ascending order; their ``expand`` returns coefficients of these features."""

    def squares(self, weights: Float64) -> Float64:
        """Return the weighted sum of squares of each feature."""

    def learn(self, task: Task) -> Callable[[Models], tuple[Float64, Float64]]:
        """Return a function of models without single features: their loss and its gradient, summed over all rows."""

    def values(self, coefficients: Float64) -> Float64:
        """Return the sums that the features of all rows make: (n_rows, n_models)."""

    def expand(self, coefficients: Float64) -> Float64:
        """Return coefficients (..., n_features + 1) as those of the features that predictions have."""


class MemoryRows:
    """Concatenated sparse matrices in memory; the result does not depend on the number of threads.

    If there are many labels, most features occur in a single row. The gradient of their coefficients is a multiple of
    the row's values, so that they can be joined to one feature, with one coefficient along these values.

    Parameters
    ----------
    features : csr_array or list of csr_array
        The features; a list is emptied, to avoid a second copy in memory.
    n_jobs : int, optional
        Number of threads.
    """

    def __init__(self, features: csr_array | list[csr_array], n_jobs: int | None = None) -> None:
        self._n_jobs = n_jobs
        if not isinstance(features, list):
            whole = features
            features = [csr_array(whole[start:stop]) for start, stop in spans(whole.shape[0], ROWS_AT_ONCE)] or [whole]
        self._chunks, self.single, self._places, self._factors = _join_features_of_one_row(features)
        self._owners = np.flatnonzero(self.single)
        self.n_features = self._chunks[0].shape[1] + len(self._owners)
        ends = np.cumsum([0, *(chunk.shape[0] for chunk in self._chunks)]).tolist()
        self._spans = list(pairwise(ends))
        self._groups = spans(len(self._chunks), -(-len(self._chunks) // N_GRADIENTS))

    def __getitem__(self, rows: Int64) -> "MemoryRows":
        """Return some of the rows, in ascending order; their features are joined again, and ``expand`` returns ours."""
        shared, n_shared = take_rows(self._chunks, rows), self._chunks[0].shape[1]
        ends = np.cumsum([0, *(chunk.shape[0] for chunk in shared)])
        columns = np.searchsorted(self._owners, rows)
        taken = []
        for chunk, start, stop in zip(shared, ends, ends[1:], strict=False):
            single = self.single[rows[start:stop]]
            owners = np.flatnonzero(single)
            places = owners, columns[start:stop][owners]
            own = coo_array((single[owners], places), shape=(stop - start, self.n_features - n_shared))
            taken.append(csr_array(hstack([chunk, own.astype(chunk.dtype)], format="csr")))
        return MemoryRows(taken, self._n_jobs)

    def squares(self, weights: Float64) -> Float64:
        """Return the weighted sum of squares of each feature."""
        pairs = zip(self._chunks, self._spans, strict=True)
        shared = sum(squares_of(chunk, weights[slice(*span)]) for chunk, span in pairs)
        return np.append(shared, (weights * np.square(self.single))[self._owners])

    def learn(self, task: Task) -> Callable[[Models], tuple[Float64, Float64]]:
        """Return a function of models without single features: their loss and its gradient, summed over all rows."""
        pairs = [(chunk, task.take(slice(*span))) for chunk, span in zip(self._chunks, self._spans, strict=True)]
        groups = [pairs[start:stop] for start, stop in self._groups]

        def summed(models: Models) -> tuple[Float64, Float64]:
            return add_losses(map_chunks(lambda group: _losses_of(group, models), groups, self._n_jobs))

        return summed

    def values(self, coefficients: Float64) -> Float64:
        """Return the sums that the features of all rows make: (n_rows, n_models)."""
        n_shared = self._chunks[0].shape[1]
        shared = np.column_stack([coefficients[:, :n_shared], coefficients[:, -1]])
        found = map_chunks(lambda chunk: values_of(chunk, shared), self._chunks, self._n_jobs)
        values = np.concatenate([np.zeros((0, len(coefficients))), *found])
        values[self._owners] += self.single[self._owners, None] * coefficients[:, n_shared:-1].T
        return values

    def expand(self, coefficients: Float64) -> Float64:
        """Return coefficients (..., n_features + 1) as those of the features that predictions have."""
        return np.concatenate([coefficients[..., self._places] * self._factors, coefficients[..., -1:]], axis=-1)


def take_rows(chunks: Sequence[csr_array], rows: Int64) -> list[csr_array]:
    """Return some rows, in ascending order, of vertically concatenated matrices."""
    ends = np.cumsum([0, *(chunk.shape[0] for chunk in chunks)])
    bounds = np.searchsorted(rows, ends).tolist()
    parts = zip(chunks, ends.tolist(), bounds, bounds[1:], strict=False)
    return [csr_array(chunk[rows[start:stop] - first]) for chunk, first, start, stop in parts if start < stop]


def _join_features_of_one_row(chunks: list[csr_array]) -> tuple[list[csr_array], Float64, Int64, Float64]:
    """Return the features of several rows, the length of each row in the others, and a map from old to new features.

    The map is the new feature that contains each old one, and its share, 0 for unused ones. Features of several rows
    come first, in their order, then one for each row that has others. The list is emptied.
    """
    n_features = chunks[0].shape[1]
    n_uses = np.zeros(n_features, np.int64)
    for chunk in chunks:
        n_uses += np.bincount(chunk.indices, minlength=n_features)
    is_shared = n_uses > 1
    n_shared = n_found = int(is_shared.sum())
    places, factors = np.maximum(np.cumsum(is_shared) - 1, 0), is_shared.astype(np.float64)
    joined, lengths = [], [np.zeros(0)]
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        kept = is_shared[chunk.indices]
        single = np.flatnonzero(~kept)
        rows = np.repeat(np.arange(chunk.shape[0]), np.diff(chunk.indptr))[single]
        columns, values = chunk.indices[single], chunk.data[single].astype(np.float64)
        length = np.sqrt(np.bincount(rows, np.square(values), minlength=chunk.shape[0]))
        numbers = n_found + np.cumsum(length > 0) - 1
        own = values != 0
        places[columns[own]], factors[columns[own]] = numbers[rows[own]], values[own] / length[rows[own]]
        n_found = int(numbers[-1]) + 1 if len(numbers) else n_found
        lengths.append(length)
        if n_shared < n_features:
            indptr = np.concatenate([[0], np.cumsum(kept)])[chunk.indptr]
            indices = places[chunk.indices[kept]]
            chunk = csr_array((chunk.data[kept], indices, indptr), shape=(chunk.shape[0], n_shared))
        index = np.int32 if max(chunk.nnz, n_shared) <= np.iinfo(np.int32).max else np.int64
        chunk.indices, chunk.indptr = chunk.indices.astype(index, copy=False), chunk.indptr.astype(index, copy=False)
        joined.append(chunk)
    return joined, np.concatenate(lengths), places, factors


def add_losses(parts: Sequence[tuple[Float64, Float64]]) -> tuple[Float64, Float64]:
    """Return losses and gradients of all parts, added in order."""
    loss, gradient = parts[0][0].copy(), parts[0][1].copy()
    for more, more_gradient in parts[1:]:
        loss += more
        gradient += more_gradient
    return loss, gradient


def fit_models(
    rows: FeatureRows,
    task: Task,
    penalty: float,
    folds: Sequence[int],
    starts: Float64 | None = None,
    is_rough: bool = False,
) -> Float64:
    """Return (n_folds, n_outputs, n_features + 1): the coefficients of a model for each fold left out and each output.

    Parameters
    ----------
    rows : FeatureRows
        The features.
    task : Task
        The task to learn.
    penalty : float
        C, the weight of the losses relative to ½‖w‖².
    folds : sequence of int
        The folds that are left out, each in turn; -2 leaves out none.
    starts : array of the result's shape, optional
        Starting point; by default 0.
    is_rough : bool, default=False
        Whether to end earlier, which is sufficient to compare penalties and to calibrate.
    """
    n_outputs = task.targets.shape[1]
    n_models, n_shared = len(folds) * n_outputs, rows.n_features - int(np.count_nonzero(rows.single))
    outputs, left_out = np.tile(np.arange(n_outputs), len(folds)), np.repeat(np.array(folds, np.int64), n_outputs)
    # The optimal coefficient of a row's single feature follows from the others: it reduces each gap by the same share.
    # So these features are equivalent to smaller weights of the rows.
    rest = replace(task, weights=task.weights / (1 + 2 * penalty * task.weights * np.square(rows.single)))
    # Variables are scaled so that the loss, with all rows near their targets, has equal curvature along each of them.
    curvatures = np.append(1 + 2 * penalty * rows.squares(rest.weights)[:n_shared], 2 * penalty * rest.weights.sum())
    units = 1 / np.sqrt(curvatures)[:, None]
    learn = rows.learn(rest)

    def evaluate(points: Float64) -> tuple[float, Float64]:
        check_time()
        coefficients = points.reshape(len(units), -1) * units
        losses, gradients = learn(Models(coefficients, outputs, left_out))
        # A copy is contiguous and aligned, even if the array came from another process, so sums have the same bits.
        slopes = np.array(gradients, order="C") * penalty
        slopes[:-1] += coefficients[:-1]
        value = penalty * losses + 0.5 * np.square(coefficients[:-1]).sum(axis=0)
        return float(value.sum()), (slopes * units).ravel()

    found = np.zeros((n_models, rows.n_features + 1))
    if starts is None:
        found[:, -1] = np.tile(np.average(task.targets, axis=0, weights=task.weights), len(folds))
    else:
        found[:] = starts.reshape(found.shape)
    variables = np.append(np.arange(n_shared), rows.n_features)
    # The models share no variables, so the sum of all objectives is minimal where each of them is.
    options: Any = {"maxiter": MAX_STEPS, "maxcor": N_REMEMBERED, "gtol": 0.0}
    options["ftol"] = TOLERANCE * (ROUGHNESS if is_rough else 1)
    with threadpool_limits(1, "blas"):  # long vectors would start more threads at each step and change its last bits
        solve: Any = minimize
        start = (found[:, variables].T / units).ravel()
        ended = solve(evaluate, start, jac=True, method="L-BFGS-B", options=options).x
    found[:] = 0.0
    found[:, variables] = (ended.reshape(len(units), -1) * units).T
    if n_shared < rows.n_features:
        owners = np.flatnonzero(rows.single)
        values, targets = rows.values(found)[owners], task.targets[owners][:, outputs]
        gaps = targets - values if task.loss == "square" else np.maximum(1 - targets * values, 0) * targets
        gaps[task.folds[owners, None] == left_out] = 0.0
        found[:, n_shared:-1] = (2 * penalty * (rest.weights * rows.single)[owners, None] * gaps).T
    return found.reshape(len(folds), n_outputs, -1)
