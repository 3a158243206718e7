"""The tree edit distance and its mappings against the definition, written out in naive.py."""

import dataclasses
import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from relaxwl.costs import EditCost
from relaxwl.datasets.tu import load_tu
from relaxwl.distances.pairwise import tree_distances
from relaxwl.distances.tree import Edit, EditScript, tree_edit_distance, tree_edit_mapping
from relaxwl.inputs import as_collection
from relaxwl.unfolding.tree import UnfoldingTree, unfolding_tree
from strategies import (
    AMBIGUOUS,
    EDGES,
    LABELS,
    PlainGraph,
    as_tree,
    confusable_labels,
    confusable_trees,
    cost_function,
    matrix_cost,
    metric_matrices,
    nested_trees,
    permuted,
    plain_graphs,
)

parse = UnfoldingTree.parse


def edge_cost_function(relabel, blank):
    return lambda a, b: 0.0 if a == b else blank if None in (a, b) else relabel


def affordable_edge_cost(matrix, edge_blank):
    """The largest edge_relabel for which (edge, tree) pairs stay a metric space."""
    blank = matrix[:-1, -1]
    return float(2 * edge_blank + (blank[:, None] + blank[None, :] - matrix[:-1, :-1]).min())


# -- the worked example of the design ----------------------------------------------------------------------------

SOURCE, TARGET = "1(2(1,3),3(1))", "1(1(1,2,3))"


def test_worked_example_distance():
    assert tree_edit_distance(parse(SOURCE), parse(TARGET)) == 4.0


def test_worked_example_root_matrix():
    expected = np.ones((4, 4)) - np.eye(4)
    assert np.array_equal(EditCost().node_matrix([1, 2, 3]), expected)
    for a, b in itertools.product(range(3), repeat=2):
        assert tree_edit_distance(UnfoldingTree(a + 1), UnfoldingTree(b + 1)) == expected[a, b]


def test_worked_example_child_matrix():
    trees = [parse("2(1,3)"), parse("3(1)"), parse("1(1,2,3)")]
    expected = np.array([[0, 2, 2, 3], [2, 0, 3, 2], [2, 3, 0, 4], [3, 2, 4, 0]], dtype=float)
    distances = [[tree_edit_distance(a, b) for b in trees] for a in trees]
    assert np.array_equal(distances, expected[:3, :3])
    # The distance to the empty tree is what a tree costs as the only child too many.
    deletions = [tree_edit_distance(UnfoldingTree(1, [tree]), UnfoldingTree(1)) for tree in trees]
    assert np.array_equal(deletions, expected[:3, 3])


def test_worked_example_mapping():
    mapping = tree_edit_mapping(parse(SOURCE), parse(TARGET))
    mapping.validate()
    assert mapping.cost == mapping.script().cost == len(mapping.script()) == 4
    assert mapping.deleted == ((1,), (1, 0))
    assert mapping.inserted == ((0, 1),)
    assert mapping.apply() == parse(TARGET)


# -- against the definition --------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(nested_trees(), nested_trees(), metric_matrices())
def test_is_the_minimum_over_all_mappings(a, b, matrix):
    cost = cost_function(LABELS, matrix)
    distance = tree_edit_distance(as_tree(a), as_tree(b), matrix_cost(matrix))
    assert distance == naive.brute_force_tree_distance(a, b, cost)
    assert distance == naive.recursive_tree_distance(a, b, cost)


@settings(max_examples=60, deadline=None)
@given(nested_trees(edges=EDGES), nested_trees(edges=EDGES), metric_matrices(), st.integers(1, 3))
def test_is_the_minimum_over_all_mappings_with_edge_labels(a, b, matrix, blank):
    relabel = affordable_edge_cost(matrix, blank)
    cost = matrix_cost(matrix, edge_relabel=relabel, edge_blank=blank)
    oracle = (cost_function(LABELS, matrix), edge_cost_function(relabel, blank))
    distance = tree_edit_distance(as_tree(a), as_tree(b), cost)
    assert distance == naive.brute_force_tree_distance(a, b, *oracle)
    assert distance == naive.recursive_tree_distance(a, b, *oracle)


@settings(max_examples=20, deadline=None)
@given(nested_trees(max_leaves=6), nested_trees(max_leaves=6), metric_matrices())
def test_is_transport_between_children(a, b, matrix):
    expected = naive.transport_tree_distance(a, b, cost_function(LABELS, matrix))
    assert tree_edit_distance(as_tree(a), as_tree(b), matrix_cost(matrix)) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(*[nested_trees(edges=EDGES, max_leaves=8)] * 3, metric_matrices())
def test_metric_axioms(a, b, c, matrix):
    cost = matrix_cost(matrix, edge_relabel=1, edge_blank=0.5)
    a, b, c = as_tree(a), as_tree(b), as_tree(c)
    distance = tree_edit_distance(a, b, cost)
    assert tree_edit_distance(a, a, cost) == 0
    assert distance == tree_edit_distance(b, a, cost)
    assert (distance == 0) == (a == b)
    assert tree_edit_distance(a, c, cost) <= distance + tree_edit_distance(b, c, cost)


@settings(max_examples=60, deadline=None)
@given(nested_trees(labels=(1, 2)), nested_trees(labels=(1, 2)))
def test_zero_exactly_for_isomorphic_trees(a, b):
    assert (tree_edit_distance(as_tree(a), as_tree(b)) == 0) == naive.tree_isomorphic(a, b)


@settings(max_examples=30, deadline=None)
@given(plain_graphs(edges=EDGES), st.integers(0, 3), st.data())
def test_invariant_under_renaming_of_nodes(graph, depth, data):
    order = data.draw(st.permutations(range(graph[0])))
    v, w = data.draw(st.tuples(*[st.integers(0, graph[0] - 1)] * 2))
    one, other = PlainGraph(*graph), PlainGraph(*permuted(graph, order))
    trees = [unfolding_tree(one, node, depth, edge_labels=True) for node in (v, w)]
    renamed = [unfolding_tree(other, order[node], depth, edge_labels=True) for node in (v, w)]
    assert trees == renamed
    mapping, same = tree_edit_mapping(*trees), tree_edit_mapping(*renamed)
    assert mapping == same
    expected = naive.recursive_tree_distance(
        *[naive.unfolding_tree(one.adjacency, one.labels, node, depth, one.names) for node in (v, w)],
        edge_cost=edge_cost_function(1.0, 0.0),
    )
    assert mapping.cost == expected


@settings(max_examples=60, deadline=None)
@given(confusable_trees())
def test_labels_that_run_together_are_told_apart(trees):
    a, b = trees
    expected = naive.recursive_tree_distance(a, b, edge_cost=edge_cost_function(1.0, 0.5))
    assert tree_edit_distance(as_tree(a), as_tree(b), EditCost(edge_blank=0.5)) == expected


def test_edge_and_node_labels_do_not_run_together():
    assert tree_edit_distance(parse("1(23:5)"), parse("12(3:5)")) == 2


@settings(max_examples=30, deadline=None)
@given(plain_graphs(edges=AMBIGUOUS, labels=AMBIGUOUS, max_nodes=4), confusable_labels(), st.integers(0, 2))
def test_single_trees_agree_with_batches_where_labels_run_together(graph, confusable, depth):
    pairs = [(2, [(0, 1)], [label, 5], [edge]) for label, edge in confusable]
    collection = as_collection([graph, *pairs])
    nodes = [(view.index, node) for view in collection for node in range(view.n_nodes)]
    trees = [unfolding_tree(collection[graph], node, depth, edge_labels=True) for graph, node in nodes]
    batched = tree_distances(collection, depth, nodes, EditCost(edge_blank=0.5), edge_labels=True)
    single = [[tree_edit_distance(a, b, EditCost(edge_blank=0.5)) for b in trees] for a in trees]
    assert np.array_equal(batched, single)


@pytest.mark.parametrize("name", ["MUTAG", "EGO-1"])
def test_golden_distances(shared, name):
    with np.load(shared / "golden" / f"sdted_{name}.npz") as golden:
        places = list(zip(golden["graph"][:8].tolist(), golden["node"][:8].tolist(), strict=True))
        expected = {depth: golden[f"depth{depth}"][:8, :8] for depth in range(4) if f"depth{depth}" in golden}
        empty = {depth: golden[f"empty{depth}"][:8] for depth in expected}
    graphs, _ = load_tu(shared / "data" / f"{name}.zip")
    for depth, distances in expected.items():
        trees = [unfolding_tree(graphs[graph], node, depth) for graph, node in places]
        assert np.array_equal([[tree_edit_distance(a, b) for b in trees] for a in trees], distances)
        assert np.array_equal([tree.size for tree in trees], empty[depth])


# -- sizes, kinds of input ---------------------------------------------------------------------------------------


def test_deep_paths_do_not_exhaust_the_stack():
    long = parse("(".join(["0"] * 1200) + ")" * 1199)
    longer = parse("(".join(["0"] * 1205) + ")" * 1204)
    assert tree_edit_distance(long, longer) == 5
    mapping = tree_edit_mapping(long, longer)
    assert len(mapping.inserted) == 5
    assert mapping.apply() == longer


def test_huge_trees_are_compared_without_being_written_out():
    complete = PlainGraph(12, list(itertools.combinations(range(12), 2)))
    less = PlainGraph(12, list(itertools.combinations(range(12), 2))[1:])
    a, b = unfolding_tree(complete, 5, 8), unfolding_tree(less, 5, 8)
    assert a.size > 10**8
    assert 0 < tree_edit_distance(a, b) < a.size
    with pytest.raises(ValueError, match="235,794,769 nodes"):
        tree_edit_mapping(a, b)


def test_trees_with_and_without_edge_labels_do_not_compare():
    with pytest.raises(ValueError, match="edge labels"):
        tree_edit_distance(parse("1(x:2)"), parse("1(2)"))
    assert tree_edit_distance(parse("1(x:2)"), parse("1")) == 1


def test_input_must_be_trees():
    with pytest.raises(TypeError, match="b must be an UnfoldingTree"):
        tree_edit_distance(parse("1"), "1")
    with pytest.raises(TypeError, match="a must be an UnfoldingTree"):
        tree_edit_mapping("1", parse("1"))


@pytest.mark.parametrize("cost", ["x", 0, 1.5, EditCost])
def test_cost_must_be_edit_costs(cost):
    for function in (tree_edit_distance, tree_edit_mapping):
        with pytest.raises(TypeError, match="cost must be an EditCost or None"):
            function(parse("1"), parse("2"), cost)
    with pytest.raises(TypeError, match="cost must be an EditCost or None"):
        tree_distances(as_collection([(2, [(0, 1)])]), 1, [(0, 0)], cost)


def test_depths_beyond_floating_point_are_refused():
    complete = PlainGraph(4, list(itertools.combinations(range(4), 2)))
    less = PlainGraph(4, list(itertools.combinations(range(4), 2))[1:])
    for a, b in itertools.product((complete, less), repeat=2):
        with pytest.raises(ValueError, match="depth 1100 makes distances larger than floating point holds"):
            tree_edit_distance(unfolding_tree(a, 3, 1100), unfolding_tree(b, 3, 1100))
    assert np.isfinite(tree_edit_distance(unfolding_tree(complete, 3, 600), unfolding_tree(less, 3, 600)))


def test_cost_must_be_a_metric_on_the_labels_of_the_trees():
    cost = EditCost.from_matrix("abc", [[0, 1, 9, 1], [1, 0, 1, 1], [9, 1, 0, 1], [1, 1, 1, 0]])
    assert tree_edit_distance(parse("a(b)"), parse("b(a)"), cost) == 2
    with pytest.raises(ValueError, match=r"γ\('a', 'c'\) = 9 is more than"):
        tree_edit_distance(parse("a(b)"), parse("c"), cost)


def test_attribute_vectors_as_labels():
    a, b = UnfoldingTree((0.0, 0.0), [UnfoldingTree((1.0, 1.0))]), UnfoldingTree((0.3, 0.4))
    assert tree_edit_distance(a, b, EditCost.from_attributes(blank=2)) == pytest.approx(2.5)


# ---------------------------------------------------------------------------------------------- many equal children


@pytest.mark.parametrize("seed", range(6))
def test_moving_equal_children_together_is_as_good_as_one_by_one(monkeypatch, seed):
    rng = np.random.default_rng(seed)

    def star():
        kinds = [
            UnfoldingTree(str(label), [UnfoldingTree("x")] * int(rng.integers(3))) for label in rng.integers(4, size=4)
        ]
        return UnfoldingTree("r", [kind for kind in kinds for _ in range(int(rng.integers(1, 7)))])

    a, b = star(), star()
    one_by_one = tree_edit_mapping(a, b)
    monkeypatch.setattr("relaxwl.distances.tree.MANY_CHILDREN", 0)
    together = tree_edit_mapping(a, b)
    together.validate()
    assert together.cost == one_by_one.cost == tree_edit_distance(a, b)
    assert together.apply() == b


def test_many_equal_leaves_take_no_memory():
    many, one = UnfoldingTree("r", [UnfoldingTree("x")] * 200_000), UnfoldingTree("r", [UnfoldingTree("y")])
    assert tree_edit_distance(many, one) == 200_000.0


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
    kinds = [edit.kind for edit in script]
    assert (kinds.count("delete"), kinds.count("insert")) == (len(mapping.deleted), len(mapping.inserted))


@settings(max_examples=60, deadline=None)
@given(nested_trees(max_leaves=10), nested_trees(max_leaves=10))
def test_with_unit_costs_distance_is_the_length_of_the_script(a, b):
    mapping = tree_edit_mapping(as_tree(a), as_tree(b))
    assert len(mapping.script()) == mapping.cost


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("0(0)", "0(0,0,0)", "two leaves inserted"),
        ("0(0,2)", "0(0,1,1)", "one leaf inserted, one node relabeled"),
        ("1(2(3,3),2(3,3))", "1", "two branches of three nodes each deleted"),
        ("1", "2(4(4),5(5,5))", "two branches (five nodes) inserted, the root relabeled"),
        ("0", f"0({','.join('0' * 14)})", "14 leaves inserted"),
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
    drawn, others = ({found.path(i) for i in range(len(found.labels))} for found in (source, target))
    assert {images[path] for path in drawn if path in images} == others & set(origins)


@pytest.mark.shared
@pytest.mark.parametrize(("name", "depth"), [("EGO-1", 2), ("MUTAG", 4)])
def test_default_pictures_of_real_neighborhoods_fit_a_screen(shared, name, depth):
    graphs, _ = load_tu(shared / "data" / f"{name}.zip")
    trees = [unfolding_tree(graphs[graph], node, depth) for graph in (0, 3) for node in (0, 3)]
    assert all(width(tree.to_svg()) <= 1600 for tree in trees)
    assert all(width(tree_edit_mapping(a, b).to_svg()) <= 1600 for a, b in itertools.pairwise(trees))


def test_equal_trees_need_nothing():
    mapping = tree_edit_mapping(parse("1(2,2,3)"), parse("1(3,2,2)"))
    assert mapping.cost == 0
    assert mapping.script() == ()
    assert str(mapping.script()) == "nothing to do"
    assert mapping.describe() == "no difference"


def test_edge_relabels_are_operations():
    mapping = tree_edit_mapping(parse("C(-:H,=:O)"), parse("C(=:O,=:H)"))
    assert mapping.script() == (Edit("relabel edge", "/0", "-", "=", 1.0),)
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
    for edit, reason in [
        (Edit("delete", "/0", 2, None, 1.0), "only a leaf"),
        (Edit("delete", "/", 1, None, 1.0), "only a leaf"),
        (Edit("relabel", "/0", 7, 8, 1.0), "another one"),
        (Edit("relabel", "/4", 7, 8, 1.0), "no such node"),
        (Edit("insert", "+/0/0", None, 1, 1.0, parent="+/0"), "parent must be there"),
    ]:
        with pytest.raises(ValueError, match=reason):
            EditScript([edit]).apply(tree)
