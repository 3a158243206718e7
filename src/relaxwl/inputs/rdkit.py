"""Molecules of RDKit."""

from typing import Any

from relaxwl.datasets.smiles import from_rdkit, is_rdkit_molecule
from relaxwl.graphs import GraphCollection
from relaxwl.inputs.reading import Names, refuse_names

KIND = "an RDKit molecule"

recognise = is_rdkit_molecule


def read(molecules: list[Any], names: Names) -> GraphCollection:
    """Read molecules with elements and types of bonds as labels; ``relaxwl.molecules.from_rdkit`` has the options."""
    refuse_names(names, KIND)
    graphs: GraphCollection = from_rdkit(molecules)
    return graphs
