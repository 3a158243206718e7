"""Molecules: SMILES and RDKit molecules as graphs, descriptors, fingerprints, and predictors of what they do."""

from relaxwl.datasets.molecules import load_molecules, read_molecules, standardized
from relaxwl.datasets.smiles import MoleculeCollection, MoleculeError, from_rdkit, from_smiles
from relaxwl.drawing import molecule_svg
from relaxwl.molecules.descriptors import Descriptors, descriptors
from relaxwl.molecules.fingerprints import MorganFingerprints, fingerprints
from relaxwl.molecules.predictors import MoleculeClassifier, MoleculeRegressor
from relaxwl.molecules.scaffolds import duplicates, scaffolds

__all__ = [
    "Descriptors",
    "MoleculeClassifier",
    "MoleculeCollection",
    "MoleculeError",
    "MoleculeRegressor",
    "MorganFingerprints",
    "descriptors",
    "duplicates",
    "fingerprints",
    "from_rdkit",
    "from_smiles",
    "load_molecules",
    "molecule_svg",
    "read_molecules",
    "scaffolds",
    "standardized",
]
