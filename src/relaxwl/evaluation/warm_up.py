"""A run that does not count: imports and compilation happen before the clock starts.

The first fit of a kernel in a process loads modules and compiles code, which can take longer than the fit itself. So
each variant first meets a few small graphs, outside the timing. The kernels of this run are thrown away and get a seed
of their own, so no result and no random stream depends on it.
"""

import logging

import numpy as np

from relaxwl.evaluation.contestants import Contestant
from relaxwl.graphs import GraphCollection
from relaxwl.kernels.base import GraphKernel
from relaxwl.kernels.limits import time_limit
from relaxwl.learning.svm import score_path

N_GRAPHS = 10
# Smaller graphs would leave out part of the code, such as that for graphlets of five vertices.
LEAST_NODES = 8
MOST_NODES = 200
# Enough to compile everything; a kernel that is slow on a handful of graphs is not worth waiting for.
MOST_SECONDS = 60.0
# They start a new process in every fit, which nothing can spare them.
IN_CHILD_PROCESSES = frozenset({"relaxwl.kernels.baselines.odd_sth"})

logger = logging.getLogger(__name__)


def warm_up(contestant: Contestant, graphs: GraphCollection, n_jobs: int | None, *, unseen: bool) -> None:
    """Fit each variant on a few small graphs (and with ``unseen`` compare with them), and forget what comes out.

    Only kernels of this package take part: what a fit of others costs or changes is not for us to know.
    """
    kernels = [kernel for _, kernel in contestant.variants(0, n_jobs, None) if _takes_part(kernel)]
    part = small_part(graphs)
    if not kernels or len(part) == 0:
        return
    for kernel in kernels:
        try:
            with time_limit(MOST_SECONDS):
                _run(kernel, part, unseen)
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


def _takes_part(kernel: GraphKernel) -> bool:
    module = type(kernel).__module__
    return module.startswith("relaxwl.") and module not in IN_CHILD_PROCESSES


def _run(kernel: GraphKernel, part: GraphCollection, unseen: bool) -> None:
    """Do once what an evaluation does with a kernel."""
    candidates = kernel.fit_candidates(part)
    if unseen:
        kernel.candidates(part, part)
    everything = np.arange(len(part))
    gram = np.ascontiguousarray(candidates[0].matrix, np.float64)
    score_path(gram, everything % 2, everything, everything, 1.0, (1.0,))
