"""Records of benchmarks that resume: one JSON line for each set, method, split and repetition.

A record holds what was measured with the commit, the machine and the date beside it. A run that was stopped goes on
where it was.
"""

import json
import os
import platform
import subprocess
import sys
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[1] / "shared" / "data"
RECORDS = HERE / "records"
KEY = ("set", "method", "split", "repetition")


def commit():
    """Return the short name of the commit that runs, with a mark if the package was changed since."""

    def git(*words):
        return subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--", "../src")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if changed else "")


def machine():
    """Return the processor and the number of its cores."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return f"{model}, {os.cpu_count()} cores"


class Records:
    """A file of measured cells, read when it is opened, written line by line."""

    def __init__(self, path):
        self.path = Path(path)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.cells = {}
        for line in lines:
            record = json.loads(line)
            self.cells[tuple(record[name] for name in KEY)] = record
        self._commit = commit()

    def measure(self, key, compute):
        """Return the record of a cell; ``compute()`` gives its measures, a dict, if nobody has measured it yet."""
        if key in self.cells:
            return self.cells[key]
        started, cpu = time.perf_counter(), time.process_time()
        measures = compute()
        record = {
            **dict(zip(KEY, key, strict=True)),
            "measures": measures,
            "seconds": round(time.perf_counter() - started, 2),
            "cpu_seconds": round(time.process_time() - cpu, 2),
            "commit": self._commit,
            "machine": machine(),
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        self.cells[key] = record
        return record

    def fill(self, cells):
        """Measure (key, compute) pairs one after the other; an error is printed, and the next cell is tried."""
        for key, compute in cells:
            known = key in self.cells
            try:
                record = self.measure(key, compute)
            except Exception:  # whatever a method does to one set, the other sets are measured
                print(*key, "failed", file=sys.stderr, flush=True)
                traceback.print_exc()
                continue
            if not known:
                shown = {name: value for name, value in record["measures"].items() if isinstance(value, float)}
                print(*key, " ".join(f"{name} {value:.4g}" for name, value in shown.items()), flush=True)

    def values(self, measure, split=None):
        """Return {method: {set: mean over repetitions}} of a measure."""
        found = {}
        for (name, method, kind, _), record in self.cells.items():
            if measure in record["measures"] and split in (None, kind):
                found.setdefault(method, {}).setdefault(name, []).append(record["measures"][measure])
        return {method: {name: float(np.mean(v)) for name, v in sets.items()} for method, sets in found.items()}

    def source(self):
        """Return where the records come from, in one line."""
        commits = sorted({record["commit"] for record in self.cells.values()})
        dates = sorted({record["date"] for record in self.cells.values()})
        machines = sorted({record["machine"] for record in self.cells.values()})
        days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        return f"commits {', '.join(commits)}; {'; '.join(machines)}; {days}" if dates else "no records"


def markdown(header, rows):
    """Return a table in Markdown; numbers have three digits after the point."""

    def cell(value):
        return f"{value:.3f}" if isinstance(value, float) else "" if value is None else str(value)

    lines = ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(map(cell, row)) + " |" for row in rows)])
