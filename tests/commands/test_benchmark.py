"""Kernels compared on the command line, and the page of the results."""

import json
import os
import signal
import sys

import networkx as nx
import pytest

from molecules.small_molecules import ROWS
from platforms import posix
from relaxwl.cli import main
from relaxwl.evaluation import ResultStore
from running import in_terminal


def test_benchmark_chooses_from_what_is_asked_for(dataset, tmp_path):
    arguments = ["benchmark", str(dataset), "--kernels", "wl", "--folds", "3", "--repeats", "1", "--out", str(tmp_path)]
    assert main([*arguments, "--inner-folds", "2", "--C", "0.5", "2", "--depths", "1", "3", "--quiet"]) == 0
    folds = ResultStore(tmp_path / "results.jsonl").load().folds
    assert {fold.settings["inner_folds"] for fold in folds} == {2}
    assert {fold.parameters["C"] for fold in folds} <= {0.5, 2.0}
    assert {fold.parameters["max_depth"] for fold in folds} <= {1, 3}


def test_a_kernel_of_the_user_and_a_folder_of_graphs(tmp_path, capsys, monkeypatch):
    (tmp_path / "nets").mkdir()
    rows = []
    for number in range(12):
        graph = nx.cycle_graph(number + 3) if number % 2 else nx.path_graph(number + 3)
        nx.write_edgelist(graph, tmp_path / "nets" / f"{number}.edgelist", data=False)
        rows.append(f"{number},{'ring' if number % 2 else 'path'}\n")
    (tmp_path / "classes.csv").write_text("".join(["net,shape\n", *rows]))
    code = "from relaxwl import WeisfeilerLehman\n\n\nclass Mine(WeisfeilerLehman):\n    pass\n"
    (tmp_path / "kernel_of_a_user.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", sys.path.copy())
    arguments = ["benchmark", "nets", "--labels", "classes.csv", "--kernels", "kernel_of_a_user:Mine", "wl"]
    assert main([*arguments, "--folds", "3", "--repeats", "1", "--json", "--quiet"]) == 0
    (mine, plain) = json.loads(capsys.readouterr().out)
    assert (mine["kernel"], plain["kernel"]) == ("kernel_of_a_user:Mine", "wl")
    assert mine["mean"] == plain["mean"] > 0.9
    for name, message in (
        ("nothing:X", "cannot be imported"),
        ("kernel_of_a_user:code", "cannot be"),
        ("os:sep", "must"),
    ):
        assert main(["benchmark", "nets", "--labels", "classes.csv", "--kernels", name]) == 2
        assert message in capsys.readouterr().err


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


def test_benchmark_as_json_has_kernels_that_gave_up(dataset, tmp_path, capsys):
    arguments = ["benchmark", str(dataset), "--kernels", "ve-hist", "wl", "--folds", "3", "--repeats", "1", "--json"]
    assert main([*arguments, "--quiet", "--time-limit", "1e-9", "--out", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    nothing = {"metric": "accuracy", "mean": None, "std": None, "accuracies": [], "given_up": "out of time"}
    assert rows == [{"dataset": "TINY", "kernel": kernel, **nothing} for kernel in ("ve-hist", "wl")]


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
    (line,) = capsys.readouterr().err.splitlines()
    assert "has no results" in line
    assert not page.exists()


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


@pytest.mark.slow
def test_random_and_scaffold_splits_have_tables_of_their_own(table, tmp_path, capsys):
    folder = str(tmp_path / "results")
    command = ["benchmark", str(table), "--smiles", "structure", "--target", "measured", "--task", "regression"]
    for splits in ("random:2", "scaffold:2"):
        assert main([*command, "--kernels", "stats-rf,molecules", "--splits", splits, "--out", folder, "--quiet"]) == 0
        printed = capsys.readouterr().out
        assert splits in printed
        assert "molecules" in printed
    assert "random" not in printed


def test_scaffolds_need_molecules(tmp_path, capsys):
    command = ["benchmark", "egonets-1", "--splits", "scaffold:2", "--out", str(tmp_path / "results")]
    assert main(command) == 2
    assert "egonets-1 is not a table of molecules" in capsys.readouterr().err


def test_several_targets_are_rows_with_their_mean(tmp_path, capsys):
    pytest.importorskip("rdkit.Chem")
    rows = [
        f"{smiles},{int('O' in smiles)},{'' if n % 9 == 0 else 'NO'['O' in smiles]}"
        for n, (smiles, _) in enumerate(ROWS)
    ]
    table = tmp_path / "assays.csv"
    table.write_text("\n".join(["smiles,first,second", *rows, ""]))
    command = ["benchmark", str(table), "--target", "first", "second", "--folds", "2", "--inner-folds", "2"]
    command += ["--repeats", "1", "--out", str(tmp_path / "results"), "--format", "csv", "--quiet", "--kernels"]
    assert main([*command, "wl"]) == 0
    lines = [line.split(",") for line in capsys.readouterr().out.split("\n\n")[0].splitlines()]
    assert [line[0] for line in lines] == ["target", "assays: first", "assays: second", "mean"]
    assert float(lines[3][1]) == pytest.approx((float(lines[1][1]) + float(lines[2][1])) / 2)
    assert (tmp_path / "results" / "results.csv").read_text().split()[-1].startswith("mean,")
    assert main([*command, "wl", "--scoring", "mcc"]) == 0
    assert main([*command, "wl", "--scoring", "roc_auc"]) == 2
    assert "needs probabilities, which the SVM of wl does not provide" in capsys.readouterr().err
    assert main([*command, "wl", "--splits", str(table)]) == 2
    assert "folds of a file are for one target" in capsys.readouterr().err
