"""Families of RDKit descriptors that are computed together, with the same values as RDKit's functions.

Each of these functions of RDKit loops over atoms, bonds, distances or paths of a molecule, most of them in Python. Here
shared quantities are computed once, and sums are in the same order, so that results are equal to the last bit (those of
eigenvalues to twelve digits). With RDKit's functions alone descriptors take twice as long and a fit a third longer, so
those that save most are here.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaxwl._execution import cached_property
from relaxwl.graphs.arrays import Float64, Int64

# The last elements of the rows of the periodic table.
NOBLE_GASES = (2, 10, 18, 36, 54, 86)
# Maximum number of paths of four bonds for which descriptors of paths are defined; listing more would take long.
MAX_PATHS = 20_000
# Maximum number of atoms for which eigenvalues (BCUT2D) are defined; their time grows with its third power.
MAX_EIGENVALUES = 500
# Elements of the matrices with these eigenvalues: of pairs without a bond, and by the order of a bond.
UNBONDED, BONDED = 0.001, {order: order**-0.5 for order in (1.0, 1.5, 2.0, 3.0)}
# Bound of distances between connected atoms; RDKit's distance of other atoms is larger.
CONNECTED = 1e6


class Shared:
    """Atoms, bonds, distances and paths of a molecule, computed once for several descriptors."""

    def __init__(self, molecule: Any) -> None:
        self.molecule = molecule

    @cached_property
    def atoms(self) -> list[Any]:
        """The atoms."""
        return list(self.molecule.GetAtoms())

    @cached_property
    def numbers(self) -> list[int]:
        """The atomic number of each atom."""
        return [atom.GetAtomicNum() for atom in self.atoms]

    @cached_property
    def degrees(self) -> list[int]:
        """The number of neighbors of each atom."""
        return [atom.GetDegree() for atom in self.atoms]

    @cached_property
    def electrons(self) -> list[int]:
        """The number of outer electrons of each atom that are not bonded to hydrogens."""
        pairs = zip(self.numbers, self.hydrogens, strict=True)
        return [_outer_electrons(number) - hydrogens for number, hydrogens in pairs]

    @cached_property
    def hydrogens(self) -> list[int]:
        """The number of hydrogens of each atom that are not atoms of the molecule."""
        return [atom.GetTotalNumHs() for atom in self.atoms]

    @cached_property
    def bonds(self) -> list[tuple[int, int, float]]:
        """Begin, end and order of each bond."""
        found = []
        for bond in self.molecule.GetBonds():
            order = 1.5 if bond.GetIsAromatic() else bond.GetBondTypeAsDouble()
            found.append((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), order))
        return found

    @cached_property
    def pairs(self) -> Int64:
        """The bonded atoms, smaller first, in ascending order: (n_bonds, 2)."""
        pairs = sorted((a, b) if a < b else (b, a) for a, b, _ in self.bonds)
        return np.array(pairs, np.int64).reshape(len(pairs), 2)

    @cached_property
    def bond_distances(self) -> Float64:
        """Distances along bonds, with a length of one over the order for each bond."""
        from rdkit.Chem import rdmolops

        found = rdmolops.GetDistanceMatrix(self.molecule, useBO=True, useAtomWts=False, force=True, prefix="Balaban")
        return np.asarray(found)

    @cached_property
    def states(self) -> Float64:
        """The electrotopological state of each atom."""
        from rdkit.Chem import rdmolops

        of_atoms = [
            (4.0 / _row_of(number) ** 2 * electrons + 1) / degree if degree else 0.0
            for number, electrons, degree in zip(self.numbers, self.electrons, self.degrees, strict=True)
        ]
        own = np.array(of_atoms, np.float64)
        distances = rdmolops.GetDistanceMatrix(self.molecule, useBO=False, useAtomWts=False) + 1
        terms = (own - own[:, None]) / (distances * distances)
        terms[distances >= CONNECTED] = 0.0
        return np.asarray(np.add.reduce(terms, axis=0) + own)

    @cached_property
    def surfaces(self) -> list[float]:
        """The contribution of each atom to the surface."""
        from rdkit.Chem import rdMolDescriptors

        return list(rdMolDescriptors._CalcLabuteASAContribs(self.molecule, True)[0])

    @cached_property
    def charges(self) -> list[float]:
        """The partial charge of each atom."""
        from rdkit.Chem import rdPartialCharges

        rdPartialCharges.ComputeGasteigerCharges(self.molecule)
        return [atom.GetDoubleProp("_GasteigerCharge") for atom in self.atoms]

    @cached_property
    def formal_charges(self) -> list[int]:
        """The formal charge of each atom."""
        return [atom.GetFormalCharge() for atom in self.atoms]

    @property
    def n_walks(self) -> int:
        """The number of walks of four bonds without immediate reversal: all paths, and some that meet themselves."""
        ends = np.concatenate([self.pairs, self.pairs[:, ::-1]])
        walks = np.ones(len(ends), np.int64)
        for _ in range(3):
            further = np.bincount(ends[:, 0], walks, len(self.atoms)).astype(np.int64)[ends[:, 1]]
            walks = further - np.roll(walks, len(self.pairs))  # without the bond itself, in its other direction
        return int(walks.sum()) // 2

    @cached_property
    def paths(self) -> tuple[Int64, Int64, Int64]:
        """The sorted paths of two, three and four bonds between atoms other than hydrogen, as rows of atoms.

        A path may end in one of its own atoms and so close a ring. Of paths with the same bonds, the first is kept.
        """
        most = len(self.bonds) * max(max(self.degrees, default=0) - 1, 0) ** 3
        if most > MAX_PATHS and self.n_walks > MAX_PATHS:
            raise ValueError(f"there are more than {MAX_PATHS} paths")
        pairs, heavy = self.pairs, np.array(self.numbers) != 1
        pairs = pairs[heavy[pairs].all(axis=1)]
        walks = np.concatenate([pairs, pairs[:, ::-1]])
        walks = walks[np.lexsort(walks.T[::-1])]
        starts = np.searchsorted(walks[:, 0], np.arange(len(heavy) + 1))
        degrees, neighbors = np.diff(starts), walks[:, 1]
        found = []
        for _ in range(3):
            last = walks[:, -1]
            counts = degrees[last]
            ends = np.cumsum(counts)
            shifts = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts - starts[last], counts)
            walks = np.column_stack([np.repeat(walks, counts, axis=0), neighbors[shifts]])
            walks = walks[walks[:, -1] != walks[:, -3]]
            is_kept, is_open = walks[:, 0] < walks[:, -1], np.ones(len(walks), np.bool_)
            for place in range(walks.shape[1] - 3):
                closes = np.flatnonzero(walks[:, place] == walks[:, -1])
                if not len(closes):
                    continue
                is_open[closes] = False
                ring = walks[closes, place:-1]
                is_first = ring[:, 1] < ring[:, -1]
                is_kept[closes] = is_first if place else is_first & (ring[:, 0] == ring.min(axis=1))
            found.append(walks[is_kept])
            walks = walks[is_open]
        return found[0], found[1], found[2]


@cache
def _outer_electrons(number: int) -> int:
    from rdkit.Chem import GetPeriodicTable

    return int(GetPeriodicTable().GetNOuterElecs(number))


@cache
def _row_of(number: int) -> int:
    """Return the row of the periodic table."""
    return 1 + sum(number > last for last in NOBLE_GASES)


def _in_order(values: NDArray[Any]) -> float:
    """Return the sum of values, added one after the other."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def _valence_electrons(shared: Shared) -> Sequence[float]:
    radicals = sum(atom.GetNumRadicalElectrons() for atom in shared.atoms)
    return sum(shared.electrons) + 2 * sum(shared.hydrogens) - sum(shared.formal_charges), radicals


def _connectivity(shared: Shared) -> Sequence[float]:
    degrees = np.array(shared.degrees, np.float64)
    bonded = [shared.degrees[a] * shared.degrees[b] for a, b, _ in shared.bonds]
    return tuple(_in_order(np.sqrt(1.0 / of)) for of in (degrees[degrees > 0], np.array(bonded, np.float64)))


def _path_connectivity(shared: Shared) -> Sequence[float]:
    by_electrons, by_valence = [], []
    for number, electrons in zip(shared.numbers, shared.electrons, strict=True):
        shells = 1 if number <= 10 else number - _outer_electrons(number) - 1
        by_electrons.append(electrons)
        by_valence.append(electrons / shells if number > 1 else 0.0)
    found = []
    for of_atoms in (by_electrons, by_valence):
        deltas = np.array(of_atoms, np.float64)
        with np.errstate(invalid="ignore"):
            deltas[deltas != 0] = 1.0 / np.sqrt(deltas[deltas != 0])
        for paths in shared.paths:
            factors = deltas[paths]
            factors[paths[:, 0] == paths[:, -1], -1] = 1.0  # the atom that closes a ring counts once
            found.append(_in_order(np.multiply.reduce(factors, axis=1)))
    return found


def _shape(shared: Shared) -> Sequence[float]:
    from rdkit.Chem import rdMolDescriptors

    molecule = shared.molecule
    alpha, size = rdMolDescriptors.CalcHallKierAlpha(molecule), molecule.GetNumHeavyAtoms()
    two, three = (len(paths) + alpha for paths in shared.paths[:2])
    whole = size + alpha
    second = (whole - 1) * (whole - 2) * (whole - 2) / (two * two) if two else 0.0
    third = (whole - (1 if size % 2 else 2)) * (whole - 3) * (whole - 3) / (three * three) if three else 0.0
    return second, third, rdMolDescriptors.CalcKappa1(molecule) * second / size if size else 0.0


def _states(shared: Shared) -> Sequence[float]:
    sizes = np.abs(shared.states)
    return sizes.max(), shared.states.max(), sizes.min(), shared.states.min()


def _states_by_surface(shared: Shared) -> Sequence[float]:
    from rdkit.Chem.EState import EState_VSA

    return _binned(EState_VSA.vsaBins, shared.surfaces, shared.states.tolist())


def _surfaces_by_state(shared: Shared) -> Sequence[float]:
    from rdkit.Chem.EState import EState_VSA

    return _binned(EState_VSA.estateBins, shared.states.tolist(), shared.surfaces)


def _binned(limits: Sequence[float], keys: Sequence[float], values: Sequence[float]) -> Sequence[float]:
    """Return the sum of the values of each bin of keys, given its limits."""
    sums = [0.0] * (len(limits) + 1)
    for key, value in zip(keys, values, strict=True):
        sums[bisect_right(limits, key)] += value
    return sums


def _charges(shared: Shared) -> Sequence[float]:
    lowest, highest = 500.0, -500.0
    for charge in shared.charges:  # NaN is replaced by the next charge
        lowest, highest = min(charge, lowest), max(charge, highest)
    sizes = abs(lowest), abs(highest)
    return max(sizes), highest, min(sizes), lowest


def _eigenvalues(shared: Shared) -> Sequence[float]:
    from rdkit.Chem import rdMolDescriptors, rdmolops, rdPartialCharges

    molecule = shared.molecule
    if len(shared.atoms) > MAX_EIGENVALUES and rdmolops.RemoveHs(molecule).GetNumAtoms() > MAX_EIGENVALUES:
        raise ValueError(f"there are more than {MAX_EIGENVALUES} atoms")
    if {0, 1} & set(shared.numbers):  # RDKit removes hydrogens and perceives aromaticity again
        return list(rdMolDescriptors.BCUT2D(molecule))
    rdPartialCharges.ComputeGasteigerCharges(molecule, throwOnParamFailure=True)
    solubilities, refractions = zip(*rdMolDescriptors._CalcCrippenContribs(molecule), strict=True)
    masses = [atom.GetMass() for atom in shared.atoms]
    # RDKit's solver takes five times as long for molecules of 150 atoms.
    n_atoms = len(shared.atoms)
    matrices = np.full((4, n_atoms, n_atoms), UNBONDED)
    for begin, end, order in shared.bonds:
        matrices[:, begin, end] = matrices[:, end, begin] = BONDED[order]
    matrices[:, np.arange(n_atoms), np.arange(n_atoms)] = masses, shared.charges, solubilities, refractions
    found: Float64 = np.linalg.eigvalsh(matrices)
    return found[:, [-1, 0]].ravel().tolist()


def _balaban(shared: Shared) -> Sequence[float]:
    sums = np.add.reduce(shared.bond_distances, axis=0)
    n_bonds, (smaller, larger) = len(shared.bonds), shared.pairs.T
    n_rings = n_bonds - len(shared.atoms) + 1
    if n_rings == -1:
        return (0.0,)
    return (n_bonds / (n_rings + 1) * _in_order(1.0 / np.sqrt(sums[smaller] * sums[larger])),)


def _complexity(shared: Shared) -> Sequence[float]:
    from rdkit.ML.InfoTheory import entropy

    information: Any = vars(entropy)["InfoEntropy"]
    n_atoms = len(shared.numbers)
    if n_atoms < 2:
        return (0.0,)
    # Atoms are equivalent if their distances to the 100 nearest atoms agree to four decimals.
    rows = np.rint(1e4 * np.sort(shared.bond_distances, axis=1)[:, :100])
    seen: dict[bytes, int] = {}
    classes = [seen.setdefault(row.tobytes(), len(seen)) for row in rows]
    neighbors: list[list[tuple[int, int, float]]] = [[] for _ in range(n_atoms)]
    for a, b, order in shared.bonds:
        neighbors[a].append((b, classes[b], order))
        neighbors[b].append((a, classes[a], order))
    connections: dict[tuple[int, ...], float] = {}
    for atom, (own, around) in enumerate(zip(classes, neighbors, strict=True)):
        around.sort()
        for place, (other, of_other, order) in enumerate(around):
            if order > 1 and other > atom:
                key: tuple[int, ...] = (own, of_other) if own < of_other else (of_other, own)
                connections[key] = connections.get(key, 0) + order * (order - 1) / 2
            for _, of_next, next_order in around[place + 1 :]:
                key = (of_other, own, of_next) if of_other < of_next else (of_next, own, of_other)
                connections[key] = connections.get(key, 0) + order * next_order
    counts = list(connections.values()) or [1]
    total = sum(counts)
    of_bonds = total * (information(np.array(counts, float)) + math.log(total) / math.log(2))
    of_atoms = n_atoms * information(np.array(list(Counter(shared.numbers).values()), float))
    return (of_atoms + of_bonds,)


def absent_fragments(shared: Shared) -> set[str]:
    """Return names of fragments that cannot occur in a molecule, because it lacks atoms or bonds that they contain."""
    elements = set(shared.numbers)
    if 1 in elements:  # patterns that count hydrogens include these
        return set()
    orders = [0.0] * len(shared.atoms)
    double = False
    for a, b, order in shared.bonds:
        orders[a] += order
        orders[b] += order
        double |= order == 2 and shared.numbers[a] == shared.numbers[b] == 6
    atoms = list(zip(shared.numbers, shared.hydrogens, shared.formal_charges, strict=True))
    there = {
        "phosphorus": 15 in elements,
        "sulfur": 16 in elements,
        "halogen": bool(elements & {9, 17, 35, 53}),
        "hydroxyl": any(number == 8 and hydrogens for number, hydrogens, _ in atoms),
        "positive or pentavalent nitrogen": any(
            number == 7 and (charge > 0 or orders[place] > 4) for place, (number, _, charge) in enumerate(atoms)
        ),
        "double bond of carbons": double,
    }
    return {f"fr_{name}" for part, is_there in there.items() if not is_there for name in FRAGMENTS[part]}


def _calls(name: str, **settings: Any) -> Callable[[Shared], Sequence[float]]:
    """Return a family that is one function of RDKit."""

    def call(shared: Shared) -> Sequence[float]:
        from rdkit.Chem import rdMolDescriptors

        return list(getattr(rdMolDescriptors, name)(shared.molecule, **settings))

    return call


def _numbered(name: str, last: int) -> tuple[str, ...]:
    return tuple(f"{name}{number}" for number in range(1, last + 1))


def _extremes(name: str) -> tuple[str, ...]:
    return tuple(f"{extreme}{name}" for extreme in ("MaxAbs", "Max", "MinAbs", "Min"))


# Fragments that contain an element, a group or a bond.
FRAGMENTS = {
    "phosphorus": ("phos_acid", "phos_ester"),
    "sulfur": (
        "sulfone", "SH", "thiocyan", "isothiocyan", "prisulfonamd", "sulfide", "C_S", "thiophene", "thiazole",
        "sulfonamd",
    ),
    "halogen": ("halogen", "alkyl_halide"),
    "hydroxyl": ("phenol", "phenol_noOrthoHbond", "Ar_OH", "Al_OH", "Al_OH_noTert", "HOCCN"),
    "positive or pentavalent nitrogen": ("nitro", "nitro_arom", "nitro_arom_nonortho", "azide", "quatN", "diazo"),
    "double bond of carbons": ("allylic_oxid", "dihydropyridine"),
}  # fmt: skip
# The descriptors of each family, in the order in which its function returns them.
FAMILIES: dict[tuple[str, ...], Callable[[Shared], Sequence[float]]] = {
    ("NumValenceElectrons", "NumRadicalElectrons"): _valence_electrons,
    ("Chi0", "Chi1"): _connectivity,
    ("Chi2n", "Chi3n", "Chi4n", "Chi2v", "Chi3v", "Chi4v"): _path_connectivity,
    ("Kappa2", "Kappa3", "Phi"): _shape,
    _extremes("EStateIndex"): _states,
    _numbered("VSA_EState", 10): _states_by_surface,
    _numbered("EState_VSA", 11): _surfaces_by_state,
    _extremes("PartialCharge"): _charges,
    _numbered("SMR_VSA", 10): _calls("SMR_VSA_", force=False),
    _numbered("SlogP_VSA", 12): _calls("SlogP_VSA_", force=False),
    _numbered("PEOE_VSA", 14): _calls("PEOE_VSA_", force=False),
    tuple(
        f"BCUT2D_{name}" for name in ("MWHI", "MWLOW", "CHGHI", "CHGLO", "LOGPHI", "LOGPLOW", "MRHI", "MRLOW")
    ): _eigenvalues,
    ("BalabanJ",): _balaban,
    ("BertzCT",): _complexity,
}
