"""Centres of clusters: rows with real masses."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from relaxwl.graphs.arrays import Float64, Int32, Int64, expand_spans, prefix_sums
from relaxwl.unfolding import TreeRows


@dataclass(frozen=True, eq=False)
class Centers:
    """Cluster centres as pairs (root code, masses over points), laid out like ``TreeRows``.

    Attributes
    ----------
    roots : int32 array (k,)
        Root codes.
    indptr, points, counts : arrays
        Centre ``c`` has mass ``counts[e]`` (float64) at ``points[e]`` for ``indptr[c] <= e < indptr[c + 1]``.
    n_points : int
        Number of points, without ⊥.
    """

    roots: Int32
    indptr: Int64
    points: Int32
    counts: Float64
    n_points: int

    def __len__(self) -> int:
        return len(self.roots)

    @property
    def is_integral(self) -> bool:
        """Whether all masses are whole numbers, so that every centre is a tree."""
        return bool((self.counts == np.rint(self.counts)).all())

    def center(self, index: int) -> tuple[int, Int32, Float64]:
        """Return root code, points and masses of one centre."""
        span = slice(int(self.indptr[index]), int(self.indptr[index + 1]))
        return int(self.roots[index]), self.points[span], self.counts[span]

    def to_matrix(self) -> csr_array:
        """Return the masses as a sparse matrix (k, n_points)."""
        return csr_array((self.counts, self.points, self.indptr), shape=(len(self), self.n_points))

    def same_as(self, other: "Centers") -> NDArray[np.bool_]:
        """Return which centres are equal, entry for entry, to those of ``other``."""
        lengths = np.diff(self.indptr)
        alike = (self.roots == other.roots) & (lengths == np.diff(other.indptr))
        compared = np.flatnonzero(alike & (lengths > 0))
        mine = expand_spans(self.indptr[compared], lengths[compared])
        theirs = expand_spans(other.indptr[compared], lengths[compared])
        same = (self.points[mine] == other.points[theirs]) & (self.counts[mine] == other.counts[theirs])
        if len(compared):
            alike[compared] = np.logical_and.reduceat(same, prefix_sums(lengths[compared])[:-1])
        return np.asarray(alike)

    def take(self, indices: Int64) -> "Centers":
        """Return the centres with the given numbers, in the given order."""
        lengths = np.diff(self.indptr)[indices]
        entries = expand_spans(self.indptr[:-1][indices], lengths)
        return Centers(
            self.roots[indices], prefix_sums(lengths), self.points[entries], self.counts[entries], self.n_points
        )

    def replaced(self, new: "Centers", which: Int64) -> "Centers":
        """Return these centres with those numbered ``which`` taken from ``new`` (one new centre for each)."""
        both = np.concatenate([self.indptr[:-1], new.indptr[:-1] + self.indptr[-1]])
        lengths = np.concatenate([np.diff(self.indptr), np.diff(new.indptr)])
        source = np.arange(len(self))
        source[which] = len(self) + np.arange(len(new))
        entries = expand_spans(both[source], lengths[source])
        return Centers(
            np.concatenate([self.roots, new.roots])[source],
            prefix_sums(lengths[source]),
            np.concatenate([self.points, new.points])[entries],
            np.concatenate([self.counts, new.counts])[entries],
            self.n_points,
        )


def centers_from_rows(rows: TreeRows, chosen: Int64) -> Centers:
    """Return the chosen rows as centres."""
    taken = rows.take(chosen)
    return Centers(taken.roots, taken.indptr, taken.points, taken.counts.astype(np.float64), rows.n_points)


def centers_from_parts(parts: list[tuple[int, Int32, Float64]], n_points: int) -> Centers:
    """Return centres given one by one as (root code, ascending points, masses)."""
    return Centers(
        np.array([root for root, _, _ in parts], np.int32),
        prefix_sums(np.array([len(points) for _, points, _ in parts], np.int64)),
        np.concatenate([np.empty(0, np.int32), *(points for _, points, _ in parts)]).astype(np.int32),
        np.concatenate([np.empty(0), *(masses for _, _, masses in parts)]),
        n_points,
    )
