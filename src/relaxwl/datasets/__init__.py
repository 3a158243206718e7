"""Data sets: reading and fetching the TU collection, and generating graphs."""

from relaxwl.datasets.fetch import DownloadError, cache_directory, download_tu, fetch_tu
from relaxwl.datasets.molecules import MoleculeTable, MoleculeTableError, load_molecules, read_molecules
from relaxwl.datasets.parquet import read_parquet, write_parquet
from relaxwl.datasets.synthetic import EGONET_MODELS, make_block_graphs, make_egonets, make_perturbed
from relaxwl.datasets.tu import TUDataset, TUFormatError, load_tu, read_tu
from relaxwl.datasets.tu_writing import write_tu

__all__ = [
    "EGONET_MODELS",
    "DownloadError",
    "MoleculeTable",
    "MoleculeTableError",
    "TUDataset",
    "TUFormatError",
    "cache_directory",
    "download_tu",
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
