"""Compiled code stands on NumPy, Numba and compiled code alone; import-linter cannot say so."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "relaxwl"
COMPILED = sorted(SOURCE.rglob("*_compiled.py"))
ALLOWED = {"math", "numba", "numpy", "typing"}
# Other compiled code, and the decorator that compiles it.
OURS = ("_compiled", "relaxwl._compiling.njit")


def imported(path):
    """Return the modules that a file imports; a package is what is imported from it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = SOURCE.parent / (node.module or "").replace(".", "/")
            yield from (f"{node.module}.{alias.name}" for alias in node.names) if module.is_dir() else [node.module]


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: str(path.relative_to(SOURCE)))
def test_compiled_code_imports_compiled_code_alone(path):
    foreign = [name for name in imported(path) if name.split(".")[0] not in ALLOWED and not name.endswith(OURS)]
    assert foreign == []


def test_there_is_compiled_code():
    assert len(COMPILED) >= 8
