"""Time limits for kernels, and progress for those who wait; the clock itself is in ``relaxwl._deadline``."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from relaxwl._deadline import Deadline, TimeLimitReached, check_time, current_deadline, time_limit
from relaxwl._progress import ProgressBar

__all__ = ["Deadline", "TimeLimitReached", "check_time", "current_deadline", "time_limit", "watched"]

Item = TypeVar("Item")

# Seconds between two lines of progress.
PROGRESS_INTERVAL = 5.0


def watched(items: Sequence[Item], what: str, verbose: int = 0) -> Iterator[Item]:
    """Yield the items one by one, checking the clock before each; ``verbose`` shows how far we are."""
    with ProgressBar(what, len(items), verbose=verbose, every=PROGRESS_INTERVAL) as progress:
        for done, item in enumerate(items):
            check_time()
            yield item
            progress.add(1, "%s: %d of %d parts done", what, done + 1, len(items))
