"""Folders of graph files, one graph a file: GraphML, GML and lists of edges, read through networkx."""

import os
from pathlib import Path
from typing import Any

from relaxwl._storage import require_regular

# The endings, and the name of the reader in networkx.
READERS = {".graphml": "read_graphml", ".gml": "read_gml", ".edgelist": "read_edgelist"}


def graph_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the graph files of a folder in the order of their names; those of one ending, the first that is there."""
    path = Path(folder)
    for ending in READERS:
        found = sorted(path.glob(f"*{ending}")) if path.is_dir() else []
        if found:
            return found
    return []


def read_files(files: list[Path]) -> list[Any]:
    """Return networkx graphs."""
    try:
        import networkx
    except ImportError:
        raise ImportError("folders of graph files are read through networkx: pip install networkx") from None
    graphs = []
    for file in files:
        require_regular(file)
        try:
            graphs.append(getattr(networkx, READERS[file.suffix])(file))
        except Exception as error:  # parsers of XML and GML raise what they like
            raise ValueError(f"{file} cannot be read as {file.suffix.removeprefix('.')}: {error}") from None
    return graphs
