"""Try mutants: change the code in one small place after another, and see whether a test notices.

``make mutate`` calls this. Every folder below has tests of its own; a sample of the mutants of cosmic-ray is tried, the
same for the same seed, because each costs a run of these tests. All happens in a copy of the project in
``build/mutation``. Left out are compiled code, as Numba's cache would hide a change, and type annotations, as any
change there stops the import.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutation"
# What is mutated, and the tests that should notice.
TARGETS = {
    "src/relaxwl/evaluation": "tests/evaluation",
    "src/relaxwl/kernels": "tests/kernels",
    "src/relaxwl/clustering/kmeans.py": "tests/clustering",
    "src/relaxwl/unfolding": "tests/unfolding",
}
# Times that a mutant may take, compared with the tests as they are, before it counts as killed.
PATIENCE = 4.0


def main() -> int:
    """Try a sample of the mutants of each target and say how many live."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=40, help="mutants of each target (default 40)")
    parser.add_argument("--seed", type=int, default=0, help="which of them")
    parser.add_argument("--only", nargs="+", default=list(TARGETS), help="paths to mutate (default: all targets)")
    arguments = parser.parse_args()
    copy_project()
    for path in arguments.only:
        tests = next((tests for target, tests in TARGETS.items() if path.startswith(target)), "tests")
        report(path, tests, arguments.sample, arguments.seed)
    return 0


def copy_project() -> None:
    """Copy what the tests need; what an earlier run compiled stays."""
    for name in ("src", "tests"):
        shutil.rmtree(COPY / name, ignore_errors=True)
        shutil.copytree(ROOT / name, COPY / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "pyproject.toml", COPY)


def report(path: str, tests: str, sample: int, seed: int) -> None:
    """Try mutants of one target, and print those that live."""
    found = mutants(path)
    chosen = random.Random(seed).sample(found, min(sample, len(found)))
    limit = PATIENCE * baseline(tests)
    print(f"{path}: {len(found)} mutants, {len(chosen)} are tried", flush=True)
    n_living = 0
    for mutant in chosen:
        if lives(mutant, tests, limit):
            n_living += 1
            place = f"{Path(mutant.module_path).relative_to(COPY)}:{mutant.start_pos[0]}:{mutant.start_pos[1]}"
            print(f"  lives: {place} {mutant.operator_name} #{mutant.occurrence}", flush=True)
    print(f"{path}: {n_living} of {len(chosen)} live", flush=True)


def mutants(path: str) -> list:
    """Return all mutants of a file, or of the files of a folder."""
    from cosmic_ray.commands import init
    from cosmic_ray.work_db import WorkDB, use_db

    files = [COPY / path] if path.endswith(".py") else sorted((COPY / path).rglob("*.py"))
    with (
        tempfile.TemporaryDirectory() as folder,
        use_db(str(Path(folder) / "mutants.sqlite"), WorkDB.Mode.create) as db,
    ):
        init([file for file in files if not file.name.endswith("_compiled.py")], db, {})
        found = [mutation for item in db.work_items for mutation in item.mutations]
    spans = {file: annotations(file) for file in files}
    return [
        mutant
        for mutant in found
        if not any(begin <= tuple(mutant.start_pos) < end for begin, end in spans[Path(mutant.module_path)])
    ]


def annotations(file: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where the type annotations of a file begin and end."""
    nodes = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        nodes += [part for part in (getattr(node, "annotation", None), getattr(node, "returns", None)) if part]
    return [((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)) for node in nodes]


def baseline(tests: str) -> float:
    """Return the seconds that the tests take as they are; they must pass."""
    run([tests], None)  # compiles what is not compiled
    started = time.monotonic()
    if not run([tests], None):
        raise SystemExit(f"{tests} do not pass without a mutant; see: cd {COPY} && pytest {tests}")
    return time.monotonic() - started


def lives(mutant, tests: str, limit: float) -> bool:
    """Apply a mutant, run the tests, those of its own module first, put the file back, and say whether they passed."""
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    file = Path(mutant.module_path)
    inner = file.relative_to(COPY / "src" / "relaxwl")
    own = Path("tests") / inner.parent / f"test_{inner.name}"
    operator = get_operator(mutant.operator_name)(**(mutant.operator_args or {}))
    with use_mutation(file, operator, mutant.occurrence):
        return run([str(own), tests] if (COPY / own).exists() else [tests], limit)


def run(tests: list[str], limit: float | None) -> bool:
    """Return whether the tests pass in time."""
    environment = {**os.environ, "PYTHONPATH": str(COPY / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("CI", None)  # tests may be skipped here: the data lie beside the project, not beside its copy
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
