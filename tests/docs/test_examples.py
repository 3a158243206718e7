"""Claims of two examples, and the notebook. The site runs all examples."""

import ast
import json
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "seeing"),
    [("inputs/plot_directed_graphs.py", "with_directions"), ("inputs/plot_weighted_edges.py", "with_weights")],
)
def test_above_ninety_percent_with_it_and_chance_without(example, seeing):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    found = runpy.run_path(str(EXAMPLES / example))
    matplotlib.pyplot.close("all")
    assert found[seeing] > 0.9
    assert found["without"] < 0.65


def cells():
    """Return the code of the notebook, cell by cell."""
    notebook = json.loads((EXAMPLES / "molecules" / "boiling_points.ipynb").read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_is_the_example():
    script = ast.parse((EXAMPLES / "molecules" / "plot_boiling_points.py").read_text(encoding="utf-8"))
    assert ast.dump(ast.Module(script.body[1:], [])) == ast.dump(ast.parse("\n".join(cells())))


@pytest.mark.slow
def test_the_notebook_runs(monkeypatch, capsys):
    pytest.importorskip("rdkit.Chem")
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(EXAMPLES / "molecules")
    names: dict[str, object] = {}
    for cell in cells():
        exec(compile(cell, "boiling_points.ipynb", "exec"), names)
    assert "conformal intervals:" in capsys.readouterr().out
