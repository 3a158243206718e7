"""Molecules as graphs: atoms are nodes, bonds are edges. RDKit is imported only when molecules are read."""

import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from types import ModuleType
from typing import Any

import numpy as np

from relaxwl._execution import map_processes
from relaxwl._validation import check_choice, check_flag, check_integer
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int64
from relaxwl.graphs.building import CollectionBuilder, common_names

# Features of atoms that labels can contain, in this order.
ATOM_FEATURES: dict[str, Callable[[Any], str]] = {
    "element": lambda atom: str(atom.GetSymbol()),
    "charge": lambda atom: f"{atom.GetFormalCharge():+d}" if atom.GetFormalCharge() else "",
    "hydrogens": lambda atom: f"H{atom.GetTotalNumHs()}",
    "aromatic": lambda atom: "aromatic" if atom.GetIsAromatic() else "",
    "ring": lambda atom: "ring" if atom.IsInRing() else "",
    "chirality": lambda atom: str(atom.GetProp("_CIPCode")) if atom.HasProp("_CIPCode") else "",
    "isotope": lambda atom: f"isotope {atom.GetIsotope()}" if atom.GetIsotope() else "",
}
RICH = ("element", "charge", "hydrogens", "aromatic", "ring")
ERRORS = ("raise", "skip", "nan")
# The atoms of a SMILES, counted before RDKit reads it, because its time grows at least quadratically in their number.
ATOM = re.compile(r"\[[^][]*\]|Br|Cl|[BCNOPSFIbcnops*]")
# Ring-closure digits, outside of brackets.
CLOSURE = re.compile(r"\[[^][]*\]|(%\d\d|%\(\d+\)|\d)")
MAX_ATOMS = 1000
# Maximum number of characters of a SMILES per allowed atom; isotopes, charges and brackets take a dozen.
TEXT_PER_ATOM = 100
# RDKit lists all smallest rings, of which a short SMILES can have very many: twenty four-membered rings that share
# atoms in a circle form a million large ones. Below these numbers of rings, characters or bonds, this is not checked.
FEW_RINGS, FEW_CHARACTERS, FEW_BONDS = 12, 80, 40
# Maximum number of independent rings in a family of rings of equal size (each may double the number of rings that RDKit
# lists; the sum over all families is bounded alike), and of bonds beyond six per atom in total.
MAX_FAMILY, MAX_CROWDED = 12, 200
# Characters of what RDKit says of a molecule.
LONGEST_REASON = 100
# Maximum number of unreadable molecules that a warning lists; it counts the others.
NAMED = 3

AtomLabels = str | Sequence[str] | Callable[[Any], Any]


class MoleculeError(ValueError):
    """A molecule that cannot be read; the message names its position and its text."""

    def __init__(self, index: int, text: object, problem: str) -> None:
        super().__init__(f"molecule {index}, {shortened(text)}: {problem}")
        self.index = index
        self.text = text
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return MoleculeError, (self.index, self.text, self.problem)


class MoleculeCollection(GraphCollection):
    """Graphs of molecules that remember their molecules: node i is atom i, unless hydrogens were added.

    Made by :func:`from_smiles` and its like. Slices and index arrays keep the molecules, everything else treats it as
    the :class:`~relaxwl.GraphCollection` that it is.

    Attributes
    ----------
    sources : tuple
        The SMILES or the RDKit molecule of each graph, None for one that could not be read.

    Examples
    --------
    >>> from_smiles(["C", "CC", "CCO"])[1:].sources
    ('CC', 'CCO')
    """

    __slots__ = ("sources",)

    sources: tuple[Any, ...]

    def __init__(self, *arrays: Any, sources: Iterable[Any], **parts: Any) -> None:
        super().__init__(*arrays, **parts)
        object.__setattr__(self, "sources", tuple(sources))

    @classmethod
    def of(cls, graphs: GraphCollection, sources: Iterable[Any]) -> "MoleculeCollection":
        """Return graphs together with their molecules.

        Parameters
        ----------
        graphs : GraphCollection
            The graphs.
        sources : iterable
            The SMILES or the RDKit molecule of each graph.

        Returns
        -------
        MoleculeCollection
            The graphs with their molecules.
        """
        return cls(**{name: getattr(graphs, name) for name in GraphCollection.__slots__}, sources=sources)

    def molecules(self) -> list[Any]:
        """Return RDKit's molecules, or None for graphs without one; SMILES are read again to keep collections small.

        Returns
        -------
        list of rdkit.Chem.Mol or None
            The molecules.
        """
        return [_as_molecule(source) for source in self.sources]

    def positions(self, index: int) -> Float64 | None:
        """Return the positions at which RDKit draws the atoms of a molecule.

        Parameters
        ----------
        index : int
            Number of the molecule.

        Returns
        -------
        float64 array (n_nodes, 2) or None
            The positions, y growing downwards; None if the molecule could not be read.
        """
        if self.sources[index] is None:
            return None
        chem = import_rdkit()
        from rdkit.Chem import rdDepictor

        molecule = _as_molecule(self.sources[index])
        drawn = chem.Mol(molecule) if molecule.GetNumAtoms() == self.node_counts[index] else chem.AddHs(molecule)
        rdDepictor.Compute2DCoords(drawn)
        return np.asarray(drawn.GetConformer().GetPositions())[:, :2] * [1.0, -1.0]

    def _take(self, graphs: Int64) -> "MoleculeCollection":
        return self.of(super()._take(graphs), [self.sources[index] for index in graphs.tolist()])

    @classmethod
    def concatenate(cls, collections: Iterable[GraphCollection]) -> GraphCollection:
        """Join collections; the molecules are kept where all parts have them.

        Parameters
        ----------
        collections : iterable of GraphCollection
            The parts.

        Returns
        -------
        MoleculeCollection or GraphCollection
            All graphs, part by part.
        """
        parts = list(collections)
        joined = GraphCollection.concatenate(parts)
        full = [part for part in parts if len(part)] or parts
        known = [part.sources for part in full if isinstance(part, MoleculeCollection)]
        return cls.of(joined, chain(*known)) if known and len(known) == len(full) else joined


def _as_molecule(source: Any) -> Any:
    return import_rdkit().MolFromSmiles(source) if isinstance(source, str) else source


def from_smiles(
    strings: Iterable[str],
    *,
    atom_labels: AtomLabels = "element",
    bond_labels: bool = True,
    hydrogens: bool = False,
    stereo: bool = False,
    isotopes: bool = False,
    standardize: bool = False,
    errors: str = "raise",
    return_index: bool = False,
    max_atoms: int | None = MAX_ATOMS,
    n_jobs: int | None = None,
) -> Any:
    """Convert SMILES strings to a collection of graphs. Needs RDKit (``pip install relaxwl[chem]``).

    Parameters
    ----------
    strings : iterable of str
        One SMILES string per molecule. Several fragments (``"[Na+].[Cl-]"``) and single atoms are allowed.
    atom_labels : {"element", "rich"}, sequence of str, or callable, default="element"
        Content of the label of a node: the element; with "rich" also charge, hydrogens, and whether it is aromatic and
        in a ring; a choice of "element", "charge", "hydrogens", "aromatic", "ring", "chirality" and "isotope"; or a
        function of the RDKit atom.
    bond_labels : bool, default=True
        Whether the type of a bond (single, double, triple, aromatic, …) becomes the label of its edge.
    hydrogens : bool, default=False
        Whether hydrogens are nodes.
    stereo : bool, default=False
        Whether labels of atoms include chirality and labels of bonds the E/Z configuration.
    isotopes : bool, default=False
        Whether labels of atoms include isotopes.
    standardize : bool, default=False
        Whether to replace each molecule by its largest fragment, neutralized; see
        :func:`~relaxwl.molecules.standardized`. The collection keeps the SMILES of the fragments, and the given strings
        as names.
    errors : {"raise", "skip", "nan"}, default="raise"
        Treatment of strings that RDKit cannot read: raise an error with the position; skip them; or insert a graph
        without nodes, so that rows stay aligned. The last two give a warning with their number.
    return_index : bool, default=False
        Whether to also return the positions of the molecules that were read, so that ``y[index]`` matches the result of
        "skip".
    max_atoms : int or None, default=1000
        Larger molecules are treated as unreadable; None reads all.
    n_jobs : int, optional
        Number of processes that read many molecules, as in joblib; the result does not depend on it.

    Returns
    -------
    graphs : GraphCollection
        The molecules as graphs: atoms are nodes, bonds are edges.
    index : int64 array
        The positions that were read; only with ``return_index``.

    See Also
    --------
    from_rdkit : Graphs of RDKit molecules.
    relaxwl.datasets.load_molecules : Graphs and targets from a file.

    Examples
    --------
    >>> graphs = from_smiles(["CCO", "c1ccccc1", "[Na+].[Cl-]"])
    >>> graphs
    GraphCollection(3 graphs, 11 nodes, 8 edges, 4 node labels, 2 edge labels)
    >>> graphs[0].node_labels, graphs[0].edge_labels
    (['C', 'C', 'O'], ['single', 'single'])
    """
    style = AtomStyle.of(atom_labels, bond_labels, hydrogens, stereo, isotopes)
    texts = strings if isinstance(strings, str) else list(strings)
    wanted = None if standardize else style  # parts of graphs cannot be converted to SMILES
    read = read_smiles(texts, errors, max_atoms=max_atoms, n_jobs=n_jobs, style=wanted, standardize=standardize)
    names = [text if isinstance(text, str) else "" for text in texts]
    return collected(read, written(read) if standardize else texts, style, errors, return_index, names)


def from_rdkit(
    molecules: Iterable[Any],
    *,
    errors: str = "raise",
    return_index: bool = False,
    n_jobs: int | None = None,
    **options: Any,
) -> Any:
    """Convert RDKit molecules to a collection of graphs.

    Parameters
    ----------
    molecules : iterable of rdkit.Chem.Mol
        The molecules; None is a molecule that RDKit could not read.
    errors : {"raise", "skip", "nan"}, default="raise"
        Treatment of None, as in :func:`from_smiles`.
    return_index : bool, default=False
        Whether to also return the positions of the molecules.
    n_jobs : int, optional
        Number of processes for many molecules, as in joblib; the result does not depend on it.
    **options
        ``atom_labels``, ``bond_labels``, ``hydrogens``, ``stereo`` and ``isotopes``, as in :func:`from_smiles`.

    Returns
    -------
    graphs : GraphCollection
        The molecules as graphs: atoms are nodes, bonds are edges.
    index : int64 array
        The positions that were read; only with ``return_index``.

    See Also
    --------
    from_smiles : Graphs of SMILES.

    Examples
    --------
    >>> from rdkit import Chem
    >>> from_rdkit([Chem.MolFromSmiles("CC=O")], atom_labels="rich")[0].node_labels
    ['C H3', 'C H1', 'O H0']
    """
    style = AtomStyle.of(**options)
    check_choice("errors", errors, ERRORS)
    found: list[Any] = []
    for index, molecule in enumerate(molecules):
        if molecule is not None and not is_rdkit_molecule(molecule):
            raise TypeError(f"molecule {index} must be an RDKit molecule, not {type(molecule).__name__}")
        problem = "None is a molecule that could not be read" if molecule is None else "it has no atoms"
        readable = molecule is not None and molecule.GetNumAtoms()
        if not readable and errors == "raise":
            raise MoleculeError(index, molecule, problem)
        found.append(molecule if readable else _Unreadable(molecule, problem))
    read = _told(found, errors)
    names = common_names([one.GetProp("_Name") if one is not None and one.HasProp("_Name") else "" for one in read])
    return collected(read, read, style, errors, return_index, names, n_jobs)


# ------------------------------------------------------------------------------------------------------- reading


def read_smiles(
    strings: Iterable[str],
    errors: str = "raise",
    lines: Sequence[int] | None = None,
    max_atoms: int | None = MAX_ATOMS,
    n_jobs: int | None = None,
    style: "AtomStyle | None" = None,
    standardize: bool = False,
) -> list[Any]:
    """Return an RDKit molecule for each string, None for one that cannot be read unless ``errors`` is "raise".

    Messages name strings of a file by their ``lines``, others by their positions. With a ``style``, molecules are
    returned as parts of graphs, which are smaller to send between the ``n_jobs`` processes.
    """
    check_choice("errors", errors, ERRORS)
    if max_atoms is not None:
        check_integer("max_atoms", max_atoms, least=1)
    if isinstance(strings, str):
        raise TypeError("expected a list of SMILES, not a single text: put it in a list, [smiles]")
    check_flag("standardize", standardize)
    stop = errors == "raise"
    read = partial(_read, max_atoms=max_atoms, style=style, stop=stop, standardize=standardize)
    found = map_processes(read, list(strings), n_jobs)
    for index, item in enumerate(found):
        if stop and isinstance(item, _Unreadable):
            raise MoleculeError(index, item.text, item.problem)
    return _told(found, errors, None if lines is None else [f"line {line}" for line in lines])


def _read(
    texts: Sequence[Any], max_atoms: int | None, style: "AtomStyle | None", stop: bool, standardize: bool
) -> list[Any]:
    """Return molecules, or the parts of their graphs; with ``stop``, nothing after the first unreadable one."""
    chem = import_rdkit()
    from rdkit import rdBase

    found: list[Any] = []
    with rdBase.BlockLogs():  # problems are reported by this package, with positions
        for text in texts:
            molecule, problem = _parsed(chem, text, max_atoms)
            if molecule is not None and standardize:
                molecule, problem = standardized_or_not(molecule)
            if molecule is None:
                found.append(_Unreadable(text, problem))
                if stop:
                    break
            else:
                found.append(molecule if style is None else style.parts(molecule))
    return found


def standardized(molecule: Any) -> Any:
    """Return the largest fragment of an RDKit molecule, neutralized, by RDKit's MolStandardize.

    Parameters
    ----------
    molecule : rdkit.Chem.Mol
        The molecule; it is not changed.

    Returns
    -------
    rdkit.Chem.Mol
        The standardized molecule.

    See Also
    --------
    relaxwl.datasets.load_molecules : Read and standardize molecules with ``standardize=True``.

    Examples
    --------
    >>> from rdkit import Chem
    >>> Chem.MolToSmiles(standardized(Chem.MolFromSmiles("CC(=O)[O-].[Na+]")))
    'CC(=O)O'
    """
    from rdkit import rdBase
    from rdkit.Chem.MolStandardize import rdMolStandardize

    with rdBase.BlockLogs():
        largest = rdMolStandardize.LargestFragmentChooser().choose(molecule)
        found = rdMolStandardize.Uncharger().uncharge(largest)
    if molecule.HasProp("_Name"):
        found.SetProp("_Name", molecule.GetProp("_Name"))
    return found


def standardized_or_not(molecule: Any) -> tuple[Any, str]:
    """Return the standardized molecule, or None and why RDKit fails at it, as at some of many rings."""
    try:
        return standardized(molecule), ""
    except (RuntimeError, ValueError) as error:
        return None, f"RDKit cannot standardize it ({_said(error)})"


def _said(error: Exception) -> str:
    """Return the beginning of what RDKit says of a molecule: it may list all atoms."""
    said = [*str(error).strip().splitlines(), type(error).__name__][0]
    return said if len(said) <= LONGEST_REASON else f"{said[:LONGEST_REASON]}…"


def written(molecules: Iterable[Any]) -> list[str | None]:
    """Return the canonical SMILES of molecules, None for None."""
    chem = import_rdkit()
    return [None if molecule is None else str(chem.MolToSmiles(molecule)) for molecule in molecules]


def import_rdkit() -> ModuleType:
    """Return ``rdkit.Chem``, or raise an error that says how to install it."""
    try:
        from rdkit import Chem
    except ImportError:
        raise ImportError("reading molecules requires RDKit: pip install 'relaxwl[chem]'") from None
    return Chem


@dataclass(frozen=True)
class _Unreadable:
    text: object
    problem: str


def _parsed(chem: ModuleType, text: object, max_atoms: int | None) -> tuple[Any, str]:
    """Return the molecule, or None and the reason why the string is invalid."""
    if text is None or (isinstance(text, float) and math.isnan(text)) or type(text).__name__ == "NAType":
        return None, "the SMILES is missing; errors='skip' leaves such molecules out"
    if not isinstance(text, str):
        return None, f"a SMILES must be a string, not {type(text).__name__}"
    if not text.strip():
        return None, "the text is empty"
    if "\0" in text:
        return None, "the string contains a null character"
    if len(text.strip().splitlines()) > 1:  # RDKit would read the first line
        return None, "the string has several lines; pass a list with one SMILES each"
    if max_atoms is not None and len(text) > max_atoms:
        n_atoms = sum(1 for _ in ATOM.finditer(text))
        if len(text) > TEXT_PER_ATOM * max_atoms:
            return None, f"{n_atoms} atoms in {len(text)} characters are more than max_atoms={max_atoms} allows"
        problem = too_large(n_atoms, sum(1 for found in CLOSURE.finditer(text) if found[1]) // 2, max_atoms)
        if problem:
            return None, problem
    try:
        problem = "" if max_atoms is None else _tangled_text(chem, text)
        if problem:
            return None, problem
        molecule = chem.MolFromSmiles(text)
        if molecule is None:  # invalid syntax, or RDKit rejects the molecule
            unchecked = chem.MolFromSmiles(text, sanitize=False)
            if unchecked is None:
                return None, "not a valid SMILES string"
            chem.SanitizeMol(unchecked)
            return None, "RDKit rejects the molecule"
    except (RuntimeError, ValueError) as error:
        return None, f"RDKit rejects the molecule ({_said(error)})"
    return (molecule, "") if molecule.GetNumAtoms() else (None, "it has no atoms")


def too_large(n_atoms: int, n_rings: int, max_atoms: int, *, hydrogens: bool = False) -> str:
    """Return why a molecule with this number of atoms and rings is too large, or an empty string.

    RDKit takes minutes for a hundred atoms that are all connected to each other, and ends the process for a few more.
    With ``hydrogens``, which are not kept, there may be three more atoms for each other atom.
    """
    if n_atoms > (4 * max_atoms if hydrogens else max_atoms):
        return f"{n_atoms} atoms are more than max_atoms={max_atoms} allows"
    return f"{n_rings} rings are more than max_atoms={max_atoms} allows" if n_rings > max_atoms // 2 + 100 else ""


def tangled(chem: ModuleType, molecule: Any) -> str:
    """Return why RDKit would list too many rings of a molecule that is not sanitized, or an empty string."""
    n_rings = molecule.GetNumBonds() - molecule.GetNumAtoms() + len(chem.GetMolFrags(molecule))
    if n_rings <= FEW_RINGS:
        return ""
    problem = "its rings share too many atoms to be listed; max_atoms=None reads it all the same"
    if sum(max(0, atom.GetDegree() - 6) for atom in molecule.GetAtoms()) > MAX_CROWDED:
        return problem
    chem.FindRingFamilies(molecule)
    found = molecule.GetRingInfo()
    families = zip(found.AtomRingFamilies(), found.BondRingFamilies(), strict=True)
    n_more = sum(2 ** (len(bonds) - len(atoms)) - 1 for atoms, bonds in families)
    return problem if n_more >= 2**MAX_FAMILY - 1 else ""


def _tangled_text(chem: ModuleType, text: str) -> str:
    if len(text) <= FEW_CHARACTERS or sum(1 for found in CLOSURE.finditer(text) if found[1]) <= 2 * FEW_RINGS:
        return ""
    unchecked = chem.MolFromSmiles(text, sanitize=False)
    return "" if unchecked is None else tangled(chem, unchecked)


def check_sizes(smiles: Iterable[str], node_counts: Int64) -> None:
    """Raise an error for SMILES strings from a file that are too long to be parsed in bounded time."""
    for text, n_nodes in zip(smiles, node_counts.tolist(), strict=False):
        if len(text) > MAX_ATOMS and sum(1 for _ in ATOM.finditer(text)) > max(MAX_ATOMS, 4 * n_nodes):
            raise ValueError(f"{shortened(text)} is not the SMILES of a graph of {n_nodes} nodes")
        text.encode()  # raises an error for lone surrogates
        if len(text) > FEW_CHARACTERS and (problem := _tangled_text(import_rdkit(), text)):
            raise ValueError(f"{shortened(text)}: {problem}")


def is_rdkit_molecule(item: Any) -> bool:
    """Whether an object has the interface of an RDKit molecule."""
    return hasattr(item, "GetAtoms") and hasattr(item, "GetBonds") and hasattr(item, "GetNumAtoms")


def _told(found: list[Any], errors: str, places: Sequence[str] | None = None) -> list[Any]:
    """Insert None for unreadable molecules, and warn, naming their ``places`` (by default positions)."""
    lost = [(index, item) for index, item in enumerate(found) if isinstance(item, _Unreadable)]
    if lost:
        names = "; ".join(
            f"{index if places is None else places[index]}, {shortened(item.text)}: {item.problem}"
            for index, item in lost[:NAMED]
        )
        what = "left out" if errors == "skip" else "kept, without atoms"
        more = f"; and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
        message = f"{len(lost)} of {len(found)} molecules could not be read and are {what}: {names}{more}"
        warnings.warn(message, UserWarning, stacklevel=4)
    return [None if isinstance(item, _Unreadable) else item for item in found]


def shortened(text: object, limit: int = 60) -> str:
    """Return a string, shortened for messages."""
    shown = " ".join(repr(text).split())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


# ---------------------------------------------------------------------------------------------------- as graphs


@dataclass(frozen=True)
class AtomStyle:
    """Rules by which atoms and bonds are labeled."""

    atom_label: Callable[[Any], Any]
    bond_labels: bool
    bond_stereo: bool
    hydrogens: bool
    needs_cip: bool

    @classmethod
    def of(
        cls,
        atom_labels: AtomLabels = "element",
        bond_labels: bool = True,
        hydrogens: bool = False,
        stereo: bool = False,
        isotopes: bool = False,
    ) -> "AtomStyle":
        """Validate the options."""
        if callable(atom_labels):
            return cls(atom_labels, bond_labels, stereo, hydrogens, needs_cip=stereo)
        names = RICH if atom_labels == "rich" else [atom_labels] if isinstance(atom_labels, str) else list(atom_labels)
        unknown = next((name for name in names if name not in ATOM_FEATURES), None)
        if unknown is not None:
            known = ", ".join(("rich", *ATOM_FEATURES))
            raise ValueError(f"atom_labels must be a function or one of {known}, not {unknown!r}")
        wanted = {*names, *(["chirality"] if stereo else []), *(["isotope"] if isotopes else [])}
        features = [function for name, function in ATOM_FEATURES.items() if name in wanted]
        label = features[0] if len(features) == 1 else partial(_joined, features=features)
        return cls(label, bond_labels, stereo, hydrogens, "chirality" in wanted)

    def parts(self, molecule: Any) -> dict[str, Any]:
        """Return one molecule as arguments of ``CollectionBuilder.add``."""
        chem = import_rdkit()
        if self.hydrogens:
            molecule = chem.AddHs(molecule)
        if self.needs_cip:
            chem.AssignStereochemistry(molecule, cleanIt=False, force=False)
        bonds = list(molecule.GetBonds())
        return {
            "n_nodes": molecule.GetNumAtoms(),
            "edges": [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
            "node_labels": [self.atom_label(atom) for atom in molecule.GetAtoms()],
            "edge_labels": [self._bond_label(bond) for bond in bonds] if self.bond_labels else None,
        }

    def _bond_label(self, bond: Any) -> str:
        label = bond.GetBondType().name.lower()
        stereo = bond.GetStereo().name if self.bond_stereo else "STEREONONE"
        return label if stereo in ("STEREONONE", "STEREOANY") else f"{label} {stereo.removeprefix('STEREO')}"


def _joined(atom: Any, features: list[Callable[[Any], str]]) -> str:
    return " ".join(part for part in (feature(atom) for feature in features) if part)


def collected(
    molecules: list[Any],
    sources: Sequence[Any],
    style: AtomStyle,
    errors: str,
    return_index: bool = False,
    names: Sequence[str] | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Return molecules, or the parts of their graphs, as graphs that remember their sources.

    None represents an unreadable molecule, about which no further warning is given.
    """
    builder = CollectionBuilder()
    nothing = {"n_nodes": 0, "edges": [], "node_labels": [], "edge_labels": [] if style.bond_labels else None}
    for found in map_processes(partial(_all_parts, style=style), molecules, n_jobs):
        if found is not None or errors != "skip":
            parts = {**(found or nothing)}
            builder.add(parts.pop("n_nodes"), parts.pop("edges"), **parts)
    read = [index for index, molecule in enumerate(molecules) if molecule is not None]
    kept = read if errors == "skip" else range(len(molecules))
    graphs = MoleculeCollection(
        **builder.build(),
        sources=[sources[index] if molecules[index] is not None else None for index in kept],
        names=None if names is None else [names[index] for index in kept],
    )
    return (graphs, np.array(read, np.int64)) if return_index else graphs


def _all_parts(molecules: Sequence[Any], style: AtomStyle) -> list[dict[str, Any] | None]:
    """Return molecules as the parts of graphs; existing parts are not changed."""
    return [one if one is None or isinstance(one, dict) else style.parts(one) for one in molecules]
