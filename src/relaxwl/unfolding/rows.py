"""Distinct unfolding trees of one depth as rows, in canonical order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relaxwl.graphs.arrays import Int32, Int64, expand_spans, prefix_sums
from relaxwl.unfolding import _compiled


@dataclass(frozen=True, eq=False)
class TreeRows:
    """Rows (root code, multiset of points): the distinct trees of one depth, each tree once.

    A *point* stands for a child together with the label of the edge to it:
    ``point = edge_code * n_previous + previous_id``, where ``previous_id`` numbers the trees (or clusters) of the depth
    below. Without edge labels a point is simply a previous id.

    Attributes
    ----------
    roots : int32 array (n_rows,)
        Root codes.
    indptr : int64 array (n_rows + 1,)
        Row ``r`` has the entries ``indptr[r]`` to ``indptr[r + 1] - 1``.
    points, counts : int32 arrays (n_entries,)
        Points in ascending order within a row, and how often each occurs.
    n_previous : int
        Number of trees (clusters) of the depth below; 0 at depth 0.
    n_edge_codes : int
        Number of edge codes; 1 when edge labels are not used.
    """

    roots: Int32
    indptr: Int64
    points: Int32
    counts: Int32
    n_previous: int
    n_edge_codes: int = 1

    def __len__(self) -> int:
        return len(self.roots)

    @property
    def n_points(self) -> int:
        """Number of points, without ⊥."""
        return self.n_previous * self.n_edge_codes

    @property
    def degrees(self) -> Int32:
        """Number of children of each row."""
        sums = prefix_sums(self.counts)
        return (sums[self.indptr[1:]] - sums[self.indptr[:-1]]).astype(np.int32)

    def row(self, index: int) -> tuple[int, Int32, Int32]:
        """Return root code, points and counts of one row."""
        span = slice(int(self.indptr[index]), int(self.indptr[index + 1]))
        return int(self.roots[index]), self.points[span], self.counts[span]

    def take(self, indices: NDArray[np.integer]) -> "TreeRows":
        """Return the rows with the given numbers, in the given order."""
        lengths = np.diff(self.indptr)[indices]
        entries = expand_spans(self.indptr[:-1][indices], lengths)
        return TreeRows(
            self.roots[indices],
            prefix_sums(lengths),
            self.points[entries],
            self.counts[entries],
            self.n_previous,
            self.n_edge_codes,
        )

    def locate(self, other: "TreeRows") -> Int32:
        """Return, for each row of ``other``, its number here, or -1; both must use the same points."""
        return _compiled.locate_rows(  # type: ignore[no-any-return]
            self.roots, self.indptr, self.points, self.counts, self.degrees,
            other.roots, other.indptr, other.points, other.counts, other.degrees,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeRows):
            return NotImplemented
        return (self.n_previous, self.n_edge_codes) == (other.n_previous, other.n_edge_codes) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("roots", "indptr", "points", "counts")
        )

    __hash__ = None  # type: ignore[assignment]


def join_rows(parts: list[TreeRows]) -> TreeRows:
    """Concatenate rows over the same points, in order and without looking for equal ones."""
    first = parts[0]
    return TreeRows(
        np.concatenate([part.roots for part in parts]),
        prefix_sums(np.concatenate([np.diff(part.indptr) for part in parts])),
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.counts for part in parts]),
        first.n_previous,
        first.n_edge_codes,
    )


def distinct(rows: TreeRows) -> tuple[Int64, Int32]:
    """Return the numbers of rows that stand for all, each distinct one once, and for each row which one it equals."""
    return _compiled.distinct_rows(rows.roots, rows.indptr, rows.points, rows.counts)  # type: ignore[no-any-return]


def canonical_order(rows: TreeRows, chosen: Int64) -> Int64:
    """Return ``chosen`` row numbers (of distinct rows) sorted canonically."""
    degrees = rows.degrees
    keys = _sort_keys(rows, degrees, chosen)
    order = np.argsort(keys)
    ordered = chosen[order]
    _compiled.finish_sort(ordered, keys[order], rows.roots, rows.indptr, rows.points, rows.counts, degrees)
    return ordered


def _sort_keys(rows: TreeRows, degrees: Int32, chosen: Int64) -> Int64:
    """Pack as much of each row's content as fits into 63 bits, in the order in which the content is compared."""
    keys = rows.roots[chosen].astype(np.int64)
    span = int(keys.max(initial=0)) + 1
    begins, lengths = rows.indptr[chosen], rows.indptr[chosen + 1] - rows.indptr[chosen]
    entries = np.append(rows.points, 0), np.append(rows.counts, 0)  # so that an absent entry can be looked up
    digit, step = degrees[chosen].astype(np.int64), 0
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
