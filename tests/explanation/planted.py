"""Graphs of which those of one class contain a pattern."""

import numpy as np

from relaxwl import GraphCollection
from relaxwl.unfolding.tree import UnfoldingTree


def planted(n_graphs: int = 40, seed: int = 0) -> tuple[GraphCollection, np.ndarray]:
    """Make random labeled graphs; in class 1 a node X with the four neighbors A, B, C, D hangs on each."""
    rng = np.random.default_rng(seed)
    graphs = []
    y = np.arange(n_graphs) % 2
    for wanted in y:
        n = int(rng.integers(10, 16))
        edges = {(int(rng.integers(i)), i) for i in range(1, n)}
        edges |= {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(n // 2)}
        labels = list(rng.choice(["a", "b"], n))
        # Both classes get the same five labels; only in class 1 they are around one node.
        labels += ["X", "A", "B", "C", "D"]
        others = range(n + 1, n + 5)
        edges |= {(n, i) for i in others} if wanted else {(i, i + 1) for i in range(n, n + 4)}
        edges.add((0, n))
        graphs.append((n + 5, sorted(edges), labels))
    return GraphCollection.from_edges(graphs), y


def contains(tree: UnfoldingTree, root: str, children: set[str]) -> bool:
    return any(
        part.label == root and children <= {child.label for child in part.children} for part in tree.distinct_subtrees()
    )
