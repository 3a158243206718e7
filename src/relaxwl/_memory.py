"""Available and used memory, and errors for requests that do not fit."""

import math
import os
import sys
from pathlib import Path, PurePosixPath

# Maximum share of the available memory that one request may take.
MEMORY_SHARE = 0.75
# Share of the physical memory below which requests are not checked, since a check takes longer than most small steps.
FREE_SHARE = 1e-4
# Files in which Linux states how much memory is available and to which container (cgroup) this process belongs, and the
# folder of containers.
MEMORY_INFO, MEMBERSHIP, CONTAINERS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
# Files in which Linux states the peak memory of this process, and by which it is reset.
STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class MemoryRefusal(ValueError, MemoryError):  # noqa: N818 - says what happened, which is no fault
    """Raised before a computation that does not fit into memory; both a ``ValueError`` and a ``MemoryError``."""


def check_memory(needed: float, what: str, advice: str) -> None:
    """Raise an error if ``needed`` bytes exceed the limit of one request; ``advice`` says what to do instead.

    All readers of files call this function before they allocate memory for the content.
    """
    if needed <= FREE_SHARE * physical_memory():
        return
    limit = MEMORY_SHARE * available_memory()
    if needed > limit:
        raise MemoryRefusal(f"{what} would need about {_size(needed)} and the limit is {_size(limit)}; {advice}")


def available_memory() -> float:
    """Return the bytes that this process can still allocate, given free memory and all limits."""
    free = min(physical_memory(), _field(MEMORY_INFO, "MemAvailable:", 1024) or math.inf)
    limits = [free, _limited_memory()]
    # The path of the container in cgroups version 2; inside a container it may be that of the host, and not exist here.
    try:
        membership = next(line for line in MEMBERSHIP.read_text().splitlines() if line.startswith("0::"))
    except (OSError, ValueError, StopIteration):
        membership = "0::/"
    inner = CONTAINERS.joinpath(*PurePosixPath(membership[3:]).parts[1:])
    # A container has at most what those around it have left.
    for folder in (inner, *(above for above in inner.parents if above.is_relative_to(CONTAINERS))):
        try:
            most, taken = (float((folder / name).read_text()) for name in ("memory.max", "memory.current"))
        except (OSError, ValueError):  # no such file, or "max"
            continue
        # The inactive part of the file cache is reclaimed by the system when memory is needed.
        limits.append(most - taken + _field(folder / "memory.stat", "inactive_file", 1))
    return max(min(limits), 0.0)


def _limited_memory() -> float:
    """Return the bytes that ``ulimit`` allows this process."""
    try:
        import resource
    except ImportError:  # Windows
        return math.inf
    left = math.inf
    for kind, used in ((resource.RLIMIT_AS, "VmSize:"), (resource.RLIMIT_DATA, "VmData:")):
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            left = min(left, soft - _field(STATUS, used, 1024))
    return left


def _field(path: Path, name: str, unit: int) -> float:
    """Return the number that follows a name in a file of the system, in bytes; 0 if it is missing."""
    try:
        lines = path.read_text().splitlines()
        return next(float(unit * int(words[1])) for line in lines if (words := line.split()) and words[0] == name)
    except (OSError, ValueError, IndexError, StopIteration):
        return 0.0


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:.3g} GiB"


def physical_memory() -> float:
    """Return the physical memory in bytes; 8 GiB if it is unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8.0 * 2**30


def forget_peak_memory() -> None:
    """Reset :func:`peak_memory`, if the system supports it."""
    try:
        FORGET.write_text("5")
    except OSError:
        return


def peak_memory() -> float | None:
    """Return the peak memory of this process in bytes; on Linux, since :func:`forget_peak_memory` was called."""
    held = _field(STATUS, "VmHWM:", 1024)
    if held:
        return held
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak if sys.platform == "darwin" else 1024 * peak
