"""Compiled loops of Wasserstein k-means: nearest centres under exact pruning, and one step of the median centre.

Rows and centres are sets of measures as in ``distances._compiled``: roots, indptr, points (ascending), masses (float64).
All distances are a root cost plus a transport distance.
"""

import numpy as np
from numba import njit

from relaxwl.distances._compiled import (
    COST,
    DEMAND,
    FLOW,
    SINK_POINT,
    SIZES,
    SOURCE_POINT,
    SUPPLY,
    load_costs,
    load_difference,
    make_scratch,
    pair_distance,
    successive_paths,
)

# What a search counts: exact solves that ran to their end, solves that were abandoned, points that were searched.
SOLVED, ABANDONED, SEARCHED = range(3)


@njit(nogil=True, cache=True)
def widest_row(indptr, start, stop):
    """Return the largest number of entries of the rows ``start`` to ``stop - 1``."""
    widest = 1
    for row in range(start, stop):
        widest = max(widest, indptr[row + 1] - indptr[row])
    return widest


@njit(nogil=True, cache=True)
def embed_rows(start, stop, indptr, points, masses, functions, out):
    """Write ``out[row] = Σ mass · functions[point]`` for the rows ``start`` to ``stop - 1``.

    ``functions`` (n_points, n_pivots) holds 1-Lipschitz functions that vanish at ⊥, one a column.
    """
    for row in range(start, stop):
        target = out[row]
        target[:] = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            mass = masses[entry]
            values = functions[points[entry]]
            for pivot in range(len(target)):
                target[pivot] += mass * values[pivot]


@njit(nogil=True, cache=True)
def bound_all(embedding, center_embeddings, root_costs, bounds):
    """Write ``bounds[c] = root_costs[c] + max_p |embedding[p] - center_embeddings[p, c]|``: never above the distance.

    Laid out so that the inner loop runs over centres and fills vector registers.
    """
    for center in range(len(bounds)):
        bounds[center] = 0.0
    for pivot in range(len(embedding)):
        value = embedding[pivot]
        column = center_embeddings[pivot]
        for center in range(len(bounds)):
            gap = abs(value - column[center])
            bounds[center] = gap if gap > bounds[center] else bounds[center]
    for center in range(len(bounds)):
        bounds[center] += root_costs[center]


@njit(nogil=True, cache=True)
def pivot_bound(embedding, center_embedding, limit):
    """Return max_p |embedding[p] - center_embedding[p]|, or the first gap found above ``limit``."""
    largest = 0.0
    for pivot in range(len(embedding)):
        gap = abs(embedding[pivot] - center_embedding[pivot])
        if gap > largest:
            largest = gap
            if largest > limit:
                break
    return largest


@njit(nogil=True, cache=True)
def nearest_centers(
    start, stop, subset,
    roots, indptr, points, masses, embeddings,
    center_roots, center_indptr, center_points, center_masses, center_embeddings, center_deep,
    ground, functions, root_cost, allowed, tolerance,
    labels, distances, others, counters,
):  # fmt: skip
    """Find the nearest centre of the rows ``subset[start:stop]``, exactly; ties go to the lowest index.

    Centres are met in the order of a cheap bound. Each is bounded again by all pivots, then solved with the best
    distance so far as cutoff; the search ends when the cheapest bound left lies above the best distance.

    Parameters
    ----------
    embeddings, center_embeddings : float64 (n_rows, p) and (p, k)
        Values of a few 1-Lipschitz functions.
    center_deep, functions : float64 (k, n_points + 1) and (n_points, n_points + 1)
        The same for all pivots: of the centres, and of the points for embedding a row when it is first needed.
    allowed : bool (k,)
        Centres to look at. A row's present centre and distance (``labels[row] >= 0``) take part in any case.
    tolerance : float
        Distances that differ by no more than this are equal.
    labels, distances, others : int32, float64, float64 (n_rows,)
        Read and written: the nearest centre, its distance, and a lower bound on the distance to every other centre
        that was looked at (infinity if there was none).
    counters : int64 (3,)
        Added to: see SOLVED, ABANDONED, SEARCHED.
    """
    k = len(center_roots)
    bounds = np.empty(k, np.float64)
    root_costs = np.empty(k, np.float64)
    deep = np.empty(center_deep.shape[1], np.float64)
    widest = max(widest_row(indptr, 0, len(roots)), widest_row(center_indptr, 0, k))
    vectors, indices, tables = make_scratch(widest)
    for place in range(start, stop):
        row = subset[place]
        begin, end = indptr[row], indptr[row + 1]
        for center in range(k):
            root_costs[center] = root_cost[roots[row], center_roots[center]]
        bound_all(embeddings[row], center_embeddings, root_costs, bounds)
        best, label, other = np.inf, -1, np.inf
        if labels[row] >= 0:
            label, best = labels[row], distances[row]
            bounds[label] = np.inf
        embedded = False
        counters[SEARCHED] += 1
        while True:
            center, lowest = -1, np.inf
            for candidate in range(k):
                if bounds[candidate] < lowest and allowed[candidate]:
                    center, lowest = candidate, bounds[candidate]
            other = min(other, lowest) if lowest > best + tolerance else other
            if center < 0 or lowest > best + tolerance:
                break
            bounds[center] = np.inf
            cutoff = best + tolerance - root_costs[center]
            if not embedded:
                deep[:] = 0.0
                for entry in range(begin, end):
                    mass = masses[entry]
                    values = functions[points[entry]]
                    for pivot in range(len(deep)):
                        deep[pivot] += mass * values[pivot]
                embedded = True
            distance = pivot_bound(deep, center_deep[center], cutoff)
            if distance <= cutoff:
                distance = pair_distance(
                    points, masses, begin, end,
                    center_points, center_masses, center_indptr[center], center_indptr[center + 1],
                    ground, cutoff, vectors, indices, tables,
                )  # fmt: skip
                counters[SOLVED if distance <= cutoff else ABANDONED] += 1
            distance += root_costs[center]
            if distance < best - tolerance or (distance <= best + tolerance and center < label):
                other = min(other, best)
                best, label = min(best, distance), center
            else:
                other = min(other, distance)
        labels[row], distances[row], others[row] = label, best, other


@njit(nogil=True, cache=True)
def distances_to_own(
    start, stop, subset, roots, indptr, points, masses,
    labels, center_roots, center_indptr, center_points, center_masses, ground, root_cost, out,
):  # fmt: skip
    """Write the exact distance of the rows ``subset[start:stop]`` to the centres of their labels into ``out[row]``."""
    widest = max(widest_row(indptr, 0, len(roots)), widest_row(center_indptr, 0, len(center_roots)))
    vectors, indices, tables = make_scratch(widest)
    for place in range(start, stop):
        row = subset[place]
        center = labels[row]
        out[row] = root_cost[roots[row], center_roots[center]] + pair_distance(
            points, masses, indptr[row], indptr[row + 1],
            center_points, center_masses, center_indptr[center], center_indptr[center + 1],
            ground, np.inf, vectors, indices, tables,
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------- median centres


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
def median_step(members, weights, indptr, points, masses, center_points, center_masses, ground):
    """Return (points, masses) of a centre that serves the members better, by one round of matched medians.

    Every member is matched to the centre. Each unit of the centre then moves to the 1-median of what it is matched to,
    ⊥ included, which drops the unit; and units are added where enough members have something left over. With the
    matching held fixed no step costs more than before, so the new centre is never worse than this matching shows.

    Parameters
    ----------
    members : int64 (n,)
        Row numbers; ``weights`` float64 (n,) go with them.
    center_points, center_masses : int32 and float64
        The present centre; its masses are whole numbers.
    """
    blank = ground.shape[0] - 1
    n_entries = len(center_points)
    unit_start = np.zeros(n_entries + 1, np.int64)
    for entry in range(n_entries):
        unit_start[entry + 1] = unit_start[entry] + np.int64(round(center_masses[entry]))
    matched = np.zeros((unit_start[n_entries], blank + 1), np.float64)
    surplus_indptr = np.zeros(len(members) + 1, np.int64)
    n_surplus = 0
    widest = n_entries
    for place in range(len(members)):
        n_surplus += indptr[members[place] + 1] - indptr[members[place]]
        widest = max(widest, indptr[members[place] + 1] - indptr[members[place]])
    surplus_points = np.empty(n_surplus, np.int64)
    surplus_masses = np.empty(n_surplus, np.float64)
    vectors, indices, tables = make_scratch(widest)
    filled = 0
    for place in range(len(members)):
        row = members[place]
        load_difference(
            points, masses, indptr[row], indptr[row + 1], center_points, center_masses, 0, n_entries,
            blank, vectors, indices, tables,
        )  # fmt: skip
        load_costs(ground, vectors, indices, tables)
        solve_flow(vectors, indices, tables)
        _record_units(weights[place], center_points, unit_start, vectors, indices, tables, matched)
        filled = _record_surplus(blank, filled, indices, tables, surplus_points, surplus_masses)
        surplus_indptr[place + 1] = filled
    units = np.zeros(blank + 1, np.float64)
    for entry in range(n_entries):
        for unit in range(unit_start[entry], unit_start[entry + 1]):
            units[weighted_median(matched[unit], ground, center_points[entry])] += 1.0
    _add_units(weights, surplus_indptr, surplus_points, surplus_masses, ground, units)
    size = 0
    for point in range(blank):
        size += units[point] > 0.0
    new_points = np.empty(size, np.int32)
    new_masses = np.empty(size, np.float64)
    size = 0
    for point in range(blank):
        if units[point] > 0.0:
            new_points[size] = point
            new_masses[size] = units[point]
            size += 1
    return new_points, new_masses


@njit(nogil=True, cache=True)
def _record_units(weight, center_points, unit_start, vectors, indices, tables, matched):
    """Add one member's weight to ``matched[unit, point]`` for every unit of the centre.

    Units of one point are interchangeable: the first ones are those that stay, then the targets by rising cost, so that
    far targets gather at the last units, which can leave.
    """
    n_sources, n_sinks = indices[SIZES, 0], indices[SIZES, 1]
    sink = 0
    for entry in range(len(center_points)):
        point = center_points[entry]
        unit, last = unit_start[entry], unit_start[entry + 1]
        if sink < n_sinks and indices[SINK_POINT, sink] == point:
            staying = last - np.int64(round(vectors[DEMAND, sink]))
            while unit < staying:
                matched[unit, point] += weight
                unit += 1
            while unit < last:
                nearest = -1
                for source in range(n_sources):
                    arc = source * n_sinks + sink
                    if tables[FLOW, arc] > 0.5 and (
                        nearest < 0 or tables[COST, arc] < tables[COST, nearest * n_sinks + sink]
                    ):
                        nearest = source
                if nearest < 0:
                    break
                arc = nearest * n_sinks + sink
                amount = np.int64(round(tables[FLOW, arc]))
                tables[FLOW, arc] = 0.0
                for _ in range(min(amount, last - unit)):
                    matched[unit, indices[SOURCE_POINT, nearest]] += weight
                    unit += 1
            sink += 1
        else:
            while unit < last:
                matched[unit, point] += weight
                unit += 1


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
def weighted_median(weights, ground, present):
    """Return the point with the smallest Σ_q weights[q] · ground[point, q]; ``present`` wins ties, then the lowest.

    Candidates are the points with weight, ⊥ (the last point), and the present one.
    """
    blank = len(weights) - 1
    weighted = np.empty(len(weights), np.int64)
    n_weighted = 0
    for point in range(len(weights)):
        if weights[point] > 0.0:
            weighted[n_weighted] = point
            n_weighted += 1
    best, best_cost = present, 0.0
    for place in range(n_weighted):
        best_cost += weights[weighted[place]] * ground[present, weighted[place]]
    for candidate in range(n_weighted + 1):
        point = weighted[candidate] if candidate < n_weighted else blank
        cost = 0.0
        for place in range(n_weighted):
            cost += weights[weighted[place]] * ground[point, weighted[place]]
            if cost >= best_cost:
                break
        if cost < best_cost * (1.0 - 1e-12):
            best, best_cost = point, cost
    return best


@njit(nogil=True, cache=True)
def _add_units(weights, surplus_indptr, surplus_points, surplus_masses, ground, units):
    """Add units to ``units`` while that pays: a member with something left over may send it there instead of to ⊥.

    ``surplus_masses`` is used up.
    """
    blank = ground.shape[0] - 1
    is_candidate = np.zeros(blank, np.bool_)
    for place in range(surplus_indptr[-1]):
        is_candidate[surplus_points[place]] = True
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
            if change < best_change - 1e-12 * abs(best_change):
                best, best_change = point, change
        if best < 0:
            return
        units[best] += 1.0
        for member in range(len(weights)):
            place, _ = _best_use(
                best, surplus_indptr[member], surplus_indptr[member + 1], surplus_points, surplus_masses, ground
            )
            if place >= 0:
                surplus_masses[place] -= 1.0


@njit(nogil=True, cache=True)
def _best_use(point, begin, end, surplus_points, surplus_masses, ground):
    """Return (place, change of cost) of a member's best use of a new unit at ``point``; place -1 leaves it to ⊥."""
    blank = ground.shape[0] - 1
    best, change = -1, ground[point, blank]
    for place in range(begin, end):
        if surplus_masses[place] > 0.5:
            here = ground[point, surplus_points[place]] - ground[surplus_points[place], blank]
            if here < change:
                best, change = place, here
    return best, change
