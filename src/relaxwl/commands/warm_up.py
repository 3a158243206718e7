"""``relaxwl warm-up``: compile all functions in advance, for container images and clusters."""

import time
from argparse import Namespace
from collections.abc import Callable
from functools import partial

import numpy as np

from relaxwl._registry import estimator_names, get_estimator
from relaxwl.commands.console import Console
from relaxwl.evaluation.selection import warm_up
from relaxwl.graphs import GraphCollection
from relaxwl.kernels import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.predictors import GraphClassifier, GraphRegressor


def run(arguments: Namespace, console: Console) -> None:
    """Fit every kernel and predictor on a few small graphs, which fills Numba's cache."""
    jobs, graphs = arguments.jobs, small_graphs()
    works: dict[str, Callable[[], None]] = {
        name: partial(warm_up, get_estimator(name), graphs, jobs, unseen=True) for name in estimator_names()
    }
    works |= {"edge labels": partial(_edge_labels, jobs), "predictors": partial(_predictors, jobs)}
    seconds: dict[str, float] = {}
    with console.bar("compiling") as bar:
        for name, work in works.items():
            start = time.perf_counter()
            bar.add(0, name)
            work()
            bar.add(1 / len(works), name)
            seconds[name] = round(time.perf_counter() - start, 1)
    lines = [f"{name:<18}{spent:6.1f} s" for name, spent in seconds.items()]
    console.result("\n".join([*lines, f"{'total':<18}{sum(seconds.values()):6.1f} s"]), seconds)


def small_graphs(n_graphs: int = 12, seed: int = 0) -> GraphCollection:
    """Make labeled random graphs, large enough that all code is compiled.

    >>> len(small_graphs())
    12
    """
    rng = np.random.default_rng(seed)
    graphs = []
    for size in rng.integers(10, 15, n_graphs).tolist():
        pairs = np.argwhere(np.triu(rng.random((size, size)) < 0.4, 1)).tolist()
        graphs.append((size, pairs, rng.integers(3, size=size).tolist()))
    return GraphCollection.from_edges(graphs)


def _predictors(n_jobs: int) -> None:
    """Fit the predictors."""
    graphs = small_graphs(24)
    GraphClassifier(effort="quick", n_jobs=n_jobs, random_state=0).fit(graphs, np.arange(24) % 2).predict_proba(graphs)
    GraphRegressor(effort="quick", n_jobs=n_jobs, random_state=0).fit(graphs, graphs.node_counts).predict(graphs)


def _edge_labels(n_jobs: int) -> None:
    """Fit kernels with edge labels, whose costs are compiled separately."""
    graphs = [
        (graph.n_nodes, graph.edges.tolist(), graph.node_labels, [(a + b) % 2 for a, b in graph.edges.tolist()])
        for graph in small_graphs()
    ]
    for kernel in (WeisfeilerLehman(2, edge_labels=True), RelaxedWeisfeilerLehman(2, 1, "sqrt", edge_labels=True)):
        kernel.set_params(n_jobs=n_jobs).fit(graphs).transform(graphs)
