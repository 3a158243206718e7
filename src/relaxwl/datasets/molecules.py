"""Tables of molecules: a column of SMILES in a CSV or TSV file, lines of a .smi file, or molecules of an SDF file."""

import csv
import math
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from relaxwl._progress import html_table
from relaxwl._storage import require_regular
from relaxwl._validation import check_choice, overlong, read_number, repeated
from relaxwl.datasets.smiles import (
    ERRORS,
    FEW_BONDS,
    MAX_ATOMS,
    AtomStyle,
    MoleculeCollection,
    MoleculeError,
    collected,
    import_rdkit,
    read_smiles,
    shortened,
    standardized_or_not,
    tangled,
    too_large,
    written,
)

# Maximum number of rows that are shown in a notebook.
N_SHOWN = 5
# Maximum number of cells that are filled in for short rows: a header may have many columns, and a row only one byte.
MAX_FILLED = 5 * 10**6
# Cells of the properties of an SDF file for each of its bytes, and beyond those: a cell takes 8 bytes if it is empty.
CELLS_PER_BYTE = 5
# Advice for rows that cannot be read.
ADVICE = "errors='skip' leaves such rows out"
# Titles of columns that contain names of molecules by default, ignoring case: name, id, "Compound ID", mol_id.
NAMING = re.compile(r"(.*[\W_])?(name|id)", re.IGNORECASE)
# Cells that mark missing values of targets, ignoring case.
GAPS = ("", "nan", "na", "n/a", "none", "null")


class MoleculeTableError(ValueError):
    """A table that cannot be read; the message names the file and the line."""


@dataclass(frozen=True, repr=False)
class MoleculeTable:
    """Contents of a table of molecules.

    Attributes
    ----------
    name : str
        Name of the file, without its ending.
    smiles : list of str
        The SMILES.
    molecules : list
        RDKit's molecules, None where unreadable.
    y : array, dict of arrays, or None
        Targets, if asked for; of several targets, the column of each, with NaN or None where there are gaps.
    lines : list of int
        Line in which each row ends in the file (of an SDF file, its number).
    columns : dict of list of str
        All columns as they are written.
    names : list of str
        Name of each molecule: its SMILES, if there is no column of names.
    smiles_column : str
        Title of the column of SMILES.
    """

    name: str
    smiles: list[str]
    molecules: list[Any]
    y: NDArray[Any] | dict[str, NDArray[Any]] | None
    lines: list[int]
    columns: dict[str, list[str]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    smiles_column: str = "smiles"

    def __repr__(self) -> str:
        lost = sum(molecule is None for molecule in self.molecules)
        parts = [f"{len(self.molecules)} molecules", *([f"{lost} unreadable"] if lost else [])]
        parts += [f"columns {', '.join(self.columns)}"] if self.columns else []
        return f"MoleculeTable({self.name}: {'; '.join(parts)})"

    def _repr_html_(self) -> str:
        """Show the first rows in a notebook."""
        rows = zip(self.lines[:N_SHOWN], *self.columns.values(), strict=False)
        return f"<p>{escape(repr(self))}</p>{html_table(['line', *self.columns], rows)}"

    def graphs(self, errors: str, **options: Any) -> MoleculeCollection:
        """Return the molecules as graphs; ``options`` are those of :func:`relaxwl.molecules.from_rdkit`."""
        graphs: MoleculeCollection = collected(
            self.molecules, self.smiles, AtomStyle.of(**options), errors, names=self.names
        )
        return graphs


def load_molecules(
    path: str | os.PathLike[str],
    smiles: str = "smiles",
    target: str | Sequence[str] | None = None,
    *,
    errors: str = "raise",
    max_atoms: int | None = MAX_ATOMS,
    name: str | None = None,
    standardize: bool = False,
    n_jobs: int | None = None,
    **options: Any,
) -> tuple[MoleculeCollection, NDArray[Any] | dict[str, NDArray[Any]] | None]:
    r"""Read molecules from a CSV, TSV, SMI or SDF file.

    Parameters
    ----------
    path : path
        A table with a header line; or lines of a SMILES and a name (``.smi``); or molecules with properties (``.sdf``),
        which are the columns.
    smiles : str, default="smiles"
        Name of the column with the SMILES, case-insensitive.
    target : str or list of str, optional
        Name of the column with the measured values; a list for several targets with missing values, or "all" for all
        columns of numbers or classes except names. By default ``y`` is None.
    errors : {"raise", "skip", "nan"}, default="raise"
        Treatment of rows whose SMILES or target cannot be read: raise an error with the line; skip the row; or keep the
        row, with a graph without nodes or a target NaN.
    max_atoms : int or None, default=1000
        Larger molecules are treated as unreadable; None reads all.
    name : str, optional
        Column of the ``names`` of the graphs; by default the first column named ``name`` or ``id``, also with a prefix
        (``mol_id``), else the SMILES.
    standardize : bool, default=False
        Whether to replace each molecule by its largest fragment, neutralized; see
        :func:`~relaxwl.molecules.standardized`.
    n_jobs : int, optional
        Number of processes that read many molecules, as in joblib; the result does not depend on it.
    **options
        ``atom_labels`` and others, as in :func:`relaxwl.molecules.from_smiles`.

    Returns
    -------
    graphs : MoleculeCollection
        A :class:`~relaxwl.GraphCollection` that remembers its molecules.
    y : array of float, or of str where no target is a number (classes), or None
        The targets; several targets are a dict of arrays, which predictors accept as ``y``.

    See Also
    --------
    read_molecules : Also return texts, lines and columns.
    relaxwl.molecules.from_smiles : Graphs of SMILES.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.csv")
    ...     _ = file.write_text("name,smiles,expt\nethanol,CCO,-5.0\nmethane,C,2.0\n")
    ...     graphs, y = load_molecules(file, target="expt")
    >>> graphs.names, y.tolist()
    (('ethanol', 'methane'), [-5.0, 2.0])
    """
    # Parts of graphs are sent between processes faster than molecules, but cannot be standardized.
    style = None if standardize else AtomStyle.of(**options)
    settings: Any = {"errors": errors, "max_atoms": max_atoms, "name": name, "standardize": standardize}
    table = read_molecules(path, smiles, target, **settings, n_jobs=n_jobs, style=style)
    return table.graphs(errors, **options), table.y


def read_molecules(
    path: str | os.PathLike[str] | TextIO,
    smiles: str | Sequence[str] = "smiles",
    target: str | Sequence[str] | None = None,
    *,
    errors: str = "raise",
    max_atoms: int | None = MAX_ATOMS,
    name: str | None = None,
    standardize: bool = False,
    n_jobs: int | None = None,
    style: AtomStyle | None = None,
) -> MoleculeTable:
    r"""Read a table of molecules with all columns and line numbers.

    Parameters
    ----------
    path : path or stream of text
        A file, as in :func:`load_molecules`. A stream, such as standard input, holds a table with a header, or lines of
        a SMILES and a name.
    smiles : str or sequence of str, default="smiles"
        Name of the column with the SMILES; of several names the first one in the table is used.
    target : str or list of str, optional
        Name of the column with the measured values, as in :func:`load_molecules`.
    errors : {"raise", "skip", "nan"}, default="raise"
        Treatment of rows that cannot be read, as in :func:`load_molecules`.
    max_atoms : int or None, default=1000
        Larger molecules are treated as unreadable; None reads all.
    name : str, optional
        Column of the names, as in :func:`load_molecules`.
    standardize : bool, default=False
        Whether to replace each molecule by its largest fragment, neutralized; see
        :func:`~relaxwl.molecules.standardized`.
    n_jobs : int, optional
        Number of processes that read many molecules.
    style : AtomStyle, optional
        Options for converting molecules to graphs immediately, which saves memory.

    Returns
    -------
    MoleculeTable
        ``smiles``, ``y``, ``names``, ``lines``, ``columns`` and ``molecules``; ``graphs(errors)`` makes a collection.

    See Also
    --------
    load_molecules : Return graphs and targets.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.csv")
    ...     _ = file.write_text("smiles,expt\nCCO,-5.0\nC,2.0\n")
    ...     read_molecules(file, target="expt").smiles
    ['CCO', 'C']
    """
    check_choice("errors", errors, ERRORS)
    stream, path = (None, Path(path)) if isinstance(path, (str, os.PathLike)) else (path, Path("standard input"))
    if stream is None:
        if not path.exists():
            raise FileNotFoundError(f"there is no file {path}")
        require_regular(path)
    if path.suffix.lower() == ".gz":
        raise MoleculeTableError(f"{path} is compressed; decompress it first: gunzip -k {path}")
    wanted = [smiles] if isinstance(smiles, str) else list(smiles)
    if path.suffix.lower() == ".sdf":
        smiles = wanted[-1]
        columns, molecules = _read_sdf(path, errors, max_atoms, standardize)
        lines, texts = list(range(1, len(molecules) + 1)), columns["smiles"]
    else:
        if stream is not None:
            first = stream.readline()
            titles = [title.strip().lower() for title in re.split("[,\t]", first)]
            is_table = any(one.lower() in titles for one in wanted)
            ending = ".smi" if not is_table else ".tsv" if "\t" in first else ".csv"
            lines, columns = read_columns(chain([first], stream), str(path), ending, errors)
        else:
            with path.open(encoding="utf-8-sig", newline="") as file:
                lines, columns = read_columns(file, str(path), path.suffix.lower(), errors)
        smiles = smiles_column(columns, wanted, str(path))
        texts = columns[smiles]
        try:
            molecules = read_smiles(texts, errors, lines, max_atoms, n_jobs, style, standardize)
        except MoleculeError as error:
            place = f"{path}, line {lines[error.index]}, column {smiles!r}"
            raise MoleculeTableError(f"{place}: {shortened(error.text)}: {error.problem}; {ADVICE}") from None
    if name is None:
        name = next((column for column in columns if NAMING.fullmatch(column) and all(columns[column])), None)
    name = None if name is None else _column(columns, name, str(path))
    names = texts if name is None else columns[name]
    if standardize:
        texts = [source or "" for source in written(molecules)]
    if name is not None:
        for molecule, called in zip(molecules, names, strict=True):
            if molecule is not None and not isinstance(molecule, dict):
                molecule.SetProp("_Name", called)
    y: Any = None
    if isinstance(target, str) and (target != "all" or target in columns):
        target = _column(columns, target, str(path))
        y = read_targets(columns[target], lines, str(path), target, errors)
    elif target is not None:
        chosen = _target_columns(columns, (smiles, name), str(path)) if target == "all" else list(target)
        twice = repeated(chosen)
        if twice is not None:
            raise MoleculeTableError(f"the target {twice!r} is named twice; name each column once")
        chosen = [_column(columns, one, str(path)) for one in chosen]
        y = {one: read_targets(columns[one], lines, str(path), one, errors, gaps=True) for one in chosen}
    if errors == "skip":
        known = np.array([molecule is not None for molecule in molecules], bool)
        if y is not None and not isinstance(y, dict):
            known &= np.isfinite(y) if y.dtype.kind == "f" else y != ""
        kept = np.flatnonzero(known).tolist()
        texts, names, molecules, lines = ([column[row] for row in kept] for column in (texts, names, molecules, lines))  # type: ignore[assignment]
        columns = {title: [column[row] for row in kept] for title, column in columns.items()}
        y = {one: values[kept] for one, values in y.items()} if isinstance(y, dict) else None if y is None else y[kept]
    return MoleculeTable(path.stem, texts, molecules, y, lines, columns, names, smiles)


def _target_columns(columns: dict[str, list[str]], others: Iterable[str | None], place: str) -> list[str]:
    """Return the columns of numbers or classes: all but the ``others`` and strings that are mostly unique."""
    found = []
    for title, column in columns.items():
        known = [value for value in column if value.lower() not in GAPS]
        is_text = bool(known) and all(math.isnan(_number(value)) for value in known)
        if title in others or NAMING.fullmatch(title) or (is_text and 2 * len(set(known)) > len(known)):
            continue
        found.append(title)
    if not found:
        raise MoleculeTableError(f"{place} has no column of numbers or classes; its columns are {', '.join(columns)}")
    return found


def _column(columns: dict[str, list[str]], name: str, place: str, *, any_case: bool = False) -> str:
    """Return the title of a column; with ``any_case``, the comparison ignores case."""
    alike = [title for title in columns if title.lower() == name.lower()] if any_case else []
    if name not in columns and len(alike) != 1:
        problem = f"has the columns {' and '.join(alike)} for" if alike else "has no column"
        raise MoleculeTableError(f"{place} {problem} {name!r}; its columns are {', '.join(columns)}")
    return name if name in columns else alike[0]


def smiles_column(columns: dict[str, list[str]], wanted: Sequence[str], place: str) -> str:
    """Return the title of the column of SMILES: the first of the given ones that exists, ignoring case."""
    there = {title.lower() for title in columns}
    name = next((one for one in wanted if one.lower() in there), wanted[0])
    return _column(columns, name, place, any_case=True)


def read_columns(
    file: Iterable[str], place: str, ending: str = ".csv", errors: str = "raise"
) -> tuple[list[int], dict[str, list[str]]]:
    """Return the lines and the columns of a table with a header, as strings; a broken row is an error, or empty.

    ``ending`` determines the delimiter: tabs in ``.tsv``, spaces and no header in ``.smi``, otherwise commas.
    """
    rows = table_rows(file, place, ending)
    header = ["smiles", "name"] if ending == ".smi" else next(rows, (0, []))[1]
    if not header:
        raise MoleculeTableError(f"{place} is empty: expected a header line that names the columns")
    names = [name.strip() for name in header]
    twice = repeated(names)
    if twice is not None:
        raise MoleculeTableError(f"{place} has more than one column {twice!r}; its columns are {', '.join(names)}")
    lines, columns = [], [[] for _ in names]  # type: tuple[list[int], list[list[str]]]
    n_broken = 0
    for line, row in rows:
        is_whole = len(row) == len(names)
        n_broken += not is_whole
        if n_broken * len(names) > MAX_FILLED:
            raise MoleculeTableError(f"{place}, line {line}: {n_broken} rows do not have the {len(names)} columns")
        if not is_whole and errors == "raise":
            fields = f"{len(row)} fields, but the header has {len(names)}"
            raise MoleculeTableError(f"{place}, line {line}: {fields}; {ADVICE}")
        lines.append(line)
        for column, cell in zip(columns, row if is_whole else [""] * len(names), strict=True):
            column.append(cell.strip())
    return lines, dict(zip(names, columns, strict=True))


def table_rows(file: Iterable[str], place: str, ending: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line number and the fields of each record; blank lines are skipped."""
    line = 0
    try:
        if ending == ".smi":
            for line, text in enumerate(file, 1):
                if text.strip():
                    _refuse_nul(text, place, line)
                    yield line, [*text.split(maxsplit=1), ""][:2]
            return
        reader = csv.reader(file, delimiter="\t" if ending == ".tsv" else ",", strict=True)
        for row in reader:
            line = reader.line_num
            if row:
                _refuse_nul("".join(row), place, line)
                yield line, row
    except UnicodeDecodeError as error:
        raise MoleculeTableError(f"{place} is not text in UTF-8 ({error.reason} at byte {error.start})") from None
    except csv.Error as error:
        raise MoleculeTableError(f"{place}, line {line + 1}: {error}") from None


def _refuse_nul(text: str, place: str, line: int) -> None:
    if "\0" in text:
        raise MoleculeTableError(f"{place}, line {line}: NUL characters, as of text in UTF-16; save it as UTF-8")


def _read_sdf(
    path: Path, errors: str, max_atoms: int | None, standardize: bool
) -> tuple[dict[str, list[str]], list[Any]]:
    """Return the name, the SMILES and the properties of molecules as columns, and the molecules."""
    chem = import_rdkit()
    from rdkit import rdBase

    records: list[dict[str, str]] = []
    molecules: list[Any] = []
    sizes = _sdf_sizes(path)
    with rdBase.BlockLogs():
        supplier = chem.SDMolSupplier(str(path))
        unchecked = chem.SDMolSupplier(str(path), sanitize=False, removeHs=False)
        if not len(supplier):
            raise MoleculeTableError(f"{path} contains no records of an SDF file; are its lines separate?")
        for index in range(len(supplier)):
            n_atoms, n_bonds = sizes[index] if index < len(sizes) else (0, 0)
            problem = "" if max_atoms is None else too_large(n_atoms, n_bonds - n_atoms, max_atoms, hydrogens=True)
            if not problem and max_atoms is not None and n_bonds > FEW_BONDS and (raw := unchecked[index]) is not None:
                problem = tangled(chem, raw)
            found: Any = None if problem else supplier[index]
            if found is not None:
                n_atoms = found.GetNumAtoms()
                problem = "" if max_atoms is None else too_large(n_atoms, 0, max_atoms)
                problem = problem if n_atoms else "there are no atoms in it"
            problem = problem or ("RDKit cannot read it" if found is None else "")
            molecule = found
            if standardize and not problem:
                molecule, problem = standardized_or_not(found)
            if problem and errors == "raise":
                raise MoleculeTableError(f"{path}, molecule {index + 1}: {problem}; {ADVICE}")
            molecules.append(None if problem else molecule)
            try:
                keys = [] if found is None else ["_Name", *found.GetPropNames()]
                properties = {key: str(found.GetProp(key)).strip() for key in keys}
            except UnicodeDecodeError as error:
                raise MoleculeTableError(f"{path}, molecule {index + 1} is not text in UTF-8: {error.reason}") from None
            # The SMILES is that of the molecule, even if there is a property of this name.
            smiles = "" if problem else str(chem.MolToSmiles(found))
            records.append({"name": properties.pop("_Name", ""), **properties, "smiles": smiles})
    lost = sum(molecule is None for molecule in molecules)
    if lost:
        first = next(number for number, molecule in enumerate(molecules, 1) if molecule is None)
        warnings.warn(
            f"{lost} of {len(molecules)} molecules of {path} could not be read, first number {first}", stacklevel=4
        )
    titles = dict.fromkeys(["name", "smiles", *(key for record in records for key in record)])
    if len(titles) * len(records) > MAX_FILLED + CELLS_PER_BYTE * path.stat().st_size:
        problem = f"it has {len(titles)} properties, which most of its {len(records)} molecules lack"
        raise MoleculeTableError(f"{path}: {problem}; write a file without these")
    return {title: [record.get(title, "") for record in records] for title in titles}, molecules


def _sdf_sizes(path: Path) -> list[tuple[int, int]]:
    """Return the numbers of atoms and bonds in the headers of an SDF file, for which RDKit allocates memory at once."""
    sizes, line_number, counts, joined = [], 0, [0, 0], b""
    with path.open("rb") as file:
        for line in file:
            line_number += 1
            if line.startswith(b"$$$$"):
                sizes.append((counts[0], counts[1]))
                line_number, counts, joined = 0, [0, 0], b""
            elif line_number == 4:
                counts = [int(cell) if cell.isdigit() else 0 for cell in (line[:3].strip(), line[3:6].strip())]
            elif line.startswith(b"M  V30 "):
                joined += line[7:].rstrip(b"\r\n")
                if joined.endswith(b"-") and len(joined) < 10_000:  # continued in the next line
                    joined = joined[:-1]
                    continue
                words = joined.upper().split()
                if len(joined) >= 10_000 or words[:1] == [b"COUNTS"]:
                    found = [int(word) if word.isdigit() and len(word) < 10 else 2**31 for word in words[1:3]]
                    counts = [max(pair) for pair in zip(counts, [*found, 0, 0], strict=False)]
                joined = b""
    return [*sizes, (counts[0], counts[1])]


def read_targets(
    values: list[str], lines: list[int], path: str, target: str, errors: str = "raise", *, gaps: bool = False
) -> NDArray[Any]:
    """Return the targets as numbers, or as strings if none is a number.

    Missing targets raise an error unless ``errors`` allows them. With ``gaps`` they become NaN among numbers, and None
    among strings, whose array then has dtype object.
    """
    numbers = np.array([_number(value) for value in values], np.float64)
    missing = np.array([value.lower() in GAPS if gaps else not value for value in values], bool)
    are_classes = not missing.all() and not np.isfinite(numbers).any()
    unreadable = missing if are_classes else ~np.isfinite(numbers)
    wrong = np.flatnonzero(unreadable & ~missing if gaps else unreadable)
    if missing.all() and len(wrong) and errors == "raise":
        raise MoleculeTableError(f"{path}: the column {target!r} has no values; choose another target")
    if len(wrong):
        row = int(wrong[0])
        wanted = "a class" if are_classes else "a finite number"
        problem = f"{path}, line {lines[row]}, column {target!r}: {shortened(values[row])} is not {wanted}"
        if errors == "raise":
            raise MoleculeTableError(f"{problem}; {ADVICE}")
        warnings.warn(f"{len(wrong)} of {len(values)} targets are missing: {problem}", stacklevel=4)
    if not are_classes:
        return np.where(unreadable, np.nan, numbers)
    if (place := overlong(values)) is not None:
        problem = f"{path}, line {lines[place]}, column {target!r}: a text of {len(values[place])} characters"
        raise MoleculeTableError(f"{problem}; give classes shorter names")
    texts = np.array(values, dtype=object if gaps else None)
    texts[missing] = None if gaps else ""
    return texts


def _number(text: str) -> float:
    try:
        return read_number(text)
    except ValueError:
        return float("nan")
