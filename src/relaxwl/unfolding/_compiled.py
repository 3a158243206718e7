"""Compiled loops over rows: gathering, finding the distinct ones, sorting and locating them.

A row is a root code and a run-length coded multiset of points: ``points[indptr[r]:indptr[r + 1]]`` strictly
ascending, with ``counts`` of the same shape. In the *canonical* order, rows are compared by root, then by number of
children, then entry by entry by point and count.
"""

from typing import Any, NamedTuple

import numpy as np

from relaxwl._compiling import njit

# Maximum length of a row that is sorted by insertion; a general sort is faster only for longer rows.
_SHORT = 24


class Adjacency(NamedTuple):
    """CSR arrays over all nodes, and the code of each edge (empty if edges are not used)."""

    indptr: Any
    indices: Any
    edge_codes: Any


class SortedBy(NamedTuple):
    """The arrays of rows that the canonical order compares, and the number of children of each."""

    roots: Any
    indptr: Any
    points: Any
    counts: Any
    degrees: Any


@njit(nogil=True, cache=True)
def counting_order(ids, n_ids):
    """Return the positions of ``ids`` (ints from 0 to ``n_ids - 1``) sorted by id, equal ids in order: O(n + n_ids)."""
    slots = np.zeros(n_ids + 1, np.int64)
    for position in range(len(ids)):
        slots[ids[position] + 1] += 1
    for value in range(n_ids):
        slots[value + 1] += slots[value]
    order = np.empty(len(ids), np.int64)
    for position in range(len(ids)):
        order[slots[ids[position]]] = position
        slots[ids[position]] += 1
    return order


@njit(nogil=True, cache=True)
def gather_rows(start, stop, adjacency, previous, n_children, n_total):
    """Return the rows of the nodes ``start`` to ``stop - 1``: (row_indptr, points, counts, n_entries).

    The nodes must be those of whole graphs, and the adjacency must be symmetric and without edge codes.
    ``previous`` int32 (n_nodes,) holds the ids of the depth below, all < n_total. The point of an id < n_children is
    the id itself; other ids were not seen in fitting and get points after all known ones.
    """
    indptr, indices, _ = adjacency
    first = indptr[start]
    points = np.empty(indptr[stop] - first, np.int32)
    # Loops, here and below, because array expressions take several times as long to compile.
    filled = np.empty(stop - start, np.int64)
    for local in range(stop - start):
        filled[local] = indptr[start + local] - first
    # Each node writes its id into the rows of its neighbors. Nodes are visited in the order of their ids, so every
    # row is filled in ascending order and does not have to be sorted.
    for local in counting_order(previous[start:stop], n_total):
        child = previous[start + local]
        point = child if child < n_children else n_children + child
        for entry in range(indptr[start + local], indptr[start + local + 1]):
            parent = indices[entry] - start
            points[filled[parent]] = point
            filled[parent] += 1
    return _run_lengths(indptr[start : stop + 1], points)


@njit(nogil=True, cache=True)
def gather_coded_rows(start, stop, adjacency, previous, n_children, n_edge_codes, n_total):
    """Return the same as ``gather_rows``, for any adjacency, with or without edge codes.

    A known (edge code, id) becomes the point ``edge_code * n_children + id``; unseen ones get points after all known
    ones. Each row is gathered and sorted by itself, because arcs may have one direction and edge codes sort first.
    """
    indptr, indices, edge_codes = adjacency
    first = indptr[start]
    points = np.empty(indptr[stop] - first, np.int32)
    coded = len(edge_codes) > 0
    n_points = n_children * n_edge_codes
    for local in range(stop - start):
        for entry in range(indptr[start + local], indptr[start + local + 1]):
            child = previous[indices[entry]]
            edge = edge_codes[entry] if coded else 0
            if child < n_children and edge < n_edge_codes:
                points[entry - first] = edge * n_children + child
            else:
                points[entry - first] = n_points + edge * n_total + child
        _sort(points[indptr[start + local] - first : indptr[start + local + 1] - first])
    return _run_lengths(indptr[start : stop + 1], points)


@njit(nogil=True, cache=True)
def _run_lengths(indptr, points):
    """Return (indptr, points, counts, n_entries) with repeated points of a row counted; ``points`` is overwritten.

    Row r has the points ``indptr[r] - indptr[0]`` to ``indptr[r + 1] - indptr[0] - 1``. Only the first ``n_entries``
    of the returned points and counts are valid.
    """
    n_rows = len(indptr) - 1
    row_indptr = np.empty(n_rows + 1, np.int64)
    counts = np.empty(len(points), np.int32)
    row_indptr[0] = 0
    filled = 0
    for row in range(n_rows):
        position, end = indptr[row] - indptr[0], indptr[row + 1] - indptr[0]
        while position < end:
            run = position + 1
            while run < end and points[run] == points[position]:
                run += 1
            points[filled] = points[position]
            counts[filled] = run - position
            filled += 1
            position = run
        row_indptr[row + 1] = filled
    return row_indptr, points, counts, filled


@njit(nogil=True, cache=True)
def _sort(row):
    """Sort a small int array in place."""
    if len(row) > _SHORT:
        row.sort()
        return
    for position in range(1, len(row)):
        value = row[position]
        slot = position
        while slot > 0 and row[slot - 1] > value:
            row[slot] = row[slot - 1]
            slot -= 1
        row[slot] = value


@njit(nogil=True, cache=True)
def mixed(state, value):
    """Mix one integer into a 64-bit hash state."""
    state = (state ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return state ^ (state >> np.uint64(29))


@njit(nogil=True, cache=True)
def distinct_rows(roots, indptr, points, counts):
    """Return (representatives, ids, n_found): a row number for each distinct row; the distinct row of each row.

    A hash table with open addressing finds candidates, whose content is compared, so a collision cannot merge rows.
    """
    n_rows = len(roots)
    size = 16
    while size < 2 * n_rows:
        size *= 2
    table = np.empty(size, np.int32)
    for slot in range(size):
        table[slot] = -1
    hashes = np.empty(size, np.uint64)
    representatives = np.empty(n_rows, np.int64)
    ids = np.empty(n_rows, np.int32)
    found = 0
    for row in range(n_rows):
        begin, end = indptr[row], indptr[row + 1]
        state = mixed(np.uint64(0x243F6A8885A308D3), roots[row])
        for entry in range(begin, end):
            state = mixed(state, points[entry])
            state = mixed(state, counts[entry])
        slot = np.int64(state >> np.uint64(32)) & (size - 1)
        while table[slot] >= 0:
            if hashes[slot] == state:
                other = representatives[table[slot]]
                if roots[other] == roots[row] and _same_children(
                    points, counts, begin, end, points, counts, indptr[other], indptr[other + 1]
                ):
                    break
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = found
            hashes[slot] = state
            representatives[found] = row
            found += 1
        ids[row] = table[slot]
    return representatives, ids, found


@njit(nogil=True, cache=True)
def _same_children(points_a, counts_a, begin_a, end_a, points_b, counts_b, begin_b, end_b):
    if end_a - begin_a != end_b - begin_b:
        return False
    for step in range(end_a - begin_a):
        if points_a[begin_a + step] != points_b[begin_b + step] or counts_a[begin_a + step] != counts_b[begin_b + step]:
            return False
    return True


@njit(nogil=True, cache=True)
def _compare(a, row_a, b, row_b):
    """Return a negative number, 0 or a positive number if row_a of a precedes, equals or follows row_b of b."""
    if a.roots[row_a] != b.roots[row_b]:
        return a.roots[row_a] - b.roots[row_b]
    if a.degrees[row_a] != b.degrees[row_b]:
        return a.degrees[row_a] - b.degrees[row_b]
    begin_a, begin_b = a.indptr[row_a], b.indptr[row_b]
    length_a, length_b = a.indptr[row_a + 1] - begin_a, b.indptr[row_b + 1] - begin_b
    for step in range(min(length_a, length_b)):
        if a.points[begin_a + step] != b.points[begin_b + step]:
            return a.points[begin_a + step] - b.points[begin_b + step]
        if a.counts[begin_a + step] != b.counts[begin_b + step]:
            return a.counts[begin_a + step] - b.counts[begin_b + step]
    return length_a - length_b


@njit(nogil=True, cache=True)
def count_before(rows, borders):
    """Return int64 (n_borders,): the number of canonical rows that precede each border; both are `SortedBy`."""
    before = np.empty(len(borders.roots), np.int64)
    for border in range(len(borders.roots)):
        low, high = 0, len(rows.roots)
        while low < high:
            middle = (low + high) // 2
            if _compare(rows, middle, borders, border) < 0:
                low = middle + 1
            else:
                high = middle
        before[border] = low
    return before
