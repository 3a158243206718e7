"""Fixtures for the tests of evaluations."""

import numpy as np
import pytest

from evaluation.small_data import random_graphs
from evaluation.toy_kernels import Spy
from relaxwl.graphs import GraphCollection


@pytest.fixture(scope="session")
def toy():
    """Return 40 graphs and their classes."""
    return random_graphs(40)


@pytest.fixture
def distinct_sizes():
    """Graphs that their number of nodes identifies."""
    graphs = GraphCollection.from_edges([(n, [(0, 1)]) for n in range(2, 26)])
    return graphs, np.arange(24) % 2


@pytest.fixture
def spy():
    Spy.seen = []
    return Spy()
