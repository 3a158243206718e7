"""A few cases of every target."""

import json

import pytest

pytest.importorskip("resource", reason="faults and limits are made as Unix knows them")

from fuzz import provocations
from fuzz.campaign import SHORT_CASES, batches, campaign, run_case, targets


def test_the_short_run_knows_all_targets():
    assert SHORT_CASES.keys() == targets().keys() - provocations.ALL.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "sign"),
    [
        ("crash", "the worker ended with -11"),
        ("hang", "Timeout"),
        ("slow", "took 2 seconds of the processor"),
        ("memory", "MiB of memory for 100 bytes of input"),
        ("error", "KeyError: 'nothing'"),
        ("silence", "an error must say something"),
    ],
)
def test_what_must_be_found_is_found(target, sign):
    """Crash, hang, memory and the rest are seen, and the campaign goes on behind them."""
    hang_seconds = 5.0 if target == "hang" else 120.0
    found = list(batches(f"provoked-{target}", "test", 0, 2, limits=(1.0, hang_seconds)))
    assert sum(number for number, _ in found) == 2
    findings = [finding for _, finding in found if finding is not None]
    assert [finding["seed"] for finding in findings] == [f"test/provoked-{target}/{number}" for number in range(2)]
    assert all(sign in finding["found"] for finding in findings)


@pytest.mark.slow
def test_each_round_has_other_cases(tmp_path, capsys):
    report = tmp_path / "found.jsonl"
    assert campaign("test", None, ["provoked-error"], report, 2, 2) == 4
    assert "4 cases, 4 findings" in capsys.readouterr().out
    seeds = [json.loads(line)["seed"] for line in report.read_text().splitlines()]
    assert seeds == [f"test/provoked-error/{number}" for number in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize("target", SHORT_CASES)
def test_some_cases(target):
    for number in range(max(SHORT_CASES[target] // 100, 2)):
        run_case(target, f"test/{target}/{number}")
