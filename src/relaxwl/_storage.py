"""Atomic writes, checks of regular files, and checksums."""

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

# Maximum size up to which output that is written through is buffered in memory; larger output is buffered on disk.
_HELD_BYTES = 2**24
# Paths that refer to open files of a process, which would not see that a file is replaced.
_OPEN_FILES = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
TEMPORARY_SUFFIX = ".relaxwl.tmp"
# Seconds to wait between attempts: Windows does not replace open files, and virus scanners open them for a moment.
_WAITS = (0.01, 0.05, 0.2, 0.5) if os.name == "nt" else ()
# Maximum unpacked size of a file: a constant number of bytes, plus this many for each of its bytes.
FREE_BYTES, BYTES_PER_BYTE = 1 << 26, 200
# Bytes of a zip member read at a time, by method of compression; by other methods, a few bytes can become a gigabyte.
CHUNK_BYTES = {zipfile.ZIP_STORED: 2**20, zipfile.ZIP_DEFLATED: 2**18, zipfile.ZIP_LZMA: 2**9}


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces ``path`` only on success.

    The target of a symbolic link is replaced, not the link; permissions are kept. What is no regular file, such as
    standard output, cannot be replaced: the whole content is written to it at the end.
    """
    path = Path(path)
    with naming_file(path):
        mode = _checked_mode(path)
        if _is_written_through(path, mode):
            with tempfile.SpooledTemporaryFile(_HELD_BYTES) as held:
                yield cast(BinaryIO, held)
                held.seek(0)
                with path.open("ab") as target:
                    shutil.copyfileobj(held, target)
            return
        target_path = path.resolve()
        temporary = _temporary_beside(target_path)
        try:
            # Not opened by tempfile, which makes private files: a result has the usual permissions of the user.
            with temporary.open("xb") as file:
                if mode is not None:
                    temporary.chmod(stat.S_IMODE(mode))
                yield file
                file.flush()
                os.fsync(file.fileno())
            for wait in _WAITS:
                try:
                    temporary.replace(target_path)
                    return
                except PermissionError:
                    time.sleep(wait)
            temporary.replace(target_path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise in advance the error that :func:`atomic_write` would raise: no folder, no permission, a read-only disk."""
    path = Path(path)
    with naming_file(path):
        if _is_written_through(path, _checked_mode(path)):
            return
        _try_beside(path.resolve())


def check_folder_writable(folder: str | os.PathLike[str]) -> None:
    """Raise in advance the error that creating ``folder`` and writing files into it would raise."""
    folder = Path(folder)
    with naming_file(folder):
        existing = next(path for path in (folder, *folder.absolute().parents) if _mode(path) is not None)
        if not existing.is_dir():
            raise NotADirectoryError(f"cannot write to the folder {folder}: {existing} is a file")
        _try_beside(existing / "any")


def require_regular(path: str | os.PathLike[str]) -> int:
    """Return the size of a regular file; others, which may block or never end, raise an error."""
    path = Path(path)
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
        raise OSError(f"cannot read {path}: it is {kind}; use a regular file")
    return found.st_size


def is_readable(info: zipfile.ZipInfo) -> bool:
    """Return whether a member of a zip file is compressed by a method that is decompressed in small pieces."""
    return info.compress_type in CHUNK_BYTES


def member_pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the content of a member in pieces, at most as much as the size that the archive states."""
    n_bytes = CHUNK_BYTES[info.compress_type]
    with archive.open(info) as file:
        file.MIN_READ_SIZE = n_bytes  # type: ignore[attr-defined]
        yield from iter(lambda: file.read(n_bytes), b"")


def sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content as hexadecimal digits."""
    require_regular(path)
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Make errors name the file that the user gave; those of a full disk name none, others the temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno is None or (error.filename is not None and not str(error.filename).endswith(TEMPORARY_SUFFIX)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _checked_mode(path: Path) -> int | None:
    """Return the mode of ``path`` (None if it does not exist), after checking that it may be written."""
    mode = _mode(path)
    if mode is None:
        folder = path.resolve().parent  # of the target if it is a dangling link
        if not folder.is_dir():
            raise FileNotFoundError(f"cannot write {path}: the folder {folder} does not exist")
    elif stat.S_ISDIR(mode):
        raise IsADirectoryError(f"cannot write {path}: it is a folder; choose a file name")
    elif not os.access(path, os.W_OK):
        raise PermissionError(f"cannot write {path}: there is no permission to write it")
    return mode


def _is_written_through(path: Path, mode: int | None) -> bool:
    if mode is None or stat.S_ISREG(mode):
        return mode is not None and str(path.absolute()).startswith(_OPEN_FILES)
    return True


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _try_beside(path: Path) -> None:
    """Make a file in the folder of ``path``, and remove it."""
    temporary = _temporary_beside(path)
    with temporary.open("xb"):
        pass
    temporary.unlink()


def _temporary_beside(path: Path) -> Path:
    # Not derived from the file's own name, which may already have the maximum length.
    return path.with_name(f".{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
