"""Numba code: support vector machines of two classes along a path of penalties."""

import numpy as np
from numba import njit

# A pair of graphs that the kernel cannot tell apart has curvature 0; this keeps the step finite, the box bounds it.
FLAT = 1e-12
# Steps between two looks at what can be set aside; fewer on small problems.
SHRINK_EVERY = 1000


@njit(nogil=True, cache=True)
def gather(gram, rows, columns, scale):
    """Return ``scale * gram[rows][:, columns]``; (n, m) float64 from a float64 matrix and two int64 arrays."""
    out = np.empty((len(rows), len(columns)))
    for i in range(len(rows)):
        row = gram[rows[i]]
        for j in range(len(columns)):
            out[i, j] = row[columns[j]] * scale
    return out


@njit(nogil=True, cache=True)
def solve(gram, signs, C, tolerance, max_iter, coefficients, residuals):
    """Solve the dual of a support vector machine by sequential minimal optimisation; return (bias, converged).

    ``gram`` (n, n) float64; ``signs`` (n,) float64, +1 or -1. ``coefficients`` β_t = y_t α_t and ``residuals``
    F_t = y_t - (Kβ)_t, both (n,) float64, are written; on entry they hold a feasible start (Σβ = 0, 0 ≤ y_t β_t ≤ C)
    and its residuals. Each step moves mass from β_j to β_i, where i violates optimality most and j gains most to second
    order, so Σβ = 0 and the box hold throughout. Optimal within the tolerance when max F over those that may grow
    exceeds min F over those that may shrink by less than it: LIBSVM's rule, and its choice of pairs. As there,
    coefficients that sit at a bound for good reason are set aside (not ``active``) and looked at before the end.
    """
    n = len(signs)
    upper, lower, diagonal = np.empty(n), np.empty(n), np.empty(n)
    for t in range(n):
        upper[t] = C if signs[t] > 0 else 0.0
        lower[t] = 0.0 if signs[t] > 0 else -C
        diagonal[t] = gram[t, t]
    active, n_active = np.arange(n), n
    patience = min(n, SHRINK_EVERY)
    for iteration in range(max_iter):
        i, j, gap = violating_pair(gram, diagonal, coefficients, residuals, lower, upper, active, n_active)
        if gap < tolerance:
            if n_active == n:
                return bias_of(coefficients, residuals, lower, upper), True
            refresh(gram, signs, coefficients, residuals)
            active, n_active = np.arange(n), n
            continue
        step = (residuals[i] - residuals[j]) / max(diagonal[i] + diagonal[j] - 2 * gram[i, j], FLAT)
        room, stock = upper[i] - coefficients[i], coefficients[j] - lower[j]
        step = min(step, room, stock)
        # Exactly onto the bound where the bound decides, so that later comparisons see it.
        coefficients[i] = upper[i] if step == room else coefficients[i] + step
        coefficients[j] = lower[j] if step == stock else coefficients[j] - step
        row, other = gram[i], gram[j]
        for a in range(n_active):
            t = active[a]
            residuals[t] -= step * (row[t] - other[t])
        if (iteration + 1) % patience == 0:
            n_active = set_aside(coefficients, residuals, lower, upper, active, n_active)
    refresh(gram, signs, coefficients, residuals)
    return bias_of(coefficients, residuals, lower, upper), False


@njit(nogil=True, cache=True)
def violating_pair(gram, diagonal, coefficients, residuals, lower, upper, active, n_active):
    """Return who gains most by taking mass from whom, among the active, and by how much optimality is violated."""
    i, highest = -1, -np.inf
    for a in range(n_active):
        t = active[a]
        if residuals[t] > highest and coefficients[t] < upper[t]:
            i, highest = t, residuals[t]
    if i < 0:
        return -1, -1, 0.0
    j, best, lowest = -1, 0.0, np.inf
    row, own = gram[i], diagonal[i]
    for a in range(n_active):
        t = active[a]
        if coefficients[t] > lower[t]:
            lowest = min(lowest, residuals[t])
            gap = highest - residuals[t]
            if gap > 0:
                gain = gap * gap / max(own + diagonal[t] - 2 * row[t], FLAT)
                if gain > best:
                    j, best = t, gain
    return i, j, highest - lowest if j >= 0 else 0.0


@njit(nogil=True, cache=True)
def set_aside(coefficients, residuals, lower, upper, active, n_active):
    """Drop from the active (written; in order) what sits at a bound and pushes against it; return how many remain."""
    highest, lowest = -np.inf, np.inf
    for a in range(n_active):
        t = active[a]
        if coefficients[t] < upper[t]:
            highest = max(highest, residuals[t])
        if coefficients[t] > lower[t]:
            lowest = min(lowest, residuals[t])
    kept = 0
    for a in range(n_active):
        t = active[a]
        full, empty = coefficients[t] >= upper[t], coefficients[t] <= lower[t]
        if not ((full and residuals[t] > highest) or (empty and residuals[t] < lowest)):
            active[kept] = t
            kept += 1
    return kept


@njit(nogil=True, cache=True)
def refresh(gram, signs, coefficients, residuals):
    """Write the residuals of all coefficients anew."""
    residuals[:] = signs
    for j in range(len(signs)):
        if coefficients[j] != 0:
            row = gram[j]
            for t in range(len(signs)):
                residuals[t] -= coefficients[j] * row[t]


@njit(nogil=True, cache=True)
def bias_of(coefficients, residuals, lower, upper):
    """Return the bias: the mean residual of the free coefficients, or the middle of what the bounded ones allow."""
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
    """Scale a solution towards a box that is ``ratio`` > 1 times as large, in place (residuals too).

    The dual objective along the ray s·β is a parabola with its top at s = Σα / βᵀKβ; the best s in [1, ratio] is
    feasible in the larger box and a start no worse than the old solution.
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
def decision_path(gram, fit, signs, held_out, scale, C, tolerance, max_iter):
    """Fit on the graphs ``fit`` with each C (ascending) and return the decision values of ``held_out``.

    ``gram`` (N, N) float64, ``fit`` (n,) and ``held_out`` (m,) int64 positions in it, ``signs`` (n,) ±1.0, ``C`` (c,)
    float64. Returns decisions (c, m) float64, the number of fits and the number of those that reached ``max_iter``.
    Nothing is written. Each fit starts from the one before. If no coefficient has reached C, the solution is optimal
    for every larger C, and the path ends.
    """
    training = gather(gram, fit, fit, scale)
    unseen = gather(gram, fit, held_out, scale)
    n = len(fit)
    decisions = np.zeros((len(C), len(held_out)))
    coefficients, residuals = np.zeros(n), signs.copy()
    n_unconverged = 0
    for position in range(len(C)):
        if position > 0:
            stretch(coefficients, residuals, signs, C[position] / C[position - 1])
            for t in range(n):
                coefficients[t] = min(max(coefficients[t], -C[position]), C[position])
        bias, converged = solve(training, signs, C[position], tolerance, max_iter, coefficients, residuals)
        n_unconverged += not converged
        values = decisions[position]
        values[:] = bias
        largest = 0.0
        for t in range(n):
            largest = max(largest, abs(coefficients[t]))
            if coefficients[t] != 0:
                for h in range(len(held_out)):
                    values[h] += coefficients[t] * unseen[t, h]
        if converged and largest < C[position]:
            for rest in range(position + 1, len(C)):
                decisions[rest] = values
            return decisions, position + 1, n_unconverged
    return decisions, len(C), n_unconverged
