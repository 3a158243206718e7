"""Fitted kernels in files: as they were, or refused."""

import hashlib
import io
import json
import pickle
import zipfile

import joblib
import numpy as np
import pytest

from directed_graphs import directed_collection, random_digraphs
from kernels.models import TEST, TRAIN, assert_equal_kernels
from relaxwl import EditCost, GraphCollection, RelaxedWeisfeilerLehman, WassersteinKMeans, WeisfeilerLehman
from relaxwl.clustering.partitioners import (
    IdentityPartitioner,
    KMeansPartitioner,
    KMedoidsPartitioner,
    RadiusPartitioner,
)
from relaxwl.explanation import explain
from relaxwl.kernels.base import CountKernel
from relaxwl.kernels.persistence import ModelFileError, _checksum
from relaxwl.kernels.registry import get_kernel, load_kernel
from small_graphs import ATOMS, collection, random_graphs, with_attributes

KERNELS = {
    "WL": WeisfeilerLehman(2),
    "WL edge labels": WeisfeilerLehman(2, "edge", edge_labels=True, depth_weights=[1.0, 0.5, np.float64(0.25)]),
    "WL shortest paths": WeisfeilerLehman(np.int64(1), "shortest-path", normalize=True),
    "R-WL*": RelaxedWeisfeilerLehman(2, 2, random_state=0),
    "R-WL": RelaxedWeisfeilerLehman(2, 2, approximate=False, random_state=0),
    "edge labels": RelaxedWeisfeilerLehman(2, 2, edge_labels=True, base="edge", random_state=0),
    "exact edge labels": RelaxedWeisfeilerLehman(2, 2, edge_labels=True, approximate=False, random_state=0),
    "real centres": RelaxedWeisfeilerLehman(2, 2, center="mean", base="shortest-path", random_state=0),
    "identity": RelaxedWeisfeilerLehman(2, 1, partitioner=IdentityPartitioner()),
    "k-means": RelaxedWeisfeilerLehman(2, 1, partitioner=KMeansPartitioner(WassersteinKMeans(3.0)), random_state=0),
    "k-medoids": RelaxedWeisfeilerLehman(2, 1, partitioner=KMedoidsPartitioner(), random_state=0),
    "radius": RelaxedWeisfeilerLehman(2, 1, partitioner=RadiusPartitioner(2.0)),
    "matrix": RelaxedWeisfeilerLehman(1, 1, cost=EditCost.from_matrix(ATOMS, 1 - np.eye(4)), random_state=0),
    "generator": RelaxedWeisfeilerLehman(1, 1, random_state=np.random.default_rng(0)),
}
kernels = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


@kernels
def test_saved_and_loaded_is_the_same(tmp_path, kernel):
    kernel.fit(collection(TRAIN))
    kernel.save(tmp_path / "model.rwl")
    loaded = type(kernel).load(str(tmp_path / "model.rwl"))
    assert_equal_kernels(kernel, loaded)
    parameters = kernel.get_params(deep=False)
    for name, value in loaded.get_params(deep=False).items():
        if name == "random_state" and not isinstance(parameters[name], int):
            assert value is None
        elif name == "partitioner":
            assert type(value) is type(parameters[name])
        else:
            assert value == parameters[name]
    for levels, loaded_levels in zip(
        getattr(kernel, "partitions_", []), getattr(loaded, "partitions_", []), strict=True
    ):
        for level, loaded_level in zip(levels, loaded_levels, strict=True):
            np.testing.assert_array_equal(level.examples, loaded_level.examples)
            trees = [[str(some.center_tree(c)) for c in range(len(some))] for some in (level, loaded_level)]
            assert trees[0] == trees[1]
    # A loaded model is an estimator like any other: it can be saved again, and fitted again.
    loaded.save(tmp_path / "again.rwl")
    assert_equal_kernels(kernel, CountKernel.load(tmp_path / "again.rwl"))


@kernels
def test_pickle_and_joblib(tmp_path, kernel):
    kernel.fit(collection(TRAIN))
    assert_equal_kernels(kernel, pickle.loads(pickle.dumps(kernel)))
    joblib.dump(kernel, tmp_path / "model.joblib")
    assert_equal_kernels(kernel, joblib.load(tmp_path / "model.joblib"))


@pytest.mark.parametrize("labelled", [False, True])
def test_attributes_are_kept(tmp_path, labelled):
    train, test = with_attributes(TRAIN, 0, labelled), with_attributes(TEST, 1, labelled)
    cost = EditCost.from_attributes(blank=1.0, n_codes=4)
    kernel = RelaxedWeisfeilerLehman(1, 1, cost=cost, random_state=0).fit(train)
    kernel.save(tmp_path / "model.rwl")
    loaded = RelaxedWeisfeilerLehman.load(tmp_path / "model.rwl")
    assert (kernel.transform(test) != loaded.transform(test)).nnz == 0
    assert str(loaded.partitions_[0][1].center_tree(0)) == str(kernel.partitions_[0][1].center_tree(0))


def test_missing_values_and_costs_of_labels_are_kept(tmp_path):
    graphs = with_attributes(TRAIN, 0, labelled=True)
    attributes = graphs.node_attributes.copy()
    attributes[::3, 1] = np.nan
    parts = {name: getattr(graphs, name) for name in GraphCollection.__slots__}
    graphs = GraphCollection(**{**parts, "node_attributes": attributes})
    known = graphs.node_vocabulary
    labels = EditCost.from_matrix(known, 0.5 * (1 - np.eye(len(known) + 1)))
    cost = EditCost.from_attributes(n_codes=5, relabel=labels, scale=None).with_missing(0.5)
    kernel = RelaxedWeisfeilerLehman(1, 1, cost=cost, random_state=0).fit(graphs)
    kernel.save(tmp_path / "model.rwl")
    loaded = RelaxedWeisfeilerLehman.load(tmp_path / "model.rwl")
    assert loaded.cost == cost
    assert (kernel.transform(graphs) != loaded.transform(graphs)).nnz == 0
    centres = [kernel.partitions_[0][0].center_tree(group) for group in range(len(kernel.partitions_[0][0]))]
    assert any("?" in str(tree) for tree in centres)


def test_labels_of_every_kind_are_kept(tmp_path):
    labels = [1, 2.5, "a", (1, "b"), ("x", (2, "y"))]
    graphs = collection([(5, [(0, 1), (1, 2), (2, 3), (3, 4)], labels, None)])
    kernel = WeisfeilerLehman(1).fit(graphs)
    kernel.save(tmp_path / "model.rwl")
    assert WeisfeilerLehman.load(tmp_path / "model.rwl").node_vocabulary_ == kernel.node_vocabulary_


def test_nothing_is_kept_twice(tmp_path):
    kernel = RelaxedWeisfeilerLehman(3, 1, approximate=False, random_state=0).fit(collection(random_graphs(60, 9)))
    kernel.save(tmp_path / "model.rwl")
    with zipfile.ZipFile(tmp_path / "model.rwl") as archive:
        contents = [archive.read(name) for name in archive.namelist() if name.endswith(".npy")]
    large = [content for content in contents if len(content) > 10_000]
    assert large
    assert len(set(large)) == len(large)


# ------------------------------------------------------------------------------------------------ what cannot be kept


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": lambda rows: 2}, "n_clusters holds a function.*use pickle or joblib.dump"),
        ({"cost": EditCost.from_callable(lambda a, b: float(a != b))}, "pickle"),
    ],
)
def test_models_with_code_are_refused_and_leave_no_file(tmp_path, parameters, message):
    kernel = RelaxedWeisfeilerLehman(1, 1, random_state=0, **parameters).fit(collection(TRAIN))
    with pytest.raises((TypeError, ValueError), match=message):
        kernel.save(tmp_path / "model.rwl")
    assert not list(tmp_path.iterdir())


def test_an_interrupted_save_leaves_the_old_file(model, monkeypatch):
    path, kernel = model
    before = path.read_bytes()

    def interrupt(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipFile, "writestr", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kernel.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_unfitted_and_nowhere(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        WeisfeilerLehman().save(tmp_path / "model.rwl")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        WeisfeilerLehman(1).fit(collection(TRAIN)).save(tmp_path / "nowhere" / "model.rwl")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        WeisfeilerLehman.load(tmp_path / "missing.rwl")


# --------------------------------------------------------------------------------------------------- damaged files


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_files_that_are_no_models(tmp_path, content):
    path = tmp_path / "model.rwl"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a relaxwl model"):
        RelaxedWeisfeilerLehman.load(path)


def test_a_pickle_is_not_executed(tmp_path):
    path = tmp_path / "model.rwl"
    path.write_bytes(pickle.dumps(WeisfeilerLehman()))
    with pytest.raises(ModelFileError):
        WeisfeilerLehman.load(path)


def test_truncated_anywhere(model):
    path, _ = model
    content = path.read_bytes()
    for length in np.linspace(0, len(content) - 1, 25).astype(int):
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match="not a relaxwl model, or it is damaged or cut off"):
            RelaxedWeisfeilerLehman.load(path)


def test_damaged_anywhere_is_noticed_or_harmless(model):
    path, kernel = model
    content = path.read_bytes()
    expected = kernel.transform(collection(TEST)).toarray()
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(len(content), size=300):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            loaded = RelaxedWeisfeilerLehman.load(path)
        except ModelFileError:
            refused += 1
        else:  # a time stamp in the zip, say
            np.testing.assert_array_equal(loaded.transform(collection(TEST)).toarray(), expected)
    assert refused > 150


def test_the_wrong_class(model):
    path, _ = model
    with pytest.raises(ModelFileError, match="holds a RelaxedWeisfeilerLehman, not one of WeisfeilerLehman"):
        WeisfeilerLehman.load(path)


def test_a_file_that_would_fill_the_memory_is_refused(model, monkeypatch):
    path, _ = model
    monkeypatch.setattr("relaxwl.kernels.persistence.available_memory", lambda: 100.0)
    with pytest.raises(ModelFileError, match="would unpack to"):
        RelaxedWeisfeilerLehman.load(path)


def test_a_changed_tree_of_values_is_noticed(model):
    path, _ = model
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(b'"n_partitions": ', b'"n_partitions": 1'))
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ModelFileError, match=r"model\.json does not match its checksum"):
        RelaxedWeisfeilerLehman.load(path)


def test_what_unpacks_to_much_more_than_its_size_is_refused(model):
    path, _ = model
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("arrays/999.npy", bytes(1 << 28))
    with pytest.raises(ModelFileError, match="would unpack to 256 MiB and the limit is"):
        RelaxedWeisfeilerLehman.load(path)


def test_a_long_tree_of_values_is_refused_before_it_is_read(model, monkeypatch):
    path, kernel = model
    monkeypatch.setattr("relaxwl.kernels.persistence.MAX_JSON_BYTES", 100)
    with pytest.raises(ModelFileError, match=r"model\.json of more than 100 bytes"):
        RelaxedWeisfeilerLehman.load(path)
    with pytest.raises(ValueError, match="more than a model file holds"):
        kernel.save(path)


@pytest.mark.parametrize(
    ("old", "new"), [(b"'shape': (4, 4), ", b"'shape': (4,9**9)"), (b"'<f8'", b"'|O8'"), (b"False", b"True ")]
)
def test_arrays_that_are_not_what_they_claim_are_refused(model, old, new):
    path, _ = model
    buffer, changed = io.BytesIO(), 0
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(buffer, "w") as target:
        header = json.loads(source.read("model.json"))
        for number in range(len(header["arrays"])):
            content = source.read(f"arrays/{number}.npy")
            changed += old in content
            content = content.replace(old, new)
            header["arrays"][number] = hashlib.sha256(content).hexdigest()
            target.writestr(f"arrays/{number}.npy", content)
        target.writestr("model.json", json.dumps({**header, "checksum": _checksum(header)}))
    assert changed
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ModelFileError, match=r"is not what its header says|not a relaxwl model"):
        RelaxedWeisfeilerLehman.load(path)


# ------------------------------------------------------------------------------------------------- kernels of any class


@pytest.mark.parametrize("name", ["ve-hist", "wl", "gs", "sp", "pwl", "wl-oa", "rwl", "rwl-star"])
def test_every_kernel_with_features_can_be_kept(tmp_path, name):
    settings = {"max_depth": 2} if name in ("wl", "pwl", "wl-oa", "rwl", "rwl-star") else {}
    kernel = get_kernel(name).make(random_state=0, **settings).fit(collection(TRAIN))
    kernel.save(tmp_path / "model.rwl")
    loaded = load_kernel(tmp_path / "model.rwl")
    assert type(loaded) is type(kernel)
    assert_equal_kernels(kernel, loaded)


def test_an_array_whose_header_is_no_header_is_refused(tmp_path):
    path = tmp_path / "model.rwl"
    WeisfeilerLehman(1).fit(collection(random_graphs(3))).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    header = json.loads(members["model.json"])
    damaged = members["arrays/0.npy"].replace(b"'shape': (", b"'shape': ((", 1)
    header["arrays"][0] = hashlib.sha256(damaged).hexdigest()
    body = {name: value for name, value in header.items() if name != "checksum"}
    header["checksum"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    members |= {"arrays/0.npy": damaged, "model.json": json.dumps(header).encode()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match="damaged"):
        WeisfeilerLehman.load(path)


@pytest.mark.parametrize("directions", ["both", "in"])
def test_models_of_directed_graphs_are_kept_and_explained(directions, tmp_path):
    graphs = directed_collection(random_digraphs(16, seed=5), arc_labels=True)
    y = np.arange(16) % 2
    for kernel in (
        WeisfeilerLehman(2, edge_labels=True, directions=directions),
        RelaxedWeisfeilerLehman(2, edge_labels=True, directions=directions, random_state=0),
    ):
        features = kernel.fit_transform(graphs)
        kernel.save(tmp_path / "model")
        loaded = type(kernel).load(tmp_path / "model")
        assert loaded.directed_
        assert loaded.directions == directions
        assert (loaded.transform(graphs) != features).nnz == 0
        explain(loaded, graphs, y)
