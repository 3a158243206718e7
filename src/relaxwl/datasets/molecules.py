"""Tables of molecules: a column of SMILES and a column of what was measured."""

import csv
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._validation import check_choice
from relaxwl.datasets.smiles import (
    ERRORS,
    MAX_ATOMS,
    AtomLabels,
    MoleculeCollection,
    MoleculeError,
    graphs_of,
    read_smiles,
    shortened,
)

# What to do about a row that cannot be read, in Python and on the command line.
ADVICE = 'errors="skip" (--errors skip) leaves such rows out'


class MoleculeTableError(ValueError):
    """A table that cannot be read; the message names the file and the line."""


@dataclass(frozen=True)
class MoleculeTable:
    """What a table says: SMILES, RDKit's molecules (None where unreadable), targets if asked for, lines in the file."""

    name: str
    smiles: list[str]
    molecules: list[Any]
    y: NDArray[Any] | None
    lines: list[int]


def load_molecules(
    path: str | os.PathLike[str],
    smiles: str = "smiles",
    target: str | None = None,
    *,
    errors: str = "raise",
    atom_labels: AtomLabels = "element",
    max_atoms: int | None = MAX_ATOMS,
    **options: Any,
) -> tuple[MoleculeCollection, NDArray[Any] | None]:
    r"""Read a table of molecules from a CSV (or, by its ending, TSV) file.

    Parameters
    ----------
    path : path
        A file with a header line.
    smiles, target : str
        Names of the columns with the SMILES and with the measured values. Without a target ``y`` is None.
    errors : {"raise", "skip", "nan"}
        What to do with a row, SMILES or target that cannot be read: refuse it, naming the line; leave the row out; or
        keep the row, with a graph without vertices or a target NaN.
    atom_labels, max_atoms, **options
        As in :func:`relaxwl.molecules.from_smiles`.

    Returns
    -------
    graphs : MoleculeCollection
        A :class:`~relaxwl.GraphCollection` that remembers its molecules.
    y : array of float, or of str where no target is a number (classes), or None

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.csv")
    ...     _ = file.write_text("name,smiles,expt\nethanol,CCO,-5.0\nmethane,C,2.0\n")
    ...     graphs, y = load_molecules(file, target="expt")
    >>> graphs, y.tolist()
    (GraphCollection(2 graphs, 4 nodes, 2 edges, 2 node labels, 1 edge labels), [-5.0, 2.0])
    """
    table = read_molecules(path, smiles, target, errors=errors, max_atoms=max_atoms)
    graphs = graphs_of(table.molecules, errors, atom_labels=atom_labels, **options)
    read = [
        text if molecule is not None else None for text, molecule in zip(table.smiles, table.molecules, strict=True)
    ]
    return MoleculeCollection.of(graphs, read), table.y


def read_molecules(
    path: str | os.PathLike[str],
    smiles: str = "smiles",
    target: str | None = None,
    *,
    errors: str = "raise",
    max_atoms: int | None = MAX_ATOMS,
) -> MoleculeTable:
    """Read a table of molecules with its texts and lines; see :func:`load_molecules` for the parameters."""
    check_choice("errors", errors, ERRORS)
    path = Path(path)
    lines, texts, values = _columns(path, smiles, target, errors)
    try:
        molecules = read_smiles(texts, errors, lines, max_atoms)
    except MoleculeError as error:
        place = f"{path}, line {lines[error.index]}, column {smiles!r}"
        raise MoleculeTableError(f"{place}: {shortened(error.text)}: {error.problem}; {ADVICE}") from None
    y = None if target is None else _targets(values, lines, path, target, errors)
    if errors == "skip":
        kept = [row for row, molecule in enumerate(molecules) if molecule is not None and not _is_missing(y, row)]
        texts, molecules, lines = ([column[row] for row in kept] for column in (texts, molecules, lines))  # type: ignore[assignment]
        y = None if y is None else y[kept]
    return MoleculeTable(path.stem, texts, molecules, y, lines)


def _columns(path: Path, smiles: str, target: str | None, errors: str) -> tuple[list[int], list[str], list[str]]:
    """Return the line of each row, its SMILES and its target as they are written; nothing of a broken row."""
    rows = _rows(path)
    _, header = next(rows, (0, []))
    if not header:
        raise MoleculeTableError(f"{path} is empty: expected a header line that names the columns")
    names = [name.strip() for name in header]
    for name in (smiles, target):
        if name is not None and names.count(name) != 1:
            problem = "has no column" if name not in names else "has more than one column"
            raise MoleculeTableError(f"{path} {problem} {name!r}; its columns are {', '.join(names)}")
    place, target_place = names.index(smiles), None if target is None else names.index(target)
    lines, texts, values = [], [], []
    for line, row in rows:
        is_whole = len(row) == len(names)
        if not is_whole and errors == "raise":
            fields = f"{len(row)} fields, but the header has {len(names)}"
            raise MoleculeTableError(f"{path}, line {line}: {fields}; {ADVICE}")
        lines.append(line)
        texts.append(row[place].strip() if is_whole else "")
        values.append(row[target_place].strip() if is_whole and target_place is not None else "")
    return lines, texts, values


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record ends, and its fields; blank lines are no records."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    line = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
            for row in reader:
                line = reader.line_num
                if row:
                    yield line, row
    except UnicodeDecodeError as error:
        raise MoleculeTableError(f"{path} is not text in UTF-8 ({error.reason} at byte {error.start})") from None
    except csv.Error as error:
        raise MoleculeTableError(f"{path}, line {line + 1}: {error}") from None


def _targets(values: list[str], lines: list[int], path: Path, target: str, errors: str) -> NDArray[Any]:
    """Return the targets as numbers, or as texts (empty where missing) where none is a number."""
    numbers = np.array([_number(value) for value in values], np.float64)
    are_classes = any(values) and not np.isfinite(numbers).any()
    unreadable = np.array([not value for value in values]) if are_classes else ~np.isfinite(numbers)
    if unreadable.any():
        row = int(np.flatnonzero(unreadable)[0])
        wanted = "a class" if are_classes else "a finite number"
        problem = f"{path}, line {lines[row]}, column {target!r}: {values[row]!r} is not {wanted}"
        if errors == "raise":
            raise MoleculeTableError(f"{problem}; {ADVICE}")
        warnings.warn(f"{int(unreadable.sum())} of {len(values)} targets are missing: {problem}", stacklevel=4)
    return np.array(values) if are_classes else numbers


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _is_missing(y: NDArray[Any] | None, row: int) -> bool:
    return y is not None and not (np.isfinite(y[row]) if y.dtype.kind == "f" else y[row])
