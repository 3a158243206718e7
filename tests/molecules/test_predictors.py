"""Predictors of molecules: what goes in, what comes out, and what atoms do."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from kernels.models import objects, opened, written
from molecules.small_molecules import ALKANES, SMILES, TARGETS
from relaxwl.kernels.persistence import ModelFileError
from relaxwl.molecules.predictors import MoleculeClassifier, MoleculeRegressor

pytest.importorskip("rdkit.Chem")


def test_regressor_learns_and_says_how_sure_it_is(fitted):
    mean, deviation = fitted.predict(["CCCCC(O)", "CCCCCCCCCCC", "[Fe]"], return_std=True)
    assert mean[0] == pytest.approx(0.5, abs=0.5)
    assert mean[1] == pytest.approx(-5.5, abs=0.7)
    assert deviation[2] > 2 * deviation[0]
    assert fitted.score(SMILES, TARGETS) > 0.95
    assert len(fitted.kernel_weights_) == 22


def test_novelty_is_small_for_other_molecules(fitted):
    known, foreign = fitted.novelty(["CCCO", "O=S(=O)(c1ccccc1)N1CCOCC1"])
    assert known > 0.2
    assert foreign < 0.05


def test_same_seed_same_answer_on_any_number_of_threads(fitted):
    again = clone(fitted).set_params(n_jobs=2).fit(SMILES, TARGETS)
    np.testing.assert_array_equal(again.predict(ALKANES), fitted.predict(ALKANES))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(ALKANES), fitted.predict(ALKANES))


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
        (MoleculeRegressor(), ["C", "CC"], [1.0], "one value for each of 2 molecules"),
        (MoleculeRegressor(), ["C", "C("], [1.0, 2.0], r"molecule 1, 'C\('"),
        (MoleculeRegressor(), ["C"], [[1.0, 2.0], [1.0, 2.0]], "a row for each of 1 molecules"),
        (MoleculeRegressor(), ["C", "CC"], [1.0, np.nan], r"y\[1\] is nan"),
        (MoleculeRegressor(), ["C", "CC"], ["a", "b"], "y must contain numbers"),
        (MoleculeClassifier(), ["C", "CC"], [1, 1], "at least two classes"),
        (MoleculeClassifier(), ["C"], [1, 2], "one value for each of 1 molecules"),
        (MoleculeClassifier(), ["C", "CC", "CCC"], ["methane", "ethane", "propane"], "these look like names"),
        (MoleculeClassifier(), ["C"] * 30, [f"name {n}" for n in range(30)], "these look like names"),
        (MoleculeClassifier(), ["C"] * 30, np.arange(30), "these look like names"),
        (MoleculeClassifier(), ["C"] * 8, np.array(list("abcdefgh"), object), "these look like names"),
        (MoleculeClassifier(), ["C"] * 8, np.arange(8.0), "these look like names"),
        (MoleculeClassifier(), ["C"] * 3, [0.5, 1.25, 2.0], "Unknown label type: continuous"),
        (MoleculeRegressor(n_partitions=0), ["C"], [1.0], "n_partitions"),
        (MoleculeRegressor(atom_labels=3), ["C"], [1.0], "atom_labels must be a text"),
    ],
)
def test_wrong_input_is_named(model, X, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_effects_point_at_the_head(fitted):
    (explained,) = fitted.explain(["CCCCCO"])
    assert explained.prediction == pytest.approx(fitted.predict(["CCCCCO"])[0])
    assert explained.effects.argmax() == 5
    assert "<svg" in explained.to_svg()


@pytest.mark.parametrize("view", ["relaxed", "wl", "descriptors"])
def test_clusters_stand_beside_the_molecule(view):
    model = MoleculeRegressor(views=[view], n_partitions=3, random_state=0).fit(SMILES, TARGETS)
    (explained,) = model.explain(["CCCCCO"])
    clusters = explained.clusters(3)
    assert explained.to_html(3).count("<figure") == 1 + len(clusters)
    assert (clusters == []) == (view == "descriptors")


def test_saved_models_answer_alike(fitted, tmp_path):
    fitted.save(tmp_path / "model.rwl")
    loaded = MoleculeRegressor.load(tmp_path / "model.rwl")
    new = ["CCCl", "CCCCO"]
    for one, other in zip(fitted.predict(new, return_std=True), loaded.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_array_equal(fitted.novelty(new), loaded.novelty(new))
    classifier = MoleculeClassifier(views=("wl",)).fit(SMILES, np.repeat(["a", "b", "c"], 10))
    classifier.save(tmp_path / "classes.rwl")
    again = MoleculeClassifier.load(tmp_path / "classes.rwl")
    np.testing.assert_array_equal(classifier.predict_proba(new), again.predict_proba(new))
    assert again.predict(SMILES).tolist() == classifier.predict(SMILES).tolist()
    with pytest.raises(ModelFileError, match="holds a MoleculeClassifier"):
        MoleculeRegressor.load(tmp_path / "classes.rwl")


def test_descriptors_that_rdkit_does_not_have_are_named_at_loading(fitted, tmp_path):
    path = tmp_path / "model.rwl"
    fitted.save(path)
    header, arrays = opened(path.read_bytes())
    for found in objects(header, "Descriptors"):
        found["state"]["names_"]["list"][0] = "Nothing"
    path.write_bytes(written(header, arrays))
    with pytest.raises(ModelFileError, match=r"model\.rwl.*has no descriptor Nothing"):
        MoleculeRegressor.load(path)


def test_salts_copies_and_stereochemistry():
    smiles, y = [*SMILES, "CCO.Cl", "OCC"], [*TARGETS, TARGETS[11] + 0.5, TARGETS[11] - 0.25]
    model = MoleculeRegressor(views=["wl", "descriptors"], standardize=True, random_state=0).fit(smiles, y)
    assert model.predict(["CCCO.Cl"]) == pytest.approx(model.predict(["CCCO"]))
    note = "1 molecules occur more than once, whose targets differ by 0.75 (median) and 0.75 (maximum)"
    assert note in str(model.report_)
    plain = MoleculeRegressor(views=["wl"], random_state=0).fit(SMILES, TARGETS)
    assert "more than once" not in str(plain.report_)
    classes = MoleculeClassifier(views=["wl"], random_state=0).fit([*SMILES, "OCC"], [*(TARGETS > 0), TARGETS[11] < 0])
    assert "1 of them with different classes" in str(classes.report_)
    handed = ["C[C@H](N)" + "C" * n for n in range(2, 7)] + ["C[C@@H](N)" + "C" * n for n in range(2, 7)]
    stereo = MoleculeClassifier(views=["wl"], stereo=True, random_state=0).fit(handed, [0] * 5 + [1] * 5)
    assert stereo.score(handed, [0] * 5 + [1] * 5) == 1


def test_descriptors_and_fingerprints_ignore_stereochemistry():
    smiles, y = [*ALKANES, "C/C=C/C", r"C/C=C\C"], np.arange(12.0)
    for views, same in ((["descriptors", "fingerprints"], True), (["wl"], False)):
        one, other = MoleculeRegressor(views, stereo=True, random_state=0).fit(smiles, y).predict(smiles[-2:])
        assert (one == other) == same


def test_from_5000_and_20000_molecules_on_models_are_others(monkeypatch):
    monkeypatch.setattr("relaxwl.predictors.base.physical_memory", lambda: 1e15)
    for predictor in (MoleculeClassifier(), MoleculeRegressor()):
        assert [predictor._are_many(n_molecules) for n_molecules in (5_000, 5_001)] == [False, True]
        assert not predictor._is_large(1_000_000)
        assert predictor._learns_from == 20_000


def test_gram_matrices_that_do_not_fit_into_memory_are_refused_before(monkeypatch):
    model = MoleculeRegressor()
    model._validate_parameters()
    objects = model._objects(SMILES, None)
    monkeypatch.setattr("relaxwl._memory.available_memory", lambda: 1e4)
    monkeypatch.setattr("relaxwl._memory.FREE_SHARE", 0.0)
    with pytest.raises(MemoryError, match="22 kernel matrices of 30 molecules would need about"):
        model._views(objects)


def test_copies_are_left_out_of_fits_together(monkeypatch):
    # Every target is noise that copies share: a model that is scored on copies of what it knows seems to be right.
    smiles = ["C" * n + head for n in range(1, 11) for head in ("", "O", "N", "Cl")] * 2
    y = np.tile(np.random.default_rng(0).normal(size=40), 2)
    process = MoleculeRegressor(views=["wl"], random_state=0).fit(smiles, y)
    assert process.report_.score > 0.8 * y.std()
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 10)
    linear = MoleculeRegressor(views=["wl"], random_state=0).fit(smiles, y)
    assert linear.report_.score > 0.8 * y.std()
    classifier = MoleculeClassifier(views=["wl"], random_state=0).fit(smiles, y > 0)
    assert classifier.report_.score < 0.7
    kept = MoleculeRegressor(views=["wl"], calibration="split", random_state=0).fit(smiles, y)
    assert (kept._copies[:, None] == kept._copies).sum() == 2 * len(kept._copies)  # no copy was set aside alone


def test_descriptors_that_carry_a_prediction_are_named(fitted):
    (found,) = fitted.explain(["CCCCO"])
    effects = [abs(one.effect) for one in found.columns(1000)]
    assert effects == sorted(effects, reverse=True)
    assert {"MolLogP", "MolWt"} <= {one.name for one in found.columns(1000)}
    assert found.columns(2) == found.columns(1000)[:2]


def test_atoms_beside_double_bonds_are_explained():
    model = MoleculeRegressor(views=["descriptors"], random_state=0).fit([*SMILES, "CC(C)=CCCC(C)=CC=O"], [*TARGETS, 0])
    assert np.isfinite(model.explain(["CC(C)=CCCC(C)=CC=O"])[0].effects).all()


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 5)


def test_large_molecules_are_not_explained(fitted, monkeypatch):
    monkeypatch.setattr("relaxwl.molecules.predictors.MAX_EXPLAINED", 12)
    assert len(fitted.explain(["C" * 12])[0].effects) == 12
    monkeypatch.setattr(MoleculeRegressor, "_batches", None)  # nothing is predicted
    message = "molecule 1, 'C{13}': 13 atoms, and molecules with at most 12 are explained$"
    with pytest.raises(ValueError, match=message):
        fitted.explain(["CCO", "C" * 13])


def test_linear_models_explain_large_molecules(large):
    model = MoleculeRegressor(random_state=0).fit(SMILES, TARGETS)
    assert len(model.explain(["C" * 201])[0].effects) == 201


def test_many_molecules_get_linear_models(large, tmp_path):
    y = np.repeat(["a", "b", "c"], 10)
    model = MoleculeClassifier(random_state=0).fit(SMILES, y)
    assert "linear model on features" in str(model.report_)
    assert "R-WL*, which adds little to WL" in str(model.report_)
    assert "depths above 3: models of many molecules take shallow trees" in str(model.report_)
    assert model.score(SMILES, y) > 0.8
    model.save(tmp_path / "model.rwl")
    again = MoleculeClassifier.load(tmp_path / "model.rwl")
    np.testing.assert_array_equal(again.predict_proba(["CCCl"]), model.predict_proba(["CCCl"]))
    table = np.column_stack([TARGETS, np.where(np.arange(len(SMILES)) % 3, TARGETS, np.nan)])
    numbers = MoleculeRegressor(random_state=0).fit(SMILES, table)
    mean, deviation = numbers.predict(SMILES, return_std=True)
    assert mean.shape == deviation.shape == (len(SMILES), 2)
    assert np.corrcoef(mean[:, 0], TARGETS)[0, 1] > 0.9


@pytest.mark.parametrize("views", [("wl", "fingerprints"), ("relaxed", "descriptors", "fingerprints")])
def test_effects_of_many_molecules_add_up(large, views):
    model = MoleculeRegressor(views, random_state=0).fit(SMILES, TARGETS)
    head = model._heads[0]
    for smiles, found in zip(["CCCCCO", "CCN"], model.explain(["CCCCCO", "CCN"]), strict=True):
        assert found.adds_up
        objects = model._objects([smiles], None)
        features = [view.features(view.represent(objects)).toarray()[0] for view in model._blocks.views]
        of_descriptors = [
            np.full(len(part), view.source == "molecules" and view.name == "descriptors")
            for view, part in zip(model._blocks.views, features, strict=True)
        ]
        beside = np.concatenate(of_descriptors)  # no atom has a part in descriptors
        rest = head.intercepts[0] + head.coefficients[0][beside] @ np.concatenate(features)[beside]
        assert found.rest == pytest.approx(rest)


@pytest.mark.slow
def test_linear_and_kernel_models_of_molecules_agree(monkeypatch, shared):
    from relaxwl.molecules import load_molecules

    graphs, y = load_molecules(shared / "data" / "molecules" / "bace.csv", "mol", "Class")
    order = np.random.default_rng(0).permutation(len(graphs))
    train, test = order[:700], order[700:]
    scores = []
    for limit in (5000, 5):
        monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", limit)
        model = MoleculeClassifier(scoring="roc_auc", random_state=0, n_jobs=2).fit(graphs[train], y[train])
        scores.append(model.score(graphs[test], y[test]))
    assert scores[1] > scores[0] - 0.03
    assert scores[1] > 0.8


@pytest.fixture
def many(monkeypatch):
    """Let so few molecules as these count as too many for a Gram matrix of each kernel."""
    monkeypatch.setattr("relaxwl.predictors.base.MATRICES_UP_TO", 10)
    monkeypatch.setattr("relaxwl.predictors.base.N_WEIGHED", 15)
    monkeypatch.setattr("relaxwl.predictors.base.N_FACTORED", 15)


def test_many_molecules_share_one_matrix(many, tmp_path):
    model = MoleculeRegressor(random_state=0).fit(SMILES, TARGETS)
    assert "their weights are learned from 15" in str(model.report_)
    assert "cross-validated" in str(model.report_)
    assert sum(model.kernel_weights_.values()) == pytest.approx(1)
    mean, deviation = model.predict(SMILES, return_std=True)
    assert np.corrcoef(mean, TARGETS)[0, 1] > 0.9
    assert (deviation > 0).all()
    assert model._heads[0].process.factor_.shape == (15, 15)
    model.save(tmp_path / "model.rwl")
    again = MoleculeRegressor.load(tmp_path / "model.rwl")
    for method in ("predict", "predict_interval", "kneighbors", "novelty"):
        np.testing.assert_allclose(getattr(again, method)(["CCCl"]), getattr(model, method)(["CCCl"]), rtol=1e-6)
    distances, indices = model.kneighbors(SMILES, 1)
    assert distances.max() < 1e-7
    np.testing.assert_allclose(mean[indices[:, 0]], mean)
    (found,) = model.explain(["CCCCO"])
    assert np.isfinite(found.effects).all()
    assert len(found.effects) == 5
    assert found.columns(3)


def test_many_molecules_with_several_targets(many):
    table = np.column_stack([TARGETS, np.where(np.arange(len(SMILES)) % 4, TARGETS, np.nan), np.full(len(SMILES), 2.0)])
    model = MoleculeRegressor(random_state=0).fit(SMILES, table)
    mean, deviation = model.predict(SMILES, return_std=True)
    assert mean.shape == deviation.shape == (len(SMILES), 3)
    for column in (0, 1):
        assert np.corrcoef(mean[:, column], TARGETS)[0, 1] > 0.9
    np.testing.assert_allclose(mean[:, 2], 2)
    assert model.predict_interval(SMILES[:3], target=1).shape == (3, 2)


def test_many_molecules_are_classified_by_one_matrix_of_kernels_that_weigh_the_same(many, tmp_path):
    classes = np.digitize(TARGETS, np.quantile(TARGETS, [0.3, 0.7]))
    model = MoleculeClassifier(random_state=0).fit(SMILES, classes)
    assert "all weigh the same" in str(model.report_)
    assert "R-WL*, which adds little to WL on molecules" in str(model.report_)
    assert model.score(SMILES, classes) > 0.8
    assert len(model.kernel_weights_) == 5
    assert set(model.kernel_weights_.values()) == {1 / 5}
    (descriptors,) = (view for view in model._blocks.views if view.name == "descriptors")
    assert all(one.exponential and one.factors is None for one in descriptors.similarities)
    process = model._heads[0].process
    assert process.factor_.shape == (15, 15)
    assert process.weights_[0] * model._blocks.gram().diagonal().mean() == pytest.approx(process.noise_, rel=0.01)
    model.save(tmp_path / "model.rwl")
    again = MoleculeClassifier.load(tmp_path / "model.rwl")
    for method in ("predict_proba", "predict_set", "kneighbors"):
        np.testing.assert_array_equal(getattr(again, method)(["CCCl"]), getattr(model, method)(["CCCl"]))
    (found,) = model.explain(["CCCCO"])
    assert len(found.effects) == 5


def test_many_molecules_of_several_targets_are_classified_by_one_matrix(many):
    classes = (np.array(TARGETS) > np.median(TARGETS)).astype(float)
    places = np.arange(len(SMILES))
    table = np.column_stack([classes, np.where(places % 4, classes, np.nan), np.where(places % 2, classes, np.nan)])
    table[np.flatnonzero(np.isfinite(table[:, 2]))[14:], 2] = np.nan
    model = MoleculeClassifier(scoring="roc_auc", random_state=0, n_jobs=2).fit(SMILES, table)
    tables = model.predict_proba(SMILES)
    assert all(((found[:, 1] > 0.5) == classes).mean() > 0.8 for found in tables)
    # The last target is known of few molecules, so that its covariance is factored; noise is the same.
    samples = [head.process.sample_ for head in model._heads]
    assert [sample is None for sample in samples] == [False, False, True]
    short = model._heads[2].process
    assert short.weights_[0] * model._blocks.gram().diagonal().mean() == pytest.approx(short.noise_, rel=0.2)
    assert "cross-validated or leave-one-out (" in str(model.report_)
    alone = MoleculeClassifier(scoring="roc_auc", random_state=0).fit(SMILES, classes)
    np.testing.assert_array_equal(alone.predict_proba(SMILES)[:, 1], tables[0][:, 1])


@pytest.mark.parametrize("views", [["relaxed"], ["descriptors"], ["wl", "relaxed", "fingerprints"]])
def test_many_molecules_are_classified_by_some_views_and_vectors_beside_them(many, views):
    classes, extra = np.array(TARGETS) > np.median(TARGETS), np.array(TARGETS)[:, None]
    model = MoleculeClassifier(views=views, random_state=0, calibration="split").fit(SMILES, classes, extra=extra)
    assert "extra" in model.kernel_weights_
    assert len(set(model.kernel_weights_.values())) == 1
    assert model.score(SMILES, classes, extra=extra) > 0.7
    assert model.predict_set(SMILES[:2], extra=extra[:2]).shape == (2, 2)
    weighted = MoleculeClassifier(views=views, random_state=0).fit(SMILES, classes, sample_weight=1 + extra[:, 0] ** 2)
    assert "all weigh the same" in str(weighted.report_)


def test_a_class_that_is_set_aside_as_a_whole_is_named():
    n_apart = round(0.25 * len(SMILES))
    apart = np.random.default_rng(0).permutation(len(SMILES))[:n_apart]
    classes = np.isin(np.arange(len(SMILES)), apart[:1])
    model = MoleculeClassifier(views=["fingerprints"], calibration="split", random_state=0)
    with pytest.raises(ValueError, match="sets aside all molecules of class True of target"):
        model.fit(SMILES, classes)


def test_a_model_of_constant_targets_is_saved_and_loaded(tmp_path):
    model = MoleculeClassifier(views=["fingerprints"], skip_targets=True).fit(SMILES, np.ones((len(SMILES), 2)))
    model.save(tmp_path / "model.rwl")
    np.testing.assert_array_equal(MoleculeClassifier.load(tmp_path / "model.rwl").predict(SMILES[:2]), np.ones((2, 2)))


def test_columns_of_descriptors_are_weighed_by_numbers_of_many_molecules(many):
    model = MoleculeRegressor(random_state=0).fit(SMILES, TARGETS)
    (descriptors,) = (view for view in model._blocks.views if view.name == "descriptors")
    assert all(one.exponential for one in descriptors.similarities)
    factors = descriptors.similarities[0].factors
    assert (factors**2).mean() == pytest.approx(1)
    assert np.ptp(factors) > 1


def test_many_equal_molecules_share_one_matrix_too(many):
    extra = np.column_stack([np.ones(len(SMILES)), np.arange(len(SMILES))])
    model = MoleculeRegressor(views=["wl"], random_state=0).fit(["CCO"] * len(SMILES), TARGETS, extra=extra[:, :1])
    assert np.isfinite(model.predict(["CCO"], extra=[[1.0]])).all()
    model = MoleculeRegressor(views=["wl"], random_state=0).fit(["CCO"] * len(SMILES), np.arange(30.0), extra=extra)
    assert list(model.kernel_weights_) == ["extra"]
    assert model.report_.kernels == ("WL", "extra")
    assert model.predict(["CCO"], extra=[[1.0, 12.5]]) == pytest.approx(12.5, abs=2)


def copies_have_no_folds(tmp_path):
    copies, y = ["CCO"] * 12, np.arange(12.0)
    regressor = MoleculeRegressor(views=["wl"]).fit(copies, y)
    classifier = MoleculeClassifier(views=["wl"]).fit(copies, y % 2)
    for model, call in ((regressor, "predict_interval"), (classifier, "predict_set")):
        model.save(tmp_path / "model.rwl")
        for one in (model, type(model).load(tmp_path / "model.rwl")):
            assert getattr(one, call)(["CCO", "C"]).tolist() == (
                [[-np.inf, np.inf]] * 2 if model is regressor else [[True, True]] * 2
            )


def test_intervals_are_infinite_and_sets_hold_all_where_all_molecules_are_copies(tmp_path):
    copies_have_no_folds(tmp_path)


def test_intervals_are_infinite_and_sets_hold_all_where_many_molecules_are_copies(many, tmp_path):
    copies_have_no_folds(tmp_path)


def test_a_target_that_is_set_aside_as_a_whole_is_named():
    model = MoleculeRegressor(views=["wl"], calibration="split", random_state=0)
    with pytest.raises(ValueError, match="sets aside all molecules with a value of target 'y'; use calibration='cv'"):
        model.fit(["CCO"] * 12, np.arange(12.0))
    apart = np.random.default_rng(0).permutation(len(SMILES))[:8]
    rare = np.where(np.isin(np.arange(len(SMILES)), apart), TARGETS, np.nan)
    with pytest.raises(ValueError, match="sets aside all molecules with a value of target 'target 1'"):
        model.fit(SMILES, np.column_stack([TARGETS, rare]))


def test_many_molecules_with_weights_or_a_part_set_aside(many):
    weighted = MoleculeRegressor(random_state=0).fit(SMILES, TARGETS, sample_weight=1.0 + np.arange(len(SMILES)))
    assert "their weights are learned from 15" in str(weighted.report_)
    split = MoleculeRegressor(calibration="split", random_state=0).fit(SMILES, TARGETS)
    assert np.isfinite(split.predict_interval(SMILES[:2], coverage=0.5)).all()


def test_unknown_labels_of_atoms_are_refused_before_anything_is_read():
    with pytest.raises(ValueError, match="atom_labels must be a function or one of rich, element"):
        MoleculeRegressor(atom_labels="x")._validate_parameters()


def test_without_rdkit_a_model_says_how_to_install_it(fitted, tmp_path):
    """In a process of its own, where RDKit cannot be imported."""
    fitted.save(tmp_path / "model.rwl")
    (tmp_path / "new.csv").write_text("smiles\nCCO\n")
    program = f"""
import sys
sys.modules["rdkit"] = None
from relaxwl.cli import main
from relaxwl.molecules import MoleculeRegressor
for work in (lambda: MoleculeRegressor.load("model.rwl"), lambda: MoleculeRegressor().fit({SMILES[:4]}, [1, 2, 3, 4])):
    try:
        work()
    except ImportError as error:
        print(error)
print(main(["predict", "model.rwl", "new.csv", "-o", "out.csv"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    *said, code = done.stdout.splitlines()
    assert said == ["reading molecules requires RDKit: pip install 'relaxwl[chem]'"] * 2
    assert code != "0"
    assert "pip install 'relaxwl[chem]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_of_more_molecules_a_sample_is_learned_from(many, monkeypatch, tmp_path):
    monkeypatch.setattr(MoleculeClassifier, "_learns_from", 16)
    smiles = ["C" * n + head for n in range(1, 11) for head in ("", "O", "N", "Cl")]
    y = np.array(["rare" if "N" in one and len(one) > 5 else "often" for one in smiles])
    model = MoleculeClassifier(random_state=0).fit(smiles, y)
    assert "24 of 40 molecules: 16 are learned from, all of rare classes among them" in str(model.report_)
    assert set(np.flatnonzero(y == "rare")) <= set(model._kept)
    assert model.report_.baseline == pytest.approx((y == "often").mean())
    # Probabilities are those of all molecules, of which the rare class has an eighth; it has a third of the sample.
    assert model.predict_proba(smiles)[:, 1].mean() == pytest.approx((y == "rare").mean(), abs=0.06)
    distances, places = model.kneighbors([smiles[model._kept[-1]]], 1)
    assert (places.item(), distances.item() < 1e-7) == (model._kept[-1], True)
    reordered = MoleculeClassifier(random_state=0).fit(smiles[::-1], y[::-1])
    assert {smiles[place] for place in model._kept} == {smiles[39 - place] for place in reordered._kept}
    model.save(tmp_path / "model.rwl")
    again = MoleculeClassifier.load(tmp_path / "model.rwl")
    for method in ("predict_proba", "predict_set", "kneighbors"):
        np.testing.assert_array_equal(getattr(again, method)(["CCCl"]), getattr(model, method)(["CCCl"]))
    # Numbers, of which none is rare, with a gap, and with equal weights of classes.
    monkeypatch.setattr(MoleculeRegressor, "_learns_from", 16)
    numbers = MoleculeRegressor(["wl"], random_state=0).fit(smiles, np.column_stack([np.arange(40.0)] * 2))
    assert len(numbers._kept) == 16
    assert np.corrcoef(numbers.predict(smiles)[:, 0], np.arange(40))[0, 1] > 0.8
    balanced = MoleculeClassifier(["fingerprints"], random_state=0)
    balanced.class_weight = "balanced"
    assert balanced.fit(smiles, y).predict_proba(smiles)[:, 1].mean() > 0.2
