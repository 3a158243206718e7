"""Counting ids and turning sparse matrices round, beside NumPy and SciPy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from relaxwl.distances._compiled import mirror
from relaxwl.kernels._compiled import count_ids, first_and_number, transposed
from relaxwl.kernels.gram import compressed

IDS = st.lists(st.integers(0, 4), max_size=12)


@settings(max_examples=30)
@given(st.lists(IDS, max_size=5))
def test_ids_are_counted_graph_by_graph(graphs):
    offsets = np.cumsum([0, *map(len, graphs)])
    indptr, found, counts = count_ids(offsets, np.array([i for ids in graphs for i in ids], np.int32), 5)
    for graph, ids in enumerate(graphs):
        span = slice(indptr[graph], indptr[graph + 1])
        assert dict(zip(found[span].tolist(), counts[span].tolist(), strict=True)) == {i: ids.count(i) for i in ids}
        assert found[span].tolist() == sorted(set(ids))


@settings(max_examples=30)
@given(IDS)
def test_first_places_and_numbers_of_ids(ids):
    first, number = first_and_number(np.array(ids, np.int32), 5)
    assert first.tolist() == [ids.index(i) if i in ids else -1 for i in range(5)]
    assert number.tolist() == [ids.count(i) for i in range(5)]


def test_columns_of_a_sparse_matrix_know_where_entries_went():
    matrix = csr_array(random_array((30, 7), density=0.3, rng=np.random.default_rng(0)))
    columns, place = transposed(compressed(matrix), 7)
    expected = matrix.T.tocsr()
    for one, other in zip(columns, (expected.indptr, expected.indices, expected.data), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(columns.data[place], matrix.data)


def test_the_upper_triangle_is_mirrored_across_blocks():
    matrix = np.random.default_rng(0).random((150, 150))
    upper = np.triu(matrix)
    mirror(matrix)
    np.testing.assert_array_equal(matrix, upper + np.triu(upper, 1).T)
