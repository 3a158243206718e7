"""Compiled loops of k-means: moves of median centers, medoids and means, and the search of nearest centers.

Rows and centers are sets of measures as in ``distances._compiled``: roots, indptr, points (ascending) and masses
(float64). All distances are a root cost plus a transport distance.

The search computes bounds for all centers at once, more expensive bounds for the remaining ones, and exact distances
last. Centers are sorted by mass, so that the centers lighter than a row come first. All bounds are lower bounds of the
transport problem in which the lighter side is padded at ⊥:

1. *row side*: each mass of the row goes to the center as if it were alone (`fill_tables`), which is a sum of rows of a
   table; and a few *pivots*, differences of values of 1-Lipschitz functions. For all centers, in single precision.
2. *center side*, for the remaining centers unless there are very many points: each mass of the center comes from the
   nearest point of the row.
3. the exact distance, whose computation stops when it exceeds the best one so far.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from relaxwl._compiling import njit
from relaxwl.distances._compiled import (
    COST,
    DEMAND,
    FLOW,
    SINK_POINT,
    SIZES,
    SOURCE_POINT,
    SUPPLY,
    blank_point,
    load_costs,
    load_difference,
    loaded_distance,
    make_scratch,
    point_cost,
    successive_paths,
    widest_row,
)


@njit(nogil=True, cache=True)
def widest_member(members, indptr):
    """Return the largest number of entries of the given rows."""
    widest = 1
    for place in range(len(members)):
        widest = max(widest, indptr[members[place] + 1] - indptr[members[place]])
    return widest


# ------------------------------------------------------------------------------------------------- median centers


@njit(nogil=True, cache=True)
def center_cost(members, weights, indptr, points, masses, center_points, center_masses, ground):
    """Return the weighted sum of the exact distances of the members (int64 row numbers) to one center."""
    vectors, indices, tables = make_scratch(widest_member(members, indptr) + len(center_points))
    blank = blank_point(ground)
    total = 0.0
    for place in range(len(members)):
        row = members[place]
        spans = (indptr[row], indptr[row + 1], 0, len(center_points))
        load_difference(points, masses, center_points, center_masses, spans, blank, vectors, indices)
        total += weights[place] * loaded_distance(ground, np.inf, vectors, indices, tables)
    return total


@njit(nogil=True, cache=True)
def load_flow(row, indptr, points, masses, center_points, center_masses, ground, vectors, indices, tables):
    """Load the difference of one row (sources) and a center (sinks) and solve it.

    The flow is left in ``tables``, sources × sinks, row-major.
    """
    spans = (indptr[row], indptr[row + 1], 0, len(center_points))
    load_difference(points, masses, center_points, center_masses, spans, blank_point(ground), vectors, indices)
    load_costs(ground, indices, tables)
    n_sources, n_sinks = indices[SIZES, 0], indices[SIZES, 1]
    if n_sources == 1:
        for sink in range(n_sinks):
            tables[FLOW, sink] = vectors[DEMAND, sink]
    elif n_sinks == 1:
        for source in range(n_sources):
            tables[FLOW, source] = vectors[SUPPLY, source]
    elif n_sources > 0 and n_sinks > 0:
        successive_paths(np.inf, vectors, indices, tables)


@njit(nogil=True, cache=True)
def sparse_units(units):
    """Return the points (int32, ascending) with positive mass and their masses; the last point, ⊥, is left out."""
    positions = _positive(units[:-1])
    new_points = np.empty(len(positions), np.int32)
    new_masses = np.empty(len(positions), np.float64)
    for place in range(len(positions)):
        new_points[place] = positions[place]
        new_masses[place] = units[positions[place]]
    return new_points, new_masses


# Minimum mass for which a move is tried with more than one unit; lighter centers need only a few moves.
BULK = 16.0


@njit(nogil=True, cache=True)
def best_moves(members, weights, indptr, points, masses, center_points, center_masses, ground):
    """Return (points, masses, saved): the center after the best moves of single units, and the decrease of the cost.

    A move takes a unit from a point of the center, or from ⊥, to a point that some member uses, or to ⊥. Its effect on
    the exact cost is computed for all moves at once. Moves that share no point are made together if that is better than
    the best one alone.

    Parameters
    ----------
    members : int64 (n,)
        Row numbers; ``weights`` float64 (n,) are their weights.
    center_points, center_masses : int32 and float64
        The present center; its masses are whole numbers, like those of the members.
    """
    blank = blank_point(ground)
    units = np.zeros(blank + 1, np.float64)
    for entry in range(len(center_points)):
        units[center_points[entry]] = center_masses[entry]
    units[blank] = np.inf
    origins = _positive(units)
    used = np.zeros(blank + 1, np.float64)
    used[blank] = 1.0
    for place in range(len(members)):
        for entry in range(indptr[members[place]], indptr[members[place] + 1]):
            used[points[entry]] = 1.0
    goals = _positive(used)
    changes, cost = move_changes(
        members, weights, indptr, points, masses, center_points, center_masses, ground, origins, goals
    )
    best = np.argmin(changes)
    origin, goal = origins[best // len(goals)], goals[best % len(goals)]
    saved = -changes[best // len(goals), best % len(goals)]
    if saved <= 1e-12 * cost:
        return center_points, center_masses, 0.0
    together = units.copy()
    if _make_moves(changes, origins, goals, -0.25 * saved, together) > 1:
        new_points, new_masses = sparse_units(together)
        new_cost = center_cost(members, weights, indptr, points, masses, new_points, new_masses, ground)
        if cost - new_cost > saved:
            return new_points, new_masses, cost - new_cost
    units[origin] -= 1.0
    units[goal] += 1.0
    if (origin < blank and units[origin] >= BULK) or (origin == blank and units[goal] >= BULK):
        saved += _extend_move(origin, goal, members, weights, indptr, points, masses, units, ground)
    new_points, new_masses = sparse_units(units)
    return new_points, new_masses, saved


@njit(nogil=True, cache=True)
def better_medians(start, stop, starts, members, weights, rows, centers, costs):
    """Return the centers ``start`` to ``stop`` - 1 after their best moves: roots, indptr, points and masses.

    Parameters
    ----------
    starts : int64 (n_centers + 1,)
        The members of a cluster are ``members[starts[cluster] : starts[cluster + 1]]``; ``weights`` are theirs.
    rows, centers : RowArrays
        Rows and centers with whole masses.
    costs : Costs
    """
    # Every point of a center, and ⊥, can send a unit to one new point.
    capacity = 2 * (centers.indptr[stop] - centers.indptr[start]) + stop - start
    roots = np.empty(stop - start, np.int32)
    indptr = np.zeros(stop - start + 1, np.int64)
    points = np.empty(capacity, np.int32)
    masses = np.empty(capacity, np.float64)
    filled = 0
    for cluster in range(start, stop):
        own = members[starts[cluster] : starts[cluster + 1]]
        own_weights = weights[starts[cluster] : starts[cluster + 1]]
        roots[cluster - start] = median_root(own, own_weights, rows.roots, costs.roots)
        center_points = centers.points[centers.indptr[cluster] : centers.indptr[cluster + 1]]
        center_masses = centers.counts[centers.indptr[cluster] : centers.indptr[cluster + 1]]
        new_points, new_masses, _ = best_moves(
            own, own_weights, rows.indptr, rows.points, rows.counts, center_points, center_masses, costs.ground
        )
        for place in range(len(new_points)):
            points[filled + place], masses[filled + place] = new_points[place], new_masses[place]
        filled += len(new_points)
        indptr[cluster - start + 1] = filled
    return roots, indptr, points[:filled], masses[:filled]


@njit(nogil=True, cache=True)
def median_root(members, weights, roots, root_costs):
    """Return the root code with the smallest weighted sum of costs to those of the members; ties go to the lowest."""
    first, n_alike = roots[members[0]], 1
    while n_alike < len(members) and roots[members[n_alike]] == first:
        n_alike += 1
    if n_alike == len(members):
        return first
    root_weights = np.zeros(blank_point(root_costs) + 1, np.float64)
    for place in range(len(members)):
        root_weights[roots[members[place]]] += weights[place]
    used = _positive(root_weights)
    best, best_cost = first, np.inf
    for root in used:
        cost = 0.0
        for other in used:
            cost += point_cost(root_costs, root, other) * root_weights[other]
        if cost < best_cost:
            best, best_cost = np.int32(root), cost
    return best


@njit(nogil=True, cache=True)
def _positive(values):
    """Return the positions of positive values, ascending."""
    size = 0
    for value in values:
        size += value > 0.0
    positions = np.empty(size, np.int64)
    size = 0
    for position in range(len(values)):
        if values[position] > 0.0:
            positions[size] = position
            size += 1
    return positions


@njit(nogil=True, cache=True)
def _make_moves(changes, origins, goals, limit, units):
    """Make moves in ``units`` by ascending change, while it is below ``limit``; each point is used in one move only.

    Returns the number of moves.
    """
    free = np.ones(len(units), np.bool_)
    n_moves = 0
    while True:
        best, a, b = limit, -1, -1
        for i in range(len(origins)):
            if free[origins[i]]:
                for j in range(len(goals)):
                    if changes[i, j] < best and free[goals[j]]:
                        best, a, b = changes[i, j], i, j
        if a < 0:
            return n_moves
        units[origins[a]] -= 1.0
        units[goals[b]] += 1.0
        free[origins[a]] = False
        free[goals[b]] = False
        n_moves += 1


@njit(nogil=True, cache=True)
def _extend_move(origin, goal, members, weights, indptr, points, masses, units, ground):
    """Repeat a move with doubling amounts while the cost, which is convex along it, decreases; return the decrease.

    Changes ``units``, where ⊥ holds infinite mass.
    """
    new_points, new_masses = sparse_units(units)
    first = center_cost(members, weights, indptr, points, masses, new_points, new_masses, ground)
    cost, amount = first, 1.0
    while units[origin] >= amount:
        units[origin] -= amount
        units[goal] += amount
        new_points, new_masses = sparse_units(units)
        new_cost = center_cost(members, weights, indptr, points, masses, new_points, new_masses, ground)
        if new_cost >= cost:
            units[origin] += amount
            units[goal] -= amount
            break
        cost = new_cost
        amount *= 2.0
    return first - cost


@njit(nogil=True, cache=True)
def move_changes(members, weights, indptr, points, masses, center_points, center_masses, ground, origins, goals):
    """Return the change of the exact cost, float64 (origins, goals), if one unit moves, and the present cost.

    For one member the change is the length of the shortest path from origin to goal in the residual network of its
    optimal flow: steps between any points at their cost, and back along arcs with flow at minus their cost. Most paths
    are single steps, so all changes are initialized by these, and the savings of paths along flow are added.
    """
    total = weights.sum()
    # Copies with contiguous goals let the inner loops use vector registers.
    steps = _columns(ground, origins, goals)
    between = _columns(ground, goals, goals)
    changes = total * steps
    place_of = np.zeros(blank_point(ground) + 1, np.int64)
    for b in range(len(goals)):
        place_of[goals[b]] = b
    capacity = max(widest_member(members, indptr), len(center_points)) + 2
    vectors, indices, tables = make_scratch(capacity)
    arcs = np.empty((2, capacity * capacity), np.int64)
    ways = np.empty((capacity, capacity), np.float64)
    entered = np.empty(capacity, np.float64)
    lengths = np.empty(capacity, np.float64)
    reach = np.empty(len(goals), np.float64)
    cost = 0.0
    for place in range(len(members)):
        load_flow(
            members[place], indptr, points, masses, center_points, center_masses, ground, vectors, indices, tables
        )
        n_arcs, member_cost = _list_arcs(indices, tables, arcs)
        cost += weights[place] * member_cost
        _source_ways(n_arcs, arcs, indices, tables, ways)
        for a in range(len(origins)):
            origin = origins[a]
            _residual_lengths(ground, origin, n_arcs, arcs, indices, tables, ways, entered, lengths)
            for b in range(len(goals)):
                reach[b] = steps[a, b]
            for source in range(indices[SIZES, 0]):
                point = indices[SOURCE_POINT, source]
                if lengths[source] < (1.0 - 1e-12) * point_cost(ground, origin, point):
                    _shorten(reach, lengths[source], between[place_of[point]], len(goals))
            for b in range(len(goals)):
                changes[a, b] += weights[place] * (reach[b] - steps[a, b])
    return changes, cost


@njit(nogil=True, cache=True)
def _columns(ground, rows, columns):
    """Return the costs between two lists of points, float64 (rows, columns)."""
    out = np.empty((len(rows), len(columns)), np.float64)
    for i in range(len(rows)):
        for j in range(len(columns)):
            out[i, j] = point_cost(ground, rows[i], columns[j])
    return out


@njit(nogil=True, cache=True)
def _list_arcs(indices, tables, arcs):
    """Write the sources and sinks of all arcs with flow into ``arcs``; return their number and the cost of the flow."""
    n_arcs, cost = 0, 0.0
    n_sinks = indices[SIZES, 1]
    for source in range(indices[SIZES, 0]):
        for sink in range(n_sinks):
            arc = source * n_sinks + sink
            if tables[FLOW, arc] > 0.5:
                cost += tables[FLOW, arc] * tables[COST, arc]
                arcs[0, n_arcs], arcs[1, n_arcs] = source, sink
                n_arcs += 1
    return n_arcs, cost


@njit(nogil=True, cache=True)
def _source_ways(n_arcs, arcs, indices, tables, ways):
    """Write the lengths of shortest residual paths between sources to ``ways``, float64, square, at least n_sources.

    A hop goes forward to a sink and back along an arc with flow. Hops are combined by the Floyd-Warshall algorithm;
    there are no negative cycles, because the flow is optimal.
    """
    n_sources, n_sinks = indices[SIZES, 0], indices[SIZES, 1]
    for i in range(n_sources):
        ways[i, :n_sources] = np.inf
        ways[i, i] = 0.0
        for place in range(n_arcs):
            source, sink = arcs[0, place], arcs[1, place]
            hop = tables[COST, i * n_sinks + sink] - tables[COST, source * n_sinks + sink]
            ways[i, source] = min(ways[i, source], hop)
    for middle in range(n_sources):
        onward = ways[middle]
        for i in range(n_sources):
            _shorten(ways[i], ways[i, middle], onward, n_sources)


@njit(nogil=True, cache=True)
def _shorten(lengths, base, onward, n):
    """Set ``lengths[j]`` to ``base + onward[j]`` for j < n if that is less."""
    for j in range(n):
        way = base + onward[j]
        lengths[j] = way if way < lengths[j] else lengths[j]


@njit(nogil=True, cache=True)
def _residual_lengths(ground, origin, n_arcs, arcs, indices, tables, ways, entered, lengths):
    """Write the lengths of shortest residual paths from a point (``origin``) to all sources.

    The first step goes to a source, or to a sink and back along flow; ``ways`` are the continuations. Writes
    ``entered`` (the first step alone) and ``lengths``.
    """
    n_sources, n_sinks = indices[SIZES, 0], indices[SIZES, 1]
    for source in range(n_sources):
        entered[source] = point_cost(ground, origin, indices[SOURCE_POINT, source])
        lengths[source] = entered[source]
    for place in range(n_arcs):
        source, sink = arcs[0, place], arcs[1, place]
        way = point_cost(ground, origin, indices[SINK_POINT, sink]) - tables[COST, source * n_sinks + sink]
        entered[source] = min(entered[source], way)
    for source in range(n_sources):
        if entered[source] < lengths[source]:
            _shorten(lengths, entered[source], ways[source], n_sources)


# Number of centers per block, which fills vector registers; tables are padded to whole blocks.
BLOCK = 16
# Number of pivots of the first bound, which are computed in one pass over the centers.
N_PIVOTS = 4
# Number of points from which on there is no bound of the center side, which visits all points for each row.
MANY_POINTS = 1 << 12
# The relative error of a sum of n positive products in single precision is less than (n + 8) times this.
ROUNDING = 2.0**-23
# The same in double precision, where the relative error of a sum of n terms is less than (n + 2) times this.
DOUBLE = 2.0**-52
# Maximum of bounds, and an upper bound of the sum of terms that underflow in single precision; costs are scaled to
# about 1.
LARGEST, VANISHING = 2.0**100, 2.0**-120
# Relative tolerance of ties between distances; rounding in sums of real costs is smaller.
TIE = 2.0**-45
# Bound below which whole distances are exact; minimum tolerance of ties, also for distances of 0.
WHOLE, SMALLEST = 2.0**50, 1e-300


class Costs(NamedTuple):
    """Costs between points, ⊥ last, and between root codes, in the types of `point_cost`."""

    ground: Any
    roots: Any


class RowSide(NamedTuple):
    """Data of the rows for the bounds.

    Attributes
    ----------
    slots : int32 (n_entries,)
        The row of the tables that is added for each entry, times ``factors`` (float32).
    pivots : float32 (n_rows, N_PIVOTS)
        Values of some 1-Lipschitz functions.
    """

    slots: NDArray[np.int32]
    factors: NDArray[np.float32]
    pivots: NDArray[np.float32]


class CenterSide(NamedTuple):
    """Data of the centers for the bounds, in the order of their mass.

    Attributes
    ----------
    scale : float
        A power of two that scales costs to the range of single precision; all float32 numbers are multiplied by it.
    rounding : float
        Relative rounding error of a sum in single precision per term; 0 if all sums are whole numbers.
    numbers : int64 (k,)
        The original numbers of the centers.
    places : int64 (largest number + 1,)
        The position here of each number; -1 if it is missing.
    totals : float64 (k,)
        Masses, ascending.
    heavy, light : float32 (n_slots, padded k)
        Minimum cost of sending the mass of an entry of a row, if the row is heavier, or not heavier, than the center.
    discount : float
        Amount by which `heavy` lowers the cost of each unit that goes to ⊥.
    blank_costs, blank_masses : float64 (n_entries,)
        Each center's entries by ascending cost from ⊥.
    pivots, margin : float32 (N_PIVOTS, padded k), float
        Values of the functions, and maximum rounding error of a gap.
    gap : float
        Distances that differ by more than this are never equal: less than 1 if all are whole numbers.
    """

    scale: float
    rounding: float
    numbers: NDArray[np.int64]
    places: NDArray[np.int64]
    totals: NDArray[np.float64]
    heavy: NDArray[np.float32]
    light: NDArray[np.float32]
    discount: float
    blank_costs: NDArray[np.float64]
    blank_masses: NDArray[np.float64]
    pivots: NDArray[np.float32]
    margin: float
    gap: float


class Nearest(NamedTuple):
    """The nearest center of each row (-1: not known yet) and its distance; read and written."""

    labels: NDArray[np.int32]
    distances: NDArray[np.float64]


# ------------------------------------------------------------------------------------------------------- tables


@njit(nogil=True, cache=True)
def fill_tables(start, stop, slot_points, slot_masses, indptr, points, masses, ground, discount, scale, heavy, light):
    """Write rows ``start`` to ``stop - 1`` of the tables: lower bounds of the cost of moving a mass to each center.

    The mass is sent to the center's points from the nearest on, up to the mass of each, as if no other mass were sent;
    in `heavy` it may also go to ⊥, at a cost lowered by ``discount``. For infinite ``slot_masses``, the cost is that of
    one unit, regardless of the points' masses. Slots with the same point are adjacent, with ascending masses.
    """
    blank = blank_point(ground)
    costs = np.empty(widest_row(indptr), np.float64)
    room = np.empty(len(costs), np.float64)
    first = start
    while first < stop:
        last = first + 1
        while last < stop and slot_points[last] == slot_points[first]:
            last += 1
        from_here = slot_points[first]
        to_blank = point_cost(ground, from_here, blank) - discount
        for center in range(len(indptr) - 1):
            size = _by_cost(ground, from_here, indptr[center], indptr[center + 1], points, masses, costs, room)
            if slot_masses[first] == np.inf:
                light[first, center] = scale * costs[0] if size > 0 else 0.0
                heavy[first, center] = scale * (min(costs[0], to_blank) if size > 0 else to_blank)
            else:
                for slot in range(first, last):
                    heavy[slot, center] = scale * _send(slot_masses[slot], size, costs, room, to_blank)
                    light[slot, center] = scale * _send(slot_masses[slot], size, costs, room, np.inf)
        first = last


@njit(nogil=True, cache=True)
def _by_cost(ground, origin, begin, end, points, masses, costs, room):
    """Write the costs from a point to some entries in ascending order, and their masses; return their number."""
    for entry in range(begin, end):
        cost = float(point_cost(ground, origin, points[entry]))
        place = entry - begin
        while place > 0 and costs[place - 1] > cost:
            costs[place] = costs[place - 1]
            room[place] = room[place - 1]
            place -= 1
        costs[place] = cost
        room[place] = masses[entry]
    return end - begin


@njit(nogil=True, cache=True)
def _send(mass, size, costs, room, to_blank):
    """Return the cost of filling ``room`` in order with a mass; the rest costs ``to_blank`` (0 if infinite)."""
    spent = 0.0
    for place in range(size):
        if costs[place] >= to_blank or mass <= 0.0:
            break
        amount = min(mass, room[place])
        spent += amount * costs[place]
        mass -= amount
    return spent + mass * to_blank if mass > 0.0 and to_blank < np.inf else spent


# ------------------------------------------------------------------------------------------------------- bounds


@njit(nogil=True, cache=True)
def start_bounds(root, total, centers, side, costs, starts, root_costs):
    """Write the initial bounds for rows of this root and mass; return the number of centers with less mass.

    ``starts`` (float32, padded with infinity): the cost between the roots, and that of mass from or to ⊥.
    ``root_costs`` (float32, padded): the cost between the roots alone.
    """
    n_lighter = 0
    for center in range(len(side.numbers)):
        root_cost = point_cost(costs.roots, root, centers.roots[center])
        root_costs[center] = side.scale * root_cost
        if side.totals[center] < total:
            n_lighter += 1
            starts[center] = side.scale * (root_cost + side.discount * (total - side.totals[center]))
        else:
            missing = side.totals[center] - total
            starts[center] = side.scale * (root_cost + _from_blank(missing, center, centers.indptr, side))
    return n_lighter


@njit(nogil=True, cache=True)
def _from_blank(missing, center, indptr, side):
    """Return the least cost of moving this much mass from ⊥ to a center's points, each up to its mass."""
    spent = 0.0
    for entry in range(indptr[center], indptr[center + 1]):
        amount = min(missing, side.blank_masses[entry])
        if amount <= 0.0:
            break
        spent += amount * side.blank_costs[entry]
        missing -= amount
    return spent


@njit(nogil=True, cache=True, fastmath={"contract"})
def _add(bounds, table, factor):
    for center in range(len(bounds)):
        bounds[center] += factor * table[center]


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})
def _widen(bounds, values, pivots, root_costs, margin):
    """Raise ``bounds`` to the largest of N_PIVOTS gaps plus the root cost, if that is more."""
    a, b, c, d = pivots[0], pivots[1], pivots[2], pivots[3]
    for center in range(len(bounds)):
        gap = max(
            max(abs(values[0] - a[center]), abs(values[1] - b[center])),
            max(abs(values[2] - c[center]), abs(values[3] - d[center])),
        )
        bounds[center] = max(bounds[center], gap - margin + root_costs[center])


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})
def _least(values):
    """Return the least of BLOCK numbers."""
    least = values[0]
    for place in range(1, BLOCK):
        least = min(least, values[place])
    return least


@njit(nogil=True, cache=True)
def bound_all(row, begin, end, rows, side, n_lighter, starts, root_costs, bounds, minima):
    """Write the first bounds on the distance of one row to all centers, and the least of each block of them."""
    for center in range(len(bounds)):  # an array assignment would take a second to compile
        bounds[center] = starts[center]
    for entry in range(begin, end):
        slot, factor = rows.slots[entry], rows.factors[entry]
        _add(bounds[:n_lighter], side.heavy[slot][:n_lighter], factor)
        _add(bounds[n_lighter:], side.light[slot][n_lighter:], factor)
    _widen(bounds, rows.pivots[row], side.pivots, root_costs, np.float32(side.margin))
    for block in range(len(minima)):
        minima[block] = _least(bounds[block * BLOCK : (block + 1) * BLOCK])


@njit(nogil=True, cache=True)
def fill_nearest(begin, end, points, ground, nearest):
    """Write the cost of every point, ⊥ last, from the nearest point of the row."""
    for place in range(len(nearest)):
        nearest[place] = np.inf
    for entry in range(begin, end):
        point = points[entry]
        for other in range(len(nearest)):  # contiguous in memory, so that the compiler uses vector registers
            cost = float(point_cost(ground, point, other))
            nearest[other] = cost if cost < nearest[other] else nearest[other]


@njit(nogil=True, cache=True)
def nearest_bound(nearest, total, center, centers, center_total, ground):
    """Return a bound on the transport distance: each mass of the center comes from the nearest point of the row.

    If the center is heavier, mass may also come from ⊥; if the row is, its surplus goes to ⊥ from its cheapest point.
    The sum is lowered by its maximum rounding error.
    """
    blank = len(nearest) - 1
    bound = 0.0
    begin, end = centers.indptr[center], centers.indptr[center + 1]
    for entry in range(begin, end):
        least = nearest[centers.points[entry]]
        if center_total > total:
            least = min(least, float(point_cost(ground, blank, centers.points[entry])))
        bound += centers.counts[entry] * least
    if total > center_total:
        bound += (total - center_total) * nearest[blank]
    return bound * (1.0 - (end - begin + 2) * DOUBLE)


# ------------------------------------------------------------------------------------------------------- search


@njit(nogil=True, cache=True)
def _lowest(bounds, minima):
    """Return the index of the lowest bound; ties go to the first."""
    block = 0
    for other in range(1, len(minima)):
        if minima[other] < minima[block]:
            block = other
    place = block * BLOCK
    while bounds[place] != minima[block]:
        place += 1
    return place


@njit(nogil=True, cache=True)
def list_candidates(bounds, minima, limit, candidates):
    """Write the indices of all bounds up to ``limit``; return their number."""
    size = 0
    for block in range(len(minima)):
        if minima[block] <= limit:
            for place in range(block * BLOCK, (block + 1) * BLOCK):
                if bounds[place] <= limit:
                    candidates[size] = place
                    size += 1
    return size


@njit(nogil=True, cache=True)
def tie_width(best, gap):
    """Return the maximum difference, > 0, of a distance that ties with the best one."""
    width = TIE * best
    return max(gap if gap < width and best < WHOLE else width, SMALLEST)


@njit(nogil=True, cache=True)
def _allowance(best, label, number, gap):
    """Return the distance up to which a center wins: it wins ties only if its number is lower than the best one's."""
    return best + tie_width(best, gap) if number < label else best - tie_width(best, gap)


@njit(nogil=True, cache=True)
def nearest_centers(start, stop, rows, row_side, centers, center_side, costs, found):
    """Find the nearest center of the rows ``start`` to ``stop - 1``, exactly; ties go to the lowest number.

    Parameters
    ----------
    rows, centers : RowArrays
        The centers in the order of ``center_side``.
    found : Nearest
        Read and written: the present center of a row, if it has one, is the first candidate.
    """
    k, padded = len(center_side.numbers), center_side.light.shape[1]
    bounds = np.empty(padded, np.float32)
    starts = np.empty(padded, np.float32)
    root_costs = np.empty(padded, np.float32)
    for place in range(padded):
        starts[place] = root_costs[place] = np.inf
    minima = np.empty(padded // BLOCK, np.float32)
    candidates = np.empty(k, np.int64)
    values = np.empty(k, np.float64)
    vectors, indices, tables = make_scratch(max(widest_row(centers.indptr), widest_row(rows.indptr[start : stop + 1])))
    blank = blank_point(costs.ground)
    is_few = blank < MANY_POINTS
    nearest = np.empty(blank + 1 if is_few else 0, np.float64)
    root, total, n_lighter = -1, -1.0, 0
    for row in range(start, stop):
        begin, end = rows.indptr[row], rows.indptr[row + 1]
        mass = 0.0
        for entry in range(begin, end):
            mass += rows.counts[entry]
        # Consecutive rows in canonical order mostly have the same root and mass.
        if rows.roots[row] != root or mass != total:
            root, total = rows.roots[row], mass
            n_lighter = start_bounds(root, total, centers, center_side, costs, starts, root_costs)
        # A bound in single precision that exceeds a distance times this factor exceeds the distance despite rounding.
        slack = center_side.scale * (1.0 + (end - begin + 8) * center_side.rounding)
        bound_all(row, begin, end, row_side, center_side, n_lighter, starts, root_costs, bounds, minima)
        label, best, left, is_listed = np.int64(found.labels[row]), found.distances[row], 0, False
        if label < 0:  # the distance to the center with the lowest bound is computed first
            candidates[0], values[0] = _lowest(bounds, minima), 0.0
            label, best, left = k, np.inf, 1
        else:
            bounds[center_side.places[label]] = np.inf
        while left > 0 or not is_listed:
            if left == 0:
                is_listed = True
                # Capped below infinity, so that the padding of the last block is never a candidate.
                limit = np.float32(min((best + tie_width(best, center_side.gap)) * slack + VANISHING, LARGEST))
                size = list_candidates(bounds, minima, limit, candidates)
                if size > 0 and is_few:
                    fill_nearest(begin, end, rows.points, costs.ground, nearest)
                for place in range(size):
                    center = candidates[place]
                    value = max(float(bounds[center]) - VANISHING, 0.0) / slack
                    allowed = _allowance(best, label, center_side.numbers[center], center_side.gap)
                    if value <= allowed and is_few:
                        bound = nearest_bound(nearest, total, center, centers, center_side.totals[center], costs.ground)
                        value = max(value, point_cost(costs.roots, root, centers.roots[center]) + bound)
                    if value <= allowed:
                        candidates[left], values[left] = center, value
                        left += 1
                continue
            lowest = 0
            for place in range(1, left):
                if values[place] < values[lowest]:
                    lowest = place
            center, value = candidates[lowest], values[lowest]
            left -= 1
            candidates[lowest], values[lowest] = candidates[left], values[left]
            if value > best + tie_width(best, center_side.gap):
                break
            number = center_side.numbers[center]
            allowed = _allowance(best, label, number, center_side.gap)
            if value <= allowed:
                root_cost = point_cost(costs.roots, root, centers.roots[center])
                spans = (begin, end, centers.indptr[center], centers.indptr[center + 1])
                load_difference(
                    rows.points, rows.counts, centers.points, centers.counts, spans, blank, vectors, indices
                )
                distance = root_cost + loaded_distance(costs.ground, allowed - root_cost, vectors, indices, tables)
                if distance <= allowed:
                    best, label = min(best, distance), number
            if not is_listed:
                bounds[center] = np.inf
        found.labels[row], found.distances[row] = label, best
