"""How far objects are from the training objects: p-values of distances to the nearest."""

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

from predictors.small_data import GRAPHS, TEST
from relaxwl import GraphClassifier, GraphRegressor
from relaxwl.datasets import make_egonets
from relaxwl.predictors.novelty import N_NEAREST, Novelty, mean_distances

NETWORKS, CLASSES = make_egonets(60, level=1, n_nodes=(24, 36), random_state=0)
MODEL = GraphClassifier(effort="quick", random_state=0)


def similarities(model, graphs):
    return np.concatenate(list(model._similarities(graphs, None)))


def test_p_values_are_shares_of_training_objects_that_are_as_far():
    model = clone(MODEL).fit(NETWORKS[:40], CLASSES[:40])
    own = similarities(model, NETWORKS[:40])
    far = np.sort([np.sort(1 - np.delete(row, place))[:N_NEAREST].mean() for place, row in enumerate(own)])
    np.testing.assert_allclose(model._novelty.reference, far, atol=1e-9)
    found = np.sort(1 - similarities(model, NETWORKS[40:]), axis=1)[:, :N_NEAREST].mean(axis=1)
    expected = [(1 + np.sum(far >= one)) / 41 for one in found]
    np.testing.assert_allclose(model.novelty(NETWORKS[40:]), expected)


@pytest.mark.parametrize("many", [False, True])
def test_other_kinds_of_graphs_are_new(monkeypatch, many):
    if many:
        monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 10)
    model = clone(MODEL).fit(NETWORKS[:45], CLASSES[:45])
    size = 10 * int(NETWORKS.node_counts.mean())
    others = [nx.path_graph(40), nx.star_graph(40), nx.complete_graph(30), nx.gnm_random_graph(size, 12 * size, seed=0)]
    assert (model.novelty(others) < 0.05).all()
    assert (model.novelty(NETWORKS[45:]) < 0.05).mean() < 0.3


def test_additional_features_can_be_new():
    extra = np.random.default_rng(0).normal(size=(60, 1))
    model = GraphRegressor(effort="quick", random_state=0).fit(NETWORKS, extra[:, 0], extra=extra)
    assert model.novelty(NETWORKS[:1], extra=extra[:1])[0] > 0.05
    assert model.novelty(NETWORKS[:1], extra=[[100.0]])[0] < 0.05


def test_a_graph_is_as_novel_alone_as_among_others():
    model = clone(MODEL).fit(GRAPHS, np.arange(20) % 2)
    together = model.novelty(TEST)
    alone = [model.novelty(TEST[[place]])[0] for place in range(len(TEST))]
    np.testing.assert_allclose(alone, together)
    assert model.novelty(TEST[:0]).shape == (0,)


def test_few_objects_have_fewer_neighbors():
    assert mean_distances(np.array([[-np.inf, 0.25], [0.5, -np.inf]])).tolist() == [0.75, 0.5]
    assert mean_distances(np.array([[-np.inf]])).tolist() == [0]
    novelty = Novelty.from_state(**Novelty(np.array([0.1, 0.2])).to_state())
    assert novelty.p_values(np.array([0.0, 0.15, 0.3])).tolist() == [1, 2 / 3, 1 / 3]
