"""Interrupts arrive as themselves, also in the middle of compiled code."""

import errno
import gc
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary

from relaxwl._compiling import njit
from relaxwl._compiling.keeping import MARK, KeyedCacheFile, source_digest, tell_not_kept
from relaxwl._compiling.linking import no_garbage_collected
from relaxwl.unfolding._compiled import distinct_rows

SOURCE = Path(__file__).resolve().parents[1] / "src" / "relaxwl"


@njit(nogil=True)
def _spin(n_steps):
    """Take some time, and return what Numba turns into Python objects by calling Python."""
    values = np.zeros(2)
    for step in range(n_steps):
        values[0] += np.sin(step)
    return values, np.ones(2)


# In a process of its own: an interrupt at any moment may also hit what measures coverage, and leave its lock held.
INTERRUPTED = """
import signal
import numpy as np
from relaxwl import WeisfeilerLehman
from relaxwl.datasets import make_egonets
from test_compiling import _spin

signal.signal(signal.SIGALRM, signal.default_int_handler)

def interrupted(seconds, work):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False

_spin(1)
assert all(interrupted(0.01, lambda: _spin(20_000_000)) for _ in range(5))

graphs, _ = make_egonets(100, random_state=0)
kernel = WeisfeilerLehman(5)
expected = kernel.fit_transform(graphs)
random = np.random.default_rng(0)
assert any([interrupted(random.uniform(1e-4, 0.04), lambda: kernel.fit_transform(graphs)) for _ in range(30)])
assert (kernel.fit_transform(graphs) != expected).nnz == 0
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers as POSIX knows them")
def test_interrupts_at_any_moment_of_compiled_code_are_interrupts():
    folders = [str(SOURCE.parent), str(Path(__file__).parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_other_errors_are_what_they_were():
    with pytest.raises(TypeError):
        _spin()


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


def test_machine_code_is_never_taken_for_other_types(tmp_path, monkeypatch):
    """Two processes, each of which sees an empty cache, keep the code of a function for other types."""
    first, second = (KeyedCacheFile(str(tmp_path), "function", "stamp") for _ in range(2))
    monkeypatch.setattr(first, "_load_index", dict)
    first.save(("float64",), "code for float64")
    second.save(("float32",), "code for float32")
    first.save(("int64",), "code for int64")
    monkeypatch.undo()
    assert first.load(("float64",)) is None
    assert second.load(("float32",)) is None
    assert second.load(("int64",)) == "code for int64"
    second.save(("float32",), "code for float32")
    assert [first.load((kind,)) for kind in ("int64", "float32")] == ["code for int64", "code for float32"]
    assert len(list(tmp_path.glob("*.nbc"))) == 3


def test_damaged_machine_code_is_as_good_as_none(tmp_path):
    file = KeyedCacheFile(str(tmp_path), "function", "stamp")
    file.save("key", ("machine code", 1))
    (data,), (index,) = tmp_path.glob("*.nbc"), tmp_path.glob("*.nbi")
    assert file.load("key") == ("machine code", 1)
    content = data.read_bytes()
    data.write_bytes(content[: content.index(MARK)])  # as older versions wrote it
    assert file.load("key") == ("machine code", 1)
    for damaged in (content[:-1], content[1:], b"", content.replace(b"code", b"c0de"), content[:20]):
        data.write_bytes(damaged)
        assert file.load("key") is None
    data.write_bytes(content)
    for damaged in (b"", index.read_bytes()[:-3], b"\xff" * 100):
        index.write_bytes(damaged)
        assert file.load("key") is None
    file.save("key", 2)
    assert file.load("key") == 2


def test_without_room_for_machine_code_it_is_compiled_all_the_same(monkeypatch, caplog, tmp_path):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(KeyedCacheFile, "_save_data", fail)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    @njit(cache=True)
    def twice(value):
        return 2 * value

    assert twice(3) == 6
    assert "cannot be kept" in caplog.text
    assert "No space left on device" in caplog.text
    caplog.clear()
    tell_not_kept.cache_clear()
    no_place = RuntimeError("cannot cache function 'thrice': no locator available for file 'x.py'")
    monkeypatch.setattr("numba.core.dispatcher.FunctionCache", lambda _: (_ for _ in ()).throw(no_place))

    @njit(cache=True)
    def thrice(value):
        return 3 * value

    assert thrice(3) == 9
    assert "no folder for it can be written" in caplog.text


def test_the_package_keeps_its_machine_code_so():
    kept = distinct_rows._cache._cache_file
    assert isinstance(kept, KeyedCacheFile)
    assert kept._source_stamp == source_digest(str(SOURCE / "unfolding" / "_compiled.py"))


def test_machine_code_is_kept_for_a_state_of_all_that_it_is_made_of(tmp_path, monkeypatch):
    below, above = tmp_path / "below_compiled.py", tmp_path / "above_compiled.py"
    below.write_text("x = 1")
    above.write_text("from relaxwl.below_compiled import x\nfrom relaxwl.graphs import other\n")
    monkeypatch.setitem(sys.modules, "relaxwl.below_compiled", SimpleNamespace(__file__=str(below)))
    states = [source_digest.__wrapped__(str(above))]
    below.write_text("x = 2")
    source_digest.cache_clear()
    states.append(source_digest.__wrapped__(str(above)))
    above.write_text(above.read_text() + "y = 3")
    states.append(source_digest.__wrapped__(str(above)))
    assert len(set(states)) == 3


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


def test_all_compiled_code_of_the_package_is_interruptible():
    careless = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "_compiling"
        and re.search(r"^\s*(from numba import .*\bnjit\b|import numba)", path.read_text(), re.M)
    ]
    assert careless == [], "import njit from relaxwl._compiling instead"
