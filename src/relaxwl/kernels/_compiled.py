"""Compiled loops for count features and for products of sparse count vectors."""

from typing import Any, NamedTuple

import numpy as np

from relaxwl._compiling import njit
from relaxwl.unfolding._compiled import counting_order


class Compressed(NamedTuple):
    """A sparse matrix by rows (or by columns): of line ``i`` the entries ``indptr[i]`` to ``indptr[i + 1] - 1``."""

    indptr: Any
    indices: Any
    data: Any


@njit(nogil=True, cache=True)
def count_ids(offsets, ids, n_ids):
    """Return (indptr, ids, counts): the distinct ids of each graph in ascending order, and how often each occurs.

    Graph g has the nodes ``offsets[g]`` to ``offsets[g + 1] - 1``; all ids are < n_ids. Nodes are visited in the
    order of their ids, so every graph meets its ids sorted: linear time.
    """
    n_graphs = len(offsets) - 1
    graph_of = np.empty(len(ids), np.int32)
    for graph in range(n_graphs):
        graph_of[offsets[graph] : offsets[graph + 1]] = graph
    found = np.empty(len(ids), np.int32)
    counts = np.empty(len(ids), np.int32)
    filled = offsets.copy()
    for node in counting_order(ids, n_ids):
        graph = graph_of[node]
        slot = filled[graph]
        if slot > offsets[graph] and found[slot - 1] == ids[node]:
            counts[slot - 1] += 1
        else:
            found[slot] = ids[node]
            counts[slot] = 1
            filled[graph] += 1
    indptr = np.zeros(n_graphs + 1, np.int64)
    end = 0
    for graph in range(n_graphs):
        for slot in range(offsets[graph], filled[graph]):
            found[end], counts[end] = found[slot], counts[slot]
            end += 1
        indptr[graph + 1] = end
    return indptr, found[:end].copy(), counts[:end].copy()


@njit(nogil=True, cache=True)
def shortest_path_keys(start, stop, indptr, indices, ids, n_known, n_total, max_length):
    """Return the keys of all ordered pairs of distinct connected nodes among ``start`` to ``stop - 1``.

    The nodes must be closed under adjacency (whole graphs). A key is ``(id, id', length)`` as one number; pairs with
    an id that was not known at fitting get negative keys. ``max_length`` is the largest length that a key can hold.
    """
    size = stop - start
    distance = np.full(size, -1, np.int64)
    queue = np.empty(size, np.int64)
    keys = np.empty(size * max(size - 1, 0), np.int64)
    filled = 0
    for source in range(size):
        queue[0] = source
        distance[source] = 0
        head, tail = 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            for entry in range(indptr[start + node], indptr[start + node + 1]):
                other = indices[entry] - start
                if distance[other] < 0:
                    distance[other] = distance[node] + 1
                    queue[tail] = other
                    tail += 1
        a = np.int64(ids[start + source])
        for reached in range(1, tail):
            node = queue[reached]
            b = np.int64(ids[start + node])
            if a < n_known and b < n_known:
                keys[filled] = (a * n_known + b) * max_length + distance[node]
            else:
                keys[filled] = -1 - ((a * n_total + b) * max_length + distance[node])
            filled += 1
        for reached in range(tail):
            distance[queue[reached]] = -1
    return keys[:filled]


@njit(nogil=True, cache=True)
def transposed(matrix, n_columns):
    """Return (columns, place): a `Compressed` matrix by columns, rows ascending, and where each entry went."""
    indptr, indices, data = matrix
    column_indptr = np.zeros(n_columns + 1, np.int64)
    for entry in range(len(indices)):
        column_indptr[indices[entry] + 1] += 1
    for column in range(n_columns):
        column_indptr[column + 1] += column_indptr[column]
    filled = column_indptr[:-1].copy()
    rows = np.empty(len(indices), np.int32)
    values = np.empty(len(indices), data.dtype)
    place = np.empty(len(indices), np.int64)
    for row in range(len(indptr) - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            target = filled[indices[entry]]
            filled[indices[entry]] += 1
            rows[target] = row
            values[target] = data[entry]
            place[entry] = target
    return Compressed(column_indptr, rows, values), place


@njit(nogil=True, cache=True)
def add_products(start, stop, a, firsts, columns, minimum, out):
    """Add, for the rows ``start`` to ``stop - 1`` of a sparse A, the sums over shared columns of a·b (or min(a, b)).

    A is `Compressed` by rows, B by columns. ``firsts`` int64 (n_entries,) says where to begin in the column of each
    entry of A: at the column's begin for A × B, at the entry itself for the upper triangle of A × A. Writes
    ``out[start:stop]``.
    """
    for row in range(start, stop):
        target = out[row]
        for entry in range(a.indptr[row], a.indptr[row + 1]):
            value = a.data[entry]
            end = columns.indptr[a.indices[entry] + 1]
            if minimum:
                for position in range(firsts[entry], end):
                    target[columns.indices[position]] += min(value, columns.data[position])
            else:
                for position in range(firsts[entry], end):
                    target[columns.indices[position]] += value * columns.data[position]


@njit(nogil=True, cache=True)
def add_dense_minima(start, stop, a, b, symmetric, out):
    """Add Σ_c min(a[row, c], b[c, other]) to ``out[row, other]`` for rows ``start`` to ``stop - 1``.

    ``a`` (n, m) holds the rows, ``b`` (m, n') the columns. With ``symmetric`` only ``other >= row`` is computed.
    """
    for row in range(start, stop):
        first = row if symmetric else 0
        target = out[row, first:]
        for column in range(a.shape[1]):
            value = a[row, column]
            if value == 0:
                continue
            others = b[column, first:]
            for other in range(len(others)):
                target[other] += min(value, others[other])


@njit(nogil=True, cache=True)
def first_and_number(ids, n_ids):
    """Return int64 (n_ids,) twice: where each id occurs first in ``ids`` (-1 if nowhere), and how often it occurs."""
    first = np.full(n_ids, -1, np.int64)
    number = np.zeros(n_ids, np.int64)
    for position in range(len(ids)):
        if number[ids[position]] == 0:
            first[ids[position]] = position
        number[ids[position]] += 1
    return first, number


@njit(nogil=True, cache=True)
def unary_sizes(columns, values, starts, steps):
    """Return int64 (n_entries,): how many steps of its column each value reaches, the last one maybe in part.

    Column c has the steps ``steps[starts[c]:starts[c + 1]]``, which ascend; values are >= 0.
    """
    sizes = np.zeros(len(columns), np.int64)
    for entry in range(len(columns)):
        if values[entry] > 0:
            own = steps[starts[columns[entry]] : starts[columns[entry] + 1]]
            sizes[entry] = min(np.searchsorted(own, values[entry]) + 1, len(own))
    return sizes


@njit(nogil=True, cache=True)
def fill_unary(columns, values, sizes, starts, steps, indices, data):
    """Write the entries of the unary code: of each value its ``sizes`` first steps, as ``unary_sizes`` found them.

    A step from a to b holds (min(value, b) - a) / √(b - a), so that the product with a value that reaches b is the
    length that both have of the step. Writes ``indices`` and ``data`` (sum of sizes,).
    """
    place = 0
    for entry in range(len(columns)):
        below, first = 0.0, starts[columns[entry]]
        for step in range(first, first + sizes[entry]):
            indices[place] = step
            data[place] = (min(values[entry], steps[step]) - below) / np.sqrt(steps[step] - below)
            below = steps[step]
            place += 1
