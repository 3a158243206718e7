"""Graphs of GraKeL, in each of its forms."""

import networkx as nx
import pytest

from inputs.one_graph_of_each_kind import BARE, EXPECTED, PATH, grakel, labelled_networkx, needs_grakel
from relaxwl.inputs import as_collection


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
    graphs = labelled_networkx()[:2]
    made = list(grakel.graph_from_networkx(graphs, node_labels_tag="label", as_Graph=as_graph))
    assert as_collection(made) == EXPECTED[:2]
    bare = list(grakel.graph_from_networkx([nx.path_graph(3)], as_Graph=as_graph))
    assert as_collection(bare) == BARE[:1]


@needs_grakel
def test_weights_of_one_are_none():
    graph = grakel.Graph({0: {1: 1.0}, 1: {0: 1.0}}, {0: "a", 1: "b"})
    assert as_collection([graph]).edge_attributes is None
