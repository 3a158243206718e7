"""Cells of a table: means over complete repetitions."""

import numpy as np

from evaluation.records import fold, given_up, repetitions, table_of_four
from relaxwl.evaluation import Cell, Results
from relaxwl.evaluation.cells import best_cells


def test_cells_average_over_complete_repetitions():
    results = Results([*repetitions((1.0, 0.5), (0.5, 0.5)), fold(2, 0, 0.0)])
    cell = results.cell("EGO-1", "wl")
    assert cell.accuracies == (0.75, 0.5)
    assert (cell.mean, cell.std) == (0.625, 0.125)
    assert cell.finished
    assert cell.has_spread
    assert not Results(repetitions((1.0, 0.5))).cell("EGO-1", "wl").has_spread


def test_a_kernel_of_another_data_set_has_an_empty_cell():
    cell = table_of_four().cell("EGO-2", "sp")
    assert not cell.finished
    assert np.isnan(cell.mean)


def test_an_out_of_time_record_is_outdated_by_the_complete_repetition():
    assert Results([given_up()]).cell("EGO-1", "wl").given_up == "out of time"
    assert not Results([given_up(), *repetitions((1.0, 1.0))]).cell("EGO-1", "wl").given_up


def cell(mean, metric="accuracy", given_up=""):
    return Cell("EGO-1", f"{metric} {mean}", "", (mean,), given_up, (), metric)


def test_the_best_are_those_whose_shown_numbers_are_best():
    equal = [cell(0.70001), cell(0.70004)]
    assert best_cells([cell(0.6), *equal, cell(0.99, given_up="out of time")]) == equal
    assert best_cells([]) == best_cells([cell(0.5, given_up="out of memory")]) == []
    # Of errors less is better, of correlations more.
    assert best_cells([cell(0.9, "rmse"), cell(0.5004, "rmse"), cell(0.5, "rmse")]) == [
        cell(0.5004, "rmse"),
        cell(0.5, "rmse"),
    ]
    assert best_cells([cell(0.5, "r2"), cell(0.9, "r2")]) == [cell(0.9, "r2")]


def test_chance_is_the_share_of_the_largest_class():
    records = tuple(repetitions((1.0, 0.5), (0.5, 0.5)))
    shares = [sum(record.targets.count(name) for record in records) for name in "ab"]
    assert Results(records).cell("EGO-1", "wl").chance == max(shares) / sum(shares)
