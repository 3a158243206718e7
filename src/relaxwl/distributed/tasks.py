"""Tasks of a fit on the workers of a Dask cluster.

A task is a function of this package with its arguments. It returns the same on every worker, so that results that are
lost with one are computed again on another. Results stay on the worker that computed them; a *handle* represents a
result in the arguments of other tasks, also within lists.
"""

import os
import pickle
import secrets
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from relaxwl._execution import one_thread

# Maximum pickled size of a value that is sent with every task that uses it.
SMALL_BYTES = 1 << 13
# Configuration key and default of the time limit after all workers are lost, and seconds between checks.
TIMEOUT, DEFAULT_TIMEOUT, WATCH_SECONDS = "relaxwl.no-workers-timeout", "300s", 2.0
# Configuration key of the size of tasks above which Dask warns.
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


# A result of a task, or a future of it in another process.
Handle = Any


class Tasks(Protocol):
    """Interface for running functions, in this process or on workers."""

    @property
    def n_threads(self) -> int:
        """Number of functions that can run at the same time."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Submit a call of a function of a module; arguments may be handles, also within lists."""

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Wait for results and return them."""

    def share(self, value: Any) -> Handle:
        """Return a handle of a value for many calls, which is sent once."""


class LocalTasks:
    """Tasks that are run immediately in this process."""

    n_threads = 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Call a function."""
        return function(*arguments)

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Return the results."""
        return list(handles)

    def share(self, value: Any) -> Handle:
        """Return the value itself."""
        return value


class _Result:
    """A handle of a task; ``future`` is that of Dask after the task is sent."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.future: Any = None


class _Place(int):
    """Placeholder for the result of another task, by its number."""


class _Call:
    """A function and its arguments, with placeholders for results of other tasks; opaque to Dask."""

    def __init__(self, function: Callable[..., Any], arguments: list[Any]) -> None:
        self.function, self.arguments, self.version = function, arguments, _version()

    def __call__(self, *taken: Any) -> Any:
        if _version() != self.version:  # the worker may have joined after the fit began
            raise RuntimeError(
                f"a worker has relaxwl {_version()} and the client {self.version}; install the same version"
            )
        with one_thread():  # the tasks of a worker use all its cores
            return self.function(*_filled(self.arguments, taken))


def _with_places(value: Any, taken: list[_Result]) -> Any:
    """Replace handles, also within lists, by placeholders, and record them."""
    if isinstance(value, list):
        return [_with_places(item, taken) for item in value]
    if not isinstance(value, _Result):
        return value
    taken.append(value)
    return _Place(len(taken) - 1)


def _filled(value: Any, taken: tuple[Any, ...]) -> Any:
    if isinstance(value, list):
        return [_filled(item, taken) for item in value]
    return taken[value] if isinstance(value, _Place) else value


class Cluster:
    """Tasks on the workers of a Dask client, with unique names.

    Tasks wait until a result is requested, and are then sent to the scheduler as one graph, which takes a fraction of
    the time of sending them one by one. Workers keep results without a handle only as long as other tasks need them.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._token = secrets.token_hex(8)
        self._numbers = count()
        self._waiting: dict[str, tuple[Any, ...]] = {}
        self._handles: weakref.WeakValueDictionary[str, _Result] = weakref.WeakValueDictionary()
        self._last_seen: float | None = None  # last time with a worker

    @property
    def n_threads(self) -> int:
        """Number of threads of all workers."""
        return max(1, int(sum(self._client.nthreads().values())))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Submit a task, which is run when its result is needed; dashboards show the name of the function."""
        result = _Result(f"relaxwl-{function.__name__}-{self._token}-{next(self._numbers)}")
        taken: list[_Result] = []
        call = _Call(function, [_with_places(argument, taken) for argument in arguments])
        # Dask requires the keys of tasks in the same graph, and the futures of others.
        self._waiting[result.key] = (call, *(one.key if one.future is None else one.future for one in taken))
        self._handles[result.key] = result
        return result

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Wait for tasks; the error for lost workers names memory as the likely cause."""
        asked = [one for one in handles if isinstance(one, _Result)]
        if not asked:
            return list(handles)
        self._send()
        distributed = import_module("distributed")
        try:
            self._wait([one.future for one in asked])
            answers = iter(self._client.gather([one.future for one in asked]))
            return [next(answers) if isinstance(one, _Result) else one for one in handles]
        except distributed.KilledWorker as error:
            raise RuntimeError(
                f"the workers of a task died repeatedly ({error}), usually for lack of memory: "
                "write smaller shards (graphs_per_shard), or give each worker more memory or fewer threads"
            ) from error

    def _wait(self, futures: list[Any]) -> None:
        """Wait until all futures are done or one has failed, with a time limit if all workers are lost.

        The limit is ``relaxwl.no-workers-timeout`` in the configuration of Dask. It does not apply before the first
        worker starts, as on a cluster with a queue.
        """
        wait, config = import_module("distributed").wait, import_module("dask").config
        allowed = import_module("dask.utils").parse_timedelta(config.get(TIMEOUT, DEFAULT_TIMEOUT))
        while pending := [future for future in futures if future.status == "pending"]:
            try:
                wait(pending, timeout=min(WATCH_SECONDS, allowed), return_when="FIRST_COMPLETED")
            except TimeoutError:
                if self._client.status == "running" and self._client.nthreads():
                    self._last_seen = time.monotonic()
                elif self._last_seen is not None and time.monotonic() - self._last_seen > allowed:
                    raise RuntimeError(
                        f"all workers were lost and none reconnected for {allowed:g} s; start workers and fit again, "
                        f"or set {TIMEOUT} in the configuration of Dask to wait for longer"
                    ) from None
            if any(future.status not in ("pending", "finished") for future in futures):
                return  # the error is raised when the result is requested

    def _send(self) -> None:
        graph, self._waiting = self._waiting, {}
        wanted = [result for key in graph if (result := self._handles.get(key)) is not None]
        if wanted:
            with import_module("dask").config.set({LARGE_GRAPH: "1 TiB"}):  # models of features are large
                futures = self._client.get(graph, [result.key for result in wanted], sync=False)
            for result, future in zip(wanted, futures, strict=True):
                result.future = future

    def share(self, value: Any) -> Handle:
        """Return a handle of a value that is sent once or, if it is small, the value itself.

        Dask prefers to run tasks on the workers that have their arguments, so small values should not have a handle.
        """
        try:
            small = len(pickle.dumps(value)) <= SMALL_BYTES
        except (pickle.PicklingError, AttributeError, TypeError):  # a user's function, which Dask can send
            small = False
        return value if small else self.submit(sent, value)

    @contextmanager
    def working(self, folder: Path) -> Iterator[None]:
        """Check versions and access before starting, and release all handles after errors.

        Tasks that are no longer needed are not started, and running ones end soon. ``client.cancel`` is not used: it
        fails in the scheduler and the client if a canceled task is an input of one whose handle was dropped.
        """
        try:
            self.check(folder)
            yield
        except BaseException as error:  # also an interrupt, after which no results are needed
            self._waiting = {}
            for result in list(self._handles.values()):
                with suppress(Exception):  # without a scheduler, there are no tasks to release
                    result.future.release()
            if isinstance(error, Exception) and self._client.status != "running":
                # Which error Dask raises depends on the call that meets the lost connection.
                message = "the connection to the Dask scheduler was lost; restart it and fit again"
                raise RuntimeError(message) from error
            raise

    def check(self, folder: Path) -> None:
        """Check the versions of the workers, and whether they can read the folder."""
        place, wanted = str(folder.absolute()), _version()

        async def look() -> tuple[str | None, bool]:  # sent as code: a worker may lack this package
            from asyncio import to_thread
            from importlib import import_module
            from pathlib import Path

            try:  # in a thread, because importing takes a second, in which the worker must still respond
                return (await to_thread(import_module, "relaxwl")).__version__, Path(place).is_dir()
            except ImportError:
                return None, False

        found = self._client.run(look, on_error="ignore")
        self._last_seen = time.monotonic() if found else None
        for worker, (version, sees) in found.items():
            if version != wanted:
                has = "no relaxwl" if version is None else f"relaxwl {version}"
                raise RuntimeError(
                    f"worker {worker} has {has}, but the client has relaxwl {wanted}; install the same version"
                )
            if not sees:
                raise RuntimeError(
                    f"worker {worker} cannot see {place}; put the shards where all workers can read them"
                )


# Clients of the parent: a forked child would wait for ever for their threads, which it does not have.
_inherited: list[Any] = []


def current_tasks() -> Tasks:
    """Return the cluster of the current Dask client of this process, or the process itself if there is none."""
    client = _client()
    return LocalTasks() if client is None or any(client is one for one in _inherited) else Cluster(client)


def _client() -> Any:
    """Return the current Dask client, or None; without an import, for whose lock a forked child could wait."""
    try:
        return sys.modules["distributed"].default_client()
    except (KeyError, AttributeError, ValueError):  # not imported, not yet imported, no client
        return None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _inherited.append(_client()))


def _version() -> str:
    return str(import_module("relaxwl").__version__)


def sent(value: Any) -> Any:
    """Return a value on the worker to which it was sent."""
    return value
