"""Graphs taken out of collections and put back together."""

import numpy as np
import pytest

from inputs.one_graph_of_each_kind import BARE, EXPECTED
from relaxwl.graphs import GraphCollection, GraphError
from relaxwl.inputs import as_collection


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
