"""Interrupts arrive as themselves, also in the middle of compiled code."""

import re
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from relaxwl import WeisfeilerLehman
from relaxwl._compiling import njit
from relaxwl.datasets import make_egonets

SOURCE = Path(__file__).resolve().parents[1] / "src" / "relaxwl"


@njit(nogil=True)
def _spin(n_steps):
    """Take some time, and return what Numba turns into Python objects by calling Python."""
    values = np.zeros(2)
    for step in range(n_steps):
        values[0] += np.sin(step)
    return values, np.ones(2)


@pytest.fixture
def alarm(monkeypatch):
    """Return a function that interrupts the main thread after some seconds, by another signal than the user's."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("needs timers as POSIX knows them")
    usual = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, usual)


def test_an_interrupt_of_compiled_code_is_an_interrupt(alarm):
    _spin(1)
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the timer belongs to what is interrupted
            alarm(0.01)
            _spin(20_000_000)


def test_other_errors_are_what_they_were():
    with pytest.raises(TypeError):
        _spin()


def test_a_fit_is_interrupted_at_any_moment(alarm):
    graphs, _ = make_egonets(100, random_state=0)
    kernel = WeisfeilerLehman(5)
    expected = kernel.fit_transform(graphs)
    random = np.random.default_rng(0)
    n_interrupted = 0
    for _ in range(30):
        try:
            alarm(float(random.uniform(1e-4, 0.04)))
            kernel.fit_transform(graphs)
        except KeyboardInterrupt:
            n_interrupted += 1
        finally:
            alarm(0)
    assert n_interrupted > 0
    assert (kernel.fit_transform(graphs) != expected).nnz == 0


def test_compiled_functions_call_each_other_and_run_in_threads():
    @njit
    def outer(n_steps):
        first, second = _spin(n_steps)
        return first[0] + second[0]

    results = []
    threads = [threading.Thread(target=lambda: results.append(outer(10))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1 + float(_spin(10)[0][0])] * 3


def test_all_compiled_code_of_the_package_is_interruptible():
    careless = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.name != "_compiling.py"
        and re.search(r"^\s*(from numba import .*\bnjit\b|import numba)", path.read_text(), re.M)
    ]
    assert careless == [], "import njit from relaxwl._compiling instead"
