"""Progress: only for those who ask, as a bar where somebody watches and as lines elsewhere, and up to the end."""

import io
import logging
import os
import re
import signal
import sys
import threading
import time
from contextlib import redirect_stderr

import pytest

from relaxwl import _progress
from relaxwl._progress import ProgressBar, duration, is_watched, printable, report


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A terminal for standard error, of a program that has not configured ``logging``."""
    monkeypatch.setattr(_progress, "_is_configured", lambda: False)
    return Terminal()


def test_only_those_who_ask_hear_of_it(caplog):
    with caplog.at_level(logging.INFO, "relaxwl"):
        report(0, "silent")
        report(1, "detail", level=2)
        report(2, "%d of %d", 3, 4, level=2, share=0.75)
        with ProgressBar("work", verbose=0) as progress:
            progress.add(1, "silent")
    assert caplog.messages == ["3 of 4"]


def test_the_time_left_follows_from_the_share(caplog, monkeypatch):
    monkeypatch.setattr(time, "perf_counter", lambda: 130.0)
    with caplog.at_level(logging.INFO, "relaxwl"):
        report(1, "done", share=0.25, since=100.0)
        report(1, "begun", share=0.0, since=100.0)
    assert caplog.messages == ["done; 30 s so far, about 90 s left", "begun"]


def test_without_any_handler_one_is_added(monkeypatch, capsys):
    logger = logging.Logger("alone")
    monkeypatch.setattr(_progress, "logger", logger)
    monkeypatch.setattr(logging.root, "handlers", [])
    for line in ("one", "two"):
        report(1, line)
    assert logger.handlers == [_progress._handler]
    assert capsys.readouterr().err == "one\ntwo\n"


def test_lines_come_now_and_then_and_at_the_end(caplog, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    with caplog.at_level(logging.INFO, "relaxwl"), ProgressBar("work", 8, every=10.0) as progress:
        for step in range(8):
            now[0] += 4.0
            progress.add(1, "step %d", step + 1)
    assert [line.split(";")[0] for line in caplog.messages] == ["step 3", "step 6", "step 8"]
    assert caplog.messages[0] == "step 3; 12 s so far, about 20 s left"


def test_a_bar_in_a_terminal_reaches_the_end_and_stays(terminal):
    with redirect_stderr(terminal), ProgressBar("work", 4) as progress:
        progress.add(1, "first")
        progress.reach(3, "%s", "third, with 100 %")
        progress.reach(2)
    shown = terminal.getvalue()
    assert shown.startswith("\rwork:   0%")
    assert re.search(r"\rwork: 100%\|[█#]+\| 00:00<00:00", shown)
    assert shown.endswith("\n")
    assert shown.count("\n") == 1
    assert progress.done == 3


def test_the_bar_of_work_that_fails_stops_where_it_is(terminal):
    def fail():
        with ProgressBar("work", 4) as progress:
            progress.add(1)
            raise KeyError

    with redirect_stderr(terminal), pytest.raises(KeyError):
        fail()
    assert "100%" not in terminal.getvalue()
    assert _progress._open_bar.get() is None


def test_what_happens_within_a_bar_moves_it_and_is_not_printed_again(terminal, monkeypatch):
    written = []
    monkeypatch.setattr(_progress.logger, "info", lambda *values: written.append(values))
    with redirect_stderr(terminal), ProgressBar("outer", leave=False) as outer:
        for _ in range(2):  # rounds, each from 0 to 1
            with ProgressBar("inner", 4) as inner:
                for step in range(4):
                    inner.add(1, "step %d", step)
                    time.sleep(0.11)
        report(1, "without a share")
        assert outer._bar.n == 1
    shown = terminal.getvalue()
    assert "inner" not in shown
    assert " 50%" in shown
    assert "step 2" in shown
    assert shown.endswith("\r")
    assert written == []


def test_details_are_lines_also_in_a_terminal(terminal, caplog):
    caplog.set_level(logging.INFO, "relaxwl")
    with redirect_stderr(terminal), ProgressBar("work", 2, verbose=2) as progress:
        progress.add(1, "half")
    assert "\r" not in terminal.getvalue()
    assert caplog.messages[0].startswith("half")


def test_a_program_that_has_configured_logging_gets_lines_once(caplog, monkeypatch):
    monkeypatch.setattr(_progress.logger, "handlers", [_progress._handler])  # added before
    caplog.set_level(logging.INFO, "relaxwl")
    with redirect_stderr(Terminal()) as terminal, ProgressBar("work", 2) as progress:
        progress.add(1, "half")
    assert terminal.getvalue() == ""
    assert len(caplog.messages) == 1


def test_notebooks_are_watched(monkeypatch):
    with redirect_stderr(io.StringIO()):
        assert not is_watched()
        monkeypatch.setitem(sys.modules, "ipykernel", None)
        assert is_watched()


def test_threads_add_up():
    with ProgressBar("work", 8000, verbose=0) as progress:
        threads = [threading.Thread(target=lambda: [progress.add(1) for _ in range(1000)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert progress.done == 8000


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_children_draw_bars_while_threads_of_the_parent_draw(terminal):
    """Another thread is about to write when the process is forked: the child finds the lock free."""
    drawing, ended = threading.Event(), threading.Event()

    class Slow(Terminal):
        def write(self, text):
            drawing.set()
            time.sleep(0.002)
            return super().write(text)

    def draw():
        while not ended.is_set():
            with ProgressBar("thread", 9.0) as progress:
                progress.add(1, "one")

    with redirect_stderr(Slow()):
        thread = threading.Thread(target=draw)
        thread.start()
        assert drawing.wait(60)
        found = []
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                with redirect_stderr(terminal), ProgressBar("child", 1.0) as progress:
                    progress.add(1, "one")
                os._exit(0)
            found.append(os.waitpid(child, 0)[1])
        ended.set()
        thread.join()
    assert found == [0] * 5


def test_a_bar_does_not_appear_before_its_delay(terminal):
    for delay in (60.0, 0.0):
        with redirect_stderr(terminal), ProgressBar("quick work", 2, delay=delay, ncols=80) as progress:
            progress.add(1, "half")
        assert ("quick work" in terminal.getvalue()) == (delay == 0)
