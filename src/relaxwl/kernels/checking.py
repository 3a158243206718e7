"""Graphs on their way into a kernel: of the type that it was fitted on, and nothing of them ignored without a word."""

from typing import Any, Protocol

from relaxwl._warnings import warn_user
from relaxwl.graphs import GraphCollection
from relaxwl.inputs import as_collection

# What a kernel may leave aside, and how it is made to use it.
ADVICE = {
    "edge_labels": "edge_labels=True uses them",
    "node_attributes": "ContinuousWeisfeilerLehman() uses them, or costs made by EditCost.from_attributes()",
    "edge_attributes": "RelaxedWeisfeilerLehman(cost=EditCost.from_attributes(edge_metric='euclidean')) uses them",
}


class GraphInput(Protocol):
    """What a kernel says of itself."""

    takes_directed: bool
    directed_: bool

    def uses(self) -> frozenset[str]:
        """Return which labels and attributes of graphs take part, such as ``edge_labels``."""


def check_training_graphs(kernel: GraphInput, X: Any) -> GraphCollection:
    """Return the graphs to be fitted; warn of what was given with them and takes no part, and note their type."""
    graphs = as_collection(X)
    if graphs.directed and not kernel.takes_directed:
        raise ValueError(
            f"{type(kernel).__name__} has no meaning on directed graphs; "
            "relaxwl.as_collection(graphs, symmetrize=True) forgets directions"
        )
    # Who has made a collection knows its edge labels, and that they count if asked for.
    given = graphs.given - {"edge_labels"} if isinstance(X, GraphCollection) else graphs.given
    unused = [part for part in ADVICE if part in given and part not in kernel.uses()]
    if unused:
        words = "; ".join(f"{part.replace('_', ' ').replace('node', 'node')} ({ADVICE[part]})" for part in unused)
        warn_user(f"{type(kernel).__name__} ignores what the graphs have beside what it counts: {words}")
    kernel.directed_ = graphs.directed
    return graphs


def check_graphs(kernel: GraphInput, X: Any) -> GraphCollection:
    """Return graphs for a fitted kernel, refusing directed ones for undirected ones and the other way round."""
    if isinstance(X, GraphCollection):
        graphs = X
        if graphs.directed != kernel.directed_ and graphs.n_graphs:
            fitted, given = ("directed", "undirected") if kernel.directed_ else ("undirected", "directed")
            raise ValueError(f"the kernel was fitted on {fitted} graphs, and these graphs are {given}")
        return graphs
    # Symmetric matrices and lists of pairs do not tell what they are; they are what the kernel was fitted on.
    return as_collection(X, directed=kernel.directed_)
