"""Memory of a worker during tasks.

Dask makes workers return freed memory to the system at once (by ``MALLOC_TRIM_THRESHOLD_`` in their environment), so
that the C library maps new memory for each larger array. The page faults take a third of the processor time of a fit.
While a task runs, freed memory is kept for later arrays, up to the bounds that the library uses by default; when no
task is running, the settings of Dask are restored.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from relaxwl._execution import fork_safe_lock

# Codes of settings in malloc.h: the free memory kept at the end of the heap, and the minimum size of arrays that are
# mapped separately. By default the library lets the second grow to 32 MiB, and the first to twice as much.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
KEPT_BYTES, MAPPED_BYTES = 1 << 26, 1 << 25
DEFAULT_MAPPED_BYTES = 1 << 17

_lock = fork_safe_lock()
_n_running = 0


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep freed memory for reuse."""
    _change(1)
    try:
        yield
    finally:
        _change(-1)


def _change(step: int) -> None:
    global _n_running
    with _lock:
        _n_running += step
        library, is_first = _library(), step > 0 and _n_running == 1
        if library is not None and (is_first or _n_running == 0):
            kept, mapped = (KEPT_BYTES, MAPPED_BYTES) if is_first else _asked_for()
            library.mallopt(MMAP_THRESHOLD, mapped)
            library.mallopt(TRIM_THRESHOLD, kept)


def _asked_for() -> tuple[int, int]:
    """Return the settings from the environment."""
    mapped = os.environ.get("MALLOC_MMAP_THRESHOLD_", str(DEFAULT_MAPPED_BYTES))
    return int(os.environ["MALLOC_TRIM_THRESHOLD_"]), int(mapped)


@cache
def _library() -> Any:
    """Return the C library, if it has these settings and the environment changes them."""
    try:
        _asked_for()
        library = ctypes.CDLL(None)
        return library if hasattr(library, "mallopt") else None
    except (KeyError, ValueError, OSError, TypeError):  # settings missing or not readable, or another library
        return None
