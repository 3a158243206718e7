"""What is said about memory."""

import sys

import numpy as np
import pytest

from relaxwl import _memory
from relaxwl._memory import MemoryRefusal, forget_peak_memory, peak_memory, physical_memory, refuse_beyond_memory


def test_what_cannot_fit_is_refused_with_figures():
    refuse_beyond_memory(0.1 * physical_memory(), "a small thing", "be glad")
    with pytest.raises(
        MemoryRefusal, match=r"a large thing would need about .* GiB and the limit is .* GiB; take less"
    ):
        refuse_beyond_memory(physical_memory(), "a large thing", "take less")


def test_limits_of_a_container_or_a_process_count(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(_memory, "CONTAINER_LIMITS", (tmp_path / "missing", limit))
    limit.write_text("max\n")
    assert _memory.available_memory() <= physical_memory()
    limit.write_text(f"{2**30}\n")
    assert _memory.available_memory() == 2**30
    with pytest.raises(MemoryRefusal, match=r"the limit is 0\.8 GiB"):
        refuse_beyond_memory(2.0**30, "a thing", "take less")
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**29, 2**30))
    assert _memory.available_memory() == 2**29


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets the peak")
def test_the_peak_is_of_the_time_since_it_was_forgotten():
    forget_peak_memory()
    before = peak_memory()
    block = np.ones(2**24)
    with_block = peak_memory()
    assert with_block - before > 0.9 * block.nbytes
    del block
    forget_peak_memory()
    assert peak_memory() < with_block - 2**26


def test_elsewhere_it_is_the_largest_so_far(monkeypatch, tmp_path):
    monkeypatch.setattr(_memory, "STATUS", tmp_path / "missing")
    monkeypatch.setattr(_memory, "FORGET", tmp_path / "missing" / "too")
    forget_peak_memory()
    assert peak_memory() is None or peak_memory() > 2**20
