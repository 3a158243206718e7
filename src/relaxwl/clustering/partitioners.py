"""Ways to cluster the distinct trees of one depth.

A partitioner has ``fit(rows, ground, rng)``, which returns a label for each row and the centers of the clusters, and
``predict(rows, ground)``, which is needed for graphs that were not in the fit. ``ground`` has the distances between
the rows' points, ⊥ last, and the costs between root codes as ``ground.roots``; ``np.asarray(ground)`` is the matrix of
distances. In ``predict`` it also covers points and roots that were not seen in fitting, after the others.

A partitioner that knows the distance of each row to the center of its cluster may provide it, so that it is not
computed again: in ``distances_`` after ``fit``, and by ``predict_with_distances(rows, ground)``.

A partitioner that computes its centers from a sample of many rows can be fitted to shards of any size: see
:class:`SamplingPartitioner`.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from relaxwl.clustering.kmeans import WassersteinKMeans, as_ground, nearest
from relaxwl.distances.transport import GroundCost
from relaxwl.graphs.arrays import Float64, Int32, Int64
from relaxwl.unfolding import TreeRows


class Partitioner(Protocol):
    """The interface of partitioners for :class:`relaxwl.RelaxedWeisfeilerLehman`.

    Any object with these methods can be used.

    See Also
    --------
    KMeansPartitioner : The default.

    Examples
    --------
    >>> from relaxwl import GraphCollection, RelaxedWeisfeilerLehman
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (0, 2)])])
    >>> kernel = RelaxedWeisfeilerLehman(1, n_partitions=1, partitioner=IdentityPartitioner())
    >>> kernel.fit(graphs).kernel_matrix(graphs).shape
    (2, 2)
    """

    def fit(self, rows: TreeRows, ground: GroundCost, rng: np.random.Generator) -> tuple[Int32, TreeRows]:
        """Cluster rows; return a label for each and the centers of the clusters.

        Parameters
        ----------
        rows : TreeRows
            Distinct trees of one depth.
        ground : GroundCost, or array (n_points + 1, n_points + 1)
            Costs between the points of rows, ⊥ last.
        rng : Generator, optional
            Draws random numbers.

        Returns
        -------
        labels : int32 array (n_rows,)
            The cluster of each row.
        centers : TreeRows
            The centers of the clusters.
        """

    def predict(self, rows: TreeRows, ground: GroundCost) -> Int32:
        """Return the cluster of each row; larger numbers are new clusters of unknown rows.

        Parameters
        ----------
        rows : TreeRows
            Distinct trees of one depth.
        ground : GroundCost, or array (n_points + 1, n_points + 1)
            Costs between the points of rows, ⊥ last.

        Returns
        -------
        labels : int32 array (n_rows,)
            The cluster of each row.
        """


@runtime_checkable
class SamplingPartitioner(Partitioner, Protocol):
    """A partitioner that computes centers from a sample; the cluster of every row is then predicted.

    Its ``fit(rows, ground, rng)`` must give the same result as these methods in sequence.
    """

    def sample(self, n_rows: int, rng: np.random.Generator) -> Int64 | None:
        """Return the numbers of the rows for :meth:`fit_sample`; None if all rows are used."""

    def fit_sample(self, rows: TreeRows, ground: GroundCost, n_rows: int, rng: np.random.Generator) -> TreeRows:
        """Compute the centers from a sample of the rows."""

    def predict_with_distances(self, rows: TreeRows, ground: GroundCost) -> tuple[Int32, Float64]:
        """Return the cluster of each row and the distance to its center."""


class IdentityPartitioner(BaseEstimator):
    """Partition with one cluster per distinct tree, as in the Weisfeiler-Lehman kernel.

    See Also
    --------
    KMeansPartitioner : Wasserstein k-means.

    Examples
    --------
    >>> rows = TreeRows(np.zeros(4, np.int32), np.arange(5), np.zeros(4, np.int32), np.array([1, 2, 9, 9], np.int32), 1)
    >>> labels, centers = IdentityPartitioner().fit(rows, 1.0 - np.eye(2), np.random.default_rng(0))
    >>> labels.tolist(), len(centers)
    ([0, 1, 2, 3], 4)
    """

    def fit(
        self, rows: TreeRows, ground: GroundCost | NDArray[Any], rng: np.random.Generator | None = None
    ) -> tuple[Int32, TreeRows]:
        """Return each row as its own cluster.

        Parameters
        ----------
        rows : TreeRows
            Distinct trees of one depth.
        ground : GroundCost, or array (n_points + 1, n_points + 1)
            Costs between the points of rows, ⊥ last.
        rng : Generator, optional
            Draws random numbers.

        Returns
        -------
        labels : int32 array (n_rows,)
            The cluster of each row.
        centers : TreeRows
            The centers of the clusters.
        """
        self.rows_ = rows
        self.distances_ = np.zeros(len(rows))
        return np.arange(len(rows), dtype=np.int32), rows

    def predict(self, rows: TreeRows, ground: GroundCost | NDArray[Any]) -> Int32:
        """Return the number of each known row; unknown rows are new clusters with larger numbers.

        Parameters
        ----------
        rows : TreeRows
            Distinct trees of one depth.
        ground : GroundCost, or array (n_points + 1, n_points + 1)
            Costs between the points of rows, ⊥ last.

        Returns
        -------
        labels : int32 array (n_rows,)
            The cluster of each row.
        """
        check_is_fitted(self)
        return known_or_new(self.rows_.locate(rows), len(self.rows_))


@dataclass(repr=False, eq=False)
class KMeansPartitioner(BaseEstimator):
    """Wasserstein k-means.

    Parameters
    ----------
    kmeans : WassersteinKMeans, optional
        The clustering; by default with k-means++ initialization, in contrast to the kernel's default. The random
        generator is the argument of ``fit``, not ``random_state``.

    See Also
    --------
    relaxwl.WassersteinKMeans : The clustering itself.

    Examples
    --------
    >>> rows = TreeRows(np.zeros(4, np.int32), np.arange(5), np.zeros(4, np.int32), np.array([1, 2, 9, 9], np.int32), 1)
    >>> labels, centers = KMeansPartitioner(WassersteinKMeans(2)).fit(rows, 1.0 - np.eye(2), np.random.default_rng(0))
    >>> labels.tolist(), len(centers)
    ([0, 0, 1, 1], 2)
    """

    kmeans: WassersteinKMeans | None = None

    def fit(
        self, rows: TreeRows, ground: GroundCost | NDArray[Any], rng: np.random.Generator | None = None
    ) -> tuple[Int32, TreeRows]:
        """Cluster the rows.

        Parameters
        ----------
        rows : TreeRows
            Distinct trees of one depth.
        ground : GroundCost, or array (n_points + 1, n_points + 1)
            Costs between the points of rows, ⊥ last.
        rng : Generator, optional
            Draws random numbers.

        Returns
        -------
        labels : int32 array (n_rows,)
            The cluster of each row.
        centers : TreeRows
            The centers of the clusters.
        """
        kmeans = self._seeded(rng).fit(rows, ground=as_ground(ground, rows), check=False)
        self.centers_, self.distances_, self.n_iter_ = kmeans.centers_, kmeans.distances_, kmeans.n_iter_
        return kmeans.labels_, kmeans.centers_

    def sample(self, n_rows: int, rng: np.random.Generator) -> Int64 | None:
        """Return the numbers of the rows for :meth:`fit_sample`; None if all rows are used.

        Parameters
        ----------
        n_rows : int
            Number of all rows.
        rng : Generator
            Random generator, also used by :meth:`fit_sample`.

        Returns
        -------
        numbers : int64 array or None
            Numbers of the rows.
        """
        return self._seeded(rng).sample(n_rows, rng)

    def fit_sample(self, rows: TreeRows, ground: GroundCost, n_rows: int, rng: np.random.Generator) -> TreeRows:
        """Compute the centers from a sample of the rows.

        Parameters
        ----------
        rows : TreeRows
            Distinct trees of one depth.
        ground : GroundCost, or array (n_points + 1, n_points + 1)
            Costs between the points of rows, ⊥ last.
        n_rows : int
            Number of all rows.
        rng : Generator, optional
            Draws random numbers.

        Returns
        -------
        centers : TreeRows
            The centers of the clusters.
        """
        self.centers_, self.n_iter_ = self._seeded(rng).fit_sample(rows, ground, n_rows, rng), 0
        return self.centers_

    def predict(self, rows: TreeRows, ground: GroundCost | NDArray[Any]) -> Int32:
        """Return the cluster of each row.

        Parameters
        ----------
        rows : TreeRows
            Distinct trees of one depth.
        ground : GroundCost, or array (n_points + 1, n_points + 1)
            Costs between the points of rows, ⊥ last.

        Returns
        -------
        labels : int32 array (n_rows,)
            The cluster of each row.
        """
        return self.predict_with_distances(rows, ground)[0]

    def predict_with_distances(self, rows: TreeRows, ground: GroundCost | NDArray[Any]) -> tuple[Int32, Float64]:
        """Return the cluster of each row and the distance to its center.

        Parameters
        ----------
        rows : TreeRows
            Distinct trees of one depth.
        ground : GroundCost, or array (n_points + 1, n_points + 1)
            Costs between the points of rows, ⊥ last.

        Returns
        -------
        labels : int32 array (n_rows,)
            The cluster of each row.
        distances : float64 array (n_rows,)
            The distance of each row to its center.
        """
        check_is_fitted(self)
        return nearest(rows, self.centers_, as_ground(ground, rows), self.kmeans.n_jobs if self.kmeans else None)

    def _seeded(self, rng: np.random.Generator | None) -> WassersteinKMeans:
        kmeans = WassersteinKMeans() if self.kmeans is None else copy(self.kmeans)
        kmeans.random_state = rng
        return kmeans

    def to_state(self) -> dict[str, Any]:
        """Return the parameters of k-means and, once fitted, its centers, for a model file.

        Returns
        -------
        dict
            Arrays and plain values by name.
        """
        found = {name: value for name, value in vars(self).items() if name in ("centers_", "n_iter_")}
        return {**(self.kmeans or WassersteinKMeans()).get_params(), **found}

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Restore the partitioner from :meth:`to_state`.

        Parameters
        ----------
        **state
            The values that :meth:`to_state` returned.

        Returns
        -------
        KMeansPartitioner
            The restored partitioner.
        """
        found: dict[str, Any] = {name: state.pop(name) for name in ("centers_", "n_iter_") if name in state}
        restored = cls(WassersteinKMeans(**state))
        restored.__dict__.update(found)
        return restored


def known_or_new(located: Int32, n_known: int) -> Int32:
    """Replace -1, which marks unknown rows, by consecutive numbers from ``n_known``."""
    unknown = located < 0
    ids = located.copy()
    ids[unknown] = n_known + np.arange(int(unknown.sum()), dtype=np.int32)
    return ids
