"""Isomorphism classes of graphs, and the validity, uniqueness and novelty of generated graphs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relaxwl._validation import ParameterError
from relaxwl.datasets.smiles import MoleculeCollection, written
from relaxwl.graphs import Graph, GraphCollection
from relaxwl.graphs.arrays import Int32, Int64
from relaxwl.inputs import as_collection
from relaxwl.kernels import WeisfeilerLehman

# Rounds of refinement whose trees tell most graphs apart.
N_ROUNDS = 4


def isomorphism_classes(graphs: Any) -> Int64:
    """Return the number of the isomorphism class of each graph.

    Labels of nodes and edges and directions count, attributes do not. Graphs are sorted by the trees of their nodes, to
    depth 4, and those that agree in these are compared exactly by igraph or, if it is not installed, networkx. Two
    molecules are equal if their canonical SMILES are.

    Parameters
    ----------
    graphs : GraphCollection or anything that ``relaxwl.as_collection`` accepts
        The graphs.

    Returns
    -------
    int64 array (n_graphs,)
        The numbers, in the order in which the classes first occur.

    See Also
    --------
    relaxwl.molecules.duplicates : Copies of molecules.
    GenerationQuality : Shares of generated graphs that are unique and novel.

    Examples
    --------
    >>> path, star = [(0, 1), (1, 2), (2, 3)], [(0, 1), (0, 2), (0, 3)]
    >>> isomorphism_classes([(4, path), (4, star), (4, [(2, 0), (0, 3), (3, 1)])]).tolist()
    [0, 1, 0]
    """
    collection = as_collection(graphs)
    if isinstance(collection, MoleculeCollection) and None not in collection.sources:
        texts: dict[Any, int] = {}
        found = written(collection.molecules())
        return np.array([texts.setdefault(text, len(texts)) for text in found], np.int64)
    kernel = WeisfeilerLehman(N_ROUNDS, edge_labels=collection.edge_vocabulary is not None).fit(collection)
    colors = kernel.node_clusters(collection)[0][-1]
    classes = np.empty(len(collection), np.int64)
    known: dict[tuple[int, bytes], list[int]] = {}
    n_classes = 0
    # Graphs are compared with one of each class with the same trees, so equal graphs cost one comparison each.
    for place in range(len(collection)):
        own = colors[collection.offsets[place] : collection.offsets[place + 1]]
        # One graph of each class that has been seen with these trees.
        alike = known.setdefault((int(collection.edge_counts[place]), np.sort(own).tobytes()), [])
        equal = next((other for other in alike if _isomorphic(collection, colors, other, place)), None)
        if equal is None:
            alike.append(place)
            classes[place] = n_classes
            n_classes += 1
        else:
            classes[place] = classes[equal]
    return classes


def _isomorphic(graphs: GraphCollection, colors: Int32, first: int, second: int) -> bool:
    """Return whether two graphs with equal multisets of colors, which include labels, are isomorphic."""
    parts = [colors[graphs.offsets[place] : graphs.offsets[place + 1]] for place in (first, second)]
    a, b = graphs[first], graphs[second]
    if len(np.unique(parts[0])) == len(parts[0]):
        # All colors differ, so there is one candidate: the nodes of equal colors.
        images = np.argsort(parts[1], kind="stable")[np.argsort(np.argsort(parts[0], kind="stable"), kind="stable")]
        return _coded_edges(a, images) == _coded_edges(b, np.arange(b.n_nodes))
    try:
        import igraph
    except ImportError:
        return _isomorphic_in_networkx(a, b, parts)
    made = [igraph.Graph(one.n_nodes, one.edges.tolist(), directed=one.directed) for one in (a, b)]
    codes = [[one.edge_labels or [] for one in (a, b)]] if graphs.edge_vocabulary is not None else []
    numbers = {label: place for place, label in enumerate(graphs.edge_vocabulary or ())}
    edges = {f"edge_color{side + 1}": [numbers[label] for label in given] for given_ in codes
             for side, given in enumerate(given_)}  # fmt: skip
    return bool(made[0].isomorphic_vf2(made[1], color1=parts[0].tolist(), color2=parts[1].tolist(), **edges))


def _coded_edges(graph: Graph, images: Int64) -> set[tuple[Any, ...]]:
    """Return the edges between the images of nodes, with their labels."""
    ends = images[graph.edges]
    ends = ends if graph.directed else np.sort(ends, axis=1)
    labels = graph.edge_labels or [None] * len(ends)
    return {(*pair, label) for pair, label in zip(ends.tolist(), labels, strict=True)}


def _isomorphic_in_networkx(a: Graph, b: Graph, colors: list[Int32]) -> bool:
    try:
        import networkx as nx
    except ImportError:
        raise ImportError("comparing graphs exactly needs igraph or networkx: pip install igraph") from None
    made = []
    for graph, own in zip((a, b), colors, strict=True):
        one = nx.DiGraph() if graph.directed else nx.Graph()
        one.add_nodes_from((node, {"color": color}) for node, color in enumerate(own.tolist()))
        labels = graph.edge_labels or [None] * graph.n_edges
        one.add_edges_from((*pair, {"label": label}) for pair, label in zip(graph.edges.tolist(), labels, strict=True))
        made.append(one)
    return bool(nx.is_isomorphic(
        *made, lambda x, y: x["color"] == y["color"], lambda x, y: x["label"] == y["label"]
    ))  # fmt: skip


class GenerationQuality:
    """Validity, uniqueness and novelty of generated graphs.

    A graph is *unique* unless an equal one was generated before it, *novel* if no training graph is equal to it, and
    *valid* as a function of the user says. Equal means isomorphic; see :func:`isomorphism_classes`.

    Parameters
    ----------
    training : GraphCollection or anything that ``relaxwl.as_collection`` accepts
        The graphs from which a generator has learned.
    validity : callable, optional
        Takes a :class:`relaxwl.Graph` and returns whether it is valid.

    See Also
    --------
    relaxwl.GraphDiscrepancy : Distance of generated graphs from others.

    Examples
    --------
    >>> path, triangle, star = [(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2)], [(0, 1), (0, 2), (0, 3)]
    >>> quality = GenerationQuality([(3, path)], validity=lambda graph: graph.n_nodes == 3)
    >>> shares = quality.compute([(3, path), (3, triangle), (3, triangle), (4, star)])
    >>> shares["unique"], shares["novel"], shares["unique_novel"], shares["valid"]
    (0.75, 0.75, 0.5, 0.75)
    """

    def __init__(self, training: Any, validity: Callable[[Graph], bool] | None = None) -> None:
        self.training = as_collection(training)
        self.validity = validity

    def compute(self, generated: Any) -> dict[str, float]:
        """Return the shares of generated graphs that are unique, novel and, if it is known, valid, and combinations.

        Parameters
        ----------
        generated : GraphCollection or anything that ``relaxwl.as_collection`` accepts
            The generated graphs.

        Returns
        -------
        dict
            ``unique``, ``novel``, ``unique_novel`` and, with ``validity``, ``valid``, ``valid_unique``,
            ``valid_novel`` and ``valid_unique_novel``.
        """
        graphs = as_collection(generated)
        if not len(graphs):
            raise ParameterError("generated must have at least one graph")
        classes = isomorphism_classes(type(graphs).concatenate([self.training, graphs]))
        old, new = classes[: len(self.training)], classes[len(self.training) :]
        unique = np.zeros(len(graphs), bool)
        unique[np.unique(new, return_index=True)[1]] = True
        shares = {"unique": unique, "novel": ~np.isin(new, old)}
        shares["unique_novel"] = shares["unique"] & shares["novel"]
        if self.validity is not None:
            valid = np.array([bool(self.validity(graph)) for graph in graphs])
            shares = {**shares, "valid": valid, **{f"valid_{name}": valid & share for name, share in shares.items()}}
        return {name: float(share.mean()) for name, share in shares.items()}
