"""Graphs of the type that a kernel was fitted on; nothing is ignored without a word."""

import networkx as nx
import numpy as np
import pytest

from relaxed_kernels import optimized
from relaxwl import EditCost, GraphCollection, WeisfeilerLehman, as_collection


def test_a_kernel_refuses_the_other_type():
    directed = GraphCollection.from_edges([(2, [(0, 1)])], directed=True)
    undirected = directed.to_undirected()
    for kernel in (WeisfeilerLehman(), optimized()):
        with pytest.raises(ValueError, match="fitted on directed graphs, and these graphs are undirected"):
            kernel.fit(directed).transform(undirected)
        with pytest.raises(ValueError, match="fitted on undirected graphs, and these graphs are directed"):
            kernel.fit(undirected).transform(directed)
        for other, kind in ((directed, "directed"), (undirected, "undirected")):
            with pytest.raises(ValueError, match=f"graph 0: the graph is {kind}"):
                kernel.fit(undirected if other is directed else directed).transform(list(other))
    # A symmetric matrix and pairs do not tell; a DiGraph and a Graph do, and molecules are undirected.
    kernel = WeisfeilerLehman().fit(directed)
    kernel.transform([np.array([[0, 1], [1, 0]])])
    np.testing.assert_array_equal(kernel.transform([(2, [(0, 1)])]).toarray(), kernel.transform(directed).toarray())
    for graphs in ([nx.path_graph(2)], ["CC"]):
        with pytest.raises(ValueError, match="the graph is undirected"):
            kernel.transform(graphs)


def test_what_takes_no_part_is_told_with_a_remedy():
    labeled = nx.path_graph(2)
    labeled.edges[0, 1]["label"] = "double"
    weighted = [np.array([[0, 2.5], [2.5, 0]])]
    with pytest.warns(UserWarning, match=r"WeisfeilerLehman ignores edge labels \(edge_labels=True uses them\)$"):
        WeisfeilerLehman().fit([labeled])
    with pytest.warns(UserWarning, match=r"edge attributes \(RelaxedWeisfeilerLehman\(cost=.*edge_metric"):
        WeisfeilerLehman().fit(weighted)
    # No word where they take part, nor of edge labels in a collection that the user has made.
    WeisfeilerLehman(edge_labels=True).fit([labeled])
    WeisfeilerLehman().fit(as_collection([labeled]))
    optimized(cost=EditCost.from_attributes(edge_metric="euclidean")).fit(weighted)
