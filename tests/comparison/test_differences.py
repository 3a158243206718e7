import numpy as np
import pytest

from comparison.random_graphs import DENSE, SPARSE
from explanation.planted import contains, planted
from relaxwl import two_sample_test
from relaxwl.comparison import differences

GRAPHS, Y = planted()
RESULT = two_sample_test(GRAPHS[Y == 0], GRAPHS[Y == 1], n_permutations=199, random_state=0)


def test_a_planted_pattern_is_found_with_its_direction():
    found = RESULT.explain().significant
    patterns = [one for one in found if one.center is not None and contains(one.center, "X", {"A", "B", "C", "D"})]
    assert patterns
    for one in patterns:
        assert one.kind == "cluster"
        assert one.effect > 0
        assert one.means[1] > one.means[0]


def test_effects_and_means_are_those_of_the_columns():
    result = two_sample_test(SPARSE, DENSE, n_permutations=99, random_state=0)
    found = {one.name: one for one in result.explain().found}
    density = [2 * side.edge_counts / side.node_counts / (side.node_counts - 1) for side in (SPARSE, DENSE)]
    assert found["density"].means == pytest.approx([one.mean() for one in density])
    pooled = np.sqrt(np.mean([one.var() for one in density]))
    assert found["density"].effect == pytest.approx((density[1].mean() - density[0].mean()) / pooled)
    assert found["density"].pvalue == 0.01


def test_p_values_are_shares_of_the_largest_statistics_of_all_columns():
    result = two_sample_test(SPARSE, DENSE, n_permutations=99, random_state=0, views=["statistics"])
    found = result.explain().found
    residuals = result.design.permuted(99, 0)
    table = result.pool.fitted.views[0].training
    products = residuals @ table
    z = np.abs(products - products.mean(axis=0)) / products.std(axis=0)
    expected = {
        name: float((z.max(axis=1) >= z[0, place] - 1e-9).mean())
        for place, name in enumerate(result.pool.fitted.views[0].scaler.names_)
    }
    assert {one.name: one.pvalue for one in found} == pytest.approx(expected)


def test_typical_graphs_are_those_with_the_largest_probability_of_their_side():
    found = RESULT.explain()
    probability = np.empty(len(GRAPHS))
    probability[RESULT.pool.places] = RESULT.separation.probabilities
    assert found.typical[0][0] == np.argmin(probability[:20])
    assert probability[20:][found.atypical[1][0]] == probability[20:].min()
    assert all(len(part) == differences.N_TYPICAL for part in (*found.typical, *found.atypical))


def test_differences_are_shown_as_text_and_table():
    pytest.importorskip("pandas")
    found = RESULT.explain()
    assert "clusters and statistics differ significantly" in str(found)
    assert "<table" in found._repr_html_()
    table = found.to_pandas()
    assert len(table) == len(found.found)
    assert table["pvalue"].is_monotonic_increasing
