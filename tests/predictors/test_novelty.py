"""How strange graphs are: distances to the groups of the fitted ones, in units of theirs."""

import numpy as np
import pytest

from predictors.small_data import GRAPHS, TEST
from relaxwl import GraphCollection, RelaxedWeisfeilerLehman
from relaxwl.predictors.novelty import QUANTILE, Novelty


@pytest.fixture(scope="module")
def fitted():
    return Novelty(RelaxedWeisfeilerLehman(2, 2, random_state=0).fit(GRAPHS)).fit(GRAPHS)


def test_the_fitted_graphs_are_as_usual_as_the_quantile_says(fitted):
    own = fitted.score(GRAPHS)
    assert np.quantile(own, QUANTILE) == pytest.approx(1)
    assert (own > 1).sum() <= np.ceil((1 - QUANTILE) * len(GRAPHS))


def test_a_graph_is_as_novel_alone_as_among_others(fitted):
    together = fitted.score(TEST)
    alone = [fitted.score(TEST[[place]])[0] for place in range(len(TEST))]
    np.testing.assert_allclose(alone, together)


def test_the_fit_is_measured_by_what_it_found():
    kernel = RelaxedWeisfeilerLehman(2, 6, max_iter=0, random_state=0).fit(GRAPHS)
    novelty = Novelty(kernel)
    found = novelty._fitted_distances(GRAPHS)
    np.testing.assert_array_equal(found, novelty._distances(GRAPHS))
    kernel.partitions_[0][1].summary  # noqa: B018 - now they are summed up
    np.testing.assert_array_equal(novelty._fitted_distances(GRAPHS), found)


def test_a_sample_of_the_fitted_graphs_is_measured_by_its_own_trees():
    kernel = RelaxedWeisfeilerLehman(2, 2, max_iter=0, random_state=0).fit(GRAPHS)
    sample = GRAPHS[3::2]
    novelty = Novelty(kernel).fit(sample)
    assert novelty.units_ == pytest.approx(novelty._distances(sample).mean(axis=1))
    assert np.quantile(novelty.score(sample), QUANTILE) == pytest.approx(1)


def test_hubs_of_unknown_labels_are_strange_and_nothing_is_not(fitted):
    star = (30, [(0, leaf) for leaf in range(1, 30)], ["unheard of"] * 30)
    strange, empty = fitted.score(GraphCollection.from_edges([star, (0, [], [])]))
    assert strange > 1
    assert empty == 0


def test_what_is_kept_scores_alike_and_what_does_not_fit_is_refused(fitted):
    again = Novelty.from_state(**fitted.to_state())
    np.testing.assert_array_equal(again.score(TEST), fitted.score(TEST))
    with pytest.raises(ValueError, match="needs a relaxed kernel"):
        Novelty.from_state(kernel=None, units=np.ones(2), usual=1.0)


def test_groups_without_any_distance_have_a_unit_too():
    twins = GraphCollection.from_edges([(3, [(0, 1), (1, 2)])] * 4)
    novelty = Novelty(RelaxedWeisfeilerLehman(1, 1, n_clusters=9, random_state=0).fit(twins)).fit(twins)
    assert novelty.score(twins).tolist() == [0, 0, 0, 0]
    assert novelty.score(GraphCollection.from_edges([(5, [(0, v) for v in range(1, 5)])]))[0] > 0
