"""Where machine code is kept on disk.

Files are named by what they are for. Numba numbers them in the order in which it finds them free: two processes that
compile the same function for other types at the same moment would take one number, and later runs would call the code
of one for the types of the other. And code is kept for a state of the source: that of the file and of all compiled code
that it imports, where Numba looks at the date of the file alone. Files that are damaged are as good as none, and where
nothing can be written (a full disk, a container that is read only) code is compiled in each process.

Of several processes that lack the same code one makes it, and the others, who would do the same work at the same time,
wait for what it keeps. They do not wait for ever, and their turns are a matter of time alone: what is found is right
with or without them.
"""

import hashlib
import logging
import pickle
import re
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

try:
    import fcntl
except ImportError:  # not a Unix: nobody waits for anybody
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger("relaxwl")
# Seconds between two looks whether it is one's turn, and after which nobody waits any longer: for no function of ours
# it takes half as long.
LOOK_EVERY, MOST_SECONDS = 0.02, 60.0
# Stands between machine code and its checksum, in files.
MARK = b"relaxwl crc32 "


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
            tell_not_kept(f"{file._cache_path}: {error.strerror}")

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


def _my_turn(path: Path, is_kept: Callable[[], bool]) -> IO[bytes] | None:
    """Wait until no other process has the file open and locked; None where there are no locks, or after a while.

    Who waited and finds that nothing was kept after all (a full disk) takes no turn: so will the others.
    """
    if fcntl is None:
        return None
    try:
        file = path.open("wb")
    except OSError:
        return None
    end, waited = time.monotonic() + MOST_SECONDS, False
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # which ends with the process, however it ends
            if waited and not is_kept():
                break
            return file
        except BlockingIOError:
            waited = True
            if time.monotonic() > end:
                break
            time.sleep(LOOK_EVERY)
        except OSError:
            break
    file.close()
    return None


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little")


@cache
def tell_not_kept(reason: str) -> None:
    """Say once for each reason that compiling will be needed again."""
    advice = "NUMBA_CACHE_DIR names another folder for it"
    logger.warning("machine code cannot be kept, and is compiled in each process (%s); %s", reason, advice)


_IMPORTED = re.compile(r"^from (relaxwl[.\w]*_compiled) import", re.MULTILINE)


@cache
def source_digest(file: str) -> str:
    """Return a digest of a file of compiled code and of those that it imports, whose code becomes part of its own."""
    source = Path(file).read_text(encoding="utf-8")
    imported = [source_digest(str(sys.modules[name].__file__)) for name in _IMPORTED.findall(source)]
    return hashlib.sha256("\0".join([source, *imported]).encode()).hexdigest()


@contextmanager
def in_turn(function: Any, signature: Any) -> Iterator[None]:
    """Compile a function for types of arguments when no other process does, if its code is not kept yet."""
    kept: Any = getattr(function, "_cache", None)
    file = kept._cache_file if isinstance(kept, FunctionCache) else None
    if file is None:
        yield
        return

    def is_kept() -> bool:
        return kept._index_key(signature, function.targetctx.codegen()) in file._load_index()

    turn = None if is_kept() else _my_turn(Path(f"{file._index_path}.turn"), is_kept)
    try:
        yield
    finally:
        if turn is not None:
            with suppress(OSError):
                Path(turn.name).unlink()
            turn.close()


def keep_well(function: Any) -> None:
    """Let a compiled function keep its machine code in a :class:`KeyedCacheFile`, if it keeps any."""
    kept: Any = getattr(function, "_cache", None)
    if isinstance(kept, FunctionCache):
        kept._cache_file.__class__ = KeyedCacheFile
        kept._cache_file._source_stamp = source_digest(function.py_func.__code__.co_filename)
