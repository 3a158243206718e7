"""Unary code of counts: explicit features whose dot product is Σ min, the intersection of histograms.

A count c is represented by ones in the first c of the columns 1, ..., m of its cluster, where m is the largest count of
the fit; two graphs share min(c, c') ones. If m is large, or counts are not integers, there is a column for each
distinct count t₁ < t₂ < … of the fit instead: the step from t₋ to t has the value √(t − t₋), and a count within it has
a proportional share. Products with graphs of the fit, whose counts end at steps, are exact in both cases.
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from relaxwl._memory import check_memory
from relaxwl.graphs.arrays import Float64, Int32, Int64, prefix_sums
from relaxwl.kernels import _compiled
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.gram import joined_depths, self_similarities

# Largest count of a column up to which it has unit steps; otherwise it has one step for each distinct count.
MAX_UNIT_STEPS = 64
# Bytes of an index and a value, twice, because entries are copied when depths are scaled and concatenated.
BYTES_PER_ENTRY = 2 * (4 + 8)


def weighted_features(counts: list[Counts], weights: Float64, normalize: bool | str) -> csr_array:
    """Return counts times √α of their depth; with ``normalize`` rows, or their parts of each depth, have length 1."""
    if normalize == "depth":
        counts = [replace(part, matrix=divided(part.matrix, self_similarities(part))) for part in counts]
    joined = joined_depths(counts, weights)
    return divided(joined.matrix, self_similarities(joined)) if normalize and normalize != "depth" else joined.matrix


def unary_features(
    counts: list[Counts], codes: list[tuple[Int64, Float64]], weights: Float64, normalize: bool | str
) -> csr_array:
    """Return counts in the unary code times √α of their depth; lengths are those of the counts themselves."""
    coded = [replace(part, matrix=unary_code(part.matrix, *steps)) for part, steps in zip(counts, codes, strict=True)]
    sizes = [self_similarities(part, minimum=True) for part in counts]
    if normalize == "depth":
        coded = [replace(part, matrix=divided(part.matrix, size)) for part, size in zip(coded, sizes, strict=True)]
    features = joined_depths(coded, weights).matrix
    return divided(features, weights @ np.array(sizes)) if normalize and normalize != "depth" else features


def divided(matrix: csr_array, squares: Float64) -> csr_array:
    """Return rows divided by their lengths, given the squares of these; a row of length 0 stays at 0."""
    lengths = np.repeat(np.sqrt(np.where(squares > 0, squares, 1.0)), np.diff(matrix.indptr))
    return csr_array((matrix.data / lengths, matrix.indices, matrix.indptr), shape=matrix.shape)


def unary_steps(columns: Int32, values: Float64, n_columns: int) -> tuple[Int64, Float64]:
    """Return (starts, steps): where the steps of each column begin, and the counts at which they end.

    ``columns`` and ``values`` are the counts of the fit, in any order and with repetitions: results of
    :func:`distinct_counts` for several shards may be concatenated.
    """
    largest = np.zeros(n_columns)
    np.maximum.at(largest, columns, values)
    unit = largest <= MAX_UNIT_STEPS
    unit[columns[values != np.rint(values)]] = False
    others = ~unit[columns]
    columns, values = distinct_counts(columns[others], values[others])
    sizes = np.where(unit, largest, np.bincount(columns, minlength=n_columns)).astype(np.int64)
    starts = prefix_sums(sizes)
    steps = np.arange(1.0, starts[-1] + 1) - np.repeat(starts[:-1], sizes)
    steps[np.repeat(~unit, sizes)] = values
    return starts, steps


def distinct_counts(columns: Int32, values: Float64) -> tuple[Int32, Float64]:
    """Return the distinct pairs of a column and a count > 0, sorted."""
    known, codes = np.unique(values, return_inverse=True)
    keys = np.unique((columns * np.int64(max(len(known), 1)) + codes)[values > 0])
    found, places = np.divmod(keys, max(len(known), 1))
    return found.astype(np.int32), known[places]


def unary_code(matrix: csr_array, starts: Int64, steps: Float64) -> csr_array:
    """Return counts in the unary code: one row per graph, one column per step, 32-bit indices if these suffice."""
    if matrix.shape[1] != len(starts) - 1:
        raise ValueError(f"counts have {matrix.shape[1]} columns, and the unary code was fitted to {len(starts) - 1}")
    columns = matrix.indices
    sizes = _compiled.unary_sizes(columns, matrix.data, starts, steps)
    before = prefix_sums(sizes)
    n_entries = int(before[-1])
    check_memory(
        BYTES_PER_ENTRY * n_entries,
        f"the unary features of {matrix.shape[0]} graphs, with {n_entries} entries,",
        "use similarity='dot', a smaller max_depth, or fewer graphs at a time",
    )
    index = np.int32 if max(n_entries, len(steps)) <= np.iinfo(np.int32).max else np.int64
    indices, data = np.empty(n_entries, index), np.empty(n_entries)
    _compiled.fill_unary(columns, matrix.data, sizes, starts, steps, indices, data)
    return csr_array((data, indices, before[matrix.indptr].astype(index)), shape=(matrix.shape[0], len(steps)))


def step_names(names: list[str], codes: list[tuple[Int64, Float64]]) -> list[str]:
    """Return the name of each column of the unary code, given those of the clusters of all depths."""
    found, clusters = [], iter(names)
    for starts, steps in codes:
        for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            name, ends = next(clusters), steps[first:last].tolist()
            found += [
                f"{name}, at least {end:.12g}" if end - below == 1 else f"{name}, from {below:.12g} to {end:.12g}"
                for below, end in zip([0.0, *ends], ends, strict=False)
            ]
    return found
