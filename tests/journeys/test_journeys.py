"""What users do from beginning to end: real files, real commands, and what they print."""

import importlib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NEEDS = {"chemist": "rdkit.Chem", "assays": "rdkit.Chem", "network_scientist": "networkx"}
JOURNEYS = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("steps", "test_journeys"))


def test_there_are_four():
    assert len(JOURNEYS) == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", JOURNEYS)
def test_the_journey_comes_to_its_end(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "numpy"))
    importlib.import_module(f"journeys.{name}").journey(tmp_path)
