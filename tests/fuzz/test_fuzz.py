"""A few cases of every target, and all cases that once were findings."""

import json
from pathlib import Path

import pytest

from fuzz.campaign import SHORT_CASES, run_case, targets

FINDINGS = Path(__file__).with_name("findings.jsonl")


def test_the_short_run_knows_all_targets():
    assert SHORT_CASES.keys() == targets().keys()


@pytest.mark.slow
@pytest.mark.parametrize("target", SHORT_CASES)
def test_some_cases(target):
    for number in range(max(SHORT_CASES[target] // 100, 2)):
        run_case(target, f"test/{target}/{number}")


@pytest.mark.slow
@pytest.mark.parametrize("line", FINDINGS.read_text().splitlines() if FINDINGS.exists() else [])
def test_what_was_found_once(line):
    case = json.loads(line)
    run_case(case["target"], case["seed"])
