"""Data sets: reading, writing, downloading and generating graphs."""

from relaxwl.datasets.fetch import fetch_tu
from relaxwl.datasets.molecules import load_molecules, read_molecules
from relaxwl.datasets.parquet import read_parquet, write_parquet
from relaxwl.datasets.synthetic import make_block_graphs, make_egonets, make_perturbed
from relaxwl.datasets.tu import load_tu, read_tu, write_tu

__all__ = [
    "fetch_tu",
    "load_molecules",
    "load_tu",
    "make_block_graphs",
    "make_egonets",
    "make_perturbed",
    "read_molecules",
    "read_parquet",
    "read_tu",
    "write_parquet",
    "write_tu",
]
