"""Compare the relaxed kernel R-WL* with GraKeL's plain Weisfeiler-Lehman kernel: the price of relaxation.

Run ``python benchmarks/relaxed.py [NAME ...]``. Both do what they do for a user on loaded data: GraKeL's fit_transform
(4 iterations, Gram matrix), our fit and transform (depth 4, 3 partitions, sparse features). Times are the least of
several rounds in which both take turns.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grakel
from weisfeiler_lehman import grakel_input

from relaxwl import RelaxedWeisfeilerLehman
from relaxwl.datasets import load_tu

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = ("EGO-1", "IMDB-BINARY", "REDDIT-BINARY", "NCI1")
# The most that relaxation may cost, as a multiple of GraKeL's time.
GOALS = {"EGO-1": 20, "IMDB-BINARY": 1.5, "REDDIT-BINARY": 3, "NCI1": 1}


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    print(f"{'data set':<15}{'GraKeL WL':>11}{'fit':>9}{'transform':>11}{'ratio':>8}{'goal':>7}")
    for name in arguments.names:
        graphs, _ = load_tu(DATA / f"{name}.zip")
        inputs = [grakel.Graph(*item) for item in grakel_input(graphs)]
        kernel = RelaxedWeisfeilerLehman(random_state=0, n_jobs=arguments.jobs)
        kernel.fit_transform(graphs[:20])  # compile
        best = [float("inf")] * 3
        for _ in range(arguments.rounds):
            times = (
                seconds(lambda: grakel.WeisfeilerLehman(n_iter=4).fit_transform(inputs)),  # noqa: B023
                seconds(lambda: kernel.fit(graphs)),  # noqa: B023
                seconds(lambda: kernel.transform(graphs)),  # noqa: B023
            )
            best = [min(old, new) for old, new in zip(best, times, strict=True)]
        ratio = (best[1] + best[2]) / best[0]
        print(
            f"{name:<15}{best[0]:>9.2f} s{best[1]:>7.2f} s{best[2]:>9.2f} s{ratio:>7.2f}×{GOALS.get(name, 0):>6}×",
            flush=True,
        )


if __name__ == "__main__":
    main()
