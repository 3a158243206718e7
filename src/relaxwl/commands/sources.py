"""Data sets as users name them on the command line."""

import re
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import cached_property
from relaxwl._validation import as_task, infer_task, repeated
from relaxwl.commands.console import Console, UserError, option
from relaxwl.datasets import make_egonets, read_parquet, read_tu
from relaxwl.datasets.fetch import NAME, download_tu
from relaxwl.datasets.molecules import (
    MoleculeTable,
    read_columns,
    read_molecules,
    read_targets,
    smiles_column,
    table_rows,
)
from relaxwl.datasets.smiles import MAX_ATOMS
from relaxwl.datasets.synthetic import EGONET_MODELS
from relaxwl.distributed.shards import MANIFEST
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int64
from relaxwl.inputs import as_collection
from relaxwl.inputs.files import READERS, graph_files

# Maximum number of classes whose values in the file are listed.
MEANINGS = 10
# Names of embedded ego networks: egonets-1 to egonets-4, by density.
EMBEDDED = re.compile(r"egonets-([1-4])")
# File extensions of tables of molecules, and the name of standard input, which contains one.
TABLES = (".csv", ".tsv", ".smi", ".sdf")
STANDARD_INPUT = "-"
# File extensions of compressed files, with the program that decompresses them.
COMPRESSED = {".gz": "gunzip", ".bz2": "bunzip2", ".xz": "unxz", ".zst": "unzstd"}
FOLDER, TABLE, TU, SHARDS = "a folder of graph files", "a table of molecules", "a data set in TU layout", "shards"
# Options that are stored in a model for a folder of graph files; for a table of molecules, the columns are stored.
REMEMBERED = ("node_label", "edge_label", "node_attributes", "edge_attributes", "missing", "directed")
# Kinds of data sets, and the options of reading that apply to them.
APPLY: dict[str, tuple[str, ...]] = {
    "embedded networks": (),
    TABLE: ("smiles", "target", "errors", "name", "max_atoms", "standardize", "stereo"),
    "a Parquet file": ("labels", *REMEMBERED),
    FOLDER: ("labels", *REMEMBERED),
    TU: ("directed",),
    SHARDS: ("stereo",),
}


class Source:
    """A data set with its name, graphs and targets.

    ``y`` is the array of targets, or None; ``several`` are several targets by name, with gaps. ``columns`` are the
    reading options that a model stores; ``declared`` is the task if the file says what its targets are.
    """

    # Description of the location of targets, for messages.
    targets_from = "a file NAME_graph_labels.txt, or --labels FILE:COLUMN for named graphs"
    things = "graphs"
    graphs: Any

    def __init__(
        self,
        name: str,
        graphs: GraphCollection | None,
        y: Any,
        columns: dict[str, Any] | None = None,
        declared: str | None = None,
    ) -> None:
        self.name, self.declared = name, declared
        if graphs is not None:
            self.graphs = graphs
        self.y: NDArray[Any] | None = None if isinstance(y, dict) else y
        if self.y is not None and self.y.ndim == 1 and declared is None:
            # In the type of what they look like, also for commands that write them into arrays and shards.
            self.y = as_task(self.y, infer_task(self.y))
        self.several: dict[str, NDArray[Any]] | None = y if isinstance(y, dict) else None
        self.columns = columns

    def __str__(self) -> str:
        return f"{self.name}: {self.graphs!r}"

    def task(self, y: NDArray[Any], asked: str, console: Console, target: str = "") -> str:
        """Return the task of targets without gaps: that of the option or of the file, or inferred, with a note."""
        if asked != "auto":
            return asked
        if self.declared is not None:
            return self.declared
        task, n_different = infer_task(y), len(np.unique(y)) if y.dtype.kind in "iuf" else 0
        if n_different > 2 and (y % 1 == 0).all():  # all others are obvious
            read, other = ("classes", "regression") if task == "classification" else ("numbers", "classification")
            of = f"{self.name}, target {target!r}" if target else self.name
            console.note(f"{of}: {n_different} different whole numbers are {read}, unless --task {other}")
        return task

    def require_targets(self, asked: str, console: Console) -> tuple[str, NDArray[Any]]:
        """Return the task, and the targets in its type; raise an error if there are none that suit the task."""
        y = None if self.y is None or self.y.ndim != 1 else self.y
        task = asked if y is None else self.task(y, asked, console)
        if y is None or (task == "regression" and y.dtype.kind not in "iuf"):
            what = {"regression": "no number for each graph", "classification": "no classes"}.get(task, "no targets")
            raise UserError(f"{self.name} has {what} ({self.targets_from}), which this command requires")
        y = as_task(y, task)
        if task == "classification" and y.dtype.kind == "f":
            raise UserError(f"the targets of {self.name} are measured numbers, not classes; try --task regression")
        return task, y

    @property
    def readable(self) -> Int64:
        """Positions of the graphs that could be read."""
        return np.arange(len(self.graphs))

    def groups(self, how: str) -> Int64:
        """Return the groups that validation does not split."""
        if how == "scaffold":
            raise UserError(f"{self.name} is not a table of molecules, so it has no scaffolds")
        return np.arange(len(self.graphs))

    def full_names(self) -> tuple[str | None, ...] | None:
        """Return the names by which a model remembers the graphs."""
        names: tuple[str | None, ...] | None = self.graphs.names
        return names

    def row_names(self) -> dict[str, list[Any]]:
        """Return the columns that identify the graphs in a table of predictions."""
        return {"graph": list(self.graphs.names or range(len(self.graphs)))}


class MoleculeSource(Source):
    """A table of molecules; graphs are created on demand, without nodes for rows that could not be read."""

    targets_from = "--target COLUMN selects the column"
    things = "molecules"

    def __init__(self, table: MoleculeTable, options: dict[str, Any], targets: list[str]) -> None:
        super().__init__(table.name, None, table.y, {"kind": TABLE, "smiles": table.smiles_column, "target": targets})
        self.table, self._options = table, options

    def __str__(self) -> str:
        return repr(self.table)

    @cached_property
    def graphs(self) -> GraphCollection:
        """The molecules as graphs."""
        return self.table.graphs(self._options.get("errors", "raise"), stereo=self._options.get("stereo", False))

    @property
    def readable(self) -> Int64:
        """Positions of the molecules that could be read."""
        return np.flatnonzero([molecule is not None for molecule in self.table.molecules])

    def groups(self, how: str) -> Int64:
        """Return the scaffold of each molecule, or a number that copies of a molecule share."""
        from relaxwl.molecules import duplicates, scaffolds  # imports all predictors, which other commands do not need

        return (scaffolds if how == "scaffold" else duplicates)(self.table.molecules)

    def full_names(self) -> tuple[str | None, ...] | None:
        """Return the names of the molecules, followed by their SMILES if these are not the names."""
        table = self.table
        rows = zip(table.names, table.smiles, table.columns.get(table.smiles_column, table.smiles), strict=True)
        return tuple(given or smiles if name in ("", given) else f"{name} {smiles}" for name, smiles, given in rows)

    def row_names(self) -> dict[str, list[Any]]:
        """Return the lines of the file and all its columns."""
        return {"line": self.table.lines, **self.table.columns}


def reading_options(
    arguments: Namespace, kind: str, name: str, remembered: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the reading options that were given or stored in a model; options for other formats raise an error."""
    every = dict.fromkeys(key for keys in APPLY.values() for key in keys)
    given = {key: value for key in every if (value := getattr(arguments, key, None)) not in (None, False)}
    foreign = next((key for key in given if key not in APPLY[kind]), None)
    if foreign is not None:
        useful = ", ".join(map(option, APPLY[kind])) or "no such option"
        raise UserError(f"{option(foreign)} does not apply to {name}, {kind}; options that apply: {useful}")
    if remembered is None or remembered.get("kind") != kind:
        return given
    known = {key: value == "yes" if key == "directed" else value for key, value in remembered.items()}
    return {**{key: value for key, value in known.items() if key in REMEMBERED}, **given}


def _named(options: dict[str, Any]) -> dict[str, Any]:
    """Return which labels and attributes to read, as arguments of ``as_collection`` and ``read_parquet``."""
    lists = {key: [part.strip() for part in options[key].split(",")] for key in REMEMBERED[:4] if key in options}
    return {
        **{key: [part for part in parts if part] for key, parts in lists.items()},
        "missing": options.get("missing"),
        "directed": options.get("directed"),
    }


def check_source(name: str, *, of_molecules: bool = False) -> None:
    """Raise an error if a file, folder or embedded data set cannot be read, without loading anything.

    ``of_molecules`` excludes names of the TU collection: with a model of molecules, a name is rather a SMILES, which
    must not be sent to a server.
    """
    if (ending := Path(name).suffix.lower()) in COMPRESSED:
        raise UserError(f"{name} is compressed; decompress it first: {COMPRESSED[ending]} -k {name}")
    if Path(name).exists() or EMBEDDED.fullmatch(name) or name == STANDARD_INPUT:
        return
    if Path(name).is_symlink():
        raise UserError(f"{name} is a symbolic link to a file or folder that does not exist, or to itself")
    if of_molecules or not (Path(name).suffix or NAME.fullmatch(name) or Path(name).name != name):
        raise UserError(
            f"there is no file or folder {name}; SMILES are read from a .smi file or, with '-', from standard input"
        )
    if Path(name).name != name or Path(name).suffix:
        raise UserError(f"{name}: there is no such file or folder")
    if name.lower().startswith("egonets"):
        raise UserError(f"{name}: the embedded ego networks are egonets-1 to egonets-4, by density")


def is_table(name: str) -> bool:
    """Whether a name is that of a table of molecules."""
    return name == STANDARD_INPUT or Path(name).suffix.lower() in TABLES


def check_columns(name: str, arguments: Namespace, remembered: dict[str, Any] | None) -> None:
    """Raise an error if a table lacks the column of SMILES; only its header is read."""
    check_source(name)
    ending = Path(name).suffix.lower()
    if ending in (".csv", ".tsv"):
        with Path(name).open(encoding="utf-8-sig", newline="") as file:
            titles = next(table_rows(file, name, ending), (0, [""]))[1]
        columns = {title.strip(): [""] for title in titles}
        smiles_column(columns, _wanted(reading_options(arguments, TABLE, name), remembered), name)


def _wanted(options: dict[str, Any], remembered: dict[str, Any] | None) -> list[str]:
    """Return possible titles of the column of SMILES: that of the option, or that of the model's table."""
    return [options["smiles"]] if "smiles" in options else [(remembered or {}).get("smiles", "smiles"), "smiles"]


def open_source(
    name: str,
    arguments: Namespace,
    console: Console,
    *,
    several: bool = False,
    remembered: dict[str, Any] | None = None,
) -> Source:
    """Load a data set: a TU folder or zip, a Parquet file, a folder of graph files, a table of molecules, or a name.

    Parameters
    ----------
    name : str
        Name of the data set on the command line.
    arguments : Namespace
        The options of the command; reading options that do not apply raise an error.
    console : Console
        Prints notes.
    several : bool, default=False
        Whether the command supports several targets.
    remembered : dict, optional
        The ``columns_`` of a model, which are the defaults of the options.
    """
    source = _open(name, arguments, console, remembered)
    if source.several is not None and not several:
        raise UserError(f"this command takes one target, not {len(source.several)} of {source.name}; name one column")
    return source


def _open(name: str, arguments: Namespace, console: Console, remembered: dict[str, Any] | None) -> Source:
    path, embedded = Path(name), EMBEDDED.fullmatch(name)
    if embedded:
        reading_options(arguments, "embedded networks", name)
        graphs, y = make_egonets(200, level=int(embedded[1]), random_state=getattr(arguments, "seed", 0))
        return Source(name, graphs, np.array(EGONET_MODELS)[y])
    if is_table(name):
        return _open_table(name, arguments, console, remembered)
    check_source(name)
    if not path.exists():
        reading_options(arguments, TU, name)
        console.note(f"{name} is not a local file or folder; looking it up in the TU collection and its cache")
        path = download_tu(name)
    is_parquet = path.suffix.lower() == ".parquet"
    if is_parquet or graph_files(path):
        kind = "a Parquet file" if is_parquet else FOLDER
        options = reading_options(arguments, kind, name, remembered)
        read: Any = read_parquet if is_parquet else lambda *given, **named: (as_collection(*given, **named), None)
        found, targets = read(path, **_named(options))
        targets = _join_labels(options["labels"], found, name) if "labels" in options else targets
        kept = {key: "yes" if options[key] is True else options[key] for key in REMEMBERED if key in options}
        return Source(path.stem if is_parquet else path.name, found, targets, {"kind": kind, **kept})
    if (path / MANIFEST).exists() and not any(path.glob("*_A.txt")):
        raise UserError(
            f"{name} is a folder of shards, which only 'relaxwl fit' and relaxwl.distributed.ShardedCollection read"
        )
    if path.suffix.lower() in READERS:
        raise UserError(f"{name} is a single graph; give its folder, whose graph files are read together")
    data = read_tu(path, directed=reading_options(arguments, TU, name).get("directed", False))
    # Classes are numbered from 0, as in load_tu, so that models are the same here and in Python.
    if data.classes is not None and data.classes != tuple(range(len(data.classes))):
        meanings = ", ".join(f"{number} is {value}" for number, value in enumerate(data.classes[:MEANINGS]))
        more = ", …" if len(data.classes) > MEANINGS else ""
        console.note(f"{data.name}: classes are numbered from 0; in the file {meanings}{more}")
    declared = None if data.classes is None else "classification"
    return Source(data.name, data.graphs, data.y, declared=declared)


def _join_labels(option: str, graphs: GraphCollection, name: str) -> Any:
    """Return the classes or numbers that ``--labels FILE[:COLUMN]`` gives the graphs, joined by their names.

    The first column of the table contains the names of graphs, with or without file extension. Several columns
    separated by commas, or "all", give a dict of targets with gaps.
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
    others = set(titles[1:])
    unknown = next((one for one in chosen if one not in others), None)
    if unknown is not None:
        problem = f"has no column {unknown!r} after its first" if column else "has several columns; name one"
        raise UserError(
            f"--labels {option}: {file} {problem}, as in --labels {file}:COLUMN; there is {', '.join(titles)}"
        )
    place_of: dict[str, int] = {}
    known_names = set(graphs.names)
    for row, given in enumerate(columns[titles[0]]):
        ending = Path(given).suffix
        called = given.removesuffix(ending) if given not in known_names and ending.lower() in READERS else given
        if called in place_of:
            raise UserError(f"{file}, line {lines[row]}: {called!r} occurs twice; a graph has one label")
        place_of[called] = row
    if len(known_names) < len(graphs):
        raise UserError(f"two graphs of {name} are called {repeated(graphs.names)!r}, and --labels joins by names")
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
    return found if len(found) > 1 else found[chosen[0]]


def _open_table(name: str, arguments: Namespace, console: Console, remembered: dict[str, Any] | None) -> MoleculeSource:
    options = reading_options(arguments, TABLE, name)
    target = options.get("target")
    if isinstance(target, list) and len(target) == 1:
        (target,) = target
    table = read_molecules(
        sys.stdin if name == STANDARD_INPUT else Path(name),
        _wanted(options, remembered),
        target,
        errors=options.get("errors", "raise"),
        max_atoms=options.get("max_atoms", MAX_ATOMS),
        name=options.get("name"),
        standardize=options.get("standardize", False),
        n_jobs=getattr(arguments, "jobs", None),
    )
    if not table.molecules:
        raise UserError(f"{name} has no molecule that can be read")
    targets = list(table.y) if isinstance(table.y, dict) else [] if target is None else [target]
    if isinstance(table.y, dict) and target == "all":
        console.note(f"--target all: {', '.join(targets)}")
    return MoleculeSource(table, options, targets)
