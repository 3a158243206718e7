"""The claims of the paper, one experiment each; ``docs/make_claims.py`` writes docs/claims.md from the records.

Usage: ``python benchmarks/claims.py FOLDER [--data ../shared/data] [--only density noise once ablation attributes]``.
Every fold is written to ``FOLDER/claims.jsonl`` when it is finished, and recorded folds are not computed again. All
experiments together take about two hours on one core, with fewer ego networks and repetitions than in the paper, which
the page says.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from relaxwl import EditCost, GraphClassifier, RelaxedWeisfeilerLehman
from relaxwl._storage import atomic_write
from relaxwl.datasets import load_tu, make_block_graphs, make_egonets
from relaxwl.evaluation import ResultStore, cross_validate
from relaxwl.kernels.registry import get_kernel
from relaxwl.unfolding import leaves, refine

CLAIMS = ("once", "density", "noise", "attributes", "ablation")
LEVELS = (1, 2, 3, 4)
DENSITY_GRAPHS = 80
DENSITY_KERNELS = ["ve-hist", "wl", "rwl-star-paper", "wwl", "wl-oa", "gs", "sp", "pwl", "gwl"]
DENSITY_AUTO = {"auto (quick)": GraphClassifier(effort="quick")}
NOISE_GRAPHS, NOISE_SETS = 400, 5
NOISE_P, NOISE_EDGES = (0.2, 0.6, 1.0), (0, 16, 64, 192)
NOISE_KERNELS = ["wl", "wl-oa", "sp", "rwl-star-paper"]
ABLATION_SETS = ("PTC_MR", "IMDB-BINARY", "EGO-1")
SETS = ("MUTAG", "PTC_MR", "BZR", "NCI1", "PROTEINS", "DD", "IMDB-BINARY", "REDDIT-BINARY", "EGO-1")
RELAXED: dict[str, Any] = get_kernel("rwl-star-paper").fixed | {"normalize": True}
Experiment = tuple[str, Any, Any, Any]


def relaxed(**changed: Any) -> RelaxedWeisfeilerLehman:
    """Return R-WL* as in the table of results, with some parameters changed."""
    return RelaxedWeisfeilerLehman(**{**RELAXED, **changed})


def ablations() -> dict[str, RelaxedWeisfeilerLehman]:
    """Return R-WL* with one parameter changed at a time."""
    groups = {f"k = {factor:g} √trees": relaxed(n_clusters=factor) for factor in (0.25, 0.5, 2.0, 4.0)}
    partitions = {"1 partition": relaxed(n_partitions=1), "10 partitions": relaxed(n_partitions=10)}
    cheap = {f"{n} partitions, no iteration": relaxed(n_partitions=n, max_iter=0) for n in (3, 10, 50)}
    costs = {f"insertion and deletion cost {cost:g}": relaxed(cost=EditCost(1.0, cost)) for cost in (0.5, 2.0)}
    weights = {
        "depth weights halved per depth": relaxed(depth_weights=[0.5**depth for depth in range(5)]),
        "depth weights doubled per depth": relaxed(depth_weights=[2.0**depth for depth in range(5)]),
        "each depth normalized": relaxed(normalize="depth"),
    }
    return {"R-WL*": relaxed(), **groups, **partitions, **cheap, **costs, **weights}


def density(_: Path) -> Iterator[Experiment]:
    """Yield ego networks of four densities, with all kernels."""
    for kernels in (*([name] for name in DENSITY_KERNELS), DENSITY_AUTO):
        for level in LEVELS:
            yield f"egonets-{level}", *make_egonets(DENSITY_GRAPHS, level=level, random_state=level), kernels


def noise(_: Path) -> Iterator[Experiment]:
    """Yield block graphs with more and more noise edges."""
    for number in range(NOISE_SETS):
        for p in NOISE_P:
            for edges in NOISE_EDGES:
                graphs, y = make_block_graphs(NOISE_GRAPHS, p=p, n_noise_edges=edges, random_state=number)
                yield f"blocks p={p:g} m={edges} set={number}", graphs, y, NOISE_KERNELS


def ablation(data: Path) -> Iterator[Experiment]:
    """Yield variants of R-WL*."""
    for name in ABLATION_SETS:
        graphs, y = load_tu(data / f"{name}.zip")
        yield name, graphs, y, ablations()


def attributes(data: Path) -> Iterator[Experiment]:
    """Yield R-WL* without and with the attributes of nodes."""
    for name in ("BZR", "PROTEINS"):
        graphs, y = load_tu(data / f"{name}.zip")
        if graphs.node_attributes is None:
            print(f"attributes {name}: this copy of the data set has none", flush=True)
            continue
        spread = float(np.sqrt(graphs.node_attributes.var(axis=0).sum()))
        cost = EditCost.from_attributes(blank=spread, n_codes=16, scale=None)
        several: dict[str, Any] = {"n_partitions": 10, "max_iter": 0}
        yield name, graphs, y, {"labels": relaxed(**several), "labels and attributes": relaxed(cost=cost, **several)}


def once(data: Path, folder: Path) -> None:
    """Write the share of neighborhoods whose tree occurs once, for all data sets and depths 1 to 3."""
    found = {}
    sets = [(name, load_tu(data / f"{name}.zip")[0]) for name in SETS]
    sets += [(f"egonets-{level}", make_egonets(DENSITY_GRAPHS, level=level, random_state=level)[0]) for level in LEVELS]
    for name, graphs in sets:
        rows, ids = leaves(graphs.node_codes)
        shares = []
        for _ in range(3):
            rows, ids = refine(graphs, graphs.node_codes, ids, len(rows))
            counts = np.bincount(ids)
            shares.append([len(rows), float(np.mean(counts == 1)), float(np.mean(counts[ids] == 1))])
        found[name] = {"n_nodes": graphs.n_nodes, "degree": 2 * graphs.n_edges / graphs.n_nodes, "depths": shares}
    with atomic_write(folder / "once.json") as file:
        file.write(json.dumps(found, indent=1).encode())


def run(claim: str, data: Path, folder: Path, n_repeats: int) -> None:
    """Run the experiments of one claim."""
    if claim == "once":
        once(data, folder)
        return
    store = ResultStore(folder / "claims.jsonl")
    experiments = {"density": density, "noise": noise, "ablation": ablation, "attributes": attributes}
    for name, graphs, y, kernels in experiments[claim](data):
        started = time.perf_counter()
        results = cross_validate(
            kernels, graphs, y, n_repeats=n_repeats, time_limit=300, store=store, dataset=name, n_jobs=1
        )
        scores = ", ".join(f"{kernel} {100 * results.cell(name, kernel).mean:.1f}" for kernel in results.kernels)
        print(f"{claim} {name}: {scores}  [{time.perf_counter() - started:.0f} s]", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--only", nargs="+", choices=CLAIMS, default=CLAIMS)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for claim in arguments.only:
        run(claim, arguments.data, arguments.folder, arguments.repeats)


if __name__ == "__main__":
    main()
