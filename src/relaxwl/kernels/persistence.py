"""Fitted kernels in one file: arrays and JSON in a zip, checksummed, and nothing in it is ever executed.

The file holds ``model.json`` (format version, the model as a tree of plain values, a SHA-256 for each array) and one
``.npy`` file for each array. Objects are restored only if their class is in the list below; no pickle is read.
"""

import hashlib
import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._storage import atomic_write
from relaxwl.clustering.centers import Centers
from relaxwl.clustering.partitioners import (
    Ground,
    IdentityPartitioner,
    KMeansPartitioner,
    KMedoidsPartitioner,
    RadiusPartitioner,
)
from relaxwl.costs import Codebook, EditCost
from relaxwl.kernels.chains import Level
from relaxwl.kernels.counting import EdgeCounter, ShortestPathCounter, SubtreeCounter
from relaxwl.kernels.partition import ExactTrees, Partition
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding

FORMAT = "relaxwl-model"
# Raised when a file of this version cannot be read by older code; what older versions wrote stays readable.
VERSION = 1
# A model of more bytes than this once unpacked is refused rather than read into memory.
MAX_BYTES = 64 * 2**30

_KINDS = [Centers, Codebook, EdgeCounter, EdgeEncoding, ExactTrees, IdentityPartitioner, KMeansPartitioner]
_KINDS += [KMedoidsPartitioner, Level, Partition, RadiusPartitioner, RootEncoding, ShortestPathCounter]
_KINDS += [SubtreeCounter, TreeRows]
CLASSES: dict[str, type] = {kind.__name__: kind for kind in _KINDS}
# Rebuilt when asked for, so not worth keeping.
CACHES = frozenset({"built"})

# What the standard library raises on bytes that are no zip, or whose content, names or flags were damaged.
READ_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, LookupError, TypeError, ValueError, RuntimeError)


class ModelFileError(ValueError):
    """A file that is no model, is damaged, or was written by a newer version."""


def save_model(kernel: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted kernel to one file; an existing file is replaced only when all is written."""
    writer = _Writer()
    tree = {"class": type(kernel).__name__, "state": writer.fields(kernel)}
    header = {"format": FORMAT, "version": VERSION, "arrays": writer.checksums(), "model": tree}
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("model.json", json.dumps(header))
        for name, content in writer.files():
            archive.writestr(name, content)


def load_model(path: str | os.PathLike[str], kinds: dict[str, type]) -> Any:
    """Read a fitted kernel; ``kinds`` are the kernel classes that may come out."""
    path = Path(path)
    try:
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
    except ModelFileError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} does not hold a complete model: {error}") from None
    return kernel


def _header(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    total = sum(member.file_size for member in archive.infolist())
    if total > MAX_BYTES:
        raise ModelFileError(f"{path} would unpack to {total} bytes, more than the {MAX_BYTES} that are allowed")
    header = json.loads(archive.read("model.json"))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a relaxwl model")
    if header["version"] > VERSION:
        raise ModelFileError(
            f"{path} was written in format {header['version']} by a newer relaxwl; this one reads formats up to "
            f"{VERSION}: upgrade relaxwl to load it"
        )
    return header


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
        if isinstance(value, Ground):
            return {"ground": [self._array(value.points), self._array(value.roots)]}
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
            points, roots = plain["ground"]
            return Ground(self._arrays[points], self._arrays[roots])
        if "cost" in plain:
            return EditCost.from_dict(plain["cost"])
        if "same" in plain:
            return self._objects[plain["same"]]
        return self._object(plain)

    def _object(self, plain: dict[str, Any]) -> Any:
        kind: Any = CLASSES[plain["object"]]
        item = self._objects[plain["number"]] = kind.__new__(kind)
        for name, value in self.fields(plain["state"]).items():
            object.__setattr__(item, name, value)
        for name in CACHES & getattr(kind, "__dataclass_fields__", {}).keys():
            object.__setattr__(item, name, {})
        return item
