"""What two examples claim: the class is known to directions or to weights alone. All examples run with the pages."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "seeing"),
    [("plot_directed_control_flow.py", "with_directions"), ("plot_weighted_edges.py", "with_weights")],
)
def test_above_ninety_percent_with_it_and_chance_without(example, seeing):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    found = runpy.run_path(str(EXAMPLES / example))
    matplotlib.pyplot.close("all")
    assert found[seeing] > 0.9
    assert found["without"] < 0.65
