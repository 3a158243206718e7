"""The distinct trees of shards: cut into chunks, merged, and handed back to the nodes."""

import numpy as np
import pytest

from clustering_rows import random_content, tree_rows
from relaxwl.kernels import levels
from relaxwl.kernels.levels import Distinct, answer, cut, merge, sample, splitters
from relaxwl.unfolding.rows import canonical_order, join_rows


@pytest.fixture
def shards(monkeypatch):
    """Distinct rows of three shards that share many, the first node of each and how many there are."""
    monkeypatch.setattr(levels, "CHUNK_ROWS", 8)
    rng = np.random.default_rng(0)
    content = random_content(40, 4)
    found = []
    for shard in range(3):
        chosen = sorted(rng.choice(40, 25, replace=False))
        rows = tree_rows([content[place] for place in chosen], 4)
        rows = rows.take(canonical_order(rows, np.arange(25)))
        found.append(
            (Distinct(rows, 100 * shard + np.arange(25), rng.integers(1, 4, 25)), np.arange(25, dtype=np.int32))
        )
    return found


def test_chunks_have_each_row_once_with_its_first_node_and_all_its_numbers(shards):
    sizes, samples, wholes = zip(*(sample(found, 24) for found in shards), strict=True)
    assert sizes == (25, 25, 25)
    assert wholes == (None, None, None)
    assert sample(shards[0], 25)[2] is shards[0][0]
    borders = splitters(list(samples), 4)
    pieces = [cut(found, borders) for found in shards]
    merged = [merge(list(parts)) for parts in zip(*pieces, strict=True)]
    whole = Distinct(
        join_rows([part.rows for part, _ in merged]),
        np.concatenate([part.first for part, _ in merged]),
        np.concatenate([part.number for part, _ in merged]),
    )
    content = [whole.rows.take([place]) for place in range(len(whole))]
    assert canonical_order(whole.rows, np.arange(len(whole))).tolist() == list(range(len(whole)))
    for place, row in enumerate(content):
        places = [(part, int(part.rows.locate(row)[0])) for part, _ in shards]
        having = [(part, at) for part, at in places if at >= 0]
        assert whole.first[place] == min(part.first[at] for part, at in having)
        assert whole.number[place] == sum(part.number[at] for part, at in having)
    assert whole.number.sum() == sum(part.number.sum() for part, _ in shards)
    # What rows of partitions have comes back to the rows of each shard.
    numbers = np.split(np.arange(len(whole)), np.cumsum([len(rows) for rows, _ in merged])[:-1])
    for shard, (part, _) in enumerate(shards):
        back = np.concatenate([answer(one, (values,), shard) for one, values in zip(merged, numbers, strict=True)])
        assert part.rows.same_as(whole.rows.take(back)).all()
