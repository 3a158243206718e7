"""Shards: what is written is read, piece by piece, and what is damaged is named."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaxwl import GraphCollection
from relaxwl.datasets import make_egonets
from relaxwl.distributed import ShardedCollection, ShardError, ShardWriter


def write(folder, graphs, y=None, size=7):
    with ShardWriter(folder, graphs_per_shard=size) as writer:
        writer.add(graphs, y)
    return ShardedCollection.open(folder)


@pytest.fixture
def labelled():
    graphs = [(3, [(0, 1), (1, 2)], ["b", "a", ("x", i % 3)]) for i in range(20)]
    return GraphCollection.from_edges(graphs)


@st.composite
def collections(draw):
    """Collections with one to five graphs, with vertex labels or without."""
    labels = st.sampled_from(["a", 1, 2.5, ("t", 0)]) if draw(st.booleans()) else None
    graphs = []
    for _ in range(draw(st.integers(1, 5))):
        n = draw(st.integers(0, 4))
        edges = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))) if n else []
        graphs.append((n, edges) if labels is None else (n, edges, draw(st.lists(labels, min_size=n, max_size=n))))
    return GraphCollection.from_edges(graphs)


@pytest.mark.filterwarnings("ignore:.*dropped")
@given(collections())
def test_whole_collections_come_back(tmp_path_factory, graphs):
    shards = write(tmp_path_factory.mktemp("shards") / "s", graphs, np.arange(len(graphs)), size=2)
    assert shards.to_collection() == graphs
    assert shards.y.tolist() == list(range(len(graphs)))
    assert (shards.n_graphs, shards.n_nodes, shards.n_edges) == (len(graphs), graphs.n_nodes, graphs.n_edges)


def test_a_shard_has_the_codes_of_the_whole_collection(tmp_path, labelled):
    shards = write(tmp_path / "s", labelled, size=1)
    assert shards[2].node_vocabulary == labelled.node_vocabulary
    np.testing.assert_array_equal(shards[2].node_codes, labelled[2:3].node_codes)


def test_batches_are_cut_anew(tmp_path, labelled):
    with ShardWriter(tmp_path / "s", graphs_per_shard=6) as writer:
        for start in range(0, 20, 4):
            writer.add(labelled[start : start + 4])
    shards = ShardedCollection.open(tmp_path / "s")
    assert [len(shard) for shard in shards] == [6, 6, 6, 2]
    assert shards.to_collection() == labelled
    assert [len(shard) for shard in shards[1:3]] == [6, 6]


def test_no_graphs_at_all(tmp_path):
    shards = write(tmp_path / "s", GraphCollection.from_edges([]))
    assert len(shards) == 1
    assert shards.n_graphs == 0


def test_a_stopped_writer_goes_on(tmp_path, labelled):
    ShardWriter(tmp_path / "s", graphs_per_shard=6).add(labelled[:15])
    with pytest.raises(ShardError, match="not finished"):
        ShardedCollection.open(tmp_path / "s")
    with ShardWriter(tmp_path / "s", graphs_per_shard=6) as writer:
        assert writer.n_written == 12
        writer.add(labelled[writer.n_written :])
    assert ShardedCollection.open(tmp_path / "s").to_collection() == labelled


def test_finished_shards_are_not_written_over(tmp_path, labelled):
    write(tmp_path / "s", labelled)
    with pytest.raises(ShardError, match="finished shards already"):
        ShardWriter(tmp_path / "s")


def test_graphs_must_agree(tmp_path, labelled):
    plain, _ = make_egonets(3, random_state=0)
    writer = ShardWriter(tmp_path / "s", graphs_per_shard=2)
    writer.add(labelled[:2])
    with pytest.raises(ShardError, match="vertex labels"):
        writer.add(plain)
    writer = ShardWriter(tmp_path / "t", graphs_per_shard=2)
    writer.add(labelled[:2], [1, 2])
    with pytest.raises(ShardError, match="target was i"):
        writer.add(labelled[2:4], [1.5, 2])
    with pytest.raises(ValueError, match="y must be 2 numbers or texts"):
        ShardWriter(tmp_path / "u").add(labelled[:2], [1])


def test_damage_is_named(tmp_path, labelled):
    shards = write(tmp_path / "s", labelled)
    part = tmp_path / "s" / "part-000001.npz"
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    with pytest.raises(ShardError, match=r"part-000001\.npz is damaged"):
        shards.to_collection()
    part.unlink()
    with pytest.raises(ShardError, match=r"part-000001\.npz is missing"):
        shards[1]
    assert len(shards[0]) == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "else"}, "not the manifest"),
        ({"version": 9}, "version 9"),
        ({"parts": 3}, "parts must be a list"),
        ({"parts": [{"name": "x"}]}, "part 0 must have"),
        ({"target": "O"}, "not allowed"),
        ({"node_vocabulary": ["b", "a"]}, "in order"),
        ({"surplus": 1}, "damaged"),
        ({"n_node_attributes": -1}, "n_node_attributes must be"),
    ],
)
def test_damaged_manifests(tmp_path, labelled, change, message):
    write(tmp_path / "s", labelled)
    path = tmp_path / "s" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ShardError, match=message):
        ShardedCollection.open(tmp_path / "s")


def test_parts_lie_in_the_folder(tmp_path, labelled):
    write(tmp_path / "s", labelled)
    path = tmp_path / "s" / "manifest.json"
    content = json.loads(path.read_text())
    content["parts"][0]["name"] = "../part-000000.npz"
    path.write_text(json.dumps(content))
    with pytest.raises(ShardError, match="a file of the folder itself"):
        ShardedCollection.open(tmp_path / "s")


def test_no_folder_of_shards(tmp_path):
    with pytest.raises(ShardError, match=r"no manifest\.json"):
        ShardedCollection.open(tmp_path)
