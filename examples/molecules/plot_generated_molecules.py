"""
Judging generated molecules
===========================

How far are generated molecules from real ones, in what do they differ, and are they valid, unique and novel? The
generator of this example is a Markov chain of the characters of SMILES strings.
"""

import csv
from pathlib import Path

import numpy as np
from rdkit import Chem, RDLogger

import relaxwl

RDLogger.DisableLog("rdApp.*")
rng = np.random.default_rng(0)

# %%
# Half of the molecules train the generator, and the other half is the reference.

with Path("boiling_points.csv").open(encoding="utf-8") as file:
    smiles = [row["smiles"] for row in csv.DictReader(file)]
smiles = [smiles[place] for place in rng.permutation(len(smiles))]
training, reference = smiles[: len(smiles) // 2], smiles[len(smiles) // 2 :]

# %%
# Each character is drawn given the two before it; texts that are no molecules are thrown away.

follow: dict[str, list[str]] = {}
for text in training:
    for place, character in enumerate(f"{text}$"):
        follow.setdefault(f"^^{text}"[place : place + 2], []).append(character)


def generate() -> str:
    """Return a text."""
    text = "^^"
    while not text.endswith("$") and len(text) < 60:
        text += str(rng.choice(follow[text[-2:]]))
    return text[2:].removesuffix("$")


drawn = [generate() for _ in range(2000)]
generated = [text for text in drawn if text and Chem.MolFromSmiles(text)][: len(reference)]
print(f"{np.mean([bool(text) and Chem.MolFromSmiles(text) is not None for text in drawn]):.0%} are molecules")

# %%
# Canonical SMILES decide which molecules are equal.

quality = relaxwl.comparison.GenerationQuality(training).compute(generated)
print({name: round(share, 2) for name, share in quality.items()})

# %%
# The distance of the generated molecules, and that of the training molecules, which come from the same distribution.

discrepancy = relaxwl.GraphDiscrepancy(reference, interval=True)
for name, molecules in (("generated", generated), ("training", training)):
    found = discrepancy.compute(molecules)
    print(
        f"{name}: {found['pgd'].value:.2f} ({found['pgd'].low:.2f} to {found['pgd'].high:.2f})", found["pgd_descriptor"]
    )

# %%
# What differs: effects are in standard deviations.

result = relaxwl.two_sample_test(reference, generated, random_state=0)
print(result.explain())
figure = result.to_figure()
