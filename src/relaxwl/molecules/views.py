"""Ways to look at molecules, each with one or several kernels: graphs, relaxed graphs, descriptors, fingerprints.

Every kernel here gives a molecule similarity 1 with itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist

from relaxwl._execution import cached_property
from relaxwl.datasets.smiles import AtomLabels, from_rdkit
from relaxwl.graphs import GraphCollection
from relaxwl.graphs.arrays import Float64, Int32, prefix_sums
from relaxwl.kernels import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.gram import tanimoto
from relaxwl.molecules.descriptors import KINDS, Descriptors, kind_of
from relaxwl.molecules.fingerprints import ATOMS, MorganFingerprints
from relaxwl.unfolding.tree import UnfoldingTree, unfolding_tree

# Squares of the widths of the descriptors' kernels, in units of the median squared distance: the likelihood chooses.
WIDTHS = (0.25, 1.0, 4.0, 16.0)
# Those of the kernels on one kind of descriptors each, beside those on all: what kinds do may add up.
KIND_WIDTHS = (1.0, 4.0)
# Pairs of molecules from which that median is taken.
N_MEDIAN = 1000


@dataclass(frozen=True)
class Batch:
    """Molecules, and their graphs, made when first asked for."""

    molecules: list[Any]
    atom_labels: AtomLabels = "element"

    @cached_property
    def graphs(self) -> GraphCollection:
        """The molecules as graphs."""
        graphs: GraphCollection = from_rdkit(self.molecules, atom_labels=self.atom_labels)
        return graphs


class AtomGroup(NamedTuple):
    """Atoms of a molecule that a graph kernel holds for alike, by their trees of one depth."""

    depth: int
    atoms: tuple[int, ...]
    partition: int
    number: int


class View(Protocol):
    """One way to look at molecules; ``names`` has one entry for each of its kernels."""

    title: str
    names: list[str]

    def fit(self, batch: Batch) -> list[Float64]:
        """Learn from training molecules, and return their kernel matrices."""

    def compare(self, batch: Batch) -> list[Float64]:
        """Return the kernel matrices between new molecules (rows) and those of the fit."""

    def masked(self, batch: Batch) -> list[Float64]:
        """Return, for the atoms of one molecule, the kernel matrices of the molecule without each of them."""


class GraphView:
    """A graph kernel, cut at several depths: the smaller the depth, the coarser the look."""

    def __init__(self, title: str, kernel: WeisfeilerLehman | RelaxedWeisfeilerLehman, depths: Sequence[int]) -> None:
        self.title = title
        self.kernel = kernel
        self.depths = depths
        self.names = [f"{title}, depth {depth}" for depth in depths]

    def fit(self, batch: Batch) -> list[Float64]:
        """Fit the kernel, and keep the counts of the training molecules."""
        self.counts: list[Counts] = self.kernel.fit_prepare(batch.graphs)
        return self.kernel.compare(self.counts, settings=self._settings)

    def compare(self, batch: Batch) -> list[Float64]:
        """Compare with the counts kept."""
        return self._compared(self.kernel.prepare(batch.graphs))

    def masked(self, batch: Batch) -> list[Float64]:
        """Take the trees at an atom, of all depths, out of the counts."""
        groups = self.kernel.node_groups(batch.graphs)
        masked = []
        for depth, counts in enumerate(self.kernel.prepare(batch.graphs)):
            places = [(ids[depth], size) for ids, size in zip(groups, self._group_numbers(depth), strict=True)]
            masked.append(_without_each(counts, places))
        return self._compared(masked)

    def without_groups(self, batch: Batch) -> tuple[list[AtomGroup], list[Float64]]:
        """Return the groups that hold atoms of one molecule, and its kernel matrices without the counts of each."""
        of_partitions = self.kernel.node_groups(batch.graphs)
        found = [
            AtomGroup(depth, tuple(np.flatnonzero(ids[depth] == group).tolist()), partition, int(group))
            for partition, ids in enumerate(of_partitions)
            for depth in range(1, max(self.depths) + 1)
            for group in np.unique(ids[depth])
            if group < self._group_numbers(depth)[partition]
        ]
        whole = self.kernel.prepare(batch.graphs)
        masked = [_without_groups(counts, self._columns(found, depth)) for depth, counts in enumerate(whole)]
        return found, self._compared(masked)

    def tree(self, group: AtomGroup, batch: Batch) -> UnfoldingTree:
        """Return the centre of a group, which for WL is the tree that all its atoms have."""
        if isinstance(self.kernel, WeisfeilerLehman):
            return unfolding_tree(batch.graphs[0], group.atoms[0], group.depth)
        return self.kernel.partitions_[group.partition][group.depth].center_tree(group.number)

    def _columns(self, groups: list[AtomGroup], depth: int) -> list[int | None]:
        """Return the column of each group in the counts of a depth, None for groups of other depths."""
        starts = prefix_sums(np.array(self._group_numbers(depth), np.int64))
        return [int(starts[g.partition]) + g.number if g.depth == depth else None for g in groups]

    def _group_numbers(self, depth: int) -> list[int]:
        """Return how many groups each partition has, whose counts lie side by side in this order."""
        if isinstance(self.kernel, WeisfeilerLehman):
            return [len(self.kernel.rows_[depth])]
        return [len(partition[depth]) for partition in self.kernel.partitions_]

    def _compared(self, counts: list[Counts]) -> list[Float64]:
        return self.kernel.compare(counts, self.counts, self._settings)

    @property
    def _settings(self) -> list[dict[str, Any]]:
        return [{"max_depth": depth} for depth in self.depths]


class Gaussians:
    """Gaussian kernels of several widths on some columns of a table."""

    def __init__(self, table: Float64, columns: NDArray[np.bool_], widths: Sequence[float]) -> None:
        self.columns, self.widths = columns, widths
        self.table: Float64 = table[:, columns]
        some = self.table[np.linspace(0, len(table) - 1, min(N_MEDIAN, len(table))).astype(np.int64)]
        squares = pdist(some, "sqeuclidean") if len(some) > 1 else np.ones(1)
        self.unit = float(np.median(squares)) or float(squares.mean()) or 1.0

    def compare(self, table: Float64) -> list[Float64]:
        """Return the kernel matrices between the rows of a table and those of the fit, a matrix a width."""
        new = table[:, self.columns]
        squares = (new**2).sum(axis=1)[:, None] + (self.table**2).sum(axis=1) - 2 * new @ self.table.T
        scaled = np.maximum(squares, 0) / (-2 * self.unit)
        return [np.exp(scaled / width) for width in self.widths]


class DescriptorView:
    """Gaussian kernels of several widths on RDKit's descriptors: on all of them, and on each kind alone."""

    title = "descriptors"

    def __init__(self) -> None:
        self.names = [f"descriptors, width {width:g}" for width in WIDTHS]
        self.names += [f"descriptors of {kind}, width {width:g}" for kind in KINDS for width in KIND_WIDTHS]

    def fit(self, batch: Batch) -> list[Float64]:
        """Fit the scales of the descriptors, and the units of the widths."""
        self.descriptors = Descriptors()
        table = self.descriptors.fit_transform(batch.molecules)
        kinds = np.array([kind_of(name) for name in self.descriptors.names_])
        self.kernels = [Gaussians(table, kinds != "", WIDTHS)]
        self.kernels += [Gaussians(table, kinds == kind, KIND_WIDTHS) for kind in KINDS]
        own = self._compared(table)
        for matrix in own:
            np.fill_diagonal(matrix, 1)  # but for rounding it is
        return own

    def compare(self, batch: Batch) -> list[Float64]:
        """Compare with the descriptors of the training molecules."""
        return self._compared(self.descriptors.transform(batch.molecules))

    def masked(self, batch: Batch) -> list[Float64]:
        """Put a dummy in the place of each atom."""
        (molecule,) = batch.molecules
        return self._compared(self.descriptors.transform(_with_dummies(molecule)))

    def _compared(self, table: Float64) -> list[Float64]:
        return [matrix for kernel in self.kernels for matrix in kernel.compare(table)]


class FingerprintView:
    """The Tanimoto similarity of unfolded Morgan counts, with atoms told apart by what they are and by what they do."""

    title = "Morgan counts"

    def __init__(self, radius: int = 2) -> None:
        self.kinds = [MorganFingerprints(radius, atoms) for atoms in ATOMS]
        self.names = [f"Morgan counts of {kind.atoms}, radius {radius}" for kind in self.kinds]

    def fit(self, batch: Batch) -> list[Float64]:
        """Learn the environments, and keep the counts of the training molecules."""
        self.counts: list[Counts] = [kind.fit(batch.molecules).counts(batch.molecules) for kind in self.kinds]
        return [tanimoto(counts) for counts in self.counts]

    def compare(self, batch: Batch) -> list[Float64]:
        """Compare with the counts kept."""
        return self._compared([kind.counts(batch.molecules) for kind in self.kinds])

    def masked(self, batch: Batch) -> list[Float64]:
        """Take the environments at an atom out of the counts."""
        (molecule,) = batch.molecules
        return self._compared([kind.counts_without_each(molecule) for kind in self.kinds])

    def _compared(self, counts: list[Counts]) -> list[Float64]:
        return [tanimoto(new, known) for new, known in zip(counts, self.counts, strict=True)]


def _without_each(counts: Counts, places: list[tuple[Int32, int]]) -> Counts:
    """Return a row for each vertex of one graph: the graph's counts less the vertex's own.

    ``places`` has, for each partition, the group of every vertex and the number of groups; higher ones are unknown.
    """
    n_vertices = len(places[0][0])
    known = np.array([ids < size for ids, size in places])
    offsets = np.cumsum([0] + [size for _, size in places])
    columns = np.array([ids + offset for (ids, _), offset in zip(places, offsets, strict=False)])
    vertices = np.broadcast_to(np.arange(n_vertices), known.shape)
    own = csr_array(
        (np.ones(int(known.sum())), (vertices[known], columns[known])), shape=(n_vertices, counts.matrix.shape[1])
    )
    everything = counts.matrix[np.zeros(n_vertices, np.int64)]
    less = csr_array(everything - own)
    less.eliminate_zeros()
    unknown = np.maximum(counts.unknown_sums - (~known).sum(axis=0), 0.0)
    return Counts(less, unknown, unknown)


def _without_groups(counts: Counts, columns: list[int | None]) -> Counts:
    """Return a row for each column: the counts of one graph without it; with None nothing is taken out."""
    rows = np.array([row for row, column in enumerate(columns) if column is not None], np.int64)
    taken = np.array([column for column in columns if column is not None], np.int64)
    values = counts.matrix.toarray()[0, taken]
    own = csr_array((values, (rows, taken)), shape=(len(columns), counts.matrix.shape[1]))
    less = csr_array(counts.matrix[np.zeros(len(columns), np.int64)] - own)
    less.eliminate_zeros()
    squares, sums = (np.repeat(part, len(columns)) for part in (counts.unknown_squares, counts.unknown_sums))
    return Counts(less, squares, sums)


def _with_dummies(molecule: Any) -> list[Any]:
    """Return, for each atom, the molecule with a dummy in its place."""
    from rdkit import Chem

    masked = []
    for index in range(molecule.GetNumAtoms()):
        editable = Chem.RWMol(molecule)
        editable.ReplaceAtom(index, Chem.Atom(0))
        copy = editable.GetMol()
        copy.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(copy)
        masked.append(copy)
    return masked
