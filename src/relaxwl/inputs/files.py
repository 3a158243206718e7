"""Folders of graph files, one graph per file: GraphML, GML and edge lists, read by networkx."""

import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from relaxwl._memory import check_memory
from relaxwl._storage import require_regular
from relaxwl._validation import read_number

# File extensions, with the reader in networkx.
READERS = {".graphml": "read_graphml", ".gml": "read_gml", ".edgelist": "read_edgelist"}
# Maximum length of a line of an edge list in bytes: parsed as an expression, it takes some 200 times as much memory.
MAX_LINE = 1 << 16
# Memory that networkx takes for each byte of a file of usual nodes and edges; for very short names it is up to 200.
BYTES_PER_BYTE = {".graphml": 40, ".gml": 35, ".edgelist": 70}
# Maximum number of characters of a parser's message that are shown: some messages repeat the whole file.
MAX_REASON = 300
# String literals of Python, and underscores within numbers, which only Python accepts.
QUOTED = re.compile(rb"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
NUMBER = re.compile(rb"(?<![\w.])\.?[0-9](?:[eE][+-]|[\w.])*")
# Strings, comments and keys of GML; then its numbers, and tokens that begin like a number but are none.
GML_TOKEN = re.compile(
    rb'"[^"]*"|#.*|[A-Za-z]\w*'
    rb"|(?P<number>[+-]?(?:(?:[0-9]*\.[0-9]+|[0-9]+\.)(?:[Ee][+-]?[0-9]+)?|[0-9]+)(?![\w.]))"
    rb"|(?P<wrong>[+-]?[0-9.][\w.+-]*)"
)
GRAPHML_NUMBERS = ("int", "integer", "long", "float", "double")


def graph_files(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the graph files of a folder in the natural order of their names (net_2 before net_10).

    Files with several extensions in one folder are an error, since it is not clear which of them are meant.
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
    """Return networkx graphs, each with the name of its file; ``directed`` applies to edge lists.

    The two nodes of an edge may be followed by a dictionary, as networkx writes it, or by a weight.
    """
    try:
        import networkx
    except ImportError:
        raise ImportError("folders of graph files are read through networkx: pip install networkx") from None
    needed = sum(BYTES_PER_BYTE[file.suffix.lower()] * require_regular(file) for file in files)
    check_memory(needed, f"the graphs of {len(files)} files", "use several folders, or a Parquet file or TU folder")
    graphs = []
    for file in files:
        try:
            CHECKS[file.suffix.lower()](file)
            if file.suffix.lower() == ".edgelist":
                kind = networkx.DiGraph if directed else networkx.Graph
                try:
                    graph = networkx.read_edgelist(file, create_using=kind)
                except TypeError:
                    graph = networkx.read_weighted_edgelist(file, create_using=kind)
            else:
                graph = getattr(networkx, READERS[file.suffix.lower()])(file)
        except Exception as error:  # parsers of XML and GML raise various exceptions
            reason = str(error)
            reason = reason if len(reason) <= MAX_REASON else f"{reason[:MAX_REASON]}…"
            raise ValueError(f"{file} cannot be read as {file.suffix.removeprefix('.')}: {reason}") from None
        graph.graph["name"] = file.stem
        graphs.append(graph)
    return graphs


def _check_edges(file: Path) -> None:
    """Raise an error for long lines, numbers that only Python accepts (1_0 as 10), and labels that underflow to 0."""
    with file.open("rb") as opened:
        for number, line in enumerate(iter(lambda: opened.readline(MAX_LINE + 1), b""), 1):
            if len(line) > MAX_LINE:
                raise ValueError(f"line {number} has more than {MAX_LINE} bytes")
            data = QUOTED.sub(b"", b"".join(line.partition(b"#")[0].split(None, 2)[2:]))
            try:
                for word in NUMBER.findall(data) if data.isascii() else [data]:
                    read_number(word.decode(errors="replace"), is_label=True)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None


def _check_gml(file: Path) -> None:
    """Raise an error for numbers that networkx would split: 1e-05, as written by igraph, into 1 and an attribute e.

    Any number may be a label, so numbers that underflow to 0 are errors as well.
    """
    text = file.read_bytes()
    for found in GML_TOKEN.finditer(text):
        try:
            if found["wrong"]:
                shown = found["wrong"][:40].decode()
                raise ValueError(f"{shown!r} is not a number of GML, which have a point, as in 1.0e-05")
            if found["number"]:
                read_number(found["number"].decode(), is_label=True)
        except ValueError as error:
            line = text.count(b"\n", 0, found.start()) + 1
            raise ValueError(f"line {line}: {error}") from None


def _check_graphml(file: Path) -> None:
    """Raise an error for values of numeric attributes that only Python accepts, and labels that underflow to 0."""
    numeric: set[str] = set()
    doubtful: dict[str, str] = {}
    key = ""
    for event, element in ElementTree.iterparse(file, ("start", "end")):
        name = element.tag.rpartition("}")[2]
        if event == "start":
            if name in ("key", "data"):
                key = element.get("id" if name == "key" else "key", "")
                if name == "key" and element.get("attr.type") in GRAPHML_NUMBERS:
                    numeric.add(key)
            continue
        text = element.text or ""
        if name in ("data", "default") and text.strip():
            try:
                read_number(text, is_label=True)
            except ValueError as error:
                doubtful.setdefault(key, str(error))
        element.clear()
    for key in numeric & doubtful.keys():
        raise ValueError(f"a value of {key}: {doubtful[key]}")


CHECKS = {".graphml": _check_graphml, ".gml": _check_gml, ".edgelist": _check_edges}
