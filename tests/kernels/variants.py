"""The relaxed kernel in all its variants, and trees as oracles take them."""

from relaxed_kernels import optimized
from relaxwl import EditCost, WassersteinKMeans
from relaxwl.clustering.partitioners import KMeansPartitioner
from small_graphs import BONDS, random_graphs
from user_partitioners import KMedoidsPartitioner, RadiusPartitioner

TRAIN, TEST = random_graphs(25, bonds=BONDS), random_graphs(10, 8, seed=1, bonds=BONDS)
ATTRIBUTES = EditCost.from_attributes(blank=1.0, n_codes=4)


VARIANTS = {
    "R-WL*": {},
    "R-WL": {"approximate": False},
    "edge labels": {"edge_labels": True},
    "exact edge labels": {"edge_labels": True, "approximate": False},
    "edge base": {"base": "edge"},
    "shortest paths": {"base": "shortest-path"},
    "medoids": {"partitioner": KMedoidsPartitioner()},
    "exact medoids": {"partitioner": KMedoidsPartitioner(), "approximate": False},
    "radius": {"partitioner": RadiusPartitioner(2.0)},
    "exact radius": {"partitioner": RadiusPartitioner(2.0), "approximate": False},
    "spread seeds": {"partitioner": KMeansPartitioner(WassersteinKMeans(init="k-means++"))},
    "real centers": {"center": "mean"},
    "costs": {"cost": EditCost(relabel=1.5, insert_delete=0.75)},
    "intersection": {"similarity": "intersection", "normalize": True},
    "tanimoto": {"similarity": "tanimoto", "depth_weights": [0.3, 1.0, 0.1], "normalize": True},
    "tanimoto of depths": {"similarity": "tanimoto", "normalize": "depth", "approximate": False},
    "weights": {"depth_weights": [0.0, 1.0, 0.5], "normalize": True},
    "equal depths": {"similarity": "intersection", "normalize": "depth"},
    "every tree": {"n_clusters": "all"},
    "exact every tree": {"n_clusters": "all", "approximate": False, "edge_labels": True},
    "defaults": {"n_clusters": ("all", 2.0, 1.0, 0.5), "n_partitions": 4, "max_iter": 0, "similarity": "tanimoto"},
    "exact granularities": {"n_clusters": ["all", 2.0], "approximate": False, "similarity": "intersection"},
    "mixed clusters": {"n_clusters": (0.5, 2.0), "n_partitions": 3},
    "exact mixed clusters": {"n_clusters": [2, "sqrt"], "n_partitions": 3, "approximate": False},
}


def kernel_of(variant, **more):
    return optimized(**{"max_depth": 2, "n_partitions": 2, "random_state": 0, **variant, **more})


def nested(tree):
    """Turn (label, ((edge, tree), ...)) or (label,) of a refinement into a tree of naive.py."""
    return (tree[0], tuple((None, nested(child)) for _, child in tree[1]) if len(tree) > 1 else ())


def as_nested(tree):
    return (tree.label, tuple((None, as_nested(child)) for child in tree.children))
