"""Machine code on disk: for the types and the sources that it was made of, and never half."""

import errno
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from places import SOURCE
from relaxwl._compiling import keeping, njit
from relaxwl._compiling.keeping import MARK, KeyedCacheFile, source_digest, tell_not_kept
from relaxwl.unfolding._compiled import distinct_rows


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


ONE_OF_TWO = """
import time
from numba.core import event
from relaxwl._compiling import njit

compiled = []

class Slow(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"])
        time.sleep(2)  # whoever comes second comes in this time

    def on_end(self, event):
        pass

event.register("numba:compile", Slow())

@njit(cache=True)
def twice(value):
    return 2 * value

result = twice(3)
print(len(compiled), result)
"""


@pytest.mark.slow
def test_of_two_processes_that_lack_the_same_code_one_makes_it(tmp_path):
    (tmp_path / "compiled.py").write_text(ONE_OF_TWO)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": os.pathsep.join(sys.path)}
    both = [
        subprocess.Popen([sys.executable, tmp_path / "compiled.py"], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert sorted(each.communicate(timeout=120)[0].split() for each in both) == [["0", "6"], ["1", "6"]]
    assert not list((tmp_path / "kept").rglob("*.turn"))


def test_nobody_waits_for_ever_for_machine_code(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "MOST_SECONDS", 0.05)
    mine = keeping._my_turn(tmp_path / "turn", bool)
    if mine is None:
        pytest.skip("no locks on this platform")
    with mine:
        assert keeping._my_turn(tmp_path / "turn", bool) is None
    assert keeping._my_turn(tmp_path / "no folder" / "turn", bool) is None


@pytest.mark.parametrize("is_kept", [True, False])
def test_who_waited_for_nothing_lets_the_others_go_on(tmp_path, is_kept):
    first = keeping._my_turn(tmp_path / "turn", bool)
    if first is None:
        pytest.skip("no locks on this platform")
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(keeping._my_turn, tmp_path / "turn", lambda: is_kept)
        time.sleep(0.1)
        first.close()
        taken = second.result(timeout=60)
    assert (taken is not None) == is_kept
    if taken is not None:
        taken.close()


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
