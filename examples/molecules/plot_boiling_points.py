"""
Boiling points with uncertainties and atom contributions
========================================================

A Gaussian process on graph kernels, descriptors and fingerprints predicts boiling points from 28 measured molecules,
with standard stds and the contribution of each atom. Needs RDKit (``pip install 'relaxwl[chem]'``).
"""

import matplotlib.pyplot as plt
import numpy as np

from relaxwl.molecules import MoleculeRegressor

# %%
# Boiling points in °C at atmospheric pressure, rounded.

BOILING_POINTS = {
    "C": -162, "CC": -89, "CCC": -42, "CCCC": 0, "CCCCC": 36, "CCCCCC": 69, "CCCCCCC": 98, "CCCCCCCC": 126,
    "CC(C)C": -12, "CCC(C)C": 28, "CC(C)(C)C": 10, "C1CCCC1": 49, "C1CCCCC1": 81, "c1ccccc1": 80, "Cc1ccccc1": 111,
    "CO": 65, "CCO": 78, "CCCO": 97, "CC(C)O": 83, "CCCCO": 118, "CCC(C)O": 99, "CC(C)(C)O": 82, "CCCCCO": 138,
    "CCCCCCO": 157, "COC": -25, "CCOCC": 35, "CC(C)=O": 56, "CCC(C)=O": 80, "CCCC(C)=O": 102, "CC(=O)O": 118,
    "CCC(=O)O": 141, "Oc1ccccc1": 182, "Nc1ccccc1": 184, "CN": -6, "CCN": 17, "CCCN": 48,
}  # fmt: skip
smiles, y = list(BOILING_POINTS), np.array(list(BOILING_POINTS.values()), float)

# %%
# Every fifth molecule is held out. The weights of the kernels maximize the marginal likelihood.

test = np.arange(len(y)) % 5 == 2
model = MoleculeRegressor(random_state=0).fit([s for s, out in zip(smiles, test, strict=True) if not out], y[~test])
held_out = [s for s, out in zip(smiles, test, strict=True) if out]
mean, std = model.predict(held_out, return_std=True)
for name, weight in model.kernel_weights_.items():
    if weight > 0:
        print(f"{name}: {weight:.0f}")

# %%
# Error bars are 90 % prediction intervals.

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
axes.errorbar(y[test], mean, yerr=1.645 * std, fmt="o", capsize=3)
axes.plot(y[test], y[test], color="0.6")
for text, measured, predicted in zip(held_out, y[test], mean, strict=True):
    axes.annotate(text, (measured, predicted), textcoords="offset points", xytext=(6, -10))
axes.set(xlabel="measured, °C", ylabel="predicted, °C")
plt.show()

# %%
# ``novelty`` above 1 marks molecules that differ more from the training molecules than 95 % of these differ from each
# other.

for text in ("CCCCC(C)C", "[Na+].[Cl-]"):
    value, spread = (array[0] for array in model.predict([text], return_std=True))
    print(f"{text}: {value:.0f} ± {spread:.0f} °C, novelty {model.novelty([text])[0]:.1f}")

# %%
# Orange atoms raise the predicted boiling point, blue atoms lower it.

model.explain(["CCC(C)CO"])[0]

# %%
# **Summary.** ``MoleculeRegressor`` takes SMILES strings, weights graph kernels and descriptors automatically,
# reports uncertainty and novelty, and attributes predictions to atoms.
