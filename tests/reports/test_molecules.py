"""The page about atoms behind predictions for molecules."""

import numpy as np
import pytest

from relaxwl.molecules import MoleculeExplanation
from relaxwl.molecules.explaining import GroupEffect
from relaxwl.reports.molecules import write_molecules
from relaxwl.unfolding.tree import UnfoldingTree
from reports.fit_report import REPORT

Chem = pytest.importorskip("rdkit.Chem")


def explained(smiles, effects, groups=()):
    return MoleculeExplanation(Chem.MolFromSmiles(smiles), 0.5, np.array(effects), lambda: list(groups))


def test_the_page_shows_molecules_with_their_groups(tmp_path):
    group = GroupEffect((0, 1), UnfoldingTree.parse("C(C,O)"), 1, -0.25)
    path = tmp_path / "page.html"
    found = [explained("CCO", [0.1, 0.2, -0.3], [group]), explained("C#N", [0.0, 1.0])]
    write_molecules(found, path, title="Small & few", report=REPORT, novelty=[0.125, 2.0], truth=["<soluble>", None])
    page = path.read_text()
    assert "<title>Small &amp; few" in page
    assert page.count("<section><h2>") == 2
    assert "<h2>CCO</h2><p>known: &lt;soluble&gt;; novelty 0.12</p>" in page
    assert "<h2>C#N</h2><p>novelty 2.00</p>" in page
    assert page.count("<figure") == 3
    assert "lowers the prediction by 0.25 (depth 1)" in page
    assert "80.0 %" in page  # of the report


def test_each_molecule_needs_its_novelty(tmp_path):
    with pytest.raises(ValueError, match="shorter"):
        write_molecules([explained("C", [1.0])], tmp_path / "page.html", title="", report=REPORT, novelty=[])
    assert not list(tmp_path.iterdir())
