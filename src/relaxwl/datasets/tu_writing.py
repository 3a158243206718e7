"""Writing data sets in the layout of the TU collection, as a folder or a zip file."""

import os
import secrets
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._storage import atomic_write, naming_file
from relaxwl._validation import plain_targets
from relaxwl._warnings import warn_user
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.labels import Label, plain_label

Targets = Sequence[Any] | NDArray[Any]

# Integers beyond this are not read back as they are.
MAX_EXACT = 2**53


def write_tu(path: str | os.PathLike[str], graphs: GraphCollection, y: Targets | None = None) -> None:
    r"""Write graphs in TU layout; :func:`load_tu` reads them.

    Parameters
    ----------
    path : path
        A file that ends in ``.zip``, or a folder that is not there yet or empty. It names the data set: ``NAME.zip``
        and ``NAME`` hold ``NAME_A.txt`` and the others.
    graphs : GraphCollection
        Undirected edges are listed once each way. Arcs are listed once; ``load_tu(path, symmetrize=False)`` reads them.
    y : sequence, optional
        Integers or texts are classes (``NAME_graph_labels.txt``), other numbers graph attributes.

    Notes
    -----
    The layout holds labels that are integers, or several integers each. Others are numbered in their order, which a
    warning says, and ``README.txt`` tells what the numbers stand for.

    Examples
    --------
    >>> import tempfile
    >>> from relaxwl.datasets import load_tu
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], [6, 8, 6]), (1, [], [7])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tu(f"{folder}/TWO.zip", graphs, [0, 1])
    ...     load_tu(f"{folder}/TWO.zip")
    (GraphCollection(2 graphs, 4 nodes, 2 edges, 3 node labels), array([0, 1]))
    """
    target = Path(path)
    name = target.name.removesuffix(".zip")
    notes: list[str] = []
    files = {f"{name}_{kind}.txt": text for kind, text in _texts(graphs, y, notes)}
    if graphs.directed:
        notes.append("The lines of the edges are arcs, from the first node to the second.")
    files["README.txt"] = "\n".join([f"{name}: {graphs.n_graphs} graphs, written by relaxwl in TU layout.", *notes, ""])
    if target.suffix == ".zip":
        with atomic_write(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, text in files.items():
                archive.writestr(f"{name}/{member}", text)
        return
    _write_folder(target, files)


def _write_folder(target: Path, files: dict[str, str]) -> None:
    """Write all files into a folder beside, which takes the name at the end."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"cannot write {target}: it is there already; name a new folder, or a .zip file")
    with naming_file(target):
        temporary = target.with_name(f".{secrets.token_hex(8)}.relaxwl.tmp")
        temporary.mkdir()
        try:
            for name, text in files.items():
                (temporary / name).write_text(text, encoding="utf-8", newline="\n")
            if target.exists():
                target.rmdir()  # Windows does not rename over a folder
            temporary.rename(target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def _texts(graphs: GraphCollection, y: Targets | None, notes: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the kind and content of each file."""
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    yield "A", _lines(np.column_stack([sources, graphs.indices]) + 1)
    yield "graph_indicator", _lines(graphs.graph_of_node[:, None] + 1)
    for kind, what in (("node", "node"), ("edge", "edge")):
        vocabulary, codes = getattr(graphs, f"{kind}_vocabulary"), getattr(graphs, f"{kind}_codes")
        if vocabulary is not None and codes is not None:
            yield f"{kind}_labels", _lines(_columns(vocabulary, f"{what} labels", notes)[codes])
        attributes = getattr(graphs, f"{kind}_attributes")
        if attributes is not None:
            if np.isnan(attributes).any():
                raise ValueError(f"some {what} attributes are missing, which the TU layout cannot say; use Parquet")
            yield f"{kind}_attributes", _lines(attributes)
    if y is not None:
        yield _targets(y, len(graphs), notes)
    elif not graphs.node_counts.all():
        raise ValueError("some graphs have no nodes, which the TU layout tells by y alone: give y")


def _targets(y: Targets, n_graphs: int, notes: list[str]) -> tuple[str, str]:
    values = np.asarray(y)
    if values.ndim != 2 or values.dtype.kind not in "biuf" or len(values) != n_graphs:
        values = plain_targets(y, n_graphs)
    if values.ndim == 1 and values.dtype.kind != "f":
        classes, codes = np.unique(values, return_inverse=True)
        return "graph_labels", _lines(_columns(tuple(map(plain_label, classes)), "classes", notes)[codes])
    return "graph_attributes", _lines(values.astype(np.float64).reshape(n_graphs, -1))


def _columns(values: tuple[Label, ...], what: str, notes: list[str]) -> NDArray[np.int64]:
    """Return a row of integers for each label: its own, or its number if it has others."""
    rows = [value if isinstance(value, tuple) and len(value) > 1 else (value,) for value in values]
    own = all(type(part) is int and abs(part) < MAX_EXACT for row in rows for part in row)
    if own and len({len(row) for row in rows}) <= 1:
        return np.array(rows, np.int64).reshape(len(rows), -1)
    warn_user(f"the {what} are not all integers, which the TU layout wants: they are numbered, see README.txt")
    meanings = "".join(f"\n  {number}  {value}" for number, value in enumerate(values))
    notes.append(f"\nThe {what} stand for{meanings}")
    return np.arange(len(values))[:, None]


def _lines(rows: NDArray[Any]) -> str:
    """Return a line for each row, with all digits."""
    return "".join(", ".join(map(repr, row)) + "\n" for row in rows.tolist())
