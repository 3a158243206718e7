"""Fitted models in one file: arrays and JSON in a zip, checksummed, and nothing in it is ever executed.

The file holds ``model.json`` (format version, the model as a tree of plain values, a SHA-256 of this and of each array)
and one ``.npy`` file for each array. What is shared is kept once. Objects are restored only if their class is known to
:mod:`relaxwl.kernels.model_schema`, which also checks them: compiled code does not look where it reads. No pickle is
read. A model may hold other models (a predictor its kernels), in lists, tuples and dictionaries of any depth.
"""

import hashlib
import io
import json
import lzma
import os
import struct
import tokenize
import zipfile
import zlib
from dataclasses import fields, is_dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._memory import MEMORY_SHARE, available_memory
from relaxwl._storage import atomic_write, member_pieces, require_regular
from relaxwl.costs import EditCost
from relaxwl.kernels import _format1
from relaxwl.kernels._restoring import Reader
from relaxwl.kernels.model_schema import KINDS, NOT_KEPT

FORMAT = "relaxwl-model"
# Raised when a file of this version cannot be read by older code; what older versions wrote stays readable.
VERSION = 2
# What a file may unpack to: this much whatever its size, and this much for each of its bytes. Ours stay far below.
FREE_BYTES, BYTES_PER_BYTE = 1 << 26, 200
# The largest tree of plain values that is read or written: in memory it takes some twenty times as much.
MAX_JSON_BYTES = 1 << 25

# What the standard library raises on bytes that are no zip, or whose content, names or flags were damaged.
READ_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    tokenize.TokenError,  # NumPy reads headers of arrays as Python reads literals
    SyntaxError,
    ArithmeticError,
    MemoryError,
    EOFError,
    OSError,
    LookupError,
    TypeError,
    ValueError,
    RuntimeError,
    NotImplementedError,
)
# What a tree that describes no model leads to.
CONTENT_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, AssertionError)


class ModelFileError(ValueError):
    """A file that is no model, is damaged, or was written by a newer version."""


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file; an existing file is replaced only when all is written."""
    writer = _Writer()
    tree = {"class": type(model).__name__, "state": writer.attributes(model)}
    header = {"format": FORMAT, "version": VERSION, "arrays": writer.checksums(), "model": tree}
    header["checksum"] = _checksum(header)
    text = json.dumps(header)
    if len(text) > MAX_JSON_BYTES:
        raise ValueError(f"the labels and settings of this model take {len(text)} bytes, more than a model file holds")
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("model.json", text)
        for name, content in writer.files():
            archive.writestr(name, content)


def load_model(path: str | os.PathLike[str], kinds: dict[str, type]) -> Any:
    """Read a fitted model; ``kinds`` are the classes that may come out, or lie inside what comes out."""
    path = Path(path)
    try:
        require_regular(path)
        with zipfile.ZipFile(path) as archive:
            header = _header(archive, path)
            arrays = [_array(archive, number, known, path) for number, known in enumerate(header["arrays"])]
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except ModelFileError:
        raise
    except MemoryError:
        raise ModelFileError(f"{path} needs more memory than there is") from None
    except (*READ_ERRORS, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(f"{path} is not a relaxwl model, or it is damaged or cut off ({reason})") from None
    try:
        tree = header["model"]
        if tree["class"] not in kinds:
            raise ModelFileError(f"{path} holds a {tree['class']}, not one of {', '.join(kinds)}")
        reader = (Reader if header["version"] > 1 else _format1.Reader)(arrays, kinds)
        return reader.model(kinds[tree["class"]], tree["state"])
    except ModelFileError:
        raise
    except MemoryError:
        raise ModelFileError(f"{path} needs more memory than there is") from None
    except CONTENT_ERRORS as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(f"{path} does not hold a complete model: {reason}") from None


def _header(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    total = sum(member.file_size for member in archive.infolist())
    limit = min(MEMORY_SHARE * available_memory(), FREE_BYTES + BYTES_PER_BYTE * path.stat().st_size)
    if total > limit:
        raise ModelFileError(f"{path} would unpack to {total / 2**20:.0f} MiB and the limit is {limit / 2**20:.0f} MiB")
    if archive.getinfo("model.json").file_size > MAX_JSON_BYTES:
        raise ModelFileError(f"{path} holds a model.json of more than {MAX_JSON_BYTES} bytes")
    header = json.loads(_member(archive, "model.json"))
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


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    return b"".join(member_pieces(archive, archive.getinfo(name)))


def _array(archive: zipfile.ZipFile, number: int, checksum: str, path: Path) -> NDArray[Any]:
    """Read one array; its size is compared with what it claims before anything is allocated."""
    content = _member(archive, f"arrays/{number}.npy")
    if hashlib.sha256(content).hexdigest() != checksum:
        raise ModelFileError(f"{path} is damaged: array {number} does not match its checksum")
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    begin = stream.tell()
    if dtype.hasobject or fortran or min(shape, default=0) < 0 or prod(shape) * dtype.itemsize != len(content) - begin:
        raise ModelFileError(f"{path} is damaged: array {number} is not what its header says")
    # A copy: compiled code tells arrays that it may write from those that it may not.
    return np.frombuffer(content, dtype, offset=begin).reshape(shape).copy()


class _Writer:
    """Turns a model into plain values, arrays into numbered files; what is shared stays shared."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[Any]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._objects: dict[int, int] = {}
        self._kept: list[Any] = []

    def attributes(self, item: Any) -> dict[str, Any]:
        return {name: self.plain(value, name) for name, value in _state(item).items()}

    def plain(self, value: Any, name: str) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (list, tuple)):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.plain(item, name) for item in value]}
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise TypeError(f"{name} has keys that are no texts, which a model file cannot keep")
            return {"dict": {key: self.plain(item, f"{name}[{key!r}]") for key, item in value.items()}}
        if isinstance(value, np.ndarray):
            return {"array": self._array(value)}
        if isinstance(value, EditCost):
            return {"cost": value.to_dict()}
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return None  # it drew the seeds; a fitted model does not need it
        return self._object(value, name)

    def _object(self, value: Any, name: str) -> Any:
        kind = type(value).__name__
        if KINDS.get(kind) is not type(value) and not hasattr(value, "_validate_parameters"):
            raise TypeError(
                f"{name} holds a {kind}, which a model file cannot keep (it keeps arrays and plain values, no code); "
                "use pickle or joblib.dump for this model"
            )
        if id(value) in self._objects:
            return {"same": self._objects[id(value)]}
        number = self._objects[id(value)] = len(self._objects)
        self._kept.append(value)  # so that its id is not given to another object meanwhile
        return {"object": kind, "number": number, "state": self.attributes(value)}

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


def _state(item: Any) -> dict[str, Any]:
    """Return what is worth keeping of an object."""
    if hasattr(item, "to_state"):
        state: dict[str, Any] = item.to_state()
        return state
    names = [field.name for field in fields(item)] if is_dataclass(item) else vars(item)
    return {name: getattr(item, name) for name in names if name not in NOT_KEPT}
