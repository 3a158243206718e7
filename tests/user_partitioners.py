"""Partitioners as users write them: k-medoids, which looks at all rows, and leaders, which make new clusters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from relaxwl.clustering.kmeans import as_ground, nearest, number_of_clusters
from relaxwl.clustering.partitioners import known_or_new
from relaxwl.distances.pairwise import level_distances, row_distances


@dataclass(repr=False, eq=False)
class KMedoidsPartitioner(BaseEstimator):
    """Centers are rows: the best members of their clusters."""

    n_clusters: Any = "sqrt"
    max_iter: int = 8

    def fit(self, rows, ground, rng):
        distances = level_distances(rows, as_ground(ground, rows))[:-1, :-1]
        medoids = np.sort(rng.choice(len(rows), number_of_clusters(self.n_clusters, len(rows)), replace=False))
        for _ in range(self.max_iter):
            labels = np.argmin(distances[:, medoids], axis=1)
            for cluster in range(len(medoids)):
                members = np.flatnonzero(labels == cluster)
                if len(members):
                    sums = distances[np.ix_(members, members)].sum(axis=1, dtype=np.float64)
                    medoids[cluster] = members[np.argmin(sums)]
        self.centers_ = rows.take(medoids).measures()
        return np.argmin(distances[:, medoids], axis=1), self.centers_

    def predict(self, rows, ground):
        return nearest(rows, self.centers_, as_ground(ground, rows))[0]


@dataclass(repr=False, eq=False)
class RadiusPartitioner(BaseEstimator):
    """A row joins the nearest leader within the radius, or becomes a leader itself; so do new rows."""

    radius: float = 1.0

    def fit(self, rows, ground, rng=None):
        ground, distances = as_ground(ground, rows), np.full(len(rows), np.inf)
        labels, leaders = np.full(len(rows), -1, np.int32), []
        while (labels < 0).any():
            leaders.append(int(np.argmax(labels < 0)))
            here = row_distances(rows.take(np.array(leaders[-1:])), rows, ground)[0]
            closer = (here <= self.radius) & (here < distances)
            labels[closer], distances[closer] = len(leaders) - 1, here[closer]
        self.distances_, self.centers_ = distances, rows.take(np.array(leaders)).measures()
        return labels, self.centers_

    def predict_with_distances(self, rows, ground):
        labels, distances = nearest(rows, self.centers_, as_ground(ground, rows))
        near = distances <= self.radius
        return known_or_new(np.where(near, labels, np.int32(-1)), len(self.centers_)), np.where(near, distances, 0.0)

    def predict(self, rows, ground):
        return self.predict_with_distances(rows, ground)[0]
