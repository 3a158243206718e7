"""Maps of centers."""

import numpy as np
import pytest

from relaxwl import GraphCollection, RelaxedWeisfeilerLehman
from relaxwl.explanation import explain
from relaxwl.explanation.explanation import plane


def test_map_keeps_centers_with_no_distance_together():
    star = (4, [(0, 1), (0, 2), (0, 3)])
    graphs = GraphCollection.from_edges([star, (5, [(i, i + 1) for i in range(4)])] * 3)
    kernel = RelaxedWeisfeilerLehman(max_depth=1, n_partitions=1, n_clusters=3, random_state=0)
    found = explain(kernel, graphs, [0, 1] * 3, n_permutations=9)
    points, distances = plane(found.center_distances(0, 1)), found.center_distances(0, 1)
    assert points.shape == (3, 2)
    apart = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    # Three points always fit: the plane shows the roots of their distances exactly.
    np.testing.assert_allclose(apart, np.sqrt(distances), atol=1e-6)
    assert plane(found.center_distances(0, 0)).shape == (1, 2)


def test_points_on_a_line_keep_the_roots_of_their_distances():
    places = np.array([0.0, 1.0, 4.0, 9.0])
    points = plane(np.abs(np.subtract.outer(places, places)) ** 2)
    apart = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(apart, np.abs(np.subtract.outer(places, places)), atol=1e-6)


@pytest.mark.parametrize("n", [3, 4, 37, 100, 111, 256])
def test_equidistant_points_have_a_map(n):
    points = plane(1.0 - np.eye(n))
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()
    np.testing.assert_allclose((points**2).sum(axis=0), 0.5)


@pytest.mark.parametrize(("distances", "expected"), [(np.zeros((0, 0)), []), ([[0]], [0]), ([[0, 9], [9, 0]], [0, 3])])
def test_fewer_than_three_points_stand_in_a_row(distances, expected):
    points = plane(np.asarray(distances, float))
    assert points[:, 0].tolist() == expected
    assert not points[:, 1].any()
