"""What atoms and groups do to a prediction."""

import pytest

from molecules.small_molecules import SMILES, TARGETS
from relaxwl.molecules import MoleculeRegressor

pytest.importorskip("rdkit.Chem")


def test_effects_point_at_the_head(fitted):
    (explained,) = fitted.explain(["CCCCCO"])
    assert explained.prediction == pytest.approx(fitted.predict(["CCCCCO"])[0])
    assert explained.effects.argmax() == 5
    assert "<svg" in explained.to_svg()


@pytest.mark.parametrize("view", ["relaxed", "wl", "descriptors"])
def test_groups_stand_beside_the_molecule(view):
    model = MoleculeRegressor(views=[view], n_partitions=3, random_state=0).fit(SMILES, TARGETS)
    (explained,) = model.explain(["CCCCCO"])
    groups = explained.groups(3)
    assert explained.to_html(3).count("<figure") == 1 + len(groups)
    if view == "descriptors":
        assert groups == []
        return
    strengths = [abs(group.effect) for group in groups]
    assert strengths == sorted(strengths, reverse=True)
    assert len({(group.depth, group.atoms) for group in explained.groups(100)}) == len(explained.groups(100))
    assert all(group.tree.depth <= group.depth for group in groups)
