"""Trees as text, written and read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxwl.unfolding.tree import UnfoldingTree
from strategies import as_tree, nested_trees

parse = UnfoldingTree.parse
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
