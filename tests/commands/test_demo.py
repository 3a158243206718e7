"""The demonstration."""

import re

import pytest

from relaxwl.cli import main
from relaxwl.evaluation.records import Cell


def test_demo_names_all_that_tie():
    from relaxwl.commands.demo import KERNELS, LEVELS, _found

    def cells(kernel, mean):
        return [Cell(f"egonets-{level}", kernel, kernel.upper(), (mean,), "", ()) for level in LEVELS]

    means = {"ve-hist": 0.25, "wl": 0.5, "wwl": 0.4, "rwl-star": 0.5000001}
    found = _found({kernel: cells(kernel, means[kernel]) for kernel in KERNELS})
    assert "WL and RWL-STAR at density 1 (50 %)" in found
    assert "(VE-Hist): at most 25 %" in found


@pytest.mark.slow
def test_demo(tmp_path, capsys):
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--graphs", "24", "--nodes", "24", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    assert "R-WL*" in printed
    assert re.search(r"^Best: .*\n\nGraphClassifier(.*\n)+.*\nNext: ", printed, re.M)
    assert (out / "report.html").is_file()
    assert (out / "effects.html").is_file()
