"""VE-Hist against counting by hand."""

import numpy as np
import pytest

import naive
from kernels.baselines.graph_forms import plain_graphs, random_graphs
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.building import CollectionBuilder
from relaxwl.kernels.baselines import VertexEdgeHistogram


@pytest.mark.parametrize("n_labels", [0, 3])
def test_equals_the_definition(n_labels):
    graphs = random_graphs(1, n_graphs=15, n_labels=n_labels)
    counts = [naive.node_edge_counts(graph) for graph in plain_graphs(graphs)]
    expected = [[naive.count_product(one, other) for other in counts] for one in counts]
    assert np.array_equal(VertexEdgeHistogram().fit_kernel_matrix(graphs), expected)


def edge_labeled(*labels):
    builder = CollectionBuilder()
    builder.add(3, [(0, 1), (1, 2)], edge_labels=list(labels))
    return GraphCollection(**builder.build())


def test_edge_labels_count_by_themselves_and_are_matched_by_value():
    kernel = VertexEdgeHistogram().fit(edge_labeled("single", "double"))
    assert kernel.get_feature_names_out().tolist() == ["node ·", "edge double", "edge single"]
    assert kernel.transform(edge_labeled("single", "aromatic")).toarray().tolist() == [[3, 0, 1]]
    normalized = VertexEdgeHistogram(normalize=True).fit(edge_labeled("single", "double"))
    unseen = normalized.transform(edge_labeled("aromatic", "aromatic")).toarray()
    assert np.allclose(unseen, [[3 / np.sqrt(13), 0, 0]])  # two unseen edges count in the length


def test_edge_labels_can_be_ignored():
    kernel = VertexEdgeHistogram(edge_labels=False).fit(edge_labeled("single", "double"))
    assert kernel.transform(edge_labeled("x", "y")).toarray().tolist() == [[3, 2]]


def test_missing_edge_labels_are_named():
    kernel = VertexEdgeHistogram().fit(edge_labeled("single", "double"))
    with pytest.raises(ValueError, match="fitted on graphs with edge labels"):
        kernel.transform(GraphCollection.from_edges([(2, [(0, 1)])]))


@pytest.mark.parametrize("normalize", [False, True])
def test_gaussian_kernel_of_the_histograms(normalize):
    graphs = random_graphs(2, n_graphs=10, n_labels=3)
    kernel = VertexEdgeHistogram(gamma=0.05, normalize=normalize).fit(graphs)
    histograms = kernel.transform(graphs).toarray()
    expected = np.exp(-0.05 * ((histograms[:, None] - histograms) ** 2).sum(axis=2))
    assert np.allclose(kernel.kernel_matrix(graphs), expected)
    assert np.allclose(kernel.kernel_matrix(graphs[:3], graphs), expected[:3])


def test_unseen_edges_are_far_from_fitted_ones():
    kernel = VertexEdgeHistogram(gamma=1.0).fit(edge_labeled("single", "double"))
    unseen = edge_labeled("aromatic", "aromatic")
    assert np.allclose(kernel.kernel_matrix(unseen, edge_labeled("single", "double")), np.exp(-6))
    assert kernel.kernel_matrix(unseen) == 1


def test_bad_gamma_is_named():
    with pytest.raises(ValueError, match="gamma"):
        VertexEdgeHistogram(gamma=0).fit(random_graphs(1))
