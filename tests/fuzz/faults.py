"""Faults at random moments: a disk that fills, interrupts, kills, memory that ends, clocks that jump."""

import contextlib
import errno
import io
import json
import math
import os
import random
import signal
import sys
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

from evaluation.small_data import random_graphs
from fuzz.data_sets import _files
from relaxwl import GraphClassifier, RelaxedWeisfeilerLehman, WeisfeilerLehman, cli
from relaxwl._storage import atomic_write
from relaxwl.datasets import read_tu
from relaxwl.distributed import ShardedCollection
from relaxwl.evaluation import ResultStore, cross_validate

try:
    import resource
except ImportError:  # Windows, where such faults are not made
    resource = None

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
    fault = rng.choice((_full_disk, _failing_call, _interrupt, _short_writes))
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


@contextlib.contextmanager
def _short_writes(rng: random.Random):
    """Let the system write less than it is asked to, as it may: nobody must take that for all."""
    usual = io.FileIO.write

    class Short(io.FileIO):
        def write(self, content) -> int:
            return usual(self, bytes(content)[: rng.randrange(1, 50)])

    def opened(path: Path, mode: str):
        return io.BufferedWriter(Short(path, mode.replace("b", "")), 100)

    with mock.patch("pathlib.Path.open", opened):
        yield


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
    faults = (_killed_evaluation, _killed_save, _killed_fit, _killed_shards, _full_disk_shards, _failing_shards)
    rng.choice((*faults, _full_disk_evaluation, _read_only, _little_memory, _jumping_clock))(rng, folder)


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


def _killed_fit(rng: random.Random, folder: Path) -> None:
    """Kill ``relaxwl fit`` at any moment: the model is the old one or the new one, and both predict."""
    data, path = _tu_folder(folder), folder / "model.rwl"

    def fit(seed: int) -> None:
        _command("fit", data, "-o", path, "--effort", "quick", "--seed", seed)

    assert _fork(lambda: fit(1)) == 0
    after = path.read_bytes()
    start = time.monotonic()
    assert _fork(lambda: fit(0)) == 0
    seconds = time.monotonic() - start
    before = path.read_bytes()
    models = {model[".state.random_state"]: model for model in map(_model_content, (before, after))}
    for _ in range(3):
        _fork(lambda: fit(1), rng.uniform(0, 1.2 * seconds))
        found = _model_content(path.read_bytes())
        expected = models[found[".state.random_state"]]
        differing = sorted(name for name in found | expected if found.get(name) != expected.get(name))
        told = [f"{name}: {found.get(name)} instead of {expected.get(name)}" for name in differing[:5]]
        assert not differing, f"the same seed gave another model in {len(differing)} fields: {'; '.join(told)}"
        assert len(GraphClassifier.load(path).classes_) == 2


def _model_content(content: bytes) -> dict[str, str]:
    """Return all fields of a model file by their paths, arrays with their numbers; but not how long the fit took."""
    _, _, stream = content.split(b"\n", 2)
    unpacked = zlib.decompress(stream)
    place = 8 + int.from_bytes(unpacked[:8], "little")
    header, arrays, fields = json.loads(unpacked[8:place]), [], {}
    for kind, shape in header.pop("arrays"):
        arrays.append(np.frombuffer(unpacked, kind, math.prod(shape), place).reshape(shape))
        place += arrays[-1].nbytes

    def walk(item: object, path: str) -> None:
        if isinstance(item, dict) and item.keys() == {"array"}:
            array = arrays[item["array"]]
            fields[path] = f"array {item['array']} of {array.dtype.str} {array.tolist()}"
        elif isinstance(item, (dict, list)):
            for name, value in item.items() if isinstance(item, dict) else enumerate(item):
                walk(value, f"{path}.{name}")
        else:
            fields[path] = repr(item)

    walk(header, "")
    assert place == len(unpacked)
    del fields[".state.report_.state.seconds"]
    return fields


def _killed_shards(rng: random.Random, folder: Path) -> None:
    """Kill ``relaxwl shard`` at any moment: what is there is whole, and the next run goes on to the same folder."""
    data, arguments = _tu_folder(folder), ("--graphs-per-shard", "1")
    start = time.monotonic()
    assert _fork(lambda: _command("shard", data, "-o", folder / "whole", *arguments)) == 0
    seconds = time.monotonic() - start
    for _ in range(rng.randrange(1, 4)):
        _fork(lambda: _command("shard", data, "-o", folder / "killed", *arguments), rng.uniform(0, seconds))
        if (folder / "killed" / "manifest.json").exists():
            break
    else:
        assert _fork(lambda: _command("shard", data, "-o", folder / "killed", *arguments)) == 0
    _same_shards(folder / "killed", folder / "whole")


def _full_disk_shards(rng: random.Random, folder: Path) -> None:
    """Let every file be cut at some size: the command says so, and goes on when there is room."""
    data, limit = _tu_folder(folder), rng.choice((1, 100, 300, 600, 1000, 2000))

    def shard() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        _command("shard", data, "-o", folder / "full", "--graphs-per-shard", "2", code=(0, 2))

    assert _fork(shard) == 0
    if not (folder / "full" / "manifest.json").exists():
        assert _fork(lambda: _command("shard", data, "-o", folder / "full", "--graphs-per-shard", "2")) == 0
    assert _fork(lambda: _command("shard", data, "-o", folder / "whole", "--graphs-per-shard", "2")) == 0
    _same_shards(folder / "full", folder / "whole")


def _failing_shards(rng: random.Random, folder: Path) -> None:
    """Let a call of the system fail while shards are written, again and again, until they are whole."""
    data = _tu_folder(folder)
    assert _fork(lambda: _command("shard", data, "-o", folder / "whole", "--graphs-per-shard", "1")) == 0

    def shard() -> None:
        usual, calls, failing = os.fsync, iter(range(10**6)), rng.randrange(8)

        def fsync(descriptor: int) -> None:
            if next(calls) == failing:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            usual(descriptor)

        with mock.patch("os.fsync", fsync):
            _command("shard", data, "-o", folder / "failed", "--graphs-per-shard", "1", code=(0, 2))

    for _ in range(20):
        assert _fork(shard) == 0
        if (folder / "failed" / "manifest.json").exists():
            break
        rng.random()  # the next one fails elsewhere
    _same_shards(folder / "failed", folder / "whole")


def _same_shards(found: Path, expected: Path) -> None:
    found_shards, expected_shards = ShardedCollection.open(found), ShardedCollection.open(expected)
    assert found_shards.to_collection() == expected_shards.to_collection()
    assert [part.n_graphs for part in found_shards.manifest.parts] == [
        part.n_graphs for part in expected_shards.manifest.parts
    ]


def _full_disk_evaluation(rng: random.Random, folder: Path) -> None:
    """Let the disk fill in the middle of an evaluation: what was written is kept, and the rest is computed later."""
    expected, path = _numbers(_evaluate(None)), folder / "results.jsonl"

    def evaluate() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (rng.choice((10, 1000, 3000, 10**5)), -1))
        with contextlib.suppress(OSError):
            _evaluate(path)

    assert _fork(evaluate) == 0
    assert _numbers(_evaluate(path)) == expected


def _read_only(rng: random.Random, folder: Path) -> None:
    """Refuse to write where nothing can be written, before the work; a file for a folder stops even root."""
    data = _tu_folder(folder)
    (folder / "file").write_bytes(OLD)
    target = folder / "file" / "x"
    for arguments in (
        ("fit", data, "-o", target),
        ("shard", data, "-o", target),
        ("features", data, "-o", target, "--kernel", "wl"),
        ("benchmark", data, "--out", target),
    ):
        with mock.patch("relaxwl.datasets.read_tu", side_effect=AssertionError("the work has begun")):
            _command(*arguments, code=(2,))
    assert (folder / "file").read_bytes() == OLD


def _tu_folder(folder: Path) -> Path:
    """Write a small data set of two classes."""
    data = folder / "T"
    data.mkdir()
    sizes = [3, 4, 3, 5, 4, 3, 4, 5]
    starts = [sum(sizes[:graph]) + 1 for graph in range(len(sizes))]
    edges = [(start + v, start + v + 1) for start, size in zip(starts, sizes, strict=True) for v in range(size - 1)]
    edges += [(start, start + size - 1) for start, size in list(zip(starts, sizes, strict=True))[::2]]
    content = {
        "A": [f"{u}, {v}" for u, v in edges],
        "graph_indicator": [str(graph + 1) for graph, size in enumerate(sizes) for _ in range(size)],
        "graph_labels": ["1", "-1"] * 4,
    }
    for kind, lines in content.items():
        (data / f"T_{kind}.txt").write_text("\n".join(lines) + "\n")
    return data


def _command(*arguments: object, code: tuple[int, ...] = (0,)) -> None:
    """Run the command line in this process."""
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        try:
            found = cli.main([*map(str, arguments), "--quiet", "--jobs", "1"])
        except SystemExit as ended:
            found = ended.code
    assert found in code, f"{arguments} ended with {found}: {errors.getvalue()[-1000:]}"
    assert "Traceback" not in errors.getvalue()


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
