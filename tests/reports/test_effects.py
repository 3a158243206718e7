"""The page about the nodes, or atoms, behind predictions."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from relaxwl import GraphCollection
from relaxwl.predictors import ClusterEffect, NodeEffects
from relaxwl.predictors.effects import ColumnEffect
from relaxwl.reports.effects import render_effects, write_effects
from relaxwl.unfolding.tree import UnfoldingTree
from reports.fit_report import REPORT

GRAPH = GraphCollection.from_edges([(3, [(0, 1), (1, 2)], ["<C>", "N", "O"])])[0]
FOUND = NodeEffects(GRAPH, "good & new", 0.5, np.array([0.4, -0.2, 0.0]))


def test_the_page_says_what_there_is():
    page = render_effects([FOUND], report=REPORT, novelty=[0.012], truth=["bad"])
    assert (
        "Graph 0: class good &amp; new, decision value 0.5 (true: bad); novelty p = 0.012, unlike the training graphs"
        in page
    )
    assert "80.0 %" in page
    assert "60.0 %</strong>majority class <span>baseline" in page
    assert "do not add up" in page
    assert "&lt;C&gt;" in page
    assert "<C>" not in page
    assert "+0.4" in page
    assert 'class="node lit"' in page
    assert 'class="node against"' in page
    assert "script" not in page
    picture = page[page.index("<svg") : page.index("</svg>") + 6]
    ElementTree.fromstring(picture)
    named = NodeEffects(GRAPH.as_collection().with_names(["net <1>"])[0], "new", 0.5, np.zeros(3))
    assert "net &lt;1&gt;: class new" in render_effects([named])


def test_numbers_that_add_up(tmp_path):
    found = NodeEffects(GRAPH, 1.25, 1.25, np.array([1.0, 0.5, -0.5]), adds_up=True)
    assert found.rest == pytest.approx(0.25)
    write_effects([found], tmp_path / "page.html", truth=[1.5], title="Numbers")
    page = (tmp_path / "page.html").read_text()
    assert "Graph 0: predicted 1.25 (true: 1.5)" in page
    assert "nodes add up to the value" in page
    page = render_effects([replace(found, prediction=value) for value in (-161.97, -0.0008)], truth=[-162.0, 36.1])
    assert "Graph 0: predicted -162 (true: -162)" in page
    assert "Graph 1: predicted 0 (true: 36.1)" in page
    assert "do not add up" not in page


def test_nothing_matters_and_nothing_is_there():
    empty = GraphCollection.from_edges([(0, [])])[0]
    page = render_effects([NodeEffects(GRAPH, "a", 0.0, np.zeros(3)), NodeEffects(empty, "a", 0.1, np.zeros(0))])
    assert page.count("<section>") == 2
    with pytest.raises(ValueError, match="novelty must have one entry for each of 1 graphs"):
        render_effects([FOUND], novelty=[1, 2])


def test_molecules_stand_with_their_clusters(tmp_path):
    chem = pytest.importorskip("rdkit.Chem")
    cluster = ClusterEffect((0, 1), UnfoldingTree.parse("C(C,O)"), 1, -0.25)
    found = [
        NodeEffects(GRAPH, 0.5, 0.5, np.array([0.1, 0.2, -0.3]), molecule=chem.MolFromSmiles("CCO"),
                    _find_clusters=lambda: [cluster]),
        NodeEffects(GRAPH, "soluble", 0.5, np.array([0.0, 1.0, 0.0]), molecule=chem.MolFromSmiles("CC#N")),
    ]  # fmt: skip
    write_effects(found, tmp_path / "page.html", title="Small & few", novelty=[0.125, 0.02], truth=["<soluble>", None])
    page = (tmp_path / "page.html").read_text()
    assert "<title>Small &amp; few" in page
    assert "<h2>CCO: predicted 0.5 (true: &lt;soluble&gt;); novelty p = 0.12</h2>" in page
    assert (
        "<h2>CC#N: class soluble, decision value 0.5 (true: None); novelty p = 0.02, unlike the training graphs</h2>"
        in page
    )
    assert page.count("<figure") == 3
    assert '<th scope="col">atom</th>' in page
    assert "lowers the value by 0.25 (depth 1)" in page


def test_nodes_are_shown_by_their_names():
    plain = GraphCollection.from_edges([(3, [(0, 1), (1, 2)])])[0]
    found = NodeEffects(plain, "new", 0.5, np.array([0.4, -0.2, 0.0]))
    page = render_effects([found], node_names=[["A<", 7, "C"]])
    assert '<th scope="row">A&lt;</th><td>+0.4</td>' in page
    assert ">7</text>" in page
    assert ">label<" not in page
    with pytest.raises(ValueError, match=r"node_names\[0\] must have 3 names, not 2"):
        render_effects([found], node_names=[["a", "b"]])


def test_negligible_effects_are_left_out_and_descriptors_and_neighbors_named():
    columns = [ColumnEffect("MolLogP", 1.5, -0.9), ColumnEffect("TPSA", -0.25, 3.9e-12)]
    effects = np.array([0.4, 3.9e-12, 0.0])
    found = NodeEffects(GRAPH, 0.5, 0.5, effects, _find_columns=lambda: columns)
    page = render_effects([found], neighbors=[[(0.125, "near & far")]])
    assert "e-12" not in page
    assert "Descriptors of the whole molecule have the largest effects" in page
    assert "<td>+1.5</td><td>-0.9</td>" in page
    assert "TPSA" not in page
    assert '<th scope="row">near &amp; far</th><td>0.125</td>' in page
    nothing = NodeEffects(GRAPH, 0.5, 0.5, np.zeros(3))
    assert "No node changes the prediction noticeably." in render_effects([nothing])
