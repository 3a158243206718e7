"""Time the exact transport solver against POT's network simplex and SciPy's HiGHS, one problem at a time.

Random points in the unit cube; the two measures share no point, so that a size of n means n × n (and ⊥).
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import ot
import scipy.sparse
from scipy.optimize import linprog

from relaxwl.distances import _compiled


def random_problem(rng: np.random.Generator, size: int, whole: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places = rng.random((2 * size + 1, 3))
    ground = np.sqrt(((places[:, None] - places[None]) ** 2).sum(-1))
    masses = rng.integers(1, 4, (2, size)).astype(float) if whole else rng.random((2, size))
    x, y = np.zeros(2 * size), np.zeros(2 * size)
    x[:size], y[size:] = masses
    return x, y, ground


def ours(x: np.ndarray, y: np.ndarray, ground: np.ndarray) -> float:
    of_x, of_y = (np.flatnonzero(masses).astype(np.int32) for masses in (x, y))
    return float(_compiled.pair_distance(of_x, x[of_x], of_y, y[of_y], ground, np.inf))


def padded(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    missing = x.sum() - y.sum()
    return np.append(x, max(0.0, -missing)), np.append(y, max(0.0, missing))


def pot(x: np.ndarray, y: np.ndarray, ground: np.ndarray) -> float:
    x, y = padded(x, y)
    rows, columns = np.flatnonzero(x), np.flatnonzero(y)
    total = x.sum()
    cost = np.ascontiguousarray(ground[np.ix_(rows, columns)])
    return float(ot.emd2(x[rows] / total, y[columns] / y.sum(), cost, numItermax=10**7) * total)


def highs(x: np.ndarray, y: np.ndarray, ground: np.ndarray) -> float:
    x, y = padded(x, y)
    rows, columns = np.flatnonzero(x), np.flatnonzero(y)
    cost = ground[np.ix_(rows, columns)]
    n, m = cost.shape
    equations = scipy.sparse.vstack(
        [
            scipy.sparse.kron(scipy.sparse.eye_array(n), np.ones((1, m))),
            scipy.sparse.kron(np.ones((1, n)), scipy.sparse.eye_array(m)).tocsr()[:-1],
        ]
    )
    sides = np.concatenate([x[rows], y[columns][:-1]])
    return float(linprog(cost.ravel(), A_eq=equations, b_eq=sides, method="highs").fun)


def microseconds(solve: Callable[..., float], problems: list[tuple[np.ndarray, ...]]) -> tuple[float, list[float]]:
    solve(*problems[0])
    start = time.perf_counter()
    values = [solve(*problem) for problem in problems]
    return (time.perf_counter() - start) / len(problems) * 1e6, values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2, 4, 8, 16, 32, 64, 100, 200])
    parser.add_argument("--budget", type=int, default=20_000, help="problems × size² for each line")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print(f"{'size':>5} {'masses':>6} {'ours µs':>10} {'emd2 µs':>10} {'HiGHS µs':>10} {'vs emd2':>8} {'error':>8}")
    for size in options.sizes:
        for whole in (True, False):
            problems = [random_problem(rng, size, whole) for _ in range(max(3, min(300, options.budget // size**2)))]
            our_time, our_values = microseconds(ours, problems)
            pot_time, pot_values = microseconds(pot, problems)
            highs_time, _ = microseconds(highs, problems[:3])
            error = max(abs(a - b) / b for a, b in zip(our_values, pot_values, strict=True))
            print(
                f"{size:>5} {'whole' if whole else 'real':>6} {our_time:>10.1f} {pot_time:>10.1f} {highs_time:>10.0f} "
                f"{pot_time / our_time:>7.1f}× {error:>8.0e}"
            )


if __name__ == "__main__":
    main()
