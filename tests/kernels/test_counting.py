import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from relaxwl import GraphCollection
from relaxwl._memory import MemoryRefusal
from relaxwl.kernels.counting import COUNTERS, EdgeCounter, ShortestPathCounter, SubtreeCounter, count_ids, join_counts
from small_graphs import BONDS, collection, random_graphs
from strategies import plain_graphs

BASES = list(COUNTERS)
IDS = st.lists(st.integers(0, 4), max_size=12)


def with_ids(graphs):
    """Let the labels themselves be the ids: 1 to 3 become 0 to 2."""
    together = collection(graphs)
    return together, np.array([label - 1 for graph in graphs for label in graph[2]], np.int32)


@given(st.lists(plain_graphs(), min_size=1, max_size=4), st.sampled_from(BASES))
def test_counts_are_those_of_the_definition(graphs, base):
    together, ids = with_ids(graphs)
    counter = COUNTERS[base]()
    counts = counter.fit(together, ids, 3, None)
    expected = [[naive.base_counts(graph, graph[2], base)] for graph in graphs]
    matrix = counts.matrix.toarray()
    np.testing.assert_array_equal(matrix @ matrix.T, naive.count_kernel(expected, expected))
    assert matrix.sum() == sum(count for (one,) in expected for count in one.values())
    assert not counts.unknown_sums.any()
    assert counts.matrix.has_canonical_format
    again = counter.count(together, ids, None)
    np.testing.assert_array_equal(again.matrix.toarray(), matrix)


@given(
    st.lists(plain_graphs(), min_size=1, max_size=3),
    st.lists(plain_graphs(), min_size=1, max_size=3),
    st.sampled_from(BASES),
)
def test_what_was_not_met_in_fitting_is_summed_up(graphs, others, base):
    together, ids = with_ids(graphs)
    known = sorted(set(ids.tolist()))
    rename = {label: place for place, label in enumerate(known)}
    counter = COUNTERS[base]()
    counter.fit(together, np.array([rename[i] for i in ids.tolist()], np.int32), len(known), None)
    other, other_ids = with_ids(others)
    renamed = np.array([rename.get(i, len(known) + i) for i in other_ids.tolist()], np.int32)
    counts = counter.count(other, renamed, None)
    fitted = set().union(*(naive.base_counts(graph, graph[2], base) for graph in graphs))
    for place, graph in enumerate(others):
        expected = naive.base_counts(graph, graph[2], base)
        unknown = [count for key, count in expected.items() if key not in fitted]
        assert counts.unknown_sums[place] == sum(unknown)
        assert counts.unknown_squares[place] == sum(count**2 for count in unknown)
        assert counts.matrix[[place]].sum() == sum(expected.values()) - sum(unknown)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_chunks_and_threads_change_nothing(monkeypatch, n_jobs):
    graphs = collection(random_graphs(30))
    expected = ShortestPathCounter().fit(graphs, graphs.node_codes, 3)
    monkeypatch.setattr("relaxwl.kernels.counting.PATH_CHUNK_NODES", 5)
    cut = ShortestPathCounter().fit(graphs, graphs.node_codes, 3, n_jobs)
    np.testing.assert_array_equal(cut.matrix.toarray(), expected.matrix.toarray())


def test_edge_labels_tell_edges_apart():
    graphs = random_graphs(10, bonds=BONDS)
    together = collection(graphs)
    counter = EdgeCounter()
    matrix = counter.fit(together, together.node_codes, 3, None, together.edge_codes).matrix
    expected = [[naive.base_counts(graph, graph[2], "edge", edge_labels=True)] for graph in graphs]
    np.testing.assert_array_equal((matrix @ matrix.T).toarray(), naive.count_kernel(expected, expected))
    strange = np.full_like(together.edge_codes, 7)
    unknown = counter.count(together, together.node_codes, None, strange)
    assert unknown.matrix.nnz == 0
    np.testing.assert_array_equal(unknown.unknown_sums, together.edge_counts)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("sizes", [[], [0], [0, 1, 0], [3, 2]])
def test_graphs_without_nodes_or_edges(base, sizes):
    graphs = GraphCollection.from_edges([(size, []) for size in sizes])
    counter = COUNTERS[base]()
    counts = counter.fit(graphs, graphs.node_codes, 1, None)
    assert counts.matrix.shape == (len(sizes), 1 if base == "subtree" else 0)
    assert counts.matrix.sum() == (sum(sizes) if base == "subtree" else 0)
    assert counter.count(graphs, graphs.node_codes, None).matrix.shape == counts.matrix.shape


def test_descriptions():
    graphs = collection([(3, [(0, 1), (1, 2)], ["C", "C", "O"], ["single", "double"])])
    names = ["C", "O"]
    for counter, edges, expected in (
        (SubtreeCounter(), None, ["C", "O"]),
        (EdgeCounter(), None, ["C–C", "C–O"]),
        (EdgeCounter(), graphs.edge_codes, ["C–O by edge label double", "C–C by edge label single"]),
        (ShortestPathCounter(), None, ["C–1–C", "C–1–O", "C–2–O", "O–1–C", "O–2–C"]),
    ):
        counter.fit(graphs, graphs.node_codes, 2, None, edges)
        edge_names = None if edges is None else graphs.edge_vocabulary
        assert [counter.describe(column, names, edge_names) for column in range(counter.n_columns)] == expected


def test_too_many_ids_for_a_key_are_refused():
    graphs = GraphCollection.from_edges([(2, [(0, 1)])])
    with pytest.raises(ValueError, match=r"use a smaller max_depth or base='subtree'"):
        ShortestPathCounter().fit(graphs, graphs.node_codes, 2**30)


def test_joining_scales_blocks_and_norms():
    graphs = collection(random_graphs(4))
    counter = SubtreeCounter()
    fitted = counter.fit(graphs, graphs.node_codes, 3)
    other = counter.count(graphs, graphs.node_codes + 3)
    joined = join_counts([fitted, other], [1.0, 3.0])
    assert joined.matrix.shape == (4, 6)
    np.testing.assert_array_equal(joined.unknown_sums, 3 * graphs.node_counts)
    np.testing.assert_array_equal(joined.unknown_squares, 9 * fitted.matrix.power(2).sum(axis=1))


def test_paths_of_graphs_that_are_too_large_are_refused():
    graphs = GraphCollection.from_edges([(100_000, [(0, 1)])])
    with pytest.raises(MemoryRefusal, match=r"shortest paths of a graph of 100000 nodes would need about 233"):
        ShortestPathCounter().fit(graphs, np.zeros(graphs.n_nodes, np.int32), 1)


@settings(max_examples=30)
@given(st.lists(IDS, max_size=5))
def test_ids_are_counted_graph_by_graph(graphs):
    offsets = np.cumsum([0, *map(len, graphs)])
    given_ids = np.array([i for ids in graphs for i in ids], np.int32)
    before = given_ids.copy()
    indptr, found, counts = count_ids(offsets, given_ids, 5)
    assert (given_ids == before).all()
    for graph, ids in enumerate(graphs):
        span = slice(indptr[graph], indptr[graph + 1])
        assert dict(zip(found[span].tolist(), counts[span].tolist(), strict=True)) == {i: ids.count(i) for i in ids}
        assert found[span].tolist() == sorted(set(ids))
