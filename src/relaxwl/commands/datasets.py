"""``relaxwl datasets``: list, describe, convert and download data sets."""

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from relaxwl.commands.console import Console, UserError
from relaxwl.commands.sources import open_source
from relaxwl.datasets import write_parquet, write_tu
from relaxwl.datasets.fetch import cache_directory, download_tu
from relaxwl.evaluation.statistics import describe_dataset
from relaxwl.evaluation.tables import dataset_table

# Some well-known data sets of the TU collection.
WELL_KNOWN = [
    "MUTAG", "PTC_MR", "NCI1", "PROTEINS", "BZR", "COX2", "DD", "ENZYMES", "IMDB-BINARY", "IMDB-MULTI",
    "REDDIT-BINARY", "REDDIT-MULTI-5K", "COLLAB",
]  # fmt: skip


def run_list(arguments: Namespace, console: Console) -> None:
    """List the available data sets."""
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
    records = []
    for name in arguments.dataset:
        source = open_source(name, arguments, console)
        classes = [0] * len(source.graphs) if source.y is None else source.y.tolist()
        records.append(describe_dataset(source.name, source.graphs, classes, n_jobs=arguments.jobs))
    console.result(dataset_table(records).render(arguments.format), [asdict(record) for record in records])


def run_convert(arguments: Namespace, console: Console) -> None:
    """Write a data set as a Parquet file, or in TU layout as a zip file."""
    ending = Path(arguments.output).suffix.lower()
    if ending not in (".parquet", ".zip"):
        raise UserError(f"{arguments.output}: the target must end in .parquet or .zip")
    source = open_source(arguments.source, arguments, console)
    write = write_parquet if ending == ".parquet" else write_tu
    write(arguments.output, source.graphs, source.y)
    console.result(f"{arguments.output}: {source.graphs}", {"path": arguments.output, "n_graphs": len(source.graphs)})


def run_fetch(arguments: Namespace, console: Console) -> None:
    """Download data sets into the cache."""
    paths = [str(download_tu(name, base_url=arguments.base_url)) for name in arguments.name]
    console.result("\n".join(paths), paths)
