"""What tests of shards share: collections of every kind, cut into shards, and models to the last bit."""

import hashlib
from pathlib import Path

import numpy as np
from sklearn.base import clone

from kernels.models import opened
from relaxwl import EditCost, GraphCollection
from relaxwl.distributed import ShardedCollection, ShardWriter
from relaxwl.graphs.building import CollectionBuilder
from small_graphs import BONDS, collection, random_graphs, with_attributes


def shard(folder, graphs, n_shards, y=None):
    """Write graphs into about ``n_shards`` shards."""
    with ShardWriter(folder, graphs_per_shard=max(1, -(-len(graphs) // n_shards))) as writer:
        writer.add(graphs, y)
    return ShardedCollection.open(folder)


def model(kernel, path):
    """Return all that a model file keeps of a kernel, arrays as checksums, whatever shares its memory.

    Unary codes of counts are left out where the kernel has no use for them: those of shards are not counted.
    """
    if kernel.similarity != "intersection":
        vars(kernel).pop("unary_", None)
    path = Path(path)
    kernel.save(path)
    header, arrays = opened(path.read_bytes())
    checksums = [(array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).hexdigest()) for array in arrays]
    objects = {}

    def written_out(value):
        if isinstance(value, list):
            return [written_out(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "same" in value:
            return objects[value["same"]]
        if "array" in value:
            return checksums[value["array"]]
        found = {name: written_out(item) for name, item in value.items() if name != "number"}
        return objects.setdefault(value["number"], found) if "object" in value else found

    return written_out(header)


def directed(n_graphs=24, seed=5):
    """Make directed graphs with labeled arcs."""
    rng = np.random.default_rng(seed)
    builder = CollectionBuilder(directed=True)
    for n_nodes, edges, labels, names in random_graphs(n_graphs, seed=seed, bonds=BONDS):
        arcs = [(a, b) if rng.random() < 0.5 else (b, a) for a, b in edges]
        builder.add(n_nodes, arcs, node_labels=labels, edge_labels=names)
    return GraphCollection(**builder.build())


def weighted(n_graphs=24, seed=6):
    """Make graphs with numbers on their edges."""
    rng = np.random.default_rng(seed)
    builder = CollectionBuilder()
    for n_nodes, edges, labels, _ in random_graphs(n_graphs, seed=seed):
        builder.add(n_nodes, edges, node_labels=labels, edge_attributes=rng.integers(1, 5, (len(edges), 1)) / 4)
    return GraphCollection(**builder.build())


ATTRIBUTES = EditCost.from_attributes(n_codes=5)
WEIGHTS = EditCost.from_attributes(edge_metric="euclidean", n_edge_codes=3)
# Name: graphs, and what a relaxed kernel is told about them.
KINDS = {
    "labeled": (lambda: collection(random_graphs(24, seed=1)), {}),
    "unlabeled": (lambda: collection(random_graphs(24, seed=2), labeled=False), {}),
    "edge-labeled": (lambda: collection(random_graphs(24, seed=3, bonds=BONDS)), {"edge_labels": True}),
    "attributed": (lambda: with_attributes(random_graphs(24, seed=4)), {"cost": ATTRIBUTES}),
    "both": (lambda: with_attributes(random_graphs(24, seed=4), labeled=True), {"cost": ATTRIBUTES}),
    "directed": (directed, {}),
    "directed, arcs labeled": (directed, {"edge_labels": True}),
    "weighted": (weighted, {"cost": WEIGHTS}),
}


def same_model(kernel, shards, tmp_path):
    """Say whether a kernel fitted to shards is the one fitted to their graphs."""
    one, other = clone(kernel).fit(shards.to_collection()), clone(kernel).fit(shards)
    return model(one, tmp_path / "one.rwl") == model(other, tmp_path / "other.rwl")
