"""Gram matrices of sparse count vectors: dot products, histogram intersections, Tanimoto similarities.

Columns that many graphs share are multiplied densely (BLAS, or a vectorized minimum), the many rare ones sparsely:
a rare column touches few pairs of graphs, and most columns of a Weisfeiler-Lehman kernel occur in one graph alone.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from relaxwl._execution import map_chunks, spans
from relaxwl.graphs.arrays import Float64, Int64, counting_order
from relaxwl.kernels import _compiled
from relaxwl.kernels.counting import Counts, join_counts

# Share of the graphs above which a column is multiplied densely: about where both methods take the same time.
DENSE_SHARE = 0.12
# Number of rows per task; fixed, so that the result does not depend on the number of workers.
ROWS_PER_TASK = 64


def gram(a: csr_array, b: csr_array | None = None, minimum: bool = False, n_jobs: int | None = None) -> Float64:
    """Return the (n, n') matrix of Σ_c a·b, or with ``minimum`` of Σ_c min(a, b), over shared columns c.

    ``b=None`` means ``a`` itself and computes one triangle. Entries must be >= 0 for ``minimum``.

    >>> counts = csr_array(np.array([[2.0, 0, 1], [1, 1, 0]]))
    >>> gram(counts).tolist(), gram(counts, minimum=True).tolist()
    ([[5.0, 2.0], [2.0, 2.0]], [[3.0, 1.0], [1.0, 2.0]])
    """
    products = Products(a, b, minimum)
    return by_rows(lambda *span: [products.rows(*span)], 1, a.shape[0], None if b is None else b.shape[0], n_jobs)[0]


def by_rows(
    blocks: Callable[[int, int], Iterable[Float64]], n_matrices: int, n: int, n_other: int | None, n_jobs: int | None
) -> list[Float64]:
    """Return matrices that are computed together in blocks of rows, for locality.

    ``blocks(start, stop)`` returns these rows of each matrix (n, n_other). With ``n_other=None`` matrices are symmetric
    (n, n), and the columns from ``start`` on are returned.
    """
    found = [np.empty((n, n if n_other is None else n_other)) for _ in range(n_matrices)]

    def fill(span: tuple[int, int]) -> None:
        start, stop = span
        for matrix, block in zip(found, blocks(start, stop), strict=True):
            if n_other is None:
                matrix[start:stop, start:] = block
                matrix[stop:, start:stop] = block[:, stop - start :].T
            else:
                matrix[start:stop] = block

    map_chunks(fill, spans(n, ROWS_PER_TASK), n_jobs)
    return found


class Products:
    """Sums over shared columns of a·b, or min(a, b), between the rows of two sparse matrices; see :func:`gram`."""

    def __init__(self, a: csr_array, b: csr_array | None = None, minimum: bool = False) -> None:
        self.is_symmetric, self.minimum = b is None, minimum
        other = a if b is None else b
        in_a, in_b = (np.bincount(matrix.indices, minlength=a.shape[1]) for matrix in (a, other))
        frequent = in_a.astype(float) * in_b > DENSE_SHARE**2 * a.shape[0] * other.shape[0]
        columns = np.flatnonzero(frequent)
        self._frequent = compressed(csr_array(a[:, columns]))
        self._others = np.ascontiguousarray(other[:, columns].toarray().T)
        sparse = _without(a, frequent)
        self._columns, order = _columns(sparse if b is None else _without(b, frequent))
        self._sparse, self._firsts = compressed(sparse), self._columns.indptr[sparse.indices]
        if b is None:  # upper triangle: the products of an entry begin with itself
            self._firsts[order] = np.arange(len(order))

    def rows(self, start: int, stop: int) -> Float64:
        """Return some rows of the matrix; if it is symmetric, their columns from ``start`` on."""
        first = start if self.is_symmetric else 0
        out = np.zeros((stop - start, self._others.shape[1]))
        _compiled.add_dense(start, stop, self._frequent, self._others, first, self.minimum, out)
        _compiled.add_products(start, stop, self._sparse, self._firsts, self._columns, self.minimum, out)
        block = out[:, first:]
        if self.is_symmetric:
            corner = np.triu(block[:, : len(block)])
            block[:, : len(block)] = corner + np.triu(corner, 1).T
        return block


def _without(matrix: csr_array, dropped: NDArray[np.bool_]) -> csr_array:
    """Drop columns without renumbering the others."""
    if not dropped.any():
        return matrix
    kept = ~dropped[matrix.indices]
    # The same type of indices as in the whole matrix, because functions are compiled for each type.
    before = np.zeros(len(kept) + 1, matrix.indptr.dtype)
    np.cumsum(kept, out=before[1:])
    return csr_array((matrix.data[kept], matrix.indices[kept], before[matrix.indptr]), shape=matrix.shape)


def compressed(matrix: csr_array) -> _compiled.Compressed:
    """Return a sparse matrix for compiled code, with 32-bit indices if they suffice."""
    index = np.int32 if max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max else np.int64
    indptr, indices = (array.astype(index, copy=False) for array in (matrix.indptr, matrix.indices))
    return _compiled.Compressed(indptr, indices, matrix.data)


def _columns(matrix: csr_array) -> tuple[_compiled.Compressed, Int64]:
    """Return a sparse matrix by columns, rows ascending, and which entry of the matrix each of its entries is."""
    order, indptr = counting_order(matrix.indices, matrix.shape[1])
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))
    return _compiled.Compressed(indptr, rows[order], matrix.data[order]), order


class InvertedCounts:
    """The columns of a sparse matrix, for products with vectors that share few columns with its rows.

    >>> counts = InvertedCounts(csr_array(np.array([[2.0, 0, 1], [1, 1, 0]])))
    >>> counts.products(csr_array(np.array([[3.0, 0, 1]])), minimum=True)
    array([[3., 1.]])
    """

    def __init__(self, matrix: csr_array) -> None:
        self.matrix = matrix
        self._columns, _ = _columns(matrix)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def products(self, rows: csr_array, *, minimum: bool = False) -> Float64:
        """Return Σ_c a·b, or with ``minimum`` Σ_c min(a, b), between each of the given rows and each row kept."""
        out = np.zeros((rows.shape[0], len(self)))
        firsts = self._columns.indptr[rows.indices]
        _compiled.add_products(0, len(out), compressed(rows), firsts, self._columns, minimum, out)
        return out


def joined_depths(counts: list[Counts], weights: Float64, minimum: bool = False) -> Counts:
    """Concatenate depths: scaled by √α for the dot product, by α for minima."""
    return join_counts(counts, list(weights if minimum else np.sqrt(weights)))


def gram_matrices(
    x: list[Counts],
    y: list[Counts] | None,
    wanted: list[tuple[str, int]],
    weights: Float64,
    normalize: bool | str,
    n_jobs: int | None = None,
) -> list[Float64]:
    """Return the Gram matrix of each wanted (similarity, largest depth), each normalized separately.

    Depths are summed one after the other if several depths are wanted or each is normalized; otherwise, they are
    concatenated and compared at once.

    Parameters
    ----------
    x, y : list of Counts
        Counts of the graphs at each depth; without ``y`` they are compared among themselves.
    wanted : list of (str, int)
        Similarity and largest depth of each matrix.
    weights : float64 array
        The weight α of each depth.
    normalize : bool or "depth"
        As in the kernels.
    n_jobs : int, optional
        Number of threads.
    """
    found: dict[tuple[str, int], Float64] = {}
    for minimum in (False, True):
        # Intersection and Tanimoto similarity are the same minima, divided differently.
        keys = list(dict.fromkeys(key for key in wanted if (key[0] != "dot") == minimum))
        if keys:
            n, n_other = x[0].matrix.shape[0], None if y is None else y[0].matrix.shape[0]
            blocks = _DepthSums(x, y, keys, weights, normalize)
            found |= zip(keys, by_rows(blocks.rows, len(keys), n, n_other, n_jobs), strict=True)
    return [found[key] for key in wanted]


class _DepthSums:
    """Sums over depths of products, or of minima, with the sums after each wanted depth divided as they should be."""

    def __init__(
        self, x: list[Counts], y: list[Counts] | None, wanted: list[tuple[str, int]], weights: Float64, normalize: Any
    ) -> None:
        self.wanted, self.weights, self.is_symmetric = wanted, weights, y is None
        self.by_depth, self.divide = normalize == "depth", divide_by_lengths if normalize else None
        self.names, depths = list(dict.fromkeys(name for name, _ in wanted)), {depth for _, depth in wanted}
        self.n_depths, minimum = max(depths) + 1, wanted[0][0] != "dot"
        # One product of concatenated depths is faster than one a depth, but cannot be cut at a depth.
        step = 1 if self.by_depth or len(depths) > 1 else self.n_depths
        # For each depth, or for all at once: the last depth, the products, and each graph's product with itself.
        self.parts: list[tuple[int, Products, Float64, Float64]] = []
        for start in range(0, self.n_depths, step):
            some = slice(start, start + step)
            joined = [joined_depths(one[some], weights[some], minimum) for one in ([x] if y is None else [x, y])]
            products = Products(joined[0].matrix, None if y is None else joined[1].matrix, minimum)
            own = self_similarities(joined[0], minimum), self_similarities(joined[-1], minimum)
            self.parts.append((start + step - 1, products, *own))

    def rows(self, start: int, stop: int) -> list[Float64]:
        """Return some rows of each wanted matrix; if it is symmetric, the columns from ``start`` on."""
        first = start if self.is_symmetric else 0
        totals: dict[str, Float64] = {}
        own_x, own_y = np.zeros(stop - start), np.zeros(len(self.parts[0][3]) - first)
        found = {}
        for depth, products, sizes_x, sizes_y in self.parts:
            block, sizes = products.rows(start, stop), (sizes_x[start:stop], sizes_y[first:])
            own_x, own_y = own_x + sizes[0], own_y + sizes[1]
            for similarity in self.names:
                divide = divide_by_unions if similarity == "tanimoto" else self.divide
                # The block is changed in place, so all similarities but the last one need copies.
                own = block if similarity == self.names[-1] else block.copy()
                if self.by_depth and divide:
                    divide(own, *sizes)
                    own *= self.weights[depth]
                if totals.setdefault(similarity, own) is not own:
                    totals[similarity] += own
                if (similarity, depth) in self.wanted:
                    cut = totals[similarity] if depth + 1 == self.n_depths else totals[similarity].copy()
                    if divide and not self.by_depth:
                        divide(cut, own_x, own_y)
                    found[similarity, depth] = cut
        return [found[key] for key in self.wanted]


def own_similarities(counts: list[Counts], weights: Float64, similarity: str, normalize: bool | str) -> Float64:
    """Return the similarity of each graph with itself over the given depths."""
    of_depths = [self_similarities(part, similarity != "dot") for part in counts]
    if normalize == "depth":
        return np.asarray(weights @ [own > 0 for own in of_depths], np.float64)
    own: Float64 = weights @ np.array(of_depths)
    return (own > 0).astype(np.float64) if normalize or similarity == "tanimoto" else own


def self_similarities(counts: Counts, minimum: bool = False) -> Float64:
    """Return Σ c² of each graph, or with ``minimum`` Σ c, including unseen features."""
    if minimum:
        return np.asarray(counts.matrix.sum(axis=1) + counts.unknown_sums)
    return np.asarray(counts.matrix.power(2).sum(axis=1) + counts.unknown_squares)


def divide_by_lengths(matrix: Float64, squares_x: Float64, squares_y: Float64) -> None:
    """Divide by the lengths, in place; by their product, so that a symmetric matrix stays exactly symmetric.

    Similarities to a graph of length 0 (no nodes, or no weight) remain 0.
    """
    lengths_x, lengths_y = (np.where(squares > 0, np.sqrt(squares), 1.0) for squares in (squares_x, squares_y))
    matrix /= lengths_x[:, None] * lengths_y


def divide_by_unions(minima: Float64, sums_x: Float64, sums_y: Float64) -> None:
    """Turn Σ min into the Tanimoto similarity Σ min / Σ max, in place.

    Σ max = Σx + Σy − Σ min, where the sums include features that were not seen in fitting. For two graphs without any
    weight 0/0 is set to 0, like similarities to a graph of length 0 under ``normalize``.

    The matrix is positive semidefinite whatever the sums are: m / (a + b − m) = Σ_n (m / (a + b))ⁿ over n ≥ 1, where
    the minima m and 1 / (a + b) are positive semidefinite, and so are products and sums of such matrices.
    """
    unions = sums_x[:, None] + sums_y
    unions -= minima
    minima /= np.maximum(unions, np.finfo(np.float64).tiny, out=unions)
    np.minimum(minima, 1.0, out=minima)  # rounding of fractional weights may exceed 1
