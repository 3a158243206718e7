"""Groups of rows in chunks: who is in them, as on one machine."""

import numpy as np

from clustering_rows import tree_rows
from relaxwl.distributed.grouping import N_EXAMPLES, as_summary, chosen_members, join_tallies, tally_chunk
from relaxwl.distributed.levels import Distinct


def test_chosen_members_are_those_of_one_machine():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=50)
    sizes = np.array([np.bincount(labels[start : start + 9], minlength=3) for start in range(0, 50, 9)])
    chosen = []
    for start, (groups, ranks) in zip(range(0, 50, 9), chosen_members(sizes, np.array([0, 2]), 4), strict=True):
        for group, rank in zip(groups, ranks, strict=True):
            chosen.append((group, start + np.flatnonzero(labels[start : start + 9] == group)[rank]))
    expected = [
        (group, np.flatnonzero(labels == group)[place])
        for group in (0, 2)
        for place in np.linspace(0, (labels == group).sum() - 1, 4).astype(int)
    ]
    assert sorted(chosen) == sorted(expected)


def test_tallies_of_chunks_are_the_tally_of_all_rows():
    rng = np.random.default_rng(0)
    n_rows, n_groups = 40, 4
    content = [(place, {}) for place in range(n_rows)]
    rows = Distinct(tree_rows(content, 1), rng.permutation(n_rows).astype(np.int64), rng.integers(1, 5, n_rows))
    found = rng.integers(n_groups - 1, size=n_rows).astype(np.int32), rng.integers(5, size=n_rows) / 2
    whole = tally_chunk(rows, found, 0, n_groups)
    parts = [
        tally_chunk(rows.span(start, stop), tuple(part[start:stop] for part in found), start, n_groups)
        for start, stop in ((0, 7), (7, 8), (8, 40))
    ]
    for one, other in zip(join_tallies(parts), whole, strict=True):
        np.testing.assert_array_equal(one, other)
    summary, nearest = as_summary(whole, n_groups)
    labels, distances = found
    for group in range(n_groups - 1):
        members = sorted(np.flatnonzero(labels == group), key=lambda row: (distances[row], row))
        assert summary.sizes[group] == rows.number[members].sum()
        assert summary.n_trees[group] == len(members)
        assert summary.radius[group] == distances[members].max()
        assert nearest[group] == members[0]
        assert summary.examples[group, :, 1].tolist() == rows.first[members[:N_EXAMPLES]].tolist()
    assert (summary.sizes[-1], nearest[-1], summary.examples[-1].max()) == (0, -1, -1)
