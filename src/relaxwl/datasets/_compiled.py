"""Compiled parsing of comma-separated numbers straight from the bytes of a file."""

import numpy as np

from relaxwl._compiling import njit

TAB, NEWLINE, RETURN, SPACE, PLUS, COMMA, MINUS, ZERO = 9, 10, 13, 32, 43, 44, 45, 48

# Up to 18 digits fit into int64 whatever they are.
MAX_DIGITS = 18


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
            if position >= size:
                if column < last_column:
                    return row, np.int64(line)
            elif text[position] != (NEWLINE if column == last_column else COMMA):
                return row, np.int64(line)
            position += one
        row += 1
    return row, -1


@njit(nogil=True, cache=True, inline="always")
def _is_blank(byte):
    """Whether a byte is white space within a line; a return before a newline is such."""
    return byte in (SPACE, TAB, RETURN)
