"""Features and Gram matrices on the command line."""

import re

import numpy as np
import pytest
import scipy.sparse

from relaxwl import RelaxedWeisfeilerLehman
from relaxwl._registry import get_estimator
from relaxwl.cli import main
from relaxwl.kernels.base import GraphKernel


def test_features_model_and_apply(dataset, tmp_path, capsys):
    features, model, again = tmp_path / "X.npz", tmp_path / "model.rwl", tmp_path / "Y.npz"
    assert main(["features", str(dataset), "-o", str(features), "--model", str(model), "--depth", "2"]) == 0
    assert main(["features", str(dataset), "-o", str(again), "--apply", str(model)]) == 0
    matrix = scipy.sparse.load_npz(features)
    assert matrix.shape[0] == 24
    assert (matrix != scipy.sparse.load_npz(again)).nnz == 0
    assert set(np.load(features)["y"]) == {0, 1, 2, 3}


@pytest.mark.parametrize("command", ["features", "kernel"])
def test_help_lists_kernels_and_their_defaults(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    printed = " ".join(capsys.readouterr().out.replace("-\n", "- ").split()).replace("- ", "-")
    names = re.search(r"one of (.*?) \(default rwl-star\)", printed)[1].split(", ")
    kernels = {name: get_estimator(name).make(0) for name in names}
    assert all(isinstance(kernel, GraphKernel) for kernel in kernels.values())
    default = kernels["rwl-star"].get_params()
    assert [default[name] for name in ("max_depth", "n_partitions", "n_clusters", "similarity")] == [
        4,
        4,
        ("all", 2.0, 1.0, 0.5),
        "tanimoto",
    ]
    assert "all,2.0,1.0,0.5 (rwl-star)" in printed
    assert kernels["cwl"].n_partitions == 24
    without = [name for name, kernel in kernels.items() if not hasattr(kernel, "transform")]
    assert without == ["wwl", "tmd"]
    assert ("wwl and tmd have no features" in printed) == (command == "features")


def test_kernel_writes_a_gram_matrix(dataset, tmp_path):
    path = tmp_path / "K.npz"
    assert main(["kernel", str(dataset), "-o", str(path), "--kernel", "wl", "--depth", "2", "--normalize"]) == 0
    gram = np.load(path)["K"]
    np.testing.assert_allclose(np.diag(gram), 1)


def test_kernel_options_reach_the_kernel(dataset, tmp_path):
    path, model = tmp_path / "K.npz", tmp_path / "model.rwl"
    options = [
        "--clusters",
        "2,1.0,all",
        "--partitions",
        "3",
        "--depth",
        "2",
        "--normalize",
        "depth",
        "--model",
        str(model),
    ]
    assert main(["kernel", str(dataset), "-o", str(path), *options]) == 0
    np.testing.assert_allclose(np.diag(np.load(path)["K"]), 3)
    kernel = RelaxedWeisfeilerLehman.load(model)
    assert list(kernel.n_clusters) == [2, 1.0, "all"]
    assert [len(partition[2]) == 2 for partition in kernel.partitions_] == [True, False, False]
