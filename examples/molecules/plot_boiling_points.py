"""
A workflow for molecules: from a table to predictions
=====================================================

A table of 122 boiling points becomes a model. The example estimates the error of the model, predicts new molecules with
uncertainties, shows the contribution of each atom, and lists similar molecules of the table. Needs RDKit
(``pip install 'relaxwl[chem]'``).
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold, KFold

from relaxwl import GraphIndex, WeisfeilerLehman
from relaxwl.molecules import MoleculeRegressor, from_smiles, scaffolds

# %%
# **The table.** Normal boiling points in °C, rounded. All agree with the values of the CRC Handbook, as the Python
# package ``chemicals`` lists them, to 3 °C, and 115 of 122 to 1 °C.

with Path("boiling_points.csv").open(encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
names, smiles = [row["name"] for row in rows], np.array([row["smiles"] for row in rows])
y = np.array([float(row["boiling_point"]) for row in rows])
print(f"{len(y)} molecules, boiling points from {y.min():.0f} to {y.max():.0f} °C")

# %%
# **The model.** The report of the fit gives the leave-one-out error beside that of the mean predictor.

model = MoleculeRegressor(random_state=0).fit(smiles, y)
print(model.report_)

# %%
# **The error.** Two estimates on molecules that the model has not seen: cross-validation with five random folds, and
# with two folds by scaffold, which is an estimate for a new chemical series.


def cross_validate(folds, groups=None):
    """Return mean, standard deviation, lower and upper end of the 90 % interval of each molecule, from its fold."""
    found = np.empty((4, len(y)))
    for train, test in folds.split(smiles, groups=groups):
        other = MoleculeRegressor(random_state=0).fit(smiles[train], y[train])
        found[:2, test] = other.predict(smiles[test], return_std=True)
        found[2:, test] = other.predict_interval(smiles[test], coverage=0.9).T
    return found


mean, std, lower, upper = cross_validate(KFold(5, shuffle=True, random_state=0))
by_scaffold = cross_validate(GroupKFold(2), scaffolds(smiles))[0]
for name, predicted in {"random folds": mean, "folds by scaffold": by_scaffold, "mean predictor": y.mean()}.items():
    print(f"{name:18} RMSE {np.sqrt(np.mean((predicted - y) ** 2)):.0f} °C")
worst = np.argsort(-np.abs(mean - y))[:3]
print("largest errors:", ", ".join(f"{names[place]} {mean[place] - y[place]:+.0f} °C" for place in worst))

# %%
# **Uncertainty.** Error bars are conformal 90 % prediction intervals. Intervals from the standard deviations of the
# Gaussian process are too narrow on this small table of diverse molecules.

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
axes.errorbar(y, mean, yerr=np.abs([lower - mean, upper - mean]), fmt="o", capsize=2, markersize=3, linewidth=0.8)
axes.plot([y.min(), y.max()], [y.min(), y.max()], color="0.6")
axes.set(xlabel="measured boiling point, °C", ylabel="predicted boiling point, °C")
plt.show()
print(f"conformal intervals: {np.mean((lower <= y) & (y <= upper)):.0%} of the measurements")
print(f"mean ± 1.645 std:    {np.mean(np.abs(mean - y) <= 1.645 * std):.0%}")

# %%
# **New molecules.** ``novelty`` is a p-value: below 0.05 a molecule is farther from the training molecules than 95 % of
# these are from each other, and its prediction is an extrapolation.

for name, text in {
    "1-nonanol": "CCCCCCCCCO",
    "2-methylfuran": "Cc1ccco1",
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
}.items():
    value, spread = (array[0] for array in model.predict([text], return_std=True))
    print(f"{name}: {value:.0f} ± {spread:.0f} °C, novelty {model.novelty([text])[0]:.2f}")

# %%
# **Atoms.** Orange atoms raise the predicted boiling point, blue atoms lower it.

model.explain(["CCC(C)CO"])[0]

# %%
# **Similar molecules** of the table, by the Tanimoto similarity of neighborhoods of atoms.

index = GraphIndex(WeisfeilerLehman(2, edge_labels=True)).fit(from_smiles(smiles))
distances, indices = index.kneighbors(from_smiles(["CCC(C)CO"]), n_neighbors=3)
for place, distance in zip(indices[0], distances[0], strict=True):
    print(f"{names[place]}: {y[place]:.0f} °C, similarity {1 - distance:.2f}")

# %%
# ``MoleculeClassifier`` predicts classes in the same way. The command line does the same for
# a table: ``relaxwl fit boiling_points.csv --target boiling_point -o model.rwl`` and ``relaxwl predict model.rwl
# new.csv -o predictions.csv``.
