"""Kernels and predictors compute what they computed before."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

_spec = importlib.util.spec_from_file_location("reference_compare", Path(__file__).with_name("compare.py"))
compare = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(compare)

CASES = dict(compare.cases())


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_outputs_equal_the_reference(name, shared):
    with np.load(Path(__file__).with_name(f"{name}.npz")) as file:
        assert compare.differences(CASES[name](), dict(file)) == []


def test_a_difference_is_named():
    kept = {"gram": np.eye(2), "gone": np.zeros(1)}
    assert compare.differences({"gram": np.eye(2) * (1 + 1e-6)}, kept) == [
        "gone: missing",
        "gram: differs by up to 1e-06 of 1",
    ]
    assert compare.differences({"gram": np.eye(3), "gone": np.zeros(1)}, kept) == ["gram: shape (3, 3), was (2, 2)"]
