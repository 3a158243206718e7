"""A map of cluster centers: points in the plane whose distances resemble those of the centers."""

import numpy as np

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
    centered = (distances.mean(axis=0) + distances.mean(axis=1)[:, None] - distances.mean() - distances) / 2
    # All eigenvalues: solvers for the largest two fail where many are equal, as those of equidistant points are.
    values, vectors = np.linalg.eigh(centered)
    axes = vectors[:, :-3:-1]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    return np.asarray(axes * signs * np.sqrt(np.maximum(values[:-3:-1], 0.0)))
