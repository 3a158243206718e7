"""The command line with arguments at random: exit code 0 or 2, one line that says what is wrong, nothing left over."""

import contextlib
import functools
import io
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from fuzz.data_sets import _changed, _files
from fuzz.models import kernels, predictors
from fuzz.mutations import changed_bytes
from relaxwl.cli import main
from relaxwl.datasets import fetch, write_parquet

# Some cases run as a process of their own, as users run it.
PROCESS_SHARE = 0.01
NAMES = (
    "T|T.zip|egonets-9|nothing|./nothing|model.rwl|results||T/T_A.txt|/dev/null|X.npz|²|T.parquet|L|m.csv|m.smi|m.sdf"
)
NAMES = NAMES.split("|")
NUMBERS = "0|1|2|3|-1|0.5|1e3|nan|inf|²||99999999999999999999|x|1,2|0:0|0:1|1:0".split("|")
OPTIONS = {
    "features": ["--kernel", "--depth", "--partitions", "--clusters", "--similarity", "--normalize", "--edge-labels",
                 "--model", "--apply"],
    "kernel": ["--kernel", "--depth", "--partitions", "--clusters", "--similarity", "--normalize", "--edge-labels",
               "--model", "--apply"],
    "distance": ["--depth", "--edge-labels", "--svg"],
    "benchmark": ["--kernels", "--depths", "--C", "--protocol", "--time-limit", "--format", "--inner-folds", "--splits",
                  "--task", "--solver"],
    "report": ["--title", "--explorer"],
    "explain": ["--depth", "--partitions", "--edge-labels"],
    "shard": ["--graphs-per-shard"],
    "fit": ["--effort", "--time-limit", "--task", "--target", "--labels", "--scoring", "--validate", "--skip-targets",
            "--standardize", "--errors", "--directed"],
    "predict": ["--coverage", "--labels", "--errors", "--smiles"],
    "neighbors": ["-k", "--labels", "--errors", "--smiles"],
    "datasets": [],
}  # fmt: skip
# A table that names the files of the folder L, and molecules with gaps in their targets, in three formats.
MOLECULES = ["CCO", "CCN", "c1ccccc1", "CC(=O)O", "CCCC", "CCCl", "C1CCCCC1", "CO"]
TABLES = {
    "labels.csv": b"name,kind\n" + b"".join(b"%d,%s\n" % (n, (b"a", b"b")[n % 2]) for n in range(6)),
    "m.csv": b"smiles,y,z\n"
    + b"".join(b"%s,%d,%s\n" % (m.encode(), n % 2, b"" if n == 3 else b"%d.5" % n) for n, m in enumerate(MOLECULES)),
    "m.smi": "".join(f"{m} name{n}\n" for n, m in enumerate(MOLECULES)).encode(),
    "m.sdf": (
        b"methanol\n  x\n\n  2  1  0  0  0  0            999 V2000\n    0.0000    0.0000    0.0000 C   0  0\n"
        b"    1.4000    0.0000    0.0000 O   0  0\n  1  2  1  0\nM  END\n> <y>\n1\n\n$$$$\n"
    ),
}
COMMON = ["--json", "--quiet", "--seed", "--jobs"]
VALUES = {
    "--kernel": ["wl", "ve-hist", "sp", "rwl-star", "rwl", "gs", "wl-oa", "pwl", "wwl", "nothing"],
    "--kernels": ["wl", "ve-hist", "sp", "wl,ve-hist", "wl,,", "nothing"],
    "--depth": ["0", "1", "2", "3", "x", "-1"],
    "--partitions": ["1", "2", "0", "x"],
    "--clusters": ["sqrt", "log2", "2", "0.5", "1,0.5", "0", "-1", "nan", "x", "1e9", ","],
    "--similarity": ["dot", "intersection", "tanimoto", "x"],
    "--normalize": ["depth", "x"],
    "--model": ["model.rwl", "nowhere/x", "T", "X.npz"],
    "--apply": ["model.rwl", "nothing", "T.zip", "T"],
    "--svg": ["x.svg", "T", "nowhere/x.svg", "/dev/full"],
    "--depths": ["1", "0", "x", "9"],
    "--C": ["1", "0", "nan", "1e308", "1e-308"],
    "--protocol": ["transductive", "inductive", "x"],
    "--time-limit": ["0.001", "1", "0", "nan", "x"],
    "--format": ["text", "markdown", "csv", "latex", "x"],
    "--inner-folds": ["2", "3", "1", "999"],
    "--splits": ["splits.json", "random:2", "random:0", "scaffold:2", "T", "nothing", "model.rwl"],
    "--task": ["auto", "classification", "regression", "x"],
    "--solver": ["path", "libsvm", "x"],
    "--effort": ["quick", "quick", "x"],
    "--target": ["y", "z", "all", "x", "smiles"],
    "--labels": ["labels.csv", "labels.csv:kind", "labels.csv:all", "labels.csv:x", "nothing", "T", "m.csv:y"],
    "--scoring": ["roc_auc", "accuracy", "rmse", "spearman", "x"],
    "--validate": ["random", "scaffold", "x"],
    "--errors": ["raise", "skip", "nan", "x"],
    "--smiles": ["smiles", "SMILES", "y", "x"],
    "--coverage": ["0.9", "0.5", "0", "1", "x"],
    "-k": ["1", "3", "0", "99", "x"],
    "--title": ["$x^{$", "<b>", "\udcff", ""],
    "--explorer": ["http://x", "nothing", "T/T_A.txt"],
    "--graphs-per-shard": ["1", "2", "0", "99999999999999999999", "x"],
    "--seed": ["0", "1", "4294967295", "4294967296", "-1", "99999999999999999999", "x"],
    "--jobs": ["1", "2", "-1", "0", "99999", "x"],
}


def case(rng: random.Random, folder: Path) -> None:
    """Run one command in a folder with a data set, which may be damaged."""
    files = _files(rng)
    if rng.random() < 0.5:
        files = {"A": b"1,2\n2,3\n4,5\n6,7\n7,8\n9,10\n", "graph_indicator": b"1\n1\n1\n2\n2\n3\n3\n3\n4\n4\n",
                 "graph_labels": b"1\n-1\n1\n-1\n"}  # fmt: skip
    if rng.random() < 0.2:
        files = _changed(rng, files)
    (folder / "T").mkdir()
    for kind, content in files.items():
        (folder / "T" / f"T_{kind}.txt").write_bytes(content)
    (folder / "splits.json").write_text('[{"test": [0, 1], "model_selection": [{"train": [2], "validation": [3]}]}]')
    (folder / "L").mkdir()
    for number in range(6):
        (folder / "L" / f"{number}.edgelist").write_text("0 1\n1 2\n" + "2 0\n" * (number % 2))
    for name, content in TABLES.items():
        (folder / name).write_bytes(changed_bytes(rng, content) if rng.random() < 0.3 else content)
    for name, content in _models().items():
        (folder / name).write_bytes(content)
    arguments = _arguments(rng)
    with contextlib.chdir(folder):
        if rng.random() < PROCESS_SHARE:
            code, errors = _in_process(arguments)
        else:
            code, errors = _in_here(arguments)
        left = [path.name for path in Path().rglob("*.tmp")]
    assert code in (0, 2), f"exit code {code} of {arguments}: {errors[-2000:]}"
    assert "Traceback" not in errors, f"{arguments}: {errors[-2000:]}"
    assert code == 0 or errors.strip(), f"{arguments}: nothing is said"
    assert left == [], f"{arguments} left {left}"


@functools.cache
def _models() -> dict[str, bytes]:
    """Return files that commands read: a kernel, a predictor, and graphs as a table."""
    graphs, kernel = kernels()[0]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder, "T.parquet")
        write_parquet(path, graphs, np.arange(len(graphs)) % 2)
        return {"model.rwl": kernel, "predictor.rwl": predictors()[0][2], "T.parquet": path.read_bytes()}


def _arguments(rng: random.Random) -> list[str]:
    command = rng.choice(list(OPTIONS))
    arguments = [command]
    name = rng.choice(("T", "T", "T", rng.choice(NAMES)))
    match command:
        case "features" | "kernel":
            arguments += [name, "-o", rng.choice(("X.npz", "X.npz", "T", "nowhere/x", "/dev/full", "/dev/null", ""))]
        case "distance":
            arguments += [name, "--nodes", *(rng.choice(("0:0", "0:1", "1:0", rng.choice(NUMBERS))) for _ in range(2))]
        case "benchmark":
            arguments += [name, "--folds", rng.choice(("2", "2", "1", "9")), "--repeats", "1", "--out",
                          rng.choice(("results", "T/T_A.txt", "T"))]  # fmt: skip
        case "report":
            arguments += [rng.choice(("results", "T", "nothing", "T/T_A.txt")), "-o", rng.choice(("page.html", "T"))]
        case "explain":
            arguments += [name, "-o", rng.choice(("page.html", "T", "nowhere/x"))]
        case "shard":
            arguments += [name, "-o", rng.choice(("shards", "shards", "T", "T/T_A.txt", ""))]
        case "fit":
            arguments += [name, "-o", rng.choice(("new.rwl", "new.rwl", "T", "nowhere/x", "/dev/full", "T.parquet"))]
            arguments += ["--effort", "quick"]
        case "predict":
            model = rng.choice(("predictor.rwl", "predictor.rwl", "model.rwl", "T", "T.parquet", "nothing"))
            arguments += [model, name, "-o", rng.choice(("y.csv", "y.csv", "T", "/dev/full", model))]
        case "neighbors":
            arguments += [rng.choice(("predictor.rwl", "predictor.rwl", "model.rwl", "T")), name]
        case "datasets":
            target = rng.choice(("new.parquet", "new.parquet", "T.parquet", "nowhere/x.parquet", "T", "x"))
            actions = (["list"], ["stats", name], ["fetch", name], [], ["x"], ["convert", name, target])
            arguments += rng.choice(actions)
    for option in rng.sample(OPTIONS[command] + COMMON, rng.randrange(4)):
        arguments.append(option)
        if option in VALUES and rng.random() < 0.97:
            arguments.append(rng.choice((*VALUES[option], rng.choice(NUMBERS))))
    if rng.random() < 0.1:
        place = rng.randrange(len(arguments))
        arguments[place] = changed_bytes(rng, arguments[place].encode(errors="replace")).decode(
            errors="surrogateescape"
        )
        arguments[place] = arguments[place].replace("\0", "")
    if rng.random() < 0.1:
        arguments.insert(
            rng.randrange(len(arguments) + 1), rng.choice((*COMMON, *NAMES, *NUMBERS, "--help", "--version"))
        )
    return arguments


def _in_here(arguments: list[str]) -> tuple[int, str]:
    # No network, and a cache of this case alone.
    os.environ["RELAXWL_CACHE"] = "cache"
    fetch.BASE_URL, fetch.ATTEMPTS = "http://127.0.0.1:9", 1
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = ended.code or 0
    return code, errors.getvalue()


def _in_process(arguments: list[str]) -> tuple[int, str]:
    offline = "from relaxwl.datasets import fetch; fetch.BASE_URL, fetch.ATTEMPTS = 'http://127.0.0.1:9', 1"
    script = f"{offline}; from relaxwl import cli; cli.run()"
    environment = {**os.environ, "RELAXWL_CACHE": "cache"}
    command = [sys.executable, "-c", script, *arguments]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=200, env=environment)
    return ended.returncode, ended.stderr.decode(errors="replace")
