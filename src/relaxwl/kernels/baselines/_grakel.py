"""GraKeL in child processes: it cannot be asked to stop, but a process can be ended.

The children are plain interpreters that run one file, not ``multiprocessing`` workers: these would import the user's
main module again. The graphs travel as a collection's arrays and become GraKeL's dictionaries over there.
"""

import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import joblib

from relaxwl._execution import map_chunks
from relaxwl._progress import report
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.kernels.limits import Deadline, current_deadline

CHILD = Path(__file__).with_name("_grakel_child.py")
# Graphs between two lines of progress.
PROGRESS_GRAPHS = 50


def require_grakel() -> None:
    """Raise an ImportError that says how to get GraKeL, if it is not there."""
    if importlib.util.find_spec("grakel") is None:
        raise ImportError(
            "this kernel needs GraKeL, which runs on Python up to 3.12: install it there with "
            "pip install 'relaxwl[baselines]'"
        )


def tree_counts(
    graphs: GraphCollection, labels: Int32, height: int, n_jobs: int | None, verbose: int = 0
) -> list[tuple[list[str], Float64]]:
    """Return, for each graph, the trees of GraKeL's ODD-STh decomposition and how often each occurs.

    A graph's result depends on that graph alone, so the graphs are dealt out to ``n_jobs`` children.
    """
    require_grakel()
    n_children = max(min(joblib.effective_n_jobs(n_jobs), len(graphs)), 1)
    job = {
        "offsets": graphs.offsets,
        "indptr": graphs.indptr,
        "indices": graphs.indices,
        "labels": labels,
        "height": height,
    }
    shares = [{**job, "graphs": list(range(first, len(graphs), n_children))} for first in range(n_children)]
    found: dict[int, tuple[list[str], Float64]] = {}
    for part in map_chunks(partial(_run_child, verbose), shares, n_children):
        found.update(part)
    return [found[graph] for graph in range(len(graphs))]


def _run_child(verbose: int, job: dict[str, Any]) -> dict[int, tuple[list[str], Float64]]:
    """Run one job in a child that is ended when the time is over."""
    deadline = current_deadline()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    results: dict[int, tuple[list[str], Float64]] = {}
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            # -P: the file's folder must not become a place to import from.
            [sys.executable, "-P", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
        ) as child,
        _ended_in_time(child, deadline),
    ):
        for graph, names, counts in _messages(child, job):
            results[graph] = names, counts
            if len(results) % PROGRESS_GRAPHS == 0:
                done, total = len(results), len(job["graphs"])
                report(verbose, "GraKeL: %d of %d graphs done", done, total, share=done / total)
        child.wait()
        if len(results) < len(job["graphs"]):
            deadline.check()
            errors.seek(0)
            reason = errors.read().decode(errors="replace").strip().rsplit("\n", 1)[-1]
            raise RuntimeError(f"GraKeL ended with exit code {child.returncode} before it was done: {reason}")
    return results


class _ended_in_time:  # noqa: N801
    """Ends a child when the deadline comes, and in any case when the block is left."""

    def __init__(self, child: "subprocess.Popen[bytes]", deadline: Deadline) -> None:
        self._child = child
        remaining = deadline.remaining()
        self._timer = None if remaining is None else threading.Timer(remaining, child.kill)

    def __enter__(self) -> None:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def __exit__(self, *exception: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._child.kill()


def _messages(child: "subprocess.Popen[bytes]", job: dict[str, Any]) -> Iterator[tuple[int, list[str], Float64]]:
    """Send the job and yield what the child answers, until it ends (or is ended, in the middle of a word)."""
    assert child.stdin is not None
    assert child.stdout is not None
    answers: BinaryIO = child.stdout  # type: ignore[assignment]
    try:
        with child.stdin as questions:
            pickle.dump(job, questions)
        while True:
            yield pickle.load(answers)
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        return
