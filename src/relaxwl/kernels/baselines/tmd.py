"""TMD: graphs compared by the cost of turning the nodes of one into those of the other, with their trees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from relaxwl._validation import check_integer, check_number
from relaxwl.costs import EditCost
from relaxwl.distances.graphs import GraphCost, graph_distances
from relaxwl.distances.pairwise import checked_discounts
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64
from relaxwl.kernels.base import check_training_graphs
from relaxwl.kernels.baselines.wwl import DistanceKernel


@dataclass(repr=False, eq=False)
class TreeMover(DistanceKernel):
    """The kernel of the tree mover's distance, k(G, G') = exp(−λ·D(G, G')).

    D is the distance of :func:`relaxwl.graph_distances`: the cheapest way to turn the nodes of one graph into those of
    the other, with their unfolding trees. It is defined between any two graphs: ``fit`` learns nothing. The kernel need
    not be positive semidefinite.

    Parameters
    ----------
    max_depth : int, default=3
        Depth of the trees.
    decay : float, default=1.0
        The λ > 0 of the kernel; model selection tries several.
    discount : float or sequence of ``max_depth`` floats, default=1.0
        Factor of the cost of deeper levels.
    cost : EditCost or "euclidean", optional
        Edit costs of nodes. By default the labels are unit vectors, whose distances and lengths are the costs, as in
        the tree mover's distance; with ``"euclidean"`` the vectors also contain the attributes.
    normalize : bool, default=False
        Whether each graph has a total mass of 1.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    verbose : int, default=0
        Not used; present for API consistency.

    See Also
    --------
    WassersteinWL : The same idea with cheaper distances of nodes.
    relaxwl.graph_distances : The distances.

    References
    ----------
    Chuang and Jegelka, Tree mover's distance: bridging graph metrics and stability of graph neural networks, NeurIPS
    2022.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(2, [(0, 1)]), (3, [(0, 1), (1, 2)])])
    >>> TreeMover(max_depth=1, decay=0.1).fit(graphs).kernel_matrix(graphs).round(3)
    array([[1.   , 0.741],
           [0.741, 1.   ]])
    """

    max_depth: int = 3
    decay: float = 1.0
    discount: float | Sequence[float] = 1.0
    cost: GraphCost = None
    normalize: bool = False
    n_jobs: int | None = None
    verbose: int = 0

    def uses(self) -> frozenset[str]:
        """Return which labels and attributes of graphs are used.

        Returns
        -------
        frozenset of str
            Names of parts of graphs, such as "node_labels".
        """
        vectors = self.cost == "euclidean" or (isinstance(self.cost, EditCost) and self.cost.uses_attributes)
        return super().uses() | ({"node_attributes"} if vectors else set())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the graphs and the parameters.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        y : ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        check_number("decay", self.decay)
        checked_discounts(self.discount, check_integer("max_depth", self.max_depth))
        self.n_graphs_in_ = len(check_training_graphs(self, X))
        return self

    def _distances(self, x: GraphCollection, y: GraphCollection | None) -> Float64:
        cost = EditCost(relabel=2**0.5) if self.cost is None else self.cost
        distances: Float64 = graph_distances(
            x, y, depth=self.max_depth, cost=cost, discount=self.discount, normalize=self.normalize, n_jobs=self.n_jobs
        )
        return distances
