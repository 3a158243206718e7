"""Random cases by the thousand, each of them determined by a target and a seed.

``python -m fuzz.campaign`` (with ``tests`` and ``src`` on the path; ``make fuzz``) runs a fixed number of cases of each
target, or with ``--minutes`` as many as fit. Cases run in worker processes: one that crashes or hangs is found, written
to a file, and the campaign goes on behind it. ``--replay FILE`` runs the cases of such a file again, in this process.
"""

import argparse
import contextlib
import faulthandler
import json
import logging
import os
import random
import select
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from fuzz.limits import OverLimit

# No case may take longer than this, compiling apart: a slow one is run again, when all is compiled.
SLOW_SECONDS = 10.0
# On a machine with much else to do, a case may wait for the processor so many times as long as it may compute.
WAITING = 10
# A worker that is at one case for so long ends itself and says where it was: compiling takes long on a busy machine.
HANG_SECONDS = 600.0
# After so many seconds a worker leaves the rest to the next one, which starts with fresh memory.
WORKER_SECONDS = 300.0
# Cases of a target in the short run, which CI makes: together they take some three minutes.
SHORT_CASES = {
    "tu-folder": 1500,
    "tu-zip": 1500,
    "model": 400,
    "predictor": 150,
    "molecule-model": 100,
    "records": 600,
    "command-line": 300,
    "oracles": 1000,
    "inputs": 1500,
    "molecules": 800,
    "graph-files": 500,
    "parquet": 500,
    "molecule-table": 500,
    "shards": 500,
    "splits": 1000,
    "unary": 500,
    "vectors": 500,
    "targets": 40,
    "names": 250,
    "index": 250,
    "storage": 1000,
    "windows": 6,
    "faults": 6,
}


def targets() -> dict[str, Callable[[random.Random, Path], None]]:
    """Return the targets by name; imported here because the parent of the workers does without them."""
    from fuzz import (
        command_line,
        data_sets,
        faults,
        features,
        fields,
        graphs,
        models,
        oracles,
        provocations,
        stores,
        tables,
    )
    from fuzz import windows as write_windows

    def both(*cases: Callable[[random.Random, Path], None]) -> Callable[[random.Random, Path], None]:
        return lambda rng, folder: [case(rng, folder) for case in cases] and None

    return {
        "tu-folder": data_sets.folder_case,
        "tu-zip": data_sets.zip_case,
        "model": both(models.case, fields.kernel_case),
        "predictor": both(models.predictor_case, fields.predictor_case),
        "molecule-model": both(models.molecule_case, fields.molecule_case),
        "records": stores.case,
        "command-line": command_line.case,
        "oracles": oracles.case,
        "inputs": graphs.case,
        "molecules": graphs.molecules_case,
        "graph-files": graphs.files_case,
        "parquet": tables.parquet_case,
        "molecule-table": tables.molecules_case,
        "shards": tables.shards_case,
        "splits": tables.splits_case,
        "unary": features.unary_case,
        "vectors": features.vectors_case,
        "targets": features.targets_case,
        "names": features.names_case,
        "index": features.index_case,
        "storage": faults.storage_case,
        "windows": write_windows.case,
        "faults": faults.case,
        **provocations.ALL,
    }


def run_case(target: str, seed: str, slow_seconds: float = SLOW_SECONDS) -> None:
    """Run one case; whatever it raises is a finding. What is over a limit is run again, when all is compiled."""
    case = targets()[target]
    with contextlib.suppress(OverLimit):
        return _run_once(case, seed, slow_seconds)
    return _run_once(case, seed, slow_seconds)


def _run_once(case: Callable[[random.Random, Path], None], seed: str, slow_seconds: float) -> None:
    start, computed = time.monotonic(), time.process_time()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        case(random.Random(seed), Path(folder))
    waited, computed = time.monotonic() - start, time.process_time() - computed
    if computed > slow_seconds or waited > WAITING * slow_seconds:
        raise OverLimit(f"took {computed:.0f} seconds of the processor and {waited:.0f} of the clock")


# ---------------------------------------------------------------------------------------------------------- workers


def work(target: str, seed: str, first: int, last: int, limits: tuple[float, float]) -> None:
    """Run cases until there are no more or the time is over; say which one is next, and what was found."""
    slow_seconds, hang_seconds = limits
    faulthandler.enable()
    targets()  # importing is not part of the first case
    start = time.monotonic()
    for number in range(first, last):
        if time.monotonic() - start > WORKER_SECONDS:
            break
        _say({"case": number})
        # Works also where Python does not: it is a thread of its own without the interpreter's lock.
        faulthandler.dump_traceback_later(hang_seconds, exit=True)
        try:
            run_case(target, f"{seed}/{target}/{number}", slow_seconds)
        except BaseException:
            _say({"case": number, "found": traceback.format_exc()[-4000:]})
        faulthandler.cancel_dump_traceback_later()
        _say({"done": number})


def _say(message: dict[str, object]) -> None:
    sys.__stdout__.write(f"\x1efuzz {json.dumps(message)}\n")
    sys.__stdout__.flush()


def _environment() -> dict[str, str]:
    """Return an environment in which a worker finds this file and the package, however we were started ourselves."""
    tests = Path(__file__).resolve().parents[1]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests.parent / "src"), str(tests)])}


def batches(
    target: str, seed: str, first: int, last: int, limits: tuple[float, float] = (SLOW_SECONDS, HANG_SECONDS)
) -> Iterator[tuple[int, dict[str, str] | None]]:
    """Run cases in workers; yield how many were done since the last time, and a finding or None."""
    while first < last:
        command = [sys.executable, "-m", "fuzz.campaign", "--work", target, seed, str(first), str(last)]
        command += ["--limits", *map(str, limits)]
        begun = None
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=_environment()
            ) as worker,
        ):
            for message in _messages(worker, 2 * limits[1] + 60):
                if "done" in message:
                    first = int(message["done"]) + 1
                    yield 1, None
                elif "found" in message:
                    yield 0, _finding(target, seed, first, message["found"])
                else:
                    begun = int(message["case"])
            worker.kill()
            code = worker.wait()
            errors.seek(0)
            said = errors.read().decode(errors="replace")
            said = said if len(said) < 6000 else f"{said[:4000]}\n…\n{said[-2000:]}"  # where it was, and what came last
        if begun == first:  # it did not come to the end of this one
            yield 1, _finding(target, seed, first, f"{said}\nthe worker ended with {code}")
            first += 1
        elif begun is None:
            raise RuntimeError(f"a worker could not start:\n{said}")


def _messages(worker: subprocess.Popen, silent_seconds: float) -> Iterator[dict[str, str]]:
    """Yield what a worker says, until it ends or is silent for too long."""
    rest = b""
    while select.select([worker.stdout], [], [], silent_seconds)[0]:
        content = worker.stdout.read1(2**16)
        if not content:
            return
        *lines, rest = (rest + content).split(b"\n")
        for line in lines:
            _, mark, message = line.partition(b"\x1efuzz ")
            if mark:
                yield json.loads(message)


def _finding(target: str, seed: str, number: int, text: str) -> dict[str, str]:
    return {"target": target, "seed": f"{seed}/{target}/{number}", "found": text}


# --------------------------------------------------------------------------------------------------------- campaigns


def campaign(
    seed: str, minutes: float | None, names: list[str], report: Path, cases: int | None, least_rounds: int = 1
) -> int:
    """Run all targets in turn; return how many findings there are."""
    print(f"seed {seed}; findings go to {report}")
    done: Counter[str] = Counter()
    found: Counter[str] = Counter()
    start, first, rounds = time.monotonic(), dict.fromkeys(names, 0), 0
    while rounds < least_rounds or (minutes is not None and time.monotonic() - start < 60 * minutes):
        for name in names:
            last = first[name] + (cases or SHORT_CASES[name])
            for n_cases, finding in batches(name, seed, first[name], last):
                done[name] += n_cases
                if finding is not None:
                    found[name] += 1
                    with report.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(finding) + "\n")
                    print(f"FOUND {finding['seed']}: {finding['found'].strip().splitlines()[-1][:300]}")
                if minutes is not None and time.monotonic() - start > 60 * minutes:
                    break
            first[name] = last
            print(f"{name}: {done[name]} cases, {found[name]} findings, {time.monotonic() - start:.0f} s", flush=True)
        rounds += 1
    print(f"{sum(done.values())} cases, {sum(found.values())} findings: {json.dumps(done)}")
    return sum(found.values())


def main() -> int:
    """Parse the command line of a campaign."""
    parser = argparse.ArgumentParser(description="Run random cases against relaxwl.")
    parser.add_argument("--minutes", type=float, help="run for so long, with a seed that is printed")
    parser.add_argument(
        "--rounds", type=int, default=1, help="how often to run the cases of all targets, each time others"
    )
    parser.add_argument("--seed", help="default: 0 for the short run, the time for a long one")
    parser.add_argument("--targets", nargs="+", default=list(SHORT_CASES), choices=list(SHORT_CASES))
    parser.add_argument("--cases", type=int, help="cases of each target in a round")
    parser.add_argument("--report", type=Path, default=Path("build/fuzz/found.jsonl"))
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run the cases of a report again")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--limits", nargs=2, type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    import conftest  # noqa: F401 - sets the folder of compiled code, before Numba is imported

    if arguments.work:
        target, seed, first, last = arguments.work
        logging.getLogger("relaxwl").setLevel(logging.ERROR)  # what is odd in a data set is the point here
        work(target, seed, int(first), int(last), tuple(arguments.limits))
        return 0
    if arguments.replay:
        for line in arguments.replay.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            print(f"replaying {case['seed']}")
            run_case(case["target"], case["seed"])
        return 0
    seed = arguments.seed or ("0" if arguments.minutes is None else str(time.time_ns()))
    arguments.report.parent.mkdir(parents=True, exist_ok=True)
    return min(
        campaign(seed, arguments.minutes, arguments.targets, arguments.report, arguments.cases, arguments.rounds), 1
    )


if __name__ == "__main__":
    sys.exit(main())
