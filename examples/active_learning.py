"""
Which molecule to measure next?
===============================

Of 1,128 molecules the most soluble are sought, measuring as few as possible. A Gaussian process learns from what was
measured, and the molecules with the largest expected improvement are measured next. How many measurements does it take
until half of the best hundredth are found, against measuring at random?

Run ``python examples/active_learning.py ESOL.csv``; it takes less than a minute.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from relaxwl.datasets import read_molecules
from relaxwl.learning.gaussian_process import GaussianProcess
from relaxwl.molecules.views import Batch, DescriptorView, FingerprintView

TARGET = "measured log solubility in mols per litre"
N_FIRST, N_AT_ONCE, N_SEEDS = 20, 5, 10

# %%
# All molecules are known beforehand, only their solubility is not: kernels are computed once for all.

table = read_molecules(sys.argv[1], target=TARGET)
batch = Batch(table.molecules)
kernels = [kernel for view in (DescriptorView(), FingerprintView()) for kernel in view.fit(batch)]
y = np.asarray(table.y)
best = np.argsort(-y, kind="stable")[: len(y) // 100]


def expected_improvement(known):
    """Return, for each molecule, by how much it may be expected to beat the best that is known."""
    process = GaussianProcess(n_starts=1).fit([kernel[np.ix_(known, known)] for kernel in kernels], y[known])
    mean, variance = process.predict(
        [kernel[:, known] for kernel in kernels], [np.ones(len(y))] * len(kernels), noise=False
    )
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    better = (mean - y[known].max()) / deviation
    return deviation * (better * norm.cdf(better) + norm.pdf(better))


def found_after(seed, is_guided):
    """Return how many of the best were found after each measurement, until half of them are."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y)).tolist()
    known = order[:N_FIRST]
    while 2 * np.isin(best, known).sum() < len(best):
        rest = np.setdiff1d(order, known, assume_unique=True)
        if is_guided:
            rest = rest[np.argsort(-expected_improvement(known)[rest], kind="stable")]
        known = [*known, *rest[:N_AT_ONCE].tolist()]
    return np.cumsum(np.isin(known, best))


# %%
# Ten seeds draw the first molecules; both ways start from the same.

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for name, is_guided, colour in (("expected improvement", True, "C1"), ("at random", False, "C0")):
    curves = [found_after(seed, is_guided) for seed in range(N_SEEDS)]
    needed = np.array([int(np.argmax(2 * curve >= len(best))) + 1 for curve in curves])
    print(f"{name}: half of the best {len(best)} after {np.median(needed):.0f} measurements (from {needed.min()} to")
    print(f"    {needed.max()} over {N_SEEDS} seeds)")
    for place, curve in enumerate(curves):
        axes.step(np.arange(1, len(curve) + 1), curve, color=colour, alpha=0.6, label=None if place else name)
axes.set(xlabel="measurements", ylabel=f"found of the {len(best)} best")
axes.legend()
figure.savefig("active_learning.png", dpi=150)
