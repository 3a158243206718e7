"""Compiled loops for vectors of nodes: structural features, averages over neighbors, hashes of rows.

Nothing here depends on the order of nodes or neighbors: sums are sums of whole numbers, or of sorted ones.
"""

import math

import numpy as np

from relaxwl._compiling import njit

# Structural features in the order of their columns.
DEGREE, TRIANGLES, CORE, CLUSTERING, NEIGHBOR_DEGREE, SHARE, RETURN_2, RETURN_3, RETURN_4 = range(9)
# More than any sum of shares.
NEXT = 1 << 62


@njit(nogil=True, cache=True)
def core_numbers(indptr, indices):
    """Return int64 (n_nodes,): the largest c such that a node is in a subgraph whose nodes all have c neighbors in it.

    Nodes are taken away in ascending order of what is left of their degrees; ``order`` keeps them sorted by it, and
    ``begin[d]`` is where those of degree d begin. Linear in the number of edges.
    """
    n_nodes = len(indptr) - 1
    left = indptr[1:] - indptr[:-1]
    most = 0 if n_nodes == 0 else left.max()
    begin = np.zeros(most + 2, np.int64)
    for node in range(n_nodes):
        begin[left[node] + 1] += 1
    for degree in range(most + 1):
        begin[degree + 1] += begin[degree]
    filled, order, place = begin[:-1].copy(), np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    for node in range(n_nodes):
        place[node] = filled[left[node]]
        order[place[node]] = node
        filled[left[node]] += 1
    for position in range(n_nodes):
        node = order[position]
        for entry in range(indptr[node], indptr[node + 1]):
            other = indices[entry]
            if left[other] > left[node]:  # to the front of its degree, whose begin then moves behind it
                degree = left[other]
                first = begin[degree]
                swapped = order[first]
                order[place[other]], place[swapped] = swapped, place[other]
                order[first], place[other] = other, first
                begin[degree] = first + 1
                left[other] -= 1
    return left


@njit(nogil=True, cache=True)
def walk_shares(offsets, indptr, most_work):
    """Return (share int64, unit float64, heavy bool), each (n_nodes,): the chance of a step from a node to a neighbor.

    It is ``share / unit``, with a unit so large for each graph that no sum of shares over the neighbors of a node, each
    at most twice, is more than int64 holds. Heavy are the nodes of a graph with the highest degrees, so many that the
    squares of the degrees of the others sum up to at most ``most_work``.
    """
    n_nodes = len(indptr) - 1
    share, unit, heavy = np.zeros(n_nodes, np.int64), np.ones(n_nodes), np.zeros(n_nodes, np.bool_)
    for graph in range(len(offsets) - 1):
        start, stop = offsets[graph], offsets[graph + 1]
        if start == stop:
            continue
        degrees = indptr[start + 1 : stop + 1] - indptr[start:stop]
        number = np.bincount(degrees)
        limit, work = len(number) - 1, 0.0
        for degree in range(len(number)):
            work += float(number[degree]) * degree * degree
            if work > most_work:
                limit = degree - 1
                break
        most = 61.0 - math.ceil(math.log2(len(number)))
        for node in range(start, stop):
            unit[node] = 2.0**most
            if degrees[node - start] > 0:
                share[node] = np.int64(np.rint(unit[node] / degrees[node - start]))
            heavy[node] = degrees[node - start] > limit
    return share, unit, heavy


@njit(nogil=True, cache=True)
def structural_features(start, stop, window, adjacency, steps, cores, out):
    """Write ``out[start:stop]``, float64 (n_nodes, 9): the structural features of some nodes.

    ``adjacency`` is (indptr, indices), ``steps`` what ``walk_shares`` returns, and the graphs of these nodes lie within
    the nodes ``window[0]`` to ``window[1] - 1``. A node's row of the two-step walks is in ``reached``, for all nodes
    that are ``touched``: Σ over common neighbors u of share(u), plus NEXT for neighbors (one array, because looking up
    places in memory takes the time). No walk goes on from a heavy node. A triangle with one heavy node beside this one
    is met once instead of twice, and counts double. The caller has put the size of its graph into ``out[node, SHARE]``.
    """
    indptr, indices = adjacency
    share, units, heavy = steps
    first, last = window
    reached = np.zeros(last - first, np.int64)
    touched = np.empty(last - first, np.int64)
    graph_size = out[start:stop, SHARE].copy()
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
        row[SHARE] = degree / graph_size[node - start]
        row[RETURN_2] = back_2 / unit / known
        row[RETURN_3] = back_3 / unit / known
        row[RETURN_4] = back_4 / unit / known


@njit(nogil=True, cache=True)
def averaged(start, stop, adjacency, vectors, out):
    """Write ``out[start:stop]``: the mean of each vector (whole numbers, float32) and that of its neighbors, rounded.

    ``adjacency`` is (indptr, indices, weights). Without weights (of length 0) sums are exact. With them, what the
    neighbors add is sorted before it is summed. A node without neighbors, or none of any weight, keeps its vector.
    """
    indptr, indices, weights = adjacency
    size = vectors.shape[1]
    sums = np.empty(size)
    most = 0
    for node in range(start, stop):
        most = max(most, indptr[node + 1] - indptr[node])
    added = np.empty(most if len(weights) else 0)
    for node in range(start, stop):
        begin, end = indptr[node], indptr[node + 1]
        total = float(end - begin)
        if len(weights):
            total = np.sort(weights[begin:end]).sum()
        if total == 0:
            out[node] = vectors[node]
            continue
        sums[:] = 0.0
        if len(weights):
            for column in range(size):
                for entry in range(begin, end):
                    added[entry - begin] = weights[entry] * vectors[indices[entry], column]
                found = added[: end - begin]
                found.sort()
                for value in found:
                    sums[column] += value
        else:
            for entry in range(begin, end):
                other = vectors[indices[entry]]
                for column in range(size):
                    sums[column] += other[column]
        for column in range(size):
            out[node, column] = np.rint((vectors[node, column] + sums[column] / total) / 2)


@njit(nogil=True, cache=True)
def row_hashes(vectors):
    """Return uint64 (n,): a number for each row of whole numbers, spread evenly and told by its content alone."""
    hashes = np.full(len(vectors), 0x243F6A8885A308D3, np.uint64)
    for row in range(len(vectors)):
        state = hashes[row]
        for value in vectors[row]:
            state = _mixed(state ^ np.uint64(np.int64(value)))
        hashes[row] = state
    return hashes


@njit(nogil=True, cache=True)
def _mixed(state):
    """Return 64 bits that all depend on all of the given ones."""
    state = (state + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(32))


@njit(nogil=True, cache=True)
def first_of_equal(vectors, hashes, order):
    """Return bool (n,): whether the row at each place of ``order``, sorted by hashes, differs from the one before."""
    first = np.ones(len(order), np.bool_)
    for place in range(1, len(order)):
        row, before = order[place], order[place - 1]
        if hashes[row] == hashes[before]:
            first[place] = False
            for column in range(vectors.shape[1]):
                if vectors[row, column] != vectors[before, column]:
                    first[place] = True
    return first


@njit(nogil=True, cache=True)
def drawing_keys(hashes, counts, seed):
    """Return float64 (n,): waiting times. The k shortest are k rows drawn without replacement, by their counts."""
    keys = np.empty(len(hashes))
    for row in range(len(hashes)):
        uniform = (float(_mixed(_mixed(hashes[row] ^ seed)) >> np.uint64(11)) + 0.5) * 2.0**-53
        keys[row] = -math.log(uniform) / counts[row]
    return keys
