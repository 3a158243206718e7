"""A fitted model in a file, and graphs for it."""

import io
import json
import zipfile

import numpy as np

from relaxwl.kernels.persistence import _checksum
from small_graphs import BONDS, collection, random_graphs

TRAIN, TEST = random_graphs(15, bonds=BONDS), random_graphs(8, 8, seed=1, bonds=BONDS)


def assert_equal_kernels(kernel, loaded):
    for graphs in (collection(TRAIN), collection(TEST)):
        assert (kernel.transform(graphs) != loaded.transform(graphs)).nnz == 0
    np.testing.assert_array_equal(
        loaded.kernel_matrix(collection(TEST), collection(TRAIN)),
        kernel.kernel_matrix(collection(TEST), collection(TRAIN)),
    )
    assert loaded.get_feature_names_out().tolist() == kernel.get_feature_names_out().tolist()


def rewritten(path, change):
    """Return the bytes of the model file with its header changed by a function."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "model.json":
                header = json.loads(content)
                change(header)
                content = json.dumps({**header, "checksum": _checksum(header)}).encode()
            target.writestr(name, content)
    return buffer.getvalue()


def replaced(header, **values):
    header.update(values)


def objects(tree, kind):
    """Yield the objects of a kind within a tree of plain values."""
    if isinstance(tree, list):
        for item in tree:
            yield from objects(item, kind)
    elif isinstance(tree, dict):
        if tree.get("object") == kind:
            yield tree
        for item in tree.values():
            yield from objects(item, kind)
