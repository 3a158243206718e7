"""Records as lines of JSON: there and back, and refused where they are damaged."""

import json

import pytest

from evaluation.records import SETTINGS, described, fold, given_up, sketch, without_checksum
from relaxwl.evaluation import ResultStore
from relaxwl.evaluation.records import record_from_json, record_to_json


@pytest.mark.parametrize("record", [fold(0, 0, 0.5), given_up(), described(), sketch()])
def test_records_survive_the_way_through_json(record):
    line = record_to_json(record)
    assert "\n" not in line
    assert record_from_json(line) == record


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"type": "fold", "key', "not complete JSON"),
        ("[1]", "not a record"),
        ('{"type": "poem"}', "not a record"),
        ('{"type": "dataset", "name": "x"}', "missing or unknown"),
    ],
)
def test_lines_that_are_no_records_say_why(line, words):
    with pytest.raises(ValueError, match=words):
        record_from_json(line)


def test_records_of_old_are_read(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    values = without_checksum(fold(0, 0, 0.5))
    for later in ("offered", "scores", "deviations"):
        del values[later]
    store.path.write_text(json.dumps(values))
    assert list(store.load()) == [fold(0, 0, 0.5)]


@pytest.mark.parametrize(
    "change",
    [
        {"repetition": [0]},
        {"repetition": -1},
        {"fold": 2},
        {"accuracy": "high"},
        {"accuracy": 1.5},
        {"accuracy": True},
        {"settings": {}},
        {"settings": {"protocol": "transductive"}},
        {"settings": SETTINGS | {"n_folds": "2"}},
        {"predictions": ["a"]},
        {"parameters": 3},
        {"key": {"dataset": "x"}},
        {"key": {"dataset": ["x"], "kernel": "wl", "data": "d", "fingerprint": "f"}},
        {"type": ["fold"]},
        {"offered": {"C": 1.0}},
    ],
    ids=str,
)
def test_damage_that_is_still_json_is_named(change, tmp_path):
    """Lines without a checksum: what is not of the right type or makes no sense is no record."""
    store = ResultStore(tmp_path / "results.jsonl")
    store.path.write_text(json.dumps(without_checksum(fold(0, 0, 0.5)) | change))
    with pytest.warns(UserWarning, match="line 1: left out, because"):
        assert list(store.load()) == []


def test_nested_without_end_is_no_record(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    store.path.write_text("[" * 100_000)
    with pytest.warns(UserWarning, match="line 1: left out"):
        assert list(store.load()) == []
