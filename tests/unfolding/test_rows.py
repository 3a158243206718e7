import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from relaxwl import GraphCollection
from relaxwl.unfolding import TreeRows, leaves, refine
from relaxwl.unfolding.rows import canonical_order, check_rows, distinct, graph_spans, join_rows
from small_graphs import BONDS, collection, random_graphs, shuffled
from strategies import EDGES, LABELS, plain_graphs

CONTENT = st.tuples(st.integers(0, 2), st.dictionaries(st.integers(0, 4), st.integers(1, 3), max_size=4))


def make_rows(content, n_children=5, n_edge_codes=1):
    lengths = [len(children) for _, children in content]
    points = [point for _, children in content for point in sorted(children)]
    counts = [children[point] for _, children in content for point in sorted(children)]
    return TreeRows(
        np.array([root for root, _ in content], np.int32),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array(points, np.int32),
        np.array(counts, np.int32),
        n_children,
        n_edge_codes,
    )


def content_of(rows):
    return [(root, dict(zip(points.tolist(), counts.tolist(), strict=True))) for root, points, counts in all_of(rows)]


def all_of(rows):
    return [rows.row(index) for index in range(len(rows))]


def canonical_key(item):
    root, children = item
    return root, sum(children.values()), [part for point in sorted(children) for part in (point, children[point])]


@given(st.lists(CONTENT, max_size=30))
def test_distinct_and_canonical_order_follow_the_definition(content):
    rows = make_rows(content)
    representatives, ids = distinct(rows)
    assert [content[i] for i in representatives[ids]] == content
    ordered = rows.take(canonical_order(rows, representatives))
    expected = []
    for item in sorted(content, key=canonical_key):
        if not expected or expected[-1] != item:
            expected.append(item)
    assert content_of(ordered) == expected


@given(st.lists(CONTENT, max_size=20), st.lists(CONTENT, max_size=20))
def test_locate_finds_exactly_the_known_rows(content, others):
    rows = make_rows(content)
    known = rows.take(canonical_order(rows, distinct(rows)[0]))
    contents = content_of(known)
    expected = [contents.index(item) if item in contents else -1 for item in others]
    assert known.locate(make_rows(others)).tolist() == expected


def test_canonical_order_when_the_content_does_not_fit_into_a_key():
    rng = np.random.default_rng(0)
    wide = [(0, {int(p): 1 for p in rng.choice(10**9, 12, replace=False)}) for _ in range(50)]
    # All begin alike, so the packed key ties and only the comparison of the rest can order them.
    content = [(root, {1: 2, 2: 1, 3: 1, 10**9: 1, **children}) for root, children in wide]
    rows = make_rows(content, 2 * 10**9)
    assert content_of(rows.take(canonical_order(rows, np.arange(50)))) == sorted(content, key=canonical_key)


def test_rows_take_join_and_compare():
    rows = make_rows([(1, {0: 2, 3: 1}), (0, {}), (2, {4: 1})])
    assert rows.degrees.tolist() == [3, 0, 1]
    assert content_of(rows.take(np.array([2, 0, 0]))) == [(2, {4: 1}), (1, {0: 2, 3: 1}), (1, {0: 2, 3: 1})]
    assert join_rows([rows.take(np.array([0])), rows.take(np.array([1, 2]))]) == rows
    assert rows != rows.take(np.array([0, 1]))
    assert rows != make_rows(content_of(rows), n_children=6)
    assert rows != "rows"
    assert make_rows([], 3, 2).n_points == 6
    with pytest.raises(TypeError, match="unhashable"):
        hash(rows)


def test_no_rows_at_all():
    rows = make_rows([])
    representatives, ids = distinct(rows)
    assert len(representatives) == len(ids) == len(rows.degrees) == 0
    assert len(canonical_order(rows, representatives)) == 0
    assert len(make_rows([(0, {})]).locate(rows)) == 0
    assert rows.locate(make_rows([(0, {})])).tolist() == [-1]


# ------------------------------------------------------------------------------------- the gate before compiled code

GOOD = make_rows([(0, {0: 1, 3: 2}), (2, {}), (1, {4: 1})])

BAD = {
    "a matrix": (np.zeros((2, 2)), TypeError, "rows must be relaxwl.unfolding.TreeRows"),
    "a point beyond": (replace(GOOD, points=GOOD.points + 1), ValueError, "points must be from 0 to 4, not 5"),
    "a far point": (replace(GOOD, points=GOOD.points.astype(np.int64) + 2**32), ValueError, "points must be from 0"),
    "a point below": (replace(GOOD, points=GOOD.points - 1), ValueError, "points must be from 0 to 4, not -1"),
    "a root beyond": (replace(GOOD, roots=GOOD.roots + 1), ValueError, "roots must be from 0 to 2, not 3"),
    "a negative root": (replace(GOOD, roots=-GOOD.roots), ValueError, "roots must be from 0 to 2, not -2"),
    "points of floats": (
        replace(GOOD, points=GOOD.points * 1.0),
        TypeError,
        "points must be a vector of whole numbers",
    ),
    "a list": (replace(GOOD, points=GOOD.points.tolist()), TypeError, "points must be a vector"),
    "points twice": (replace(GOOD, points=GOOD.points * 0), ValueError, "points must ascend strictly"),
    "falling indptr": (replace(GOOD, indptr=np.array([0, 3, 2, 3])), ValueError, "indptr must rise"),
    "late indptr": (replace(GOOD, indptr=np.array([1, 2, 2, 3])), ValueError, "indptr must rise"),
    "indptr beyond": (replace(GOOD, indptr=GOOD.indptr * 9), ValueError, "indptr must be from 0 to 3"),
    "short indptr": (replace(GOOD, indptr=GOOD.indptr[:-1]), ValueError, "indptr must have 4 entries"),
    "long indptr": (replace(GOOD, indptr=np.append(GOOD.indptr, 3)), ValueError, "indptr must have 4 entries"),
    "fewer counts": (replace(GOOD, counts=GOOD.counts[:-1]), ValueError, "counts must have 3 entries"),
    "negative counts": (replace(GOOD, counts=-GOOD.counts), ValueError, "counts must be finite numbers from 0 on"),
    "no number": (replace(GOOD, counts=GOOD.counts * np.nan), ValueError, "counts must be finite"),
    "infinite masses": (replace(GOOD, counts=GOOD.counts * np.inf), ValueError, "counts must be finite"),
    "text": (replace(GOOD, counts=GOOD.counts.astype(str)), TypeError, "counts must be a vector of numbers"),
    "more children": (
        replace(GOOD, n_children=6),
        ValueError,
        "over the 5 points that have costs, not over 6 children",
    ),
    "half a child": (replace(GOOD, n_children=2.5), ValueError, "not over 2.5 children"),
}


@pytest.mark.parametrize(("rows", "error", "message"), BAD.values(), ids=BAD.keys())
def test_rows_that_would_lead_astray_are_refused(rows, error, message):
    with pytest.raises(error, match=message):
        check_rows(rows, 5, 3)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16, np.float32, np.float64])
def test_rows_that_only_look_different_are_admitted(dtype):
    spread = {name: np.repeat(getattr(GOOD, name), 2)[::2] for name in ("roots", "indptr", "points")}
    admitted = check_rows(replace(GOOD, counts=GOOD.counts.astype(dtype), **spread), 5, 3)
    assert admitted == GOOD
    types = [np.int32, np.int64, np.int32, np.float64 if np.dtype(dtype).kind == "f" else np.int32]
    assert [array.dtype for array in admitted.arrays] == types
    assert all(array.flags.c_contiguous for array in admitted.arrays)
    assert check_rows(make_rows([]), 5, 3) == make_rows([])
    nothing = replace(GOOD, counts=0 * GOOD.counts)
    assert check_rows(nothing, 5, 3) is nothing


def test_rows_in_order_are_not_copied_whoever_made_their_arrays():
    """Arrays of unpickled types, as machine code from disk makes them, are as good as others: files keep rows once."""
    restored = {
        name: getattr(GOOD, name).astype(pickle.loads(pickle.dumps(getattr(GOOD, name).dtype)))
        for name in ("roots", "indptr", "points", "counts")
    }
    assert all(array.dtype is not getattr(GOOD, name).dtype for name, array in restored.items())
    rows = replace(GOOD, **restored)
    assert check_rows(rows, 5, 3) is rows


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
    # Stars whose leaves carry all subsets of 12 labels: 4,096 rows that differ in content alone, so that many of
    # them share a place in the hash table.
    n_labels = 12
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
