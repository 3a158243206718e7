"""Fit R-WL* (depth 2, one partition) to shards of generated ego networks: threads beside one and two worker processes.

Run ``python benchmarks/distributed.py [NODES ...] [--folder DIR] [--memory-limit 1GiB] [--shard-nodes N]``. Times
are those of the best of some fits in fresh processes, with the reading of shards, after a small fit that loads compiled
code. Threads fit the whole collection in memory, as many as there are workers at most; a worker has one thread. The
peak is that of each process, the client's first. All models of a size are compared bit for bit.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# This file has the name of a package that it needs.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]

from sklearn.base import clone  # noqa: E402

from relaxwl import RelaxedWeisfeilerLehman  # noqa: E402
from relaxwl._memory import forget_peak_memory, peak_memory  # noqa: E402
from relaxwl.datasets import make_egonets  # noqa: E402
from relaxwl.distributed import ShardedCollection, ShardWriter  # noqa: E402
from relaxwl.kernels.persistence import _contents  # noqa: E402

SIZES = (10**5, 10**6, 10**7)
WORKERS = (1, 2)
GRAPHS_AT_ONCE = 500
KERNEL = RelaxedWeisfeilerLehman(
    max_depth=2, n_partitions=1, n_clusters="sqrt", max_iter=None, similarity="dot", random_state=0
)


def write(folder: Path, n_nodes: int, shard_nodes: int) -> ShardedCollection:
    """Write ego networks with about so many nodes in all, unless they are there."""
    if (folder / "manifest.json").exists():
        return ShardedCollection.open(folder)
    graphs, _ = make_egonets(GRAPHS_AT_ONCE, random_state=0)
    with ShardWriter(folder, max(1, shard_nodes * len(graphs) // graphs.n_nodes)) as writer:
        for seed in range(n_nodes // graphs.n_nodes + 1):
            graphs, _ = make_egonets(GRAPHS_AT_ONCE, random_state=seed)
            kept = int((graphs.offsets[1:] <= n_nodes).sum())
            writer.add(graphs[:kept])
            n_nodes -= int(graphs.offsets[kept])
    return ShardedCollection.open(folder)


def measure(how: str, folder: Path, limit: str, repeats: int) -> dict[str, Any]:
    """Fit by threads or so many workers, and say what it took."""
    shards = ShardedCollection.open(folder)
    small = make_egonets(8, random_state=0)[0]
    if how == "threads":
        clone(KERNEL).set_params(n_jobs=max(WORKERS)).fit(small)
        forget_peak_memory()
        kernel = clone(KERNEL).set_params(n_jobs=max(WORKERS))
        seconds = best_of(repeats, lambda: kernel.fit(shards.to_collection()))
        return result(kernel, seconds, [peak_memory() or 0.0])
    from dask.distributed import Client, LocalCluster

    settings = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": limit}
    with LocalCluster(n_workers=int(how), **settings) as cluster, Client(cluster) as client:
        client.run(clone(KERNEL).fit, small)
        client.run(forget_peak_memory)
        forget_peak_memory()
        kernel = clone(KERNEL)
        seconds = best_of(repeats, lambda: kernel.fit(shards))
        peaks = [peak_memory() or 0.0, *client.run(peak_memory).values()]
    return result(kernel, seconds, peaks)


def best_of(repeats: int, work: Callable[[], Any]) -> float:
    """Return the shortest time of some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return round(min(times), 3)


def result(kernel: RelaxedWeisfeilerLehman, seconds: float, peaks: list[float]) -> dict[str, Any]:
    vars(kernel).pop("unary_", None)  # counts that a fit in memory notes for later
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.rwl")
        kernel.save(path)
        model = [hashlib.sha256(array.tobytes()).hexdigest() for array in _contents(path)[1]]
    trees = [int(partition.n_trees.sum()) for partition in kernel.partitions_[0]]
    return {"seconds": seconds, "peak_mb": [round(peak / 2**20) for peak in peaks], "trees": trees, "model": model}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--folder", type=Path, help="where shards are written, and found again")
    parser.add_argument("--memory-limit", default="4GiB", help="of each worker")
    parser.add_argument(
        "--shard-nodes", type=int, help="nodes of a shard; by default 170,000, or a 20th of all if that is more"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=["threads", *map(str, WORKERS)])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        how, folder = arguments.one
        print(json.dumps(measure(how, Path(folder), arguments.memory_limit, arguments.repeats)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        for size in arguments.sizes:
            shard_nodes = arguments.shard_nodes or max(170_000, size // 20)
            folder = (arguments.folder or Path(temporary)) / f"egonets-{size}-{shard_nodes}"
            print(write(folder, size, shard_nodes), flush=True)
            models = set()
            for how in arguments.only:
                settings = ["--memory-limit", arguments.memory_limit, "--repeats", str(arguments.repeats)]
                command = [sys.executable, __file__, *settings, "--one", how, folder]
                output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                found = json.loads(output.splitlines()[-1])
                models.add(tuple(found.pop("model")))
                print(f"{how:>8} {found}", flush=True)
            print("same model" if len(models) == 1 else "DIFFERENT MODELS", flush=True)


if __name__ == "__main__":
    main()
