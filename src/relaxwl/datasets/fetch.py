"""Downloading data sets of the TU collection into a cache whose files are verified on every use.

The standard library does it. With pooch 1.9 in its place 25 of the 74 tests of this module fail: it has no bound on the
size of a download and none on its time as a whole, tries a refusal and a failure again alike, fails on lengths that are
no numbers, and replaces a good copy before the new one is checked. A downloader of our own in pooch would be this one.
"""

import hashlib
import http.client
import json
import logging
import math
import os
import re
import shutil
import ssl
import stat
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any

from numpy.typing import NDArray

from relaxwl._execution import Deadline, current_deadline
from relaxwl._progress import ProgressBar, is_watched
from relaxwl._storage import atomic_write, is_readable, member_pieces, require_regular, sha256
from relaxwl.datasets.tu import ZIP_ERRORS, find_data_sets, load_tu
from relaxwl.graphs import GraphCollection

logger = logging.getLogger(__name__)

BASE_URL = "https://www.chrsmrrs.com/graphkerneldatasets"
LIST_URL = "https://chrsmrrs.github.io/datasets/docs/datasets/"

# What all attempts together may take unless the caller says otherwise: the largest set at a tenth of a usual speed.
TIME_LIMIT_SECONDS = 1200.0
ATTEMPTS = 4
BACKOFF_SECONDS = 0.5
TIMEOUT_SECONDS = 30
# What a server says when trying again may help.
TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})

# Several times the largest data set of the collection, and far below what fills a disk or the memory.
MAX_DOWNLOAD_BYTES = 4 * 2**30
MAX_UNPACKED_BYTES = 32 * 2**30
MAX_MEMBERS = 1000
# Text of numbers shrinks 5 to 20 times; short files of one repeated number shrink more and do no harm.
MAX_RATIO = 100
HARMLESS_BYTES = 16 * 2**20

_CHUNK_BYTES = 2**18
_IN_MEMORY_BYTES = 64 * 2**20


class DownloadError(OSError):
    """A data set could not be downloaded, or what came is not to be used."""


def fetch_tu(
    name: str,
    cache_dir: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    *,
    time_limit: float | None = TIME_LIMIT_SECONDS,
) -> tuple[GraphCollection, NDArray[Any]]:
    """Load a data set of the public TU collection, downloading it on first use.

    Parameters
    ----------
    name : str
        Name of the data set, such as ``"MUTAG"``.
    cache_dir : path, optional
        Folder for the downloaded files; by default :func:`cache_directory`.
    base_url : str, optional
        Address of the folder with the file NAME.zip, for a mirror of the collection.
    time_limit : float or None
        Seconds that the download may take with all its attempts; None waits as long as something comes.

    Returns
    -------
    graphs, y
        As :func:`relaxwl.datasets.load_tu` returns them.

    Raises
    ------
    ValueError
        The name is not one of a data set of the collection.
    DownloadError
        The server cannot be reached, or what it sends is incomplete or unsafe. Nothing is left in the cache.

    See Also
    --------
    load_tu : Read a local data set.

    Examples
    --------
    With a connection to the server::

        graphs, y = fetch_tu("MUTAG")  # 188 graphs of 3371 nodes and 3721 edges
    """
    return load_tu(download_tu(name, cache_dir, base_url, time_limit=time_limit))


def download_tu(
    name: str,
    cache_dir: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    *,
    time_limit: float | None = TIME_LIMIT_SECONDS,
) -> Path:
    """Return the path of a verified zip file of a data set in the cache; parameters as for :func:`fetch_tu`."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9+_-]|\.(?!\.)){0,99}", name):
        raise ValueError(f"name must be that of a data set, of letters, digits, '-', '_', '+' and '.', not {name!r}")
    base_url = BASE_URL if base_url is None else base_url
    if not base_url.startswith(("http://", "https://")):
        raise ValueError(f"base_url must begin with https:// or http://, not {base_url!r}; load_tu reads local files")
    url = f"{base_url.rstrip('/')}/{name}.zip"
    folder = cache_directory() if cache_dir is None else Path(cache_dir).expanduser()
    path = folder / f"{name}.zip"
    if not _is_cached(path, url):
        deadline = current_deadline().earlier(Deadline(time_limit))
        folder.mkdir(parents=True, exist_ok=True)
        _download(name, url, path, deadline)
    return path


def cache_directory() -> Path:
    """Return the folder for downloaded data sets.

    The environment variable RELAXWL_CACHE decides; without it, the place that the platform has for such files.
    """
    chosen = os.environ.get("RELAXWL_CACHE")
    if chosen:
        return Path(chosen).expanduser() / "tu"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "relaxwl" / "tu"


# ---------------------------------------------------------------------------------------------------------- cache


def _record_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _is_cached(path: Path, url: str) -> bool:
    """Whether the cache holds the file from this address, as it was downloaded."""
    try:
        require_regular(_record_path(path))
        record = json.loads(_record_path(path).read_text(encoding="utf-8"))
        recorded_url, recorded_sum = record["url"], record["sha256"]
    except FileNotFoundError:
        return False
    except (ValueError, LookupError, TypeError, RecursionError):
        logger.warning("%s is damaged; downloading again", _record_path(path))
        return False
    if recorded_url != url or not path.is_file():
        return False
    if sha256(path) != recorded_sum:
        logger.warning("%s is not what was downloaded (its SHA-256 differs); downloading again", path)
        return False
    return True


def _keep(file: IO[bytes], path: Path, url: str, checksum: str) -> None:
    """Put a checked download and its record into the cache."""
    # Never the old record beside the new file: a file without a record is downloaded anew.
    _record_path(path).unlink(missing_ok=True)
    file.seek(0)
    with atomic_write(path) as target:
        shutil.copyfileobj(file, target, _CHUNK_BYTES)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"url": url, "sha256": checksum, "size": path.stat().st_size, "date": date}
    with atomic_write(_record_path(path)) as target:
        target.write(json.dumps(record, indent=2).encode() + b"\n")


# ------------------------------------------------------------------------------------------------------- download


class _TransientError(Exception):
    """A failure after which another attempt makes sense."""


def _download(name: str, url: str, path: Path, deadline: Deadline) -> None:
    """Download a zip file, check it, and only then put it into the cache; try again where that makes sense."""
    for attempt in range(ATTEMPTS):
        if attempt:
            left = deadline.remaining()
            time.sleep(min(BACKOFF_SECONDS * 2 ** (attempt - 1), math.inf if left is None else left))
        with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=str(path.parent)) as file:
            try:
                checksum = _in_time(partial(_receive, name, url, file), url, deadline)
            except _TransientError as error:
                logger.warning("%s, attempt %d of %d: %s", url, attempt + 1, ATTEMPTS, error)
                problem = error
                continue
            check_archive(file, name, url)
            _keep(file, path, url, checksum)
            return
    raise DownloadError(
        f"cannot download {url}: {problem}. Without a connection, or with {name}.zip from elsewhere, read a local "
        f"copy: relaxwl.datasets.load_tu('path/to/{name}.zip')"
    )


def _in_time(work: Callable[[], str], url: str, deadline: Deadline) -> str:
    """Return what ``work`` returns, if it does so in time.

    It runs in a thread of its own, which is left behind when the time is over: whoever waits for a server that sends a
    byte now and then, perhaps of its headers, is never out of patience.
    """
    outcome: Future[str] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True, name="relaxwl-download").start()
    try:
        return outcome.result(deadline.remaining())
    except TimeoutError:
        if outcome.done():
            raise
        raise DownloadError(
            f"cannot download {url}: it is not complete after {deadline.seconds:g} seconds; try again later, or with a "
            "larger time_limit"
        ) from None


def _receive(name: str, url: str, file: IO[bytes]) -> str:
    """Write what the server sends to ``file`` and return its SHA-256."""
    request = urllib.request.Request(url, headers={"User-Agent": "relaxwl"})
    digest = hashlib.sha256()
    received = 0
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            announced = str(response.headers.get("Content-Length", ""))
            expected = int(announced) if re.fullmatch(r"[0-9]{1,18}", announced) else None
            if not is_watched():
                size = "unknown size" if expected is None else f"{expected / 1e6:.1f} MB"
                logger.info("downloading %s (%s)", name, size)
            with ProgressBar(name, expected, unit="B", unit_scale=True) as bar:
                while chunk := response.read(_CHUNK_BYTES):
                    received += len(chunk)
                    if max(received, expected or 0) > MAX_DOWNLOAD_BYTES:
                        most = f"{url} is larger than {MAX_DOWNLOAD_BYTES} bytes"
                        raise DownloadError(f"{most}; download it yourself and use load_tu")
                    digest.update(chunk)
                    file.write(chunk)
                    bar.add(len(chunk))
    except urllib.error.HTTPError as error:
        error.close()
        answer = f"the server answers with status {error.code}"
        if error.code in TRANSIENT_STATUS:
            raise _TransientError(answer) from None
        if error.code in (404, 410):
            raise ValueError(
                f"there is no data set {name!r} at {url} ({answer}); see {LIST_URL} for the names"
            ) from None
        raise DownloadError(f"cannot download {url}: {answer}") from None
    except DownloadError:
        raise
    except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
        reason = getattr(error, "reason", None) or error
        raise _TransientError(str(reason) or type(reason).__name__) from None
    except (ValueError, OverflowError, LookupError) as error:  # a redirect to what is no address
        raise DownloadError(f"cannot download {url}: the server leads to an address that is none ({error})") from None
    except OSError as error:
        reason = error.strerror
        raise DownloadError(f"cannot download {url}: what comes cannot be kept in the cache ({reason})") from None
    if expected is not None and received < expected:
        raise _TransientError(f"the connection was cut after {received} of {expected} bytes")
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------------------- checking


def check_archive(file: IO[bytes], name: str, source: str) -> None:
    """Refuse a zip file that is damaged, lacks the data set, or would do harm to whoever unpacks it.

    We read single members and never unpack, but the file stays in the user's cache, where others may.
    Sizes are taken from the directory of the archive: reading a member ends at the size given there.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            problem = _danger(members, size)
            if problem is not None:
                raise DownloadError(f"what {source} sent is unsafe: {problem}; nothing was kept")
            for info in members:
                try:
                    deque(member_pieces(archive, info), 0)
                except zipfile.BadZipFile:
                    damaged = f"{info.filename} fails its checksum"
                    raise DownloadError(f"what {source} sent is damaged: {damaged}; nothing was kept") from None
    except DownloadError:
        raise
    except ZIP_ERRORS as error:
        raise DownloadError(f"what {source} sent is not a readable zip file ({error}); nothing was kept") from None
    stems = find_data_sets([info.filename.replace("\\", "/") for info in members])
    if [PurePosixPath(stem).name for stem in stems] != [name]:
        held = ", ".join(stems) or "no data set"
        raise DownloadError(f"what {source} sent holds {held} instead of {name}; nothing was kept")


def _danger(members: list[zipfile.ZipInfo], size: int) -> str | None:
    """Say what is wrong: names that lead out of a folder, links, too many members, too much content; else None."""
    if len(members) > MAX_MEMBERS:
        return f"it has {len(members)} members, more than {MAX_MEMBERS}"
    for info in members:
        # Windows path rules include those of POSIX: both separators, drives, and absolute paths.
        path = PureWindowsPath(info.filename)
        if path.anchor or ".." in path.parts or stat.S_ISLNK(info.external_attr >> 16):
            return f"its member {info.filename!r} leads out of the folder"
        if not is_readable(info):
            return f"its member {info.filename!r} is packed in a way that can unpack to anything"
    names = [info.filename.replace("\\", "/") for info in members]
    if len(set(names)) < len(names):
        return f"it holds {max(names, key=names.count)} twice"
    unpacked = sum(info.file_size for info in members)
    if unpacked > MAX_UNPACKED_BYTES or (unpacked > HARMLESS_BYTES and unpacked > MAX_RATIO * size):
        return f"{size} bytes unpack to {unpacked}"
    return None
