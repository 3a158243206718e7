"""Threads and time limits: the one place that maps a chunk function over workers.

Every parallel step of the package is a function that takes arrays and returns arrays, mapped over coarse
chunks whose boundaries do not depend on the number of workers. So the result is the same for every
``n_jobs``, and threads could be replaced by another executor in this module alone.

A process may be forked at any moment, and its child waits forever for a lock that another thread of the parent held.
So the ``cached_property`` defined here has no lock, and a fork waits until the locks of ``fork_safe_lock`` are released
and nothing is being compiled (``relaxwl._compiling.internals``).

A time limit belongs to a block of code, not to an estimator: everything called inside the block checks the same clock,
and of nested limits the earlier one holds. It is checked before each chunk, so a limit is kept to within a chunk.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

import joblib


class TimeLimitReached(TimeoutError):  # noqa: N818 - says what happened, which is no fault
    """Raised when a computation exceeds its ``time_limit``.

    See Also
    --------
    time_limit : Limit the time of a ``with`` block.

    Examples
    --------
    >>> try:
    ...     with time_limit(1e-9):
    ...         check_time()
    ... except TimeLimitReached as error:
    ...     print(error)
    the time limit of 1e-09 seconds was reached
    """


class Deadline:
    """A point in time on a monotonic clock."""

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
        """Return the earlier of two deadlines."""
        if self._end is None or other._end is None:
            return other if self._end is None else self
        return self if self._end <= other._end else other


_current: ContextVar[Deadline] = ContextVar("deadline", default=Deadline(None))  # noqa: B039


def current_deadline() -> Deadline:
    """Return the deadline of the current ``time_limit`` block."""
    return _current.get()


def check_time() -> None:
    """Raise :class:`TimeLimitReached` if the current ``time_limit`` block has exceeded its time."""
    _current.get().check()


@contextmanager
def time_limit(seconds: float | None) -> Generator[Deadline]:
    """Limit the time that the kernels called within a ``with`` block may take.

    Parameters
    ----------
    seconds : float or None
        The limit; None for no limit.

    See Also
    --------
    TimeLimitReached : The error that is raised after the limit.

    Examples
    --------
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


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801
        """Like ``functools.cached_property``, without the lock of Python 3.11."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self.function, self.__doc__ = function, function.__doc__

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            # Two threads may both compute it, with the same result.
            return instance.__dict__.setdefault(self.function.__name__, self.function(instance))


def fork_safe_lock(lock: Any = None) -> Any:
    """Return a lock, by default a new one, that is released before a process is forked."""
    lock = threading.Lock() if lock is None else lock
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

# Threads are kept between calls, because k-means makes hundreds of short ones. A child process does not inherit them.
_pools: dict[int, ThreadPoolExecutor] = {}
_worker = threading.local()
# Maximum number of threads; larger values of n_jobs are reduced to it.
MAX_WORKERS = max(64, os.cpu_count() or 1)
# Number of items up to which no processes are started, which takes seconds; number of items per task of a process.
FEW_ITEMS = 4000
ITEMS_AT_ONCE = 1000
# Set when the call to which a worker's chunk belongs has failed or was interrupted, so that the result is not needed.
_given_up: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)


def map_chunks(function: Callable[[Chunk], Result], chunks: Iterable[Chunk], n_jobs: int | None = None) -> list[Result]:
    """Return ``[function(chunk) for chunk in chunks]``, computed by ``n_jobs`` threads.

    Compiled functions release the interpreter lock, so threads run in parallel and share the arrays. ``n_jobs`` means
    the same as in joblib: ``None`` is one worker (or the setting of ``joblib.parallel_config``), -1 is all cores. The
    threads are those of the standard library, because joblib adds about 10 ms per call, more than many calls take.
    A nested call runs in the worker that makes it, so that calls neither wait for each other nor use more threads than
    cores. A time limit is checked before each chunk.
    """
    chunks = list(chunks)
    # joblib counts the cores at each call, which can take as long as a chunk, so it is not called for a single chunk.
    alone = len(chunks) <= 1 or getattr(_worker, "is_busy", False)
    n_workers = 1 if alone else min(joblib.effective_n_jobs(n_jobs), MAX_WORKERS)
    if n_workers <= 1:
        return [_in_time(function, chunk) for chunk in chunks]
    pool = _pools.get(n_workers) or _pools.setdefault(n_workers, ThreadPoolExecutor(n_workers, initializer=_mark))
    given_up = threading.Event()
    # Threads of the pool have their own context, so the caller's, with its time limit, is passed to them.
    futures = [pool.submit(copy_context().run, _in_time, function, chunk, given_up) for chunk in chunks]
    try:
        return [future.result() for future in futures]
    except BaseException:  # also an interrupt: waiting chunks are canceled, running ones end at their next nested chunk
        given_up.set()
        for future in futures:
            future.cancel()
        raise


def map_long(function: Callable[[Chunk], Result], tasks: Sequence[Chunk], n_jobs: int | None = None) -> list[Result]:
    """Return ``[function(task) for task in tasks]`` for few, long tasks that map chunks over workers themselves.

    With one worker per task, serial parts of tasks leave no worker idle, but the last of 3 tasks on 2 workers does. So
    a multiple of the number of workers runs in parallel, and the rest one after the other with all workers.
    """
    n_even = len(tasks) - len(tasks) % joblib.effective_n_jobs(n_jobs)
    return map_chunks(function, tasks[:n_even], n_jobs) + [_in_time(function, task) for task in tasks[n_even:]]


def map_processes(
    function: Callable[[Sequence[Any]], list[Result]], items: Sequence[Any], n_jobs: int | None = None
) -> list[Result]:
    """Return ``function(items)``, a list, computed by ``n_jobs`` processes from chunks of many items.

    For functions that hold the interpreter lock, as RDKit's do. A few items, or calls from a worker, use this process.
    """
    alone = len(items) <= FEW_ITEMS or getattr(_worker, "is_busy", False)
    if alone or joblib.effective_n_jobs(n_jobs) == 1:
        return function(items)
    tasks = [joblib.delayed(function)(items[start:stop]) for start, stop in spans(len(items), ITEMS_AT_ONCE)]
    return [result for chunk in joblib.Parallel(n_jobs)(tasks) for result in chunk]


def _in_time(function: Callable[[Chunk], Result], chunk: Chunk, given_up: threading.Event | None = None) -> Result:
    if given_up is not None:
        _given_up.set(given_up)
    check_time()
    failed = _given_up.get()
    if failed is not None and failed.is_set():
        raise CancelledError
    return function(chunk)


def _mark() -> None:
    _worker.is_busy = True


@contextmanager
def one_thread() -> Iterator[None]:
    """Run everything called within the block in the current thread."""
    before = getattr(_worker, "is_busy", False)
    _worker.is_busy = True
    try:
        yield
    finally:
        _worker.is_busy = before


def spans(total: int, size: int) -> list[tuple[int, int]]:
    """Cut ``range(total)`` into half-open spans of at most ``size``.

    >>> spans(10, 4)
    [(0, 4), (4, 8), (8, 10)]
    """
    return [(start, min(start + size, total)) for start in range(0, total, size)]
