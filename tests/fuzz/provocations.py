"""Cases that must be found: whoever watches for crashes, hangs and memory must be able to see them."""

import ctypes
import random
import time
from pathlib import Path

import numpy as np

from fuzz.limits import read_or_refused


def crash(rng: random.Random, folder: Path) -> None:
    """Read where nothing is."""
    ctypes.string_at(0)


def hang(rng: random.Random, folder: Path) -> None:
    """Never return and never let Python's other threads run, as a loop in compiled code."""
    ctypes.PyDLL(None).sleep(10**6)


def slow(rng: random.Random, folder: Path) -> None:
    """Compute longer than the test of these cases allows."""
    end = time.process_time() + 1.5
    while time.process_time() < end:
        pass


def memory(rng: random.Random, folder: Path) -> None:
    """Take more memory than some bytes of input allow, and give it back."""
    read_or_refused(lambda: np.ones(2**24).sum(), 100)


def error(rng: random.Random, folder: Path) -> None:
    """Raise what no reader may raise."""
    read_or_refused(lambda: {}["nothing"], 100)


def silence(rng: random.Random, folder: Path) -> None:
    """Refuse without a word."""

    def refuse() -> None:
        raise ValueError

    read_or_refused(refuse, 100)


ALL = {f"provoked-{case.__name__}": case for case in (crash, hang, slow, memory, error, silence)}
