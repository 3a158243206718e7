"""Names of labels and attributes: the convention, those of the user, and what is missing."""

import igraph
import networkx as nx
import numpy as np
import pytest

from inputs.one_graph_of_each_kind import EXPECTED, grakel_graphs, known_to_some
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.inputs import as_collection


def test_names_given_by_the_user():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "C", 1: "N"}, "element")
    nx.set_node_attributes(graph, 0.5, "charge")
    nx.set_edge_attributes(graph, 2, "order")
    names = {"node_label": "element", "edge_label": "order", "node_attributes": "charge", "edge_attributes": ["order"]}
    for kind in (graph, igraph.Graph.from_networkx(graph)):
        found = as_collection([kind], **names)
        assert found[0].node_labels == ["C", "N"]
        assert found[0].edge_labels == [2]
        assert found[0].node_attributes.tolist() == [[0.5], [0.5]]
        assert found[0].edge_attributes.tolist() == [[2]]
        with pytest.warns(
            UserWarning, match="node attributes 'charge', 'element' and the edge attributes 'order' are not"
        ):
            assert as_collection([kind]) == GraphCollection.from_edges([(2, [(0, 1)])])
        with pytest.warns(UserWarning, match="the node attributes 'charge' are not read"):
            as_collection([kind], node_label="element", edge_label="order")
        # No warning: the user has said so.
        assert not as_collection([kind], node_attributes=[], edge_attributes=[]).is_labeled


@pytest.mark.parametrize("empty", [(), (nx.Graph(),)])
def test_a_partial_convention_is_no_silent_guess(empty):
    half = nx.path_graph(2)
    half.nodes[0]["label"] = "a"
    with pytest.raises(GraphError, match=f"^graph {len(empty)}: 1 of its 2 nodes have no attribute 'label'"):
        as_collection([*empty, half])
    with pytest.raises(GraphError, match=f"^graph {len(empty)}: 1 of its 2 nodes have no attribute 'label'"):
        as_collection([*(igraph.Graph(0) for _ in empty), igraph.Graph.from_networkx(half)])
    labeled, bare = nx.path_graph(2), nx.path_graph(3)
    labeled.edges[0, 1]["label"] = 1
    with pytest.raises(GraphError, match=r"^graph 1: 2 of its 2 edges have no attribute 'label'"):
        as_collection([labeled, bare])


def test_an_empty_list_of_names_reads_nothing():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, "not a number", "attributes")
    with pytest.raises(GraphError, match="graph 0: the attributes are not numbers"):
        as_collection([graph])
    assert as_collection([graph], node_attributes=[]).node_attributes is None


def test_missing_names():
    with pytest.raises(GraphError, match=r"^graph 1: has no attribute 'kind'"):
        as_collection([igraph.Graph(0), igraph.Graph(1)], node_label="kind")
    with pytest.raises(GraphError, match=r"^graph 1: node 0 has no attribute 'kind'"):
        as_collection([nx.Graph(), nx.path_graph(1)], node_label="kind")


@pytest.mark.parametrize(
    "graphs",
    [EXPECTED, list(EXPECTED), [np.eye(2)], [(1, [])], grakel_graphs({(0, 1)}) or [np.eye(2)], "somewhere"],
    ids=lambda graphs: type(graphs).__name__,
)
def test_names_that_cannot_be_looked_up_are_refused(graphs):
    with pytest.raises(ValueError, match=r"node_label names an attribute, but .* has no attributes"):
        as_collection(graphs, node_label="label")


@pytest.mark.parametrize("library", ["networkx", "igraph"])
def test_what_some_nodes_and_edges_lack(library):
    names = {"node_label": "element", "edge_label": "bond", "node_attributes": ["place", "size"]}
    found = as_collection(known_to_some(library), **names, edge_attributes="length", missing="?")
    assert [graph.node_labels for graph in found] == [["C", "?", "O"], ["?", "?"]]
    assert [graph.edge_labels for graph in found] == [["single", "?"], ["?"]]
    expected = np.full((5, 3), np.nan)
    expected[0] = 1, 2, 3
    np.testing.assert_array_equal(found.node_attributes, expected)
    np.testing.assert_array_equal(found[0].edge_attributes, [[0.5], [np.nan]])
    several = as_collection(
        known_to_some(library), node_label=["element", "size"], node_attributes=[], edge_attributes=[], missing="?"
    )
    assert several[0].node_labels == [("C", 3.0), ("?", "?"), ("O", "?")]
    with pytest.raises(ValueError, match=r"no graph has the attribute 'elment'; there is .*'element'"):
        as_collection(known_to_some(library), node_label="elment", node_attributes=[], edge_attributes=[], missing="?")
    alone = as_collection(known_to_some(library)[1:], **names, edge_attributes="length", missing="?")
    assert alone[0].node_labels == ["?", "?"]
