"""Time limits of blocks."""

import time

import pytest

from relaxwl._execution import TimeLimitReached, check_time, current_deadline, time_limit
from relaxwl.kernels.base import watched


def test_no_limit_by_default():
    check_time()
    assert current_deadline().remaining() is None


def test_the_earlier_of_nested_limits_holds():
    with time_limit(100):
        with time_limit(1000) as inner:
            assert inner.seconds == 100
        with time_limit(1) as inner:
            assert inner.seconds == 1
        with time_limit(None) as inner:
            assert inner.seconds == 100
        assert current_deadline().seconds == 100
    assert current_deadline().seconds is None


def test_time_over():
    with time_limit(1e-6):
        time.sleep(1e-3)
        assert current_deadline().remaining() == 0
        with pytest.raises(TimeLimitReached, match="1e-06 seconds"):
            check_time()
        with pytest.raises(TimeLimitReached):
            list(watched([1], "work"))
    check_time()
    assert issubclass(TimeLimitReached, TimeoutError)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_bad_limits_are_named(seconds):
    with pytest.raises(ValueError, match="time_limit must be"), time_limit(seconds):
        pass
