"""Model files: compressed JSON and arrays with a checksum; no content is executed.

The file begins with a line that names the format and its version, and a line with the SHA-256 of all that follows: a
zlib stream of the length of a JSON text (8 bytes, little-endian), the text, and the arrays one after the other. The
text has the class and the state of the model as a tree of plain values, and the type and shape of each array. Shared
objects are stored once. Objects are restored only if their class is known to :mod:`relaxwl.kernels.model_schema`, which
checks every field. A model may hold other models (a predictor its kernels), in lists, tuples and dictionaries.
"""

import hashlib
import json
import os
import re
import reprlib
import zlib
from dataclasses import fields, is_dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from relaxwl._memory import MEMORY_SHARE, available_memory
from relaxwl._storage import BYTES_PER_BYTE, FREE_BYTES, atomic_write, require_regular
from relaxwl.costs import EditCost
from relaxwl.kernels.model_schema import NOT_KEPT, RECORDS, check_fields, check_model

# Version of the format; increased when older code cannot read new files.
VERSION = 3
MAGIC = b"relaxwl model "
# Maximum length of the text that is read or written; in memory its values take some twenty times as much.
MAX_JSON_BYTES = 1 << 25
# Lists and dictionaries of a text, each of which takes a hundred bytes: so many, and some for each byte of the file.
MAX_LISTS, LISTS_PER_BYTE = 10**6, 10
# Types of arrays, little-endian, and types of arrays of strings.
TYPES = ("|b1", "|u1", "<u2", "<u4", "<i4", "<i8", "<f4", "<f8")
TEXTS = re.compile(r"<U[0-9]{1,6}")
# Maximum number of axes of an array, and of its elements.
MAX_AXES, MAX_SIZE = 3, 2**48
CHUNK = 1 << 18
# Exceptions raised by a tree that does not describe a model.
CONTENT_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, AssertionError)


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or was written by another version."""


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file; an existing file is replaced only when the new one is complete."""
    writer = _Writer()
    tree = {"class": type(model).__name__, "state": writer.attributes(model)}
    arrays = [np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for array in writer.arrays]
    text = json.dumps({**tree, "arrays": [[array.dtype.str, array.shape] for array in arrays]}).encode()
    if len(text) > MAX_JSON_BYTES:
        raise ValueError(f"the labels and settings of this model take {len(text)} bytes, more than a model file holds")
    with atomic_write(path) as file:
        file.write(MAGIC + b"%d\n" % VERSION + bytes(64) + b"\n")
        packer, digest = zlib.compressobj(1), hashlib.sha256()
        parts: list[Any] = [
            len(text).to_bytes(8, "little"),
            text,
            *(array.reshape(-1).view(np.uint8) for array in arrays),
        ]
        for part in parts:
            for start in range(0, len(part), 1 << 24):
                _write(file, digest, packer.compress(part[start : start + (1 << 24)]))
        _write(file, digest, packer.flush())
        file.seek(len(MAGIC) + len(b"%d\n" % VERSION))
        file.write(digest.hexdigest().encode())
        file.seek(0, os.SEEK_END)


def _write(file: BinaryIO, digest: Any, content: bytes) -> None:
    digest.update(content)
    file.write(content)


def load_model(path: str | os.PathLike[str], kinds: dict[str, type], inside: dict[str, type] | None = None) -> Any:
    """Read a fitted model of one of ``kinds``; it may contain estimators of these and of ``inside``."""
    path = Path(path)
    try:
        header, arrays = _contents(path)
        name, state = header["class"], header["state"]
        if name not in kinds:
            raise ModelFileError(f"{path} holds a {name}, not one of {', '.join(kinds)}")
        return _ModelReader(arrays, {**(inside or {}), **kinds}).model(kinds[name], state)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except ModelFileError:
        raise
    except MemoryError:
        raise ModelFileError(f"{path} needs more memory than there is") from None
    except CONTENT_ERRORS as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(f"{path} does not hold a complete model: {reason}") from None


def _contents(path: Path) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return the tree and the arrays of a file with a correct checksum; sizes are known before anything is unpacked."""
    size = require_regular(path)
    limit = min(MEMORY_SHARE * available_memory(), FREE_BYTES + BYTES_PER_BYTE * size)
    with path.open("rb") as file:
        first = file.read(100)
        magic = MAGIC + b"%d\n" % VERSION
        if not first.startswith(magic):
            raise ModelFileError(f"{path} {_other(first)}")
        file.seek(len(magic))
        checksum, start = file.read(65), file.tell()
        if hashlib.file_digest(file, "sha256").hexdigest().encode() + b"\n" != checksum:
            raise ModelFileError(f"{path} is damaged or cut off: its content does not match its checksum")
        file.seek(start)
        content = _Unpacked(file, limit, path)
        header = _header(content, path)
        arrays = []
        for kind, shape in header["arrays"]:
            if kind not in TYPES and not (isinstance(kind, str) and TEXTS.fullmatch(kind)):
                raise ModelFileError(f"{path} holds an array of the type {reprlib.repr(kind)}, which no model has")
            # NumPy multiplies the other lengths of an empty array too, so they count in its size.
            whole = len(shape) <= MAX_AXES and all(type(length) is int and 0 <= length < MAX_SIZE for length in shape)
            if not whole or prod(length or 1 for length in shape) >= MAX_SIZE:
                raise ModelFileError(f"{path} holds an array of the shape {reprlib.repr(shape)}, which no model has")
            dtype = np.dtype(kind)
            array = np.frombuffer(content.read(prod(shape) * dtype.itemsize), dtype).reshape(shape)
            # A copy, because functions would be compiled again for read-only arrays.
            arrays.append(array.astype(kind[1:]))
        content.end()
    return header, arrays


def _header(content: "_Unpacked", path: Path) -> dict[str, Any]:
    n_bytes = int.from_bytes(content.read(8), "little")
    if n_bytes > MAX_JSON_BYTES:
        raise ModelFileError(f"{path} holds a text of more than {MAX_JSON_BYTES} bytes")
    text = content.read(n_bytes)
    if text.count(b"[") + text.count(b"{") > MAX_LISTS + LISTS_PER_BYTE * path.stat().st_size:
        raise ModelFileError(f"{path} holds more than {MAX_LISTS} lists and dictionaries")
    header = json.loads(text)
    if not isinstance(header, dict):
        raise ModelFileError(f"{path} does not hold a complete model: there is no class")
    return header


def read_value(path: str | os.PathLike[str], name: str) -> Any:
    """Return a plain value of a model's state without reading its arrays; None if the file is not valid."""
    try:
        with Path(path).open("rb") as file:
            file.seek(len(MAGIC) + len(b"%d\n" % VERSION) + 65)
            state = _header(_Unpacked(file, FREE_BYTES, Path(path)), Path(path))["state"]
        return _ModelReader([], {})._value(state.get(name))
    except (OSError, *CONTENT_ERRORS):
        return None


def _other(first: bytes) -> str:
    """Return the error for a file that is not a model file, given its first bytes."""
    version = re.match(MAGIC + rb"([0-9]{1,6})\n", first)
    if version:
        return (
            f"was written in format {int(version[1])} by another version of relaxwl, and this one reads format "
            f"{VERSION}: load it with that version, or fit and save the model anew"
        )
    # Early files were zip archives that began with model.json (names follow 30 bytes), and JSON.
    if (first.startswith(b"PK") and first[30:40] == b"model.json") or first.startswith(b'{"format": "relaxwl'):
        return "was written by an early version of relaxwl, which this one does not read: fit and save the model anew"
    return "is not a relaxwl model"


class _Unpacked:
    """Reader of a compressed stream with a limit on the total number of bytes."""

    def __init__(self, file: BinaryIO, limit: float, path: Path) -> None:
        self._file, self._limit, self._path = file, limit, path
        self._unpacker, self._n_read = zlib.decompressobj(), 0

    def read(self, n_bytes: int) -> bytes:
        self._n_read += n_bytes
        if self._n_read > self._limit:
            sizes = f"{self._n_read / 2**20:.0f} MiB and the limit is {self._limit / 2**20:.0f} MiB"
            raise ModelFileError(f"{self._path} would unpack to {sizes}")
        found = bytearray()
        try:
            while len(found) < n_bytes:
                packed = self._unpacker.unconsumed_tail or self._file.read(CHUNK)
                if not packed:
                    raise ModelFileError(f"{self._path} ends before its content does")
                found += self._unpacker.decompress(packed, n_bytes - len(found))
        except zlib.error as error:
            raise ModelFileError(f"{self._path} is damaged: {error}") from None
        return bytes(found)

    def end(self) -> None:
        """Check for the end of the stream."""
        rest = self._unpacker.decompress(self._unpacker.unconsumed_tail or self._file.read(CHUNK), 1)
        if rest or not self._unpacker.eof or self._unpacker.unused_data or self._file.read(1):
            raise ModelFileError(f"{self._path} holds more than its model")


class _Writer:
    """Converts a model to plain values and a list of arrays; shared objects stay shared."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._objects: dict[int, int] = {}
        self._kept: list[Any] = []

    def attributes(self, item: Any) -> dict[str, Any]:
        """Return the attributes of an object that are saved, by name."""
        if hasattr(item, "to_state"):
            state: dict[str, Any] = item.to_state()
        else:
            names = [field.name for field in fields(item)] if _is_record(type(item)) else vars(item)
            state = {name: getattr(item, name) for name in names if name not in NOT_KEPT}
        return {name: self.plain(value, name) for name, value in state.items()}

    def plain(self, value: Any, name: str) -> Any:
        """Return a JSON-serializable value."""
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
            return {"array": self._array(value, name)}
        if isinstance(value, EditCost):
            return {"cost": value.to_dict()}
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return None  # only used to draw seeds in fitting
        return self._object(value, name)

    def _object(self, value: Any, name: str) -> Any:
        kind = type(value).__name__
        known = kind in RECORDS and RECORDS[kind].kind is type(value)
        if not known and not hasattr(value, "_validate_parameters"):
            raise TypeError(
                f"{name} holds a {kind}, which a model file cannot keep (it keeps arrays and plain values, no code); "
                "use pickle or joblib.dump for this model"
            )
        if id(value) in self._objects:
            return {"same": self._objects[id(value)]}
        number = self._objects[id(value)] = len(self._objects)
        self._kept.append(value)  # keeps the object alive, so that its id is not reused
        return {"object": kind, "number": number, "state": self.attributes(value)}

    def _array(self, array: NDArray[Any], name: str) -> int:
        kind = array.dtype.newbyteorder("<").str
        if kind not in TYPES and not TEXTS.fullmatch(kind):
            raise TypeError(f"{name} is an array of {array.dtype}, which a model file cannot keep; use joblib.dump")
        key = (array.__array_interface__["data"], array.shape, array.strides, array.dtype.str)
        if array.size == 0 or key not in self._numbers:
            self._numbers[key] = len(self.arrays)
            self.arrays.append(array)
        return self._numbers[key]


def _is_record(kind: type) -> bool:
    """Whether all state of a class is in its fields; estimators also have fitted attributes."""
    return is_dataclass(kind) and not hasattr(kind, "get_params")


class _ModelReader:
    """Restores models; ``kinds`` are the classes of estimators that may be among them."""

    def __init__(self, arrays: list[NDArray[Any]], kinds: dict[str, type]) -> None:
        self._arrays = arrays
        self._kinds = kinds
        self._objects: dict[int, Any] = {}

    def model(self, kind: Any, state: dict[str, Any]) -> Any:
        """Restore an estimator with its parameters and fitted attributes."""
        model, values = kind(), self._attributes(state)
        for name, value in values.items():
            setattr(model, name, value)
        check_model(model, values)
        return model

    def _attributes(self, state: dict[str, Any]) -> dict[str, Any]:
        return {name: self._value(plain) for name, plain in state.items()}

    def _value(self, plain: Any) -> Any:
        if not isinstance(plain, dict):
            return plain
        if "list" in plain:
            return [self._value(item) for item in plain["list"]]
        if "tuple" in plain:
            return tuple(self._value(item) for item in plain["tuple"])
        if "dict" in plain:
            return self._attributes(plain["dict"])
        if "array" in plain:
            return self._arrays[plain["array"]]
        if "cost" in plain:
            return EditCost.from_dict(plain["cost"])
        if "same" in plain:
            return self._objects[plain["same"]]
        item = self._object(plain["object"], plain["state"])
        # Registered only when it is complete, so that no object can contain itself.
        self._objects[plain["number"]] = item
        return item

    def _object(self, name: str, state: dict[str, Any]) -> Any:
        if name in self._kinds:
            return self.model(self._kinds[name], state)
        kind, known, fits = RECORDS[name]
        values = self._attributes(state)
        check_fields(values, known, name)
        make: Any = getattr(kind, "from_state", kind if _is_record(kind) else None)
        if make is not None:
            item = make(**values)
        else:
            item = kind()
            for field, value in values.items():
                setattr(item, field, value)
        if fits is not None:
            fits(item)
        return item
