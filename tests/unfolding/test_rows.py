import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaxwl.unfolding import TreeRows, canonical_order, distinct, join_rows

CONTENT = st.tuples(st.integers(0, 2), st.dictionaries(st.integers(0, 4), st.integers(1, 3), max_size=4))


def make_rows(content, n_previous=5, n_edge_codes=1):
    lengths = [len(children) for _, children in content]
    points = [point for _, children in content for point in sorted(children)]
    counts = [children[point] for _, children in content for point in sorted(children)]
    return TreeRows(
        np.array([root for root, _ in content], np.int32),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array(points, np.int32),
        np.array(counts, np.int32),
        n_previous,
        n_edge_codes,
    )


def content_of(rows):
    return [(root, dict(zip(points.tolist(), counts.tolist(), strict=True))) for root, points, counts in all_of(rows)]


def all_of(rows):
    return [rows.row(index) for index in range(len(rows))]


def canonical_key(item):
    root, children = item
    return root, sum(children.values()), [part for point in sorted(children) for part in (point, children[point])]


@given(st.lists(CONTENT, max_size=30))
def test_distinct_and_canonical_order_follow_the_definition(content):
    rows = make_rows(content)
    representatives, ids = distinct(rows)
    assert [content[i] for i in representatives[ids]] == content
    ordered = rows.take(canonical_order(rows, representatives))
    expected = []
    for item in sorted(content, key=canonical_key):
        if not expected or expected[-1] != item:
            expected.append(item)
    assert content_of(ordered) == expected


@given(st.lists(CONTENT, max_size=20), st.lists(CONTENT, max_size=20))
def test_locate_finds_exactly_the_known_rows(content, others):
    rows = make_rows(content)
    known = rows.take(canonical_order(rows, distinct(rows)[0]))
    contents = content_of(known)
    expected = [contents.index(item) if item in contents else -1 for item in others]
    assert known.locate(make_rows(others)).tolist() == expected


def test_canonical_order_when_the_content_does_not_fit_into_a_key():
    rng = np.random.default_rng(0)
    wide = [(0, {int(p): 1 for p in rng.choice(10**9, 12, replace=False)}) for _ in range(50)]
    # All begin alike, so the packed key ties and only the comparison of the rest can order them.
    content = [(root, {1: 2, 2: 1, 3: 1, 10**9: 1, **children}) for root, children in wide]
    rows = make_rows(content, 2 * 10**9)
    assert content_of(rows.take(canonical_order(rows, np.arange(50)))) == sorted(content, key=canonical_key)


def test_rows_take_join_and_compare():
    rows = make_rows([(1, {0: 2, 3: 1}), (0, {}), (2, {4: 1})])
    assert rows.degrees.tolist() == [3, 0, 1]
    assert content_of(rows.take(np.array([2, 0, 0]))) == [(2, {4: 1}), (1, {0: 2, 3: 1}), (1, {0: 2, 3: 1})]
    assert join_rows([rows.take(np.array([0])), rows.take(np.array([1, 2]))]) == rows
    assert rows != rows.take(np.array([0, 1]))
    assert rows != make_rows(content_of(rows), n_previous=6)
    assert rows != "rows"
    assert make_rows([], 3, 2).n_points == 6
    with pytest.raises(TypeError, match="unhashable"):
        hash(rows)


def test_no_rows_at_all():
    rows = make_rows([])
    representatives, ids = distinct(rows)
    assert len(representatives) == len(ids) == len(rows.degrees) == 0
    assert len(canonical_order(rows, representatives)) == 0
    assert len(make_rows([(0, {})]).locate(rows)) == 0
    assert rows.locate(make_rows([(0, {})])).tolist() == [-1]
