"""A few cases of every target, and a crash, which the campaign must survive."""

import pytest

from fuzz.campaign import SHORT_CASES, findings, run_case, targets
from platforms import posix


@pytest.mark.slow
@pytest.mark.parametrize("target", SHORT_CASES)
def test_some_cases(target):
    for number in range(max(SHORT_CASES[target] // 100, 2)):
        run_case(f"test/{target}/{number}")


@posix
def test_crashes_are_found_and_the_next_case_runs():
    assert targets().keys() - SHORT_CASES.keys() == {"crash"}
    found = list(findings("test", "crash", 0, 2))
    assert [finding.partition(":")[0] for finding in found] == ["test/crash/0", "test/crash/1"]
    assert all("the worker ended with -" in finding for finding in found)
