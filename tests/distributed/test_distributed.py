"""Fits on real worker processes: the bits of one machine, whatever happens to workers, shards and clients."""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from scipy.sparse import vstack
from sklearn.base import clone

from relaxed_kernels import optimized
from relaxwl import GraphClassifier, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.clustering import kmeans
from relaxwl.datasets import load_tu, make_egonets
from relaxwl.distributed import ShardError, fitting, levels, predict
from relaxwl.distributed.tasks import Cluster
from running import heed_interrupts
from sharding import KINDS, model, same_model, shard
from small_graphs import collection, random_graphs

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

KERNEL = optimized(2, n_partitions=1, random_state=0)


def start_cluster(n_workers, **settings):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", **settings
    )


@pytest.fixture(scope="module")
def cluster():
    # Who asks a dead worker for data tries for 30 seconds, unless told otherwise. With less than 10, those that start
    # workers anew give up on a busy machine; there are none then, and without the second setting Dask waits for ever.
    # Some time after a worker was lost, a local cluster looks whether it is back, and if not closes who would start it
    # anew: bad luck for one that has come back and was killed again by the next test, just then.
    timeouts = {
        "distributed.comm.timeouts.connect": "10s",
        "distributed.scheduler.no-workers-timeout": "120s",
        "distributed.deploy.lost-worker-timeout": "3600s",
    }
    with dask.config.set(timeouts), start_cluster(2, memory_limit=0) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(1, timeout=120)
        yield client


@pytest.fixture(autouse=True, params=[4])
def small_pieces(monkeypatch, request):
    """Let a few hundred trees make several partitions and chunks."""
    monkeypatch.setattr(levels, "CHUNK_ROWS", 300)
    monkeypatch.setattr(levels, "FEW_ROWS", 100)
    monkeypatch.setattr(levels, "FEW_CHUNKS", request.param)
    monkeypatch.setattr(kmeans, "MANY_ROWS", 200)


@pytest.fixture(scope="module")
def graphs():
    return make_egonets(12, random_state=0)[0]


def test_data_sets(client, tmp_path, shared):
    for name, n_graphs, n_shards in (("MUTAG", 188, 17), ("NCI1", 300, 3), ("EGO-1", 12, 3)):
        graphs = load_tu(shared / "data" / f"{name}.zip")[0][:n_graphs]
        shards = shard(tmp_path / name, graphs, n_shards)
        assert same_model(KERNEL, shards, tmp_path), name
        assert same_model(WeisfeilerLehman(2, "edge"), shards, tmp_path), name


@pytest.mark.parametrize("small_pieces", [0], indirect=True)
def test_pieces_of_many_chunks(client, tmp_path, graphs):
    assert same_model(KERNEL, shard(tmp_path / "s", graphs, 5), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_graphs(client, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(levels, "CHUNK_ROWS", 30)
    make, settings = KINDS[kind]
    assert same_model(clone(KERNEL).set_params(**settings), shard(tmp_path / "s", make(), 3), tmp_path)


def test_tasks_that_end_in_any_order(client, tmp_path, graphs):
    def hesitate():  # on the workers: every task waits for a time that nobody knows
        import random
        import time

        from relaxwl.distributed import tasks

        if not hasattr(tasks, "prompt"):
            tasks.prompt = tasks._filled

        def slow(*arguments):
            time.sleep(random.random() * 0.02)
            return tasks.prompt(*arguments)

        tasks._filled = slow  # every task fills in its arguments

    def resume():
        from relaxwl.distributed import tasks

        tasks._filled = tasks.prompt

    client.run(hesitate)
    try:
        assert same_model(KERNEL, shard(tmp_path / "s", graphs, 5), tmp_path)
    finally:
        client.run(resume)


@pytest.mark.parametrize("name", ["refine_shard", "merge", "assign_chunk", "spread"])
def test_a_worker_killed_in_a_task(client, tmp_path, graphs, name):
    def poison():
        import os
        import signal

        from relaxwl.distributed import levels

        def die(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(levels, name, die)

    before = set(client.run(os.getpid).values())
    client.run(poison)  # each worker dies once; who is started in its place knows nothing of it
    assert same_model(KERNEL, shard(tmp_path / "s", graphs, 5), tmp_path)
    wait_until(lambda: not all(is_alive(pid) for pid in before), "no worker died")


def test_a_shard_that_vanishes(client, tmp_path, graphs):
    shards = shard(tmp_path / "s", graphs, 3)

    class Vanishing(logging.Handler):
        def emit(self, record):
            (tmp_path / "s" / "part-000001.npz").unlink(missing_ok=True)

    def keep_none():
        from relaxwl.distributed import fitting

        fitting.KEPT_BYTES = 0

    def keep():
        from relaxwl.distributed import fitting

        fitting.KEPT_BYTES = 1 << 26

    client.run(keep_none)
    logger = logging.getLogger("relaxwl")
    handler = Vanishing()
    logger.addHandler(handler)
    try:
        with pytest.raises(ShardError, match=r"part-000001\.npz is missing"):
            clone(KERNEL).set_params(verbose=1).fit(shards)
    finally:
        logger.removeHandler(handler)
        client.run(keep)
    wait_until(lambda: not tasks_of(client), "tasks are left")


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def tasks_of(client):
    return client.run_on_scheduler(
        lambda dask_scheduler: [key for key in dask_scheduler.tasks if "relaxwl" in str(key)]
    )


def wait_until(holds, otherwise, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, otherwise
        time.sleep(0.1)


CLIENT = """
import sys
from distributed import Client
from relaxwl import RelaxedWeisfeilerLehman
from relaxwl.distributed import ShardedCollection
from relaxwl.distributed import levels
client = Client(sys.argv[1])
levels.FEW_ROWS = 100
step = levels.ShardLevels.at
def at(*arguments):
    print("at work", flush=True)
    return step(*arguments)
levels.ShardLevels.at = at
while True:
    RelaxedWeisfeilerLehman(2, 1, "sqrt", random_state=0).fit(ShardedCollection.open(sys.argv[2]))
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_client_that_dies(client, cluster, tmp_path, graphs, sent):
    shards = shard(tmp_path / "s", graphs, 5)
    # Dask was seen to end its client after an interrupt and not the process, in one run of many: another client tries.
    ended = False
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT, cluster.scheduler_address, str(tmp_path / "s")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts,
        ) as process:  # fmt: skip
            assert process.stdout.readline() == "at work\n", process.stderr.read()
            process.send_signal(sent)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=45)
                ended = True
            process.kill()
        if ended:
            break
    assert ended
    wait_until(lambda: not tasks_of(client), "tasks are left")
    assert same_model(KERNEL, shards, tmp_path)


def test_two_fits_at_once(client, tmp_path, graphs):
    shards = shard(tmp_path / "s", graphs, 5)
    kernels = [clone(KERNEL).set_params(random_state=seed) for seed in (0, 0, 1)]
    threads = [threading.Thread(target=kernel.fit, args=(shards,)) for kernel in kernels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=240)
    expected = [clone(kernel).fit(graphs) for kernel in kernels]
    for place, (kernel, other) in enumerate(zip(kernels, expected, strict=True)):
        assert model(kernel, tmp_path / f"{place}.rwl") == model(other, tmp_path / f"{place}-here.rwl")


def test_predictions(client, tmp_path):
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    graphs, y = make_egonets(20, random_state=0)
    shards = shard(tmp_path / "s", graphs, 3, y)
    pipeline = make_pipeline(WeisfeilerLehman(1), KNeighborsClassifier(3)).fit(*shards.sample(12))
    np.testing.assert_array_equal(predict(pipeline, shards).compute(), pipeline.predict(graphs))
    np.testing.assert_array_equal(predict(pipeline, shards, "predict_proba").compute(), pipeline.predict_proba(graphs))


def test_other_versions_and_folders_out_of_sight(client, tmp_path, monkeypatch):
    shards = shard(tmp_path / "s", collection(random_graphs(6)), 2)
    monkeypatch.setattr("relaxwl.__version__", "0.0")
    with pytest.raises(RuntimeError, match=r"but the client has relaxwl .*; install the same version"):
        WeisfeilerLehman().fit(shards)
    monkeypatch.undo()
    (tmp_path / "s").rename(tmp_path / "t")
    with pytest.raises(RuntimeError, match="where all workers can read them"):
        WeisfeilerLehman().fit(shards)


def hog(times):
    """Let a worker fill its memory, as often as asked for: restarted, it has forgotten unless told again."""
    import time

    from relaxwl.distributed import levels

    def fill(*arguments):
        kept = []
        for _ in range(times):
            kept.append(bytearray(2**26))
            time.sleep(0.05)

    levels.refine_shard = fill


def test_a_worker_out_of_memory(tmp_path, graphs):
    shards = shard(tmp_path / "s", graphs, 5)
    with start_cluster(2, memory_limit="1.2GB") as cluster, distributed.Client(cluster) as client:
        client.run(hog, 40, workers=[sorted(client.scheduler_info()["workers"])[0]])
        assert same_model(KERNEL, shards, tmp_path)  # the nanny starts another, which has not been told to fill it

        class Hogging(distributed.WorkerPlugin):
            def setup(self, worker):
                hog(40)

        client.register_plugin(Hogging())
        with pytest.raises(RuntimeError, match="for lack of memory"):
            clone(KERNEL).fit(shards)


def test_no_client_is_left_in_the_model(client, tmp_path, graphs):
    kernel = clone(KERNEL).fit(shard(tmp_path / "s", graphs, 2))
    assert not any("distributed" in str(type(value)) for value in vars(kernel).values())
    assert fitting.current_tasks().__class__.__name__ == "Cluster"


def test_a_worker_of_another_version_that_joins_later(client, tmp_path, graphs, monkeypatch):
    def pretend(version):
        import relaxwl

        before, relaxwl.__version__ = relaxwl.__version__, version
        return before

    shards = shard(tmp_path / "s", graphs, 2)
    monkeypatch.setattr(Cluster, "check", lambda self, folder: None)
    (before, *_) = client.run(pretend, "0.0").values()
    try:
        with pytest.raises(RuntimeError, match=r"a worker has relaxwl 0\.0 and the client .*; install the same"):
            clone(KERNEL).fit(shards)
    finally:
        client.run(pretend, before)


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_all_workers_lost_for_good(tmp_path, graphs, how):
    def kill():
        async def start_none():
            await asyncio.sleep(0)

        for nanny in cluster.workers.values():
            pid, nanny.instantiate = nanny.pid, start_none  # what starts a worker again
            os.kill(pid, signal.SIGKILL)

    shards = shard(tmp_path / "s", graphs, 5)
    with (
        dask.config.set({"relaxwl.no-workers-timeout": "3s"}),
        start_cluster(2, memory_limit=0) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(dawdle)
        leaving = threading.Timer(2, *((cluster.scale, [0]) if how == "closed" else (kill,)))
        leaving.start()
        with pytest.raises(RuntimeError, match="all workers were lost and none reconnected for 3 s"):
            clone(KERNEL).fit(shards)
        leaving.join()


def test_a_scheduler_that_closes(tmp_path, graphs):
    shards = shard(tmp_path / "s", graphs, 5)
    with start_cluster(2, memory_limit=0) as cluster, distributed.Client(cluster, timeout="5s") as client:
        client.run(dawdle)
        closing = threading.Timer(2, cluster.close, kwargs={"timeout": 30})
        closing.start()
        with pytest.raises(RuntimeError, match="the connection to the Dask scheduler was lost"):
            clone(KERNEL).fit(shards)
        closing.join()


def dawdle():
    """Let refining take its time on a worker."""
    import time

    from relaxwl.distributed import levels

    def slow(*arguments):
        time.sleep(60)

    levels.refine_shard = slow


SECOND = """
import sys
from distributed import Client
from relaxwl import RelaxedWeisfeilerLehman
from relaxwl.clustering import kmeans
from relaxwl.distributed import ShardedCollection
from relaxwl.distributed import levels
kmeans.MANY_ROWS, levels.CHUNK_ROWS, levels.FEW_ROWS = 200, 300, 100
client = Client(sys.argv[1])
print("at work", flush=True)
for _ in range(3):
    kernel = RelaxedWeisfeilerLehman(2, 1, "sqrt", max_iter=None, similarity="dot", random_state=0)
    kernel.fit(ShardedCollection.open(sys.argv[2]))
kernel.save(sys.argv[3])
"""


def test_two_clients_at_once(client, cluster, tmp_path, graphs):
    shards = shard(tmp_path / "s", graphs, 5)
    command = [sys.executable, "-c", SECOND, cluster.scheduler_address, str(tmp_path / "s"), str(tmp_path / "2.rwl")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "at work\n"
        mine = [clone(KERNEL).fit(shards) for _ in range(3)]
        assert process.wait(timeout=240) == 0
    expected = clone(KERNEL).set_params(random_state=0).fit(graphs)
    other = RelaxedWeisfeilerLehman.load(tmp_path / "2.rwl")
    for kernel in (*mine, other):
        assert (kernel.transform(graphs) != expected.transform(graphs)).nnz == 0


def test_a_worker_killed_in_transform(client, tmp_path, graphs):
    def poison():
        import os
        import signal

        from relaxwl.distributed import applying

        def die(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)

        applying._features = die

    shards = shard(tmp_path / "s", graphs, 5)
    kernel = clone(KERNEL).fit(graphs)
    before = set(client.run(os.getpid).values())
    client.run(poison)  # every worker, since the scheduler may give a single one no block at all
    blocks = [block.compute() for block in kernel.transform(shards).to_delayed().ravel()]
    assert (vstack(blocks).tocsr() != kernel.transform(graphs)).nnz == 0
    wait_until(lambda: not all(is_alive(pid) for pid in before), "no worker died")


@pytest.mark.parametrize("name", [None, "features_of_part", "_applied"])
def test_predictors_are_those_of_one_process_also_if_workers_are_killed(cluster, tmp_path, name):
    def poison():
        import os
        import signal

        from relaxwl.distributed import learning

        def die(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(learning, name, die)

    # Large enough for 28,016 features: shorter sums are the same in any order of their parts.
    graphs, four = make_egonets(40, level=1, random_state=0)
    y = np.column_stack([four % 2, np.where(np.arange(40) % 3, four % 2, np.nan)])
    shards = shard(tmp_path / "s", graphs, 5)
    with distributed.Client(cluster) as client:
        client.wait_for_workers(1, timeout=120)
        before = set(client.run(os.getpid).values())
        if name is not None:
            client.run(poison)  # each worker dies once; who is started in its place knows nothing of it
        found = GraphClassifier(random_state=0).fit(shards, y)
        if name is not None:
            wait_until(lambda: not all(is_alive(pid) for pid in before), "no worker died")
    expected = GraphClassifier(random_state=0).fit(shards, y)
    for one, other in zip(found._heads, expected._heads, strict=True):
        for array in ("coefficients", "intercepts", "fold_coefficients", "fold_intercepts"):
            np.testing.assert_array_equal(getattr(one, array), getattr(other, array))
        assert (one.slope, one.chosen) == (other.slope, other.chosen)
    for one, other in zip(found.predict_proba(graphs), expected.predict_proba(graphs), strict=True):
        np.testing.assert_array_equal(one, other)
