"""Data sets as users name them on the command line."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from relaxwl.commands.console import Console, UserError
from relaxwl.datasets import EGONET_MODELS, DownloadError, download_tu, make_egonets, read_parquet, read_tu
from relaxwl.graphs import GraphCollection
from relaxwl.inputs import as_collection
from relaxwl.inputs.files import graph_files

# Classes whose values in the file are named.
MEANINGS = 10
# Ego networks that come with the package: egonets-1 to egonets-4, by density.
EMBEDDED = re.compile(r"egonets-([1-4])")


class Source:
    """A data set with its name, graphs and classes."""

    def __init__(self, name: str, graphs: GraphCollection, y: NDArray[np.generic] | None) -> None:
        self.name = name
        self.graphs = graphs
        self.y = y

    def require_classes(self) -> NDArray[np.generic]:
        """Return the classes, or say that there are none."""
        if self.y is None or self.y.ndim != 1 or self.y.dtype.kind not in "iuU":
            raise UserError(f"{self.name} has no classes (a file NAME_graph_labels.txt), and this command needs them")
        return self.y

    def require_targets(self) -> NDArray[np.generic]:
        """Return the classes, or the numbers where there are numbers."""
        return self.require_numbers() if self.y is not None and self.y.dtype.kind == "f" else self.require_classes()

    def require_numbers(self) -> NDArray[np.generic]:
        """Return the numbers that regression predicts, or say that there are none."""
        if self.y is None or self.y.ndim != 1 or self.y.dtype.kind not in "iuf":
            raise UserError(f"{self.name} has no number for each graph, and regression needs one")
        return self.y


def check_source(name: str) -> None:
    """Refuse the name of a file, folder or embedded set that is not there, without loading anything."""
    if Path(name).exists() or EMBEDDED.fullmatch(name):
        return
    if Path(name).name != name or Path(name).suffix:
        raise UserError(f"{name}: there is no such file or folder")
    if name.lower().startswith("egonets"):
        raise UserError(f"{name}: the embedded ego networks are egonets-1 to egonets-4, by density")


def open_source(name: str, console: Console, seed: int = 0, *, directed: bool = False) -> Source:
    """Load a data set: a TU folder or zip, a Parquet file, a folder of graph files, or a name of what can be had.

    ``directed`` says that the edges of TU files are arcs; other sources tell by themselves.
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
    if path.suffix == ".parquet":
        return Source(path.stem, *read_parquet(path))
    if graph_files(path):
        return Source(path.name, as_collection(path), None)
    data = read_tu(path, symmetrize=not directed)
    # Classes are numbered from 0, as load_tu numbers them: a model means the same here and in Python.
    if data.classes is not None and data.classes != tuple(range(len(data.classes))):
        meanings = ", ".join(f"{number} is {value}" for number, value in enumerate(data.classes[:MEANINGS]))
        more = ", …" if len(data.classes) > MEANINGS else ""
        console.note(f"{data.name}: classes are numbered from 0; in the file {meanings}{more}")
    return Source(data.name, data.graphs, data.y)
