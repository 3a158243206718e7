"""A fitted model in a file, graphs for it, and files with a changed content whose checksums are right."""

import hashlib
import io
import json
import zlib

import numpy as np

from relaxwl.kernels.persistence import MAGIC, VERSION
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


def opened(content):
    """Return what a model file holds: a tree of values, and arrays."""
    payload = io.BytesIO(zlib.decompress(content.split(b"\n", 2)[2]))
    header = json.loads(payload.read(int.from_bytes(payload.read(8), "little")))
    arrays = []
    for kind, shape in header.pop("arrays"):
        n_bytes = int(np.prod(shape)) * np.dtype(kind).itemsize
        arrays.append(np.frombuffer(payload.read(n_bytes), kind).reshape(shape).copy())
    return header, arrays


def written(header, arrays, more=b"", level=1):
    """Return a model file of a tree and arrays; the tree may say itself what its arrays are."""
    described = {"arrays": [[array.dtype.str, array.shape] for array in arrays], **header}
    text = json.dumps(described).encode()
    parts = [len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in arrays), more]
    return signed(zlib.compress(b"".join(parts), level))


def signed(payload):
    """Return a file of a compressed stream, its checksum made right."""
    return MAGIC + b"%d\n" % VERSION + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload


def rewritten(path, change):
    """Return the bytes of a model file whose tree was changed by a function."""
    header, arrays = opened(path.read_bytes())
    change(header)
    return written(header, arrays)


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
