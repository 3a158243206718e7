"""The command line as users meet it: through pipes, and through a terminal."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse

from relaxwl import RelaxedWeisfeilerLehman
from relaxwl.cli import main
from relaxwl.commands.console import Console
from relaxwl.datasets import make_egonets
from relaxwl.evaluation import ResultStore

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
    assert main(["report", str(out), "-o", str(page), "--explorer", "my explorer.html"]) == 0
    assert 'href="my%20explorer.html"' in page.read_text()


def test_explain_writes_a_page(dataset, tmp_path, capsys):
    page = tmp_path / "explorer.html"
    assert main(["explain", str(dataset), "-o", str(page), "--depth", "2"]) == 0
    assert "groups of neighbourhoods" in capsys.readouterr().out
    assert "<html" in page.read_text()


def test_datasets_stats_and_list(dataset, capsys):
    assert main(["datasets", "stats", str(dataset), "--format", "csv"]) == 0
    assert "TINY,24,4" in capsys.readouterr().out
    assert main(["datasets", "list"]) == 0
    assert "egonets-1" in capsys.readouterr().out


@pytest.mark.slow
def test_demo(tmp_path, capsys):
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--graphs", "24", "--nodes", "24", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    assert "R-WL*" in printed
    assert re.search(r"^Found: .*\nNext: ", printed, re.M)
    assert (out / "report.html").is_file()


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


def test_debug_shows_the_traceback(capsys):
    with pytest.raises(Exception, match="no such file"):
        main(["kernel", "nothing.zip", "-o", "K.npz", "--debug"])


@pytest.mark.parametrize(
    "command", ["demo", "benchmark", "features", "kernel", "distance", "datasets stats", "explain", "report"]
)
def test_help_says_what_is_read_and_written_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([*command.split(), "--help"])
    assert exit_.value.code == 0
    printed = capsys.readouterr().out
    assert f"example: relaxwl {command}" in " ".join(printed.split())
    assert re.search(r"Reads|writes|Writes", printed)


# ----------------------------------------------------------------------------------------- pipes and terminals


def test_through_a_pipe_progress_is_plain_lines(dataset, tmp_path):
    done = run("benchmark", dataset, "--kernels", "wl", "--folds", "3", "--repeats", "1", "--out", tmp_path / "out")
    assert done.returncode == 0
    assert "\r" not in done.stderr
    assert "\x1b" not in done.stdout
    assert "WL" in done.stdout
    assert "TINY: " in done.stderr


def test_quiet_prints_the_result_alone(dataset, tmp_path):
    done = run("kernel", dataset, "-o", tmp_path / "K.npz", "--kernel", "wl", "--quiet")
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_closed_pipe_is_no_error(dataset):
    text = " ".join([*COMMAND, "datasets", "stats", str(dataset)]) + " | head -c 0"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", text], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def _heed_interrupts():
    """Undo that a shell lets its background jobs, and so all their children, ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def in_terminal(arguments, until=None, send=None, timeout=240):
    """Run a command in a pseudo-terminal; return what it showed and its exit code."""
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
    code = process.wait(timeout=60)
    os.close(parent)
    return shown.decode(), code


def test_in_a_terminal_the_bar_redraws_itself(dataset, tmp_path):
    shown, code = in_terminal(
        ["benchmark", dataset, "--kernels", "wl", "--folds", "3", "--repeats", "2", "--out", tmp_path / "out"]
    )
    assert code == 0
    assert "\r\x1b[K" in shown
    assert "left" in shown
    assert "WL" in shown


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
