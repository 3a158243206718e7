import numpy as np
import pytest
from sklearn.base import clone

import naive
from clustering_rows import random_content, random_ground, tree_rows
from relaxwl import WassersteinKMeans
from relaxwl.clustering.partitioners import (
    IdentityPartitioner,
    KMeansPartitioner,
    KMedoidsPartitioner,
    RadiusPartitioner,
    as_ground,
    known_or_new,
)
from relaxwl.distances.transport import GroundCost

ROOTS = 1 - np.eye(4)  # three roots and ⊥
PARTITIONERS = [
    IdentityPartitioner(),
    KMeansPartitioner(WassersteinKMeans(4)),
    KMedoidsPartitioner(4),
    RadiusPartitioner(5.0),
]


def data(n_rows=40, n_points=6, seed=0):
    content = random_content(n_rows, n_points, seed)
    return content, tree_rows(content, n_points), GroundCost(random_ground(n_points), ROOTS)


def plain(centers):
    parts = [centers.row(index) for index in range(len(centers))]
    return [(root, dict(zip(points.tolist(), masses.tolist(), strict=True))) for root, points, masses in parts]


@pytest.mark.parametrize("partitioner", PARTITIONERS, ids=lambda item: type(item).__name__)
def test_every_partitioner_keeps_the_protocol(partitioner):
    _, rows, ground = data()
    fitted = clone(partitioner)
    labels, centers = fitted.fit(rows, ground, np.random.default_rng(0))
    assert labels.dtype == np.int32
    assert 0 <= labels.min() <= labels.max() < len(centers)
    np.testing.assert_array_equal(fitted.predict(rows, ground), labels)
    assert len(fitted.predict(rows.take(np.empty(0, np.int64)), ground)) == 0
    threads = {name: 2 for name in partitioner.get_params() if name.endswith("n_jobs")}
    again, _ = clone(partitioner).set_params(**threads).fit(rows, ground, np.random.default_rng(0))
    np.testing.assert_array_equal(again, labels)


@pytest.mark.parametrize("partitioner", PARTITIONERS, ids=lambda item: type(item).__name__)
def test_a_plain_matrix_is_a_ground_with_uniform_roots(partitioner):
    _, rows, ground = data()
    labels, _ = clone(partitioner).fit(rows, ground, np.random.default_rng(0))
    plain_labels, _ = clone(partitioner).fit(rows, ground.children, np.random.default_rng(0))
    np.testing.assert_array_equal(labels, plain_labels)


def test_identity_numbers_unknown_rows_behind_the_known_ones():
    _, rows, ground = data()
    identity = IdentityPartitioner()
    identity.fit(rows.take(np.arange(0, 40, 2)), ground)
    assert identity.predict(rows, ground)[:4].tolist() == [0, 20, 1, 21]
    assert known_or_new(np.array([-1, 3, -1], np.int32), 5).tolist() == [5, 3, 6]


def test_kmeans_is_wasserstein_kmeans():
    _, rows, ground = data()
    labels, centers = KMeansPartitioner(WassersteinKMeans(5, "medoid", "k-means++")).fit(
        rows, ground, np.random.default_rng(3)
    )
    kmeans = WassersteinKMeans(5, "medoid", "k-means++", random_state=np.random.default_rng(3))
    kmeans.fit(rows, ground=ground.children, root_cost=ground.roots)
    np.testing.assert_array_equal(labels, kmeans.labels_)
    assert plain(centers) == plain(kmeans.centers_)


def test_kmedoids_centers_are_best_members():
    content, rows, ground = data(30)
    labels, centers = KMedoidsPartitioner(4, max_iter=50).fit(rows, ground, np.random.default_rng(0))
    medoids = plain(centers)
    assert labels.tolist() == naive.nearest_centers(content, medoids, ground.children, ROOTS)[0]
    best = naive.best_centers(content, labels.tolist(), 4, ground.children, ROOTS, medoids)
    for cluster, (medoid, better) in enumerate(zip(medoids, best, strict=True)):
        members = [row for row, label in zip(content, labels.tolist(), strict=True) if label == cluster]
        cost, least = (
            sum(naive.row_distance(row, c, ground.children, ROOTS) for row in members) for c in (medoid, better)
        )
        assert cost == pytest.approx(least)


def test_radius_groups_around_leaders():
    content, rows, ground = data(30)
    partitioner = RadiusPartitioner(6.0)
    labels, centers = partitioner.fit(rows, ground)
    leaders = plain(centers)
    assert labels.tolist() == naive.nearest_centers(content, leaders, ground.children, ROOTS)[0]
    for row, label in zip(content, labels.tolist(), strict=True):
        assert naive.row_distance(row, leaders[label], ground.children, ROOTS) <= 6.0
    far = tree_rows([(0, {0: 90})], 6)
    assert partitioner.predict(far, ground).tolist() == [len(centers)]
    everything, one = RadiusPartitioner(1e9).fit(rows, ground)
    assert not everything.any()
    assert len(one) == 1
    assert len(RadiusPartitioner(0.0).fit(rows, ground)[1]) == 30


@pytest.mark.parametrize("radius", [-1.0, float("nan")])
def test_bad_radius(radius):
    _, rows, ground = data()
    with pytest.raises(ValueError, match="radius must be a number >= 0"):
        RadiusPartitioner(radius).fit(rows, ground)


def test_a_plain_matrix_gets_uniform_roots():
    _, rows, ground = data()
    assert as_ground(ground, rows) is ground
    assert as_ground(np.zeros((7, 7)), rows).roots.shape == (4, 4)
