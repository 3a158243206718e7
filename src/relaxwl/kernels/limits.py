"""Time limits that end a computation cleanly, and progress for those who wait.

A limit belongs to a block of code, not to an estimator: everything called inside the block checks the same clock, and
of nested limits the earlier one holds. The checks stand between chunks of work, so a limit is kept to within a chunk.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self, TypeVar

from relaxwl._progress import report
from relaxwl.graphs.arrays import Float64

if TYPE_CHECKING:
    from relaxwl.kernels.base import Candidate

Item = TypeVar("Item")

# Seconds between two lines of progress.
PROGRESS_INTERVAL = 5.0


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
    """Return the deadline of the block that we are in; ask in the thread that opened it."""
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


def watched(items: Sequence[Item], what: str, verbose: int = 0) -> Iterator[Item]:
    """Yield the items one by one, checking the clock before each; ``verbose`` logs every few seconds how far we are."""
    last_line = time.monotonic()
    for done, item in enumerate(items):
        check_time()
        if time.monotonic() - last_line >= PROGRESS_INTERVAL:
            last_line = time.monotonic()
            report(verbose, "%s: %d of %d parts done", what, done, len(items))
        yield item


class TimeLimited:
    """Puts everything that users call on a count kernel under the kernel's own ``time_limit``."""

    time_limit: float | None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from graphs which columns there are."""
        with time_limit(self.time_limit):
            super().fit(X, y)  # type: ignore[misc]
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the features of ``X``; the same as ``fit(X).transform(X)``, in one pass."""
        with time_limit(self.time_limit):
            return super().fit_transform(X, y, **fit_params)  # type: ignore[misc]

    def transform(self, X: Any) -> Any:
        """Return the features of graphs: a CSR array (n_graphs, n_features)."""
        with time_limit(self.time_limit):
            return super().transform(X)  # type: ignore[misc]

    def kernel_matrix(self, X: Any, Y: Any = None) -> Float64:
        """Return the Gram matrix between ``X`` and ``Y`` (by default ``X`` itself) as a dense array."""
        with time_limit(self.time_limit):
            return super().kernel_matrix(X, Y)  # type: ignore[misc, no-any-return]

    def fit_kernel_matrix(self, X: Any) -> Float64:
        """Fit, and return the Gram matrix of ``X``; the same as ``fit(X).kernel_matrix(X)``, in one pass."""
        with time_limit(self.time_limit):
            return super().fit_kernel_matrix(X)  # type: ignore[misc, no-any-return]

    def fit_candidates(self, X: Any) -> list["Candidate"]:
        """Fit, and return the Gram matrix of ``X`` for every setting that this one fit covers."""
        with time_limit(self.time_limit):
            return super().fit_candidates(X)  # type: ignore[misc, no-any-return]

    def candidates(self, X: Any, Y: Any = None) -> list["Candidate"]:
        """Return, in the same order as :meth:`fit_candidates`, the Gram matrices between ``X`` and ``Y``."""
        with time_limit(self.time_limit):
            return super().candidates(X, Y)  # type: ignore[misc, no-any-return]
