"""WL-OA: the optimal assignment of nodes by their Weisfeiler-Lehman labels."""

from relaxwl.kernels.wl import WeisfeilerLehman


class WLOptimalAssignment(WeisfeilerLehman):
    """The Weisfeiler-Lehman optimal assignment kernel.

    Nodes of two graphs are matched one to one so that the number of depths at which matched nodes have the same
    label is as large as possible. Labels that differ stay different at greater depth, so they form a tree, and on a
    tree the best matching has a closed form: k(G, G') = Σ_depth Σ_label min(count in G, count in G'), the histogram
    intersection of Weisfeiler-Lehman counts.

    Parameters
    ----------
    max_depth : int
        Number of refinement steps; all depths from 0 on count.
    edge_labels : bool
        Whether edge labels take part in the refinement.
    normalize : bool
        Scale the Gram matrix so that every graph has similarity 1 with itself.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    verbose : int
        1 logs progress.

    References
    ----------
    Kriege, Giscard & Wilson, On valid optimal assignment kernels, NeurIPS 2016.

    Examples
    --------
    >>> from relaxwl.graphs import GraphCollection
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])])
    >>> WLOptimalAssignment(max_depth=1).fit_kernel_matrix(graphs)
    array([[6., 4.],
           [4., 6.]])
    """

    base = "subtree"
    similarity = "intersection"
    depth_weights = None

    def __init__(
        self,
        max_depth: int = 5,
        edge_labels: bool = False,
        normalize: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.edge_labels = edge_labels
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.verbose = verbose
