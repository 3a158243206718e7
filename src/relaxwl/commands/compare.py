"""``relaxwl compare``: test whether two collections of graphs differ, and write a page about it."""

from argparse import Namespace
from dataclasses import replace

import numpy as np

from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import Source, open_source
from relaxwl.comparison import two_sample_test
from relaxwl.graphs import GraphCollection
from relaxwl.reports.comparison import write_comparison
from relaxwl.reports.explorer import write_explorer


def run(arguments: Namespace, console: Console) -> None:
    """Compare two data sets, or the two classes of one, and print the result."""
    names = arguments.dataset
    if len(names) > 2:
        raise UserError(f"compare takes one data set with two classes, or two data sets, not {len(names)}")
    sources = [open_source(name, arguments, console) for name in names]
    if len(sources) == 1:
        sides, titles = _classes(sources[0], console)
    else:
        sides, own = [*map(_readable, sources)], [source.name for source in sources]
        # Files of one name in two folders are told apart by their paths.
        titles = own if own[0] != own[1] else [*map(str, names)]
    console.note("; ".join(f"{title}: {len(side):,} graphs" for side, title in zip(sides, titles, strict=True)))
    with console.bar("comparing"):
        result = two_sample_test(
            *sides, n_permutations=arguments.permutations, n_jobs=arguments.jobs, random_state=arguments.seed,
            verbose=console.verbose,
        )  # fmt: skip
    result = replace(result, names=(titles[0], titles[1]))
    lines = [str(result)]
    if arguments.output:
        if arguments.explorer:
            write_explorer(result.explanation(), arguments.explorer)
        title = f"{titles[0]} and {titles[1]}"
        write_comparison(result, arguments.output, title=title, explorer=arguments.explorer)
        lines += [str(result.explain()), f"page written to {arguments.output}"]
    views = {one.view: {"pvalue": one.pvalue, "distance": one.distance} for one in result.by_view}
    data = {"pvalue": result.pvalue, "distance": result.distance, "interval": result.interval, "auroc": result.auroc}
    console.result("\n".join(lines), {**data, "views": views, "output": arguments.output})


def _readable(source: Source) -> GraphCollection:
    """Return the graphs of a data set, without molecules that could not be read."""
    graphs: GraphCollection = source.graphs[source.readable]
    return graphs


def _classes(source: Source, console: Console) -> tuple[list[GraphCollection], list[str]]:
    """Return the graphs of the two classes of a data set, and the names of the classes."""
    y = source.require_targets("classification", console)[1][source.readable]
    classes = np.unique(y).tolist()
    if len(classes) != 2:
        raise UserError(f"{source.name} has {len(classes)} classes; compare takes two, or two data sets: compare A B")
    graphs = _readable(source)
    return [graphs[y == one] for one in classes], [f"class {one}" for one in classes]
