"""Lines of progress: only for those who ask, with the time that is left."""

import logging
import time

import pytest

from relaxwl._progress import duration, printable, report


def test_only_those_who_ask_hear_of_it(caplog):
    with caplog.at_level(logging.INFO, "relaxwl"):
        report(0, "silent")
        report(1, "detail", level=2)
        report(2, "%d of %d", 3, 4, level=2, share=0.75)
    (record,) = caplog.records
    assert (record.getMessage(), record.what, record.share) == ("3 of 4", "3 of 4", 0.75)


def test_the_time_left_follows_from_the_share(caplog, monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: 130.0)
    with caplog.at_level(logging.INFO, "relaxwl"):
        report(1, "done", share=0.25, since=100.0)
        report(1, "begun", share=0.0, since=100.0)
    assert caplog.messages == ["done; 30 s so far, about 90 s left", "begun"]
    assert caplog.records[0].what == "done"


def test_without_any_handler_one_is_added(monkeypatch, capsys):
    logger = logging.Logger("alone")
    monkeypatch.setattr("relaxwl._progress.logger", logger)
    for line in ("one", "two"):
        report(1, line)
    assert len(logger.handlers) == 1
    assert capsys.readouterr().err == "one\ntwo\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.9994, "0.999 s"), (1.0, "1.0 s"), (9.94, "9.9 s"), (10.0, "10 s"), (599.0, "599 s"), (600.0, "10 min"),
     (7199.0, "120 min"), (7200.0, "2.0 h")],
)  # fmt: skip
def test_durations_as_people_read_them(seconds, text):
    assert duration(seconds) == text


def test_names_that_no_file_could_hold_are_spelt_out():
    assert printable("ok ü 😀") == "ok ü 😀"
    assert printable("\udcff\ud800") == r"\udcff\ud800"
