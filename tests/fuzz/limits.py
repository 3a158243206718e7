"""Limits that everything that reads must keep, and which errors are answers."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from relaxwl._memory import forget_peak_memory, peak_memory

Content = TypeVar("Content")

# A reader may take this much memory, and so much for each byte of what it reads, unpacked.
MEMORY_BYTES, BYTES_PER_BYTE = 2**26, 50


class OverLimit(AssertionError):  # noqa: N818 - says what happened
    """More time or memory than there may be; once it can be compiling, twice it is a finding."""


@contextlib.contextmanager
def within_memory(size: int) -> Iterator[None]:
    """Let the block take no more memory than ``size`` bytes of input allow."""
    forget_peak_memory()
    before = peak_memory()
    yield
    taken = peak_memory() - before
    if taken > MEMORY_BYTES + BYTES_PER_BYTE * size:
        raise OverLimit(f"{taken / 2**20:.0f} MiB of memory for {size} bytes of input")


def read_or_refused(read: Callable[[], Content], size: int) -> Content | None:
    """Return what is read, or None if it is refused by an error that says something."""
    with within_memory(size), contextlib.suppress(ValueError, OSError):
        try:
            return read()
        except (ValueError, OSError) as error:
            assert str(error), "an error must say something"
            raise
    return None
