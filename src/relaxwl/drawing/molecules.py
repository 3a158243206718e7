"""Molecules in RDKit's layout, atoms colored by what they do."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# Ends of the scale of colors: what lowers the prediction, and what raises it. Told apart also by the color-blind.
LOWERS, RAISES = np.array([0.26, 0.46, 0.85]), np.array([0.93, 0.49, 0.19])
# Pixels of a bond.
BOND_LENGTH = 24


def molecule_svg(
    molecule: Any, effects: ArrayLike, width: int = 400, height: int = 300, strongest: float | None = None
) -> str:
    """Draw a molecule as SVG; the stronger an atom's effect, the stronger its color.

    Blue atoms lower the prediction, orange ones raise it.

    Parameters
    ----------
    molecule : rdkit.Chem.Mol
        The molecule.
    effects : array-like (n_atoms,)
        A number for each atom.
    width, height : int
        Size of the picture in pixels.
    strongest : float, optional
        The effect with the strongest color, so that several pictures have one scale; by default the largest.

    Returns
    -------
    str
        The picture.

    Examples
    --------
    >>> from rdkit import Chem
    >>> picture = molecule_svg(Chem.MolFromSmiles("CCO"), [0.1, 0.2, -1.0])
    >>> picture.lstrip().startswith("<?xml") and picture.count("<ellipse") == 3
    True
    """
    from rdkit.Chem.Draw import rdMolDraw2D

    values = np.asarray(effects, np.float64)
    if values.shape != (molecule.GetNumAtoms(),):
        raise ValueError(f"effects must be {molecule.GetNumAtoms()} numbers, one for each atom, not {values.shape}")
    shares = np.clip(values / (strongest or float(np.abs(values).max(initial=0)) or 1.0), -1, 1)
    colors = {}
    for atom, share in enumerate(shares.tolist()):  # a mixture of white with one end of the scale
        colors[atom] = tuple((1 - abs(share) * (1 - (RAISES if share >= 0 else LOWERS))).tolist())
    drawer = rdMolDraw2D.MolDraw2DSVG(width, height)
    options: Any = drawer.drawOptions()
    options.highlightRadius = 0.4
    options.fixedBondLength = BOND_LENGTH  # one scale for all pictures, but for molecules that would not fit
    options.useBWAtomPalette()  # so that colors have one meaning
    drawable = rdMolDraw2D.PrepareMolForDrawing(molecule)
    drawer.DrawMolecule(drawable, highlightAtoms=list(colors), highlightAtomColors=colors, highlightBonds=[])
    drawer.FinishDrawing()
    return str(drawer.GetDrawingText())
