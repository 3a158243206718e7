"""Rows and centers for tests of the search."""

import numpy as np
from hypothesis import strategies as st

from relaxwl.unfolding import TreeRows

N_POINTS = 4
CHILDREN = st.dictionaries(st.integers(0, N_POINTS - 1), st.integers(1, 4), max_size=N_POINTS)
ROWS = st.lists(st.tuples(st.integers(0, 2), CHILDREN), min_size=1, max_size=12)
MASSES = st.integers(1, 12).map(lambda quarters: quarters / 4)
CENTERS = st.lists(
    st.tuples(st.integers(0, 2), st.dictionaries(st.integers(0, N_POINTS - 1), MASSES, max_size=N_POINTS)),
    min_size=1,
    max_size=6,
)


def make_centers(content, n_points=N_POINTS):
    return TreeRows.from_parts(
        [
            (root, np.array(sorted(masses), np.int32), np.array([masses[point] for point in sorted(masses)], float))
            for root, masses in content
        ],
        n_points,
    )


# Whole costs, real ones, and ones far beyond single precision, all exact in binary.
UNITS = st.sampled_from([1.0, 0.375, 2.0**300, 2.0**-300])
