import numpy as np
import pytest

from predictors.small_data import TRAIN
from relaxwl._execution import TimeLimitReached, time_limit
from relaxwl._memory import MemoryRefusal
from relaxwl.predictors.blocks import COMBINED, KernelBlocks
from relaxwl.predictors.portfolio import portfolio
from relaxwl.predictors.views import Objects


def test_blocks_are_means_of_views_of_variance_one():
    blocks = KernelBlocks(*portfolio(TRAIN, "balanced", 0, None))
    found = blocks.fit(Objects(TRAIN))
    assert (
        list(found)
        == blocks.names
        == ["exact", "statistics", "statistics of labels and attributes", "coarse", "paths", "fine"]
    )
    again = blocks.matrices(blocks.represent(Objects(TRAIN)))
    for name, matrix in found.items():
        assert matrix.diagonal().mean() - matrix.mean() == pytest.approx(1.0)
        assert np.linalg.eigvalsh(matrix).min() > -1e-9
        np.testing.assert_allclose(again[name], matrix, atol=1e-9)


def test_out_of_time_less_is_fitted_and_said():
    blocks = KernelBlocks(*portfolio(TRAIN, "quick", 0, None))
    blocks.fit(Objects(TRAIN), 1e-9)
    assert [view.name for view in blocks.views] == ["WL"]
    assert "R-WL* with few clusters: the time limit for kernels of 1e-09 s was reached" in blocks.left_out


@pytest.mark.parametrize("own", [None, 1e-9])
def test_the_limit_of_the_caller_ends_the_fit(own):
    blocks = KernelBlocks(*portfolio(TRAIN, "quick", 0, None))
    with pytest.raises(TimeLimitReached), time_limit(1e-9):
        blocks.fit(Objects(TRAIN), own)


def test_graphs_that_are_all_the_same_have_no_variance():
    found = KernelBlocks(*portfolio(TRAIN[[0, 0, 0]], "quick", 0, None)).fit(Objects(TRAIN[[0, 0, 0]]))
    assert all((matrix == 0).all() for matrix in found.values())


class Refusing:
    """A view that does not fit into memory."""

    name, blocks, training = "large", ("large",), None

    def fit(self, objects):
        """Refuse."""
        raise MemoryRefusal("the labels would need about 28 GiB and the limit is 4 GiB; use fewer labels")

    matrices = features = fit


@pytest.mark.parametrize("features", [False, True])
def test_what_does_not_fit_into_memory_is_left_out_and_said(features):
    views, _ = portfolio(TRAIN, "quick", 0, None)
    blocks = KernelBlocks([Refusing(), *views[:1]])
    found = blocks.fit_features(Objects(TRAIN))[0] if features else blocks.fit(Objects(TRAIN))["exact"]
    assert found.shape[0] == len(TRAIN)
    assert [view.name for view in blocks.views] == ["WL"]
    assert blocks.left_out == ["large: the labels would need about 28 GiB and the limit is 4 GiB; use fewer labels"]
    nothing = KernelBlocks([Refusing(), Refusing()])
    with pytest.raises(MemoryRefusal, match="28 GiB"):
        nothing.fit_features(Objects(TRAIN)) if features else nothing.fit(Objects(TRAIN))


def test_a_combination_of_blocks_is_their_weighted_sum():
    views, left_out = portfolio(TRAIN, "quick", 0, None)
    blocks = KernelBlocks(views, left_out)
    blocks.fit_sampled(Objects(TRAIN), 20, np.zeros((len(TRAIN), 1)))
    rows = np.arange(len(TRAIN))
    before = blocks.matrices(blocks.training(rows))
    weights = {name: place % 3 for place, name in enumerate(before)}
    blocks.combine(weights)
    assert blocks.names == [COMBINED]
    assert all(np.all(scales) for scales in blocks.scales)
    expected = sum(weight * before[name] for name, weight in weights.items())
    np.testing.assert_allclose(blocks.gram(), expected, rtol=1e-6)


def test_similarities_are_scaled_on_a_sample():
    views, left_out = portfolio(TRAIN, "quick", 0, None)
    sampled, whole = KernelBlocks(views, left_out), KernelBlocks(portfolio(TRAIN, "quick", 0, None)[0])
    sampled.fit_sampled(Objects(TRAIN), len(TRAIN), np.zeros((len(TRAIN), 1)))
    whole.fit(Objects(TRAIN))
    for found, expected in zip(sampled.scales, whole.scales, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
