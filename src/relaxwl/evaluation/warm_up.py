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
from relaxwl.kernels.registry import Entry, Variant
from relaxwl.learning.svm import score_path

N_GRAPHS = 10
# Smaller graphs would leave out part of the code, such as that for graphlets of five vertices.
LEAST_NODES = 8
MOST_NODES = 200
# Enough to compile everything; a kernel that is slow on a handful of graphs is not worth waiting for.
MOST_SECONDS = 60.0

logger = logging.getLogger(__name__)


def warm_up(contestant: Entry, graphs: GraphCollection, n_jobs: int | None, *, unseen: bool) -> None:
    """Fit each variant on a few small graphs (and with ``unseen`` compare with them), and forget what comes out.

    Only kernels of this package take part: what a fit of others costs or changes is not for us to know.
    """
    part = small_part(graphs)
    if not _takes_part(contestant) or len(part) == 0:
        return
    for variant in contestant.variants(0, n_jobs):
        try:
            with time_limit(MOST_SECONDS):
                _run(variant, part, unseen)
        # What is wrong with a kernel shows in the run that counts.
        except Exception as error:
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


def _takes_part(contestant: Entry) -> bool:
    return is_kernel(contestant) and contestant.estimator_class().__module__.startswith("relaxwl.")


def _run(variant: Variant, part: GraphCollection, unseen: bool) -> None:
    """Do once what an evaluation does with a kernel."""
    fitted = fit_variant(variant, part)
    kernel = variant.estimator
    if unseen:
        kernel.compare(kernel.prepare(part), fitted.prepared, variant.settings)
    everything = np.arange(len(part))
    score_path(fitted.candidates[0].matrix, everything % 2, everything, everything, 1.0, (1.0,))
