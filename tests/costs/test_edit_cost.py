"""Edit costs: validated to be metrics, kept as data, made from attributes."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costs.examples import THREE, absolute_difference, is_metric, rows
from relaxwl.costs import EditCost
from relaxwl.costs.edit_cost import DIRECTION_MARKS
from relaxwl.graphs.building import ENTERS, LEAVES
from strategies import metric_matrices

ALL_KINDS = [
    EditCost(relabel=0.5, edge_blank=0.25),
    EditCost.from_matrix(["a", 2, ("x", 1)], THREE, edge_relabel=0.5),
    EditCost.from_attributes("manhattan", blank=0.5, n_codes=7, relabel=0.1),
    EditCost.from_attributes("manhattan", edge_metric="chebyshev", n_edge_codes=3).with_missing(0.25),
    EditCost.from_attributes(edge_metric="euclidean", blank=3).with_missing(2),
    EditCost.from_attributes(relabel=EditCost.from_matrix("abc", THREE), n_codes=2, edge_blank=1),
    EditCost.from_attributes(edge_metric="manhattan", relabel=EditCost.from_matrix(["a", 2, ("x", 1)], THREE)),
]


# -- uniform -------------------------------------------------------------------------------------------------------


def test_defaults():
    cost = EditCost()
    assert np.array_equal(cost.node_matrix([1, 2]), 1 - np.eye(3))
    assert np.array_equal(cost.edge_matrix(["x", "y"]), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert np.array_equal(cost.node_matrix([]), [[0.0]])
    assert cost.node_matrix([1]).dtype == np.float64
    assert not cost.uses_attributes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"relabel": 2.5}, r"relabel=2.5 is more than deleting and inserting \(2 \* insert_delete = 2.0\)"),
        ({"relabel": 0}, "relabel must be a finite number > 0, not 0"),
        ({"insert_delete": -1}, "insert_delete must be a finite number > 0"),
        ({"edge_relabel": float("nan")}, "edge_relabel must be a finite number > 0"),
        ({"edge_blank": -1}, "edge_blank must be a finite number >= 0"),
    ],
)
def test_bad_uniform_costs(arguments, message):
    with pytest.raises(ValueError, match=message):
        EditCost(**arguments)


def test_costs_are_numbers():
    with pytest.raises(TypeError, match="relabel must be a finite number"):
        EditCost(relabel="cheap")


# -- immutability, equality, keeping ---------------------------------------------------------------------------------


def test_cannot_be_changed():
    cost = EditCost()
    with pytest.raises(AttributeError, match=r"cannot (assign|delete)"):
        cost.edge_blank = 3
    with pytest.raises(AttributeError, match=r"cannot (assign|delete)"):
        del cost.edge_blank


@pytest.mark.parametrize("cost", [*ALL_KINDS, EditCost.from_callable(absolute_difference)], ids=repr)
def test_pickle_copy_and_equality(cost):
    for other in (pickle.loads(pickle.dumps(cost)), copy.deepcopy(cost), copy.copy(cost)):
        assert other == cost
        assert hash(other) == hash(cost)
        assert repr(other) == repr(cost)
    assert cost != EditCost(relabel=0.75)
    assert cost != "cost"


@pytest.mark.parametrize("cost", ALL_KINDS, ids=repr)
def test_data_round_trip(cost):
    assert EditCost.from_dict(json.loads(json.dumps(cost.to_dict()))) == cost


def test_callables_and_unknown_data_are_refused():
    with pytest.raises(ValueError, match="only pickle can keep"):
        EditCost.from_callable(absolute_difference).to_dict()
    with pytest.raises(ValueError, match="kind is 'magic'"):
        EditCost.from_dict({"kind": "magic"})
    with pytest.raises(ValueError, match="cannot be written as data"):
        EditCost.from_matrix([b"x"], [[0, 1], [1, 0]]).to_dict()


def test_repr_says_how_it_was_made():
    assert repr(EditCost()) == "EditCost(relabel=1.0, insert_delete=1.0, edge_relabel=1.0, edge_blank=0.0)"
    assert repr(EditCost.from_matrix(range(9), 1 - np.eye(10))).startswith(
        "EditCost.from_matrix([0, 1, 2, 3, 4, 5, … 3 more], <10 x 10 matrix>"
    )
    assert "absolute_difference" in repr(EditCost.from_callable(absolute_difference))


# -- edges -----------------------------------------------------------------------------------------------------------


def test_dear_edges_are_refused_with_a_remedy():
    cost = EditCost(edge_relabel=2)
    with pytest.raises(ValueError, match=r"edge label 'x' by 'y' costs 2 .* use edge_relabel ≤ 1 or edge_blank ≥ 0.5"):
        cost.edge_matrix("xy")
    assert cost.edge_matrix("x").shape == (2, 2)
    # With a single node label nothing but the edge needs replacing.
    assert cost.edge_matrix("xy", ["C"]).shape == (3, 3)
    assert EditCost(edge_relabel=2, edge_blank=0.5).edge_matrix("xy").shape == (3, 3)


@settings(deadline=None)
@given(metric_matrices(), st.integers(0, 4), st.integers(1, 12))
def test_accepted_edges_are_exactly_those_that_keep_a_metric(matrix, edge_blank, edge_relabel):
    cost = EditCost.from_matrix("abc", matrix, edge_relabel=edge_relabel, edge_blank=edge_blank)
    # Children that are single nodes: pairs (edge, node) and the blank.
    edges = np.where(np.eye(2, dtype=bool), 0, edge_relabel)
    pairs = (edges[:, None, :, None] + matrix[None, :3, None, :3]).reshape(6, 6)
    ground = np.zeros((7, 7))
    ground[:6, :6] = pairs
    ground[6, :6] = ground[:6, 6] = edge_blank + np.tile(matrix[:3, 3], 2)
    if is_metric(ground):
        assert cost.edge_matrix("xy", "abc")[0, 1] == edge_relabel
        assert cost.edge_matrix("xy")[0, 2] == edge_blank
    else:
        with pytest.raises(ValueError, match="edge costs"):
            cost.edge_matrix("xy", "abc")


def test_edges_are_checked_against_costs_of_codes():
    cost = EditCost.from_attributes(blank=1, edge_blank=0, scale=None)
    assert cost.edge_matrix("xy").shape == (3, 3)
    near, far = cost.codebook([[0.0], [0.5]]).node_matrix(), cost.codebook([[0.0], [9.0]]).node_matrix()
    assert cost.edge_matrix("xy", node_costs=near).shape == (3, 3)
    with pytest.raises(ValueError, match=r"label 'code 0' by 'code 1' costs 2, .* \(2\); use edge_blank ≥ 0.5"):
        cost.edge_matrix("xy", node_costs=far)
    roomy = EditCost.from_attributes(blank=1, edge_blank=0.5)
    assert roomy.edge_matrix("xy", node_costs=far).shape == (3, 3)


# -- tolerances --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_edge_costs_are_compared_relatively(scale):
    cost = EditCost(relabel=2 * scale, insert_delete=scale, edge_relabel=0.1 * scale)
    with pytest.raises(ValueError, match="together more than"):
        cost.edge_matrix(["-", "="])
    EditCost(2 * scale, scale, edge_relabel=0.2 * scale, edge_blank=0.1 * scale).edge_matrix(["-", "="])


# -------- the ways to state costs: a matrix, a function, or distances of attributes


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


def test_texts_in_a_matrix_are_not_read_as_numbers():
    with pytest.raises(ValueError, match="'0' is not a number"):
        EditCost.from_matrix("a", [["0", "1_0"], ["1_0", "0"]])


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
