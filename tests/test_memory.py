"""What is said about memory."""

import subprocess
import sys

import pytest

from platforms import posix
from relaxwl import _memory
from relaxwl._memory import MemoryRefusal, check_memory, forget_peak_memory, peak_memory, physical_memory


def test_what_cannot_fit_is_refused_with_figures():
    check_memory(0.1 * physical_memory(), "a small thing", "be glad")
    with pytest.raises(
        MemoryRefusal, match=r"a large thing would need about .* GiB and the limit is .* GiB; take less"
    ):
        check_memory(physical_memory(), "a large thing", "take less")


def test_small_requests_do_not_ask(monkeypatch):
    monkeypatch.setattr(_memory, "available_memory", lambda: pytest.fail("asked"))
    check_memory(1e-5 * physical_memory(), "a crumb", "be glad")


def container(folder, limit, usage, stat=""):
    folder.mkdir(exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(stat)


def test_what_containers_leave_counts(monkeypatch, tmp_path):
    membership = tmp_path / "membership"
    monkeypatch.setattr(_memory, "CONTAINERS", tmp_path)
    monkeypatch.setattr(_memory, "MEMBERSHIP", membership)
    container(tmp_path, "max", 0)
    membership.write_text("0::/outer/inner\n")
    free = _memory.available_memory()
    assert 2**30 < free <= physical_memory()
    container(tmp_path / "outer", 2**30, 2**29, "anon 5\ninactive_file 1048576\n")
    assert _memory.available_memory() == 2**29 + 2**20
    with pytest.raises(MemoryRefusal, match=r"would need about 0\.5 GiB and the limit is 0\.376 GiB; take less"):
        check_memory(2.0**29, "a thing", "take less")
    container(tmp_path / "outer" / "inner", 2**26, 2**27)
    assert _memory.available_memory() == 0
    membership.unlink()
    assert _memory.available_memory() > 2**30


@posix
def test_what_ulimit_leaves_counts(monkeypatch, tmp_path):
    resource = pytest.importorskip("resource")
    status = tmp_path / "status"
    status.write_text("VmSize:\t 1024 kB\nVmData:\t 512 kB\n")
    monkeypatch.setattr(_memory, "STATUS", status)
    limits = {resource.RLIMIT_AS: 2**29, resource.RLIMIT_DATA: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits[kind], 2**40))
    assert _memory.available_memory() == 2**29 - 2**20
    limits[resource.RLIMIT_DATA] = 2**28
    assert _memory.available_memory() == 2**28 - 2**19


def test_where_the_system_says_nothing_the_machine_counts(monkeypatch, tmp_path):
    for name in ("MEMORY_INFO", "MEMBERSHIP", "STATUS", "CONTAINERS"):
        monkeypatch.setattr(_memory, name, tmp_path / "missing")
    assert _memory.available_memory() <= physical_memory()


PEAKS = """
import numpy as np
from relaxwl._memory import forget_peak_memory, peak_memory
forget_peak_memory()
before = peak_memory()
block = np.ones(2**24)
with_block = peak_memory()
assert with_block - before > 0.9 * block.nbytes, (before, with_block)
del block
forget_peak_memory()
assert peak_memory() < with_block - 2**26, (peak_memory(), with_block)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets the peak")
def test_the_peak_is_of_the_time_since_it_was_forgotten():
    # In a process of its own: a block fits into what earlier tests left free, and the peak would stay.
    done = subprocess.run([sys.executable, "-c", PEAKS], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr


def test_elsewhere_it_is_the_largest_so_far(monkeypatch, tmp_path):
    monkeypatch.setattr(_memory, "STATUS", tmp_path / "missing")
    monkeypatch.setattr(_memory, "FORGET", tmp_path / "missing" / "too")
    forget_peak_memory()
    assert peak_memory() is None or peak_memory() > 2**20
