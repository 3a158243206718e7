"""How much memory there is and was used, and a clear refusal of what cannot fit."""

import math
import os
import sys
from pathlib import Path

# The largest part of the machine's memory that one request may take.
MEMORY_SHARE = 0.75
# Where Linux says how much memory a container may take, in the new way and the old.
CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
# Linux keeps the largest size of a process here, and forgets it when asked to there.
STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class MemoryRefusal(ValueError, MemoryError):  # noqa: N818 - says what happened, which is no fault
    """A request that cannot fit, refused before it started: bad input to its caller, out of memory to a benchmark."""


def refuse_beyond_memory(needed: float, what: str, advice: str) -> None:
    """Raise if ``needed`` bytes are more than a good part of the memory; ``advice`` says what to do instead."""
    limit = MEMORY_SHARE * available_memory()
    if needed > limit:
        raise MemoryRefusal(
            f"{what} would need about {needed / 2**30:.1f} GiB and the limit is {limit / 2**30:.1f} GiB; {advice}"
        )


def available_memory() -> float:
    """Return the bytes that this process may have: the machine's, or less where a container or a limit says so."""
    return min(physical_memory(), _container_memory(), _limited_memory())


def _container_memory() -> float:
    for path in CONTAINER_LIMITS:
        try:
            return float(path.read_text())
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return math.inf


def _limited_memory() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return math.inf
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if soft == resource.RLIM_INFINITY else float(soft)


def physical_memory() -> float:
    """Return the machine's memory in bytes; 8 GiB where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8.0 * 2**30


def forget_peak_memory() -> None:
    """Let :func:`peak_memory` start anew, where the system can do so."""
    try:
        FORGET.write_text("5")
    except OSError:
        return


def peak_memory() -> float | None:
    """Return the most bytes that this process has held since the peak was forgotten (elsewhere than on Linux: ever)."""
    try:
        lines = STATUS.read_text().splitlines()
        return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return _largest_resident_set()


def _largest_resident_set() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak if sys.platform == "darwin" else 1024 * peak
