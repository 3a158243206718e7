"""What atoms of a molecule, and groups of them, do to its prediction."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from relaxwl.graphs.arrays import Float64
from relaxwl.molecules.drawing import molecule_svg
from relaxwl.unfolding.tree import UnfoldingTree

# Groups that a picture shows beside the molecule.
N_SHOWN = 4
# Vertices of their trees that it shows.
MOST_VERTICES = 14
CENTERED = "text-align:center;margin:0"


@dataclass(frozen=True)
class GroupEffect:
    """What a group of atoms that are held for alike does to a prediction.

    Attributes
    ----------
    atoms : tuple of int
        The atoms of the molecule that are in the group.
    tree : UnfoldingTree
        The centre of the group: what surrounds these atoms, roughly.
    depth : int
        Depth of the tree.
    effect : float
        How much lower the prediction would be without the group's counts; summed over the partitions of R-WL* (and WL)
        in which just these atoms are together.
    """

    atoms: tuple[int, ...]
    tree: UnfoldingTree = field(repr=False)
    depth: int
    effect: float


@dataclass(frozen=True)
class MoleculeExplanation:
    """What each atom of a molecule does to its prediction.

    Attributes
    ----------
    molecule : rdkit.Chem.Mol
        The molecule.
    prediction : float
        What is predicted for it.
    effects : array (n_atoms,)
        How much lower the prediction would be without what lies around the atom: trees and environments that start
        at it are taken out of the counts, and descriptors are those of the molecule with a dummy in its place. The
        effects do not add up to the prediction, since neither similarities nor descriptors are sums over atoms.
    """

    molecule: Any
    prediction: float
    effects: Float64
    _find_groups: Callable[[], list[GroupEffect]] = field(repr=False)

    def groups(self, k: int = N_SHOWN) -> list[GroupEffect]:
        """Return the ``k`` groups of the graph kernels with the largest effects, either way, the largest first.

        There are none where graphs have no part in the prediction.
        """
        return self._find_groups()[:k]

    def to_svg(self, width: int = 400, height: int = 300) -> str:
        """Draw the molecule, each atom in the colour of its effect."""
        return molecule_svg(self.molecule, self.effects, width, height)

    def to_html(self, k: int = N_SHOWN) -> str:
        """Draw the molecule beside the groups that made the prediction: their atoms, and their centres as trees."""
        figures = [
            f'<figure style="{CENTERED}">{self._lit(group)}<br>{group.tree.to_svg(MOST_VERTICES, collapse=True)}'
            f"<figcaption>{escape(_told(group))}</figcaption></figure>"
            for group in self.groups(k)
        ]
        whole = f'<figure style="{CENTERED}">{_inline(self.to_svg())}'
        whole += f"<figcaption>predicted: {self.prediction:.3g}; orange raises it, blue lowers it</figcaption></figure>"
        style = "display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start;font:13px sans-serif"
        return f'<div style="{style}">{whole}{"".join(figures)}</div>'

    def _repr_html_(self) -> str:
        """Show the pictures in notebooks and on pages."""
        return self.to_html()

    def _lit(self, group: GroupEffect) -> str:
        effects = np.zeros(len(self.effects))
        effects[list(group.atoms)] = np.sign(group.effect)
        return _inline(molecule_svg(self.molecule, effects, 180, 130))


def merged_groups(effects: Iterable[GroupEffect]) -> list[GroupEffect]:
    """Add up the effects of the same atoms at the same depth; the first tree stands for all."""
    merged: dict[tuple[int, tuple[int, ...]], GroupEffect] = {}
    for group in effects:
        key = group.depth, group.atoms
        known = merged.get(key)
        merged[key] = group if known is None else replace(known, effect=known.effect + group.effect)
    return sorted(merged.values(), key=lambda group: (-abs(group.effect), group.depth, group.atoms))


def _told(group: GroupEffect) -> str:
    verb = "raises" if group.effect > 0 else "lowers"
    return f"{verb} the prediction by {abs(group.effect):.2g} (depth {group.depth})"


def _inline(picture: str) -> str:
    """Return an SVG without the line that only a file needs."""
    return picture.partition("?>")[2] or picture
