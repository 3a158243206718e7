"""Fitted kernels in files: as they were, or refused."""

import io
import json
import pickle
import reprlib
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from directed_graphs import directed_collection, random_digraphs
from kernels.models import TEST, TRAIN, assert_equal_kernels, objects, opened, replaced, rewritten, signed, written
from relaxed_kernels import optimized
from relaxwl import EditCost, GraphCollection, RelaxedWeisfeilerLehman, WassersteinKMeans, WeisfeilerLehman
from relaxwl.clustering.partitioners import IdentityPartitioner, KMeansPartitioner
from relaxwl.explanation import explain
from relaxwl.kernels.base import CountKernel
from relaxwl.kernels.persistence import ModelFileError
from relaxwl.kernels.registry import get_kernel
from small_graphs import ATOMS, collection, random_graphs, with_attributes

KERNELS = {
    "WL": WeisfeilerLehman(2),
    "WL edge labels": WeisfeilerLehman(2, "edge", edge_labels=True, depth_weights=[1.0, 0.5, np.float64(0.25)]),
    "WL shortest paths": WeisfeilerLehman(np.int64(1), "shortest-path", normalize=True),
    "R-WL*": optimized(2, 2, random_state=0),
    "R-WL": optimized(2, 2, approximate=False, random_state=0),
    "edge labels": optimized(2, 2, edge_labels=True, base="edge", random_state=0),
    "exact edge labels": optimized(2, 2, edge_labels=True, approximate=False, random_state=0),
    "real centers": optimized(2, 2, center="mean", base="shortest-path", random_state=0),
    "identity": optimized(2, 1, partitioner=IdentityPartitioner()),
    "k-means": optimized(2, 1, partitioner=KMeansPartitioner(WassersteinKMeans(3.0)), random_state=0),
    "matrix": optimized(1, 1, cost=EditCost.from_matrix(ATOMS, 1 - np.eye(4)), random_state=0),
    "generator": optimized(1, 1, random_state=np.random.default_rng(0)),
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


@pytest.mark.parametrize("labeled", [False, True])
def test_attributes_are_kept(tmp_path, labeled):
    train, test = with_attributes(TRAIN, 0, labeled), with_attributes(TEST, 1, labeled)
    cost = EditCost.from_attributes(blank=1.0, n_codes=4)
    kernel = optimized(1, 1, cost=cost, random_state=0).fit(train)
    kernel.save(tmp_path / "model.rwl")
    loaded = RelaxedWeisfeilerLehman.load(tmp_path / "model.rwl")
    assert (kernel.transform(test) != loaded.transform(test)).nnz == 0
    assert str(loaded.partitions_[0][1].center_tree(0)) == str(kernel.partitions_[0][1].center_tree(0))


@pytest.mark.parametrize(
    ("scale", "message"), [((1.0,), "scale must be a number for each"), ((0.0, 1.0), "must be a finite number from")]
)
def test_scales_of_attributes_that_do_not_fit_are_refused(tmp_path, scale, message):
    cost = EditCost.from_attributes(blank=1.0, n_codes=4)
    kernel = optimized(1, 1, cost=cost, random_state=0).fit(with_attributes(TRAIN, 0))
    object.__setattr__(kernel.root_encoding_.codebook, "scale", scale)
    kernel.save(tmp_path / "model.rwl")
    with pytest.raises(ModelFileError, match=message):
        RelaxedWeisfeilerLehman.load(tmp_path / "model.rwl")


def test_missing_values_and_costs_of_labels_are_kept(tmp_path):
    graphs = with_attributes(TRAIN, 0, labeled=True)
    attributes = graphs.node_attributes.copy()
    attributes[::3, 1] = np.nan
    parts = {name: getattr(graphs, name) for name in GraphCollection.__slots__}
    graphs = GraphCollection(**{**parts, "node_attributes": attributes})
    known = graphs.node_vocabulary
    labels = EditCost.from_matrix(known, 0.5 * (1 - np.eye(len(known) + 1)))
    cost = EditCost.from_attributes(n_codes=5, relabel=labels, scale=None).with_missing(0.5)
    kernel = optimized(1, 1, cost=cost, random_state=0).fit(graphs)
    kernel.save(tmp_path / "model.rwl")
    loaded = RelaxedWeisfeilerLehman.load(tmp_path / "model.rwl")
    assert loaded.cost == cost
    assert (kernel.transform(graphs) != loaded.transform(graphs)).nnz == 0
    centers = [kernel.partitions_[0][0].center_tree(group) for group in range(len(kernel.partitions_[0][0]))]
    assert any("?" in str(tree) for tree in centers)


def test_labels_of_every_kind_are_kept(tmp_path):
    labels = [1, 2.5, "a", (1, "b"), ("x", (2, "y"))]
    graphs = collection([(5, [(0, 1), (1, 2), (2, 3), (3, 4)], labels, None)])
    kernel = WeisfeilerLehman(1).fit(graphs)
    kernel.save(tmp_path / "model.rwl")
    assert WeisfeilerLehman.load(tmp_path / "model.rwl").node_vocabulary_ == kernel.node_vocabulary_


def test_nothing_is_kept_twice(tmp_path):
    kernel = optimized(3, 1, approximate=False, random_state=0).fit(collection(random_graphs(60, 9)))
    kernel.save(tmp_path / "model.rwl")
    _, arrays = opened((tmp_path / "model.rwl").read_bytes())
    large = [array.tobytes() for array in arrays if array.nbytes > 10_000]
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
    kernel = optimized(1, 1, random_state=0, **parameters).fit(collection(TRAIN))
    with pytest.raises((TypeError, ValueError), match=message):
        kernel.save(tmp_path / "model.rwl")
    assert not list(tmp_path.iterdir())


def test_an_interrupted_save_leaves_the_old_file(model, monkeypatch):
    path, kernel = model
    before = path.read_bytes()

    def interrupt(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr("relaxwl.kernels.persistence._write", interrupt)
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


def zipped(name):
    """Return a zip archive of one file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(name, "{}")
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a relaxwl model"),
        (b"not a model", "is not a relaxwl model"),
        (b"relaxwl model x\n", "is not a relaxwl model"),
        (b"relaxwl model 99\n" + bytes(99), "in format 99 by another version of relaxwl, and this one reads format 3"),
        (b"relaxwl model 2\n", "in format 2 by another version"),
        (zipped("model.json"), "by an early version of relaxwl, .* fit and save the model anew"),
        (zipped("MUTAG_A.txt"), "is not a relaxwl model"),
        (b"PK\x05\x06" + bytes(18), "is not a relaxwl model"),
        (b'{"format": "relaxwl-molecules", "version": 1', "by an early version of relaxwl"),
        (b"relaxwl model 3\n", "is damaged or cut off"),
        (signed(b"no stream"), "is damaged"),
        (signed(zlib.compress(b"")), "ends before its content does"),
        (signed(zlib.compress((99).to_bytes(8, "little") + b"{}")), "ends before its content does"),
        (signed(zlib.compress((2).to_bytes(8, "little") + b"[]")), "there is no class"),
        (signed(zlib.compress((2).to_bytes(8, "little") + b"{}")), "does not hold a complete model"),
        (signed(zlib.compress((2).to_bytes(8, "little") + b"{x")), "does not hold a complete model"),
    ],
    ids=range(16),
)
def test_files_that_are_no_models(tmp_path, content, message):
    path = tmp_path / "model.rwl"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        RelaxedWeisfeilerLehman.load(path)


class Executed:
    """What leaves a trace when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


def test_a_pickle_is_not_executed(tmp_path):
    """A pickle as the file, as its stream, as its text, as an array, and where a value is expected."""
    path, trace = tmp_path / "model.rwl", tmp_path / "executed"
    poison = [pickle.dumps(Executed(trace), protocol) for protocol in (0, 5)]
    pickle.loads(poison[0])  # which leaves a trace
    trace.unlink()
    WeisfeilerLehman(1).fit(collection(TRAIN)).save(path)
    tree, arrays = opened(path.read_bytes())
    for content in poison:
        texts = [content, json.dumps({**tree, "arrays": [["|O", [1]]]}).encode()]
        streams = [content, *(len(text).to_bytes(8, "little") + text + content for text in texts)]
        files = [content, content + path.read_bytes(), *(signed(zlib.compress(stream)) for stream in streams)]
        for value in ({"pickle": content.decode("latin-1")}, content.decode("latin-1")):
            changed = {**tree, "state": {**tree["state"], "max_depth": value}}
            files.append(written(changed, arrays))
        for file in files:
            path.write_bytes(file)
            with pytest.raises(ModelFileError):
                WeisfeilerLehman.load(path)
            assert not trace.exists()


def test_truncated_anywhere_or_continued(model):
    path, _ = model
    content = path.read_bytes()
    for length in np.linspace(0, len(content) - 1, 25).astype(int):
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"is not a relaxwl model|is damaged or cut off"):
            RelaxedWeisfeilerLehman.load(path)
    path.write_bytes(content + b"x")
    with pytest.raises(ModelFileError, match="is damaged"):
        RelaxedWeisfeilerLehman.load(path)


def test_a_flipped_bit_is_noticed_anywhere(tmp_path):
    path = tmp_path / "model.rwl"
    WeisfeilerLehman(1).fit(collection(random_graphs(2))).save(path)
    content = path.read_bytes()
    n_first = 8 * content.index(b"\n", 20)  # all of the first two lines, some of the rest
    for bit in [*range(n_first), *np.random.default_rng(0).integers(n_first, 8 * len(content), 300).tolist()]:
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            WeisfeilerLehman.load(path)


def test_the_wrong_class(model):
    path, _ = model
    with pytest.raises(ModelFileError, match="holds a RelaxedWeisfeilerLehman, not one of WeisfeilerLehman"):
        WeisfeilerLehman.load(path)


def test_a_file_that_would_fill_the_memory_is_refused(model, monkeypatch):
    path, _ = model
    monkeypatch.setattr("relaxwl.kernels.persistence.available_memory", lambda: 100.0)
    with pytest.raises(ModelFileError, match="would unpack to"):
        RelaxedWeisfeilerLehman.load(path)


def test_what_unpacks_to_much_more_than_its_size_is_refused(model, monkeypatch):
    path, _ = model
    monkeypatch.setattr("relaxwl.kernels.persistence.FREE_BYTES", 1 << 20)
    header, arrays = opened(path.read_bytes())
    path.write_bytes(written(header, [*arrays, np.zeros(1 << 28, np.uint8)], level=9))
    with pytest.raises(ModelFileError, match="would unpack to 256 MiB and the limit is"):
        RelaxedWeisfeilerLehman.load(path)
    path.write_bytes(written(header, arrays, b"more"))
    with pytest.raises(ModelFileError, match="holds more than its model"):
        RelaxedWeisfeilerLehman.load(path)


def test_a_long_text_is_refused_before_it_is_read(model, monkeypatch):
    path, kernel = model
    monkeypatch.setattr("relaxwl.kernels.persistence.MAX_JSON_BYTES", 100)
    with pytest.raises(ModelFileError, match="a text of more than 100 bytes"):
        RelaxedWeisfeilerLehman.load(path)
    with pytest.raises(ValueError, match="more than a model file holds"):
        kernel.save(path)


def test_many_lists_are_refused_before_they_are_made(model):
    path, _ = model
    header, arrays = opened(path.read_bytes())
    path.write_bytes(written({**header, "more": [[]] * (2 * 10**6)}, arrays))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="more than 1000000 lists and dictionaries"):
            RelaxedWeisfeilerLehman.load(path)
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (["|O8", [1]], "of the type '.O8'"),
        (["<f2", [4]], "of the type '<f2'"),
        (["<c16", [1]], "of the type '<c16'"),
        ([3, [1]], "of the type 3"),
        (["<U9999999", [1]], "of the type '<U9999999'"),
        (["<f8", [-1]], "of the shape"),
        (["<f8", [0, 2**60]], "of the shape"),
        (["<f8", [0, 2**47, 2**47]], "of the shape"),
        (["<f8", [1, 1, 1, 0]], "of the shape"),
        (["<f8", [2**40] * 100_000 + [0]], r"of the shape \[1099511627776, .*\.\.\.\], which no model has$"),
        (["x" * 100_000, [1]], r"of the type 'x+\.\.\.x+', which no model has$"),
        (["<f8", [True]], "of the shape"),
        (["<f8", [2**40]], "would unpack to"),
        (["<f8"], "does not hold a complete model"),
        (None, "does not hold a complete model"),
    ],
    ids=reprlib.repr,
)
def test_arrays_that_no_model_has_are_refused(model, described, message):
    path, _ = model
    header, arrays = opened(path.read_bytes())
    known = [[array.dtype.str, array.shape] for array in arrays]
    path.write_bytes(written({**header, "arrays": [described, *known[1:]]}, arrays))
    with pytest.raises(ModelFileError, match=message) as refused:
        RelaxedWeisfeilerLehman.load(path)
    assert len(str(refused.value)) < len(str(path)) + 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header.pop("state"), "does not hold a complete model"),
        (lambda header: header.pop("class"), "does not hold a complete model"),
        (lambda header: replaced(header, state=3), "does not hold a complete model"),
        (lambda header: replaced(header, **{"class": "os.system"}), "holds a os.system, not one of"),
        (lambda header: replaced(header, **{"class": ["x"]}), "does not hold a complete model"),
        (lambda header: replaced(header["state"], cost={"object": "Popen"}), "does not hold a complete"),
        (lambda header: replaced(header["state"], cost={"array": 10**6}), "does not hold a complete"),
        (lambda header: replaced(header["state"], max_depth=-1), "max_depth must be a whole number"),
        (lambda header: replaced(header["state"], chains_={"list": []}), "has no attribute chains_"),
        (lambda header: header["state"].pop("similarity"), "similarity is missing"),
        (lambda header: replaced(header["state"], partitions_={"list": []}), "partitions_ must be a list of 1 to"),
        (lambda header: replaced(next(objects(header, "TreeRows"))["state"], more=1), "Rows has no attribute more"),
        (lambda header: next(objects(header, "TreeRows"))["state"].pop("roots"), "roots is missing"),
    ],
)
def test_trees_of_no_model_are_refused(model, change, message):
    path, _ = model
    path.write_bytes(rewritten(path, change))
    with pytest.raises(ModelFileError, match=message):
        RelaxedWeisfeilerLehman.load(path)


@pytest.mark.parametrize("depth", [300, 100_000])
def test_values_nested_too_deep_are_refused(tmp_path, depth):
    path = tmp_path / "model.rwl"
    tree = '{"list": [' * depth + "]}" * depth
    text = f'{{"arrays": [], "class": "WeisfeilerLehman", "state": {{"rows_": {tree}}}}}'.encode()
    path.write_bytes(signed(zlib.compress(len(text).to_bytes(8, "little") + text)))
    with pytest.raises(ModelFileError):
        WeisfeilerLehman.load(path)


# ------------------------------------------------------------------------------------------------- kernels of any class


@pytest.mark.slow
def test_a_kernel_that_was_not_imported_is_found(tmp_path):
    get_kernel("sp").make().fit(collection(TRAIN)).save(tmp_path / "model.rwl")
    program = "import sys, relaxwl; print(relaxwl.kernels.load_kernel(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(tmp_path / "model.rwl")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240).stdout
    assert printed.strip() == "ShortestPath()"


@pytest.mark.parametrize("directions", ["both", "in"])
def test_models_of_directed_graphs_are_kept_and_explained(directions, tmp_path):
    graphs = directed_collection(random_digraphs(16, seed=5), arc_labels=True)
    y = np.arange(16) % 2
    for kernel in (
        WeisfeilerLehman(2, edge_labels=True, directions=directions),
        optimized(2, edge_labels=True, directions=directions, random_state=0),
    ):
        features = kernel.fit_transform(graphs)
        kernel.save(tmp_path / "model")
        loaded = type(kernel).load(tmp_path / "model")
        assert loaded.directed_
        assert loaded.directions == directions
        assert (loaded.transform(graphs) != features).nnz == 0
        explain(loaded, graphs, y)
