"""Every guarantee on the page about reliability names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_guarantees_name_tests_that_exist():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 20
    missing = [f"{path}::{name}" for path, name in named if f"def {name}(" not in (ROOT / path).read_text("utf-8")]
    assert not missing


def test_targets_of_the_campaign_are_listed():
    from fuzz.campaign import SHORT_CASES

    listed = PAGE[PAGE.index("| target | case |") : PAGE.index("### Cases run")]
    assert not [name for name in SHORT_CASES if f"`{name}`" not in listed]
