"""Compiled loops for features of nodes and for products of sparse count vectors."""

import math
from typing import Any, NamedTuple

import numpy as np

from relaxwl._compiling import njit

# Number of columns of products that are accumulated together.
TILE = 512


class Compressed(NamedTuple):
    """A sparse matrix by rows (or by columns); line ``i`` has the entries ``indptr[i]`` to ``indptr[i + 1] - 1``."""

    indptr: Any
    indices: Any
    data: Any


@njit(nogil=True, cache=True)
def shortest_path_keys(start, stop, indptr, indices, ids, n_known, n_total, max_length):
    """Return the keys of all ordered pairs of distinct connected nodes among ``start`` to ``stop - 1``.

    The nodes must be those of whole graphs. A key is ``(id, id', length)`` as one number; pairs with an id that was not
    seen in fitting get negative keys. ``max_length`` is the largest length that a key can hold.
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
def add_products(start, stop, a, firsts, columns, minimum, out):
    """Add, for the rows ``start`` to ``stop - 1`` of a sparse A, the sums over shared columns of a·b (or min(a, b)).

    A is `Compressed` by rows, B by columns. ``firsts`` int64 (n_entries,) is the first position that is used in the
    column of each entry of A: the column's begin for A × B, the entry itself for the upper triangle of A × A. ``out``
    has a row for each of these rows.
    """
    for row in range(start, stop):
        target = out[row - start]
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
def add_dense(start, stop, a, b, first, minimum, out):
    """Add Σ_c a[row, c]·b[c, other] (or min) to ``out[row - start, other]``, rows ``start`` to ``stop - 1`` of A.

    A is `Compressed` by rows, ``b`` (m, n') dense; columns are ``other >= first``. Entries are >= 0 for minima. Two
    entries of A at a time are added to a part of a row that stays in the cache.
    """
    for left in range(first, b.shape[1], TILE):
        right = min(left + TILE, b.shape[1])
        for row in range(start, stop):
            target = out[row - start, left:right]
            last = a.indptr[row + 1] - 1
            for entry in range(a.indptr[row], last + 1, 2):
                second = min(entry + 1, last)  # the last of an odd number is repeated as 0
                value, other_value = a.data[entry], a.data[second] if second > entry else 0.0
                line, other_line = b[a.indices[entry], left:right], b[a.indices[second], left:right]
                if minimum:
                    for place in range(right - left):
                        target[place] += min(value, line[place]) + min(other_value, other_line[place])
                else:
                    for place in range(right - left):
                        target[place] += value * line[place] + other_value * other_line[place]


@njit(nogil=True, cache=True)
def unary_sizes(columns, values, starts, steps):
    """Return int64 (n_entries,): how many steps of its column each value reaches, the last one possibly in part.

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
    """Write the entries of the unary code: for each value its first ``sizes`` steps, as given by ``unary_sizes``.

    The entry of a step from a to b is (min(value, b) - a) / √(b - a), so that the product with a value that reaches b
    is the part of the step that both share. Writes ``indices`` and ``data`` (sum of sizes,).
    """
    place = 0
    for entry in range(len(columns)):
        below, first = 0.0, starts[columns[entry]]
        for step in range(first, first + sizes[entry]):
            indices[place] = step
            data[place] = (min(values[entry], steps[step]) - below) / np.sqrt(steps[step] - below)
            below = steps[step]
            place += 1


# Structural features in the order of their columns.
DEGREE, TRIANGLES, CORE, CLUSTERING, NEIGHBOR_DEGREE, SHARE, RETURN_2, RETURN_3, RETURN_4 = range(9)
# Marks neighbors; larger than any sum of shares.
NEXT = 1 << 62


@njit(nogil=True, cache=True)
def peel_cores(indptr, indices, left, order, begin, place):
    """Lower the degrees ``left`` to core numbers: the largest c such that a node is in a subgraph of degrees >= c.

    Nodes are removed in ascending order of their remaining degrees; ``order`` keeps them sorted by these, ``place`` is
    the position of each node in it, and ``begin[d]`` the first position of degree d. All four are written. Linear in
    the number of edges.
    """
    for position in range(len(order)):
        node = order[position]
        for entry in range(indptr[node], indptr[node + 1]):
            other = indices[entry]
            if left[other] > left[node]:  # moved to the front of its degree, which then begins after it
                degree = left[other]
                first = begin[degree]
                swapped = order[first]
                order[place[other]], place[swapped] = swapped, place[other]
                order[first], place[other] = other, first
                begin[degree] = first + 1
                left[other] -= 1


@njit(nogil=True, cache=True)
def structural_features(start, stop, window, adjacency, steps, cores, out):
    """Write ``out[start:stop]``, float64 (n_nodes, 9): the structural features of some nodes.

    ``adjacency`` is (indptr, indices), ``steps`` what ``walk_shares`` returns, and the graphs of these nodes lie within
    the nodes ``window[0]`` to ``window[1] - 1``. ``reached`` is a node's row of two-step walks, for all nodes
    that are ``touched``: Σ over common neighbors u of share(u), plus NEXT for neighbors (one array, because memory
    access takes most of the time). Walks do not continue from heavy nodes, so a triangle with one other heavy node is
    found once instead of twice, and counts double. The caller writes the size of the graph to ``out[node, SHARE]``.
    """
    indptr, indices = adjacency
    share, units, heavy = steps
    first, last = window
    reached = np.zeros(last - first, np.int64)
    touched = np.empty(last - first, np.int64)
    for node in range(start, stop):
        begin, end = indptr[node], indptr[node + 1]
        degree, unit = end - begin, units[node]
        back_2, back_3, back_4, corners, degrees, n_touched = 0, 0, 0, 0, 0, 0
        for entry in range(begin, end):
            touched[n_touched] = indices[entry] - first
            reached[touched[n_touched]] = NEXT
            n_touched += 1
        for entry in range(begin, end):
            middle = indices[entry]
            step = share[middle]
            back_2 += step
            degrees += indptr[middle + 1] - indptr[middle]
            if heavy[middle]:
                continue
            common = 0
            for further in range(indptr[middle], indptr[middle + 1]):
                other = indices[further] - first
                so_far = reached[other]
                if so_far == 0:
                    touched[n_touched] = other
                    n_touched += 1
                reached[other] = so_far + step
                if so_far >= NEXT:
                    times = 2 if heavy[other + first] else 1
                    corners += times
                    common += times * share[other + first]
            back_3 += np.int64(np.rint(float(step) * float(common) / unit))
        for position in range(n_touched):
            other = touched[position]
            back = float(reached[other] & (NEXT - 1))
            back_4 += np.int64(np.rint(back * back / unit / (indptr[other + first + 1] - indptr[other + first])))
            reached[other] = 0
        row, known = out[node], max(degree, 1)
        row[DEGREE] = math.log1p(degree)
        row[TRIANGLES] = math.log1p(corners / 2)
        row[CORE] = math.log1p(cores[node])
        row[CLUSTERING] = corners / (known * max(degree - 1, 1))
        row[NEIGHBOR_DEGREE] = math.log1p(degrees / known)
        row[SHARE] = degree / row[SHARE]
        row[RETURN_2] = back_2 / unit / known
        row[RETURN_3] = back_3 / unit / known
        row[RETURN_4] = back_4 / unit / known


@njit(nogil=True, cache=True)
def weighted_averages(start, stop, adjacency, vectors, out):
    """Write ``out[start:stop]``: the rounded mean of each vector (whole numbers, float32) and its neighbors' mean.

    ``adjacency`` is (indptr, indices, weights). Terms of neighbors are sorted before they are summed, so that their
    order does not matter. A node without neighbors, or only with edges of weight 0, keeps its vector.
    """
    indptr, indices, weights = adjacency
    most = 0
    for node in range(start, stop):
        most = max(most, indptr[node + 1] - indptr[node])
    added = np.empty(most)
    for node in range(start, stop):
        begin, end = indptr[node], indptr[node + 1]
        total = np.sort(weights[begin:end]).sum()
        if total == 0:
            out[node] = vectors[node]
            continue
        for column in range(vectors.shape[1]):
            for entry in range(begin, end):
                added[entry - begin] = weights[entry] * vectors[indices[entry], column]
            found = added[: end - begin]
            found.sort()
            around = 0.0
            for value in found:
                around += value
            out[node, column] = np.rint((vectors[node, column] + around / total) / 2)


@njit(nogil=True, cache=True)
def path_lengths(window, indptr, indices, sources, out):
    """Add statistics of the shortest paths from ``sources`` (local numbers) of the graph of nodes ``window``.

    ``out`` is a row of float64: numbers of paths of length 1, 2, …, the last of these at least as long, then their
    number, the sum of lengths and of squared lengths, the largest length, and the sum of the sources' eccentricities.
    Bit b of ``reached[v]`` says that source b of 64 reaches v, and of ``fresh[v]`` that it did so in the last step.
    """
    start, stop = window
    size, n_bins = stop - start, len(out) - 5
    one = np.uint64(1)
    reached, fresh, arriving = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.uint64)
    for begin in range(0, len(sources), 64):
        count = min(64, len(sources) - begin)
        reached[:] = 0
        for bit in range(count):
            reached[sources[begin + bit]] |= one << np.uint64(bit)
        fresh[:] = reached
        length = 0
        while True:
            length += 1
            n_paths, going = 0, np.uint64(0)
            for node in range(size):
                bits = np.uint64(0)
                for entry in range(indptr[start + node], indptr[start + node + 1]):
                    bits |= fresh[indices[entry] - start]
                arriving[node] = bits & ~reached[node]
                going |= arriving[node]
            if going == 0:
                break
            for node in range(size):
                bits = arriving[node]
                fresh[node] = bits
                reached[node] |= bits
                n_paths += _ones(bits)
            out[min(length, n_bins) - 1] += n_paths
            out[n_bins] += n_paths
            out[n_bins + 1] += n_paths * length
            out[n_bins + 2] += n_paths * length * length
            out[n_bins + 3] = max(out[n_bins + 3], length)
            out[n_bins + 4] += _ones(going)  # each source that still goes on has an eccentricity larger by 1


@njit(nogil=True, cache=True)
def _ones(bits):
    """Return the number of ones of a uint64: sums of 2, 4 and 8 bits, then of all bytes by a product."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(nogil=True, cache=True)
def add_differences(start, stop, rows, columns, out):
    """Add Σ_c |rows[i, c] - columns[c, j]| to ``out[i, j]`` for the rows ``start`` to ``stop - 1``, float32.

    A part of a row of ``out`` stays in the cache while all columns are added; terms are added in the same order
    wherever the row is.
    """
    for left in range(0, columns.shape[1], TILE):
        right = min(left + TILE, columns.shape[1])
        for row in range(start, stop):
            target = out[row, left:right]
            for column in range(columns.shape[0]):
                value, line = rows[row, column], columns[column, left:right]
                for place in range(right - left):
                    target[place] += abs(value - line[place])


@njit(nogil=True, cache=True)
def tridiagonalize(matrix, diagonal, beside):
    """Write the diagonal (n,) and the entries beside it (n - 1,) of a tridiagonal matrix with the same eigenvalues.

    Householder's reflections of a symmetric ``matrix`` (n, n), which is overwritten; only its lower triangle is kept up
    to date. It takes one thread, where BLAS would start several for matrices that are much too small for them.
    """
    n = len(matrix)
    product = np.empty(n)
    for last in range(n - 1, 0, -1):
        # The reflection that maps the row of ``last``, left of the diagonal, to a multiple of its last unit vector.
        row = matrix[last, :last]
        diagonal[last] = matrix[last, last]
        squares = 0.0
        for value in row[: last - 1]:
            squares += value * value
        if squares == 0.0:
            beside[last - 1] = row[last - 1]
            continue
        length = math.sqrt(squares + row[last - 1] * row[last - 1])
        length = -length if row[last - 1] > 0 else length
        beside[last - 1] = length
        row[last - 1] -= length
        factor = -1.0 / (length * row[last - 1])  # 2 / |row|^2
        # product = factor * matrix @ row, from the lower triangle, then less factor / 2 * (product @ row) * row.
        product[:last] = 0.0
        for i in range(last):
            line, value, total = matrix[i], row[i], 0.0
            for j in range(i):
                product[j] += line[j] * value
            for j in range(i):
                total += line[j] * row[j]
            product[i] += total + line[i] * value
        inner = 0.0
        for i in range(last):
            product[i] *= factor
            inner += product[i] * row[i]
        inner *= factor / 2
        for i in range(last):
            product[i] -= inner * row[i]
        for i in range(last):
            line, a, b = matrix[i], row[i], product[i]
            for j in range(i + 1):
                line[j] -= a * product[j] + b * row[j]
    diagonal[0] = matrix[0, 0]


@njit(nogil=True, cache=True)
def chebyshev_moments(matrix, sample, moments):
    """Write the means over some rows v of the diagonal entries T_k(matrix)[v, v], for k = 0, 1, …, an even number.

    ``matrix`` is a symmetric `Compressed` one with eigenvalues in [-1, 1]. Columns s of ``before`` and ``after`` are
    those of T_k and T_k+1 for the row ``sample[s]``. Products of two of them give the moments of twice as many degrees.
    """
    n, n_sampled = len(matrix.indptr) - 1, len(sample)
    before, after = np.zeros((n, n_sampled)), np.zeros((n, n_sampled))
    for place in range(n_sampled):
        node = sample[place]
        before[node, place] = 1.0
        for entry in range(matrix.indptr[node], matrix.indptr[node + 1]):
            after[matrix.indices[entry], place] = matrix.data[entry]
    squares, products = np.empty(n_sampled), np.empty(n_sampled)
    for half in range(len(moments) // 2):
        squares[:], products[:] = 0.0, 0.0
        for node in range(n):
            line, other = before[node], after[node]
            for place in range(n_sampled):
                squares[place] += line[place] * line[place]
                products[place] += line[place] * other[place]
        # T_2k = 2 T_k T_k - T_0 and T_2k+1 = 2 T_k T_k+1 - T_1
        moments[2 * half] = 2 * squares.mean() - (moments[0] if half else 1.0)
        moments[2 * half + 1] = (2 if half else 1) * products.mean() - (moments[1] if half else 0.0)
        for node in range(n):
            line = before[node]
            for place in range(n_sampled):
                line[place] = -line[place]
            for entry in range(matrix.indptr[node], matrix.indptr[node + 1]):
                value, other = 2.0 * matrix.data[entry], after[matrix.indices[entry]]
                for place in range(n_sampled):
                    line[place] += value * other[place]
        before, after = after, before


@njit(nogil=True, cache=True)
def refined_colors(window, indptr, indices, colors, n_rounds):
    """Return hashes uint64 (n_nodes of the graph,) of the colors of nodes within ``n_rounds`` steps of each node.

    ``window`` are the first node of a graph and the first one after it, ``colors`` (n_nodes,) hashes of all nodes. Sums
    of hashes do not depend on the order of neighbors.
    """
    start, stop = window
    own, mixed = colors[start:stop].copy(), np.empty(stop - start, np.uint64)
    for _ in range(n_rounds):
        for node in range(stop - start):
            state = (own[node] + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
            mixed[node] = state ^ (state >> np.uint64(32))
        for node in range(stop - start):
            total = mixed[node] * np.uint64(3)
            for entry in range(indptr[start + node], indptr[start + node + 1]):
                total += mixed[indices[entry] - start]
            own[node] = total
    return own
