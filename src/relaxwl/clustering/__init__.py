"""Wasserstein k-means, barycentres, and other ways to group trees."""

from relaxwl.clustering.barycenter import transport_barycenter
from relaxwl.clustering.centers import Centers, centers_from_parts, centers_from_rows
from relaxwl.clustering.kmeans import WassersteinKMeans
from relaxwl.clustering.partitioners import (
    Ground,
    IdentityPartitioner,
    KMeansPartitioner,
    KMedoidsPartitioner,
    Partitioner,
    RadiusPartitioner,
)

__all__ = [
    "Centers",
    "Ground",
    "IdentityPartitioner",
    "KMeansPartitioner",
    "KMedoidsPartitioner",
    "Partitioner",
    "RadiusPartitioner",
    "WassersteinKMeans",
    "centers_from_parts",
    "centers_from_rows",
    "transport_barycenter",
]
