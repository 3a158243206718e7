"""Nearest molecules among 100,000: how long a query of ``GraphIndex`` takes, beside comparing with every row.

The molecules are those of the given tables and variants of them: atoms exchanged, methyl groups added, as long as RDKit
accepts the result. Queries are molecules of the tables; both ways find the same.

Run ``python benchmarks/graph_index.py [--molecules 100000] [--queries 50]``; the tables are looked for beside the
checkout.
"""

import argparse
import random
import time
from pathlib import Path

import numpy as np
from rdkit import Chem, RDLogger

from relaxwl import GraphIndex, WeisfeilerLehman
from relaxwl.datasets.molecules import read_molecules
from relaxwl.molecules import from_rdkit

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "molecules"
# Atoms by which one is exchanged: carbon, nitrogen, oxygen, sulphur, fluorine, chlorine.
ELEMENTS = (6, 7, 8, 16, 9, 17)


def variant(molecule, rng):
    """Return a molecule with one to three changes, None if RDKit refuses it."""
    changed = Chem.RWMol(molecule)
    for _ in range(rng.randint(1, 3)):
        atom = rng.randrange(changed.GetNumAtoms())
        if rng.random() < 0.5:
            changed.ReplaceAtom(atom, Chem.Atom(rng.choice(ELEMENTS)))
        else:
            changed.AddBond(atom, changed.AddAtom(Chem.Atom(6)), Chem.BondType.SINGLE)
    try:
        Chem.SanitizeMol(changed)
    except (ValueError, RuntimeError):
        return None
    return changed.GetMol()


def many_molecules(n_molecules):
    """Return the molecules of the tables, and variants of them."""
    rng = random.Random(0)
    RDLogger.DisableLog("rdApp.*")
    files = [DATA / f"{name}.csv" for name in ("ESOL", "FreeSolv", "Lipophilicity")]
    known = [molecule for file in files for molecule in read_molecules(file).molecules]
    found = known[:n_molecules]
    while len(found) < n_molecules:
        made = variant(rng.choice(known), rng)
        if made is not None:
            found.append(made)
    return found


def compare_with_all(counts, sizes, row, size, k):
    """Return the similarities of the k most similar rows, by looking at each."""
    shared = np.asarray(counts.minimum(row_repeated(row, counts.shape[0])).sum(axis=1)).ravel()
    similarities = shared / (size + sizes - shared)
    return np.sort(similarities)[::-1][:k]


def row_repeated(row, n_rows):
    return row[np.zeros(n_rows, np.int64)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=50)
    arguments = parser.parse_args()
    molecules = many_molecules(arguments.molecules)
    graphs = from_rdkit(molecules)
    started = time.perf_counter()
    index = GraphIndex(WeisfeilerLehman(4, edge_labels=True)).fit(graphs)
    print(f"{len(graphs):,} molecules, {graphs.n_nodes:,} atoms: fitted in {time.perf_counter() - started:.1f} s")
    places = np.random.default_rng(0).integers(len(graphs), size=arguments.queries)
    index.kneighbors(graphs[int(places[0])])  # compiles
    seconds, counting = [], []
    for place in places.tolist():
        started = time.perf_counter()
        distances, _ = index.kneighbors(graphs[place], n_neighbors=5)
        seconds.append(time.perf_counter() - started)
        started = time.perf_counter()
        rows, sizes = index.kernel_.weighted(index.kernel_.prepare([graphs[place]]), "tanimoto")
        counting.append(time.perf_counter() - started)
    print(
        f"a query: median {1000 * np.median(seconds):.1f} ms, longest {1000 * max(seconds):.1f} ms, of which counting"
    )
    print(f"the trees of the molecule takes {1000 * np.median(counting):.1f} ms (median)")
    counts, all_sizes = index.kernel_.weighted(index.kernel_.prepare(graphs), "tanimoto")
    started = time.perf_counter()
    expected = compare_with_all(counts, all_sizes, rows, sizes[0], 5)
    slow = time.perf_counter() - started
    print(f"comparing with every row: {1000 * slow:.0f} ms, {slow / seconds[-1]:.0f} times as long")
    print("same answer:", np.allclose(expected, 1 - distances[0]))


if __name__ == "__main__":
    main()
