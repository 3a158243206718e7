"""Kernels fitted to shards: the model of the whole collection, bit for bit. The tasks of a cluster, run without one."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from clustering_rows import random_content, tree_rows
from relaxed_kernels import optimized
from relaxwl import ContinuousWeisfeilerLehman, GraphCollection, WassersteinKMeans, WeisfeilerLehman
from relaxwl.clustering import kmeans
from relaxwl.clustering.partitioners import KMeansPartitioner
from relaxwl.datasets import make_egonets
from relaxwl.distributed import ShardedCollection, ShardWriter, fitting, levels
from relaxwl.distributed.levels import FAN_IN, Distinct, ShardSource, answer, cut, merge, sample, splitters
from relaxwl.distributed.tasks import LocalTasks
from relaxwl.kernels import continuous
from relaxwl.kernels.baselines import VertexEdgeHistogram, WLOptimalAssignment
from relaxwl.unfolding.rows import canonical_order, join_rows
from sharding import KINDS, model, same_model, shard
from small_graphs import collection, random_graphs
from user_partitioners import KMedoidsPartitioner

NUMBERS = [pytest.param(1, marks=pytest.mark.slow), 3, pytest.param(17, marks=pytest.mark.slow)]


@pytest.fixture
def small_pieces(monkeypatch):
    """Let a few trees make many chunks, of which a sample gives the centers."""
    monkeypatch.setattr(levels, "CHUNK_ROWS", 13)
    monkeypatch.setattr(levels, "FEW_ROWS", 20)
    monkeypatch.setattr(kmeans, "MANY_ROWS", 12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_shards", NUMBERS)
def test_relaxed(tmp_path, small_pieces, kind, n_shards):
    make, settings = KINDS[kind]
    kernel = optimized(2, n_partitions=1, n_clusters=2.0, random_state=1, **settings)
    assert same_model(kernel, shard(tmp_path / "s", make(), n_shards), tmp_path)


@pytest.mark.parametrize("kind", ["labeled", "unlabeled", "edge-labeled", "directed", "directed, arcs labeled"])
@pytest.mark.parametrize("n_shards", NUMBERS)
@pytest.mark.parametrize("base", ["edge", pytest.param("subtree", marks=pytest.mark.slow)])
def test_exact(tmp_path, small_pieces, kind, n_shards, base):
    make, settings = KINDS[kind]
    assert same_model(WeisfeilerLehman(3, base, **settings), shard(tmp_path / "s", make(), n_shards), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_shards", NUMBERS)
def test_vectors(tmp_path, monkeypatch, kind, n_shards):
    monkeypatch.setattr(continuous, "SAMPLE", 20)
    make, _ = KINDS[kind]
    weights = {"edge_weights": 0} if kind == "weighted" else {}
    kernel = ContinuousWeisfeilerLehman(max_depth=2, n_partitions=2, similarity="dot", random_state=1, **weights)
    assert same_model(kernel, shard(tmp_path / "s", make(), n_shards), tmp_path)


@pytest.mark.parametrize(
    "settings",
    [
        {"center": "mean"},
        {"max_iter": 0},
        {"init": "k-means++"},
        {"init": "k-means++", "max_iter": 0},
        {"n_clusters": 10**6, "max_depth": 1},
        {"n_clusters": "all"},
        {"n_clusters": ("all", 2.0, 0.5), "n_partitions": 3, "max_iter": 0, "similarity": "tanimoto"},
        {"n_clusters": [3, 0.5], "n_partitions": 2, "base": "edge"},
        {"directions": "in", "similarity": "tanimoto", "normalize": "depth"},
        {"similarity": "intersection"},
        {"max_depth": 0},
    ],
    ids=str,
)
def test_settings(tmp_path, small_pieces, settings):
    kernel = optimized(**{"max_depth": 2, "n_partitions": 1, "random_state": 3, **settings})
    assert same_model(kernel, shard(tmp_path / "s", collection(random_graphs(30, seed=8)), 4), tmp_path)


def test_optimal_assignment(tmp_path, small_pieces):
    assert same_model(WLOptimalAssignment(2), shard(tmp_path / "s", collection(random_graphs(20, seed=8)), 3), tmp_path)


@pytest.mark.parametrize(("n_kept", "n_read"), [(4, 4), (1, 1 + 3 * 4), (0, 4 * 4)])
def test_shards_are_kept_up_to_a_number_of_bytes(tmp_path, monkeypatch, n_kept, n_read):
    shards = shard(tmp_path / "s", collection([(3, [(0, 1), (1, 2)], ["a", "b", name], None) for name in "stuv"]), 4)
    size = fitting._nbytes(shards[0])
    monkeypatch.setattr(fitting, "KEPT_BYTES", n_kept * size)
    monkeypatch.setattr(fitting, "_kept", {})
    read, load = [], ShardedCollection._load
    monkeypatch.setattr(ShardedCollection, "_load", lambda self, part: read.append(part) or load(self, part))
    WeisfeilerLehman(3).fit(shards)
    assert len(fitting._kept) == n_kept
    assert len(read) == n_read


def test_rows_of_one_chunk_are_grouped_in_one_task(tmp_path):
    graphs, _ = make_egonets(6, random_state=0)
    kernel = optimized(2, n_partitions=1, random_state=0)
    assert same_model(kernel, shard(tmp_path / "s", graphs, 4), tmp_path)


def test_shards_without_nodes_edges_or_more_than_one_graph(tmp_path, small_pieces):
    nothing = (0, [], [], [])
    graphs = collection([nothing, (1, [], ["C"], []), (2, [(0, 1)], ["C", "N"], ["single"]), nothing])
    shards = shard(tmp_path / "s", graphs, 4)
    assert [part.n_nodes for part in shards.manifest.parts] == [0, 1, 2, 0]
    assert shards.to_collection() == graphs
    for kernel in (
        WeisfeilerLehman(2, edge_labels=True),
        optimized(2, 1, edge_labels=True, random_state=0),
        ContinuousWeisfeilerLehman(max_depth=1, similarity="dot", random_state=0),
    ):
        assert same_model(kernel, shards, tmp_path)


def test_parts_that_carry_nothing_agree_with_all_others(tmp_path):
    labeled = collection([(2, [(0, 1)], ["C", "N"], ["single"])])
    nothing = GraphCollection.from_edges([(0, [])])
    for place, parts in enumerate(([nothing, labeled], [labeled, nothing], [nothing, labeled, nothing])):
        writer = ShardWriter(tmp_path / str(place), graphs_per_shard=1)
        for part in parts:
            writer.add(part)
        assert writer.finish().to_collection() == GraphCollection.concatenate(parts)


def test_parts_in_other_folders_order_and_number_make_no_difference(tmp_path):
    graphs = collection(random_graphs(20, seed=9))
    kernel = optimized(2, 1, random_state=0)
    models = [
        model(clone(kernel).fit(shard(tmp_path / str(n), graphs, n)), tmp_path / f"{n}.rwl") for n in (1, 2, 5, 20)
    ]
    assert all(other == models[0] for other in models)


def test_the_model_is_an_ordinary_one(tmp_path):
    graphs = collection(random_graphs(20, seed=9))
    shards = shard(tmp_path / "s", graphs, 3)
    kernel = optimized(2, 1, random_state=0).fit(shards)
    copied = pickle.loads(pickle.dumps(kernel))
    assert (copied.transform(graphs) != kernel.transform(graphs)).nnz == 0
    assert kernel.partitions_[0][1].members(0)
    assert kernel.n_graphs_in_ == 20


def test_features_through_fit_transform(tmp_path):
    dask = pytest.importorskip("dask")
    graphs = collection(random_graphs(20, seed=9))
    shards = shard(tmp_path / "s", graphs, 3)
    with dask.config.set(scheduler="synchronous"):
        features = WeisfeilerLehman(2).fit_transform(shards)
        blocks = [block.compute() for block in features.to_delayed().ravel()]
    expected = WeisfeilerLehman(2).fit_transform(graphs).toarray()
    np.testing.assert_array_equal(np.vstack([block.toarray() for block in blocks]), expected)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (optimized(approximate=False), "approximate=False"),
        (optimized(max_iter=3), "use max_iter=None .* or max_iter=0"),
        (optimized(partitioner=KMeansPartitioner(WassersteinKMeans(max_iter=1))), "use max_iter=None"),
        (optimized(base="shortest-path"), "shortest-path"),
        (WeisfeilerLehman(base="shortest-path"), "shortest-path"),
        (optimized(edge_labels=True), "no edge labels"),
        (WeisfeilerLehman(edge_labels=True), "no edge labels"),
        (WeisfeilerLehman(max_depth=-1), "max_depth"),
    ],
)
def test_what_cannot_be_fitted_is_said(tmp_path, kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.fit(shard(tmp_path / "s", collection(random_graphs(5)), 2))


def test_kernels_that_know_no_shards(tmp_path):
    with pytest.raises(TypeError, match="VertexEdgeHistogram cannot be fitted to shards"):
        VertexEdgeHistogram().fit(shard(tmp_path / "s", collection(random_graphs(5)), 2))


def test_nothing_to_fit(tmp_path):
    with pytest.raises(ValueError, match="no nodes"):
        WeisfeilerLehman().fit(shard(tmp_path / "s", GraphCollection.from_edges([]), 1))


def test_partitioners_that_look_at_all_rows_see_so_many_and_no_more(tmp_path, small_pieces, monkeypatch):
    graphs = collection(random_graphs(30, seed=8))
    shards = shard(tmp_path / "s", graphs, 2)
    kernel = optimized(2, 1, partitioner=KMedoidsPartitioner(), random_state=0)
    expected = clone(kernel).fit(graphs).transform(graphs).toarray()
    np.testing.assert_array_equal(clone(kernel).fit(shards).transform(graphs).toarray(), expected)
    monkeypatch.setattr(levels, "SEEN_AT_ONCE", 30)
    with pytest.raises(ValueError, match="too many for KMedoidsPartitioner"):
        kernel.fit(shards)


# ------------------------------------------------------------------------------------------------ rows of shards


@pytest.fixture
def row_sets(monkeypatch):
    """Distinct rows of three shards that share many, the first node of each and how many there are."""
    monkeypatch.setattr(levels, "CHUNK_ROWS", 8)
    rng = np.random.default_rng(0)
    content = random_content(40, 4)
    found = []
    for number in range(3):
        chosen = sorted(rng.choice(40, 25, replace=False))
        rows = tree_rows([content[place] for place in chosen], 4)
        rows = rows.take(canonical_order(rows, np.arange(25)))
        found.append(
            (Distinct(rows, 100 * number + np.arange(25), rng.integers(1, 4, 25)), np.arange(25, dtype=np.int32))
        )
    return found


def test_chunks_have_each_row_once_with_its_first_node_and_all_its_numbers(row_sets):
    sizes, samples, wholes = zip(*(sample(found, 24) for found in row_sets), strict=True)
    assert sizes == (25, 25, 25)
    assert wholes == (None, None, None)
    assert sample(row_sets[0], 25)[2] is row_sets[0][0]
    borders = splitters(list(samples), 4)
    pieces = [cut(found, borders) for found in row_sets]
    merged = [merge(list(parts)) for parts in zip(*pieces, strict=True)]
    whole = Distinct(
        join_rows([part.rows for part, _ in merged]),
        np.concatenate([part.first for part, _ in merged]),
        np.concatenate([part.number for part, _ in merged]),
    )
    content = [whole.rows.take([place]) for place in range(len(whole.rows))]
    assert canonical_order(whole.rows, np.arange(len(whole.rows))).tolist() == list(range(len(whole.rows)))
    for place, row in enumerate(content):
        places = [(part, int(part.rows.locate(row)[0])) for part, _ in row_sets]
        having = [(part, at) for part, at in places if at >= 0]
        assert whole.first[place] == min(part.first[at] for part, at in having)
        assert whole.number[place] == sum(part.number[at] for part, at in having)
    assert whole.number.sum() == sum(part.number.sum() for part, _ in row_sets)
    # What rows of partitions have comes back to the rows of each shard.
    numbers = np.split(np.arange(len(whole.rows)), np.cumsum([len(part.rows) for part, _ in merged])[:-1])
    for number, (part, _) in enumerate(row_sets):
        back = np.concatenate([answer(one, values, number) for one, values in zip(merged, numbers, strict=True)])
        assert part.rows.same_as(whole.rows.take(back)).all()


@pytest.mark.parametrize("number", [1, FAN_IN, FAN_IN + 1, FAN_IN**2 + 1])
def test_results_are_joined_in_order_a_few_at_a_time(number):
    sizes = []

    def join(results):
        sizes.append(len(results))
        return "".join(results)

    letters = [chr(ord("a") + place % 26) for place in range(number)]
    assert ShardSource([], None, LocalTasks()).joined(join, letters) == "".join(letters)
    assert max(sizes) <= FAN_IN
