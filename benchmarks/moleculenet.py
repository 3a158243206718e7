"""Classes, several targets with gaps, many molecules: MoleculeNet sets on random and scaffold splits, in one table.

    python benchmarks/moleculenet.py [--sets ...] [--methods ...] [--table-only]

measures what is not recorded yet in ``records/moleculenet.jsonl``: our molecule predictors beside a random forest on
Morgan counts and RDKit's descriptors, one forest for each target. Molecules are split 80 : 10 : 10; models learn from
the first part and are scored on the last, and the middle is left out, since all choose by themselves (ours chooses
penalties by AUROC). Random splits have seeds 0 to 2 (hiv, muv, qm8: 0); the scaffold split is deterministic: scaffolds
by descending size, the largest into training, those of one size by their SMILES. Scores are means over targets: AUROC,
of qm8 the mean absolute error.
"""

import argparse
import csv
import gzip
from functools import cache, partial

import numpy as np
from harness import DATA, RECORDS, Records, markdown

from relaxwl._memory import forget_peak_memory, peak_memory

FOLDER = DATA / "molecules"
# Number of trees of the forest; cheaper where molecules or targets are many.
TREES = {"tox21": 500, "sider": 500, "clintox": 500, "bace": 500, "hiv": 500, "muv": 100, "qm8": 100}
FEW_SPLITS = ("hiv", "muv", "qm8")
N_BITS = 2048
# The best graph neural network of two studies with 80 : 10 : 10 splits, by set and kind of split.
RANDOM_SOURCE = "Jiang et al., J. Cheminform. 13:12 (2021), table 9, mean of 50 random splits"
SCAFFOLD_SOURCE = "DGL-LifeSci, examples/property_prediction/moleculenet, scaffold split, best on its validation part"
PUBLISHED = {
    ("tox21", "random"): ("Attentive FP", 0.852),
    ("sider", "random"): ("GCN", 0.634),
    ("clintox", "random"): ("Attentive FP", 0.904),
    ("bace", "random"): ("GCN", 0.898),
    ("hiv", "random"): ("GCN", 0.834),
    ("sider", "scaffold"): ("GCN", 0.62),
    ("clintox", "scaffold"): ("GCN", 0.90),
    ("bace", "scaffold"): ("MPNN", 0.85),
    ("hiv", "scaffold"): ("GIN, pretrained", 0.76),
    ("muv", "scaffold"): ("Attentive FP", 0.67),
}


@cache
def read(name):
    """Return the molecules that RDKit reads, their SMILES, their targets (NaN where unknown), how many it refused."""
    from rdkit import Chem, RDLogger

    RDLogger.DisableLog("rdApp.*")
    plain = FOLDER / f"{name}.csv"
    with plain.open() if plain.exists() else gzip.open(f"{plain}.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    column = "mol" if "mol" in rows[0] else "smiles"
    molecules = [Chem.MolFromSmiles(row[column]) for row in rows]
    kept = [place for place, molecule in enumerate(molecules) if molecule is not None and molecule.GetNumAtoms()]
    targets = [target for target in rows[0] if target != column]
    y = np.array([[float(rows[place][target] or "nan") for target in targets] for place in kept])
    return [molecules[place] for place in kept], [rows[place][column] for place in kept], y, len(rows) - len(kept)


def split(name, kind, seed):
    """Return the positions of training and test molecules."""
    molecules = read(name)[0]
    if kind == "random":
        order = np.random.default_rng(seed).permutation(len(molecules))
    else:
        from rdkit.Chem.Scaffolds import MurckoScaffold

        groups = {}
        for place, molecule in enumerate(molecules):
            groups.setdefault(MurckoScaffold.MurckoScaffoldSmiles(mol=molecule), []).append(place)
        # Ties in the order of their SMILES: a file may be sorted by class, and then its order would be no split.
        largest = sorted(groups, key=lambda scaffold: (-len(groups[scaffold]), scaffold))
        order = np.array([place for scaffold in largest for place in groups[scaffold]])
    first, last = int(0.8 * len(order)), int(0.9 * len(order))
    return order[:first], order[last:]


@cache
def features(name):
    """Return Morgan counts of radius 2 and descriptors side by side."""
    from rdkit.Chem import Descriptors, rdFingerprintGenerator

    molecules = read(name)[0]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=N_BITS)
    functions = [function for _, function in Descriptors.descList]
    table = np.zeros((len(molecules), N_BITS + len(functions)), np.float32)
    for row, molecule in zip(table, molecules, strict=True):
        row[:N_BITS] = generator.GetCountFingerprintAsNumPy(molecule)
        row[N_BITS:] = np.nan_to_num(np.clip([function(molecule) for function in functions], -1e30, 1e30))
    return table


def random_forest(name, train, test):
    """Return the scores of test molecules for each target: one forest a target, and one for all numbers of qm8."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    table, y = features(name), read(name)[2]
    if name == "qm8":
        # A third of the features at each split: the usual choice for regression where features are many.
        forest = RandomForestRegressor(TREES[name], max_features=1 / 3, random_state=0)
        scale = y[train].std(axis=0)  # a split is judged by the sum over all targets
        return forest.fit(table[train], y[train] / scale).predict(table[test]) * scale
    found = np.full((len(test), y.shape[1]), np.nan)
    for target in range(y.shape[1]):
        known = train[np.isfinite(y[train, target])]
        if len(np.unique(y[known, target])) > 1:
            forest = RandomForestClassifier(TREES[name], random_state=0)
            found[:, target] = forest.fit(table[known], y[known, target]).predict_proba(table[test])[:, 1]
    return found


def ours(name, train, test):
    """Return the scores of the molecule predictors, all targets fitted at once."""
    from relaxwl.molecules import MoleculeClassifier, MoleculeRegressor

    _, smiles, y, _ = read(name)
    known, new = ([smiles[place] for place in places] for places in (train, test))
    if name == "qm8":
        return np.asarray(MoleculeRegressor(random_state=0).fit(known, y[train]).predict(new))
    model = MoleculeClassifier(scoring="roc_auc", random_state=0)
    if y.shape[1] == 1:
        return model.fit(known, y[train, 0].astype(int)).predict_proba(new)[:, 1:]
    found = model.fit(known, y[train]).predict_proba(new)
    return np.column_stack([table[:, 1] for table in found])


METHODS = {"relaxwl": ours, "random forest": random_forest}


def measure(method, name, kind, seed):
    """Return the scores of a method on the test molecules of a split: means over targets, and each target's own."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    y, refused = read(name)[2:]
    train, test = split(name, kind, seed)
    forget_peak_memory()
    scores = METHODS[method](name, train, test)
    peak = peak_memory()
    by_target, precision = [], []
    for true, score in zip(y[test].T, scores.T, strict=True):
        known = np.isfinite(true)
        if name == "qm8":
            by_target.append(float(np.abs(true[known] - score[known]).mean()))
        elif len(np.unique(true[known])) > 1 and np.isfinite(score).all():
            by_target.append(float(roc_auc_score(true[known], score[known])))
            precision.append(float(average_precision_score(true[known], score[known])))
        else:
            by_target.append(None)
    values = [value for value in by_target if value is not None]
    measures = {("mae" if name == "qm8" else "auroc"): float(np.mean(values)), "by_target": by_target}
    if precision:
        measures["average_precision"] = float(np.mean(precision))
    sizes = {"n_train": len(train), "n_test": len(test), "n_refused": refused}
    return measures | sizes | {"peak_mb": None if peak is None else round(peak / 2**20)}


def splits_of(name):
    """Return the splits of a set: kind and seed."""
    return [("random", seed) for seed in range(1 if name in FEW_SPLITS else 3)] + [("scaffold", 0)]


def table(records):
    """Return the table of all sets and kinds of splits, with published figures."""
    rows = []
    for name in TREES:
        measure_name = "mae" if name == "qm8" else "auroc"
        for kind in ("random", "scaffold"):
            found = [records.values(measure_name, kind).get(method, {}).get(name) for method in METHODS]
            if any(value is not None for value in found):
                model, value = PUBLISHED.get((name, kind), (None, None))
                number = "{:.4f}" if name == "qm8" else "{:.3f}"
                shown = [None if value is None else number.format(value) for value in found]
                rows.append([f"{name}, {kind}", *shown, None if value is None else f"{value} ({model})"])
    notes = f"Published, random: {RANDOM_SOURCE}; scaffold: {SCAFFOLD_SOURCE}."
    return f"{markdown(['', *METHODS, 'published'], rows)}\n\n{notes}\n\n{records.source()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=list(TREES), default=list(TREES))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--records", default=RECORDS / "moleculenet.jsonl")
    parser.add_argument("--table-only", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    records = Records(arguments.records)
    if not arguments.table_only:
        records.fill(((name, method, kind, seed), partial(measure, method, name, kind, seed))
                     for name in arguments.sets for method in arguments.methods
                     for kind, seed in splits_of(name))  # fmt: skip
    print(table(records))


if __name__ == "__main__":
    main()
