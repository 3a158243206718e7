import numpy as np
import pytest
from sklearn.base import clone

from clustering_rows import random_content, random_ground, tree_rows
from relaxwl import WassersteinKMeans
from relaxwl.clustering.partitioners import IdentityPartitioner, KMeansPartitioner, as_ground, known_or_new
from relaxwl.distances.transport import GroundCost

ROOTS = 1 - np.eye(4)  # three roots and ⊥
PARTITIONERS = [IdentityPartitioner(), KMeansPartitioner(WassersteinKMeans(4))]


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


def test_a_plain_matrix_gets_uniform_roots():
    _, rows, ground = data()
    assert as_ground(ground, rows) is ground
    assert as_ground(np.zeros((7, 7)), rows).roots.shape == (4, 4)
