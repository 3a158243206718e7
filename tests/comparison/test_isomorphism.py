import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from relaxwl.comparison import GenerationQuality
from relaxwl.comparison.isomorphism import isomorphism_classes
from strategies import permuted, plain_graphs


@pytest.mark.parametrize("library", ["igraph", "networkx"])
@given(st.data())
def test_classes_are_those_of_all_renamings(library, data):
    some = data.draw(st.lists(plain_graphs(max_nodes=4, edges=("x", "y"), labels=("A", "B")), min_size=1, max_size=4))
    graphs = some + [permuted(graph, data.draw(st.permutations(range(graph[0])))) for graph in some]
    with pytest.MonkeyPatch.context() as patch:
        if library == "networkx":
            patch.setitem(sys.modules, "igraph", None)
        found = isomorphism_classes([graph if graph[3] else graph[:3] for graph in graphs])
    for i, one in enumerate(graphs):
        for j, other in enumerate(graphs[:i]):
            assert (found[i] == found[j]) == naive.are_isomorphic(one, other)


@pytest.mark.parametrize("library", ["igraph", "networkx"])
def test_graphs_that_refinement_cannot_tell_apart_are_compared_exactly(library, monkeypatch):
    if library == "networkx":
        monkeypatch.setitem(sys.modules, "igraph", None)
    ring, rings = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    again = nx.relabel_nodes(ring, dict(enumerate([3, 0, 5, 1, 4, 2])))
    assert isomorphism_classes([ring, rings, again, rings]).tolist() == [0, 1, 0, 1]
    arcs = [
        nx.DiGraph([(0, 1), (1, 2), (2, 0)]),
        nx.DiGraph([(0, 1), (1, 2), (0, 2)]),
        nx.DiGraph([(1, 0), (0, 2), (2, 1)]),
    ]
    assert isomorphism_classes(arcs).tolist() == [0, 1, 0]


def test_molecules_are_equal_if_their_canonical_smiles_are():
    pytest.importorskip("rdkit.Chem")
    assert isomorphism_classes(["CCO", "OCC", "CCN"]).tolist() == [0, 0, 1]
    shares = GenerationQuality(["CCO"], validity=lambda graph: graph.n_nodes > 1).compute(["OCC", "CCN", "NCC", "C"])
    assert shares == {
        "unique": 0.75, "novel": 0.75, "unique_novel": 0.5, "valid": 0.75, "valid_unique": 0.5, "valid_novel": 0.5,
        "valid_unique_novel": 0.25,
    }  # fmt: skip


def test_one_graph_at_least_must_be_generated():
    with pytest.raises(ValueError, match="generated must have at least one graph"):
        GenerationQuality([nx.path_graph(2)]).compute([])


def test_classes_are_numbered_as_they_occur():
    graphs = [nx.path_graph(n) for n in (4, 2, 4, 3, 2)]
    np.testing.assert_array_equal(isomorphism_classes(graphs), [0, 1, 0, 2, 1])
