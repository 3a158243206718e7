"""Weights of the columns of a table for given targets, from the gradients of a kernel regression.

In a kernel of distances all columns are equally important. Weighting each by the mean squared derivative of a first
regression, and repeating this, gives large weights to the columns along which the targets change: a recursive feature
machine (Radhakrishnan et al., Science 383, 2024) with a diagonal matrix.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.spatial.distance import cdist

Float64 = NDArray[np.float64]

N_ROUNDS = 2
# Ridge of the regressions, for targets of variance 1.
RIDGE = 1e-2


def column_weights(table: Float64, targets: Float64) -> Float64:
    """Return a weight for each column of a table, 1 on average.

    Parameters
    ----------
    table : array (n_rows, n_columns)
        Columns of similar scale.
    targets : array (n_rows, n_targets)
        Targets with mean 0 and variance 1, with equal weights.

    Returns
    -------
    float64 array (n_columns,)
        The mean squared derivative of exponential kernel regressions along each column.
    """
    weights = np.ones(table.shape[1])
    for _ in range(N_ROUNDS):
        scaled = table * np.sqrt(weights)
        distances = cdist(scaled, scaled)
        apart = distances > 0
        if not apart.any():
            break
        width = float(np.median(distances[apart]))
        kernel = np.exp(-distances / width)
        duals = solve(kernel + RIDGE * np.eye(len(table)), targets, assume_a="pos")
        # The derivative of the kernel at x_i is slope_ij * weights * (x_i - x_j); for equal rows it is set to 0.
        slopes = -kernel / (width * np.where(apart, distances, np.inf))
        squares = np.zeros(table.shape[1])
        for dual in duals.T:
            pulls = slopes * dual
            squares += ((weights * (pulls.sum(axis=1)[:, None] * table - pulls @ table)) ** 2).mean(axis=0)
        if not squares.any():
            break
        weights = squares / squares.mean()
    return weights
