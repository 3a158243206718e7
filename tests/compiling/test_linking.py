"""Machine code is made where Python calls, and the rest is linked into it."""

import gc
import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary

from places import SOURCE
from relaxwl._compiling import njit
from relaxwl._compiling.linking import no_garbage_collected


def test_constants_are_compiled_as_what_they_are_of():
    @njit
    def inner(a, b):
        return a - b

    @njit
    def outer(a):
        return inner(a, 1) + inner(2, a) + inner(a, b=3)

    assert outer(5) == 4 - 3 + 2
    assert len(inner.linked.signatures) == 1


TABLE = np.array([5.0, 7.0])


@njit
def _looked_up(place):
    if place > 1:
        raise IndexError("there is no such place")
    return TABLE[place]


@numba.njit  # as others write it: ours never call themselves
def _factorial(number):
    return 1 if number < 2 else number * _factorial(number - 1)


@njit
def _caller(place):
    return _looked_up(place) + _factorial(place)


def test_what_compiled_code_calls_has_no_machine_code_of_its_own():
    generator = _caller.targetctx.codegen()
    assert [_caller(place) for place in range(2)] == [6.0, 8.0]
    (linked,) = _looked_up.linked.overloads.values()
    assert not linked.library._made
    assert _looked_up.signatures == []
    assert generator._library_class is JITCodeLibrary, "others compile as they are used to"
    with pytest.raises(IndexError, match="no such place"):
        _caller(2)
    assert _looked_up(1) == 7.0, "called from Python it has"
    with pytest.raises(IndexError, match="no such place"):
        _looked_up(2)


def test_an_unknown_numba_compiles_its_own_way(monkeypatch):
    monkeypatch.setattr("relaxwl._compiling.linking.AS_KNOWN", False)

    @njit
    def halved(number):
        return number / 2

    @njit
    def quartered(number):
        return halved(halved(number))

    assert quartered(8) == 2
    (made,) = (each.library for each in quartered.overloads.values())
    assert type(made) is JITCodeLibrary


KEPT = """
import sys, numpy as np
from relaxwl._compiling import njit
TABLE = np.array([5.0, 7.0])

@njit(cache=True)
def looked_up(place):
    if place > 1:
        raise IndexError("there is no such place")
    return TABLE[place]

@njit(cache=True)
def caller(place):
    return looked_up(place) + 1

if __name__ == "__main__":
    assert caller(1) == 8.0
    try:
        caller(2)
    except IndexError as error:
        print(error, sum(caller.stats.cache_hits.values()), len(looked_up.linked.overloads))
"""


def test_machine_code_from_disk_needs_nothing_that_it_calls(tmp_path):
    script = tmp_path / "kept.py"
    script.write_text(KEPT)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    printed = []
    for _ in range(2):
        command = [sys.executable, str(script)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.split())
    assert [line[-2:] for line in printed] == [["0", "1"], ["1", "0"]]
    assert all(line[:5] == ["there", "is", "no", "such", "place"] for line in printed)


def test_the_garbage_collector_goes_on_as_before():
    for active in (True, False):
        (gc.enable if active else gc.disable)()
        try:
            with no_garbage_collected():
                assert not gc.isenabled()
            assert gc.isenabled() == active
        finally:
            gc.enable()
