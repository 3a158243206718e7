"""Data sets as users name them on the command line."""

import re
import sys
from argparse import Namespace
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import cached_property
from relaxwl.commands.console import OPTIONS, Console, UserError
from relaxwl.datasets import make_egonets, read_parquet, read_tu
from relaxwl.datasets.fetch import DownloadError, download_tu
from relaxwl.datasets.molecules import MoleculeTable, read_columns, read_molecules, read_targets
from relaxwl.datasets.smiles import MAX_ATOMS, MoleculeCollection
from relaxwl.datasets.synthetic import EGONET_MODELS
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int64
from relaxwl.inputs import as_collection
from relaxwl.inputs.files import READERS, graph_files

# Classes whose values in the file are named.
MEANINGS = 10
# Ego networks that come with the package: egonets-1 to egonets-4, by density.
EMBEDDED = re.compile(r"egonets-([1-4])")
# Endings of tables of molecules, and the name of standard input, which holds one.
TABLES = (".csv", ".tsv", ".smi", ".sdf")
STANDARD_INPUT = "-"
FOLDER, TABLE = "a folder of graph files", "a table of molecules"


class Source:
    """A data set with its name, graphs and classes."""

    # Where its classes or numbers would stand.
    targets_from = "a file NAME_graph_labels.txt, or --labels FILE:COLUMN for named graphs"
    things = "graphs"

    def __init__(self, name: str, graphs: GraphCollection, y: Any) -> None:
        self.name = name
        self.graphs = graphs
        # The targets: one array, or the arrays of several by their names, with gaps.
        self.y: NDArray[np.generic] | None = None if isinstance(y, dict) else y
        self.several: dict[str, NDArray[Any]] | None = y if isinstance(y, dict) else None
        # The options that say how the graphs were read.
        self.columns: dict[str, str | list[str]] = {}

    def require_classes(self) -> NDArray[np.generic]:
        """Return the classes, or say that there are none."""
        if self.y is None or self.y.ndim != 1 or self.y.dtype.kind not in "biuU":
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

    def groups(self, how: str) -> Int64:
        """Return the groups that validation does not split."""
        return np.arange(len(self.graphs))

    def full_names(self) -> tuple[str | None, ...] | None:
        """Return the names by which a model remembers the graphs."""
        return self.graphs.names

    def row_names(self) -> dict[str, list[Any]]:
        """Return the columns by which a table of answers names the graphs."""
        return {"graph": list(self.graphs.names or range(len(self.graphs)))}


class MoleculeSource(Source):
    """A table of molecules; graphs of rows that could not be read have no nodes."""

    targets_from = "--target COLUMN names the column"
    things = "molecules"

    def __init__(self, table: MoleculeTable, graphs: MoleculeCollection) -> None:
        super().__init__(table.name, graphs, table.y)
        self.y = None if self.y is None else whole_numbers(self.y)
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

    def groups(self, how: str) -> Int64:
        """Return the scaffold of each molecule, or a number that copies of a molecule share."""
        if how == "scaffold":
            return self.scaffolds
        from relaxwl.molecules import duplicates

        return duplicates(self.table.molecules)

    def full_names(self) -> tuple[str | None, ...] | None:
        """Return the names of the molecules, followed by their SMILES where these are not the names."""
        pairs = zip(self.table.names, self.table.smiles, strict=True)
        return tuple(smiles if name in ("", smiles) else f"{name} {smiles}" for name, smiles in pairs)

    def row_names(self) -> dict[str, list[Any]]:
        """Return the lines of the file and all its columns."""
        return {"line": self.table.lines, **self.table.columns}

    def require_classes(self) -> NDArray[np.generic]:
        """Return the classes: texts or whole numbers."""
        if self.y is not None and self.y.dtype.kind == "f":
            raise UserError(f"the targets of {self.name} are measured numbers, no classes; try --task regression")
        return super().require_classes()


@dataclass(frozen=True)
class Columns:
    """The options that say how graphs are read; None (or False) for those that were not given.

    Which of them apply depends on the data set, see :data:`APPLY`; others are refused by :meth:`check`.
    """

    smiles: str | None = None
    target: str | list[str] | None = None
    errors: str | None = None
    name: str | None = None
    max_atoms: int | None = None
    labels: str | None = None
    node_label: str | None = None
    edge_label: str | None = None
    node_attributes: str | None = None
    edge_attributes: str | None = None
    missing: str | None = None
    directed: bool = False
    standardize: bool = False

    @classmethod
    def of(cls, arguments: Namespace) -> "Columns":
        """Return what the options say."""
        return cls(**{field.name: getattr(arguments, field.name) for field in fields(cls)})

    def check(self, kind: str, name: str, remembered: dict[str, Any] | None = None) -> "Columns":
        """Refuse options that say nothing about data sets of a kind; take over those that a model remembers."""
        for field in fields(self):
            if getattr(self, field.name) not in (None, False) and field.name not in APPLY[kind]:
                useful = ", ".join(OPTIONS[option] for option in APPLY[kind]) or "no such option"
                raise UserError(f"{OPTIONS[field.name]} does not apply to {name}, {kind}; what applies: {useful}")
        if remembered is None or remembered.get("kind") != kind:
            return self
        taken: Any = {key: value for key, value in remembered.items() if key in REMEMBERED and not getattr(self, key)}
        taken |= {"directed": True} if "directed" in taken else {}
        return replace(self, **taken)

    def given_options(self, kind: str) -> dict[str, str | list[str]]:
        """Return what a model remembers of the options."""
        given = {key: getattr(self, key) for key in REMEMBERED if getattr(self, key) not in (None, False)}
        return {"kind": kind, **{key: "yes" if value is True else value for key, value in given.items()}}

    def named(self) -> dict[str, Any]:
        """Return which labels and attributes to read, as ``as_collection`` and ``read_parquet`` take it."""
        names = ("node_label", "edge_label", "node_attributes", "edge_attributes")
        found = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        lists = {name: [part.strip() for part in text.split(",") if part.strip()] for name, text in found.items()}
        return {**lists, "missing": self.missing, "directed": self.directed or None}


# Options that a model of a folder of graph files remembers; of a table of molecules it remembers the columns.
REMEMBERED = ("node_label", "edge_label", "node_attributes", "edge_attributes", "missing", "directed")
_NAMED = ("labels", "node_label", "edge_label", "node_attributes", "edge_attributes", "missing", "directed")
# Kinds of data sets, and the options that apply to them.
APPLY: dict[str, tuple[str, ...]] = {
    "embedded networks": (),
    TABLE: ("smiles", "target", "errors", "name", "max_atoms", "standardize"),
    "a Parquet file": _NAMED,
    FOLDER: _NAMED,
    "a data set in TU layout": ("directed",),
}


def check_source(name: str) -> None:
    """Refuse the name of a file, folder or embedded set that is not there, without loading anything."""
    if Path(name).exists() or EMBEDDED.fullmatch(name) or name == STANDARD_INPUT:
        return
    if Path(name).name != name or Path(name).suffix:
        raise UserError(f"{name}: there is no such file or folder")
    if name.lower().startswith("egonets"):
        raise UserError(f"{name}: the embedded ego networks are egonets-1 to egonets-4, by density")


def is_table(name: str) -> bool:
    """Whether a name is that of a table of molecules."""
    return name == STANDARD_INPUT or Path(name).suffix.lower() in TABLES


def open_source(
    name: str,
    console: Console,
    seed: int = 0,
    columns: Columns | None = None,
    *,
    several: bool = False,
    remembered: dict[str, Any] | None = None,
) -> Source:
    """Load a data set: a TU folder or zip, a Parquet file, a folder of graph files, a table of molecules, or a name.

    Parameters
    ----------
    name : str
        As the user gives it.
    console : Console
        Takes notes.
    seed : int
        Seeds the embedded networks.
    columns : Columns, optional
        The options that say how graphs are read; those that do not apply are refused.
    several : bool
        Whether the command takes several targets.
    remembered : dict, optional
        The ``columns_`` of a model: what holds where no option says otherwise.
    """
    source = _open(name, console, seed, columns or Columns(), remembered)
    if source.several is not None and not several:
        raise UserError(f"this command takes one target, not {len(source.several)} of {source.name}; name one column")
    return source


def _open(name: str, console: Console, seed: int, options: Columns, remembered: dict[str, Any] | None) -> Source:
    path, embedded = Path(name), EMBEDDED.fullmatch(name)
    if embedded:
        options.check("embedded networks", name)
        graphs, y = make_egonets(200, level=int(embedded[1]), random_state=seed)
        return Source(name, graphs, np.array(EGONET_MODELS)[y])
    if is_table(name):
        options.check(TABLE, name)
        return _open_table(name, options, console, remembered)
    if not path.exists():
        check_source(name)
        options.check("a data set in TU layout", name)
        console.note(f"{name} is no file or folder here; looking it up in the TU collection and its cache")
        try:
            path = download_tu(name)
        except (DownloadError, ValueError) as error:
            raise UserError(str(error)) from None
    if path.suffix == ".parquet":
        options.check("a Parquet file", name)
        graphs, y = read_parquet(path, **options.named())
        return Source(path.stem, graphs, y if options.labels is None else _join_labels(options.labels, graphs, name))
    if graph_files(path):
        options = options.check(FOLDER, name, remembered)
        graphs = as_collection(path, **options.named())
        labels = None if options.labels is None else _join_labels(options.labels, graphs, name)
        source = Source(path.name, graphs, labels)
        source.columns = options.given_options(FOLDER)
        return source
    options.check("a data set in TU layout", name)
    data = read_tu(path, directed=options.directed)
    # Classes are numbered from 0, as load_tu numbers them: a model means the same here and in Python.
    if data.classes is not None and data.classes != tuple(range(len(data.classes))):
        meanings = ", ".join(f"{number} is {value}" for number, value in enumerate(data.classes[:MEANINGS]))
        more = ", …" if len(data.classes) > MEANINGS else ""
        console.note(f"{data.name}: classes are numbered from 0; in the file {meanings}{more}")
    return Source(data.name, data.graphs, data.y)


def _join_labels(option: str, graphs: GraphCollection, name: str) -> Any:
    """Return the classes or numbers that ``--labels FILE[:COLUMN]`` gives the graphs, joined by their names.

    The first column of the table holds the names of graphs, with or without the ending of their files. Several columns
    with commas between them, or "all", give a dict of targets with gaps.
    """
    file, _, column = (option, "", "") if Path(option).is_file() else option.rpartition(":")
    if not Path(file).is_file():
        raise UserError(f"--labels {option}: there is no file {file or option}; it takes FILE.csv or FILE.csv:COLUMN")
    if graphs.names is None:
        raise UserError(f"--labels joins a table by the names of graphs, and the graphs of {name} have none")
    with Path(file).open(encoding="utf-8-sig", newline="") as opened:
        lines, columns = read_columns(opened, file, Path(file).suffix.lower())
    titles = list(columns)
    column = column or (titles[1] if len(titles) == 2 else "")
    chosen = [column] if column in titles[1:] else titles[1:] if column == "all" else column.split(",")
    unknown = next((one for one in chosen if one not in titles[1:]), None)
    if unknown is not None:
        problem = f"has no column {unknown!r} behind its first" if column else "has several columns; name one"
        raise UserError(
            f"--labels {option}: {file} {problem}, as in --labels {file}:COLUMN; there is {', '.join(titles)}"
        )
    place_of: dict[str, int] = {}
    known_names = set(graphs.names)
    for row, given in enumerate(columns[titles[0]]):
        ending = Path(given).suffix
        called = given.removesuffix(ending) if given not in known_names and ending.lower() in READERS else given
        if called in place_of:
            raise UserError(f"{file}, line {lines[row]}: {called!r} stands there twice; a graph has one label")
        place_of[called] = row
    if len(known_names) < len(graphs):
        twice = next(one for one in graphs.names if graphs.names.count(one) > 1)
        raise UserError(f"two graphs of {name} are called {twice!r}, and --labels joins by names")
    lacking = next((one for one in graphs.names if one not in place_of), None)
    if lacking is not None:
        raise UserError(f"{file} has no row for the graph {lacking!r} of {name}; its first column names the graphs")
    strange = next((one for one in place_of if one not in known_names), None)
    if strange is not None:
        raise UserError(f"{file}, line {lines[place_of[strange]]}: there is no graph {strange!r} in {name}")
    order = [place_of[one] for one in graphs.names]
    found = {
        one: read_targets([columns[one][row] for row in order], [lines[row] for row in order], file, one, gaps=gaps)
        for gaps in [len(chosen) > 1]
        for one in chosen
    }
    return found if len(found) > 1 else whole_numbers(found[chosen[0]])


def _open_table(
    name: str, options: Columns, console: Console, remembered: dict[str, Any] | None = None
) -> MoleculeSource:
    source: Any = sys.stdin if name == STANDARD_INPUT else Path(name)
    errors = options.errors or "raise"
    known = remembered or {}
    target: Any = options.target
    if isinstance(target, list) and len(target) == 1:
        (target,) = target
    table = read_molecules(
        source,
        options.smiles or [known.get("smiles", "smiles"), "smiles"],
        target,
        errors=errors,
        max_atoms=MAX_ATOMS if options.max_atoms is None else options.max_atoms,
        name=options.name,
        standardize=options.standardize,
    )
    if not table.molecules:
        raise UserError(f"{name} holds no molecule that can be read")
    if isinstance(table.y, dict) and target == "all":
        console.note(f"--target all: {', '.join(table.y)}")
    found = MoleculeSource(table, table.graphs(errors))
    targets = list(table.y) if isinstance(table.y, dict) else [] if target is None else [target]
    found.columns = {"kind": TABLE, "smiles": table.smiles_column, "target": targets}
    return found


def whole_numbers(y: NDArray[Any]) -> NDArray[Any]:
    """Return numbers of which all are whole, and few different, as integers: they are names of classes, mostly."""
    values = np.unique(y) if y.dtype.kind == "f" else y
    are_classes = y.dtype.kind == "f" and len(values) <= MEANINGS and bool((values % 1 == 0).all())
    return y.astype(np.int64) if are_classes else y
