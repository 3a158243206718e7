"""Machine code that tasks are going to need, loaded or compiled by a worker process before it is asked for.

A kernel is fitted to a few graphs by the same tasks, all in the worker itself; what comes out is forgotten.
"""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from relaxwl._execution import one_thread
from relaxwl.distributed.levels import cut, refine_shard
from relaxwl.distributed.shards import Part, ShardedCollection
from relaxwl.distributed.tasks import Here, Tasks
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.checking import check_clean
from relaxwl.kernels import RelaxedWeisfeilerLehman, WeisfeilerLehman

# Vertices that take all ways that more would take, in next to no time.
FEW_VERTICES = 512

logger = logging.getLogger(__name__)
_met: set[str] = set()


def warm_workers(tasks: Tasks, kernel: Any, shards: ShardedCollection, *, applied: bool = False) -> None:
    """Let all workers, those that join later as well, get ready for tasks of a kernel, beside what they do."""
    first = next((shard for shard in shards.singles() if shard.n_nodes), None)
    if first is not None and isinstance(kernel, (WeisfeilerLehman, RelaxedWeisfeilerLehman)):
        plain = {"n_partitions": 1, "random_state": 0, "n_jobs": None, "verbose": 0}
        light = clone(kernel)
        light.set_params(**{name: value for name, value in plain.items() if name in light.get_params(deep=False)})
        tasks.announce(warm, light, first, applied)


def warm(kernel: Any, shard: ShardedCollection, applied: bool) -> None:
    """Fit a kernel to a few graphs of a shard, and apply it; once for each kind of kernels and graphs in a process."""
    kind = repr((kernel.get_params(), replace(shard.manifest, parts=()), applied))
    if kind in _met:
        return
    _met.add(kind)
    try:
        few = FewGraphs(shard)
        if few.n_nodes:
            with one_thread():
                _rehearse(kernel, few, applied)
    except Exception as error:  # what is wrong with kernel or graphs shows in the tasks that count
        logger.debug("%r was not warmed up: %s", kernel, error)


def _rehearse(kernel: Any, few: ShardedCollection, applied: bool) -> None:
    from relaxwl.distributed.fitting import fit_by  # which lets workers be warmed

    fit_by(Here(), kernel, few)
    found = refine_shard(kernel, few, 0, 0, None, 0, True)
    cut(found, found[0].rows)  # which few trees do not need
    if applied:
        kernel.weighted_counts(few[0])


class FewGraphs(ShardedCollection):
    """Graphs of a shard with a few vertices in all, perhaps none, as a collection of one shard in memory."""

    def __init__(self, shard: ShardedCollection) -> None:
        graphs = shard.read_again(0)
        by_size = np.argsort(graphs.node_counts, kind="stable")
        # Middling graphs, where they are small enough: the smallest may lack what the others have.
        start = min(len(by_size) // 2, int(np.searchsorted(graphs.node_counts[by_size], FEW_VERTICES // 4)))
        n_taken = int(np.searchsorted(np.cumsum(graphs.node_counts[by_size[start:]]), FEW_VERTICES, side="right"))
        self._graphs = graphs[np.sort(by_size[start : start + n_taken])]
        check_clean(self._graphs)
        part = replace(shard.manifest.parts[0], n_graphs=len(self._graphs), n_nodes=self._graphs.n_nodes)
        super().__init__(shard.folder, replace(shard.manifest, parts=(part,)))

    def singles(self) -> list[ShardedCollection]:
        """Return itself: it has one shard."""
        return [self]

    def _read(self, part: Part, again: bool = False) -> GraphCollection:
        return self._graphs
