"""Model files of format 1 give what they gave."""

import json
from pathlib import Path

import numpy as np
import pytest

from kernels.models import TEST
from relaxwl.kernels.registry import load_kernel
from small_graphs import collection, with_attributes

FORMAT1 = sorted((Path(__file__).parent / "format1").glob("*.rwl"))


@pytest.mark.parametrize("path", FORMAT1, ids=lambda path: path.stem)
def test_files_of_format_1_give_the_same_features(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    kernel = load_kernel(path)
    attributes = "attributes" in path.stem
    graphs = with_attributes(TEST, 1, True) if attributes else collection(TEST)
    features = kernel.transform(graphs).toarray()
    np.testing.assert_array_equal(features, np.array(expected["features"]))
    assert len(kernel.get_feature_names_out()) == features.shape[1]
    if hasattr(kernel, "partitions_"):
        assert [[one.sizes.tolist() for one in levels] for levels in kernel.partitions_] == expected["sizes"]


def test_format_1_is_tried():
    assert len(FORMAT1) >= 8
