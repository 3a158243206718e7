"""Compiled loops of the baselines: persistence, graphlet samples, trees of visits."""

import heapq
from typing import Any, NamedTuple

import numpy as np

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
    """Return the representative of a node's component, and shorten the way to it."""
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
    one and adds to the other from ``start`` to ``stop - 1``. ``lone`` stands for the largest weight where there is no
    edge.
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
        while filled < size:  # a node drawn before is drawn again: rare unless the graph is tiny
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


class VisitTrees(NamedTuple):
    """Distinct ordered trees, each with its children before it; arrays have room to spare.

    ``labels`` int32: the label of each tree's root. ``runs`` int32: the children of all trees as pairs (tree, how often
    in a row), of which tree t has those from ``starts[t]`` to ``starts[t + 1]``. ``slots`` int64: a hash table with
    open addressing, -1 where empty, its length a power of two. ``n_trees`` int64 (1,): how many there are.
    """

    labels: Any
    starts: Any
    runs: Any
    slots: Any
    n_trees: Any


@njit(nogil=True, cache=True)
def no_trees():
    """Return an empty table."""
    labels, starts, runs = np.empty(32, np.int32), np.zeros(33, np.int64), np.empty((64, 2), np.int32)
    return VisitTrees(labels, starts, runs, np.full(64, -1, np.int64), np.zeros(1, np.int64))


@njit(nogil=True, cache=True)
def _hash(label, runs, first, last):
    """Return a hash of a tree: of its root's label and its runs of children."""
    value = np.uint64(label) + np.uint64(0x9E3779B97F4A7C15)
    for run in range(first, last):
        for part in range(2):
            value = (value ^ np.uint64(runs[run, part])) * np.uint64(0xFF51AFD7ED558CCD)
            value ^= value >> np.uint64(32)
    return value


@njit(nogil=True, cache=True)
def _slot(trees, label, runs, first, last):
    """Return the slot of the hash table where a tree is, or would be; content decides, not the hash alone."""
    mask = np.uint64(len(trees.slots) - 1)
    place = _hash(label, runs, first, last) & mask
    while trees.slots[place] >= 0:
        tree = trees.slots[place]
        begin, length = trees.starts[tree], trees.starts[tree + 1] - trees.starts[tree]
        same = trees.labels[tree] == label and length == last - first
        for offset in range(length if same else 0):
            if trees.runs[begin + offset, 0] != runs[first + offset, 0]:
                same = False
            if trees.runs[begin + offset, 1] != runs[first + offset, 1]:
                same = False
        if same:
            return place
        place = (place + np.uint64(1)) & mask
    return place


@njit(nogil=True, cache=True)
def _with_room(trees, n_runs):
    """Return the table with room for one tree more, of ``n_runs`` runs of children; what is there is kept."""
    n_trees = trees.n_trees[0]
    labels, starts, runs, slots = trees.labels, trees.starts, trees.runs, trees.slots
    if n_trees == len(labels):
        labels, starts = np.empty(2 * n_trees, np.int32), np.zeros(2 * n_trees + 1, np.int64)
        labels[:n_trees], starts[: n_trees + 1] = trees.labels[:n_trees], trees.starts[: n_trees + 1]
    used = starts[n_trees]
    if used + n_runs > len(runs):
        runs = np.empty((2 * (used + n_runs), 2), np.int32)
        runs[:used] = trees.runs[:used]
    grown = VisitTrees(labels, starts, runs, slots, trees.n_trees)
    if 2 * n_trees >= len(slots):
        grown = VisitTrees(labels, starts, runs, np.full(4 * len(slots), -1, np.int64), trees.n_trees)
        for tree in range(n_trees):
            grown.slots[_slot(grown, labels[tree], runs, starts[tree], starts[tree + 1])] = tree
    return grown


@njit(nogil=True, cache=True)
def _added(trees, label, runs, first, last):
    """Return the table with a tree that it may know already, and the number of that tree; the table is written."""
    place = _slot(trees, label, runs, first, last)
    if trees.slots[place] >= 0:
        return trees, trees.slots[place]
    trees = _with_room(trees, last - first)
    place = _slot(trees, label, runs, first, last)  # the table may have grown
    tree = trees.n_trees[0]
    begin = trees.starts[tree]
    trees.labels[tree] = label
    for offset in range(last - first):
        trees.runs[begin + offset, 0] = runs[first + offset, 0]
        trees.runs[begin + offset, 1] = runs[first + offset, 1]
    trees.starts[tree + 1] = begin + last - first
    trees.slots[place] = tree
    trees.n_trees[0] = tree + 1
    return trees, tree


@njit(nogil=True, cache=True)
def merge_trees(known, labels, starts, runs, adding):
    """Return a table and, for each tree of another one, its number in the table: (table, int64 (n,)).

    The other one is given by ``labels`` (n,), ``starts`` (n + 1,) and ``runs``, children first. With ``adding``, trees
    that the table does not know are added (it is written); without, they and all trees with them inside get -1.
    """
    numbers = np.full(len(labels), -1, np.int64)
    for tree in range(len(labels)):
        renamed = runs[starts[tree] : starts[tree + 1]].copy()
        is_known = True
        for run in range(len(renamed)):
            number = numbers[renamed[run, 0]]
            is_known = is_known and number >= 0
            renamed[run, 0] = number
        if not is_known:
            continue
        if adding:
            known, numbers[tree] = _added(known, labels[tree], renamed, 0, len(renamed))
        else:
            numbers[tree] = known.slots[_slot(known, labels[tree], renamed, 0, len(renamed))]
    return known, numbers


@njit(nogil=True, cache=True)
def visit_trees(start, stop, offsets, indptr, indices, labels, height):
    """Count the ordered trees of visits of the graphs ``start`` to ``stop - 1``.

    ``offsets`` (n_graphs + 1,), ``indptr`` and ``indices`` are a collection's, ``labels`` int32 (n_nodes,). From each
    node a search of at most ``height`` steps makes a directed acyclic graph; each of its nodes is the root of a
    tree, whose children come in the order of the search graph. Returns the distinct trees, and how often each graph has
    them: ``bounds`` (graphs + 1,), ``found`` and ``times``, both int64.
    """
    trees = no_trees()
    bounds, n_found = np.zeros(stop - start + 1, np.int64), 0
    found, times = np.empty(64, np.int64), np.empty(64, np.int64)
    counts, largest = np.zeros(64, np.int64), 0
    for graph in range(start, stop):
        largest = max(largest, offsets[graph + 1] - offsets[graph])
    search = np.empty((5, largest + 1), np.int64)
    for graph in range(start, stop):
        first, last = offsets[graph], offsets[graph + 1]
        children = np.empty((max(indptr[last] - indptr[first], 1), 2), np.int32)
        search[0] = -1
        before = n_found
        for root in range(first, last):
            n_visited = _search(root, first, indptr, indices, labels, height, search)
            for position in range(n_visited - 1, -1, -1):
                node = search[2, position]
                begin = indptr[first + node] - indptr[first]
                trees, tree = _added(trees, labels[first + node], children, begin, begin + search[4, node])
                _append_to_parents(node, first, indptr, indices, search, children, tree)
                if tree >= len(counts):
                    counts = _longer(counts, tree + 1)
                if counts[tree] == 0:
                    if n_found == len(found):
                        found, times = _longer(found, n_found + 1), _longer(times, n_found + 1)
                    found[n_found] = tree
                    n_found += 1
                counts[tree] += 1
            for position in range(n_visited):
                search[0, search[2, position]] = -1
        for place in range(before, n_found):
            times[place] = counts[found[place]]
            counts[found[place]] = 0
        bounds[graph - start + 1] = n_found
    return trees, bounds, found[:n_found], times[:n_found]


@njit(nogil=True, cache=True)
def _longer(values, least):
    """Return a copy with room for ``least`` entries and as many again, zeros behind."""
    grown = np.zeros(2 * least, values.dtype)
    grown[: len(values)] = values
    return grown


@njit(nogil=True, cache=True)
def _search(root, first, indptr, indices, labels, height, search):
    """Write the search graph of a node and return the number of its nodes, numbered within their graph.

    Rows of ``search`` int64 (5, ≥ n): 0 the level of each node (-1 on entry, and for those not met), 1 the queue of
    the search, 2 the order in which nodes are taken up, 3 how many ways into each are open, 4 the number of runs of
    children (0). Edges lead from each level to the next. A node is taken up when all ways into it are
    closed: of those that wait the one of the lowest label, and of these the one that waits longest.
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
                    # Labels first, then the time of waiting, in one number.
                    heapq.heappush(waiting, ((np.int64(labels[first + other]) << 32) + n_waited, other))
                    n_waited += 1
    return n_queued


@njit(nogil=True, cache=True)
def _append_to_parents(node, first, indptr, indices, search, children, tree):
    """Make a tree the next child of all nodes above its root; equal ones in a row become one run.

    The children of a node stand in ``children`` from where its neighbors stand in ``indices``, so there is room.
    """
    for entry in range(indptr[first + node], indptr[first + node + 1]):
        parent = indices[entry] - first
        if search[0, parent] < 0 or search[0, parent] != search[0, node] - 1:
            continue
        last = indptr[first + parent] - indptr[first] + search[4, parent]
        if search[4, parent] > 0 and children[last - 1, 0] == tree:
            children[last - 1, 1] += 1
        else:
            children[last, 0], children[last, 1] = tree, 1
            search[4, parent] += 1
