"""Wasserstein k-means, barycenters, and other ways to cluster trees."""

from relaxwl.clustering.barycenter import transport_barycenter
from relaxwl.clustering.kmeans import WassersteinKMeans
from relaxwl.clustering.partitioners import IdentityPartitioner, KMeansPartitioner, Partitioner
from relaxwl.distances.transport import GroundCost

__all__ = [
    "GroundCost", "IdentityPartitioner", "KMeansPartitioner", "Partitioner", "WassersteinKMeans",
    "transport_barycenter",
]  # fmt: skip
