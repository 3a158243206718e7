"""Wasserstein k-means against the straightforward pipeline, and its growth with the number of rows.

Run ``python benchmarks/wasserstein_kmeans.py [--rows N ...] [--rounds R]``.

1. EGO-1 at depth 2 of an R-WL* chain: our k-means against every point × every centre with ``ot.emd2`` and entropic
   barycentres through POT (regularisation 0.05), same seeds, same rounds. The pipeline's distances are timed on a
   sample of pairs and scaled up, its barycentres are computed in full; its objective is that of its own centres.
2. Growth: time for one round against the number of rows from 1,000 to 1,000,000, k = √rows, same ground points, and
   the exponent of the power law fitted to it.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import ot

from relaxwl import WassersteinKMeans
from relaxwl.clustering import Centers, Ground
from relaxwl.clustering.kmeans import nearest
from relaxwl.datasets import load_tu
from relaxwl.kernels.chains import group_distances
from relaxwl.unfolding import TreeRows, leaves, refine

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def ego_depth_2() -> tuple[TreeRows, np.ndarray]:
    """Return the rows of EGO-1 at depth 2 of a chain, and the distances between the groups of depth 1."""
    graphs, _ = load_tu(DATA / "EGO-1.zip")
    rows, ids = leaves(graphs.node_codes)
    rows, ids = refine(graphs, graphs.node_codes, ids, len(rows))
    unit = 1.0 - np.eye(2)
    kmeans = WassersteinKMeans(random_state=0).fit(rows, ground=unit)
    fed = group_distances(kmeans.centers_, Ground(unit, unit), None)
    return refine(graphs, graphs.node_codes, kmeans.labels_[ids], len(kmeans.centers_))[0], fed


def padded(rows: TreeRows | Centers, total: float) -> np.ndarray:
    """Return dense masses with ⊥ filled up to a common total."""
    dense = np.zeros((len(rows), rows.n_points + 1))
    dense[np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.points] = rows.counts
    dense[:, -1] = total - dense.sum(axis=1)
    return dense


def straightforward(rows: TreeRows, ground: np.ndarray, seeds: np.ndarray, rounds: int) -> tuple[float, float]:
    """Return (estimated seconds, objective) of the pipeline; assignments are brute force, centres entropic."""
    rng = np.random.default_rng(0)
    total = 2.0 * float(padded(rows, 0.0)[:, :-1].sum(axis=1).max())
    points = padded(rows, total)
    centers = points[seeds].copy()
    spent = 0.0
    for _ in range(rounds):
        pairs = rng.integers(len(points), size=300), rng.integers(len(centers), size=300)
        start = time.perf_counter()
        for i, c in zip(*pairs, strict=True):
            # Real pipelines cut the supports: solving over all ground points is far slower still.
            a, b = np.flatnonzero(points[i]), np.flatnonzero(centers[c] > 1e-9)
            mass = centers[c, b] * (points[i].sum() / centers[c, b].sum())
            ot.emd2(points[i, a], mass, np.ascontiguousarray(ground[np.ix_(a, b)]))
        spent += (time.perf_counter() - start) / 300 * len(points) * len(centers)
        labels = exact_labels(rows, centers, ground)
        start = time.perf_counter()
        for c in range(len(centers)):
            members = points[labels == c]
            if len(members):
                weights = np.full(len(members), 1 / len(members))
                histograms = (members / total).T.copy()
                centers[c] = total * ot.bregman.barycenter(
                    histograms, ground / ground.max(), 0.05, weights=weights, method="sinkhorn_log", stopThr=1e-4
                )
        spent += time.perf_counter() - start
    _, distances = nearest(rows, as_centers(centers), ground, np.zeros((1, 1)))
    return spent, float(distances.sum())


def as_centers(dense: np.ndarray) -> Centers:
    kept = [np.flatnonzero(row[:-1] > 1e-9) for row in dense]
    return Centers(
        np.zeros(len(dense), np.int32),
        np.concatenate([[0], np.cumsum([len(points) for points in kept])]),
        np.concatenate(kept).astype(np.int32),
        np.concatenate([row[points] for row, points in zip(dense, kept, strict=True)]),
        dense.shape[1] - 1,
    )


def exact_labels(rows: TreeRows, centers: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """Return the pipeline's assignment, found the fast way: the result is the same, only its time is estimated."""
    return nearest(rows, as_centers(centers), ground, np.zeros((1, 1)))[0]


def compare(rounds: int) -> None:
    rows, ground = ego_depth_2()
    k = int(np.sqrt(len(rows)))
    WassersteinKMeans(n_clusters=3, random_state=0).fit(rows.take(np.arange(20)), ground=ground)  # compile
    start = time.perf_counter()
    ours = WassersteinKMeans(n_clusters=k, max_iter=rounds, random_state=1).fit(rows, ground=ground, check=False)
    seconds = time.perf_counter() - start
    # The generator that k-means draws its seeds with.
    seeds = np.sort(np.random.default_rng(1).choice(len(rows), k, replace=False))
    theirs, objective = straightforward(rows, ground, seeds, ours.n_iter_)
    print(f"EGO-1, depth 2: {len(rows)} rows, {k} clusters, {ours.n_iter_} rounds, one thread")
    print(f"  straightforward (POT): {theirs:9.1f} s   objective {objective:.0f}")
    print(f"  WassersteinKMeans:     {seconds:9.2f} s   objective {ours.inertia_:.0f}   {theirs / seconds:.0f}× faster")
    print(f"  exact solves run to their end: {ours.n_solves_:.2f} a row and round")


def synthetic_rows(n_rows: int, ground_points: np.ndarray, rng: np.random.Generator) -> TreeRows:
    """Make rows with supports as real ones have: three to twelve points around one of many places."""
    places = rng.integers(len(ground_points), size=n_rows)
    near = np.argsort(((ground_points[:, None] - ground_points[None]) ** 2).sum(axis=2), axis=1)[:, :24]
    sizes = rng.integers(3, 13, size=n_rows)
    chosen = rng.random((n_rows, 24)).argsort(axis=1)
    points = [np.sort(near[place, order[:size]]) for place, order, size in zip(places, chosen, sizes, strict=True)]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    counts = 1 + rng.poisson(0.6, size=int(indptr[-1]))
    return TreeRows(
        np.zeros(n_rows, np.int32), indptr, np.concatenate(points).astype(np.int32), counts.astype(np.int32), len(near)
    )


def growth(sizes: list[int], n_jobs: int) -> None:
    rng = np.random.default_rng(0)
    spots = rng.random((150, 3))
    ground = np.zeros((151, 151))
    ground[:-1, :-1] = np.sqrt(((spots[:, None] - spots[None]) ** 2).sum(axis=2))
    ground[-1, :-1] = ground[:-1, -1] = 1.0
    print(f"growth, k = √rows, same {len(spots)} ground points, {n_jobs} threads")
    WassersteinKMeans(random_state=0, n_jobs=n_jobs).fit(synthetic_rows(100, spots, rng), ground=ground)  # compile
    times = []
    for n_rows in sizes:
        rows = synthetic_rows(n_rows, spots, rng)
        start = time.perf_counter()
        kmeans = WassersteinKMeans(max_iter=3, random_state=0, n_jobs=n_jobs).fit(rows, ground=ground, check=False)
        times.append((time.perf_counter() - start) / (kmeans.n_iter_ + 1))
        print(
            f"  {n_rows:>9} rows: {times[-1]:8.3f} s a round, {times[-1] / n_rows * 1e6:6.1f} µs a row, "
            f"{kmeans.n_solves_:.2f} exact solves a row and round",
            flush=True,
        )
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"  exponent {exponent:.2f} (brute force: 1.5)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2, help="rounds of both; the pipeline takes a minute for each")
    parser.add_argument("--only", choices=("compare", "growth"))
    arguments = parser.parse_args()
    if arguments.only != "growth":
        compare(arguments.rounds)
    if arguments.only != "compare":
        growth(arguments.rows, arguments.jobs)


if __name__ == "__main__":
    main()
