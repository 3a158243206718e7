"""``relaxwl shard``: data sets as a folder of shards, which are read one at a time."""

from argparse import Namespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._validation import counted
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import check_source, open_source
from relaxwl.distributed import ShardedCollection, ShardWriter
from relaxwl.graphs import GraphCollection

ADVICE = ": name the same ones in the same order, or another folder"


def run(arguments: Namespace, console: Console) -> None:
    """Write the graphs of all data sets, one after the other; an interrupted run is resumed."""
    for name in arguments.dataset:
        check_source(name)
    writer = ShardWriter(arguments.out, arguments.graphs_per_shard)
    to_skip = writer.n_written
    if to_skip:
        console.note(f"{arguments.out} has {to_skip:,} graphs of an interrupted run: resuming after them")
    written = writer.written
    for name in arguments.dataset:
        source = open_source(name, arguments, console)
        n_same = min(to_skip, len(source.graphs))
        if not _are_written(written, written.n_graphs - to_skip, source.graphs[:n_same], source.y):
            raise UserError(f"{arguments.out} has other graphs of an interrupted run than {name}{ADVICE}")
        to_skip -= n_same
        writer.add(source.graphs[n_same:], None if source.y is None else source.y[n_same:])
    if to_skip:
        raise UserError(f"{arguments.out} has more graphs of an interrupted run than these data sets{ADVICE}")
    shards = writer.finish()
    parts = shards.manifest.parts
    written_as = counted(len(parts), "shard")
    console.result(
        f"{shards.n_graphs:,} graphs with {shards.n_nodes:,} nodes in {written_as}: {arguments.out}",
        {"folder": arguments.out, "n_graphs": shards.n_graphs, "n_nodes": shards.n_nodes, "n_shards": len(parts)},
    )


def _are_written(written: ShardedCollection, first: int, graphs: GraphCollection, y: NDArray[Any] | None) -> bool:
    """Whether the shards have these graphs, with their targets, from position ``first`` on."""
    start = 0
    for part in written.singles():
        stop = start + part.n_graphs
        low, high = max(start, first), min(stop, first + len(graphs))
        if low < high:
            own, given = slice(low - start, high - start), slice(low - first, high - first)
            if part[0][own] != graphs[given] or not _same_targets(part.y, own, y, given):
                return False
        start = stop
    return True


def _same_targets(before: NDArray[Any] | None, own: slice, now: NDArray[Any] | None, given: slice) -> bool:
    if before is None or now is None:
        return before is None and now is None
    missing_are_equal = before.dtype.kind == "f" and now.dtype.kind == "f"
    return np.array_equal(before[own], now[given], equal_nan=missing_are_equal)
