"""Compiled parsing of comma-separated numbers straight from the bytes of a file."""

import numpy as np

from relaxwl._compiling import njit

TAB, NEWLINE, RETURN, SPACE, PLUS, COMMA, MINUS, POINT, ZERO = 9, 10, 13, 32, 43, 44, 45, 46, 48
UPPER_E, LOWER_E = 69, 101

# Up to 18 digits fit into int64 whatever they are.
MAX_DIGITS = 18
# A mantissa below 2**53 and these powers of ten are exact doubles, so one operation on them rounds only once.
MAX_EXACT_MANTISSA = 2**53
MAX_EXACT_EXPONENT = 22
POWERS_OF_TEN = np.array([float(f"1e{exponent}") for exponent in range(MAX_EXACT_EXPONENT + 1)])


@njit(nogil=True, cache=True)
def parse_integers(text, table):
    """Read lines of comma-separated integers.

    Parameters
    ----------
    text : uint8 array, shape (n_bytes,)
        Lines end with a newline, the last one perhaps without; blanks and returns around numbers mean nothing.
    table : int64 array, shape (max_rows, n_columns)
        Written: row ``r`` holds line ``r``. It must have a row for each newline and one more.

    Returns
    -------
    n_rows, bad : int64
        How many lines were read, and the first byte of the line that could not be, -1 if there was none. An empty
        line counts as one that could not be read: the caller knows whether more than emptiness follows.
    """
    # Unsigned positions spare the check for indices from the end: half as fast again.
    size = np.uint64(text.size)
    one = np.uint64(1)
    last_column = table.shape[1] - 1
    position = np.uint64(0)
    row = 0
    while position < size:
        line = position
        for column in range(last_column + 1):
            while position < size and _is_blank(text[position]):
                position += one
            negative = position < size and text[position] == MINUS
            if negative or (position < size and text[position] == PLUS):
                position += one
            start = position
            value = 0
            while position < size:
                digit = np.int64(text[position]) - ZERO
                if digit < 0 or digit > 9:
                    break
                value = 10 * value + digit
                position += one
            if position == start or position - start > np.uint64(MAX_DIGITS):
                return row, np.int64(line)
            table[row, column] = -value if negative else value
            while position < size and _is_blank(text[position]):
                position += one
            if not _ends_cell(text, position, size, column == last_column):
                return row, np.int64(line)
            position += one
        row += 1
    return row, -1


@njit(nogil=True, cache=True)
def parse_floats(text, table, undecided):
    """Read lines of comma-separated decimal numbers, each either correctly rounded or left to the caller.

    Parameters
    ----------
    text : uint8 array, shape (n_bytes,)
        As in ``parse_integers``.
    table : float64 array, shape (max_rows, n_columns)
        Written: row ``r`` holds line ``r``; the undecided cells stay as they are.
    undecided : int64 array, shape (max_rows * n_columns, 3)
        Written: flat index in ``table``, first byte and end of each cell that is not a number for which two exact
        doubles and one rounding give the value: more digits than a double holds, extreme exponents, words.

    Returns
    -------
    n_rows, n_undecided, bad : int64
        How many lines were read, how many cells of them are undecided, and the first byte of the line with a wrong
        number of cells or an empty one, -1 if there was none.
    """
    size = text.size
    last_column = table.shape[1] - 1
    position = 0
    row = 0
    n_undecided = 0
    while position < size:
        line = position
        n_before = n_undecided
        for column in range(last_column + 1):
            while position < size and _is_blank(text[position]):
                position += 1
            start = position
            decided, value, position = _exact_decimal(text, start)
            while position < size and _is_blank(text[position]):
                position += 1
            if decided and _ends_cell(text, position, size, column == last_column):
                table[row, column] = value
            else:
                while position < size and text[position] != COMMA and text[position] != NEWLINE:
                    position += 1
                if position == start or not _ends_cell(text, position, size, column == last_column):
                    return row, n_before, line
                undecided[n_undecided, 0] = row * (last_column + 1) + column
                undecided[n_undecided, 1] = start
                undecided[n_undecided, 2] = position
                n_undecided += 1
            position += 1
        row += 1
    return row, n_undecided, -1


@njit(nogil=True, cache=True)
def _exact_decimal(text, position):
    """Return (whether the value is exact up to one rounding, the value, the position after the number)."""
    size = text.size
    negative = position < size and text[position] == MINUS
    if negative or (position < size and text[position] == PLUS):
        position += 1
    mantissa = 0
    n_digits = 0
    n_significant = 0
    exponent = 0
    after_point = False
    while position < size:
        digit = np.int64(text[position]) - ZERO
        if 0 <= digit <= 9:
            n_digits += 1
            if n_significant > 0 or digit > 0:
                n_significant += 1
            if n_significant <= MAX_DIGITS:
                mantissa = 10 * mantissa + digit
            if after_point:
                exponent -= 1
        elif text[position] == POINT and not after_point:
            after_point = True
        else:
            break
        position += 1
    if n_digits == 0 or n_significant > MAX_DIGITS:
        return False, 0.0, position
    if position < size and (text[position] == LOWER_E or text[position] == UPPER_E):
        position += 1
        negative_exponent = position < size and text[position] == MINUS
        if negative_exponent or (position < size and text[position] == PLUS):
            position += 1
        start = position
        written = 0
        while position < size and 0 <= np.int64(text[position]) - ZERO <= 9 and position - start < MAX_DIGITS:
            written = 10 * written + np.int64(text[position]) - ZERO
            position += 1
        if position == start:
            return False, 0.0, position
        exponent += -written if negative_exponent else written
    if mantissa >= MAX_EXACT_MANTISSA or exponent < -MAX_EXACT_EXPONENT or exponent > MAX_EXACT_EXPONENT:
        return False, 0.0, position
    value = np.float64(mantissa)
    value = value / POWERS_OF_TEN[-exponent] if exponent < 0 else value * POWERS_OF_TEN[exponent]
    return True, -value if negative else value, position


@njit(nogil=True, cache=True, inline="always")
def _is_blank(byte):
    """Whether a byte is white space within a line; a return before a newline is such."""
    return byte in (SPACE, TAB, RETURN)


@njit(nogil=True, cache=True, inline="always")
def _ends_cell(text, position, size, is_last):
    """Whether a cell may end at ``position``: the last of a line before a newline or the end, others at a comma."""
    if position >= size:
        return is_last
    return text[position] == (NEWLINE if is_last else COMMA)
