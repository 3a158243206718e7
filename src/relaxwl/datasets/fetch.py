"""Downloading data sets of the TU collection into a cache.

By the standard library, because pooch 1.9 does not limit the size or total time of a download, retries after permanent
as well as temporary errors, and replaces a valid copy before the new one is checked.
"""

import http.client
import logging
import os
import re
import sys
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from relaxwl._execution import Deadline, current_deadline
from relaxwl._progress import ProgressBar, is_watched
from relaxwl._storage import atomic_write
from relaxwl.datasets.tu import load_tu, read_tu
from relaxwl.graphs import GraphCollection

logger = logging.getLogger(__name__)

BASE_URL = "https://www.chrsmrrs.com/graphkerneldatasets"
LIST_URL = "https://chrsmrrs.github.io/datasets/docs/datasets/"

# Default time limit of all attempts together: enough for the largest data set at a tenth of a usual speed.
TIME_LIMIT_SECONDS = 1200.0
ATTEMPTS = 4
BACKOFF_SECONDS = 0.5
TIMEOUT_SECONDS = 30
# Status codes of temporary errors, after which another attempt may succeed.
TRANSIENT_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
# Names of data sets of the collection.
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9+_-]|\.(?!\.)){0,99}")
# Maximum size of a download: several times the largest data set of the collection, and far below the size of a disk.
MAX_DOWNLOAD_BYTES = 4 * 2**30
_CHUNK_BYTES = 2**18


class DownloadError(OSError):
    """A data set could not be downloaded, or the download is invalid."""


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
        Folder of the downloaded files; by default ``cache_directory()``.
    base_url : str, optional
        Address of the folder with the file NAME.zip, for a mirror of the collection.
    time_limit : float or None, default=1200.0
        Limit in seconds for the download, including retries; None for no limit.

    Returns
    -------
    graphs, y
        As :func:`relaxwl.datasets.load_tu` returns them.

    Raises
    ------
    ValueError
        If there is no data set of this name in the collection.
    DownloadError
        If the server cannot be reached, or its answer is incomplete or unsafe. Nothing is stored in the cache.

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
    """Return the path of the zip file of a data set in the cache; parameters as for :func:`fetch_tu`."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"name must be that of a data set, of letters, digits, '-', '_', '+' and '.', not {name!r}")
    base_url = BASE_URL if base_url is None else base_url
    if not base_url.startswith(("http://", "https://")):
        raise ValueError(f"base_url must begin with https:// or http://, not {base_url!r}; load_tu reads local files")
    url = f"{base_url.rstrip('/')}/{name}.zip"
    folder = cache_directory() if cache_dir is None else Path(cache_dir).expanduser()
    path = folder / f"{name}.zip"
    if path.is_file() and zipfile.is_zipfile(path):
        return path
    deadline = current_deadline().earlier(Deadline(time_limit))
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        _receive(name, url, file, deadline)
        file.flush()
        try:
            found = read_tu(file.name, directed=True).name
        except (ValueError, OSError) as error:
            problem = str(error).replace(file.name, f"{name}.zip")
            raise DownloadError(f"the file from {url} is not a data set: {problem}; it was not kept") from None
        if found != name:
            raise DownloadError(f"the file from {url} contains {found} instead of {name}; it was not kept")
    return path


def cache_directory() -> Path:
    """Return the folder for downloaded data sets.

    This is the environment variable RELAXWL_CACHE or, if it is not set, the platform's folder for such files.
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


def _receive(name: str, url: str, file: BinaryIO, deadline: Deadline) -> None:
    """Write the response of the server to ``file``; temporary errors are retried."""
    request = urllib.request.Request(url, headers={"User-Agent": "relaxwl"})
    for attempt in range(ATTEMPTS):
        time.sleep(BACKOFF_SECONDS * 2 ** (attempt - 1) if attempt else 0)
        file.seek(0)
        file.truncate()
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
                announced = str(response.headers.get("Content-Length", ""))
                expected = int(announced) if re.fullmatch(r"[0-9]{1,18}", announced) else None
                if not is_watched():
                    size = "unknown size" if expected is None else f"{expected / 1e6:.1f} MB"
                    logger.info("downloading %s (%s)", name, size)
                with ProgressBar(name, expected, unit="B", unit_scale=True) as bar:
                    while chunk := response.read1(_CHUNK_BYTES):
                        file.write(chunk)
                        bar.add(len(chunk))
                        if max(file.tell(), expected or 0) > MAX_DOWNLOAD_BYTES:
                            most = f"{url} is larger than {MAX_DOWNLOAD_BYTES} bytes"
                            raise DownloadError(f"{most}; download it yourself and use load_tu")
                        if deadline.remaining() == 0:
                            raise DownloadError(
                                f"cannot download {url}: it is not complete after {deadline.seconds:g} seconds; try "
                                "again later, or with a larger time_limit"
                            )
            if expected is None or file.tell() >= expected:
                return
            problem = f"the connection was cut after {file.tell()} of {expected} bytes"
        except urllib.error.HTTPError as error:
            error.close()
            problem = f"the server responded with status {error.code}"
            if error.code in (404, 410):
                there = f"there is no data set {name!r} at {url} ({problem}); see {LIST_URL} for the names"
                raise ValueError(there) from None
            if error.code not in TRANSIENT_STATUS:
                raise DownloadError(f"cannot download {url}: {problem}") from None
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
            reason = getattr(error, "reason", None) or error
            problem = str(reason) or type(reason).__name__
        except (ValueError, OverflowError, LookupError) as error:  # a redirect to an invalid address
            raise DownloadError(f"cannot download {url}: it redirects to an invalid address ({error})") from None
        logger.warning("%s, attempt %d of %d: %s", url, attempt + 1, ATTEMPTS, problem)
    raise DownloadError(
        f"cannot download {url}: {problem}. Without a connection, or with {name}.zip from elsewhere, read a local "
        f"copy: relaxwl.datasets.load_tu('path/to/{name}.zip')"
    )
