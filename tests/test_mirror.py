"""Every module has its tests in a file of its name, and every file of tests a module."""

import pytest

from places import SOURCE, TESTS

# Modules without a file of their own, and why.
UNTESTED = {
    "kernels/baselines/_compiled.py": "a few functions for each baseline, tried by its oracle in the baseline's tests",
}
# Files of tests that mirror no module, and what they look at instead.
APART = {
    "test_mirror.py": "the tests themselves",
    "docs/test_examples.py": "examples/",
    "docs/test_pages.py": "README.md and docs/",
    "docs/test_reference.py": "docs/api.md and docs/architecture.md",
    "fuzz/test_fuzz.py": "the campaign of random cases beside it",
    "reports/test_explorer_browser.py": "the script of the explorer page, in a browser",
}


def place_of_tests(module):
    """Return where tests of a module belong: those of ``_compiling/keeping.py`` in ``compiling/test_keeping.py``."""
    *folders, name = (part.lstrip("_") for part in module.with_suffix("").parts)
    return "/".join([*folders, f"test_{name}.py"])


def place_of_package(folder):
    """Return where tests of a package as a whole belong: those of ``kernels/`` in ``kernels/test_kernels.py``."""
    folders = [part.lstrip("_") for part in folder.parts]
    return "/".join([*folders, f"test_{folders[-1] if folders else SOURCE.name}.py"])


MODULES = [path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py")) if path.name != "__init__.py"]
PACKAGES = [path.parent.relative_to(SOURCE) for path in sorted(SOURCE.rglob("__init__.py"))]


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_module_has_its_tests(module):
    assert (TESTS / place_of_tests(module)).is_file() == (module.as_posix() not in UNTESTED)


def test_every_file_of_tests_has_its_module():
    mirrors = {place_of_tests(module) for module in MODULES} | {place_of_package(folder) for folder in PACKAGES}
    found = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert found - mirrors == APART.keys()
