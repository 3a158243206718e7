"""``relaxwl datasets``: which data sets there are, what they look like, and fetching one."""

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import Columns, open_source
from relaxwl.datasets import write_parquet, write_tu
from relaxwl.datasets.fetch import cache_directory, download_tu
from relaxwl.evaluation.statistics import accuracy_bound, describe_dataset, indistinguishable_graphs
from relaxwl.evaluation.tables import dataset_table
from relaxwl.graphs import GraphCollection

# A few of the many data sets of the TU collection, as a start.
WELL_KNOWN = [
    "MUTAG",
    "PTC_MR",
    "NCI1",
    "PROTEINS",
    "BZR",
    "COX2",
    "DD",
    "ENZYMES",
    "IMDB-BINARY",
    "IMDB-MULTI",
    "REDDIT-BINARY",
    "REDDIT-MULTI-5K",
    "COLLAB",
]


def run_list(arguments: Namespace, console: Console) -> None:
    """List what can be named as a data set."""
    cached = sorted(path.stem for path in cache_directory().glob("*.zip"))
    embedded = [f"egonets-{level}" for level in range(1, 5)]
    console.result(
        "\n".join(
            [
                f"embedded (generated):        {', '.join(embedded)}",
                f"in the cache:                {', '.join(cached) or 'none'}",
                f"in the TU collection, e.g.:  {', '.join(WELL_KNOWN)}",
                "your own:                    a folder or zip with NAME_A.txt, NAME_graph_indicator.txt, …",
            ]
        ),
        {"embedded": embedded, "cached": cached, "well_known": WELL_KNOWN},
    )


def run_stats(arguments: Namespace, console: Console) -> None:
    """Describe data sets in a table."""
    records, twins = [], []
    for name in arguments.dataset:
        source = open_source(name, console, arguments.seed, Columns.of(arguments))
        classes = [0] * len(source.graphs) if source.y is None else source.y.tolist()
        records.append(describe_dataset(source.name, source.graphs, classes, n_jobs=arguments.jobs))
        twins.append(_twins(source.graphs, source.y, arguments.jobs))
    table = dataset_table(records)
    lines = [_twins_text(record.name, *found) for record, found in zip(records, twins, strict=True)]
    fields = [{"wl_twins": number, "accuracy_bound": bound} for number, bound in twins]
    text = table.render(arguments.format)
    if arguments.format == "text":
        text = "\n".join([text, "", *lines])
    console.result(text, [{**asdict(record), **found} for record, found in zip(records, fields, strict=True)])


def _twins(graphs: GraphCollection, y: NDArray[Any] | None, n_jobs: int | None) -> tuple[int, float | None]:
    """Return how many graphs no refinement tells from some other, and the accuracy that this leaves possible."""
    groups = indistinguishable_graphs(graphs, n_jobs)
    has_classes = y is not None and y.ndim == 1 and y.dtype.kind in "iuU"
    bound = accuracy_bound(groups, y.tolist()) if has_classes and y is not None else None
    sizes = np.bincount(groups)
    return int(sizes[sizes > 1].sum()), bound


def _twins_text(name: str, number: int, bound: float | None) -> str:
    text = f"{name}: {number} graphs have a twin that Weisfeiler-Lehman refinement cannot tell from them"
    return text if bound is None else f"{text}; without edge labels, accuracy is at most {bound:.1%}"


def run_convert(arguments: Namespace, console: Console) -> None:
    """Write a data set as a Parquet file, or in TU layout as a zip file or a folder."""
    ending = Path(arguments.output).suffix
    if ending not in (".parquet", ".zip", ""):
        raise UserError(f"{arguments.output}: the target must end in .parquet or .zip, or be a new folder")
    source = open_source(arguments.source, console, arguments.seed, Columns.of(arguments))
    write = write_parquet if ending == ".parquet" else write_tu
    write(arguments.output, source.graphs, source.y)
    console.result(f"{arguments.output}: {source.graphs}", {"path": arguments.output, "n_graphs": len(source.graphs)})


def run_fetch(arguments: Namespace, console: Console) -> None:
    """Download data sets into the cache."""
    paths = [str(download_tu(name, base_url=arguments.base_url)) for name in arguments.name]
    console.result("\n".join(paths), paths)
