"""ODD-STh: graphs decomposed into ordered directed acyclic graphs and these into trees."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from relaxwl._validation import check_integer
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Int32, Int64
from relaxwl.kernels.base import watched
from relaxwl.kernels.baselines import _compiled
from relaxwl.kernels.baselines.histograms import FlatFeatures, label_names, n_known_labels, node_codes_in
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.model_schema import HUGE, check_unary, fitted, labels, vector

# Maximum number of nodes of a tree that is written out in the name of a feature.
NAMED_SIZE = 24


# Number of bits of the second number of a packed pair.
BITS = 32
Found = list[tuple[Int64, Int64]]

fitted(
    "OddSth", node_vocabulary_=labels, lists_=vector(np.int64, least=0), trees_=vector(np.int64, least=0),
    weights_=vector(np.float64, least=0, most=HUGE),
)  # fmt: skip


@dataclass(repr=False, eq=False)
class OddSth(FlatFeatures):
    """The ODD-STh kernel, as explicit features.

    A breadth-first search of at most ``height`` steps from each node gives a directed acyclic graph; each of its
    nodes is the root of an ordered tree of visits. k(G, G') = Σ_tree C(tree)·f_tree(G)·f_tree(G'), where f counts
    the trees in all these graphs together. Unlabeled nodes have one common label.

    The numbers are those of GraKeL's implementation, so that results compare with published ones. This has two
    consequences: the weight C of a tree is its count in the first fitted graph that has it, so the kernel depends on
    the order of the graphs; and children with equal labels are ordered by node number, so it may change when nodes are
    renumbered.

    Parameters
    ----------
    height : int, default=4
        Largest depth of the search, at least 1.
    normalize : bool, default=False
        Scale features and Gram matrix so that every graph has similarity 1 with itself.
    n_jobs : int, optional
        Number of threads for the Gram matrix; the result does not depend on it.
    verbose : int, default=0
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
        tables = [_compiled.table_of(np.empty(0, np.int64)) for _ in range(2)]
        found = self._found(graphs, graphs.node_codes, *tables)
        self.lists_, self.trees_ = (_compiled.keys_of(table)[0] for table in tables)
        self.weights_ = np.zeros(len(self.trees_))
        for numbers, times in reversed(found):  # reversed, so that the first graph with a tree decides
            self.weights_[numbers] = times
        return [self._in_columns(found)]

    def _counts(self, graphs: GraphCollection) -> list[Counts]:
        tables = [_compiled.table_of(keys) for keys in (self.lists_, self.trees_)]
        return [self._in_columns(self._found(graphs, node_codes_in(graphs, self.node_vocabulary_), *tables))]

    def _found(self, graphs: GraphCollection, codes: Int32, lists: Any, trees: Any) -> Found:
        """Return the trees of each graph and how often it has them; trees that the tables lack are added."""
        found, height = [], min(int(self.height), 2**31)  # no graph has more nodes
        for graph in watched(range(len(graphs)), "trees", self.verbose):
            span = int(graphs.offsets[graph]), int(graphs.offsets[graph + 1])
            times = _compiled.visit_trees(*span, graphs.indptr, graphs.indices, codes, height, lists, trees)
            numbers, counts = _compiled.keys_of(times)
            found.append((numbers - 1, counts))
        return found

    def _in_columns(self, found: Found) -> Counts:
        """Make the counts features, scaled by √C; unknown trees have weight 1 and count in the graph's own norm."""
        nothing = np.empty(0, np.int64)
        sizes = np.array([len(numbers) for numbers, _ in found], np.int64)
        columns, times = (np.concatenate([nothing, *parts]) for parts in (list(zip(*found, strict=True)) or ((), ())))
        of_graph, known = np.repeat(np.arange(len(sizes)), sizes), columns < len(self.weights_)
        values = times[known] * np.sqrt(self.weights_[columns[known]])
        matrix = csr_array((values, (of_graph[known], columns[known])), (len(sizes), len(self.weights_)))
        unknown, owners = times[~known].astype(np.float64), of_graph[~known]
        squares, sums = (np.bincount(owners, part, len(sizes)).astype(np.float64) for part in (unknown**2, unknown))
        return Counts(matrix, squares, sums)

    def _children(self, tree: int) -> list[int]:
        children, number = [], int(self.trees_[tree]) & ((1 << BITS) - 1)
        while number:
            number, child = divmod(int(self.lists_[number - 1]), 1 << BITS)
            children.append(child - 1)
        return children[::-1]

    def _check_loaded(self) -> None:
        """Raise an error for invalid trees, as in a damaged model file: children come before parents."""
        before, trees = np.divmod(self.lists_, 1 << BITS)
        fine = len(self.weights_) == len(self.trees_) and (before <= np.arange(len(before))).all()
        fine = fine and ((trees >= 1) & (trees <= len(self.trees_))).all()
        fine = fine and (self.trees_ >> BITS < n_known_labels(self.node_vocabulary_)).all()
        last = [0]
        for one, tree in zip(before.tolist() if fine else [], trees.tolist(), strict=False):
            last.append(max(last[one], tree))
        own = self.trees_ & ((1 << BITS) - 1)
        if not fine or not (own < len(last)).all() or (np.array(last)[own] > np.arange(len(own))).any():
            raise ValueError("the trees of the kernel are damaged; fit it again")
        check_unary(self, [len(own)])

    def _column_names(self) -> list[str]:
        words, names, sizes = label_names(self.node_vocabulary_), list[str](), list[int]()
        for tree, key in enumerate(self.trees_.tolist()):
            label, children = words[key >> BITS], self._children(tree)
            sizes.append(1 + sum(sizes[child] for child in children))
            if sizes[-1] > NAMED_SIZE:
                names.append(f"#{tree} {label}(… {sizes[-1]:.6g} nodes)")
            else:
                names.append(f"{label}({','.join(names[child] for child in children)})" if children else label)
        return [f"tree {name}" for name in names]
