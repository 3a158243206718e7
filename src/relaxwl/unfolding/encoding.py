"""Codes of the roots and edges of trees, with edit costs between them, also for graphs that were not fitted.

The *symbol* of a node is its label, the code of its attribute vector, or the pair of both. Codes number the symbols
seen in fitting; unseen symbols get higher codes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, cast

import numpy as np

from relaxwl._memory import check_memory
from relaxwl.costs import EditCost
from relaxwl.costs.codebook import GAP, Codebook, Sketch, UniformCosts
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32
from relaxwl.graphs.labels import Label, check_same_kind, match_codes
from relaxwl.unfolding.tree import UNLABELED

Symbol = Label
# Number of copies of a cost matrix in memory while it is computed and checked.
COPIES = 3


@dataclass(frozen=True)
class RootEncoding:
    """The symbols at the roots, in order, and how graphs are turned into their codes.

    Attributes
    ----------
    cost : EditCost
        Edit costs between symbols.
    labels : tuple or None
        Node labels in use, sorted; None for unlabeled graphs.
    codebook : Codebook or None
        Attribute codes, if the costs are distances of attributes.
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
        vectors = Sketch.of(attributes_of(graphs), cost.missing) if cost.uses_attributes else None
        found = cls.of(used if graphs.is_labeled else None, cost, vectors, random_state)
        return found.with_symbols(found.symbols_of(graphs)[1]) if found.lacks_symbols else found

    @classmethod
    def of(
        cls, labels: tuple[Label, ...] | None, cost: EditCost, vectors: Sketch | None, random_state: int = 0
    ) -> "RootEncoding":
        """Use sorted labels and attribute vectors as symbols; :meth:`with_symbols` adds the pairs in use."""
        if vectors is None:
            return cls(cost, labels, None, (UNLABELED,) if labels is None else labels)
        cost = cost.fitted(vectors)
        book = cost.codebook(vectors, random_state)
        return cls(cost, labels, book, tuple(range(len(book))) if labels is None else ())

    @property
    def lacks_symbols(self) -> bool:
        """Whether the pairs in use are not known yet."""
        return self.codebook is not None and not self.symbols

    def with_symbols(self, used: Iterable[Symbol]) -> "RootEncoding":
        """Return the encoding with the pairs (label, attribute code) that are in use."""
        return replace(self, symbols=_sorted_pairs(used, self.labels or ()))

    def encode(self, graphs: GraphCollection, unseen: str = "relabel") -> tuple[Int32, Float64 | UniformCosts]:
        """Return a code for each node, and the costs between all known and new codes, ⊥ last.

        With ``unseen="error"`` a symbol that was not seen in fitting raises an error; otherwise it gets a new code
        and costs to the known symbols.
        """
        if graphs.n_nodes and graphs.is_labeled != (self.labels is not None):
            fitted, given = ("labeled", "unlabeled") if self.labels is not None else ("unlabeled", "labeled")
            raise ValueError(f"the kernel was fitted on {fitted} graphs, and these graphs are {given}")
        check_same_kind(graphs.node_vocabulary or (), self.labels or ())
        codes, symbols = self.symbols_of(graphs)
        new = symbols[len(self.symbols) :]
        if new and unseen == "error":
            raise ValueError(f"unseen='error', but some labels do not occur in the fitted graphs: {new[:5]}")
        return codes, self.costs(symbols)

    def costs(self, symbols: tuple[Symbol, ...]) -> Float64 | UniformCosts:
        """Return the costs between symbols, ⊥ last."""
        if self.codebook is None and (rule := self.cost.uniform_costs(len(symbols))) is not None:
            return rule
        check_memory(
            COPIES * 8.0 * (len(symbols) + 1) ** 2,
            f"the costs between {len(symbols)} different labels or attribute vectors",
            "give EditCost.from_attributes a number of codes (n_codes), or use fewer graphs",
        )
        if self.codebook is None:
            return self.cost.node_matrix(symbols)
        if self.labels is None:
            return self.codebook.node_matrix()
        return self.codebook.paired_matrix(symbols)  # type: ignore[arg-type]

    def symbols_of(self, graphs: GraphCollection) -> tuple[Int32, tuple[Symbol, ...]]:
        """Return a code for each node and all symbols, the unknown ones last."""
        if self.codebook is None:
            used, compact = _in_use(graphs.node_codes, graphs.node_vocabulary)
            codes, symbols = _matched(used, self.symbols)
            return codes[compact], symbols
        if self.labels is None:
            return self.codebook.codes_of(attributes_of(graphs)), self.symbols
        used, compact = _in_use(graphs.node_codes, graphs.node_vocabulary)
        codes, labels = _matched(used, self.labels)
        used, compact = _paired(codes[compact], labels, self.codebook.codes_of(attributes_of(graphs)))
        codes, symbols = _matched(used, self.symbols)
        return codes[compact], symbols

    def tree_label(self, code: int) -> Label:
        """Return the label at the root of a tree: a label, an attribute vector, or the pair of both."""
        symbol = self.symbols[code]
        return symbol if self.codebook is None else _named(symbol, self.codebook, self.labels is not None)


@dataclass(frozen=True)
class EdgeEncoding:
    """The symbols on the edges to children, in order; none if edges are not used.

    Attributes
    ----------
    cost : EditCost
        Edit costs between edges.
    labels : tuple or None
        The symbols in use: edge labels (with directions, as ``GraphCollection.seen`` writes them), codes of attribute
        vectors, or pairs (label, code); None if edges are not used.
    codebook : Codebook or None
        Attribute codes, if the costs are those of edge attributes.
    labeled : bool
        Whether symbols contain labels.
    """

    cost: EditCost
    labels: tuple[Symbol, ...] | None
    codebook: Codebook | None = None
    labeled: bool = True

    @classmethod
    def fit(cls, graphs: GraphCollection, cost: EditCost, edge_labels: bool, random_state: int = 0) -> "EdgeEncoding":
        """Take the symbols from these graphs, as they are traversed; labels only if ``edge_labels``."""
        codes = np.empty(0, np.int32)
        if cost.uses_edge_attributes and not graphs.n_edges:
            raise ValueError("cost measures edge attributes (edge_metric), and none of these graphs has an edge")
        vectors = Sketch.of(edge_attributes_of(graphs), cost.missing) if cost.uses_edge_attributes else None
        if vectors is None and edge_labels:
            check_edge_labels(graphs, edge_labels)
            codes = codes if graphs.edge_codes is None else np.unique(graphs.edge_codes)
        found = cls.of(codes, graphs.edge_vocabulary, cost, edge_labels, vectors, random_state)
        if not found.lacks_symbols:
            return found
        return found.with_symbols(found.symbols_of(graphs)[1], graphs.edge_vocabulary)

    @classmethod
    def of(
        cls,
        codes: Int32,
        vocabulary: tuple[Label, ...] | None,
        cost: EditCost,
        edge_labels: bool,
        vectors: Sketch | None,
        random_state: int = 0,
    ) -> "EdgeEncoding":
        """Use label codes and attribute vectors as symbols; see :meth:`with_symbols`."""
        if vectors is not None:
            cost = cost.fitted(edge_vectors=vectors)
            return cls(cost, (), cost.edge_codebook(vectors, random_state), labeled=edge_labels)
        if not edge_labels:
            return cls(cost, None)
        return cls(cost, () if vocabulary is None else tuple(vocabulary[code] for code in codes.tolist()))

    @property
    def lacks_symbols(self) -> bool:
        """Whether the attribute codes in use are not known yet."""
        return self.codebook is not None and not self.labels

    def with_symbols(self, used: Iterable[Symbol], vocabulary: tuple[Label, ...] | None) -> "EdgeEncoding":
        """Return the encoding with the attribute codes, or pairs (label, code), that are in use."""
        symbols = _sorted_pairs(used, vocabulary or ()) if self.labeled else tuple(sorted(cast(set[int], set(used))))
        return replace(self, labels=symbols)

    @property
    def n_codes(self) -> int:
        """Number of edge codes; 1 if edges are not used."""
        return 1 if self.labels is None else len(self.labels)

    @property
    def names(self) -> tuple[Label, ...] | None:
        """The name of each edge code in trees: a label, a vector, or the pair of both."""
        return None if self.labels is None else self._named(self.labels)

    def codes_and_names(self, graphs: GraphCollection) -> tuple[Int32, tuple[Label, ...]]:
        """Return a code for each adjacency entry, and the names of all codes, unknown ones last."""
        codes, symbols = self.symbols_of(graphs)
        return codes, self._named(symbols)

    def encode(
        self, graphs: GraphCollection, node_costs: Float64 | UniformCosts, unseen: str = "relabel"
    ) -> tuple[Int32 | None, Float64 | None]:
        """Return a code for each adjacency entry and the costs between codes, ⊥ last; both None if edges are not used.

        ``node_costs`` are the costs between root codes, ⊥ last, with which edge costs must be compatible.
        """
        if self.labels is None:
            return None, None
        codes, symbols = self.symbols_of(graphs)
        new = symbols[len(self.labels) :]
        if new and unseen == "error":
            raise ValueError(f"unseen='error', but some edge labels do not occur in the fitted graphs: {new[:5]}")
        return codes, self.costs(symbols, node_costs)

    def costs(self, symbols: tuple[Symbol, ...], node_costs: Float64 | UniformCosts) -> Float64:
        """Return the costs between symbols, ⊥ last, which must be compatible with those of nodes."""
        known_costs = None if isinstance(node_costs, UniformCosts) else node_costs
        return self.cost.edge_matrix(self._named(symbols, digits=None), node_costs=known_costs)

    def symbols_of(self, graphs: GraphCollection) -> tuple[Int32, tuple[Symbol, ...]]:
        """Return a code for each adjacency entry and all symbols, the unknown ones last."""
        known = self.labels or ()
        used: tuple[Symbol, ...] = ()
        compact = np.empty(0, np.int32)
        if self.labeled:
            check_edge_labels(graphs, True)
            if graphs.edge_codes is None:
                return compact, known
            used, compact = _in_use(graphs.edge_codes, graphs.edge_vocabulary)
            if self.codebook is None:
                check_same_kind(used, known, "edge labels")
        if self.codebook is not None:
            attribute_codes = self.codebook.codes_of(edge_attributes_of(graphs))
            if self.labeled:
                used, compact = _paired(compact, used, attribute_codes)
            else:
                used, compact = _in_use(attribute_codes, tuple(range(len(self.codebook))))
        codes, symbols = _matched(used, known)
        return codes[compact], symbols

    def _named(self, symbols: tuple[Symbol, ...], digits: int | None = 3) -> tuple[Label, ...]:
        if self.codebook is None:
            return symbols
        return tuple(_named(symbol, self.codebook, self.labeled, digits) for symbol in symbols)


def check_edge_labels(graphs: GraphCollection, edge_labels: bool) -> None:
    """Raise an error if edge labels are used but missing."""
    if edge_labels and graphs.edge_vocabulary is None and graphs.n_edges > 0:
        raise ValueError("edge_labels=True, but the graphs have no edge labels; use edge_labels=False")


def _in_use(codes: Int32, vocabulary: tuple[Label, ...] | None) -> tuple[tuple[Label, ...], Int32]:
    """Return the labels in use, in vocabulary order, and codes into them; unused labels need no costs."""
    used, compact = np.unique(codes, return_inverse=True)
    labels = tuple(UNLABELED if vocabulary is None else vocabulary[code] for code in used.tolist())
    return labels, compact.astype(np.int32)


def _sorted_pairs(used: Iterable[Symbol], labels: tuple[Label, ...]) -> tuple[Symbol, ...]:
    """Return pairs (label, code) in the order of the labels."""
    place = {label: number for number, label in enumerate(labels)}
    pairs = cast(Iterable[tuple[Label, int]], set(used))
    return tuple(sorted(pairs, key=lambda pair: (place[pair[0]], pair[1])))


def _matched(used: tuple[Symbol, ...], known: tuple[Symbol, ...]) -> tuple[Int32, tuple[Symbol, ...]]:
    """Return the code of each used symbol, and the known symbols followed by the unknown ones."""
    codes = match_codes(used, known)
    return codes, (*known, *(symbol for symbol, code in zip(used, codes, strict=True) if code >= len(known)))


def _paired(label_codes: Int32, labels: tuple[Label, ...], codes: Int32) -> tuple[tuple[Symbol, ...], Int32]:
    """Return the distinct pairs (label, attribute code), and which of them each node or edge has."""
    distinct, inverse = np.unique(np.stack([label_codes, codes], axis=1), axis=0, return_inverse=True)
    return tuple((labels[label], code) for label, code in distinct.tolist()), inverse.reshape(-1).astype(np.int32)


def attributes_of(graphs: GraphCollection) -> Float64:
    """Return the attribute vectors of nodes; raise an error if there are none."""
    if graphs.node_attributes is None:
        raise ValueError("cost measures node attributes, and these graphs have none")
    return graphs.node_attributes


def edge_attributes_of(graphs: GraphCollection) -> Float64:
    """Return the attribute vectors of adjacency entries; raise an error if edges have none."""
    if graphs.edge_attributes is None:
        if graphs.n_edges:
            raise ValueError("cost measures edge attributes, and these graphs have none")
        return np.zeros((0, 1))
    return graphs.edge_attributes


def _named(symbol: Any, book: Codebook, paired: bool, digits: int | None = 3) -> Label:
    """Return an attribute code, or a pair (label, code), with the vector of the code rounded to ``digits``."""
    if paired:
        return symbol[0], _named(symbol[1], book, False, digits)
    values = book.centers[symbol].tolist()
    return tuple(GAP if isnan(v) else v if digits is None else float(f"{v:.{digits}g}") for v in values)
