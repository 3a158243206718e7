import copy
import hashlib
import io
import json
import pickle
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest

from relaxwl import EditCost, GraphCollection, RelaxedWeisfeilerLehman, WassersteinKMeans, WeisfeilerLehman
from relaxwl._memory import MemoryRefusal
from relaxwl.clustering.partitioners import (
    IdentityPartitioner,
    KMeansPartitioner,
    KMedoidsPartitioner,
    RadiusPartitioner,
)
from relaxwl.kernels.base import CountKernel
from relaxwl.kernels.model_schema import ATTRIBUTES, FITTED, of, register, vector
from relaxwl.kernels.persistence import ModelFileError, _checksum, load_model, save_model
from relaxwl.kernels.registry import get_kernel, load_kernel
from small_graphs import ATOMS, BONDS, collection, random_graphs, with_attributes

TRAIN, TEST = random_graphs(15, bonds=BONDS), random_graphs(8, 8, seed=1, bonds=BONDS)

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


@pytest.fixture
def model(tmp_path):
    """Save a small model; return its path and the kernel."""
    kernel = RelaxedWeisfeilerLehman(2, 1, random_state=0).fit(collection(TRAIN))
    kernel.save(tmp_path / "model.rwl")
    return tmp_path / "model.rwl", kernel


def assert_equal_kernels(kernel, loaded):
    for graphs in (collection(TRAIN), collection(TEST)):
        assert (kernel.transform(graphs) != loaded.transform(graphs)).nnz == 0
    np.testing.assert_array_equal(
        loaded.kernel_matrix(collection(TEST), collection(TRAIN)),
        kernel.kernel_matrix(collection(TEST), collection(TRAIN)),
    )
    assert loaded.get_feature_names_out().tolist() == kernel.get_feature_names_out().tolist()


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
    cost = EditCost.from_attributes(n_codes=5, relabel=labels).with_missing(0.5)
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


def rewritten(path, change):
    """Return the bytes of the model file with its header changed by a function."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "model.json":
                header = json.loads(content)
                change(header)
                content = json.dumps({**header, "checksum": _checksum(header)}).encode()
            target.writestr(name, content)
    return buffer.getvalue()


def replaced(header, **values):
    header.update(values)


def objects(tree, kind):
    """Yield the objects of a kind within a tree of plain values."""
    if isinstance(tree, list):
        for item in tree:
            yield from objects(item, kind)
    elif isinstance(tree, dict):
        if tree.get("object") == kind:
            yield tree
        for item in tree.values():
            yield from objects(item, kind)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: replaced(header, version=99), "written in format 99 by a newer relaxwl.*upgrade relaxwl"),
        (lambda header: replaced(header, version="new"), "not a relaxwl model, or it is damaged"),
        (lambda header: replaced(header, format="other"), "is not a relaxwl model"),
        (lambda header: header.pop("version"), "not a relaxwl model, or it is damaged"),
        (lambda header: header.pop("arrays"), "not a relaxwl model, or it is damaged"),
        (lambda header: replaced(header, arrays=["0" * 64]), "array 0 does not match its checksum"),
        (lambda header: header.pop("model"), "does not hold a complete model"),
        (lambda header: replaced(header, model=[]), "does not hold a complete model"),
        (lambda header: header["model"].pop("state"), "does not hold a complete model"),
        (lambda header: replaced(header["model"], state=3), "does not hold a complete model"),
        (lambda header: replaced(header["model"], **{"class": "os.system"}), "holds a os.system, not one of"),
        (lambda header: replaced(header["model"]["state"], cost={"object": "Popen"}), "does not hold a complete"),
        (lambda header: replaced(header["model"]["state"], cost={"array": 10**6}), "does not hold a complete"),
        (lambda header: replaced(header["model"]["state"], max_depth=-1), "max_depth must be a whole number"),
        (lambda header: replaced(header["model"]["state"], chains_={"list": []}), "has no attribute chains_"),
        (lambda header: replaced(header["model"]["state"], partitions_={"list": []}), "does not hold a complete"),
        (lambda header: replaced(next(objects(header["model"], "Rows"))["state"], more=1), "Rows has no more"),
    ],
)
def test_foreign_and_newer_headers_are_refused(model, change, message):
    path, _ = model
    path.write_bytes(rewritten(path, change))
    with pytest.raises(ModelFileError, match=message):
        RelaxedWeisfeilerLehman.load(path)


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


@pytest.mark.parametrize("depth", [300, 100_000])
def test_values_nested_too_deep_are_refused(tmp_path, depth):
    path = tmp_path / "model.rwl"
    tree = '{"list": [' * depth + "]}" * depth
    with zipfile.ZipFile(path, "w") as archive:
        state = f'{{"class": "WeisfeilerLehman", "state": {{"rows_": {tree}}}}}'
        archive.writestr("model.json", f'{{"format": "relaxwl-model", "version": 1, "arrays": [], "model": {state}}}')
    if depth == 300:
        path.write_bytes(rewritten(path, lambda header: None))  # with a valid checksum
    with pytest.raises(ModelFileError):
        WeisfeilerLehman.load(path)


def test_a_changed_tree_of_values_is_noticed(model):
    path, _ = model
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(b'"n_partitions": ', b'"n_partitions": 1'))
    path.write_bytes(buffer.getvalue())
    with pytest.raises(ModelFileError, match=r"model\.json does not match its checksum"):
        RelaxedWeisfeilerLehman.load(path)


def spoil(item, **values):
    for name, value in values.items():
        object.__setattr__(item, name, value)


def level(kernel, depth=1):
    return kernel.partitions_[0][depth]


def spoil_centers(kernel, depth=1, **changes):
    """Change arrays of a depth's centres wherever these are kept."""
    centers = level(kernel, depth).centers
    spoil(centers, **{name: change(getattr(centers, name)) for name, change in changes.items()})


def spoil_fed(kernel, depth=0, **values):
    spoil(level(kernel, depth), fed=replace(level(kernel, depth).fed, **values))


def beyond(points):
    return points + 2 * 10**9


CRAFTED = {  # what somebody may write into a file, its checksums all right
    "points beyond": (lambda k: spoil_centers(k, points=beyond), "points must be"),
    "points below": (lambda k: spoil_centers(k, points=lambda points: points - 9), "points must be"),
    "points unsorted": (lambda k: spoil_centers(k, 2, points=lambda points: points * 0), "ascend"),
    "points of floats": (lambda k: spoil_centers(k, points=lambda points: points * 1.0), "must be a vector"),
    "points of 64 bits": (lambda k: spoil_centers(k, points=lambda points: points.astype(np.int64)), "int32 and int64"),
    "more points": (lambda k: spoil_centers(k, n_children=lambda _: 10**6), "must be over the"),
    "indptr beyond": (lambda k: spoil_centers(k, indptr=lambda indptr: indptr * 9), "indptr must be"),
    "masses": (lambda k: spoil_centers(k, counts=lambda counts: counts * np.nan), "counts must be finite"),
    "half masses": (lambda k: spoil_centers(k, counts=lambda counts: counts.astype(np.float16)), "masses float64"),
    "roots": (lambda k: spoil_centers(k, 0, roots=lambda roots: roots + 99), "roots must be from 0 to 2"),
    "roots below": (lambda k: spoil_centers(k, 0, roots=lambda roots: roots - 99), "roots must be from 0"),
    "drawn beyond": (  # a segmentation fault in explain() once
        lambda k: spoil(level(k).trees, rows=replace(level(k).centers, points=beyond(level(k).centers.points))),
        "points must be",
    ),
    "drawn in parts": (
        lambda k: spoil(level(k).trees, rows=replace(level(k).centers, counts=level(k).centers.counts / 3)),
        "must be drawn as trees",
    ),
    "fewer drawn": (lambda k: spoil(level(k).trees, rows=level(k).centers.take(np.arange(1))), "as many as the groups"),
    "other centres": (
        lambda k: spoil(level(k).partitioner, centers_=level(k).centers.take(np.arange(1))),
        "as many as the groups",
    ),
    "fewer symbols": (lambda k: spoil(k.root_encoding_, symbols=ATOMS[:1]), "symbols must be the labels"),
    "no symbols": (lambda k: spoil(k.root_encoding_, symbols=(), labels=()), "roots must be from 0"),
    "cost": (lambda k: spoil(k.root_encoding_, cost=None), "must be a EditCost"),
    "fed is another": (lambda k: spoil_fed(k, known=level(k).centers), "what is fed must be the centres"),
    "fed is small": (lambda k: spoil_fed(k, distances=np.zeros((2, 2))), "must be a matrix of 4 rows"),
    "fed is missing": (lambda k: spoil_fed(k, distances=None), "must be a matrix"),
    "fed is nothing": (lambda k: spoil(level(k, 0), fed=None), "must be a Fed"),
    "fed at the end": (lambda k: spoil(level(k, 2), fed=level(k, 1).fed), "must feed nothing"),
    "fed is infinite": (lambda k: spoil_fed(k, distances=level(k, 0).fed.distances + np.inf), "must hold finite"),
    "fed is text": (lambda k: spoil_fed(k, distances=level(k, 0).fed.distances.astype(str)), "must hold numbers"),
    "fed is half": (lambda k: spoil_fed(k, distances=level(k, 0).fed.distances.astype(np.float16)), "not float16"),
    "counters": (lambda k: spoil(k._counters[0][1], n_columns=1), "counters know"),
    "columns": (lambda k: spoil(k._counters[0][1], n_columns=10**15), "n_columns must be a whole number"),
    "many columns": (lambda k: spoil(k._counters[0][1], n_columns=2**31 - 1), "counters know"),
    "counters of lists": (lambda k: spoil(k, _counters=[[]]), "counters know"),
    "no counters": (lambda k: spoil(k, _counters=[]), "counters for each partition"),
    "other attributes": (lambda k: spoil(k, more_=1), "has no attribute more_"),
    "sizes": (
        lambda k: spoil(level(k), members_=level(k).summary._replace(sizes=np.zeros(1, np.int64))),
        "each of its",
    ),
    "examples": (lambda k: spoil(level(k), members_=level(k).summary._replace(examples=None)), "examples must be"),
    "depths": (lambda k: spoil(level(k), depth=7), "must be numbered"),
    "no depths": (lambda k: spoil(k, partitions_=[[]]), "must all have . depths"),
    "not fitted": (lambda k: spoil(level(k), partitioner=KMeansPartitioner()), "centers_"),
    "no partitioner": (lambda k: spoil(level(k), partitioner=None), "is no partitioner"),
    "threads": (lambda k: spoil(k, n_jobs=float("nan")), "n_jobs must be an integer or None, not nan"),
    "their threads": (lambda k: spoil(level(k).partitioner.kmeans, n_jobs=0.5), "n_jobs must be an integer or None"),
    "not a list": (lambda k: spoil(k, partitions_=3), "partitions_ must be a list"),
}


@pytest.mark.parametrize(("change", "message"), CRAFTED.values(), ids=CRAFTED.keys())
def test_crafted_contents_are_refused(model, change, message):
    path, kernel = model
    change(kernel)
    save_model(kernel, path)
    with pytest.raises(ModelFileError, match=message):
        RelaxedWeisfeilerLehman.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda kernel: spoil(kernel._counters[1], keys=kernel._counters[1].keys[::-1].copy()), "keys must ascend"),
        (lambda kernel: spoil(kernel._counters[1], n_known=3), "counters know"),
        (lambda kernel: spoil(kernel.rows_[1], n_children=10**6), "points"),
        (lambda kernel: spoil(kernel.rows_[1], counts=-kernel.rows_[1].counts), "rows_.counts"),
        (lambda kernel: spoil(kernel.rows_[1], counts=kernel.rows_[1].counts / 2), "whole counts"),
        (lambda kernel: spoil(kernel, rows_=[]), "rows for each depth"),
        (lambda kernel: spoil(kernel, n_graphs_in_=10**15), "n_graphs_in_ must be a whole number"),
        (lambda kernel: spoil(kernel, node_vocabulary_=None), "roots must be from 0 to 0"),
    ],
)
def test_crafted_contents_of_the_plain_kernel_are_refused(tmp_path, change, message):
    kernel = WeisfeilerLehman(1, "edge").fit(collection(TRAIN))
    change(kernel)
    save_model(kernel, tmp_path / "model.rwl")
    with pytest.raises(ModelFileError, match=message):
        WeisfeilerLehman.load(tmp_path / "model.rwl")


def test_samples_that_would_never_end_are_refused(tmp_path):
    kernel = get_kernel("gs").make(random_state=0).fit(collection(TRAIN))
    kernel.n_samples_ = 10**15
    kernel.save(tmp_path / "model.rwl")
    with pytest.raises(ModelFileError, match="n_samples_ must be a whole number"):
        load_kernel(tmp_path / "model.rwl")


@pytest.mark.parametrize("name", ["ve-hist", "gs", "sp", "pwl", "wl-oa", "odd-sth", "gwl", "wl"])
def test_a_kernel_without_one_of_its_parts_is_refused(tmp_path, name):
    kernel = get_kernel(name).make(random_state=0).fit(collection(TRAIN))
    for part in FITTED[type(kernel).__name__]:
        incomplete = copy.copy(kernel)
        delattr(incomplete, part)
        save_model(incomplete, tmp_path / "model.rwl")
        with pytest.raises(ModelFileError, match=f"{part} is missing"):
            load_kernel(tmp_path / "model.rwl")


@pytest.mark.parametrize(
    "change",
    [
        lambda kernel: spoil(kernel, center_bounds_=[bounds.astype(np.float32) for bounds in kernel.center_bounds_]),
        lambda kernel: spoil(kernel, center_bounds_=[bounds[:-1] for bounds in kernel.center_bounds_]),
        lambda kernel: spoil(kernel, centers_=[], center_bounds_=[]),
        lambda kernel: spoil(kernel, centers_=[(parts[0] * np.nan, *parts[1:]) for parts in kernel.centers_]),
    ],
)
def test_gradual_groups_that_do_not_fit_are_refused(tmp_path, change):
    kernel = get_kernel("gwl").make(random_state=0, max_depth=2).fit(collection(TRAIN))
    change(kernel)
    save_model(kernel, tmp_path / "model.rwl")
    with pytest.raises(ModelFileError, match=r"center_bounds_ must|centers_ must be finite|centres and counters"):
        load_kernel(tmp_path / "model.rwl")


@pytest.mark.parametrize("number", [-1, 10**9])
def test_types_of_graphlets_that_there_are_not_are_refused(tmp_path, number):
    kernel = get_kernel("gs").make(random_state=0).fit(collection(TRAIN))
    kernel.graphlets_[-1] = number
    kernel.save(tmp_path / "model.rwl")
    with pytest.raises(ModelFileError, match="graphlets_ must be ascending numbers"):
        load_kernel(tmp_path / "model.rwl")


@pytest.mark.parametrize("depth", [10**9, 3, 0])
def test_depths_that_are_not_those_of_the_model_are_refused(tmp_path, depth):
    for kernel in (WeisfeilerLehman(2), RelaxedWeisfeilerLehman(2, 1, random_state=0)):
        kernel.fit(collection(TRAIN)).max_depth = depth
        save_model(kernel, tmp_path / "model.rwl")
        with pytest.raises(ModelFileError, match="depth"):
            load_kernel(tmp_path / "model.rwl")


def test_masses_beyond_memory_are_not_drawn(model):
    path, kernel = model
    spoil_centers(kernel, counts=lambda counts: counts * 1e12)
    save_model(kernel, path)
    loaded = level(RelaxedWeisfeilerLehman.load(path))
    heaviest = int(loaded.centers.masses.argmax())
    with pytest.raises(MemoryRefusal, match=r"a tree with .*e\+12 children would need"):
        loaded.center_tree(heaviest)


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


# ------------------------------------------------------------------------ format 1, and models in models


FORMAT1 = sorted((Path(__file__).parent / "format1").glob("*.rwl"))


@pytest.mark.parametrize("path", FORMAT1, ids=lambda path: path.stem)
def test_files_of_format_1_give_the_same_features(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    kernel = load_kernel(path)
    attributes = "attributes" in path.stem
    graphs = with_attributes(TEST, 1, True) if attributes else collection(TEST)
    features = kernel.transform(graphs).toarray()
    np.testing.assert_array_equal(features, np.array(expected["features"]))
    assert len(kernel.get_feature_names_out()) == features.shape[1]
    if hasattr(kernel, "partitions_"):
        assert [[one.sizes.tolist() for one in levels] for levels in kernel.partitions_] == expected["sizes"]


def test_format_1_is_tried():
    assert len(FORMAT1) >= 8


class Pair:
    """A model that holds two kernels, an array and plain values, as predictors do."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def get_params(self, deep=True):
        return {"scale": self.scale}

    def _validate_parameters(self):
        pass


def test_models_may_hold_models(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxwl.kernels.model_schema.ATTRIBUTES", dict(ATTRIBUTES))
    register(attributes={"kernels_": of(dict), "coef_": vector(np.float64, 2)})
    one, other = WeisfeilerLehman(1).fit(collection(TRAIN)), RelaxedWeisfeilerLehman(1, 1, random_state=0)
    pair = Pair(2.0)
    pair.kernels_ = {"one": one, "more": [other.fit(collection(TRAIN)), one]}
    pair.coef_ = np.arange(6.0).reshape(2, 3)
    save_model(pair, tmp_path / "pair.rwl")
    kinds = {kind.__name__: kind for kind in (Pair, WeisfeilerLehman, RelaxedWeisfeilerLehman)}
    loaded = load_model(tmp_path / "pair.rwl", kinds)
    assert loaded.scale == 2.0
    np.testing.assert_array_equal(loaded.coef_, pair.coef_)
    assert_equal_kernels(one, loaded.kernels_["one"])
    assert_equal_kernels(other, loaded.kernels_["more"][0])
    assert loaded.kernels_["more"][1] is loaded.kernels_["one"]
    spoil_centers(other, points=beyond)
    save_model(pair, tmp_path / "pair.rwl")
    with pytest.raises(ModelFileError, match="points must be"):
        load_model(tmp_path / "pair.rwl", kinds)


# ------------------------------------------------------------------------------------------------- kernels of any class


@pytest.mark.filterwarnings("ignore:transform returns counts")
@pytest.mark.parametrize("name", ["ve-hist", "wl", "gs", "sp", "pwl", "wl-oa", "rwl", "rwl-star"])
def test_every_kernel_with_features_can_be_kept(tmp_path, name):
    settings = {"max_depth": 2} if name in ("wl", "pwl", "wl-oa", "rwl", "rwl-star") else {}
    kernel = get_kernel(name).make(random_state=0, **settings).fit(collection(TRAIN))
    kernel.save(tmp_path / "model.rwl")
    loaded = load_kernel(tmp_path / "model.rwl")
    assert type(loaded) is type(kernel)
    assert_equal_kernels(kernel, loaded)


@pytest.mark.slow
def test_a_kernel_that_was_not_imported_is_found(tmp_path):
    get_kernel("sp").make().fit(collection(TRAIN)).save(tmp_path / "model.rwl")
    program = "import sys, relaxwl; print(relaxwl.kernels.load_kernel(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(tmp_path / "model.rwl")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240).stdout
    assert printed.strip() == "ShortestPath()"


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
