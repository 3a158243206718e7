"""Tasks on a cluster: when they are sent, and what is sent."""

import os
import sys
from unittest.mock import Mock

import pytest

from relaxwl import WeisfeilerLehman
from relaxwl.distributed.tasks import SMALL_BYTES, Cluster, LocalTasks, current_tasks
from sharding import shard
from small_graphs import collection, random_graphs


def test_without_dask(tmp_path, monkeypatch):
    shards = shard(tmp_path / "s", collection(random_graphs(5)), 2)
    for name in ("dask", "dask.array", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    kernel = WeisfeilerLehman(1).fit(shards)
    with pytest.raises(ImportError, match=r"relaxwl\[dask\]"):
        kernel.transform(shards)


def test_without_a_client_tasks_run_here():
    assert isinstance(current_tasks(), LocalTasks)


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
    status = "finished"

    def __init__(self, result):
        self.result = result
        self.released = False

    def release(self):
        self.released = True


def test_tasks_go_to_a_cluster_as_one_graph_when_somebody_waits():
    client = Client()
    tasks = Cluster(client)
    one, two = (tasks.submit(int, text) for text in ("1", "2"))
    both = tasks.submit(sum, [one, two])
    del two  # nobody but the sum wants it
    assert client.graphs == []
    assert tasks.gather([both, 5]) == [3, 5]
    ((sent, wanted),) = client.graphs
    assert [key.split("-")[1] for key in sent] == ["int", "int", "sum"]
    assert wanted == [sent[0], sent[2]]
    assert tasks.gather([tasks.submit(sum, [one, both, 10])]) == [14]  # of an earlier graph, and a number
    assert len(client.graphs) == 2
    assert tasks.gather([both]) == [3]
    assert len(client.graphs) == 2


def test_what_is_given_up_is_let_go_and_not_sent(tmp_path, monkeypatch):
    client = Client()
    tasks = Cluster(client)
    monkeypatch.setattr(tasks, "check", lambda folder: None)
    done = tasks.submit(int, "1")
    tasks.gather([done])
    waiting = tasks.submit(int, "2")
    with pytest.raises(KeyboardInterrupt), tasks.working(tmp_path):
        raise KeyboardInterrupt
    assert done.future.released
    assert tasks.gather(["a value"]) == ["a value"]
    tasks.gather([done])
    assert waiting.future is None
    assert len(client.graphs) == 1


@pytest.mark.parametrize("error", [RuntimeError("ConnectionPool is closed"), OSError("timed out")])
@pytest.mark.parametrize("status", ["running", "closed"])
def test_any_error_of_a_lost_connection_says_that_it_was_lost(tmp_path, monkeypatch, error, status):
    client = Client()
    client.status = status
    tasks = Cluster(client)
    monkeypatch.setattr(tasks, "check", lambda folder: None)
    expected = str(error) if status == "running" else "the connection to the Dask scheduler was lost"
    with pytest.raises(type(error) if status == "running" else RuntimeError, match=expected), tasks.working(tmp_path):
        raise error


def test_what_is_small_is_not_sent():
    client = Client()
    tasks = Cluster(client)
    assert tasks.share("small") == "small"
    large = bytes(2 * SMALL_BYTES)
    assert tasks.gather([tasks.share(large)]) == [large]
    assert [key.split("-")[1] for key in client.graphs[0][0]] == ["sent"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_does_not_use_the_client_of_its_parent(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "default_client", Mock())  # always the same
    assert isinstance(current_tasks(), Cluster)
    child = os.fork()
    if child == 0:
        inherited = isinstance(current_tasks(), LocalTasks)
        distributed.default_client = Mock  # its own
        os._exit(0 if inherited and isinstance(current_tasks(), Cluster) else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
