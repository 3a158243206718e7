"""Scripts of edits: what they say, and that each operation is legal where it stands."""

import pytest

from relaxwl.costs import EditCost
from relaxwl.distances.script import Delete, EditScript, Insert, Node, Relabel, RelabelEdge
from relaxwl.distances.tree import tree_edit_mapping
from relaxwl.unfolding.tree import UnfoldingTree

parse = UnfoldingTree.parse


def test_equal_trees_need_nothing():
    mapping = tree_edit_mapping(parse("1(2,2,3)"), parse("1(3,2,2)"))
    assert mapping.cost == 0
    assert mapping.script() == ()
    assert str(mapping.script()) == "nothing to do"
    assert mapping.describe() == "no difference"


def test_edge_relabels_are_operations():
    mapping = tree_edit_mapping(parse("C(-:H,=:O)"), parse("C(=:O,=:H)"))
    assert mapping.script() == (RelabelEdge(Node("source", (0,)), "-", "=", 1.0),)
    assert str(mapping.script()) == "relabel the edge above /0 from - to = (cost 1)"
    assert mapping.describe() == "one edge relabeled"


def test_script_of_edges_names_them():
    mapping = tree_edit_mapping(parse("C(-:H)"), parse("C(=:O(-:H))"), EditCost(edge_blank=0.5))
    assert str(mapping.script()).splitlines() == [
        "relabel /0 from H to O (cost 1)",
        "relabel the edge above /0 from - to = (cost 1)",
        "insert +/0/0 below /0, label H, edge - (cost 1.5)",
    ]


def test_illegal_operations_are_refused():
    tree = parse("1(2(3))")
    place = Node("source", (0,))
    for operation, reason in [
        (Delete(place, 2, None, 1.0), "only a leaf"),
        (Delete(Node("source", ()), 1, None, 1.0), "only a leaf"),
        (Relabel(place, 7, 8, 1.0), "another one"),
        (Relabel(Node("source", (4,)), 7, 8, 1.0), "no such node"),
        (Insert(Node("target", (0, 0)), Node("target", (0,)), 1, None, 1.0), "parent must be there"),
    ]:
        with pytest.raises(ValueError, match=reason):
            EditScript([operation]).apply(tree)
