"""Small molecules, some in rows of which each has one carbon more than the one before, with targets."""

import numpy as np

TEXTS = ["CCO", "CCN", "c1ccccc1O", "CC(=O)OC", "C1CCCCC1"]

ALKANES = ["C" * n for n in range(1, 11)]
ALCOHOLS = ["C" * n + "O" for n in range(1, 11)]
AMINES = ["C" * n + "N" for n in range(1, 11)]
SMILES = ALKANES + ALCOHOLS + AMINES
# Soluble through the head, less so with every carbon.
TARGETS = np.array([-0.5 * n + shift for shift in (0.0, 3.0, 2.0) for n in range(1, 11)])

# Rows of a table: SMILES and targets.
ROWS = [("C" * n + head, -0.5 * n + shift) for head, shift in (("", 0.1), ("O", 3.0), ("N", 2.0)) for n in range(1, 7)]
