"""Features of sharded collections: the same as those of the whole collection, on real worker processes too."""

import os
import signal

import numpy as np
import pytest
from scipy.sparse import load_npz, vstack

from platforms import posix
from relaxed_kernels import optimized
from relaxwl import WeisfeilerLehman
from relaxwl.distributed import ShardedCollection, ShardWriter, predict, transform, transform_to_files
from small_graphs import collection, random_graphs


@pytest.fixture(scope="module")
def graphs():
    return collection(random_graphs(40, seed=3))


@pytest.fixture(scope="module", params=[1, 7, 40])
def shards(request, graphs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards") / "s"
    with ShardWriter(folder, graphs_per_shard=-(-40 // request.param)) as writer:
        writer.add(graphs)
    return ShardedCollection.open(folder)


@pytest.fixture(scope="module")
def kernel(graphs):
    return optimized(max_depth=2, n_partitions=2, random_state=0).fit(graphs[:20])


def same(features, expected):
    return features.shape == expected.shape and (features != expected).nnz == 0


def test_files_have_the_features(tmp_path, kernel, graphs, shards):
    paths = transform_to_files(kernel, shards, tmp_path / "out")
    assert same(vstack([load_npz(path) for path in paths]).tocsr(), kernel.transform(graphs))


def test_files_that_are_there_are_kept(tmp_path, kernel, shards):
    first, *_ = transform_to_files(kernel, shards, tmp_path / "out")
    before = first.stat().st_mtime_ns
    transform_to_files(kernel, shards, tmp_path / "out")
    assert first.stat().st_mtime_ns == before


def test_a_dask_array_of_blocks(kernel, graphs, shards):
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        features = transform(kernel, shards)
        assert features.numblocks[0] == len(shards)
        blocks = [block.compute() for block in features.to_delayed().ravel()]
    assert same(vstack(blocks).tocsr(), kernel.transform(graphs))


class SeveralTargets:
    """A model with two targets, of two and of ``n_classes`` classes."""

    def __init__(self, n_classes):
        self.n_classes = n_classes

    def predict(self, graphs):
        return np.stack([graphs.node_counts, graphs.edge_counts], axis=1)

    def predict_proba(self, graphs):
        return [np.ones((len(graphs), 2)), np.ones((len(graphs), self.n_classes))]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_without_a_row_for_each_graph_are_refused(graphs, shards, n_classes):
    dask = pytest.importorskip("dask")
    model = SeveralTargets(n_classes)
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(predict(model, shards).compute(), model.predict(graphs))
    with pytest.raises(ValueError, match="predict_proba of SeveralTargets does not return one array with a row for"):
        predict(model, shards, "predict_proba")


@posix
@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])
def test_on_worker_processes_one_of_which_is_killed(tmp_path, graphs, shards, n_workers):
    distributed = pytest.importorskip("distributed")
    kernel = WeisfeilerLehman(max_depth=2).fit(graphs)
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        os.kill(pids[0], signal.SIGKILL)
        paths = transform_to_files(kernel, shards, tmp_path / "out", client=client)
    assert same(vstack([load_npz(path) for path in paths]).tocsr(), kernel.transform(graphs))
    assert np.array_equal([path.exists() for path in paths], [True] * len(shards))
