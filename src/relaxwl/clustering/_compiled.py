"""Compiled loops of centers: steps of the median, medoids and means.

Rows and centers are sets of measures as in ``distances._compiled``: roots, indptr, points (ascending) and masses
(float64). All distances are a root cost plus a transport distance.
"""

import numpy as np

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
def weighted_mean(members, weights, indptr, points, masses, n_points):
    """Return the weighted mean of the members, float64 (n_points,)."""
    mean = np.zeros(n_points, np.float64)
    for place in range(len(members)):
        for entry in range(indptr[members[place]], indptr[members[place] + 1]):
            mean[points[entry]] += weights[place] * masses[entry]
    return mean / weights.sum()


@njit(nogil=True, cache=True)
def medoid(members, weights, indptr, points, masses, ground):
    """Return the place of the member with the smallest weighted sum of exact distances to all members.

    Distances are first bounded by differences of the distances to ⊥. Where the sum S of one member is known, the
    triangle inequality bounds that of every other at distance d from below by ``|total weight · d - S|``: most members
    are never solved. The next one to try is the one with the lowest bound. Ties go to the first member in the order of
    content, so the order of members does not matter.
    """
    n = len(members)
    blank = blank_point(ground)
    vectors, indices, tables = make_scratch(2 * widest_member(members, indptr))
    total_weight = weights.sum()
    heights = np.zeros(n, np.float64)
    for place in range(n):
        for entry in range(indptr[members[place]], indptr[members[place] + 1]):
            heights[place] += masses[entry] * point_cost(ground, points[entry], blank)
    bounds = np.zeros(n, np.float64)
    for place in range(n):
        for other in range(n):
            bounds[place] += weights[other] * abs(heights[place] - heights[other])
    distances = np.empty(n, np.float64)
    best, best_cost = 0, np.inf
    for _ in range(n):
        candidate = np.argmin(bounds)
        if bounds[candidate] > best_cost or bounds[candidate] == np.inf:
            break
        row = members[candidate]
        cost = 0.0
        for place in range(n):
            other = members[place]
            spans = (indptr[row], indptr[row + 1], indptr[other], indptr[other + 1])
            load_difference(points, masses, points, masses, spans, blank, vectors, indices)
            distances[place] = loaded_distance(ground, np.inf, vectors, indices, tables)
            cost += weights[place] * distances[place]
        if cost < best_cost or (cost == best_cost and _precedes(row, members[best], indptr, points, masses)):
            best, best_cost = candidate, cost
        for place in range(n):
            if distances[place] > 0.0:
                bounds[place] = max(bounds[place], abs(total_weight * distances[place] - cost))
            else:
                bounds[place] = np.inf
    return best


@njit(nogil=True, cache=True)
def _precedes(row, other, indptr, points, masses):
    """Tell whether one row comes before another in the order of content: points first, then masses."""
    length = indptr[row + 1] - indptr[row]
    if length != indptr[other + 1] - indptr[other]:
        return length < indptr[other + 1] - indptr[other]
    for offset in range(length):
        a, b = indptr[row] + offset, indptr[other] + offset
        if points[a] != points[b]:
            return points[a] < points[b]
        if masses[a] != masses[b]:
            return masses[a] < masses[b]
    return False


@njit(nogil=True, cache=True)
def solve_flow(vectors, indices, tables):
    """Solve the loaded problem so that its flow is left in ``tables``; sources × sinks, row-major."""
    n_sources, n_sinks = indices[SIZES, 0], indices[SIZES, 1]
    if n_sources == 0 or n_sinks == 0:
        return
    if n_sources == 1:
        for sink in range(n_sinks):
            tables[FLOW, sink] = vectors[DEMAND, sink]
    elif n_sinks == 1:
        for source in range(n_sources):
            tables[FLOW, source] = vectors[SUPPLY, source]
    else:
        successive_paths(np.inf, vectors, indices, tables)


@njit(nogil=True, cache=True)
def load_flow(row, indptr, points, masses, center_points, center_masses, ground, vectors, indices, tables):
    """Load the difference of one row (sources) and a center (sinks) and solve it; the flow is left in ``tables``."""
    spans = (indptr[row], indptr[row + 1], 0, len(center_points))
    load_difference(points, masses, center_points, center_masses, spans, blank_point(ground), vectors, indices)
    load_costs(ground, indices, tables)
    solve_flow(vectors, indices, tables)


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


@njit(nogil=True, cache=True)
def matched_medians(members, weights, indptr, points, masses, center_points, center_masses, ground):
    """Return (points, masses, saved): the center after one round of matched medians, and what it saves at least.

    Every member is matched to the center. Each unit of the center then moves to the 1-median of what it is matched to,
    ⊥ included, which drops the unit; and units are added where enough members have something left over. With the
    matching held fixed no step costs more than before; solved anew, the members can only cost less. If nothing is
    saved, the center is as before.

    Parameters
    ----------
    members : int64 (n,)
        Row numbers; ``weights`` float64 (n,) go with them.
    center_points, center_masses : int32 and float64
        The present center; its masses are whole numbers, like those of the members.
    """
    blank = blank_point(ground)
    n_entries = len(center_points)
    n_surplus = 0
    for place in range(len(members)):
        n_surplus += indptr[members[place] + 1] - indptr[members[place]]
    surplus_indptr = np.zeros(len(members) + 1, np.int64)
    surplus_points = np.empty(n_surplus, np.int64)
    surplus_masses = np.empty(n_surplus, np.float64)
    runs = np.empty((n_surplus + n_entries + 16, 5), np.int64)
    n_runs, filled = 0, 0
    vectors, indices, tables = make_scratch(max(widest_member(members, indptr), n_entries))
    for place in range(len(members)):
        load_flow(
            members[place], indptr, points, masses, center_points, center_masses, ground, vectors, indices, tables
        )
        runs, n_runs = _record_runs(place, center_points, center_masses, vectors, indices, tables, runs, n_runs)
        filled = _record_surplus(blank, filled, indices, tables, surplus_points, surplus_masses)
        surplus_indptr[place + 1] = filled
    units = np.zeros(blank + 1, np.float64)
    for entry in range(n_entries):
        units[center_points[entry]] = center_masses[entry]
    saved = _move_to_medians(runs[:n_runs], weights, center_points, ground, units)
    saved += _add_units(weights, surplus_indptr, surplus_points, surplus_masses, ground, units)
    new_points, new_masses = sparse_units(units)
    return new_points, new_masses, saved


# Columns of a table of runs: units START to STOP - 1 of an entry of the center are matched to TARGET by a member.
ENTRY, START, STOP, TARGET, MEMBER = range(5)


@njit(nogil=True, cache=True)
def _record_runs(member, center_points, center_masses, vectors, indices, tables, runs, n_runs):
    """Append one member's runs of matched units that do not stay; return the table (perhaps enlarged) and its length.

    Units of one point are interchangeable: the first ones are those that stay, then the targets by rising cost, so that
    far targets gather at the last units, which can leave. The flow is used up.
    """
    n_sources, n_sinks = indices[SIZES, 0], indices[SIZES, 1]
    entry = 0
    for sink in range(n_sinks):
        while entry < len(center_points) and center_points[entry] < indices[SINK_POINT, sink]:
            entry += 1
        if entry == len(center_points):
            break
        unit = np.int64(round(center_masses[entry] - vectors[DEMAND, sink]))
        while True:
            nearest, cost = -1, np.inf
            for source in range(n_sources):
                arc = source * n_sinks + sink
                if tables[FLOW, arc] > 0.5 and tables[COST, arc] < cost:
                    nearest, cost = source, tables[COST, arc]
            if nearest < 0:
                break
            if n_runs == len(runs):
                larger = np.empty((2 * n_runs, 5), np.int64)
                larger[:n_runs] = runs
                runs = larger
            amount = np.int64(round(tables[FLOW, nearest * n_sinks + sink]))
            tables[FLOW, nearest * n_sinks + sink] = 0.0
            runs[n_runs, ENTRY], runs[n_runs, START], runs[n_runs, STOP] = entry, unit, unit + amount
            runs[n_runs, TARGET], runs[n_runs, MEMBER] = indices[SOURCE_POINT, nearest], member
            n_runs += 1
            unit += amount
    return runs, n_runs


@njit(nogil=True, cache=True)
def _move_to_medians(runs, weights, center_points, ground, units):
    """Move every unit to the 1-median of what it is matched to; return what that saves. Changes ``units``.

    Units that all members match alike move together: one sweep over the ends of the runs. While half of the weight
    stays, so does the median.
    """
    n_runs = len(runs)
    total = weights.sum()
    span = 1
    for run in range(n_runs):
        span = max(span, runs[run, STOP] + 1)
    keys = np.empty(2 * n_runs, np.int64)
    for run in range(n_runs):
        keys[run] = runs[run, ENTRY] * span + runs[run, START]
        keys[n_runs + run] = runs[run, ENTRY] * span + runs[run, STOP]
    order = np.argsort(keys)
    matched = np.zeros(blank_point(ground) + 1, np.float64)
    moving, saved = 0.0, 0.0
    for rank in range(2 * n_runs):
        event = order[rank]
        run = event if event < n_runs else event - n_runs
        weight = weights[runs[run, MEMBER]] if event < n_runs else -weights[runs[run, MEMBER]]
        matched[runs[run, TARGET]] += weight
        moving += weight
        if rank + 1 == 2 * n_runs or keys[order[rank + 1]] == keys[event]:
            continue
        if keys[order[rank + 1]] // span != keys[event] // span:
            matched[:] = 0.0  # all runs of this entry have ended; what is left is rounding
            moving = 0.0
            continue
        if 2.0 * moving <= total:
            continue
        present = center_points[keys[event] // span]
        matched[present] = total - moving
        median, gain = weighted_median(matched, ground, present, 1e-9 * total)
        matched[present] = 0.0
        if median != present:
            amount = float(keys[order[rank + 1]] - keys[event])
            units[present] -= amount
            units[median] += amount
            saved += gain * amount
    return saved


@njit(nogil=True, cache=True)
def _record_surplus(blank, filled, indices, tables, surplus_points, surplus_masses):
    """Append what one member sends to ⊥ (it comes last among the sinks) and return the new length."""
    n_sources, n_sinks = indices[SIZES, 0], indices[SIZES, 1]
    if n_sinks == 0 or indices[SINK_POINT, n_sinks - 1] != blank:
        return filled
    for source in range(n_sources):
        amount = tables[FLOW, source * n_sinks + n_sinks - 1]
        if amount > 0.5:
            surplus_points[filled] = indices[SOURCE_POINT, source]
            surplus_masses[filled] = amount
            filled += 1
    return filled


@njit(nogil=True, cache=True)
def weighted_median(weights, ground, present, least):
    """Return the point with the smallest Σ_q weights[q] · ground[point, q], and what it saves against ``present``.

    Candidates are the points with weight above ``least``, ⊥ (the last point), and the present one. The present one wins
    ties, then the lowest.
    """
    blank = len(weights) - 1
    weighted = np.empty(len(weights), np.int64)
    n_weighted = 0
    for point in range(len(weights)):
        if weights[point] > least:
            weighted[n_weighted] = point
            n_weighted += 1
    best, present_cost = present, 0.0
    for place in range(n_weighted):
        present_cost += weights[weighted[place]] * point_cost(ground, present, weighted[place])
    best_cost = present_cost * (1.0 - 1e-12)
    for candidate in range(n_weighted + 1):
        point = weighted[candidate] if candidate < n_weighted else blank
        cost = 0.0
        for place in range(n_weighted):
            cost += weights[weighted[place]] * point_cost(ground, point, weighted[place])
            if cost >= best_cost:
                break
        if cost < best_cost:
            best, best_cost = point, cost
    return best, present_cost - best_cost


@njit(nogil=True, cache=True)
def _add_units(weights, surplus_indptr, surplus_points, surplus_masses, ground, units):
    """Add units to ``units`` while that pays, return what it saves: members send surplus there instead of to ⊥.

    ``surplus_masses`` is used up.
    """
    blank = blank_point(ground)
    total = weights.sum()
    is_candidate = np.zeros(blank, np.bool_)
    for place in range(surplus_indptr[-1]):
        is_candidate[surplus_points[place]] = True
    saved = 0.0
    while True:
        best, best_change = -1, 0.0
        for point in range(blank):
            if not is_candidate[point]:
                continue
            change = 0.0
            for member in range(len(weights)):
                _, gain = _best_use(
                    point, surplus_indptr[member], surplus_indptr[member + 1], surplus_points, surplus_masses, ground
                )
                change += weights[member] * gain
            # Less than this is rounding.
            if change < min(best_change, -1e-12 * total * point_cost(ground, point, blank)):
                best, best_change = point, change
        if best < 0:
            return saved
        amount = _use_unit(best, surplus_indptr, surplus_points, surplus_masses, ground)
        units[best] += amount
        saved -= best_change * amount


@njit(nogil=True, cache=True)
def _use_unit(point, surplus_indptr, surplus_points, surplus_masses, ground):
    """Serve the members from as many new units at ``point`` as all of them use in the same way; return their number."""
    used = np.empty(len(surplus_indptr) - 1, np.int64)
    amount = np.inf
    for member in range(len(used)):
        used[member], _ = _best_use(
            point, surplus_indptr[member], surplus_indptr[member + 1], surplus_points, surplus_masses, ground
        )
        if used[member] >= 0:
            amount = min(amount, surplus_masses[used[member]])
    for place in used:
        if place >= 0:
            surplus_masses[place] -= amount
    return amount


@njit(nogil=True, cache=True)
def _best_use(point, begin, end, surplus_points, surplus_masses, ground):
    """Return (place, change of cost) of a member's best use of a new unit at ``point``; place -1 leaves it to ⊥."""
    blank = blank_point(ground)
    best, change = -1, float(point_cost(ground, point, blank))
    for place in range(begin, end):
        if surplus_masses[place] > 0.5:
            # The ground may be unsigned: its differences would wrap around.
            surplus = surplus_points[place]
            here = float(point_cost(ground, point, surplus)) - float(point_cost(ground, surplus, blank))
            if here < change:
                best, change = place, here
    return best, change


# A move is tried with more than one unit where at least this mass can move: lighter centers are done in a few moves.
BULK = 16.0


@njit(nogil=True, cache=True)
def best_moves(members, weights, indptr, points, masses, center_points, center_masses, ground):
    """Return (points, masses, saved): the center after the best moves of single units, and what they save.

    A move takes a unit from a point of the center, or from ⊥, to a point that some member uses, or to ⊥. Its effect on
    the exact cost is computed for all moves at once. Several moves that share no point are made together if that is
    better than the best one alone. Parameters are those of `matched_medians`.
    """
    blank = blank_point(ground)
    units = np.zeros(blank + 1, np.float64)
    for entry in range(len(center_points)):
        units[center_points[entry]] = center_masses[entry]
    units[blank] = np.inf
    origins = _positive(units)
    goals = _positive(_usage(members, indptr, points, blank))
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

    A round of matched medians before them gains little: k-means comes back with the next round anyway.

    Parameters
    ----------
    starts : int64 (n_centers + 1,)
        The members of a cluster are ``members[starts[cluster] : starts[cluster + 1]]``; ``weights`` go with them.
    rows, centers : RowArrays
        With masses that are whole numbers.
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
    """Return the root code with the smallest weighted sum of costs to those of the members; the lowest of equals."""
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
def _usage(members, indptr, points, blank):
    """Return float64 (blank + 1,): how many members use each point, and 1 for ⊥."""
    usage = np.zeros(blank + 1, np.float64)
    usage[blank] = 1.0
    for place in range(len(members)):
        for entry in range(indptr[members[place]], indptr[members[place] + 1]):
            usage[points[entry]] += 1.0
    return usage


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
    """Make moves in ``units`` by rising change, as long as it lies below ``limit``, each point taking part in one.

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
    """Repeat a move with doubling amounts while that lowers the cost, which is convex along it; return what it saves.

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
    """Return the change of the exact cost, float64 (origins, goals), if one unit moves, and the cost as it is.

    For one member the change is the length of the shortest way from origin to goal in the residual network of its
    optimal flow: any step from point to point at its cost, and back along an arc with flow at minus its cost. Most ways
    are single steps; so all changes begin as such, and what ways along flow save is added.
    """
    total = weights.sum()
    # Copies with the goals side by side let the inner loops run over whole vector registers.
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
    """Write the shortest residual ways from source to source into ``ways``, float64 (at least n_sources) squared.

    A hop goes forward to a sink and back along an arc with flow. Hops are joined by Floyd's and Warshall's algorithm;
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
    """Lower ``lengths[j]`` to ``base + onward[j]`` for j < n where that is less."""
    for j in range(n):
        way = base + onward[j]
        lengths[j] = way if way < lengths[j] else lengths[j]


@njit(nogil=True, cache=True)
def _residual_lengths(ground, origin, n_arcs, arcs, indices, tables, ways, entered, lengths):
    """Write the shortest residual ways from a point (``origin``) to all sources.

    The first step goes to a source, or to a sink and back along flow; ``ways`` does the rest. Writes ``entered`` (the
    first step alone) and ``lengths``.
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
