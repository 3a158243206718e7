"""Docstrings of public names have all sections of numpydoc, and none begins with a question."""

import ast
import inspect
import pkgutil
import re
from importlib import import_module

import pytest

import relaxwl
from places import SOURCE

CODES = {
    "PR01": "a parameter without a description",
    "PR02": "a description of an unknown parameter",
    "PR07": "a parameter without a sentence about it",
    "RT01": "no section Returns",
    "RT03": "a result without a sentence about it",
    "GL08": "no docstring",
    "SA01": "no section See Also",
    "EX01": "no section Examples",
}
OF_METHODS = CODES.keys() - {"SA01", "EX01"}
QUESTION = re.compile(r"(?:What|Which|Who|How|Where|Why)\b")


def public_modules():
    """Yield the modules without an underscore that say what is public."""
    for found in pkgutil.walk_packages(relaxwl.__path__, "relaxwl."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            module = import_module(found.name)
            if hasattr(module, "__all__"):
                yield module


def unsigned(value):
    """Return the code of parameters if users do not call ``value``: a protocol, or a class with private parameters."""
    is_private = inspect.isclass(value) and any(name.startswith("_") for name in getattr(value, "__annotations__", ()))
    return {"PR01"} if is_private or getattr(value, "_is_protocol", False) else set()


def reference():
    """Yield the modules and names in the lists of docs/api.md."""
    for full in re.findall(
        r"^   (?!:)([\w.]+)$", (SOURCE.parents[1] / "docs" / "api.md").read_text("utf-8"), re.MULTILINE
    ):
        module, _, name = f"relaxwl.{full}".rpartition(".")
        yield import_module(module), name


def public_objects():
    """Return functions, classes and methods, also inherited from ours, by name, and the codes that count for each."""
    found = {}
    exported = [(module, name) for module in (relaxwl, *public_modules()) for name in module.__all__]
    for module, name in (*exported, *reference()):
        value = getattr(module, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            found[f"{value.__module__}.{value.__qualname__}"] = value, CODES.keys() - unsigned(value)
        if inspect.isclass(value):
            for base in value.__mro__:
                own = vars(base) if base.__module__.startswith("relaxwl") else {}
                for label, method in own.items():
                    function = getattr(method, "__func__", method)
                    if not label.startswith("_") and inspect.isfunction(function):
                        found[f"{base.__module__}.{function.__qualname__}"] = function, OF_METHODS
    return found


def test_public_docstrings_are_complete():
    validation = pytest.importorskip("numpydoc.validate", reason="numpydoc checks docstrings; pip install numpydoc")
    objects = public_objects()
    assert len(objects) > 200
    missing = {}
    for name, (value, codes) in objects.items():
        errors = validation.validate(validation.get_doc_object(value))["errors"]
        if lacks := [message for code, message in errors if code in codes]:
            missing[name] = lacks
    assert not missing, "\n".join(f"{name}: {'; '.join(lacks)}" for name, lacks in missing.items())


def test_documented_defaults_are_those_of_the_signatures():
    docscrape = pytest.importorskip("numpydoc.docscrape", reason="numpydoc reads docstrings; pip install numpydoc")
    wrong = []
    for name, (value, _) in public_objects().items():
        read = docscrape.ClassDoc if inspect.isclass(value) else docscrape.FunctionDoc
        is_error = inspect.isclass(value) and issubclass(value, Exception)  # may lack a signature
        signature = {} if is_error else inspect.signature(value).parameters
        for names, kind, _ in read(value)["Parameters"]:
            for parameter in names.replace("*", "").split(", "):
                default = signature[parameter].default if parameter in signature else inspect.Parameter.empty
                stated = re.search(r", default=(.*)", kind)
                if stated and ast.literal_eval(stated[1]) != default:
                    wrong.append(f"{name}: {parameter} : {kind}, but the default is {default!r}")
                is_open = default is inspect.Parameter.empty or kind == "ignored"
                if not (stated or is_open or kind.endswith("optional")):
                    wrong.append(f"{name}: {parameter} : {kind} lacks default={default!r}")
    assert not wrong, "\n".join(wrong)


def test_no_docstring_begins_with_a_question():
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        nodes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, documented)]
        texts = [ast.get_docstring(node) or "" for node in nodes]
        found += [f"{path.name}: {text.splitlines()[0]}" for text in texts if QUESTION.match(text)]
    assert not found, "begin with a verb such as Return, or with a noun"
