"""Graphs of libraries: our own views, networkx, igraph, RDKit."""

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inputs.one_graph_of_each_kind import BARE, EXPECTED
from relaxwl import as_collection
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.molecules import from_rdkit, from_smiles


def test_views_keep_order_repetitions_and_sources():
    other = GraphCollection.from_edges([(2, [(0, 1)], ["A", "Z"]), (0, [])])
    views = [other[0], EXPECTED[1], EXPECTED[0], other[1], EXPECTED[1]]
    joined = as_collection(views)
    assert list(joined) == views
    assert joined.node_vocabulary == ("A", "C", "N", "O", "Z")
    assert as_collection([EXPECTED[2], EXPECTED[2]]) == EXPECTED[[2, 2]]


def test_views_must_agree():
    with pytest.raises(GraphError, match=r"^graph 2: of graphs 1 and 2 only one has node labels"):
        as_collection([EXPECTED[2], EXPECTED[0], BARE[0]])
    weighted = GraphCollection.from_adjacency([np.array([[0, 2], [2, 0]])])
    with pytest.raises(GraphError, match=r"^graph 1: the edge attributes have not the same length"):
        as_collection([BARE[0], weighted[0]])


@given(st.data())
def test_networkx_round_trip_needs_no_names(data):
    sizes = data.draw(st.lists(st.integers(0, 4), max_size=3))
    graphs = GraphCollection.from_edges(
        (size, [(u, v) for u in range(size) for v in range(u) if data.draw(st.booleans())], [*range(size)])
        for size in sizes
    )
    assert list(as_collection(graphs.to_networkx())) == list(graphs) or not graphs.n_nodes


def test_round_trip_with_everything():
    graph = igraph.Graph(3, [(0, 1), (2, 1)])
    graph.vs["label"], graph.es["label"] = [3, "b", 1.5], ["-", "="]
    graph.vs["attributes"], graph.es["attributes"] = [[1, 2], [3, 4], [5, 6]], [7, 8]
    found = as_collection([graph])
    assert repr(found).endswith("3 node labels, 2 edge labels, 2 node attributes, 1 edge attribute)")
    assert found[0].edge_labels == ["-", "="]
    assert found[0].edge_attributes.tolist() == [[7], [8]]
    assert as_collection(found.to_networkx()) == found
    assert found.names is None
    graph["name"] = "small"
    assert as_collection([graph]).names == ("small",)


def test_rdkit_molecules_are_graphs_to_every_function():
    chem = pytest.importorskip("rdkit.Chem")
    molecules = [chem.MolFromSmiles(text) for text in ("CCO", "c1ccccc1")]
    assert as_collection(molecules) == from_smiles(["CCO", "c1ccccc1"]) == from_rdkit(molecules)
    with pytest.raises(TypeError, match="put a single graph in a list"):
        as_collection(molecules[0])


def test_texts_are_molecules():
    graphs = as_collection(["CCO", "C=C"])
    assert graphs == from_smiles(["CCO", "C=C"])
    assert graphs.sources == ("CCO", "C=C")
    with pytest.raises(GraphError, match=r"^graph 1: the text 'nets/a.graphml' is not a molecule .* a path stands for"):
        as_collection(["CCO", "nets/a.graphml"])
    with pytest.raises(ValueError, match="node_label names an attribute, but a SMILES string has no attributes"):
        as_collection(["CCO"], node_label="x")
