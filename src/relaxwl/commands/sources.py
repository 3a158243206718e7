"""Data sets as users name them on the command line."""

import re
import warnings
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import cached_property
from relaxwl.commands.console import Console, UserError
from relaxwl.datasets import (
    EGONET_MODELS,
    DownloadError,
    MoleculeTable,
    download_tu,
    make_egonets,
    read_molecules,
    read_parquet,
    read_tu,
)
from relaxwl.datasets.smiles import MoleculeCollection, from_rdkit
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int64
from relaxwl.inputs import as_collection
from relaxwl.inputs.files import graph_files

# Classes whose values in the file are named.
MEANINGS = 10
# Ego networks that come with the package: egonets-1 to egonets-4, by density.
EMBEDDED = re.compile(r"egonets-([1-4])")
# Endings of tables of molecules.
TABLES = (".csv", ".tsv")


class Source:
    """A data set with its name, graphs and classes."""

    # Where its classes or numbers would stand.
    targets_from = "a file NAME_graph_labels.txt"

    def __init__(self, name: str, graphs: GraphCollection, y: NDArray[np.generic] | None) -> None:
        self.name = name
        self.graphs = graphs
        self.y = y

    def require_classes(self) -> NDArray[np.generic]:
        """Return the classes, or say that there are none."""
        if self.y is None or self.y.ndim != 1 or self.y.dtype.kind not in "iuU":
            raise UserError(f"{self.name} has no classes ({self.targets_from}), and this command needs them")
        return self.y

    def require_targets(self) -> NDArray[np.generic]:
        """Return the classes, or the numbers where there are numbers."""
        return self.require_numbers() if self.y is not None and self.y.dtype.kind == "f" else self.require_classes()

    def require_numbers(self) -> NDArray[np.generic]:
        """Return the numbers that regression predicts, or say that there are none."""
        if self.y is None or self.y.ndim != 1 or self.y.dtype.kind not in "iuf":
            raise UserError(f"{self.name} has no number for each graph ({self.targets_from}), and regression needs one")
        return self.y

    @property
    def readable(self) -> Int64:
        """Positions of the graphs that could be read."""
        return np.arange(len(self.graphs))

    def row_names(self) -> dict[str, list[Any]]:
        """Return the columns by which a table of answers names the graphs."""
        return {"graph": list(range(len(self.graphs)))}


class MoleculeSource(Source):
    """A table of molecules; graphs of rows that could not be read have no vertices."""

    targets_from = "--target COLUMN names the column"

    def __init__(self, table: MoleculeTable, graphs: MoleculeCollection) -> None:
        super().__init__(table.name, graphs, None if table.y is None else _whole_numbers(table.y))
        self.table = table

    @cached_property
    def scaffolds(self) -> Int64:
        """The Bemis-Murcko scaffold of each molecule."""
        from relaxwl.molecules import scaffolds  # with all predictors, which other commands do without

        return scaffolds(self.table.molecules)

    @property
    def readable(self) -> Int64:
        """Positions of the molecules that could be read."""
        return np.flatnonzero([molecule is not None for molecule in self.table.molecules])

    def row_names(self) -> dict[str, list[Any]]:
        """Return the lines of the file and the SMILES."""
        return {"line": self.table.lines, "smiles": self.table.smiles}

    def require_classes(self) -> NDArray[np.generic]:
        """Return the classes: texts or whole numbers."""
        if self.y is not None and self.y.dtype.kind == "f":
            raise UserError(f"the targets of {self.name} are measured numbers, no classes; try --task regression")
        return super().require_classes()


@dataclass(frozen=True)
class Columns:
    """Which columns of a table of molecules to read, and what to do with rows that cannot be read."""

    smiles: str = "smiles"
    target: str | None = None
    errors: str = "raise"

    @classmethod
    def of(cls, arguments: Namespace) -> "Columns":
        """Return what the options say."""
        return cls(arguments.smiles, arguments.target, arguments.errors)


def check_source(name: str) -> None:
    """Refuse the name of a file, folder or embedded set that is not there, without loading anything."""
    if Path(name).exists() or EMBEDDED.fullmatch(name):
        return
    if Path(name).name != name or Path(name).suffix:
        raise UserError(f"{name}: there is no such file or folder")
    if name.lower().startswith("egonets"):
        raise UserError(f"{name}: the embedded ego networks are egonets-1 to egonets-4, by density")


def is_table(name: str) -> bool:
    """Whether a name is that of a table of molecules."""
    return Path(name).suffix.lower() in TABLES


def open_source(
    name: str, console: Console, seed: int = 0, columns: Columns | None = None, *, directed: bool = False
) -> Source:
    """Load a data set: a TU folder or zip, a Parquet file, a folder of graph files, a table of molecules, or a name.

    ``columns`` are those of a table; ``directed`` says that the edges of TU files are arcs, other sources tell by
    themselves.
    """
    embedded = EMBEDDED.fullmatch(name)
    if embedded:
        graphs, y = make_egonets(200, level=int(embedded[1]), random_state=seed)
        return Source(name, graphs, np.array(EGONET_MODELS)[y])
    path = Path(name)
    if not path.exists():
        check_source(name)
        console.note(f"{name} is no file or folder here; looking it up in the TU collection and its cache")
        try:
            path = download_tu(name)
        except (DownloadError, ValueError) as error:
            raise UserError(str(error)) from None
    if is_table(name):
        return _open_table(path, columns or Columns())
    if path.suffix == ".parquet":
        return Source(path.stem, *read_parquet(path))
    if graph_files(path):
        return Source(path.name, as_collection(path), None)
    data = read_tu(path, directed=directed)
    # Classes are numbered from 0, as load_tu numbers them: a model means the same here and in Python.
    if data.classes is not None and data.classes != tuple(range(len(data.classes))):
        meanings = ", ".join(f"{number} is {value}" for number, value in enumerate(data.classes[:MEANINGS]))
        more = ", …" if len(data.classes) > MEANINGS else ""
        console.note(f"{data.name}: classes are numbered from 0; in the file {meanings}{more}")
    return Source(data.name, data.graphs, data.y)


def _open_table(path: Path, columns: Columns) -> MoleculeSource:
    table = read_molecules(path, columns.smiles, columns.target, errors=columns.errors)
    if not table.molecules:
        raise UserError(f"{path} holds no molecule that can be read")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # reading the table has told of them
        graphs = from_rdkit(table.molecules, errors=columns.errors)
    pairs = zip(table.smiles, table.molecules, strict=True)
    return MoleculeSource(table, MoleculeCollection.of(graphs, [text if read else None for text, read in pairs]))


def _whole_numbers(y: NDArray[Any]) -> NDArray[Any]:
    """Return numbers of which all are whole, and few different, as integers: they are names of classes, mostly."""
    values = np.unique(y)
    are_classes = y.dtype.kind == "f" and len(values) <= MEANINGS and bool((values % 1 == 0).all())
    return y.astype(np.int64) if are_classes else y
