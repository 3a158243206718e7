"""How much memory there is, and a clear refusal of what cannot fit."""

import os

# The largest part of the machine's memory that one request may take.
MEMORY_SHARE = 0.75


class MemoryRefusal(ValueError, MemoryError):  # noqa: N818 - says what happened, which is no fault
    """A request that cannot fit, refused before it started: bad input to its caller, out of memory to a benchmark."""


def refuse_beyond_memory(needed: float, what: str, advice: str) -> None:
    """Raise if ``needed`` bytes are more than a good part of the memory; ``advice`` says what to do instead."""
    limit = MEMORY_SHARE * physical_memory()
    if needed > limit:
        raise MemoryRefusal(
            f"{what} would need about {needed / 2**30:.1f} GiB and the limit is {limit / 2**30:.1f} GiB; {advice}"
        )


def physical_memory() -> float:
    """Return the machine's memory in bytes; 8 GiB where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8.0 * 2**30
