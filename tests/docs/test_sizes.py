"""Sizes that the user guide names against the constants of the code."""

import re
from pathlib import Path

import pytest

from relaxwl.clustering import kmeans
from relaxwl.costs import codebook
from relaxwl.distributed import fitting, heap, tasks
from relaxwl.evaluation import folds
from relaxwl.kernels import chains, continuous, levels
from relaxwl.learning import choosing, heads
from relaxwl.molecules.predictors import MAX_EXPLAINED
from relaxwl.predictors import base, portfolio

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"
MB = 1 << 20
SIZES = {
    "predictors": [
        ("more than {:,} graphs or {:,} nodes |", portfolio.MANY_GRAPHS, portfolio.MANY_NODES),
        ("but at least {};", portfolio.FEW_PARTITIONS),
        ("more than {:,} nodes without labels", portfolio.MANY_BESIDE_VECTORS),
        ("more than {:,} and up to {:,} graphs", base.MATRICES_UP_TO, base.LINEAR_FROM),
        ("learned from {:,} objects", base.N_WEIGHED),
        ("computed from the {:,} and", base.N_WEIGHED),
        ("(classification of graphs: {:,})", base.MATRICES_UP_TO),
        ("at least {:,} objects | penalty selected on a subset of {:,}", 2 * heads.CHOICE_ROWS, heads.CHOICE_ROWS),
        ("at most {} million pairs of nodes", int(portfolio.MAX_PAIRS / 1e6)),
        ("penalty other than C = {:g}", choosing.FAVORITE),
    ],
    "molecules": [("4 s for {}; larger molecules are rejected", MAX_EXPLAINED)],
    "parameters": [("at most {} times", kmeans.ROUNDS), ("more than {:,} trees", kmeans.MANY_ROWS)],
    "kernels": [("if there are 2 to {} different", continuous.FEW_LABELS - 1)],
    "evaluation": [("{:.0%} training and", 1 - folds.TEST_SHARE)],
    "large-data": [
        ("more than {:,} distinct trees", chains.SEEN_AT_ONCE),
        ("about {:,} trees", levels.CHUNK_ROWS),
        ("{} trees per cluster and at least {:,}", kmeans.SAMPLE_ROWS, kmeans.MANY_ROWS),
        ("one row in {:,}", levels.CHUNK_ROWS // levels.OVERSAMPLING),
        ("at most {:,} in all shards", levels.FEW_ROWS),
        ("samples of {:,} distinct vectors, up to {} at a time", codebook.SKETCH_ROWS, levels.FAN_IN),
        ("samples of {:,} distinct vectors", continuous.SAMPLE),
        ("{} per cluster; counts", levels.N_EXAMPLES),
        ("sample of {:,} graphs", base.N_SAMPLED),
        ("up to {} MB of the shards", fitting.KEPT_BYTES // MB),
        ("up to {} MB of freed", heap.KEPT_BYTES // MB),
        ("after {} s", tasks.DEFAULT_TIMEOUT.removesuffix("s")),
    ],
}


@pytest.mark.parametrize("page", SIZES)
def test_sizes_of_the_guide_are_those_of_the_code(page):
    text = re.sub(r"\s+", " ", (GUIDE / f"{page}.md").read_text(encoding="utf-8")).replace(" %", "%")
    missing = [sentence.format(*sizes) for sentence, *sizes in SIZES[page] if sentence.format(*sizes) not in text]
    assert not missing, f"{page}.md says something else than the code"
