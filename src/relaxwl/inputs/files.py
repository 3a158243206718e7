"""Folders of graph files, one graph per file: GraphML, GML and edge lists, read by networkx."""

import os
import re
from pathlib import Path
from typing import Any

from relaxwl._storage import require_regular

# The endings, and the name of the reader in networkx.
READERS = {".graphml": "read_graphml", ".gml": "read_gml", ".edgelist": "read_edgelist"}
# The longest line of a list of edges, in bytes: parsed as an expression it takes some 200 times as much memory.
MAX_LINE = 1 << 16
# Characters of what a parser says: some repeat the whole file.
MAX_REASON = 300


def graph_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the graph files of a folder in the natural order of their names (net_2 before net_10).

    A folder that holds files of several endings is refused: which of them are meant?
    """
    path = Path(folder)
    found = [file for file in path.iterdir() if file.suffix.lower() in READERS] if path.is_dir() else []
    endings = sorted({file.suffix.lower() for file in found})
    if len(endings) > 1:
        raise ValueError(f"{path} holds graphs in files that end in {' and '.join(endings)}; keep one kind in a folder")
    return sorted(found, key=lambda file: natural_order(file.name))


def natural_order(text: str) -> list[tuple[int, int, str]]:
    """Return a sort key for natural order, in which numbers within names are compared as numbers.

    >>> sorted(["net_10", "net_2", "net"], key=natural_order)
    ['net', 'net_2', 'net_10']
    """
    parts = re.split(r"(\d+)", text)
    return [(0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts if part]


def read_files(files: list[Path], directed: bool) -> list[Any]:
    """Return networkx graphs, each with the name of its file; of lists of edges, ``directed`` says that they are arcs.

    What stands behind the two nodes of an edge is a dictionary, as networkx writes it, or a weight.
    """
    try:
        import networkx
    except ImportError:
        raise ImportError("folders of graph files are read through networkx: pip install networkx") from None
    graphs = []
    for file in files:
        require_regular(file)
        try:
            if file.suffix.lower() == ".edgelist":
                _check_lines(file)
                kind = networkx.DiGraph if directed else networkx.Graph
                try:
                    graph = networkx.read_edgelist(file, create_using=kind)
                except TypeError:
                    _check_weights(file)
                    graph = networkx.read_weighted_edgelist(file, create_using=kind)
            else:
                graph = getattr(networkx, READERS[file.suffix.lower()])(file)
        except Exception as error:  # parsers of XML and GML raise what they like
            reason = str(error)
            reason = reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}…"
            raise ValueError(f"{file} cannot be read as {file.suffix.removeprefix('.')}: {reason}") from None
        graph.graph["name"] = file.stem
        graphs.append(graph)
    return graphs


def _check_lines(file: Path) -> None:
    with file.open("rb") as opened:
        for number, line in enumerate(iter(lambda: opened.readline(MAX_LINE + 1), b""), 1):
            if len(line) > MAX_LINE:
                raise ValueError(f"line {number} has more than {MAX_LINE} bytes")


def _check_weights(file: Path) -> None:
    """Refuse weights such as 1_0, which Python reads as 10, and digits of other scripts."""
    with file.open(encoding="utf-8") as opened:
        for number, line in enumerate(opened, 1):
            weight = [*line.partition("#")[0].split(), "", "", ""][2]
            if "_" in weight or not weight.isascii():
                raise ValueError(f"line {number}: {weight!r} is not a number")
