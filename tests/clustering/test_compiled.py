"""Medians and moves of single units: what they save is what they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from clustering.measures import METHODS, N_POINTS, cost, csr, grounds, improved, measures, random_ground, sparse
from relaxwl.clustering import _compiled


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_unsigned_grounds_give_the_same_centers(method, dtype, seed):
    rng = np.random.default_rng(seed)
    members, ground = rng.integers(0, 4, (7, 9)), random_ground(rng, 9)
    pairs = [
        improved(method, members, [(np.arange(7), np.ones(7))], [0], costs)[0]
        for costs in (ground.astype(dtype), ground)
    ]
    for found, expected in zip(*pairs, strict=True):
        np.testing.assert_array_equal(found, expected)


@settings(max_examples=100, deadline=None)
@given(measures(), st.lists(st.integers(0, 3), min_size=N_POINTS, max_size=N_POINTS), grounds(), st.data())
def test_changes_by_moves_are_exact(members, center, ground, data):
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(members), max_size=len(members))), float)
    points, masses = sparse(np.array(center))
    origins, goals = np.append(points.astype(np.int64), N_POINTS), np.arange(N_POINTS + 1)
    changes, total = _compiled.move_changes(
        np.arange(len(members)), weights, *csr(members), points, masses, ground, origins, goals
    )
    expected = naive.barycenter_move_changes(members, center, ground, weights)
    assert changes == pytest.approx(expected[origins], abs=1e-9)
    assert total == pytest.approx(cost(members, center, ground, weights))


@settings(max_examples=100, deadline=None)
@given(measures(), st.lists(st.integers(0, 6), min_size=N_POINTS, max_size=N_POINTS), grounds())
def test_medians_save_at_least_what_they_say(members, center, ground):
    arrays = np.arange(len(members)), np.ones(len(members)), *csr(members)
    points, masses, saved = _compiled.best_moves(*arrays, *sparse(np.array(center)), ground)
    improved = np.zeros(N_POINTS)
    improved[points] = masses
    if saved > 0:
        assert cost(members, improved, ground) <= cost(members, center, ground) - saved + 1e-9
    else:
        assert np.array_equal(improved, center)
