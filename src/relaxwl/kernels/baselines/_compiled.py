"""Compiled loops of the baselines: persistence on edge-weighted graphs, graphlet samples, transport on the line."""

import numpy as np

from relaxwl._compiling import njit
from relaxwl.distances._compiled import (
    COST,
    DEMAND,
    SINK_POINT,
    SIZES,
    SOURCE_POINT,
    SUPPLY,
    make_scratch,
    solve_loaded,
)

# ------------------------------------------------------------------------------------------------- persistence


@njit(nogil=True, cache=True)
def edge_weights(start, stop, indptr, indices, previous, ids, row_indptr, row_points, row_counts, power, offset):
    """Return the weights of the edges u < v of the vertices ``start`` to ``stop - 1`` (whole graphs), in that order.

    ``ids`` int32 (n_nodes,) says which row holds a vertex's neighbour labels, sorted and counted; ``previous`` holds
    the vertices' own labels of the same depth. Weight: [previous labels differ] + ‖difference of the counts‖ + offset.
    """
    weights = np.empty((indptr[stop] - indptr[start]) // 2, np.float64)
    filled = 0
    for node in range(start, stop):
        for entry in range(indptr[node], indptr[node + 1]):
            other = indices[entry]
            if other < node:
                continue
            weight = offset + _row_distance(ids[node], ids[other], row_indptr, row_points, row_counts, power)
            if previous[node] != previous[other]:
                weight += 1.0
            weights[filled] = weight
            filled += 1
    return weights


@njit(nogil=True, cache=True)
def _row_distance(row_a, row_b, indptr, points, counts, power):
    """Return the ‖·‖_power of the difference of two rows' counts."""
    if row_a == row_b:
        return 0.0
    i, j = indptr[row_a], indptr[row_b]
    total = 0.0
    while i < indptr[row_a + 1] or j < indptr[row_b + 1]:
        if j == indptr[row_b + 1] or (i < indptr[row_a + 1] and points[i] < points[j]):
            difference = counts[i]
            i += 1
        elif i == indptr[row_a + 1] or points[j] < points[i]:
            difference = counts[j]
            j += 1
        else:
            difference = abs(counts[i] - counts[j])
            i += 1
            j += 1
        total += difference if power == 1.0 else float(difference) ** power
    return total if power == 1.0 else total ** (1.0 / power)


@njit(nogil=True, cache=True)
def _root(parent, node):
    """Return the representative of a vertex's component, and shorten the way to it."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit(nogil=True, cache=True)
def add_persistence(start, stop, sources, targets, weights, order, ranks, lone, power, persistence, cycles):
    """Write persistence and add cycle weights of the vertices ``start`` to ``stop - 1`` of one graph.

    ``sources``, ``targets``, ``weights`` (n_edges,) are the graph's edges and ``order`` their numbers by increasing
    weight. ``ranks`` (n_nodes,) orders labels: of two components that merge, the one whose representative has the
    higher rank ends, so a representative always has the lowest rank of its component. Writes
    ``persistence[start:stop]`` and adds to ``cycles[start:stop]``; ``lone`` stands for the largest weight where
    there is no edge.
    """
    parent = np.arange(start, stop)
    parent -= start
    largest = lone
    if len(order):
        largest = weights[order[-1]]
    persistence[start:stop] = largest**power
    for edge in order:
        value = weights[edge] ** power
        one = _root(parent, sources[edge] - start)
        other = _root(parent, targets[edge] - start)
        if one == other:
            cycles[sources[edge]] += value
            cycles[targets[edge]] += value
            continue
        if ranks[start + one] > ranks[start + other]:
            one, other = other, one
        parent[other] = one
        persistence[start + other] = value


# --------------------------------------------------------------------------------------------------- graphlets


@njit(nogil=True, cache=True)
def _next_random(state):
    """Return (random float64 in [0, 1), next state): splitmix64."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53, state


@njit(nogil=True, cache=True)
def sample_graphlets(start, stop, indptr, indices, seed, n_samples, max_size, classes, class_starts, out):
    """Count in ``out`` (n_classes,) the classes of random vertex subsets of the graph on ``start`` to ``stop - 1``.

    The size of a subset is uniform from 3 (fewer if the graph has fewer vertices) to ``max_size``, its vertices are
    uniform and distinct. ``classes[class_starts[size] + mask]`` is the class of the subgraph whose bit for the pair
    (i, j), i < j, is number ``j * (j - 1) / 2 + i``. The stream depends on ``seed`` (uint64) and the adjacency alone.
    """
    n_nodes = stop - start
    if n_nodes == 0:
        return
    state = seed
    for node in range(start, stop):
        state = _stirred(state, np.uint64(indptr[node + 1] - indptr[node]))
        for entry in range(indptr[node], indptr[node + 1]):
            state = _stirred(state, np.uint64(indices[entry] - start))
    smallest, largest = min(3, n_nodes), min(max_size, n_nodes)
    chosen = np.empty(max_size, np.int64)
    for _ in range(n_samples):
        draw, state = _next_random(state)
        size = smallest + np.int64(draw * (largest - smallest + 1))
        filled = 0
        while filled < size:  # a vertex drawn before is drawn again: rare unless the graph is tiny
            draw, state = _next_random(state)
            node = start + np.int64(draw * n_nodes)
            fresh = True
            for position in range(filled):
                fresh = fresh and chosen[position] != node
            if fresh:
                chosen[filled] = node
                filled += 1
        mask = 0
        for j in range(1, size):
            for i in range(j):
                if _adjacent(chosen[i], chosen[j], indptr, indices):
                    mask |= 1 << (j * (j - 1) // 2 + i)
        out[classes[class_starts[size] + mask]] += 1


@njit(nogil=True, cache=True)
def _stirred(state, value):
    """Stir one integer into a 64-bit state."""
    state = (state ^ value) * np.uint64(0x9E3779B97F4A7C15)
    return state ^ (state >> np.uint64(29))


@njit(nogil=True, cache=True)
def _adjacent(node, other, indptr, indices):
    """Whether two vertices are neighbours, by bisection in the shorter list."""
    if indptr[node + 1] - indptr[node] > indptr[other + 1] - indptr[other]:
        node, other = other, node
    low, high = indptr[node], indptr[node + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < other:
            low = middle + 1
        else:
            high = middle
    return low < indptr[node + 1] and indices[low] == other


# --------------------------------------------------------------------------------------------------- transport


@njit(nogil=True, cache=True)
def line_distances(row, offsets_a, sorted_a, offsets_b, sorted_b, first, out):
    """Write into ``out[first:]`` the transport distances on the line between graph ``row`` of A and graphs of B.

    ``sorted_a`` and ``sorted_b`` hold each graph's values in ascending order, a vertex weighing 1 / n. The distance is
    the area between the two distribution functions.
    """
    begin_a, end_a = offsets_a[row], offsets_a[row + 1]
    for other in range(first, len(out)):
        i, j = begin_a, offsets_b[other]
        end_b = offsets_b[other + 1]
        weight_a, weight_b = 1.0 / max(end_a - begin_a, 1), 1.0 / max(end_b - j, 1)
        begin_b, total, place = j, 0.0, 0.0
        while i < end_a or j < end_b:
            gap = abs((i - begin_a) * weight_a - (j - begin_b) * weight_b)
            if j == end_b or (i < end_a and sorted_a[i] <= sorted_b[j]):
                value = sorted_a[i]
                i += 1
            else:
                value = sorted_b[j]
                j += 1
            if gap > 0.0:
                total += gap * (value - place)
            place = value
        out[other] = total


@njit(nogil=True, cache=True)
def largest_side(offsets_a, offsets_b):
    """Return the number of vertices of the largest graph."""
    side = 0
    for graph in range(len(offsets_a) - 1):
        side = max(side, offsets_a[graph + 1] - offsets_a[graph])
    for graph in range(len(offsets_b) - 1):
        side = max(side, offsets_b[graph + 1] - offsets_b[graph])
    return side


@njit(nogil=True, cache=True)
def transport_distances(row, offsets_a, points_a, offsets_b, points_b, first, out):
    """Write into ``out[first:]`` the exact transport distances between graph ``row`` of A and graphs of B.

    ``points_a`` and ``points_b`` float64 (n_nodes, d) are the vertices' places; ground costs are Euclidean. A vertex of
    a graph with n vertices weighs 1 / n; with another of m vertices it sends m units, and receives n: whole flows.
    """
    vectors, indices, tables = make_scratch(largest_side(offsets_a[row : row + 2], offsets_b))
    begin_a = offsets_a[row]
    n_a = offsets_a[row + 1] - begin_a
    for other in range(first, len(out)):
        begin_b = offsets_b[other]
        n_b = offsets_b[other + 1] - begin_b
        if n_a == 0 or n_b == 0:
            out[other] = 0.0
            continue
        indices[SIZES, 0] = n_a
        indices[SIZES, 1] = n_b
        for i in range(n_a):
            indices[SOURCE_POINT, i] = i
            vectors[SUPPLY, i] = n_b
            for j in range(n_b):
                total = 0.0
                for axis in range(points_a.shape[1]):
                    total += (points_a[begin_a + i, axis] - points_b[begin_b + j, axis]) ** 2
                tables[COST, i * n_b + j] = np.sqrt(total)
        for j in range(n_b):
            indices[SINK_POINT, j] = j
            vectors[DEMAND, j] = n_a
        out[other] = solve_loaded(np.inf, vectors, indices, tables) / (n_a * n_b)
