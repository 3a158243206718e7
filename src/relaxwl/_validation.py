"""Validation of arguments; messages have the form "<name> must be …, not <value>".

scikit-learn's ``check_scalar`` takes ``True`` for 1 and has different messages for types and ranges, and its
``check_random_state`` does not accept a ``Generator``, so both are replaced here. As in scikit-learn's estimators,
errors are both a ``ValueError`` and a ``TypeError``.
"""

import math
import sys
import warnings
from collections.abc import Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator

from relaxwl._memory import check_memory

# Types of random_state in scikit-learn, and NumPy's equivalents.
RandomState = int | np.integer[Any] | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None

# Bound of regression targets, whose squares and their sums must be finite.
LARGEST_TARGET = 1e100

# Characters of texts as an array, in which all are as long as the longest: in any case, and for each of their own.
FREE_CHARACTERS, CHARACTERS_PER_CHARACTER = 10**7, 10

# Bound below which all whole numbers are exact as floats.
MAX_EXACT = 2.0**53

# Number of different whole numbers beyond which they are classes only if each occurs as often.
MANY_CLASSES = 10


class ParameterError(ValueError, TypeError):
    """An argument that cannot be used; the message names it and says what it must be."""


class GraphEstimator(BaseEstimator):
    """Base class of scikit-learn estimators whose samples are graphs or molecules and which validate their input."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural, for messages.

    >>> counted(1, "graph"), counted(0, "edge label")
    ('1 graph', '0 edge labels')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def is_integer(value: Any) -> bool:
    """Whether the value is an integer of Python or NumPy; ``True`` and ``False`` are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_integer(name: str, value: Any, least: int | None = 0, most: int | None = None) -> int:
    """Return an integer within bounds as a Python integer.

    >>> check_integer("max_depth", np.int64(3))
    3
    >>> check_integer("n_partitions", 0, least=1)
    Traceback (most recent call last):
    ...
    relaxwl._validation.ParameterError: n_partitions must be an integer >= 1, not 0
    """
    inside = is_integer(value) and (least is None or value >= least) and (most is None or value <= most)
    if not inside:
        bounds = "" if least is None else f" >= {least}"
        if most is not None:
            bounds = f" <= {most}" if least is None else f" from {least} to {most}"
        raise ParameterError(f"{name} must be an integer{bounds}, not {value!r}")
    return int(value)


def check_number(name: str, value: Any, *, zero: bool = False, most: float = math.inf) -> float:
    """Return a finite number > 0 (with ``zero``, >= 0) as a float.

    >>> check_number("relabel", 0)
    Traceback (most recent call last):
    ...
    relaxwl._validation.ParameterError: relabel must be a finite number > 0, not 0
    """
    real = isinstance(value, Real) and not isinstance(value, bool)
    try:
        number = float(value) if real else math.nan
    except OverflowError:  # an integer too large for a float
        number = math.inf
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero) or number > most:
        bound = f" and <= {most:g}" if most < math.inf else ""
        raise ParameterError(f"{name} must be a finite number {'>=' if zero else '>'} 0{bound}, not {value!r}")
    return number


def check_flag(name: str, value: Any) -> bool:
    """Return a Boolean value; anything else raises an error, since ``"no"`` would count as true."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return the value if it is one of the allowed strings.

    >>> check_choice("base", "tree", ("subtree", "edge"))
    Traceback (most recent call last):
    ...
    relaxwl._validation.ParameterError: base must be one of subtree, edge, not 'tree'
    """
    allowed = tuple(choices)
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
    return str(value)


def repeated(names: Iterable[Any]) -> Any:
    """Return the first of some names that occurred before, or None.

    >>> repeated(["a", "b", "a"])
    'a'
    """
    known = set()
    for name in names:
        if name in known:
            return name
        known.add(name)
    return None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a Generator for a seed or random state; a given Generator is used and advanced."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, np.random.SeedSequence):
        return np.random.default_rng(random_state)
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(_checked_seed(random_state))


def as_seed(random_state: RandomState) -> int:
    """Return an integer seed: a given integer, or one drawn from the random state.

    >>> as_seed(7), as_seed(np.random.default_rng(0)) == as_seed(np.random.default_rng(0))
    (7, True)
    """
    if is_integer(random_state):
        return _checked_seed(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(as_generator(random_state).integers(2**31))


def _checked_seed(random_state: Any) -> int:
    if not is_integer(random_state) or random_state < 0:
        raise ParameterError(
            f"random_state must be an integer >= 0, a NumPy random generator or None, not {random_state!r}"
        )
    return int(random_state)


def overlong(texts: Sequence[Any]) -> int | None:
    """Return the place of a text that is too long to stand in an array with all the others, or None.

    >>> overlong(["a", "b"]), overlong(["a"] * 10**5 + ["a" * 1000])
    (None, 100000)
    """
    lengths = np.array([len(text) if isinstance(text, str) else 0 for text in texts], np.int64)
    most = FREE_CHARACTERS + CHARACTERS_PER_CHARACTER * int(lengths.sum())
    return int(lengths.argmax()) if len(lengths) * int(lengths.max(initial=0)) > most else None


def plain_targets(y: Any, n_examples: int, examples: str = "graphs") -> NDArray[Any]:
    """Return targets as a one-dimensional array of Booleans, integers, floats or strings.

    Lists, arrays, pandas columns and categories are accepted, also as a table of one column. Missing values among
    strings, and mixtures of strings and numbers, raise an error that names the position.

    >>> plain_targets(np.array(["a", "b"], dtype=object), 2)
    array(['a', 'b'], dtype='<U1')
    >>> plain_targets(["a", None], 2)
    Traceback (most recent call last):
    ...
    relaxwl._validation.ParameterError: y must be all numbers or all strings, but y[1] is None
    """
    # NumPy would convert a list ["a", 1] to two strings.
    values = np.asarray(y) if hasattr(y, "__array__") else np.array(list(y), dtype=object)
    if values.shape == (n_examples, 1):
        values = values[:, 0]
    if values.shape != (n_examples,):
        raise ParameterError(
            f"y must contain one value for each of {n_examples} {examples}, not an array of shape {values.shape}"
        )
    if values.dtype.kind in "biuU":
        return values
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    kind_of = {str: "texts", bool: "numbers", np.bool_: "numbers", Real: "numbers"}
    first = ""
    for place, value in enumerate(values.tolist()):
        kind = next((kind for type_, kind in kind_of.items() if isinstance(value, type_)), "")
        first = first or kind
        if not kind or kind != first:
            shown = repr(value) if len(repr(value)) < 60 else type(value).__name__
            raise ParameterError(f"y must be all numbers or all strings, but y[{place}] is {shown}")
    if first == "texts":
        longest = max(map(len, values.tolist()), default=0)
        check_memory(4.0 * len(values) * longest, f"y with a text of {longest} characters", "use shorter names")
    plain = np.array(values.tolist())
    if plain.dtype.kind not in "biufU":
        raise ParameterError("y contains numbers that are too large: at most 2**63 - 1, or use floats or strings")
    return plain


def as_numbers(y: Any, n_examples: int, examples: str = "graphs") -> NDArray[np.float64]:
    """Return regression targets as floats, one finite number per example; messages call them ``examples``."""
    targets = plain_targets(y, n_examples, examples)
    if targets.dtype.kind == "U":
        raise ParameterError("y must contain numbers, not strings; use a classifier for classes")
    numbers = targets.astype(np.float64)
    unusable = np.flatnonzero(~(np.abs(numbers) < LARGEST_TARGET))
    if len(unusable):
        place = int(unusable[0])
        raise ParameterError(
            f"y must be finite and within ±{LARGEST_TARGET:g}, because it is squared, but y[{place}] is "
            f"{numbers[place]:g}"
        )
    return numbers


def read_number(text: str, *, is_label: bool = False) -> float:
    """Return the number that a text says in ASCII digits: Python also reads ``1_0``, and digits of other scripts.

    Numbers are rounded to doubles. A label must not become another one by that: ``1e-400`` is not the label 0.

    >>> read_number("1e-400")
    0.0
    >>> read_number("1e-400", is_label=True)
    Traceback (most recent call last):
    ...
    ValueError: '1e-400' is not 0, and no floating-point number is as small; write 0 or a text
    """
    try:
        number = float(text if text.isascii() and "_" not in text else "")
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a number: numbers are written in ASCII digits, without _") from None
    if is_label and number == 0 and text.lower().partition("e")[0].strip(" \t\r\n+-.0"):
        raise ValueError(f"{text[:40]!r} is not 0, and no floating-point number is as small; write 0 or a text")
    return number


def as_floats(values: Any) -> NDArray[np.float64]:
    """Return numbers or None as a float array; strings are rejected (NumPy reads ``1_0`` as 10), and so are dates.

    >>> as_floats([[1, None], [2.5, True]])
    array([[1. , nan],
           [2.5, 1. ]])
    """
    found = np.array(values)
    if found.dtype.kind not in "biuf":
        text = next((value for value in found.ravel().tolist() if isinstance(value, (str, bytes))), None)
        if text is not None:
            raise ValueError(f"{text!r} is not a number")
        if found.dtype != object:
            raise ValueError(f"{found.dtype} is not a type of real numbers")
    try:
        return found.astype(np.float64, copy=False)
    except OverflowError:
        raise ValueError("an integer is beyond all floating-point numbers") from None


def as_classes(y: Any, n_examples: int, examples: str = "graphs") -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted classes and the index of the class of each example.

    >>> classes, codes = as_classes(["b", "a", "b"], 3)
    >>> classes.tolist(), codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    targets = plain_targets(y, n_examples, examples)
    if targets.dtype.kind == "f":
        gaps = np.flatnonzero(np.isnan(targets))
        if len(gaps):
            raise ParameterError(
                f"y must contain a class for each of {n_examples} {examples}, but y[{gaps[0]}] is missing"
            )
        if (targets % 1 != 0).any():
            raise ParameterError(
                "Unknown label type: continuous. y contains measured numbers; for these use a regressor"
            )
    if targets.dtype.kind in "iu":
        targets = targets.astype(np.int64)
    classes, codes = np.unique(targets, return_inverse=True)
    if len(classes) < 2:
        found = f", and all {examples} are of class {classes[0]}" if len(classes) else ""
        raise ParameterError(f"y must contain at least two classes{found}")
    if len(classes) > max(2, n_examples / 2):
        found = f"not {len(classes)} for {n_examples} {examples}: these look like names; choose another target"
        raise ParameterError(f"y must contain classes of at least two {examples} on average, {found}")
    return classes, codes.astype(np.int64)


def infer_task(targets: NDArray[Any]) -> str:
    """Return "classification" or "regression", by what targets without gaps look like.

    Texts and Booleans are classes. Numbers are classes if they are whole and repeat: each occurs twice on average, and
    ten times if there are more than ten different ones. One or two different whole numbers are always classes.

    >>> infer_task(np.array([1, 2, 3] * 2)), infer_task(np.arange(25)), infer_task(np.array([1.5, 2.5] * 9))
    ('classification', 'regression', 'regression')
    """
    if targets.dtype.kind not in "iuf":
        return "classification"
    n_different = len(np.unique(targets))
    occurrences = 1 if n_different <= 2 else 2 if n_different <= MANY_CLASSES else MANY_CLASSES
    is_whole = bool(np.isfinite(targets).all() and (targets % 1 == 0).all())
    return "classification" if is_whole and len(targets) >= occurrences * n_different else "regression"


def _is_gap(value: Any) -> bool:
    """Whether a value is NaN, None or pandas' missing value."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def is_known(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values of a column are not missing."""
    return np.array([not _is_gap(value) for value in column.tolist()], bool)


def as_task(values: NDArray[Any], task: str) -> NDArray[Any]:
    """Return targets without gaps in the type of their task: whole floats as integers for classes, numbers as floats.

    >>> as_task(np.array([1.0, 2.0]), "classification"), as_task(np.array([1, 2]), "regression")
    (array([1, 2]), array([1., 2.]))
    """
    if values.dtype.kind not in "iuf":
        return values
    if task == "regression":
        return values.astype(np.float64)
    is_whole = values.dtype.kind == "f" and bool((np.abs(values) < MAX_EXACT).all() and (values % 1 == 0).all())
    return values.astype(np.int64) if is_whole else values


def check_sparse_output(transformer: Any) -> None:
    """Raise an error if ``set_output`` asks for a table of sparse features."""
    asked = getattr(transformer, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
    if transformer.sparse_output and asked != "default":
        raise ValueError(
            f"The transformer outputs a scipy sparse matrix. set_output(transform={asked!r}) makes a dense table: use "
            f"{type(transformer).__name__}(sparse_output=False)"
        )


def warn_user(message: str) -> None:
    """Warn at the first line outside this package, so that Python shows the message once per line of user code."""
    level, frame = 1, sys._getframe(1)
    while frame.f_code.co_filename.startswith(str(Path(__file__).parent)) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level + 1)
