"""Templates of pages, and scripts assembled from their modules."""

import importlib.resources
import os
import re
from functools import cache
from html import escape
from string import Template

from relaxwl import drawing
from relaxwl._storage import atomic_write
from relaxwl._version import __version__

_IMPORT = re.compile(r'^import \{.*?\} from "\./(\w+)\.js";\n', re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def template(name: str) -> str:
    """Return a file of the folder ``templates``."""
    return (importlib.resources.files("relaxwl.reports") / "templates" / name).read_text(encoding="utf-8")


def write(path: str | os.PathLike[str], page: str) -> None:
    """Write a page to a file atomically; lone surrogates become "?"."""
    with atomic_write(path) as file:
        file.write(page.encode(errors="replace"))


def report(title: str, lead: str, body: str, *, explorer: str = "", provenance: str = "") -> str:
    """Return a page of sections; ``body`` and ``explorer`` are HTML, the rest is text."""
    return Template(template("report.html")).substitute(
        title=escape(title),
        version=escape(__version__),
        style=drawing.STYLE + template("report.css").strip(),
        lead=escape(lead),
        explorer=explorer,
        provenance=escape(provenance),
        body=body,
    )


@cache
def script(folder: str, entry: str = "page") -> str:
    """Return the modules of a folder of ``templates`` as one script, each after those that it imports.

    A self-contained page cannot load modules, so they are joined in one scope, without imports and exports. Top-level
    names must therefore be unique across modules.
    """
    placed: dict[str, str] = {}

    def place(module: str) -> None:
        if module in placed:
            return
        source = template(f"{folder}/{module}.js")
        for imported in _IMPORT.findall(source):
            place(imported)
        placed[module] = _EXPORT.sub("", _IMPORT.sub("", source))

    place(entry)
    return '"use strict";\n(() => {\n' + "\n".join(placed.values()) + "})();\n"
