"""Paired tests and ranks."""

import numpy as np
import pytest
from scipy import stats

from evaluation.records import fold, given_up, repetitions, table_of_four
from relaxwl.evaluation import Results, compare, mean_ranks, significance_table
from relaxwl.evaluation.tables import corrected_p_value, holm


def test_without_correction_it_is_the_paired_t_test():
    differences = np.random.default_rng(0).normal(0.1, 1, 30)
    assert corrected_p_value(differences, 0.0) == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert corrected_p_value(differences, 1 / 9) > corrected_p_value(differences, 0.0)
    assert corrected_p_value([0.0, 0.0], 0.1) == 1
    assert corrected_p_value([0.5, 0.5], 0.1) == 0


def test_the_correction_keeps_its_level_where_folds_overlap():
    """Ten repetitions of ten folds on the same graphs: the plain test finds too much, the corrected one does not."""
    rng = np.random.default_rng(0)
    plain = corrected = 0
    for _ in range(300):
        scores = rng.normal(0, 1, 200)  # of each graph, the same whichever fold it is in
        folds = [scores[part].mean() for _ in range(10) for part in np.split(rng.permutation(200), 10)]
        plain += corrected_p_value(folds, 0.0) < 0.05
        corrected += corrected_p_value(folds, 1 / 9) < 0.05
    assert corrected <= 0.08 * 300 < plain


def test_kernels_are_compared_on_shared_folds():
    results = Results([*repetitions((1.0, 0.5), (1.0, 1.0), kernel="a"), *repetitions((0.5, 0.5), kernel="b"),
                       fold(0, 0, 1.0, kernel="c")])  # fmt: skip
    found = compare(results, "EGO-1", "a", "b")
    assert (found.difference, found.n_folds) == (0.25, 2)
    assert found.p_value == corrected_p_value([0.5, 0.0], 1.0)
    assert compare(results, "EGO-1", "b", "a").difference == -0.25
    with pytest.raises(ValueError, match="a and c share 1 folds on EGO-1"):
        compare(results, "EGO-1", "a", "c")


def test_table_of_significance():
    table = significance_table(table_of_four())
    assert [cell.text for cell in table.rows[0]] == ["R-WL*", "best", "best"]
    assert table.rows[1][1].text.startswith("-50.00 (p 0.")
    assert table.rows[1][2].text == "–"
    assert "Nadeau and Bengio" in str(table)


def test_holm_is_monotone_and_at_most_one():
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([0.04, 0.01]) == [0.04, 0.02]


def test_mean_ranks():
    def kernels(dataset, a, b, c):
        return [record for name, accuracy in zip("abc", (a, b, c), strict=True)
                for record in repetitions((accuracy, accuracy), dataset=dataset, kernel=name)]  # fmt: skip

    results = Results([*kernels("x", 1.0, 0.5, 0.0), *kernels("y", 1.0, 0.5, 0.5), *kernels("z", 1.0, 0.0, 0.5)])
    ranks = mean_ranks(results)
    assert ranks.means == (1.0, 2.5, 2.5)
    assert ranks.n_datasets == 3
    assert ranks.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / 18), abs=0.002)  # Demšar's table
    assert ranks.p_value == pytest.approx(stats.friedmanchisquare([1, 1, 1], [2, 2.5, 3], [3, 2.5, 2]).pvalue)
    unfinished = Results([*kernels("x", 1.0, 0.5, 0.0), given_up(dataset="y", kernel="a")])
    assert mean_ranks(unfinished).n_datasets == 1
    assert np.isnan(mean_ranks(unfinished).p_value)
    with pytest.raises(ValueError, match="ranks need two kernels"):
        mean_ranks(Results(repetitions((1.0, 1.0))))
