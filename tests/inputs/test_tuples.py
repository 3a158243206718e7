"""Tuples, adjacency matrices, and graphs of GraKeL."""

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from inputs.one_graph_of_each_kind import BARE, EXPECTED, PATH, grakel, labeled_networkx, needs_grakel
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.inputs import as_collection


def test_weights_are_an_edge_attribute():
    graphs = [
        [{(0, 1, 2.5), (1, 2, 0.5)}, {0: "a", 1: "b", 2: "c"}],
        [{0: {1: 1.0}, 1: {0: 1.0}}, {0: "a", 1: "b"}],
        [{(0, 1): 3}, {0: "a", 1: "b"}],
        [np.array([[0, 4], [4, 1]]), {0: "a", 1: "b"}],
    ]
    found = as_collection(graphs)
    assert [graph.edge_attributes.ravel().tolist() for graph in found] == [[2.5, 0.5], [1], [3], [4]]


def test_edge_labels_of_tuples():
    labels = {0: "a", 1: "b", 2: "c"}
    for edge_labels in ({(1, 0): "x", (1, 2): "y"}, {(0, 1): "x", (1, 0): "x", (2, 1): "y"}, ["x", "y"]):
        for graph in ([[(0, 1), (1, 2)], labels, edge_labels], (3, [(0, 1), (1, 2)], labels, edge_labels)):
            assert as_collection([graph])[0].edge_labels == ["x", "y"]
    with_loop = as_collection([[{(0, 1), (1, 1)}, labels, {(0, 1): "x"}]])
    assert with_loop[0].edge_labels == ["x"]
    assert with_loop[0].n_nodes == 3


def test_two_by_two():
    edges = [[0, 1], [1, 2]]
    expected = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["a", "b", "c"])])
    assert as_collection([[edges, ["a", "b", "c"]]]) == expected
    assert as_collection([[np.array(edges), {0: "a", 1: "b", 2: "c"}]]) == expected
    assert as_collection([(3, edges, ["a", "b", "c"])]) == expected
    diagonal = [[1, 0], [0, 1]]
    for matrix in (diagonal, np.array(diagonal)):
        assert as_collection([[matrix, ["a", "b"]]]).n_edges == 0
    assert as_collection([[np.array(diagonal)]]).n_edges == 0
    with pytest.raises(GraphError, match="graph 0: two lists of two numbers can be two edges or a matrix"):
        as_collection([[diagonal]])


def test_inputs_are_not_changed():
    structure, labels = {0: {1: 1.0}, 1: {0: 1.0}}, {0: "a", 1: "b"}
    as_collection([[structure, labels]])
    assert structure == {0: {1: 1.0}, 1: {0: 1.0}}
    matrix = np.array(PATH)
    as_collection([matrix])
    assert matrix.tolist() == PATH
    assert matrix.flags.writeable


@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        ((2, [(0, 2)]), r"edge \(0, 2\) names a node outside 0\.\.1"),
        (([(0, 2)], ["a", "b"]), r"edge \(0, 2\) names a node outside 0\.\.1"),
        (([("x", "y")], ["a", "b"]), "pairs of node numbers"),
        (([(0, 1)], {0: "a"}), "node 1 has no label"),
        (([("x", "y")], {"x": "a", "y": None}), "node 'y' has no label"),
        ((np.array(PATH), {0: "a", 1: "b"}), "nodes: number 2 has no label"),
        ((2, [(0, 1)], ["a", None]), "number 1 has no label"),
        (([(0, 1)], ["a", "b"], {(5, 6): "x"}), r"edge \(0, 1\) has no label"),
        (([(0, 1)], ["a", "b"], {(0, 1): "x", (1, 0): "y"}), r"edge \(0, 1\) has the labels 'x' and 'y'"),
        (({(0, 1)}, ["a", "b"], ["x"]), "edge labels must be a dictionary"),
        (([(0, 1, 2, 3)], ["a", "b"]), "an edge must be a pair"),
        (([0, 1], ["a", "b"]), "an edge must be a pair"),
        (({0: 1},), "an edge must be a pair"),
        (([(0, 1)], "ab"), "labels must be a sequence or a dictionary, not str"),
        (([(0, 1)], 5), "labels must be a sequence or a dictionary, not int"),
        (([(frozenset({1}), 1)],), "nodes must be named by numbers, strings"),
        (({0: [{1}]},), "nodes must be named by numbers, strings"),
        (("x", "y"), "expected"),
        ((3,), "expected"),
        ((3, 4), "expected"),
        ((object(), ["a"]), "the edges must be pairs of nodes, not object"),
        ((2, [(0, 1, "heavy")]), "not numbers"),
        ((2, [(0, 1, np.nan)]), "NaN or infinity"),
        ((1, [], ["a"], [], []), "is a tuple of 5 members"),
        ((), "is a tuple of 0 members"),
    ],
)
def test_tuple_errors_name_the_graph(graph, problem):
    with pytest.raises(GraphError, match=f"^graph 1: .*{problem}"):
        as_collection([(0, []), graph])


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_lists_of_sparse_blocks(form, kind):
    """Matrices of any format, among them those that ``block_diag`` joins and an index takes out again."""
    make = getattr(sparse, f"{form}_{kind}")
    blocks = [np.array(PATH), np.zeros((2, 2), int), 1 - np.eye(4, dtype=int)]
    expected = as_collection(blocks)
    assert as_collection([make(block) for block in blocks]) == expected
    assert as_collection(make(block) for block in blocks) == expected
    joined = sparse.block_diag([sparse.coo_array(block) for block in blocks], format="csr")
    ends = np.cumsum([0, *(len(block) for block in blocks)])
    assert as_collection([make(joined[a:b, a:b]) for a, b in itertools.pairwise(ends)]) == expected
    arcs = as_collection([make(np.triu(block) * 2.5) for block in blocks])
    assert arcs.directed
    assert set(arcs.edge_attributes.ravel()) == {2.5}
    with pytest.raises(TypeError, match="put a single graph in a list"):
        as_collection(make(blocks[0]))


@needs_grakel
@pytest.mark.parametrize("graph_format", ["auto", "dictionary", "adjacency", "all"])
@pytest.mark.parametrize("start", [PATH, {(0, 1), (1, 0), (1, 2), (2, 1)}], ids=["matrix", "pairs"])
def test_grakel_graphs(start, graph_format):
    labels, edge_labels = {0: "C", 1: "O", 2: "C"}, {(0, 1): "-", (1, 0): "-", (1, 2): "=", (2, 1): "="}
    graph = grakel.Graph(start, labels, edge_labels, graph_format=graph_format)
    before = (graph._format, repr(graph.edge_dictionary), repr(graph.adjacency_matrix))
    found = as_collection([graph])
    assert found[0].node_labels == ["C", "O", "C"]
    assert found[0].edges.tolist() == [[0, 1], [1, 2]]
    assert found[0].edge_labels == ["-", "="]
    assert found.edge_attributes is None
    assert (graph._format, repr(graph.edge_dictionary), repr(graph.adjacency_matrix)) == before


@needs_grakel
@pytest.mark.parametrize("as_graph", [True, False])
def test_what_grakel_itself_produces(as_graph):
    graphs = labeled_networkx()[:2]
    made = list(grakel.graph_from_networkx(graphs, node_labels_tag="label", as_Graph=as_graph))
    assert as_collection(made) == EXPECTED[:2]
    bare = list(grakel.graph_from_networkx([nx.path_graph(3)], as_Graph=as_graph))
    assert as_collection(bare) == BARE[:1]


@needs_grakel
def test_weights_of_one_are_none():
    graph = grakel.Graph({0: {1: 1.0}, 1: {0: 1.0}}, {0: "a", 1: "b"})
    assert as_collection([graph]).edge_attributes is None
