"""Where tasks run: on a Dask cluster, or here, one after the other.

A task is a function of this package with its arguments. It returns the same on every worker, so that what is lost with
one is computed again elsewhere. What tasks return stays where it was made; a *handle* stands for it in the arguments of
other tasks, also within lists.
"""

import pickle
import secrets
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

from relaxwl._execution import one_thread
from relaxwl.distributed.heap import kept_memory

Handle = Any
# Results that one task puts together.
FAN_IN = 16
# What is sent along with every task that takes it.
SMALL_BYTES = 1 << 13
# What a worker that joins is given before it is told anything that makes it busy.
JOINING_SECONDS = 2
# What workers are told by; there is one of it, the newest, in a cluster.
PLUGIN = "relaxwl-announcement"
_announced: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()


class Tasks(Protocol):
    """What runs tasks."""

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Start a task; ``name`` is shown where progress is watched."""

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Wait for tasks, and bring what they return here."""

    def cancel(self) -> None:
        """Give up all that was submitted."""

    def check(self, folder: Path) -> None:
        """Refuse to start where tasks would fail."""

    def announce(self, function: Callable[..., None], *arguments: Any) -> None:
        """Let every process that tasks run in call a function, which makes them quicker and does nothing else."""


class Here:
    """Tasks in this process, each at once: a handle is the result."""

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Do a task."""
        return function(*arguments)

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Return what is there."""
        return list(handles)

    def cancel(self) -> None:
        """Do nothing: nothing is left."""

    def check(self, folder: Path) -> None:
        """Do nothing: who opened the folder can read it."""

    def announce(self, function: Callable[..., None], *arguments: Any) -> None:
        """Do nothing: it would take as long as what it saves."""


class _Result:
    """A handle of a task; ``future`` is Dask's, once the task was sent."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.future: Any = None


class _Place(int):
    """Stands for what a task takes from another, by its number."""


class _Call:
    """A function and its arguments, with places for what other tasks return; Dask does not look into it."""

    def __init__(self, function: Callable[..., Any], arguments: list[Any]) -> None:
        self.function, self.arguments = function, arguments

    def __call__(self, *taken: Any) -> Any:
        return _alone(self.function, *_filled(self.arguments, taken))


def _with_places(value: Any, taken: list[_Result]) -> Any:
    """Put places for handles, also within lists, and note what is taken."""
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
    """Tasks on the workers of a Dask client, named so that two fits at once do not meet.

    They wait until somebody asks for a result, and go to the scheduler as one graph: it takes many tasks at once in a
    fraction of the time that it takes for them one by one. What no handle stands for any more by then is kept by the
    workers no longer than other tasks need it.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._token = secrets.token_hex(8)
        self._numbers = count()
        self._waiting: dict[str, tuple[Any, ...]] = {}
        self._handles: weakref.WeakValueDictionary[str, _Result] = weakref.WeakValueDictionary()

    def submit(self, name: str, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Have a task done once its result, or that of one that takes it, is asked for."""
        result = _Result(f"relaxwl-{name}-{self._token}-{next(self._numbers)}")
        taken: list[_Result] = []
        call = _Call(function, [_with_places(argument, taken) for argument in arguments])
        # Of what is in the same graph Dask wants to know the key.
        self._waiting[result.key] = (call, *(one.key if one.future is None else one.future for one in taken))
        self._handles[result.key] = result
        return result

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Wait for tasks; a worker that died is one that had too little memory, as a rule."""
        asked = [one for one in handles if isinstance(one, _Result)]
        if not asked:
            return list(handles)
        self._send()
        try:
            answers = iter(self._client.gather([one.future for one in asked]))
            return [next(answers) if isinstance(one, _Result) else one for one in handles]
        except import_module("distributed").KilledWorker as error:
            raise RuntimeError(
                f"workers died again and again in one task ({error}); this is so when they have too little memory: "
                "write smaller shards (graphs_per_shard), or give each worker more memory or fewer threads"
            ) from error

    def _send(self) -> None:
        graph, self._waiting = self._waiting, {}
        wanted = [result for key in graph if (result := self._handles.get(key)) is not None]
        if wanted:
            futures = self._client.get(graph, [result.key for result in wanted], sync=False)
            for result, future in zip(wanted, futures, strict=True):
                result.future = future

    def cancel(self) -> None:
        """Let go of all handles: what nobody wants is not begun, and what has begun ends by itself, soon.

        Not by ``client.cancel``: it fails in the scheduler, and takes the client along, where a task that is cancelled
        feeds one whose handle was dropped before.
        """
        self._waiting = {}
        for result in list(self._handles.values()):
            with suppress(Exception):  # where the scheduler is gone, so are the tasks
                result.future.release()

    def check(self, folder: Path) -> None:
        """Compare versions, and see whether workers can read the folder."""
        place, wanted = str(folder.absolute()), str(import_module("relaxwl").__version__)

        async def look() -> tuple[str | None, bool]:  # sent as code: a worker may lack this package
            from asyncio import to_thread
            from importlib import import_module
            from pathlib import Path

            try:  # in a thread: importing takes a second, and the worker is to be heard of in the meantime
                return (await to_thread(import_module, "relaxwl")).__version__, Path(place).is_dir()
            except ImportError:
                return None, False

        for worker, (version, sees) in self._client.run(look, on_error="ignore").items():
            if version != wanted:
                has = "no relaxwl" if version is None else f"relaxwl {version}"
                raise RuntimeError(
                    f"worker {worker} has {has}, and relaxwl {wanted} runs here; install the same on all"
                )
            if not sees:
                raise RuntimeError(
                    f"worker {worker} cannot see {place}; put the shards where all workers can read them"
                )

    def announce(self, function: Callable[..., None], *arguments: Any) -> None:
        """Let every worker call a function in a thread of its own when it hears of it, or when it joins."""
        with suppress(Exception):  # nothing depends on it: not every kernel can be sent, and workers come and go
            work = import_module("distributed.protocol.pickle").dumps((function, arguments))
            if _announced.get(self._client) != work:
                self._client.register_plugin(_announcement(work), name=PLUGIN)
                _announced[self._client] = work


def current_tasks() -> Tasks:
    """Return the cluster of the current Dask client, or this process if there is none."""
    try:
        distributed = import_module("distributed")
    except ImportError:
        return Here()
    try:
        return Cluster(distributed.default_client())
    except ValueError:  # there is none
        return Here()


def hold(tasks: Tasks, value: Any) -> Handle:
    """Return what many tasks can take for a value: a handle of one that is sent once, or if it is small itself.

    Dask lets a task run where the handles that it takes are, so it is better not to make one for next to nothing.
    """
    try:
        small = len(pickle.dumps(value)) <= SMALL_BYTES
    except (pickle.PicklingError, AttributeError, TypeError):  # a function of the user's, which Dask knows how to send
        small = False
    return value if small else tasks.submit("send", _itself, value)


def pick(tasks: Tasks, place: Any, handles: Iterable[Handle], name: str = "part") -> list[Handle]:
    """Return handles of one part of each result."""
    return [tasks.submit(name, itemgetter(place), handle) for handle in handles]


def reduce(tasks: Tasks, name: str, combine: Callable[[list[Any]], Any], handles: list[Handle]) -> Handle:
    """Combine results, a few at a time and in order; ``combine`` takes a list of them."""
    handles = handles if len(handles) > 1 else [tasks.submit(name, combine, handles)]
    while len(handles) > 1:
        handles = [
            tasks.submit(name, combine, handles[start : start + FAN_IN]) for start in range(0, len(handles), FAN_IN)
        ]
    return handles[0]


def _alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Do a task in one thread: how many run side by side is the worker's affair."""
    with one_thread(), kept_memory():
        return function(*arguments)


def _announcement(work: bytes) -> Any:
    """Return a plugin that calls a function in workers; sent as code: one that lacks this package can join too."""
    seconds = JOINING_SECONDS  # a name of this module would be looked up there

    class Announcement(import_module("distributed").WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            import pickle
            from contextlib import suppress
            from threading import Thread

            def call() -> None:
                with suppress(Exception):
                    function, arguments = pickle.loads(work)
                    function(*arguments)

            thread = Thread(target=call, name="relaxwl", daemon=True)
            # Who is only just joining is to be left in peace until it has: it has to answer in time.
            has_joined = worker.periodic_callbacks["heartbeat"].is_running()
            worker.loop.call_later(0 if has_joined else seconds, thread.start)

    return Announcement()


def _itself(value: Any) -> Any:
    return value
