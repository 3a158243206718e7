"""Tasks in this process, and how their results are put together."""

import sys

import pytest

from relaxwl import WeisfeilerLehman
from relaxwl.distributed.tasks import FAN_IN, SMALL_BYTES, Cluster, Here, current_tasks, hold, pick, reduce
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


class Client:
    """Takes the place of Dask's: does graphs at once, and notes what was wanted of them."""

    def __init__(self):
        self.graphs = []

    def get(self, graph, keys, sync):
        assert not sync
        self.graphs.append((list(graph), keys))
        done = {}
        for key, (call, *taken) in graph.items():
            done[key] = call(*(done[one] if isinstance(one, str) else one.result for one in taken))
        return [Future(done[key]) for key in keys]

    def gather(self, asked):
        return [one.result for one in asked]


class Future:
    def __init__(self, result):
        self.result = result
        self.released = False

    def release(self):
        self.released = True


def test_tasks_go_to_a_cluster_as_one_graph_when_somebody_waits():
    client = Client()
    tasks = Cluster(client)
    one, two = (tasks.submit("number", int, text) for text in ("1", "2"))
    both = tasks.submit("sum", sum, [one, two])
    del two  # nobody but the sum wants it
    assert client.graphs == []
    assert tasks.gather([both, 5]) == [3, 5]
    ((sent, wanted),) = client.graphs
    assert [key.split("-")[1] for key in sent] == ["number", "number", "sum"]
    assert wanted == [sent[0], sent[2]]
    assert tasks.gather([tasks.submit("sum", sum, [one, both, 10])]) == [14]  # of an earlier graph, and a number
    assert len(client.graphs) == 2
    assert tasks.gather([both]) == [3]
    assert len(client.graphs) == 2


def test_what_is_given_up_is_let_go_and_not_sent():
    client = Client()
    tasks = Cluster(client)
    done = tasks.submit("number", int, "1")
    tasks.gather([done])
    waiting = tasks.submit("number", int, "2")
    tasks.cancel()
    assert done.future.released
    assert tasks.gather(["a value"]) == ["a value"]
    tasks.gather([done])
    assert waiting.future is None
    assert len(client.graphs) == 1
