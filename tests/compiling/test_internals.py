"""Linking, and machine code on disk: for the types and the sources that it was made of, and never half."""

import gc
import os
import subprocess
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary

from places import SOURCE
from relaxwl._compiling import internals, njit
from relaxwl._compiling.internals import KeyedCacheFile, LinkingDispatcher, missing_names, source_digest
from relaxwl.unfolding._compiled import distinct_rows


def test_the_package_is_compiled_and_kept_so():
    assert isinstance(distinct_rows, LinkingDispatcher)
    kept = distinct_rows._cache._cache_file
    assert isinstance(kept, KeyedCacheFile)
    assert kept._source_stamp == source_digest(str(SOURCE / "unfolding" / "_compiled.py"))


def test_names_that_are_gone_are_named(monkeypatch):
    assert missing_names() == []
    monkeypatch.setitem(internals.NEEDED, JITCodeLibrary, ("finalize", "_final_module _renamed"))
    monkeypatch.delattr(KeyedCacheFile.__base__, "_save_data")
    assert missing_names() == ["IndexDataCacheFile._save_data", "JITCodeLibrary._renamed"]


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


@pytest.mark.parametrize("active", [True, False])
def test_the_garbage_collector_goes_on_as_before(active):
    (gc.enable if active else gc.disable)()
    try:
        with internals._deferred_code_generation(_caller):
            assert not gc.isenabled()
        assert gc.isenabled() == active
    finally:
        gc.enable()


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
