"""The package as a whole: its names are there, and come when they are used."""

import re
import subprocess
import sys
import tomllib
from collections import Counter

import pytest

import relaxwl
from places import SOURCE


@pytest.mark.slow
def test_every_public_name_is_there_and_imported_when_first_used():
    program = (
        "import pickle, sys, relaxwl\n"
        "assert 'numpy' not in sys.modules\n"
        "assert set(relaxwl.__all__) <= set(dir(relaxwl))\n"
        "assert relaxwl.evaluation.cross_validate and relaxwl.clustering.partitioners\n"
        "from relaxwl import *\n"
        "from relaxwl import RelaxedWeisfeilerLehman as again\n"
        "assert again is RelaxedWeisfeilerLehman is relaxwl.kernels.RelaxedWeisfeilerLehman\n"
        "assert pickle.loads(pickle.dumps(again(max_depth=2))).max_depth == 2\n"
        "assert all(getattr(relaxwl, name) is globals()[name] for name in relaxwl.__all__)\n"
        "assert not hasattr(relaxwl, 'nonsense')"
    )
    subprocess.run([sys.executable, "-c", program], timeout=120, check=True)


def test_the_version_is_the_same_everywhere():
    root = SOURCE.parents[1]
    assert relaxwl.__version__ == relaxwl._version.__version__
    assert f"version: {relaxwl.__version__}\n" in (root / "CITATION.cff").read_text("utf-8")
    assert f"version = {{{relaxwl.__version__}}}," in (root / "docs" / "cite.md").read_text("utf-8")
    assert f'version = "{relaxwl.__version__}"' in (root / "conda" / "meta.yaml").read_text("utf-8")
    assert f"## {relaxwl.__version__} " in (root / "CHANGELOG.md").read_text("utf-8")


def test_requirements_are_the_same_everywhere():
    """In the conda recipe, in the workflow of tests, and in the sentences that list supported versions."""
    root = SOURCE.parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    names = ("conda/meta.yaml", ".github/workflows/tests.yml", "CONTRIBUTING.md", "docs/start.md")
    recipe, workflow, contributing, start = ((root / name).read_text("utf-8") for name in names)
    needed = {requirement.replace(" ", "") for requirement in project["dependencies"]}
    listed = recipe[recipe.index("  run:\n") : recipe.index("\ntest:")]
    found = {line.strip(" -").replace(" ", "") for line in listed.splitlines()[1:]}
    assert found == needed | {f"python{project['requires-python']}"}
    oldest = dict(re.fullmatch(r"([\w-]+)>=([\d.]+).*", requirement).groups() for requirement in needed)
    for name, title in (("numpy", "NumPy"), ("scipy", "SciPy"), ("scikit-learn", "scikit-learn"), ("numba", "Numba")):
        assert f"{title} {oldest[name]}" in contributing
    pythons = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert f"python: {str(pythons).replace(chr(39), chr(34))}" in workflow
    assert "os: [ubuntu-latest, macos-latest, windows-latest]" in workflow
    assert "--resolution lowest-direct" in workflow
    assert f"Python {pythons[0]} to {pythons[-1]}." in start


def test_no_names_differ_by_case_alone():
    """Files of the repository, and pages of the documentation, which are called as what they describe."""
    root = SOURCE.parents[1]
    folders = [root / name for name in ("src", "tests", "docs", "examples", "benchmarks")]
    files = [str(path) for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts]
    pages = re.findall(r"^ +(relaxwl\.[\w.]+|[\w.]+)$", (root / "docs" / "api.md").read_text("utf-8"), re.MULTILINE)
    for names in (files, pages):
        assert not [name for name, count in Counter(map(str.casefold, names)).items() if count > 1]
