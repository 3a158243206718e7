"""Matrices of costs: the metric that they must be, and what they look like in words."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._memory import check_memory

Label = Any
FloatArray = NDArray[np.float64]

# Sums of floats that should be equal differ in the last digits; anything beyond this is a real violation.
RELATIVE_TOLERANCE = 1e-9

# Beyond this, neighboring whole numbers share a float.
MAX_EXACT = 2**53


def exceeds(cost: Any, bound: Any) -> Any:
    """Whether costs are larger than their bounds by more than rounding; relative, as costs may be of any size.

    >>> exceeds(np.array([9e-10, 1.0]), np.array([2e-10, 1.0 - 1e-12]))
    array([ True, False])
    """
    return cost > bound * (1.0 + RELATIVE_TOLERANCE)


def check_metric(matrix: FloatArray, labels: tuple[Label, ...]) -> None:
    """Raise a ValueError naming labels and numbers unless the matrix is a metric on labels and blank."""
    names = [*(repr(label) for label in labels), "⊥ (the blank)"]

    def refuse(broken: NDArray[np.bool_], sentence: Callable[[int, int], str]) -> None:
        if broken.any():
            i, j = np.argwhere(broken)[0].tolist()
            raise ValueError(f"the edit cost is not a metric: {sentence(i, j)}")

    def cost(i: int, j: int) -> str:
        return f"γ({names[i]}, {names[j]}) = {matrix[i, j]:g}"

    finite = np.isfinite(matrix)
    off_diagonal = ~np.eye(len(matrix), dtype=bool)
    refuse(~finite, lambda i, j: f"{cost(i, j)} is not finite")
    refuse(~off_diagonal & (matrix != 0), lambda i, j: f"{cost(i, j)}, but must be 0")
    refuse(off_diagonal & (matrix <= 0), lambda i, j: f"{cost(i, j)}, but must be positive")
    refuse(exceeds(matrix, matrix.T), lambda i, j: f"{cost(i, j)}, but {cost(j, i)}")
    for middle in range(len(matrix)):
        detour = matrix[:, middle, None] + matrix[None, middle, :]
        refuse(
            exceeds(matrix, detour),
            lambda i, j, k=middle: f"{cost(i, j)} is more than {cost(i, k)} plus {cost(k, j)}",  # type: ignore[misc]
        )


def uniform_matrix(n_labels: int, relabel: float, blank: float) -> FloatArray:
    """Return a matrix with 0 on the diagonal, ``blank`` in the last row and column, ``relabel`` elsewhere."""
    matrix = np.full((n_labels + 1, n_labels + 1), relabel, dtype=np.float64)
    matrix[-1, :] = blank
    matrix[:, -1] = blank
    np.fill_diagonal(matrix, 0.0)
    return matrix


@dataclass(frozen=True)
class UniformCosts:
    """The costs of :func:`uniform_matrix` as a rule: for so many labels that a matrix would not fit into memory.

    It is indexed like the matrix, by arrays of whole numbers.

    Examples
    --------
    >>> costs = UniformCosts(100_000, 1.0, 2.0)
    >>> len(costs), costs.max()
    (100001, 2.0)
    >>> costs[np.array([7, 7, 7]), np.array([7, 8, -1])]
    array([0., 1., 2.])
    """

    n_labels: int
    relabel: float
    blank: float

    def __len__(self) -> int:
        return self.n_labels + 1

    def max(self, initial: float = 0.0) -> float:
        """Return the largest cost."""
        return max(initial, self.relabel if self.n_labels > 1 else 0.0, self.blank if self.n_labels else 0.0)

    def __getitem__(self, places: tuple[Any, ...]) -> FloatArray:
        row, column = (np.where(np.asarray(place) < 0, len(self) + np.asarray(place), place) for place in places)
        apart = np.where((row == self.n_labels) | (column == self.n_labels), self.blank, self.relabel)
        return np.asarray(np.where(row == column, 0.0, apart))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Write the matrix out."""
        check_memory(16.0 * len(self) ** 2, f"the costs between {self.n_labels} labels", "use fewer labels")
        return uniform_matrix(self.n_labels, self.relabel, self.blank).astype(dtype or np.float64, copy=False)


def distinct_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Return the labels as a tuple of Python values, refusing repeated ones."""
    names = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    seen: set[Label] = set()
    for name in names:
        if name is None:
            raise ValueError("labels must not contain None, which stands for the blank")
        if name in seen:
            raise ValueError(f"labels must be distinct, but {name!r} occurs more than once")
        seen.add(name)
    return names


def listing(labels: Sequence[Label]) -> str:
    """Return the labels as a short list."""
    shown = ", ".join(repr(label) for label in labels[:6])
    return f"[{shown}, … {len(labels) - 6} more]" if len(labels) > 6 else f"[{shown}]"


def label_to_data(label: Label) -> Any:
    """Return a label as JSON can hold it, tuples as lists."""
    if isinstance(label, tuple):
        return [label_to_data(part) for part in label]
    if isinstance(label, (int, float, str)):
        return label
    raise ValueError(f"the label {label!r} cannot be written as data: only numbers, strings and tuples of them can")


def label_from_data(label: Any) -> Label:
    """Return a label that JSON held, lists as tuples."""
    return tuple(label_from_data(part) for part in label) if isinstance(label, list) else label


def check_finite(largest: float, depth: int) -> None:
    """Refuse trees of a depth at which distances may be as large as infinity."""
    if not math.isfinite(largest):
        raise ValueError(f"depth {depth} makes distances larger than floating point holds; use a smaller depth")


def cost_text(cost: float) -> str:
    """Return a cost or distance to be read: whole numbers with all digits as long as they are exact.

    >>> cost_text(1234567.0), cost_text(1.5), cost_text(0.1 + 0.2), cost_text(1e300)
    ('1234567', '1.5', '0.3', '1e+300')
    """
    return f"{cost:.0f}" if cost.is_integer() and abs(cost) <= MAX_EXACT else f"{cost:.12g}"
