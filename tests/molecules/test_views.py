"""What kernels see of molecules, whole and without one of their atoms or groups."""

import numpy as np
import pytest

from molecules.small_molecules import SMILES
from relaxwl.kernels import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.kernels.counting import Counts
from relaxwl.molecules import from_smiles
from relaxwl.molecules.views import Batch, FingerprintView, GraphView, tanimoto

Chem = pytest.importorskip("rdkit.Chem")


def _naive_tanimoto(a, b):
    return np.minimum(a, b).sum() / np.maximum(a, b).sum()


def test_tanimoto_counts_what_was_not_met_in_the_denominator():
    from scipy.sparse import csr_array

    x = Counts(csr_array(np.array([[2.0, 1.0]])), np.zeros(1), np.array([3.0]))
    y = Counts(csr_array(np.array([[1.0, 4.0]])), np.zeros(1), np.zeros(1))
    assert tanimoto(x, y)[0, 0] == pytest.approx(_naive_tanimoto(np.array([2, 1, 3]), np.array([1, 4, 0])))


@pytest.mark.parametrize(
    "kernel",
    [
        WeisfeilerLehman(2, edge_labels=True, similarity="tanimoto"),
        RelaxedWeisfeilerLehman(2, 3, edge_labels=True, similarity="tanimoto", random_state=0),
    ],
)
def test_an_atom_without_its_trees_is_a_molecule_with_less_counts(kernel):
    """What is taken out is counted again, vertex by vertex, from the groups that the kernel names."""
    view = GraphView("any", kernel, [2])
    view.fit(Batch([Chem.MolFromSmiles(text) for text in SMILES]))
    graphs = from_smiles(["CC(Cl)CO"])
    found = view.masked(Batch([Chem.MolFromSmiles("CC(Cl)CO")]))[0]
    groups = kernel.node_groups(graphs)
    training = kernel.node_groups(from_smiles(SMILES))
    offsets = from_smiles(SMILES).offsets
    for atom in range(graphs.n_nodes):
        for molecule in (0, 15, 29):
            shared = total = 0
            for partition, other in zip(groups, training, strict=True):
                for ids, train_ids in zip(partition, other, strict=True):
                    mine = np.bincount(np.delete(ids, atom), minlength=500)
                    theirs = np.bincount(train_ids[offsets[molecule] : offsets[molecule + 1]], minlength=500)
                    shared += np.minimum(mine, theirs).sum()
                    total += np.maximum(mine, theirs).sum()
            assert found[atom, molecule] == pytest.approx(shared / total)


def test_a_molecule_without_a_group_has_less_counts():
    """Recounted by hand: the atoms of one group are left out of one depth of one partition."""
    kernel = RelaxedWeisfeilerLehman(2, 2, edge_labels=True, similarity="tanimoto", random_state=0)
    view = GraphView("any", kernel, [2])
    view.fit(Batch([Chem.MolFromSmiles(text) for text in SMILES]))
    groups, (found,) = view.without_groups(Batch([Chem.MolFromSmiles("CC(O)CO")]))
    mine, training = (kernel.node_groups(from_smiles(texts)) for texts in (["CC(O)CO"], SMILES))
    offsets = from_smiles(SMILES).offsets
    assert {group.depth for group in groups} == {1, 2}
    for row, group in enumerate(groups):
        shared = total = 0
        for partition in range(2):
            for depth in range(3):
                ids = mine[partition][depth]
                if (partition, depth) == (group.partition, group.depth):
                    assert np.flatnonzero(ids == group.number).tolist() == list(group.atoms)
                    ids = ids[ids != group.number]
                own = np.bincount(ids, minlength=500)
                theirs = np.bincount(training[partition][depth][offsets[15] : offsets[16]], minlength=500)
                shared += np.minimum(own, theirs).sum()
                total += np.maximum(own, theirs).sum()
        assert found[row, 15] == pytest.approx(shared / total)


def test_an_atom_without_its_environments():
    view = FingerprintView(1)
    view.fit(Batch([Chem.MolFromSmiles("CCO")]))
    # Around each atom: itself, and itself with its neighbours. Without the oxygen 4 of the 6 remain.
    assert view.masked(Batch([Chem.MolFromSmiles("CCO")]))[0][:, 0].tolist() == pytest.approx([4 / 6] * 3)
