"""Wasserstein k-means against the straightforward pipeline, and its growth with the number of rows.

Run ``python benchmarks/wasserstein_kmeans.py [--only PART] [--rounds R] [--every E] [--rows N ...]``.

1. compare: EGO-1 at depth 2 of an R-WL* chain. Our k-means with median and with entropic centers against every row ×
   every center with ``ot.emd2`` and entropic barycenters through POT, all with the same seeds, after the same rounds;
   and our whole runs. The entropic centers of both use the regularization 0.05 on the ground as it is, doubled where
   numbers are lost; POT's come to 0.2 so (its logarithmic variant loses none, but takes over a hundred times as long).
   The pipeline's distances are timed on a sample of pairs and scaled up, its barycenters are computed in full.
   Objectives are sums of exact distances.
2. growth: time for one round against the number of rows from 1,000 to 1,000,000, k = √rows, same ground points, and
   the exponent of the power law fitted to it.
"""

import argparse
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import ot

from relaxwl import WassersteinKMeans
from relaxwl.clustering import GroundCost
from relaxwl.clustering.barycenter import REGULARIZATION
from relaxwl.clustering.kmeans import nearest
from relaxwl.datasets import load_tu
from relaxwl.kernels.chains import center_costs
from relaxwl.unfolding import TreeRows, leaves, refine

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
OWN_CENTERS = ("median", "entropic")


def ego_chain(depths: range) -> Iterator[tuple[int, TreeRows, np.ndarray]]:
    """Yield (depth, rows, ground) of EGO-1 for these depths, of at least 2, of an R-WL* chain."""
    graphs, _ = load_tu(DATA / "EGO-1.zip")
    rows, ids = leaves(graphs.node_codes)
    fed = unit = 1.0 - np.eye(2)
    for depth in range(1, depths.stop):
        rows, ids = refine(graphs, graphs.node_codes, ids, len(fed) - 1)
        if depth in depths:
            yield depth, rows, fed
        kmeans = WassersteinKMeans(random_state=0).fit(rows, ground=fed, check=False)
        ids, fed = kmeans.labels_[ids], center_costs(kmeans.centers_, GroundCost(fed, unit), None)


def padded(rows: TreeRows, total: float) -> np.ndarray:
    """Return dense masses with ⊥ filled up to a common total."""
    dense = np.zeros((len(rows), rows.n_points + 1))
    dense[np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.points] = rows.counts
    dense[:, -1] = total - dense.sum(axis=1)
    return dense


def straightforward(
    rows: TreeRows, ground: np.ndarray, seeds: np.ndarray, rounds: int
) -> Iterator[tuple[float, float]]:
    """Yield (estimated seconds so far, objective) after each round; assignments are brute force, centers entropic."""
    rng = np.random.default_rng(0)
    total = 2.0 * float(padded(rows, 0.0)[:, :-1].sum(axis=1).max())
    points = padded(rows, total)
    centers = points[seeds].copy()
    spent, strength = 0.0, REGULARIZATION
    labels, _ = nearest(rows, as_centers(centers), GroundCost(ground, np.zeros((1, 1))))
    for _ in range(rounds):
        pairs = rng.integers(len(points), size=300), rng.integers(len(centers), size=300)
        start = time.perf_counter()
        for i, c in zip(*pairs, strict=True):
            # Real pipelines cut the supports: solving over all ground points is far slower still.
            a, b = np.flatnonzero(points[i]), np.flatnonzero(centers[c] > 1e-9)
            mass = centers[c, b] * (points[i].sum() / centers[c, b].sum())
            ot.emd2(points[i, a], mass, np.ascontiguousarray(ground[np.ix_(a, b)]))
        spent += (time.perf_counter() - start) / 300 * len(points) * len(centers)
        start = time.perf_counter()
        for c in range(len(centers)):
            members = points[labels == c]
            if len(members):
                # Where one cluster's numbers were lost the next ones' would be: they begin with what worked.
                histogram, strength = entropic_barycenter(members / total, ground, strength)
                centers[c] = total * histogram
        spent += time.perf_counter() - start
        # The pipeline's assignment, found the fast way: the result is the same, only its time is estimated.
        labels, distances = nearest(rows, as_centers(centers), GroundCost(ground, np.zeros((1, 1))))
        yield spent, float(distances.sum())


def entropic_barycenter(histograms: np.ndarray, ground: np.ndarray, strength: float) -> tuple[np.ndarray, float]:
    """Return POT's barycenter and its regularization: ``strength``, doubled until no numbers are lost."""
    weights = np.full(len(histograms), 1 / len(histograms))
    while True:
        with np.errstate(all="ignore"):
            barycenter = ot.bregman.barycenter(histograms.T.copy(), ground, strength, weights=weights, stopThr=1e-4)
        if abs(barycenter.sum() - 1) < 0.1:
            return barycenter, strength
        strength *= 2


def as_centers(dense: np.ndarray) -> TreeRows:
    kept = [np.flatnonzero(row[:-1] > 1e-9) for row in dense]
    return TreeRows(
        np.zeros(len(dense), np.int32),
        np.concatenate([[0], np.cumsum([len(points) for points in kept])]),
        np.concatenate(kept).astype(np.int32),
        np.concatenate([row[points] for row, points in zip(dense, kept, strict=True)]),
        dense.shape[1] - 1,
    )


def compare(rounds: int, every: int) -> None:
    _, rows, ground = next(ego_chain(range(2, 3)))
    rows = rows.take(np.arange(0, len(rows), every))
    k = int(np.sqrt(len(rows)))
    # The generator that k-means draws its seeds with.
    seeds = np.sort(np.random.default_rng(1).choice(len(rows), k, replace=False))
    print(f"EGO-1, depth 2, every {every}th row: {len(rows)} rows, {k} clusters, {rows.n_points} points, one thread")
    print("  rounds     straightforward (POT)            median centers          entropic centers")
    for number, (seconds, objective) in enumerate(straightforward(rows, ground, seeds, rounds), start=1):
        columns = [(seconds, objective), *(fitted(rows, ground, k, center, number) for center in OWN_CENTERS)]
        print(f"  {number:6}" + "".join(f"   {spent:9.2f} s, {cost:9.0f}" for spent, cost in columns), flush=True)
    for center, limit in itertools.product(OWN_CENTERS, (8, 100)):
        spent, cost = fitted(rows, ground, k, center, limit)
        print(f"  {center}, whole run of at most {limit} rounds: {spent:.2f} s, objective {cost:.0f}", flush=True)


def fitted(rows: TreeRows, ground: np.ndarray, k: int, center: str, rounds: int) -> tuple[float, float]:
    """Return seconds and objective of our k-means; a small fit before it compiles what it needs."""
    kmeans = WassersteinKMeans(k, center, init="random", max_iter=rounds, random_state=1)
    WassersteinKMeans(3, center, random_state=0).fit(rows.take(np.arange(20)), ground=ground, check=False)  # compile
    start = time.perf_counter()
    kmeans.fit(rows, ground=ground, check=False)
    return time.perf_counter() - start, kmeans.inertia_


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
        kmeans = WassersteinKMeans(init="random", max_iter=3, random_state=0, n_jobs=n_jobs).fit(
            rows, ground=ground, check=False
        )
        times.append((time.perf_counter() - start) / (kmeans.n_iter_ + 1))
        print(f"  {n_rows:>9} rows: {times[-1]:8.3f} s a round, {times[-1] / n_rows * 1e6:6.1f} µs a row", flush=True)
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"  exponent {exponent:.2f} (brute force: 1.5)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the pipeline, which takes minutes for each")
    parser.add_argument("--every", type=int, default=12, help="compare on every so many rows of EGO-1")
    parser.add_argument("--only", choices=("compare", "growth"))
    arguments = parser.parse_args()
    if arguments.only in (None, "compare"):
        compare(arguments.rounds, arguments.every)
    if arguments.only in (None, "growth"):
        growth(arguments.rows, arguments.jobs)


if __name__ == "__main__":
    main()
