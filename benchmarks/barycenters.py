"""Compare median barycenters with the optimum of the linear program on real clusters, side by side in one run.

Clusters come from the R-WL* chain (depths 2 to 4, k = √rows) of four data sets that are looked for beside the
checkout. From each depth some clusters are taken, evenly over the sizes; clusters whose linear program would take long
are left out, and counted. Run ``python benchmarks/barycenters.py [--clusters N]``.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from relaxwl.clustering.barycenter import transport_barycenter
from relaxwl.clustering.kmeans import WassersteinKMeans
from relaxwl.datasets.tu import load_tu
from relaxwl.distances.batch import transport_distance
from relaxwl.distances.pairwise import row_distances
from relaxwl.distances.transport import GroundCost
from relaxwl.unfolding import refine

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = ("EGO-1", "NCI1", "PROTEINS", "REDDIT-BINARY")


@dataclass
class Cluster:
    """Child counts of the members of one cluster, over the points that they use, and the ground between these."""

    counts: csr_array
    ground: np.ndarray

    @property
    def n_variables(self) -> int:
        """The size of the linear program, before arcs that save nothing are left out."""
        return self.counts.nnz * self.counts.shape[1]

    def cost(self, center: np.ndarray) -> float:
        """Return the sum of the exact distances of all members."""
        return sum(transport_distance(row, center, self.ground, check=False) for row in self.counts.toarray())


def chain(name: str, max_depth: int = 4) -> Iterator[tuple[int, csr_array, np.ndarray, np.ndarray]]:
    """Yield depth, child counts of the rows, their clusters and the ground for the depths of one R-WL* chain."""
    graphs, _ = load_tu(DATA / f"{name}.zip")
    n_points = int(graphs.node_codes.max()) + 1
    root_cost = ground = 1.0 - np.eye(n_points + 1)
    codes = graphs.node_codes
    for depth in range(1, max_depth + 1):
        rows, ids = refine(graphs, graphs.node_codes, codes, n_points, n_jobs=-1)
        kmeans = WassersteinKMeans(random_state=depth, n_jobs=-1).fit(rows, ground=ground, root_cost=root_cost)
        counts = csr_array((rows.counts.astype(float), rows.points, rows.indptr), shape=(len(rows), n_points))
        yield depth, counts, kmeans.labels_, ground
        centers = kmeans.centers_
        n_points, codes = len(centers), kmeans.labels_[ids]
        deleting = root_cost[centers.roots, -1] + centers.sums(centers.counts * ground[centers.points, -1])
        ground = np.block([
            [row_distances(centers, centers, GroundCost(ground, root_cost)), deleting[:, None]],
            [deleting[None], np.zeros((1, 1))],
        ])  # fmt: skip


def clusters_of(counts: csr_array, labels: np.ndarray, ground: np.ndarray) -> list[Cluster]:
    """Return all clusters of at least three members, by the size of their linear programs."""
    found = []
    for label in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == label)
        if len(members) >= 3:
            rows = counts[members]
            support = np.unique(rows.indices)
            kept = np.append(support, len(ground) - 1)
            found.append(Cluster(csr_array(rows[:, support]), np.ascontiguousarray(ground[np.ix_(kept, kept)])))
    return sorted(found, key=lambda cluster: cluster.n_variables)


def least_seconds(cluster: Cluster, method: str, rounds: int) -> tuple[float, np.ndarray]:
    """Return the least processor time of some runs (less disturbed by other load), and the barycenter."""
    least, center = float("inf"), np.empty(0)
    for _ in range(rounds):
        start = time.process_time()
        center = transport_barycenter(cluster.counts, cluster.ground, method)
        least = min(least, time.process_time() - start)
    return least, center


def compare(clusters: list[Cluster]) -> np.ndarray:
    """Return, for each cluster, the gap of the median in percent and the seconds of median and linear program."""
    figures = []
    for cluster in clusters:
        median_seconds, median = least_seconds(cluster, "median", 3)
        lp_seconds, optimum = least_seconds(cluster, "lp", 1)
        cost, least_cost = cluster.cost(median), cluster.cost(optimum)
        gap = 100 * (cost - least_cost) / least_cost if least_cost else 0.0
        figures.append((round(gap, 9) + 0.0, median_seconds, lp_seconds))
    return np.array(figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=6, help="clusters of each data set and depth")
    parser.add_argument("--variables", type=int, default=100_000, help="largest linear program that is solved")
    options = parser.parse_args()
    print("data set       depth clusters (left out)  members  mean gap %  worst gap %   median ms       lp ms   ratio")
    figures = []
    for name in NAMES:
        for depth, counts, labels, ground in chain(name):
            if depth < 2:
                continue
            found = clusters_of(counts, labels, ground)
            small = [cluster for cluster in found if cluster.n_variables <= options.variables]
            taken = np.unique(np.linspace(0, len(small) - 1, options.clusters).astype(int))
            chosen = [small[place] for place in taken]
            gaps, median_seconds, lp_seconds = compare(chosen).T
            figures.append((gaps, median_seconds, lp_seconds))
            members = np.mean([cluster.counts.shape[0] for cluster in chosen])
            print(
                f"{name:14} {depth:5} {len(chosen):8} {len(found) - len(small):10}  {members:7.0f} {gaps.mean():11.3f} "
                f"{gaps.max():12.3f} {1e3 * median_seconds.mean():11.2f} {1e3 * lp_seconds.mean():11.1f} "
                f"{lp_seconds.sum() / median_seconds.sum():7.0f}",
                flush=True,
            )
    gaps, median_seconds, lp_seconds = np.concatenate(figures, axis=1)
    print(
        f"all: {len(gaps)} clusters, mean gap {gaps.mean():.4f} %, worst {gaps.max():.3f} %, the median barycenter "
        f"{lp_seconds.sum() / median_seconds.sum():.0f}× faster in sum, {np.median(lp_seconds / median_seconds):.0f}× "
        "for half of the clusters or more"
    )


if __name__ == "__main__":
    main()
