"""Numba's ``njit`` for the compiled code of this package, made safe against interrupts.

A signal that arrives during a compiled call is handled while its results are turned into Python objects. Numba then
returns a result although an exception is set, and Python turns that into a ``SystemError``: Ctrl-C would look like a
defect. The exception that was set is at the root of its causes, and comes out here as itself.

Machine code is kept in files named by what it is for. Numba numbers them in the order in which it finds them free: two
processes that compile the same function for other types at the same moment would take one number, and later runs would
call the code of one for the types of the other. And it is kept for a state of the source: that of the file and of all
compiled code that it imports, where Numba looks at the date of the file alone. Files that are damaged are as good as
none, and where nothing can be written (a full disk, a container that is read only) code is compiled in each process.

The first function of ours that is compiled, and not found in Numba's cache, is logged: seconds of silence follow.
"""

import hashlib
import logging
import pickle
import re
import sys
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import event, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import CPUDispatcher

logger = logging.getLogger("relaxwl")
# Stands between machine code and its checksum, in files.
MARK = b"relaxwl crc32 "

_call = CPUDispatcher.__call__
_get_call_template: Any = CPUDispatcher.get_call_template


class InterruptibleDispatcher(CPUDispatcher):
    """A compiled function that lets an exception of a signal handler through as it is."""

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function."""
        try:
            return _call(self, *args)
        except SystemError as error:
            cause: BaseException = error
            while isinstance(cause, SystemError) and cause.__cause__ is not None:
                cause = cause.__cause__
            raise cause from None

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Find the version that compiled code calls; a constant argument needs none of its own, just its type."""
        named = {name: types.unliteral(kind) for name, kind in kws.items()}
        return _get_call_template(self, tuple(types.unliteral(kind) for kind in args), named)


class KeyedCacheFile(IndexDataCacheFile):
    """A cache on disk that several processes may write at once: an entry can get lost, but never be another's.

    Files that were cut or changed are taken for missing: the code is compiled again.
    """

    def save(self, key: Any, data: Any) -> None:
        """Write the data under a name made from their key, and then name them in the index."""
        file: Any = self  # Numba's methods have no types
        digest = hashlib.sha256(repr((key, file._source_stamp)).encode()).hexdigest()
        name = file._data_name(int(digest[:16], 16))
        try:
            file._save_data(name, data)
            file._save_index({**file._load_index(), key: name})
        except OSError as error:
            _tell_not_kept(f"{file._cache_path}: {error.strerror}")

    def _load_index(self) -> Any:
        above: Any = super()
        try:
            return above._load_index()
        except Exception:  # what pickle raises on damaged bytes can be anything
            return {}

    def _load_data(self, name: str) -> Any:
        file: Any = self
        content, mark, checksum = Path(file._data_path(name)).read_bytes().rpartition(MARK)
        if mark and checksum != _checksum(content):
            raise OSError(f"{name} is damaged")  # which Numba takes for a file that is gone
        try:
            return pickle.loads(content or checksum)  # the whole file, if it was written without a mark
        except Exception:
            raise OSError(f"{name} is damaged") from None

    def _save_data(self, name: str, data: Any) -> None:
        file: Any = self
        content = file._dump(data)
        with file._open_for_write(file._data_path(name)) as opened:
            opened.write(content + MARK + _checksum(content))


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little")


@cache
def _tell_not_kept(reason: str) -> None:
    """Say once for each reason that compiling will be needed again."""
    advice = "NUMBA_CACHE_DIR names another folder for it"
    logger.warning("machine code cannot be kept, and is compiled in each process (%s); %s", reason, advice)


def njit(*args: Any, **options: Any) -> Any:
    """Compile a function as ``numba.njit`` does; what comes out is an :class:`InterruptibleDispatcher`."""
    if len(args) == 1 and not options and callable(args[0]):
        return _interruptible(numba.njit(args[0]))
    return lambda function: _interruptible(_compilable(function, args, options))


def _compilable(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    try:
        return numba.njit(*args, **options)(function)
    except RuntimeError as error:  # there is no folder that machine code could be kept in
        if not options.get("cache") or "cannot cache" not in str(error):
            raise
        _tell_not_kept("no folder for it can be written")
        return numba.njit(*args, **{**options, "cache": False})(function)


_IMPORTED = re.compile(r"^from (relaxwl[.\w]*_compiled) import", re.MULTILINE)


@cache
def source_digest(file: str) -> str:
    """Return a digest of a file of compiled code and of those that it imports, whose code becomes part of its own."""
    source = Path(file).read_text(encoding="utf-8")
    imported = [source_digest(str(sys.modules[name].__file__)) for name in _IMPORTED.findall(source)]
    return hashlib.sha256("\0".join([source, *imported]).encode()).hexdigest()


def _interruptible(function: Any) -> Any:
    # With NUMBA_DISABLE_JIT a plain function comes out, which needs no help.
    if isinstance(function, CPUDispatcher):
        function.__class__ = InterruptibleDispatcher
        kept: Any = getattr(function, "_cache", None)
        if isinstance(kept, FunctionCache):  # not where nothing is to be kept
            kept._cache_file.__class__ = KeyedCacheFile
            kept._cache_file._source_stamp = source_digest(function.py_func.__code__.co_filename)
    return function


class _Announcer(event.Listener):
    """Says once in a process that code is being compiled."""

    silent = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if not self.silent and module.startswith("relaxwl"):
            self.silent = True
            logger.info("compiling %s and what follows: some seconds, once a machine (see relaxwl warm-up)", module)

    def on_end(self, event: Any) -> None:
        """Nothing is said at the end."""


event.register("numba:compile", _Announcer())
