"""Regression on ESOL, FreeSolv and Lipophilicity: single views of molecules and combinations, in one table.

    python benchmarks/molecules.py [ESOL FreeSolv Lipophilicity] [--splits random:20 scaffold:5] [--methods ...]
                                   [--plot calibration.png] [--table-only]

measures what is not recorded yet in ``records/molecules.jsonl``. Split s is drawn with seed s; one molecule in five (of
scaffold splits: one scaffold in five) is for testing. Random and scaffold splits are never mixed.
"""

import argparse
import csv
from functools import cache, partial

import numpy as np
from harness import DATA, RECORDS, Records, markdown
from moleculeace import VIEWS, Z90, random_forest, regressor, remember_descriptors, svm_on_ecfp
from scipy.stats import norm
from sklearn.model_selection import GroupShuffleSplit

from relaxwl.molecules import scaffolds

TARGETS = {"ESOL": "measured log solubility in mols per litre", "FreeSolv": "expt", "Lipophilicity": "exp"}
ROWS = {**VIEWS, "descriptors alone": ("descriptors",), "descriptors and R-WL*": ("relaxed", "descriptors")}
METHODS = {name: partial(regressor, views) for name, views in ROWS.items()}
METHODS |= {"SVM on ECFP": svm_on_ecfp, "random forest": random_forest}
LEVELS = np.linspace(0.05, 0.95, 19)


@cache
def read(name):
    """Return SMILES and targets of a set."""
    with (DATA / "molecules" / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [row["smiles"] for row in rows], np.array([float(row[TARGETS[name]]) for row in rows])


def measure(method, name, kind, seed):
    """Return the errors of a method on the test molecules of a split."""
    smiles, y = read(name)
    test = np.zeros(len(y), bool)
    if kind == "random":
        test[np.random.default_rng(seed).permutation(len(y))[: round(0.2 * len(y))]] = True
    else:
        groups = scaffolds(smiles)
        test[next(GroupShuffleSplit(1, test_size=0.2, random_state=seed).split(groups, groups=groups))[1]] = True
    predicted, deviation = METHODS[method](smiles, y, test)
    errors = y[test] - predicted
    measures = {"rmse": float(np.sqrt(np.mean(errors**2)))}
    if deviation is not None:
        standardized = np.abs(errors / deviation)
        measures["coverage"] = float(np.mean(standardized <= Z90))
        measures["log density"] = float(norm.logpdf(errors, scale=deviation).mean())
        measures["covered"] = [float(np.mean(standardized <= norm.ppf(0.5 + level / 2))) for level in LEVELS]
    return measures


def table(records, kind):
    """Return RMSE, mean log density and the share of measurements in 90 % intervals, by method and set."""
    found = [records.values(name, kind) for name in ("rmse", "log density", "coverage")]
    rows = []
    for method in METHODS:
        cells = []
        for name in TARGETS:
            values = [part.get(method, {}).get(name) for part in found]
            n_splits = sum(key[:3] == (name, method, kind) for key in records.cells)
            parts = [f"{values[0]:.3f}", f"{values[1]:.2f}", f"{100 * values[2]:.0f} %"] if values[1] is not None else (
                [] if values[0] is None else [f"{values[0]:.3f}"])  # fmt: skip
            cells.append(" · ".join(parts) + (f" ({n_splits})" if parts else ""))
        if any(cells):
            rows.append([method, *cells])
    return markdown([f"{kind} splits", *TARGETS], rows)


def plot_calibration(records, path):
    """Plot how many measurements lie within the default's intervals of each width, against how many should."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(4.5, 4.5))
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name in TARGETS:
        covered = [record["measures"]["covered"] for key, record in records.cells.items()
                   if key[:3] == (name, "default", "random")]  # fmt: skip
        if covered:
            axes.plot(LEVELS, np.mean(covered, axis=0), label=name)
    axes.set(xlabel="nominal coverage of the intervals", ylabel="observed coverage")
    axes.legend(frameon=False)
    figure.savefig(path, bbox_inches="tight", dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(TARGETS), help="some of " + ", ".join(TARGETS))
    parser.add_argument("--splits", nargs="+", default=["random:20", "scaffold:5"], help="random:N or scaffold:N")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--records", default=RECORDS / "molecules.jsonl")
    parser.add_argument("--plot", help="write the calibration plot to this file")
    parser.add_argument("--table-only", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    remember_descriptors()
    records = Records(arguments.records)
    splits = [(kind, int(n_splits)) for kind, _, n_splits in (text.partition(":") for text in arguments.splits)]
    if not arguments.table_only:
        records.fill(((name, method, kind, seed), partial(measure, method, name, kind, seed))
                     for kind, n_splits in splits for seed in range(n_splits)
                     for name in arguments.sets for method in arguments.methods)  # fmt: skip
    print("\n\n".join(table(records, kind) for kind, _ in splits) + f"\n\n{records.source()}")
    if arguments.plot:
        plot_calibration(records, arguments.plot)


if __name__ == "__main__":
    main()
