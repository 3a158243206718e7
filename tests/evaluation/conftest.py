"""Fixtures for the tests of evaluations."""

import pytest

from evaluation.small_data import random_graphs


@pytest.fixture(scope="session")
def toy():
    """Return 40 graphs and their classes."""
    return random_graphs(40)
