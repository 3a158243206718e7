"""What an evaluation runs on, checked once."""

import numpy as np
import pytest

from evaluation.toy_kernels import QUICK, Broken
from relaxwl.evaluation import cross_validate
from relaxwl.kernels import WeisfeilerLehman


def test_bad_data_is_named(toy):
    graphs, y = toy
    with pytest.raises(ValueError, match="one value for each of 40 graphs"):
        cross_validate(WeisfeilerLehman(), graphs, y[:-1])
    with pytest.raises(ValueError, match="single class"):
        cross_validate(WeisfeilerLehman(), graphs, ["a"] * 40)
    with pytest.raises(ValueError, match="no finite square Gram matrix"):
        cross_validate(Broken(), graphs, y, **QUICK)


@pytest.mark.parametrize("values", [np.arange(40), np.arange(40) / 7, np.arange(40) // 3 + 0.5])
def test_continuous_y_is_named_as_such(toy, values):
    graphs = toy[0][:40]
    with pytest.raises(ValueError, match=rf"y looks continuous \({len(np.unique(values))} distinct values\)"):
        cross_validate("wl", graphs, values, **QUICK)


def test_a_small_class_is_not_called_continuous(toy):
    values = np.where(np.arange(40) < 2, 0.5, 1.5)
    with pytest.raises(ValueError, match=r"class 0\.5 has 2 graphs"):
        cross_validate("wl", toy[0][:40], values, **QUICK)
