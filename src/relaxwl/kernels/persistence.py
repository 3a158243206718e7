"""Fitted kernels in one file: arrays and JSON in a zip, checksummed, and nothing in it is ever executed.

The file holds ``model.json`` (format version, the model as a tree of plain values, a SHA-256 of this and of each array)
and one ``.npy`` file for each array. Objects are restored only if their class is in the list below; no pickle is read.
Compiled code does not check its indices, so all that it will index with is checked here, when a model is read.
"""

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._memory import MEMORY_SHARE, physical_memory
from relaxwl._storage import atomic_write, require_regular
from relaxwl.clustering.partitioners import (
    IdentityPartitioner,
    KMeansPartitioner,
    KMedoidsPartitioner,
    RadiusPartitioner,
)
from relaxwl.costs import Codebook, EditCost
from relaxwl.kernels.chains import Level
from relaxwl.kernels.counting import EdgeCounter, ShortestPathCounter, SubtreeCounter
from relaxwl.kernels.partition import ExactTrees, Partition
from relaxwl.unfolding import Rows, check_rows
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding

FORMAT = "relaxwl-model"
# Raised when a file of this version cannot be read by older code; what older versions wrote stays readable.
VERSION = 1

_KINDS = [Codebook, EdgeCounter, EdgeEncoding, ExactTrees, IdentityPartitioner, KMeansPartitioner]
_KINDS += [KMedoidsPartitioner, Level, Partition, RadiusPartitioner, RootEncoding, ShortestPathCounter]
_KINDS += [SubtreeCounter, Rows]
CLASSES: dict[str, type] = {kind.__name__: kind for kind in _KINDS}
# What rows were called before, each with its own name for the number of points.
FORMER_ROWS = {"TreeRows": "n_previous", "Centers": "n_points"}
# Rebuilt when asked for, so not worth keeping.
CACHES = frozenset({"built"})

# What the standard library raises on bytes that are no zip, or whose content, names or flags were damaged.
READ_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    LookupError,
    TypeError,
    ValueError,
    RuntimeError,
    MemoryError,
)
# What a tree that describes no model leads to.
CONTENT_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class ModelFileError(ValueError):
    """A file that is no model, is damaged, or was written by a newer version."""


def save_model(kernel: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted kernel to one file; an existing file is replaced only when all is written."""
    writer = _Writer()
    tree = {"class": type(kernel).__name__, "state": writer.fields(kernel)}
    header = {"format": FORMAT, "version": VERSION, "arrays": writer.checksums(), "model": tree}
    header["checksum"] = _checksum(header)
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("model.json", json.dumps(header))
        for name, content in writer.files():
            archive.writestr(name, content)


def load_model(path: str | os.PathLike[str], kinds: dict[str, type]) -> Any:
    """Read a fitted kernel; ``kinds`` are the kernel classes that may come out."""
    path = Path(path)
    try:
        require_regular(path)
        with zipfile.ZipFile(path) as archive:
            header = _header(archive, path)
            arrays = _arrays(archive, header, path)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except ModelFileError:
        raise
    except READ_ERRORS as error:
        raise ModelFileError(f"{path} is not a relaxwl model, or it is damaged or cut off ({error})") from None
    try:
        name, state = header["model"]["class"], header["model"]["state"]
        if name not in kinds:
            raise ModelFileError(f"{path} holds a {name}, not one of {', '.join(kinds)}")
        kernel = kinds[name]()
        kernel.__dict__.update(_Reader(arrays).fields(state))
        _check_kernel(kernel)
    except ModelFileError:
        raise
    except CONTENT_ERRORS as error:
        raise ModelFileError(f"{path} does not hold a complete model: {error}") from None
    return kernel


def _header(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    total = sum(member.file_size for member in archive.infolist())
    limit = MEMORY_SHARE * physical_memory()
    if total > limit:
        raise ModelFileError(
            f"{path} would unpack to {total / 2**30:.1f} GiB and the limit on this machine is {limit / 2**30:.1f} GiB"
        )
    header = json.loads(archive.read("model.json"))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a relaxwl model")
    if header["version"] > VERSION:
        raise ModelFileError(
            f"{path} was written in format {header['version']} by a newer relaxwl; this one reads formats up to "
            f"{VERSION}: upgrade relaxwl to load it"
        )
    if header.get("checksum") != _checksum(header):
        raise ModelFileError(f"{path} is damaged: model.json does not match its checksum")
    return header


def _checksum(header: dict[str, Any]) -> str:
    """Return the SHA-256 of a header, its own checksum left out, in one fixed way of writing it."""
    content = {name: value for name, value in header.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _arrays(archive: zipfile.ZipFile, header: dict[str, Any], path: Path) -> list[NDArray[Any]]:
    arrays = []
    for number, checksum in enumerate(header["arrays"]):
        content = archive.read(f"arrays/{number}.npy")
        if hashlib.sha256(content).hexdigest() != checksum:
            raise ModelFileError(f"{path} is damaged: array {number} does not match its checksum")
        arrays.append(np.load(io.BytesIO(content), allow_pickle=False))
    return arrays


class _Writer:
    """Turns objects into plain values, arrays into numbered files; what is shared stays shared."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[Any]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._objects: dict[int, int] = {}
        self._kept: list[Any] = []

    def fields(self, item: Any) -> dict[str, Any]:
        return {name: self.plain(value, name) for name, value in vars(item).items() if name not in CACHES}

    def plain(self, value: Any, name: str) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (list, tuple)):
            return {type(value).__name__: [self.plain(item, name) for item in value]}
        if isinstance(value, np.ndarray):
            return {"array": self._array(value)}
        if isinstance(value, EditCost):
            return {"cost": value.to_dict()}
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return None  # it drew the seeds; a fitted model does not need it
        return self._object(value, name)

    def _object(self, value: Any, name: str) -> Any:
        kind = type(value).__name__
        if CLASSES.get(kind) is not type(value):
            raise TypeError(
                f"{name} holds a {kind}, which a model file cannot keep (it keeps arrays and plain values, no code); "
                "use pickle or joblib.dump for this model"
            )
        if id(value) in self._objects:
            return {"same": self._objects[id(value)]}
        number = self._objects[id(value)] = len(self._objects)
        self._kept.append(value)  # so that its id is not given to another object meanwhile
        return {"object": kind, "number": number, "state": self.fields(value)}

    def _array(self, array: NDArray[Any]) -> int:
        if array.dtype.hasobject:
            raise TypeError("a model file cannot keep an array of Python objects; use pickle or joblib.dump")
        key = (array.__array_interface__["data"], array.shape, array.strides, array.dtype.str)
        if array.size == 0 or key not in self._numbers:
            self._numbers[key] = len(self._arrays)
            self._arrays.append(array)
        return self._numbers[key]

    def _content(self, number: int) -> bytes:
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(self._arrays[number]), allow_pickle=False)
        return buffer.getvalue()

    def checksums(self) -> list[str]:
        return [hashlib.sha256(self._content(number)).hexdigest() for number in range(len(self._arrays))]

    def files(self) -> Any:
        return ((f"arrays/{number}.npy", self._content(number)) for number in range(len(self._arrays)))


class _Reader:
    """The way back."""

    def __init__(self, arrays: list[NDArray[Any]]) -> None:
        self._arrays = arrays
        self._objects: dict[int, Any] = {}

    def fields(self, state: dict[str, Any]) -> dict[str, Any]:
        return {name: self.value(plain) for name, plain in state.items()}

    def value(self, plain: Any) -> Any:
        if not isinstance(plain, dict):
            return plain
        if "list" in plain:
            return [self.value(item) for item in plain["list"]]
        if "tuple" in plain:
            return tuple(self.value(item) for item in plain["tuple"])
        if "array" in plain:
            return self._arrays[plain["array"]]
        if "ground" in plain:
            return None  # partitioners kept it once; they are given it now
        if "cost" in plain:
            return EditCost.from_dict(plain["cost"])
        if "same" in plain:
            return self._objects[plain["same"]]
        return self._object(plain)

    def _object(self, plain: dict[str, Any]) -> Any:
        state = self.fields(plain["state"])
        name = plain["object"]
        if name in FORMER_ROWS:
            state["n_children"] = state.pop(FORMER_ROWS[name])
            name, state = "Rows", {"n_edge_codes": 1, **state}
        kind = CLASSES[name]
        item: Any = object.__new__(kind)
        if is_dataclass(kind):
            names = {field.name for field in fields(kind)}
            _require(state.keys() == names - CACHES, f"{name} must have the fields {', '.join(sorted(names))}")
            state.update({name: {} for name in CACHES & names})
        state.pop("ground_", None)
        for field_name, value in state.items():
            object.__setattr__(item, field_name, value)
        if kind in CHECKS:
            CHECKS[kind](item)
        # Known from now on only: nothing can hold itself, so no tree of objects is endless.
        self._objects[plain["number"]] = item
        return item


# ------------------------------------------------------------------------- what a model must fulfil: object by object


def _require(holds: Any, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _of(kind: type, value: Any, what: str) -> Any:
    _require(isinstance(value, kind), f"{what} must be a {kind.__name__}, not a {type(value).__name__}")
    return value


def _check_whole(value: Any, what: str) -> None:
    _require(isinstance(value, int) and 0 <= value < 2**31, f"{what} must be a whole number from 0 on")


def _check_vector(value: Any, dtype: type, what: str) -> None:
    is_vector = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == dtype
    _require(is_vector, f"{what} must be a vector of {dtype.__name__}")


def _check_square(matrix: Any, size: int, what: str) -> None:
    is_square = isinstance(matrix, np.ndarray) and matrix.shape == (size, size)
    _require(is_square, f"{what} must be a matrix of {size} rows and columns")
    _require(matrix.dtype.kind in "uf" and matrix.dtype.isnative, f"{what} must hold numbers, not {matrix.dtype}")
    _require(np.isfinite(matrix).all() and matrix.min(initial=0) >= 0, f"{what} must hold finite numbers from 0 on")


def _check_rows(rows: Rows) -> None:
    _check_whole(rows.n_children, "Rows.n_children")
    _check_whole(rows.n_edge_codes, "Rows.n_edge_codes")
    check_rows(rows, rows.n_points, 2**31, "Rows")


def _check_codebook(book: Codebook) -> None:
    centers = _of(np.ndarray, book.centers, "Codebook.centers")
    _require(centers.ndim == 2 and centers.dtype == np.float64, "Codebook.centers must be a matrix of float64")
    _require(np.isfinite(centers).all(), "Codebook.centers must be finite")


def _check_root_encoding(roots: RootEncoding) -> None:
    _of(EditCost, roots.cost, "RootEncoding.cost")
    _of(tuple, roots.symbols, "RootEncoding.symbols")
    if roots.codebook is not None and roots.labels is None:
        n_codes = len(_of(Codebook, roots.codebook, "RootEncoding.codebook"))
        _require(roots.symbols == tuple(range(n_codes)), "RootEncoding.symbols must number the codebook's vectors")


def _check_level(level: Level) -> None:
    _require(level.centers and len(level.partitioners) == len(level.centers), "Level needs centres for each partition")
    for partitioner, centers in zip(level.partitioners, level.centers, strict=True):
        _of(Rows, centers, "Level.centers")
        _require(len(_known(partitioner)) == len(centers), "Level's partitioners and centres must be as many")
    if level.rows is not None:
        _of(Rows, level.rows, "Level.rows")


def _check_partition(partition: Partition) -> None:
    size = len(_of(Rows, partition.centers, "Partition.centers"))
    _require(len(_of(Rows, partition.drawn, "Partition.drawn")) == size, "Partition.drawn must be as many as centers")
    _check_vector(partition.sizes, np.int64, "Partition.sizes")
    _check_vector(partition.n_trees, np.int64, "Partition.n_trees")
    _check_vector(partition.radius, np.float64, "Partition.radius")
    parts = (partition.sizes, partition.n_trees, partition.radius, partition.examples)
    _require(all(len(part) == size for part in parts), f"Partition must describe each of its {size} groups")


def _check_partitioner(partitioner: Any) -> None:
    """Check a fitted partitioner; the one among a kernel's parameters is not fitted."""
    if not hasattr(partitioner, "centers_"):
        return
    _of(Rows, partitioner.centers_, "centers_")


def _check_key_counter(counter: EdgeCounter | ShortestPathCounter) -> None:
    _check_whole(counter.n_known, "n_known")
    _check_vector(counter.keys, np.int64, "keys")
    ascend = counter.keys.min(initial=0) >= 0 and (counter.keys[1:] > counter.keys[:-1]).all()
    _require(ascend, f"keys of {type(counter).__name__} must ascend from 0 on")


CHECKS: dict[type, Callable[[Any], None]] = {
    Codebook: _check_codebook,
    EdgeCounter: _check_key_counter,
    KMeansPartitioner: _check_partitioner,
    KMedoidsPartitioner: _check_partitioner,
    Level: _check_level,
    Partition: _check_partition,
    RadiusPartitioner: _check_partitioner,
    RootEncoding: _check_root_encoding,
    ShortestPathCounter: _check_key_counter,
    SubtreeCounter: lambda counter: _check_whole(counter.n_columns, "n_columns"),
    Rows: _check_rows,
}


# ------------------------------------------------------------------------- what a model must fulfil: as a whole


def _check_kernel(kernel: Any) -> None:
    """Check that a kernel's parameters are valid, and that its parts fit each other."""
    kernel._validate_parameters()
    if hasattr(kernel, "rows_"):
        _check_refinement(kernel)
    if hasattr(kernel, "chains_"):
        _check_relaxed(kernel)


def _check_refinement(kernel: Any) -> None:
    """Check the distinct trees of each depth against the labels and the depth below."""
    n_symbols, n_edge_codes = (
        1 if labels is None else len(labels)
        for labels in (kernel.node_vocabulary_, getattr(kernel, "edge_vocabulary_", None))
    )
    n_below = 0
    for rows in kernel.rows_:
        _check_codes(_of(Rows, rows, "rows_"), n_symbols, n_below * n_edge_codes)
        n_below = len(rows)
    if hasattr(kernel, "_counters"):
        _check_counters(kernel._counters, [len(rows) for rows in kernel.rows_])


def _check_relaxed(kernel: Any) -> None:
    """Check chains, partitions and counters, which must be of equal depth and describe the same groups."""
    n_symbols = len(_of(RootEncoding, kernel.root_encoding_, "root_encoding_").symbols)
    n_edge_codes = _of(EdgeEncoding, kernel.edge_encoding_, "edge_encoding_").n_codes
    centers: list[list[Rows]] = []
    for levels in kernel.chains_:
        _check_chain(levels, n_symbols, n_edge_codes, kernel.approximate)
        by_place = zip(*(level.centers for level in levels), strict=True)
        centers += [list(by_depth) for by_depth in by_place]
    _require(centers, "there are no chains_")
    for partitions, counters, expected in zip(kernel.partitions_, kernel._counters, centers, strict=True):
        for partition, known in zip(partitions, expected, strict=True):
            _require(len(_of(Partition, partition, "partitions_")) == len(known), "partitions_ and chains_ must agree")
            for rows in (partition.centers, partition.drawn):
                _check_codes(rows, n_symbols, known.n_points)
        _check_counters(counters, [len(known) for known in expected])


def _check_chain(levels: list[Level], n_symbols: int, n_edge_codes: int, feed_groups: bool) -> None:
    """Check each depth against the roots' symbols and against what the depth below feeds it."""
    n_fed = 0
    for depth, level in enumerate(levels):
        _of(Level, level, "chains_")
        rows = [] if level.rows is None else [level.rows]
        for item in (*level.centers, *map(_known, level.partitioners), *rows):
            _check_codes(item, n_symbols, n_fed * n_edge_codes)
        n_fed = len(level.centers[0] if feed_groups else _of(Rows, level.rows, "Level.rows"))
        deeper = [partitioner for below in levels[depth + 1 :] for partitioner in below.partitioners]
        # Distances may be left out where nobody looks at them: groups that are single trees are found by comparing.
        unused = feed_groups and all(type(partitioner) is IdentityPartitioner for partitioner in deeper)
        if deeper and not (unused and level.fed is None):
            _check_square(level.fed, n_fed + 1, "Level.fed")


def _known(partitioner: Any) -> Rows:
    """Return what a fitted partitioner compares rows with."""
    if isinstance(partitioner, IdentityPartitioner):
        return _of(Rows, partitioner.rows_, "rows_")  # type: ignore[no-any-return]
    return _of(Rows, partitioner.centers_, "centers_")  # type: ignore[no-any-return]


def _check_codes(rows: Rows, n_symbols: int, n_points: int) -> None:
    check_rows(rows, n_points, n_symbols, "Rows")
    _require(rows.n_points == n_points, f"Rows has {rows.n_points} points, and the depth below makes {n_points}")


def _check_counters(counters: list[Any], n_ids: list[int]) -> None:
    """Check that counters know as many ids as there are trees or groups."""
    known = [counter.n_columns if isinstance(counter, SubtreeCounter) else counter.n_known for counter in counters]
    _require(known == n_ids, f"the counters know {known} trees or groups for each depth, and there are {n_ids}")
