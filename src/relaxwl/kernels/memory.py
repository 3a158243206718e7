"""What the exact relaxed kernel is going to need, told before any distance is computed."""

import numpy as np

from relaxwl._memory import refuse_beyond_memory
from relaxwl.distances.batched import is_whole, row_sums, whole_dtype
from relaxwl.kernels.chains import Encoded
from relaxwl.unfolding import leaves, refine


def check_exact_memory(encoded: Encoded, max_depth: int, n_jobs: int | None) -> None:
    """Refuse R-WL on these graphs if the distances between all distinct trees do not fit into memory."""
    needed, n_trees = exact_bytes(encoded, max_depth, n_jobs)
    refuse_beyond_memory(
        needed,
        f"exact distances between up to {max(n_trees, default=0)} distinct trees of a depth",
        "use approximate=True (R-WL*), a smaller max_depth, or fewer graphs",
    )


def exact_bytes(encoded: Encoded, max_depth: int, n_jobs: int | None) -> tuple[float, list[int]]:
    """Return the bytes of the distances kept by R-WL, and the number of distinct trees that each depth compares.

    Refining alone is cheap. The cost of deleting a tree bounds its distances, and so the type that holds them.
    """
    whole = is_whole(encoded.root_costs) and (encoded.edge_costs is None or is_whole(encoded.edge_costs))
    edge_blank = 0.0 if encoded.edge_costs is None else float(encoded.edge_costs[:-1, -1].max(initial=0))
    needed = 0.0
    n_trees: list[int] = []
    blank = np.zeros(1)
    rows, ids = leaves(encoded.roots)
    for depth in range(max_depth):
        if depth:
            rows, ids = refine(
                encoded.graphs, encoded.roots, ids, n_trees[-1],
                edge_codes=encoded.edges, n_edge_codes=encoded.n_edge_codes, n_jobs=n_jobs,
            )  # fmt: skip
        deletions = rows.counts * (blank[rows.points % max(1, rows.n_previous)] + edge_blank)
        blank = encoded.root_costs[rows.roots, -1] + row_sums(rows, deletions)
        item = whole_dtype(2 * float(blank.max(initial=0))).itemsize if whole else 8
        with_edges = encoded.edge_costs is not None
        needed += item * (len(rows) + 1.0) ** 2 + (8 * (encoded.n_edge_codes * len(rows)) ** 2.0 if with_edges else 0)
        n_trees.append(len(rows))
    return needed, n_trees
