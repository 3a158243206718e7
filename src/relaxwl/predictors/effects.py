"""Effects of nodes, and of clusters of nodes, on a prediction: its change when their counts are removed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from relaxwl import drawing
from relaxwl.graphs import Graph
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.unfolding.tree import UnfoldingTree

# Number of clusters that are shown beside a picture, and maximum number of nodes of their trees.
N_SHOWN, N_TREE_NODES = 4, 14
# Maximum number of nodes that are drawn; larger graphs are cut around the nodes with the strongest effects.
MAX_DRAWN_NODES = 300
# Share of the strongest effect below which effects are not colored.
LEAST_SHARE = 0.05


@dataclass(frozen=True)
class ClusterEffect:
    """The effect of a cluster of similar nodes on a prediction.

    Attributes
    ----------
    nodes : tuple of int
        The nodes of the graph that are in the cluster.
    tree : UnfoldingTree or None
        The center of the cluster, a tree similar to the neighborhoods of these nodes. None for clusters of vectors.
    depth : int
        Depth of the tree, or number of times that vectors were averaged over neighbors.
    effect : float
        Decrease of the value when the counts of the cluster are removed, summed over the partitions of all kernels with
        a cluster of exactly these nodes.
    text : str
        The center of a cluster of vectors in words, such as "degree 12, 30 triangles, core 5"; else empty.
    """

    nodes: tuple[int, ...]
    tree: UnfoldingTree | None = field(repr=False)
    depth: int
    effect: float
    text: str = ""


@dataclass(frozen=True)
class ColumnEffect:
    """The effect of a descriptor of a molecule on a prediction.

    Attributes
    ----------
    name : str
        Name of the descriptor.
    deviation : float
        Its value, in standard deviations from the mean of the training molecules.
    effect : float
        Decrease of the value when the descriptor is set to its mean.
    """

    name: str
    deviation: float
    effect: float


@dataclass(frozen=True)
class NodeEffects:
    """The effect of each node of a graph, or atom of a molecule, on a prediction.

    The method ``explain`` of predictors returns one for each object.

    Attributes
    ----------
    graph : Graph
        The graph.
    prediction : object
        The predicted class or number.
    value : float
        The decision value of the predicted class (its margin over the other classes), or the predicted number.
    effects : float64 array (n_nodes,)
        Decrease of ``value`` when the counts of the node are removed: those of its neighborhoods and, with shortest
        paths, of the pairs with the node at one end. Neighborhoods of other nodes that contain it are unchanged.
        Descriptors of molecules are computed with a dummy atom in place of the atom.
    adds_up : bool
        Whether effects add up to ``value`` minus ``rest``. This holds for linear models (of many graphs), where the
        effect of a node is its term of the sum. Kernels that are normalized or compare counts by minima are not sums
        over nodes, so **their effects do not add up**.
    molecule : rdkit.Chem.Mol or None
        The molecule.

    See Also
    --------
    relaxwl.GraphClassifier.explain : Compute the effects for graphs.
    relaxwl.reports.write_effects : Write them to an HTML page.

    Examples
    --------
    >>> from relaxwl import GraphRegressor
    >>> from relaxwl.datasets import make_egonets
    >>> graphs, _ = make_egonets(20, level=1, random_state=0)
    >>> model = GraphRegressor(effort="quick", random_state=0).fit(graphs, graphs.edge_counts)
    >>> effects = model.explain(graphs[:1])[0]
    >>> effects.effects.shape == (graphs[0].n_nodes,), effects.strongest(3).shape
    (True, (3,))
    """

    graph: Graph = field(repr=False)
    prediction: Any
    value: float
    effects: Float64
    adds_up: bool = False
    molecule: Any = field(default=None, repr=False)
    _find_clusters: Callable[[], list[ClusterEffect]] | None = field(default=None, repr=False)
    _find_columns: Callable[[], list[ColumnEffect]] | None = field(default=None, repr=False)

    @property
    def rest(self) -> float:
        """The value minus the sum of all effects; if effects add up, the value of a graph without nodes."""
        return self.value - float(self.effects.sum())

    def strongest(self, k: int = 5) -> Int64:
        """Return the nodes with the largest absolute effects, largest first.

        Parameters
        ----------
        k : int, default=5
            Maximum number of nodes.

        Returns
        -------
        int64 array (k,)
            The nodes.
        """
        return np.argsort(-np.abs(self.effects), kind="stable")[:k]

    def clusters(self, k: int = N_SHOWN) -> list[ClusterEffect]:
        """Return the ``k`` clusters of the graph kernels with the largest absolute effects, largest first.

        The list is empty if the prediction does not use graph kernels.

        Parameters
        ----------
        k : int, default=4
            Maximum number of clusters.

        Returns
        -------
        list of ClusterEffect
            The clusters.
        """
        return [] if self._find_clusters is None else self._find_clusters()[:k]

    def columns(self, k: int = N_SHOWN) -> list[ColumnEffect]:
        """Return the ``k`` descriptors with the largest absolute effects, largest first.

        The list is empty if the prediction does not use descriptors.

        Parameters
        ----------
        k : int, default=4
            Maximum number of descriptors.

        Returns
        -------
        list of ColumnEffect
            The descriptors.
        """
        return [] if self._find_columns is None else self._find_columns()[:k]

    def to_svg(
        self, title: str | None = None, strongest: float | None = None, node_names: Sequence[str] | None = None
    ) -> str:
        """Draw the graph, or the molecule, each node in the color of its effect: orange raises ``value``, blue lowers.

        Parameters
        ----------
        title : str, optional
            Text for screen readers.
        strongest : float, optional
            The effect with the strongest color; by default the largest of this graph.
        node_names : sequence of str, optional
            Names that are drawn into the nodes of a graph without labels, where they fit.

        Returns
        -------
        str
            The picture.
        """
        return self._picture(self.effects, strongest, title, node_names)

    def to_html(self, k: int = N_SHOWN) -> str:
        """Draw the graph beside the clusters with the largest effects: their nodes, and their centers as trees.

        Parameters
        ----------
        k : int, default=4
            Maximum number of clusters.

        Returns
        -------
        str
            A fragment of HTML.
        """
        value = f"{self.value:.3g}"
        predicted = value if isinstance(self.prediction, float) else f"{self.prediction} (decision value {value})"
        said = f"prediction: {predicted}; orange raises it, blue lowers it"
        whole = f'<figure style="margin:0">{self.to_svg()}<figcaption>{escape(said)}</figcaption></figure>'
        style = "display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start;font:13px sans-serif"
        return f'<div style="{style}">{whole}{"".join(self.cluster_figures(k))}</div>'

    _repr_html_ = to_html

    def cluster_figures(self, k: int = N_SHOWN, least: float = 0.0) -> list[str]:
        """Return a picture of each of the strongest clusters: its nodes, and its center as a tree or in words.

        Parameters
        ----------
        k : int, default=4
            Maximum number of clusters.
        least : float, default=0.0
            Clusters with effects up to this size are left out.

        Returns
        -------
        list of str
            A fragment of HTML for each cluster.
        """
        figures = []
        for one in (cluster for cluster in self.clusters(k) if abs(cluster.effect) > least):
            lit = np.zeros(len(self.effects))
            lit[list(one.nodes)] = np.sign(one.effect)
            verb = "raises" if one.effect > 0 else "lowers"
            center = f"<p>{escape(one.text)}</p>" if one.tree is None else one.tree.to_svg(N_TREE_NODES, collapse=True)
            if self.graph.node_labels is None:  # then all labels in trees are 0
                center = center.replace(">0</text>", "></text>")
            figures.append(
                f'<figure style="margin:0">{self._picture(lit, 1.0)}{center}'
                f"<figcaption>{verb} the value by {abs(one.effect):.2g} (depth {one.depth})</figcaption></figure>"
            )
        return figures

    def _picture(
        self,
        effects: Float64,
        strongest: float | None,
        title: str | None = None,
        node_names: Sequence[str] | None = None,
    ) -> str:
        largest = strongest or float(np.abs(effects).max(initial=0.0)) or 1.0
        if self.molecule is not None:
            # Without the XML declaration, which only a file needs.
            return drawing.molecule_svg(self.molecule, effects, strongest=largest).partition("?>")[2]
        strong = np.flatnonzero(np.abs(effects) > LEAST_SHARE * largest)
        lit = strong[np.argsort(-np.abs(effects[strong]), kind="stable")][: MAX_DRAWN_NODES // 2]
        return drawing.graph_svg(
            self.graph.n_nodes,
            [(a, b) for a, b in self.graph.edges.tolist()],
            labels=node_names if self.graph.node_labels is None else [str(label) for label in self.graph.node_labels],
            highlight={int(node): float(np.clip(effects[node] / largest, -1, 1)) for node in np.sort(lit)},
            max_nodes=MAX_DRAWN_NODES,
            title=title,
            embed_style=title is None,
        )


def merged_clusters(effects: Iterable[ClusterEffect]) -> list[ClusterEffect]:
    """Sum the effects of the same nodes at the same depth; the first tree represents all."""
    merged: dict[tuple[int, tuple[int, ...]], ClusterEffect] = {}
    for one in effects:
        known = merged.get((one.depth, one.nodes))
        merged[one.depth, one.nodes] = one if known is None else replace(known, effect=known.effect + one.effect)
    return sorted(merged.values(), key=lambda one: (-abs(one.effect), one.depth, one.nodes))
