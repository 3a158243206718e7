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
            raise ImportError("initialization failed") from None

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
        time.sleep(120)

    monkeypatch.setattr(console, "REPEAT_INTERVAL", 0.05)
    monkeypatch.setattr(datasets, "run_list", swallow)
    start = time.monotonic()
    assert main(["datasets", "list"]) == 130
    assert time.monotonic() - start < 100  # it was interrupted
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_json_is_json_in_every_encoding(monkeypatch):
    for encoding in ("cp1252", "ascii", "utf-8"):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding, errors="backslashreplace"))
        Console(as_json=True).result("", {"tree": "→ 😀 é"})
        assert json.loads(written.getvalue().decode(encoding)) == {"tree": "→ 😀 é"}


@pytest.mark.slow
def test_through_a_pipe_there_is_no_progress(dataset, tmp_path):
    done = run("benchmark", dataset, "--kernels", "wl", "--folds", "3", "--repeats", "1", "--out", tmp_path / "out")
    assert done.returncode == 0
    assert "\r" not in done.stderr
    assert "\x1b" not in done.stdout
    assert "WL" in done.stdout
    assert "TINY: " in done.stderr
    assert "%" not in done.stderr


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
    assert re.search(r"\rTINY: +\d+%\|", shown)
    assert "\rTINY: 100%" in shown
    assert "WL" in shown


@pytest.mark.slow
@posix
@pytest.mark.parametrize("command", ["kernel", "features", "explain"])
def test_in_a_terminal_kernels_show_a_bar(dataset, tmp_path, command):
    shown, code = in_terminal([command, dataset, "-o", tmp_path / "result", "--depth", "2"])
    assert code == 0
    assert "\rTINY: 100%|██████████" in shown
    assert "Traceback" not in shown


def test_progress_of_kernels_stays_with_the_command(dataset, tmp_path, capsys):
    logger = logging.getLogger("relaxwl")
    before = (list(logger.handlers), logger.level)
    model = tmp_path / "model.rwl"
    for options in (["--quiet"], ["--json"], ["--model", str(model)]):
        assert main(["kernel", str(dataset), "-o", str(tmp_path / "K.npz"), "--depth", "1", *options]) == 0
        assert "partition" not in capsys.readouterr().err
    assert (list(logger.handlers), logger.level) == before
    assert RelaxedWeisfeilerLehman.load(model).verbose == 0


def test_progress_is_for_those_who_watch(capsys, monkeypatch):
    assert Console().verbose == 0
    monkeypatch.setattr("relaxwl.commands.console.is_watched", lambda: True)
    assert [Console(*how).verbose for how in ((), (True,), (False, True))] == [1, 0, 0]
    Console(quiet=True).note("unseen")
    assert capsys.readouterr().err == ""
