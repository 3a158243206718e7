"""What is explained: classes, or numbers, of which the lower and the higher half stand for classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from relaxwl._validation import check_choice, looks_continuous, plain_targets
from relaxwl.graphs.arrays import Float64, Int64

TASKS = ("classification", "regression")


@dataclass(frozen=True, eq=False)
class Target:
    """The classes of the graphs; for numbers these are two halves, and the numbers themselves decide what matters.

    Attributes
    ----------
    classes : array
        The classes, sorted; for numbers the names of the lower and the higher half.
    codes : int64 array (n_graphs,)
        The class of each graph.
    values : float64 array (n_graphs,) or None
        The numbers, where there are numbers.
    middle : float
        The number that parts the halves.
    """

    classes: NDArray[Any]
    codes: Int64
    values: Float64 | None = None
    middle: float = 0.0

    @property
    def chance(self) -> float:
        """Share of the graphs that are in the largest class."""
        return float(np.bincount(self.codes).max() / len(self.codes))


def read_target(y: ArrayLike, n_graphs: int, task: str | None = None) -> Target:
    """Return what ``y`` holds: numbers if most of them occur once or have fractions, else classes.

    >>> read_target([0.1, 0.7, 3.2, 4.5], 4, "regression").classes.tolist()
    ['below 1.95', '1.95 and above']
    """
    values = plain_targets(y, n_graphs)
    if task is not None:
        check_choice("task", task, TASKS)
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise ValueError("y must have at least two classes: there is nothing to separate")
    if task == "regression" or (task is None and looks_continuous(classes, n_graphs)):
        return _numbers(values)
    return Target(classes, codes.astype(np.int64))


def _numbers(given: NDArray[Any]) -> Target:
    if given.dtype.kind not in "iufb" or not np.isfinite(given).all():
        raise ValueError("y must hold finite numbers for regression")
    values = given.astype(np.float64)
    middle = float(np.median(values))
    if middle == values.min():  # nothing is below
        middle = float(values.mean())
    names = np.array([f"below {middle:.4g}", f"{middle:.4g} and above"])
    return Target(names, (values >= middle).astype(np.int64), values, middle)
