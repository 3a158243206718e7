"""Labels as integer codes into a vocabulary sorted by label value."""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Label = Hashable
Vocabulary = tuple[Label, ...]

# Kinds of labels, in the order of label_order.
KINDS = ("numbers", "text", "tuples")

# Bound of integer labels: those of NumPy and Arrow have 64 bits.
MAX_INTEGER = 2**63

# Maximum nesting of tuples in a label, low enough for all functions of labels to recurse.
MAX_NESTING = 100


def sort_labels(values: Iterable[Label]) -> Vocabulary:
    """Return the distinct values in an order that depends on the values alone (see :func:`label_order`).

    >>> sort_labels(["b", 10, "a", 2, 2.0])
    (2, 10, 'a', 'b')
    """
    return tuple(sorted({plain_label(value) for value in values}, key=label_order))


def label_order(value: Label) -> tuple[Any, ...]:
    """Return a key by which any two labels compare: numbers, then strings, then tuples, each by value.

    >>> sorted(["b", 10, (1, "x"), 2], key=label_order)
    [2, 10, 'b', (1, 'x')]
    """
    if isinstance(value, str):
        return 1, value
    if isinstance(value, tuple):
        return 2, tuple(label_order(part) for part in value)
    return 0, value


def encode_labels(values: Sequence[Label] | NDArray[Any]) -> tuple[NDArray[np.int32], Vocabulary]:
    """Return one integer code per value and the sorted vocabulary that the codes point into."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biufU":
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int32), tuple(plain_label(value) for value in distinct.tolist())
    plain = [plain_label(value) for value in values]
    vocabulary = sort_labels(set(plain))
    code_of = {value: code for code, value in enumerate(vocabulary)}
    return np.fromiter((code_of[value] for value in plain), np.int32, len(plain)), vocabulary


def match_codes(vocabulary: Vocabulary, reference: Vocabulary) -> NDArray[np.int32]:
    """Return, for each code of ``vocabulary``, its code in ``reference``.

    A value that ``reference`` lacks gets a code of its own from ``len(reference)`` on, in vocabulary order.

    >>> match_codes(("C", "N", "O"), ("C", "O"))
    array([0, 2, 1], dtype=int32)
    """
    known = {value: code for code, value in enumerate(reference)}
    codes = np.empty(len(vocabulary), np.int32)
    next_unseen = len(reference)
    for position, value in enumerate(vocabulary):
        code = known.get(value)
        if code is None:
            code, next_unseen = next_unseen, next_unseen + 1
        codes[position] = code
    return codes


def check_same_kind(labels: Sequence[Label], fitted: Sequence[Label], what: str = "labels") -> None:
    """Raise an error if no label has a type seen in fitting, as when numbers were read as strings.

    >>> check_same_kind(["1", "2"], [1, 2])
    Traceback (most recent call last):
    ...
    ValueError: the kernel was fitted on labels that are numbers (1, …), and these labels are text ('1', …): convert
    """
    if (
        not labels
        or not fitted
        or {label_order(label)[0] for label in labels} & {label_order(label)[0] for label in fitted}
    ):
        return
    before, now = (f"{KINDS[label_order(some[0])[0]]} ({some[0]!r}, …)" for some in (fitted, labels))
    raise ValueError(f"the kernel was fitted on {what} that are {before}, and these {what} are {now}: convert")


def plain_label(value: Any, nesting: int = 0) -> Label:
    """Return the canonical form of a label: an integer, a float, a string or a tuple of these.

    NumPy scalars become Python values, arrays and lists become tuples, and whole numbers become integers: ``True``,
    ``1`` and ``1.0`` are equal in Python, so which of them a vocabulary contains must not depend on which came first.
    Anything else is refused: labels are sorted, stored and compared between machines by their value. ``nesting`` counts
    the tuples around the value.

    >>> plain_label(np.float32(2)), plain_label([1.0, "a"])
    (2, (1, 'a'))
    """
    if type(value) is str or (type(value) is int and -MAX_INTEGER <= value < MAX_INTEGER):
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        check_nesting(nesting)
        return tuple(plain_label(part, nesting + 1) for part in value)
    if isinstance(value, str):
        return str.__str__(value)  # only the text of a subclass such as an enumeration
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"a label is {value}; labels must be finite")
        return int(value) if value.is_integer() and abs(value) < MAX_INTEGER else float(value)
    if isinstance(value, int):
        if not -MAX_INTEGER <= value < MAX_INTEGER:
            raise ValueError(f"a label is an integer of {value.bit_length() + 1} bits; use 64 bits or texts")
        return int(value)
    raise TypeError(f"a label must be a number, a string or a tuple of these, not {type(value).__name__} {value!r}")


def check_nesting(nesting: int) -> None:
    """Raise an error if tuples are nested too deeply."""
    if nesting >= MAX_NESTING:
        raise ValueError(f"a label has more than {MAX_NESTING} tuples within each other; use a flat tuple or a string")
