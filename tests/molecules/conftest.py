"""A fitted model for the tests of molecules."""

import pytest

from molecules.small_molecules import SMILES, TARGETS
from relaxwl.molecules import MoleculeRegressor


@pytest.fixture(scope="session")
def fitted():
    """Return a regressor of the small molecules."""
    return MoleculeRegressor(n_partitions=5, random_state=0).fit(SMILES, TARGETS)
