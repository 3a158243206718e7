"""Collections of graphs as one immutable adjacency structure.

All graphs of a collection lie in one CSR adjacency with global node numbers; a graph is a span of them.
Labels are integer codes into a vocabulary that is sorted by label *value*: codes do not depend on the order in
which labels occur, so results do not change if nodes are permuted or the data are split differently.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from relaxwl._progress import html_table
from relaxwl._validation import as_floats, check_choice, check_flag, counted, is_integer
from relaxwl.graphs.arrays import Float64, Int32, Int64, expand_spans, prefix_sums
from relaxwl.graphs.building import (
    DIRECTIONS,
    CollectionBuilder,
    GraphError,
    adjacency_arcs,
    as_list,
    as_names,
    assemble,
    both_ways,
    check_node_count,
    check_safe,
    checked_names,
    common_direction,
    common_names,
    directed_symbol,
    join_labels,
    join_vectors,
    named_columns,
    reversed_arcs,
    without_gaps,
)
from relaxwl.graphs.labels import Label, Vocabulary, match_codes, sort_labels

if TYPE_CHECKING:
    import networkx

# Maximum number of graphs, and of labels of each, that are shown in a notebook.
N_SHOWN = 8


class GraphCollection(Sequence["Graph"]):
    """Immutable graphs, all undirected or all directed, with optional node and edge labels and attributes.

    Create collections with ``relaxwl.as_collection``, ``relaxwl.datasets.load_tu``, :meth:`from_edges`,
    :meth:`from_networkx` or :meth:`from_adjacency`. The constructor is for code that already has a valid adjacency: it
    checks that indices are within bounds and nothing else.

    Parameters
    ----------
    offsets : int array, shape (n_graphs + 1,)
        Graph ``g`` has the nodes ``offsets[g]`` to ``offsets[g + 1] - 1``.
    indptr, indices : int arrays, shapes (n_nodes + 1,) and (n_adjacent,)
        CSR adjacency over global node numbers: ascending neighbors, no self-loops, no repetitions. Symmetric if the
        graphs are undirected; otherwise the neighbors of a node are the heads of its outgoing arcs.
    directed : bool, default=False
        Whether the graphs are directed.
    node_codes : int array, shape (n_nodes,), optional
        Codes into ``node_vocabulary``; absent for unlabeled graphs, whose nodes all have code 0.
    node_vocabulary : tuple, optional
        Label values in sorted order, or None for unlabeled graphs.
    edge_codes, edge_vocabulary : optional
        The same for edges, one code for each adjacency entry (both directions of an undirected edge carry its code).
    node_attributes, edge_attributes : float arrays, optional
        Shapes (n_nodes, d) and (n_adjacent, d).
    given : iterable of str, default=()
        Labels and attributes that were read from user objects (``node_labels``, ``edge_attributes`` and so on), so that
        a kernel can warn about those it ignores. Not used in comparisons.
    names : sequence of str, optional
        The name of each graph. Not used in comparisons.

    See Also
    --------
    relaxwl.as_collection : Convert graphs of other libraries.
    relaxwl.datasets.load_tu : Read a data set.

    Examples
    --------
    >>> graphs = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["C", "N", "C"]), (1, [], ["O"])])
    >>> graphs
    GraphCollection(2 graphs, 4 nodes, 2 edges, 3 node labels)
    >>> graphs[0].neighbors(1)
    array([0, 2], dtype=int32)
    """

    __slots__ = (
        "directed", "edge_attributes", "edge_codes", "edge_vocabulary", "given", "indices", "indptr", "names",
        "node_attributes", "node_codes", "node_vocabulary", "offsets",
    )  # fmt: skip

    offsets: Int64
    indptr: Int64
    indices: Int32
    directed: bool
    given: frozenset[str]
    names: tuple[str, ...] | None
    node_codes: Int32
    node_vocabulary: Vocabulary | None
    edge_codes: Int32 | None
    edge_vocabulary: Vocabulary | None
    node_attributes: Float64 | None
    edge_attributes: Float64 | None

    def __init__(
        self,
        offsets: ArrayLike,
        indptr: ArrayLike,
        indices: ArrayLike,
        *,
        directed: bool = False,
        node_codes: ArrayLike | None = None,
        node_vocabulary: Vocabulary | None = None,
        edge_codes: ArrayLike | None = None,
        edge_vocabulary: Vocabulary | None = None,
        node_attributes: ArrayLike | None = None,
        edge_attributes: ArrayLike | None = None,
        given: Iterable[str] = (),
        names: Sequence[str] | None = None,
    ) -> None:
        n_nodes = len(np.asarray(indptr)) - 1
        if node_codes is None:
            node_codes = np.zeros(n_nodes, np.int32)
        values: dict[str, Any] = {
            "directed": check_flag("directed", directed),
            "given": frozenset(given),
            "names": None if names is None else checked_names(names, len(np.asarray(offsets)) - 1),
            "offsets": _frozen(offsets, np.int64),
            "indptr": _frozen(indptr, np.int64),
            "indices": _frozen(indices, np.int32),
            "node_codes": _frozen(node_codes, np.int32),
            "node_vocabulary": node_vocabulary,
            "edge_codes": _frozen(edge_codes, np.int32),
            "edge_vocabulary": edge_vocabulary,
            "node_attributes": _frozen(node_attributes, np.float64),
            "edge_attributes": _frozen(edge_attributes, np.float64),
        }
        check_safe(values)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a GraphCollection is immutable; make a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a GraphCollection is immutable; make a new one")

    # ------------------------------------------------------------------------------------------------ sizes

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return len(self.offsets) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Number of edges (arcs, if directed) of all graphs together."""
        return len(self.indices) // self._entries_per_edge

    @property
    def _entries_per_edge(self) -> int:
        return 1 if self.directed else 2

    @property
    def shape(self) -> tuple[int]:
        """``(n_graphs,)``: lets scikit-learn index a collection as a whole instead of graph by graph."""
        return (self.n_graphs,)

    @property
    def node_counts(self) -> Int64:
        """Number of nodes of each graph."""
        return np.diff(self.offsets)

    @property
    def edge_counts(self) -> Int64:
        """Number of edges of each graph."""
        return np.diff(self.indptr[self.offsets]) // self._entries_per_edge

    @property
    def degrees(self) -> Int64:
        """Degree of each node; in directed graphs, the number of outgoing arcs."""
        return np.diff(self.indptr)

    @property
    def graph_of_node(self) -> Int64:
        """Index of the graph that each node belongs to."""
        return np.repeat(np.arange(self.n_graphs), self.node_counts)

    @property
    def is_labeled(self) -> bool:
        """Whether the nodes carry labels."""
        return self.node_vocabulary is not None

    def __len__(self) -> int:
        return self.n_graphs

    def __repr__(self) -> str:
        parts = [counted(self.n_graphs, "graph"), counted(self.n_nodes, "node"), counted(self.n_edges, "edge")]
        vocabularies = {"node": self.node_vocabulary, "edge": self.edge_vocabulary}
        attributes = {"node": self.node_attributes, "edge": self.edge_attributes}
        parts += [counted(len(labels), f"{kind} label") for kind, labels in vocabularies.items() if labels is not None]
        parts += [counted(rows.shape[1], f"{kind} attribute") for kind, rows in attributes.items() if rows is not None]
        if self.directed:
            parts.append("directed")
        return f"GraphCollection({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Show the first graphs as a table in a notebook."""
        heads, rows = ["graph", "nodes", "edges", *(["node labels"] if self.node_vocabulary else [])], []
        for graph, name in zip(self[:N_SHOWN], self.names or range(self.n_graphs), strict=False):
            labels = sort_labels(graph.node_labels or ())[:N_SHOWN]
            rows.append([name, graph.n_nodes, graph.n_edges, ", ".join(map(str, labels))][: len(heads)])
        more = f"<p>{counted(self.n_graphs - N_SHOWN, 'more graph')}</p>" if self.n_graphs > N_SHOWN else ""
        return f"<p>{escape(repr(self))}</p>{html_table(heads, rows)}{more}"

    # --------------------------------------------------------------------------------------------- indexing

    @overload
    def __getitem__(self, key: int) -> "Graph": ...
    @overload
    def __getitem__(self, key: slice | Sequence[Any] | NDArray[Any] | tuple[Any, ...]) -> "GraphCollection": ...
    def __getitem__(self, key: Any) -> "Graph | GraphCollection":
        if isinstance(key, tuple):  # scikit-learn asks for X[index, ...]
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("a GraphCollection has one axis: use graphs[i], a slice, an index array or a mask")
            key = key[0]
        if is_integer(key):
            index = int(key) + (self.n_graphs if key < 0 else 0)
            if not 0 <= index < self.n_graphs:
                raise IndexError(f"graph index {int(key)} is out of range for {counted(self.n_graphs, 'graph')}")
            return Graph(self, index)
        graphs = np.arange(self.n_graphs)[key] if isinstance(key, slice) else np.asarray(key)
        if graphs.dtype == bool:
            if graphs.shape != self.shape:
                raise IndexError(f"the mask has shape {graphs.shape}, but there are {self.n_graphs} graphs")
            graphs = np.flatnonzero(graphs)
        if graphs.size and (graphs.ndim != 1 or graphs.dtype.kind not in "iu"):
            raise IndexError("graphs are chosen by an integer, a slice, integers or a boolean mask")
        graphs = graphs.reshape(-1).astype(np.int64)
        if graphs.size and (graphs.min() < -self.n_graphs or graphs.max() >= self.n_graphs):
            raise IndexError(f"graph indices must lie in 0..{self.n_graphs - 1}")
        return self._take(np.where(graphs < 0, graphs + self.n_graphs, graphs))

    def _take(self, graphs: Int64) -> "GraphCollection":
        # Only the chosen graphs are read, so that taking one graph of a huge collection is fast.
        starts = self.offsets[graphs]
        counts = self.offsets[graphs + 1] - starts
        offsets = prefix_sums(counts)
        check_node_count(int(offsets[-1]))
        nodes = expand_spans(starts, counts)
        degrees = self.indptr[nodes + 1] - self.indptr[nodes]
        entries = expand_spans(self.indptr[nodes], degrees)
        shift = np.repeat(offsets[:-1] - starts, counts)
        return GraphCollection(
            offsets,
            prefix_sums(degrees),
            self.indices[entries] + np.repeat(shift, degrees),
            directed=self.directed,
            given=self.given,
            names=None if self.names is None else [self.names[graph] for graph in graphs.tolist()],
            node_vocabulary=self.node_vocabulary,
            edge_vocabulary=self.edge_vocabulary,
            **self._carried("node", nodes),
            **self._carried("edge", entries),
        )

    def _carried(self, kind: str, places: Int64) -> dict[str, Any]:
        """Return the codes and attributes of some nodes or adjacency entries."""
        names = (f"{kind}_codes", f"{kind}_attributes")
        return {name: None if getattr(self, name) is None else getattr(self, name)[places] for name in names}

    def __iter__(self) -> Iterator["Graph"]:
        return (Graph(self, index) for index in range(self.n_graphs))

    # ------------------------------------------------------------------------------------- joining, comparing

    @classmethod
    def concatenate(cls, collections: Iterable["GraphCollection"]) -> "GraphCollection":
        """Concatenate collections; labels are matched by value.

        All parts must have the same kinds of labels and attributes, the same number of attributes and the same
        direction. Names are kept if all graphs have them. ``a + b`` concatenates two collections.

        Parameters
        ----------
        collections : iterable of GraphCollection
            The parts.

        Returns
        -------
        GraphCollection
            All graphs, part by part.

        Examples
        --------
        >>> one = GraphCollection.from_edges([(2, [(0, 1)])])
        >>> one + one
        GraphCollection(2 graphs, 4 nodes, 2 edges)
        """
        parts = list(collections)
        if not parts:
            return cls([0], [0], [])
        directions = {part.directed for part in parts if part.n_graphs} or {parts[0].directed}
        if len(directions) > 1:
            raise ValueError("some collections are directed and some are not: they cannot be joined")
        node_starts = prefix_sums(np.array([part.n_nodes for part in parts]))
        check_node_count(int(node_starts[-1]))
        entry_starts = prefix_sums(np.array([len(part.indices) for part in parts]))
        pairs = list(zip(parts, node_starts, entry_starts, strict=False))
        named = all(part.names is not None for part in parts if part.n_graphs)
        return cls(
            np.concatenate([[0], *(part.offsets[1:] + start for part, start, _ in pairs)]),
            np.concatenate([[0], *(part.indptr[1:] + start for part, _, start in pairs)]),
            np.concatenate([part.indices + start for part, start, _ in pairs]),
            directed=directions.pop(),
            given=frozenset().union(*(part.given for part in parts)),
            names=[name for part in parts for name in part.names or ()] if named else None,
            **_joined(parts, "node"),
            **_joined(parts, "edge"),
        )

    def __add__(self, other: object) -> "GraphCollection":
        if not isinstance(other, GraphCollection):
            return NotImplemented
        return self.concatenate([self, other])

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same graphs in the same order, with labels compared by value."""
        if not isinstance(other, GraphCollection):
            return NotImplemented
        return self is other or self.fingerprint() == other.fingerprint()

    __hash__ = None  # type: ignore[assignment]

    def fingerprint(self) -> str:
        """Return a SHA-256 of the content; equal collections have equal fingerprints.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        digest = hashlib.sha256(b"directed|" if self.directed else b"")
        for array in (self.offsets, self.indptr, self.indices):
            digest.update(array.tobytes() + b"|")
        for attributes in (self.node_attributes, self.edge_attributes):
            # Adding 0 turns -0.0 into 0.0: the two are equal, so their bytes must be.
            digest.update(b"none|" if attributes is None else (attributes + 0.0).tobytes() + b"|")
        for codes, vocabulary in ((self.node_codes, self.node_vocabulary), (self.edge_codes, self.edge_vocabulary)):
            if codes is None or vocabulary is None:
                digest.update(b"unlabeled|")
                continue
            used, compact = np.unique(codes, return_inverse=True)
            digest.update(json.dumps([repr(vocabulary[code]) for code in used]).encode())
            digest.update(compact.astype(np.int32).tobytes())
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._parts()), ()

    def _parts(self) -> dict[str, Any]:
        """Return the arguments that make an equal collection of the same class."""
        return {name: getattr(self, name) for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ())}

    def with_parts(self, **parts: Any) -> Self:
        """Return a copy with other parts, without checking them.

        Parameters
        ----------
        **parts
            Arguments of the constructor to be replaced.

        Returns
        -------
        GraphCollection
            The graphs.
        """
        return type(self)(**self._parts() | parts)

    def with_names(self, names: Sequence[str] | None) -> Self:
        """Return the same graphs with other names.

        Parameters
        ----------
        names : sequence of str or None
            A name for each graph; None removes the names.

        Returns
        -------
        GraphCollection
            The graphs.

        Examples
        --------
        >>> graphs = GraphCollection.from_edges([(2, [(0, 1)]), (1, [])]).with_names(["pair", "single"])
        >>> graphs[1:].names, graphs[0].name
        (('single',), 'pair')
        """
        return self.with_parts(names=names)

    # --------------------------------------------------------------------------------------------- directions

    def to_undirected(self) -> "GraphCollection":
        """Return the graphs without directions.

        Returns
        -------
        GraphCollection
            Undirected graphs. Opposite arcs, whose labels and attributes must be equal, become one edge.
        """
        if not self.directed:
            return self
        sources = np.repeat(np.arange(self.n_nodes), self.degrees)
        edges = np.column_stack([sources, self.indices]).astype(np.int64)
        arguments = assemble(self.offsets, edges, edge_labels=self.edge_codes, edge_attributes=self.edge_attributes)
        arguments |= {"node_codes": self.node_codes, "node_vocabulary": self.node_vocabulary, "names": self.names}
        if self.edge_vocabulary is not None:
            used = [] if self.edge_codes is None else np.unique(self.edge_codes).tolist()
            arguments["edge_vocabulary"] = tuple(self.edge_vocabulary[code] for code in used)
        return GraphCollection(**{**arguments, "node_attributes": self.node_attributes, "given": self.given})

    def seen(self, directions: str = "both", *, edge_labels: bool = False) -> "GraphCollection":
        """Return the graphs as used by unfolding trees: neighbors are children.

        Parameters
        ----------
        directions : {"both", "out", "in"}, default="both"
            For directed graphs: ``"out"`` follows outgoing arcs, ``"in"`` incoming arcs. With ``"both"`` every arc is
            an edge at both of its ends, with label ``→`` or ``←``.
        edge_labels : bool, default=False
            Whether edge labels contain the labels of the arcs.

        Returns
        -------
        GraphCollection
            The graphs; undirected graphs are returned unchanged.

        Examples
        --------
        >>> arc = GraphCollection.from_edges([(2, [(0, 1)])], directed=True)
        >>> both = arc.seen("both")
        >>> both[0].neighbors(1), both[0].edge_labels_of(1)
        (array([0], dtype=int32), ['←'])
        """
        check_choice("directions", directions, DIRECTIONS)
        if not self.directed or directions == "out":
            return self
        if directions == "in":
            indptr, indices, arcs = reversed_arcs(self.indptr, self.indices)
            return self.with_parts(indptr=indptr, indices=indices, **self._carried("edge", arcs))
        indptr, indices, arcs, entering = both_ways(self.indptr, self.indices)
        both = self.with_parts(indptr=indptr, indices=indices, **self._carried("edge", arcs))
        if not edge_labels or self.edge_vocabulary is None or both.edge_codes is None:
            vocabulary: Vocabulary = (directed_symbol(False, None), directed_symbol(True, None))
            return both.with_parts(edge_codes=entering.astype(np.int32), edge_vocabulary=vocabulary)
        symbols = [directed_symbol(way, label) for way in (False, True) for label in self.edge_vocabulary]
        vocabulary = sort_labels(symbols)
        codes = entering * np.int32(len(self.edge_vocabulary)) + both.edge_codes
        return both.with_parts(edge_codes=match_codes(tuple(symbols), vocabulary)[codes], edge_vocabulary=vocabulary)

    def entries_seen(self, directions: str = "both") -> Int64 | slice:
        """Return the positions of the adjacency entries of this collection among those of :meth:`seen`.

        Parameters
        ----------
        directions : {"both", "out", "in"}, default="both"
            As in :meth:`seen`.

        Returns
        -------
        int64 array or slice
            The positions.
        """
        if not self.directed or directions == "out":
            return slice(None)
        if directions == "in":
            return np.argsort(reversed_arcs(self.indptr, self.indices)[2])
        return np.flatnonzero(~both_ways(self.indptr, self.indices)[3])

    # -------------------------------------------------------------------------------------------- converters

    @classmethod
    def from_edges(cls, graphs: Iterable[Sequence[Any]], *, directed: bool = False) -> "GraphCollection":
        """Make a collection from lists of edges.

        Parameters
        ----------
        graphs : iterable of (n_nodes, edges) or (n_nodes, edges, labels)
            ``edges`` are pairs of node numbers from 0 to ``n_nodes - 1``, each edge in one or both directions;
            self-loops and repetitions are dropped, with a warning. Either all graphs have labels or none.
        directed : bool, default=False
            Whether pairs are arcs from the first node to the second.

        Returns
        -------
        GraphCollection
            The graphs.

        Examples
        --------
        >>> GraphCollection.from_edges([(2, [(0, 1)], ["C", "O"])])
        GraphCollection(1 graph, 2 nodes, 1 edge, 2 node labels)
        """
        builder = CollectionBuilder(directed=check_flag("directed", directed))
        for index, graph in enumerate(as_list(graphs, "(n_nodes, edges)")):
            if not isinstance(graph, (tuple, list)) or len(graph) not in (2, 3):
                raise GraphError(index, "expected (n_nodes, edges) or (n_nodes, edges, labels)")
            builder.add(graph[0], graph[1], node_labels=graph[2] if len(graph) == 3 else None)
        return cls(**builder.build())

    @classmethod
    def from_adjacency(
        cls,
        matrices: Iterable[Any],
        node_labels: Iterable[Sequence[Label]] | None = None,
        *,
        symmetrize: bool = False,
        directed: bool | None = None,
    ) -> "GraphCollection":
        """Make a collection from adjacency matrices.

        Parameters
        ----------
        matrices : iterable of square arrays or SciPy sparse matrices
            Nonzero entries are edges. Weights other than 1 are stored as an edge attribute, which a kernel uses with
            :meth:`relaxwl.EditCost.from_attributes`.
        node_labels : iterable of sequences, optional
            Labels of the nodes of each graph.
        symmetrize : bool, default=False
            Ignore directions; an edge has the mean weight of its arcs.
        directed : bool, optional
            Whether an entry ``[i, j]`` is an arc from ``i`` to ``j``. By default the collection is directed if a matrix
            is not symmetric up to rounding (a share of 1e-8 of the largest weight); with False such matrices raise an
            error.

        Returns
        -------
        GraphCollection
            The graphs.
        """
        matrices = as_list(matrices, "adjacency matrices")
        labels = [None] * len(matrices) if node_labels is None else as_list(node_labels, "label sequences")
        if len(labels) != len(matrices):
            raise ValueError(f"node_labels has {len(labels)} entries for {counted(len(matrices), 'graph')}")
        arcs = [adjacency_arcs(matrix, index, symmetrize) for index, matrix in enumerate(matrices)]
        weighted = any(weights is not None for _, _, weights, _ in arcs)
        builder = CollectionBuilder(directed=common_direction([one for *_, one in arcs], directed, inferred=True))
        for (n_nodes, edges, weights, _), node_label in zip(arcs, labels, strict=True):
            if weighted and weights is None:
                weights = np.ones((len(edges), 1))
            builder.add(n_nodes, edges, node_labels=node_label, edge_attributes=weights)
        return cls(**builder.build())

    @classmethod
    def from_networkx(
        cls,
        graphs: Iterable["networkx.Graph"],
        node_label: str | Sequence[str] | None = None,
        edge_label: str | Sequence[str] | None = None,
        node_attributes: str | Sequence[str] | None = None,
        *,
        edge_attributes: str | Sequence[str] | None = None,
        symmetrize: bool = False,
        missing: Label | None = None,
    ) -> "GraphCollection":
        """Make a collection from networkx graphs.

        Parameters
        ----------
        graphs : iterable of networkx.Graph
            Nodes are numbered in the order in which networkx iterates over them. Graphs are named if all of them
            have a ``name``.
        node_label, edge_label : str or list of str, optional
            Names of the node and edge attributes that contain the labels; by default graphs are unlabeled. Several
            names give tuples.
        node_attributes : str or list of str, optional
            Names of the numeric node attributes (numbers or vectors), joined in this order.
        edge_attributes : str or list of str, optional
            The same for edges.
        symmetrize : bool, default=False
            Ignore the directions of directed graphs; by default the collection is directed.
        missing : label, optional
            Label of nodes and edges without a label; attributes may then be missing too.

        Returns
        -------
        GraphCollection
            The graphs.
        """
        members = as_list(graphs, "networkx graphs")
        for index, graph in enumerate(members):
            if not hasattr(graph, "adj") or not hasattr(graph, "nodes"):
                raise GraphError(index, f"must be a networkx graph, not {type(graph).__name__}")
        arrows = [graph.is_directed() for graph in members]
        directed = not symmetrize and common_direction(arrows, None, inferred=False)
        partial = missing is not None

        def columns(kind: str, names: str | Sequence[str] | None) -> list[list[list[Any]]]:
            return [named_columns(members, kind, name, partial=partial) for name in as_names(names)]

        labels, edge_labels = columns("nodes", node_label), columns("edges", edge_label)
        vectors, edge_vectors = columns("nodes", node_attributes), columns("edges", edge_attributes)
        if partial:
            vectors, edge_vectors = ([without_gaps(one) for one in columns] for columns in (vectors, edge_vectors))
        builder = CollectionBuilder(directed=directed, missing=missing)
        for index, graph in enumerate(members):
            number = {node: position for position, node in enumerate(graph.nodes)}
            pairs = [(number[source], number[target]) for source, target in graph.edges()]

            def own(columns: list[list[list[Any]]], index: int = index) -> list[list[Any]]:
                return [column[index] for column in columns]

            builder.add(
                len(number),
                pairs,
                node_labels=join_labels(own(labels), missing) if labels else None,
                edge_labels=join_labels(own(edge_labels), missing) if edge_labels else None,
                node_attributes=join_vectors(own(vectors), len(number), index) if vectors else None,
                edge_attributes=join_vectors(own(edge_vectors), len(pairs), index) if edge_vectors else None,
            )
        return cls(**builder.build(), names=common_names([graph.graph.get("name") for graph in members]))

    def to_networkx(self) -> list["networkx.Graph"]:
        """Return networkx graphs with nodes 0..n-1 and ``label``, ``attributes`` and ``name`` where there are any.

        Returns
        -------
        list of networkx.Graph
            The graphs; ``networkx.DiGraph`` if directed.
        """
        return [graph.to_networkx() for graph in self]


def _frozen(values: ArrayLike | None, dtype: Any) -> NDArray[Any] | None:
    """Return a read-only view, so that the caller's own array keeps its flags."""
    if values is None:
        return None
    given = np.asarray(values)
    if given.dtype.kind not in "biuf":
        given = as_floats(given)
    view = np.ascontiguousarray(given, dtype).view()
    view.setflags(write=False)
    return view


def _joined(parts: list[GraphCollection], kind: str) -> dict[str, Any]:
    """Return the labels and attributes of nodes or edges of all parts, as arguments of ``GraphCollection``."""
    # Parts without nodes (or edges) have none to label, so they agree with any part.
    carriers = [part for part in parts if (part.n_nodes if kind == "node" else part.n_edges)]
    vocabularies, attributes = (
        [getattr(part, f"{kind}_{what}") for part in carriers or parts] for what in ("vocabulary", "attributes")
    )
    found: dict[str, Any] = {}
    for what, values in (("labels", vocabularies), ("attributes", attributes)):
        if carriers and 0 < sum(value is not None for value in values) < len(values):
            raise ValueError(f"some collections have {kind} {what} and some have none: they cannot be joined")
    if any(vocabulary is not None for vocabulary in vocabularies):
        joined = sort_labels(value for vocabulary in vocabularies for value in vocabulary or ())
        codes = [
            match_codes(vocabulary, joined)[getattr(part, f"{kind}_codes")]
            for part, vocabulary in zip(carriers or parts, vocabularies, strict=True)
            if vocabulary is not None
        ]
        found |= {f"{kind}_codes": np.concatenate(codes), f"{kind}_vocabulary": joined}
    rows = [row for row in attributes if row is not None]
    lengths = {row.shape[1] for row in rows}
    if carriers and len(lengths) > 1:
        raise ValueError(f"{kind} attributes have different lengths {sorted(lengths)}: they cannot be joined")
    if rows:
        found[f"{kind}_attributes"] = np.concatenate(rows if carriers else rows[:1])
    return found


class Graph:
    """One graph of a collection: a view with nodes numbered from 0.

    Parameters
    ----------
    collection : GraphCollection
        The collection.
    index : int
        Position of the graph in the collection.

    See Also
    --------
    GraphCollection : ``graphs[index]`` is a ``Graph``.

    Examples
    --------
    >>> graph = GraphCollection.from_edges([(3, [(0, 1), (1, 2)])])[0]
    >>> graph, graph.neighbors(1).tolist()
    (Graph(3 nodes, 2 edges), [0, 2])
    """

    __slots__ = ("collection", "index")

    def __init__(self, collection: GraphCollection, index: int) -> None:
        self.collection = collection
        self.index = index

    @property
    def name(self) -> str | None:
        """Name of the graph, or None."""
        return None if self.collection.names is None else self.collection.names[self.index]

    @property
    def _start(self) -> int:
        return int(self.collection.offsets[self.index])

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.collection.offsets[self.index + 1]) - self._start

    @property
    def n_edges(self) -> int:
        """Number of edges, or arcs."""
        first, last = self.collection.indptr[[self._start, self._start + self.n_nodes]]
        return int(last - first) // self.collection._entries_per_edge

    @property
    def directed(self) -> bool:
        """Whether the edges are arcs."""
        return self.collection.directed

    @property
    def edges(self) -> Int32:
        """The edges as an array (n_edges, 2) of node pairs, the smaller node (of arcs, the tail) first."""
        return self._entries()[0]

    @property
    def node_labels(self) -> list[Label] | None:
        """Label values of the nodes, or None for an unlabeled graph."""
        vocabulary = self.collection.node_vocabulary
        if vocabulary is None:
            return None
        codes = self.collection.node_codes[self._start : self._start + self.n_nodes]
        return [vocabulary[code] for code in codes.tolist()]

    @property
    def edge_labels(self) -> list[Label] | None:
        """Label values of the edges, aligned with :attr:`edges`, or None."""
        codes, vocabulary = self.collection.edge_codes, self.collection.edge_vocabulary
        if codes is None or vocabulary is None:
            return None
        return [vocabulary[code] for code in codes[self._entries()[1]].tolist()]

    @property
    def node_attributes(self) -> Float64 | None:
        """Attribute vectors of the nodes, shape (n_nodes, d), or None."""
        values = self.collection.node_attributes
        return None if values is None else values[self._start : self._start + self.n_nodes]

    @property
    def edge_attributes(self) -> Float64 | None:
        """Attribute vectors of the edges, aligned with :attr:`edges`, or None."""
        values = self.collection.edge_attributes
        return None if values is None else values[self._entries()[1]]

    def neighbors(self, node: int) -> Int32:
        """Return the neighbors of a node in ascending order; in a directed graph, the heads of its arcs.

        Parameters
        ----------
        node : int
            Number of the node in this graph.

        Returns
        -------
        int32 array
            Numbers of the neighbors.
        """
        return self.collection.indices[self._span(node)] - np.int32(self._start)

    def node_label(self, node: int) -> Label | None:
        """Return the label of a node.

        Parameters
        ----------
        node : int
            Number of the node in this graph.

        Returns
        -------
        label or None
            The label; None if the graph is unlabeled.
        """
        self._span(node)
        vocabulary = self.collection.node_vocabulary
        return None if vocabulary is None else vocabulary[self.collection.node_codes[self._start + node]]

    def edge_labels_of(self, node: int) -> list[Label] | None:
        """Return the labels of the edges of a node, aligned with :meth:`neighbors`.

        Parameters
        ----------
        node : int
            Number of the node in this graph.

        Returns
        -------
        list or None
            The labels; None if edges are unlabeled.
        """
        codes, vocabulary = self.collection.edge_codes, self.collection.edge_vocabulary
        if codes is None or vocabulary is None:
            return None
        return [vocabulary[code] for code in codes[self._span(node)].tolist()]

    def as_collection(self) -> GraphCollection:
        """Return a collection of this graph alone.

        Returns
        -------
        GraphCollection
            The collection.
        """
        return self.collection[[self.index]]

    def to_networkx(self) -> "networkx.Graph":
        """Return a networkx graph with nodes 0..n-1 and ``label`` and ``attributes`` where there are any.

        Returns
        -------
        networkx.Graph
            The graph; a ``networkx.DiGraph`` if directed.
        """
        import networkx

        graph = networkx.DiGraph() if self.directed else networkx.Graph()
        if self.name is not None:
            graph.graph["name"] = self.name
        graph.add_nodes_from(range(self.n_nodes))
        edges = [(u, v) for u, v in self.edges.tolist()]
        graph.add_edges_from(edges)
        for name, nodes, links in (
            ("label", self.node_labels, self.edge_labels),
            ("attributes", self.node_attributes, self.edge_attributes),
        ):
            if nodes is not None:
                networkx.set_node_attributes(graph, dict(enumerate(nodes)), name)
            if links is not None:
                networkx.set_edge_attributes(graph, dict(zip(edges, links, strict=True)), name)
        return graph

    def _span(self, node: int) -> slice:
        if not 0 <= node < self.n_nodes:
            raise IndexError(f"node {node} is out of range: graph {self.index} has {self.n_nodes} nodes")
        first, last = self.collection.indptr[self._start + node : self._start + node + 2]
        return slice(int(first), int(last))

    def _entries(self) -> tuple[Int32, Int64]:
        """Return the edges with the smaller node (of arcs, the tail) first, and the adjacency entry of each."""
        collection, start, stop = self.collection, self._start, self._start + self.n_nodes
        degrees = np.diff(collection.indptr[start : stop + 1])
        sources = np.repeat(np.arange(self.n_nodes, dtype=np.int32), degrees)
        first = int(collection.indptr[start])
        targets = collection.indices[first : int(collection.indptr[stop])] - np.int32(start)
        once = np.flatnonzero(sources < targets) if not self.directed else np.arange(len(sources))
        return np.column_stack([sources[once], targets[once]]), once + first

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self.as_collection() == other.as_collection()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickled graph contains only itself, not its whole collection.
        return Graph, (self.as_collection(), 0)

    def __repr__(self) -> str:
        sizes = f"{counted(self.n_nodes, 'node')}, {counted(self.n_edges, 'edge')}"
        return f"Graph({sizes}{', directed' if self.directed else ''})"
