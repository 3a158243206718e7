"""WWL: closed forms against transport solved pair by pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from kernels.baselines.graph_forms import plain_graphs, random_graphs
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.building import CollectionBuilder
from relaxwl.kernels.baselines import WassersteinWL


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), depth=st.integers(0, 3), n_labels=st.sampled_from([0, 2, 3]))
def test_categorical_distance_equals_transport(seed, depth, n_labels):
    graphs = random_graphs(seed, n_graphs=4, n_labels=n_labels, max_nodes=7)
    plain = plain_graphs(graphs)
    if n_labels == 0:  # the degree is the label
        plain = [(graph[0], graph[1], [len(near) for near in naive.neighbor_lists(graph)], None) for graph in plain]
    expected = [[naive.uniform_transport_cost(naive.wl_label_costs(a, b, depth)) for b in plain] for a in plain]
    found = WassersteinWL(max_depth=depth).fit(graphs).distance_matrix(graphs)
    assert np.allclose(found, expected, atol=1e-9)


def test_categorical_distance_equals_pot():
    ot = pytest.importorskip("ot")
    graphs = random_graphs(7, n_graphs=12, n_labels=3, max_nodes=14)
    plain = plain_graphs(graphs)
    found = WassersteinWL(max_depth=5).fit(graphs).distance_matrix(graphs)
    for i, one in enumerate(plain):
        for j, other in enumerate(plain):
            costs = naive.wl_label_costs(one, other, 5)
            n, m = costs.shape
            assert abs(ot.emd2(np.full(n, 1 / n), np.full(m, 1 / m), costs) - found[i, j]) < 1e-9


def with_attributes(seed, width, n_graphs=6):
    graphs = random_graphs(seed, n_graphs=n_graphs, n_labels=0, max_nodes=8)
    values = np.random.default_rng(seed).normal(size=(graphs.n_nodes, width))
    builder = CollectionBuilder()
    for graph, (n_nodes, edges, _, _) in enumerate(plain_graphs(graphs)):
        start = int(graphs.offsets[graph])
        builder.add(n_nodes, edges, node_attributes=values[start : start + n_nodes])
    return GraphCollection(**builder.build())


@pytest.mark.parametrize(("width", "depth"), [(1, 0), (1, 2), (3, 0), (3, 2)])
def test_continuous_distance_equals_transport(width, depth):
    graphs = with_attributes(width, width)
    kernel = WassersteinWL(max_depth=depth, scheme="continuous", standardize=False).fit(graphs)
    places = []
    for number, graph in enumerate(plain_graphs(graphs)):
        start, stop = graphs.offsets[number], graphs.offsets[number + 1]
        places.append(naive.smoothed_attributes(graph, graphs.node_attributes[start:stop], depth))
    expected = [
        [naive.uniform_transport_cost(np.linalg.norm(a[:, None] - b[None], axis=2)) for b in places] for a in places
    ]
    assert np.allclose(kernel.distance_matrix(graphs), expected, atol=1e-9)
    assert np.allclose(kernel.distance_matrix(graphs[:2], graphs), expected[:2], atol=1e-9)


def test_attributes_are_scaled_by_the_fitted_ones():
    graphs = with_attributes(5, 2)
    values = graphs.node_attributes
    scaled = GraphCollection(
        graphs.offsets,
        graphs.indptr,
        graphs.indices,
        node_attributes=(values - values.mean(axis=0)) / values.std(axis=0),
    )
    found = WassersteinWL(scheme="continuous").fit(graphs).distance_matrix(graphs)
    expected = WassersteinWL(scheme="continuous", standardize=False).fit(scaled).distance_matrix(scaled)
    assert np.allclose(found, expected, atol=1e-12)


def test_continuous_without_attributes_takes_the_degree():
    graphs = GraphCollection.from_edges([(2, [(0, 1)]), (3, [(0, 1), (1, 2)])])
    kernel = WassersteinWL(max_depth=0, scheme="continuous", standardize=False).fit(graphs)
    assert np.allclose(kernel.distance_matrix(graphs), [[0, 1 / 3], [1 / 3, 0]])


def test_unseen_graphs_and_labels_are_compared_exactly():
    graphs = random_graphs(4, n_graphs=10, n_labels=4)
    kernel = WassersteinWL(max_depth=2).fit(random_graphs(9, n_labels=2))
    whole = kernel.distance_matrix(graphs)
    assert np.allclose(kernel.distance_matrix(graphs[:4], graphs[4:]), whole[:4, 4:], atol=1e-12)


def test_graphs_without_nodes():
    graphs = GraphCollection.from_edges([(0, []), (2, [(0, 1)]), (0, [])])
    expected = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    kernel = WassersteinWL().fit(graphs)
    assert kernel.distance_matrix(graphs).tolist() == expected
    assert kernel.distance_matrix(graphs, graphs).tolist() == expected
    with pytest.raises(ValueError, match="graph 0 has no nodes"):
        WassersteinWL(scheme="continuous").fit(graphs).kernel_matrix(graphs)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"max_depth": -1}, "max_depth"), ({"decay": 0}, "decay"), ({"scheme": "fuzzy"}, "scheme")],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        WassersteinWL(**parameters).fit(random_graphs(1))


def test_labeled_and_unlabeled_graphs_do_not_mix():
    with pytest.raises(ValueError, match="both have node labels"):
        WassersteinWL().fit(random_graphs(1)).kernel_matrix(random_graphs(1), random_graphs(1, n_labels=0))
