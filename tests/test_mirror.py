"""Tests mirror the folders of the package, and every module is imported by tests of its own folder."""

import re

import pytest

from places import SOURCE, TESTS

# Modules that no test imports, and why.
UNTESTED = {
    "kernels/baselines/_compiled.py": "a few functions for each baseline, tried by its oracle in the baseline's tests"
}
# Folders of tests that mirror none of the package, and what they look at instead.
APART = {
    "docs": "README.md, docs/ and examples/",
    "fuzz": "the campaign of random cases beside it",
    "journeys": "what users do from beginning to end",
    "matrix": "every source of graphs with every consumer",
    "reference": "outputs of kernels and predictors that must not change by accident",
}

MODULES = [path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py")) if path.name != "__init__.py"]
FOLDERS = {"/".join(part.lstrip("_") for part in module.parent.parts) for module in MODULES}


def own_tests(module):
    """Return the text of the test files that lie in the folder of a module's tests."""
    folder = TESTS.joinpath(*(part.lstrip("_") for part in module.parent.parts))
    return "\n".join(path.read_text() for path in folder.glob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_module_is_tested_in_its_folder(module):
    *folders, name = ("relaxwl", *module.with_suffix("").parts)
    package = re.escape(".".join(folders))
    imported = rf"\b{package}\.{name}\b|\bfrom {package} import [^\n]*\b{name}\b"
    found = re.search(imported, own_tests(module)) is not None
    mirrored = (
        TESTS.joinpath(*(part.lstrip("_") for part in module.parent.parts)) / f"test_{name.lstrip('_')}.py"
    ).exists()
    assert (found or mirrored) == (module.as_posix() not in UNTESTED)


def test_every_folder_of_tests_mirrors_one_of_the_package():
    found = {path.relative_to(TESTS).parent.as_posix().removeprefix(".") for path in TESTS.rglob("test_*.py")}
    assert found - FOLDERS <= APART.keys()
