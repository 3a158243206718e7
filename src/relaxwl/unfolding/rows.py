"""Rows: trees of one depth, or centers of clusters of trees, as root codes and measures over points."""

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from relaxwl._execution import cached_property
from relaxwl.graphs.arrays import Float64, Int32, Int64, expand_spans, prefix_sums
from relaxwl.unfolding import _compiled


class RowArrays(NamedTuple):
    """The arrays of :class:`TreeRows`, as compiled code takes them."""

    roots: Int32
    indptr: Int64
    points: Int32
    counts: NDArray[Any]


@dataclass(frozen=True, eq=False)
class TreeRows:
    """Rows (root code, measure over points): distinct trees with whole counts, or centers with real masses.

    A *point* stands for a child together with the edge to it: ``point = edge_code * n_children + child``, where
    ``child`` numbers the trees (or clusters) of the depth below. Without edge labels a point is simply a child. Points
    that fitting has not met lie behind all of these. ⊥ is never stored.

    Attributes
    ----------
    roots : int32 array (n_rows,)
        Root codes.
    indptr : int64 array (n_rows + 1,)
        Row ``r`` has the entries ``indptr[r]`` to ``indptr[r + 1] - 1``.
    points : int32 array (n_entries,)
        Points, strictly ascending within a row.
    counts : int32 or float64 array (n_entries,)
        How often each point occurs, or its mass.
    n_children : int
        Number of trees (clusters) of the depth below; 0 at depth 0.
    n_edge_codes : int
        Number of edge codes; 1 when edges do not count.
    """

    roots: Int32
    indptr: Int64
    points: Int32
    counts: NDArray[Any]
    n_children: int
    n_edge_codes: int = 1

    @classmethod
    def from_parts(cls, parts: list[tuple[int, Int32, Float64]], n_children: int, n_edge_codes: int = 1) -> "TreeRows":
        """Return rows with real masses, given one by one as (root code, ascending points, masses)."""
        return cls(
            np.array([root for root, _, _ in parts], np.int32),
            prefix_sums(np.array([len(points) for _, points, _ in parts], np.int64)),
            np.concatenate([np.empty(0, np.int32), *(points for _, points, _ in parts)]).astype(np.int32),
            np.concatenate([np.empty(0), *(masses for _, _, masses in parts)]),
            n_children,
            n_edge_codes,
        )

    def __len__(self) -> int:
        return len(self.roots)

    @property
    def n_points(self) -> int:
        """Number of points, without ⊥."""
        return self.n_children * self.n_edge_codes

    @property
    def arrays(self) -> RowArrays:
        """The arrays, as compiled code takes them."""
        return RowArrays(self.roots, self.indptr, self.points, self.counts)

    @property
    def is_integral(self) -> bool:
        """Whether all masses are whole numbers, so that every row is a tree."""
        return self.counts.dtype.kind == "i" or bool((self.counts == np.rint(self.counts)).all())

    @property
    def masses(self) -> NDArray[Any]:
        """Total mass of each row."""
        return self.sums(self.counts)

    @cached_property
    def degrees(self) -> Int32:
        """Number of children of each row."""
        return self.masses.astype(np.int32)

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum values of the entries of each row, also of empty ones, row by row (a running sum would lose digits)."""
        sums = np.zeros(len(self), np.int64 if values.dtype.kind in "iu" else np.float64)
        filled = np.diff(self.indptr) > 0
        if filled.any():
            sums[filled] = np.add.reduceat(values, self.indptr[:-1][filled], dtype=sums.dtype)
        return sums

    def row(self, index: int) -> tuple[int, Int32, NDArray[Any]]:
        """Return root code, points and counts of one row."""
        span = slice(int(self.indptr[index]), int(self.indptr[index + 1]))
        return int(self.roots[index]), self.points[span], self.counts[span]

    def measures(self) -> "TreeRows":
        """Return the same rows with real masses."""
        return replace(self, counts=self.counts.astype(np.float64))

    def take(self, indices: NDArray[np.integer]) -> "TreeRows":
        """Return the rows with the given numbers, in the given order."""
        lengths = np.diff(self.indptr)[indices]
        entries = expand_spans(self.indptr[:-1][indices], lengths)
        taken = replace(
            self,
            roots=self.roots[indices],
            indptr=prefix_sums(lengths),
            points=self.points[entries],
            counts=self.counts[entries],
        )
        if "degrees" in self.__dict__:  # summed up before
            taken.__dict__["degrees"] = self.degrees[indices]
        return taken

    def replaced(self, new: "TreeRows", which: Int64) -> "TreeRows":
        """Return these rows with those numbered ``which`` taken from ``new`` (one new row for each)."""
        source = np.arange(len(self))
        source[which] = len(self) + np.arange(len(new))
        return join_rows([self, new]).take(source)

    def same_as(self, other: "TreeRows") -> NDArray[np.bool_]:
        """Return which rows are equal, entry for entry, to those of ``other``."""
        lengths = np.diff(self.indptr)
        alike = (self.roots == other.roots) & (lengths == np.diff(other.indptr))
        compared = np.flatnonzero(alike & (lengths > 0))
        mine = expand_spans(self.indptr[compared], lengths[compared])
        theirs = expand_spans(other.indptr[compared], lengths[compared])
        same = (self.points[mine] == other.points[theirs]) & (self.counts[mine] == other.counts[theirs])
        if len(compared):
            alike[compared] = np.logical_and.reduceat(same, prefix_sums(lengths[compared])[:-1])
        return np.asarray(alike)

    def locate(self, other: "TreeRows") -> Int32:
        """Return, for each row of ``other``, its number here, or -1; both must use the same points."""
        return _compiled.locate_rows(self._sorted_by, other._sorted_by)  # type: ignore[no-any-return]

    @property
    def _sorted_by(self) -> _compiled.SortedBy:
        return _compiled.SortedBy(*self.arrays, self.degrees)

    def count_before(self, other: "TreeRows") -> Int64:
        """Return how many of these rows, which must be in canonical order, stand before each row of ``other``."""
        return _compiled.count_before(self._sorted_by, other._sorted_by)  # type: ignore[no-any-return]

    def to_matrix(self) -> csr_array:
        """Return the counts as a sparse matrix (n_rows, n_points)."""
        return csr_array((self.counts, self.points, self.indptr), shape=(len(self), self.n_points))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeRows):
            return NotImplemented
        sizes, others = (self.n_children, self.n_edge_codes), (other.n_children, other.n_edge_codes)
        names = RowArrays._fields
        return sizes == others and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __sizeof__(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def __getstate__(self) -> dict[str, Any]:
        # What was only remembered to save time is no part of the rows.
        return {field.name: getattr(self, field.name) for field in fields(self)}


def join_rows(parts: list[TreeRows]) -> TreeRows:
    """Concatenate rows over the same points, in order and without looking for equal ones."""
    return replace(
        parts[0],
        roots=np.concatenate([part.roots for part in parts]),
        indptr=prefix_sums(np.concatenate([np.diff(part.indptr) for part in parts])),
        points=np.concatenate([part.points for part in parts]),
        counts=np.concatenate([part.counts for part in parts]),
    )


def check_rows(rows: Any, n_points: int, n_roots: int, name: str = "rows") -> TreeRows:
    """Return rows that compiled code may read over ``n_points`` points (⊥ apart) and ``n_roots`` root codes.

    Compiled code does not look where it reads. So this is the one gate for all rows and centers that come from a file,
    a user or a partitioner that is not ours; what our own code makes does not pay for it. Arrays of other types or
    layouts are converted where nothing is lost.

    Raises
    ------
    TypeError, ValueError
        If they are no rows, or would make compiled code read astray, naming what is wrong.

    Examples
    --------
    >>> rows = TreeRows(np.zeros(1, np.int32), np.array([0, 1]), np.array([7], np.int32), np.ones(1, np.int32), 5)
    >>> check_rows(rows, 5, 1)
    Traceback (most recent call last):
    ...
    ValueError: rows.points must be from 0 to 4, not 7
    """
    if not isinstance(rows, TreeRows):
        raise TypeError(f"{name} must be relaxwl.unfolding.TreeRows, as refine returns, not {type(rows).__name__}")
    sizes = rows.n_children, rows.n_edge_codes
    if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes) or rows.n_points != n_points:
        made = f"{sizes[0]} children times {sizes[1]} edge codes"
        raise ValueError(f"{name} must be over the {n_points} points that have costs, not over {made}")
    roots = _indices(rows.roots, np.int32, n_roots, f"{name}.roots")
    points = _indices(rows.points, np.int32, n_points, f"{name}.points")
    indptr = _indices(rows.indptr, np.int64, len(points) + 1, f"{name}.indptr")
    counts = _masses(rows.counts, f"{name}.counts")
    if len(indptr) != len(roots) + 1:
        raise ValueError(f"{name}.indptr must have {len(roots) + 1} entries, one more than roots, not {len(indptr)}")
    if len(counts) != len(points):
        raise ValueError(f"{name}.counts must have {len(points)} entries, as many as points, not {len(counts)}")
    if indptr[0] != 0 or indptr[-1] != len(points) or (np.diff(indptr) < 0).any():
        raise ValueError(f"{name}.indptr must rise from 0 to {len(points)}, the number of points")
    first = np.zeros(len(points) + 1, bool)
    first[indptr] = True
    if not (first[1:-1] | (np.diff(points) > 0)).all():
        raise ValueError(f"{name}.points must ascend strictly within each row")
    admitted = RowArrays(roots, indptr, points, counts)
    if all(new is old for new, old in zip(admitted, rows.arrays, strict=True)):
        return rows
    return replace(rows, **admitted._asdict())


def _indices(values: Any, dtype: type, limit: int, name: str) -> NDArray[Any]:
    """Return a vector of whole numbers from 0 to ``limit - 1``."""
    vector = _vector(values, "iu", "whole numbers", name)
    if len(vector) and not 0 <= vector.min() <= vector.max() < limit:
        wrong = vector[(vector < 0) | (vector >= limit)][0]
        raise ValueError(f"{name} must be from 0 to {limit - 1}, not {wrong}")
    # Unlike ascontiguousarray, astype returns the array itself also where its type is equal but another object, as in
    # arrays that come from unpickled machine code; whether rows are shared must not depend on where code comes from.
    return vector.astype(dtype, "C", copy=False, subok=False)


def _masses(values: Any, name: str) -> NDArray[Any]:
    """Return a vector of finite masses from 0 on, whole ones as int32 and others as float64."""
    vector = _vector(values, "iuf", "numbers", name)
    if len(vector) and not 0 <= vector.min() <= vector.max() < np.inf:  # false where one is not a number, too
        raise ValueError(f"{name} must be finite numbers from 0 on")
    whole = vector.dtype.kind in "iu" and vector.max(initial=0) <= np.iinfo(np.int32).max
    return vector.astype(np.int32 if whole else np.float64, "C", copy=False, subok=False)


def _vector(values: Any, kinds: str, what: str, name: str) -> NDArray[Any]:
    if not (isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in kinds):
        raise TypeError(f"{name} must be a vector of {what}")
    return values


def distinct(rows: TreeRows) -> tuple[Int64, Int32]:
    """Return the numbers of rows that stand for all, each distinct one once, and for each row which one it equals."""
    return _compiled.distinct_rows(rows.roots, rows.indptr, rows.points, rows.counts)  # type: ignore[no-any-return]


def canonical_order(rows: TreeRows, chosen: Int64) -> Int64:
    """Return ``chosen`` row numbers (of distinct rows) sorted canonically."""
    keys = _sort_keys(rows, chosen)
    order = np.argsort(keys)
    ordered = chosen[order]
    _compiled.finish_sort(ordered, keys[order], rows._sorted_by)
    return ordered


def _sort_keys(rows: TreeRows, chosen: Int64) -> Int64:
    """Pack as much of each row's content as fits into 63 bits, in the order in which the content is compared."""
    keys = rows.roots[chosen].astype(np.int64)
    span = int(keys.max(initial=0)) + 1
    begins, lengths = rows.indptr[chosen], rows.indptr[chosen + 1] - rows.indptr[chosen]
    entries = np.append(rows.points, 0), np.append(rows.counts, 0)  # so that an absent entry can be looked up
    digit, step = rows.degrees[chosen].astype(np.int64), 0
    while True:
        base = int(digit.max(initial=0)) + 1
        span *= base
        if span > np.iinfo(np.int64).max or step >= 2 * int(lengths.max(initial=0)):
            return keys
        keys = keys * base + digit
        position = step // 2
        present = position < lengths
        digit = np.where(present, entries[step % 2][np.where(present, begins + position, -1)].astype(np.int64) + 1, 0)
        step += 1
