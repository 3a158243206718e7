"""Adjacency matrices, dense and sparse."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from inputs.one_graph_of_each_kind import PATH
from relaxwl.inputs import as_collection


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_lists_of_sparse_blocks(form, kind):
    """Matrices of any format, among them those that ``block_diag`` joins and an index takes out again."""
    make = getattr(sparse, f"{form}_{kind}")
    blocks = [np.array(PATH), np.zeros((2, 2), int), 1 - np.eye(4, dtype=int)]
    expected = as_collection(blocks)
    assert as_collection([make(block) for block in blocks]) == expected
    assert as_collection(make(block) for block in blocks) == expected
    joined = sparse.block_diag([sparse.coo_array(block) for block in blocks], format="csr")
    ends = np.cumsum([0, *(len(block) for block in blocks)])
    assert as_collection([make(joined[a:b, a:b]) for a, b in itertools.pairwise(ends)]) == expected
    arcs = as_collection([make(np.triu(block) * 2.5) for block in blocks])
    assert arcs.directed
    assert set(arcs.edge_attributes.ravel()) == {2.5}
    with pytest.raises(TypeError, match="put a single graph in a list"):
        as_collection(make(blocks[0]))
