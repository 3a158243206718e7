"""Compare the Weisfeiler-Lehman subtree kernel with GraKeL's: depth 4, features and Gram matrix, on loaded data.

Run ``python benchmarks/weisfeiler_lehman.py [NAME ...]``. The data sets are looked for beside the checkout. Times are
the least of several rounds in one process, in which both take turns; growth of memory is measured in a fresh process
for each, from the moment when the graphs are loaded (for GraKeL: and turned into what it reads) to the highest point.
"""

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from relaxwl import GraphCollection, WeisfeilerLehman
from relaxwl.datasets import load_tu

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = ("EGO-1", "IMDB-BINARY", "NCI1", "REDDIT-BINARY")
DEPTH = 4
FIRST_FIT = """
import sys, time
start = time.perf_counter()
from relaxwl import WeisfeilerLehman
from relaxwl.datasets import load_tu
graphs, _ = load_tu(sys.argv[1])
WeisfeilerLehman(4).fit_kernel_matrix(graphs)
print(time.perf_counter() - start)
"""


def grakel_input(graphs: GraphCollection) -> list[tuple[dict[tuple[int, int], int], dict[int, Any]]]:
    """Return the graphs as GraKeL reads them; unlabeled nodes all get the same label."""
    result = []
    for graph in graphs:
        pairs = [tuple(pair) for pair in graph.edges.tolist()]
        edges = dict.fromkeys([*pairs, *((b, a) for a, b in pairs)], 1)
        labels = graph.node_labels or [0] * graph.n_nodes
        result.append((edges, dict(enumerate(labels))))
    return result


def grakel_gram(inputs: list[Any]) -> np.ndarray:
    import grakel

    return grakel.WeisfeilerLehman(n_iter=DEPTH, base_graph_kernel=grakel.VertexHistogram).fit_transform(inputs)


def our_gram(graphs: GraphCollection, n_jobs: int) -> np.ndarray:
    return WeisfeilerLehman(DEPTH, n_jobs=n_jobs).fit_kernel_matrix(graphs)


def peak_bytes(reset: bool = False) -> float:
    """Return the most memory that this process has held, since the last reset where the system can reset it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    return 1024.0 * next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))


def measure_growth(name: str, who: str) -> None:
    """In a process of its own: load, run once on a few graphs (imports, compiled code), and print the growth."""
    graphs, _ = load_tu(DATA / f"{name}.zip")
    few = graphs[:20]
    if who == "GraKeL":
        inputs, few_inputs = grakel_input(graphs), grakel_input(few)
        grakel_gram(few_inputs)
        run: Callable[[], np.ndarray] = lambda: grakel_gram(inputs)  # noqa: E731
    else:
        our_gram(few, 1)
        run = lambda: our_gram(graphs, 1)  # noqa: E731
    gc.collect()
    before = peak_bytes(reset=True)
    run()
    print(json.dumps(peak_bytes() - before))


def growth(name: str, who: str) -> float:
    command = [sys.executable, "-W", "ignore", __file__, name, "--growth", who]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compare(name: str) -> None:
    """Time one data set and print its line."""
    graphs, _ = load_tu(DATA / f"{name}.zip")
    inputs = grakel_input(graphs)
    functions: dict[str, Callable[[], np.ndarray]] = {
        "one": lambda: our_gram(graphs, 1),
        "all": lambda: our_gram(graphs, -1),
        "GraKeL": lambda: grakel_gram(inputs),
    }
    our_gram(graphs[:20], -1)  # compiles
    seconds = dict.fromkeys(functions, np.inf)
    grams = {}
    for _ in range(3):
        for who, function in functions.items():
            start = time.perf_counter()
            grams[who] = function()
            seconds[who] = min(seconds[who], time.perf_counter() - start)
    equal = all(np.array_equal(gram, grams["GraKeL"]) for gram in grams.values())
    grams.clear()
    ours, theirs = growth(name, "ours"), growth(name, "GraKeL")
    print(
        f"{name:14} {len(graphs):7d} {graphs.n_nodes:9d} | {seconds['GraKeL']:8.3f} {seconds['one']:8.3f} "
        f"{seconds['all']:8.3f} {seconds['GraKeL'] / seconds['one']:8.1f}x {seconds['GraKeL'] / seconds['all']:8.1f}x"
        f" | {theirs / 1e6:8.0f} {ours / 1e6:8.0f} | {'yes' if equal else 'NO'}",
        flush=True,
    )


def first_fit(cache: str) -> float:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", FIRST_FIT, str(DATA / "MUTAG.zip")]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help="data sets")
    parser.add_argument("--growth", choices=("ours", "GraKeL"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # GraKeL's
    if arguments.growth:
        measure_growth(arguments.names[0], arguments.growth)
        return
    print(f"WL subtree kernel, depth {DEPTH}: seconds for features and Gram matrix, growth of memory in MB")
    print(f"{'':32} |   GraKeL  1 job    all jobs   speed-up (1, all) |  GraKeL     ours | equal")
    for name in arguments.names:
        compare(name)
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = first_fit(cache), first_fit(cache)
    print(f"import, load MUTAG and first fit: {cold:.1f} s from a cold cache, {warm:.2f} s from a warm one")


if __name__ == "__main__":
    main()
