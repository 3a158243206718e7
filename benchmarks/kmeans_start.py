"""The course of k-means: the defaults against 8 rounds from random rows, on the levels of chains.

Run ``python benchmarks/kmeans_start.py [NAME ...] [--data FOLDER]``. A chain of R-WL* (depth 4, one partition, one
thread) is made with 8 rounds from random rows. On the rows and ground of each of its levels the other ways are run
beside it: processor time, and sum of distances relative to it (means over five seeds where rows are few).
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from relaxwl import RelaxedWeisfeilerLehman, WassersteinKMeans
from relaxwl.clustering import KMeansPartitioner
from relaxwl.datasets import load_tu
from relaxwl.unfolding import TreeRows

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = ("EGO-1", "PROTEINS", "IMDB-BINARY", "REDDIT-BINARY", "NCI1", "DD")
WAYS: dict[str, dict[str, Any]] = {
    "8 rounds": {"init": "random", "max_iter": 8},
    "k-means++": {},
    "random": {"init": "random"},
    "no iteration": {"init": "random", "max_iter": 0},
}


FEW_ROWS, N_SEEDS = 6000, 5


class Compared(KMeansPartitioner):
    """k-means that tells how other ways do on the same rows."""

    def fit(self, rows: Any, ground: Any, rng: Any = None) -> Any:
        """Group the rows in every way; go on with the first."""
        seeds = range(N_SEEDS if len(rows) <= FEW_ROWS else 1)
        spent, sums = np.zeros((2, len(WAYS), len(seeds)))
        for way, parameters in enumerate(WAYS.values()):
            for seed in seeds:
                start = time.thread_time()
                kmeans = WassersteinKMeans(random_state=seed, n_jobs=1, **parameters)
                kmeans.fit(rows, ground=ground, check=False)
                spent[way, seed], sums[way, seed] = time.thread_time() - start, kmeans.inertia_
        ratios = sums.sum(axis=1) / sums[0].sum()
        print(
            f"  {len(rows):>7} rows {len(kmeans.centers_):>4} groups"
            + "".join(
                f" | {name} {seconds:6.2f} s {ratio:.3f}"
                for name, seconds, ratio in zip(WAYS, spent.mean(axis=1), ratios, strict=True)
            ),
            flush=True,
        )
        return super().fit(rows, ground, rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    for name in arguments.names:
        graphs = load_tu(arguments.data / f"{name}.zip")[0]
        WassersteinKMeans(2, random_state=0).fit(_few_rows(), ground=1.0 - np.eye(3))
        print(name, flush=True)
        RelaxedWeisfeilerLehman(
            n_partitions=1, partitioner=Compared(WassersteinKMeans(**WAYS["8 rounds"])), random_state=0, n_jobs=1
        ).fit(graphs)


def _few_rows() -> Any:
    """Return a handful of rows that compile what is timed."""
    counts = np.arange(1, 41, dtype=np.int32)
    return TreeRows(np.zeros(40, np.int32), np.arange(41), np.arange(40, dtype=np.int32) % 2, counts, 2)


if __name__ == "__main__":
    main()
