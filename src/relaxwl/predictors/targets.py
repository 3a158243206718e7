"""Targets of predictors: one or several columns of classes or numbers, with gaps where a value is unknown."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._validation import ParameterError, as_classes, as_numbers, is_known, plain_targets
from relaxwl.graphs.arrays import Int64


@dataclass(frozen=True, eq=False)
class Target:
    """One column of targets.

    Attributes
    ----------
    name : str
        Name of the column.
    rows : int64 array
        The objects with a known value.
    values : array
        Their class codes, or their numbers.
    classes : array or None
        The classes, sorted; only one if the target is skipped; None for numbers.
    """

    name: str
    rows: Int64
    values: NDArray[Any]
    classes: NDArray[Any] | None = None

    def take(self, objects: Int64) -> "Target":
        """Return the target of some of the objects, given in ascending order; rows are positions among these."""
        inside = np.isin(self.rows, objects)
        rows, values = np.searchsorted(objects, self.rows[inside]), self.values[inside]
        return Target(self.name, rows, values, self.classes)

    @property
    def is_constant(self) -> bool:
        """Whether there is only one class."""
        return self.classes is not None and len(self.classes) == 1


def read_targets(
    y: Any, n_objects: int, things: str, classification: bool, skip_targets: bool = False
) -> tuple[list[Target], bool]:
    """Return the targets, and whether ``y`` has several columns.

    Parameters
    ----------
    y : array-like (n_objects,) or (n_objects, n_targets), DataFrame, or mapping from names to columns
        Classes or numbers. In tables of several columns, NaN, None and ``pandas.NA`` are gaps.
    n_objects : int
        Number of objects.
    things : str
        Word for the objects in messages.
    classification : bool
        Whether targets are classes.
    skip_targets : bool, default=False
        Keep targets with a single class, which is then predicted, instead of raising an error.
    """
    columns = y if isinstance(y, Mapping) else getattr(y, "columns", None)
    names = None if columns is None else [str(name) for name in columns]
    table = _as_table(y)
    if getattr(table, "ndim", 1) == 2 and table.shape[1] == 1:
        table = table.iloc[:, 0] if hasattr(table, "iloc") else np.asarray(table)[:, 0]
    if getattr(table, "ndim", 1) != 2:
        read = as_classes if classification else as_numbers
        found: Any = read(table, n_objects, things)
        rows = np.arange(n_objects)
        name = "y" if names is None else names[0]
        return [Target(name, rows, found[1], found[0]) if classification else Target(name, rows, found)], False
    values = np.asarray(table, dtype=object)
    if len(values) != n_objects or not values.shape[1]:
        raise ParameterError(
            f"y must have a row for each of {n_objects} {things} and a column, not shape {values.shape}"
        )
    named = names or [f"target {number}" for number in range(values.shape[1])]
    if len(set(named)) < len(named):
        raise ParameterError(f"y must have columns of different names, not {named}")
    return [
        _column(column, name, things, classification, skip_targets)
        for name, column in zip(named, values.T, strict=True)
    ], True


def _as_table(y: Any) -> Any:
    """Return rows of a list of lists as an array of objects, which may contain both gaps and strings."""
    if getattr(y, "ndim", None) is not None:
        return y
    rows = list(zip(*y.values(), strict=True)) if isinstance(y, Mapping) else list(y)
    if rows and all(isinstance(row, (list, tuple, np.ndarray)) for row in rows):
        widths = {len(row) for row in rows}
        if len(widths) > 1:
            raise ParameterError(f"y must have rows of equal length, not of {min(widths)} and {max(widths)} columns")
        table = np.empty((len(rows), widths.pop()), dtype=object)
        for place, row in enumerate(rows):
            table[place] = list(row)
        return table
    return rows


def _column(column: NDArray[Any], name: str, things: str, classification: bool, skip_targets: bool) -> Target:
    """Return one column without its gaps."""
    known = is_known(column)
    rows, values = np.flatnonzero(known), column[known].tolist()
    if not len(rows):
        raise ParameterError(f"target {name!r} has no values; leave it out")
    if classification and all(isinstance(value, float) and value.is_integer() for value in values):
        values = [int(value) for value in values]  # floats because of the gaps
    try:
        if not classification:
            return Target(name, rows, as_numbers(values, len(rows), things))
        if skip_targets and len(set(values)) == 1:
            return Target(name, rows, np.zeros(len(rows), np.int64), np.array(values[:1]))
        classes, codes = as_classes(values, len(rows), things)
        return Target(name, rows, codes, classes)
    except ValueError as error:
        more = "; skip_targets=True keeps it as a constant" if len(set(values)) == 1 and classification else ""
        raise ParameterError(f"target {name!r}: {error}{more}") from None


def known_values(y: Any, n_objects: int, is_table: bool) -> list[tuple[Int64, list[Any]]]:
    """Return, for each column of true values, the objects with a known one and these values."""
    table = np.asarray(_as_table(y), dtype=object)
    if not is_table and table.shape == (n_objects,):
        table = table[:, None]
    if table.ndim != 2 or len(table) != n_objects or (not is_table and table.shape[1] != 1):
        wanted = "a table with a row" if is_table else "one value"
        raise ParameterError(
            f"y must contain {wanted} for each of {n_objects} objects, not an array of shape {table.shape}"
        )
    found = []
    for column in table.T:
        gaps = ~is_known(column)
        known = np.flatnonzero(~gaps)
        if len(known) and not is_table:  # gaps are filled, so that messages name positions among all objects
            column = plain_targets(np.where(gaps, column[known[:1]], column), len(column))
        found.append((known, column[known].tolist()))
    if not any(len(known) for known, _ in found):
        raise ParameterError("y must contain a value that is not missing")
    return found


def check_coverage(coverage: Any) -> None:
    """Raise an error if the coverage is not a probability."""
    if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise ParameterError(f"coverage must be a probability between 0 and 1, not {coverage!r}")


def sampled_rows(targets: list[Target], contents: Int64, size: int) -> Int64:
    """Return ``size`` objects, ascending: equally many of each class of each target, or all if the class has fewer.

    The members of a class are taken in ascending order of ``contents``, so that those of different targets overlap.

    >>> ill = Target("ill", np.arange(6), np.array([0, 0, 0, 1, 0, 0]), np.array([0, 1]))
    >>> sampled_rows([ill], np.array([5, 2, 9, 8, 1, 7]), 3).tolist()
    [1, 3, 4]
    """
    ranks = np.full(len(contents), len(contents))
    for target in targets:
        codes = np.zeros(len(target.rows), np.int64) if target.classes is None else target.values
        for code in np.unique(codes):
            members = target.rows[codes == code]
            members = members[np.argsort(contents[members], kind="stable")]
            ranks[members] = np.minimum(ranks[members], np.arange(len(members)))
    return np.sort(np.lexsort((contents, ranks))[:size])
