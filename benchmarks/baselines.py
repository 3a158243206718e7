"""Time every kernel on every benchmark set: python benchmarks/baselines.py [--time-limit SECONDS] [--kernels ...].

A cell is the time of all Gram matrices that the evaluation protocol chooses from, for all variants together: what one
repetition of the protocol pays before its SVMs. Compilation is done before, on one small set. Prints a Markdown table.
"""

import argparse
import time
from pathlib import Path

from relaxwl._execution import TimeLimitReached, time_limit
from relaxwl.datasets.tu import load_tu
from relaxwl.graphs import GraphCollection
from relaxwl.kernels.registry import get_kernel, kernel_names

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = ["MUTAG", "PTC_MR", "BZR", "PROTEINS", "NCI1", "EGO-1", "IMDB-BINARY", "REDDIT-BINARY"]
BASELINES = [name for name in kernel_names() if not name.startswith("rwl")]


def seconds_of(name: str, graphs: GraphCollection, limit: float, n_jobs: int) -> float:
    entry = get_kernel(name)
    begin = time.perf_counter()
    with time_limit(limit):
        for variant in entry.variants(random_state=0, n_jobs=n_jobs):
            variant.estimator.compare(variant.estimator.fit_prepare(graphs), None, variant.settings)
    return time.perf_counter() - begin


def cell(name: str, graphs: GraphCollection, limit: float, n_jobs: int) -> str:
    try:
        return f"{seconds_of(name, graphs, limit, n_jobs):.2f}"
    except TimeLimitReached:
        return f"> {limit:g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", nargs="+", default=BASELINES, choices=kernel_names(), metavar="NAME")
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the sets as zip files")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds for each cell")
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    small = load_tu(arguments.data / "MUTAG.zip")[0][:20]
    print("| seconds | " + " | ".join(arguments.sets) + " |")
    print("|---" * (len(arguments.sets) + 1) + "|")
    collections = [load_tu(arguments.data / f"{name}.zip")[0] for name in arguments.sets]
    for name in arguments.kernels:
        seconds_of(name, small, arguments.time_limit, 1)
        cells = [cell(name, graphs, arguments.time_limit, arguments.n_jobs) for graphs in collections]
        print(f"| {get_kernel(name).title} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
