"""What is made ready for tasks is what they use, and is made ready once."""

import sys

import pytest
from sklearn.base import clone

from relaxwl import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl._compiling.internals import LinkingDispatcher
from relaxwl.clustering import crowd, kmeans
from relaxwl.distributed import levels, warming
from relaxwl.distributed.fitting import fit_by
from relaxwl.distributed.tasks import Here
from sharding import KINDS, shard
from small_graphs import collection, random_graphs

KERNEL = RelaxedWeisfeilerLehman(2, n_partitions=2, random_state=3)


@pytest.fixture(autouse=True)
def cold(monkeypatch):
    monkeypatch.setattr(warming, "_met", set())


def machine_code():
    modules = [module for name, module in sys.modules.items() if name.startswith("relaxwl.")]
    functions = {one for module in modules for one in vars(module).values() if isinstance(one, LinkingDispatcher)}
    return {(function, signature) for function in functions for signature in function.overloads}


@pytest.mark.parametrize(
    "kind", [kind if kind == "labelled" else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_fits_after_it_need_no_other_machine_code(tmp_path, monkeypatch, caplog, kind):
    make, settings = KINDS[kind]
    shards = shard(tmp_path / "s", make(), 3)
    caplog.set_level("DEBUG", logger=warming.__name__)
    for kernel in (clone(KERNEL).set_params(**settings), WeisfeilerLehman(2)):
        warming.warm(clone(kernel), shards[:1], True)
        assert not caplog.records
        ready = machine_code()
        with monkeypatch.context() as patched:  # many partitions and chunks
            patched.setattr(levels, "PARTITION_ROWS", 30)
            patched.setattr(crowd, "CHUNK_ROWS", 32)
            patched.setattr(kmeans, "MANY_ROWS", 20)
            fit_by(Here(), kernel, shards)
        kernel.weighted_counts(shards[2])
        assert {function.py_func.__name__ for function, _ in machine_code() - ready} == set()


class Told(Here):
    """Tasks that do what is announced."""

    def announce(self, function, *arguments):
        self.announced = arguments
        function(*arguments)


def test_once_for_each_kind_and_without_a_trace(tmp_path, monkeypatch):
    shards = shard(tmp_path / "s", collection(random_graphs(12)), 3)
    done = []
    monkeypatch.setattr(warming, "_rehearse", lambda kernel, few, applied: done.append((kernel, few.n_nodes)))
    for kernel in (KERNEL, clone(KERNEL).set_params(random_state=7, n_jobs=2), clone(KERNEL).set_params(base="edge")):
        warming.warm_workers(Told(), kernel, shards)
    assert [kernel.base for kernel, _ in done] == ["subtree", "edge"]
    assert done[0][0] is not KERNEL
    assert KERNEL.n_partitions == 2
    assert 0 < done[0][1] <= warming.FEW_VERTICES


def test_what_is_wrong_shows_elsewhere(tmp_path):
    shards = shard(tmp_path / "s", collection(random_graphs(12)), 3)
    warming.warm_workers(Told(), clone(KERNEL).set_params(edge_labels=True), shards)  # there are none
    (tmp_path / "s" / "part-000000.npz").unlink()
    warming.warm_workers(Told(), KERNEL, shards)


def test_graphs_that_are_all_large_are_not_taken(tmp_path):
    shards = shard(tmp_path / "s", collection([(600, [(0, 1)], ["a"] * 600, None)]), 1)
    assert warming.FewGraphs(shards).n_nodes == 0
    warming.warm_workers(Told(), KERNEL, shards)
    warming.warm_workers(Told(), KERNEL, shards[:0])
