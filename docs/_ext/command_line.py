"""Pages of the command line, written from its parser when the site is built, with the output of real runs."""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from relaxwl import cli

# The command whose output each page shows. They run in order in one folder, on embedded data or a table.
RUNS = {
    "demo": "relaxwl demo --graphs 60 --nodes 60 --repeats 1",
    "datasets stats": "relaxwl datasets stats egonets-1 egonets-4",
    "features": "relaxwl features egonets-1 -o X.npz --depth 2 --model kernel.rwl",
    "kernel": "relaxwl kernel egonets-1 -o K.npz --kernel wl --normalize",
    "distance": "relaxwl distance egonets-1 --depth 1 --nodes 0:0 1:5 --svg mapping.svg",
    "benchmark": "relaxwl benchmark egonets-1 --kernels ve-hist wl --repeats 1 --folds 5 --out results",
    "report": "relaxwl report results -o report.html",
    "explain": "relaxwl explain egonets-1 --depth 2 -o explorer.html",
    "compare": "relaxwl compare egonets-1 egonets-2 -o comparison.html",
    "fit": "relaxwl fit boiling_points.csv --target boiling_point -o model.rwl",
    "predict": "relaxwl predict model.rwl boiling_points.csv -o predictions.csv --page effects.html",
    "neighbors": "relaxwl neighbors model.rwl new.smi -k 3",
}
TABLE = Path(__file__).resolve().parents[2] / "examples" / "molecules" / "boiling_points.csv"
COMMON = ("help", "json", "quiet", "debug", "seed", "jobs")
INTRODUCTION = """# Command line

`relaxwl COMMAND --help` shows inputs, outputs and an example of each command. Results are written to standard output,
progress and notes to standard error. Exit codes: 0 success, 2 bad input (with one line of explanation), 130
interrupted, 1 any other error.

"""


def commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield each command that does something: its name, its summary, its parser."""
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, sub in action.choices.items():
            inner = list(commands(sub))
            yield from ((f"{name} {below}", summary, last) for below, summary, last in inner)
            if not inner:
                yield name, summaries.get(name, ""), sub


def page(name: str, parser: argparse.ArgumentParser, output: str | None) -> str:
    """Return a command's page in Markdown."""
    description, example = parser.description or "", (parser.epilog or "").removeprefix("example: ")
    parts = [f"# relaxwl {name}", _with_literals(description)]
    if output is not None:
        parts += ["```console", f"$ {RUNS[name]}\n{output.rstrip()}", "```"]
    if example and (output is None or example != RUNS[name]):
        parts += [f"{'Another example' if output is not None else 'Example'}:", "```sh", example, "```"]
    parts += ["## Arguments", _arguments(parser)]
    text = "\n\n".join(parts) + "\n"
    return re.sub(r"(```\w+\n)\n|\n(\n```\n)", r"\1\2", text)


def _arguments(parser: argparse.ArgumentParser) -> str:
    lines = []
    # Arguments of the command first, then those that all commands have.
    for action in sorted(parser._actions, key=lambda action: action.dest in COMMON):
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        lines.append(f"`{_invocation(action)}`\n: {_with_literals((action.help or '').replace('%%', '%'))}\n")
    return "\n".join(lines)


def _with_literals(text: str) -> str:
    """Write the options in a text as literals, which stay whole at the end of a line."""
    return re.sub(r"(?<![\w`-])--[a-zA-Z][\w-]*", r"`\g<0>`", text)


def _invocation(action: argparse.Action) -> str:
    """Return how an argument is written: its names and what follows them."""
    several = {"*": " …", "+": " …", "?": ""}
    value = "|".join(map(str, action.choices)) if action.choices and action.metavar is None else None
    value = value or (action.metavar if isinstance(action.metavar, str) else None) or action.dest.upper()
    repeated = value + several.get(str(action.nargs), "")
    if isinstance(action.nargs, int) and action.nargs > 1:
        repeated = " ".join([value] * action.nargs)
    if not action.option_strings:
        return repeated
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {f'[{repeated}]' if action.nargs == '?' else repeated}"


def outputs() -> dict[str, str]:
    """Run every command of ``RUNS`` and return what it printed."""
    seen = {}
    places = [str(Path(cli.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places)), "COLUMNS": "100"}
    with TemporaryDirectory() as folder:
        shutil.copy(TABLE, folder)
        Path(folder, "new.smi").write_text("CCCCCCCCCO 1-nonanol\nCc1ccco1 2-methylfuran\n", encoding="utf-8")
        for name, line in RUNS.items():
            run = subprocess.run(
                [sys.executable, "-m", "relaxwl.cli", *shlex.split(line)[1:]],
                cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False,
            )  # fmt: skip
            if run.returncode:
                raise RuntimeError(f"{line!r} failed: {run.stderr}")
            seen[name] = run.stdout
    return seen


def write_pages(app: Any, config: Any) -> None:
    """Write all pages into the folder command-line of the sources, and leave those alone that have not changed."""
    folder = Path(app.srcdir) / "command-line"
    folder.mkdir(exist_ok=True)
    seen = outputs() if config.command_line_runs else {}
    pages = {}
    rows = ["| command | purpose |", "|---|---|"]
    for name, summary, parser in commands(cli._parser()):
        file = re.sub(r"\W+", "-", name)
        pages[f"{file}.md"] = page(name, parser, seen.get(name))
        rows.append(f"| [`relaxwl {name}`]({file}.md) | {summary} |")
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *(name.removesuffix(".md") for name in pages), "```"])
    pages["index.md"] = INTRODUCTION + "\n".join(rows) + "\n\n" + toctree + "\n"
    for old in folder.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Register the extension: pages are written before Sphinx reads any."""
    app.add_config_value("command_line_runs", True, "env", bool)
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
