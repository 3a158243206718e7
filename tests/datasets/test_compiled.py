"""Numbers in text: read as Python reads them."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from relaxwl.datasets._compiled import parse_floats, parse_integers


def floats_of(text: str, n_columns: int = 1) -> tuple[np.ndarray, list[list[int]], int]:
    table = np.full((text.count("\n") + 1, n_columns), np.nan)
    undecided = np.empty((table.size, 3), np.int64)
    n_rows, n_undecided, bad = parse_floats(np.frombuffer(text.encode(), np.uint8), table, undecided)
    return table[:n_rows], undecided[:n_undecided].tolist(), bad


@given(st.lists(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=3, max_size=3), max_size=20))
def test_integers_come_back(rows):
    text = "".join(", ".join(map(str, row)) + "\n" for row in rows).encode()
    table = np.empty((len(rows) + 1, 3), np.int64)
    n_rows, bad = parse_integers(np.frombuffer(text, np.uint8), table)
    assert (n_rows, bad) == (len(rows), -1)
    assert table[:n_rows].tolist() == rows


decimals = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e6, 1e6).map("{:.6f}".format),
    st.floats(allow_nan=False, allow_infinity=False).map("{:.18e}".format),
    st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)


@given(decimals)
@example("9007199254740991e22")
@example("9007199254740993")
@example("1e-22")
@example("1e23")
@example("-0.0")
@example("0." + "0" * 40 + "1")
@example("0" * 40 + "1.5")
@example("1e" + "0" * 30 + "1")
@example("1e99999999999999999999")
def test_decided_floats_are_correctly_rounded(text):
    table, undecided, bad = floats_of(text)
    assert bad == -1
    if undecided:
        assert undecided == [[0, 0, len(text)]]
    else:
        assert table[0, 0].tobytes() == np.float64(text).tobytes()


def test_ordinary_decimals_need_no_second_look():
    table, undecided, _ = floats_of(" -2.626347,  2.492403\r\n1e5,-.5\n+3.,0.1", 2)
    assert undecided == []
    assert table.tolist() == [[-2.626347, 2.492403], [1e5, -0.5], [3.0, 0.1]]
