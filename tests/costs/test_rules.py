"""The ways to state costs: a matrix, a function, or distances of attributes."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costs.examples import THREE, absolute_difference, is_metric, rows
from relaxwl.costs import EditCost
from relaxwl.costs.edit_cost import DIRECTION_MARKS
from relaxwl.graphs.building import ENTERS, LEAVES
from strategies import metric_matrices


@given(metric_matrices(), st.permutations([0, 1, 2]))
def test_matrix_is_looked_up_by_label(matrix, order):
    cost = EditCost.from_matrix("abc", matrix)
    chosen = order[:2]
    expected = matrix[np.ix_([*chosen, 3], [*chosen, 3])]
    assert np.array_equal(cost.node_matrix(["abc"[i] for i in chosen]), expected)


def test_only_labels_in_use_are_checked():
    matrix = np.array(THREE, dtype=float)
    matrix[0, 2] = 7
    assert EditCost.from_matrix("abc", matrix).node_matrix("ab").shape == (3, 3)


def test_unknown_repeated_and_blank_labels():
    cost = EditCost.from_matrix("abc", THREE)
    with pytest.raises(ValueError, match=r"no row for the label 'd'; it knows \['a', 'b', 'c'\]"):
        cost.node_matrix("ad")
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        cost.node_matrix("aa")
    with pytest.raises(ValueError, match="None, which stands for the blank"):
        cost.node_matrix([None])


def test_shape_of_the_matrix():
    with pytest.raises(ValueError, match=r"shape \(3, 3\), but 3 labels and the blank \(last\) need \(4, 4\)"):
        EditCost.from_matrix("abc", np.zeros((3, 3)))


def test_numpy_labels_are_plain_labels():
    cost = EditCost.from_matrix(np.array([1, 2, 3]), THREE)
    assert cost == EditCost.from_matrix([1, 2, 3], THREE)
    assert json.dumps(cost.to_dict())


def test_callable():
    cost = EditCost.from_callable(absolute_difference)
    assert cost.node_matrix([5, 6]).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    with pytest.raises(ValueError, match="not a metric"):
        EditCost.from_callable(lambda a, b: 1 if a is None else 0).node_matrix([1])
    # A function does not tell its labels: without them there is nothing to check edges against.
    assert cost.edge_matrix("xy").shape == (3, 3)
    with pytest.raises(TypeError, match="function must be callable"):
        EditCost.from_callable(3)


def test_a_callable_must_return_numbers():
    for value in (None, "x", ()):
        with pytest.raises(TypeError, match=r"function must return a number, but function\(1, 1\) is "):
            EditCost.from_callable(lambda a, b, value=value: value).node_matrix([1])


@settings(deadline=None)
@given(metric_matrices(), rows, st.floats(0.1, 5))
def test_costs_of_labels_and_attributes_add_up(matrix, attributes, blank):
    cost = EditCost.from_attributes(blank=blank, relabel=EditCost.from_matrix("abc", matrix), scale=None)
    book = cost.codebook(attributes)
    pairs = [(label, code) for label in "abc" for code in range(len(book))]
    found = book.paired_matrix(pairs)
    assert is_metric(found)
    for i, (a, x) in enumerate(pairs):
        for j, (b, y) in enumerate(pairs):
            apart = matrix["abc".index(a), "abc".index(b)] + np.linalg.norm(book.centers[x] - book.centers[y])
            assert found[i, j] == pytest.approx(min(apart, 2 * blank))
    assert np.array_equal(
        cost.node_matrix([(label, tuple(book.centers[code].tolist())) for label, code in pairs]), found
    )


def test_labels_keep_their_own_costs_beside_attributes_of_edges():
    labels = EditCost.from_matrix("abc", THREE)
    cost = EditCost.from_attributes(edge_metric="euclidean", relabel=labels)
    assert np.array_equal(cost.node_matrix("abc"), labels.node_matrix("abc"))
    assert not cost.uses_attributes
    with pytest.raises(ValueError, match="relabel must be a number or costs of labels, not costs of attributes"):
        EditCost.from_attributes(relabel=cost)


def test_direction_and_label_together_cost_the_larger():
    costs = EditCost().edge_matrix([(LEAVES, "a"), (ENTERS, "b"), (LEAVES, "b")])
    assert costs[0, 1] == costs[0, 2] == costs[1, 2] == 1
    weighted = EditCost.from_attributes(edge_metric="euclidean", edge_relabel=2)
    costs = weighted.edge_matrix([(LEAVES, (0.0,)), (ENTERS, (0.5,)), (ENTERS, (5.0,))])
    assert costs[:3, :3].tolist() == [[0, 2, 5], [2, 0, 4.5], [5, 4.5, 0]]
    assert (LEAVES, ENTERS) == DIRECTION_MARKS
