"""Fill the tables of docs/results.md: all kernels on nine data sets, and predictors on published folds.

Usage: ``python benchmarks/results.py FOLDER [--data ../shared/data] [--only auto small large splits]``. Every fold is
written to ``FOLDER/results.jsonl`` at once, so a run that was stopped goes on where it was; folds that are there cost
nothing. The order is that of usefulness: the predictor once on every set, then the small sets, then the large
ones, then the published folds. ``python docs/make_results.py FOLDER`` writes the page from what is there so far.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relaxwl import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.datasets import load_tu
from relaxwl.evaluation import ResultStore, cross_validate

SMALL = ["MUTAG", "PTC_MR", "BZR", "IMDB-BINARY", "EGO-1"]
LARGE = ["PROTEINS", "REDDIT-BINARY", "NCI1", "DD"]
NAMED = ["wl", "wl-oa", "wwl", "rwl-star", "gwl", "gwl-oa", "stats-rf", "ve-hist", "sp", "pwl", "gs", "odd-sth"]
# R-WL* with one thing changed: how counts are compared, what is counted, many partitions without a round of k-means.
RELAXED: dict[str, Any] = {"max_depth": 4, "n_partitions": 3, "normalize": True}
VARIANTS = {
    "WL tanimoto": WeisfeilerLehman(5, similarity="tanimoto"),
    "R-WL* tanimoto": RelaxedWeisfeilerLehman(**RELAXED, similarity="tanimoto"),
    "R-WL* intersection": RelaxedWeisfeilerLehman(**RELAXED, similarity="intersection"),
    "R-WL* edge": RelaxedWeisfeilerLehman(**RELAXED, base="edge"),
    "R-WL* 50 partitions": RelaxedWeisfeilerLehman(**{**RELAXED, "n_partitions": 50}, max_iter=0),
}
# Along shortest paths there are as many features as triples that occur: two depths are what is affordable.
PATHS = {"R-WL* paths": RelaxedWeisfeilerLehman(**{**RELAXED, "max_depth": 2}, base="shortest-path")}
# Data sets with too many pairs of vertices for shortest paths, and too many distinct trees for their exact distances.
NO_PATHS, NO_EXACT = {"REDDIT-BINARY", "DD"}, {"REDDIT-BINARY", "DD", "EGO-1"}
SPLIT_KERNELS = ["auto", "wl", "wl-oa", "wwl", "rwl-star", "stats-rf"]
N_REPEATS = 5


@dataclass(frozen=True)
class Task:
    """A kernel on a data set, with so many repetitions and seconds for each."""

    stage: str
    dataset: str
    name: str
    kernel: Any
    repeats: int
    limit: float
    splits: bool = False


def tasks() -> Iterator[Task]:
    """Yield everything that there is to do, the most useful first."""
    for dataset in [*SMALL, *LARGE]:
        yield Task("auto", dataset, "auto", "auto", 1, 3600)
    yield from _all_kernels("small", SMALL, N_REPEATS, 3000)
    yield from _all_kernels("large", LARGE, 1, 3000)
    yield from _all_kernels("large", LARGE, N_REPEATS, 3000)
    for name in SPLIT_KERNELS:
        for dataset in ("IMDB-BINARY", "PROTEINS", "REDDIT-BINARY", "NCI1", "DD"):
            yield Task("splits", dataset, name, name, 1, 3600, splits=True)


def _all_kernels(stage: str, datasets: list[str], repeats: int, limit: float) -> Iterator[Task]:
    named: dict[str, Any] = {"auto": "auto", **{name: name for name in NAMED}, **VARIANTS, **PATHS, "rwl": "rwl"}
    for name, kernel in named.items():
        for dataset in datasets:
            if not ((name in PATHS and dataset in NO_PATHS) or (name == "rwl" and dataset in NO_EXACT)):
                yield Task(stage, dataset, name, kernel, repeats, limit)


def run(task: Task, data: Path, store: ResultStore) -> None:
    """Evaluate a kernel on a data set; what is known already is not computed again."""
    graphs, y = load_tu(data / f"{task.dataset}.zip")
    kernels = task.kernel if isinstance(task.kernel, str) else {task.name: task.kernel}
    started = time.perf_counter()
    results = cross_validate(
        kernels,
        graphs,
        y,
        n_repeats=task.repeats,
        splits=data / "splits" / f"{task.dataset}.json" if task.splits else None,
        time_limit=task.limit,
        store=store,
        dataset=task.dataset,
        n_jobs=1,
    )
    cell = results.cell(task.dataset, task.name)
    score = f"{100 * cell.mean:.2f} ± {100 * cell.std:.2f} ({len(cell.accuracies)})" if cell.finished else cell.given_up
    print(f"{task.stage} {task.dataset} {task.name}: {score}  [{time.perf_counter() - started:.0f} s]", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--only", nargs="+", choices=["auto", "small", "large", "splits"])
    parser.add_argument("--datasets", nargs="+", help="these alone")
    parser.add_argument("--kernels", nargs="+", help="these alone, named as in the records")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    store = ResultStore(arguments.folder / "results.jsonl")
    for task in tasks():
        asked = (
            (task.stage, arguments.only), (task.dataset, arguments.datasets), (task.name, arguments.kernels)
        )  # fmt: skip
        if all(some is None or value in some for value, some in asked):
            try:
                run(task, arguments.data, store)
            except ValueError as error:
                print(f"{task.dataset} {task.name}: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
