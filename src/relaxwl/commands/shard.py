"""``relaxwl shard``: data sets as a folder of shards, which are read one at a time."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._validation import counted
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import check_source, open_source
from relaxwl.distributed import ShardedCollection, ShardWriter
from relaxwl.distributed.shards import MANIFEST, clear_leftovers
from relaxwl.graphs import GraphCollection

ADVICE = ": name the same ones in the same order, or another folder"


def run(arguments: Namespace, console: Console) -> None:
    """Write the graphs of all data sets, one after the other; an interrupted run is resumed."""
    folder = Path(arguments.out)
    for name in arguments.dataset:
        check_source(name)
    # A run that was killed at its very end is finished, and is compared with the data sets like any other.
    is_finished = (folder / MANIFEST).exists()
    writer = None if is_finished else ShardWriter(folder, arguments.graphs_per_shard)
    written = ShardedCollection.open(folder) if writer is None else writer.written
    state = "graphs of a finished run" if is_finished else "graphs of an interrupted run"
    to_skip = written.n_graphs
    if to_skip and writer is not None:
        console.note(f"{folder} has {to_skip:,} {state}: resuming after them")
    for name in arguments.dataset:
        source = open_source(name, arguments, console)
        n_same = min(to_skip, len(source.graphs))
        same = _are_written(written, written.n_graphs - to_skip, source.graphs[:n_same], source.y)
        to_skip -= n_same
        if not same or (writer is None and n_same < len(source.graphs)):
            raise UserError(f"{folder} has other {state} than {name}{ADVICE}")
        if writer is not None:
            writer.add(source.graphs[n_same:], None if source.y is None else source.y[n_same:])
    if to_skip:
        raise UserError(f"{folder} has more {state} than these data sets{ADVICE}")
    if writer is None:
        clear_leftovers(folder)
        console.note(f"{folder} was finished before, with the same graphs: nothing is written")
    shards = written if writer is None else writer.finish()
    parts = shards.manifest.parts
    written_as = counted(len(parts), "shard")
    console.result(
        f"{shards.n_graphs:,} graphs with {shards.n_nodes:,} nodes in {written_as}: {folder}",
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
