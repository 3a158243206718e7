"""What is drawn of a tree, so that pictures fit a screen."""

import re

import pytest

from relaxwl.unfolding.outline import cuts
from relaxwl.unfolding.tree import UnfoldingTree

parse = UnfoldingTree.parse


def width(svg):
    return float(re.search(r' width="([0-9.]+)"', svg)[1])


def hidden_nodes(svg):
    return sum(int(count.replace(",", "")) for count in re.findall(r"… \+([0-9,]+) more", svg))


def regular_tree(n_children, depth, label="0"):
    tree = UnfoldingTree(label)
    for _ in range(depth):
        tree = UnfoldingTree(label, [tree] * n_children)
    return tree


@pytest.mark.parametrize(("n_children", "depth"), [(300, 1), (40, 2), (12, 3), (3, 6), (2, 10), (2, 300), (30, 30)])
@pytest.mark.parametrize("label", ["0", "a rather long label"])
@pytest.mark.parametrize("collapse", [False, True])
def test_default_pictures_fit_a_screen(n_children, depth, label, collapse):
    tree = regular_tree(n_children, depth, label)
    svg = tree.to_svg(collapse=collapse)
    assert width(svg) <= 1600
    if not collapse:
        assert svg.count('class="node"') > 6
        assert tree.size > 10**9 or svg.count('class="node"') + hidden_nodes(svg) == tree.size
    assert tree._repr_svg_() == tree.to_svg()


def test_pictures_that_drift_sideways_fit_too():
    tree = UnfoldingTree(0)
    for _ in range(60):
        tree = UnfoldingTree(0, [UnfoldingTree(0)] * 10 + [tree])
    assert width(tree.to_svg(max_nodes=200)) > 1600
    assert width(tree.to_svg()) <= 1600


def test_a_number_of_nodes_given_is_the_number_drawn():
    svg = regular_tree(300, 1).to_svg(max_nodes=100)
    assert svg.count('class="node"') == 100
    assert "… +201 more" in svg


def test_chosen_children_keep_their_positions():
    tree = parse("1(2,2,3(4,5),6)")
    outline = tree.outline(10, choose=lambda path, n_children: range(n_children)[-2 + len(path) :])
    assert outline.labels == [1, 3, 6, 5]
    assert outline.paths() == [(), (2,), (3,), (2, 1)]
    assert outline.hidden == [2, 1, 0, 0]
    assert [tree.subtree(path).label for path in outline.paths()] == outline.labels


@pytest.mark.parametrize("depth", [0, 1, 2, 50])
def test_cuts_get_smaller_and_end_with_one_level(depth):
    found = list(cuts(depth))
    assert found == sorted(found, key=lambda cut: (cut.levels, cut.children), reverse=True)
    assert (found[-1].children, found[-1].levels) == (2, min(depth, 1))
