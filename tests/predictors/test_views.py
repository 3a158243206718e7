"""What views see of objects: whole, and without one of their nodes or clusters."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import naive
from molecules.small_molecules import SMILES
from predictors.small_data import GRAPHS, PLAIN, TEST, TRAIN
from relaxed_kernels import optimized
from relaxwl import WeisfeilerLehman
from relaxwl.datasets.smiles import from_smiles
from relaxwl.predictors.views import ColumnScaler, CountView, Objects, VectorView, extra_view
from small_graphs import collection


def test_shared_histograms_follow_the_definition():
    labels = naive.wl_counts(PLAIN, 2, "subtree", False)
    view = CountView("WL", WeisfeilerLehman(2), ({"decay": 1.0}, {"decay": 4.0}), ("exact", "exact"))
    one, four = view.matrices(view.fit(Objects(TRAIN)))
    np.testing.assert_allclose(one**4, four)
    shared = 1 + np.log(one)
    for i, j in [(0, 1), (3, 3), (5, 9)]:
        expected = np.mean([
            sum(min(a[key] / a.total(), b[key] / b.total()) for key in {*a, *b})
            for a, b in zip(labels[i], labels[j], strict=True)
        ])  # fmt: skip
        assert shared[i, j] == pytest.approx(expected)


@pytest.mark.parametrize("graphs", [GRAPHS, TEST], ids=["fitted", "new"])
@pytest.mark.parametrize(
    "kernel", [WeisfeilerLehman(2), optimized(2, 2, random_state=0)], ids=lambda k: type(k).__name__
)
def test_counts_of_nodes_add_up_to_those_of_the_graph(kernel, graphs):
    kernel.fit(GRAPHS)
    graph = graphs[[3]]
    whole, without = kernel.prepare(graph), kernel.counts_without_nodes(graph)
    for all_counts, counts in zip(whole, without, strict=True):
        taken = all_counts.matrix.toarray() - counts.matrix.toarray()
        np.testing.assert_array_equal(taken.sum(axis=0), all_counts.matrix.toarray()[0])
        assert (
            taken.sum(axis=1) + all_counts.unknown_sums - counts.unknown_sums == len(kernel.node_clusters(graph))
        ).all()
        assert counts.unknown_squares.min() >= 0


def test_pairs_with_a_node_at_an_end_are_taken_out():
    kernel = WeisfeilerLehman(0, base="shortest-path").fit(GRAPHS)
    graph = GRAPHS[[5]]
    whole, without = kernel.prepare(graph)[0].matrix, kernel.counts_without_nodes(graph)[0].matrix
    taken = np.asarray(whole.sum() - without.sum(axis=1))
    # Every ordered pair is taken out with either of its ends.
    assert taken.sum() == 2 * whole.sum()


def test_dot_products_add_up():
    kernel = WeisfeilerLehman(2).fit(GRAPHS)
    graph, weights = GRAPHS[[2]], np.random.default_rng(0).normal(size=len(GRAPHS))
    values = kernel.compare(kernel.prepare(graph), kernel.prepare(GRAPHS))[0] @ weights
    without = kernel.compare(kernel.counts_without_nodes(graph), kernel.prepare(GRAPHS))[0] @ weights
    assert (values[0] - without).sum() == pytest.approx(values[0])


def test_unknown_clusters_lose_a_member():
    """A node less of a cluster of c that was not met leaves c − 1 of them."""
    kernel = WeisfeilerLehman(0).fit(collection([(2, [(0, 1)], ["a", "b"], None)]))
    graph = collection([(5, [(0, 1)], ["a", "x", "x", "x", "y"], None)])
    (counts,) = kernel.counts_without_nodes(graph)
    assert counts.matrix.toarray().tolist() == [[0, 0], [1, 0], [1, 0], [1, 0], [1, 0]]
    assert counts.unknown_sums.tolist() == [4, 3, 3, 3, 3]
    assert counts.unknown_squares.tolist() == [10, 5, 5, 5, 9]


@pytest.fixture(
    params=[
        WeisfeilerLehman(2, edge_labels=True, similarity="tanimoto"),
        optimized(2, 3, edge_labels=True, similarity="tanimoto", random_state=0),
    ],
    ids=["WL", "R-WL*"],
)
def tanimoto(request):
    pytest.importorskip("rdkit.Chem")
    view = CountView("any", request.param, ({"max_depth": 2},), ("any",))
    view.fit(Objects(from_smiles(SMILES)))
    return view


def shared_part(mine, theirs):
    """Return Σ min / Σ max of the clusters of nodes, each given as lists of numbers by partition and depth."""
    minima = maxima = 0
    for partition, other in zip(mine, theirs, strict=True):
        for ids, other_ids in zip(partition, other, strict=True):
            a, b = (np.bincount(numbers, minlength=500) for numbers in (ids, other_ids))
            minima, maxima = minima + np.minimum(a, b).sum(), maxima + np.maximum(a, b).sum()
    return minima / maxima


def test_without_a_node_a_graph_has_less_counts(tanimoto):
    """What is taken out is counted again, node by node, from the clusters that the kernel names."""
    graph, training = from_smiles(["CC(Cl)CO"]), from_smiles(SMILES)
    (found,) = tanimoto.matrices(tanimoto.without_nodes(Objects(graph)), tanimoto.training)
    clusters = tanimoto.kernel.node_clusters(graph)
    for node in range(graph.n_nodes):
        mine = [[np.delete(ids, node) for ids in partition] for partition in clusters]
        for other in (0, 15, 29):
            theirs = tanimoto.kernel.node_clusters(training[[other]])
            assert found[node, other] == pytest.approx(shared_part(mine, theirs))


def test_without_a_cluster_a_graph_has_less_counts(tanimoto):
    """Counted again: the nodes of one cluster are left out of one depth of one partition."""
    graph, training = from_smiles(["CC(O)CO"]), from_smiles(SMILES)
    clusters, less = tanimoto.without_clusters(Objects(graph))
    (found,) = tanimoto.matrices(less, tanimoto.training)
    theirs = tanimoto.kernel.node_clusters(training[[15]])
    assert tanimoto.has_clusters
    assert {cluster.depth for cluster in clusters} == {1, 2}
    for row, cluster in enumerate(clusters):
        mine = [list(partition) for partition in tanimoto.kernel.node_clusters(graph)]
        ids = mine[cluster.partition][cluster.depth]
        assert np.flatnonzero(ids == cluster.number).tolist() == list(cluster.nodes)
        mine[cluster.partition][cluster.depth] = ids[ids != cluster.number]
        assert found[row, 15] == pytest.approx(shared_part(mine, theirs))


def test_paths_have_no_clusters_of_nodes():
    view = CountView("paths", WeisfeilerLehman(1, base="shortest-path"), ({},), ("paths",))
    view.fit(Objects(GRAPHS))
    assert not view.has_clusters


# ------------------------------------------------------------------------------------------------------- vectors


def test_kernels_of_vectors_follow_their_definitions():
    table = np.random.default_rng(0).normal(size=(30, 4)) * [1, 100, 0.01, 0] + 7
    view = extra_view()
    x = view.fit(Objects(GRAPHS, table))
    linear, gaussian = view.matrices(x)
    scaled = (table - table.mean(axis=0))[:, :3] / table.std(axis=0)[:3]
    np.testing.assert_allclose(x, scaled)
    np.testing.assert_allclose(linear, scaled @ scaled.T / 3)
    squares = cdist(scaled, scaled, "sqeuclidean")
    unit = np.median(squares[np.triu_indices(30, 1)])
    np.testing.assert_allclose(gaussian, np.exp(-squares / unit), atol=1e-12)
    for own, matrix in zip(view.own(x), (linear, gaussian), strict=True):
        np.testing.assert_allclose(own, matrix.diagonal())
    np.testing.assert_array_equal(view.take(x, np.array([3, 1])), x[[3, 1]])


def test_exponential_kernels_weigh_their_columns():
    rng = np.random.default_rng(5)
    table = rng.normal(size=(20, 3))
    view = VectorView("extra", ColumnScaler(), ((None, 0.5),), ("a",), exponential=True)
    x = view.fit(Objects(GRAPHS, table))
    for weighed in (False, True):
        if weighed:
            view.weigh_columns(np.arange(15), x[:15, :1])
            weights = naive.column_weights(x[:15], x[:15, :1])
            assert weights.argmax() == 0
        else:
            weights = np.ones(3)
        (matrix,), (own,) = view.matrices(x), view.own(x)
        squares = cdist(x * np.sqrt(weights), x * np.sqrt(weights), "sqeuclidean")
        width = 0.5 * np.median(squares[np.triu_indices(20, 1)])
        np.testing.assert_allclose(matrix, np.exp(-np.sqrt(squares / width)), atol=1e-5)
        np.testing.assert_array_equal(own, np.ones(20))


def test_columns_that_do_not_vary_say_nothing():
    view = VectorView("extra", ColumnScaler(), ((None, None), (None, 1.0)), ("a", "b"))
    linear, gaussian = view.matrices(view.fit(Objects(GRAPHS, np.ones((20, 2)))))
    assert not linear.any()
    assert (gaussian == 1).all()


def test_vectors_beside_a_graph_stay_when_nodes_go():
    view, table = extra_view(), np.random.default_rng(0).normal(size=(20, 2))
    x = view.fit(Objects(GRAPHS, table))
    one = Objects(GRAPHS, table).take(np.array([4]))
    np.testing.assert_allclose(view.without_nodes(one), np.repeat(x[[4]], one.graphs.n_nodes, axis=0))
    assert view.node_features(one).nnz == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((3, 2, 1)), "extra must be a table, not an array of shape"),
        ([[np.nan]], "extra must be finite"),
        ([["1_0", 2.0]], "extra must be a table of numbers: '1_0' is not a number"),
        (np.array([[1.0, "3"]], object), "extra must be a table of numbers: '3' is not a number"),
        (np.zeros((4, 1)), "extra must have 2 columns, as in fitting, not 1"),
    ],
)
def test_bad_vectors_are_named(table, message):
    scaler = ColumnScaler()
    scaler.fit_transform(np.random.default_rng(0).normal(size=(5, 2)))
    with pytest.raises(ValueError, match=message):
        scaler.transform(table)
