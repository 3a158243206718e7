"""Claims of two examples. The site runs all examples."""

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
