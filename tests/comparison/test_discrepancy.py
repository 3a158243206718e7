import pytest

from comparison.random_graphs import DENSE, SPARSE, SPARSE_TOO
from relaxwl import GraphDiscrepancy


def test_two_halves_of_a_set_are_near_and_other_graphs_far():
    reference = GraphDiscrepancy(SPARSE)
    near, far = reference.compute(SPARSE_TOO), reference.compute(DENSE)
    assert near["pgd"] < 0.3
    assert far["pgd"] > 0.8
    assert near.keys() == {"pgd", "pgd_descriptor", "subscores", "mmd2"}
    assert far["subscores"][far["pgd_descriptor"]] == max(far["subscores"].values())
    assert far["mmd2"]["statistics"] > 0.1 > near["mmd2"]["statistics"]


def test_intervals_contain_the_values():
    found = GraphDiscrepancy(SPARSE, interval=True, views=["statistics"]).compute(DENSE)
    for interval in (found["pgd"], *found["subscores"].values()):
        assert 0 <= interval.low <= interval.value <= interval.high <= 1


def test_a_reference_compared_with_itself_is_at_no_distance():
    assert GraphDiscrepancy(SPARSE, views=["statistics"]).compute(SPARSE)["pgd"] == 0


def test_one_generated_graph_is_refused():
    with pytest.raises(ValueError, match="generated must have at least two graphs"):
        GraphDiscrepancy(SPARSE).compute(DENSE[:1])
