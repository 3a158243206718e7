"""Numba code: support vector machines of two classes along a path of penalties; losses of linear models."""

import numpy as np

from relaxwl._compiling import njit

# Minimum curvature of a pair, which is 0 for graphs that the kernel does not distinguish: keeps steps finite.
FLAT = 1e-12
# Number of steps between two attempts to shrink the problem; fewer on small problems.
SHRINK_EVERY = 400
# Shrinking copies the active rows and columns, and is done only if their share is below this.
WORTHWHILE = 0.7
# Searches for a largest value keep this many running maxima (fewer on small problems), so that compilers generate
# vector code without permission to reorder floating-point arithmetic.
LANES = 64
FEW_LANES = 16
# Cost of one coefficient in a step, in multiplications: polishing may cost as much as the steps so far.
STEP_COST = 4.0
# Polishing begins if, after its factorization, the same cost is left for products, and for at least so many of them.
LEAST_PRODUCTS = 10
# Polishing ends when the range of the free residuals is below this share of the tolerance.
POLISHED = 0.1
# Ridge for the factorization, relative to the mean of the diagonal; larger than the noise of single precision.
RIDGE = 1e-6


@njit(nogil=True, cache=True)
def block(gram, chosen):
    """Return a copy of the rows and columns ``chosen``, of the same type."""
    out = np.empty((len(chosen), len(chosen)), gram.dtype)
    for i in range(len(chosen)):
        row, target = gram[chosen[i]], out[i]
        for j in range(len(chosen)):
            target[j] = row[chosen[j]]
    return out


@njit(nogil=True, cache=True)
def taken(values, positions):
    """Return the values at some positions (a loop compiles many times faster than Numba's own indexing by arrays)."""
    out = np.empty(len(positions), values.dtype)
    for t in range(len(positions)):
        out[t] = values[positions[t]]
    return out


@njit(nogil=True, cache=True)
def put(target, positions, values):
    """Write values to some positions of ``target``."""
    for t in range(len(positions)):
        target[positions[t]] = values[t]


@njit(nogil=True, cache=True)
def copy(values, target):
    """Write ``target[:] = values`` by a loop, because the assignment takes a second to compile."""
    for t in range(len(values)):
        target[t] = values[t]


@njit(nogil=True, cache=True)
def solve(gram, signs, C, tolerance, max_iter, coefficients, residuals):
    """Solve the dual of a support vector machine by sequential minimal optimization; return (bias, converged).

    ``gram`` (n, n) float32 or float64; ``signs`` (n,) float64, +1 or -1. ``coefficients`` β_t = y_t α_t and
    ``residuals`` F_t = y_t - (Kβ)_t, both (n,) float64, are written; on entry they hold a feasible start (Σβ = 0,
    0 ≤ y_t β_t ≤ C) and its residuals. Optimal within the tolerance when max F over those that may grow exceeds min F
    over those that may shrink by less than it: LIBSVM's rule, and its choice of pairs. As there, coefficients that
    are fixed at a bound are set aside and checked again at the end; the others (``active``) are copied, so that all
    loops run over contiguous memory. Steps by pairs are slow if C is large and the kernel has low rank; then all free
    coefficients are moved at once (`polish`), for as much work as the steps have taken so far. ``max_iter`` bounds the
    steps by pairs.
    """
    n = len(signs)
    upper, lower = np.zeros(n), np.zeros(n)
    for t in range(n):
        if signs[t] > 0:
            upper[t] = C
        else:
            lower[t] = -C
    active, part = np.arange(n), gram
    spent, credit = 0, 0.0
    while spent < max_iter:
        beta, rest = taken(coefficients, active), taken(residuals, active)
        floor, ceiling = taken(lower, active), taken(upper, active)
        patience = min(n, SHRINK_EVERY, max_iter - spent)
        steps, gap = descend(part, beta, rest, floor, ceiling, tolerance, patience)
        spent += steps
        credit += STEP_COST * steps * len(active)
        free = np.flatnonzero((floor < beta) & (beta < ceiling))
        factoring, product = len(free) ** 3 / 6, 2 * len(free) ** 2
        if gap >= tolerance and len(free) > 1 and credit >= 2 * factoring + LEAST_PRODUCTS * product:
            affordable = int((credit - factoring) / product)
            used = polish(part, free, beta, rest, floor, ceiling, tolerance, affordable)
            credit -= factoring + used * product
        put(coefficients, active, beta)
        put(residuals, active, rest)
        if gap >= tolerance:
            kept = is_active(beta, rest, floor, ceiling)
            if len(kept) < WORTHWHILE * len(active):
                active, part = taken(active, kept), block(part, kept)
        elif len(active) == n:
            return bias_of(coefficients, residuals, lower, upper), True
        else:
            refresh(gram, signs, coefficients, residuals)
            active, part = np.arange(n), gram
    refresh(gram, signs, coefficients, residuals)
    return bias_of(coefficients, residuals, lower, upper), False


@njit(nogil=True, cache=True)
def descend(gram, coefficients, residuals, lower, upper, tolerance, max_steps):
    """Iterate until the tolerance or ``max_steps`` is reached; return the number of steps and the last violation.

    All arrays are those of `solve`; coefficients and residuals are written. Each step moves mass from β_j to β_i, where
    i violates optimality most and j gains most to second order, so Σβ and the box are kept. Coefficients that must not
    move are masked by an infinity, so that the loops over all residuals need no branches.
    """
    n = len(coefficients)
    lanes = LANES if n >= 4 * LANES else FEW_LANES
    diagonal, top, low = np.empty(n), np.empty(lanes), np.empty(lanes)
    may_grow, may_shrink = np.empty(n), np.empty(n)
    for t in range(n):
        diagonal[t] = gram[t, t]
        may_grow[t] = 0.0 if coefficients[t] < upper[t] else -np.inf
        may_shrink[t] = 0.0 if coefficients[t] > lower[t] else np.inf
    i = advance(residuals, may_grow, gram[0], gram[0], 0.0, top)
    gap = np.inf
    for steps in range(max_steps):
        highest = residuals[i] + may_grow[i]
        j, gap = partner(residuals, may_shrink, gram[i], diagonal, diagonal[i], highest, top, low)
        if gap < tolerance:
            return steps, gap
        step = (residuals[i] - residuals[j]) / max(diagonal[i] + diagonal[j] - 2 * gram[i, j], FLAT)
        room, stock = upper[i] - coefficients[i], coefficients[j] - lower[j]
        step = min(step, room, stock)
        # Exactly the bound if it limits the step, so that later comparisons with it are exact.
        coefficients[i] = upper[i] if step == room else coefficients[i] + step
        coefficients[j] = lower[j] if step == stock else coefficients[j] - step
        for t in (i, j):
            may_grow[t] = 0.0 if coefficients[t] < upper[t] else -np.inf
            may_shrink[t] = 0.0 if coefficients[t] > lower[t] else np.inf
        i = advance(residuals, may_grow, gram[i], gram[j], step, top)
    return max_steps, gap


@njit(nogil=True, cache=True)
def advance(residuals, may_grow, row, other, step, top):
    """Update the residuals (written) after a step between two rows; return the highest of those that may grow.

    ``top`` is scratch, one maximum per lane; lane l has the positions l, l + len(top), and so on.
    """
    n, lanes = len(residuals), len(top)
    top[:] = -np.inf
    for start in range(0, n, lanes):
        stop = min(start + lanes, n)
        values, mask, plus, minus = residuals[start:stop], may_grow[start:stop], row[start:stop], other[start:stop]
        for lane in range(stop - start):
            value = values[lane] - step * (plus[lane] - minus[lane])
            values[lane] = value
            value += mask[lane]
            top[lane] = value if value > top[lane] else top[lane]
    best = highest_lane(top)
    for t in range(best, n, lanes):
        if residuals[t] + may_grow[t] == top[best]:
            return t
    return 0


@njit(nogil=True, cache=True)
def partner(residuals, may_shrink, row, diagonal, own, highest, top, low):
    """Return the second index of the working set, and the violation of optimality.

    ``own`` is the diagonal entry of the row and ``highest`` the residual; ``top`` and ``low`` are scratch, one value
    per lane.
    """
    n, lanes = len(residuals), len(top)
    top[:] = 0.0
    low[:] = np.inf
    for start in range(0, n, lanes):
        stop = min(start + lanes, n)
        values, mask, products = residuals[start:stop], may_shrink[start:stop], row[start:stop]
        squares = diagonal[start:stop]
        for lane in range(stop - start):
            value = values[lane] + mask[lane]
            low[lane] = value if value < low[lane] else low[lane]
            gain = gain_of(highest - value, own + squares[lane] - 2 * products[lane])
            top[lane] = gain if gain > top[lane] else top[lane]
    best, lowest = highest_lane(top), low[0]
    for lane in range(1, lanes):
        lowest = low[lane] if low[lane] < lowest else lowest
    for t in range(best, n, lanes):
        if gain_of(highest - (residuals[t] + may_shrink[t]), own + diagonal[t] - 2 * row[t]) == top[best]:
            return t, highest - lowest
    return 0, highest - lowest


@njit(nogil=True, cache=True)
def highest_lane(top):
    """Return the position of the largest value; ties go to the first."""
    best = 0
    for lane in range(1, len(top)):
        if top[lane] > top[best]:
            best = lane
    return best


@njit(nogil=True, cache=True)
def gain_of(gap, curvature):
    """Return twice the gain of the objective by the best step down a gap, ignoring the box."""
    gap = gap if gap > 0 else 0.0
    curvature = curvature if curvature > FLAT else FLAT
    return gap * gap / curvature


@njit(nogil=True, cache=True)
def is_active(coefficients, residuals, lower, upper):
    """Return the ascending positions of all coefficients that are not fixed at a bound."""
    highest, lowest = -np.inf, np.inf
    for t in range(len(coefficients)):
        if coefficients[t] < upper[t]:
            highest = max(highest, residuals[t])
        if coefficients[t] > lower[t]:
            lowest = min(lowest, residuals[t])
    full, empty = coefficients >= upper, coefficients <= lower
    return np.flatnonzero(~((full & (residuals > highest)) | (empty & (residuals < lowest))))


@njit(nogil=True, cache=True)
def polish(gram, free, coefficients, residuals, lower, upper, tolerance, max_products):
    """Maximize the dual over the free coefficients alone; return the number of products with K.

    All arrays are those of `solve`, ``free`` (f,) int64 positions in them; coefficients and residuals are written.
    Conjugate gradients, preconditioned by a factorization of the free block: the first direction is nearly Newton's. A
    direction ends at the boundary of the box, and the search restarts without the coefficients at the boundary; the
    factorization is still a good preconditioner, since it differs by a rank of at most their number. ``even`` is the
    preconditioned constant vector, a multiple of which is subtracted so that a direction sums to 0 and Σβ is kept. The
    objective never gets worse.
    """
    inner, everything = block(gram, free), np.arange(len(free))
    start, beta, rest = taken(coefficients, free), taken(coefficients, free), taken(residuals, free)
    floor, ceiling = taken(lower, free), taken(upper, free)
    factor = cholesky(inner)
    moving, even = np.ones(len(free)), solved(factor, np.ones(len(free)))
    direction, image = np.zeros(len(free)), np.empty(len(free))
    energy, used = np.inf, 0
    while used < max_products and spread_of(rest, moving) >= POLISHED * tolerance:
        scaled = solved(factor, rest * moving) * moving
        level = scaled.sum() / even.sum()
        scaled -= level * even
        previous, energy = energy, (scaled * (rest - level)).sum()
        if not energy > 0:  # all differences are lost in rounding
            break
        direction = scaled + energy / previous * direction
        image[:] = 0.0
        add_rows(inner, everything, direction, image)
        used += 1
        if walk(beta, rest, floor, ceiling, moving, direction, image):
            even = solved(factor, moving) * moving
            energy = np.inf
    put(coefficients, free, beta)
    add_rows(gram, free, start - beta, residuals)
    return used


@njit(nogil=True, cache=True)
def spread_of(residuals, moving):
    """Return the range of the residuals of the moving coefficients (1, the others 0)."""
    highest, lowest = -np.inf, np.inf
    for t in range(len(moving)):
        if moving[t] > 0:
            highest, lowest = max(highest, residuals[t]), min(lowest, residuals[t])
    return highest - lowest


@njit(nogil=True, cache=True)
def cholesky(matrix):
    """Return the upper U (n, n) float64 with UᵀU = K + ridge; pivots that are smaller by rounding become the ridge."""
    n = len(matrix)
    factor, rows, weights = np.zeros((n, n)), np.arange(n), np.empty(n)
    trace = 0.0
    for k in range(n):
        trace += matrix[k, k]
    ridge = max(RIDGE * trace / n, FLAT)
    for k in range(n):
        row = factor[k, k:]
        for t in range(k):
            weights[t] = -factor[t, k]
        for t in range(k, n):
            row[t - k] = matrix[k, t]
        row[0] += ridge
        add_rows(factor, rows[:k], weights, row)
        pivot = np.sqrt(max(row[0], ridge))
        for t in range(n - k):
            row[t] /= pivot
    return factor


@njit(nogil=True, cache=True)
def solved(factor, values):
    """Return the solution x of UᵀUx = values, for the factor U of `cholesky`."""
    n = len(values)
    x = values.copy()
    for k in range(n):
        x[k] /= factor[k, k]
        row, below, share = factor[k, k + 1 :], x[k + 1 :], x[k]
        for t in range(len(below)):
            below[t] -= share * row[t]
    for k in range(n - 1, -1, -1):
        x[k] = (x[k] - inner_product(factor[k, k + 1 :], x[k + 1 :])) / factor[k, k]
    return x


# The only loop whose sum the compiler may reorder, to generate vector code; the result affects only directions.
@njit(nogil=True, cache=True, fastmath={"reassoc", "nsz"})
def inner_product(a, b):
    """Return the inner product of two float64 arrays."""
    total = 0.0
    for t in range(len(a)):
        total += a[t] * b[t]
    return total


@njit(nogil=True, cache=True)
def walk(coefficients, residuals, lower, upper, moving, direction, image):
    """Move to the optimum along a ray, or to the boundary of the box; return whether the boundary was reached.

    ``image`` is K times the direction. Coefficients and residuals are written, and ``moving``: 0 for those at the
    boundary.
    """
    slope, curvature, wall, at = 0.0, 0.0, np.inf, 0
    for t in range(len(direction)):
        slope += direction[t] * residuals[t]
        curvature += direction[t] * image[t]
        if direction[t] != 0:
            bound = upper[t] if direction[t] > 0 else lower[t]
            room = (bound - coefficients[t]) / direction[t]
            if room < wall:
                wall, at = room, t
    best = max(slope, 0.0) / curvature if curvature > FLAT * slope else np.inf
    step = min(best, wall)
    for t in range(len(direction)):
        coefficients[t] = min(max(coefficients[t] + step * direction[t], lower[t]), upper[t])
        residuals[t] -= step * image[t]
    if best >= wall:
        coefficients[at] = upper[at] if direction[at] > 0 else lower[at]
        for t in range(len(direction)):
            if not lower[t] < coefficients[t] < upper[t]:
                moving[t] = 0.0
    return best >= wall


@njit(nogil=True, cache=True)
def add_rows(matrix, rows, weights, out):
    """Add the chosen rows times their weights to ``out``, which may be the last columns of the matrix only.

    ``rows`` and ``weights`` (r,), ``out`` (m,) float64 is written; four rows at a time, for fewer memory accesses.
    """
    whole, first = len(rows) - len(rows) % 4, matrix.shape[1] - len(out)
    for s in range(0, whole, 4):
        a, b = matrix[rows[s], first:], matrix[rows[s + 1], first:]
        c, d = matrix[rows[s + 2], first:], matrix[rows[s + 3], first:]
        u, v, w, x = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
        for t in range(len(out)):
            out[t] += (u * a[t] + v * b[t]) + (w * c[t] + x * d[t])
    for s in range(whole, len(rows)):
        row, weight = matrix[rows[s], first:], weights[s]
        for t in range(len(out)):
            out[t] += weight * row[t]


@njit(nogil=True, cache=True)
def refresh(gram, signs, coefficients, residuals):
    """Recompute the residuals of all coefficients."""
    used = np.flatnonzero(coefficients)
    copy(signs, residuals)
    add_rows(gram, used, -taken(coefficients, used), residuals)


@njit(nogil=True, cache=True)
def bias_of(coefficients, residuals, lower, upper):
    """Return the bias: the mean residual of the free coefficients, or the middle of the range of those at bounds."""
    total, n_free = 0.0, 0
    highest, lowest = -np.inf, np.inf
    for t in range(len(coefficients)):
        if lower[t] < coefficients[t] < upper[t]:
            total += residuals[t]
            n_free += 1
        if coefficients[t] < upper[t]:
            highest = max(highest, residuals[t])
        if coefficients[t] > lower[t]:
            lowest = min(lowest, residuals[t])
    return total / n_free if n_free > 0 else (highest + lowest) / 2


@njit(nogil=True, cache=True)
def stretch(coefficients, residuals, signs, ratio):
    """Scale a solution toward a box that is ``ratio`` > 1 times as large, in place (residuals too).

    The dual objective along the ray s·β is a parabola with its maximum at s = Σα / βᵀKβ; the best s in [1, ratio] is
    feasible in the larger box and a starting point no worse than the old solution.
    """
    mass, energy = 0.0, 0.0
    for t in range(len(signs)):
        mass += signs[t] * coefficients[t]
        energy += coefficients[t] * (signs[t] - residuals[t])
    s = ratio if energy <= 0 else min(max(mass / energy, 1.0), ratio)
    for t in range(len(signs)):
        coefficients[t] *= s
        residuals[t] = signs[t] - s * (signs[t] - residuals[t])


@njit(nogil=True, cache=True)
def solution_path(gram, signs, C, tolerance, max_iter):
    """Solve for each C (ascending); return coefficients (c, n), biases (c,), numbers of fits and of unconverged ones.

    ``gram`` (n, n) float32: as in LIBSVM, the training matrix has single precision, because solving is memory-bound;
    all sums have double precision. ``signs`` (n,) ±1.0, ``C`` (c,) float64. Nothing is written. Each fit starts from
    the previous one. If no coefficient has reached C, the solution is optimal for all larger C, and the path ends.
    """
    n = len(signs)
    path, biases = np.empty((len(C), n)), np.empty(len(C))
    coefficients, residuals = np.zeros(n), signs.copy()
    n_fits, n_unconverged = 0, 0
    for position in range(len(C)):
        if position > 0:
            stretch(coefficients, residuals, signs, C[position] / C[position - 1])
            for t in range(n):
                coefficients[t] = min(max(coefficients[t], -C[position]), C[position])
        bias, converged = solve(gram, signs, C[position], tolerance, max_iter, coefficients, residuals)
        n_fits += 1
        n_unconverged += not converged
        biases[position:] = bias
        for later in range(position, len(C)):
            copy(coefficients, path[later])
        if converged and np.abs(coefficients).max() < C[position]:
            break
    return path, biases, n_fits, n_unconverged


@njit(nogil=True, cache=True)
def add_losses(rows, task, models, is_hinge, losses, gradients):
    """Add the weighted losses of linear models to ``losses`` (m,), and their gradients to ``gradients`` (f + 1, m).

    ``rows`` are indptr, indices (< 2³²) and data of a sparse matrix (n, f). ``task`` holds targets (n, t), weights (n,)
    and the fold in which each row is held out (n,); ``models`` coefficients (f + 1, m) with the intercepts last, the
    target of each model (m,), and the fold that it leaves out (m,). A row is read once for all models, and its slopes
    are added while it is in the cache.
    """
    indptr, indices, data = rows
    targets, weights, folds = task
    coefficients, outputs, left_out = models
    n_features, n_models = len(coefficients) - 1, len(outputs)
    n_triples = n_models - n_models % 3
    values = np.empty(n_models)
    for row in range(len(indptr) - 1):
        first, last, weight = indptr[row], indptr[row + 1], weights[row]
        for k in range(0, n_triples, 3):  # mostly three folds: sums that stay in registers
            a, b, c = 0.0, 0.0, 0.0
            for entry in range(first, last):
                feature, value = np.uint32(indices[entry]), data[entry]
                a += value * coefficients[feature, k]
                b += value * coefficients[feature, k + 1]
                c += value * coefficients[feature, k + 2]
            values[k], values[k + 1], values[k + 2] = a, b, c
        for k in range(n_triples, n_models):
            a = 0.0
            for entry in range(first, last):
                a += data[entry] * coefficients[np.uint32(indices[entry]), k]
            values[k] = a
        for k in range(n_models):
            slope = 0.0
            if left_out[k] != folds[row]:
                target, value = targets[row, outputs[k]], values[k] + coefficients[n_features, k]
                gap = max(1 - target * value, 0.0) if is_hinge else target - value
                losses[k] += weight * gap * gap
                slope = -2 * weight * gap * (target if is_hinge else 1.0)
                gradients[n_features, k] += slope
            values[k] = slope
        for k in range(0, n_triples, 3):
            a, b, c = values[k], values[k + 1], values[k + 2]
            if a == 0 and b == 0 and c == 0:
                continue
            for entry in range(first, last):
                feature, value = np.uint32(indices[entry]), data[entry]
                gradients[feature, k] += value * a
                gradients[feature, k + 1] += value * b
                gradients[feature, k + 2] += value * c
        for k in range(n_triples, n_models):
            a = values[k]
            if a != 0:
                for entry in range(first, last):
                    gradients[np.uint32(indices[entry]), k] += data[entry] * a
