"""GS: the law of the samples, their number, and that they belong to the graph alone."""

import math

import networkx
import numpy as np
import pytest

import naive
from kernels.baselines.graph_forms import grakel_graphs, plain_graphs, random_graphs
from relaxwl.graphs import GraphCollection
from relaxwl.kernels.baselines import GraphletSampling
from relaxwl.kernels.baselines.graphlet_sampling import _catalog


def test_catalog_holds_every_graph_once():
    _, _, types = _catalog()
    sizes = [size for size, _ in types]
    assert [sizes.count(size) for size in range(6)] == [1, 1, 2, 4, 11, 34]


def named_frequencies(kernel, graph):
    """Return the sampled frequencies by the oracle's names of graphlets."""
    features = kernel.transform(graph).toarray()[0] / kernel.n_samples_
    types = [_catalog()[2][number] for number in kernel.graphlets_]
    bit = {(i, j): j * (j - 1) // 2 + i for j in range(5) for i in range(j)}
    names = [
        (size, naive.smallest_graphlet_form({pair for pair, place in bit.items() if mask >> place & 1}, size))
        for size, mask in types
    ]
    return dict(zip(names, features, strict=True))


@pytest.mark.parametrize("max_size", [3, 4, 5])
def test_frequencies_follow_the_law(max_size):
    n_samples = 40_000
    for graph in range(4):
        graphs = random_graphs(graph, n_graphs=1, max_nodes=9)
        law = naive.graphlet_law(plain_graphs(graphs)[0], max_size)
        kernel = GraphletSampling(max_size=max_size, n_samples=n_samples, random_state=1).fit(graphs)
        found = named_frequencies(kernel, graphs)
        assert set(found) <= set(law)
        for name, probability in law.items():
            tolerance = 5 * math.sqrt(probability * (1 - probability) / n_samples) + 1e-9
            assert abs(found.get(name, 0) - probability) <= tolerance


@pytest.mark.parametrize("max_size", [3, 4, 5])
def test_law_and_number_of_samples_are_those_of_grakel(max_size):
    kernels = pytest.importorskip("grakel.kernels")
    graphs = GraphCollection.from_networkx([networkx.gnp_random_graph(12, 0.4, seed=1)])
    reference = kernels.GraphletSampling(k=max_size, sampling={"delta": 0.1, "epsilon": 0.1}, random_state=0)
    reference.fit(grakel_graphs(graphs))
    assert GraphletSampling(max_size=max_size).fit(graphs).n_samples_ == reference.n_samples_

    reference = kernels.GraphletSampling(k=max_size, sampling={"n_samples": 4000}, random_state=0)
    reference.fit(grakel_graphs(graphs))
    theirs = sorted(reference.X.values())
    ours = sorted(GraphletSampling(max_size=max_size, n_samples=4000, random_state=0).fit_transform(graphs).data)
    assert len(ours) == len(theirs) or min(ours + theirs) < 10
    width = min(len(ours), len(theirs))
    assert np.abs(np.array(ours[-width:]) - theirs[-width:]).max() <= 5 * math.sqrt(4000) / 2


def test_samples_belong_to_the_graph_alone():
    graphs = random_graphs(5, n_graphs=12)
    kernel = GraphletSampling(random_state=3).fit(graphs)
    together = kernel.transform(graphs).toarray()
    for graph in (0, 5, 11):
        assert np.array_equal(kernel.transform(graphs[graph : graph + 1]).toarray()[0], together[graph])
    assert np.array_equal(together.sum(axis=1), np.full(12, kernel.n_samples_))


def test_seeds():
    graphs = random_graphs(6)
    one, same, other = (GraphletSampling(random_state=seed).fit_kernel_matrix(graphs) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_tiny_graphs_yield_themselves():
    graphs = GraphCollection.from_edges([(0, []), (1, []), (2, [(0, 1)]), (2, [])])
    kernel = GraphletSampling(n_samples=10, random_state=0).fit(graphs)
    assert kernel.get_feature_names_out().tolist() == ["1 node, 0 edges", "2 nodes, 0 edges", "2 nodes, 1 edge: 0–1"]
    assert kernel.transform(graphs).toarray().tolist() == [[0, 0, 0], [10, 0, 0], [0, 0, 10], [0, 10, 0]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_size": 6}, "max_size"),
        ({"n_samples": 0}, "n_samples"),
        ({"n_samples": 10**7}, "n_samples must be at most 1000000, not 10000000"),
        ({"epsilon": 1e-3}, "n_samples must be at most 1000000, not .*; without it, raise epsilon"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 2}, "delta"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        GraphletSampling(**parameters).fit(random_graphs(1))
