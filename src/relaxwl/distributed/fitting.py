"""Kernels fitted to sharded collections: the same model, bit for bit, as fitted to the whole collection.

The loop is that of ``kernels.chains.fit_chain``, with shards in place of the collection and chunks in place of its
rows. What holds how much: a task one shard, or the trees of one partition of a level, or one chunk of rows, or the
sample that k-means starts from (16 rows a group; with a given ``max_iter`` one); the client and the model the centres
and the distances between them (of the Weisfeiler-Lehman kernel, whose features the trees are, all distinct trees).
"""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from relaxwl._validation import as_seed
from relaxwl.costs import EditCost, Sketch
from relaxwl.distances.ground import Ground
from relaxwl.distributed.grouping import SpreadCrowd, as_summary, distances_between, group
from relaxwl.distributed.levels import Level
from relaxwl.distributed.shards import ShardedCollection
from relaxwl.distributed.tasks import Handle, Tasks, current_tasks, hold, pick, reduce
from relaxwl.distributed.warming import warm_workers
from relaxwl.graphs.arrays import Int32, Int64
from relaxwl.kernels import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.kernels.base import CountKernel
from relaxwl.kernels.chains import Encoded, Feeding, ground_of, looks_at_distances
from relaxwl.kernels.counting import Counter, SubtreeCounter
from relaxwl.kernels.partition import Fed, Partition, Trees
from relaxwl.kernels.relaxed import Progress
from relaxwl.unfolding import Rows
from relaxwl.unfolding.encoding import (
    EdgeEncoding,
    RootEncoding,
    attributes_of,
    check_edge_labels,
    edge_attributes_of,
)
from relaxwl.unfolding.rows import join_rows

SAMPLE_ADVICE = "fit it on a sample: kernel.fit(shards.sample(10_000)[0])"


def fit(kernel: CountKernel, shards: ShardedCollection) -> None:
    """Fit a kernel to all graphs of the shards, on the current Dask client, or without one in this process."""
    _check_kind(kernel, shards)
    tasks = current_tasks()
    tasks.check(shards.folder)
    warm_workers(tasks, kernel, shards)
    try:
        fit_by(tasks, kernel, shards)
    except BaseException:  # an interrupt as well: nothing is to run on for nobody
        tasks.cancel()
        raise


def fit_by(tasks: Tasks, kernel: CountKernel, shards: ShardedCollection) -> None:
    """Fit a kernel by tasks."""
    kernel.directed_ = shards.manifest.directed
    if isinstance(kernel, WeisfeilerLehman):
        _fit_exact(kernel, shards, tasks)
    else:
        _fit_relaxed(cast(RelaxedWeisfeilerLehman, kernel), shards, tasks)
    kernel.n_graphs_in_ = shards.n_graphs


def _check_kind(kernel: CountKernel, shards: ShardedCollection) -> None:
    name = type(kernel).__name__
    exact = type(kernel) is WeisfeilerLehman
    if not exact and not isinstance(kernel, RelaxedWeisfeilerLehman):
        raise TypeError(f"{name} cannot be fitted to shards; {SAMPLE_ADVICE}")
    if isinstance(kernel, RelaxedWeisfeilerLehman) and not kernel.approximate:
        raise ValueError(f"approximate=False compares all distinct trees, too many in shards; {SAMPLE_ADVICE}")
    if kernel.base == "shortest-path":
        raise ValueError(f"base='shortest-path' cannot be fitted to shards; {SAMPLE_ADVICE}")
    if shards.n_nodes == 0:
        raise ValueError("the graphs have no vertices: there is nothing to fit")


# ------------------------------------------------------------------------------------------------- Weisfeiler-Lehman


def _fit_exact(kernel: WeisfeilerLehman, shards: ShardedCollection, tasks: Tasks) -> None:
    kernel.rows_, kernel._counters = [], []
    kernel._fit_vocabularies(shards.nothing())
    sent = hold(tasks, _without(kernel, "rows_", "_counters"))
    ids: list[Handle] = [None] * len(shards)
    for depth in range(kernel.max_depth + 1):
        n_below = len(kernel.rows_[-1]) if depth else 0
        level = Level(tasks, sent, shards, depth, ids, n_below, None, again=depth > 0)
        ids = level.ids() if _looks_at_ids(kernel, depth) else []
        # The trees are the features of this kernel: here they come together for the first time.
        rows = join_rows([found.rows for found in tasks.gather(level.rows())])
        del level  # what lies with the workers is let go before the next depth
        kernel._report(depth, len(rows))
        kernel._counters.append(_counter(tasks, kernel, sent, shards, ids, len(rows)))
        kernel.rows_.append(rows)


# ----------------------------------------------------------------------------------------------------------- relaxed


def _fit_relaxed(kernel: RelaxedWeisfeilerLehman, shards: ShardedCollection, tasks: Tasks) -> None:
    seed = as_seed(kernel.random_state)
    _fit_encodings(kernel, shards, tasks, seed)
    sent = hold(tasks, _without(kernel, "partitions_", "_counters"))
    progress = Progress(kernel)
    kernel.partitions_, kernel._counters = [], []
    for first in range(kernel.n_partitions):
        kernel.partitions_.append([])
        kernel._counters.append([])
        for partition, counter, n_trees in _chain(kernel, sent, shards, tasks, seed, first):
            kernel.partitions_[-1].append(partition)
            kernel._counters[-1].append(counter)
            progress.step(partition, n_trees)


class _Below(NamedTuple):
    """What a depth hands to the next: ids of the vertices of each shard, their number, distances and trees."""

    ids: list[Handle]
    n_known: int
    distances: Handle
    trees: Trees | None


def _chain(
    kernel: RelaxedWeisfeilerLehman, sent: Handle, shards: ShardedCollection, tasks: Tasks, seed: int, first: int
) -> Iterator[tuple[Partition, Counter, int]]:
    """Yield the partition of each depth of a chain, what counts its groups, and the number of its trees."""
    encoded = kernel._encode(shards.nothing())
    costs = hold(tasks, encoded)
    every = [kernel._make_partitioners(first, depth)[0] for depth in range(kernel.max_depth + 1)]
    below = _Below([None] * len(shards), 0, hold(tasks, np.zeros((1, 1))), None)
    for depth, partitioner in enumerate(every):
        feeding, deeper = kernel._feeding, every[depth + 1 :]
        ground = tasks.submit("ground", make_ground, below.distances, costs, feeding if depth else None)
        level = Level(tasks, sent, shards, depth, below.ids, below.n_known, ground, again=True)
        rows = SpreadCrowd(tasks, level, ground)
        fitted = group(partitioner, rows, np.random.default_rng([seed, first, depth]))
        looked_at = deeper and (feeding.roots or any(map(looks_at_distances, deeper)))
        known: Any = fitted.distances if looked_at else None
        distances = hold(tasks, known)
        if looked_at and known is None:
            known = distances = distances_between(tasks, fitted.centers, ground)
        tally, known = tasks.gather([rows.summarised(fitted), known])
        summary, nearest = as_summary(tally, len(fitted.centers))
        symbols = None if depth and feeding.roots else encoded.symbols
        trees = Trees(_drawn(fitted.centers, nearest, rows), symbols, encoded.edge_symbols.names, below.trees)
        fed = Fed(fitted.centers, known) if deeper else None
        partition = Partition(depth, first, fitted.partitioner, fitted.centers, fed, trees, summary)
        labels = pick(tasks, 0, fitted.places) if _looks_at_ids(kernel, depth) else []
        ids = level.values_of_vertices(labels, rows.chunk_sizes) if labels else []
        below, n_trees = _Below(ids, len(fitted.centers), distances, trees), level.n_rows
        del level, rows, fitted, labels, ground  # what lies with the workers is let go before the next depth
        yield partition, _counter(tasks, kernel, sent, shards, ids, below.n_known), n_trees


def _looks_at_ids(kernel: CountKernel, depth: int) -> bool:
    """Whether somebody wants to know the id of each vertex: the next depth, or a counter of pairs."""
    return depth < kernel.max_depth or kernel.base != "subtree"


def make_ground(distances: Any, encoded: Encoded, feeding: Feeding | None) -> Ground:
    """Return the costs between the points of a depth."""
    return ground_of(distances, encoded, feeding)


def _drawn(centers: Rows, nearest: Int64, rows: SpreadCrowd) -> Rows:
    """Return the centres as ``kernels.partition.drawn_centers`` does."""
    if centers.is_integral:
        return centers
    broken = centers.sums(np.abs(centers.counts - np.rint(centers.counts))) > 0
    replaced = np.flatnonzero(broken & (nearest >= 0))
    order = np.argsort(nearest[replaced])
    members = rows.rows_at(nearest[replaced][order]).measures()
    return replace(centers, counts=np.rint(centers.counts)).replaced(members, replaced[order])


# ----------------------------------------------------------------------------------------------- labels and attributes


class InUse(NamedTuple):
    """What stands on vertices and edges of graphs: codes that occur, and attribute vectors."""

    roots: Int32
    edges: Int32
    vectors: Sketch | None
    edge_vectors: Sketch | None
    edge_vocabulary: tuple[Any, ...] | None


def _fit_encodings(kernel: RelaxedWeisfeilerLehman, shards: ShardedCollection, tasks: Tasks, seed: int) -> None:
    """Make the encodings of roots and edges that :class:`RelaxedWeisfeilerLehman` would make of all graphs."""
    cost = EditCost() if kernel.cost is None else kernel.cost
    sent = hold(tasks, _without(kernel, "root_encoding_", "edge_encoding_", "partitions_", "_counters"))
    found = [tasks.submit("labels", in_use, sent, shard) for shard in shards.singles()]
    (used,) = tasks.gather([reduce(tasks, "labels", join_in_use, found)])
    vocabulary = shards.manifest.node_vocabulary
    labels = None if vocabulary is None else tuple(vocabulary[code] for code in used.roots.tolist())
    edges_count = kernel.edge_labels or (shards.manifest.directed and kernel.directions == "both")
    roots = RootEncoding.of(labels, cost, used.vectors, seed)
    edges = EdgeEncoding.of(used.edges, used.edge_vocabulary, cost, edges_count, used.edge_vectors, seed)
    if roots.lacks_symbols:
        roots = roots.with_symbols(_symbols(tasks, sent, shards, roots))
    if edges.lacks_symbols:
        edges = edges.with_symbols(_symbols(tasks, sent, shards, edges), used.edge_vocabulary)
    kernel.root_encoding_, kernel.edge_encoding_ = roots, edges


def in_use(kernel: RelaxedWeisfeilerLehman, shard: ShardedCollection) -> InUse:
    """Return what occurs in a shard."""
    graphs = shard[0]
    seen = graphs.seen(kernel.directions, edge_labels=kernel.edge_labels)
    uses, missing = kernel.uses(), None if kernel.cost is None else kernel.cost.missing
    codes = np.empty(0, np.int32) if seen.edge_codes is None else seen.edge_codes
    check_edge_labels(seen, kernel.edge_labels)
    return InUse(
        np.unique(graphs.node_codes),
        np.unique(codes),
        Sketch.of(attributes_of(graphs), missing) if "node_attributes" in uses else None,
        Sketch.of(edge_attributes_of(seen), missing) if "edge_attributes" in uses else None,
        seen.edge_vocabulary,
    )


def join_in_use(parts: list[InUse]) -> InUse:
    """Put together what occurs in several shards."""
    return InUse(
        np.unique(np.concatenate([part.roots for part in parts])),
        np.unique(np.concatenate([part.edges for part in parts])),
        Sketch.join([part.vectors for part in parts if part.vectors is not None]),
        Sketch.join([part.edge_vectors for part in parts if part.edge_vectors is not None]),
        next((part.edge_vocabulary for part in parts if part.edge_vocabulary is not None), None),
    )


def _symbols(tasks: Tasks, sent: Handle, shards: ShardedCollection, encoding: RootEncoding | EdgeEncoding) -> set[Any]:
    """Return the attribute codes, or pairs (label, code), that occur."""
    known = hold(tasks, encoding)
    found = [tasks.submit("labels", symbols_in, sent, known, shard) for shard in shards.singles()]
    used: set[Any]
    (used,) = tasks.gather([reduce(tasks, "labels", join_sets, found)])
    return used


def symbols_in(kernel: RelaxedWeisfeilerLehman, encoding: Any, shard: ShardedCollection) -> set[Any]:
    """Return the symbols that occur in a shard."""
    graphs = shard.read_again(0)
    if isinstance(encoding, EdgeEncoding):
        graphs = graphs.seen(kernel.directions, edge_labels=kernel.edge_labels)
    return set(encoding.symbols_of(graphs)[1])


def join_sets(parts: list[set[Any]]) -> set[Any]:
    """Return all that is in one of the sets."""
    return set().union(*parts)


# ------------------------------------------------------------------------------------------------------------- counters


def _counter(
    tasks: Tasks, kernel: Any, sent: Handle, shards: ShardedCollection, ids: list[Handle], n_known: int
) -> Counter:
    """Return what counts the ids of one depth, with the columns of all shards."""
    if kernel.base == "subtree":
        counter = SubtreeCounter()
        counter.n_columns = n_known
        return counter
    found = [
        tasks.submit("columns", counter_of_shard, sent, shard, some, n_known)
        for shard, some in zip(shards.singles(), ids, strict=True)
    ]
    fitted: Counter
    (fitted,) = tasks.gather([reduce(tasks, "columns", join_counters, found)])
    return fitted


def counter_of_shard(kernel: Any, shard: ShardedCollection, ids: Int32, n_known: int) -> Any:
    """Fit a counter to one shard."""
    return kernel.counter_of_part(shard.read_again(0), ids, n_known)


def join_counters(parts: list[Any]) -> Any:
    """Return a counter with the columns of all."""
    joined = copy.copy(parts[0])
    joined.keys = np.unique(np.concatenate([part.keys for part in parts]))
    return joined


# --------------------------------------------------------------------------------------------------------------- inside


def _without(kernel: Any, *fitted: str) -> Any:
    """Return a kernel without what an earlier fit has left, fit to be sent; the random state is not needed."""
    light = copy.copy(kernel)
    for name in fitted:
        vars(light).pop(name, None)
    if hasattr(light, "random_state"):
        light.random_state = None
    return light
