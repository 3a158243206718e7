"""Integers in text: read as Python reads them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from relaxwl.datasets._compiled import parse_integers


@given(st.lists(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=3, max_size=3), max_size=20))
def test_integers_come_back(rows):
    text = "".join(", ".join(map(str, row)) + "\n" for row in rows).encode()
    table = np.empty((len(rows) + 1, 3), np.int64)
    n_rows, bad = parse_integers(np.frombuffer(text, np.uint8), table)
    assert (n_rows, bad) == (len(rows), -1)
    assert table[:n_rows].tolist() == rows
