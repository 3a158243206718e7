"""From edges to a clean adjacency: checks that name the graph, symmetry, no loops, no repetitions."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from relaxwl import GraphCollection, as_collection
from relaxwl.graphs import GraphError
from relaxwl.graphs.building import CollectionBuilder, both_ways, check_clean, clean_adjacency, reversed_arcs, symmetric
from small_graphs import BONDS, collection, random_graphs


def build(*graphs):
    """Build from (n_nodes, edges, {column: values}) triples."""
    builder = CollectionBuilder()
    for n_nodes, edges, columns in graphs:
        builder.add(n_nodes, edges, **columns)
    return GraphCollection(**builder.build())


@st.composite
def edge_lists(draw, max_nodes=6):
    n_nodes = draw(st.integers(0, max_nodes))
    if n_nodes == 0:
        return 0, []
    node = st.integers(0, n_nodes - 1)
    return n_nodes, draw(st.lists(st.tuples(node, node), max_size=12))


dropped = pytest.mark.filterwarnings("ignore:.*dropped")


@dropped
@given(st.lists(edge_lists(), max_size=4))
def test_adjacency_is_the_set_of_proper_edges(graphs):
    collection = GraphCollection.from_edges(graphs)
    assert len(collection) == len(graphs)
    for graph, (n_nodes, edges) in zip(collection, graphs, strict=True):
        expected = [set() for _ in range(n_nodes)]
        for u, v in edges:
            if u != v:
                expected[u].add(v)
                expected[v].add(u)
        assert graph.n_nodes == n_nodes
        assert [graph.neighbors(node).tolist() for node in range(n_nodes)] == [sorted(found) for found in expected]
        assert graph.edges.tolist() == sorted([u, v] for u in range(n_nodes) for v in expected[u] if u < v)


@dropped
def test_edges_listed_once_or_twice_are_the_same():
    once = GraphCollection.from_edges([(3, [(0, 1), (2, 1)])])
    twice = GraphCollection.from_edges([(3, {(0, 1), (1, 0), (1, 2), (2, 1), (1, 1)})])
    assert once == twice
    assert once.n_edges == 2


@dropped
def test_repetitions_must_agree():
    agreeing = build((2, [(0, 1), (1, 0)], {"edge_labels": ["x", "x"], "edge_attributes": [1.0, 1.0]}))
    assert agreeing[0].edge_labels == ["x"]
    assert agreeing[0].edge_attributes.tolist() == [[1.0]]
    empty = (4, [], {"edge_labels": []})
    with pytest.raises(GraphError, match=r"graph 1: edge \(0, 1\) is listed twice with different labels"):
        build(empty, (2, [(0, 1), (1, 0)], {"edge_labels": ["x", "y"]}))
    with pytest.raises(GraphError, match=r"graph 0: edge \(1, 2\) is listed twice with different attributes"):
        build((3, [(0, 1), (1, 2), (1, 2)], {"edge_attributes": [[1, 2], [1, 2], [1, 3]]}))


@dropped
def test_labels_follow_their_edges_past_self_loops():
    graph = build((3, [(1, 1), (2, 1), (0, 0), (0, 1)], {"edge_labels": ["loop", "b", "loop", "a"]}))[0]
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_labels == ["a", "b"]
    assert graph.edge_labels_of(1) == ["a", "b"]


@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        ((2, [(0, 2)], {}), r"edge \(0, 2\) names a node outside 0\.\.1"),
        ((2, [(-1, 0)], {}), r"edge \(-1, 0\) names a node outside 0\.\.1"),
        ((0, [(0, 0)], {}), r"outside a graph without nodes"),
        ((-1, [], {}), "number of nodes must be an integer >= 0"),
        ((2.0, [], {}), "number of nodes must be an integer >= 0"),
        ((True, [], {}), "number of nodes must be an integer >= 0"),
        ((2, [(0, 1, 1)], {}), r"pairs of node numbers, not an array of shape \(1, 3\)"),
        ((2, [(0.0, 1.0)], {}), "pairs of node numbers, not .* type float64"),
        ((2, [(0, 1), (1,)], {}), "pairs of node numbers"),
        ((2, 7, {}), "pairs of node numbers"),
        ((2, [], {"node_labels": ["a"]}), "1 labels for 2 nodes"),
        ((2, [], {"node_labels": ["a", None]}), "nodes: number 1 has no label"),
        ((2, [], {"node_labels": {0: "a", 2: "b"}}), "nodes: number 1 has no label"),
        ((2, [], {"node_labels": "ab"}), "must be a sequence, not str 'ab'"),
        ((2, [], {"node_labels": {"a", "b"}}), "must be a sequence, not set"),
        ((2, [], {"node_labels": 3}), "must be a sequence, not int"),
        ((2, [], {"node_labels": [1, float("nan")]}), "labels must be finite"),
        ((2, [], {"node_labels": [1, {2}]}), "a label must be a number, a string or a tuple of these, not set"),
        ((2, [(0, 1)], {"edge_labels": []}), "0 labels for 1 edges"),
        ((2, [], {"node_attributes": [1.0, np.nan]}), r"contain NaN or infinity \(first at number 1\)"),
        ((2, [], {"node_attributes": [[1.0], [np.inf]]}), r"contain NaN or infinity"),
        ((2, [], {"node_attributes": [1.0]}), r"attributes of shape \(1, 1\) for 2 nodes"),
        ((2, [], {"node_attributes": ["x", "y"]}), "not numbers of one shape"),
        ((2, [], {"node_attributes": [[1], [1, 2]]}), "not numbers of one shape"),
        ((2, [(0, 1)], {"edge_attributes": [np.nan]}), "attributes of the edges contain NaN"),
    ],
)
def test_errors_name_the_graph(graph, problem):
    with pytest.raises(GraphError, match=f"^graph 1: .*{problem}") as caught:
        build((0, [], {}), graph)
    assert caught.value.index == 1


@pytest.mark.parametrize("column", ["node_labels", "edge_labels", "node_attributes", "edge_attributes"])
def test_graphs_must_agree_on_what_they_carry(column):
    size = 2 if column.startswith("node") else 1
    carrying, bare = (2, [(0, 1)], {column: [1] * size}), (2, [(0, 1)], {})
    words = column.replace("_", " ")
    with pytest.raises(GraphError, match=f"^graph 2: it has no {words}, but graph 1 has some"):
        build((0, [], {}), carrying, bare)
    with pytest.raises(GraphError, match=f"^graph 1: it has {words}, but graph 0 has none"):
        build(bare, carrying)


def test_attributes_must_have_one_length():
    with pytest.raises(GraphError, match="graph 1: its node attributes have length 2, but those of graph 0 1"):
        build((1, [], {"node_attributes": [[1]]}), (1, [], {"node_attributes": [[1, 2]]}))


@pytest.mark.parametrize("column", ["node_labels", "edge_labels", "node_attributes", "edge_attributes"])
@pytest.mark.parametrize("value", [None, []])
def test_empty_graphs_agree_with_all_others(column, value):
    filled = (2, [(0, 1)], {column: [[5, 6]] * (2 if column.startswith("node") else 1)})
    for graphs in ([(0, [], {column: value}), filled], [filled, (0, [], {column: value})]):
        assert build(*graphs)[[1 if graphs[1] is filled else 0]] == build(filled)
    assert len(build((0, [], {column: value}), (0, [], {column: value}))) == 2


def test_errors_survive_worker_processes():
    error = pickle.loads(pickle.dumps(GraphError(4, "is odd")))
    assert (str(error), error.index) == ("graph 4: is odd", 4)


def test_too_many_nodes_are_refused_before_memory_is():
    with pytest.raises(ValueError, match="split the data"):
        GraphCollection.from_edges([(2**31, [])])


@dropped
@pytest.mark.parametrize("make", [np.array, sparse.csr_matrix, sparse.csr_array, sparse.coo_array, list])
def test_adjacency_matrices(make):
    matrix = make([[0, 1, 0], [1, 0, 1], [0, 1, 1]])
    collection = GraphCollection.from_adjacency([matrix], [["a", "b", "a"]])
    assert collection == GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["a", "b", "a"])])


def test_weights_become_an_edge_attribute_of_every_graph():
    collection = GraphCollection.from_adjacency([np.eye(2)[::-1], sparse.csr_array([[0, 0.5], [0.5, 0]])])
    assert [graph.edge_attributes.tolist() for graph in collection] == [[[1.0]], [[0.5]]]


def test_entries_stored_twice_are_summed_and_the_matrix_is_left_alone():
    halves = sparse.coo_array(([0.5, 0.5, 1.0, 2.0, -2.0], ([0, 0, 1, 1, 1], [1, 1, 0, 2, 2])), shape=(3, 3))
    collection = GraphCollection.from_adjacency([halves])
    assert collection == GraphCollection.from_edges([(3, [(0, 1)])])
    assert halves.nnz == 5


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        (np.zeros((2, 3)), r"must be square, not of shape \(2, 3\)"),
        (np.zeros(3), r"must be square, not of shape \(3,\)"),
        ([[0, 1], [1]], "differ in length"),
        (np.array([[0, np.nan], [np.nan, 0]]), "NaN or infinity"),
        (np.array([["a", "b"], ["b", "a"]]), "holds numbers"),
        (sparse.csr_array(np.array([[0, 1j], [1j, 0]])), "holds numbers"),
    ],
)
def test_bad_matrices(matrix, problem):
    with pytest.raises(GraphError, match=f"^graph 1: .*{problem}"):
        GraphCollection.from_adjacency([np.zeros((1, 1)), matrix])


@pytest.mark.parametrize("matrix", [[[0, 1], [0, 0]], [[0, 1], [2, 0]]])
def test_matrices_without_symmetry_are_directed_and_can_be_refused(matrix):
    assert GraphCollection.from_adjacency([np.zeros((1, 1)), np.array(matrix)]).directed
    with pytest.raises(GraphError, match=r"^graph 1: the graph is directed.*symmetrize=True"):
        GraphCollection.from_adjacency([np.zeros((1, 1)), np.array(matrix)], directed=False)


@given(st.lists(edge_lists(), max_size=4), st.booleans())
def test_what_is_dropped_is_counted(graphs, directed):
    n_loops = sum(u == v for _, edges in graphs for u, v in edges)
    n_parallel = 0
    for _, edges in graphs:
        counts = {}
        for u, v in edges:
            if u != v:
                counts[u, v] = counts.get((u, v), 0) + 1
        if directed:
            n_parallel += sum(counts.values()) - len(counts)
        else:  # an edge may be listed once each way
            n_parallel += sum(
                max(counts.get((u, v), 0), counts.get((v, u), 0)) - 1 for u, v in {(min(e), max(e)) for e in counts}
            )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GraphCollection.from_edges(graphs, directed=directed)
    said = [str(warning.message) for warning in caught]
    assert len(said) == (n_loops + n_parallel > 0)
    for count, what in ((n_loops, "self-loop"), (n_parallel, "parallel edge")):
        assert (f"{count} {what}" in "".join(said)) == (count > 0)
    assert all(warning.filename == __file__ for warning in caught)


def test_symmetrize_forgets_directions_and_keeps_weights():
    directed = [np.array([[0, 1, 0], [0, 0, 7], [0, 3, 0]])]
    found = GraphCollection.from_adjacency(directed, symmetrize=True)
    assert not found.directed
    assert found[0].edges.tolist() == [[0, 1], [1, 2]]
    assert found.edge_attributes.ravel().tolist() == [1, 1, 5, 5]
    once = GraphCollection.from_adjacency([np.array([[0, 1], [0, 0]])], symmetrize=True)
    assert once == GraphCollection.from_edges([(2, [(0, 1)])])


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.filterwarnings("ignore:.*self-loops")
def test_matrices_that_are_symmetric_up_to_rounding_are_undirected(is_sparse):
    rng = np.random.default_rng(0)
    found = np.corrcoef(rng.normal(size=(30, 50)))
    found[0, 1] *= 1 + 1e-12
    matrix = sparse.csr_array(found) if is_sparse else found
    graphs = as_collection([matrix])
    assert not graphs.directed
    assert graphs.n_edges == 30 * 29 // 2
    expected = (found + found.T)[np.repeat(np.arange(30), 29), graphs.indices] / 2
    np.testing.assert_allclose(graphs.edge_attributes[:, 0], expected, rtol=1e-15)
    found[0, 1] += 1e-6
    assert as_collection([found]).directed


def test_a_single_graph_is_not_a_list():
    with pytest.raises(TypeError, match=r"single ndarray: put it in a list, \[graph\]"):
        GraphCollection.from_adjacency(np.zeros((2, 2)))
    with pytest.raises(TypeError, match="single csr_array"):
        GraphCollection.from_adjacency(sparse.csr_array((2, 2)))
    with pytest.raises(TypeError, match="graphs must be a list of"):
        GraphCollection.from_edges(5)
    with pytest.raises(GraphError, match="graph 0: expected"):
        GraphCollection.from_edges((2, [(0, 1)]))


def test_number_of_label_sequences():
    with pytest.raises(ValueError, match="node_labels has 1 entries for 2 graphs"):
        GraphCollection.from_adjacency(np.zeros((2, 2, 2)), [["a", "b"]])


def test_more_nodes_than_any_integer_of_the_machine_are_refused():
    for size in (10**15, 10**30):
        with pytest.raises(GraphError, match=f"graph 0: {size} nodes are more than"):
            GraphCollection.from_edges([(size, [])])


# -------- arrays that compiled code would read beyond, or that are no adjacency, are refused


PATH = {"offsets": [0, 3], "indptr": [0, 1, 3, 4], "indices": [1, 0, 2, 1]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"indices": [1, 0, 2 * 10**9, 1]}, "indices must lie from 0 to 2"),
        ({"indices": [1, 0, -1, 1]}, "indices must lie from 0 to 2"),
        ({"indptr": [0, 4, 3, 4]}, "indptr must ascend from 0 to 4"),
        ({"indptr": [0, 1, 3, 10**9]}, "indptr must ascend from 0 to 4"),
        ({"offsets": [0, 10**9]}, "offsets must ascend from 0 to 3"),
        ({"offsets": [1, 3]}, "offsets must ascend from 0 to 3"),
        ({"node_codes": [0, 1, 0]}, "node_codes must lie from 0 to 0"),
        ({"node_codes": [0, 2, 0], "node_vocabulary": ("a", "b")}, "node_codes must lie from 0 to 1"),
        ({"node_codes": [0, 0], "node_vocabulary": ("a",)}, "node_codes must be 3 numbers"),
        ({"edge_codes": [0, 0, -5, 0], "edge_vocabulary": ("a",)}, "edge_codes must lie from 0 to 0"),
        ({"node_attributes": np.ones(3)}, "node_attributes must be a table with 3 rows"),
        ({"edge_attributes": np.ones((3, 1))}, "edge_attributes must be a table with 4 rows"),
    ],
)
def test_what_would_be_read_beyond_its_end_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        GraphCollection(**{**PATH, **changed})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"offsets": [0, 1, 3]}, "from one graph to another"),
        ({"indices": [1, 2, 0, 1]}, "must ascend"),
        ({"indices": [0, 0, 2, 1]}, "must ascend, without loops"),
        ({"indices": [1, 0, 2, 0]}, "from one of its ends alone"),
        ({"edge_codes": [0, 1, 0, 0], "edge_vocabulary": ("a", "b")}, "the same label at both"),
        ({"edge_attributes": [[0.0], [1.0], [0.0], [0.0]]}, "the same attributes at both"),
    ],
)
def test_what_is_no_clean_adjacency_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        check_clean(GraphCollection(**{**PATH, **changed}))


def test_what_is_clean_passes():
    check_clean(GraphCollection(**PATH))
    check_clean(GraphCollection(**{**PATH, "indices": [1, 0, 2, 0]}, directed=True))
    check_clean(collection(random_graphs(30, bonds=BONDS)))
    check_clean(GraphCollection([0], [0], []))


# -------- arcs forwards, backwards and both ways, beside sets of pairs


N_NODES = 5
NODES = st.integers(0, N_NODES - 1)
ARCS = st.lists(st.tuples(NODES, NODES), max_size=15)


def as_array(arcs):
    return np.array(arcs, np.int64).reshape(-1, 2)


def pairs(indptr, indices):
    """Return the arcs of an adjacency in its order."""
    return list(zip(np.repeat(np.arange(N_NODES), np.diff(indptr)).tolist(), indices.tolist(), strict=True))


def adjacency(arcs):
    return clean_adjacency(as_array(arcs), N_NODES, np.empty(0, np.int64), directed=True)


@settings(max_examples=30)
@given(ARCS)
def test_an_adjacency_has_each_proper_arc_once_in_order(arcs):
    original = np.empty(len(arcs), np.int64)
    indptr, indices, listed = clean_adjacency(as_array(arcs), N_NODES, original, directed=True)
    assert pairs(indptr, indices) == sorted({arc for arc in arcs if arc[0] != arc[1]})
    # An entry is the first listing of its arc; a loop and a first listing are their own, a repetition is the first's.
    assert [arcs[place] for place in listed] == pairs(indptr, indices)
    assert [arcs.index(arc) for arc in pairs(indptr, indices)] == listed.tolist()
    expected = [place if arc[0] == arc[1] else arcs.index(arc) for place, arc in enumerate(arcs)]
    assert original.tolist() == expected


@settings(max_examples=30)
@given(ARCS, st.booleans())
def test_each_edge_stands_once_at_both_ends(edges, traced):
    original = np.empty(len(edges) if traced else 0, np.int64)
    indptr, neighbors, listed = clean_adjacency(as_array(edges), N_NODES, original)
    arcs = pairs(indptr, neighbors)
    assert arcs == sorted({(u, v) for a, b in edges if a != b for u, v in ((a, b), (b, a))})
    first = {}
    for place, edge in enumerate(edges):
        first.setdefault(frozenset(edge), place)
    assert listed.tolist() == [first[frozenset(arc)] for arc in arcs]
    proper = [place if len(set(edge)) == 1 else first[frozenset(edge)] for place, edge in enumerate(edges)]
    assert original.tolist() == (proper if traced else [])


@settings(max_examples=30)
@given(ARCS)
def test_turning_arcs_round_keeps_track_of_them(arcs):
    indptr, indices, _ = adjacency(arcs)
    back_indptr, back_indices, entries = reversed_arcs(indptr, indices)
    forward = pairs(indptr, indices)
    assert pairs(back_indptr, back_indices) == sorted((head, tail) for tail, head in forward)
    assert [forward[entry][::-1] for entry in entries] == pairs(back_indptr, back_indices)


@settings(max_examples=30)
@given(ARCS)
def test_both_ways_a_node_sees_what_leaves_and_what_enters(arcs):
    indptr, indices, _ = adjacency(arcs)
    forward = pairs(indptr, indices)
    seen_indptr, seen, entries, entering = both_ways(indptr, indices)
    for node in range(N_NODES):
        span = slice(seen_indptr[node], seen_indptr[node + 1])
        found = list(zip(seen[span].tolist(), entering[span].tolist(), strict=True))
        leaving = [(head, False) for tail, head in forward if tail == node]
        assert sorted(found) == sorted(leaving + [(tail, True) for tail, head in forward if head == node])
        assert found[: len(leaving)] == leaving
    for at, (entry, turned) in enumerate(zip(entries, entering, strict=True)):
        assert seen[at] == forward[entry][0 if turned else 1]


@settings(max_examples=30)
@given(ARCS, st.booleans())
def test_symmetric_arcs_have_counterparts(arcs, completed):
    arcs = sorted({*arcs, *((head, tail) for tail, head in arcs)}) if completed else sorted(set(arcs))
    assert symmetric(as_array(arcs), None, N_NODES) == all((head, tail) in arcs for tail, head in arcs)


@pytest.mark.parametrize(("values", "expected"), [([3, 5, 3, 5], True), ([3, 5, 3, 4], False), ([3, 3, 5, 5], False)])
def test_symmetric_arcs_carry_the_same_both_ways(values, expected):
    arcs = as_array([(0, 1), (1, 2), (1, 0), (2, 1)])
    assert symmetric(arcs, np.array(values), N_NODES) == expected


def test_a_graph_without_edges_says_nothing_about_labels_of_others():
    empty, labeled_nodes = (0, [], [], []), (2, [(0, 1), (1, 0)], ["b", "a"])
    for graphs in ([empty, labeled_nodes], [labeled_nodes, empty]):
        found = as_collection(graphs)
        assert found.n_edges == 1
        assert found.edge_vocabulary is None
        assert found.node_vocabulary == ("a", "b")
    assert as_collection([empty]).edge_vocabulary == ()
