"""Arrays that compiled code would read beyond, or that are no adjacency, are refused."""

import numpy as np
import pytest

from relaxwl import GraphCollection
from relaxwl.graphs.building import check_clean
from small_graphs import BONDS, collection, random_graphs

PATH = {"offsets": [0, 3], "indptr": [0, 1, 3, 4], "indices": [1, 0, 2, 1]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"indices": [1, 0, 2 * 10**9, 1]}, "indices must lie from 0 to 2"),
        ({"indices": [1, 0, -1, 1]}, "indices must lie from 0 to 2"),
        ({"indptr": [0, 4, 3, 4]}, "indptr must ascend from 0 to 4"),
        ({"indptr": [0, 1, 3, 10**9]}, "indptr must ascend from 0 to 4"),
        ({"offsets": [0, 10**9]}, "offsets must ascend from 0 to 3"),
        ({"offsets": [1, 3]}, "offsets must ascend from 0 to 3"),
        ({"node_codes": [0, 1, 0]}, "node_codes must lie from 0 to 0"),
        ({"node_codes": [0, 2, 0], "node_vocabulary": ("a", "b")}, "node_codes must lie from 0 to 1"),
        ({"node_codes": [0, 0], "node_vocabulary": ("a",)}, "node_codes must be 3 numbers"),
        ({"edge_codes": [0, 0, -5, 0], "edge_vocabulary": ("a",)}, "edge_codes must lie from 0 to 0"),
        ({"node_attributes": np.ones(3)}, "node_attributes must be a table with 3 rows"),
        ({"edge_attributes": np.ones((3, 1))}, "edge_attributes must be a table with 4 rows"),
    ],
)
def test_what_would_be_read_beyond_its_end_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        GraphCollection(**{**PATH, **changed})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"offsets": [0, 1, 3]}, "from one graph to another"),
        ({"indices": [1, 2, 0, 1]}, "must ascend"),
        ({"indices": [0, 0, 2, 1]}, "must ascend, without loops"),
        ({"indices": [1, 0, 2, 0]}, "from one of its ends alone"),
        ({"edge_codes": [0, 1, 0, 0], "edge_vocabulary": ("a", "b")}, "the same label at both"),
        ({"edge_attributes": [[0.0], [1.0], [0.0], [0.0]]}, "the same attributes at both"),
    ],
)
def test_what_is_no_clean_adjacency_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        check_clean(GraphCollection(**{**PATH, **changed}))


def test_what_is_clean_passes():
    check_clean(GraphCollection(**PATH))
    check_clean(GraphCollection(**{**PATH, "indices": [1, 0, 2, 0]}, directed=True))
    check_clean(collection(random_graphs(30, bonds=BONDS)))
    check_clean(GraphCollection([0], [0], []))
