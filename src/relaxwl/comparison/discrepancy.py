"""The distance of generated graphs from a reference, with the interface of PolyGraph's metrics."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from relaxwl._validation import as_seed
from relaxwl.comparison.design import Design
from relaxwl.comparison.separation import Separation, separate
from relaxwl.comparison.two_sample import mmd2
from relaxwl.comparison.views import Pool, read_sides
from relaxwl.inputs import as_collection


class Interval(NamedTuple):
    """A value with its bootstrap interval (95 %)."""

    value: float
    low: float
    high: float


class GraphDiscrepancy:
    """Distance of collections of graphs from a reference: a lower bound of the Jensen-Shannon distance, from 0 to 1.

    The reference is read once. Clusters and ranks are fitted to the reference and the generated graphs together, each
    time: those fitted to the reference alone would find every other collection strange.

    Parameters
    ----------
    reference : GraphCollection or anything that ``relaxwl.as_collection`` accepts
        The reference, preferably graphs from which the generator has not learned.
    interval : bool, default=False
        Whether distances are given with bootstrap intervals, as tuples ``(value, low, high)``.
    views : "auto" or sequence of str, default="auto"
        The views to use, as in :func:`relaxwl.two_sample_test`.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    random_state : int, default=0
        Seeds clusters, parts and the bootstrap.
    verbose : int, default=0
        1 logs progress.

    See Also
    --------
    relaxwl.two_sample_test : Test whether two collections differ, and in what.
    relaxwl.comparison.GenerationQuality : Validity, uniqueness and novelty.

    Notes
    -----
    A Gaussian process predicts for each graph, from all others but a few, the probability that it was generated. The
    mean of the logarithms of these probabilities bounds the divergence from below for any predictor, up to the error of
    a mean over finitely many graphs. PolyGraph (Krimmel et al., ICLR 2026) uses the best classifier on one descriptor
    at a time, with half of the graphs to learn and half to score.

    Examples
    --------
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, y = make_egonets(40, level=1, random_state=0)
    >>> found = GraphDiscrepancy(graphs[y == 0], views=["statistics"]).compute(graphs[y == 1])
    >>> sorted(found), 0 <= found["pgd"] <= 1
    (['mmd2', 'pgd', 'pgd_descriptor', 'subscores'], True)
    """

    def __init__(
        self,
        reference: Any,
        *,
        interval: bool = False,
        views: str | Sequence[str] = "auto",
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.reference = as_collection(reference)
        self.interval = interval
        self.views = views
        self.n_jobs = n_jobs
        self.seed = as_seed(random_state)
        self.verbose = verbose

    def compute(self, generated: Any) -> dict[str, Any]:
        """Compare generated graphs with the reference.

        Parameters
        ----------
        generated : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The generated graphs.

        Returns
        -------
        dict
            ``pgd``: the distance from all views together; ``pgd_descriptor``: the view with the largest distance of its
            own; ``subscores``: the distance from each view alone; ``mmd2``: the squared maximum mean discrepancy of
            each view's kernel (unbiased, for pooled graphs of variance 1).
        """
        sides = read_sides(self.reference, generated, ("the reference", "generated"))
        pool = Pool.of(sides, self.views, self.seed, self.n_jobs, self.verbose)
        n = len(pool.places)
        design = Design.of(pool.places >= len(sides[0]), np.zeros(n, np.int64), np.zeros((n, 0)))
        together = separate(pool.blocks, design, self.seed)
        alone = {name: separate({name: block}, design, self.seed, learned=False) for name, block in pool.blocks.items()}
        return {
            "pgd": self._said(together),
            "pgd_descriptor": max(alone, key=lambda name: alone[name].distance),
            "subscores": {name: self._said(one) for name, one in alone.items()},
            "mmd2": {name: mmd2(block, design.is_y) for name, block in pool.blocks.items()},
        }

    def _said(self, found: Separation) -> Any:
        return Interval(found.distance, *found.interval) if self.interval else found.distance
