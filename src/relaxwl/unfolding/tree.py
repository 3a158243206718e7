"""Unfolding trees: rooted labeled trees with a notation, drawings, and the tree of a node's neighborhood.

Equal subtrees are one object, so a tree is a graph of its distinct subtrees and stays small even where written
out it would have billions of nodes. No function here recurses, so the depth of a tree is not limited.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple, NoReturn

from numpy.typing import NDArray

from relaxwl import drawing
from relaxwl._validation import check_integer, read_number
from relaxwl.graphs import Graph, GraphCollection
from relaxwl.graphs.labels import Label, check_nesting, label_order, plain_label
from relaxwl.inputs import as_collection

Path = tuple[int, ...]

# The label of every node of a graph without node labels.
UNLABELED = 0
# Maximum number of nodes of a tree that is converted to a string, and that is shown in full by repr.
MAX_WRITTEN_SIZE = 1_000_000
MAX_REPR_SIZE = 30
# Default maximum number of nodes in a picture.
MAX_DRAWN_SIZE = 200
# A label in the notation of trees: in double quotes, the start of a tuple, or bare; and bare labels that are numbers.
_LABEL = re.compile(r'("(?:[^"\\]|\\.)*"|\[|[^\s(),:"\[\]]+)\s*', re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")


class Branch(NamedTuple):
    """A child tree, the label of the edge to it (None if there is none), and the number of its occurrences."""

    tree: UnfoldingTree
    edge: Label
    multiplicity: int


@dataclass(init=False, repr=False, eq=False, frozen=True, slots=True, weakref_slot=True)
class UnfoldingTree:
    """A rooted labeled tree whose children are unordered; isomorphic trees are equal.

    Children are kept in a canonical order: by edge label, then root label, then their own children from left to
    right. A node of the tree is addressed by its *path*, the tuple of child positions on the way from the root;
    the root is ``()``. Trees cannot be changed.

    Parameters
    ----------
    label : int, float, str or tuple of these
        Label of the root. Nodes of graphs without labels have the label 0.
    children : iterable of UnfoldingTree, default=()
        The trees below the root, in any order.
    edge_labels : iterable of labels, optional
        A label for the edge to each child. Either all edges of a tree have a label, or none.

    Attributes
    ----------
    label : int, float, str or tuple of these
        Label of the root.
    branches : tuple of Branch
        The children as a multiset: distinct (tree, edge label) with their counts, in canonical order.
    digest : bytes
        Sixteen bytes that isomorphic trees share, in every process.
    size : int
        Number of nodes.
    depth : int
        Number of edges on the longest path down from the root.
    has_edge_labels : bool or None
        Whether edges have labels; None for a single node, which has no edges.

    See Also
    --------
    unfolding_tree : The unfolding tree of a node of a graph.
    tree_edit_distance : The distance between two trees.

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

    label: Label
    branches: tuple[Branch, ...]
    digest: bytes
    size: int
    depth: int
    has_edge_labels: bool | None

    def __init__(
        self, label: Label, children: Iterable[UnfoldingTree] = (), edge_labels: Iterable[Label] | None = None
    ) -> None:
        children = list(children)
        edges = [None] * len(children) if edge_labels is None else [_checked(edge) for edge in edge_labels]
        if len(edges) != len(children):
            raise ValueError(f"edge_labels has {len(edges)} entries for {len(children)} children")
        for child in children:
            if not isinstance(child, UnfoldingTree):
                raise TypeError(f"children must be UnfoldingTree objects, not {type(child).__name__}")
        self._fill(_checked(label), _counted(zip(children, edges, strict=True)))

    def _fill(self, label: Label, branches: tuple[Branch, ...]) -> None:
        """Set label and branches (counted and sorted) and everything that follows from them."""
        kinds: set[Any] = {branch.edge is not None for branch in branches}
        kinds |= {branch.tree.has_edge_labels for branch in branches} - {None}
        if len(kinds) > 1:
            raise ValueError("either all edges of a tree have a label or none, but some have one here")
        # Isomorphic trees have equal digests; the probability that other trees share 16 bytes is negligible.
        content = blake2b(_label_bytes(label), digest_size=16)
        for branch in branches:
            content.update(_label_bytes(branch.edge) + b"%d:" % branch.multiplicity + branch.tree.digest)
        values = {
            "label": label,
            "branches": branches,
            "digest": content.digest(),
            "size": 1 + sum(branch.multiplicity * branch.tree.size for branch in branches),
            "depth": max((1 + branch.tree.depth for branch in branches), default=0),
            "has_edge_labels": next(iter(kinds), None),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, label: Label, branches: tuple[Branch, ...]) -> UnfoldingTree:
        tree = cls.__new__(cls)
        tree._fill(label, branches)
        return tree

    @property
    def children(self) -> tuple[UnfoldingTree, ...]:
        """The child trees in canonical order, repeated as often as they occur."""
        return tuple(branch.tree for branch in self.branches for _ in range(branch.multiplicity))

    @property
    def edge_labels(self) -> tuple[Label, ...]:
        """The label of the edge to each of ``children``; None where the tree has no edge labels."""
        return tuple(branch.edge for branch in self.branches for _ in range(branch.multiplicity))

    @property
    def n_distinct_subtrees(self) -> int:
        """Number of distinct subtrees; memory is proportional to it."""
        return len(self.distinct_subtrees())

    def distinct_subtrees(self) -> tuple[UnfoldingTree, ...]:
        """Return the distinct subtrees.

        Returns
        -------
        tuple of UnfoldingTree
            Children before parents, the tree itself last.
        """
        found: dict[bytes, UnfoldingTree] = {}
        stack = [(self, False)]
        while stack:
            tree, children_done = stack.pop()
            if tree.digest in found:
                continue
            if children_done:
                found[tree.digest] = tree
                continue
            stack.append((tree, True))
            stack.extend((branch.tree, False) for branch in reversed(tree.branches))
        return tuple(found.values())

    def walk(self) -> Iterator[tuple[Path, UnfoldingTree]]:
        """Iterate over all nodes.

        Yields
        ------
        path : tuple of int
            Child positions on the way from the root; parents come first, siblings from left to right.
        subtree : UnfoldingTree
            The tree below the node.

        Examples
        --------
        >>> [(path, node.label) for path, node in UnfoldingTree.parse("1(2(5),3)").walk()]
        [((), 1), ((0,), 2), ((0, 0), 5), ((1,), 3)]
        """
        stack: list[tuple[Path, UnfoldingTree]] = [((), self)]
        while stack:
            path, tree = stack.pop()
            yield path, tree
            stack.extend(reversed([((*path, i), child) for i, child in enumerate(tree.children)]))

    def subtree(self, path: Path) -> UnfoldingTree:
        """Return the tree below a node.

        Parameters
        ----------
        path : tuple of int
            Child positions on the way from the root.

        Returns
        -------
        UnfoldingTree
            The tree.
        """
        tree = self
        for position in path:
            children = tree.children
            if not 0 <= position < len(children):
                raise ValueError(f"path {path} leads out of the tree: a node there has {len(children)} children")
            tree = children[position]
        return tree

    @classmethod
    def parse(cls, text: str) -> UnfoldingTree:
        """Read a tree from text such as ``1(2(1,3),3(1))``.

        A tree is its root label, followed by its child trees in brackets. An edge label stands before its child
        with a colon: ``C(-:H,=:O)``. Labels that look like numbers are numbers; all others are strings, in double
        quotes (as in JSON) where they contain one of ``( ) , : [ ] "`` or white space or look like a number; a
        tuple is written in square brackets. ``str`` writes the same notation.

        Parameters
        ----------
        text : str
            The tree.

        Returns
        -------
        UnfoldingTree
            The tree.

        Examples
        --------
        >>> tree = UnfoldingTree.parse('C(-:H, =:"a (b)", =:"7")')
        >>> tree.children[1].label, tree.edge_labels
        ('7', ('-', '=', '='))
        >>> print(tree)
        C(-:H,=:"7",=:"a (b)")
        """
        return _TreeParser(text).tree()

    def __str__(self) -> str:
        if self.size > MAX_WRITTEN_SIZE:
            return repr(self)
        parts: list[str] = []
        stack: list[str | tuple[UnfoldingTree, Label]] = [(self, None)]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                parts.append(item)
                continue
            tree, edge = item
            parts.append(_written(tree.label) if edge is None else f"{_written(edge)}:{_written(tree.label)}")
            inside: list[str | tuple[UnfoldingTree, Label]] = []
            for branch in _single_branches(tree):
                inside += ["," if inside else "(", (branch.tree, branch.edge)]
            stack.extend(reversed([*inside, ")"] if inside else []))
        return "".join(parts)

    def __repr__(self) -> str:
        if self.size <= MAX_REPR_SIZE:
            return f"UnfoldingTree.parse({str(self)!r})"
        return (
            f"<UnfoldingTree with root {self.label!r}: {self.size:,} nodes, depth {self.depth}, "
            f"{self.n_distinct_subtrees:,} distinct subtrees>"
        )

    def to_text(self, max_nodes: int = 200, *, collapse: bool = False) -> str:
        """Return an indented drawing, one node per line.

        Parameters
        ----------
        max_nodes : int, default=200
            Maximum number of nodes that are shown; a line states how many are left out.
        collapse : bool, default=False
            Show equal siblings once, with their number.

        Returns
        -------
        str
            The drawing.

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
        shown = outline(self, max_nodes, collapse=collapse)
        names = [f"{label} ×{n}" if n > 1 else f"{label}" for label, n in zip(shown.labels, shown.counts, strict=True)]
        below: list[list[int]] = [[] for _ in shown.labels]
        for index, parent in enumerate(shown.parents[1:], start=1):
            below[parent].append(index)
        lines: list[str] = []
        stack = [(0, "", "")]  # a node (or -1 - node for what is hidden below it), its own prefix, that of its children
        while stack:
            node, prefix, indent = stack.pop()
            if node < 0:
                lines.append(f"{prefix} … +{shown.hidden[-1 - node]:,} more")
                continue
            lines.append(prefix + names[node])
            inside = below[node] + ([-1 - node] if shown.hidden[node] else [])
            for child in reversed(inside):
                edge = "" if child < 0 or shown.edges[child] is None else f"[{shown.edges[child]}]─"
                ends = child == inside[-1]
                mark = f"{indent}{'└─' if ends else '├─'}{edge}" + (" " if child >= 0 else "")
                stack.append((child, mark, indent + ("   " if ends else "│  ")))
        return "\n".join(lines)

    def to_svg(
        self,
        max_nodes: int | None = None,
        *,
        collapse: bool = False,
        title: str | None = None,
        embed_style: bool = True,
    ) -> str:
        """Return a drawing as SVG text, for a light and a dark background.

        Parameters
        ----------
        max_nodes : int, optional
            Maximum number of nodes that are drawn; marks state how many are left out. By default the picture is limited
            to about 1,600 pixels.
        collapse : bool, default=False
            Draw equal siblings once, with their number.
        title : str, optional
            Text for screen readers; the size and depth of the tree by default.
        embed_style : bool, default=True
            Whether the picture contains its style sheet; a page with many pictures contains ``drawing.STYLE`` once.

        Returns
        -------
        str
            The picture.
        """
        if max_nodes is not None:
            drawn = outline(self, max_nodes, collapse=collapse)
        else:
            for cut in cuts(self.depth):
                drawn = outline(self, MAX_DRAWN_SIZE, collapse=collapse, choose=cut.first)
                if drawn.width() <= drawing.TREE_ROOM:
                    break
        return drawing.tree_svg(
            drawn.drawn(),
            title=title or f"Tree of {self.size:,} nodes and depth {self.depth}, root {self.label}",
            embed_style=embed_style,
        )

    def _repr_svg_(self) -> str:
        """Draw the tree in a notebook."""
        return self.to_svg()

    def to_networkx(self, max_nodes: int = 100_000) -> Any:
        """Return the expanded tree as ``networkx.DiGraph`` with edges from parent to child.

        Parameters
        ----------
        max_nodes : int, default=100_000
            Maximum number of nodes.

        Returns
        -------
        networkx.DiGraph
            Nodes are numbered from 0 (the root), parents first; they have the attribute ``label``, and so do
            edges where there are edge labels.

        Raises
        ------
        ValueError
            If the tree has more than ``max_nodes`` nodes.
        """
        import networkx

        if self.size > max_nodes:
            raise ValueError(
                f"the tree has {self.size:,} nodes, more than max_nodes={max_nodes:,}; take a smaller depth, or "
                "work on distinct_subtrees()"
            )
        labels, parents, _, edges, *_ = outline(self, max_nodes)
        graph = networkx.DiGraph()
        graph.add_nodes_from((i, {"label": label}) for i, label in enumerate(labels))
        for i in range(1, len(parents)):
            graph.add_edge(parents[i], i, **({} if edges[i] is None else {"label": edges[i]}))
        return graph

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, UnfoldingTree) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __lt__(self, other: UnfoldingTree) -> bool:
        """Compare in the canonical order: root label first, then the children from left to right."""
        return _compare(self, other) < 0 if isinstance(other, UnfoldingTree) else NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        # A flat table of distinct subtrees: nested objects would exhaust the stack of pickle on a deep tree.
        subtrees = self.distinct_subtrees()
        index = {tree: i for i, tree in enumerate(subtrees)}
        table = [(t.label, [(index[b.tree], b.edge, b.multiplicity) for b in t.branches]) for t in subtrees]
        return (_from_table, (table,))


def unfolding_tree(
    graph: Graph | Any,
    node: int,
    depth: int,
    *,
    edge_labels: bool = False,
    node_labels: Sequence[Any] | NDArray[Any] | None = None,
    directions: str = "both",
) -> UnfoldingTree:
    """Return the unfolding tree of a node: its label at the root, and the trees of its neighbors as children.

    Parameters
    ----------
    graph : Graph, or a single graph that :func:`relaxwl.as_collection` takes in a list
        The graph. Nodes of an unlabeled graph all have the label 0.
    node : int
        Index of the node in the graph.
    depth : int
        Depth of the tree; depth 0 is the label only.
    edge_labels : bool, default=False
        Whether the tree contains the edge labels of the graph.
    node_labels : sequence or array of shape (n_nodes,) or (n_nodes, d), optional
        Labels to use instead of those of the graph: a label, an attribute vector, or a pair of both per node.
    directions : {"both", "out", "in"}, default="both"
        Which arcs of a directed graph lead to children: both, outgoing, or incoming. With both, the edge to a child is
        labeled ``→`` or ``←``, in addition to its own label if ``edge_labels`` is set.

    Returns
    -------
    UnfoldingTree
        The tree; memory is proportional to the number of its distinct subtrees.

    See Also
    --------
    tree_edit_distance : The distance between two trees.

    Examples
    --------
    >>> path = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["C", "O", "H"])])[0]
    >>> print(unfolding_tree(path, 1, 2))
    O(C(O),H(O))
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
    labels = {}
    for node in set().union(*reach):
        label = graph.node_label(node) if node_labels is None else node_labels[node]
        labels[node] = UNLABELED if label is None else plain_label(label)
    edges = {node: graph.edge_labels_of(node) for node in neighbors} if edge_labels else {}
    if any(names is None and neighbors[node] for node, names in edges.items()):
        raise ValueError("edge_labels=True needs a graph with edge labels, and this one has none")
    shared: dict[UnfoldingTree, UnfoldingTree] = {}
    trees: dict[int, UnfoldingTree] = {}
    # Trees are built from the leaves up, for the nodes that occur at each level.
    for level in range(depth, -1, -1):
        deeper, trees = trees, {}
        for node in reach[level]:
            below = [] if level == depth else [deeper[other] for other in neighbors[node]]
            tree = UnfoldingTree(labels[node], below, edges[node] if edge_labels and below else None)
            trees[node] = shared.setdefault(tree, tree)
    return trees[root]


# ------------------------------------------------------------------------------------------------- canonical order


def _counted(children: Iterable[tuple[UnfoldingTree, Label]]) -> tuple[Branch, ...]:
    """Return children as branches: equal ones counted, in canonical order."""
    trees: dict[tuple[Label, bytes], UnfoldingTree] = {}
    counts: dict[tuple[Label, bytes], int] = {}
    for tree, edge in children:
        key = (edge, tree.digest)
        # Equal trees are represented by the first of them, so that they share memory.
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

    Children are sorted, so the first place where they differ decides: a single path down, without recursion.
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
            # One tree has fewer of these equal children: in it, either nothing or a larger child follows.
            few, sign = (a, 1) if one.multiplicity < other.multiplicity else (b, -1)
            return -sign if len(few.branches) == place + 1 else sign
        a, b = one.tree, other.tree
    return 0


def _checked(label: Any) -> Label:
    """Return the canonical form of a label; None raises an error."""
    if label is None:
        raise TypeError("a label must not be None, which stands for the blank")
    return plain_label(label)


def _label_bytes(label: Label | None) -> bytes:
    """Return a label, or None, as bytes that are the same in every process, with their length before them."""
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


# ------------------------------------------------------------------------------------------------------- notation


def _written(label: Label) -> str:
    """Return a label in the notation of trees."""
    if isinstance(label, tuple):
        return f"[{','.join(_written(part) for part in label)}]"
    if not isinstance(label, str):
        return repr(label)
    match = _LABEL.fullmatch(label)
    bare = match and match[1] == label and label[0] not in '"[' and not _NUMBER.fullmatch(label)
    return label if bare else json.dumps(label, ensure_ascii=False)


class _TreeParser:
    """Reads the notation of :meth:`UnfoldingTree.parse` from left to right."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"text must be a string, not {type(text).__name__}")
        self.text, self.place = text, len(text) - len(text.lstrip())

    def tree(self) -> UnfoldingTree:
        """Return the tree; open brackets wait on a stack, so depth is not limited."""
        # For each open bracket: the label before it, the edge label before that, and the children so far.
        waiting: list[tuple[Label, Label, list[tuple[UnfoldingTree, Label]]]] = []
        while True:
            edge, label = None, self.label()
            if self.take(":"):
                edge, label = label, self.label()
            if self.take("("):
                waiting.append((label, edge, []))
                continue
            tree = UnfoldingTree(label)
            while waiting:
                waiting[-1][2].append((tree, edge))
                if self.take(","):
                    break
                if not self.take(")"):
                    self.fail("',' or ')'")
                label, edge, children = waiting.pop()
                tree = UnfoldingTree._of(label, _counted(children))
            else:
                break
        if edge is not None:
            raise ValueError(f"the root of a tree cannot have an edge label: {self.text[:20]!r}")
        if self.place < len(self.text):
            self.fail("the end")
        return tree

    def label(self, nesting: int = 0) -> Label:
        """Read one label; ``nesting`` counts the square brackets around it."""
        match = _LABEL.match(self.text, self.place)
        if match is None:
            self.fail("a closed quoted label" if self.text.startswith('"', self.place) else "a label")
        begin, self.place = self.place, match.end()
        word = match[1]
        if word == "[":
            check_nesting(nesting)
            parts: list[Label] = []
            while not self.take("]"):
                if parts and not self.take(","):
                    self.fail("',' or ']'")
                parts.append(self.label(nesting + 1))
            return tuple(parts)
        if word.startswith('"'):
            try:
                return str(json.loads(word))
            except json.JSONDecodeError:
                self.place = begin
                self.fail("a closed quoted label")
        if not _NUMBER.fullmatch(word):
            return word
        return int(word) if word.lstrip("-").isdecimal() else plain_label(read_number(word, is_label=True))

    def take(self, character: str) -> bool:
        """Consume a character and the white space after it, if it is the next one."""
        if not self.text.startswith(character, self.place):
            return False
        self.place += 1
        while self.place < len(self.text) and self.text[self.place].isspace():
            self.place += 1
        return True

    def fail(self, expected: str) -> NoReturn:
        """Raise an error that names the expected token and its position."""
        found = repr(self.text[self.place : self.place + 20]) if self.place < len(self.text) else "the end of the text"
        raise ValueError(f"expected {expected} at position {self.place}: {found}")


# ------------------------------------------------------------------------------------------------------- drawings


class Cut(NamedTuple):
    """Limits of a drawing: the maximum number of children of one node, and of levels below the root."""

    children: int
    levels: int

    def first(self, path: Path, n_children: int) -> Sequence[int]:
        """Return the positions of the children that are drawn of a node, the first ones."""
        return range(min(self.children, n_children) if len(path) < self.levels else 0)


def cuts(depth: int) -> Iterator[Cut]:
    """Yield smaller and smaller cuts of a tree: first fewer children per node, down to two, then fewer levels."""
    yield from (Cut(children, depth) for children in (MAX_DRAWN_SIZE, 24, 16, 12, 9, 7, 6, 5, 4, 3, 2))
    levels = min(depth, MAX_DRAWN_SIZE)
    while levels > 1:
        levels -= max(1, levels // 6)  # in larger steps if there are many levels
        yield Cut(2, levels)


class Outline(NamedTuple):
    """The upper part of a tree as plain lists, parents before children, siblings in order."""

    labels: list[Label]
    parents: list[int]
    positions: list[int]
    edges: list[Label]
    counts: list[int]
    hidden: list[int]

    def path(self, index: int) -> Path:
        """Return the path of a node."""
        upwards = []
        while index:
            upwards.append(self.positions[index])
            index = self.parents[index]
        return tuple(reversed(upwards))

    def drawn(self) -> drawing.PlainTree:
        """Return the outline as a tree for drawing."""
        labels = [str(label) for label in self.labels]
        edges = ["" if edge is None else str(edge) for edge in self.edges]
        return drawing.PlainTree(labels, self.parents, edges, self.counts, self.hidden)

    def width(self) -> float:
        """Return the width of a picture, without margins."""
        return drawing.tree_width(self.drawn())


def outline(
    tree: UnfoldingTree,
    max_nodes: int,
    *,
    collapse: bool = False,
    choose: Callable[[Path, int], Sequence[int]] | None = None,
) -> Outline:
    """Return a tree breadth-first as plain lists, cut off after ``max_nodes`` nodes.

    ``hidden[i]`` is the number of nodes below node i that were left out. With ``collapse`` equal siblings are listed
    once, and ``counts`` has their number. ``choose`` takes the path of a node and the number of its children, and
    returns the positions of those that are listed, in order; all by default.
    """
    if max_nodes < 1:
        raise ValueError(f"max_nodes must be at least 1, not {max_nodes}")
    found = Outline([tree.label], [-1], [0], [None], [1], [0])
    queue = deque([(0, tree)])
    while queue:
        index, tree = queue.popleft()
        branches = tree.branches if collapse else _single_branches(tree)
        chosen = range(len(branches)) if choose is None else choose(found.path(index), len(branches))
        starts = list(accumulate((b.multiplicity for b in branches), initial=0))
        found.hidden[index] = tree.size - 1
        for place in chosen[: max_nodes - len(found.labels)]:
            branch = branches[place]
            queue.append((len(found.labels), branch.tree))
            row = (branch.tree.label, index, starts[place], branch.edge, branch.multiplicity, 0)
            for column, value in zip(found, row, strict=True):
                column.append(value)  # type: ignore[attr-defined]
            found.hidden[index] -= branch.multiplicity * branch.tree.size
    return found
