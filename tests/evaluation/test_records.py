"""Records as lines of JSON: there and back, and refused where they are damaged."""

import numpy as np
import pytest

from evaluation.records import changed, described, fold, given_up, repetitions, signed, table_of_four
from relaxwl.evaluation import Results, ResultStore
from relaxwl.evaluation.records import Cell, best_cells, record_from_json, record_to_json


@pytest.mark.parametrize("record", [fold(0, 0, 0.5), given_up(), described()])
def test_records_survive_the_way_through_json(record):
    line = record_to_json(record)
    assert "\n" not in line
    assert record_from_json(line) == record


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"type": "fold", "key', "not complete JSON"),
        ("[1]", "not complete JSON"),
        ('{"type": "poem"}', "not a record"),
        ('{"type": "dataset", "name": "x"}', "are missing"),
    ],
)
def test_lines_that_are_no_records_say_why(line, words):
    with pytest.raises(ValueError, match=words):
        record_from_json(signed(line))
    with pytest.raises(ValueError, match="does not end with a checksum"):
        record_from_json(line)


@pytest.mark.parametrize("change", [{"type": ["fold"]}, {"key": {"kernel": "wl"}}], ids=str)
def test_damage_that_is_still_json_is_named(change, tmp_path):
    """Lines with a right checksum whose fields are not those of a record."""
    store = ResultStore(tmp_path / "results.jsonl")
    store.path.write_text(changed(fold(0, 0, 0.5), change))
    with pytest.warns(UserWarning, match="line 1: left out, because"):
        assert list(store.load()) == []


def test_nested_without_end_is_no_record(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    store.path.write_text("[" * 100_000)
    with pytest.warns(UserWarning, match="line 1: left out"):
        assert list(store.load()) == []


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
