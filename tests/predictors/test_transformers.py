import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.manifold import TSNE
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from relaxed_kernels import optimized
from relaxwl import GraphCollection, KernelDistance, KernelMatrix, NodeClusters, WeisfeilerLehman
from relaxwl.kernels.baselines import VertexEdgeHistogram, WassersteinWL, WLOptimalAssignment
from sklearn_checks import each_check, run_check
from small_graphs import collection, random_graphs

TRAIN, TEST = collection(random_graphs(20)), collection(random_graphs(8, seed=1))
CLASSES = np.arange(20) % 2
RELAXED = optimized(2, 2, random_state=0)
KERNELS = [
    WeisfeilerLehman(2),
    WeisfeilerLehman(2, similarity="intersection", depth_weights=[1.0, 0.5, 0.2]),
    WeisfeilerLehman(2, similarity="tanimoto"),
    WeisfeilerLehman(2, normalize=True, depth_weights=[0.0, 1.0, 1.0]),
    clone(RELAXED).set_params(normalize="depth", depth_weights=[0.5, 1.0, 2.0]),
    clone(RELAXED).set_params(normalize="depth", similarity="tanimoto"),
    WLOptimalAssignment(2),
    WassersteinWL(2),
    VertexEdgeHistogram(gamma=0.1),
]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


@pytest.mark.filterwarnings("ignore")
@each_check
@pytest.mark.parametrize("kind", [KernelMatrix, KernelDistance, NodeClusters])
def test_scikit_learns_own_checks(kind, check):
    run_check(check, kind())


@kernels
def test_diagonals_are_those_of_the_matrix(kernel):
    matrix = clone(kernel).fit(TRAIN).kernel_matrix(TRAIN)
    np.testing.assert_allclose(clone(kernel).fit(TRAIN).kernel_diagonal(TRAIN), np.diag(matrix), rtol=1e-12)


def test_diagonals_of_graphs_with_unknown_parts_are_those_of_a_kernel_that_knows_them():
    for options in ({}, {"similarity": "intersection"}, {"similarity": "tanimoto"}, {"normalize": "depth"}):
        kernel, knowing = (WeisfeilerLehman(2, **options).fit(graphs) for graphs in (TRAIN[:2], TEST))
        np.testing.assert_allclose(kernel.kernel_diagonal(TEST), knowing.kernel_diagonal(TEST))
        assert (np.diag(kernel.kernel_matrix(TEST)) <= kernel.kernel_diagonal(TEST) + 1e-12).all()
        assert np.diag(kernel.kernel_matrix(TEST)).min() < kernel.kernel_diagonal(TEST).min()


@kernels
def test_matrices_are_the_kernels_own(kernel):
    step = KernelMatrix(kernel)
    together = step.fit_transform(TRAIN)
    fitted = clone(kernel).fit(TRAIN)
    np.testing.assert_array_equal(together, fitted.kernel_matrix(TRAIN))
    np.testing.assert_allclose(step.transform(TEST), fitted.kernel_matrix(TEST, TRAIN), rtol=1e-12)
    np.testing.assert_allclose(KernelMatrix(kernel).fit(TRAIN).transform(TRAIN), together, rtol=1e-12)
    assert len(step.get_feature_names_out()) == len(TRAIN)
    assert not hasattr(kernel, "n_graphs_in_")


@kernels
def test_distances_are_those_of_points(kernel):
    step = KernelDistance(kernel)
    distances = step.fit_transform(TRAIN)
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_array_equal(np.diag(distances), 0)
    detours = distances[:, :, None] + distances[None]
    assert (distances <= detours.min(axis=1) + 1e-6).all()
    np.testing.assert_allclose(step.transform(TRAIN), distances, atol=1e-6)
    np.testing.assert_allclose(KernelDistance(kernel).fit(TRAIN).transform(TEST), step.transform(TEST), atol=1e-7)


def test_distances_are_those_of_features():
    kernel = WeisfeilerLehman(2)
    features = kernel.fit_transform(TRAIN).toarray()
    expected = np.linalg.norm(features[:, None] - features[None], axis=2)
    np.testing.assert_allclose(KernelDistance(kernel).fit_transform(TRAIN), expected, atol=1e-7)


def test_a_search_over_similarities_compares_different_matrices():
    model = make_pipeline(KernelMatrix(WeisfeilerLehman(2, normalize=True)), SVC(kernel="precomputed"))
    grid = {"kernelmatrix__kernel__similarity": ["dot", "tanimoto"], "svc__C": [1.0, 100.0]}
    search = GridSearchCV(model, grid, cv=2).fit(TRAIN, CLASSES)
    matrices = [
        KernelMatrix(WeisfeilerLehman(2, normalize=True, similarity=s)).fit_transform(TRAIN)
        for s in ("dot", "tanimoto")
    ]
    assert not np.allclose(*matrices)
    assert search.predict(TEST).shape == (8,)


def test_neighbors_and_maps():
    nearest = make_pipeline(KernelDistance(RELAXED), KNeighborsClassifier(1, metric="precomputed"))
    assert nearest.fit(TRAIN, CLASSES).score(TRAIN, CLASSES) > 0.9
    chart = make_pipeline(KernelDistance(), TSNE(metric="precomputed", init="random", perplexity=5, random_state=0))
    assert chart.fit_transform(TRAIN).shape == (20, 2)


@pytest.mark.parametrize("kernel", [None, WeisfeilerLehman(1), RELAXED], ids=str)
def test_node_groups_count_up_to_the_graphs_features(kernel):
    step = NodeClusters(kernel)
    rows = step.fit_transform(TRAIN)
    assert rows.shape == (TRAIN.n_nodes, len(step.get_feature_names_out()))
    np.testing.assert_array_equal(rows.toarray(), step.transform(TRAIN).toarray())
    by_graph = np.add.reduceat(rows.toarray(), TRAIN.offsets[:-1], axis=0)
    matrix = step.kernel_.set_params(normalize=False).kernel_matrix(TRAIN)
    np.testing.assert_allclose(by_graph @ by_graph.T, matrix)


def test_roles_in_one_network():
    network = nx.barbell_graph(5, 3)
    step = NodeClusters(WeisfeilerLehman(3), sparse_output=False).set_output(transform="pandas")
    table = step.fit_transform(network)
    assert len(table) == network.number_of_nodes()
    roles = KMeans(4, n_init=5, random_state=0).fit_predict(table)
    # Both ends are alike: cliques, their gates, and the path between.
    np.testing.assert_array_equal(roles, roles[::-1])
    unseen = step.transform(nx.star_graph(9))
    assert unseen.shape == (10, table.shape[1])
    assert not unseen.iloc[0, 1:].any()


@pytest.mark.parametrize("transformer", [KernelMatrix, KernelDistance, NodeClusters])
def test_pairs_are_arcs_where_the_fit_was_on_arcs(transformer):
    arcs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (2, 1)])], directed=True)
    fitted = transformer(WeisfeilerLehman(1)).fit(arcs)
    dense = (csr_array(fitted.transform(graphs)).toarray() for graphs in ([(3, [(0, 1), (2, 1)])], arcs[1:]))
    np.testing.assert_array_equal(*dense)


def test_what_is_no_kernel_is_named():
    with pytest.raises(TypeError, match="kernel must be a graph kernel"):
        KernelMatrix(SVC()).fit(TRAIN)
    with pytest.raises(TypeError, match="WassersteinWL has none"):
        NodeClusters(WassersteinWL()).fit(TRAIN)
    with pytest.raises(NotFittedError):
        KernelDistance().transform(TRAIN)


def test_tables_of_sparse_features_name_the_option():
    for transformer in (WeisfeilerLehman(1), NodeClusters(WeisfeilerLehman(1))):
        name = type(transformer).__name__
        with pytest.raises(ValueError, match=rf"use {name}\(sparse_output=False\)"):
            transformer.set_output(transform="pandas").fit_transform(TRAIN)
        pytest.importorskip("pandas")
        table = transformer.set_params(sparse_output=False).set_output(transform="pandas").fit_transform(TRAIN)
        assert list(table.columns) == list(transformer.get_feature_names_out())
