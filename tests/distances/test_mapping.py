"""Mappings between trees: valid, of the cost that they claim, in words and in pictures that fit a screen."""

import dataclasses
import itertools
import re

import pytest
from hypothesis import given, settings

from relaxwl.costs import EditCost
from relaxwl.datasets.tu import load_tu
from relaxwl.distances.script import Delete, Insert
from relaxwl.distances.tree import tree_edit_distance, tree_edit_mapping
from relaxwl.unfolding.tree import UnfoldingTree, unfolding_tree
from strategies import EDGES, PlainGraph, as_tree, matrix_cost, metric_matrices, nested_trees

parse = UnfoldingTree.parse


@settings(max_examples=80, deadline=None)
@given(nested_trees(edges=EDGES, max_leaves=10), nested_trees(edges=EDGES, max_leaves=10), metric_matrices())
def test_script_turns_source_into_target(a, b, matrix):
    cost = matrix_cost(matrix, edge_relabel=1, edge_blank=0.5)
    a, b = as_tree(a), as_tree(b)
    mapping = tree_edit_mapping(a, b, cost)
    mapping.validate()
    script = mapping.script()
    assert mapping.cost == script.cost == tree_edit_distance(a, b, cost)
    assert mapping.apply() == b
    assert len(mapping.pairs) + len(mapping.deleted) == a.size
    assert len(mapping.pairs) + len(mapping.inserted) == b.size
    counts = {kind: sum(isinstance(operation, kind) for operation in script) for kind in (Delete, Insert)}
    assert counts == {Delete: len(mapping.deleted), Insert: len(mapping.inserted)}


@settings(max_examples=60, deadline=None)
@given(nested_trees(max_leaves=10), nested_trees(max_leaves=10))
def test_with_unit_costs_distance_is_the_length_of_the_script(a, b):
    mapping = tree_edit_mapping(as_tree(a), as_tree(b))
    assert len(mapping.script()) == mapping.cost


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("0(0)", "0(0,0,0)", "two leaves more"),
        ("0(0,2)", "0(0,1,1)", "one leaf more, one node relabeled"),
        ("1(2(3,3),2(3,3))", "1", "two branches of three nodes each fewer"),
        ("1", "2(4(4),5(5,5))", "two branches (five nodes) more, the root relabeled"),
        ("0", f"0({','.join('0' * 14)})", "14 leaves more"),
    ],
)
def test_describe(a, b, words):
    assert tree_edit_mapping(parse(a), parse(b)).describe() == words


def test_validate_notices_every_kind_of_damage():
    mapping = tree_edit_mapping(parse("1(2(3),4)"), parse("1(2(3),5)"))
    mapping.validate()
    damaged = {
        "more than once": {"pairs": (*mapping.pairs, mapping.pairs[-1])},
        "neither mapped nor": {"pairs": mapping.pairs[:-1]},
        "root preserving": {"pairs": mapping.pairs[1:], "deleted": ((),), "inserted": ((),)},
        "structure preserving": {"pairs": (((), ()), ((0,), (1,)), ((0, 0), (0, 0)), ((1,), (0,)))},
        "claims": {"cost": 5.0},
    }
    for message, change in damaged.items():
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(mapping, **change).validate()


def test_whole_numbers_are_written_out():
    mapping = tree_edit_mapping(parse("1"), UnfoldingTree(1, [UnfoldingTree(1)] * 1234), EditCost(1000, 1001))
    assert "cost 1235234:" in mapping.to_svg()
    assert "nodes, cost 1235234<" in mapping.to_svg()
    assert str(mapping.script()[0]).endswith("(cost 1001)")
    assert "(cost 1234567)" in str(tree_edit_mapping(parse("1"), parse("2"), EditCost(1234567, 1234567)).script())


def test_picture_of_a_mapping():
    mapping = tree_edit_mapping(parse("1(2(1,3),3(1))"), parse("1(1(1,2,3))"))
    svg = mapping.to_svg()
    assert svg.count('class="match"') == 4 + 1
    assert svg.count('class="node deleted"') == 2 + 1
    assert svg.count('class="node inserted"') == 1 + 1
    assert svg.count('class="node relabeled"') == 2 + 1
    assert mapping._repr_svg_() == svg


def test_picture_of_a_large_mapping_is_cut():
    star = UnfoldingTree(0, [UnfoldingTree(1)] * 5000)
    svg = tree_edit_mapping(star, UnfoldingTree(0, [UnfoldingTree(1)] * 4000)).to_svg(max_nodes=50)
    assert len(svg) < 40_000
    assert "… +4,951 more" in svg
    assert "… +3,951 more" in svg


def width(svg):
    return float(re.search(r' width="([0-9.]+)"', svg)[1])


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (PlainGraph(30, [(0, v) for v in range(1, 30)]), PlainGraph(20, [(0, v) for v in range(1, 20)])),
        (
            PlainGraph(9, list(itertools.combinations(range(9), 2))),
            PlainGraph(7, list(itertools.combinations(range(7), 2))),
        ),
    ],
)
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_default_pictures_of_mappings_fit_a_screen(source, target, depth):
    mapping = tree_edit_mapping(unfolding_tree(source, 0, depth), unfolding_tree(target, 0, depth))
    for picture in (mapping.to_svg(), mapping._repr_svg_()):
        assert width(picture) <= 1600
        assert 'class="node deleted"' in picture
        assert picture.count('class="match"') > 4


def test_pictures_of_mappings_show_every_kind_of_edit():
    """Equal children fill the front of both trees; what differs comes last in them, and is drawn all the same."""
    source = UnfoldingTree(0, [UnfoldingTree(1)] * 60 + [parse("5(1)"), parse("9(3(4,4,4,4))")])
    target = UnfoldingTree(0, [UnfoldingTree(1)] * 60 + [parse("5(7)")])
    svg = tree_edit_mapping(source, target).to_svg()
    assert width(svg) <= 1600
    assert svg.count('class="node relabeled"') == 2 + 1
    assert svg.count('class="node deleted"') == 6 + 1
    assert svg.count("… +") == 2


def test_mapped_nodes_are_drawn_together():
    complete = PlainGraph(9, list(itertools.combinations(range(9), 2)))
    less = PlainGraph(9, list(itertools.combinations(range(9), 2))[5:])
    mapping = tree_edit_mapping(unfolding_tree(complete, 0, 3), unfolding_tree(less, 0, 3))
    source, target = mapping._drawn()
    images, origins = dict(mapping.pairs), {other: path for path, other in mapping.pairs}
    assert {images[path] for path in source.paths() if path in images} == set(target.paths()) & set(origins)


@pytest.mark.shared
@pytest.mark.parametrize(("name", "depth"), [("EGO-1", 2), ("MUTAG", 4)])
def test_default_pictures_of_real_neighborhoods_fit_a_screen(shared, name, depth):
    graphs, _ = load_tu(shared / "data" / f"{name}.zip")
    trees = [unfolding_tree(graphs[graph], node, depth) for graph in (0, 3) for node in (0, 3)]
    assert all(width(tree.to_svg()) <= 1600 for tree in trees)
    assert all(width(tree_edit_mapping(a, b).to_svg()) <= 1600 for a, b in itertools.pairwise(trees))
