"""The same few graphs as each library keeps them, and stand-ins for libraries that may be missing."""

import igraph
import networkx as nx
import numpy as np
import pytest

from relaxwl.graphs import GraphCollection

try:
    import grakel
except ImportError:  # there are no wheels for the latest versions of Python
    grakel = None
needs_grakel = pytest.mark.skipif(grakel is None, reason="GraKeL is not available here")

# A labeled path, an isolated node, and a graph without nodes.
EXPECTED = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["C", "O", "C"]), (1, [], ["N"]), (0, [], [])])
BARE = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (1, []), (0, [])])
PATH = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def grakel_graphs(pairs):
    """Return a list of one graph of GraKeL, or of none where it is not available."""
    return [] if grakel is None else [grakel.Graph(pairs)]


class FakeTensor:
    """As much of a tensor as ``as_collection`` needs."""

    def __init__(self, values, requires_grad=True):
        self.values, self.requires_grad = np.asarray(values), requires_grad

    def __len__(self):
        return len(self.values)

    def detach(self):
        return FakeTensor(self.values, requires_grad=False)

    def cpu(self):
        return self

    def numpy(self):
        assert not self.requires_grad
        return self.values


class FakeData:
    """A graph in the manner of PyTorch Geometric: absent tensors are None, iteration is over the tensors."""

    def __init__(self, edge_index, num_nodes=None, **tensors):
        self.edge_index, self.num_nodes = FakeTensor(edge_index), num_nodes
        self.x = self.edge_attr = None
        for name, values in tensors.items():
            setattr(self, name, FakeTensor(values))

    def __iter__(self):
        return iter(vars(self).items())


def labeled_networkx():
    graphs = EXPECTED.to_networkx()
    assert graphs[0].nodes[1]["label"] == "O"
    return graphs


def labeled_igraph():
    path, single, empty = igraph.Graph(3, [(0, 1), (1, 2)]), igraph.Graph(1), igraph.Graph()
    path.vs["label"], single.vs["label"] = ["C", "O", "C"], ["N"]
    return [path, single, empty]


def known_to_some(library):
    """Two graphs of which the second lacks everything, and the first has some of it."""
    graphs = [nx.path_graph(3), nx.path_graph(2)]
    graphs[0].nodes[0].update(element="C", place=[1.0, 2.0], size=3.0)
    graphs[0].nodes[2].update(element="O")
    graphs[0].edges[0, 1].update(bond="single", length=0.5)
    return graphs if library == "networkx" else [igraph.Graph.from_networkx(graph) for graph in graphs]
