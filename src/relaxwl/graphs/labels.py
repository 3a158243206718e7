"""Labels as integer codes into a vocabulary sorted by label value."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Label = Hashable
Vocabulary = tuple[Label, ...]


def sort_labels(values: Iterable[Label]) -> Vocabulary:
    """Return the distinct values in an order that depends on the values alone.

    Values that Python cannot compare with each other are ordered by type name first.

    >>> sort_labels(["b", 2, "a", 1, 2])
    (1, 2, 'a', 'b')
    """
    distinct = set(values)
    try:
        return tuple(sorted(distinct))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(distinct, key=lambda value: (type(value).__name__, str(value))))


def encode_labels(values: Sequence[Label] | NDArray[Any]) -> tuple[NDArray[np.int32], Vocabulary]:
    """Return one integer code per value and the sorted vocabulary that the codes point into."""
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.ndim == 1 and array.dtype.kind in "iub":
        distinct, codes = np.unique(array, return_inverse=True)
        return codes.astype(np.int32), tuple(distinct.tolist())
    plain = [plain_label(value) for value in values]
    vocabulary = sort_labels(plain)
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


def plain_label(value: Any) -> Label:
    """Turn NumPy scalars and small arrays into the Python values they stand for; refuse what is no label."""
    if isinstance(value, np.generic):
        value = value.item()
    elif isinstance(value, np.ndarray):
        value = value.item() if value.ndim == 0 else tuple(value.tolist())
    elif isinstance(value, list):
        value = tuple(value)
    if isinstance(value, float) and value != value:
        raise ValueError("a label is NaN; labels must be equal to themselves")
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"a label of type {type(value).__name__} is not hashable: {value!r}") from None
    return value  # type: ignore[no-any-return]
