"""Try mutants: change the code in one small place after another, and see whether a test notices.

``make mutate`` calls this. Every folder below has tests of its own; a sample of the mutants of cosmic-ray is tried, the
same for the same seed, because each costs a run of these tests. Compiled code is left out: Numba's cache would hide a
change. The changed file is put back afterwards, also after Ctrl-C.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What is mutated, and the tests that should notice.
TARGETS = {
    "src/relaxwl/evaluation": ["tests/evaluation"],
    "src/relaxwl/kernels": ["tests/kernels"],
    "src/relaxwl/clustering/kmeans.py": ["tests/clustering"],
    "src/relaxwl/unfolding": ["tests/unfolding"],
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
    for path in arguments.only:
        tests = next((tests for target, tests in TARGETS.items() if path.startswith(target)), ["tests"])
        report(path, tests, arguments.sample, arguments.seed)
    return 0


def report(path: str, tests: list[str], sample: int, seed: int) -> None:
    """Print the mutants of one target that live."""
    found = mutants(path)
    chosen = random.Random(seed).sample(found, min(sample, len(found)))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    limit = PATIENCE * baseline(command)
    living = [mutant for mutant in chosen if lives(mutant, command, limit)]
    print(f"{path}: {len(found)} mutants, {len(chosen)} tried, {len(living)} live", flush=True)
    for mutant in living:
        print(f"  {mutant.module_path}:{mutant.start_pos[0]} {mutant.operator_name} #{mutant.occurrence}", flush=True)


def mutants(path: str) -> list:
    """Return all mutants of a file, or of the files of a folder."""
    from cosmic_ray.commands import init
    from cosmic_ray.work_db import WorkDB, use_db

    files = [ROOT / path] if path.endswith(".py") else sorted((ROOT / path).rglob("*.py"))
    with (
        tempfile.TemporaryDirectory() as folder,
        use_db(str(Path(folder) / "mutants.sqlite"), WorkDB.Mode.create) as db,
    ):
        init([file for file in files if file.name != "_compiled.py"], db, {})
        return [mutation for item in db.work_items for mutation in item.mutations]


def baseline(command: list[str]) -> float:
    """Return the seconds that the tests take as they are; they must pass."""
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)  # compiles what is not compiled
    started = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return time.monotonic() - started


def lives(mutant, command: list[str], limit: float) -> bool:
    """Apply a mutant, run the tests, put the file back, and say whether they passed."""
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    operator = get_operator(mutant.operator_name)(**(mutant.operator_args or {}))
    with use_mutation(Path(mutant.module_path), operator, mutant.occurrence):
        try:
            return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=limit).returncode == 0
        except subprocess.TimeoutExpired:
            return False


if __name__ == "__main__":
    sys.exit(main())
