"""What rounds of k-means ask of rows."""

from itertools import pairwise

import numpy as np
import pytest

from clustering_rows import random_content, random_ground, tree_rows
from relaxwl import WassersteinKMeans
from relaxwl.clustering.crowd import _suggesting
from relaxwl.clustering.nearest import evenly


@pytest.mark.parametrize("limit", [None, 1, 3, 7, 100])
@pytest.mark.parametrize("which", [[2, 0], [1], [], [3, 1, 0, 2]])
def test_members_that_suggest_are_evenly_spread_over_those_with_weight(limit, which):
    rng = np.random.default_rng(0)
    labels, weights = rng.integers(4, size=40).astype(np.int32), rng.integers(3, size=40).astype(float)
    starts, members = _suggesting(labels, weights, np.array(which, np.int64), 4, limit)
    expected = [[row for row in range(40) if labels[row] == one and weights[row] > 0] for one in which]
    if limit is not None:
        expected = [[rows[place] for place in evenly(len(rows), limit)] for rows in expected]
    assert [members[start:stop].tolist() for start, stop in pairwise(starts)] == expected


ROOTS = 1 - np.eye(3)


def test_members_without_weight_suggest_nothing(monkeypatch):
    monkeypatch.setattr("relaxwl.clustering.kmeans.SUGGESTING", 3)
    content, ground = random_content(200, 6), random_ground(6)
    weights = np.zeros(200)
    weights[::17] = 1.0
    kmeans = WassersteinKMeans(3, random_state=0).fit(
        tree_rows(content, 6), ground=ground, root_cost=ROOTS, sample_weight=weights
    )
    assert np.isfinite(kmeans.inertia_)
    assert np.isfinite(kmeans.centers_.counts).all()
