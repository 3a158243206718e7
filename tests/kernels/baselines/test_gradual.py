"""Gradual WL: nested groups, k-means on neighbor counts, and the plain kernel as its limit."""

from itertools import pairwise

import networkx
import numpy as np
import pytest
from sklearn.cluster import KMeans

from kernels.baselines.graph_forms import random_graphs
from relaxwl.graphs import GraphCollection
from relaxwl.kernels import WeisfeilerLehman
from relaxwl.kernels.baselines.gradual import GradualWL, _checked_centers, neighbor_counts, split_clusters
from relaxwl.unfolding import refine


@pytest.mark.parametrize("n_labels", [0, 3])
@pytest.mark.parametrize("similarity", ["dot", "intersection"])
def test_with_many_clusters_it_is_the_plain_kernel(n_labels, similarity):
    graphs = random_graphs(1, n_labels=n_labels)
    train, test = graphs[:-3], graphs[-3:]
    ours = GradualWL(3, n_clusters=10**6, similarity=similarity).fit(train)
    plain = WeisfeilerLehman(3, similarity=similarity).fit(train)
    np.testing.assert_array_equal(ours.kernel_matrix(train), plain.kernel_matrix(train))
    assert np.isfinite(ours.kernel_matrix(test, train)).all()


def test_groups_are_nested_and_split_into_few():
    graphs = random_graphs(2, n_graphs=20, n_labels=2)
    kernel = GradualWL(4, n_clusters=3, random_state=0).fit(graphs)
    groups = kernel.node_clusters(graphs)[0]
    for coarse, fine in pairwise(groups):
        parents = {}
        for before, after in zip(coarse.tolist(), fine.tolist(), strict=True):
            assert parents.setdefault(after, before) == before
        children = np.unique(np.column_stack([coarse, fine]), axis=0)
        assert np.bincount(children[:, 0]).max() <= 3
    assert len(np.unique(groups[-1])) > len(np.unique(groups[0]))


def test_fitted_and_unseen_graphs_are_grouped_alike():
    graphs = random_graphs(3, n_graphs=15, n_labels=3)
    kernel = GradualWL(3, 2, random_state=0)
    features = kernel.fit_transform(graphs)
    assert (kernel.transform(graphs) != features).nnz == 0
    assert (kernel.transform(graphs[4:7]) != features[4:7]).nnz == 0
    assert features.sum(axis=1).tolist() == (4 * graphs.node_counts).tolist()
    assert len(kernel.get_feature_names_out()) == features.shape[1]


def test_ties_are_broken_alike_in_fitting_and_afterwards():
    """With this seed, a node is as near to one center as to another that comes first when parts are numbered."""
    graphs = GraphCollection.from_networkx([networkx.gnm_random_graph(7, 8, seed=2900 + i) for i in range(12)])
    kernel = GradualWL(3, 4, random_state=29)
    assert (kernel.fit_transform(graphs) != kernel.transform(graphs)).nnz == 0


def test_labels_that_no_node_has_are_not_known():
    graphs = GraphCollection.from_edges([(2, [(0, 1)], list("ab")), (3, [(0, 1), (1, 2)], list("azc"))])
    kernel = GradualWL(2, random_state=0).fit(graphs[:1])
    assert kernel.node_vocabulary_ == ("a", "b")
    alone = GraphCollection.from_edges([(2, [(0, 1)], list("ab"))])
    assert (kernel.transform(graphs[:1]) != GradualWL(2, random_state=0).fit_transform(alone)).nnz == 0
    assert kernel.transform(graphs[1:]).sum() == 3
    assert GradualWL(2).fit_transform(GraphCollection.from_edges([(0, [])])).sum() == 0


def test_unseen_labels_fall_into_no_column():
    fitted = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], list("aab"))])
    unseen = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], list("abz"))])
    kernel = GradualWL(2, random_state=0).fit(fitted)
    assert kernel.transform(unseen).sum() == 3 * 2
    assert kernel.set_params(normalize=True).kernel_matrix(unseen, fitted).max() < 1


def test_the_split_is_a_fixed_point_of_k_means():
    """Neither a better assignment nor a better mean is left, and scikit-learn from these centers stays there."""
    graphs = random_graphs(7, n_graphs=30)
    degrees = np.minimum(graphs.degrees, 3).astype(np.int32)
    rows, of_node = refine(graphs, degrees, degrees, 4)
    weights = np.bincount(of_node).astype(float)
    labels, centers, bounds = split_clusters(rows, weights, 4, 3, np.random.default_rng(0))
    counts = neighbor_counts(rows, 4).toarray()
    for group in range(4):
        members = rows.roots == group
        mine = centers.toarray()[bounds[group] : bounds[group + 1]]
        assert len(mine) == min(3, members.sum())
        reference = KMeans(len(mine), init=mine, n_init=1).fit(counts[members], sample_weight=weights[members])
        np.testing.assert_allclose(reference.cluster_centers_, mine, atol=1e-9)
        assert np.array_equal(reference.labels_ + bounds[group], labels[members])


def test_bad_parameters_and_damaged_clusters_are_named():
    graphs = random_graphs(4, n_graphs=12, n_labels=2)
    with pytest.raises(ValueError, match="n_clusters must be an integer >= 1, not 0"):
        GradualWL(n_clusters=0).fit(graphs)
    kernel = GradualWL(2, 2, random_state=0).fit(graphs)
    kernel.center_bounds_[0][1] = -1
    with pytest.raises(ValueError, match="damaged"):
        kernel.transform(graphs)


@pytest.mark.parametrize("index", [-1, 2])
def test_centers_of_a_damaged_model_are_refused(index):
    bounds = np.array([0, 1, 2])
    parts = np.ones(2), np.array([0, 1], np.int32), np.array([0, 1, 2], np.int32)
    assert _checked_centers(parts, bounds).shape == (2, 2)
    parts[1][1] = index
    with pytest.raises(ValueError, match=r"indices|index"):
        _checked_centers(parts, bounds)
