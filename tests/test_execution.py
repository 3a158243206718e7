import os
import re
import subprocess
import sys
import threading
import time

import joblib
import pytest

from places import SOURCE
from relaxwl._execution import (
    TimeLimitReached,
    cached_property,
    check_time,
    current_deadline,
    fork_safe_lock,
    map_chunks,
    map_long,
    spans,
    time_limit,
)
from relaxwl.kernels.base import watched


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 4, -1])
def test_results_come_in_the_order_of_chunks(n_jobs):
    def slow_first(chunk):
        time.sleep(0.02 if chunk == 0 else 0)
        return chunk**2

    assert map_chunks(slow_first, range(6), n_jobs) == [0, 1, 4, 9, 16, 25]
    assert map_chunks(slow_first, iter([3]), n_jobs) == [9]
    assert map_chunks(slow_first, [], n_jobs) == []


def test_several_jobs_are_several_threads():
    barrier = threading.Barrier(2, timeout=120)  # passes only if two chunks run at the same time
    assert len(set(map_chunks(lambda _: (barrier.wait(), threading.get_ident())[1], range(2), 2))) == 2
    assert set(map_chunks(lambda _: threading.get_ident(), range(3), 1)) == {threading.get_ident()}


def test_joblib_configuration_is_obeyed():
    with joblib.parallel_config(n_jobs=2):
        barrier = threading.Barrier(2, timeout=120)
        map_chunks(lambda _: barrier.wait(), range(2))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_come_out(n_jobs):
    def fail(chunk):
        raise KeyError(chunk)

    with pytest.raises(KeyError):
        map_chunks(fail, range(4), n_jobs)


def test_n_jobs_of_zero_is_refused():
    with pytest.raises(ValueError, match="n_jobs"):
        map_chunks(abs, [1, 2], 0)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_long_tasks_use_all_workers_inside_when_they_do_not_come_out_even(n_jobs):
    def inner_threads(task):
        return task, len(set(map_chunks(lambda _: (time.sleep(0.01), threading.get_ident())[1], range(6), n_jobs)))

    found = map_long(inner_threads, range(4), n_jobs)
    assert [task for task, _ in found] == [0, 1, 2, 3]
    n_even = 4 - 4 % n_jobs
    assert all(threads == 1 for _, threads in found[:n_even])
    assert n_jobs == 1 or all(threads > 1 for _, threads in found[n_even:])


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("mapped", [map_chunks, map_long])
def test_time_limits_hold_between_chunks_in_every_thread(mapped, n_jobs):
    done = []
    with time_limit(0.05), pytest.raises(TimeLimitReached):
        mapped(lambda chunk: (time.sleep(0.02), done.append(chunk)), range(100), n_jobs)
    assert len(done) < 20


def test_what_is_given_up_ends_at_its_next_chunk():
    begun, rounds = threading.Event(), []

    def endless(task):
        if task == 0:
            begun.wait(120)
            raise KeyboardInterrupt
        for count in range(1000):
            map_chunks(lambda _: time.sleep(0.01), range(1), 2)
            rounds.append(count)
            begun.set()

    with pytest.raises(KeyboardInterrupt):
        map_long(endless, range(2), 2)
    done = -1
    while done < len(rounds):  # until no more are added
        done = len(rounds)
        time.sleep(0.1)
    assert done < 900
    assert map_chunks(abs, [-1, -2], 2) == [1, 2]


@pytest.mark.parametrize(("total", "size"), [(0, 3), (1, 3), (9, 3), (10, 3), (2, 100)])
def test_spans_cover_everything_once(total, size):
    covered = [value for start, stop in spans(total, size) for value in range(start, stop)]
    assert covered == list(range(total))
    assert all(0 < stop - start <= size for start, stop in spans(total, size))


def test_a_cached_property_is_computed_once():
    class Counted:
        n_calls = 0

        @cached_property
        def value(self):
            """Say how often it was computed."""
            self.n_calls += 1
            return self.n_calls

    first, second = Counted(), Counted()
    assert [first.value, first.value, second.value, first.n_calls] == [1] * 4
    assert Counted.value.__doc__ == "Say how often it was computed."


def test_a_cached_property_holds_no_lock_while_it_is_computed():
    """Of a lock that is held in a thread a forked child would wait for the end, which never comes there."""

    class Slow:
        @cached_property
        def value(self):
            entered.set()
            assert go_on.wait(60)
            return 1

    entered, go_on = threading.Event(), threading.Event()
    first, second = (threading.Thread(target=lambda: Slow().value, daemon=True) for _ in range(2))
    first.start()
    assert entered.wait(60)
    entered.clear()
    second.start()
    assert entered.wait(60), "the second waits for the first"
    go_on.set()


def test_all_cached_properties_are_those_without_a_lock():
    text = {path: path.read_text() for path in SOURCE.rglob("*.py") if path.name != "_execution.py"}
    assert [str(path) for path, code in text.items() if re.search(r"functools import .*cached_property", code)] == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_no_child_finds_a_lock_taken():
    lock, ended = fork_safe_lock(), threading.Event()

    def hold():
        while not ended.is_set():
            with lock:
                time.sleep(0.002)

    thread = threading.Thread(target=hold)
    thread.start()
    found = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            os._exit(0 if lock.acquire(timeout=2) else 1)
        found.append(os.waitpid(child, 0)[1])
    ended.set()
    thread.join()
    assert found == [0] * 10


def test_all_locks_of_modules_are_free_in_children():
    text = "\n".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    assert re.findall(r"^_lock = (.*)", text, re.MULTILINE) == ["fork_safe_lock()"]


FORKED = """
import faulthandler, os, threading, time
from relaxwl import RelaxedWeisfeilerLehman
from relaxwl.datasets import make_egonets
from relaxwl._compiling import njit

def fit(graphs):
    return RelaxedWeisfeilerLehman(2, 2, n_clusters=4, random_state=0, n_jobs=2).fit_transform(graphs)

def ends_well(work, seconds=60):
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(seconds - 5)
        os._exit(0 if work() else 3)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.002)
    os.kill(child, 9)
    return False

graphs, _ = make_egonets(60, random_state=0)
few = graphs[:12]
expected = fit(few)

def fit_for_ever():
    while True:
        fit(graphs)

def compile_for_ever():
    while True:
        njit(lambda number: number + 1)(1)

for work in (fit_for_ever, fit_for_ever, fit_for_ever, compile_for_ever):
    threading.Thread(target=work, daemon=True).start()
for number in range(60):
    time.sleep(0.003 * (number % 7))
    assert ends_well(lambda: (fit(few) != expected).nnz == 0), number
    assert ends_well(lambda: njit(lambda number: number + 2)(1) == 3), number
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_children_forked_while_threads_fit_and_compile_end():
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-5000:]


SPAWNED = """
import multiprocessing
import joblib
import numpy as np
from concurrent.futures import ProcessPoolExecutor
from relaxwl import GraphClassifier, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.datasets import make_egonets

def fitted(n_jobs):
    graphs, _ = make_egonets(12, random_state=0)
    return RelaxedWeisfeilerLehman(1, 1, n_clusters=3, random_state=0, n_jobs=n_jobs).fit_transform(graphs).toarray()

def answer(task):
    model, graphs = task
    return model.predict_proba(graphs) if hasattr(model, "predict_proba") else model.transform(graphs).toarray()

if __name__ == "__main__":
    graphs, y = make_egonets(24, n_nodes=20, random_state=0)
    kernels = WeisfeilerLehman(2), RelaxedWeisfeilerLehman(1, 1, n_clusters=3, random_state=0)
    models = [kernel.fit(graphs) for kernel in kernels]
    models.append(GraphClassifier(effort="quick", random_state=0).fit(graphs, y))
    tasks = [(model, graphs[:6]) for model in models]
    expected = [*map(answer, tasks), fitted(1), fitted(1)]
    found = [joblib.Parallel(2, backend="loky")(joblib.delayed(answer)(task) for task in tasks) + expected[-2:]]
    for method in ("spawn", "forkserver"):
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
            found.append([*pool.map(answer, tasks), *pool.map(fitted, [1, 2])])
    for results in found:
        assert all(np.array_equal(one, other) for one, other in zip(expected, results, strict=True))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a server that forks")
def test_processes_that_are_spawned_give_the_same_results(tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(SPAWNED)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-5000:]


# -------- time limits of blocks


def test_no_limit_by_default():
    check_time()
    assert current_deadline().remaining() is None


def test_the_earlier_of_nested_limits_holds():
    with time_limit(100):
        with time_limit(1000) as inner:
            assert inner.seconds == 100
        with time_limit(1) as inner:
            assert inner.seconds == 1
        with time_limit(None) as inner:
            assert inner.seconds == 100
        assert current_deadline().seconds == 100
    assert current_deadline().seconds is None


def test_time_over():
    with time_limit(1e-6):
        time.sleep(1e-3)
        assert current_deadline().remaining() == 0
        with pytest.raises(TimeLimitReached, match="1e-06 seconds"):
            check_time()
        with pytest.raises(TimeLimitReached):
            list(watched([1], "work"))
    check_time()
    assert issubclass(TimeLimitReached, TimeoutError)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_bad_limits_are_named(seconds):
    with pytest.raises(ValueError, match="time_limit must be"), time_limit(seconds):
        pass
