"""ODD-STh: graphs decomposed into ordered directed acyclic graphs and these into trees."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from relaxwl._execution import map_chunks
from relaxwl._validation import check_integer
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int32, Int64
from relaxwl.kernels.base import watched
from relaxwl.kernels.baselines import _compiled
from relaxwl.kernels.baselines.histograms import FlatFeatures, label_names, node_codes_in
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.model_schema import fitted, labels, vector
from relaxwl.unfolding.rows import graph_spans

# Nodes of one task, and tasks between two lines of progress.
CHUNK_NODES = 1 << 11
CHUNKS_PER_LOOK = 16
# Trees with more nodes are named by their number.
NAMED_SIZE = 24


fitted(
    "OddSth", node_vocabulary_=labels, tree_labels_=vector(np.int32), tree_starts_=vector(np.int64),
    tree_children_=vector(np.int32, 2), weights_=vector(np.float64),
)  # fmt: skip


class _Found(NamedTuple):
    """The distinct trees of some graphs (children first), and how often each graph has them."""

    labels: Int32
    starts: Int64
    runs: Int32
    bounds: Int64
    found: Int64
    times: Int64


@dataclass(repr=False, eq=False)
class OddSth(FlatFeatures):
    """The ODD-STh kernel, as explicit features.

    A breadth-first search of at most ``height`` steps from each node gives a directed acyclic graph; each of its
    nodes is the root of an ordered tree of visits. k(G, G') = Σ_tree C(tree)·f_tree(G)·f_tree(G'), where f counts
    the trees in all these graphs together. Unlabeled nodes have one common label.

    The numbers are those of GraKeL's implementation, so that results compare with published ones. Two traits come with
    it: the weight C of a tree is its count in the first fitted graph that has it, so the kernel depends on the order
    of the graphs; and children with equal labels are ordered by node number, so it may change when nodes are
    renumbered.

    Parameters
    ----------
    height : int
        Largest depth of the search, at least 1.
    normalize : bool
        Scale features and Gram matrix so that every graph has similarity 1 with itself.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    verbose : int
        1 logs progress every few seconds.

    See Also
    --------
    relaxwl.WeisfeilerLehman : Counts of identical neighborhoods.

    References
    ----------
    Da San Martino, Navarin & Sperduti, A tree-based kernel for graphs, SDM 2012.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(2, [(0, 1)], ["C", "N"]), (1, [], ["C"])])
    >>> kernel = OddSth(height=1)
    >>> kernel.fit_kernel_matrix(graphs)
    array([[4., 1.],
           [1., 1.]])
    >>> kernel.get_feature_names_out().tolist()
    ['tree N', 'tree C(N)', 'tree C', 'tree N(C)']
    """

    height: int = 4
    normalize: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        check_integer("height", self.height, 1)

    def _fit_counts(self, graphs: GraphCollection) -> list[Counts]:
        self.node_vocabulary_ = graphs.node_vocabulary
        trees, parts = _compiled.no_trees(), []
        for found in self._found(graphs, graphs.node_codes):
            trees, numbers = _compiled.merge_trees(trees, found.labels, found.starts, found.runs, True)
            parts.append((found.bounds, numbers[found.found], found.times))
        n_trees = int(trees.n_trees[0])
        self.tree_labels_ = trees.labels[:n_trees].copy()
        self.tree_starts_ = trees.starts[: n_trees + 1].copy()
        self.tree_children_ = trees.runs[: self.tree_starts_[-1]].copy()
        self.weights_ = np.zeros(n_trees)
        for _, numbers, times in reversed(parts):
            self.weights_[numbers[::-1]] = times[::-1]  # of several graphs with a tree the first has the last word
        return [self._in_columns(parts)]

    def _counts(self, graphs: GraphCollection) -> list[Counts]:
        self._check_loaded()
        trees = _compiled.merge_trees(
            _compiled.no_trees(), self.tree_labels_, self.tree_starts_, self.tree_children_, True
        )[0]
        parts = []
        for found in self._found(graphs, node_codes_in(graphs, self.node_vocabulary_)):
            _, numbers = _compiled.merge_trees(trees, found.labels, found.starts, found.runs, False)
            parts.append((found.bounds, numbers[found.found], found.times))
        return [self._in_columns(parts)]

    def _found(self, graphs: GraphCollection, codes: Int32) -> list[_Found]:
        """Return the trees of some graphs after the other; chunks do not depend on the number of threads."""
        spans = graph_spans(graphs, CHUNK_NODES) or [(0, 0)]
        looks = [spans[first : first + CHUNKS_PER_LOOK] for first in range(0, len(spans), CHUNKS_PER_LOOK)]
        task = partial(_trees_of_span, graphs, np.ascontiguousarray(codes, np.int32), int(self.height))
        return [
            found for look in watched(looks, "trees", self.verbose) for found in map_chunks(task, look, self.n_jobs)
        ]

    def _in_columns(self, parts: list[tuple[Int64, Int64, Int64]]) -> Counts:
        """Make the counts features, scaled by √C; unknown trees have weight 1 and count in the graph's own norm."""
        sizes = np.concatenate([np.diff(bounds) for bounds, _, _ in parts])
        columns = np.concatenate([numbers for _, numbers, _ in parts])
        times = np.concatenate([counts for _, _, counts in parts]).astype(np.float64)
        of_graph = np.repeat(np.arange(len(sizes)), sizes)
        known = columns >= 0
        values = times[known] * np.sqrt(self.weights_[columns[known]])
        matrix = csr_array((values, (of_graph[known], columns[known])), (len(sizes), len(self.weights_)))
        unknown, owners = times[~known], of_graph[~known]
        squares, sums = (np.bincount(owners, part, len(sizes)).astype(np.float64) for part in (unknown**2, unknown))
        return Counts(matrix, squares, sums)

    def _check_loaded(self) -> None:
        """Refuse trees that compiled code must not see, as in a damaged model file."""
        labels, starts, children = self.tree_labels_, self.tree_starts_, self.tree_children_
        fine = (
            len(starts) == len(labels) + 1 == len(self.weights_) + 1
            and starts[0] == 0
            and (np.diff(starts) >= 0).all()
            and (children.shape, children.dtype) == ((starts[-1], 2), np.int32)
            and (labels >= 0).all()
            and (children >= [0, 1]).all()
            and (children[:, 0] < np.repeat(np.arange(len(labels)), np.diff(starts))).all()
        )
        if not fine:
            raise ValueError("the trees of the kernel are damaged; fit it again")

    def _column_names(self) -> list[str]:
        labels = label_names(self.node_vocabulary_)
        names: list[str] = []
        sizes = np.ones(len(self.tree_labels_))
        for tree, label in enumerate(self.tree_labels_):
            runs = self.tree_children_[self.tree_starts_[tree] : self.tree_starts_[tree + 1]]
            sizes[tree] += sum(sizes[child] * times for child, times in runs)
            if sizes[tree] > NAMED_SIZE:
                names.append(f"#{tree} {labels[label]}(… {sizes[tree]:.6g} nodes)")
            else:
                inside = ",".join(name for child, times in runs for name in [names[child]] * times)
                names.append(f"{labels[label]}({inside})" if len(runs) else labels[label])
        return [f"tree {name}" for name in names]


def _trees_of_span(graphs: GraphCollection, codes: Int32, height: int, span: tuple[int, int]) -> _Found:
    trees, bounds, found, times = _compiled.visit_trees(
        span[0], span[1], graphs.offsets, graphs.indptr, graphs.indices, codes, height
    )
    n_trees = int(trees.n_trees[0])
    starts = trees.starts[: n_trees + 1]
    return _Found(trees.labels[:n_trees], starts, trees.runs[: starts[-1]], bounds, found, times)
