"""Compiled loops of the baselines: persistence, graphlet samples, trees of visits."""

import heapq

import numpy as np
from numba import types
from numba.typed import Dict

from relaxwl._compiling import njit
from relaxwl.unfolding._compiled import mixed

# ------------------------------------------------------------------------------------------------- persistence


@njit(nogil=True, cache=True)
def edge_weights(start, stop, adjacency, previous, ids, rows, power, offset):
    """Return the weights of the edges u < v of the nodes ``start`` to ``stop - 1`` (whole graphs), in that order.

    ``adjacency`` is (indptr, indices), ``rows`` are `RowArrays`. ``ids`` int32 (n_nodes,) says which row holds a
    node's neighbor labels, sorted and counted; ``previous`` holds the nodes' own labels of the same depth.
    Weight: [previous labels differ] + ‖difference of the counts‖ + offset.
    """
    indptr, indices = adjacency
    weights = np.empty((indptr[stop] - indptr[start]) // 2, np.float64)
    filled = 0
    for node in range(start, stop):
        for entry in range(indptr[node], indptr[node + 1]):
            other = indices[entry]
            if other < node:
                continue
            weight = offset + _row_distance(ids[node], ids[other], rows, power)
            if previous[node] != previous[other]:
                weight += 1.0
            weights[filled] = weight
            filled += 1
    return weights


@njit(nogil=True, cache=True)
def _row_distance(row_a, row_b, rows, power):
    """Return the ‖·‖_power of the difference of two rows' counts."""
    indptr, points, counts = rows.indptr, rows.points, rows.counts
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
    """Return the representative of a node's component, with path compression."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit(nogil=True, cache=True)
def add_persistence(start, stop, edges, order, ranks, lone, power, out):
    """Write persistence and add cycle weights of the nodes ``start`` to ``stop - 1`` of one graph.

    ``edges`` are (sources, targets, weights), each (n_edges,), and ``order`` their numbers by increasing weight.
    ``ranks`` (n_nodes,) orders labels: of two components that merge, the one whose representative has the higher rank
    ends, so a representative always has the lowest rank of its component. ``out`` is (persistence, cycles): writes the
    one and adds to the other from ``start`` to ``stop - 1``. ``lone`` replaces the largest weight if there is no edge.
    """
    sources, targets, weights = edges
    persistence, cycles = out
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
def sample_graphlets(start, stop, adjacency, seed, n_samples, max_size, catalog, out):
    """Count in ``out`` (n_classes,) the classes of random node subsets of the graph on ``start`` to ``stop - 1``.

    The size of a subset is uniform from 3 (fewer if the graph has fewer nodes) to ``max_size``, its nodes are
    uniform and distinct. With ``catalog`` (classes, class_starts), ``classes[class_starts[size] + mask]`` is the
    class of the subgraph whose bit for the pair (i, j), i < j, is number ``j * (j - 1) / 2 + i``. The stream depends on
    ``seed`` (uint64) and the ``adjacency`` (indptr, indices) alone.
    """
    indptr, indices = adjacency
    classes, class_starts = catalog
    n_nodes = stop - start
    if n_nodes == 0:
        return
    state = seed
    for node in range(start, stop):
        state = mixed(state, np.uint64(indptr[node + 1] - indptr[node]))
        for entry in range(indptr[node], indptr[node + 1]):
            state = mixed(state, np.uint64(indices[entry] - start))
    smallest, largest = min(3, n_nodes), min(max_size, n_nodes)
    chosen = np.empty(max_size, np.int64)
    for _ in range(n_samples):
        draw, state = _next_random(state)
        size = smallest + np.int64(draw * (largest - smallest + 1))
        filled = 0
        while filled < size:  # repeated nodes are drawn again, which is rare unless the graph is tiny
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
def _adjacent(node, other, indptr, indices):
    """Whether two nodes are neighbors, by bisection in the shorter list."""
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


# ------------------------------------------------------------------------------------- ordered trees of visits


@njit(nogil=True, cache=True)
def table_of(keys):
    """Return a table from pairs, packed as by `_number`, to their positions, counted from 1."""
    table = Dict.empty(types.int64, types.int64)
    for place in range(len(keys)):
        table[keys[place]] = place + 1
    return table


@njit(nogil=True, cache=True)
def keys_of(table):
    """Return int64 (n,): the pairs of a table in the order of their numbers; and int64 (n,): these numbers."""
    keys, numbers = np.empty(len(table), np.int64), np.empty(len(table), np.int64)
    for place, (key, number) in enumerate(table.items()):
        keys[place], numbers[place] = key, number
    return keys, numbers


@njit(nogil=True, cache=True)
def _number(table, one, other):
    """Return the number of a pair of numbers below 2**31, counted from 1; a new pair gets the next one."""
    key = (np.int64(one) << 32) + other
    if key not in table:
        table[key] = len(table) + 1
    return table[key]


@njit(nogil=True, cache=True)
def visit_trees(first, last, indptr, indices, labels, height, lists, trees):
    """Return a table of the ordered trees of visits of the graph on ``first`` to ``last - 1``: how often each occurs.

    ``indptr`` and ``indices`` are a collection's, ``labels`` int32 (n_nodes,). From each node a search of at most
    ``height`` steps makes a directed acyclic graph; each of its nodes is the root of a tree, whose children come in the
    order of the search graph. ``trees`` numbers pairs (label, list of children), ``lists`` numbers pairs (list, tree
    behind it), 0 being the empty list; both are written.
    """
    times = Dict.empty(types.int64, types.int64)
    search = np.empty((5, last - first + 1), np.int64)
    search[0] = -1
    for root in range(first, last):
        n_visited = _search(root, first, indptr, indices, labels, height, search)
        for position in range(n_visited - 1, -1, -1):
            node = search[2, position]
            tree = _number(trees, labels[first + node], search[4, node])
            times[tree] = times.get(tree, 0) + 1
            for entry in range(indptr[first + node], indptr[first + node + 1] if position > 0 else 0):
                parent = indices[entry] - first
                if search[0, parent] == search[0, node] - 1:
                    search[4, parent] = _number(lists, search[4, parent], tree)
        for position in range(n_visited):
            search[0, search[2, position]] = -1
    return times


@njit(nogil=True, cache=True)
def _search(root, first, indptr, indices, labels, height, search):
    """Write the search graph of a node and return the number of its nodes, numbered within their graph.

    Rows of ``search`` int64 (5, ≥ n): 0 the level of each node (-1 on entry, and for nodes not reached), 1 the queue of
    the search, 2 the order in which nodes are visited, 3 the number of open edges into each, 4 the list of
    children (0, the empty one). Edges lead from each level to the next. A node is visited when all edges into it are
    closed; of several such nodes, the one with the lowest label, and then the one that has waited longest.
    """
    search[0, root - first], search[1, 0], search[3, root - first], n_queued = 0, root - first, 0, 1
    position = 0
    while position < n_queued:
        node = search[1, position]
        level = search[0, node]
        search[4, node] = 0
        if level < height:
            for entry in range(indptr[first + node], indptr[first + node + 1]):
                other = indices[entry] - first
                if search[0, other] < 0:
                    search[0, other], search[1, n_queued], search[3, other] = level + 1, other, 0
                    n_queued += 1
                if search[0, other] == level + 1:
                    search[3, other] += 1
        position += 1
    waiting, n_waited = [(np.int64(0), root - first)], 1
    for taken in range(n_queued):
        node = heapq.heappop(waiting)[1]
        search[2, taken] = node
        for entry in range(indptr[first + node], indptr[first + node + 1]):
            other = indices[entry] - first
            if search[0, other] == search[0, node] + 1:
                search[3, other] -= 1
                if search[3, other] == 0:
                    # Packed into one number: the label, then the order of arrival.
                    heapq.heappush(waiting, ((np.int64(labels[first + other]) << 32) + n_waited, other))
                    n_waited += 1
    return n_queued
