"""Regression on molecules: every row of the table on the same splits, with and without relaxation, in one run.

Gaussian processes on single views of the molecules and on combinations; the last row is the default of
``MoleculeRegressor``. Split s is drawn with seed s; random and scaffold splits are never mixed. Kernels are fitted on
training molecules alone; descriptors of a molecule, which do not depend on others, are computed once.

Run ``python benchmarks/molecules.py [ESOL FreeSolv Lipophilicity] [--splits random:20 | scaffold:5]
[--store splits.jsonl] [--plot calibration.png]``; the tables are looked for beside the checkout. With a store every
split is written at once, and a run that was stopped goes on where it was.
"""

import argparse
import json
import time
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy.stats import norm
from sklearn.model_selection import GroupShuffleSplit

from relaxwl.datasets import read_molecules
from relaxwl.kernels import RelaxedWeisfeilerLehman
from relaxwl.learning.gaussian_process import GaussianProcess
from relaxwl.molecules import MoleculeRegressor, scaffolds
from relaxwl.molecules.views import Batch, GraphView

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "molecules"
TARGETS = {"ESOL": "measured log solubility in mols per litre", "FreeSolv": "expt", "Lipophilicity": "exp"}
COMMON = {"edge_labels": True, "similarity": "tanimoto"}
# Which kernels each row uses, by the beginnings of their names; the single graph kernels stop at depth 4.
ROWS = {
    "R-WL*, 6 partitions, k = 4√rows": ["few partitions"],
    "R-WL*, 30 partitions, no round": ["R-WL*, depth 4"],
    "WL": ["WL, depth 4"],
    "Morgan counts": ["Morgan counts of elements"],
    "descriptors": ["descriptors"],
    "descriptors + R-WL*": ["descriptors", "R-WL*, depth 4"],
    "graphs alone": ["WL", "R-WL*"],
    "graphs alone, without relaxation": ["WL"],
    "default without relaxation": ["WL", "descriptors", "Morgan"],
    "default": ["WL", "R-WL*", "descriptors", "Morgan"],
}


def random_splits(n_molecules, n_splits):
    """Yield training and test positions; one in five is for testing."""
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(n_molecules)
        n_test = round(0.2 * n_molecules)
        yield np.sort(order[n_test:]), np.sort(order[:n_test])


def scaffold_splits(molecules, n_splits):
    """Yield training and test positions; a fifth of the scaffolds is for testing, and none is on both sides."""
    groups = scaffolds(molecules)
    for seed in range(n_splits):
        yield from GroupShuffleSplit(1, test_size=0.2, random_state=seed).split(groups, groups=groups)


def kernels_of_split(molecules, training, test):
    """Return, by name, the kernel matrices of a split: among training molecules, and test against training."""
    views = MoleculeRegressor()._make_views(seed=0)
    views.append(GraphView("few partitions", RelaxedWeisfeilerLehman(4, 6, 4.0, random_state=0, **COMMON), [4]))
    known, new = (Batch([molecules[place] for place in places]) for places in (training, test))
    return {
        name: (among, against)
        for view in views
        for name, among, against in zip(view.names, view.fit(known), view.compare(new), strict=True)
    }


def measure(kernels, prefixes, y, y_test):
    names = [name for name in kernels if name.startswith(tuple(prefixes))]
    process = GaussianProcess().fit([kernels[name][0] for name in names], y)
    found = process.predict([kernels[name][1] for name in names], [np.ones(len(y_test))] * len(names))
    standardised = (y_test - found.mean) / np.sqrt(found.variance)
    return {
        "rmse": float(np.sqrt(np.mean((y_test - found.mean) ** 2))),
        "log density": float(process.log_density(found, y_test).mean()),
        "coverage": float(np.mean(np.abs(standardised) <= norm.ppf(0.95))),
        "standardised": standardised.round(4).tolist(),
    }


def run(name, kind, n_splits, store):
    """Return the measures of each row, a list with an entry for each split; those in the store are not computed."""
    table = read_molecules(DATA / f"{name}.csv", target=TARGETS[name])
    splits = random_splits(len(table.y), n_splits) if kind == "random" else scaffold_splits(table.molecules, n_splits)
    results = defaultdict(list)
    for number, (training, test) in enumerate(splits):
        measured = store.get(name, kind, number)
        if measured is None:
            kernels = kernels_of_split(table.molecules, training, test)
            targets = table.y[training], table.y[test]
            measured = {row: measure(kernels, prefixes, *targets) for row, prefixes in ROWS.items()}
            store.put(name, kind, number, measured=measured)
        for row, one in measured.items():
            results[row].append(one)
        print_table(name, kind, results)
    return results


class Store:
    """Measures of splits in a file, one line each."""

    def __init__(self, path):
        self.path = None if path is None else Path(path)
        lines = self.path.read_text().splitlines() if self.path is not None and self.path.exists() else []
        self.known = {tuple(line["split"]): line["measured"] for line in map(json.loads, lines)}

    def get(self, *split):
        """Return the measures of a split, None if it is not known."""
        return self.known.get(split)

    def put(self, *split, measured):
        """Write the measures of a split."""
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps({"split": split, "measured": measured}) + "\n")


def print_table(name, kind, results):
    n_splits = len(next(iter(results.values())))
    print(f"\n{name}, {n_splits} {kind} splits (seeds 0 to {n_splits - 1}); ± is the deviation over splits")
    print(f"{'':36}{'RMSE':>14}{'log density':>14}{'90 % covers':>14}   RMSE less the default's")
    for row, measured in results.items():
        rmse = np.array([one["rmse"] for one in measured])
        difference = rmse - [one["rmse"] for one in results["default"]]
        density, coverage = (np.mean([one[what] for one in measured]) for what in ("log density", "coverage"))
        print(
            f"{row:36}{rmse.mean():8.3f} ±{rmse.std():.2f}{density:14.3f}{100 * coverage:13.1f}%"
            f"   {difference.mean():+.3f} ±{difference.std():.3f}",
            flush=True,
        )


def plot_calibration(results, path):
    """Plot how many measurements lie within the intervals of each width, against how many should."""
    import matplotlib.pyplot as plt

    wanted = np.linspace(0, 1, 51)
    figure, axes = plt.subplots(figsize=(4.5, 4.5))
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for name, rows in results.items():
        standardised = np.concatenate([one["standardised"] for one in rows["default"]])
        inside = [np.mean(np.abs(standardised) <= norm.ppf(0.5 + share / 2)) for share in wanted]
        axes.plot(wanted, inside, label=name)
    axes.set(xlabel="share that an interval should cover", ylabel="share that it covers")
    axes.legend(frameon=False)
    figure.savefig(path, bbox_inches="tight", dpi=150)


def remember_descriptors():
    """Let descriptors of a molecule be computed once in the whole run."""
    descriptors = import_module("relaxwl.molecules.descriptors")
    compute, known = descriptors.raw_descriptors, {}

    def remembered(molecules, names):
        for molecule in molecules:
            if id(molecule) not in known:
                everything = descriptors.descriptor_names()
                known[id(molecule)] = molecule, dict(zip(everything, compute([molecule], everything)[0], strict=True))
        return np.array([[known[id(molecule)][1][name] for name in names] for molecule in molecules])

    descriptors.raw_descriptors = remembered


def time_default(name):
    """Print how long the default takes on one split, descriptors included, by the clock and by the CPU.

    On a busy machine the second says more: it is what the first would be, at most, on an idle one.
    """
    table = read_molecules(DATA / f"{name}.csv", target=TARGETS[name])
    training, test = next(random_splits(len(table.y), 1))
    times = [(time.perf_counter(), time.process_time())]
    model = MoleculeRegressor(random_state=0, n_jobs=-1).fit([table.smiles[i] for i in training], table.y[training])
    times.append((time.perf_counter(), time.process_time()))
    model.predict([table.smiles[i] for i in test], return_std=True)
    times.append((time.perf_counter(), time.process_time()))
    (fit, fit_cpu), (predict, predict_cpu) = np.diff(times, axis=0)
    print(
        f"{name}: fit {fit:.1f} s ({fit_cpu:.1f} s of CPU), predict {predict:.1f} s ({predict_cpu:.1f} s)", flush=True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(TARGETS), help="some of " + ", ".join(TARGETS))
    parser.add_argument("--splits", default="random:20", help="random:N or scaffold:N")
    parser.add_argument("--store", help="file that keeps the measures of each split")
    parser.add_argument("--plot", help="write the calibration plot to this file")
    parser.add_argument("--time", action="store_true", help="only time the default")
    arguments = parser.parse_args()
    if arguments.time:
        for _ in range(2):  # the second is warm
            time_default(arguments.sets[0])
        return
    kind, _, n_splits = arguments.splits.partition(":")
    remember_descriptors()
    store = Store(arguments.store)
    results = {name: run(name, kind, int(n_splits), store) for name in arguments.sets}
    if arguments.plot:
        plot_calibration(results, arguments.plot)


if __name__ == "__main__":
    main()
