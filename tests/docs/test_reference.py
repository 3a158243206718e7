"""The reference lists every public name, and every name that it lists is there."""

import pkgutil
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import relaxwl

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "api.md").read_text(encoding="utf-8")
TABLES = re.findall(r"autosummary::.*?```", TEXT, re.S)
LISTED = [line.strip() for table in TABLES for line in table.splitlines() if re.match(r" {3}\w", line)]


def named(name: str) -> object:
    """Return what a dotted name below the package stands for."""
    *modules, last = name.split(".")
    return getattr(import_module(".".join(["relaxwl", *modules])), last)


@pytest.mark.parametrize("name", LISTED)
def test_what_is_listed_is_there(name):
    assert named(name).__doc__


def test_every_public_name_is_listed():
    missing = {name for name in relaxwl.__all__ if not isinstance(named(name), ModuleType)} - set(LISTED)
    assert not missing, f"docs/api.md lacks {sorted(missing)}: put each into the table of its kind"


def test_no_name_is_listed_twice():
    assert sorted(LISTED) == sorted(set(LISTED))


def test_files_and_names_in_instructions_for_contributors_are_there():
    text = (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\d\. .*(?:\n   .*)*", text, re.M)
    assert len(steps) > 10
    for step in steps:
        paths = [path for path in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./-]+)`", step) if "NAME" not in path]
        assert not [path for path in paths if not (DOCS.parent / path).is_file()], step
        sources = "".join((DOCS.parent / path).read_text(encoding="utf-8") for path in paths if path.endswith(".py"))
        names = re.findall(r"`([A-Z]+|_[a-z]+)`", step)
        assert not [name for name in names if sources and name not in sources], step


def test_every_stop_of_the_way_through_the_code_is_there():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    stops = re.findall(r"^\| \d+ \| `([\w.]+)` \| (.*) \|$", page, re.M)
    assert len(stops) > 10
    for stop, words in stops:
        for name in (stop, *re.findall(r"`(\w+\.[\w.]+)`", words)):
            if not name.endswith(".jsonl"):
                assert callable(pkgutil.resolve_name(f"relaxwl.{name}")), name
