"""The command line as users meet it: through pipes, and through a terminal."""

import contextlib
import importlib
import io
import itertools
import json
import logging
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from platforms import linux, posix
from relaxwl import RelaxedWeisfeilerLehman
from relaxwl._progress import report
from relaxwl.cli import main
from relaxwl.commands.console import Console
from relaxwl.datasets import make_egonets, read_parquet, read_tu
from relaxwl.evaluation import Cell, ResultStore

COMMAND = [sys.executable, "-m", "relaxwl.cli"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """A small data set in TU layout: ego networks with their degrees as labels."""
    folder = tmp_path_factory.mktemp("data") / "TINY"
    folder.mkdir()
    graphs, y = make_egonets(24, n_nodes=20, random_state=0)
    sources = np.repeat(np.arange(graphs.n_nodes), graphs.degrees)
    edges = np.column_stack([sources, graphs.indices]) + 1
    np.savetxt(folder / "TINY_A.txt", edges, fmt="%d", delimiter=", ")
    np.savetxt(folder / "TINY_graph_indicator.txt", graphs.graph_of_node + 1, fmt="%d")
    np.savetxt(folder / "TINY_graph_labels.txt", y, fmt="%d")
    np.savetxt(folder / "TINY_node_labels.txt", np.minimum(graphs.degrees, 5), fmt="%d")
    return folder


def run(*arguments, **options):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False, **options
    )


# ------------------------------------------------------------------------------------------------- what it computes


def test_distance_prints_the_script_and_draws_it(dataset, tmp_path, capsys):
    picture = tmp_path / "mapping.svg"
    assert main(["distance", str(dataset), "--depth", "1", "--nodes", "0:0", "1:3", "--svg", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"tree edit distance at depth 1: \d+", printed)
    assert picture.read_text().startswith("<svg")


def test_distance_as_json_agrees_with_the_library(dataset, capsys):
    import relaxwl

    assert main(["distance", str(dataset), "--depth", "2", "--nodes", "0:0", "1:3", "--json"]) == 0
    graphs, _ = relaxwl.datasets.load_tu(dataset)
    expected = relaxwl.tree_distances(graphs, 2, [(0, 0), (1, 3)])[0, 1]
    assert json.loads(capsys.readouterr().out)["distance"] == expected


def test_distance_prints_all_digits(dataset, capsys):
    arguments = ["distance", str(dataset), "--depth", "16", "--nodes", "0:0", "1:3"]
    assert main([*arguments, "--json"]) == 0
    distance = json.loads(capsys.readouterr().out)["distance"]
    assert distance > 1e6
    assert main(arguments) == 0
    assert f"tree edit distance at depth 16: {int(distance)}\n" in capsys.readouterr().out


def test_features_model_and_apply(dataset, tmp_path, capsys):
    features, model, again = tmp_path / "X.npz", tmp_path / "model.rwl", tmp_path / "Y.npz"
    assert main(["features", str(dataset), "-o", str(features), "--model", str(model), "--depth", "2"]) == 0
    assert main(["features", str(dataset), "-o", str(again), "--apply", str(model)]) == 0
    matrix = scipy.sparse.load_npz(features)
    assert matrix.shape[0] == 24
    assert (matrix != scipy.sparse.load_npz(again)).nnz == 0
    assert set(np.load(features)["y"]) == {0, 1, 2, 3}


def test_kernel_writes_a_gram_matrix(dataset, tmp_path):
    path = tmp_path / "K.npz"
    assert main(["kernel", str(dataset), "-o", str(path), "--kernel", "wl", "--depth", "2", "--normalize"]) == 0
    gram = np.load(path)["K"]
    np.testing.assert_allclose(np.diag(gram), 1)


def test_kernel_options_reach_the_kernel(dataset, tmp_path):
    path, model = tmp_path / "K.npz", tmp_path / "model.rwl"
    options = [
        "--clusters",
        "2,1.0",
        "--partitions",
        "3",
        "--depth",
        "2",
        "--normalize",
        "depth",
        "--model",
        str(model),
    ]
    assert main(["kernel", str(dataset), "-o", str(path), *options]) == 0
    np.testing.assert_allclose(np.diag(np.load(path)["K"]), 3)
    kernel = RelaxedWeisfeilerLehman.load(model)
    assert list(kernel.n_clusters) == [2, 1.0]
    assert [len(partition[2]) == 2 for partition in kernel.partitions_] == [True, False, True]


def test_benchmark_chooses_from_what_is_asked_for(dataset, tmp_path):
    arguments = ["benchmark", str(dataset), "--kernels", "wl", "--folds", "3", "--repeats", "1", "--out", str(tmp_path)]
    assert main([*arguments, "--inner-folds", "2", "--C", "0.5", "2", "--depths", "1", "3", "--quiet"]) == 0
    folds = ResultStore(tmp_path / "results.jsonl").load().folds
    assert {fold.settings["inner_folds"] for fold in folds} == {2}
    assert {fold.parameters["C"] for fold in folds} <= {0.5, 2.0}
    assert {fold.parameters["max_depth"] for fold in folds} <= {1, 3}


def test_benchmark_resumes_and_reports(dataset, tmp_path, capsys):
    out = tmp_path / "results"
    arguments = ["benchmark", str(dataset), "--kernels", "ve-hist", "wl", "--folds", "3", "--repeats", "1"]
    assert main([*arguments, "--out", str(out), "--json", "--quiet"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert {row["kernel"] for row in first} == {"ve-hist", "wl"}
    size = (out / "results.jsonl").stat().st_size
    assert main([*arguments, "--out", str(out), "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert (out / "results.jsonl").stat().st_size == size  # nothing was computed again
    page = tmp_path / "report.html"
    (tmp_path / "my explorer.html").touch()
    for explorer, link in (
        ("my explorer.html", "my%20explorer.html"),  # beside the page
        (os.path.relpath(tmp_path / "my explorer.html"), "my%20explorer.html"),  # as seen from here
        ("https://example.org/a%20page?x=1&y=2#top", "https://example.org/a%20page?x=1&amp;y=2#top"),
    ):
        assert main(["report", str(out), "-o", str(page), "--explorer", explorer]) == 0
        assert f'href="{link}"' in page.read_text()
    capsys.readouterr()
    assert main(["report", str(out), "-o", str(page), "--explorer", "nothere.html"]) == 2
    assert "--explorer nothere.html: there is no such page" in capsys.readouterr().err


@posix
def test_what_is_read_is_not_written_over(dataset, tmp_path, capsys):
    link = tmp_path / "link"
    link.symlink_to(dataset / "TINY_A.txt")
    base = ["features", str(dataset), "-o"]
    for arguments, message in (
        (
            [*base, str(tmp_path / "x"), "--model", f"{tmp_path}/../{tmp_path.name}/x"],
            "two results would be written to",
        ),
        (["report", str(link), "-o", str(dataset / "TINY_A.txt")], "is read and would be replaced"),
        ([*base, str(tmp_path / "x"), "--apply", str(tmp_path / "x")], "is read and would be replaced"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err


@linux
@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("/dev/full", "relaxwl: /dev/full: No space left on device\n"),
        ("{tmp}/pipe", "pipe: nobody reads from this pipe\n"),
        ("/proc/nothing", "relaxwl: /proc/nothing: "),
    ],
)
def test_outputs_that_cannot_be_written(dataset, tmp_path, capsys, output, message):
    os.mkfifo(tmp_path / "pipe")
    output = output.format(tmp=tmp_path)
    arguments = ["distance", str(dataset), "--depth", "1", "--nodes", "0:0", "1:3", "--quiet", "--svg", output]
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert Path(output).exists() == (output != "/proc/nothing")


def test_any_failure_is_one_line(monkeypatch, capsys):
    from relaxwl.commands import datasets

    for error, code, message in (
        (RuntimeError("what?\nwhy?"), 1, "relaxwl: internal error, RuntimeError: what? why? (--debug shows where"),
        (MemoryError(), 1, "relaxwl: there is not enough memory for this"),
        (OSError(28, "No space left on device", "X.npz"), 2, "relaxwl: X.npz: No space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ):
        monkeypatch.setattr(datasets, "run_list", lambda *_, error=error: (_ for _ in ()).throw(error))
        assert main(["datasets", "list"]) == code
        printed = capsys.readouterr().err.strip()
        assert printed.startswith(message)
        assert "\n" not in printed


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


@linux
@pytest.mark.slow
def test_output_that_goes_nowhere():
    command = [*COMMAND, "datasets", "list"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stderr) == (2, "relaxwl: standard output: No space left on device\n")
    for closing in (">&-", "2>&-", ">&- 2>&-"):
        script = f"{' '.join(command)} {closing}"
        ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=60)
        assert (ended.returncode, ended.stderr) == (0, "")
    ended = subprocess.run(["bash", "-c", f"{' '.join(command)} | true; exit ${{PIPESTATUS[0]}}"],
                           capture_output=True, text=True, check=False, timeout=60)  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.slow
def test_names_that_the_terminal_cannot_show(dataset, tmp_path):
    folder = os.fsencode(tmp_path / "odd") + b"\xff"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [*COMMAND, "datasets", "fetch", folder, "--base-url", "http://127.0.0.1:1"]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=60, env=environment)
    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr
    command = [*COMMAND, "features", dataset, "-o", os.fsencode(tmp_path) + b"/X\xff.npz", "--kernel", "wl", "--json"]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=60, env=environment)
    assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False)
    assert json.loads(ended.stdout)["output"].endswith("X\udcff.npz")


def test_benchmark_as_json_has_kernels_that_gave_up(dataset, tmp_path, capsys):
    arguments = ["benchmark", str(dataset), "--kernels", "ve-hist", "wl", "--folds", "3", "--repeats", "1", "--json"]
    assert main([*arguments, "--quiet", "--time-limit", "1e-9", "--out", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    nothing = {"metric": "accuracy", "mean": None, "std": None, "accuracies": [], "given_up": "out of time"}
    assert rows == [{"dataset": "TINY", "kernel": kernel, **nothing} for kernel in ("ve-hist", "wl")]


def test_explain_writes_a_page(dataset, tmp_path, capsys):
    page = tmp_path / "explorer.html"
    assert main(["explain", str(dataset), "-o", str(page), "--depth", "2"]) == 0
    assert "groups of neighbourhoods" in capsys.readouterr().out
    assert "<html" in page.read_text()


def test_datasets_stats_and_list(dataset, capsys):
    assert main(["datasets", "stats", str(dataset), "--format", "csv"]) == 0
    assert "TINY,24,4" in capsys.readouterr().out
    assert main(["datasets", "stats", str(dataset)]) == 0
    assert (
        "TINY: 0 graphs have a twin that Weisfeiler-Lehman refinement cannot tell from them" in capsys.readouterr().out
    )
    assert main(["datasets", "list"]) == 0
    assert "egonets-1" in capsys.readouterr().out


def test_json_is_json_in_every_encoding(monkeypatch):
    for encoding in ("cp1252", "ascii", "utf-8"):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding, errors="backslashreplace"))
        Console(as_json=True).result("", {"tree": "→ 😀 é"})
        assert json.loads(written.getvalue().decode(encoding)) == {"tree": "→ 😀 é"}


def test_datasets_are_converted_there_and_back(dataset, tmp_path, capsys):
    targets = [tmp_path / name for name in ("TINY.parquet", "TINY.zip", "TINY")]
    for source, target in itertools.pairwise([dataset, *targets]):
        assert main(["datasets", "convert", str(source), str(target)]) == 0
    first, last = read_tu(dataset), read_tu(targets[-1])
    assert last.graphs == first.graphs
    assert last.y.tolist() == first.y.tolist()
    assert main(["datasets", "convert", str(dataset), str(tmp_path / "arcs.parquet"), "--directed"]) == 0
    assert read_parquet(tmp_path / "arcs.parquet")[0].directed
    capsys.readouterr()
    assert main(["datasets", "convert", str(dataset), str(tmp_path / "TINY.csv")]) == 2
    assert "must end in .parquet or .zip, or be a new folder" in capsys.readouterr().err
    assert main(["datasets", "convert", str(dataset), str(targets[-1])]) == 2
    assert "it is a folder" in capsys.readouterr().err


def test_demo_names_all_that_tie():
    from relaxwl.commands.demo import KERNELS, LEVELS, _found

    def cells(kernel, mean):
        return [Cell(f"egonets-{level}", kernel, kernel.upper(), (mean,), "", ()) for level in LEVELS]

    means = {"ve-hist": 0.25, "wl": 0.5, "wwl": 0.4, "rwl-star": 0.5000001}
    found = _found({kernel: cells(kernel, means[kernel]) for kernel in KERNELS})
    assert "WL and RWL-STAR at density 1 (50 %)" in found
    assert "got 25 % at most" in found


@pytest.mark.slow
def test_demo(tmp_path, capsys):
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--graphs", "24", "--nodes", "24", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    assert "R-WL*" in printed
    assert re.search(r"^Found: .*\n\nGraphClassifier(.*\n)+.*\nNext: ", printed, re.M)
    assert (out / "report.html").is_file()
    assert (out / "effects.html").is_file()


# --------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kernel", "nothing.zip", "-o", "K.npz"], "nothing.zip: there is no such file"),
        (["kernel", "{data}", "-o", "K.npz", "--kernel", "nonsense"], "no kernel is called 'nonsense'"),
        (["kernel", "{data}", "-o", "{data}/no/where/K.npz", "--kernel", "wl"], "does not exist"),
        (["kernel", "{data}", "-o", "K.npz", "--kernel", "wl", "--partitions", "2"], "has no option --partitions"),
        (["kernel", "{data}", "-o", "K.npz", "--clusters", "many"], "--clusters takes"),
        (["features", "{data}", "-o", "X.npz", "--apply", "{data}/TINY_A.txt"], "is not a relaxwl model"),
        (["distance", "{data}", "--nodes", "0", "1:2"], "--nodes takes GRAPH:VERTEX"),
        (["distance", "{data}", "--nodes", "99:0", "1:2"], "24 graphs"),
        (["distance", "{data}", "--nodes", "0:99", "1:2"], "graph 0 has 20 vertices"),
        (["benchmark", "{data}", "--kernels", "nonsense"], "no kernel is called"),
        (["benchmark"], "name at least one data set"),
        (["benchmark", "egonets-5", "--kernels", "wl"], "egonets-1 to egonets-4"),
        (["benchmark", "{data}", "nothing.zip"], "nothing.zip: there is no such file"),
        (["benchmark", "{data}", "--folds", "1"], "at least 2"),
        (["benchmark", "{data}", "--inner-folds", "1"], "at least 2"),
        (["benchmark", "{data}", "--C", "1", "-2"], "--C: expected a number above 0, not '-2'"),
        (["benchmark", "{data}", "--C", "inf"], "expected a number above 0"),
        (["benchmark", "{data}", "--time-limit", "0"], "--time-limit: expected a number above 0"),
        (["benchmark", "{data}", "--time-limit", "soon"], "expected a number above 0, not 'soon'"),
        (
            ["benchmark", "{data}", "--kernels", "ve-hist,wl", "--depths", "98", "99"],
            "depths 98, 99 were asked for, but the kernel wl offers 1, 2, 3, 4, 5",
        ),
        (["benchmark", "{data}", "--kernels", "wl,rwl-star,wl"], "--kernels names wl twice; name each kernel once"),
        (["benchmark", "{data}", "--out", "{data}/TINY_A.txt"], "TINY_A.txt is a file"),
        (["benchmark", "{data}", "--out", "{data}/TINY_A.txt/deep"], "TINY_A.txt is a file"),
        (["demo", "--out", "{data}/TINY_A.txt"], "TINY_A.txt is a file"),
        (["kernel", "{data}", "-o", "{data}"], "it is a folder; name a file"),
        (["kernel", "{data}", "-o", "K.npz", "--model", "{data}"], "it is a folder; name a file"),
        (["kernel", "{data}", "-o", "K.npz", "--kernel", "wwl", "--model", "q.rwl"], "wwl cannot be saved"),
        (["features", "{data}", "-o", "X.npz", "--kernel", "wwl"], "wwl has no explicit features"),
        (["kernel", "{data}", "-o", "K.npz", "--apply", "m.rwl", "--kernel", "wl"], "leave out --model, --kernel"),
        (["kernel", "{data}", "-o", "K.npz", "--edge-labels", "--kernel", "sp"], "has no option --edge-labels"),
        (["kernel", "{data}", "-o", "K.npz", "--depth", "-1"], "at least 0"),
        (["explain", "{data}", "--depth", "99"], "at most 8"),
        (["kernel", "{data}", "-o", "K.npz", "--jobs", "0"], "--jobs must be a number of threads, or -1 for all cores"),
        (["kernel", "{data}", "-o", "K.npz", "--jobs", "all"], "--jobs must be a number of threads, or -1"),
        (["report", "{data}"], "there are no results"),
        (["distance", "{data}", "--depth", "-1", "--nodes", "0:0", "0:1"], "at least 0"),
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


def test_given_folds_and_solver(dataset, tmp_path, capsys):
    folds = [
        {"test": [i, i + 1], "model_selection": [{"train": list(range(10, 24)), "validation": [8, 9]}]}
        for i in (0, 2, 4)
    ]
    (tmp_path / "TINY.json").write_text(json.dumps(folds))
    command = ["benchmark", str(dataset), "--kernels", "wl,stats-rf", "--splits", str(tmp_path), "--solver", "libsvm"]
    assert main([*command, "--out", str(tmp_path / "out"), "--json", "--quiet"]) == 0
    cells = json.loads(capsys.readouterr().out)
    assert [(cell["kernel"], len(cell["accuracies"]), cell["metric"]) for cell in cells] == [
        ("wl", 3, "accuracy"), ("stats-rf", 3, "accuracy"),
    ]  # fmt: skip
    assert "TINY.json" in (tmp_path / "out" / "results.md").read_text()
    assert main(["benchmark", str(dataset), "--splits", str(tmp_path / "out")]) == 2
    assert "no file TINY.json in this folder" in capsys.readouterr().err
    assert main(["benchmark", str(dataset), "--kernels", "wl", "--task", "regression"]) == 2
    assert "wl does not predict numbers" in capsys.readouterr().err


@pytest.mark.filterwarnings("always")
def test_a_file_of_another_kind_is_no_results_file(dataset, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert main(["report", str(dataset / "TINY_graph_indicator.txt"), "-o", str(page)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert ["line 1: left out" in lines[0], "line 3: left out" in lines[2]] == [True, True]
    assert "480 lines were left out" in lines[3]
    assert "holds no results" in lines[4]
    assert len(lines) == 5
    assert not page.exists()


def test_debug_shows_the_traceback(capsys):
    with pytest.raises(Exception, match="no such file"):
        main(["kernel", "nothing.zip", "-o", "K.npz", "--debug"])


@pytest.mark.parametrize(
    "command", ["demo", "benchmark", "features", "kernel", "distance", "datasets stats", "explain", "report", "warm-up"]
)
def test_help_says_what_is_read_and_written_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([*command.split(), "--help"])
    assert exit_.value.code == 0
    printed = capsys.readouterr().out
    assert f"example: relaxwl {command}" in " ".join(printed.split())
    assert re.search(r"Reads|writes|Writes", printed)


# ----------------------------------------------------------------------------------------- pipes and terminals


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
        [sys.executable, "-c", program, *command.split()], capture_output=True, text=True, timeout=60, check=True
    )
    for package in ("numpy", "numba", "scipy", "sklearn", "joblib"):
        assert f"'{package}'" not in done.stdout


@pytest.mark.slow
def test_every_public_name_is_there_and_imported_when_first_used():
    program = (
        "import pickle, sys, relaxwl\n"
        "assert 'numpy' not in sys.modules\n"
        "assert set(relaxwl.__all__) <= set(dir(relaxwl))\n"
        "assert relaxwl.evaluation.cross_validate and relaxwl.clustering.partitioners\n"
        "from relaxwl import *\n"
        "from relaxwl import RelaxedWeisfeilerLehman as again\n"
        "assert again is RelaxedWeisfeilerLehman is relaxwl.kernels.RelaxedWeisfeilerLehman\n"
        "assert pickle.loads(pickle.dumps(again(max_depth=2))).max_depth == 2\n"
        "assert all(getattr(relaxwl, name) is globals()[name] for name in relaxwl.__all__)\n"
        "assert not hasattr(relaxwl, 'nonsense')"
    )
    subprocess.run([sys.executable, "-c", program], timeout=120, check=True)


@posix
def test_ctrl_c_while_libraries_are_imported_leaves_no_traceback(tmp_path):
    # Takes the place of a library that is imported, and interrupts as a user would.
    (tmp_path / "scipy.py").write_text("import os, signal, time\nexec('os.kill(os.getpid(), signal.SIGINT)')\n")
    done = run(
        "kernel", "egonets-1", "-o", tmp_path / "K.npz",
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}, preexec_fn=_heed_interrupts,
    )  # fmt: skip
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert "interrupted" in done.stderr


def _heed_interrupts():
    """Undo that a shell lets its background jobs, and so all their children, ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def in_terminal(arguments, until=None, send=None, timeout=240):
    """Run a command in a pseudo-terminal; return what it showed and its exit code."""
    import pty  # not on Windows

    parent, child = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=child,
        stdout=child,
        stderr=child,
        start_new_session=True,
        preexec_fn=_heed_interrupts,
    )
    os.close(child)
    shown, end = b"", time.monotonic() + timeout
    while time.monotonic() < end:
        if select.select([parent], [], [], 0.1)[0]:
            try:
                block = os.read(parent, 65536)
            except OSError:  # the other end was closed
                break
            if not block:
                break
            shown += block
        if send is not None and until in shown:
            os.killpg(process.pid, send)
            send = None
    try:
        code = process.wait(timeout=60)
    finally:
        process.kill()
        os.close(parent)
    return shown.decode(), code


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


@pytest.mark.slow
@posix
def test_ctrl_c_leaves_complete_records_and_no_traceback(tmp_path):
    out = tmp_path / "out"
    arguments = [
        "benchmark",
        "egonets-2",
        "--kernels",
        "wl",
        "rwl-star",
        "--folds",
        "5",
        "--repeats",
        "5",
        "--out",
        out,
    ]
    shown, code = in_terminal(arguments, until="█".encode(), send=signal.SIGINT)
    assert code == 130
    assert "interrupted" in shown
    assert "Traceback" not in shown
    for line in (out / "results.jsonl").read_text().splitlines():
        json.loads(line)


def test_console_durations_and_quiet(capsys):
    console = Console(quiet=True)
    console.note("unseen")
    with console.bar("work") as bar:
        bar.update(1, 2)
    printed = capsys.readouterr()
    assert printed.err == ""
