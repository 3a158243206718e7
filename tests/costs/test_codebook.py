"""Codebooks are made from a bounded sample that does not depend on the order of the vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from costs.examples import THREE, is_metric, rows
from relaxwl import EditCost
from relaxwl._memory import MemoryRefusal
from relaxwl.costs.codebook import Codebook, Sketch, UniformCosts, cost_text


def test_sketches_of_parts_make_the_sketch_of_the_whole(monkeypatch):
    monkeypatch.setattr("relaxwl.costs.codebook.SKETCH_ROWS", 20)
    rng = np.random.default_rng(0)
    vectors = rng.integers(0, 10, (300, 2)) / 4
    whole = Sketch.of(vectors)
    for cuts in ([10, 20], [150], [1, 2, 299]):
        joined = Sketch.join([Sketch.of(part) for part in np.split(rng.permutation(vectors), cuts)])
        np.testing.assert_array_equal(joined.vectors, whole.vectors)
        np.testing.assert_array_equal(joined.counts, whole.counts)
    assert len(whole.vectors) == 20
    assert not whole.whole
    counted = [int((vectors == vector).all(axis=1).sum()) for vector in whole.vectors]
    assert whole.counts.tolist() == counted


def test_many_vectors_need_a_number_of_codes(monkeypatch):
    monkeypatch.setattr("relaxwl.costs.codebook.SKETCH_ROWS", 20)
    vectors = np.arange(30.0)[:, None]
    assert len(EditCost.from_attributes(n_codes=4).codebook(vectors, 0)) == 4
    with pytest.raises(ValueError, match="n_codes"):
        EditCost.from_attributes().codebook(vectors, 0)


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


def test_direct_and_quantized_costs_agree():
    cost = EditCost.from_attributes(blank=1.5, relabel=0.5, scale=None)
    vectors = [(0.0, 0.0), (0.0, 1.0), (5.0, 5.0)]
    book = cost.codebook(vectors)
    assert np.array_equal(cost.node_matrix(vectors), book.node_matrix())
    pairs = [("a", 0), ("b", 0), ("a", 2)]
    direct = cost.node_matrix([(label, vectors[code]) for label, code in pairs])
    assert np.array_equal(direct, book.paired_matrix(pairs))
    assert direct.tolist() == [[0, 0.5, 3, 1.5], [0.5, 0, 3, 1.5], [3, 3, 0, 1.5], [1.5, 1.5, 1.5, 0]]
    assert np.array_equal(cost.node_matrix([]), [[0.0]])
    assert np.array_equal(cost.node_matrix([1, 2]), EditCost.from_attributes(blank=1.5).node_matrix([(1,), (2,)]))


def test_quantized_codebook_ignores_the_order_of_nodes():
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
        (lambda: EditCost.from_attributes(scale="std"), "scale must be 'auto', None or a finite number > 0 for each"),
        (lambda: EditCost.from_attributes(scale=[1.0, 0.0]), "scale must be 'auto', None or a finite number > 0"),
        (lambda: EditCost.from_attributes(scale=3), "scale must be 'auto', None or a finite number > 0"),
        (lambda: EditCost.from_attributes(scale=[1.0]).codebook([[1.0, 2.0]]), "scale has 1 numbers, and .* have 2"),
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
    book = EditCost.from_attributes(metric, blank=blank, scale=None).with_missing(missing).codebook(attributes)
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


def test_missing_values_are_quantized_too():
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


# -- scale -------------------------------------------------------------------------------------------------------------


def test_distances_are_in_standard_deviations_where_a_codebook_is_fitted():
    rng = np.random.default_rng(0)
    ages = rng.normal(size=(60, 3)) * [12.0, 1e-3, 0.0] + [40.0, 0.0, 7.0]
    cost = EditCost.from_attributes(blank=1.5)
    book = cost.codebook(ages)
    deviations = np.where(ages.std(axis=0) > 1e-9, ages.std(axis=0), 1.0)
    np.testing.assert_allclose(book.scale, deviations, rtol=1e-12)
    apart = np.linalg.norm((book.centers[:, None] - book.centers) / deviations, axis=2)
    np.testing.assert_allclose(book.node_matrix()[:-1, :-1], np.minimum(apart, 3.0), atol=1e-12)
    given = EditCost.from_attributes(blank=1.5, scale=deviations).codebook(ages)
    np.testing.assert_allclose(given.node_matrix(), book.node_matrix(), atol=1e-12)
    assert np.array_equal(
        cost.node_matrix([(0.0,), (2.0,)]), EditCost.from_attributes(blank=1.5, scale=None).node_matrix([0, 2])
    )


def test_k_means_sees_scaled_columns_and_centers_keep_the_units_of_the_data():
    rng = np.random.default_rng(1)
    wide = np.column_stack([rng.normal(size=200) * 1e6, np.repeat([0.0, 1.0], 100)])
    book = EditCost.from_attributes(n_codes=2).codebook(wide, 0)
    raw = EditCost.from_attributes(n_codes=2, scale=None).codebook(wide, 0)
    assert sorted(book.centers[:, 1].round(9)) == [0.0, 1.0]
    assert sorted(raw.centers[:, 1].round(9)) != [0.0, 1.0]
    assert np.abs(book.centers[:, 0]).max() > 1e4
    assert len(set(book.codes_of(wide)[:100])) == 1


def test_gaps_do_not_count_in_deviations():
    rows = np.array([[1.0, np.nan], [3.0, 5.0], [np.nan, 9.0]])
    assert EditCost.from_attributes().with_missing(1).codebook(rows).scale == (1.0, 2.0)


def test_scales_are_kept_as_data():
    for scale in ("auto", None, [2.0, 0.5]):
        for options in ({}, {"metric": "euclidean", "edge_metric": "euclidean"}, {"edge_metric": "euclidean"}):
            cost = EditCost.from_attributes(scale=scale, **options)
            assert EditCost.from_dict(cost.to_dict()) == cost
            assert repr(scale) in repr(cost)
    edges = EditCost.from_attributes(edge_metric="euclidean", scale=[0.5])
    assert edges.edge_matrix([0.0, 1.0])[0, 1] == 2.0


# -------- matrices of costs must be metrics, up to rounding; costs in words


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


@pytest.mark.parametrize("n_labels", [0, 1, 2, 5])
def test_uniform_costs_are_indexed_like_their_matrix(n_labels):
    rule = UniformCosts(n_labels, 1.5, 1.0)
    matrix = EditCost(1.5, 1.0).node_matrix(range(n_labels))
    every = np.arange(n_labels + 1)
    assert len(rule) == len(matrix)
    assert rule.max(initial=0) == matrix.max(initial=0)
    np.testing.assert_array_equal(rule[np.ix_(every, every)], matrix)
    np.testing.assert_array_equal(rule[every, -1], matrix[every, -1])
    np.testing.assert_array_equal(np.asarray(rule), matrix)


def test_many_labels_are_not_written_out():
    rule = EditCost().uniform_costs(10**6)
    assert rule == UniformCosts(10**6, 1.0, 1.0)
    with pytest.raises(MemoryRefusal, match="1000000 labels"):
        np.asarray(rule)
    assert EditCost().uniform_costs(100) is None
    assert EditCost.from_callable(lambda a, b: float(a != b)).uniform_costs(10**6) is None
