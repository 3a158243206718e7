"""Every code block on every page is run, in order, page by page, in an empty folder with the benchmark data in it.

A block behind ``<!-- needs: torch -->`` (or another word) is left out: it needs another machine, and the page says so.
A block of text directly behind a block of code is what the code must print; ``...`` in it stands for anything.
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

from platforms import posix

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ("api", "gallery", "command-line")
FOUND = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("[!_]*/*.md"))]
PAGES = [ROOT / "README.md", *(page for page in FOUND if page.parent.name not in GENERATED)]
BLOCK = re.compile(r"^(?:<!-- needs: (?P<needs>[^>]+?) -->\n+)?```(?P<language>\w+)\n(?P<code>.*?)^```$", re.M | re.S)
RUN = ("python", "sh")
SHOWN = ("text", "console", "json", "toml", "yaml", "bibtex")


class Block(NamedTuple):
    """A block of code, where it stands, and what it must print, if the page says."""

    language: str
    code: str
    line: int
    printed: str | None


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page that can be run here."""
    found: list[Block] = []
    end = None
    for match in BLOCK.finditer(text):
        language, code, line = match["language"], match["code"], text[: match.start("code")].count("\n") + 1
        assert language in RUN + SHOWN, f"line {line}: say how to test a block of {language}"
        if language == "text" and found and end is not None and not text[end : match.start()].strip():
            found[-1] = found[-1]._replace(printed=code)
        is_run = language in RUN and match["needs"] is None
        if is_run:
            found.append(Block(language, code, line, None))
        end = match.end() if is_run else None
    return found


def run_python(block: Block, page: Path, names: dict[str, object]) -> str:
    """Run a block of Python and return what it printed."""
    code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
    output = io.StringIO()
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("default")  # a page shows users what they would see
        exec(code, names)
    return output.getvalue()


def run_shell(block: Block) -> str:
    """Run a block of shell commands and return what they printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}
    command = ["bash", "-e", "-c", block.code]
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False, timeout=280
    )
    assert run.returncode == 0, f"line {block.line}: {run.stderr}"
    return run.stdout


@posix
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_code_block_runs(page, shared, tmp_path, monkeypatch):
    for data in (shared / "data").iterdir():
        (tmp_path / data.name).symlink_to(data)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, object] = {"__name__": "page"}
    checker = doctest.OutputChecker()
    for block in blocks(page.read_text(encoding="utf-8")):
        printed = run_shell(block) if block.language == "sh" else run_python(block, page, names)
        if block.printed is not None:
            same = checker.check_output(block.printed, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            assert same, f"{page.name}, line {block.line}: the page says\n{block.printed}\nbut it printed\n{printed}"


def test_blocks_know_what_they_need_and_print():
    printing = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n"
    text = f"{printing}<!-- needs: torch -->\n```python\nimport torch\n```\n\n```sh\nls\n```\n"
    assert blocks(text) == [Block("python", "print(1)\n", 2, "1\n"), Block("sh", "ls\n", 15, None)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_has_a_language(page):
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^```(.*)$", text, re.M)
    openings = fences[::2]
    assert all(openings), f"{page.name}: a block without a language: call it text"
