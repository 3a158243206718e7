"""Exact transport between small sparse measures, one pair at a time and in batches.

A measure is a slice of two parallel arrays: ``points`` (strictly ascending) and ``masses`` (positive). The blank ⊥ is
the last point of ``ground`` (see `point_cost`), which no measure stores. The distance of two measures is the cost of
the cheapest transport after the lighter one has been padded at ⊥.

Because the ground cost is a pseudo-metric, mass that both measures have at a point may stay where it is. So a pair is
first reduced to its difference (`load_difference`), and the remaining dense problem is solved in closed form, by
successive shortest paths if it is small, or by the network simplex method (`solve_loaded`). This is done in three
scratch arrays that a batch allocates once. Rows with few units of mass are solved by another method (`unit_block`),
hundreds of pairs at a time.

Masses and costs are float64. Results for integers are exact as long as totals stay below 2**50.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from relaxwl._compiling import njit


class FactoredCosts(NamedTuple):
    """Costs between points as sums of the costs of their edges and of their children, ⊥ always last.

    ``children`` and ``edges`` are square; ``edge_of`` and ``child_of`` int32 (n_points + 1,) are the edge and the child
    of each point. If edges are not used, a plain square array is used instead.
    """

    children: Any
    edges: Any
    edge_of: Any
    child_of: Any


class EqualCosts(NamedTuple):
    """Costs that are all the same: ``relabel`` between two points, ``blank`` between a point and ⊥, point ``last``."""

    last: Any
    relabel: Any
    blank: Any


def point_cost(ground, point, other):
    """Return the cost between two points (or root codes): an entry of a plain matrix, a sum, or a constant.

    The implementation is chosen by type when the caller is compiled; the one here runs with NUMBA_DISABLE_JIT.
    """
    if isinstance(ground, np.ndarray):
        return ground[point, other]
    if isinstance(ground, EqualCosts):
        return equal_cost(ground, point, other)
    return ground.edges[ground.edge_of[point], ground.edge_of[other]] + point_cost(
        ground.children, ground.child_of[point], ground.child_of[other]
    )


@overload(point_cost)
def _point_cost(ground, point, other):
    if isinstance(ground, types.Array):
        return lambda ground, point, other: ground[point, other]
    if "relabel" in ground.fields:
        return equal_cost
    return lambda ground, point, other: (
        ground.edges[ground.edge_of[point], ground.edge_of[other]]
        + point_cost(ground.children, ground.child_of[point], ground.child_of[other])
    )


def equal_cost(ground, point, other):
    """Return the cost between two points of `EqualCosts`."""
    if point == other:
        return 0.0
    return ground.blank if point == ground.last or other == ground.last else ground.relabel


def blank_point(ground):
    """Return the number of ⊥, the last point of a ground."""
    if isinstance(ground, np.ndarray):
        return ground.shape[0] - 1
    return ground.last if isinstance(ground, EqualCosts) else len(ground.child_of) - 1


@overload(blank_point)
def _blank_point(ground):
    if isinstance(ground, types.Array):
        return lambda ground: ground.shape[0] - 1
    if "relabel" in ground.fields:
        return lambda ground: ground.last
    return lambda ground: len(ground.child_of) - 1


# A flow below this share of the arc's previous flow is a rounding residue and is set to 0.
RESIDUE = 2.0**-50

# Number of rows in a block, to which the distances of another row are computed at once.
LANES = 256


class UnitRows(NamedTuple):
    """Rows expanded into units of mass, for `unit_block`.

    Parameters
    ----------
    slots : int32 (n_rows, width)
        Units as indices into ``used``, at the end of each row, ⊥ before them.
    degrees, changes : int64 (n_rows,)
        Number of units; first column that differs from the row before.
    roots, rows : int (n_rows,)
        Root codes and the rows of the matrix to write.
    used : int32 (n_slots,)
        The points that occur.
    """

    slots: Any
    degrees: Any
    changes: Any
    roots: Any
    rows: Any
    used: Any


# Number of arcs from which on the simplex method is faster than shortest paths, and the same if a bound may end the
# search for paths early.
SIMPLEX_ARCS, BOUNDED_ARCS = 128, 576
# Columns of the simplex method's tree: parent, first child, next and previous sibling, depth. The last row is for no
# node. Numbers are unsigned: compiled code would test all others for being negative before each access, which costs a
# sixth of the time.
PARENT, CHILD, AFTER, BEFORE, DEPTH = range(5)
# Number of sources whose arcs are compared to choose one to enter the tree, and of pivots per node before giving up.
PRICED_ROWS, MAX_PIVOTS = 6, 100
# Share of the largest cost below which a reduced cost is rounding, and a share that is more than any rounding of sums.
ROUNDING, SLACK = 2.0**-49, 1e-12

# Rows of the scratch arrays. `vectors` (float64, 8 × side):
SUPPLY, DEMAND, LEFT_SUPPLY, LEFT_DEMAND, SOURCE_PRICE, SINK_PRICE, SINK_LENGTH, SOURCE_LENGTH = range(8)
# `indices` (int64, 6 × side); SIZES holds the number of sources and of sinks:
SIZES, SOURCE_POINT, SINK_POINT, REACHED_FROM, ENTERED_BY, SETTLED = range(6)
# `tables` (float64, 3 × side²), flat: COST and FLOW are row-major over sources × sinks; INFLOW is the same flow by
# sinks × sources, so that the sources of a sink are contiguous in memory:
COST, FLOW, INFLOW = range(3)


@njit(nogil=True, cache=True)
def make_scratch(capacity):
    """Return the scratch arrays (`vectors`, `indices`, `tables`) for measures of at most `capacity` points."""
    side = capacity + 2
    return np.empty((8, side), np.float64), np.empty((6, side), np.int64), np.empty((3, side * side), np.float64)


@njit(nogil=True, cache=True)
def load_difference(points_a, masses_a, points_b, masses_b, spans, blank, vectors, indices):
    """Write the padded difference of two measures into the scratch arrays: sources with supply, sinks with demand.

    ``spans`` are the positions of the measures in their arrays: begin and end of `a`, begin and end of `b`.
    Mass common to both stays in place, which is optimal under a pseudo-metric. ⊥ (point `blank`) is appended as a
    sink if `a` is heavier, and as a source if `b` is.
    """
    n_sources = 0
    n_sinks = 0
    excess = 0.0
    moved = 0.0
    i, end_a, j, end_b = spans
    while i < end_a or j < end_b:
        if j == end_b or (i < end_a and points_a[i] < points_b[j]):
            point = points_a[i]
            surplus = float(masses_a[i])
            i += 1
        elif i == end_a or points_b[j] < points_a[i]:
            point = points_b[j]
            surplus = -float(masses_b[j])
            j += 1
        else:
            point = points_a[i]
            surplus = float(masses_a[i]) - float(masses_b[j])
            if abs(surplus) <= RESIDUE * masses_a[i]:
                surplus = 0.0
            i += 1
            j += 1
        if surplus > 0.0:
            indices[SOURCE_POINT, n_sources] = point
            vectors[SUPPLY, n_sources] = surplus
            n_sources += 1
            moved += surplus
        elif surplus < 0.0:
            indices[SINK_POINT, n_sinks] = point
            vectors[DEMAND, n_sinks] = -surplus
            n_sinks += 1
            moved -= surplus
        excess += surplus
    if excess > RESIDUE * moved:
        indices[SINK_POINT, n_sinks] = blank
        vectors[DEMAND, n_sinks] = excess
        n_sinks += 1
    elif -excess > RESIDUE * moved:
        indices[SOURCE_POINT, n_sources] = blank
        vectors[SUPPLY, n_sources] = -excess
        n_sources += 1
    indices[SIZES, 0] = n_sources
    indices[SIZES, 1] = n_sinks


@njit(nogil=True, cache=True)
def load_costs(ground, indices, tables):
    """Gather the sources × sinks part of `ground` into ``tables[COST]``; writes nothing else."""
    n_sources = indices[SIZES, 0]
    n_sinks = indices[SIZES, 1]
    for i in range(n_sources):
        point = indices[SOURCE_POINT, i]
        for j in range(n_sinks):
            tables[COST, i * n_sinks + j] = point_cost(ground, point, indices[SINK_POINT, j])


@njit(nogil=True, cache=True)
def two_rows(tables, row_step, column_step, first_supply, vectors, side, n):
    """Return the exact cost between two points and `n` points: the first of the two serves them by cost difference.

    The cost of pair (r, j) is ``tables[COST, r * row_step + j * column_step]``; the masses of the `n`, which are
    ``vectors[side]``, are overwritten.
    """
    left = first_supply
    total = 0.0
    for _ in range(n):
        best = -1
        best_gain = np.inf
        for j in range(n):
            if vectors[side, j] > 0.0:
                gain = tables[COST, j * column_step] - tables[COST, row_step + j * column_step]
                if gain < best_gain or best < 0:
                    best_gain = gain
                    best = j
        if best < 0:
            break
        amount = min(left, vectors[side, best])
        left -= amount
        total += amount * tables[COST, best * column_step]
        total += (vectors[side, best] - amount) * tables[COST, row_step + best * column_step]
        vectors[side, best] = 0.0
    return total


@njit(nogil=True, cache=True)
def start_flow(vectors, indices, tables):
    """Set feasible prices, send flow along arcs of reduced cost zero, return the dual value.

    Sink prices are column minima, and source prices are row minima after these are subtracted; so every reduced cost
    ``cost - sink_price - source_price`` is at least zero and the dual value bounds the cost from below.
    Writes prices, flow, and the remaining supply and demand.
    """
    n_sources = indices[SIZES, 0]
    n_sinks = indices[SIZES, 1]
    dual = 0.0
    for j in range(n_sinks):
        vectors[SINK_PRICE, j] = tables[COST, j]
    for i in range(1, n_sources):
        for j in range(n_sinks):
            vectors[SINK_PRICE, j] = min(vectors[SINK_PRICE, j], tables[COST, i * n_sinks + j])
    for arc in range(n_sources * n_sinks):
        tables[FLOW, arc] = 0.0
        tables[INFLOW, arc] = 0.0
    for j in range(n_sinks):
        vectors[LEFT_DEMAND, j] = vectors[DEMAND, j]
        dual += vectors[DEMAND, j] * vectors[SINK_PRICE, j]
    for i in range(n_sources):
        base = i * n_sinks
        price = np.inf
        for j in range(n_sinks):
            price = min(price, tables[COST, base + j] - vectors[SINK_PRICE, j])
        vectors[SOURCE_PRICE, i] = price
        left = vectors[SUPPLY, i]
        dual += left * price
        for j in range(n_sinks):
            if (
                left > 0.0
                and vectors[LEFT_DEMAND, j] > 0.0
                and tables[COST, base + j] - vectors[SINK_PRICE, j] <= price
            ):
                amount = min(left, vectors[LEFT_DEMAND, j])
                tables[FLOW, base + j] = amount
                tables[INFLOW, j * n_sources + i] = amount
                vectors[LEFT_DEMAND, j] -= amount
                left -= amount
        vectors[LEFT_SUPPLY, i] = left
    return dual


@njit(nogil=True, cache=True)
def shortest_path(origin, vectors, indices, tables):
    """Find the nearest sink with demand left from source `origin`; return it (or -1) and how much the dual value grows.

    Dijkstra's algorithm on reduced costs (clamped at zero against rounding): forward arcs to every sink, backward arcs
    along positive flow. Writes the lengths, REACHED_FROM (the source before a sink), ENTERED_BY (the sink before a
    source, -1 if it was not reached) and SETTLED, and moves the prices so that the path found has reduced cost zero.
    The dual value then grows by the remaining supply of each reached source times the increase of its price; terms of
    flow from reached sources to settled sinks cancel out.
    """
    n_sources = indices[SIZES, 0]
    n_sinks = indices[SIZES, 1]
    for j in range(n_sinks):
        vectors[SINK_LENGTH, j] = np.inf
        indices[SETTLED, j] = 0
    for i in range(n_sources):
        indices[ENTERED_BY, i] = -1
    indices[ENTERED_BY, origin] = n_sinks
    vectors[SOURCE_LENGTH, origin] = 0.0
    relax(origin, 0.0, vectors, indices, tables)
    target = -1
    while True:
        nearest = -1
        shortest = np.inf
        for j in range(n_sinks):
            length = vectors[SINK_LENGTH, j]
            # Among equally near sinks, one with demand left is preferred because it ends the search.
            if indices[SETTLED, j] == 0 and (
                length < shortest or (length == shortest and vectors[LEFT_DEMAND, j] > 0.0)
            ):
                shortest = length
                nearest = j
        if nearest < 0:
            break
        if vectors[LEFT_DEMAND, nearest] > 0.0:
            target = nearest
            break
        indices[SETTLED, nearest] = 1
        for i in range(n_sources):
            if tables[INFLOW, nearest * n_sources + i] > 0.0 and indices[ENTERED_BY, i] < 0:
                indices[ENTERED_BY, i] = nearest
                vectors[SOURCE_LENGTH, i] = shortest
                relax(i, shortest, vectors, indices, tables)
    gain = 0.0
    if target >= 0:
        reach = vectors[SINK_LENGTH, target]
        for i in range(n_sources):
            if indices[ENTERED_BY, i] >= 0:
                rise = reach - vectors[SOURCE_LENGTH, i]
                vectors[SOURCE_PRICE, i] += rise
                gain += rise * vectors[LEFT_SUPPLY, i]
        for j in range(n_sinks):
            if indices[SETTLED, j] == 1:
                vectors[SINK_PRICE, j] -= reach - vectors[SINK_LENGTH, j]
    return target, gain


@njit(nogil=True, cache=True)
def relax(i, base_length, vectors, indices, tables):
    """Shorten the paths to all sinks through source `i`, itself at distance `base_length`.

    Settled sinks are at most that far away, so they do not change and no test is needed.
    """
    n_sinks = indices[SIZES, 1]
    # Views and selections instead of index arithmetic and branches, so that the compiler uses vector registers.
    costs = tables[COST, i * n_sinks : (i + 1) * n_sinks]
    lengths = vectors[SINK_LENGTH]
    reached_from = indices[REACHED_FROM]
    price = vectors[SOURCE_PRICE, i]
    for j in range(n_sinks):
        step = costs[j] - vectors[SINK_PRICE, j] - price
        through = base_length + (step if step > 0.0 else 0.0)
        known = lengths[j]
        reached_from[j] = i if through < known else reached_from[j]
        lengths[j] = through if through < known else known


@njit(nogil=True, cache=True)
def augment(origin, target, vectors, indices, tables):
    """Send as much as possible from `origin` to `target` along the path found; writes flow and remaining masses."""
    n_sources = indices[SIZES, 0]
    n_sinks = indices[SIZES, 1]
    amount = min(vectors[LEFT_SUPPLY, origin], vectors[LEFT_DEMAND, target])
    sink = target
    source = indices[REACHED_FROM, sink]
    while source != origin:
        sink = indices[ENTERED_BY, source]
        amount = min(amount, tables[FLOW, source * n_sinks + sink])
        source = indices[REACHED_FROM, sink]
    # An amount that is lost in rounding only clears the arc that limits it, which prevents an endless loop.
    lost = vectors[LEFT_SUPPLY, origin] - amount == vectors[LEFT_SUPPLY, origin]
    sink = target
    source = indices[REACHED_FROM, sink]
    while True:
        if not lost:
            tables[FLOW, source * n_sinks + sink] += amount
            tables[INFLOW, sink * n_sources + source] = tables[FLOW, source * n_sinks + sink]
        if source == origin:
            break
        sink = indices[ENTERED_BY, source]
        arc = source * n_sinks + sink
        before = tables[FLOW, arc]
        after = before - amount
        tables[FLOW, arc] = after if after > RESIDUE * before else 0.0
        tables[INFLOW, sink * n_sources + source] = tables[FLOW, arc]
        source = indices[REACHED_FROM, sink]
    if lost:
        if vectors[LEFT_DEMAND, target] <= amount:
            vectors[LEFT_DEMAND, target] = 0.0
        return
    vectors[LEFT_SUPPLY, origin] -= amount
    vectors[LEFT_DEMAND, target] -= amount


@njit(nogil=True, cache=True)
def successive_paths(cutoff, vectors, indices, tables):
    """Solve the loaded problem; return its cost, or a lower bound above `cutoff` if that is found first.

    The flow is left in ``tables[FLOW]``. The dual value grows with every search and never exceeds the optimal cost (up
    to rounding), so the search can end early.
    Every path either decreases the remaining supply or clears an arc, so the loop ends in spite of rounding.
    """
    n_sources = indices[SIZES, 0]
    n_sinks = indices[SIZES, 1]
    dual = start_flow(vectors, indices, tables)
    if dual > cutoff:
        return dual
    for i in range(n_sources):
        while vectors[LEFT_SUPPLY, i] > RESIDUE * vectors[SUPPLY, i]:
            target, gain = shortest_path(i, vectors, indices, tables)
            if target < 0:
                break
            dual += gain
            if dual > cutoff:
                return dual
            augment(i, target, vectors, indices, tables)
    total = 0.0
    for arc in range(n_sources * n_sinks):
        total += tables[FLOW, arc] * tables[COST, arc]
    return total


@njit(nogil=True, cache=True)
def hang(node, parent, tree):
    """Make `node` the first child of `parent`."""
    head = tree[parent, CHILD]
    tree[node, PARENT] = parent
    tree[node, AFTER] = head
    tree[node, BEFORE] = len(tree) - 1
    tree[head, BEFORE] = node
    tree[parent, CHILD] = node


@njit(nogil=True, cache=True)
def cut(node, tree):
    """Take `node` out of the children of its parent."""
    after, before = tree[node, AFTER], tree[node, BEFORE]
    if before < len(tree) - 1:
        tree[before, AFTER] = after
    else:
        tree[tree[node, PARENT], CHILD] = after
    tree[after, BEFORE] = before


@njit(nogil=True, cache=True)
def tree_arc(node, other, n_sources, n_sinks):
    """Return the arc, as an index of sources × sinks, between two nodes; sinks are numbered after the sources."""
    return min(node, other) * n_sinks + max(node, other) - n_sources


@njit(nogil=True, cache=True)
def price_below(top, n_sources, n_sinks, tree, prices, costs, queue):
    """Write depths and prices of all nodes below `top`, so that tree arcs have reduced cost zero; ``queue`` is scratch.

    A price is computed from that of the parent, not changed by a difference, so rounding errors do not add up. Nodes
    are visited level by level, for which the processor predicts branches better than for a search in depth.
    """
    queue[0] = top
    n_done, n_found = 0, 1
    while n_done < n_found:
        node = queue[n_done]
        n_done += 1
        depth, price = tree[node, DEPTH] + 1, prices[node]
        child = tree[node, CHILD]
        while child < len(tree) - 1:
            tree[child, DEPTH] = depth
            prices[child] = costs[tree_arc(child, node, n_sources, n_sinks)] - price
            queue[n_found] = child
            n_found += 1
            child = tree[child, AFTER]


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})
def least_gap(costs, prices):
    """Return the least difference of costs and prices."""
    least = np.inf
    for j in range(len(costs)):
        least = min(least, costs[j] - prices[j])
    return least


@njit(nogil=True, cache=True)
def place_of_gap(costs, prices, gap):
    """Return the first place of a difference of costs and prices, which `least_gap` has found."""
    j = 0
    while costs[j] - prices[j] != gap:
        j += 1
    return j


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})
def largest_of(values):
    """Return the largest of some numbers of at least 0."""
    largest = 0.0
    for value in values:
        largest = max(largest, value)
    return largest


@njit(nogil=True, cache=True)
def start_tree(n_sources, n_sinks, vectors, tree, flows, prices, costs):
    """Write a spanning tree with a feasible flow and return its root: sources in turn fill the sinks nearest to them.

    Distances are taken relative to the nearest source of a sink. Sources that lose most by their second choice come
    first. Each step exhausts a source, which becomes a child of the sink, or a sink, which becomes a child of the
    source; the last sink is the root. If a step exhausts both, the source stays, so that all arcs without flow lead
    from a child that is a source. Such a tree is called strongly feasible.
    """
    gaps, regrets = np.empty(n_sinks), np.empty(n_sources)
    gaps[:] = costs[:n_sinks]
    for i in range(1, n_sources):
        row = costs[i * n_sinks : (i + 1) * n_sinks]
        for j in range(n_sinks):
            gaps[j] = row[j] if row[j] < gaps[j] else gaps[j]
    for i in range(n_sources):
        row = costs[i * n_sinks : (i + 1) * n_sinks]
        least, second = np.inf, np.inf
        for j in range(n_sinks):
            gap = row[j] - gaps[j]
            second = min(second, max(gap, least))
            least = min(least, gap)
        regrets[i] = least - second if n_sinks > 1 else 0.0
    need = prices[n_sources:]  # not in use yet
    need[:] = vectors[DEMAND, :n_sinks]
    tree[:, CHILD] = len(tree) - 1
    n_live, last = n_sinks, 0
    order = np.argsort(regrets)
    for step in range(n_sources):
        i = order[step]
        left = vectors[SUPPLY, i]
        row = costs[i * n_sinks : (i + 1) * n_sinks]
        while True:
            j = place_of_gap(row, gaps, least_gap(row, gaps))
            # The last source fills all sinks that are left, even if rounding has made it too small.
            if n_live == 1 or (left < need[j] and step < n_sources - 1):
                flows[i] = max(left, 0.0)
                need[j] -= left
                hang(np.uint32(i), np.uint32(n_sources + j), tree)
                last = j
                break
            flows[n_sources + j] = need[j]
            left -= need[j]
            hang(np.uint32(n_sources + j), np.uint32(i), tree)
            n_live -= 1
            gaps[j] = -np.inf  # never the nearest again
    root = n_sources + last
    prices[root] = 0.0
    tree[root, PARENT], tree[root, DEPTH] = n_sources + n_sinks, 0
    return root


@njit(nogil=True, cache=True)
def pivot(source, sink, n_sources, tree, flows):
    """Send flow along an arc outside the tree, from `source` to `sink`, and put it into the tree; return the new child.

    The arc closes a cycle with the tree. Flow is sent around it until an arc of the tree is empty, which leaves the
    tree. Of several, it is the last one in the direction of the flow from where the cycle is nearest to the root: so
    the tree stays strongly feasible, and no sequence of pivots without flow comes back to the same tree.
    """
    a, b = source, sink
    amount, leaving, below_source = np.inf, np.uint32(0), True
    while a != b:
        depth_a, depth_b = tree[a, DEPTH], tree[b, DEPTH]
        if depth_a >= depth_b:
            if a < n_sources and flows[a] < amount:
                amount, leaving, below_source = flows[a], a, True
            a = tree[a, PARENT]
        if depth_b >= depth_a:
            if b >= n_sources and flows[b] <= amount:
                amount, leaving, below_source = flows[b], b, False
            b = tree[b, PARENT]
    join = a
    node = source
    while node != join:
        flows[node] += -amount if node < n_sources else amount
        node = tree[node, PARENT]
    node = sink
    while node != join:
        flows[node] += -amount if node >= n_sources else amount
        node = tree[node, PARENT]
    # The branch that is cut off hangs on the new arc: the path from there to the leaving arc is turned around.
    top, parent = (source, sink) if below_source else (sink, source)
    node, flow = top, amount
    while True:
        old_parent, old_flow = tree[node, PARENT], flows[node]
        cut(node, tree)
        hang(node, parent, tree)
        flows[node] = flow
        if node == leaving:
            return top
        parent, node, flow = node, old_parent, old_flow


@njit(nogil=True, cache=True)
def network_simplex(vectors, indices, tables):
    """Solve the loaded problem and return its cost; the flow is left in ``tables[FLOW]``.

    Arcs with negative reduced cost enter a spanning tree one after the other until there are none: then the prices
    prove that the flow is optimal, up to rounding. If rounding prevents that, the problem is solved by shortest paths.
    """
    n_sources, n_sinks = indices[SIZES, 0], indices[SIZES, 1]
    n_nodes = n_sources + n_sinks
    costs = tables[COST]
    tree = np.empty((n_nodes + 1, 8), np.uint32)
    flows, prices = np.empty(n_nodes), np.empty(n_nodes)
    queue = np.empty(n_nodes, np.uint32)
    root = start_tree(n_sources, n_sinks, vectors, tree, flows, prices, costs)
    price_below(root, n_sources, n_sinks, tree, prices, costs, queue)
    sink_prices = prices[n_sources:]
    tolerance = ROUNDING * largest_of(costs[: n_sources * n_sinks])
    best, least, source, n_seen, n_pivots, i = -tolerance, 0.0, -1, 0, 0, 0
    while n_seen < n_sources or source >= 0:
        # Sources take turns. The arc with the least reduced cost of a few of them enters.
        gap = least_gap(costs[i * n_sinks : (i + 1) * n_sinks], sink_prices)
        if gap - prices[i] < best:
            best, least, source = gap - prices[i], gap, i
        n_seen += 1
        i = i + 1 if i + 1 < n_sources else 0
        if source < 0 or n_seen < min(PRICED_ROWS, n_sources):
            continue
        sink = place_of_gap(costs[source * n_sinks : (source + 1) * n_sinks], sink_prices, least)
        top = pivot(np.uint32(source), np.uint32(n_sources + sink), n_sources, tree, flows)
        parent = tree[top, PARENT]
        tree[top, DEPTH] = tree[parent, DEPTH] + 1
        prices[top] = costs[tree_arc(top, parent, n_sources, n_sinks)] - prices[parent]
        price_below(top, n_sources, n_sinks, tree, prices, costs, queue)
        best, source, n_seen, n_pivots = -tolerance, -1, 0, n_pivots + 1
        if n_pivots > MAX_PIVOTS * n_nodes:
            return successive_paths(np.inf, vectors, indices, tables)
    tables[FLOW, : n_sources * n_sinks] = 0.0
    total = 0.0
    for node in range(n_nodes):
        # Sums of real masses may leave a residue below zero.
        if tree[node, PARENT] < n_nodes and flows[node] > 0.0:
            arc = tree_arc(node, tree[node, PARENT], n_sources, n_sinks)
            tables[FLOW, arc] = flows[node]
            total += flows[node] * costs[arc]
    return total


@njit(nogil=True, cache=True)
def solve_loaded(cutoff, vectors, indices, tables):
    """Return the cost of the loaded problem, in closed form if there is one; then no flow is written.

    If the cost is above `cutoff`, the result is only some lower bound above `cutoff`.
    """
    n_sources = indices[SIZES, 0]
    n_sinks = indices[SIZES, 1]
    total = 0.0
    if n_sources == 1 or n_sinks == 1:
        side = DEMAND if n_sources == 1 else SUPPLY
        for j in range(n_sources * n_sinks):
            total += vectors[side, j] * tables[COST, j]
        return total
    if n_sources == 2 and n_sinks <= 16:
        return two_rows(tables, n_sinks, 1, vectors[SUPPLY, 0], vectors, DEMAND, n_sinks)
    if n_sinks == 2 and n_sources <= 16:
        return two_rows(tables, 1, 2, vectors[DEMAND, 0], vectors, SUPPLY, n_sources)
    if n_sources == 0 or n_sinks == 0:
        return 0.0
    if n_sources * n_sinks < (SIMPLEX_ARCS if cutoff == np.inf else BOUNDED_ARCS):
        return successive_paths(cutoff, vectors, indices, tables)
    if cutoff < np.inf:
        dual = start_flow(vectors, indices, tables)
        if dual > cutoff:
            return dual
    return network_simplex(vectors, indices, tables)


@njit(nogil=True, cache=True)
def loaded_distance(ground, cutoff, vectors, indices, tables):
    """Return the exact distance of the two measures whose difference is loaded, or a lower bound above `cutoff`."""
    load_costs(ground, indices, tables)
    return solve_loaded(cutoff, vectors, indices, tables)


@njit(nogil=True, cache=True)
def pair_distance(points_a, masses_a, points_b, masses_b, ground, cutoff):
    """Return the exact distance of two measures, or a lower bound above `cutoff` if one is found first."""
    vectors, indices, tables = make_scratch(len(points_a) + len(points_b))
    spans = (0, len(points_a), 0, len(points_b))
    load_difference(points_a, masses_a, points_b, masses_b, spans, blank_point(ground), vectors, indices)
    return loaded_distance(ground, cutoff, vectors, indices, tables)


class Measures(NamedTuple):
    """Rows without roots, and the values of 1-Lipschitz functions, (n rows, n functions)."""

    indptr: Any
    points: Any
    counts: Any
    values: Any


class Found(NamedTuple):
    """The nearest rows found: distances, ascending, and numbers, (n rows, k) each; both are written."""

    distances: Any
    numbers: Any


@njit(nogil=True, cache=True)
def lower_bounds(row, x, y, ground, largest, near, bounds):
    """Write a lower bound of the distance of a row of x to each row of y; ``near`` (one for each point) is scratch.

    The better of two bounds: each mass of y comes from the nearest point of the row, or from ⊥ if y is heavier, and
    what the row has more goes to ⊥; and the largest gap between the values of 1-Lipschitz functions. Both are lowered
    by more than their rounding errors.
    """
    blank = len(near) - 1
    indptr, points, counts, values = y  # named tuples cost reference counts in loops
    own = x.values[row]
    near[:] = np.inf
    total = 0.0
    for entry in range(x.indptr[row], x.indptr[row + 1]):
        total += x.counts[entry]
        costs = ground[x.points[entry]]
        for point in range(len(near)):
            cost = float(costs[point])
            near[point] = cost if cost < near[point] else near[point]
    for other in range(len(bounds)):
        mass = 0.0
        for entry in range(indptr[other], indptr[other + 1]):
            mass += counts[entry]
        bound = (total - mass) * near[blank] if total > mass else 0.0
        for entry in range(indptr[other], indptr[other + 1]):
            least = near[points[entry]]
            if mass > total:
                least = min(least, float(ground[blank, points[entry]]))
            bound += counts[entry] * least
        for place in range(len(own)):
            bound = max(bound, abs(own[place] - values[other, place]))
        bounds[other] = (1.0 - SLACK) * bound - SLACK * (total + mass) * largest


@njit(nogil=True, cache=True)
def nearest_rows(start, stop, x, y, ground, largest, found):
    """Find the nearest rows of y for the rows ``start`` to ``stop - 1`` of x, without their roots.

    Rows of y are compared in ascending order of their bounds, until the next one exceeds the distance of the last
    neighbor; ties go to the lower number.
    """
    n_rows, k = len(y.indptr) - 1, found.distances.shape[1]
    vectors, indices, tables = make_scratch(max(widest_row(x.indptr), widest_row(y.indptr)))
    blank = ground.shape[0] - 1
    near, bounds = np.empty(blank + 1), np.empty(n_rows)
    for row in range(start, stop):
        distances, numbers = found.distances[row], found.numbers[row]
        lower_bounds(row, x, y, ground, largest, near, bounds)
        while True:
            number = np.argmin(bounds)
            cutoff = distances[k - 1] * (1.0 + SLACK)
            if bounds[number] > cutoff or bounds[number] == np.inf:
                break
            bounds[number] = np.inf
            spans = (x.indptr[row], x.indptr[row + 1], y.indptr[number], y.indptr[number + 1])
            load_difference(x.points, x.counts, y.points, y.counts, spans, blank, vectors, indices)
            distance = loaded_distance(ground, cutoff, vectors, indices, tables)
            place = k
            while place > 0 and (
                distance < distances[place - 1] or (distance == distances[place - 1] and number < numbers[place - 1])
            ):
                place -= 1
            for later in range(k - 1, place, -1):
                distances[later], numbers[later] = distances[later - 1], numbers[later - 1]
            if place < k:
                distances[place], numbers[place] = distance, number


@njit(nogil=True, cache=True)
def gather_lanes(ground, used, lane_units, lanes):
    """Write the costs of one block of rows: ``lanes[s, b, l]`` is the cost of ``used[s]`` and ``lane_units[b, l]``."""
    for s in range(len(used)):
        point = used[s]
        for b in range(lane_units.shape[0]):
            for lane in range(LANES):
                lanes[s, b, lane] = point_cost(ground, point, lane_units[b, lane])


@njit(nogil=True, cache=True)
def match_unit(states, subset, n, lanes, slot):
    """Set ``states[subset]`` to the cheapest way to match one more unit (`slot`) within `subset` of the lanes' units.

    For every lane: min over units b of `subset` of ``states[subset without b] + lanes[slot, b]``. Loops of constant
    length and comparisons in the array's own type let the compiler use vector registers.
    """
    number = states.dtype.type
    first = True
    for b in range(n):
        bit = 1 << b
        if subset & bit:
            rest = subset ^ bit
            if first:
                first = False
                for lane in range(LANES):
                    states[subset, lane] = states[rest, lane] + lanes[slot, b, lane]
            else:
                for lane in range(LANES):
                    cost = number(states[rest, lane] + lanes[slot, b, lane])
                    known = states[subset, lane]
                    states[subset, lane] = cost if cost < known else known


@njit(nogil=True, cache=True)
def write_run(target, matched, added):
    """Write the cost of finished lanes plus that of their roots; three views of one length, `target` is written."""
    for lane in range(len(target)):
        target[lane] = matched[lane] + added[lane]


@njit(nogil=True, cache=True)
def unit_block(units, lanes, lane_degree, lane_roots, lane_rows, root_cost, out):
    """Write the distances of many rows to one block of at most `LANES` rows, all of few units, into `out`.

    Every row is expanded into units of mass; matching the units (padded with ⊥) one to one is then optimal. For
    each row, dynamic programming over subsets of the block's units solves all lanes of the block at once: after k
    units, ``states[subset]`` is the cheapest matching of these k to the k units in `subset`. Rows are sorted so that
    neighbors begin with the same units, and only the part from `changes` on is recomputed.

    Parameters
    ----------
    units : UnitRows
    lanes : (n_slots, width, LANES), the dtype of `out`
        Costs as of `gather_lanes`; the block's rows have at most `lane_degree` units, ⊥ behind them.
    lane_roots, lane_rows : int (n_lanes,)
        Root codes of the block and the columns of `out` to write.
    root_cost : float64 (n_roots, n_roots)
    out : any dtype that holds the cost of every matching, optimal or not
        Written.
    """
    slots, degrees, changes, roots, rows, _ = units
    n_rows, width = slots.shape
    states = np.zeros((1 << width, LANES), out.dtype)
    root_lanes = np.empty((root_cost.shape[0], len(lane_roots)), out.dtype)
    for root in range(root_cost.shape[0]):
        for lane in range(len(lane_roots)):
            root_lanes[root, lane] = root_cost[root, lane_roots[lane]]
    # Runs of consecutive columns of `out`: run r has the lanes run_ends[r - 1] to run_ends[r] - 1.
    run_ends = np.empty(len(lane_rows), np.int64)
    n_runs = 0
    for lane in range(len(lane_rows)):
        if lane + 1 == len(lane_rows) or lane_rows[lane + 1] != lane_rows[lane] + 1:
            run_ends[n_runs] = lane + 1
            n_runs += 1
    n = 0
    for x in range(n_rows):
        needed = max(degrees[x], lane_degree)
        first = max(0, changes[x] - (width - needed)) if needed == n else 0
        n = needed
        end = 1 << n
        for k in range(first, n):
            slot = slots[x, width - n + k]
            subset = (2 << k) - 1
            while subset < end:
                match_unit(states, subset, n, lanes, slot)
                # The next larger number with as many bits set.
                lowest = subset & -subset
                ripple = subset + lowest
                subset = ripple | (((subset ^ ripple) // lowest) >> 2)
        start = 0
        for run in range(n_runs):
            stop = run_ends[run]
            column = lane_rows[start]
            # Views instead of index arithmetic, because tests for negative indices would keep the loop scalar.
            write_run(
                out[rows[x], column : column + stop - start],
                states[end - 1, start:stop],
                root_lanes[roots[x], start:stop],
            )
            start = stop


@njit(nogil=True, cache=True)
def paired_distances(a, b, pairs, ground, root_cost, out):
    """Write the distance of each pair (row of a, row of b) in `pairs` (int64, n × 2) into `out` (float64, n).

    The rows are `RowArrays`.
    """
    roots_a, indptr_a, points_a, masses_a = a
    roots_b, indptr_b, points_b, masses_b = b
    vectors, indices, tables = make_scratch(max(widest_row(indptr_a), widest_row(indptr_b)))
    blank = blank_point(ground)
    for position in range(len(pairs)):
        i = pairs[position, 0]
        j = pairs[position, 1]
        spans = (indptr_a[i], indptr_a[i + 1], indptr_b[j], indptr_b[j + 1])
        load_difference(points_a, masses_a, points_b, masses_b, spans, blank, vectors, indices)
        distance = loaded_distance(ground, np.inf, vectors, indices, tables)
        out[position] = point_cost(root_cost, roots_a[i], roots_b[j]) + distance


@njit(nogil=True, cache=True)
def pair_plan(points_a, masses_a, points_b, masses_b, ground):
    """Return the distance of two measures and the moves of an optimal plan: from points, to points, amounts.

    Common mass, which does not move, is not listed; ⊥ is the last ground point.
    """
    vectors, indices, tables = make_scratch(len(points_a) + len(points_b))
    spans = (0, len(points_a), 0, len(points_b))
    load_difference(points_a, masses_a, points_b, masses_b, spans, blank_point(ground), vectors, indices)
    load_costs(ground, indices, tables)
    n_sources = indices[SIZES, 0]
    n_sinks = indices[SIZES, 1]
    cost = 0.0
    if n_sources * n_sinks >= SIMPLEX_ARCS:
        cost = network_simplex(vectors, indices, tables)
    elif n_sources > 0 and n_sinks > 0:
        cost = successive_paths(np.inf, vectors, indices, tables)
    arcs = np.flatnonzero(tables[FLOW, : n_sources * n_sinks])
    sources = np.empty(len(arcs), np.int64)
    sinks = np.empty(len(arcs), np.int64)
    amounts = np.empty(len(arcs), np.float64)
    for move in range(len(arcs)):
        sources[move] = indices[SOURCE_POINT, arcs[move] // n_sinks]
        sinks[move] = indices[SINK_POINT, arcs[move] % n_sinks]
        amounts[move] = tables[FLOW, arcs[move]]
    return cost, sources, sinks, amounts


@njit(nogil=True, cache=True)
def widest_row(indptr):
    """Return the largest number of entries of a row, at least 1."""
    widest = 1
    for row in range(len(indptr) - 1):
        widest = max(widest, indptr[row + 1] - indptr[row])
    return widest
