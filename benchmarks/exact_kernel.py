"""Time and memory of the exact relaxed kernel R-WL at depth 4, each data set in a process of its own.

Run ``python benchmarks/exact_kernel.py [NAME ...]``.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = ("MUTAG", "PTC_MR", "BZR", "NCI1")
CHILD = """
import json, resource, sys, time
from relaxwl.datasets import load_tu
from relaxwl.kernels.registry import get_kernel
graphs, _ = load_tu(sys.argv[1])
get_kernel("rwl").make(0, -1, max_depth=2).fit(graphs[:20])
start = time.perf_counter()
kernel = get_kernel("rwl").make(0, -1)
features = kernel.fit_transform(graphs)
seconds = time.perf_counter() - start
trees = [int(partition.n_trees.sum()) for partition in kernel.partitions_[0]]
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, trees, features.shape]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    print(f"{'data set':<10}{'seconds':>9}{'peak GiB':>10}   distinct trees by depth")
    for name in parser.parse_args().names:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(DATA / f"{name}.zip")], capture_output=True, text=True, check=True
        )
        seconds, peak, trees, _ = json.loads(done.stdout)
        print(f"{name:<10}{seconds:>9.1f}{peak:>10.2f}   {trees}", flush=True)


if __name__ == "__main__":
    main()
