"""What stands at the roots and on the edges of trees, as codes with edit costs, also for graphs met later.

A *symbol* is what a vertex carries at the root of its tree: its label, the code of its attribute vector, or both. Codes
number the symbols met in fitting; symbols that come later get codes behind them.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np

from relaxwl._memory import refuse_beyond_memory
from relaxwl.costs import Codebook, EditCost
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.graphs.labels import Label, check_same_kind, match_codes
from relaxwl.unfolding.tree import UNLABELLED

Symbol = Label
# A matrix of costs is there several times while it is made and checked.
COPIES = 3


@dataclass(frozen=True)
class RootEncoding:
    """The symbols at the roots, in order, and how graphs are turned into their codes.

    Attributes
    ----------
    cost : EditCost
        Edit costs between symbols.
    labels : tuple or None
        Vertex labels in use, sorted; None for unlabelled graphs.
    codebook : Codebook or None
        Attribute codes, if the costs are those of attributes.
    symbols : tuple
        Labels; attribute codes; or pairs (label, attribute code).
    """

    cost: EditCost
    labels: tuple[Label, ...] | None
    codebook: Codebook | None
    symbols: tuple[Symbol, ...]

    @classmethod
    def fit(cls, graphs: GraphCollection, cost: EditCost, random_state: int = 0) -> "RootEncoding":
        """Take the symbols from these graphs."""
        used, _ = _in_use(graphs.node_codes, graphs.node_vocabulary)
        labels = used if graphs.is_labelled else None
        if not cost.uses_attributes:
            return cls(cost, labels, None, (UNLABELLED,) if labels is None else labels)
        book = cost.codebook(_attributes(graphs), random_state)
        if labels is None:
            return cls(cost, None, book, tuple(range(len(book))))
        pairs = np.unique(_pairs(graphs, labels, book)[0], axis=0)
        return cls(cost, labels, book, tuple((labels[label], code) for label, code in pairs.tolist()))

    def encode(self, graphs: GraphCollection, unseen: str = "relabel") -> tuple[Int32, Float64]:
        """Return a code for each vertex, and the costs between all codes in use and known, ⊥ last.

        With ``unseen="error"`` a symbol that was not met in fitting is refused; otherwise it is a new one, and the
        costs say how far it is from the known ones.
        """
        self._check_kind(graphs)
        codes, symbols = self._symbols_of(graphs)
        new = symbols[len(self.symbols) :]
        if new and unseen == "error":
            raise ValueError(f"unseen='error', and these graphs have labels that were not met in fitting: {new[:5]}")
        refuse_beyond_memory(
            COPIES * 8.0 * (len(symbols) + 1) ** 2,
            f"the costs between {len(symbols)} different labels or attribute vectors",
            "give EditCost.from_attributes a number of codes (n_codes), or use fewer graphs",
        )
        if self.codebook is None:
            return codes, self.cost.node_matrix(symbols)
        if self.labels is None:
            return codes, self.codebook.node_matrix()
        return codes, self.codebook.paired_matrix(symbols)  # type: ignore[arg-type]

    def _symbols_of(self, graphs: GraphCollection) -> tuple[Int32, tuple[Symbol, ...]]:
        """Return a code for each vertex and all symbols, the unknown ones last."""
        if self.codebook is None:
            used, compact = _in_use(graphs.node_codes, graphs.node_vocabulary)
            codes, symbols = _matched(used, self.symbols)
            return codes[compact], symbols
        if self.labels is None:
            return self.codebook.codes_of(_attributes(graphs)), self.symbols
        pairs, labels = _pairs(graphs, self.labels, self.codebook)
        distinct, inverse = np.unique(pairs, axis=0, return_inverse=True)
        used = tuple((labels[label], code) for label, code in distinct.tolist())
        codes, symbols = _matched(used, self.symbols)
        return np.asarray(codes[inverse.reshape(-1)], np.int32), symbols

    def _check_kind(self, graphs: GraphCollection) -> None:
        if graphs.n_nodes and graphs.is_labelled != (self.labels is not None):
            fitted, given = ("labelled", "unlabelled") if self.labels is not None else ("unlabelled", "labelled")
            raise ValueError(f"the kernel was fitted on {fitted} graphs, and these graphs are {given}")
        check_same_kind(graphs.node_vocabulary or (), self.labels or ())

    def tree_label(self, code: int) -> Label:
        """Return what to write at the root of a tree: the label, the attribute vector, or both as a pair."""
        symbol = self.symbols[code]
        if self.codebook is None:
            return symbol
        if self.labels is None:
            return _vector(self.codebook, cast(int, symbol))
        label, attribute_code = cast(tuple[Label, int], symbol)
        return (label, _vector(self.codebook, attribute_code))


@dataclass(frozen=True)
class EdgeEncoding:
    """The edge labels in use, in order; none if edge labels do not count."""

    cost: EditCost
    labels: tuple[Label, ...] | None

    @classmethod
    def fit(cls, graphs: GraphCollection, cost: EditCost, edge_labels: bool) -> "EdgeEncoding":
        """Take the edge labels from these graphs, if they count."""
        if not edge_labels:
            return cls(cost, None)
        check_edge_labels(graphs, edge_labels)
        if graphs.edge_codes is None:
            return cls(cost, ())
        return cls(cost, _in_use(graphs.edge_codes, graphs.edge_vocabulary)[0])

    @property
    def n_codes(self) -> int:
        """Number of edge codes; 1 if edge labels do not count."""
        return 1 if self.labels is None else len(self.labels)

    def encode(
        self, graphs: GraphCollection, node_costs: Float64, unseen: str = "relabel"
    ) -> tuple[Int32 | None, Float64 | None]:
        """Return a code for each adjacency entry and the costs between codes, ⊥ last; None twice if they do not count.

        ``node_costs`` are the costs between root codes, ⊥ last, which edge costs must fit.
        """
        if self.labels is None:
            return None, None
        check_edge_labels(graphs, True)
        if graphs.edge_codes is None:
            return np.empty(0, np.int32), self.cost.edge_matrix(self.labels, node_costs=node_costs)
        used, compact = _in_use(graphs.edge_codes, graphs.edge_vocabulary)
        check_same_kind(used, self.labels, "edge labels")
        codes, labels = _matched(used, self.labels)
        new = labels[len(self.labels) :]
        if new and unseen == "error":
            raise ValueError(
                f"unseen='error', and these graphs have edge labels that were not met in fitting: {new[:5]}"
            )
        return codes[compact], self.cost.edge_matrix(labels, node_costs=node_costs)


def check_edge_labels(graphs: GraphCollection, edge_labels: bool) -> None:
    """Refuse to use edge labels that are not there."""
    if edge_labels and graphs.edge_vocabulary is None and graphs.n_edges > 0:
        raise ValueError("edge_labels=True, but the graphs have no edge labels; use edge_labels=False")


def _in_use(codes: Int32, vocabulary: tuple[Label, ...] | None) -> tuple[tuple[Label, ...], Int32]:
    """Return the labels that occur, in vocabulary order, and codes into them: costs need not know the others."""
    used, compact = np.unique(codes, return_inverse=True)
    labels = tuple(UNLABELLED if vocabulary is None else vocabulary[code] for code in used.tolist())
    return labels, compact.astype(np.int32)


def _matched(used: tuple[Symbol, ...], known: tuple[Symbol, ...]) -> tuple[Int32, tuple[Symbol, ...]]:
    """Return the code of each used symbol, and the known symbols followed by the unknown ones."""
    codes = match_codes(used, known)
    return codes, (*known, *(symbol for symbol, code in zip(used, codes, strict=True) if code >= len(known)))


def _pairs(graphs: GraphCollection, labels: tuple[Label, ...], book: Codebook) -> tuple[Int32, tuple[Label, ...]]:
    """Return (label code, attribute code) for each vertex, and the labels, those beyond the given ones last."""
    used, compact = _in_use(graphs.node_codes, graphs.node_vocabulary)
    codes, all_labels = _matched(used, labels)
    return np.stack([codes[compact], book.codes_of(_attributes(graphs))], axis=1), all_labels


def _attributes(graphs: GraphCollection) -> Float64:
    if graphs.node_attributes is None:
        raise ValueError("cost measures vertex attributes, and these graphs have none")
    return graphs.node_attributes


def _vector(book: Codebook, code: int) -> Label:
    """Return an attribute vector, short enough to be written at a vertex."""
    return tuple(float(f"{value:.3g}") for value in book.centers[code])
