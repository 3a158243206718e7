"""Lower bounds of the transport distance W: cheap ways to know that a pair is too far apart to be solved.

All are at most W(x, y) for any two measures x, y over a ground pseudo-metric M with ⊥ last, padded or not. For the
distance of trees add the cost of the roots. Rows are :class:`relaxwl.unfolding.TreeRows`, or centres of the same form
with real masses.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from relaxwl.distances import _compiled
from relaxwl.distances.batched import Rows, blank_costs
from relaxwl.graphs.arrays import Float64


def blank_bound(rows_a: Rows, rows_b: Rows, ground: NDArray[Any]) -> Float64:
    """Return the differences in total cost to ⊥, (n_a, n_b): the cheapest bound, one number a row.

    Proof: the cost to delete all of x is W(x, 0), and |W(x, 0) - W(y, 0)| ≤ W(x, y) since W is a pseudo-metric.
    """
    return np.abs(blank_costs(rows_a, ground)[:, None] - blank_costs(rows_b, ground)[None, :])


def pivot_embedding(rows: Rows, ground: NDArray[Any], pivots: Sequence[int] | NDArray[np.integer]) -> Float64:
    """Return one coordinate a pivot for each row, Σ mass·(M[point, p] - M[⊥, p]): see :func:`pivot_bound`.

    Parameters
    ----------
    rows : TreeRows
    ground : array (n_points + 1, n_points + 1)
    pivots : indices of ground points
        Any points. ⊥ (the last) as only pivot gives :func:`blank_bound`.
    """
    columns = ground[:, pivots].astype(np.float64)
    masses = scipy.sparse.csr_array(
        (rows.counts.astype(np.float64), rows.points, rows.indptr), shape=(len(rows.roots), rows.n_points)
    )
    return np.asarray(masses @ (columns[:-1] - columns[-1]))


def pivot_bound(embedding_a: Float64, embedding_b: Float64) -> Float64:
    """Return the Chebyshev distances of embedded rows, (n_a, n_b).

    Proof: f(q) = M[q, p] - M[⊥, p] is 1-Lipschitz under M and zero at ⊥, so that padding does not change Σ mass·f; and
    any plan π between the padded measures has |Σ x·f - Σ y·f| = |Σ π(q, r)·(f(q) - f(r))| ≤ Σ π(q, r)·M[q, r].
    """
    return np.asarray(cdist(embedding_a, embedding_b, "chebyshev"))


def relaxed_bound(rows_a: Rows, rows_b: Rows, ground: NDArray[Any]) -> Float64:
    """Return what it costs to move each unit to its nearest target, or to fetch it from its nearest source, (n_a, n_b).

    Proof: cancelling common mass does not change W; in the padded problem that is left every unit of supply goes to
    some sink, at no less than the least cost in its row, and every unit of demand comes from some source, at no
    less than the least cost in its column. The larger of the two sums counts.
    """
    out = np.empty((len(rows_a.roots), len(rows_b.roots)))
    _compiled.relaxed_bounds(
        rows_a.indptr, rows_a.points, rows_a.counts, rows_b.indptr, rows_b.points, rows_b.counts, ground, out
    )
    return out
