"""Predictors of molecules: what goes in, what comes out, and what atoms do."""

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from relaxwl.kernels import RelaxedWeisfeilerLehman, WeisfeilerLehman
from relaxwl.kernels.counting import Counts
from relaxwl.kernels.persistence import ModelFileError
from relaxwl.molecules import MoleculeClassifier, MoleculeRegressor, from_smiles, molecule_svg
from relaxwl.molecules.views import Batch, FingerprintView, GraphView, tanimoto

Chem = pytest.importorskip("rdkit.Chem")

ALKANES = ["C" * n for n in range(1, 11)]
ALCOHOLS = ["C" * n + "O" for n in range(1, 11)]
AMINES = ["C" * n + "N" for n in range(1, 11)]
SMILES = ALKANES + ALCOHOLS + AMINES
# Soluble through the head, less so with every carbon.
TARGETS = np.array([-0.5 * n + shift for shift in (0.0, 3.0, 2.0) for n in range(1, 11)])


@pytest.fixture(scope="module")
def fitted():
    return MoleculeRegressor(n_partitions=5, random_state=0).fit(SMILES, TARGETS)


def test_regressor_learns_and_says_how_sure_it_is(fitted):
    mean, deviation = fitted.predict(["CCCCC(O)", "CCCCCCCCCCC", "[Fe]"], return_std=True)
    assert mean[0] == pytest.approx(0.5, abs=0.5)
    assert mean[1] == pytest.approx(-5.5, abs=0.7)
    assert deviation[2] > 2 * deviation[0]
    assert fitted.score(SMILES, TARGETS) > 0.95
    assert len(fitted.kernel_names_) == len(fitted.process_.weights_)


def test_novelty_grows_with_distance(fitted):
    known, foreign = fitted.novelty(["CCCO", "O=S(=O)(c1ccccc1)N1CCOCC1"])
    assert known == pytest.approx(0, abs=1e-6)
    assert foreign > 1


def test_effects_point_at_the_head(fitted):
    (explained,) = fitted.explain(["CCCCCO"])
    assert explained.prediction == pytest.approx(fitted.predict(["CCCCCO"])[0])
    assert explained.effects.argmax() == 5
    assert "<svg" in explained.to_svg()


def test_same_seed_same_answer_on_any_number_of_threads(fitted):
    again = clone(fitted).set_params(n_jobs=2).fit(SMILES, TARGETS)
    np.testing.assert_array_equal(again.predict(ALKANES), fitted.predict(ALKANES))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(ALKANES), fitted.predict(ALKANES))


def test_saved_models_answer_alike(fitted, tmp_path):
    fitted.save(tmp_path / "model.rwl")
    loaded = MoleculeRegressor.load(tmp_path / "model.rwl")
    new = ["CCCl", "CCCCO"]
    for one, other in zip(fitted.predict(new, return_std=True), loaded.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_allclose(fitted.novelty(new), loaded.novelty(new), rtol=1e-6)
    classifier = MoleculeClassifier(views=("wl",)).fit(SMILES, np.repeat(["a", "b", "c"], 10))
    classifier.save(tmp_path / "classes.rwl")
    again = MoleculeClassifier.load(tmp_path / "classes.rwl")
    np.testing.assert_allclose(classifier.predict_proba(new), again.predict_proba(new), rtol=1e-6)
    assert again.predict(SMILES).tolist() == classifier.predict(SMILES).tolist()
    with pytest.raises(ModelFileError, match="holds a MoleculeClassifier"):
        MoleculeRegressor.load(tmp_path / "classes.rwl")


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "relaxwl-molecules", "version": 99}', "\xff"])
def test_files_that_are_no_models_are_named(tmp_path, content):
    (tmp_path / "bad.rwl").write_bytes(content.encode("latin-1"))
    with pytest.raises(ModelFileError, match=r"bad\.rwl"):
        MoleculeRegressor.load(tmp_path / "bad.rwl")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("max_depth", 10**9, "max_depth must be an integer from 1 to 50"),
        ("n_partitions", 10**9, "n_partitions must be an integer from 1 to 1000"),
        ("n_jobs", 10**6, "n_jobs must not be in a file"),
        ("class", ["x"], "holds a"),
        ("views", ["wl", 1], "views must be texts"),
        ("smiles", [1] * 30, "smiles must be texts"),
        ("targets", [[1.0]] * 30, "targets must be numbers"),
        ("targets", [1.0], "a target for each molecule"),
    ],
)
def test_models_that_would_take_for_ever_or_do_not_fit_are_refused(fitted, tmp_path, field, value, message):
    path = tmp_path / "model.rwl"
    fitted.save(path)
    content = json.loads(path.read_bytes())
    (content if field in content else content["parameters"])[field] = value
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=rf"model\.rwl .*{message}"):
        MoleculeRegressor.load(path)


@pytest.mark.parametrize("view", ["wl", "relaxed", "descriptors", "fingerprints"])
def test_each_view_works_alone(view):
    model = MoleculeRegressor(views=[view], n_partitions=3, random_state=0).fit(SMILES, TARGETS)
    assert np.isfinite(model.predict(["CCCl", "CCO"])).all()
    assert model.explain(["CCCl"])[0].effects.shape == (3,)


def test_classifier_gives_probabilities_that_agree_with_its_answers():
    y = np.repeat(["alkane", "alcohol", "amine"], 10)
    model = MoleculeClassifier(n_partitions=5, random_state=0).fit(SMILES, y)
    probabilities = model.predict_proba(SMILES)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(SMILES)).all()
    assert model.score(SMILES, y) > 0.95
    assert model.explain(["CCCCO"])[0].effects.argmax() == 4
    two = MoleculeClassifier(views=("wl",), random_state=0).fit(SMILES, y == "alkane")
    assert two.decision_function(SMILES).shape == (30,)
    assert two.predict(["CCCCCC", "CCCCCN"]).tolist() == [True, False]
    assert two.explain(["CCN"])[0].effects.shape == (3,)


@pytest.mark.parametrize(
    ("model", "X", "y", "message"),
    [
        (MoleculeRegressor(views=("magic",)), ["C"], [1.0], "views must be some of"),
        (MoleculeRegressor(), ["C", "CC"], [1.0], "one number for each of 2 molecules"),
        (MoleculeRegressor(), ["C", "C("], [1.0, 2.0], r"molecule 1, 'C\('"),
        (MoleculeRegressor(), ["C"], [[1.0]], "one number for each of 1 molecules"),
        (MoleculeRegressor(), ["C", "CC"], [1.0, np.nan], r"y\[1\] is not"),
        (MoleculeRegressor(), ["C", "CC"], ["a", "b"], "y must hold numbers"),
        (MoleculeClassifier(), ["C", "CC"], [1, 1], "at least two classes"),
        (MoleculeClassifier(), ["C"], [1, 2], "one class for each of 1 molecules"),
        (MoleculeClassifier(), ["C", "CC", "CCC"], ["methane", "ethane", "propane"], "that looks like names"),
        (MoleculeRegressor(n_partitions=0), ["C"], [1.0], "n_partitions"),
    ],
)
def test_wrong_input_is_named(model, X, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


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


@pytest.mark.parametrize("view", ["relaxed", "wl", "descriptors"])
def test_groups_stand_beside_the_molecule(view):
    model = MoleculeRegressor(views=[view], n_partitions=3, random_state=0).fit(SMILES, TARGETS)
    (explained,) = model.explain(["CCCCCO"])
    groups = explained.groups(3)
    assert explained.to_html(3).count("<figure") == 1 + len(groups)
    if view == "descriptors":
        assert groups == []
        return
    strengths = [abs(group.effect) for group in groups]
    assert strengths == sorted(strengths, reverse=True)
    assert len({(group.depth, group.atoms) for group in explained.groups(100)}) == len(explained.groups(100))
    assert all(group.tree.depth <= group.depth for group in groups)


def test_an_atom_without_its_environments():
    view = FingerprintView(1)
    view.fit(Batch([Chem.MolFromSmiles("CCO")]))
    # Around each atom: itself, and itself with its neighbours. Without the oxygen 4 of the 6 remain.
    assert view.masked(Batch([Chem.MolFromSmiles("CCO")]))[0][:, 0].tolist() == pytest.approx([4 / 6] * 3)


def test_colours_need_an_effect_for_each_atom():
    with pytest.raises(ValueError, match="one for each atom"):
        molecule_svg(Chem.MolFromSmiles("CC"), np.ones(3))
