"""Kills timed inside of writing: in the middle of the bytes, before they are forced to disk, before the rename.

Random moments nearly never meet these windows, so the calls of the system are replaced in a child process by ones that
end it. A window is met, or the case is a finding.
"""

import io
import os
import random
import shutil
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

from evaluation.records import described, repetitions, table_of_four
from fuzz.faults import _command, _fork, _same_shards, _tu_folder
from relaxwl import GraphClassifier, GraphRegressor, RelaxedWeisfeilerLehman
from relaxwl.commands.benchmark import RESULTS_FILE, TABLES
from relaxwl.datasets import write_parquet, write_tu
from relaxwl.datasets.fetch import download_tu
from relaxwl.distributed import ShardedCollection, ShardWriter, transform_to_files
from relaxwl.evaluation import ResultStore
from relaxwl.graphs import GraphCollection
from relaxwl.reports import write_report
from relaxwl.reports.plots import observed_figure, save_figure
from small_graphs import collection, random_graphs

WINDOWS = ("in the middle", "before fsync", "before the rename")
Writer = Callable[[Path, int], object]


def die(*_arguments: object, **_options: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def within(window: str, work: Callable[[], None], after: int = 0) -> None:
    """Do work in which the process is killed at the call number ``after`` of a window, counted from 0."""
    calls = iter(range(10**9))
    usual = {"before fsync": os.fsync, "before the rename": Path.replace}.get(window)

    class Dying(io.FileIO):
        def write(self, content) -> int:
            if next(calls) == after:
                super().write(bytes(content)[: len(content) // 2])
                die()
            return super().write(content)

    def opened(path: Path, mode: str = "r", *_arguments: object):
        kind = mode.replace("b", "")
        return io.BufferedRandom(Dying(path, "a+")) if kind == "a+" else io.BufferedWriter(Dying(path, kind))

    def called(*arguments):
        if next(calls) == after:
            die()
        return usual(*arguments)

    if window == "in the middle":
        plain = Path.open
        with mock.patch("pathlib.Path.open", lambda path, mode="r", *rest, **options: (
            opened(path, mode) if set(mode) & set("xa") else plain(path, mode, *rest, **options))):  # fmt: skip
            work()
    else:
        with mock.patch("os.fsync" if window == "before fsync" else "pathlib.Path.replace", called):
            work()


def writers(folder: Path) -> dict[str, Writer]:
    """Return, by name, what writes one file in an older and in a newer form; models are fitted once.

    What never replaces a file has no older form, and does nothing at first.
    """
    graphs, y = collection(random_graphs(12, seed=1)), np.arange(12) % 2
    plain = GraphCollection.from_edges([(3, [(0, 1), (1, 2)])] * 12)
    data = _tu_folder(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernels = [RelaxedWeisfeilerLehman(1, 2, random_state=seed).fit(graphs) for seed in (0, 1)]
        quick = {"effort": "quick"}
        classifiers = [GraphClassifier(**quick, random_state=seed).fit(graphs, y) for seed in (0, 1)]
        regressors = [GraphRegressor(**quick, random_state=seed).fit(graphs, y * 1.0) for seed in (0, 1)]
        for number in (0, 1):
            model = folder / f"model-{number}.rwl"
            _command("fit", data, "-o", model, "--effort", "quick", "--seed", number)

    def predict(path: Path, number: int) -> None:
        _command("predict", folder / f"model-{number}.rwl", data, "-o", path)

    def page(path: Path, number: int) -> None:
        table, model = folder / f"table-{os.getpid()}.csv", folder / f"model-{number}.rwl"
        with mock.patch(
            "relaxwl.commands.predict.atomic_write", side_effect=lambda _: io.BytesIO()
        ):  # the window is the page's
            _command("predict", model, data, "-o", table, "--page", path)

    def tables(path: Path, number: int) -> None:
        if path.parent != folder:  # evaluated once: the windows are those of the tables
            shutil.copy(folder / RESULTS_FILE, path.parent)
        compared = ("--kernels", *("ve-hist", "wl")[: number + 1], "--folds", "2", "--inner-folds", "2")
        _command("benchmark", data, *compared, "--repeats", "1", "--out", path.parent)

    tables(folder / "results.md", 1)

    def figure(path: Path, number: int) -> None:
        save_figure(observed_figure([1.0, 2.0, 3.0], [1.0, 2.0, 3.0 + number]), path)

    def download(path: Path, number: int) -> None:
        with mock.patch("relaxwl.datasets.fetch._receive", lambda _name, _url, file, _deadline: file.write(archive)):
            assert not number or download_tu(path.stem, path.parent) == path

    with ShardWriter(folder / "shards") as writer:
        writer.add(graphs)
    shards = ShardedCollection.open(folder / "shards")
    write_tu(folder / "D.zip", plain, y)
    archive = (folder / "D.zip").read_bytes()
    return {
        "kernel": lambda path, number: kernels[number].save(path),
        "classifier": lambda path, number: classifiers[number].save(path),
        "regressor": lambda path, number: regressors[number].save(path),
        "predictions": predict,
        "page of effects": page,
        "report": lambda path, number: write_report(table_of_four(), path, title=f"number {number}"),
        "features": lambda path, number: _command("features", data, "-o", path, "--kernel", ("wl", "ve-hist")[number]),
        "Parquet": lambda path, number: write_parquet(path, graphs, y + number),
        "TU": lambda path, number: write_tu(path, plain, y + 5 * number),
        "tables": tables,
        "figure": figure,
        "drawing": lambda path, number: _command("distance", data, "--nodes", "0:0", f"1:{number}", "--svg", path),
        "download": download,
        "features of shards": lambda path, number: number and transform_to_files(kernels[0], shards, path.parent),
    }


# The file by which each writer is met, and the module that writes it.
FILES = {
    "kernel": ("model.rwl", "kernels/persistence.py"),
    "classifier": ("model.rwl", "kernels/persistence.py"),
    "regressor": ("model.rwl", "kernels/persistence.py"),
    "predictions": ("predictions.csv", "commands/predict.py"),
    "page of effects": ("page.html", "reports/pages.py"),
    "report": ("page.html", "reports/pages.py"),
    "features": ("features.npz", "commands/matrices.py"),
    "Parquet": ("graphs.parquet", "datasets/parquet.py"),
    "TU": ("graphs.zip", "datasets/tu.py"),
    "tables": (f"results.{TABLES[0][1]}", "commands/benchmark.py"),
    "figure": ("figure.svg", "reports/plots.py"),
    "drawing": ("drawing.svg", "commands/distance.py"),
    "download": ("D.zip", "datasets/fetch.py"),
    "features of shards": ("features-000000.npz", "distributed/applying.py"),
}


def check_window(write: Writer, path: Path, window: str) -> None:
    """Kill a process that replaces a file: the old one stays, byte for byte, and the next process replaces it."""
    write(path, 0)
    before, others = _content(path), set(path.parent.iterdir())
    code = _fork(lambda: within(window, lambda: write(path, 1)))
    assert code == -signal.SIGKILL, f"the window was not met: it ended with {code}"
    assert _content(path) == before, "something half-written is seen"
    left = set(path.parent.iterdir()) - others
    assert all(one.name.startswith(".") for one in left), f"left beside the file: {left}"
    write(path, 1)
    assert _content(path) not in (before, None)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def check_records(folder: Path, window: str) -> None:
    """Kill a process that appends records: those of before stay, a torn line is named, and others are appended."""
    store, known = ResultStore(folder / "results.jsonl"), repetitions((1, 0.5), (0.5, 1))
    store.append(known)
    code = _fork(lambda: within(window, lambda: store.append([described()])))
    assert code == -signal.SIGKILL, f"the window was not met: it ended with {code}"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        loaded = list(store.load())
    assert loaded[: len(known)] == known, "records were lost"
    assert len(loaded) == len(known) or window == "before fsync", "a torn line became a record"
    assert told or window == "before fsync", "a torn line must be named"
    store.append([described()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(store.load()) == [*known, described()]


def check_shards(folder: Path, window: str, after: int) -> bool:
    """Kill a process that writes shards at one of its calls; return False if there are fewer calls."""
    data, arguments = _tu_folder(folder), ("--graphs-per-shard", "3")
    _command("shard", data, "-o", folder / "whole", *arguments)
    target = folder / "killed"
    code = _fork(lambda: within(window, lambda: _command("shard", data, "-o", target, *arguments), after))
    assert code in (0, -signal.SIGKILL)
    if code:
        if (target / "manifest.json").exists():  # the last window lies behind it
            ShardedCollection.open(target)
        else:
            _command("shard", data, "-o", target, *arguments)
    _same_shards(target, folder / "whole")
    return code != 0


def case(rng: random.Random, folder: Path) -> None:
    """Kill a process within some window of some writer."""
    window = rng.choice(WINDOWS)
    match rng.randrange(3):
        case 0:
            name, write = rng.choice(list(writers(folder).items()))
            (folder / "out").mkdir()
            check_window(write, folder / "out" / FILES[name][0], window)
        case 1:
            check_records(folder, rng.choice(WINDOWS[:2]))
        case _:
            check_shards(folder, window, rng.randrange(8))
