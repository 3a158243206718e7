"""One unfolding tree: a node's neighborhood as a rooted labeled tree that can be looked at.

Equal subtrees are one object, so a tree is a graph of its distinct subtrees and stays small even where written
out it would have billions of nodes. Nothing here recurses: a path of any length is a fine tree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cmp_to_key
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple, NoReturn, Protocol

from numpy.typing import NDArray

from relaxwl import drawing
from relaxwl._validation import check_integer
from relaxwl.graphs import Graph, GraphCollection
from relaxwl.graphs.labels import Label, label_order, plain_label
from relaxwl.inputs import as_collection
from relaxwl.unfolding.notation import Reader, written
from relaxwl.unfolding.outline import MAX_DRAWN_SIZE, Outline, Path, cuts

# The label of every node of a graph without node labels.
UNLABELED = 0

# Larger trees are not written out node by node.
MAX_WRITTEN_SIZE = 1_000_000
MAX_REPR_SIZE = 30


class GraphView(Protocol):
    """What :func:`unfolding_tree` asks of a graph."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""

    def neighbors(self, node: int, /) -> Iterable[int]:
        """Return the nodes adjacent to a node."""

    def node_label(self, node: int, /) -> Label | None:
        """Return the label of a node, None if it has none."""

    def edge_labels_of(self, node: int, /) -> Iterable[Label] | None:
        """Return the labels of a node's edges, aligned with its neighbors; None if edges have no labels."""


class Branch(NamedTuple):
    """A child tree, the label of the edge to it (None if there is none), and how often it occurs."""

    tree: UnfoldingTree
    edge: Label
    multiplicity: int


class UnfoldingTree:
    """A rooted labeled tree whose children are unordered; isomorphic trees are equal.

    Children are kept in a canonical order: by edge label, then root label, then their own children from left to
    right. A node of the tree is addressed by its *path*, the tuple of child positions on the way from the root;
    the root is ``()``.

    Parameters
    ----------
    label : int, float, str or tuple of these
        Label of the root. Nodes of graphs without labels have the label 0.
    children : iterable of UnfoldingTree
        The trees below the root, in any order.
    edge_labels : iterable of labels, optional
        A label for the edge to each child. Either all edges of a tree have a label, or none.

    Examples
    --------
    >>> tree = UnfoldingTree(1, [UnfoldingTree(3), UnfoldingTree(2, [UnfoldingTree(3)])])
    >>> print(tree)
    1(2(3),3)
    >>> tree.size, tree.depth, tree.n_distinct_subtrees
    (4, 2, 3)
    >>> tree == UnfoldingTree.parse("1(3, 2(3))")
    True
    """

    __slots__ = ("__weakref__", "_branches", "_depth", "_digest", "_has_edge_labels", "_label", "_size")
    _label: Label
    _branches: tuple[Branch, ...]
    _digest: bytes
    _size: int
    _depth: int
    _has_edge_labels: bool | None

    def __init__(
        self,
        label: Label,
        children: Iterable[UnfoldingTree] = (),
        edge_labels: Iterable[Label] | None = None,
    ) -> None:
        children = list(children)
        edges: list[Label | None] = [None] * len(children)
        if edge_labels is not None:
            edges = [_checked(edge) for edge in edge_labels]
        if len(edges) != len(children):
            raise ValueError(f"edge_labels has {len(edges)} entries for {len(children)} children")
        for child in children:
            if not isinstance(child, UnfoldingTree):
                raise TypeError(f"children must be UnfoldingTree objects, not {type(child).__name__}")
        self._fill(_checked(label), _group(zip(children, edges, strict=True)))

    def _fill(self, label: Label, branches: tuple[Branch, ...]) -> None:
        """Set label and branches (grouped and sorted) and what follows from them."""
        kinds = {branch.edge is not None for branch in branches}
        kinds |= {branch.tree._has_edge_labels for branch in branches} - {None}  # type: ignore[arg-type]
        if len(kinds) > 1:
            raise ValueError("either all edges of a tree have a label or none, but some have one here")
        # Isomorphic trees have equal digests; that two others share 16 bytes is as likely as never.
        content = blake2b(_label_bytes(label), digest_size=16)
        for branch in branches:
            content.update(_label_bytes(branch.edge) + b"%d:" % branch.multiplicity + branch.tree._digest)
        for name, value in (
            ("_label", label),
            ("_branches", branches),
            ("_digest", content.digest()),
            ("_size", 1 + sum(branch.multiplicity * branch.tree._size for branch in branches)),
            ("_depth", max((1 + branch.tree._depth for branch in branches), default=0)),
            ("_has_edge_labels", next(iter(kinds)) if kinds else None),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, label: Label, branches: tuple[Branch, ...]) -> UnfoldingTree:
        tree = cls.__new__(cls)
        tree._fill(label, branches)
        return tree

    @property
    def label(self) -> Label:
        """Label of the root."""
        return self._label

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The children as a multiset: distinct (tree, edge label) with their counts, in canonical order."""
        return self._branches

    @property
    def children(self) -> tuple[UnfoldingTree, ...]:
        """The child trees in canonical order, repeated as often as they occur."""
        return tuple(branch.tree for branch in self._branches for _ in range(branch.multiplicity))

    @property
    def edge_labels(self) -> tuple[Label, ...]:
        """The label of the edge to each of ``children``; None where the tree has no edge labels."""
        return tuple(branch.edge for branch in self._branches for _ in range(branch.multiplicity))

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self._size

    @property
    def depth(self) -> int:
        """Number of edges on the longest way down from the root."""
        return self._depth

    @property
    def has_edge_labels(self) -> bool | None:
        """Whether edges have labels; None for a single node, which has no edges."""
        return self._has_edge_labels

    @property
    def digest(self) -> bytes:
        """Sixteen bytes that isomorphic trees share, in every process."""
        return self._digest

    @property
    def n_distinct_subtrees(self) -> int:
        """Number of distinct trees among the subtrees below all nodes: what the tree takes in memory."""
        return len(self.distinct_subtrees())

    def distinct_subtrees(self) -> tuple[UnfoldingTree, ...]:
        """Return the distinct subtrees, children before parents, the tree itself last."""
        found: dict[bytes, UnfoldingTree] = {}
        stack = [(self, False)]
        while stack:
            tree, children_done = stack.pop()
            if tree._digest in found:
                continue
            if children_done:
                found[tree._digest] = tree
                continue
            stack.append((tree, True))
            stack.extend((branch.tree, False) for branch in reversed(tree._branches))
        return tuple(found.values())

    def walk(self) -> Iterator[tuple[Path, UnfoldingTree]]:
        """Yield every node as (path, subtree below it), parents first, left to right.

        Examples
        --------
        >>> [(path, node.label) for path, node in UnfoldingTree.parse("1(2(5),3)").walk()]
        [((), 1), ((0,), 2), ((0, 0), 5), ((1,), 3)]
        """
        stack: list[tuple[Path, UnfoldingTree]] = [((), self)]
        while stack:
            path, tree = stack.pop()
            yield path, tree
            children = tree.children
            stack.extend(((*path, i), children[i]) for i in range(len(children) - 1, -1, -1))

    def __iter__(self) -> Iterator[UnfoldingTree]:
        """Yield the subtree below every node, parents first."""
        stack = [self]
        while stack:
            tree = stack.pop()
            yield tree
            stack.extend(reversed(tree.children))

    def subtree(self, path: Path) -> UnfoldingTree:
        """Return the tree below the node with the given path."""
        tree = self
        for position in path:
            children = tree.children
            if not 0 <= position < len(children):
                raise ValueError(f"path {path} leads out of the tree: a node there has {len(children)} children")
            tree = children[position]
        return tree

    def outline(
        self, max_nodes: int, *, collapse: bool = False, choose: Callable[[Path, int], Sequence[int]] | None = None
    ) -> Outline:
        """Return the tree breadth-first as plain lists, cut off after ``max_nodes`` nodes.

        ``hidden[i]`` is the number of nodes below node i that were left out. With ``collapse`` equal
        siblings are listed once, and ``counts`` says how many they are. ``choose`` takes the path of a node and the
        number of its children, and returns the positions of those that are listed, in order; all by default.
        """
        if max_nodes < 1:
            raise ValueError(f"max_nodes must be at least 1, not {max_nodes}")
        outline = Outline([self._label], [-1], [0], [None], [1], [0])
        queue = deque([(0, self)])
        while queue:
            index, tree = queue.popleft()
            branches = tree._branches if collapse else _single_branches(tree)
            chosen = range(len(branches)) if choose is None else choose(outline.path(index), len(branches))
            starts = list(accumulate((b.multiplicity for b in branches), initial=0))
            outline.hidden[index] = tree._size - 1
            for place in chosen[: max_nodes - len(outline.labels)]:
                branch = branches[place]
                queue.append((len(outline.labels), branch.tree))
                outline.labels.append(branch.tree._label)
                outline.parents.append(index)
                outline.positions.append(starts[place])
                outline.edges.append(branch.edge)
                outline.counts.append(branch.multiplicity)
                outline.hidden.append(0)
                outline.hidden[index] -= branch.multiplicity * branch.tree._size
        return outline

    @classmethod
    def parse(cls, text: str) -> UnfoldingTree:
        """Read a tree from text such as ``1(2(1,3),3(1))``.

        A tree is its root label, followed by its child trees in brackets. An edge label stands before its child
        with a colon: ``C(-:H,=:O)``. Labels that look like numbers are numbers; all others are strings, in double
        quotes (as in JSON) where they contain one of ``( ) , : [ ] "`` or white space or look like a number; a
        tuple is written in square brackets. ``str`` writes the same notation.

        Examples
        --------
        >>> tree = UnfoldingTree.parse('C(-:H, =:"a (b)", =:"7")')
        >>> tree.children[1].label, tree.edge_labels
        ('7', ('-', '=', '='))
        >>> print(tree)
        C(-:H,=:"7",=:"a (b)")
        """
        return Reader(text, lambda label, children: cls._of(label, _group(children))).read()

    def __str__(self) -> str:
        if self._size > MAX_WRITTEN_SIZE:
            return repr(self)
        parts: list[str] = []
        stack: list[str | tuple[UnfoldingTree, Label]] = [(self, None)]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                parts.append(item)
                continue
            tree, edge = item
            parts.append(written(tree._label) if edge is None else f"{written(edge)}:{written(tree._label)}")
            inside: list[str | tuple[UnfoldingTree, Label]] = []
            for branch in _single_branches(tree):
                inside += ["," if inside else "(", (branch.tree, branch.edge)]
            stack.extend(reversed([*inside, ")"] if inside else []))
        return "".join(parts)

    def __repr__(self) -> str:
        if self._size <= MAX_REPR_SIZE:
            return f"UnfoldingTree.parse({str(self)!r})"
        return (
            f"<UnfoldingTree with root {self._label!r}: {self._size:,} nodes, depth {self._depth}, "
            f"{self.n_distinct_subtrees:,} distinct subtrees>"
        )

    def to_text(self, max_nodes: int = 200, *, collapse: bool = False) -> str:
        """Return an indented drawing, one node a line.

        Parameters
        ----------
        max_nodes : int, default=200
            Nodes that are shown at most; a line says how many more there are.
        collapse : bool, default=False
            Show equal siblings once, with their number.

        Examples
        --------
        >>> print(UnfoldingTree.parse("1(2(1,3),3(1))").to_text())
        1
        ├─ 2
        │  ├─ 1
        │  └─ 3
        └─ 3
           └─ 1
        """
        outline = self.outline(max_nodes, collapse=collapse)
        below: list[list[int]] = [[] for _ in outline.labels]
        for index, parent in enumerate(outline.parents[1:], start=1):
            below[parent].append(index)
        lines = [_text_label(outline, 0)]
        stack: list[tuple[int | None, int, str]] = []

        def push_below(index: int, indent: str) -> None:
            rest: list[tuple[int | None, int, str]] = [(child, index, indent) for child in below[index]]
            if outline.hidden[index]:
                rest.append((None, index, indent))
            stack.extend(reversed(rest))

        push_below(0, "")
        while stack:
            node, parent, indent = stack.pop()
            if node is None:
                lines.append(f"{indent}└─ … +{outline.hidden[parent]:,} more")
                continue
            last = node == below[parent][-1] and not outline.hidden[parent]
            edge = "" if outline.edges[node] is None else f"[{outline.edges[node]}]─"
            lines.append(f"{indent}{'└─' if last else '├─'}{edge} {_text_label(outline, node)}")
            push_below(node, indent + ("   " if last else "│  "))
        return "\n".join(lines)

    def to_svg(
        self,
        max_nodes: int | None = None,
        *,
        collapse: bool = False,
        title: str | None = None,
        embed_style: bool = True,
    ) -> str:
        """Return a drawing as SVG text, fit for a light and a dark background.

        Parameters
        ----------
        max_nodes : int, optional
            Nodes that are drawn at most; marks say how many more there are. By default as many children of a
            node, and as many levels, as keep the picture within about 1,600 pixels.
        collapse : bool, default=False
            Draw equal siblings once, with their number.
        title : str, optional
            What a screen reader says; the size and depth of the tree by default.
        embed_style : bool, default=True
            Whether the picture carries its style sheet; a page with many pictures holds ``drawing.STYLE`` once.
        """
        outline = self._drawn(collapse) if max_nodes is None else self.outline(max_nodes, collapse=collapse)
        return drawing.tree_svg(
            outline.drawn(),
            title=title or f"Tree of {self._size:,} nodes and depth {self._depth}, root {self._label}",
            embed_style=embed_style,
        )

    def _drawn(self, collapse: bool) -> Outline:
        """Return what a picture of default size has room for."""
        for cut in cuts(self._depth):
            outline = self.outline(MAX_DRAWN_SIZE, collapse=collapse, choose=cut.first)
            if outline.width() <= drawing.TREE_ROOM:
                break
        return outline

    def _repr_svg_(self) -> str:
        """Draw the tree in a notebook."""
        return self.to_svg()

    def to_networkx(self, max_nodes: int = 100_000) -> Any:
        """Return the tree, written out, as ``networkx.DiGraph`` with edges from parent to child.

        Nodes are numbered from 0 (the root), parents first; they have the attribute ``label``, and so do
        edges where there are edge labels.

        Raises
        ------
        ValueError
            If the tree has more than ``max_nodes`` nodes.
        """
        import networkx

        if self._size > max_nodes:
            raise ValueError(
                f"the tree has {self._size:,} nodes, more than max_nodes={max_nodes:,}; take a smaller depth, or "
                "work on distinct_subtrees()"
            )
        outline = self.outline(max_nodes)
        graph = networkx.DiGraph()
        graph.add_nodes_from((i, {"label": label}) for i, label in enumerate(outline.labels))
        for i in range(1, len(outline.parents)):
            edge = {} if outline.edges[i] is None else {"label": outline.edges[i]}
            graph.add_edge(outline.parents[i], i, **edge)
        return graph

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UnfoldingTree):
            return NotImplemented
        return self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __lt__(self, other: UnfoldingTree) -> bool:
        """Compare in the canonical order: root label first, then the children from left to right."""
        if not isinstance(other, UnfoldingTree):
            return NotImplemented
        return _compare(self, other) < 0

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an UnfoldingTree cannot be changed: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an UnfoldingTree cannot be changed: {name} cannot be deleted")

    def __copy__(self) -> UnfoldingTree:
        return self

    def __deepcopy__(self, memo: object) -> UnfoldingTree:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # A flat table of distinct subtrees: nested objects would exhaust the stack of pickle on a deep tree.
        subtrees = self.distinct_subtrees()
        index = {tree: i for i, tree in enumerate(subtrees)}
        table = [(t._label, [(index[b.tree], b.edge, b.multiplicity) for b in t._branches]) for t in subtrees]
        return (_from_table, (table,))


def unfolding_tree(
    graph: GraphView | Any,
    node: int,
    depth: int,
    *,
    edge_labels: bool = False,
    node_labels: Sequence[Any] | NDArray[Any] | None = None,
    directions: str = "both",
) -> UnfoldingTree:
    """Return the unfolding tree of a node: its label, below it the trees of its neighbors, one depth less.

    Parameters
    ----------
    graph : Graph, or a single graph that :func:`relaxwl.as_collection` takes in a list
        The graph. Nodes of an unlabeled graph all have the label 0.
    node : int
        Index of the node in the graph.
    depth : int
        Depth of the tree; 0 is the label alone.
    edge_labels : bool, default=False
        Whether the labels of the graph's edges go into the tree.
    node_labels : sequence or array of shape (n_nodes,) or (n_nodes, d), optional
        Labels to use in place of the graph's own: a label, an attribute vector, or a pair of the two per node.
    directions : {"both", "out", "in"}, default="both"
        Which arcs of a directed graph lead to children: those that leave a node, those that enter it, or both. With
        both, the edge to a child is labeled ``→`` or ``←``, beside its own label if ``edge_labels`` asks for it.

    Returns
    -------
    UnfoldingTree
        The tree; memory is proportional to its distinct subtrees, however large it would be when written out.
    """
    if isinstance(graph, GraphCollection):
        raise TypeError("graph must be a single graph, not a GraphCollection: give collection[i]")
    if not hasattr(graph, "edge_labels_of"):  # a graph of another library
        graph = as_collection([graph])[0]
    if isinstance(graph, Graph) and graph.directed:
        graph = graph.as_collection().seen(directions, edge_labels=edge_labels)[0]
        edge_labels = edge_labels or directions == "both"
    root, depth = check_integer("node", node), check_integer("depth", depth)
    if root >= graph.n_nodes:
        raise ValueError(f"node must be an index below {graph.n_nodes}, not {root}")
    if node_labels is not None and len(node_labels) != graph.n_nodes:
        raise ValueError(f"node_labels has {len(node_labels)} entries for {graph.n_nodes} nodes")
    neighbors: dict[int, list[int]] = {}
    reach = [{root}]
    for _ in range(depth):
        for node in reach[-1] - neighbors.keys():
            neighbors[node] = [int(other) for other in graph.neighbors(node)]
        reach.append({other for node in reach[-1] for other in neighbors[node]})
    labels = {node: _label_of(graph, node, node_labels) for node in set().union(*reach)}
    edges = {node: graph.edge_labels_of(node) for node in neighbors} if edge_labels else {}
    if any(names is None and neighbors[node] for node, names in edges.items()):
        raise ValueError("edge_labels=True needs a graph with edge labels, and this one has none")
    shared: dict[UnfoldingTree, UnfoldingTree] = {}
    trees: dict[int, UnfoldingTree] = {}
    # From the leaves up: the nodes that occur at a level of the tree, each with what hangs below it.
    for level in range(depth, -1, -1):
        deeper, trees = trees, {}
        for node in reach[level]:
            below = [] if level == depth else [deeper[other] for other in neighbors[node]]
            tree = UnfoldingTree(labels[node], below, edges[node] if edge_labels and below else None)
            trees[node] = shared.setdefault(tree, tree)
    return trees[root]


def _label_of(graph: GraphView, node: int, node_labels: Sequence[Any] | NDArray[Any] | None) -> Label:
    """Return the label that stands for a node in trees."""
    label = graph.node_label(node) if node_labels is None else node_labels[node]
    return UNLABELED if label is None else plain_label(label)


def _group(children: Iterable[tuple[UnfoldingTree, Label]]) -> tuple[Branch, ...]:
    """Return children as branches: equal ones counted, in canonical order."""
    trees: dict[tuple[Label, bytes], UnfoldingTree] = {}
    counts: dict[tuple[Label, bytes], int] = {}
    for tree, edge in children:
        key = (edge, tree.digest)
        # The first of equal trees is kept for all, so that they share memory.
        trees.setdefault(key, tree)
        counts[key] = counts.get(key, 0) + 1
    branches = [Branch(tree, key[0], counts[key]) for key, tree in trees.items()]
    return tuple(sorted(branches, key=cmp_to_key(_compare_branches)))


def _compare_branches(a: Branch, b: Branch) -> int:
    """Order branches by edge label, then by tree."""
    if a.edge != b.edge:
        return -1 if label_order(a.edge) < label_order(b.edge) else 1
    return _compare(a.tree, b.tree)


def _compare(a: UnfoldingTree, b: UnfoldingTree) -> int:
    """Order trees by root label, then by their sequences of children; a prefix comes first.

    Children are sorted, so the order is decided at the first place where they differ: one way down, no recursion.
    """
    while a.digest != b.digest:
        if a.label != b.label:
            return -1 if label_order(a.label) < label_order(b.label) else 1
        place = 0
        shorter = min(len(a.branches), len(b.branches))
        while place < shorter and a.branches[place] == b.branches[place]:
            place += 1
        if place == shorter:
            return len(a.branches) - len(b.branches)
        one, other = a.branches[place], b.branches[place]
        if one.edge != other.edge:
            return -1 if label_order(one.edge) < label_order(other.edge) else 1
        if one.tree == other.tree:
            # The run of equal children ends first in one of them: there either nothing or something larger follows.
            few, sign = (a, 1) if one.multiplicity < other.multiplicity else (b, -1)
            return -sign if len(few.branches) == place + 1 else sign
        a, b = one.tree, other.tree
    return 0


def _checked(label: Any) -> Label:
    """Return the one form of a label, refusing None."""
    if label is None:
        raise TypeError("a label must not be None, which stands for the blank")
    return plain_label(label)


def _label_bytes(label: Label | None) -> bytes:
    """Return a label, or None, as bytes that are the same in every process; their length tells where they end."""
    text = repr(label).encode("utf-8", "surrogatepass")
    return b"%d:" % len(text) + text


def _single_branches(tree: UnfoldingTree) -> list[Branch]:
    """Return the children as branches of one child each."""
    return [Branch(b.tree, b.edge, 1) for b in tree.branches for _ in range(b.multiplicity)]


def _from_table(table: Sequence[tuple[Label, Sequence[tuple[int, Label, int]]]]) -> UnfoldingTree:
    """Return the tree whose distinct subtrees are the rows of a table, children first."""
    trees: list[UnfoldingTree] = []
    for label, branches in table:
        trees.append(UnfoldingTree._of(label, tuple(Branch(trees[i], edge, count) for i, edge, count in branches)))
    return trees[-1]


def _text_label(outline: Outline, index: int) -> str:
    count = outline.counts[index]
    return f"{outline.labels[index]}" + (f" ×{count}" if count > 1 else "")
