"""Try mutants: change the code in one small place after another, and see whether a test notices.

``make mutate`` calls this. Of each target below a sample of the mutants of cosmic-ray is tried, the same for the same
seed, in a copy of the project in ``build/mutation``. Type annotations are left out: any change there stops the import.

What makes a mutant cheap: the tests of its folder are run once, to see which of them reach which line. A mutant then
meets those that reach its own line, the tests of its own module first and quick ones before slow ones, up to the first
that fails. Each has a process of its own, forked from one that has imported the libraries, and a limit of time.
Compiled code cannot be watched line by line, and every mutant of it is compiled anew: all tests of the folder, so the
sample is smaller.
"""

import argparse
import ast
import compileall
import importlib
import os
import pickle
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest
from coverage import Coverage

# What every mutant needs is imported once, before processes are forked. The package itself must not be.
for _name in ("networkx", "numba", "scipy.sparse", "scipy.spatial.distance", "sklearn.svm"):
    importlib.import_module(_name)

ROOT = Path(__file__).resolve().parents[2]
# What is mutated, and the tests that should notice; examples in docstrings of what is mutated count as tests too.
TARGETS = {
    "src/relaxwl/evaluation": "tests/evaluation",
    "src/relaxwl/kernels": "tests/kernels",
    "src/relaxwl/clustering/kmeans.py": "tests/clustering",
    "src/relaxwl/unfolding": "tests/unfolding",
}
# A mutant that takes longer counts as noticed: seconds, and times what its tests take in the code as it is.
LIMIT = 30.0
PATIENCE = 4.0
# Seconds more where code is compiled.
COMPILING = 240.0
# Bytes that a mutant may ask for.
MEMORY = 8 << 30


def main() -> int:
    """Try a sample of the mutants of each target and say how many live."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=25, help="mutants of each target (default 25)")
    parser.add_argument("--compiled", type=int, default=0, help="mutants of each target's compiled code (default 0)")
    parser.add_argument("--seed", type=int, default=0, help="which of them")
    parser.add_argument("--only", nargs="+", default=list(TARGETS), help="paths to mutate (default: all targets)")
    arguments = parser.parse_args()
    for path in arguments.only:
        tests = next((tests for target, tests in TARGETS.items() if path.startswith(target)), "tests")
        with Project(path, tests) as project:
            for n_wanted, compiled in ((arguments.sample, False), (arguments.compiled, True)):
                if n_wanted:
                    project.report(n_wanted, arguments.seed, compiled)
    return 0


class Run:
    """Tests of one run: what was chosen, in what order, and how long each took."""

    def __init__(self, chosen: dict[str, int] | None = None) -> None:
        self.chosen = chosen
        self.seconds: dict[str, float] = {}
        self.coverage: Coverage | None = None

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen tests, in their order."""
        if self.chosen is not None:
            items[:] = sorted(
                (item for item in items if item.nodeid in self.chosen), key=lambda item: self.chosen[item.nodeid]
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterable[None]:
        """Say which test it is that lines are reached by."""
        if self.coverage:
            self.coverage.switch_context(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the seconds of a test."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


class Project:
    """A copy of the project, for the mutants of one target."""

    def __init__(self, path: str, tests: str) -> None:
        self.path, self.tests = path, tests
        self.folder = ROOT / "build" / "mutation" / Path(path).stem
        self.files = [Path(path)] if path.endswith(".py") else sorted(Path(path).rglob("*.py"))

    def __enter__(self) -> "Project":
        """Copy what the tests need, machine code included, and look which test reaches what."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, self.folder / name, ignore=shutil.ignore_patterns("*.pyc"))
        shutil.copy2(ROOT / "pyproject.toml", self.folder)
        os.chdir(self.folder)
        # Byte code that is valid for its source, not for a date: a mutant may be as old and as long as what it changes.
        compileall.compile_dir("src", quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        self.seconds, self.reached = self._baseline()
        return self

    def __exit__(self, *_: object) -> None:
        os.chdir(ROOT)

    def _baseline(self) -> tuple[dict[str, float], dict[Path, dict[int, set[str]]]]:
        """Return the seconds of each test, and the tests that reach each line; all must pass."""
        kept = Path("baseline.pickle")

        def watched() -> int:
            run = Run()
            run.coverage = Coverage(data_file=None, include=[str(file.resolve()) for file in self.files])
            run.coverage.start()
            # Without a limit: this run may compile.
            code = pytest.main([*OPTIONS, "--timeout", "0", self.path, self.tests], plugins=[run])
            run.coverage.stop()
            data = run.coverage.get_data()
            lines = {file: data.contexts_by_lineno(str(file.resolve())) for file in self.files}
            kept.write_bytes(pickle.dumps((run.seconds, lines)))
            return int(code)

        if forked(watched, None) != 0:
            raise SystemExit(f"{self.tests} do not pass without a mutant; see {self.folder / 'output.txt'}")
        seconds, lines = pickle.loads(kept.read_bytes())
        # What no test but the import reaches is left to all tests.
        reached = {
            file: {line: {test for test in tests if test} for line, tests in of_file.items()}
            for file, of_file in lines.items()
        }
        return seconds, reached

    def report(self, n_wanted: int, seed: int, compiled: bool) -> None:
        """Try some mutants, and print those that live."""
        found = self.mutants(compiled)
        chosen = random.Random(seed).sample(found, min(n_wanted, len(found)))
        what = f"{self.path}{', compiled code' if compiled else ''}"
        print(f"{what}: {len(found)} mutants, {len(chosen)} are tried", flush=True)
        n_living = sum(self.lives(mutant, compiled) for mutant in chosen)
        print(f"{what}: {n_living} of {len(chosen)} live", flush=True)

    def mutants(self, compiled: bool) -> list:
        """Return all mutants of the target, in compiled code or in the other."""
        from cosmic_ray.commands import init
        from cosmic_ray.work_db import WorkDB, use_db

        files = [file for file in self.files if file.name.endswith("_compiled.py") == compiled]
        with (
            tempfile.TemporaryDirectory() as folder,
            use_db(str(Path(folder) / "mutants.sqlite"), WorkDB.Mode.create) as db,
        ):
            init(files, db, {})
            found = [mutation for item in db.work_items for mutation in item.mutations]
        spans = {file: annotations(file) for file in files}
        return [
            mutant
            for mutant in found
            if not any(begin <= tuple(mutant.start_pos) < end for begin, end in spans[Path(mutant.module_path)])
        ]

    def lives(self, mutant, compiled: bool) -> bool:
        """Apply a mutant, run the tests that should notice, put the file back, and say whether all passed."""
        file, line = Path(mutant.module_path), mutant.start_pos[0]
        tests = self.noticing(file, line)
        limit = LIMIT + PATIENCE * sum(self.seconds[test] for test in tests) + (COMPILING if compiled else 0.0)
        run = Run({test: place for place, test in enumerate(tests)})
        of_files = sorted({test.partition("::")[0] for test in tests})
        started = time.monotonic()
        with mutated(mutant) as (before, after):
            code = forked(lambda: int(pytest.main([*OPTIONS, *of_files], plugins=[run])), limit)
        print(
            f"  {'LIVES' if code == 0 else 'noticed' if code else 'endless'}: {file}:{line} {before} -> {after} "
            f"({len(tests)} tests, {time.monotonic() - started:.0f} s)",
            flush=True,
        )
        return code == 0

    def noticing(self, file: Path, line: int) -> list[str]:
        """Return the tests that reach the statement of a line, or all; those of its module first, then quick ones."""
        reached = self.reached[file]
        of_statement = [reached.get(number, set()) for number in statement(file, line)]
        tests = set().union(*of_statement) & self.seconds.keys() or self.seconds.keys()
        own = (str(file), str(Path(self.tests) / f"test_{file.stem.strip('_')}.py"))
        by_file: dict[str, float] = {}
        for test in tests:
            place = test.partition("::")[0]
            by_file[place] = by_file.get(place, 0.0) + self.seconds[test]

        def place_in_queue(test: str) -> tuple[bool, float, str, float, str]:
            home = test.partition("::")[0]
            return (not home.endswith(own), by_file[home], home, self.seconds[test], test)

        return sorted(tests, key=place_in_queue)


# Of a mutant one failure is enough.
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout", "120"]


def forked(work: Callable[[], int], limit: float | None) -> int | None:
    """Return the exit code of a piece of work in a process of its own, or None if it takes too long."""
    child = os.fork()
    if not child:
        os.setsid()
        output = os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        code = 1
        try:
            code = work()
        finally:
            os._exit(code)
    started = time.monotonic()
    while limit is None or time.monotonic() - started < limit:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@contextmanager
def mutated(mutant) -> Iterable[tuple[str, str]]:
    """Change the file of a mutant for a while; yield the line as it was and as it is."""
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    operator = get_operator(mutant.operator_name)(**(mutant.operator_args or {}))
    with use_mutation(Path(mutant.module_path), operator, mutant.occurrence) as codes:
        before, after = (code.splitlines()[mutant.start_pos[0] - 1].strip() for code in codes)
        yield before, after


def statement(file: Path, line: int) -> range:
    """Return the lines of the innermost statement around a line; of a loop, a condition or a function, of its head."""
    spans = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno:
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body and body[0].lineno > node.lineno else node.end_lineno
            if line <= end:
                spans.append(range(node.lineno, end + 1))
    return min(spans, key=len, default=range(line, line + 1))


def annotations(file: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where the type annotations of a file begin and end."""
    nodes = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        nodes += [part for part in (getattr(node, "annotation", None), getattr(node, "returns", None)) if part]
    return [((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)) for node in nodes]


if __name__ == "__main__":
    sys.exit(main())
