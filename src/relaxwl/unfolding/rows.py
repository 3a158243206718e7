"""Rows: the distinct trees of one depth, or centers of clusters of trees, and the refinement to the next depth.

A row is a root code and a measure over points, which are children one depth below.
"""

import itertools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import cached_property, map_chunks
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, Int64, expand_spans, first_of_runs, prefix_sums
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

    A *point* represents a child together with the edge to it: ``point = edge_code * n_children + child``, where
    ``child`` is the number of a tree (or cluster) of the depth below. Without edge labels a point is simply a child.
    Points that were not seen in fitting have higher numbers. ⊥ is never stored.

    Parameters
    ----------
    roots : int32 array (n_rows,)
        Root codes.
    indptr : int64 array (n_rows + 1,)
        Row ``r`` has the entries ``indptr[r]`` to ``indptr[r + 1] - 1``.
    points : int32 array (n_entries,)
        Points, strictly ascending within a row.
    counts : int32 or float64 array (n_entries,)
        Count or mass of each point.
    n_children : int
        Number of trees (clusters) of the depth below; 0 at depth 0.
    n_edge_codes : int, default=1
        Number of edge codes; 1 if edges are ignored.

    See Also
    --------
    refine : The distinct trees of a depth as rows.

    Examples
    --------
    Two trees with root code 0: one with three children, one with a single child.

    >>> rows = TreeRows(np.zeros(2, np.int32), np.array([0, 1, 2]), np.array([0, 0], np.int32), np.array([3, 1]), 1)
    >>> len(rows), rows.masses.tolist()
    (2, [3, 1])
    """

    roots: Int32
    indptr: Int64
    points: Int32
    counts: NDArray[Any]
    n_children: int
    n_edge_codes: int = 1

    @classmethod
    def from_parts(cls, parts: list[tuple[int, Int32, Float64]], n_children: int, n_edge_codes: int = 1) -> "TreeRows":
        """Return rows with real masses, given one by one as (root code, ascending points, masses).

        Parameters
        ----------
        parts : list of (int, int32 array, float64 array)
            Root code, ascending points and masses of each row.
        n_children : int
            Number of trees of the depth below.
        n_edge_codes : int, default=1
            Number of edge codes.

        Returns
        -------
        TreeRows
            The rows.
        """
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
        """Sum values of the entries of each row, including empty rows.

        Parameters
        ----------
        values : array (n_entries,)
            A value for each entry.

        Returns
        -------
        array (n_rows,)
            The sums.
        """
        sums = np.zeros(len(self), np.int64 if values.dtype.kind in "iu" else np.float64)
        filled = np.diff(self.indptr) > 0
        if filled.any():
            sums[filled] = np.add.reduceat(values, self.indptr[:-1][filled], dtype=sums.dtype)
        return sums

    def row(self, index: int) -> tuple[int, Int32, NDArray[Any]]:
        """Return root code, points and counts of one row.

        Parameters
        ----------
        index : int
            Number of the row.

        Returns
        -------
        root : int
            Root code.
        points, counts : arrays
            Points and counts.
        """
        span = slice(int(self.indptr[index]), int(self.indptr[index + 1]))
        return int(self.roots[index]), self.points[span], self.counts[span]

    def measures(self) -> "TreeRows":
        """Return the same rows with real masses.

        Returns
        -------
        TreeRows
            The rows.
        """
        return replace(self, counts=self.counts.astype(np.float64))

    def take(self, indices: NDArray[np.integer]) -> "TreeRows":
        """Return the rows with the given numbers, in the given order.

        Parameters
        ----------
        indices : int array
            Numbers of the rows.

        Returns
        -------
        TreeRows
            The chosen rows.
        """
        lengths = np.diff(self.indptr)[indices]
        entries = expand_spans(self.indptr[:-1][indices], lengths)
        taken = replace(
            self,
            roots=self.roots[indices],
            indptr=prefix_sums(lengths),
            points=self.points[entries],
            counts=self.counts[entries],
        )
        if "degrees" in self.__dict__:  # already computed
            taken.__dict__["degrees"] = self.degrees[indices]
        return taken

    def replaced(self, new: "TreeRows", which: Int64) -> "TreeRows":
        """Return these rows with those numbered ``which`` taken from ``new`` (one new row for each).

        Parameters
        ----------
        new : TreeRows
            The new rows.
        which : int64 array
            Numbers of the rows that are replaced, one for each new row.

        Returns
        -------
        TreeRows
            The rows.
        """
        source = np.arange(len(self))
        source[which] = len(self) + np.arange(len(new))
        return join_rows([self, new]).take(source)

    def same_as(self, other: "TreeRows") -> NDArray[np.bool_]:
        """Return which rows are equal, entry for entry, to those of ``other``.

        Parameters
        ----------
        other : TreeRows
            Rows over the same points.

        Returns
        -------
        bool array (n_rows,)
            True for rows that are equal.
        """
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
        """Return, for each row of ``other``, its number here, or -1; both must use the same points.

        Parameters
        ----------
        other : TreeRows
            Rows over the same points.

        Returns
        -------
        int32 array
            The numbers.
        """
        places = self.count_before(other)
        there = np.flatnonzero(places < len(self))
        same = self.take(places[there]).same_as(other.take(there))
        located = np.full(len(other), -1, np.int32)
        located[there[same]] = places[there[same]]
        return located

    @property
    def _sorted_by(self) -> _compiled.SortedBy:
        return _compiled.SortedBy(*self.arrays, self.degrees)

    def count_before(self, other: "TreeRows") -> Int64:
        """Return the number of rows (in canonical order) that precede each row of ``other``.

        Parameters
        ----------
        other : TreeRows
            Rows over the same points.

        Returns
        -------
        int64 array
            The counts.
        """
        return _compiled.count_before(self._sorted_by, other._sorted_by)  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeRows):
            return NotImplemented
        if (self.n_children, self.n_edge_codes) != (other.n_children, other.n_edge_codes):
            return False
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in RowArrays._fields)

    __hash__ = None  # type: ignore[assignment]

    def __sizeof__(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "degrees"}  # computed again when needed


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
    """Check rows before compiled code reads them, which does not check its indices.

    Used for rows and centers from a file, a user or a user-defined partitioner; rows made by this package are not
    checked. Arrays of other types or layouts are converted if no value changes.

    Parameters
    ----------
    rows : TreeRows
        The rows.
    n_points : int
        Number of points, without ⊥.
    n_roots : int
        Number of root codes.
    name : str, default="rows"
        Name of the rows in error messages.

    Returns
    -------
    TreeRows
        The rows; the same object if nothing was converted.

    Raises
    ------
    TypeError, ValueError
        If the rows are not valid, naming the array that is wrong.

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
    n_entries = len(rows.points)
    arrays = []
    for part, limit in (("roots", n_roots), ("indptr", n_entries + 1), ("points", n_points), ("counts", np.inf)):
        values, masses = getattr(rows, part), part == "counts"
        if not (
            isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in ("iuf" if masses else "iu")
        ):
            raise TypeError(f"{name}.{part} must be a vector of {'numbers' if masses else 'whole numbers'}")
        if len(values) and not 0 <= values.min() <= values.max() < limit:  # also false for NaN
            wrong = values[~((values >= 0) & (values < limit))][0]
            bounds = "finite numbers from 0 on" if masses else f"from 0 to {limit - 1}, not {wrong}"
            raise ValueError(f"{name}.{part} must be {bounds}")
        dtype: Any = np.int64 if part == "indptr" else np.int32
        if masses and (values.dtype.kind == "f" or values.max(initial=0) > np.iinfo(np.int32).max):
            dtype = np.float64
        # Unlike ascontiguousarray, astype returns the array itself if its dtype is equal but another object, as in
        # arrays from unpickled machine code; whether rows share memory must not depend on where the code comes from.
        arrays.append(values.astype(dtype, "C", copy=False, subok=False))
    roots, indptr, points, counts = arrays
    if len(indptr) != len(roots) + 1:
        raise ValueError(f"{name}.indptr must have {len(roots) + 1} entries, one more than roots, not {len(indptr)}")
    if len(counts) != n_entries:
        raise ValueError(f"{name}.counts must have {n_entries} entries, as many as points, not {len(counts)}")
    if indptr[0] != 0 or indptr[-1] != n_entries or (np.diff(indptr) < 0).any():
        raise ValueError(f"{name}.indptr must rise from 0 to {n_entries}, the number of points")
    first = np.zeros(n_entries + 1, bool)
    first[indptr] = True
    if not (first[1:-1] | (np.diff(points) > 0)).all():
        raise ValueError(f"{name}.points must ascend strictly within each row")
    if all(new is old for new, old in zip(arrays, rows.arrays, strict=True)):
        return rows
    return replace(rows, roots=roots, indptr=indptr, points=points, counts=counts)


def distinct(rows: TreeRows) -> tuple[Int64, Int32]:
    """Return the index of a representative of each distinct row, and the representative of each row."""
    representatives, ids, n_found = _compiled.distinct_rows(rows.roots, rows.indptr, rows.points, rows.counts)
    return representatives[:n_found].copy(), ids


def canonical_order(rows: TreeRows, chosen: Int64) -> Int64:
    """Return ``chosen`` row numbers (of distinct rows) sorted canonically.

    Rows are sorted by as much of their content as fits into 63 bits; ties are sorted by what follows, and so on.
    """
    begins, lengths = rows.indptr[chosen], np.diff(rows.indptr)[chosen]
    content = np.append(rows.points, 0), np.append(rows.counts, 0)  # padded so that index -1 is valid
    ranks, tied, step = np.zeros(len(chosen), np.int64), np.arange(len(chosen)), -2
    while len(tied) and step < 2 * int(lengths[tied].max()):  # rows that still tie are equal
        keys, span, of_rank = ranks[tied], len(chosen), ranks[tied]
        while True:
            if step < 0:
                digit = (rows.roots if step == -2 else rows.degrees)[chosen[tied]].astype(np.int64)
            else:
                present = step // 2 < lengths[tied]
                places = np.where(present, begins[tied] + step // 2, -1)
                digit = np.where(present, content[step % 2][places].astype(np.int64) + 1, 0)
            base = int(digit.max()) + 1
            span *= base
            if span > np.iinfo(np.int64).max:
                break
            keys = keys * base + digit
            step += 1
            if step >= 2 * int(lengths[tied].max()):
                break
        order = np.argsort(keys)
        first = first_of_runs(keys[order])
        # The rank of a row is the number of preceding rows: those before its ties, and its ties with lower keys.
        before = np.flatnonzero(first)[np.cumsum(first) - 1]
        ranks[tied[order]] = of_rank[order] + before - np.searchsorted(of_rank[order], of_rank[order])
        tied = tied[order[~(first & np.append(first[1:], True))]]
    if len(tied):
        return chosen[np.argsort(ranks)]
    ordered = np.empty_like(chosen)
    ordered[ranks] = chosen
    return ordered


# Number of nodes per chunk: large enough to hide the overhead of a call, small enough for several chunks per core.
CHUNK_NODES = 1 << 17


def leaves(roots: Int32) -> tuple[TreeRows, Int32]:
    """Return the distinct trees of depth 0, and the tree of each node.

    Parameters
    ----------
    roots : int32 array (n_nodes,)
        Root code of each node.

    Returns
    -------
    rows : TreeRows
        The distinct trees, in canonical order.
    ids : int32 array (n_nodes,)
        The tree of each node.

    See Also
    --------
    refine : The distinct trees of the next depth.

    Examples
    --------
    >>> rows, ids = leaves(np.array([3, 1, 3], np.int32))
    >>> rows.roots, ids
    (array([1, 3], dtype=int32), array([1, 0, 1], dtype=int32))
    """
    codes, ids = np.unique(roots, return_inverse=True)
    rows = TreeRows(
        codes.astype(np.int32), np.zeros(len(codes) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), 0
    )
    return rows, ids.astype(np.int32)


def refine(
    graphs: GraphCollection,
    roots: Int32,
    previous: Int32,
    n_children: int,
    *,
    edge_codes: Int32 | None = None,
    n_edge_codes: int = 1,
    n_jobs: int | None = None,
) -> tuple[TreeRows, Int32]:
    """Return the distinct trees one level deeper, in canonical order, and the id of each node's tree.

    Two nodes get the same id exactly if they have the same root code and the same multiset of
    (edge code, previous id) among their neighbors.

    Parameters
    ----------
    graphs : GraphCollection
        The graphs.
    roots : int32 array (n_nodes,)
        Root code of each node, the code of its label.
    previous : int32 array (n_nodes,)
        Id of each node at the depth below: of its tree, or of the tree's cluster.
    n_children : int
        Number of known ids; larger ids (unseen trees) get points after all known ones.
    edge_codes : int32 array (n_adjacent,), optional
        Code of the edge of each adjacency entry; by default edges have no labels.
    n_edge_codes : int, default=1
        Number of known edge codes.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    rows : TreeRows
        The distinct trees, in canonical order.
    ids : int32 array (n_nodes,)
        The tree of each node.

    See Also
    --------
    leaves : The distinct trees of depth 0.

    Examples
    --------
    >>> path = GraphCollection.from_edges([(4, [(0, 1), (1, 2), (2, 3)])])
    >>> rows, ids = refine(path, path.node_codes, path.node_codes, 1)
    >>> ids, rows.degrees
    (array([0, 1, 1, 0], dtype=int32), array([1, 2], dtype=int32))
    """
    edges = np.empty(0, np.int32) if edge_codes is None else edge_codes
    n_total, n_total_edges = max(n_children, int(previous.max(initial=-1)) + 1), int(edges.max(initial=0)) + 1
    largest = n_children * n_edge_codes + n_total * n_total_edges
    if largest > np.iinfo(np.int32).max:
        raise ValueError(
            f"{n_total} distinct trees with {n_total_edges} edge labels need {largest} points, more than int32 can "
            "number; use edge_labels=False, a smaller max_depth, or the relaxed kernel with fewer clusters"
        )
    adjacency = _compiled.Adjacency(graphs.indptr, graphs.indices, edges)

    def distinct_of_span(span: tuple[int, int]) -> tuple[TreeRows, Int64, Int32]:
        start, stop = (int(graphs.offsets[graph]) for graph in span)
        if graphs.directed or len(edges):
            gathered = _compiled.gather_coded_rows(start, stop, adjacency, previous, n_children, n_edge_codes, n_total)
        else:
            gathered = _compiled.gather_rows(start, stop, adjacency, previous, n_children, n_total)
        # Roots are copied because graphs' arrays are read-only, for which functions would be compiled once more.
        indptr, points, counts, size = gathered
        points, counts = points[:size].copy(), counts[:size].copy()
        rows = TreeRows(roots[start:stop].copy(), indptr, points, counts, n_children, n_edge_codes)
        return rows, *distinct(rows)

    parts = map_chunks(distinct_of_span, graph_spans(graphs, CHUNK_NODES), n_jobs)
    if len(parts) == 1:
        return _in_canonical_order(*parts[0])
    rows, places = merge_rows([rows.take(representatives) for rows, representatives, _ in parts])
    return rows, np.concatenate([place[ids] for place, (_, _, ids) in zip(places, parts, strict=True)])


def merge_rows(parts: list[TreeRows]) -> tuple[TreeRows, list[Int32]]:
    """Return the distinct rows of all parts, in canonical order, and for each part the distinct row of each row."""
    joined = join_rows(parts)
    rows, ids = _in_canonical_order(joined, *distinct(joined))
    return rows, np.split(ids, np.cumsum([len(part) for part in parts])[:-1])


def _in_canonical_order(rows: TreeRows, representatives: Int64, ids: Int32) -> tuple[TreeRows, Int32]:
    """Return the representatives in canonical order, and the ids renumbered in this order."""
    ordered = canonical_order(rows, representatives)
    rank = np.empty(len(rows), np.int32)
    rank[ordered] = np.arange(len(ordered), dtype=np.int32)
    return rows.take(ordered), rank[representatives][ids]


def graph_spans(graphs: GraphCollection, nodes_per_span: int) -> list[tuple[int, int]]:
    """Split the graphs into spans of about ``nodes_per_span`` nodes at graph boundaries; at least one span."""
    wanted: Int64 = np.arange(nodes_per_span, graphs.n_nodes, nodes_per_span)
    cuts = np.unique(np.searchsorted(graphs.offsets, wanted))
    bounds = [0, *cuts[(cuts > 0) & (cuts < graphs.n_graphs)], graphs.n_graphs]
    return [(int(start), int(stop)) for start, stop in itertools.pairwise(bounds)]
