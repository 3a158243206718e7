"""Linear predictors fitted to shards: those of a fit in memory."""

import numpy as np
import pytest

from relaxwl import GraphClassifier, GraphRegressor
from relaxwl.datasets import make_egonets
from relaxwl.distributed.shards import ShardedCollection
from sharding import shard
from small_graphs import random_graphs, with_attributes

GRAPHS, FOUR = make_egonets(40, level=1, n_nodes=(24, 36), random_state=0)
CLASSES = FOUR % 2
DENSITY = GRAPHS.edge_counts / GRAPHS.node_counts
NEW = GRAPHS[:6]


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Let few objects make linear models in memory as well, the penalties of which are found exactly."""
    monkeypatch.setattr("relaxwl.predictors.base.LINEAR_FROM", 5)
    monkeypatch.setattr("relaxwl.learning.linear.TOLERANCE", 1e-13)


def test_classifiers_are_those_of_memory(tmp_path):
    shards = shard(tmp_path / "s", GRAPHS, 4, CLASSES)
    model = GraphClassifier("quick", random_state=0).fit(shards)
    expected = GraphClassifier("quick", random_state=0).fit(GRAPHS, CLASSES)
    np.testing.assert_allclose(model.predict_proba(NEW), expected.predict_proba(NEW), atol=1e-6)
    np.testing.assert_array_equal(model.predict_set(NEW), expected.predict_set(NEW))
    assert model.report_.score == pytest.approx(expected.report_.score)
    assert model._heads[0].coefficients == pytest.approx(expected._heads[0].coefficients, abs=1e-5)
    model.save(tmp_path / "model.rwl")
    loaded = GraphClassifier.load(tmp_path / "model.rwl")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
    assert model.explain(NEW[:1])[0].adds_up


def test_attributes_of_nodes_count_in_linear_models(tmp_path):
    graphs = with_attributes(random_graphs(240, seed=2))
    means = np.add.reduceat(graphs.node_attributes[:, 0], graphs.offsets[:-1]) / graphs.node_counts
    y, new = (means > np.median(means)).astype(int), graphs[200:]
    model = GraphClassifier("quick", random_state=0).fit(shard(tmp_path / "s", graphs[:200], 3, y[:200]))
    expected = GraphClassifier("quick", random_state=0).fit(graphs[:200], y[:200])
    np.testing.assert_allclose(model.predict_proba(new), expected.predict_proba(new), atol=1e-4)
    assert model.score(new, y[200:]) >= 0.8


def test_regressors_are_those_of_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxwl.learning.heads.RIDGES", (4.0, 1.0))
    weights = np.arange(40) % 3 + 1.0
    model = GraphRegressor("quick", random_state=0).fit(
        shard(tmp_path / "s", GRAPHS, 3, DENSITY), sample_weight=weights
    )
    expected = GraphRegressor("quick", random_state=0).fit(GRAPHS, DENSITY, sample_weight=weights)
    for one, other in zip(model.predict(NEW, return_std=True), expected.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    np.testing.assert_allclose(model.predict_interval(NEW), expected.predict_interval(NEW), atol=1e-5)


def test_novelty_is_that_of_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxwl.predictors.base.N_KEPT", 10)
    shards = shard(tmp_path / "s", GRAPHS, 4, CLASSES)
    model = GraphClassifier("quick", random_state=0).fit(shards)
    assert len(model._novelty.reference) == model._novelty.features.shape[0] == 10
    assert ((model.novelty(GRAPHS) > 0) & (model.novelty(GRAPHS) <= 1)).all()


def test_targets_may_be_given_and_tables(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxwl.learning.heads.RIDGES", (4.0, 1.0))
    shards = shard(tmp_path / "s", GRAPHS, 2)
    with pytest.raises(ValueError, match="the shards have no targets"):
        GraphRegressor().fit(shards)
    model = GraphRegressor("quick", random_state=0).fit(shards, np.column_stack([DENSITY, -DENSITY]))
    found = model.predict(NEW)
    np.testing.assert_allclose(found[:, 0], -found[:, 1], atol=1e-6)


def test_targets_may_have_gaps(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxwl.learning.heads.RIDGES", (4.0, 1.0))
    table = np.column_stack([DENSITY, np.where(np.arange(40) % 3 == 0, np.nan, -DENSITY)])
    table[:20, 0] = np.nan  # of two shards no graph is known
    model = GraphRegressor(random_state=0).fit(shard(tmp_path / "s", GRAPHS, 4), table)
    expected = GraphRegressor(random_state=0).fit(GRAPHS, table)
    np.testing.assert_allclose(model.predict(NEW), expected.predict(NEW), atol=1e-6)


def test_what_shards_do_not_have_is_refused(tmp_path):
    shards = shard(tmp_path / "s", GRAPHS, 2, CLASSES)
    with pytest.raises(ValueError, match="predictors on shards have no extra"):
        GraphClassifier().fit(shards, extra=DENSITY)
    with pytest.raises(ValueError, match="have no calibration='split'"):
        GraphClassifier(calibration="split").fit(shards)
    model = GraphClassifier("quick", random_state=0).fit(ShardedCollection.open(tmp_path / "s"))
    with pytest.raises(ValueError, match="does not keep them"):
        model.kneighbors(NEW)


def test_molecules_in_shards_are_those_of_memory(tmp_path):
    pytest.importorskip("rdkit")
    from relaxwl.molecules import MoleculeClassifier, MoleculeRegressor, from_smiles

    smiles = ["C" * n + head for n in range(1, 9) for head in ("", "O", "N", "Cl", "=O")]
    graphs, y = from_smiles(smiles), np.arange(40) % 5
    shards = shard(tmp_path / "s", graphs, 3, y)
    model = MoleculeClassifier(random_state=0).fit(shards)
    expected = MoleculeClassifier(random_state=0).fit(smiles, y)
    new = ["CCCCCCCCCCO", "CN"]
    np.testing.assert_allclose(model.predict_proba(new), expected.predict_proba(new), atol=1e-4)
    with pytest.raises(ValueError, match="not written with atom_labels='rich'"):
        MoleculeRegressor(atom_labels="rich").fit(shards, y)
    with pytest.raises(ValueError, match="standardize=True is not supported on shards"):
        MoleculeRegressor(standardize=True).fit(shards, y)
    with pytest.raises(TypeError, match="without molecules"):
        MoleculeRegressor().fit(shard(tmp_path / "g", GRAPHS, 2, DENSITY))
