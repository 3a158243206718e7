"""Time limits that end a computation cleanly.

A limit belongs to a block of code, not to an estimator: everything called inside the block checks the same clock, and
of nested limits the earlier one holds. The checks stand between chunks of work (``_execution`` makes one before each),
so a limit is kept to within a chunk.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar


class TimeLimitReached(TimeoutError):  # noqa: N818 - says what happened, which is no fault
    """A computation took longer than its ``time_limit`` and was ended."""


class Deadline:
    """A point in time, on a clock that nobody sets back."""

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds > 0:
            raise ValueError(f"time_limit must be a number of seconds > 0 or None, not {seconds!r}")
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float | None:
        """Return the seconds that are left (0 if none), or None if there is no limit."""
        return None if self._end is None else max(self._end - time.monotonic(), 0.0)

    def check(self) -> None:
        """Raise :class:`TimeLimitReached` if the time is over."""
        if self.remaining() == 0:
            raise TimeLimitReached(f"the time limit of {self.seconds:g} seconds was reached")

    def earlier(self, other: "Deadline") -> "Deadline":
        """Return the one of the two that comes first."""
        if self._end is None or other._end is None:
            return other if self._end is None else self
        return self if self._end <= other._end else other


_current: ContextVar[Deadline] = ContextVar("deadline", default=Deadline(None))  # noqa: B039


def current_deadline() -> Deadline:
    """Return the deadline of the block that we are in."""
    return _current.get()


def check_time() -> None:
    """Raise :class:`TimeLimitReached` if the time of the block that we are in is over."""
    _current.get().check()


@contextmanager
def time_limit(seconds: float | None) -> Generator[Deadline]:
    """Give the block at most ``seconds``; None gives it as long as it needs.

    >>> with time_limit(60) as deadline:
    ...     check_time()
    >>> deadline.seconds
    60
    """
    deadline = _current.get().earlier(Deadline(seconds))
    token = _current.set(deadline)
    try:
        yield deadline
    finally:
        _current.reset(token)
