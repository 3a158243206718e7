"""SP against the definition and against GraKeL."""

import numpy as np
import pytest

import naive
from kernels.baselines.graph_forms import grakel_graphs, plain_graphs, random_graphs
from relaxwl.kernels import counting
from relaxwl.kernels.baselines import ShortestPath


@pytest.mark.parametrize("n_labels", [0, 3])
def test_equals_the_definition(n_labels):
    graphs = random_graphs(2, n_graphs=15, n_labels=n_labels)
    counts = [naive.base_counts(graph, graph[2], "shortest-path") for graph in plain_graphs(graphs)]
    expected = [[naive.count_product(one, other) for other in counts] for one in counts]
    assert np.array_equal(ShortestPath().fit_kernel_matrix(graphs), expected)


def test_parts_change_nothing(monkeypatch):
    graphs = random_graphs(3, n_graphs=20)
    whole = ShortestPath().fit(graphs[:10])
    expected = whole.transform(graphs).toarray(), whole.kernel_matrix(graphs)
    monkeypatch.setattr(counting, "PATH_CHUNK_NODES", 7)
    parted = ShortestPath().fit(graphs[:10])
    assert np.array_equal(parted.transform(graphs).toarray(), expected[0])
    assert np.array_equal(parted.kernel_matrix(graphs), expected[1])


def test_labels_can_be_ignored():
    labeled, bare = random_graphs(4, n_labels=3), random_graphs(4, n_labels=0)
    ignoring = ShortestPath(node_labels=False).fit_kernel_matrix(labeled)
    assert not np.array_equal(ignoring, ShortestPath().fit_kernel_matrix(labeled))
    counts = [naive.base_counts(graph, [0] * graph[0], "shortest-path") for graph in plain_graphs(labeled)]
    assert np.array_equal(ignoring, [[naive.count_product(one, other) for other in counts] for one in counts])
    assert ShortestPath(node_labels=False).fit(labeled).kernel_matrix(bare).shape == (8, 8)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "step"),
    [("MUTAG", 1), ("PTC_MR", 1), pytest.param("IMDB-BINARY", 1, marks=pytest.mark.slow), ("EGO-1", 40)],
)
def test_equals_grakel(load, name, step):
    kernels = pytest.importorskip("grakel.kernels")
    graphs = load(name)[::step]
    theirs = kernels.ShortestPath(with_labels=True).fit_transform(grakel_graphs(graphs))
    assert np.array_equal(ShortestPath().fit_kernel_matrix(graphs), theirs)
    sample = graphs[::4]
    bare = kernels.ShortestPath(with_labels=False).fit_transform(grakel_graphs(sample))
    assert np.array_equal(ShortestPath(node_labels=False).fit_kernel_matrix(sample), bare)


@pytest.mark.shared
def test_unseen_graphs_equal_grakel(load):
    kernels = pytest.importorskip("grakel.kernels")
    graphs = load("MUTAG")
    fitted, unseen = graphs[:100], graphs[100:]
    reference = kernels.ShortestPath(normalize=True)
    reference.fit_transform(grakel_graphs(fitted))
    theirs = reference.transform(grakel_graphs(unseen))
    ours = ShortestPath(normalize=True).fit(fitted).kernel_matrix(unseen, fitted)
    assert np.allclose(ours, theirs, atol=1e-12)
