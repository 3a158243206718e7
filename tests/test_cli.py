"""The command line as users meet it: through pipes, and through a terminal."""

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from places import SOURCE
from platforms import linux, posix
from relaxwl.cli import main
from running import COMMAND, heed_interrupts, run

# ------------------------------------------------------------------------------------------------- what it computes


@posix
def test_what_is_read_is_not_written_over(dataset, tmp_path, capsys):
    link = tmp_path / "link"
    link.symlink_to(dataset / "TINY_A.txt")
    base = ["features", str(dataset), "-o"]
    for arguments, message in (
        ([*base, str(tmp_path / "x"), "--model", f"{tmp_path}/../{tmp_path.name}/x"], "two outputs have the path"),
        (["report", str(link), "-o", str(dataset / "TINY_A.txt")], "is an input and would be overwritten"),
        ([*base, str(tmp_path / "x"), "--apply", str(tmp_path / "x")], "is an input and would be overwritten"),
        ([*base, str(tmp_path / "x.npz"), "--model", str(tmp_path / "X.npz")], "two outputs have the path"),
        ([*base, str(dataset / "TINY_A.txt")], "TINY_A.txt is an input and would be overwritten"),
        (["fit", "folder", "--labels", f"{link}:y", "-o", str(link)], "link is an input and would be overwritten"),
        (["fit", "folder", "--labels", str(link), "-o", str(link)], "link is an input and would be overwritten"),
        (["predict", str(link), "x", "-o", "y.csv", "--page", str(link)], "link is an input and would be overwritten"),
        (["predict", "m.rwl", "x", "-o", "y.csv", "--page", "Y.csv"], "two outputs have the path Y.csv"),
        (["predict", "m.rwl", "x", "-o", "y.csv", "--page", "no/y.html"], "the folder"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err
    base[-1:] = ["--output", str(dataset / "TINY_features.npz")]  # a new file in the folder that is read
    (dataset / "TINY_features.npz").touch()
    assert main([*base, "--kernel", "wl", "--depth", "1"]) == 0
    (dataset / "TINY_features.npz").unlink()


@linux
@pytest.mark.parametrize(
    ("output", "message"),
    [("/dev/full", "relaxwl: /dev/full: No space left on device\n"), ("/proc/nothing", "relaxwl: /proc/nothing: ")],
)
def test_outputs_that_cannot_be_written(dataset, tmp_path, capsys, output, message):
    arguments = ["distance", str(dataset), "--depth", "1", "--nodes", "0:0", "1:3", "--quiet", "--svg", output]
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert Path(output).exists() == (output != "/proc/nothing")


def test_any_failure_is_one_line(monkeypatch, capsys):
    from relaxwl.commands import datasets

    for error, code, message in (
        (RuntimeError("what?\nwhy?"), 1, "relaxwl: internal error, RuntimeError: what? why? (--debug shows details"),
        (MemoryError(), 1, "relaxwl: not enough memory"),
        (OSError(28, "No space left on device", "X.npz"), 2, "relaxwl: X.npz: No space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ):
        monkeypatch.setattr(datasets, "run_list", lambda *_, error=error: (_ for _ in ()).throw(error))
        assert main(["datasets", "list"]) == code
        printed = capsys.readouterr().err.strip()
        assert printed.startswith(message)
        assert "\n" not in printed


@linux
@pytest.mark.slow
def test_output_that_goes_nowhere():
    command = [*COMMAND, "datasets", "list"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=240)
    assert (ended.returncode, ended.stderr) == (2, "relaxwl: standard output: No space left on device\n")
    for closing in (">&-", "2>&-", ">&- 2>&-"):
        script = f"{' '.join(command)} {closing}"
        ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=240)
        assert (ended.returncode, ended.stderr) == (0, "")
    ended = subprocess.run(["bash", "-c", f"{' '.join(command)} | true; exit ${{PIPESTATUS[0]}}"],
                           capture_output=True, text=True, check=False, timeout=240)  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.slow
def test_names_that_the_terminal_cannot_show(dataset, tmp_path):
    folder = os.fsencode(tmp_path / "odd") + b"\xff"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [*COMMAND, "datasets", "fetch", folder, "--base-url", "http://127.0.0.1:1"]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=240, env=environment)
    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr
    command = [*COMMAND, "features", dataset, "-o", os.fsencode(tmp_path) + b"/X\xff.npz", "--kernel", "wl", "--json"]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=240, env=environment)
    assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False)
    assert json.loads(ended.stdout)["output"].endswith("X\udcff.npz")


# --------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kernel", "nothing.zip", "-o", "K.npz"], "nothing.zip: there is no such file"),
        (["kernel", "{data}", "-o", "K.npz", "--kernel", "nonsense"], "there is no kernel 'nonsense'"),
        (["kernel", "{data}", "-o", "{data}/no/where/K.npz", "--kernel", "wl"], "does not exist"),
        (["kernel", "{data}", "-o", "K.npz", "--kernel", "wl", "--partitions", "2"], "has no option --partitions"),
        (["kernel", "{data}", "-o", "K.npz", "--clusters", "many"], "--clusters takes"),
        (["kernel", "{data}", "-o", "K.npz", "--clusters", "1_0"], "--clusters takes"),
        (["features", "{data}", "-o", "X.npz", "--apply", "{data}/TINY_A.txt"], "is not a relaxwl model"),
        (["distance", "{data}", "--nodes", "0", "1:2"], "--nodes takes GRAPH:NODE"),
        (["distance", "{data}", "--nodes", "0:0", "\u0661:2"], "--nodes takes GRAPH:NODE"),
        (["distance", "{data}", "--nodes", "99:0", "1:2"], "24 graphs"),
        (["distance", "{data}", "--nodes", "0:99", "1:2"], "graph 0 has 20 nodes"),
        (["benchmark", "{data}", "--kernels", "nonsense"], "there is no kernel"),
        (["benchmark"], "name at least one data set"),
        (["benchmark", "egonets-5", "--kernels", "wl"], "egonets-1 to egonets-4"),
        (["benchmark", "{data}", "nothing.zip"], "nothing.zip: there is no such file"),
        (["benchmark", "{data}", "--folds", "1"], "at least 2"),
        (["benchmark", "{data}", "--inner-folds", "1"], "at least 2"),
        (["benchmark", "{data}", "--C", "1", "-2"], "--C: expected a number above 0, not '-2'"),
        (["benchmark", "{data}", "--C", "inf"], "expected a number above 0"),
        (["benchmark", "{data}", "--time-limit", "0"], "--time-limit: expected a number above 0"),
        (["benchmark", "{data}", "--time-limit", "1_0"], "expected a number above 0, not '1_0'"),
        (["benchmark", "{data}", "--time-limit", "soon"], "expected a number above 0, not 'soon'"),
        (
            ["benchmark", "{data}", "--kernels", "ve-hist,wl", "--depths", "98", "99"],
            "depths 98, 99 were asked for, but the kernel wl offers 1, 2, 3, 4, 5",
        ),
        (["benchmark", "{data}", "--kernels", "wl,rwl-star,wl"], "--kernels lists wl twice"),
        (["benchmark", "{data}", "--out", "{data}/TINY_A.txt"], "TINY_A.txt is a file"),
        (["benchmark", "{data}", "--out", "{data}/TINY_A.txt/deep"], "TINY_A.txt is a file"),
        (["demo", "--out", "{data}/TINY_A.txt"], "TINY_A.txt is a file"),
        (["kernel", "{data}", "-o", "{data}"], "it is a folder; choose a file name"),
        (["kernel", "{data}", "-o", "K.npz", "--model", "{data}"], "it is a folder; choose a file name"),
        (["kernel", "{data}", "-o", "K.npz", "--kernel", "wwl", "--model", "q.rwl"], "wwl cannot be saved"),
        (["features", "{data}", "-o", "X.npz", "--kernel", "wwl"], "wwl has no explicit features"),
        (["kernel", "{data}", "-o", "K.npz", "--apply", "m.rwl", "--kernel", "wl"], "leave out --model, --kernel"),
        (["kernel", "{data}", "-o", "K.npz", "--edge-labels", "--kernel", "sp"], "has no option --edge-labels"),
        (["kernel", "{data}", "-o", "K.npz", "--depth", "-1"], "at least 0"),
        (["kernel", "{data}", "-o", "K.npz", "--depth", "1001"], "at least 0 and at most 1000, not '1001'"),
        (["features", "{data}", "-o", "X.npz", "--depth", "1001"], "at most 1000"),
        (["explain", "{data}", "--depth", "99"], "at most 8"),
        (["demo", "--graphs", "19"], "at least 20"),
        (["kernel", "{data}", "-o", "K.npz", "--jobs", "0"], "--jobs must be a number of threads, -1 for all cores"),
        (["kernel", "{data}", "-o", "K.npz", "--jobs", "all"], "--jobs must be a number of threads"),
        (["kernel", "{data}", "-o", "K.npz", "--jobs", "1_0"], "--jobs must be a number of threads"),
        (["report", "{data}"], "there are no results"),
        (["report", "{data}", "--folds", "3"], "unrecognized arguments: --folds 3 (see 'relaxwl report --help')"),
        (["fit", "", "-o", "m.rwl"], "the argument dataset is empty; give a path"),
        (["benchmark", "{data}", ""], "the argument dataset is empty"),
        (["fit", "{data}", "-o", ""], "the argument output is empty"),
        (["fit", "{data}", "-o", "m.rwl", "--labels", ""], "the argument labels is empty"),
        (["distance", "{data}", "--depth", "-1", "--nodes", "0:0", "0:1"], "at least 0"),
        (["distance", "{data}", "--depth", "1001", "--nodes", "0:0", "0:1"], "at most 1000"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(dataset, arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    try:
        code = main([argument.format(data=dataset) for argument in arguments])
    except SystemExit as exit_:  # argparse leaves this way
        code = exit_.code
    assert code == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.strip().count("\n") == 0
    assert printed.out == ""
    assert not list(tmp_path.iterdir())  # nothing half-written


@pytest.mark.parametrize(
    "arguments",
    [
        ["kernel", "-o", "K.npz", "--kernel", "wwl", "--model", "q.rwl"],
        ["features", "-o", "X.npz", "--kernel", "wwl"],
        ["kernel", "-o", "."],
        ["benchmark", "--kernels", "wl", "--depths", "99"],
        ["benchmark", "--kernels", "wl", "wl"],
    ],
)
def test_what_makes_no_sense_is_refused_before_data_are_loaded(arguments, monkeypatch, tmp_path):
    def refuse(*_):
        raise AssertionError("the data were loaded")

    monkeypatch.chdir(tmp_path)
    for module in ("benchmark", "matrices"):
        monkeypatch.setattr(importlib.import_module(f"relaxwl.commands.{module}"), "open_source", refuse)
    assert main([arguments[0], "egonets-1", *arguments[1:]]) == 2


def test_debug_shows_the_traceback(capsys):
    with pytest.raises(Exception, match="no such file"):
        main(["kernel", "nothing.zip", "-o", "K.npz", "--debug"])


@pytest.mark.parametrize(
    "command",
    ["demo", "benchmark", "features", "kernel", "distance", "datasets stats", "explain", "report", "warm-up", "shard",
     "fit", "predict", "neighbors"],
)  # fmt: skip
def test_help_says_what_is_read_and_written_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([*command.split(), "--help"])
    assert exit_.value.code == 0
    printed = capsys.readouterr().out
    assert f"example: relaxwl {command}" in " ".join(printed.split())
    assert re.search(r"Reads|writes|Writes", printed)
    assert "%%" not in printed
    options, example = printed.split("example: ")
    assert not [option for option in re.findall(r"(?<=\s)--?[a-z][a-z-]*", example) if f" {option}" not in options]


# ----------------------------------------------------------------------------------------- pipes and terminals


@pytest.mark.slow
@posix
def test_a_closed_pipe_is_no_error(dataset):
    text = " ".join([*COMMAND, "datasets", "stats", str(dataset)]) + " | head -c 0"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", text], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["--version", "--help", "kernel --help"])
def test_help_and_version_do_without_numerics(command):
    program = (
        "import sys; from relaxwl.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('loaded:', sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *command.split()], capture_output=True, text=True, timeout=240, check=True
    )
    for package in ("numpy", "numba", "scipy", "sklearn", "joblib"):
        assert f"'{package}'" not in done.stdout


@posix
def test_ctrl_c_while_libraries_are_imported_leaves_no_traceback(tmp_path):
    # Takes the place of a library that is imported, and interrupts as a user would.
    (tmp_path / "scipy.py").write_text("import os, signal, time\nexec('os.kill(os.getpid(), signal.SIGINT)')\n")
    done = run(
        "kernel", "egonets-1", "-o", tmp_path / "K.npz",
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}, preexec_fn=heed_interrupts,
    )  # fmt: skip
    # An interrupt within an import ends Python by the signal although the exception was caught.
    assert done.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in done.stderr
    assert "interrupted" in done.stderr


BARE = """
import os, sys
sys.modules.update(dict.fromkeys(["fcntl", "grp", "pwd", "resource", "termios", "tty", "pty"]))
from relaxwl.cli import main
os.chdir(sys.argv[2])
for line in sys.argv[1].splitlines():
    code = main([*line.split(), "--quiet"])
    assert code == 0, (line, code)
"""
COMMANDS = """datasets convert TINY TINY.parquet
features TINY -o features.npz --kernel wl --model kernel.rwl
kernel TINY -o gram.npz --apply kernel.rwl
fit TINY -o model.rwl --effort quick
predict model.rwl TINY -o answers.csv --page answers.html
neighbors model.rwl TINY
distance TINY --nodes 0:0 1:0 --svg mapping.svg
explain TINY -o explorer.html --depth 1
benchmark TINY --kernels wl --folds 3 --repeats 1 --out results
report results -o report.html
shard TINY -o shards --graphs-per-shard 10
fit shards -o of_shards.rwl"""


@pytest.mark.slow
def test_commands_need_no_modules_of_unix(dataset, tmp_path):
    """Without locks of files, users and terminals all commands work, and no two files differ by case alone."""
    shutil.copytree(dataset, tmp_path / "TINY")
    command = [sys.executable, "-c", BARE, COMMANDS, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    names = [str(path.relative_to(tmp_path)).casefold() for path in tmp_path.rglob("*")]
    assert len(set(names)) == len(names) > 20
