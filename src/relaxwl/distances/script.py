"""Edits of trees: single operations, what they cost, and scripts that turn one tree into another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from relaxwl.costs import EditCost, cost_text
from relaxwl.graphs.labels import Label, sort_labels
from relaxwl.unfolding.outline import Path
from relaxwl.unfolding.tree import UnfoldingTree


class Node(NamedTuple):
    """A node of the tree under edit: one that it had at first, or one that was inserted for the target."""

    tree: Literal["source", "target"]
    path: Path

    def __str__(self) -> str:
        name = "/" + "/".join(map(str, self.path))
        return name if self.tree == "source" else "+" + name


@dataclass(frozen=True)
class Relabel:
    """Replace the label of a node."""

    node: Node
    before: Label
    after: Label
    cost: float

    def __str__(self) -> str:
        return f"relabel {self.node} from {self.before} to {self.after} (cost {cost_text(self.cost)})"


@dataclass(frozen=True)
class RelabelEdge:
    """Replace the label of the edge between a node and its parent."""

    node: Node
    before: Label
    after: Label
    cost: float

    def __str__(self) -> str:
        return f"relabel the edge above {self.node} from {self.before} to {self.after} (cost {cost_text(self.cost)})"


@dataclass(frozen=True)
class Delete:
    """Remove a node that is a leaf by now, and the edge to its parent."""

    node: Node
    label: Label
    edge: Label | None
    cost: float

    def __str__(self) -> str:
        return f"delete {self.node}, label {self.label}{_edge_words(self.edge)} (cost {cost_text(self.cost)})"


@dataclass(frozen=True)
class Insert:
    """Add a leaf below a node that is there by now."""

    node: Node
    parent: Node
    label: Label
    edge: Label | None
    cost: float

    def __str__(self) -> str:
        words = f"insert {self.node} below {self.parent}, label {self.label}{_edge_words(self.edge)}"
        return f"{words} (cost {cost_text(self.cost)})"


Operation = Relabel | RelabelEdge | Delete | Insert


class EditScript(tuple[Operation, ...]):
    """Operations in an order in which each is legal; ``str`` gives one a line.

    Nodes are written as paths of child positions, ``/`` being the root; a plus stands before the path of an
    inserted node, which is its path in the target tree.
    """

    __slots__ = ()

    @property
    def cost(self) -> float:
        """Sum of the costs of all operations."""
        return math.fsum(operation.cost for operation in self)

    def apply(self, tree: UnfoldingTree) -> UnfoldingTree:
        """Run the operations on a tree, one after the other, and return what becomes of it.

        Raises
        ------
        ValueError
            If an operation is not legal where it stands: a node is missing, has another label than the
            operation says, or is deleted while it has children.
        """
        workbench = _Workbench(tree)
        for operation in self:
            workbench.run(operation)
        return workbench.tree()

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else "nothing to do"


class LabelCosts:
    """γ looked up by label, for the labels of two trees."""

    def __init__(self, a: UnfoldingTree, b: UnfoldingTree, cost: EditCost) -> None:
        for name, tree in (("a", a), ("b", b)):
            if not isinstance(tree, UnfoldingTree):
                raise TypeError(f"{name} must be an UnfoldingTree, not {type(tree).__name__}")
        if {a.has_edge_labels, b.has_edge_labels} == {True, False}:
            raise ValueError("one tree has edge labels and the other has none: they cannot be compared")
        self.subtrees = {tree.digest: tree for root in (a, b) for tree in root.distinct_subtrees()}
        nodes = sort_labels(tree.label for tree in self.subtrees.values())
        branches = [branch for tree in self.subtrees.values() for branch in tree.branches]
        edges = sort_labels(branch.edge for branch in branches if branch.edge is not None)
        self._node_code = {label: code for code, label in enumerate(nodes)}
        self._edge_code = {label: code for code, label in enumerate(edges)}
        self._nodes: list[list[float]] = cost.node_matrix(nodes).tolist()
        self._edges: list[list[float]] = cost.edge_matrix(edges, nodes).tolist()

    def relabel(self, a: Label, b: Label) -> float:
        """Return the cost of replacing the label of a node."""
        return self._nodes[self._node_code[a]][self._node_code[b]]

    def relabel_edge(self, a: Label | None, b: Label | None) -> float:
        """Return the cost of replacing the label of an edge; trees without edge labels have none."""
        return 0.0 if a is None or b is None else self._edges[self._edge_code[a]][self._edge_code[b]]

    def blank(self, label: Label, edge: Label | None) -> float:
        """Return the cost of inserting or deleting a node and the edge to its parent."""
        return self._nodes[self._node_code[label]][-1] + self.edge_blank(edge)

    def edge_blank(self, edge: Label | None) -> float:
        """Return the cost of inserting or deleting an edge."""
        return 0.0 if edge is None else self._edges[self._edge_code[edge]][-1]


class NodeLabels(NamedTuple):
    """The label of a node and that of the edge above it."""

    label: Label
    edge: Label | None


def node_labels(tree: UnfoldingTree) -> dict[Path, NodeLabels]:
    """Return the labels of all nodes and of the edges above them, by path, parents first."""
    found: dict[Path, NodeLabels] = {(): NodeLabels(tree.label, None)}
    for path, node in tree.walk():
        for position, (child, edge) in enumerate(zip(node.children, node.edge_labels, strict=True)):
            found[(*path, position)] = NodeLabels(child.label, edge)
    return found


@dataclass
class _Place:
    """A node of a tree that is being edited."""

    label: Label
    edge: Label | None
    parent: Node | None
    children: set[Node]


class _Workbench:
    """A tree that can be edited, one legal operation at a time."""

    def __init__(self, tree: UnfoldingTree) -> None:
        self._places: dict[Node, _Place] = {}
        for path, (label, edge) in node_labels(tree).items():
            parent = Node("source", path[:-1]) if path else None
            self._add(Node("source", path), _Place(label, edge, parent, set()))

    def _add(self, node: Node, place: _Place) -> None:
        self._places[node] = place
        if place.parent is not None:
            self._places[place.parent].children.add(node)

    def run(self, operation: Operation) -> None:
        """Change the tree, or raise if the operation is not legal now."""
        if isinstance(operation, Insert):
            if operation.parent not in self._places or operation.node in self._places:
                raise ValueError(f"cannot {operation}: the parent must be there, and the node must not")
            self._add(operation.node, _Place(operation.label, operation.edge, operation.parent, set()))
            return
        place = self._places.get(operation.node)
        if place is None:
            raise ValueError(f"cannot {operation}: there is no such node")
        if isinstance(operation, Delete):
            if place.children or place.parent is None:
                raise ValueError(f"cannot {operation}: only a leaf that is not the root can be deleted")
            self._places[place.parent].children.remove(operation.node)
            del self._places[operation.node]
        elif operation.before != (place.edge if isinstance(operation, RelabelEdge) else place.label):
            raise ValueError(f"cannot {operation}: the label is another one")
        elif isinstance(operation, RelabelEdge):
            place.edge = operation.after
        else:
            place.label = operation.after

    def tree(self) -> UnfoldingTree:
        """Return the tree as it is now."""
        order = [Node("source", ())]
        for node in order:
            order.extend(self._places[node].children)
        built: dict[Node, UnfoldingTree] = {}
        for node in reversed(order):
            place = self._places[node]
            children = list(place.children)
            edges = [self._places[child].edge for child in children]
            labeled = any(edge is not None for edge in edges)
            built[node] = UnfoldingTree(
                place.label, [built.pop(child) for child in children], edges if labeled else None
            )
        return built[order[0]]


def _edge_words(edge: Label | None) -> str:
    return "" if edge is None else f", edge {edge}"
