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
from sklearn.model_selection import GroupShuffleSplit, train_test_split

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
# **The model.** A quarter of the molecules is held out. The report of the fit gives the leave-one-out error beside
# that of the mean predictor.

train, test = train_test_split(np.arange(len(y)), random_state=0)
model = MoleculeRegressor(random_state=0).fit(smiles[train], y[train])
print(model.report_)

# %%
# **The error.** The root mean squared error on the held-out molecules, and on molecules whose scaffolds do not occur in
# training, which is an estimate for a new chemical series.


def rmse(predicted, measured):
    """Return the root mean squared error."""
    return np.sqrt(np.mean((predicted - measured) ** 2))


mean, std = model.predict(smiles[test], return_std=True)
known, new = next(GroupShuffleSplit(random_state=0).split(smiles, groups=scaffolds(smiles)))
other = MoleculeRegressor(random_state=0).fit(smiles[known], y[known])
print(f"held-out molecules   {rmse(mean, y[test]):.0f} °C")
print(f"new scaffolds        {rmse(other.predict(smiles[new]), y[new]):.0f} °C ({len(new)} molecules)")
print(f"mean predictor       {rmse(y[train].mean(), y[test]):.0f} °C")

# %%
# **Uncertainty.** Error bars are 90 % prediction intervals.

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
axes.errorbar(y[test], mean, yerr=1.645 * std, fmt="o", capsize=3, markersize=4)
axes.plot([y.min(), y.max()], [y.min(), y.max()], color="0.6")
axes.set(xlabel="measured boiling point, °C", ylabel="predicted boiling point, °C")
plt.show()
print(f"{np.mean(np.abs(mean - y[test]) < 1.645 * std):.0%} of the measurements are within their 90 % interval")

# %%
# **New molecules.** ``novelty`` above 1 marks molecules whose atoms are farther from the clusters of the model than
# those of 95 % of the training molecules. Their predictions are extrapolations.

for name, text in {"1-nonanol": "CCCCCCCCCO", "2-methylfuran": "Cc1ccco1", "sodium chloride": "[Na+].[Cl-]"}.items():
    value, spread = (array[0] for array in model.predict([text], return_std=True))
    print(f"{name}: {value:.0f} ± {spread:.0f} °C, novelty {model.novelty([text])[0]:.1f}")

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
# :class:`relaxwl.molecules.MoleculeClassifier` predicts classes in the same way. The command line does the same for
# a table: ``relaxwl fit boiling_points.csv --target boiling_point -o model.rwl`` and ``relaxwl predict model.rwl
# new.csv -o predictions.csv``.
