"""Time all pairs of distinct unfolding trees against loops over `ot.emd2` and `linear_sum_assignment`.

The loops run on a sample of pairs and do what each pair needs: gather the cost matrix, pad it, solve it.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import ot
from scipy.optimize import linear_sum_assignment

from relaxwl.datasets import load_tu
from relaxwl.distances.pairwise import level_distances
from relaxwl.distances.transport import GroundCost
from relaxwl.unfolding import TreeRows, leaves, refine

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def rows_of_depths(path: Path, depth: int) -> tuple[list[TreeRows], np.ndarray]:
    graphs, _ = load_tu(path)
    rows, ids = leaves(graphs.node_codes)
    levels = [rows]
    for _ in range(depth):
        rows, ids = refine(graphs, graphs.node_codes, ids, len(levels[-1]))
        levels.append(rows)
    return levels, 1.0 - np.eye(len(graphs.node_vocabulary or (0,)) + 1)


def by_emd2(a: tuple, b: tuple, ground: np.ndarray) -> float:
    (_, points_a, counts_a), (_, points_b, counts_b) = a, b
    total = max(counts_a.sum(), counts_b.sum())
    if total == 0:
        return 0.0
    blank = len(ground) - 1
    rows, columns = np.append(points_a, blank), np.append(points_b, blank)
    x = np.append(counts_a, total - counts_a.sum()) / total
    y = np.append(counts_b, total - counts_b.sum()) / total
    return float(ot.emd2(x, y, ground[np.ix_(rows, columns)].astype(np.float64)) * total)


def by_assignment(a: tuple, b: tuple, ground: np.ndarray) -> float:
    (_, points_a, counts_a), (_, points_b, counts_b) = a, b
    blank = len(ground) - 1
    rows, columns = np.repeat(points_a, counts_a), np.repeat(points_b, counts_b)
    size = max(len(rows), len(columns))
    rows = np.append(rows, np.full(size - len(rows), blank))
    columns = np.append(columns, np.full(size - len(columns), blank))
    cost = ground[np.ix_(rows, columns)]
    return float(cost[linear_sum_assignment(cost)].sum())


def loop(
    solve: Callable[..., float], rows: TreeRows, ground: np.ndarray, pairs: np.ndarray
) -> tuple[float, list[float]]:
    start = time.perf_counter()
    values = [solve(rows.row(a), rows.row(b), ground) for a, b in pairs]
    return (time.perf_counter() - start) / len(pairs), values


def best_of(repeats: int, work: Callable[[], np.ndarray]) -> float:
    """Return the shortest time; every result is dropped at once, so that no repeat pays for fresh memory alone."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def report(name: str, rows: TreeRows, ground: np.ndarray, costs: np.ndarray, sample: int, repeats: int) -> None:
    n_pairs = len(rows) * (len(rows) - 1) / 2
    distances = level_distances(rows, GroundCost(ground, costs))
    assert (level_distances(rows, GroundCost(ground, costs), n_jobs=2) == distances).all()
    one = best_of(repeats, lambda: level_distances(rows, GroundCost(ground, costs), n_jobs=1))
    two = best_of(repeats, lambda: level_distances(rows, GroundCost(ground, costs), n_jobs=2))
    pairs = np.random.default_rng(0).integers(0, len(rows), (sample, 2))
    print(f"{name}: {len(rows)} distinct trees, {n_pairs / 1e6:.2f} M pairs, {distances.dtype}")
    print(f"  {'what':<34} {'a pair':>12} {'all pairs':>12}")
    print(f"  {'ours, 1 thread':<34} {one / n_pairs * 1e9:>9.1f} ns {one:>10.3f} s")
    print(f"  {'ours, 2 threads':<34} {two / n_pairs * 1e9:>9.1f} ns {two:>10.3f} s   {one / two:.2f}× one thread")
    for title, solve in (("loop over ot.emd2", by_emd2), ("loop over linear_sum_assignment", by_assignment)):
        seconds, values = loop(solve, rows, ground, pairs)
        expected = [float(distances[a, b]) - costs[rows.roots[a], rows.roots[b]] for a, b in pairs]
        assert np.allclose(values, expected)
        slower = seconds / (one / n_pairs)
        print(f"  {title:<34} {seconds * 1e9:>9.0f} ns {seconds * n_pairs:>10.0f} s   ours is {slower:,.0f}× faster")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with TU data sets as .zip")
    parser.add_argument("--name", default="NCI1")
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--sample", type=int, default=3000, help="pairs for the loops")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    levels, costs = rows_of_depths(options.data / f"{options.name}.zip", max(options.depths))
    ground = np.zeros((1, 1), np.uint8)
    for depth, rows in enumerate(levels):
        if depth in options.depths:
            report(f"{options.name}, depth {depth}", rows, ground, costs, options.sample, options.repeats)
        if depth < len(levels) - 1:
            ground = level_distances(rows, GroundCost(ground, costs))


if __name__ == "__main__":
    main()
