"""Pictures of molecules."""

import numpy as np
import pytest

from relaxwl.molecules import molecule_svg

Chem = pytest.importorskip("rdkit.Chem")


def test_colours_need_an_effect_for_each_atom():
    with pytest.raises(ValueError, match="one for each atom"):
        molecule_svg(Chem.MolFromSmiles("CC"), np.ones(3))
