"""Run every code block of every page in order, page by page, in a folder with links to benchmark data and examples.

A block after ``<!-- needs: torch -->`` (or another word) is skipped: it needs something that is not installed here.
A block of text directly after a block of code is its output and is compared; after ``<!-- varies -->`` it is the output
of one run and is not compared. ``PYTHONPATH=src:tests python tests/docs/test_pages.py PAGE …`` runs pages and writes
the outputs into them.
"""

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

from platforms import posix

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
GENERATED = ("api", "gallery", "command-line")
FOUND = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("[!_]*/*.md"))]
PAGES = [ROOT / "README.md", *(page for page in FOUND if page.parent.name not in GENERATED)]
BLOCK = re.compile(
    r"^(?:<!-- (?:needs: (?P<needs>[^>]+?)|(?P<varies>varies)) -->\n+)?```(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.M | re.S,
)
RUN = ("python", "sh")
SHOWN = ("text", "console", "json", "toml", "yaml", "bibtex")


class Block(NamedTuple):
    """A block of code, its line, and its output if the page shows it: text, start and end in the page."""

    language: str
    code: str
    line: int
    printed: str | None = None
    span: tuple[int, int] = (0, 0)
    varies: bool = False


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page that can be run here."""
    found: list[Block] = []
    end = None
    for match in BLOCK.finditer(text):
        language, code, line = match["language"], match["code"], text[: match.start("code")].count("\n") + 1
        assert language in RUN + SHOWN, f"line {line}: say how to test a block of {language}"
        if language == "text" and found and end is not None and not text[end : match.start()].strip():
            found[-1] = found[-1]._replace(printed=code, span=match.span("code"), varies=match["varies"] is not None)
        is_run = language in RUN and match["needs"] is None
        if is_run:
            found.append(Block(language, code, line))
        end = match.end() if is_run else None
    return found


def run_python(block: Block, page: Path, names: dict[str, object]) -> str:
    """Run a block of Python and return its output."""
    code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
    output = io.StringIO()
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("default")
        exec(code, names)
    return output.getvalue()


def run_shell(block: Block) -> str:
    """Run a block of shell commands and return their output."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}
    command = ["bash", "-e", "-c", block.code]
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False, timeout=280
    )
    assert run.returncode == 0, f"line {block.line}: {run.stderr}"
    return run.stdout


def outputs(page: Path, data: Path, folder: Path) -> list[tuple[Block, str]]:
    """Run a page in a folder and return its blocks with their outputs, trailing spaces removed."""
    for item in (*data.iterdir(), ROOT / "examples"):
        (folder / item.name).symlink_to(item)
    names: dict[str, object] = {"__name__": "page"}
    found = []
    for block in blocks(page.read_text(encoding="utf-8")):
        printed = run_shell(block) if block.language == "sh" else run_python(block, page, names)
        found.append((block, "".join(f"{line.rstrip()}\n" for line in printed.splitlines())))
    return found


@posix
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_code_block_runs(page, shared, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for block, printed in outputs(page, shared / "data", tmp_path):
        if block.printed is not None and not block.varies:
            assert printed == block.printed, f"{page.name}, line {block.line}: write the output anew"


def test_blocks_know_what_they_need_and_print():
    printing = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n"
    varying = "```sh\nls\n```\n\n<!-- varies -->\n```text\na b\n```\n"
    text = f"{printing}<!-- needs: torch -->\n```python\nimport torch\n```\n\n{varying}"
    found = [block._replace(span=(0, 0)) for block in blocks(text)]
    assert found == [Block("python", "print(1)\n", 2, "1\n"), Block("sh", "ls\n", 15, "a b\n", varies=True)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_has_a_language_and_a_real_output(page):
    text = page.read_text(encoding="utf-8")
    openings = re.findall(r"^```(.*)$", text, re.M)[::2]
    assert all(openings), f"{page.name}: a block without a language: call it text"
    shown = [block.printed for block in blocks(text) if block.printed]
    assert not any(re.search(r"^\.\.\.$| \.\.\.", printed, re.M) for printed in shown), "outputs are shown as they are"


@pytest.mark.parametrize("page", [*PAGES, BENCHMARKS / "README.md"], ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_benchmarks_have_these_options(page):
    commands = re.findall(r"(python benchmarks/|`)(\w+\.py)((?:\\\n|[^`|\n])*)", page.read_text(encoding="utf-8"))
    for start, name, arguments in commands:
        script = BENCHMARKS / name
        if start != "`" or page.parent == BENCHMARKS or script.is_file():
            text = script.read_text(encoding="utf-8")
            missing = [option for option in re.findall(r"--[\w-]+", arguments) if f'"{option}"' not in text]
            assert not missing, f"{page.name}: {name} has no {missing}"


def test_the_page_of_claims_has_the_texts_of_its_script():
    script = ast.parse((ROOT / "docs" / "make_claims.py").read_text(encoding="utf-8"))
    constants = [node.value for node in script.body if isinstance(node, ast.Assign)]
    texts = [node.value for node in constants if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    page = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert len(texts) == 8
    for text in texts:
        assert text.format(n=400 if "{sets}" in text else 80, sets=5).rstrip() in page


def main() -> None:
    """Run the pages given on the command line and write their outputs into them."""
    for name in sys.argv[1:]:
        page = Path(name).resolve()
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            found = outputs(page, ROOT.parent / "shared" / "data", Path(folder))
        for block, printed in reversed(found):
            if block.printed is not None:
                text = text[: block.span[0]] + printed + text[block.span[1] :]
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
