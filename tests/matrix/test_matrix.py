"""Every source of graphs with every consumer: they agree on all invariants, or refuse in one clear sentence."""

import traceback
from pathlib import Path

import numpy as np
import pytest

from matrix.consumers import CONSUMERS
from matrix.sources import CLASSES, N_GRAPHS, NO_TARGETS, SOURCES, drawn
from places import SOURCE
from relaxwl import GraphClassifier, WeisfeilerLehman
from relaxwl.commands.console import UserError
from relaxwl.datasets import read_parquet, write_parquet, write_tu
from relaxwl.distributed import ShardWriter
from relaxwl.evaluation import cross_validate
from relaxwl.explanation import explain

# Others may refuse for us what they check better: classes by scikit-learn.
OTHERS = ("sklearn/utils/multiclass.py", "sklearn/utils/validation.py")
REFUSALS = (ValueError, TypeError, UserError)
# A covering sample: every consumer meets so many sources in the quick tests, and every source some consumer; what
# takes long meets one.
SAMPLED = 2
LONG = ("GraphClassifier", "GraphRegressor", "MoleculeClassifier", "MoleculeRegressor", "relaxwl fit")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def assert_clear(error: Exception) -> None:
    """Check that a refusal is one sentence of ours, or of those who check for us."""
    last = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
    ours = last.is_relative_to(SOURCE) or last.as_posix().endswith(OTHERS)
    assert isinstance(error, REFUSALS), error
    assert ours, f"{type(error).__name__} from {last}: {error}"
    text = str(error).strip()
    assert 10 < len(text) < 500, text
    assert "\n" not in text, text


def pairs():
    """Yield all pairs; those beyond a covering sample are slow."""
    sources = list(SOURCES)
    for place, (name, taker) in enumerate(CONSUMERS.items()):
        suited = [one for one in sources if taker.needs <= SOURCES[one].traits]
        sample = {suited[(5 * place + 11 * k) % len(suited)] for k in range(1 if name in LONG else SAMPLED)}
        for at, one in enumerate(sources):
            quick = one in sample or (at % len(CONSUMERS) == place and name not in LONG)
            yield pytest.param(one, name, id=f"{one}-{name}", marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize(("source", "consumer"), list(pairs()))
def test_every_source_with_every_consumer(source, consumer, tmp_path):
    given, taker = SOURCES[source], CONSUMERS[consumer]
    (tmp_path / "out").mkdir()
    made = given.make(tmp_path)
    refusal = None
    try:
        taker.run(made, tmp_path / "out")
    except REFUSALS as error:
        refusal = error
    if refusal is not None:
        assert_clear(refusal)
        allowed = taker.refuses & given.traits or not taker.needs <= given.traits
        assert allowed, f"{consumer} refuses {source}: {refusal}"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if place > 2 else ()) for place, name in enumerate(CLASSES)]
)
def test_classes_of_every_type_are_taken_and_come_back(name, tmp_path):
    make, kind = CLASSES[name]
    graphs, y = drawn("node_labels"), make(N_GRAPHS)
    plain = np.asarray(y).ravel().tolist()
    found = explain(WeisfeilerLehman(1), graphs, y, n_permutations=9)
    assert found.classes.tolist() == sorted(set(plain))
    cross_validate("ve-hist", graphs, y, n_folds=2, n_repeats=1, inner_folds=2)
    write_parquet(tmp_path / "a.parquet", graphs, y)
    assert read_parquet(tmp_path / "a.parquet")[1].tolist() == plain
    write_tu(tmp_path / "A.zip", graphs, y)
    writer = ShardWriter(tmp_path / "shards")
    writer.add(graphs, y)
    assert writer.finish().y.tolist() == plain
    model = GraphClassifier("quick", n_jobs=1, random_state=0).fit(graphs, y)
    assert model.classes_.dtype.kind in kind
    assert {type(one) for one in model.predict(graphs).tolist()} == {type(one) for one in plain}
    model.save(tmp_path / "model.rwl")
    loaded = GraphClassifier.load(tmp_path / "model.rwl")
    assert loaded.classes_.dtype.kind in kind
    assert loaded.predict(graphs).tolist() == model.predict(graphs).tolist()


@pytest.mark.parametrize("name", NO_TARGETS)
@pytest.mark.parametrize(
    "take",
    [
        lambda graphs, y, folder: GraphClassifier("quick", random_state=0).fit(graphs, y),
        lambda graphs, y, folder: explain(WeisfeilerLehman(1), graphs, y, n_permutations=9),
        lambda graphs, y, folder: cross_validate("wl", graphs, y, n_folds=2, n_repeats=1, inner_folds=2),
        lambda graphs, y, folder: write_parquet(folder / "a.parquet", graphs, y),
        lambda graphs, y, folder: write_tu(folder / "A.zip", graphs, y),
        lambda graphs, y, folder: ShardWriter(folder / "shards").add(graphs, y),
    ],
    ids=["GraphClassifier", "explain", "cross_validate", "Parquet", "TU files", "shards"],
)
def test_what_is_no_target_is_refused_in_one_sentence(name, take, tmp_path):
    with pytest.raises((ValueError, TypeError)) as caught:
        take(drawn(), NO_TARGETS[name](N_GRAPHS), tmp_path)
    assert_clear(caught.value)
