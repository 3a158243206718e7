"""Unary codes against their definition: the intersection kernel as a dot product of explicit features."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.sparse import csr_array

import naive
from relaxed_kernels import optimized
from relaxwl import WeisfeilerLehman
from relaxwl._memory import MemoryRefusal
from relaxwl.kernels.baselines import PersistentWL, ShortestPath, WLOptimalAssignment
from relaxwl.kernels.unary import distinct_counts, step_names, unary_code, unary_steps
from small_graphs import collection, random_graphs

TRAIN, TEST = random_graphs(20), random_graphs(12, 10, seed=1, labels=("C", "N", "S"))
NORMS = (False, True, "depth")
normalizations = pytest.mark.parametrize("normalize", NORMS)


def tables(elements):
    return st.integers(1, 8).flatmap(lambda n: arrays.arrays(np.float64, (n, 5), elements=elements))


def steps_of(table):
    matrix = csr_array(table)
    return unary_steps(matrix.indices, matrix.data, matrix.shape[1])


def counters(table):
    return [[Counter({column: value for column, value in enumerate(row) if value})] for row in table.tolist()]


def product(one, other):
    return sum(value * other.get(key, 0.0) for key, value in one.items())


def products(codes, others):
    return np.array([[product(one, other) for other in others] for one in codes])


@given(tables(st.integers(0, 9)), tables(st.integers(0, 12)), st.sampled_from([0, 4, 64]))
def test_code_of_integers_follows_the_definition(train, test, longest):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("relaxwl.kernels.unary.MAX_UNIT_STEPS", longest)
        code = steps_of(train)
    known, new = (unary_code(csr_array(table), *code) for table in (train, test))
    naive_known, naive_new = (naive.unary_code(counters(table), counters(train), longest=longest)
                              for table in (train, test))  # fmt: skip
    np.testing.assert_allclose((new @ new.T).toarray(), products(naive_new, naive_new), atol=1e-12)
    minima = np.minimum(test[:, None], train[None]).sum(axis=2)
    np.testing.assert_allclose((new @ known.T).toarray(), minima, atol=1e-12)
    np.testing.assert_allclose((known @ known.T).toarray(), products(naive_known, naive_known), atol=1e-12)
    assert new.shape[1] == len({key for one in naive_known for key in one})
    assert new.indices.dtype == np.int32
    assert new.has_sorted_indices


@given(tables(st.floats(0, 5, width=16)), tables(st.floats(0, 7, width=16)))
def test_code_of_real_numbers_is_exact_against_training(train, test):
    known, new = (unary_code(csr_array(table), *steps_of(train)) for table in (train, test))
    np.testing.assert_allclose((new @ known.T).toarray(), np.minimum(test[:, None], train[None]).sum(axis=2), atol=1e-9)


@given(tables(st.integers(0, 90)))
def test_steps_of_shards_are_those_of_the_whole(table):
    parts = [csr_array(part) for part in np.array_split(table, 3)]
    found = [distinct_counts(part.indices, part.data) for part in parts]
    columns, values = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    for joined, whole in zip(unary_steps(columns, values, 5), steps_of(table), strict=True):
        np.testing.assert_array_equal(joined, whole)


@normalizations
@pytest.mark.parametrize("base", ["subtree", "edge", "shortest-path"])
def test_features_of_wl_follow_the_definition(base, normalize):
    weights = [0.5, 2.0, 1.0]
    kernel = WeisfeilerLehman(2, base, "intersection", depth_weights=weights, normalize=normalize)
    known, new = kernel.fit_transform(collection(TRAIN)), kernel.transform(collection(TEST))
    counts = naive.wl_counts(TRAIN + TEST, 2, base)
    train, test = counts[: len(TRAIN)], counts[len(TRAIN) :]
    naive_new = naive.unary_code(test, train, weights, normalize)
    np.testing.assert_allclose((new @ new.T).toarray(), products(naive_new, naive_new), atol=1e-12)
    expected = naive.count_kernel(test, train, weights, minimum=True, normalize=normalize)
    np.testing.assert_allclose((new @ known.T).toarray(), expected, atol=1e-12)
    np.testing.assert_array_equal(kernel.fit(collection(TRAIN)).transform(collection(TRAIN)).toarray(), known.toarray())


@normalizations
@pytest.mark.parametrize(
    "kernel",
    [
        optimized(2, 3, similarity="intersection", random_state=0),
        optimized(2, 2, approximate=False, similarity="intersection", random_state=0),
        WLOptimalAssignment(2),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
@pytest.mark.parametrize("longest", [1, 64])
def test_dot_products_of_features_are_the_kernel(kernel, normalize, longest, monkeypatch, tmp_path):
    monkeypatch.setattr("relaxwl.kernels.unary.MAX_UNIT_STEPS", longest)
    train, test = collection(TRAIN), collection(TEST)
    known = kernel.set_params(normalize=normalize).fit_transform(train)
    np.testing.assert_allclose((known @ known.T).toarray(), kernel.kernel_matrix(train), atol=1e-9)
    new = kernel.transform(test)
    np.testing.assert_allclose((new @ known.T).toarray(), kernel.kernel_matrix(test, train), atol=1e-9)
    names = kernel.get_feature_names_out()
    assert len(set(names)) == len(names) == known.shape[1]
    kernel.save(tmp_path / "model")
    loaded = type(kernel).load(tmp_path / "model")
    assert (loaded.transform(test) != new).nnz == 0
    assert loaded.get_feature_names_out().tolist() == names.tolist()


@pytest.mark.parametrize("kernel", [PersistentWL(2), ShortestPath(), WeisfeilerLehman(2, similarity="tanimoto")])
def test_unary_features_of_any_kernel_with_counts(kernel):
    kernel.set_params(normalize=True)
    counts, new = kernel.fit_prepare(collection(TRAIN)), kernel.prepare(collection(TEST))
    found = kernel.unary_features(new) @ kernel.unary_features(counts).T
    [expected] = (
        kernel.compare(new, counts, [{"similarity": "intersection"}])
        if kernel.max_depth
        else [minima(new[0], counts[0])]
    )
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-9)


def minima(x, y):
    """Return the normalized intersections of counts without depths."""
    sums = [part.matrix.sum(axis=1) + part.unknown_sums for part in (x, y)]
    shared = np.minimum(x.matrix.toarray()[:, None], y.matrix.toarray()[None]).sum(axis=2)
    return shared / np.sqrt(np.maximum(np.outer(*sums), 1e-300))


def test_truth_values_of_numpy_normalize_too():
    kernels = [WeisfeilerLehman(1, similarity="intersection", normalize=value) for value in (True, np.True_)]
    plain, numpys = (kernel.fit_transform(collection(TRAIN)) for kernel in kernels)
    assert (plain != numpys).nnz == 0


def test_names_say_where_steps_begin_and_end(monkeypatch):
    monkeypatch.setattr("relaxwl.kernels.unary.MAX_UNIT_STEPS", 2)
    codes = [steps_of(np.array([[1.0, 5.0, 0.0], [2.0, 7.0, 0.0]]))]
    assert step_names(["a", "b", "c"], codes) == [
        "a, at least 1", "a, at least 2", "b, from 0 to 5", "b, from 5 to 7",
    ]  # fmt: skip


def test_what_does_not_fit_into_memory_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr("relaxwl._memory.physical_memory", lambda: 1000.0)
    table = csr_array(np.full((50, 2), 60.0))
    with pytest.raises(MemoryRefusal, match="unary features of 50 graphs, with 6000 entries"):
        unary_code(table, *unary_steps(table.indices, table.data, 2))


def test_other_columns_than_those_of_the_fit_are_refused():
    with pytest.raises(ValueError, match="counts have 3 columns, and the unary code was fitted to 2"):
        unary_code(csr_array(np.ones((2, 3))), *steps_of(np.ones((2, 2))))


def test_nothing_to_code():
    starts, steps = steps_of(np.zeros((2, 0)))
    assert (starts.tolist(), steps.tolist()) == ([0], [])
    assert unary_code(csr_array((3, 0)), starts, steps).shape == (3, 0)
    starts, steps = steps_of(np.zeros((2, 2)))
    assert unary_code(csr_array(np.ones((3, 2))), starts, steps).shape == (3, 0)
