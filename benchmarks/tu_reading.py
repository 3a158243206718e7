"""Time the reading of REDDIT-BINARY, side by side in one run with ``numpy.loadtxt`` on its file of edges alone.

Run ``python benchmarks/tu_reading.py [ZIP]``. Without a path, the data is looked for beside the checkout.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from relaxwl.datasets.tu import load_tu

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "REDDIT-BINARY.zip"
FIRST_LOAD = "import sys; from relaxwl.datasets.tu import load_tu; load_tu(sys.argv[1])"


def least_seconds(functions: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, tuple[float, float]]:
    """Return the least wall and processor seconds of each; all take turns, so that other load falls on all."""
    least = dict.fromkeys(functions, (float("inf"), float("inf")))
    for _ in range(rounds):
        for what, function in functions.items():
            wall, processor = time.perf_counter(), time.process_time()
            function()
            spent = time.perf_counter() - wall, time.process_time() - processor
            least[what] = min(least[what][0], spent[0]), min(least[what][1], spent[1])
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", nargs="?", type=Path, default=DEFAULT, help="a zip file in TU layout")
    archive = parser.parse_args().archive
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with zipfile.ZipFile(archive) as members:
            members.extractall(folder)
        edges = next(folder.rglob("*_A.txt"))
        megabytes = edges.stat().st_size / 1e6
        load_tu(folder)  # compiles
        seconds = least_seconds(
            {
                "numpy.loadtxt, edges alone": lambda: np.loadtxt(edges, delimiter=","),
                "numpy.loadtxt, edges alone, dtype=int64": lambda: np.loadtxt(edges, delimiter=",", dtype=np.int64),
                "load_tu, folder, all files to a collection": lambda: load_tu(folder),
                "load_tu, zip, all files to a collection": lambda: load_tu(archive),
            }
        )
    print(f"{archive.name}: {edges.name} has {megabytes:.1f} MB; ratios are of processor time")
    print(f"{'':45} {'wall':>7}   {'cpu':>7}  x loadtxt  x int64     MB/s")
    (_, floats), (_, integers), *_ = seconds.values()
    for what, (wall, cpu) in seconds.items():
        print(f"{what:45} {wall:7.3f} s {cpu:7.3f} s {floats / cpu:8.1f} {integers / cpu:8.1f} {megabytes / cpu:8.0f}")
    small = archive.with_name("MUTAG.zip")
    if small.exists():
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", FIRST_LOAD, small], check=True)
        print(f"{'new process, import and load_tu of MUTAG':45} {time.perf_counter() - start:7.3f} s")


if __name__ == "__main__":
    main()
