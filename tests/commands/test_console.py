"""What commands say while they work, and what an interrupt does to them."""

import contextlib
import io
import json
import logging
import re
import signal
import sys
import time

import pytest

from platforms import posix
from relaxwl import RelaxedWeisfeilerLehman
from relaxwl._progress import report
from relaxwl.cli import main
from relaxwl.commands.console import Console
from running import in_terminal, run


@pytest.fixture
def interruptible():
    """Let SIGINT interrupt, also where a shell that started the tests in the background has switched it off."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@posix
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_became_another_error_is_an_interrupt(monkeypatch, capsys):
    from relaxwl.commands import datasets

    def fail(*_):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("initialisation failed") from None

    monkeypatch.setattr(datasets, "run_list", fail)
    usual = signal.getsignal(signal.SIGINT)
    assert main(["datasets", "list"]) == 130
    assert signal.getsignal(signal.SIGINT) is usual
    assert "interrupted" in capsys.readouterr().err


@posix
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_went_nowhere_is_repeated(monkeypatch, capsys):
    from relaxwl.commands import console, datasets

    def swallow(*_):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        time.sleep(30)

    monkeypatch.setattr(console, "REPEAT_INTERVAL", 0.05)
    monkeypatch.setattr(datasets, "run_list", swallow)
    start = time.monotonic()
    assert main(["datasets", "list"]) == 130
    assert time.monotonic() - start < 10
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_json_is_json_in_every_encoding(monkeypatch):
    for encoding in ("cp1252", "ascii", "utf-8"):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding, errors="backslashreplace"))
        Console(as_json=True).result("", {"tree": "→ 😀 é"})
        assert json.loads(written.getvalue().decode(encoding)) == {"tree": "→ 😀 é"}


@pytest.mark.slow
def test_through_a_pipe_progress_is_plain_lines(dataset, tmp_path):
    done = run("benchmark", dataset, "--kernels", "wl", "--folds", "3", "--repeats", "1", "--out", tmp_path / "out")
    assert done.returncode == 0
    assert "\r" not in done.stderr
    assert "\x1b" not in done.stdout
    assert "WL" in done.stdout
    assert "TINY: " in done.stderr


@pytest.mark.slow
def test_quiet_prints_the_result_alone(dataset, tmp_path):
    done = run("kernel", dataset, "-o", tmp_path / "K.npz", "--kernel", "wl", "--quiet")
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.slow
@posix
def test_in_a_terminal_the_bar_redraws_itself(dataset, tmp_path):
    shown, code = in_terminal(
        ["benchmark", dataset, "--kernels", "wl", "--folds", "3", "--repeats", "2", "--out", tmp_path / "out"]
    )
    assert code == 0
    assert "\r\x1b[K" in shown
    assert "left" in shown
    assert "WL" in shown


@pytest.mark.slow
@posix
@pytest.mark.parametrize("command", ["kernel", "features", "explain"])
def test_in_a_terminal_kernels_show_a_bar(dataset, tmp_path, command):
    shown, code = in_terminal([command, dataset, "-o", tmp_path / "result", "--depth", "2"])
    assert code == 0
    assert re.search(r"\r\x1b\[KTINY █+░* +\d+% .*left  partition \d, depth \d: ", shown)


@pytest.mark.slow
def test_through_a_pipe_kernels_show_plain_lines(dataset, tmp_path):
    model = tmp_path / "model.rwl"
    done = run("kernel", dataset, "-o", tmp_path / "K.npz", "--depth", "2", "--model", model)
    assert re.search(r"^TINY: +\d+% partition \d, depth \d: \d+ trees in \d+ groups \(", done.stderr, re.M)
    assert "\r" not in done.stderr
    assert "partition" not in done.stdout
    assert RelaxedWeisfeilerLehman.load(model).verbose == 0


def test_progress_of_kernels_stays_with_the_command(dataset, tmp_path, capsys):
    logger = logging.getLogger("relaxwl")
    before = (list(logger.handlers), logger.level)
    for quiet in ("--quiet", "--json"):
        assert main(["kernel", str(dataset), "-o", str(tmp_path / "K.npz"), "--depth", "1", quiet]) == 0
        assert "partition" not in capsys.readouterr().err
    assert main(["kernel", str(dataset), "-o", str(tmp_path / "K.npz"), "--depth", "1"]) == 0
    assert "partition" in capsys.readouterr().err
    assert (list(logger.handlers), logger.level) == before


def test_the_clock_of_a_bar_starts_anew_with_another_part_of_the_work(capsys, caplog, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    caplog.set_level(logging.INFO, "relaxwl")
    with Console().kernel_bar("work"):
        for now[0], share in ((0, 0.0), (100, 1.0), (101, 0.0), (120, 0.25)):
            report(1, "%d %% done", 100 * share, share=share)
    assert capsys.readouterr().err.splitlines()[-1] == "work:  25% 25 % done (57 s left)"


def test_the_end_of_a_bar_is_said_once(capsys):
    with Console().bar("work") as bar:
        for done in (1, 2, 2):
            bar.update(done, 2, "steps")
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["50%", "100%"]


def test_console_durations_and_quiet(capsys):
    console = Console(quiet=True)
    console.note("unseen")
    with console.bar("work") as bar:
        bar.update(1, 2)
    printed = capsys.readouterr()
    assert printed.err == ""
