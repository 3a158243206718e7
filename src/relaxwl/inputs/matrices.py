"""Adjacency matrices, dense and sparse."""

from typing import Any

import numpy as np

from relaxwl.graphs import GraphCollection
from relaxwl.inputs.reading import Names, refuse_names

KIND = "an adjacency matrix"


def recognise(item: Any) -> bool:
    """Whether the item is an array of numbers or a sparse matrix."""
    return hasattr(item, "tocoo") or (isinstance(item, np.ndarray) and item.dtype != object)


def read(matrices: list[Any], names: Names) -> GraphCollection:
    """Read square matrices; weights other than 1 become an edge attribute."""
    refuse_names(names, KIND)
    return GraphCollection.from_adjacency(matrices, symmetrize=names.symmetrize, directed=names.directed)
