"""Kernels fitted to sharded collections: the same model, bit for bit, as fitted to the whole collection.

Shards are the parts that a kernel is fitted to (``relaxwl.kernels.levels``); workers read them one at a time.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from relaxwl._execution import fork_safe_lock
from relaxwl.distributed.shards import ARRAYS, ShardedCollection
from relaxwl.distributed.tasks import Cluster, current_tasks
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.kernels.base import CountKernel
from relaxwl.kernels.levels import SAMPLE_ADVICE, Handle, Parts, Tasks
from relaxwl.kernels.unary import distinct_counts, unary_steps

Prepared = TypeVar("Prepared")
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

    def prepared(self, prepare: Callable[[GraphCollection], Prepared]) -> Prepared:
        """Read the shard, unless this process has cached it, and return a function of its graphs."""
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
        return prepare(graphs)


def _nbytes(graphs: GraphCollection) -> int:
    arrays = (getattr(graphs, name) for name in ARRAYS)
    return sum(array.nbytes for array in arrays if array is not None)


class ShardParts(Parts):
    """The shards of a collection."""

    def __init__(self, shards: ShardedCollection, tasks: Tasks) -> None:
        starts = accumulate((part.n_graphs for part in shards.manifest.parts), initial=0)
        parts = [ShardPart(shard, start) for shard, start in zip(shards.singles(), starts, strict=False)]
        super().__init__(parts, shards.nothing(), tasks)

    def each(
        self, name: str, function: Callable[..., Any], *arguments: Any, own: Sequence[Handle] | None = None
    ) -> list[Handle]:
        """Call a function for each shard."""
        handles = super().each(name, function, *arguments, own=own)
        self.parts = [replace(part, again=True) for part in self.parts]  # type: ignore[type-var]
        return handles


def fit(kernel: CountKernel, shards: ShardedCollection, unary: bool = False) -> None:
    """Fit a kernel to all graphs of the shards, on the current Dask client, or without one in this process.

    With ``unary``, unary features are fitted for any similarity.
    """
    if not hasattr(kernel, "fit_parts"):
        raise TypeError(f"{type(kernel).__name__} cannot be fitted to shards; {SAMPLE_ADVICE}")
    if shards.n_nodes == 0:
        raise ValueError("the graphs have no nodes: there is nothing to fit")
    tasks = current_tasks()
    kernel.directed_ = shards.manifest.directed
    with tasks.working(shards.folder) if isinstance(tasks, Cluster) else nullcontext():
        parts = ShardParts(shards, tasks)
        kernel.fit_parts(parts)
        if unary or kernel.similarity == "intersection":  # only these features depend on the counts of the fit
            found = parts.each("count", counts_of_part, parts.share(kernel))
            kernel.unary_ = [unary_steps(*depth) for depth in parts.joined("count", join_counts_of_parts, found)]
    kernel.n_graphs_in_ = shards.n_graphs


def counts_of_part(part: ShardPart, kernel: CountKernel) -> list[tuple[Int32, Float64, int]]:
    """Return, for each depth, the distinct pairs of a column and a count in a shard, and the number of columns."""
    found = [counts.matrix for counts in part.prepared(kernel.prepare)]
    return [(*distinct_counts(matrix.indices, matrix.data), matrix.shape[1]) for matrix in found]


def join_counts_of_parts(parts: list[list[tuple[Int32, Float64, int]]]) -> list[tuple[Int32, Float64, int]]:
    """Return the distinct pairs of all shards."""
    return [
        (
            *distinct_counts(
                np.concatenate([one for one, _, _ in depth]), np.concatenate([one for _, one, _ in depth])
            ),
            depth[0][2],
        )
        for depth in zip(*parts, strict=True)
    ]
