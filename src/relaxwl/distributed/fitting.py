"""Kernels fitted to sharded collections: the same model, bit for bit, as fitted to the whole collection.

Shards are a source of graphs (``relaxwl.distributed.levels``); workers read them one at a time.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from relaxwl._execution import fork_safe_lock
from relaxwl.distributed.levels import ShardSource
from relaxwl.distributed.shards import ARRAYS, ShardedCollection
from relaxwl.distributed.tasks import Cluster, Tasks, current_tasks
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.kernels.base import CountKernel
from relaxwl.kernels.levels import SAMPLE_ADVICE
from relaxwl.kernels.unary import distinct_counts, unary_steps

# Maximum size in bytes of the shards that a process caches from one depth to the next; the first ones are cached.
KEPT_BYTES = 1 << 26
_kept: dict[tuple[str, str], GraphCollection] = {}
_lock = fork_safe_lock()


@dataclass(frozen=True)
class ShardPart:
    """A shard, read by the process that needs it; its content is validated once."""

    shard: ShardedCollection
    first_graph: int
    again: bool = False

    def graphs(self) -> GraphCollection:
        """Read the shard, unless this process has cached it."""
        place = str(self.shard.folder.absolute())
        key = place, self.shard.manifest.parts[0].sha256
        with _lock:
            graphs = _kept.get(key)
        if graphs is None:
            graphs = self.shard.read_again(0) if self.again else self.shard[0]
            with _lock:
                if any(folder != place for folder, _ in _kept):  # of an earlier fit
                    _kept.clear()
                if sum(map(_nbytes, (graphs, *_kept.values()))) <= KEPT_BYTES:
                    _kept[key] = graphs
        return graphs


def _nbytes(graphs: GraphCollection) -> int:
    arrays = (getattr(graphs, name) for name in ARRAYS)
    return sum(array.nbytes for array in arrays if array is not None)


def source_of(shards: ShardedCollection, tasks: Tasks) -> ShardSource:
    """Return the shards of a collection as a source of graphs."""
    starts = accumulate((part.n_graphs for part in shards.manifest.parts), initial=0)
    parts = [ShardPart(shard, start) for shard, start in zip(shards.singles(), starts, strict=False)]
    return ShardSource(parts, shards.nothing(), tasks)


def fit(kernel: CountKernel, shards: ShardedCollection, unary: bool = False) -> None:
    """Fit a kernel to all graphs of the shards, on the current Dask client, or without one in this process.

    With ``unary``, unary features are fitted for any similarity.
    """
    if not hasattr(kernel, "fit_source"):
        raise TypeError(f"{type(kernel).__name__} cannot be fitted to shards; {SAMPLE_ADVICE}")
    if kernel.base == "shortest-path":
        raise ValueError(f"base='shortest-path' cannot be fitted to shards; {SAMPLE_ADVICE}")
    if shards.n_nodes == 0:
        raise ValueError("the graphs have no nodes: there is nothing to fit")
    tasks = current_tasks()
    kernel.directed_ = shards.manifest.directed
    with tasks.working(shards.folder) if isinstance(tasks, Cluster) else nullcontext():
        source = source_of(shards, tasks)
        kernel.fit_source(source)
        if unary or kernel.similarity != "dot":  # only these features depend on the counts of the fit
            found = source.joined(join_counts_of_parts, source.each(counts_of_part, kernel))
            kernel.unary_ = [unary_steps(*depth) for depth in found]
    kernel.n_graphs_in_ = shards.n_graphs


def counts_of_part(graphs: GraphCollection, kernel: CountKernel) -> list[tuple[Int32, Float64, int]]:
    """Return, for each depth, the distinct pairs of a column and a count in a shard, and the number of columns."""
    found = [counts.matrix for counts in kernel.prepare(graphs)]
    return [(*distinct_counts(matrix.indices, matrix.data), matrix.shape[1]) for matrix in found]


def join_counts_of_parts(parts: list[list[tuple[Int32, Float64, int]]]) -> list[tuple[Int32, Float64, int]]:
    """Return the distinct pairs of all shards."""
    joined = []
    for depth in zip(*parts, strict=True):
        columns, counts = (np.concatenate([one[place] for one in depth]) for place in (0, 1))
        joined.append((*distinct_counts(columns, counts), depth[0][2]))
    return joined
