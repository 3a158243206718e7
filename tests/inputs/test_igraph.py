"""Graphs of igraph."""

import igraph

from relaxwl.inputs import as_collection


def test_round_trip_with_everything():
    graph = igraph.Graph(3, [(0, 1), (2, 1)])
    graph.vs["label"], graph.es["label"] = [3, "b", 1.5], ["-", "="]
    graph.vs["attributes"], graph.es["attributes"] = [[1, 2], [3, 4], [5, 6]], [7, 8]
    found = as_collection([graph])
    assert repr(found).endswith("3 node labels, 2 edge labels, 2 node attributes, 1 edge attributes)")
    assert found[0].edge_labels == ["-", "="]
    assert found[0].edge_attributes.tolist() == [[7], [8]]
    assert as_collection(found.to_networkx()) == found
    assert found.names is None
    graph["name"] = "small"
    assert as_collection([graph]).names == ("small",)
