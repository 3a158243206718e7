"""A run that does not count: imports and compilation happen before the clock starts.

The first fit of a kernel in a process loads modules and compiles code, which can take longer than the fit itself. So
each variant first meets a few small graphs, outside the timing. The kernels of this run are thrown away and get a seed
of their own, so no result and no random stream depends on it.
"""

import logging

import numpy as np

from relaxwl.evaluation.contestants import is_kernel
from relaxwl.evaluation.selection import fit_variant
from relaxwl.graphs import GraphCollection
from relaxwl.kernels.limits import time_limit
from relaxwl.kernels.registry import Entry
from relaxwl.learning.svm import score_path

N_GRAPHS = 10
# Smaller graphs would leave out part of the code, such as that for graphlets of five vertices.
LEAST_NODES = 8
MOST_NODES = 200
# Enough to compile everything; a kernel that is slow on a handful of graphs is not worth waiting for.
MOST_SECONDS = 60.0

logger = logging.getLogger(__name__)


def warm_up(contestant: Entry, graphs: GraphCollection, n_jobs: int | None, *, unseen: bool) -> None:
    """Do with a few small graphs what an evaluation does with each variant, and forget what comes out.

    Only kernels of this package take part: what a fit of others costs or changes is not for us to know.

    Parameters
    ----------
    contestant : Entry
        The kernel.
    graphs : GraphCollection
        Graphs that it is going to meet.
    n_jobs : int, optional
        Number of threads.
    unseen : bool
        Whether it is going to meet graphs that it was not fitted to.
    """
    part = small_part(graphs)
    if not is_kernel(contestant) or not contestant.estimator_class().__module__.startswith("relaxwl.") or not len(part):
        return
    everything = np.arange(len(part))
    for variant in contestant.variants(0, n_jobs):
        try:
            with time_limit(MOST_SECONDS):
                fitted, kernel = fit_variant(variant, part), variant.estimator
                if unseen:
                    kernel.compare(kernel.prepare(part), fitted.prepared, variant.settings)
                score_path(fitted.candidates[0].matrix, everything % 2, everything, everything, 1.0, (1.0,))
        except Exception as error:  # what is wrong with a kernel shows in the run that counts
            logger.debug("%s in a run that does not count: %s", contestant.name, error)


def small_part(graphs: GraphCollection) -> GraphCollection:
    """Return ten of the smaller graphs, or as many of them (perhaps none) as together have few vertices.

    >>> graphs = GraphCollection.from_edges([(n, [(0, 1)]) for n in (2000, 3, 10, 9, 4000)])
    >>> small_part(graphs).node_counts.tolist()
    [3, 9, 10]
    """
    by_size = np.argsort(graphs.node_counts, kind="stable")
    sizes = graphs.node_counts[by_size]
    start = max(min(int(np.searchsorted(sizes, LEAST_NODES)), len(sizes) - N_GRAPHS), 0)
    n_taken = int(np.searchsorted(np.cumsum(sizes[start : start + N_GRAPHS]), MOST_NODES, side="right"))
    return graphs[by_size[start : start + n_taken]]
