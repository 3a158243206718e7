"""Reference outputs of kernels and predictors on real data, written once and compared after every refactoring.

``make reference`` compares, ``python tests/reference/compare.py --write NAME ...`` writes anew what was changed on
purpose; INTENDED.md lists such changes with their reasons.
"""

import argparse
import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import relaxwl
from relaxwl.kernels.registry import get_kernel

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[2] / "shared" / "data"
KERNELS = ("ve-hist", "wl", "wl-tanimoto", "gs", "sp", "odd-sth", "wwl", "pwl", "wl-oa")
RELAXED = ("rwl", "rwl-tanimoto", "rwl-star", "rwl-star-paper", "gwl", "cwl")
N_GRAPHS = {"MUTAG": 188, "BZR": 120, "EGO-1": 60}
# Exact distances between all pairs of trees take long where graphs are dense.
TOO_LONG = {("EGO-1", "rwl"), ("EGO-1", "rwl-tanimoto")}
RTOL = 1e-9

Outputs = dict[str, np.ndarray[Any, Any]]


def graph_set(name: str) -> tuple[relaxwl.GraphCollection, np.ndarray[Any, Any]]:
    """Return the graphs of a set, spread evenly over the file, and their classes."""
    graphs, y = relaxwl.datasets.load_tu(DATA / f"{name}.zip")
    some = np.linspace(0, len(graphs) - 1, N_GRAPHS[name]).astype(int)
    return graphs[some], y[some]


def table(name: str, smiles: str, target: str, n_rows: int) -> tuple[list[str], list[str]]:
    """Return the first molecules of a table and their targets as text."""
    with (DATA / "molecules" / f"{name}.csv").open() as file:
        rows = [row for row, _ in zip(csv.DictReader(file), range(n_rows), strict=False)]
    return [row[smiles] for row in rows], [row[target] for row in rows]


def kernel_outputs(kernel: str, name: str) -> Outputs:
    """Return the Gram matrix of half the graphs, that with the unseen half, and sums over explicit counts."""
    graphs, _ = graph_set(name)
    estimator = get_kernel(kernel).variants(random_state=0)[-1].estimator
    fitted, unseen = graphs[::2], graphs[1::2]
    outputs = {"gram": estimator.fit(fitted).kernel_matrix(fitted), "unseen": estimator.kernel_matrix(unseen, fitted)}
    if hasattr(estimator, "weighted_counts"):
        counts = estimator.weighted_counts(graphs)
        outputs["column_sums"] = np.sort(np.asarray(counts.sum(axis=0)).ravel())
        outputs["squares"] = np.asarray(counts.multiply(counts).sum(axis=1)).ravel()
    return outputs


def distance_outputs(name: str) -> Outputs:
    """Return tree edit distances between some nodes of a set."""
    graphs, _ = graph_set(name)
    nodes = np.array([(graph, 0) for graph in range(0, 40, 2)] + [(graph, 1) for graph in range(0, 40, 2)])
    return {f"depth{depth}": relaxwl.tree_distances(graphs, depth, nodes) for depth in range(4)}


def graph_classifier_outputs(name: str) -> Outputs:
    """Return probabilities, decisions and novelty of unseen graphs, and effects of the nodes of two of them."""
    graphs, y = graph_set(name)
    model = relaxwl.GraphClassifier(effort="quick", random_state=0).fit(graphs[::2], y[::2])
    effects = model.explain(graphs[[1, 3]])
    return {
        "probabilities": model.predict_proba(graphs[1::2]),
        "decisions": np.asarray(model.decision_function(graphs[1::2])),
        "novelty": model.novelty(graphs[1::2]),
        "effects": np.concatenate([one.effects for one in effects]),
    }


def graph_regressor_outputs(name: str) -> Outputs:
    """Return means, standard deviations and novelty of unseen graphs for a target made of their sizes."""
    graphs, _ = graph_set(name)
    y = np.log(graphs.node_counts) + np.sin(np.diff(graphs.indptr[graphs.offsets]) / 7)
    model = relaxwl.GraphRegressor(effort="quick", random_state=0).fit(graphs[::2], y[::2])
    mean, std = model.predict(graphs[1::2], return_std=True)
    return {"mean": mean, "std": std, "novelty": model.novelty(graphs[1::2])}


def molecule_regressor_outputs() -> Outputs:
    """Return means, standard deviations, novelty and effects of atoms of unseen molecules of ESOL."""
    smiles, targets = table("ESOL", "smiles", "measured log solubility in mols per litre", 160)
    y = np.array(targets, float)
    model = relaxwl.molecules.MoleculeRegressor(random_state=0).fit(smiles[::2], y[::2])
    mean, std = model.predict(smiles[1::2], return_std=True)
    effects = np.concatenate([np.asarray(one.effects) for one in model.explain(smiles[1:5:2])])
    return {"mean": mean, "std": std, "novelty": model.novelty(smiles[1::2]), "effects": effects}


def molecule_classifier_outputs() -> Outputs:
    """Return probabilities and novelty of unseen molecules of BACE."""
    smiles, targets = table("bace", "mol", "Class", 1400)
    smiles, y = smiles[::12], np.array(targets[::12])
    model = relaxwl.molecules.MoleculeClassifier(random_state=0).fit(smiles[::2], y[::2])
    return {"probabilities": model.predict_proba(smiles[1::2]), "novelty": model.novelty(smiles[1::2])}


def cases() -> Iterator[tuple[str, Callable[[], Outputs]]]:
    """Yield the name of each case and the function that computes it, the cheapest first."""
    for name in N_GRAPHS:
        yield f"distances-{name}", partial(distance_outputs, name)
    for kernel in (*KERNELS, *RELAXED):
        for name in N_GRAPHS:
            if (name, kernel) not in TOO_LONG:
                yield f"{kernel}-{name}", partial(kernel_outputs, kernel, name)
    for name in N_GRAPHS:
        yield f"classifier-{name}", partial(graph_classifier_outputs, name)
    yield "regressor-MUTAG", partial(graph_regressor_outputs, "MUTAG")
    yield "molecule-regressor-ESOL", molecule_regressor_outputs
    yield "molecule-classifier-bace", molecule_classifier_outputs


def differences(found: Outputs, kept: Outputs) -> list[str]:
    """Return in words how outputs differ from the kept ones."""
    words = [f"{name}: missing" for name in kept if name not in found]
    for name in kept.keys() & found.keys():
        a, b = np.asarray(found[name], float), kept[name]
        if a.shape != b.shape:
            words.append(f"{name}: shape {a.shape}, was {b.shape}")
            continue
        gap = float(np.abs(a - b).max(initial=0.0))
        if not gap <= RTOL * max(1.0, float(np.abs(b).max(initial=0.0))):
            words.append(f"{name}: differs by up to {gap:.3g} of {np.abs(b).max():.3g}")
    return words


def main() -> int:
    """Compare, or write; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep what is computed now as the reference")
    parser.add_argument("names", nargs="*", help="cases whose names contain one of these texts; all by default")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    failed = 0
    for name, compute in cases():
        if options.names and not any(text in name for text in options.names):
            continue
        path = HERE / f"{name}.npz"
        found = compute()
        if options.write:
            np.savez_compressed(path, **found)
            print(f"{name}: written", flush=True)
            continue
        with np.load(path) as file:
            words = differences(found, dict(file))
        failed += bool(words)
        print(f"{name}: {'; '.join(words) or 'equal'}", flush=True)
    if failed:
        print(f"{failed} cases differ; an intended change is written anew and listed in tests/reference/INTENDED.md")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
