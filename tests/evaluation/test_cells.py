"""Cells of a table: means over complete repetitions."""

import numpy as np

from evaluation.records import fold, given_up, repetitions, table_of_four
from relaxwl.evaluation import Results


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
