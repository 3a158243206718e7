"""WWL: graphs as distributions over node embeddings, compared by optimal transport."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from relaxwl._execution import map_chunks, spans
from relaxwl._progress import report
from relaxwl._validation import check_choice, check_integer
from relaxwl.distances._compiled import pair_distance
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, mirror
from relaxwl.kernels.base import GraphKernel, Settings, check_graphs, check_training_graphs, watched
from relaxwl.kernels.counting import SubtreeCounter
from relaxwl.kernels.gram import gram
from relaxwl.unfolding import leaves, refine

SCHEMES = ("categorical", "continuous")
# Values of λ in model selection, as in the authors' experiments.
DECAYS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
# The largest distance between two graphs in the categorical scheme, and the distance of an empty graph from others.
LARGEST = 1.0
# Number of rows of distances between two progress messages.
ROWS_PER_LOOK = 16


class DistanceKernel(GraphKernel):
    """Base class of kernels exp(−λ·D) of a distance D; the parameter ``decay`` is λ.

    See Also
    --------
    WassersteinWL : An example.
    """

    decay: float

    def distance_matrix(self, X: Any, Y: Any = None) -> Float64:
        """Return the distances between the graphs of ``X`` and of ``Y`` (by default ``X`` itself).

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        Y : as ``X``, optional
            The graphs to compare with; by default those of ``X``.

        Returns
        -------
        float64 array (n_graphs of X, n_graphs of Y)
            The distances.
        """
        check_is_fitted(self)
        return self._distances(check_graphs(self, X), None if Y is None else check_graphs(self, Y))

    def _distances(self, x: GraphCollection, y: GraphCollection | None) -> Float64:
        raise NotImplementedError

    def kernel_matrix(self, X: Any, Y: Any = None) -> Float64:
        """Return the Gram matrix between ``X`` and ``Y`` (by default ``X`` itself) as a dense array.

        Parameters
        ----------
        X : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The graphs.
        Y : as ``X``, optional
            The graphs to compare with; by default those of ``X``.

        Returns
        -------
        float64 array (n_graphs of X, n_graphs of Y)
            The kernel values.
        """
        return np.exp(-self.decay * self.distance_matrix(X, Y))

    def variations(self) -> list[Settings]:
        """Return the λ from 10⁻⁴ to 10.

        Returns
        -------
        list of dict
            Settings that one fit covers.
        """
        return [{"decay": decay} for decay in DECAYS]

    def compare(
        self, x: GraphCollection, y: GraphCollection | None = None, settings: Sequence[Settings] = ({},)
    ) -> list[Float64]:
        """Return a Gram matrix for each ``decay`` of the settings: the distances are the same.

        Parameters
        ----------
        x : graphs as :meth:`prepare` returns them
            The graphs.
        y : GraphCollection, optional
            The graphs to compare with; by default ``x``.
        settings : sequence of dict, default=({},)
            Changed parameters, among those of :meth:`variations`.

        Returns
        -------
        list of float64 arrays
            One for each of the settings.
        """
        self._check_settings(settings, "decay")
        distances = self.distance_matrix(x, y)
        return [np.exp(-setting.get("decay", self.decay) * distances) for setting in settings]


@dataclass(repr=False, eq=False)
class WassersteinWL(DistanceKernel):
    """The Wasserstein Weisfeiler-Lehman kernel, k(G, G') = exp(−λ·D(G, G')).

    D is the transport distance between the uniform distributions over the two graphs' nodes.

    With ``scheme="categorical"``, the ground distance of two nodes is the fraction of depths at which their
    Weisfeiler-Lehman labels differ, and D has a closed form. With ``scheme="continuous"``, nodes are compared by
    averages of attribute vectors, and D is solved exactly for each pair of graphs; this kernel need not be positive
    semidefinite.

    Parameters
    ----------
    max_depth : int, default=5
        The number h of refinement steps.
    decay : float, default=1.0
        The λ > 0 of the kernel; model selection tries several.
    scheme : {"categorical", "continuous"}, default="categorical"
        Properties by which nodes are compared.
    standardize : bool, default=True
        Whether attributes are first scaled to mean 0 and variance 1 over the nodes of the fitted graphs
        (continuous scheme only), as in the authors' experiments.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    verbose : int, default=0
        1 logs progress every few seconds.

    See Also
    --------
    relaxwl.WeisfeilerLehman : Counts of identical neighborhoods.

    Notes
    -----
    **Categorical scheme.** The ground distance of two nodes is the fraction of the depths 0, ..., h at
    which their labels differ. Let p_i and q_i be the histograms of the labels of depth i, each summing to 1. Then D = 1
    / (2(h+1)) · Σ_i Σ_label abs(p_i − q_i).

    *Proof.* Let t be any transport plan. The mass that it moves between nodes with equal labels of depth i is at most
    Σ_label min(p_i, q_i), so the mass moved between different ones is at least 1 − Σ min(p_i, q_i) = ½ Σ abs(p_i −
    q_i). The cost of t is the mean of these masses over the depths, so no plan costs less than the formula. One plan
    attains all bounds simultaneously: labels that differ at one depth differ at all greater ones, so the labels form a
    tree. Match greedily from the leaves: within each label of depth h match as much mass as both graphs have there,
    then within each label of depth h − 1 the remaining mass, and so on. The mass matched at or below a label is the
    smaller of the two masses there (by induction: after its children, the remaining mass below it is matched until one
    side is used up), which is the bound at that label. ∎

    D is an L1 distance of explicit vectors, so the kernel is positive semidefinite for every λ > 0, and all distances
    are computed from one sparse histogram intersection: D = 1 − 1/(h+1) · Σ min(p, q). In unlabeled graphs the label of
    a node is its degree, as after one refinement step.

    **Continuous scheme.** The vector of a node contains its attributes (without attributes: its degree). At each step
    it is replaced by the average of itself and the mean of its neighbors' vectors (a node without neighbors keeps its
    vector), and the h + 1 vectors are concatenated. The ground distance is Euclidean.

    Distances are defined between any two graphs: ``fit`` learns only the scale of the attributes, and unseen labels are
    compared like all others. A graph without nodes has distance 0 to other graphs without nodes and the maximal
    distance 1 to all others (categorical scheme), or raises an error (continuous scheme).

    References
    ----------
    Togninalli et al., Wasserstein Weisfeiler-Lehman graph kernels, NeurIPS 2019.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(2, [(0, 1)]), (3, [(0, 1), (1, 2)])])
    >>> kernel = WassersteinWL(max_depth=1).fit(graphs)
    >>> kernel.distance_matrix(graphs).round(3)
    array([[0.   , 0.667],
           [0.667, 0.   ]])
    >>> kernel.kernel_matrix(graphs).round(3)
    array([[1.   , 0.513],
           [0.513, 1.   ]])
    """

    max_depth: int = 5
    decay: float = 1.0
    scheme: str = "categorical"
    standardize: bool = True
    n_jobs: int | None = None
    verbose: int = 0

    def uses(self) -> frozenset[str]:
        """Return which labels and attributes of graphs are used.

        Returns
        -------
        frozenset of str
            Names of parts of graphs, such as "node_labels".
        """
        return super().uses() | ({"node_attributes"} if self.scheme == "continuous" else set())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the graphs and learn the scale of their attributes.

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
        self._validate_parameters()
        graphs = check_training_graphs(self, X)
        self.n_graphs_in_ = len(graphs)
        if self.scheme == "continuous":
            values = _attributes(graphs)
            self.mean_ = np.zeros(values.shape[1])
            self.scale_ = np.ones(values.shape[1])
            if self.standardize and len(values):
                deviations = values.std(axis=0)
                self.mean_, self.scale_ = values.mean(axis=0), np.where(deviations > 0, deviations, 1.0)
        return self

    def _distances(self, x: GraphCollection, y: GraphCollection | None) -> Float64:
        return self._categorical(x, y) if self.scheme == "categorical" else self._continuous(x, y)

    def _validate_parameters(self) -> None:
        check_integer("max_depth", self.max_depth)
        if not 0 < self.decay < np.inf:
            raise ValueError(f"decay must be a finite number > 0, not {self.decay!r}")
        check_choice("scheme", self.scheme, SCHEMES)

    # ------------------------------------------------------------------------------------------- categorical

    def _categorical(self, x: GraphCollection, y: GraphCollection | None) -> Float64:
        """Return 1 − the mean over depths of the histograms' intersections, all graphs refined together."""
        if y is None:
            graphs = x
        else:
            if x.is_labeled != y.is_labeled:
                raise ValueError("X and Y must both have node labels or both have none")
            graphs = GraphCollection.concatenate([_labels_alone(x), _labels_alone(y)])
        roots = graphs.node_codes if graphs.is_labeled else graphs.degrees.astype(np.int32)
        shares = 1.0 / np.maximum(graphs.node_counts, 1)
        common = np.zeros((len(x), len(x if y is None else y)))
        n_ids, ids = 0, np.empty(0, np.int32)
        for depth in range(self.max_depth + 1):
            share = depth / (self.max_depth + 1)
            report(self.verbose, "WWL: depth %d of %d", depth, self.max_depth, share=share)
            rows, ids = refine(graphs, roots, ids, n_ids, n_jobs=self.n_jobs) if depth else leaves(roots)
            n_ids = len(rows)
            histograms = SubtreeCounter().fit(graphs, ids, n_ids).matrix
            histograms = csr_array(histograms.multiply(shares[:, None]))
            first, second = histograms[: len(x)], None if y is None else histograms[len(x) :]
            common += gram(first, second, minimum=True, n_jobs=self.n_jobs)
        distances = np.maximum(LARGEST - common / (self.max_depth + 1), 0.0)
        empty_x, empty_y = x.node_counts == 0, (x if y is None else y).node_counts == 0
        distances[np.ix_(empty_x, empty_y)] = 0.0
        if y is None:
            np.fill_diagonal(distances, 0.0)
        return distances

    # -------------------------------------------------------------------------------------------- continuous

    def _continuous(self, x: GraphCollection, y: GraphCollection | None) -> Float64:
        places_x = self._places(x)
        places_y = places_x if y is None else self._places(y)
        offsets_y = x.offsets if y is None else y.offsets
        out = np.zeros((len(x), len(offsets_y) - 1))

        def fill(row: int) -> None:
            own = places_x[x.offsets[row] : x.offsets[row + 1]]
            for other in range(row + 1 if y is None else 0, out.shape[1]):
                costs = cdist(own, places_y[offsets_y[other] : offsets_y[other + 1]])
                out[row, other] = _uniform_transport(costs)

        for start, stop in watched(spans(len(x), ROWS_PER_LOOK), "transport distances", self.verbose):
            map_chunks(fill, range(start, stop), self.n_jobs)
        if y is None:
            mirror(out)
        return out

    def _places(self, graphs: GraphCollection) -> Float64:
        """Return the nodes' embeddings, the concatenated vectors of all depths."""
        if (graphs.node_counts == 0).any():
            empty = int(np.flatnonzero(graphs.node_counts == 0)[0])
            raise ValueError(f"graph {empty} has no nodes; the continuous scheme needs at least one in each graph")
        values = _attributes(graphs)
        if values.shape[1] != len(self.mean_):
            raise ValueError(
                f"the kernel was fitted on graphs with {len(self.mean_)} attributes, these have {values.shape[1]}"
            )
        values = (values - self.mean_) / self.scale_
        degrees = graphs.degrees.astype(np.float64)
        shares = np.repeat(1.0 / np.maximum(degrees, 1), graphs.degrees)
        averaging = csr_array((shares, graphs.indices, graphs.indptr), shape=(graphs.n_nodes, graphs.n_nodes))
        places = [values]
        for _ in range(self.max_depth):
            around = np.where(degrees[:, None] > 0, np.asarray(averaging @ places[-1]), places[-1])
            places.append((places[-1] + around) / 2)
        return np.ascontiguousarray(np.hstack(places))


def _attributes(graphs: GraphCollection) -> Float64:
    """Return the nodes' attributes, or their degrees if there are none."""
    if graphs.node_attributes is not None:
        if np.isnan(graphs.node_attributes).any():
            raise ValueError("some nodes have missing attributes, which WassersteinWL cannot compare; fill them in")
        return graphs.node_attributes
    return graphs.degrees.astype(np.float64)[:, None]


def _labels_alone(graphs: GraphCollection) -> GraphCollection:
    """Return the graphs without the attributes that the categorical scheme ignores."""
    return GraphCollection(
        graphs.offsets,
        graphs.indptr,
        graphs.indices,
        node_codes=graphs.node_codes,
        node_vocabulary=graphs.node_vocabulary,
    )


def _uniform_transport(costs: Float64) -> float:
    """Return the transport distance between the uniform distributions over the rows and over the columns."""
    n, m = costs.shape
    ground = np.zeros((n + m + 1, n + m + 1))
    ground[:n, n:-1] = costs
    # A row sends m units and a column receives n of them: whole flows.
    points, masses = np.arange(n + m, dtype=np.int32), np.repeat([float(m), float(n)], [n, m])
    return float(pair_distance(points[:n], masses[:n], points[n:], masses[n:], ground, np.inf) / (n * m))
