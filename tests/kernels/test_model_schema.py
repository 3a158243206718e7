"""Contents of model files that do not fit together are refused."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from kernels.models import TRAIN, assert_equal_kernels, opened, written
from relaxed_kernels import optimized
from relaxwl import ContinuousWeisfeilerLehman, EditCost, RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl._memory import MemoryRefusal
from relaxwl.clustering.partitioners import KMeansPartitioner
from relaxwl.kernels import model_schema as schema
from relaxwl.kernels.model_schema import FITTED, attributes_of, fitted, of, vector
from relaxwl.kernels.persistence import ModelFileError, load_model, save_model
from relaxwl.kernels.registry import get_kernel, load_kernel
from small_graphs import ATOMS, collection, random_graphs, with_attributes


def spoil(item, **values):
    for name, value in values.items():
        object.__setattr__(item, name, value)


def level(kernel, depth=1):
    return kernel.partitions_[0][depth]


def spoil_centers(kernel, depth=1, **changes):
    """Change arrays of a depth's centers wherever these are kept."""
    centers = level(kernel, depth).centers
    spoil(centers, **{name: change(getattr(centers, name)) for name, change in changes.items()})


def spoil_lower(kernel, depth=0, **values):
    spoil(level(kernel, depth), lower=replace(level(kernel, depth).lower, **values))


def beyond(points):
    return points + 2 * 10**9


CRAFTED = {  # what somebody may write into a file, its checksums all right
    "points beyond": (lambda k: spoil_centers(k, points=beyond), "points must be"),
    "points below": (lambda k: spoil_centers(k, points=lambda points: points - 9), "points must be"),
    "points unsorted": (lambda k: spoil_centers(k, 2, points=lambda points: points * 0), "ascend"),
    "points of floats": (
        lambda k: spoil_centers(k, points=lambda points: points * 1.0),
        "points must be an array of int32",
    ),
    "points of 64 bits": (
        lambda k: spoil_centers(k, points=lambda points: points.astype(np.int64)),
        "points must be an array of int32",
    ),
    "more points": (lambda k: spoil_centers(k, n_children=lambda _: 10**6), "must be over the"),
    "indptr beyond": (lambda k: spoil_centers(k, indptr=lambda indptr: indptr * 9), "indptr must be"),
    "masses": (lambda k: spoil_centers(k, counts=lambda counts: counts * np.nan), "counts must contain finite numbers"),
    "single masses": (lambda k: spoil_centers(k, counts=lambda counts: counts.astype(np.float32)), "int32 or float64"),
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
    "fewer drawn": (
        lambda k: spoil(level(k).trees, rows=level(k).centers.take(np.arange(1))),
        "as many as the clusters",
    ),
    "other centers": (
        lambda k: spoil(level(k).partitioner, centers_=level(k).centers.take(np.arange(1))),
        "as many as the clusters",
    ),
    "fewer symbols": (lambda k: spoil(k.root_encoding_, symbols=ATOMS[:1]), "symbols must be the labels"),
    "no symbols": (lambda k: spoil(k.root_encoding_, symbols=(), labels=()), "roots must be from 0"),
    "cost": (lambda k: spoil(k.root_encoding_, cost=None), "must be a EditCost"),
    "lower is another": (lambda k: spoil_lower(k, known=level(k).centers), "the lower level must be the centers"),
    "lower is small": (lambda k: spoil_lower(k, distances=np.zeros((2, 2))), "must be a matrix of 4 rows"),
    "lower is missing": (lambda k: spoil_lower(k, distances=None), "must be a matrix"),
    "lower is nothing": (lambda k: spoil(level(k, 0), lower=None), "must be a LowerLevel"),
    "lower at the end": (lambda k: spoil(level(k, 2), lower=level(k, 1).lower), "must have no lower level"),
    "lower is infinite": (lambda k: spoil_lower(k, distances=level(k, 0).lower.distances + np.inf), "must contain fin"),
    "lower is text": (lambda k: spoil_lower(k, distances=level(k, 0).lower.distances.astype(str)), "must contain num"),
    "lower is single": (
        lambda k: spoil_lower(k, distances=level(k, 0).lower.distances.astype(np.float32)),
        "not float32",
    ),
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
    "no depths": (lambda k: spoil(k, partitions_=[[]]), "must be a list of 1 to"),
    "not fitted": (lambda k: spoil(level(k), partitioner=KMeansPartitioner()), "centers_"),
    "no partitioner": (lambda k: spoil(level(k), partitioner=None), "is no partitioner"),
    "threads": (lambda k: spoil(k, n_jobs=float("nan")), "n_jobs must be a whole number"),
    "their threads": (lambda k: spoil(level(k).partitioner.kmeans, n_jobs=0.5), "n_jobs must be a whole number"),
    "rounds": (lambda k: spoil(k, max_iter="x"), "max_iter must be an integer"),
    "clusters": (
        lambda k: spoil(level(k).partitioner.kmeans, n_clusters=10**400),
        "n_clusters must be a finite number",
    ),
    "clusters, none": (
        lambda k: spoil(level(k).partitioner.kmeans, n_clusters=float("nan")),
        "n_clusters must be a fin",
    ),
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
        (lambda kernel: spoil(kernel, rows_=[]), "rows_ must be a list of 1 to"),
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


def test_samples_that_would_take_minutes_are_refused(tmp_path):
    kernel = get_kernel("gs").make(random_state=0).fit(collection(TRAIN))
    kernel.n_samples_ = 10**7
    kernel.save(tmp_path / "model.rwl")
    with pytest.raises(ModelFileError, match="n_samples_ must be a whole number"):
        load_kernel(tmp_path / "model.rwl")


@pytest.mark.parametrize("name", ["ve-hist", "gs", "sp", "pwl", "wl-oa", "odd-sth", "gwl", "wl"])
def test_a_kernel_without_one_of_its_parts_is_refused(tmp_path, name):
    kernel = get_kernel(name).make(random_state=0).fit(collection(TRAIN))
    for part, check in attributes_of(type(kernel)).items():
        if hasattr(check, "optional"):
            continue
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
    with pytest.raises(ModelFileError, match=r"center_bounds_ must|must contain finite|centers for each"):
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
    for kernel in (WeisfeilerLehman(2), optimized(2, 1, random_state=0)):
        kernel.fit(collection(TRAIN)).max_depth = depth
        save_model(kernel, tmp_path / "model.rwl")
        with pytest.raises(ModelFileError, match="depth"):
            load_kernel(tmp_path / "model.rwl")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("directions", "7", "directions must be one of"),
        ("n_partitions", 10**6, "n_partitions must be a whole number from 1 to"),
        ("max_depth", 10**6, "max_depth must be a whole number from 0 to"),
        ("n_partitions", 9999, "times n_partitions, must be at most 10000"),
        ("normalize", 2, "normalize must be"),
    ],
)
def test_parameters_that_nobody_may_ask_for_are_refused(model, name, value, message):
    path, kernel = model
    save_model(kernel.set_params(**{name: value}), path)
    with pytest.raises(ModelFileError, match=message):
        RelaxedWeisfeilerLehman.load(path)


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (schema.whole(3), 4, "x must be a whole number from 0 to 3"),
        (schema.whole(3), True, "x must be a whole number"),
        (schema.number(0, 1), 1.5, "x must be a finite number from 0 to 1"),
        (schema.number(0), 10**400, "x must be a finite number"),
        (schema.number(), float("nan"), "x must be a finite number"),
        (schema.number(nan=True), float("inf"), "x must be a finite number"),
        (schema.choice("a", 1), True, "x must be one of 'a', 1"),
        (schema.vector(np.float64, least=0), np.array([-1.0]), "x must contain numbers from 0 on"),
        (schema.vector(np.float64), np.array([np.inf]), "x must contain finite numbers"),
        (schema.vector(np.float64, gaps=True), np.array([np.nan, np.inf]), "x must contain finite numbers"),
        (schema.vector((np.int32, np.int64)), np.array([1.0]), "x must be an array of int32 or int64 with 1 axes"),
        (schema.listed(schema.text, 1), ["a", "b"], "x must be a list of 0 to 1 items"),
        (schema.listed(schema.text), [1], "an item of x must be a text"),
        (schema.mapped(schema.number(0)), {"a": -1}, r"x\['a'\] must be a finite number"),
        (schema.mapped(schema.number(0)), [], "x must be a dictionary"),
        (schema.optional(schema.text), 1, "x must be a text"),
        (schema.labels, ("a", "a"), "x must be labels"),
    ],
)
def test_a_value_out_of_its_range_is_named(check, value, message):
    with pytest.raises(ValueError, match=message):
        check(value, "x")


def test_masses_beyond_memory_are_not_drawn(model):
    path, kernel = model
    spoil_centers(kernel, counts=lambda counts: counts * 1e12)
    save_model(kernel, path)
    loaded = level(RelaxedWeisfeilerLehman.load(path))
    heaviest = int(loaded.centers.masses.argmax())
    with pytest.raises(MemoryRefusal, match=r"a tree with .*e\+12 children would need"):
        loaded.center_tree(heaviest)


class Pair:
    """A model that holds two kernels, an array and plain values, as predictors do."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def get_params(self, deep=True):
        return {"scale": self.scale}

    def _validate_parameters(self):
        pass


def test_models_may_hold_models(tmp_path, monkeypatch):
    monkeypatch.setitem(FITTED, "Pair", {})
    fitted("Pair", kernels_=of(dict), coef_=vector(np.float64, 2))
    one, other = WeisfeilerLehman(1).fit(collection(TRAIN)), optimized(1, 1, random_state=0)
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


def crafted(tmp_path, name, place, value, **settings):
    """Write the file of a fitted kernel with another value at a place of its tree, and return its path."""
    kernel = get_kernel(name).make(random_state=0, **settings).fit(collection(TRAIN))
    kernel.save(tmp_path / "model.rwl")
    header, arrays = opened((tmp_path / "model.rwl").read_bytes())
    items = header["state"]
    *way, last = place
    for key in way:
        items = items[key]
    if callable(value):
        arrays.append(value(arrays[items[last]["array"]]))
        value = {"array": len(arrays) - 1}
    items[last] = value
    (tmp_path / "model.rwl").write_bytes(written(header, arrays))
    return tmp_path / "model.rwl"


def ended(starts):
    """Return starts of rows that say that there are no entries, although rows have some."""
    return np.append(starts[:-1], starts[:1])


COUNTER, NODES = ["_counter", "state"], ["_nodes", "state"]


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        # SciPy took it, and ended the process in the first product.
        ("gwl", ["centers_", "list", 0, "tuple", 2], ended, "indptr must ascend"),
        ("gwl", ["centers_", "list", 0, "tuple", 0], lambda data: data + 1e308, "must contain numbers up to"),
        ("gwl", ["centers_", "list", 0, "tuple", 1], lambda columns: columns + 10**9, "indices must be from 0"),
        ("gwl", ["centers_", "list", 0, "tuple"], [], "must be values, columns and starts"),
        ("gwl", ["unary_", "list"], [], "unary_ must be steps of"),
        ("sp", [*COUNTER, "keys"], lambda keys: np.append(keys, 2**60), "keys must be pairs of 3 ids"),
        ("sp", [*COUNTER, "n_known"], 2, "the counters know"),
        ("sp", ["_counter"], {"list": []}, "_counter must be a SubtreeCounter or"),
        ("sp", ["node_labels"], {"array": 0}, "node_labels must be True or False"),
        ("sp", ["unary_", "list"], [], "unary_ must be steps of"),
        ("ve-hist", [*NODES, "n_columns"], 1, "the counters know"),
        ("ve-hist", ["node_vocabulary_"], None, "the counters know"),
        ("ve-hist", ["gamma"], 10**400, "gamma must be a finite number"),
        ("ve-hist", ["unary_"], None, "unary_ must be a list"),
        ("wl", ["n_jobs"], 0, "n_jobs must not be 0"),
        ("wl", ["directed_"], None, "directed_ must be a bool"),
        ("wl", ["node_vocabulary_", "tuple", 0], float("nan"), "labels must be finite"),
        ("wl", ["node_vocabulary_", "tuple", 0], 2**63, "integer of 65 bits"),
        ("wl", ["unary_", "list"], [], "unary_ must be steps of"),
        ("pwl", ["power"], 1e308, "power must be a finite number > 0 and <= 16"),
        ("pwl", ["offset"], 10**400, "offset must be a finite number"),
        ("pwl", ["cycles"], {"array": 0}, "cycles must be True or False"),
        ("pwl", ["unary_", "list"], [], "unary_ must be steps of"),
        ("gs", ["unary_", "list"], [], "unary_ must be steps of"),
        ("odd-sth", ["weights_"], lambda weights: -weights, "weights_ must contain numbers from 0"),
        ("odd-sth", ["node_vocabulary_"], {"tuple": []}, "trees of the kernel are damaged"),
        ("odd-sth", ["unary_", "list"], [], "unary_ must be steps of"),
    ],
)  # fmt: skip
def test_parts_of_baselines_that_do_not_fit_are_refused(tmp_path, name, place, value, message):
    with pytest.raises(ModelFileError, match=message):
        load_kernel(crafted(tmp_path, name, place, value))


def test_keys_of_other_edges_are_refused(tmp_path):
    path = crafted(
        tmp_path, "wl", ["_counters", "list", 0, "state", "keys"], lambda keys: np.append(keys, 10**9), base="edge"
    )
    with pytest.raises(ModelFileError, match="keys must be pairs of 3 ids"):
        load_kernel(path)


ENCODING = ["root_encoding_", "state", "codebook", "state"]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ([*ENCODING, "metric"], "x", "metric must be one of"),
        ([*ENCODING, "relabel"], 2**63, "relabel must be a finite number"),
        ([*ENCODING, "blank"], 1, ""),  # an integer is a number too
        (["edge_encoding_", "state", "cost", "cost", "edge_relabel"], 1e6, "edge costs: replacing"),
        (["edge_encoding_", "state", "labels", "tuple", 0], float("inf"), "labels must be finite"),
    ],
)
def test_costs_that_do_not_fit_are_refused(tmp_path, place, value, message):
    edges = place[0] == "edge_encoding_"
    graphs = collection(TRAIN) if edges else with_attributes(random_graphs(12), labeled=True)
    cost = None if edges else EditCost.from_attributes(blank=1.0, n_codes=4)
    kernel = optimized(1, 1, cost=cost, edge_labels=edges, random_state=0).fit(graphs)
    kernel.save(tmp_path / "model.rwl")
    header, arrays = opened((tmp_path / "model.rwl").read_bytes())
    items = header["state"]
    for key in place[:-1]:
        items = items[key]
    items[place[-1]] = value
    (tmp_path / "model.rwl").write_bytes(written(header, arrays))
    if not message:
        assert np.isfinite(load_kernel(tmp_path / "model.rwl").kernel_matrix(graphs)).all()
        return
    with pytest.raises(ModelFileError, match=message):
        load_kernel(tmp_path / "model.rwl")


def test_means_beyond_all_data_can_be_described(tmp_path):
    graphs = collection(TRAIN)
    kernel = ContinuousWeisfeilerLehman("structure", 1, 1, similarity="dot", random_state=0).fit(graphs)
    kernel.means_[:] = 1e100
    kernel.save(tmp_path / "model.rwl")
    assert len(load_kernel(tmp_path / "model.rwl").get_feature_names_out())
