"""``relaxwl shard``: data sets as a folder of shards, which are read one at a time."""

from argparse import Namespace

from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import check_source, open_source
from relaxwl.distributed import ShardWriter


def run(arguments: Namespace, console: Console) -> None:
    """Write the graphs of all data sets, one after the other; an interrupted run is resumed."""
    for name in arguments.dataset:
        check_source(name)
    writer = ShardWriter(arguments.out, arguments.graphs_per_shard)
    to_skip = writer.n_written
    if to_skip:
        console.note(f"{arguments.out} has {to_skip:,} graphs of an interrupted run: resuming after them")
    for name in arguments.dataset:
        source = open_source(name, arguments, console)
        skipped = min(to_skip, len(source.graphs))
        to_skip -= skipped
        writer.add(source.graphs[skipped:], None if source.y is None else source.y[skipped:])
    if to_skip:
        raise UserError(
            f"{arguments.out} has more graphs of an interrupted run than these data sets: name the same ones in the "
            "same order, or another folder"
        )
    shards = writer.finish()
    parts = shards.manifest.parts
    console.result(
        f"{shards.n_graphs:,} graphs with {shards.n_nodes:,} nodes in {len(parts):,} shards: {arguments.out}",
        {"folder": arguments.out, "n_graphs": shards.n_graphs, "n_nodes": shards.n_nodes, "n_shards": len(parts)},
    )
