"""``relaxwl shard``: data sets as a folder of shards, which are read one at a time."""

from argparse import Namespace

import numpy as np

from relaxwl._validation import counted
from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import check_source, open_source
from relaxwl.distributed import ShardWriter

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
    parts, targets, part = iter(written), written.y, written.nothing()
    for name in arguments.dataset:
        source = open_source(name, arguments, console)
        graphs, y = source.graphs, source.y
        while to_skip and len(graphs):
            part = part if len(part) else next(parts)
            n_same = min(len(part), len(graphs))
            same_y = targets is None or (y is not None and np.array_equal(targets[:n_same], y[:n_same]))
            if not same_y or part[:n_same] != graphs[:n_same]:
                raise UserError(f"{arguments.out} has other graphs of an interrupted run than {name}{ADVICE}")
            part, graphs, to_skip = part[n_same:], graphs[n_same:], to_skip - n_same
            targets, y = (None if some is None else some[n_same:] for some in (targets, y))
        writer.add(graphs, y)
    if to_skip:
        raise UserError(f"{arguments.out} has more graphs of an interrupted run than these data sets{ADVICE}")
    shards = writer.finish()
    records = shards.manifest.parts
    written_as = counted(len(records), "shard")
    console.result(
        f"{shards.n_graphs:,} graphs with {shards.n_nodes:,} nodes in {written_as}: {arguments.out}",
        {"folder": arguments.out, "n_graphs": shards.n_graphs, "n_nodes": shards.n_nodes, "n_shards": len(records)},
    )
