"""Bioactivities with activity cliffs: the 20 sets of MoleculeACE on their published splits, in one table.

    python benchmarks/moleculeace.py [--sets ...] [--methods ...] [--plot differences.svg] [--table-only]

measures what is not recorded yet in ``records/moleculeace.jsonl`` and prints, for each method, the mean RMSE over the
sets on all test molecules and on activity cliffs, the coverage of 90 % intervals and the time, with the published
figures beside them and a paired test (Wilcoxon, over sets) of each against the default.
"""

import argparse
import csv
import json
from functools import cache, partial

import numpy as np
from harness import DATA, RECORDS, Records, markdown

FOLDER = DATA / "molecules" / "MoleculeACE"
# The default regressor, and what is left of it without some views.
VIEWS = {
    "default": ("wl", "relaxed", "descriptors", "fingerprints"),
    "without R-WL*": ("wl", "descriptors", "fingerprints"),
    "without graph kernels": ("descriptors", "fingerprints"),
    "graph kernels alone": ("wl", "relaxed"),
    "WL alone": ("wl",),
    "R-WL* alone": ("relaxed",),
    "GP on Morgan counts": ("fingerprints",),
}
PENALTIES, WIDTHS = (1.0, 10.0, 100.0), (1e-3, 3e-3, 1e-2, 3e-2)
N_TREES = 500
Z90 = 1.6448536269514722


def read(name):
    """Return SMILES, targets, whether each is for testing, and whether it is on an activity cliff."""
    with (FOLDER / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    y = np.array([float(row["y [pEC50/pKi]"]) for row in rows])
    test, cliff = (np.array([row[column] == value for row in rows]) for column, value in
                   (("split", "test"), ("cliff_mol", "1")))  # fmt: skip
    return [row["smiles"] for row in rows], y, test, cliff


@cache
def morgan(smiles, n_bits, counts):
    """Return Morgan fingerprints of radius 2: bits, or counts, folded to ``n_bits`` columns."""
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=n_bits)
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    made = [generator.GetCountFingerprintAsNumPy(m) if counts else generator.GetFingerprintAsNumPy(m)
            for m in molecules]  # fmt: skip
    return np.array(made, np.float32)


def regressor(views, smiles, y, test):
    """Return the predictions of MoleculeRegressor for test molecules, and their standard deviations."""
    from relaxwl.molecules import MoleculeRegressor

    known, new = ([text for text, held in zip(smiles, test, strict=True) if held == side] for side in (False, True))
    model = MoleculeRegressor(views=views, random_state=0).fit(known, y[~test])
    return model.predict(new, return_std=True)


def remember_descriptors():
    """Let descriptors of a molecule be computed once in the whole run: they do not depend on other molecules."""
    from importlib import import_module

    from rdkit import Chem

    module = import_module("relaxwl.molecules.descriptors")
    compute, known = module.raw_descriptors, {}

    def remembered(molecules, names):
        rows = []
        for molecule in molecules:
            key = Chem.MolToSmiles(molecule), tuple(names)
            if key not in known:
                known[key] = compute([molecule], names)[0]
            rows.append(known[key])
        return np.array(rows).reshape(len(molecules), len(names))

    module.raw_descriptors = remembered


def svm_on_ecfp(smiles, y, test):
    """Return the predictions of an SVM with a Gaussian kernel on 1,024 bits; C and width by five inner folds."""
    from sklearn.model_selection import KFold
    from sklearn.svm import SVR

    bits = morgan(tuple(smiles), 1024, False).astype(float)
    sizes = bits.sum(axis=1)
    squares = sizes[:, None] + sizes - 2 * bits @ bits.T
    train = np.flatnonzero(~test)
    folds = list(KFold(5, shuffle=True, random_state=0).split(train))
    mean = y[train].mean()
    best = None
    for width in WIDTHS:
        kernel = np.exp(-width * squares)
        for penalty in PENALTIES:
            error = 0.0
            for inner, held in ((train[a], train[b]) for a, b in folds):
                model = SVR(kernel="precomputed", C=penalty).fit(kernel[np.ix_(inner, inner)], y[inner] - mean)
                error += ((model.predict(kernel[np.ix_(held, inner)]) + mean - y[held]) ** 2).sum()
            if best is None or error < best[0]:
                best = error, width, penalty
    kernel = np.exp(-best[1] * squares)
    model = SVR(kernel="precomputed", C=best[2]).fit(kernel[np.ix_(train, train)], y[train] - mean)
    return model.predict(kernel[np.ix_(np.flatnonzero(test), train)]) + mean, None


def random_forest(smiles, y, test):
    """Return the predictions of a random forest on 2,048 Morgan counts."""
    from sklearn.ensemble import RandomForestRegressor

    counts = morgan(tuple(smiles), 2048, True)
    model = RandomForestRegressor(N_TREES, random_state=0, n_jobs=1).fit(counts[~test], y[~test])
    return model.predict(counts[test]), None


METHODS = {name: partial(regressor, views) for name, views in VIEWS.items()}
METHODS |= {"SVM on ECFP": svm_on_ecfp, "random forest": random_forest}


def measure(method, name):
    """Return the errors of a method on the test molecules of a set."""
    smiles, y, test, cliff = read(name)
    predicted, deviation = METHODS[method](smiles, y, test)
    errors = y[test] - predicted
    measures = {
        "rmse": float(np.sqrt(np.mean(errors**2))),
        "rmse_cliff": float(np.sqrt(np.mean(errors[cliff[test]] ** 2))),
        "n_train": int((~test).sum()),
        "n_test": int(test.sum()),
    }
    if deviation is not None:
        measures["coverage"] = float(np.mean(np.abs(errors) <= Z90 * deviation))
    return measures


def published():
    """Return the published RMSE of each method on each set."""
    return json.loads((FOLDER / "published.json").read_text())["rmse"]


def table(records):
    """Return the table of all methods that have met every set of the default, or of any method."""
    from scipy.stats import wilcoxon

    rmse, cliffs, coverage = (records.values(name) for name in ("rmse", "rmse_cliff", "coverage"))
    reference = rmse.get("default", {})
    seconds = {}
    for (name, method, _, _), record in records.cells.items():
        seconds.setdefault(method, {})[name] = record["cpu_seconds"]
    rows = []
    for method, sets in {**rmse, **published()}.items():
        known = cliffs.get(method), coverage.get(method), seconds.get(method)
        shared = sorted(sets.keys() & reference.keys())
        one, other = np.array([sets[name] for name in shared]), np.array([reference[name] for name in shared])
        p = float(wilcoxon(one, other).pvalue) if len(shared) > 5 and method != "default" else None
        rows.append([
            method if method in METHODS else f"{method}, published", len(sets), float(np.mean(list(sets.values()))),
            *(float(np.mean(list(some.values()))) if some else None for some in known[:2]),
            f"{np.median(list(known[2].values())):.0f}" if known[2] else None,
            f"{(other < one).sum()} of {len(shared)}" if shared and method != "default" else None,
            None if p is None else f"{p:.2g}",
        ])  # fmt: skip
    rows.sort(key=lambda row: row[2])
    header = ["", "sets", "RMSE", "on cliffs", "90 % cover", "CPU s a set (median)", "default better on", "p"]
    return markdown(header, rows) + f"\n\n{records.source()}"


def plot(records, path):
    """Plot, for each set, how far other methods are above or below the default."""
    import matplotlib.pyplot as plt

    rmse = {**records.values("rmse"), **{f"{name}, published": sets for name, sets in published().items()}}
    shown = ["CheMeleon, published", "SVM_ECFP (published with the benchmark), published", "random forest",
             "SVM on ECFP", "without R-WL*", "without graph kernels", "graph kernels alone"]  # fmt: skip
    titles = {shown[1]: "SVM on ECFP, published", "SVM on ECFP": "SVM on ECFP, own run"}
    default = rmse["default"]
    names = sorted(default, key=default.get)
    figure, axes = plt.subplots(figsize=(7, 5))
    for method in shown:
        known = [name for name in names if name in rmse.get(method, {})]
        if known:
            differences = [rmse[method][name] - default[name] for name in known]
            axes.plot(
                differences, [names.index(name) for name in known], "o", alpha=0.7, label=titles.get(method, method)
            )
    axes.axvline(0, color="0.6", linewidth=1)
    axes.set_yticks(range(len(names)), [f"{name} ({default[name]:.2f})" for name in names], fontsize=7)
    axes.set_xlabel("RMSE minus that of MoleculeRegressor (in parentheses)")
    axes.legend(frameon=False, fontsize=7)
    figure.savefig(path, bbox_inches="tight")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", help="these alone")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--records", default=RECORDS / "moleculeace.jsonl")
    parser.add_argument("--plot", help="write the differences per set to this file")
    parser.add_argument("--table-only", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    remember_descriptors()
    records = Records(arguments.records)
    sizes = {path.stem: path.stat().st_size for path in FOLDER.glob("*.csv")}
    names = sorted(arguments.sets or sizes, key=sizes.__getitem__)
    if not arguments.table_only:
        records.fill(((name, method, "published", 0), partial(measure, method, name))
                     for name in names for method in arguments.methods)  # fmt: skip
    print(table(records))
    if arguments.plot:
        plot(records, arguments.plot)


if __name__ == "__main__":
    main()
