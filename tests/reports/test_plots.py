"""Plots: each is drawn, says what it shows, and fits into a page or a file."""

import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from sklearn.metrics import roc_curve

from evaluation.records import described, repetitions, table_of_four
from relaxed_kernels import optimized
from relaxwl.datasets import make_egonets
from relaxwl.evaluation import Results
from relaxwl.evaluation.tables import Ranks
from relaxwl.explanation import explain
from relaxwl.reports import plots

matplotlib = pytest.importorskip("matplotlib")

DRAWN = {
    "accuracy": lambda: plots.accuracy_figure(table_of_four(), "EGO-1"),
    "runtime": lambda: plots.runtime_figure(table_of_four()),
}


@pytest.mark.parametrize("name", DRAWN)
def test_inline_pictures_take_the_colors_of_the_page(name):
    svg = plots.inline_svg(DRAWN[name](), "x1", "a <description>")
    root = ET.fromstring(svg)
    assert root.get("aria-label") == "a <description>"
    assert root.get("role") == "img"
    assert root.get("width") is None
    assert "currentColor" in svg
    assert plots.INK not in svg
    assert "#000000" not in svg
    identifiers = [element.get("id") for element in root.iter() if element.get("id")]
    assert all(identifier.startswith("x1-") for identifier in identifiers)
    assert len(set(identifiers)) == len(identifiers)


@pytest.mark.parametrize("name", DRAWN)
def test_inline_pictures_are_the_same_every_time(name):
    assert plots.inline_svg(DRAWN[name](), "x", "d") == plots.inline_svg(DRAWN[name](), "x", "d")


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_files_stand_alone(tmp_path, ending):
    path = tmp_path / f"figure.{ending}"
    plots.save_figure(DRAWN["accuracy"](), path)
    assert path.stat().st_size > 1000


def test_style_of_the_user_is_left_alone():
    before = dict(matplotlib.rcParams)
    plots.inline_svg(DRAWN["runtime"](), "x", "d")
    assert dict(matplotlib.rcParams) == before


def test_accuracies_come_best_first_and_only_if_finished():
    axes = plots.accuracy_figure(table_of_four(), "EGO-1").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["wl", "R-WL*"]


def test_a_single_repetition_has_no_bar():
    once = Results(
        [*repetitions((1.0, 0.5)), *repetitions((1.0, 1.0), dataset="EGO-2"), described(), described("EGO-2")]
    )
    (container,) = plots.accuracy_figure(once, "EGO-1").axes[0].containers
    assert not container.has_xerr


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="nothing to draw: no finished results on EGO-1"):
        plots.accuracy_figure(Results([]), "EGO-1")
    with pytest.raises(ValueError, match="nothing to draw"):
        plots.runtime_figure(Results([]))


def test_missing_matplotlib_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"relaxwl\[plot\]"):
        plots.runtime_figure(table_of_four())


def test_ranks_join_kernels_that_are_not_told_apart():
    ranks = Ranks(("R-WL*", "WL", "$SP$"), (1.0, 1.8, 3.0), 5, 0.01, 1.0)
    figure = plots.ranks_figure(ranks)
    bars = [line for line in figure.axes[0].lines if line.get_linewidth() == 3]
    assert [[round(x, 2) for x in line.get_xdata()] for line in bars] == [[0.97, 1.83]]
    assert "5 data sets" in figure.axes[0].get_xlabel()
    plots.inline_svg(figure, "ranks", "ranks")


def test_clusters_are_drawn_with_intervals():
    graphs, y = make_egonets(24, n_nodes=20, random_state=0)
    kernel = optimized(max_depth=1, n_partitions=2, random_state=0)
    explanation = explain(kernel, graphs, y, n_permutations=19)
    axes = plots.clusters_figure(explanation, n_clusters=4).axes[0]
    assert [text.get_text()[:2] for text in axes.get_yticklabels()] == ["4.", "3.", "2.", "1."]
    numbers = explain(kernel, graphs, graphs.degrees[graphs.offsets[:-1]] + np.linspace(0, 0.5, 24), n_permutations=19)
    assert "correlation" in plots.clusters_figure(numbers).axes[0].get_xlabel()


def test_curves_are_those_of_scikit_learn_and_name_their_areas():
    y = np.array(["no", "yes", "no", "yes", "no", "yes"])
    table = np.column_stack([1 - np.array([0.1, 0.9, 0.4, 0.3, 0.2, 0.8]), [0.1, 0.9, 0.4, 0.3, 0.2, 0.8]])
    figure = plots.curves_figure(y, table, ["no", "yes"])
    ranks, precisions = figure.axes
    assert [text.get_text() for text in ranks.get_legend().get_texts()] == [f"yes: area {8 / 9:.3f}"]
    np.testing.assert_array_equal(ranks.lines[0].get_xydata(), np.column_stack(roc_curve(y == "yes", table[:, 1])[:2]))
    assert len(precisions.get_legend().get_texts()) == 1
    three = plots.curves_figure([0, 1, 2, 0], np.full((4, 3), 1 / 3), [0, 1, 2])
    assert len(three.axes[0].get_legend().get_texts()) == 3
    with pytest.raises(ValueError, match="single class"):
        plots.curves_figure(["no", "no"], table[:2], ["no", "yes"])
    with pytest.raises(ValueError, match=r"probabilities must have shape \(6, 3\)"):
        plots.curves_figure(y, table, [0, 1, 2])


def test_observed_against_predicted_leaves_gaps_out():
    figure = plots.observed_figure([1.0, 2.0, np.nan, 4.0], [1.5, 2.0, 3.0, 3.5], std=[0.1, 0.1, 0.1, 0.2])
    (axes,) = figure.axes
    assert axes.get_title() == "RMSE 0.408, R² 0.89" or axes.get_title(loc="left") == "RMSE 0.408, R² 0.89"
    assert len(axes.lines[0].get_xdata()) == 3
    with pytest.raises(ValueError, match="must be of one length"):
        plots.observed_figure([1.0], [1.0, 2.0])
