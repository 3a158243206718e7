"""Tasks in this process, and how their results are put together."""

import sys

import pytest

from relaxwl import WeisfeilerLehman
from relaxwl.distributed.tasks import FAN_IN, SMALL_BYTES, Here, current_tasks, hold, pick, reduce
from sharding import shard
from small_graphs import collection, random_graphs


def test_without_dask(tmp_path, monkeypatch):
    shards = shard(tmp_path / "s", collection(random_graphs(5)), 2)
    for name in ("dask", "dask.array", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    kernel = WeisfeilerLehman(1).fit(shards)
    with pytest.raises(ImportError, match=r"relaxwl\[dask\]"):
        kernel.transform(shards)


class Noted(Here):
    """Tasks in this process that write down their names."""

    def __init__(self):
        self.names = []

    def submit(self, name, function, *arguments):
        self.names.append(name)
        return super().submit(name, function, *arguments)


@pytest.mark.parametrize("number", [1, FAN_IN, FAN_IN + 1, FAN_IN**2 + 1])
def test_results_are_combined_in_order_a_few_at_a_time(number):
    sizes = []

    def combine(parts):
        sizes.append(len(parts))
        return "".join(parts)

    letters = [chr(ord("a") + place % 26) for place in range(number)]
    assert reduce(Here(), "join", combine, letters) == "".join(letters)
    assert max(sizes) <= FAN_IN


def test_what_is_small_is_not_sent():
    tasks = Noted()
    large = bytes(2 * SMALL_BYTES)
    assert hold(tasks, "small") == "small"
    assert tasks.names == []
    assert hold(tasks, large) == large
    assert tasks.names == ["send"]


def test_parts_of_results_are_picked():
    tasks = Noted()
    assert tasks.gather(pick(tasks, 1, ["ab", "cd"], "second")) == ["b", "d"]
    assert tasks.names == ["second", "second"]


def test_without_a_client_tasks_run_here():
    assert isinstance(current_tasks(), Here)
