"""Molecules: SMILES and RDKit molecules as graphs, descriptors, fingerprints, and predictors of their properties."""

from relaxwl.datasets.molecules import load_molecules as load_molecules
from relaxwl.datasets.molecules import read_molecules as read_molecules
from relaxwl.datasets.smiles import MoleculeCollection as MoleculeCollection
from relaxwl.datasets.smiles import MoleculeError as MoleculeError
from relaxwl.datasets.smiles import from_rdkit, from_smiles, standardized
from relaxwl.drawing import molecule_svg as molecule_svg
from relaxwl.molecules.descriptors import Descriptors
from relaxwl.molecules.descriptors import descriptors as descriptors
from relaxwl.molecules.fingerprints import MorganFingerprints, fingerprints
from relaxwl.molecules.predictors import MoleculeClassifier, MoleculeRegressor
from relaxwl.molecules.scaffolds import duplicates, scaffolds

__all__ = [
    "Descriptors",
    "MoleculeClassifier",
    "MoleculeRegressor",
    "MorganFingerprints",
    "duplicates",
    "fingerprints",
    "from_rdkit",
    "from_smiles",
    "scaffolds",
    "standardized",
]
