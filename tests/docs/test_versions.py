"""Every file that names versions of Python or of dependencies names those of pyproject.toml."""

import re
import tomllib

import pytest

from places import TESTS

ROOT = TESTS.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))


def text_of(name):
    return (ROOT / name).read_text("utf-8")


def test_the_workflow_runs_every_python_and_the_oldest_versions():
    workflow = text_of(".github/workflows/tests.yml")
    assert re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow).group(1)) == PYTHONS
    oldest = workflow[workflow.index("  oldest:") : workflow.index("  lint:")]
    assert f'python-version: "{PYTHONS[0]}"' in oldest
    assert "--resolution lowest-direct" in oldest


@pytest.mark.parametrize("name", ["README.md", "docs/start.md", "docs/faq.md"])
def test_pages_name_the_pythons(name):
    assert f"{PYTHONS[0]} to {PYTHONS[-1]}" in text_of(name)
    after = int(PYTHONS[-1].removeprefix("3.")) + 1
    assert PROJECT["requires-python"] == f">={PYTHONS[0]},<3.{after}"


def test_the_recipe_for_conda_needs_the_same():
    (run,) = re.findall(r"  run:\n((?:    - .*\n)+)", text_of("conda/meta.yaml"))
    needed = {line.removeprefix("    - ").replace(" ", "") for line in run.splitlines()}
    assert needed == {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}
