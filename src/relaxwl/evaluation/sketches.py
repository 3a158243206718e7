"""Small pictures of Gram matrices: blocks sorted by class, and the graphs in the plane by kernel PCA."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.preprocessing import KernelCenterer

from relaxwl._progress import printable
from relaxwl.evaluation.records import GramSketch, Key
from relaxwl.graphs.arrays import Float64, Int64

# Blocks on a side: enough to see the classes, little enough to keep hundreds of sketches.
SKETCH_SIDE = 90
# Variance below this share of the diagonal is rounding: all graphs are the same to the kernel.
VANISHING = 1e-12


def sketch_gram(
    gram: Float64, y: Int64, class_names: Sequence[str], key: Key, title: str, parameters: dict[str, Any]
) -> GramSketch:
    """Return the picture of a Gram matrix; ``y`` are class codes that index ``class_names``."""
    cosine = cosine_normalized(gram)
    order = np.argsort(y, kind="stable")
    coordinates, explained = kernel_pca(cosine)
    sizes = np.bincount(y, minlength=len(class_names))
    return GramSketch(
        key=key,
        title=title,
        parameters=parameters,
        blocks=_blocks(cosine, order).tolist(),
        class_names=[printable(name) for name in class_names],
        class_ends=[float(end) for end in np.cumsum(sizes) / max(len(y), 1)],
        coordinates=np.round(coordinates, 4).tolist(),
        classes=y.tolist(),
        explained=[round(float(share), 4) for share in explained],
    )


def cosine_normalized(gram: Float64) -> Float64:
    """Return the matrix scaled to a diagonal of 1; graphs with k(G, G) = 0 keep their zeros.

    >>> cosine_normalized(np.array([[4.0, 2.0], [2.0, 1.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    lengths = np.sqrt(np.maximum(gram.diagonal(), 0))
    lengths[lengths == 0] = 1
    return np.asarray(gram / lengths[:, None] / lengths)


def kernel_pca(gram: Float64, n_components: int = 2) -> tuple[Float64, Float64]:
    """Return the first principal components in feature space, (n, n_components), and their shares of the variance.

    Signs are fixed (the entry of largest size is positive), so that pictures do not flip between machines.

    >>> points, shares = kernel_pca(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    >>> points[:, 0].round(6).tolist(), shares.round(6).tolist()
    ([1.0, -1.0], [1.0, 0.0])
    """
    total = float(KernelCenterer().fit_transform(gram).trace())
    n_there = min(n_components, len(gram))
    points, shares = np.zeros((len(gram), n_components)), np.zeros(n_components)
    if total <= VANISHING * float(gram.trace()):
        return points, shares
    pca = KernelPCA(n_there, kernel="precomputed", random_state=0)
    points[:, :n_there] = pca.fit_transform(gram)
    shares[:n_there] = np.maximum(pca.eigenvalues_, 0) / total
    peaks = points[np.abs(points).argmax(axis=0), np.arange(n_components)]
    return points * np.where(peaks < 0, -1, 1), shares


def _blocks(gram: Float64, order: Int64) -> Int64:
    """Average the sorted matrix over blocks, and spread the values from 0 to 255 between robust limits."""
    n = len(order)
    side = min(n, SKETCH_SIDE)
    starts = np.arange(side) * n // side
    rows = np.add.reduceat(gram[order], starts, axis=0)
    sums = np.add.reduceat(rows[:, order], starts, axis=1)
    sizes = np.diff(np.append(starts, n))
    means = sums / sizes[:, None] / sizes
    low, high = np.quantile(means, [0.02, 0.98])
    spread = (means - low) / (high - low) if high > low else np.zeros_like(means)
    return np.rint(np.clip(spread, 0, 1) * 255).astype(np.int64)
