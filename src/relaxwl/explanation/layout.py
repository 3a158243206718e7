"""A map of a group of centres: points in the plane whose distances resemble those of the centres."""

import numpy as np
from sklearn.decomposition import KernelPCA

from relaxwl.graphs.arrays import Float64


def plane(distances: Float64) -> Float64:
    """Place points in the plane by classical scaling; returns an array (n, 2), the same each time.

    The root of the distances is scaled, which is a metric too: tree distances have a few very large values, which
    would push all other points into one spot.

    Examples
    --------
    >>> x, y = plane(np.abs(np.subtract.outer([0.0, 1.0, 9.0], [0.0, 1.0, 9.0]))).T
    >>> bool(abs(x[0] - x[1]) < abs(x[1] - x[2]))
    True
    """
    n = len(distances)
    if n < 3:
        span = float(distances.max(initial=0.0)) ** 0.5
        return np.column_stack([np.linspace(0.0, span, n), np.zeros(n)])
    points: Float64 = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit_transform(-distances / 2)
    # Fewer dimensions come back where the rest is nothing.
    points = np.pad(points, ((0, 0), (0, max(0, 2 - points.shape[1]))))
    return np.asarray(points[:, :2])
