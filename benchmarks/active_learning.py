"""Which molecule to measure next? Expected improvement against choosing at random, on ESOL.

Of 1,128 molecules the most soluble are sought, measuring as few as possible. A Gaussian process learns from what was
measured, and the molecules with the largest expected improvement are measured next. How many measurements does it take
until half of the best hundredth are found? The gallery has an example of the same idea that explains it.

Run ``python benchmarks/active_learning.py [--plot active_learning.png]``; the table is looked for beside the checkout.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import norm

from relaxwl.datasets.molecules import read_molecules
from relaxwl.learning.gaussian_process import GaussianProcess
from relaxwl.molecules import MoleculeRegressor

TABLE = Path(__file__).resolve().parents[2] / "shared" / "data" / "molecules" / "ESOL.csv"
TARGET = "measured log solubility in mols per litre"
N_FIRST, N_AT_ONCE, N_SEEDS = 20, 5, 10


def expected_improvement(kernels, y, known):
    """Return, for each molecule, by how much it may be expected to beat the best that is known."""
    process = GaussianProcess(n_starts=1).fit([kernel[np.ix_(known, known)] for kernel in kernels], y[known])
    mean, variance = process.predict(
        [kernel[:, known] for kernel in kernels], [np.ones(len(y))] * len(kernels), noise=False
    )
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    better = (mean - y[known].max()) / deviation
    return deviation * (better * norm.cdf(better) + norm.pdf(better))


def found_after(kernels, y, best, seed, is_guided):
    """Return how many of the best were found after each measurement, until half of them are."""
    order = np.random.default_rng(seed).permutation(len(y)).tolist()
    known = order[:N_FIRST]
    while 2 * np.isin(best, known).sum() < len(best):
        rest = np.setdiff1d(order, known, assume_unique=True)
        if is_guided:
            rest = rest[np.argsort(-expected_improvement(kernels, y, known)[rest], kind="stable")]
        known = [*known, *rest[:N_AT_ONCE].tolist()]
    return np.cumsum(np.isin(known, best))


def plot(found, n_best, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for (name, curves), color in zip(found.items(), ("C1", "C0"), strict=True):
        for place, curve in enumerate(curves):
            axes.step(np.arange(1, len(curve) + 1), curve, color=color, alpha=0.6, label=None if place else name)
    axes.set(xlabel="measurements", ylabel=f"found of the {n_best} best")
    axes.legend()
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", help="write the curves to this file")
    arguments = parser.parse_args()
    table = read_molecules(TABLE, target=TARGET)
    y = np.asarray(table.y)
    best = np.argsort(-y, kind="stable")[: len(y) // 100]
    # All molecules are known beforehand, only their solubility is not: kernels are computed once for all.
    model = MoleculeRegressor(("descriptors", "fingerprints"))
    objects = model._objects(table.molecules, None)
    kernels = [kernel for view in model._views(objects)[0] for kernel in view.matrices(view.fit(objects))]
    found = {}
    for name, is_guided in (("expected improvement", True), ("at random", False)):
        # Both ways start from the same molecules.
        found[name] = [found_after(kernels, y, best, seed, is_guided) for seed in range(N_SEEDS)]
        needed = np.array([int(np.argmax(2 * curve >= len(best))) + 1 for curve in found[name]])
        print(
            f"{name}: half of the best {len(best)} after {np.median(needed):.0f} measurements "
            f"({needed.min()} to {needed.max()} over {N_SEEDS} seeds)"
        )
    if arguments.plot:
        plot(found, len(best), arguments.plot)


if __name__ == "__main__":
    main()
