"""Edit costs: validated to be metrics, kept as data, made from attributes."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from relaxwl.costs import Codebook, EditCost, cost_text
from strategies import metric_matrices

THREE = [[0, 1, 2, 1], [1, 0, 1, 1], [2, 1, 0, 1], [1, 1, 1, 0]]


def absolute_difference(a, b):
    if a == b:
        return 0
    return 1.0 if a is None or b is None else min(abs(a - b), 2.0)


ALL_KINDS = [
    EditCost(relabel=0.5, edge_blank=0.25),
    EditCost.from_matrix(["a", 2, ("x", 1)], THREE, edge_relabel=0.5),
    EditCost.from_attributes("manhattan", blank=0.5, n_codes=7, relabel=0.1),
    EditCost.from_attributes("manhattan", edge_metric="chebyshev", n_edge_codes=3).with_missing(0.25),
    EditCost.from_attributes(edge_metric="euclidean", blank=3).with_missing(2),
    EditCost.from_attributes(relabel=EditCost.from_matrix("abc", THREE), n_codes=2, edge_blank=1),
    EditCost.from_attributes(edge_metric="manhattan", relabel=EditCost.from_matrix(["a", 2, ("x", 1)], THREE)),
]


def is_metric(matrix):
    triangle = matrix[:, None, :] <= matrix[:, :, None] + matrix[None, :, :] + 1e-9
    off_diagonal = matrix[~np.eye(len(matrix), dtype=bool)]
    return bool((matrix == matrix.T).all() and triangle.all() and (off_diagonal > 0).all() and not matrix.trace())


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
    with pytest.raises(AttributeError, match="cannot be changed"):
        cost.edge_blank = 3
    with pytest.raises(AttributeError, match="cannot be changed"):
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


# -- matrix and callable ---------------------------------------------------------------------------------------------


@given(metric_matrices(), st.permutations([0, 1, 2]))
def test_matrix_is_looked_up_by_label(matrix, order):
    cost = EditCost.from_matrix("abc", matrix)
    chosen = order[:2]
    expected = matrix[np.ix_([*chosen, 3], [*chosen, 3])]
    assert np.array_equal(cost.node_matrix(["abc"[i] for i in chosen]), expected)


@settings(deadline=None)
@given(hnp.arrays(np.float64, (4, 4), elements=st.integers(-1, 4)))
def test_exactly_metrics_are_accepted(matrix):
    cost = EditCost.from_matrix("abc", matrix)
    if is_metric(matrix):
        assert np.array_equal(cost.node_matrix("abc"), matrix)
    else:
        with pytest.raises(ValueError, match=r"the edit cost is not a metric: γ\("):
            cost.node_matrix("abc")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ((0, 0), 1, r"γ\('a', 'a'\) = 1, but must be 0"),
        ((0, 1), 0, r"γ\('a', 'b'\) = 0, but must be positive"),
        ((0, 1), 1.5, r"γ\('a', 'b'\) = 1.5, but γ\('b', 'a'\) = 1"),
        ((3, 1), np.nan, r"γ\(⊥ \(the blank\), 'b'\) = nan is not finite"),
        ((0, 2), 3, r"γ\('a', 'c'\) = 3 is more than γ\('a', 'b'\) = 1 plus γ\('b', 'c'\) = 1"),
    ],
)
def test_violations_name_labels_and_numbers(place, value, message):
    matrix = np.array(THREE, dtype=float)
    matrix[place] = value
    if value == 3:
        matrix[place[::-1]] = value
    with pytest.raises(ValueError, match=message):
        EditCost.from_matrix("abc", matrix).node_matrix("abc")


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


# -- edges -----------------------------------------------------------------------------------------------------------


def test_a_callable_must_return_numbers():
    for value in (None, "x", ()):
        with pytest.raises(TypeError, match=r"function must return a number, but function\(1, 1\) is "):
            EditCost.from_callable(lambda a, b, value=value: value).node_matrix([1])


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (0.0, "0"),
        (3.0, "3"),
        (1234567.0, "1234567"),
        (2.0**53, "9007199254740992"),
        (1e300, "1e+300"),
        (1.5, "1.5"),
        (1234567.5, "1234567.5"),
        (0.1 + 0.2, "0.3"),
        (np.float64(7), "7"),
    ],
)
def test_costs_are_written_with_all_digits(cost, text):
    assert cost_text(cost) == text


def test_dear_edges_are_refused_with_a_remedy():
    cost = EditCost(edge_relabel=2)
    with pytest.raises(ValueError, match=r"edge label 'x' by 'y' costs 2 .* use edge_relabel ≤ 1 or edge_blank ≥ 0.5"):
        cost.edge_matrix("xy")
    assert cost.edge_matrix("x").shape == (2, 2)
    # With a single vertex label nothing but the edge needs replacing.
    assert cost.edge_matrix("xy", ["C"]).shape == (3, 3)
    assert EditCost(edge_relabel=2, edge_blank=0.5).edge_matrix("xy").shape == (3, 3)


@settings(deadline=None)
@given(metric_matrices(), st.integers(0, 4), st.integers(1, 12))
def test_accepted_edges_are_exactly_those_that_keep_a_metric(matrix, edge_blank, edge_relabel):
    cost = EditCost.from_matrix("abc", matrix, edge_relabel=edge_relabel, edge_blank=edge_blank)
    # Children that are single vertices: pairs (edge, vertex) and the blank.
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
    cost = EditCost.from_attributes(blank=1, edge_blank=0)
    assert cost.edge_matrix("xy").shape == (3, 3)
    near, far = cost.codebook([[0.0], [0.5]]).node_matrix(), cost.codebook([[0.0], [9.0]]).node_matrix()
    assert cost.edge_matrix("xy", node_costs=near).shape == (3, 3)
    with pytest.raises(ValueError, match=r"label 'code 0' by 'code 1' costs 2, .* \(2\); use edge_blank ≥ 0.5"):
        cost.edge_matrix("xy", node_costs=far)
    roomy = EditCost.from_attributes(blank=1, edge_blank=0.5)
    assert roomy.edge_matrix("xy", node_costs=far).shape == (3, 3)


# -- attributes ------------------------------------------------------------------------------------------------------

rows = hnp.arrays(np.float64, st.tuples(st.integers(1, 8), st.just(2)), elements=st.integers(-3, 3).map(float))


@settings(deadline=None)
@given(rows, st.floats(0.1, 5), st.sampled_from(["euclidean", "manhattan", "chebyshev"]))
def test_attribute_costs_are_metrics(attributes, blank, metric):
    book = EditCost.from_attributes(metric, blank=blank).codebook(attributes)
    assert is_metric(book.node_matrix())
    pairs = [(label, code) for label in "ab" for code in range(len(book))]
    assert is_metric(book.paired_matrix(pairs))


@settings(deadline=None)
@given(rows, st.randoms(use_true_random=False))
def test_every_distinct_vector_is_a_code(attributes, random):
    book = EditCost.from_attributes().codebook(attributes)
    assert np.array_equal(book.centers[book.codes_of(attributes)], attributes)
    assert book.centers.tolist() == sorted(book.centers.tolist())
    order = random.sample(range(len(attributes)), len(attributes))
    assert np.array_equal(EditCost.from_attributes().codebook(attributes[order]).centers, book.centers)


def test_direct_and_quantised_costs_agree():
    cost = EditCost.from_attributes(blank=1.5, relabel=0.5)
    vectors = [(0.0, 0.0), (0.0, 1.0), (5.0, 5.0)]
    book = cost.codebook(vectors)
    assert np.array_equal(cost.node_matrix(vectors), book.node_matrix())
    pairs = [("a", 0), ("b", 0), ("a", 2)]
    direct = cost.node_matrix([(label, vectors[code]) for label, code in pairs])
    assert np.array_equal(direct, book.paired_matrix(pairs))
    assert direct.tolist() == [[0, 0.5, 3, 1.5], [0.5, 0, 3, 1.5], [3, 3, 0, 1.5], [1.5, 1.5, 1.5, 0]]
    assert np.array_equal(cost.node_matrix([]), [[0.0]])
    assert np.array_equal(cost.node_matrix([1, 2]), EditCost.from_attributes(blank=1.5).node_matrix([(1,), (2,)]))


def test_quantised_codebook_ignores_the_order_of_vertices():
    rng = np.random.default_rng(0)
    attributes = np.round(rng.normal(size=(200, 3)), 1)
    cost = EditCost.from_attributes(n_codes=5)
    book = cost.codebook(attributes, random_state=3)
    other = cost.codebook(attributes[rng.permutation(200)], random_state=3)
    assert len(book) == 5
    assert np.array_equal(book.centers, other.centers)
    assert book.centers.tolist() == sorted(book.centers.tolist())
    assert set(book.codes_of(attributes)) == set(range(5))
    assert book.codes_of(attributes).dtype == np.int32
    assert len(EditCost.from_attributes(n_codes=900).codebook(attributes)) == len(np.unique(attributes, axis=0))


def test_codebook_from_a_generator_and_from_single_numbers():
    cost = EditCost.from_attributes(n_codes=2)
    book = cost.codebook([0.0, 0.1, 5.0, 5.1], random_state=np.random.default_rng(0))
    assert cost.uses_attributes
    assert book.centers.ravel().tolist() == pytest.approx([0.05, 5.05])
    assert book.codes_of([4.0, 1.0]).tolist() == [1, 0]


def test_negative_zero_is_zero():
    assert len(EditCost.from_attributes().codebook([[0.0], [-0.0]])) == 1


def test_codebook_is_read_only():
    book = Codebook(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="read-only"):
        book.centers[0, 0] = 1
    with pytest.raises(ValueError, match="3 columns, but the codebook was made from 2"):
        book.codes_of(np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EditCost.from_attributes("cosine"), "metric must be one of"),
        (lambda: EditCost.from_attributes(n_codes=0), "n_codes must be an integer >= 1"),
        (lambda: EditCost.from_attributes(n_codes="x"), "n_codes must be an integer >= 1, not 'x'"),
        (lambda: EditCost.from_attributes(n_codes=True), "n_codes must be an integer >= 1"),
        (lambda: EditCost.from_attributes(n_codes=2.5), "n_codes must be an integer >= 1"),
        (lambda: EditCost.from_attributes(blank=0), "blank must be a finite number > 0"),
        (lambda: EditCost().codebook([[1.0]]), "only costs made by EditCost.from_attributes"),
        (lambda: EditCost.from_attributes().codebook(np.empty((0, 2))), "attributes is empty"),
        (lambda: EditCost.from_attributes().codebook([[1.0], [np.nan]]), "NaN or infinite in row 1"),
        (lambda: EditCost.from_attributes().codebook(np.zeros((1, 1, 1))), r"of shape \(n, d\)"),
        (lambda: EditCost.from_attributes().node_matrix(["C"]), "attribute costs need labels that are numbers"),
        (lambda: EditCost.from_attributes().node_matrix([("a", (1,)), (2, 3)]), "some have none"),
    ],
)
def test_bad_attributes(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@settings(deadline=None)
@given(metric_matrices(), rows, st.floats(0.1, 5))
def test_costs_of_labels_and_attributes_add_up(matrix, attributes, blank):
    cost = EditCost.from_attributes(blank=blank, relabel=EditCost.from_matrix("abc", matrix))
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


# -- missing values ----------------------------------------------------------------------------------------------------

gappy = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 8), st.just(2)), elements=st.sampled_from([-3.0, 0.0, 0.5, 2.0, np.nan])
)
METRICS = ["euclidean", "manhattan", "chebyshev"]


def distance_with_gaps(x, y, metric, missing):
    """As the docstring says, a column at a time."""
    gaps = []
    for a, b in zip(x, y, strict=True):
        if np.isnan(a) or np.isnan(b):
            gaps.append(0.0 if np.isnan(a) and np.isnan(b) else missing)
        else:
            gaps.append(min(abs(a - b), 2 * missing))
    return {"euclidean": np.hypot(*gaps), "manhattan": sum(gaps), "chebyshev": max(gaps)}[metric]


@settings(deadline=None)
@given(gappy, st.floats(0.1, 5), st.floats(0.1, 5), st.sampled_from(METRICS))
def test_costs_with_missing_values_are_metrics_and_those_of_the_definition(attributes, blank, missing, metric):
    book = EditCost.from_attributes(metric, blank=blank).with_missing(missing).codebook(attributes)
    costs = book.node_matrix()
    assert is_metric(costs)
    for i, x in enumerate(book.centers):
        for j, y in enumerate(book.centers):
            assert costs[i, j] == pytest.approx(min(distance_with_gaps(x, y, metric, missing), 2 * blank))
    assert is_metric(book.paired_matrix([(label, code) for label in "ab" for code in range(len(book))]))
    np.testing.assert_array_equal(book.centers[book.codes_of(attributes)], attributes)
    edges = EditCost.from_attributes(edge_metric=metric).with_missing(missing)
    between = edges.edge_matrix([tuple(row) for row in book.centers.tolist()])
    assert (between <= between[:, :, None] + between[None] + 1e-9).all()


def test_missing_values_are_quantised_too():
    rng = np.random.default_rng(0)
    attributes = np.array([[0.0, 0.0], [9.0, np.nan], [9.0, 9.0]])[rng.integers(0, 3, 90)] + rng.normal(0, 0.1, (90, 2))
    cost = EditCost.from_attributes(n_codes=3).with_missing(2)
    book = cost.codebook(attributes, random_state=0)
    kinds = np.array([[0, 0], [9, np.nan], [9, 9]])
    assert len(book) == 3
    np.testing.assert_allclose(book.centers[book.codes_of(kinds)], kinds, atol=0.1)
    assert np.array_equal(book.centers, cost.codebook(attributes[rng.permutation(90)], 0).centers, equal_nan=True)


def test_missing_values_without_a_cost_say_what_to_do():
    with pytest.raises(ValueError, match=r"NaN or infinite in row 0 .*with_missing\(…\) gives NaN a cost"):
        EditCost.from_attributes().codebook([[np.nan]])
    with pytest.raises(ValueError, match=r"only costs made by EditCost\.from_attributes"):
        EditCost().with_missing(1)
    with pytest.raises(ValueError, match="missing must be a finite number > 0"):
        EditCost.from_attributes().with_missing(0)
    with pytest.raises(ValueError, match="NaN or infinite in row 0"):
        EditCost.from_attributes().with_missing(1).codebook([[np.inf]])


# -- tolerances --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-10, 1.0, 1e10, 1e300])
def test_costs_are_compared_relatively(scale):
    broken = scale * np.array([[0, 9, 1], [9, 0, 1], [1, 1, 0]])
    with pytest.raises(ValueError, match="is more than"):
        EditCost.from_matrix("ab", broken).node_matrix("ab")
    rounded = scale * np.array([[0, 0.3, 0.2], [0.3, 0, 0.1], [0.2, 0.1, 0]])  # 0.1 + 0.2 is not 0.3
    EditCost.from_matrix("ab", rounded).node_matrix("ab")


def test_a_small_violation_beside_large_costs_is_seen():
    matrix = np.full((4, 4), 1e9)
    matrix[:2, :2] = 9e-3
    matrix[2, :2] = matrix[:2, 2] = 1e-3
    np.fill_diagonal(matrix, 0)
    with pytest.raises(ValueError, match=r"γ\('a', 'b'\) = 0.009 is more than"):
        EditCost.from_matrix("abc", matrix).node_matrix("abc")


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_edge_costs_are_compared_relatively(scale):
    cost = EditCost(relabel=2 * scale, insert_delete=scale, edge_relabel=0.1 * scale)
    with pytest.raises(ValueError, match="together more than"):
        cost.edge_matrix(["-", "="])
    EditCost(2 * scale, scale, edge_relabel=0.2 * scale, edge_blank=0.1 * scale).edge_matrix(["-", "="])
