"""Time many exact transports in one call against a loop of POT's ``emd2``, by size of the supports.

All measures lie on one ground of 200 points in the unit cube; a measure has masses at ``size`` points chosen at random,
so that few are common to a pair. Both run on one thread and are given the same pairs; POT gets the costs between the
points with mass. For real masses, POT's batched solver, which is approximate, stands beside them with its largest
relative error. Times are of the process, so that other programs do not count.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import ot
from scipy.sparse import csr_array

import relaxwl

N_POINTS = 200


def random_measures(rng: np.random.Generator, n_rows: int, size: int, whole: bool) -> csr_array:
    """Return rows of masses: whole numbers from 1 to 3, or real ones whose sum is 1."""
    points = np.sort(np.argsort(rng.random((n_rows, N_POINTS)), axis=1)[:, :size], axis=1)
    masses = rng.integers(1, 4, (n_rows, size)).astype(float) if whole else rng.random((n_rows, size))
    if not whole:
        masses /= masses.sum(axis=1, keepdims=True)
    return csr_array((masses.ravel(), points.ravel(), np.arange(n_rows + 1) * size), shape=(n_rows, N_POINTS))


def by_pot(measures: csr_array, ground: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Solve the pairs one after the other, padded at the last point."""
    dense = measures.toarray()
    out = np.empty(len(pairs))
    for place, (i, j) in enumerate(pairs):
        missing = dense[i].sum() - dense[j].sum()
        x, y = np.append(dense[i], max(0.0, -missing)), np.append(dense[j], max(0.0, missing))
        rows, columns = np.flatnonzero(x), np.flatnonzero(y)
        total = x.sum()
        costs = np.ascontiguousarray(ground[np.ix_(rows, columns)])
        out[place] = ot.emd2(x[rows] / total, y[columns] / y.sum(), costs, numItermax=10**7) * total
    return out


def by_batches(measures: csr_array, ground: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Solve the pairs, of equal numbers of points and masses, by POT's batched Sinkhorn in one call."""
    points, masses = measures.indices.reshape(measures.shape[0], -1), measures.data.reshape(measures.shape[0], -1)
    i, j = pairs.T
    costs = ground[points[i][:, :, None], points[j][:, None, :]]
    return np.asarray(ot.solve_batch(costs, reg=0.01, a=masses[i], b=masses[j]).value_linear)


def microseconds(solve: Callable[[], np.ndarray], n_pairs: int) -> tuple[float, np.ndarray]:
    """Return the time of the process per pair, and the distances."""
    start = time.process_time()
    values = solve()
    return (time.process_time() - start) / n_pairs * 1e6, values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2, 4, 8, 16, 24, 32, 40, 64, 100, 150])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    places = rng.random((N_POINTS + 1, 3))
    ground = np.sqrt(((places[:, None] - places[None]) ** 2).sum(-1))
    heads = f"{'size':>5} {'masses':>6} {'ours µs':>9} {'emd2 µs':>9} {'ratio':>7} {'error':>8} {'nearest µs':>11}"
    print(f"{heads} {'batched µs':>11} {'error':>8}")
    for size in options.sizes:
        for whole in (True, False):
            n_rows = max(40, min(300, 4000 // size))
            measures = random_measures(rng, n_rows, size, whole)
            pairs = np.argwhere(np.tri(n_rows, k=-1, dtype=bool))
            relaxwl.transport_distances(measures[:4], ground=ground, pairs=[(0, 1)], check=False)
            relaxwl.transport_nearest(measures[:4], measures, ground, check=False)
            few = pairs[rng.permutation(len(pairs))[: max(30, 3000 // size)]]

            def solve(measures=measures, pairs=pairs):
                return relaxwl.transport_distances(measures, ground=ground, pairs=pairs, check=False)

            def nearest(measures=measures):
                return relaxwl.transport_nearest(measures, measures, ground, 2, check=False)[0]

            ours, values = microseconds(solve, len(pairs))
            near, _ = microseconds(nearest, n_rows**2)
            theirs, expected = microseconds(lambda measures=measures, few=few: by_pot(measures, ground, few), len(few))
            found = {tuple(pair): value for pair, value in zip(pairs.tolist(), values, strict=True)}
            mine = np.array([found[tuple(pair)] for pair in few.tolist()])
            error = np.max(np.abs(mine - expected) / np.maximum(expected, 1e-12))
            print(
                f"{size:>5} {'whole' if whole else 'real':>6} {ours:>9.2f} {theirs:>9.1f} {theirs / ours:>6.1f}× "
                f"{error:>8.0e} {near:>11.2f}",
                end="\n" if whole else " ",
                flush=True,
            )
            if not whole:
                batched, rough = microseconds(lambda m=measures, few=few: by_batches(m, ground, few), len(few))
                error = np.max(np.abs(rough - expected) / expected)
                print(f"{batched:>11.1f} {error:>8.0e}", flush=True)


if __name__ == "__main__":
    main()
