"""TU folders and zip files: what is accepted must be what the files say, read line by line in the obvious way."""

import random
import warnings
import zipfile
from collections import Counter
from pathlib import Path

from fuzz.limits import read_or_refused
from fuzz.mutations import changed_bytes, changed_lines
from relaxwl.datasets import read_tu

REQUIRED = ("A", "graph_indicator")


def folder_case(rng: random.Random, folder: Path) -> None:
    """Write a data set, change it, read it."""
    files = _files(rng)
    if rng.random() < 0.9:
        files = _changed(rng, files)
    for kind, content in files.items():
        (folder / f"T_{kind}.txt").write_bytes(content)
    data = _read(folder, sum(map(len, files.values())))
    if data is not None:
        _compare(data, files)


def zip_case(rng: random.Random, folder: Path) -> None:
    """Pack a data set, change the archive, read it."""
    files = {kind: content * rng.choice((1,) * 20 + (50,)) for kind, content in _files(rng).items()}
    path = folder / "T.zip"
    methods = (zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that occur twice
        with zipfile.ZipFile(path, "w", rng.choice(methods)) as archive:
            for kind, content in files.items():
                for _ in range(1 + (rng.random() < 0.02)):
                    archive.writestr(f"T/T_{kind}.txt", content)
    changes = rng.random() < 0.9
    content = path.read_bytes()
    path.write_bytes(changed_bytes(rng, content) if changes else content)
    data = _read(path, sum(map(len, files.values())) + len(content))
    if data is not None:
        # A damaged name may hide an optional file, which the reader says; content is covered by checksums.
        _compare(data, {kind: files[kind] for kind in (*REQUIRED, *data.optional_files)})


def _read(path: Path, size: int):
    return read_or_refused(lambda: read_tu(path), size)


# ------------------------------------------------------------------------------------------------------- generating


def _files(rng: random.Random) -> dict[str, bytes]:
    sizes = [rng.choice((0, 1, 2, 3, 5, 8)) for _ in range(rng.choice((1, 2, 3, 6)))]
    sizes[-1] = max(sizes[-1], 1)
    starts = [sum(sizes[:graph]) for graph in range(len(sizes))]
    edges = []
    for start, size in zip(starts, sizes, strict=True):
        edges += [(start + rng.randrange(size), start + rng.randrange(size)) for _ in range(size and rng.randrange(8))]
    edges = list(dict.fromkeys((min(edge), max(edge)) for edge in edges))
    labels = {edge: rng.randrange(-1, 3) for edge in edges}
    if rng.random() < 0.5:
        edges += [(v, u) for u, v in edges]
    columns = rng.choice((1, 1, 2))
    separator = rng.choice((", ", ",", " , "))
    tables = {
        "A": [(u + 1, v + 1) for u, v in edges],
        "graph_indicator": [(graph + 1,) for graph, size in enumerate(sizes) for _ in range(size)],
        "graph_labels": [(rng.choice((-1, 1, 7)),) for _ in sizes],
        "graph_attributes": [(_number(rng),) for _ in sizes],
        "node_labels": [tuple(rng.randrange(3) for _ in range(columns)) for _ in range(sum(sizes))],
        "node_attributes": [tuple(_number(rng) for _ in range(columns)) for _ in range(sum(sizes))],
        "edge_labels": [(labels[min(edge), max(edge)],) for edge in edges],
    }
    kept = {kind for kind in tables if kind in REQUIRED or kind == "graph_labels" or rng.random() < 0.5}
    end = rng.choice(("\n", "\n", "\r\n"))
    return {
        kind: (end.join(separator.join(map(str, row)) for row in rows) + rng.choice(("", end))).encode()
        for kind, rows in tables.items()
        if kind in kept
    }


def _number(rng: random.Random) -> str:
    digits = rng.choice((1, 3, 17, 25))
    return rng.choice(
        (f"{rng.uniform(-9, 9):.{digits}g}", f"{rng.uniform(-1e30, 1e30)!r}", "0", "-0.0", "1e-3", "5e-324")
    )


def _changed(rng: random.Random, files: dict[str, bytes]) -> dict[str, bytes]:
    changed = dict(files)
    for _ in range(rng.choice((1, 1, 2, 4))):
        kind = rng.choice(list(changed))
        match rng.randrange(8):
            case 0 if rng.random() < 0.3:
                del changed[kind]
            case 1 if rng.random() < 0.3:
                changed[rng.choice(list(files))] = changed[kind]
            case 2 | 3:
                changed[kind] = changed_lines(rng, changed[kind])
            case 4 if rng.random() < 0.1:
                changed[kind] = rng.choice((b",", b"\n", b"1,", b"1\n", b"nan,")) * rng.choice((100, 10_000, 100_000))
            case _:
                changed[kind] = changed_bytes(rng, changed[kind])
        if not changed:
            break
    return changed


# ----------------------------------------------------------------------------------------- reading in the obvious way


def _rows(content: bytes) -> list[list[float]]:
    """Return the numbers of each line; what is no number raises."""
    text = content.removeprefix(b"\xef\xbb\xbf").rstrip()
    lines = text.split(b"\n") if text.strip() else []
    rows = []
    for line in lines:
        cells = [cell.strip(b" \t\r") for cell in line.split(b",")]
        assert not any(b"_" in cell for cell in cells), "Python's own way to write numbers"
        rows.append([_exact(cell) for cell in cells])
    return rows


def _exact(cell: bytes) -> float:
    """Return a number; whole ones as they are, since a float has no more than 53 bits of them."""
    try:
        return int(cell) or float(cell)  # which may be -0.0
    except ValueError:
        return float(cell)


def _compare(data, files: dict[str, bytes]) -> None:
    """Check what was read against the files."""
    tables = {kind: _rows(content) for kind, content in files.items()}
    indicator = [int(row[0]) for row in tables["graph_indicator"]]
    assert all(len(row) == 1 for row in tables["graph_indicator"])
    n_graphs = len(tables.get("graph_labels", tables.get("graph_attributes", [[0]] * max(indicator, default=0))))
    sizes = Counter(indicator)
    assert data.graphs.node_counts.tolist() == [sizes[graph + 1] for graph in range(n_graphs)]
    assert indicator == sorted(indicator)
    starts = data.graphs.offsets.tolist()
    expected = {tuple(sorted((int(u) - 1, int(v) - 1))) for u, v in tables["A"] if u != v}
    found = {(starts[g] + int(u), starts[g] + int(v)) for g, graph in enumerate(data.graphs) for u, v in graph.edges}
    assert found == expected
    if "graph_labels" in data.optional_files:
        values = [int(row[0]) for row in tables["graph_labels"]]
        assert [data.classes[code] for code in data.y] == values
    if "node_labels" in data.optional_files:
        wanted = [tuple(map(int, row)) if len(row) > 1 else int(row[0]) for row in tables["node_labels"]]
        assert [label for graph in data.graphs for label in graph.node_labels] == wanted
    if "node_attributes" in data.optional_files and data.graphs.node_attributes is not None:
        assert data.graphs.node_attributes.tolist() == _floats(tables["node_attributes"])
    if "graph_attributes" in data.optional_files:
        assert str(data.graph_attributes.tolist()) == str(_floats(tables["graph_attributes"]))


def _floats(rows: list[list[float]]) -> list[list[float]]:
    return [[float(value) for value in row] for row in rows]
