"""ODD-STh: graphs decomposed into ordered directed acyclic graphs and these into trees."""

from itertools import chain

import numpy as np
from scipy.sparse import csr_array

from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, prefix_sums
from relaxwl.kernels.baselines._features import FlatFeatures, node_codes_in
from relaxwl.kernels.baselines._grakel import tree_counts
from relaxwl.kernels.counting import Counts


class OddSth(FlatFeatures):
    """The ODD-STh kernel, computed by GraKeL in a child process, as explicit features.

    A breadth-first search of at most ``height`` steps from each vertex gives a directed acyclic graph; each of its
    vertices is the root of a tree of visits. k(G, G') = Σ_tree C(tree)·f_tree(G)·f_tree(G'), where f counts the trees
    in all these graphs together. Unlabelled vertices have one common label.

    This is GraKeL's kernel, feature by feature, so that results compare with published ones. Two traits come with it:
    the weight C of a tree is its count in the first fitted graph that has it, so the kernel depends on the order of the
    graphs; and children with equal labels are ordered by vertex number, so it may change when vertices are renumbered.

    Parameters
    ----------
    height : int
        Largest depth of the search, at least 1.
    normalize : bool
        Scale features and Gram matrix so that every graph has similarity 1 with itself.
    n_jobs : int, optional
        Number of child processes; the result does not depend on it.
    verbose : int
        1 logs progress every few seconds.

    Notes
    -----
    Needs GraKeL (``pip install 'relaxwl[baselines]'``), which runs on Python up to 3.12.

    References
    ----------
    Da San Martino, Navarin & Sperduti, A tree-based kernel for graphs, SDM 2012.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(2, [(0, 1)], ["C", "N"]), (1, [], ["C"])])
    >>> kernel = OddSth(height=1)
    >>> kernel.fit_kernel_matrix(graphs)  # doctest: +SKIP
    array([[4., 1.],
           [1., 1.]])
    """

    def __init__(
        self,
        height: int = 4,
        normalize: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.height = height
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        if not isinstance(self.height, (int, np.integer)) or isinstance(self.height, bool) or self.height < 1:
            raise ValueError(f"height must be an integer >= 1, not {self.height!r}")

    def _fit_block(self, graphs: GraphCollection) -> Counts:
        self.node_vocabulary_ = graphs.node_vocabulary
        found = self._trees(graphs, graphs.node_codes)
        self.trees_ = sorted(set(chain.from_iterable(names for names, _ in found)))
        self.weights_ = np.zeros(len(self.trees_))
        column_of = self._column_of()
        for names, counts in reversed(found):
            self.weights_[[column_of[name] for name in names]] = counts
        return self._in_columns(found)

    def _block(self, graphs: GraphCollection) -> Counts:
        return self._in_columns(self._trees(graphs, node_codes_in(graphs, self.node_vocabulary_)))

    def _trees(self, graphs: GraphCollection, codes: Int32) -> list[tuple[list[str], Float64]]:
        return tree_counts(graphs, codes, int(self.height), self.n_jobs, self.verbose)

    def _column_of(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self.trees_)}

    def _in_columns(self, found: list[tuple[list[str], Float64]]) -> Counts:
        """Make the counts features, scaled by √C; unknown trees have weight 1 and count in the graph's own norm."""
        column_of = self._column_of()
        columns = [np.array([column_of.get(name, -1) for name in names], np.int64) for names, _ in found]
        unknown = [counts[column < 0] for column, (_, counts) in zip(columns, found, strict=True)]
        known = [column >= 0 for column in columns]
        counts = np.concatenate([counts[kept] for kept, (_, counts) in zip(known, found, strict=True)] or [np.empty(0)])
        places = np.concatenate(
            [column[kept] for kept, column in zip(known, columns, strict=True)] or [np.empty(0, int)]
        )
        indptr = prefix_sums(np.array([kept.sum() for kept in known], np.int64))
        matrix = csr_array((counts * np.sqrt(self.weights_[places]), places, indptr), (len(found), len(self.trees_)))
        matrix.sort_indices()
        return Counts(
            matrix, np.array([(part**2).sum() for part in unknown]), np.array([part.sum() for part in unknown])
        )

    def _column_names(self) -> list[str]:
        return [f"tree {name}" for name in self.trees_]
