"""Shards: what is written is read, piece by piece, and what is damaged is named."""

import hashlib
import json
import os
import pickle
import platform
import subprocess
import sys
import threading
import zipfile
from unittest.mock import Mock

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaxwl import GraphCollection
from relaxwl._storage import TEMPORARY_SUFFIX
from relaxwl.datasets import make_egonets
from relaxwl.datasets.smiles import from_rdkit, from_smiles
from relaxwl.distributed import ShardedCollection, ShardError, ShardWriter
from relaxwl.distributed.shards import LOCK, _locked
from sharding import shard
from small_graphs import collection, random_graphs


def write(folder, graphs, y=None, size=7):
    with ShardWriter(folder, graphs_per_shard=size) as writer:
        writer.add(graphs, y)
    return ShardedCollection.open(folder)


PART = {"name": "part-000000.npz", "n_graphs": 7, "n_nodes": 21, "n_edges": 14, "sha256": ""}


# Four-membered rings in a circle, which form a million large ones.
CROWDED = f"C%(0)(C%(2)){''.join(f'CC%({place})(C%({place + 1}))' for place in range(2, 21))}CC%(21)C%(0)"


def as_bytes(value):
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def changed(shards, name, value):
    """Change an array of the first part, with the right checksum; without ``value`` it is left out."""
    path = shards.folder / shards.manifest.parts[0].name
    with np.load(path) as archive:
        arrays = {key: archive[key] for key in archive.files}
    array = arrays.pop(name, None)
    if value is not None:
        arrays[name] = value(array)
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)
    return changed_checksum(shards)


def changed_checksum(shards):
    """Write the checksum of the first part into the manifest."""
    path, manifest = shards.folder / "part-000000.npz", shards.folder / "manifest.json"
    content = json.loads(manifest.read_text())
    content["parts"][0]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(content))
    return ShardedCollection.open(shards.folder)


@pytest.fixture
def labeled():
    graphs = [(3, [(0, 1), (1, 2)], ["b", "a", ("x", i % 3)]) for i in range(20)]
    return GraphCollection.from_edges(graphs)


@st.composite
def collections(draw):
    """Collections with one to five graphs, with node labels or without."""
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


def test_a_shard_has_the_codes_of_the_whole_collection(tmp_path, labeled):
    shards = write(tmp_path / "s", labeled, size=1)
    assert shards[2].node_vocabulary == labeled.node_vocabulary
    np.testing.assert_array_equal(shards[2].node_codes, labeled[2:3].node_codes)


def test_batches_are_cut_anew(tmp_path, labeled):
    with ShardWriter(tmp_path / "s", graphs_per_shard=6) as writer:
        for start in range(0, 20, 4):
            writer.add(labeled[start : start + 4])
    shards = ShardedCollection.open(tmp_path / "s")
    assert [len(shard) for shard in shards] == [6, 6, 6, 2]
    assert shards.to_collection() == labeled
    assert [len(shard) for shard in shards[1:3]] == [6, 6]


def test_no_graphs_at_all(tmp_path):
    shards = write(tmp_path / "s", GraphCollection.from_edges([]))
    assert len(shards) == 1
    assert shards.n_graphs == 0


def test_a_stopped_writer_goes_on(tmp_path, labeled):
    ShardWriter(tmp_path / "s", graphs_per_shard=6).add(labeled[:15])
    with pytest.raises(ShardError, match="is incomplete"):
        ShardedCollection.open(tmp_path / "s")
    with ShardWriter(tmp_path / "s", graphs_per_shard=6) as writer:
        assert writer.n_written == 12
        writer.add(labeled[writer.n_written :])
    assert ShardedCollection.open(tmp_path / "s").to_collection() == labeled


def test_finished_shards_are_not_written_over(tmp_path, labeled):
    write(tmp_path / "s", labeled)
    with pytest.raises(ShardError, match="finished shards already"):
        ShardWriter(tmp_path / "s")


def test_graphs_must_agree(tmp_path, labeled):
    plain, _ = make_egonets(3, random_state=0)
    writer = ShardWriter(tmp_path / "s", graphs_per_shard=2)
    writer.add(labeled[:2])
    with pytest.raises(ShardError, match="node labels"):
        writer.add(plain)
    writer = ShardWriter(tmp_path / "t", graphs_per_shard=2)
    writer.add(labeled[:2], [1, 2])
    with pytest.raises(ShardError, match="target was i"):
        writer.add(labeled[2:4], [1.5, 2])
    with pytest.raises(ValueError, match="y must contain one value for each of 2 graphs"):
        ShardWriter(tmp_path / "u").add(labeled[:2], [1])


@pytest.mark.parametrize(
    "y",
    [
        [True, False, True],
        pandas.Series(["a", "b", "a"]),
        pandas.Categorical(["a", "b", "a"]),
        np.array([1, 2, 1], dtype=object),
        np.array([[1.5], [2.0], [0.5]]),
    ],
)
def test_targets_of_every_kind_come_back(tmp_path, labeled, y):
    shards = write(tmp_path / "s", labeled[:3], y)
    assert shards.y.tolist() == np.asarray(y).ravel().tolist()


def test_damage_is_named(tmp_path, labeled):
    shards = write(tmp_path / "s", labeled)
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
        ({"n_node_attributes": 10**12}, "n_node_attributes must be"),
        ({"parts": []}, "it names no parts"),
        ({"writer": 7}, "writer must be a text"),
        ({"node_vocabulary": "abc"}, "labels must be a list"),
        ({"node_vocabulary": ["a", "a"]}, "distinct and in order"),
        ({"node_vocabulary": [10**400]}, "64 bits"),
        ({"parts": [dict(PART, n_nodes=10**400)]}, "n_nodes of part 0 must be an integer from 0"),
        ({"parts": [dict(PART, n_graphs=2.5)]}, "n_graphs of part 0 must be an integer"),
        ({"parts": [PART, PART]}, "part 1 must be part-000001"),
        ({"parts": [PART, dict(PART, name="PART-000000.NPZ")]}, "part 1 must be part-000001"),
        ({"parts": [dict(PART, name="../part-000000.npz")]}, "part 0 must be part-000000"),
        ({"parts": [dict(PART, name=["part-000000.npz"])]}, "part 0 must be part-000000"),
        ({"parts": [dict(PART, sha256=7)]}, "with its checksum"),
    ],
)
def test_damaged_manifests(tmp_path, labeled, change, message):
    write(tmp_path / "s", labeled)
    path = tmp_path / "s" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ShardError, match=rf"manifest\.json .*{message}"):
        ShardedCollection.open(tmp_path / "s")


@pytest.mark.parametrize("depth", [200, 10**5])
def test_a_manifest_of_deep_lists_is_refused_by_its_name(tmp_path, labeled, depth):
    write(tmp_path, labeled)
    path = tmp_path / "manifest.json"
    content = json.loads(path.read_text()) | {"node_vocabulary": ["x"]}
    path.write_text(json.dumps(content).replace('"x"', "[" * depth + "]" * depth))
    with pytest.raises(ShardError, match=r"manifest\.json "):
        ShardedCollection.open(tmp_path)


def test_one_writer_at_a_time(tmp_path, labeled):
    first = ShardWriter(tmp_path, graphs_per_shard=4)
    first.add(labeled[:4])
    second = ShardWriter(tmp_path, graphs_per_shard=4)
    assert second.n_written == 4
    with pytest.raises(ShardError, match=r"another process is writing to .*; use a separate folder"):
        first.add(labeled[4:8])
    second.add(labeled[4:])
    shards = second.finish()
    assert shards.to_collection() == labeled
    assert "writer" not in json.loads((tmp_path / "manifest.json").read_text())
    with pytest.raises(ShardError, match="another process"):
        first.finish()
    assert ShardedCollection.open(tmp_path).to_collection() == labeled


def test_a_second_writer_waits_until_a_part_is_entered(tmp_path, labeled, monkeypatch):
    first, second, threads = ShardWriter(tmp_path, graphs_per_shard=4), [], []
    check_alone = ShardWriter._check_alone

    def meet(writer):
        check_alone(writer)
        threads.append(threading.Thread(target=lambda: second.append(ShardWriter(tmp_path, graphs_per_shard=4))))
        threads[-1].start()
        threads[-1].join(0.2)

    with monkeypatch.context() as patch:
        patch.setattr(ShardWriter, "_check_alone", meet)
        first.add(labeled[:4])
    threads[0].join(60)
    assert (len(threads), second[0].n_written) == (1, 4)


def test_a_writer_that_was_stopped_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxwl.distributed.shards.WAIT_SECONDS", 0.1)
    with _locked(tmp_path), pytest.raises(ShardError, match=r"another process is writing to .*; use a separate folder"):
        ShardWriter(tmp_path)
    ShardWriter(tmp_path)


def test_what_a_killed_writer_left_is_cleared(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxwl.distributed.shards.WAIT_SECONDS", 0.1)
    lock, temporary = tmp_path / LOCK, tmp_path / f".0123{TEMPORARY_SUFFIX}"
    temporary.touch()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    if os.name == "posix":
        lock.write_text(f"{ended.pid} {platform.node()}")
        ShardWriter(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.unfinished.json"]
    for left in ("", f"{os.getpid()} {platform.node()}", f"{ended.pid} another"):
        lock.write_text(left)  # it may be in use
        with pytest.raises(ShardError, match=r"or remove manifest\.lock in it if none is"):
            ShardWriter(tmp_path)
    lock.unlink()
    ShardWriter(tmp_path).finish()
    assert not lock.exists()
    with _locked(tmp_path):
        lock.unlink()  # by a user who followed the advice


def test_a_refused_batch_leaves_the_writer_usable(tmp_path, labeled):
    writer = ShardWriter(tmp_path, graphs_per_shard=100)
    writer.add(labeled[:3], [1, 2, 3])
    with pytest.raises(ValueError, match="y must be given for all graphs or for none"):
        writer.add(labeled[3:6])
    writer.add(labeled[3:6], [4, 5, 6])
    assert writer.finish().y.tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_does_not_write_with_the_writer_of_its_parent(tmp_path, labeled):
    writer = ShardWriter(tmp_path, graphs_per_shard=4)
    child = os.fork()
    if child == 0:
        try:
            writer.add(labeled[:8])
        except ShardError:
            os._exit(3)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    writer.add(labeled)
    assert writer.finish().to_collection() == labeled
    with pytest.raises(TypeError, match="cannot be copied or sent to other processes"):
        pickle.dumps(writer)


@pytest.mark.parametrize("failing", ["np.savez", "sha256", "Manifest.write"])
def test_after_a_failure_no_graph_is_lost(tmp_path, labeled, monkeypatch, failing):
    writer = ShardWriter(tmp_path, graphs_per_shard=4)
    writer.add(labeled[:6])
    with monkeypatch.context() as patch:
        patch.setattr(f"relaxwl.distributed.shards.{failing}", Mock(side_effect=OSError("the disk is full")))
        with pytest.raises(OSError, match="the disk is full"):
            writer.add(labeled[6:12])
    writer.add(labeled[12:])
    assert writer.finish().to_collection() == labeled


def test_names_and_molecules_come_back(tmp_path, labeled):
    shards = write(tmp_path / "named", labeled.with_names([f"g{i}" for i in range(20)]))
    assert shards[1].names == tuple(f"g{i}" for i in range(7, 14))
    assert shards.names == shards.to_collection().names == tuple(f"g{i}" for i in range(20))
    assert write(tmp_path / "plain", labeled).names is None
    pytest.importorskip("rdkit")
    texts = ["C", "CC", "CCO", "CN", "O"]
    shards = write(tmp_path / "molecules", from_smiles(texts), [1, 2, 3, 4, 5], size=2)
    assert shards.to_collection().sources == tuple(texts)
    some, y = shards.sample(3, random_state=0)
    assert [texts[place - 1] for place in y] == list(some.sources) == list(some.names)


def test_molecules_of_rdkit_are_stored_as_graphs(tmp_path):
    chem = pytest.importorskip("rdkit.Chem")
    graphs = from_rdkit([chem.MolFromSmiles(text) for text in ("CCO", "C")])
    shards = write(tmp_path / "s", graphs)
    assert type(shards[0]) is GraphCollection
    assert shards[0] == graphs


def test_no_shards_have_no_targets(tmp_path, labeled):
    for y in ([1.5] * 20, ["a"] * 20, [True] * 20):
        shards = write(tmp_path / f"{y[0]}", labeled, y)[:0]
        assert shards.y.tolist() == []
        assert shards.y.dtype.kind == np.asarray(y).dtype.kind
        assert [len(part) for part in shards.sample(3)] == [0, 0]


def test_no_folder_of_shards(tmp_path):
    with pytest.raises(ShardError, match=r"no manifest\.json"):
        ShardedCollection.open(tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("indices", lambda a: np.where(np.arange(len(a)) == 3, 2 * 10**9, a).astype(a.dtype), "indices must lie"),
        ("indices", lambda a: a - 1, "indices must lie"),
        ("indices", lambda a: a.astype(np.float64), "must be of type int32"),
        ("indptr", lambda a: a * 1000, "indptr must ascend"),
        ("offsets", lambda a: a[:-1], "offsets must ascend"),
        ("node_codes", lambda a: a + 10**9, "node_codes must lie"),
        ("node_codes", None, "part-000000.npz is damaged: node_codes are missing"),
        ("node_attributes", lambda a: np.ones((21, 2)), "node attributes of the part and of the manifest differ"),
        ("node_attributes", lambda a: np.full((21, 1), np.inf), "attributes must be finite"),
        ("edge_vocabulary", lambda a: as_bytes(["s"]), "edge_codes are missing"),
        ("node_vocabulary", lambda a: as_bytes([1, True, "b", ["x", 0], ["x", 1]]), "distinct and in order"),
        ("node_vocabulary", lambda a: as_bytes(["a", "b", ["x", 0], ["x", 0.0], ["x", 1]]), "distinct and in order"),
        ("node_vocabulary", lambda a: a[:-1], "is damaged"),
        ("node_vocabulary", lambda a: as_bytes(["a", "a", "b", ["x", 0], ["x", 1]]), "distinct and in order"),
        ("node_vocabulary", lambda a: np.frombuffer(b"[" * 10**5, np.uint8), "is damaged"),
        ("names", lambda a: as_bytes(["one"]), "names must be a text for each of its 7 graphs"),
        ("names", lambda a: as_bytes([1] * 7), "names must be a text for each"),
        ("smiles", lambda a: as_bytes({}), "smiles must be a text for each"),
        ("smiles", lambda a: as_bytes(["C" * 2000] * 7), "is not the SMILES of a graph of"),
        ("smiles", lambda a: as_bytes(["\ud800"] * 7), "part-000000.npz is damaged: .* surrogates"),
        ("smiles", lambda a: as_bytes([CROWDED] * 7), "is damaged: .* its rings share too many atoms"),
        ("y", lambda a: a[:-1], "a target for each"),
        ("y", lambda a: a.astype(str), "a target for each"),
        ("y", None, "a target for each"),
    ],
)
def test_parts_that_were_made_to_be_wrong_are_refused(tmp_path, labeled, name, value, message):
    shards = changed(write(tmp_path, labeled, np.arange(20)), name, value)
    with pytest.raises(ShardError, match=message):
        _ = (shards[0], shards.y)


class Touching:
    """What makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return type(self.path).touch, (self.path,)


@pytest.mark.parametrize("name", ["y", "offsets", "names", "surplus"])
def test_a_pickle_in_a_part_is_not_executed(tmp_path, labeled, name):
    touched = tmp_path / "touched"
    shards = write(tmp_path / "s", labeled, np.arange(20))
    shards = changed(shards, name, lambda a: np.array([Touching(touched)], dtype=object))
    with pytest.raises(ShardError, match=r"part-000000\.npz cannot be read: Object arrays cannot be loaded"):
        shards[0]
    assert not touched.exists()


def test_members_of_a_part_are_arrays(tmp_path, labeled):
    write(tmp_path, labeled, np.arange(20))
    shards = changed(ShardedCollection.open(tmp_path), "y", None)
    with zipfile.ZipFile(tmp_path / "part-000000.npz", "a") as archive:
        archive.writestr("y", b"no array")
    shards = changed_checksum(shards)
    for use in (lambda: shards[0], lambda: shards.y):
        with pytest.raises(ShardError, match=r"part-000000\.npz cannot be read: it has members that are not arrays"):
            use()


def test_a_manifest_that_says_something_else_than_its_parts_is_refused(tmp_path, labeled):
    write(tmp_path, labeled)
    content = (tmp_path / "manifest.json").read_text()
    for old, new, message in (
        ('"n_graphs": 7', '"n_graphs": 8', "it differs from the manifest"),
        ('"n_node_attributes": null', '"n_node_attributes": 1048576', "differ in number"),
    ):
        (tmp_path / "manifest.json").write_text(content.replace(old, new, 1))
        with pytest.raises(ShardError, match=message):
            ShardedCollection.open(tmp_path)[0]


def test_a_sample_is_drawn_in_order(tmp_path):
    graphs, y = make_egonets(20, random_state=0)
    shards = shard(tmp_path / "s", graphs, 6, y)
    some, targets = shards.sample(7, random_state=1)
    numbers = [next(i for i, graph in enumerate(graphs) if graph == one) for one in some]
    assert numbers == sorted(set(numbers))
    assert targets.tolist() == y[numbers].tolist()
    assert shards.sample(100)[0] == graphs


def test_parts_that_unpack_to_too_much_are_refused(tmp_path):
    with ShardWriter(tmp_path / "s") as writer:
        writer.add(collection(random_graphs(3)))
    part = tmp_path / "s" / "part-000000.npz"
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("offsets.npy", bytes(2**28))
    manifest = tmp_path / "s" / "manifest.json"
    content = json.loads(manifest.read_text())
    from relaxwl._storage import sha256

    content["parts"][0]["sha256"] = sha256(part)
    manifest.write_text(json.dumps(content))
    with pytest.raises(ShardError, match="would unpack to 256 MiB"):
        ShardedCollection.open(tmp_path / "s")[0]
