import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from relaxwl import GraphCollection
from relaxwl.unfolding import leaves, refine
from relaxwl.unfolding.refine import graph_spans
from small_graphs import BONDS, collection, random_graphs, shuffled
from strategies import EDGES, LABELS, plain_graphs


def depths(graphs, max_depth, edges=None, n_jobs=None):
    """Refine several times; return the rows and ids of every depth."""
    rows, ids = leaves(graphs.node_codes)
    assert rows.n_points == 0  # there is nothing below
    assert rows.indptr.tolist() == [0] * (len(rows) + 1)
    result = [(rows, ids)]
    for _ in range(max_depth):
        n_edge_codes = 1 if edges is None else len(graphs.edge_vocabulary)
        rows, ids = refine(
            graphs, graphs.node_codes, ids, len(rows), edge_codes=edges, n_edge_codes=n_edge_codes, n_jobs=n_jobs
        )
        result.append((rows, ids))
    return result


def partition_of(labels):
    first = {}
    return [first.setdefault(label, len(first)) for label in labels]


@given(st.lists(plain_graphs(edges=EDGES), min_size=1, max_size=4), st.booleans())
def test_ids_are_equal_exactly_if_trees_are(graphs, with_edges):
    together = collection(graphs)
    use = with_edges and together.edge_codes is not None
    expected = naive.refinements(graphs, 3, use)
    for (rows, ids), trees in zip(depths(together, 3, together.edge_codes if use else None), expected, strict=True):
        flat = [tree for graph in trees for tree in graph]
        assert partition_of(ids.tolist()) == partition_of(flat)
        assert sorted(set(ids.tolist())) == list(range(len(rows)))


@given(st.lists(plain_graphs(edges=EDGES), min_size=1, max_size=4), st.booleans())
def test_rows_are_those_of_the_definition_in_canonical_order(graphs, with_edges):
    together = collection(graphs)
    use = with_edges and together.edge_codes is not None
    labels = sorted({label for graph in graphs for label in graph[2]})
    roots = [[labels.index(label) for label in graph[2]] for graph in graphs]
    names = {name: code for code, name in enumerate(together.edge_vocabulary)} if use else None
    levels = depths(together, 2, together.edge_codes if use else None)
    for (before, previous), (rows, ids) in itertools.pairwise(levels):
        expected, expected_ids = naive.canonical_rows(graphs, roots, previous.tolist(), names)
        assert ids.tolist() == expected_ids
        for number, (root, degree, children) in enumerate(expected):
            found_root, points, counts = rows.row(number)
            assert (found_root, rows.degrees[number]) == (root, degree)
            wanted = [(edge * len(before) + child, count) for (edge, child), count in children]
            assert list(zip(points.tolist(), counts.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("bonds", [None, BONDS])
def test_order_of_nodes_and_graphs_does_not_matter(bonds):
    graphs = random_graphs(12, bonds=bonds)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(graphs))
    moved = [shuffled(graphs[place], rng) for place in order]
    one, other = collection(graphs), collection(moved)
    for (rows, ids), (moved_rows, moved_ids) in zip(
        depths(one, 3, one.edge_codes), depths(other, 3, other.edge_codes), strict=True
    ):
        assert rows == moved_rows
        for place, graph in enumerate(order):
            here = moved_ids[other.offsets[place] : other.offsets[place + 1]]
            there = ids[one.offsets[graph] : one.offsets[graph + 1]]
            assert sorted(here.tolist()) == sorted(there.tolist())


@pytest.mark.parametrize("bonds", [None, BONDS])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_chunks_and_threads_change_nothing(monkeypatch, bonds, n_jobs):
    graphs = collection(random_graphs(40, bonds=bonds))
    expected = depths(graphs, 3, graphs.edge_codes)
    monkeypatch.setitem(refine.__globals__, "CHUNK_NODES", 10)
    assert len(graph_spans(graphs, 10)) > 5
    for (rows, ids), (cut_rows, cut_ids) in zip(expected, depths(graphs, 3, graphs.edge_codes, n_jobs), strict=True):
        assert rows == cut_rows
        np.testing.assert_array_equal(ids, cut_ids)


def test_many_different_rows_stay_different():
    # Stars whose leaves carry all subsets of 15 labels: 32,768 rows that differ in content alone, so that many of
    # them share a place in the hash table.
    n_labels = 15
    subsets = np.arange(2**n_labels)
    members = [[bit for bit in range(n_labels) if subset >> bit & 1] for subset in subsets]
    graphs = GraphCollection.from_edges(
        [(1 + len(bits), [(0, i + 1) for i in range(len(bits))], [n_labels, *bits]) for bits in members]
    )
    rows, ids = refine(graphs, graphs.node_codes, graphs.node_codes, n_labels + 1)
    centers = ids[graphs.offsets[:-1]]
    assert len(set(centers.tolist())) == 2**n_labels
    assert len(rows) == 2**n_labels + n_labels  # and the leaves, one row for each label


def test_unseen_ids_and_edge_codes_make_points_behind_the_known_ones():
    graphs = collection([(3, [(0, 1), (1, 2)], ["C", "C", "C"], ["single", "double"])])
    edges = np.array([1, 1, 2, 2], np.int32)  # 2 was not met in fitting
    rows, ids = refine(graphs, graphs.node_codes, np.array([0, 1, 2], np.int32), 2, edge_codes=edges, n_edge_codes=2)
    points = [set(rows.row(number)[1].tolist()) for number in ids]
    # n_points = 4; node 1 has neighbors (edge 1, id 0) = 2, known, and (edge 2, id 2), unknown.
    assert points == [{3}, {2, 4 + 2 * 3 + 2}, {4 + 2 * 3 + 1}]


def test_points_that_do_not_fit_are_refused():
    graphs = collection([(2, [(0, 1)], ["C", "C"], None)])
    with pytest.raises(ValueError, match=r"more than int32 can number; use edge_labels=False"):
        refine(graphs, graphs.node_codes, np.array([0, 1], np.int32), 2**30, edge_codes=np.zeros(2, np.int32))


def test_graphs_without_nodes_or_edges():
    empty = GraphCollection.from_edges([])
    rows, ids = refine(empty, empty.node_codes, np.empty(0, np.int32), 0)
    assert len(rows) == len(ids) == 0
    graphs = GraphCollection.from_edges([(0, []), (1, []), (0, []), (2, []), (0, [])])
    rows, ids = refine(graphs, graphs.node_codes, graphs.node_codes, 1)
    assert ids.tolist() == [0, 0, 0]
    assert rows.row(0)[0] == 0
    assert len(rows.points) == 0


def test_spans_cover_all_graphs_and_cut_none():
    graphs = GraphCollection.from_edges([(size, []) for size in (5, 0, 30, 1, 1, 1, 0, 2, 0)])
    for size in (1, 3, 7, 100):
        bounds = graph_spans(graphs, size)
        assert [start for start, _ in bounds] == [0, *(stop for _, stop in bounds[:-1])]
        assert bounds[-1][1] == len(graphs)
    assert len(graph_spans(graphs, 100)) == 1


def test_one_labeling_is_as_good_as_another():
    # The order of rows depends on the order of labels, what is equal does not.
    graphs = random_graphs(8, labels=LABELS)
    renamed = [(n, edges, [-label for label in labels], names) for n, edges, labels, names in graphs]
    for (_, ids), (_, other) in zip(depths(collection(graphs), 3), depths(collection(renamed), 3), strict=True):
        assert partition_of(ids.tolist()) == partition_of(other.tolist())
