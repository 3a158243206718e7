"""Tables in all formats."""

import csv
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evaluation.records import SETTINGS, described, fold, given_up, key, repetitions, table_of_four
from relaxwl.evaluation import Results, compare, mean_ranks, results_table, runtime_table, significance_table
from relaxwl.evaluation.tables import PAPER_ACCURACIES, PAPER_DATASETS, corrected_p_value, dataset_table, holm


@pytest.fixture
def table():
    return results_table(table_of_four())


def test_text(table):
    assert table.to_text().splitlines()[:6] == [
        "Accuracy",
        "kernel           EGO-1           EGO-2",
        "------  --------------  --------------",
        "R-WL*   87.50 ± 12.50*  87.50 ± 12.50*",
        "wl       37.50 ± 12.50               –",
        "sp                   …               …",
    ]
    assert "over 2 repetitions of 2-fold cross-validation (transductive)" in table.to_text()
    assert "– out of time" in table.to_text()


def test_markdown(table):
    lines = table.to_markdown().splitlines()
    assert lines[2:5] == [
        "| kernel | EGO-1 | EGO-2 |",
        "|:--|--:|--:|",
        "| R-WL* | **87.50 ± 12.50** | **87.50 ± 12.50** |",
    ]


def test_csv_has_numbers_only(table):
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert float(rows[0]["EGO-1 mean"]) == 87.5
    assert float(rows[0]["EGO-1 std"]) == 12.5
    assert rows[0]["EGO-1 repetitions"] == "2"
    assert rows[1]["EGO-2 mean"] == ""
    assert rows[1]["EGO-2 repetitions"] == "out of time"


def test_forms_have_names(table):
    for form in ("text", "markdown", "csv"):
        assert "87.5" in table.render(form)
    with pytest.raises(ValueError, match="form must be one of"):
        table.render("pdf")


def test_published_numbers_stand_beside_ours():
    table = results_table(table_of_four(), PAPER_ACCURACIES)
    assert [column.title for column in table.columns] == [
        "kernel",
        "EGO-1",
        "EGO-1 published",
        "EGO-2",
        "EGO-2 published",
    ]
    assert table.rows[0][2].text == "68.70 ± 1.15"
    assert table.rows[1][4].text == "58.60 ± 1.29"


def test_equal_best_are_all_bold():
    table = results_table(Results([*repetitions((1.0, 0.5)), *repetitions((0.5, 1.0), kernel="sp")]))
    assert [row[1].bold for row in table.rows] == [True, True]


def test_unconverged_fits_and_unequal_repetitions_are_told():
    many = repetitions((1.0, 0.5), (0.5, 0.5), n_fits=3000, n_unconverged=300)
    results = Results([*many, *repetitions((0.5, 1.0), kernel="sp")])
    notes = " ".join(results_table(results).notes)
    assert "1,200 of 12,060 SVM fits" in notes
    assert "1 to 2 repetitions" in notes
    assert "Not all repetitions are finished" in notes


def test_a_single_repetition_has_no_spread():
    table = results_table(Results(repetitions((1.0, 0.5))))
    assert table.rows[0][1].text == "75.00"
    assert "wl,75.0,,1" in table.to_csv()
    for form in ("text", "markdown"):
        assert "± 0.00" not in table.render(form)
        assert "from a single repetition" in table.render(form)
    assert "standard deviation" not in " ".join(table.notes)


def test_other_scores_than_the_accuracy():
    errors = [[0.25, 0.75], [0.5, 1.5]]
    records = [
        replace(
            record, key=key(kernel=kernel), accuracy=None, targets=[1.0, 3.0], scores={"rmse": error, "r2": 1 - error}
        )
        for kernel, pair in zip(("a", "b"), errors, strict=True)
        for record, error in zip(repetitions((1.0, 1.0)), pair, strict=True)
    ]
    table = results_table(Results(records))
    assert (table.title, [row[1].text for row in table.rows]) == ("RMSE", ["0.500", "1.000"])
    assert [row[1].bold for row in table.rows] == [True, False]
    explained = results_table(Results(records), metric="r2")
    assert [row[1].text for row in explained.rows] == ["0.500", "0.000"]
    assert [row[1].bold for row in explained.rows] == [True, False]
    assert "Coefficient of determination" in str(explained)
    assert "Mean predictor: EGO-1 1.000" in str(table)
    with pytest.raises(KeyError, match="no score 'mae' in the results; there are: rmse, r2"):
        results_table(Results(records), metric="mae")


def test_predictors_among_transductive_kernels_are_told():
    predicted = [replace(record, inner_accuracy=None) for record in repetitions((1.0, 1.0), kernel="auto")]
    alone = [replace(record, parameters={}) for record in predicted]
    notes = results_table(Results([*repetitions((1.0, 0.5)), *alone])).notes
    assert any(note.startswith("auto: fitted on the training graphs") for note in notes)
    chosen = results_table(Results([*repetitions((1.0, 0.5)), *predicted])).notes
    assert not any("training graphs" in note for note in chosen)  # its kernels have met all graphs
    assert not any("training graphs" in note for note in results_table(Results(repetitions((1.0, 0.5)))).notes)


def test_the_largest_class_stands_beside():
    notes = results_table(Results(repetitions((1.0, 0.5)))).notes
    assert "Majority-class baseline: EGO-1 50.0 %" in notes


def test_without_a_finished_repetition_none_is_missed():
    notes = " ".join(results_table(Results([given_up()])).notes)
    assert "out of time" in notes
    assert "Not all repetitions" not in notes


def test_given_folds_spread_over_folds_and_say_so():
    given = SETTINGS | {"splits": "folds.json 12345678", "protocol": "inductive"}
    table = results_table(Results(repetitions((1.0, 0.5), (1.0, 0.0), settings=given)))
    assert table.rows[0][1].text == "62.50 ± 37.50"
    assert "2 test parts (folds.json 12345678; inductive)" in table.notes[0]
    assert "over test parts" in table.notes[1]


def test_only_numbers_of_several_repetitions_have_a_spread():
    results = Results([*repetitions((1.0, 0.5), (0.5, 0.5)), *repetitions((0.5, 1.0), kernel="sp")])
    table = results_table(results)
    assert [row[1].text for row in table.rows] == ["62.50 ± 12.50", "75.00"]
    assert "Numbers without ± are from a single repetition" in " ".join(table.notes)
    assert "standard deviation" in " ".join(table.notes)


@pytest.mark.parametrize("make", [results_table, runtime_table])
def test_runs_are_not_mixed(make):
    other = repetitions((0.5, 0.5), settings=SETTINGS | {"protocol": "inductive"}, fingerprint="other")
    with pytest.raises(ValueError, match="2 runs"):
        make(Results([*repetitions((1.0, 1.0)), *other]))


def test_runtimes():
    table = runtime_table(table_of_four())
    assert [cell.text for cell in table.rows[0]] == ["R-WL*", "0.250 s + 2.0 s", "0.250 s + 2.0 s"]
    assert [cell.text for cell in table.rows[1]] == ["wl", "0.250 s + 2.0 s", "–"]
    assert "EGO-1 peak memory MB" in table.to_csv()


def test_data_sets():
    table = dataset_table(table_of_four())
    assert table.to_markdown().splitlines()[4] == "| EGO-1 | 4 | 2 | 10.0 | 20.0 | 0.100 | 4.00 | 0 | 1 | 5 | 9 |"
    assert dataset_table([described()]).rows == dataset_table([described()]).rows


# -------- the accuracies that the paper reports


def test_published_numbers_are_those_of_the_paper(shared):
    lines = (shared / "paper" / "paper.tex").read_text(encoding="utf-8").splitlines()
    names = {"VE-Hist": "ve-hist", "WL": "wl", "GS": "gs", "SP": "sp", "ODD-STh": "odd-sth", "WWL": "wwl", "PWL": "pwl"}
    names["R-WL*"] = "rwl-star-paper"
    found = {}
    for name, *cells in (line.strip().split(" & ") for line in lines if r"\pm" in line and line.count(" & ") == 6):
        pairs = (tuple(map(float, re.findall(r"\d+\.\d+", cell))) or None for cell in cells)
        found[names[name]] = dict(zip(PAPER_DATASETS, pairs, strict=True))
    assert found == PAPER_ACCURACIES


# -------- paired tests and ranks


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
