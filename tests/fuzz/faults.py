"""Faults at random moments: a disk that fills, interrupts, kills, memory that ends, clocks that jump."""

import contextlib
import errno
import io
import os
import random
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

from evaluation.small_data import random_graphs
from fuzz.data_sets import _files
from relaxwl import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl._storage import atomic_write
from relaxwl.datasets import read_tu
from relaxwl.evaluation import ResultStore, cross_validate

OLD, NEW = b"old" * 1000, b"new" * 3000


# ----------------------------------------------------------------------------------------------- whole or not at all


def storage_case(rng: random.Random, folder: Path) -> None:
    """Write a file while something goes wrong: it is the old one or the new one, and nothing else is left."""
    path = folder / rng.choice(("x", "ü", "x" * 255))
    existed = rng.random() < 0.7
    if existed:
        path.write_bytes(OLD)
    if rng.random() < 0.3:
        (folder / "link").symlink_to(path.name)
        path = folder / "link"
    fault = rng.choice((_full_disk, _failing_call, _interrupt, _short_limit))
    with contextlib.suppress(OSError, KeyboardInterrupt), fault(rng), atomic_write(path) as file:
        for start in range(0, len(NEW), 997):
            file.write(NEW[start : start + 997])
    content = path.read_bytes() if path.exists() else None
    assert content in (NEW, OLD if existed else None), f"half-written: {content[:20] if content else None}"
    assert [item.name for item in folder.iterdir() if item.name.startswith(".")] == []


@contextlib.contextmanager
def _full_disk(rng: random.Random):
    before, usual = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (rng.randrange(1, 2 * len(NEW)), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, usual)


_short_limit = _full_disk


@contextlib.contextmanager
def _failing_call(rng: random.Random):
    name = rng.choice(("os.fsync", "pathlib.Path.replace", "pathlib.Path.open", "pathlib.Path.resolve"))
    error = OSError(rng.choice((errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)), "it failed")
    with mock.patch(name, side_effect=error):
        yield


@contextlib.contextmanager
def _interrupt(rng: random.Random):
    usual = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 1e-3))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)


# ---------------------------------------------------------------------------------------------------- whole processes


def case(rng: random.Random, folder: Path) -> None:
    """Let something happen to a process, and look at what it leaves behind."""
    rng.choice((_killed_evaluation, _killed_save, _little_memory, _jumping_clock))(rng, folder)


def _fork(work: Callable[[], None], seconds: float | None = None) -> int:
    """Do work in a child process, killed after some seconds; return how it ended (negative: by a signal)."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            sys.stdout = sys.stderr = io.StringIO()
            work()
            code = 0
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _evaluate(path: Path | None):
    graphs, y = random_graphs(24)
    kernels = {"deep": WeisfeilerLehman(max_depth=2), "shallow": WeisfeilerLehman(max_depth=1)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = None if path is None else ResultStore(path)
        return cross_validate(kernels, graphs, y, n_folds=3, n_repeats=2, C=(0.125, 8.0), store=store)


def _numbers(results) -> list:
    return [(fold.key, fold.repetition, fold.fold, fold.accuracy, fold.predictions) for fold in sorted(
        results.folds, key=lambda fold: (fold.key.kernel, fold.repetition, fold.fold))]  # fmt: skip


def _killed_evaluation(rng: random.Random, folder: Path) -> None:
    start = time.monotonic()
    expected = _numbers(_evaluate(None))
    whole = time.monotonic() - start
    path = folder / "results.jsonl"
    known = 0
    for _ in range(rng.randrange(1, 4)):
        _fork(lambda: _evaluate(path), rng.uniform(0, 1.2 * whole))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folds = ResultStore(path).load().folds
        assert len(folds) >= known, "records were lost"
        known = len(folds)
    assert _numbers(_evaluate(path)) == expected


def _killed_save(rng: random.Random, folder: Path) -> None:
    graphs, _ = random_graphs(24)
    kernel = RelaxedWeisfeilerLehman(2, random_state=0).fit(graphs)
    path = folder / "model.rwl"
    kernel.save(path)
    before = path.read_bytes()
    kernel = RelaxedWeisfeilerLehman(2, random_state=1).fit(graphs)

    def save_often() -> None:
        while True:
            kernel.save(path)

    _fork(save_often, rng.uniform(0, 0.1))
    loaded = RelaxedWeisfeilerLehman.load(path)
    assert path.read_bytes() == before or loaded.random_state == 1


def _little_memory(rng: random.Random, folder: Path) -> None:
    """Read under a limit of memory: refused or read, never a bare MemoryError."""
    files = _files(rng)
    files["graph_indicator"] = b"1\n" * rng.choice((10**5, 10**6, 3 * 10**6))
    files = {kind: content for kind, content in files.items() if kind in ("graph_indicator", "graph_labels")}
    files |= {"A": b"1,2\n" * rng.choice((1, 10**5, 10**6)), "graph_labels": b"1\n"}
    for kind, content in files.items():
        (folder / f"T_{kind}.txt").write_bytes(content)

    def read() -> None:
        status = Path("/proc/self/status").read_text().splitlines()
        size = next(1024 * int(line.split()[1]) for line in status if line.startswith("VmSize"))
        resource.setrlimit(resource.RLIMIT_AS, (size + rng.choice((10, 30, 60, 100, 200, 400)) * 2**20, -1))
        with contextlib.suppress(ValueError):
            read_tu(folder)

    code = _fork(read)
    assert code == 0, f"reading with little memory ended with {code}"


def _jumping_clock(rng: random.Random, folder: Path) -> None:
    """Clocks of the day may jump as they like: results are the same, and limits hold by another clock."""
    usual = time.time

    def jumping() -> float:
        return usual() + rng.choice((-1e9, -3600, 0, 3600, 1e9))

    with mock.patch("time.time", jumping):
        found = _numbers(_evaluate(folder / "results.jsonl"))
    assert found == _numbers(_evaluate(folder / "results.jsonl"))
    assert np.isfinite([accuracy for *_, accuracy, _ in found]).all()
