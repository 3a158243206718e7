from itertools import combinations

import numpy as np
import pytest

import naive
from comparison.random_graphs import DENSE, SPARSE, SPARSE_TOO, random_graphs
from relaxwl import two_sample_test
from relaxwl._validation import ParameterError
from relaxwl.comparison.design import Design
from relaxwl.comparison.two_sample import (
    combined_scores,
    discrepancies,
    mmd2,
    share_reached,
    tail_scores,
    view_statistics,
    view_weights,
)


def design_of(n_x, n_y, strata=None, covariates=None):
    n = n_x + n_y
    strata = np.zeros(n, np.int64) if strata is None else strata
    return Design.of(np.arange(n) >= n_x, strata, np.zeros((n, 0)) if covariates is None else covariates)


def gaussian(rows):
    return np.exp(-np.square(rows[:, None] - rows).sum(axis=2))


def pvalue(rows, design, seed):
    """The test on two kernels of rows of numbers."""
    values = view_statistics({"a": gaussian(rows), "b": gaussian(rows[:, :1])}, design.permuted(99, seed))
    combined = combined_scores(values, np.ones(2)).max(axis=1)
    return share_reached(combined, combined[0])


def test_discrepancies_are_those_of_the_definition_for_all_divisions():
    gram = gaussian(np.random.default_rng(0).normal(size=(7, 2)))
    divisions = np.array([np.isin(np.arange(7), part) for part in combinations(range(7), 3)])
    expected = np.array([naive.mean_discrepancy(gram, division) for division in divisions])
    assert [mmd2(gram, division) for division in divisions] == pytest.approx(expected)
    # The statistic is a multiple of the biased discrepancy, so it ranks divisions as that does.
    found = discrepancies(gram, divisions - 3 / 7)
    biased = [(division / 3 - ~division / 4) @ gram @ (division / 3 - ~division / 4) for division in divisions]
    np.testing.assert_allclose(found + (12 / 49 * 7), np.array(biased) * (12 / 7) ** 2, atol=1e-6)


def test_scores_rank_as_values_do_and_are_tails_of_gamma_distributions():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.gamma(2.0, size=5000), -rng.gamma(2.0, size=5000), np.ones(5000)])
    scores = tail_scores(values)
    for column in range(2):
        order = np.argsort(values[:, column])
        assert (np.diff(scores[order, column]) >= 0).all()
        shares = 1 - np.arange(5000)[::-1][::-1] / 5000
        np.testing.assert_allclose(np.exp(-scores[order, column])[500:4500], shares[500:4500], atol=0.03)
    assert np.ptp(scores[:, 2]) == 0
    extreme = tail_scores(np.append(np.linspace(0, 1, 99), [1e6, 1e7])[:, None])
    assert np.isfinite(extreme).all()


def test_views_in_which_most_graphs_are_equal_count_less():
    same = np.ones((4, 4))
    same[0, 1:] = same[1:, 0] = 0.5
    found = view_weights({"trees": np.eye(4), "statistics": np.eye(4), "nodes": same})
    assert found == pytest.approx([12 / 16, 3 * 12 / 16, 6 / 16])
    assert (view_weights({"trees": np.ones((4, 4))}) > 0).all()


@pytest.mark.parametrize(("n_x", "n_y"), [(3, 3), (2, 9), (10, 10)])
def test_the_level_is_exact_at_every_size(n_x, n_y):
    rng, design = np.random.default_rng(0), design_of(n_x, n_y)
    found = np.array([pvalue(rng.normal(size=(n_x + n_y, 2)), design, seed) for seed in range(400)])
    # Never more than the level but for chance; where all p-values are possible, not much less.
    assert (found <= 0.1).mean() <= 0.1 + 3 * np.sqrt(0.09 / 400)
    if n_x == n_y == 10:
        assert (found <= 0.1).mean() >= 0.1 - 3 * np.sqrt(0.09 / 400)


def test_strata_that_differ_are_no_difference_of_the_sides():
    rng = np.random.default_rng(0)
    strata = np.repeat([0, 1, 0, 1], [15, 5, 5, 15])
    found = [pvalue(rng.normal(size=(40, 2)) + 8 * strata[:, None], design_of(20, 20, strata), k) for k in range(200)]
    assert (np.array(found) <= 0.1).mean() == pytest.approx(0.1, abs=0.065)
    assert pvalue(rng.normal(size=(40, 2)) + 8 * strata[:, None], design_of(20, 20), 0) <= 0.05
    shifted = rng.normal(size=(40, 2)) + 8 * strata[:, None] + 2 * (np.arange(40)[:, None] >= 20)
    assert pvalue(shifted, design_of(20, 20, strata), 0) == 0.01


def test_covariates_that_differ_are_no_difference_of_the_sides():
    rng = np.random.default_rng(0)
    found, ignored = [], []
    for seed in range(100):
        age = np.append(rng.normal(size=40), rng.normal(0.8, size=40))[:, None]
        rows = np.column_stack([age[:, 0], rng.normal(size=80)]) + 0.3 * rng.normal(size=(80, 2))
        found.append(pvalue(rows, design_of(40, 40, covariates=age), seed))
        ignored.append(pvalue(rows, design_of(40, 40), seed))
    assert (np.array(found) <= 0.1).mean() <= 0.1 + 3 * 0.03
    assert (np.array(ignored) <= 0.1).mean() > 0.6


def test_collections_that_differ_are_told_apart_and_equal_ones_are_not():
    far = two_sample_test(SPARSE, DENSE, n_permutations=99, random_state=0)
    assert far.pvalue == 0.01
    assert far.distance > 0.8
    near = two_sample_test(SPARSE, SPARSE_TOO, n_permutations=99, random_state=0)
    assert near.pvalue > 0.05
    assert near.distance < 0.3
    assert near.sizes == (20, 16)
    assert {one.view for one in near.by_view} == {"trees", "nodes", "statistics", "clustering", "subgraphs"}
    assert min(one.adjusted for one in near.by_view) == near.pvalue
    assert "do not differ significantly: p =" in str(near)
    assert "<table" in near._repr_html_()


def test_results_do_not_depend_on_threads():
    results = [two_sample_test(SPARSE, DENSE, n_permutations=49, random_state=3, n_jobs=jobs) for jobs in (1, 2)]
    assert [str(result) for result in results[:1]] == [str(result) for result in results[1:]]
    assert results[0].distance == pytest.approx(results[1].distance, abs=1e-9)
    assert results[0].explain().found == results[1].explain().found


def test_results_are_shown_as_a_table_and_a_figure():
    pytest.importorskip("matplotlib")
    pd = pytest.importorskip("pandas")
    result = two_sample_test(SPARSE, DENSE, n_permutations=19, random_state=0, views=["statistics", "trees"])
    assert isinstance(result.views, pd.DataFrame)
    assert result.views.loc["statistics", "pvalue"] == 0.05
    labels = [label.get_text() for label in result.to_figure().axes[0].get_yticklabels()]
    assert sorted(labels) == ["statistics", "together", "trees"]
    assert len(result.explanation().graphs) == 38


def test_molecules_have_descriptors_and_fingerprints():
    pytest.importorskip("rdkit.Chem")
    alkanes, alcohols = ["C" * n for n in range(1, 13)], ["C" * n + "O" for n in range(1, 13)]
    result = two_sample_test(alkanes, alcohols, n_permutations=99, random_state=0)
    assert result.pvalue == 0.01
    assert {"trees", "statistics", "descriptors", "fingerprints"} <= {one.view for one in result.by_view}
    assert {one.kind for one in result.explain().found} >= {"cluster", "descriptors", "statistics"}


def test_labels_alone_can_differ():
    x = random_graphs(15, seed=5, labels=True)
    y = random_graphs(15, seed=6, labels=True)
    swapped = y.with_parts(node_codes=np.zeros(y.n_nodes, np.int32))
    assert two_sample_test(x, y, n_permutations=99, random_state=0).pvalue > 0.05
    assert two_sample_test(x, swapped, n_permutations=99, random_state=0).pvalue == 0.01


def test_equal_collections_are_refused():
    with pytest.raises(ParameterError, match="X and Y are the same graphs"):
        two_sample_test(SPARSE, SPARSE)
    with pytest.raises(ParameterError, match="n_permutations must be an integer >= 19"):
        two_sample_test(SPARSE, DENSE, n_permutations=5)


def test_graphs_without_any_difference_have_a_p_value_of_one():
    path = (3, [(0, 1), (1, 2)])
    result = two_sample_test([path] * 3, [path] * 4, n_permutations=19, random_state=0)
    assert result.pvalue == 1.0
    assert result.distance == 0.0
    assert result.explain().significant == ()
