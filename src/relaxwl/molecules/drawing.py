"""Molecules in RDKit's layout, atoms coloured by what they do."""

from typing import Any

import numpy as np

from relaxwl.graphs.arrays import Float64

# Ends of the scale of colours: what lowers the prediction, and what raises it. Told apart also by the colour-blind.
LOWERS, RAISES = np.array([0.26, 0.46, 0.85]), np.array([0.93, 0.49, 0.19])


def molecule_svg(molecule: Any, effects: Float64, width: int = 400, height: int = 300) -> str:
    """Return the picture of a molecule as SVG; the stronger an atom's effect, the stronger its colour.

    Blue atoms lower the prediction, orange ones raise it.

    >>> from rdkit import Chem
    >>> picture = molecule_svg(Chem.MolFromSmiles("CCO"), np.array([0.1, 0.2, -1.0]))
    >>> picture.lstrip().startswith("<?xml") and picture.count("<ellipse") == 3
    True
    """
    from rdkit.Chem.Draw import rdMolDraw2D

    effects = np.asarray(effects, np.float64)
    if effects.shape != (molecule.GetNumAtoms(),):
        raise ValueError(f"effects must be {molecule.GetNumAtoms()} numbers, one for each atom, not {effects.shape}")
    strongest = float(np.abs(effects).max(initial=0)) or 1.0
    atoms = list(range(len(effects)))
    colours = {atom: _colour(effects[atom] / strongest) for atom in atoms}
    drawer = rdMolDraw2D.MolDraw2DSVG(width, height)
    options: Any = drawer.drawOptions()
    options.highlightRadius = 0.4
    options.useBWAtomPalette()  # so that colours have one meaning
    drawable = rdMolDraw2D.PrepareMolForDrawing(molecule, kekulize=False)
    drawer.DrawMolecule(drawable, highlightAtoms=atoms, highlightAtomColors=colours, highlightBonds=[])
    drawer.FinishDrawing()
    return str(drawer.GetDrawingText())


def _colour(share: float) -> tuple[float, float, float]:
    """Return a mixture of white with one end of the scale; ``share`` is from -1 to 1."""
    end = RAISES if share >= 0 else LOWERS
    red, green, blue = 1 - abs(share) * (1 - end)
    return float(red), float(green), float(blue)
