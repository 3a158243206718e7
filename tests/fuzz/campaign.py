"""Random cases for everything that reads files: each case is determined by a target and a seed.

``python -m fuzz.campaign`` (with ``tests`` and ``src`` on the path; ``make fuzz``) runs a fixed number of cases of each
target, some three minutes, or with ``--minutes`` as many as fit. Cases run in worker processes, so that one that
crashes or hangs is reported and the next ones run. ``--replay SEED/TARGET/NUMBER`` runs a case again, in this process.
"""

import argparse
import contextlib
import ctypes
import faulthandler
import itertools
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from fuzz.limits import OverLimit

# A case that takes longer is run again, because it may have compiled something; then it is a finding.
SLOW_SECONDS = 10.0
# A worker that works on one case for so long ends itself and says where it was.
HANG_SECONDS = 600.0
# Cases of a target in the short run, which CI makes.
SHORT_CASES = {
    "tu-folder": 1500,
    "tu-zip": 1000,
    "model": 500,
    "predictor": 150,
    "molecule-model": 100,
    "records": 400,
    "inputs": 1000,
    "molecules": 500,
    "graph-files": 400,
    "parquet": 300,
    "molecule-table": 400,
    "shards": 400,
    "splits": 500,
}
MARK = "\x1efuzz "


def targets() -> dict[str, Callable[[random.Random, Path], None]]:
    """Return the targets by name; imported here because the parent of the workers does without them."""
    from fuzz import data_sets, graphs, models, stores, tables

    return {
        "tu-folder": data_sets.folder_case,
        "tu-zip": data_sets.zip_case,
        "model": models.case,
        "predictor": models.predictor_case,
        "molecule-model": models.molecule_case,
        "records": stores.case,
        "inputs": graphs.case,
        "molecules": graphs.molecules_case,
        "graph-files": graphs.files_case,
        "parquet": tables.parquet_case,
        "molecule-table": tables.molecules_case,
        "shards": tables.shards_case,
        "splits": tables.splits_case,
        "crash": lambda rng, folder: ctypes.string_at(0),  # tests that crashes are found
    }


def run_case(name: str) -> None:
    """Run the case SEED/TARGET/NUMBER; whatever it raises is a finding."""
    case = targets()[name.split("/")[1]]
    with contextlib.suppress(OverLimit):
        return _run_once(case, name)
    return _run_once(case, name)


def _run_once(case: Callable[[random.Random, Path], None], name: str) -> None:
    computed = time.process_time()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        case(random.Random(name), Path(folder))
    computed = time.process_time() - computed
    if computed > SLOW_SECONDS:
        raise OverLimit(f"took {computed:.0f} seconds of the processor")


def work(seed: str, target: str, first: int, last: int) -> None:
    """Run cases in a worker; print the number of each before it, and what was found."""
    logging.getLogger("relaxwl").setLevel(logging.ERROR)  # oddities of data sets are expected here
    faulthandler.enable()
    for number in range(first, last):
        print(f"{MARK}case {number}", flush=True)
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)  # also while compiled code holds the interpreter
        try:
            run_case(f"{seed}/{target}/{number}")
        except BaseException:
            print(f"{MARK}found {traceback.format_exc()[-2000:]!r}", flush=True)
        faulthandler.cancel_dump_traceback_later()
    print(f"{MARK}case {last}", flush=True)


def findings(seed: str, target: str, first: int, last: int) -> Iterator[str]:
    """Run cases in workers; yield the findings. After a crash, another worker continues with the next case."""
    tests = Path(__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests.parent / "src"), str(tests)])}
    while first < last:
        command = [sys.executable, "-m", "fuzz.campaign", "--work", seed, target, str(first), str(last)]
        with tempfile.TemporaryFile() as errors:
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True) as worker:
                current = None
                for line in worker.stdout or ():
                    kind, _, rest = line.rpartition(MARK)[2].partition(" ")
                    if MARK in line and kind == "case":
                        current = int(rest)
                    elif MARK in line:
                        yield f"{seed}/{target}/{current}: {rest}"
            errors.seek(0)
            said = errors.read().decode(errors="replace")[-2000:]
        if current is None:
            raise RuntimeError(f"a worker could not start:\n{said}")
        if current < last:
            yield f"{seed}/{target}/{current}: the worker ended with {worker.returncode}\n{said}"
        first = current + 1


def main() -> int:
    """Parse the command line of a campaign and run it."""
    parser = argparse.ArgumentParser(description="Run random cases against everything in relaxwl that reads files.")
    parser.add_argument("--minutes", type=float, help="run for so long, with a seed that is printed")
    parser.add_argument("--seed", help="default: 0 for the short run, the time for a long one")
    parser.add_argument("--targets", nargs="+", default=list(SHORT_CASES), choices=list(SHORT_CASES))
    parser.add_argument("--replay", metavar="CASE", help="run one case again")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    import conftest  # noqa: F401 - sets the folder of compiled code, before Numba is imported

    if arguments.work:
        seed, target, first, last = arguments.work
        work(seed, target, int(first), int(last))
        return 0
    if arguments.replay:
        run_case(arguments.replay)
        return 0
    seed = arguments.seed or ("0" if arguments.minutes is None else str(time.time_ns()))
    print(f"seed {seed}")
    start, n_cases, n_found = time.monotonic(), 0, 0
    for number in itertools.count():
        for target in arguments.targets:
            size = SHORT_CASES[target]
            for finding in findings(seed, target, number * size, (number + 1) * size):
                n_found += 1
                print(f"FOUND {finding}", flush=True)
            n_cases += size
            minutes = (time.monotonic() - start) / 60
            print(f"{target}: {n_cases} cases so far, {n_found} findings, {minutes:.1f} minutes", flush=True)
            if arguments.minutes is not None and minutes > arguments.minutes:
                return min(n_found, 1)
        if arguments.minutes is None:
            return min(n_found, 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
