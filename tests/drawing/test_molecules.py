"""Pictures of molecules."""

import numpy as np
import pytest

from relaxwl.drawing.graphs import molecule_svg

Chem = pytest.importorskip("rdkit.Chem")


def test_colors_need_an_effect_for_each_atom():
    with pytest.raises(ValueError, match="one for each atom"):
        molecule_svg(Chem.MolFromSmiles("CC"), np.ones(3))


def test_pictures_can_have_one_scale():
    molecule = Chem.MolFromSmiles("CC")
    assert molecule_svg(molecule, [1.0, 0.5]) == molecule_svg(molecule, [2.0, 1.0])
    assert molecule_svg(molecule, [1.0, 0.5], strongest=2.0) != molecule_svg(molecule, [1.0, 0.5])
