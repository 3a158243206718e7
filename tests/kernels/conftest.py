"""A fitted model in a file."""

import pytest

from kernels.models import TRAIN
from relaxed_kernels import optimized
from small_graphs import collection


@pytest.fixture
def model(tmp_path):
    """Save a small model; return its path and the kernel."""
    kernel = optimized(2, 1, random_state=0).fit(collection(TRAIN))
    kernel.save(tmp_path / "model.rwl")
    return tmp_path / "model.rwl", kernel
