"""Time the distances of all pairs of graphs beside a plain implementation of the tree mover's distance.

The plain one follows the definition: for each pair of graphs, level by level, a transport problem is solved by POT's
``emd2`` for each pair of nodes, and one more for the nodes of the graphs. It is run on a sample of the pairs. Times are
of the process, so that other programs do not count.
"""

import argparse
import resource
import time

import numpy as np
import ot
from harness import DATA

import relaxwl


def transport(costs: np.ndarray, blank: np.ndarray, other_blank: np.ndarray) -> float:
    """Match rows to columns, the smaller side padded with empty trees."""
    n, m = costs.shape
    size = max(n, m)
    if size == 0:
        return 0.0
    padded = np.zeros((size, size))
    padded[:n, :m] = costs
    padded[n:, :m] = other_blank
    padded[:n, m:] = blank[:, None]
    uniform = np.full(size, 1.0 / size)
    return float(size * ot.emd2(uniform, uniform, padded))


def plain_distance(graph: relaxwl.Graph, other: relaxwl.Graph, vectors: list[np.ndarray], depth: int) -> float:
    """Return the tree mover's distance of two graphs with weight 1 of all levels."""
    x, y = vectors
    neighbors = [[each.neighbors(node) for node in range(each.n_nodes)] for each in (graph, other)]
    roots = np.sqrt(((x[:, None] - y[None]) ** 2).sum(axis=2))
    lengths = [np.sqrt((each**2).sum(axis=1)) for each in vectors]
    costs, blanks = roots, lengths
    for _ in range(depth):
        below = np.zeros_like(costs)
        for u, children in enumerate(neighbors[0]):
            for v, others in enumerate(neighbors[1]):
                below[u, v] = transport(costs[np.ix_(children, others)], blanks[0][children], blanks[1][others])
        costs = roots + below
        blanks = [
            length + np.array([blank[children].sum() for children in around])
            for length, blank, around in zip(lengths, blanks, neighbors, strict=True)
        ]
    return transport(costs, *blanks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["MUTAG:3", "PROTEINS:2"], metavar="NAME:DEPTH")
    parser.add_argument("--sample", type=int, default=40, help="pairs for the plain implementation")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    for text in options.sets:
        name, depth = text.split(":")
        graphs, _ = relaxwl.datasets.load_tu(DATA / f"{name}.zip")
        cost = relaxwl.EditCost(relabel=2**0.5)
        relaxwl.graph_distances(graphs[:3], depth=int(depth), cost=cost)
        start, wall = time.process_time(), time.perf_counter()
        distances = relaxwl.graph_distances(graphs, depth=int(depth), cost=cost, n_jobs=options.jobs)
        ours, wall = time.process_time() - start, time.perf_counter() - wall
        n_pairs = len(graphs) * (len(graphs) - 1) // 2
        unit = np.eye(len(graphs.node_vocabulary))
        rng = np.random.default_rng(0)
        pairs = rng.integers(0, len(graphs), (options.sample, 2))
        start = time.process_time()
        error = 0.0
        for i, j in pairs.tolist():
            codes = [graphs.node_codes[graphs.offsets[place] : graphs.offsets[place + 1]] for place in (i, j)]
            expected = plain_distance(graphs[i], graphs[j], [unit[each] for each in codes], int(depth))
            error = max(error, abs(distances[i, j] - expected) / max(expected, 1.0))
        plain = (time.process_time() - start) / len(pairs)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{name}, depth {depth}: {n_pairs} pairs in {ours:.2f} s of the process ({wall:.1f} s), "
            f"{ours / n_pairs * 1e6:.1f} µs each; plain {plain * 1e3:.1f} ms each, {plain / (ours / n_pairs):,.0f}×; "
            f"largest error {error:.0e}; peak {peak:.1f} GB",
            flush=True,
        )


if __name__ == "__main__":
    main()
