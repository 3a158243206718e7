"""Nearest graphs against comparing all."""

import numpy as np
import pytest

from relaxed_kernels import optimized
from relaxwl import GraphCollection, GraphIndex, WeisfeilerLehman
from relaxwl.datasets import make_egonets
from relaxwl.kernels.baselines import WassersteinWL


@pytest.fixture(scope="module")
def graphs():
    return make_egonets(60, level=1, n_nodes=(24, 36), random_state=0)[0]


def _all_similarities(kernel, metric, graphs, queries):
    settings = {"similarity": "tanimoto"} if metric == "tanimoto" else {"similarity": "dot", "normalize": True}
    kernel = kernel.set_params(**settings).fit(graphs)
    return kernel.kernel_matrix(queries, graphs)


@pytest.mark.parametrize("metric", ["tanimoto", "cosine"])
@pytest.mark.parametrize(
    "kernel", [WeisfeilerLehman(2, depth_weights=[1.0, 0.5, 2.0]), optimized(2, 3, max_iter=0, random_state=0)]
)
def test_nearest_are_those_of_the_whole_matrix(kernel, metric, graphs):
    index = GraphIndex(kernel, metric=metric).fit(graphs[:40])
    distances, indices = index.kneighbors(graphs[40:], n_neighbors=7)
    expected = 1 - _all_similarities(kernel, metric, graphs[:40], graphs[40:])
    assert indices.shape == distances.shape == (20, 7)
    np.testing.assert_allclose(distances, np.sort(expected)[:, :7], atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(expected, indices, axis=1), distances, atol=1e-12)


def test_graphs_added_later_are_found_without_another_fit(graphs):
    index = GraphIndex(WeisfeilerLehman(2)).fit(graphs[:20])
    for place in range(20, 60):
        index.add(graphs[[place]])
    assert len(index) == 60
    for place in (3, 25, 59):
        distances, _ = index.kneighbors(graphs[place], n_neighbors=1)
        assert distances.tolist() == [[0.0]] or place >= 20
    # What was added is as if it had been there: the columns are those of the fit either way.
    reference = WeisfeilerLehman(2, similarity="tanimoto").fit(graphs[:20]).kernel_matrix(graphs[50:], graphs)
    np.testing.assert_allclose(index.kneighbors(graphs[50:], n_neighbors=60)[0], np.sort(1 - reference), atol=1e-12)


def test_pairs_are_arcs_where_the_fit_was_on_arcs():
    arcs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (2, 1)])], directed=True)
    index = GraphIndex(WeisfeilerLehman(1)).fit(arcs).add([(3, [(0, 1), (2, 1)])])
    distances, places = index.kneighbors([(3, [(0, 1), (2, 1)])], 2)
    assert (distances.tolist(), places.tolist()) == ([[0, 0]], [[1, 2]])


def test_equals_come_in_the_order_of_their_places(graphs):
    index = GraphIndex().fit(graphs[[0, 1, 0, 0]])
    assert index.kneighbors(graphs[0], n_neighbors=3)[1].tolist() == [[0, 2, 3]]


def test_wrong_arguments_are_named(graphs):
    with pytest.raises(ValueError, match="metric"):
        GraphIndex(metric="dot").fit(graphs)
    with pytest.raises(TypeError, match="kernel must have counts"):
        GraphIndex(WassersteinWL()).fit(graphs)
    with pytest.raises(ValueError, match="n_neighbors must be"):
        GraphIndex().fit(graphs).kneighbors(graphs[0], n_neighbors=0)
    with pytest.raises(ValueError, match="n_neighbors is 61, and the index holds 60 graphs"):
        GraphIndex().fit(graphs).kneighbors(graphs[0], n_neighbors=61)
