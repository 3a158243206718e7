"""Wasserstein k-means, barycentres, and other ways to group trees."""

from relaxwl.clustering.barycenter import transport_barycenter
from relaxwl.clustering.kmeans import WassersteinKMeans
from relaxwl.clustering.partitioners import (
    IdentityPartitioner,
    KMeansPartitioner,
    KMedoidsPartitioner,
    Partitioner,
    RadiusPartitioner,
)
from relaxwl.distances.ground import Ground

__all__ = [
    "Ground",
    "IdentityPartitioner",
    "KMeansPartitioner",
    "KMedoidsPartitioner",
    "Partitioner",
    "RadiusPartitioner",
    "WassersteinKMeans",
    "transport_barycenter",
]
