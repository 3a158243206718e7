"""Codebooks are made from a bounded sample that does not depend on the order of the vectors."""

import numpy as np
import pytest

from relaxwl import EditCost
from relaxwl.costs import Sketch


def test_sketches_of_parts_make_the_sketch_of_the_whole(monkeypatch):
    monkeypatch.setattr("relaxwl.costs.codebook.SKETCH_ROWS", 20)
    rng = np.random.default_rng(0)
    vectors = rng.integers(0, 10, (300, 2)) / 4
    whole = Sketch.of(vectors)
    for cuts in ([10, 20], [150], [1, 2, 299]):
        joined = Sketch.join([Sketch.of(part) for part in np.split(rng.permutation(vectors), cuts)])
        np.testing.assert_array_equal(joined.vectors, whole.vectors)
        np.testing.assert_array_equal(joined.counts, whole.counts)
    assert len(whole.vectors) == 20
    assert not whole.whole
    counted = [int((vectors == vector).all(axis=1).sum()) for vector in whole.vectors]
    assert whole.counts.tolist() == counted


def test_many_vectors_need_a_number_of_codes(monkeypatch):
    monkeypatch.setattr("relaxwl.costs.codebook.SKETCH_ROWS", 20)
    vectors = np.arange(30.0)[:, None]
    assert len(EditCost.from_attributes(n_codes=4).codebook(vectors, 0)) == 4
    with pytest.raises(ValueError, match="n_codes"):
        EditCost.from_attributes().codebook(vectors, 0)
