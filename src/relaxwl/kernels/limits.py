"""Time limits for kernels, and progress for those who wait; the clock itself is in ``relaxwl._deadline``."""

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from relaxwl._deadline import Deadline, TimeLimitReached, check_time, current_deadline, time_limit
from relaxwl._progress import report

__all__ = ["Deadline", "TimeLimitReached", "check_time", "current_deadline", "time_limit", "watched"]

Item = TypeVar("Item")

# Seconds between two lines of progress.
PROGRESS_INTERVAL = 5.0


def watched(items: Sequence[Item], what: str, verbose: int = 0) -> Iterator[Item]:
    """Yield the items one by one, checking the clock before each; ``verbose`` logs every few seconds how far we are."""
    last_line = time.monotonic()
    for done, item in enumerate(items):
        check_time()
        if time.monotonic() - last_line >= PROGRESS_INTERVAL:
            last_line = time.monotonic()
            report(verbose, "%s: %d of %d parts done", what, done, len(items), share=done / len(items))
        yield item
