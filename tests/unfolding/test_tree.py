"""Unfolding trees against trees that are written out."""

import copy
import itertools
import pickle
import re
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from directed_graphs import directed_collection, random_digraphs
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.labels import MAX_NESTING
from relaxwl.unfolding.tree import MAX_WRITTEN_SIZE, UnfoldingTree, cuts, outline, unfolding_tree
from strategies import EDGES, LABELS, PlainGraph, as_tree, confusable_trees, nested_trees, permuted, plain_graphs

parse = UnfoldingTree.parse


def as_nested(tree):
    children = zip(tree.edge_labels, tree.children, strict=True)
    return (tree.label, tuple((edge, as_nested(child)) for edge, child in children))


# -- equality, order, sizes ----------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(nested_trees(labels=(1, 2), edges=EDGES), nested_trees(labels=(1, 2), edges=EDGES))
def test_equality_is_isomorphism(a, b):
    one, other = as_tree(a), as_tree(b)
    assert (one == other) == naive.tree_isomorphic(a, b)
    assert one != other or hash(one) == hash(other)


@settings(max_examples=100, deadline=None)
@given(confusable_trees())
def test_equality_is_isomorphism_where_labels_run_together(trees):
    a, b = trees
    assert (as_tree(a) == as_tree(b)) == naive.tree_isomorphic(a, b)


def test_labels_and_edges_do_not_run_together():
    texts = ["1(23:5)", "12(3:5)", "1(2:35)", '1("23":5)', '"1"(23:5)', "[1](23:5)", "1([23]:5)", "1(23:[5])", "1(235)"]
    assert len({parse(text) for text in texts}) == len(texts)
    assert parse("1(None:5)") != parse("1(5)")
    assert UnfoldingTree("None") != UnfoldingTree(("None",))


@pytest.mark.parametrize("inner", ["[", "[0,["])
def test_labels_nested_too_deeply_are_refused(inner):
    def nested(times):
        return inner * times + "0" + "]" * (times * inner.count("["))

    fits = MAX_NESTING // inner.count("[")
    assert parse(nested(fits)).size == 1
    with pytest.raises(ValueError, match="tuples within each other"):
        parse(nested(fits + 1))


def test_trees_that_differ_in_an_edge_are_ordered_by_it():
    for text in ("0(9:1(5:2),9:1(7:2))", "0(9:1(7:2),9:1(5:2))"):
        assert str(parse(text)) == "0(9:1(5:2),9:1(7:2))"


@settings(max_examples=60, deadline=None)
@given(nested_trees(edges=EDGES, max_leaves=12), st.randoms(use_true_random=False))
def test_order_of_children_does_not_matter(nested, random):
    def shuffled(children):
        return random.sample(list(children), len(children))

    tree, other = as_tree(nested), as_tree(nested, shuffled)
    assert tree == other
    assert str(tree) == str(other)
    assert naive.sorted_tree(as_nested(tree)) == naive.sorted_tree(nested)


@settings(max_examples=60, deadline=None)
@given(nested_trees(max_leaves=12))
def test_figures_agree_with_the_written_tree(nested):
    tree = as_tree(nested)
    subtrees = []

    def visit(node):
        subtrees.append(naive.sorted_tree(node))
        return 1 + max((visit(child) for _, child in node[1]), default=-1)

    assert tree.depth == visit(nested)
    assert tree.size == len(subtrees) == len(list(tree.walk()))
    assert tree.n_distinct_subtrees == len(set(subtrees))


@settings(max_examples=60, deadline=None)
@given(st.lists(nested_trees(labels=(1, 2)), min_size=3, max_size=3))
def test_canonical_order_is_lexicographic(nested):
    trees = sorted(as_tree(tree) for tree in nested)

    def key(tree):
        return (tree.label, [key(child) for child in tree.children])

    assert [key(tree) for tree in trees] == sorted(key(tree) for tree in trees)


def test_children_and_branches():
    tree = parse("1(3,2(1),3,3)")
    assert [str(child) for child in tree.children] == ["2(1)", "3", "3", "3"]
    assert [(str(b.tree), b.edge, b.multiplicity) for b in tree.branches] == [("2(1)", None, 1), ("3", None, 3)]
    assert tree.edge_labels == (None,) * 4
    assert tree.subtree((0, 0)) == parse("1")
    assert [path for path, _ in tree.walk()] == [(), (0,), (0, 0), (1,), (2,), (3,)]
    with pytest.raises(ValueError, match="leads out of the tree"):
        tree.subtree((0, 1))


def test_cannot_be_changed():
    tree = parse("1(2)")
    with pytest.raises(AttributeError, match="cannot assign to field 'label'"):
        tree.label = 3
    with pytest.raises(AttributeError, match="cannot delete field 'label'"):
        del tree.label
    assert copy.copy(tree) == tree
    assert copy.deepcopy(tree) == tree


def test_equal_labels_of_different_types_are_one_label():
    assert UnfoldingTree(1) == UnfoldingTree(1.0) == UnfoldingTree(True)
    assert UnfoldingTree(1) != UnfoldingTree("1")
    leaf = UnfoldingTree(0)
    assert UnfoldingTree(0, [leaf], [1]) == UnfoldingTree(0, [leaf], [1.0]) == UnfoldingTree(0, [leaf], [True])
    assert UnfoldingTree(0, [leaf], [1]) != UnfoldingTree(0, [leaf], ["1"])


def test_bad_arguments():
    with pytest.raises(TypeError, match="blank"):
        UnfoldingTree(None)
    with pytest.raises(TypeError, match="children must be UnfoldingTree"):
        UnfoldingTree(1, [2])
    with pytest.raises(ValueError, match="edge_labels has 2 entries for 1 children"):
        UnfoldingTree(1, [UnfoldingTree(1)], ["a", "b"])
    with pytest.raises(ValueError, match="either all edges"):
        UnfoldingTree(1, [parse("1(x:2)")])
    assert parse("1(x:2)") != 3


@given(nested_trees(edges=EDGES, max_leaves=8))
def test_pickle(nested):
    tree = as_tree(nested)
    assert pickle.loads(pickle.dumps(tree)) == tree


# -- notation ------------------------------------------------------------------------------------------------------


def test_deep_paths_do_not_exhaust_the_stack():
    depth = 5 * sys.getrecursionlimit()
    text = "(".join(["0"] * (depth + 1)) + ")" * depth
    tree = parse(text)
    assert (tree.depth, tree.size, tree.n_distinct_subtrees) == (depth, depth + 1, depth + 1)
    assert str(tree) == text
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert len(tree.distinct_subtrees()) == depth + 1
    assert tree.to_networkx().number_of_edges() == depth
    assert len(tree.to_text().splitlines()) == 201
    assert "more" in tree.to_svg()
    assert tree < UnfoldingTree(0, [tree])


# -- drawings and conversions --------------------------------------------------------------------------------------


def test_text_drawing():
    assert parse("C(=:O,-:C(-:H,-:H,-:H))").to_text(collapse=True).splitlines() == [
        "C",
        "├─[-]─ C",
        "│  └─[-]─ H ×3",
        "└─[=]─ O",
    ]


def test_text_drawing_is_cut():
    assert UnfoldingTree(0, [parse("1(2)")] * 1000).to_text(max_nodes=3).splitlines() == [
        "0",
        "├─ 1",
        "│  └─ … +1 more",
        "├─ 1",
        "│  └─ … +1 more",
        "└─ … +1,996 more",
    ]
    with pytest.raises(ValueError, match="max_nodes"):
        parse("1").to_text(max_nodes=0)


def test_networkx():
    graph = parse("1(x:2(y:3),x:2(y:3))").to_networkx()
    assert graph.number_of_nodes() == 5
    assert graph.nodes[0]["label"] == 1
    assert sorted(data["label"] for _, _, data in graph.edges(data=True)) == ["x", "x", "y", "y"]
    assert parse("1(2)").to_networkx().edges[0, 1] == {}
    with pytest.raises(ValueError, match="the tree has 5 nodes, more than max_nodes=4"):
        parse("1(x:2(y:3),x:2(y:3))").to_networkx(max_nodes=4)


def test_svg_shows_labels_as_text():
    tree = UnfoldingTree("<script>", [UnfoldingTree("&")], ["<b>"])
    svg = tree.to_svg()
    assert "<script>" not in svg
    assert "&lt;script&gt;" in svg
    assert "&lt;b&gt;" in svg
    assert tree._repr_svg_() == svg
    assert "<style>" not in tree.to_svg(embed_style=False)
    assert "×3" in parse("1(2,2,2)").to_svg(collapse=True)


# -- from graphs ---------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(plain_graphs(edges=EDGES), st.integers(0, 3), st.booleans(), st.data())
def test_unfolding_is_what_the_definition_writes_out(graph, depth, edge_labels, data):
    plain = PlainGraph(*graph)
    node = data.draw(st.integers(0, graph[0] - 1))
    expected = naive.unfolding_tree(plain.adjacency, plain.labels, node, depth, plain.names if edge_labels else None)
    tree = unfolding_tree(plain, node, depth, edge_labels=edge_labels)
    assert tree == as_tree(expected)
    assert tree.size == naive.tree_size(expected)


@settings(max_examples=40, deadline=None)
@given(plain_graphs(), st.integers(0, 4), st.data())
def test_names_of_nodes_do_not_matter(graph, depth, data):
    order = data.draw(st.permutations(range(graph[0])))
    node = data.draw(st.integers(0, graph[0] - 1))
    tree = unfolding_tree(PlainGraph(*graph), node, depth)
    other = unfolding_tree(PlainGraph(*permuted(graph, order)), order[node], depth)
    assert (tree, str(tree)) == (other, str(other))


def test_dense_graphs_share_subtrees():
    edges = [pair for i, pair in enumerate(itertools.combinations(range(60), 2)) if i % 7]
    graph = PlainGraph(60, edges, labels=[LABELS[v % 3] for v in range(60)])
    tree = unfolding_tree(graph, 0, 6)
    assert tree.size > 10**9
    assert tree.n_distinct_subtrees < 6 * 60
    assert tree.size > MAX_WRITTEN_SIZE
    assert str(tree) == repr(tree)
    assert "nodes, depth 6" in repr(tree)
    assert len(tree.to_svg()) < 200_000
    with pytest.raises(ValueError, match="more than max_nodes"):
        tree.to_networkx()


def test_unlabeled_graphs_have_one_label():
    assert str(unfolding_tree(PlainGraph(3, [(0, 1), (1, 2)]), 1, 2)) == "0(0(0),0(0))"
    assert str(unfolding_tree(PlainGraph(1, []), 0, 3)) == "0"


def test_attributes_in_place_of_labels():
    graph = PlainGraph(2, [(0, 1)], labels=["a", "b"])
    attributes = np.array([[0.5, 1.0], [2.0, 0.0]])
    assert str(unfolding_tree(graph, 0, 1, node_labels=attributes)) == "[0.5,1]([2,0])"
    pairs = list(zip(graph.labels, attributes, strict=True))
    assert str(unfolding_tree(graph, 0, 1, node_labels=pairs)) == "[a,[0.5,1]]([b,[2,0]])"
    with pytest.raises(ValueError, match="node_labels has 1 entries for 2 nodes"):
        unfolding_tree(graph, 0, 1, node_labels=[1])


def test_bad_nodes_and_depths():
    graph = PlainGraph(2, [(0, 1)])
    for depth in (-1, 1.5, True, "1", None):
        with pytest.raises(ValueError, match="depth must be an integer >= 0"):
            unfolding_tree(graph, 0, depth)
    for node in (-1, 1.5, True, "1", None):
        with pytest.raises(ValueError, match="node must be an integer >= 0"):
            unfolding_tree(graph, node, 1)
    assert unfolding_tree(graph, np.int32(1), np.int64(1)) == parse("0(0)")
    with pytest.raises(ValueError, match="node must be an index below 2, not 2"):
        unfolding_tree(graph, 2, 1)
    with pytest.raises(ValueError, match="edge_labels=True needs"):
        unfolding_tree(graph, 0, 1, edge_labels=True)


def test_a_collection_is_no_graph():
    with pytest.raises(TypeError, match=r"not a GraphCollection: give collection\[i\]"):
        unfolding_tree(GraphCollection.from_edges([(2, [(0, 1)])]), 0, 1)


def test_a_graph_without_edges_needs_no_edge_labels():
    edgeless = GraphCollection.from_edges([(2, [], ["a", "b"])])
    assert unfolding_tree(edgeless[0], 1, 3, edge_labels=True) == parse("b")
    assert unfolding_tree(PlainGraph(1, []), 0, 1, edge_labels=True) == parse("0")


@pytest.mark.parametrize("directions", ["both", "out", "in"])
def test_trees_of_directed_graphs(directions):
    n, arcs, labels, _ = max(random_digraphs(), key=lambda graph: len(graph[1]))
    graph = directed_collection([(n, arcs, labels, [0] * len(arcs))])[0]
    for node in range(n):
        expected = naive.directed_tree(n, arcs, labels, node, 2, directions)
        tree = unfolding_tree(graph, node, 2, directions=directions)
        assert _nested(tree) == (expected if directions == "both" else _untold(expected))


def _nested(tree):
    """The tree as the oracle writes it."""
    below = [(branch.edge, _nested(branch.tree)) for branch in tree.branches for _ in range(branch.multiplicity)]
    return tree.label, tuple(sorted(((edge, None), child) for edge, child in below))


def _untold(tree):
    """The same tree without directions: where only one of them is followed, edges need not say it."""
    return tree[0], tuple(sorted(((None, None), _untold(below)) for _, below in tree[1]))


labels = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.text(max_size=4), st.floats(allow_nan=False, allow_infinity=False)
)


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(labels, lambda inner: st.tuples(inner, inner), max_leaves=3).flatmap(
        lambda label: nested_trees(labels=(label, 1, "a"), edges=(label, "b"))
    )
)
def test_notation_round_trip(nested):
    tree = as_tree(nested)
    assert parse(str(tree)) == tree
    if tree.size < 30:
        assert eval(repr(tree), {"UnfoldingTree": UnfoldingTree}) == tree


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (" 1 ( 2 , 3 ( 4 ) ) ", "1(2,3(4))"),
        ("a(-1,1.5,1e3,0x)", "a(-1,1.5,1000,0x)"),
        ('"1"("a b","(","")', '"1"("","(","a b")'),
        ("C(=:O,-:H)", "C(-:H,=:O)"),
        ('"a:b"("x,y":[1,[2,"3"]])', '"a:b"("x,y":[1,[2,"3"]])'),
        ("[](2)", "[](2)"),
        ("é(日本)", "é(日本)"),
        ('"a\\nb"', '"a\\nb"'),
    ],
)
def test_notation(text, written):
    assert str(parse(text)) == written
    assert str(parse(written)) == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a label at position 0: the end"),
        ("1(2", "expected ',' or '\\)' at position 3"),
        ("1(2))", "expected the end at position 4"),
        ("1(2,)", "expected a label at position 4"),
        ("1()", "expected a label"),
        ("1(-0.0e5, 1e-400)", "'1e-400' is not 0, and no floating-point number is as small"),
        ("x:1", "root of a tree cannot have an edge label"),
        ("1(x:2,3)", "either all edges"),
        ('1("a)', "closed quoted label"),
        ("[1,2", "expected ',' or '\\]'"),
        ("1 2", "expected the end"),
        ("1(" + "2," * 200, "expected a label at position 402: the end of the text"),
    ],
)
def test_notation_errors(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


@pytest.mark.parametrize("text", ["[" * 3000, "[" * 3000 + "]" * 3000, "1(" + "[" * 3000 + ":2)", "[1," * 300])
def test_deeply_nested_labels_are_refused(text):
    with pytest.raises(ValueError, match="more than 100 tuples within each other"):
        parse(text)


def test_nested_labels_are_written_up_to_the_limit():
    label = ()
    for _ in range(99):
        label = (label,)
    tree = UnfoldingTree(label, [UnfoldingTree(label)], [label])
    assert parse(str(tree)) == tree
    for _ in range(3000):
        label = (label,)
    for arguments in ((label,), (1, [tree], [label])):
        with pytest.raises(ValueError, match="more than 100 tuples within each other"):
            UnfoldingTree(*arguments)


def test_notation_needs_text():
    with pytest.raises(TypeError, match="must be a string"):
        parse(5)


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
    found = outline(tree, 10, choose=lambda path, n_children: range(n_children)[-2 + len(path) :])
    assert found.labels == [1, 3, 6, 5]
    assert [found.path(index) for index in range(4)] == [(), (2,), (3,), (2, 1)]
    assert found.hidden == [2, 1, 0, 0]
    assert [tree.subtree(found.path(index)).label for index in range(4)] == found.labels


@pytest.mark.parametrize("depth", [0, 1, 2, 50])
def test_cuts_get_smaller_and_end_with_one_level(depth):
    found = list(cuts(depth))
    assert found == sorted(found, key=lambda cut: (cut.levels, cut.children), reverse=True)
    assert (found[-1].children, found[-1].levels) == (2, min(depth, 1))
