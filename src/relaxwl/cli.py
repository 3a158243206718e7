"""The command line: parses arguments and calls the commands."""

import argparse
import math
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from relaxwl import __version__
from relaxwl._registry import ENTRIES, estimator_names
from relaxwl._storage import check_folder_writable, check_writable
from relaxwl.commands.console import (
    Console,
    UserError,
    discard_output,
    error_text,
    print_error,
    watch_interrupts,
    write_any_text,
)

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
# Maximum depth of trees on a page: trees grow exponentially, and a page of deeper ones would take minutes to write.
DEEPEST_DRAWN = 8
# Maximum depth of other trees: that of kernels in model files.
DEEPEST = 1000

KERNELS = ", ".join(estimator_names())
NOT_PREDICTORS = ", ".join(entry.name for entry in ENTRIES if not entry.regressor)
SCORES = "accuracy, balanced_accuracy, roc_auc, average_precision, mcc, log_loss; rmse, mae, r2, spearman"
# Arguments that are paths, or lists of paths.
PATHS = (
    "dataset", "other", "source", "apply", "results", "model_file", "splits", "labels", "data", "output", "model",
    "svg", "page", "out", "explorer",
)  # fmt: skip
FORMATS = ("text", "markdown", "csv")
TASKS = ("auto", "classification", "regression")
TASK_HELP = "kind of the targets (default: numbers that are whole and repeat are classes)"
DATASET_HELP = (
    "folder or zip in TU layout, folder of .graphml, .gml or .edgelist files, .parquet file, table of molecules (.csv, "
    ".tsv, .smi, .sdf), egonets-1 … egonets-4 (embedded), or a name of the TU collection"
)


def run() -> NoReturn:
    """Run the command line as a program."""
    code = main()
    if code == EXIT_INTERRUPTED and hasattr(signal, "SIGINT"):
        # Threads end with their current chunk; a second Ctrl-C in the meantime should not print a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0 on success, 2 on bad input, 130 if it was interrupted, 1 if something else went wrong.
    """
    arguments = argparse.Namespace(quiet=False, debug=False)
    with watch_interrupts() as interrupted:
        try:
            write_any_text()
            arguments = _parser().parse_args(argv)
            _check_files(arguments)
            console = Console(arguments.quiet, arguments.json)
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_: console.note(f"note: {message}")
                # Imported on demand, so that ``relaxwl --help`` does not load numerics.
                module, function = arguments.run.split(":")
                getattr(import_module(f"relaxwl.commands.{module}"), function)(arguments, console)
        except BrokenPipeError:  # the reader of the output has closed it
            discard_output()
        except (KeyboardInterrupt, Exception) as error:
            # An interrupt may appear as another exception, for example as a failed import.
            if isinstance(error, KeyboardInterrupt) or interrupted():
                Console(arguments.quiet).note("\ninterrupted; files that were written are complete")
                return EXIT_INTERRUPTED
            if arguments.debug:
                raise
            return _fail(error)
    return 0


def _fail(error: Exception) -> int:
    """Print the error in one line and return the exit code."""
    if isinstance(error, (UserError, ValueError, TypeError, OSError, ImportError)):
        print_error(error_text(error))
        return EXIT_BAD_INPUT
    if isinstance(error, MemoryError):
        print_error("not enough memory; use fewer or smaller graphs, or a smaller depth")
    else:
        print_error(
            f"internal error, {type(error).__name__}: {error_text(error)} (--debug shows details; please report it)"
        )
    return EXIT_FAILED


def _check_files(arguments: argparse.Namespace) -> None:
    """Raise an error before the work if its result cannot be written or would replace an input."""
    for name in PATHS:
        given = getattr(arguments, name, None)
        if "" in (given if isinstance(given, list) else [given]):  # which pathlib reads as the current folder
            raise UserError(f"the argument {name} is empty; give a path")
    outputs = [path for name in ("output", "model", "svg", "page") if (path := getattr(arguments, name, None))]
    for path in outputs:
        check_writable(path)
    read = ("dataset", "other", "source", "apply", "results", "model_file", "splits")
    inputs = [value for name in read if isinstance(value := getattr(arguments, name, None), str)]
    inputs += getattr(arguments, "dataset", []) if isinstance(getattr(arguments, "dataset", None), list) else []
    if labels := getattr(arguments, "labels", None):  # FILE or FILE:COLUMN
        inputs.append(labels if Path(labels).is_file() else labels.rpartition(":")[0])
    for number, path in enumerate(outputs):
        # Names that differ only by case are the same file on many systems.
        if any(_same(path, other) or _same(path.casefold(), other.casefold()) for other in outputs[:number]):
            raise UserError(f"two outputs have the path {path}; use a different file for each")
        if any(_same(path, other) or _is_part(path, other) for other in inputs):
            raise UserError(f"{path} is an input and would be overwritten; choose another output file")
    folder = getattr(arguments, "out", None)
    if folder is not None:
        check_folder_writable(folder)


def _same(one: str, other: str) -> bool:
    """Return whether two paths refer to the same file, which may not exist yet."""
    if Path(one).exists() and Path(other).exists():
        return Path(one).is_file() and Path(one).samefile(other)
    return Path(one).resolve() == Path(other).resolve()


def _is_part(file: str, folder: str) -> bool:
    """Return whether an existing file is read as part of a data set or of the results in a folder."""
    path, endings = Path(file), (".txt", ".graphml", ".gml", ".edgelist", ".json", ".jsonl")
    in_folder = Path(folder).is_dir() and path.is_file() and path.parent.samefile(folder)
    return in_folder and path.suffix.lower() in endings


class _Parser(argparse.ArgumentParser):
    """Argument parser that prints errors in one line."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Reject unknown arguments here, so that the message refers to the help of the command."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        print_error(f"{message} (see '{self.prog} --help')")
        raise SystemExit(EXIT_BAD_INPUT)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="relaxwl",
        description="Relaxed Weisfeiler-Lehman graph kernels: predict, explain and compare graphs and molecules.",
        epilog="Start with: relaxwl demo",
    )
    parser.add_argument("--version", action="version", version=f"relaxwl {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    adders = (
        _demo, _benchmark, _matrices, _distance, _datasets, _shard, _fit, _predict, _neighbors, _explain, _compare,
        _report, _warm_up,
    )  # fmt: skip
    for add in adders:
        add(commands)
    return parser


def _add(commands: Any, name: str, run: str, summary: str, details: str, example: str) -> argparse.ArgumentParser:
    """Add a command with the options that all commands have."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}. {details}", epilog=f"example: {example}"
    )
    parser.set_defaults(run=run, command=name)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="print only the result")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument("--seed", type=_whole(0), default=0, help="random seed (default 0)")
    parser.add_argument("--jobs", type=_jobs, default=-1, metavar="N", help="number of threads (-1: all cores, the "
                        "default; -2: all but one); results do not depend on it")  # fmt: skip
    return parser


# fmt: off


def _warm_up(commands: Any) -> None:
    _add(commands, "warm-up", "warm_up:run", "compile all functions in advance",
         "Fits every kernel and predictor on a few small graphs and writes the compiled code to "
         "Numba's cache (NUMBA_CACHE_DIR sets its folder, for example in a container image). Prints the times.",
         "relaxwl warm-up")


def _demo(commands: Any) -> None:
    option = _add(commands, "demo", "demo:run", "compare four kernels on embedded ego networks",
                  "Writes DIR/report.html with tables and plots and DIR/effects.html with the effects of nodes on "
                  "predictions, and prints the tables.", "relaxwl demo").add_argument
    option("--out", default="demo", metavar="DIR", help="output folder (default: demo)")
    option("--graphs", type=_whole(20), default=100, help="number of graphs of each density (default 100, at least 20)")
    option("--nodes", type=_whole(1), default=100, help="number of nodes of a graph (default 100)")
    option("--repeats", type=_whole(1), default=2, help="number of repetitions of the cross-validation (default 2)")


def _benchmark(commands: Any) -> None:
    parser = _add(commands, "benchmark", "benchmark:run", "compare kernels by nested cross-validation",
                  "Reads data sets; writes DIR/results.jsonl (an interrupted run is resumed from there) and tables, "
                  "and prints the table of accuracies. Several targets are evaluated separately, each on the "
                  "graphs that have a value; the table has one row per target and the mean.",
                  "relaxwl benchmark MUTAG.zip --kernels wl rwl-star --repeats 5 --out results")
    option = parser.add_argument
    option("dataset", nargs="*", metavar="DATASET", help=DATASET_HELP)
    option("--kernels", nargs="+", metavar="KERNEL",
           help=f"any of {KERNELS}; also as wl,rwl-star; or package.module:Class for a user-defined kernel")
    option("--paper", action="store_true", help="evaluate the kernels of the paper on those of its data "
           "sets that are in --data")
    option("--data", default=".", metavar="FOLDER", help="folder of the data sets for --paper")
    option("--protocol", choices=("transductive", "inductive"), help="fit kernels on all graphs (as the paper does; "
           "the default), or on training graphs only (the default with --splits)")
    option("--splits", metavar="FILE", help="given folds (JSON with 'test' and 'model_selection', or a folder with "
           "NAME.json), random:20 for random parts, scaffold:5 for molecules")
    option("--task", choices=TASKS, default="auto",
           help=f"{TASK_HELP}; regression with molecules, auto or stats-rf")
    option("--solver", choices=("path", "libsvm"), default="path", help="solver of the SVMs in model "
           "selection: built-in, or that of scikit-learn (slower, same table)")
    option("--folds", type=_whole(2), default=10, help="number of outer folds (default 10)")
    option("--repeats", type=_whole(1), help="repetitions (default 5; 1 with --splits)")
    option("--inner-folds", type=_whole(2), default=3, help="inner folds for model selection (default 3)")
    option("--C", type=_above_zero(), nargs="+", metavar="C", help="candidate penalties (default: ten from 2^-12 to "
           "2^12)")
    option("--depths", type=_whole(0), nargs="+", metavar="D", help="candidate depths (default: those of the kernel)")
    option("--time-limit", type=_above_zero(), metavar="SECONDS", help="time limit for one repetition of a kernel")
    option("--out", default="results", metavar="DIR", help="folder of the results (default: results)")
    option("--scoring", metavar="SCORE", help=f"score to show: {SCORES} (default accuracy or rmse); ROC AUC, "
           "average precision and log loss only for auto, molecules and stats-rf")
    _add_reading_options(parser, several=True)
    option("--format", choices=FORMATS, default="text", help="format of the table (default text)")


def _report(commands: Any) -> None:
    option = _add(commands, "report", "benchmark:run_report", "write a page with tables and plots of results",
                  "Reads the results of 'relaxwl benchmark'; writes a self-contained HTML file.",
                  "relaxwl report results -o report.html").add_argument
    option("results", help="folder or results.jsonl of a benchmark")
    option("-o", "--output", default="report.html", help="the page (default: report.html)")
    option("--title", default="Graph kernels compared", help="title of the page")
    option("--scoring", metavar="SCORE", help=f"score to show: {SCORES} (default accuracy or rmse)")
    option("--explorer", metavar="PAGE", help="page of 'relaxwl explain' to link to")


def _matrices(commands: Any) -> None:
    features = _add(commands, "features", "matrices:run", "compute sparse feature vectors of graphs",
                    "Reads a data set; writes a compressed file that scipy.sparse.load_npz reads, with the classes as "
                    "array 'y'.", "relaxwl features MUTAG.zip -o X.npz --model model.rwl")
    gram = _add(commands, "kernel", "matrices:run", "compute the Gram matrix of graphs",
                "Reads a data set; writes a compressed NumPy file with the arrays 'K' and 'y'.",
                "relaxwl kernel MUTAG.zip -o K.npz --kernel wl --normalize")
    without = "; wwl and tmd have no features"
    for parser, output, note in ((features, "X.npz", without), (gram, "K.npz", "")):
        option = parser.add_argument
        option("dataset", metavar="DATASET", help=DATASET_HELP)
        option("-o", "--output", required=True, help=f"file to write, such as {output}")
        option("--kernel", help=f"one of {NOT_PREDICTORS} (default rwl-star){note}")
        option("--depth", type=_whole(0, DEEPEST), metavar="D",
               help="depth of the largest trees (default: that of the kernel, 4 for rwl-star)")
        option("--partitions", type=_whole(1), metavar="P", help="number of partitions of relaxed kernels (default 4) "
               "and of cwl (default 24)")
        option("--clusters", metavar="K", help="clusters at each depth: a number, a factor of √trees such as 0.5, "
               "'sqrt', 'log2', or 'all' for a cluster of each distinct tree (default: that of the kernel); partitions "
               "cycle through several values, as in all,2.0,1.0,0.5 (rwl-star)")
        option("--similarity", choices=("dot", "intersection", "tanimoto"), help="comparison of counts (default: that "
               "of the kernel, tanimoto for rwl-star)")
        option("--normalize", nargs="?", const=True, choices=(True, "depth"), metavar="depth",
               help="scale to similarity 1 of every graph with itself; 'depth': at each depth")
        option("--edge-labels", action="store_true", help="use edge labels")
        option("--model", metavar="FILE", help="save the fitted kernel")
        option("--apply", metavar="FILE", help="apply a kernel that was saved with --model")
        _add_reading_options(parser)


def _distance(commands: Any) -> None:
    parser = _add(commands, "distance", "distance:run",
                  "compute the distances between graphs, or between the neighborhoods of two nodes",
                  "Reads two data sets; prints the distances of the graphs of A to those of B, or writes them to a "
                  "compressed NumPy file with the array 'D'. With --nodes it reads one data set; prints the tree edit "
                  "distance and the edits, and draws them with --svg.",
                  "relaxwl distance MUTAG.zip --depth 2 --nodes 0:0 1:5 --svg mapping.svg")
    option = parser.add_argument
    option("dataset", metavar="A", help=DATASET_HELP)
    option("other", metavar="B", nargs="?", help="other graphs, in one of the same formats")
    option("--depth", type=_whole(0, DEEPEST), default=2, help="depth of the trees (default 2)")
    option("--discount", type=_above_zero(), default=1.0, metavar="W",
           help="factor of the costs at each deeper level (default 1)")
    option("-o", "--output", help="file to write, such as D.npz, instead of printing distances of graphs")
    option("--nodes", nargs=2, metavar="GRAPH:NODE",
           help="compare two nodes of A: graph and node, counted from 0, or a graph's name")
    option("--edge-labels", action="store_true", help="use edge labels")
    option("--svg", metavar="FILE", help="draw the two trees and the mapping")
    _add_reading_options(parser)


def _datasets(commands: Any) -> None:
    group = commands.add_parser("datasets", help="list, describe, convert and download data sets",
                                description="List, describe, convert and download data sets.",
                                epilog="example: relaxwl datasets stats MUTAG.zip")
    actions = group.add_subparsers(title="actions", metavar="ACTION", required=True, parser_class=_Parser)
    _add(actions, "list", "datasets:run_list", "list available data sets",
         "Prints the names of embedded and downloaded data sets.", "relaxwl datasets list")
    stats = _add(actions, "stats", "datasets:run_stats", "describe data sets",
                 "Reads data sets; prints numbers of graphs, classes, nodes, edges, labels and distinct trees.",
                 "relaxwl datasets stats MUTAG.zip egonets-1")
    stats.add_argument("dataset", nargs="+", metavar="DATASET", help=DATASET_HELP)
    _add_reading_options(stats)
    stats.add_argument("--format", choices=FORMATS, default="text", help="format of the table (default text)")
    convert = _add(actions, "convert", "datasets:run_convert", "convert a data set to another format",
                   "Reads A; writes B: a Parquet file with one row per graph, or TU files (a zip file).",
                   "relaxwl datasets convert MUTAG.zip mutag.parquet")
    convert.add_argument("source", metavar="A", help=DATASET_HELP)
    convert.add_argument("output", metavar="B", help="output file: NAME.parquet or NAME.zip")
    _add_reading_options(convert)
    fetch = _add(actions, "fetch", "datasets:run_fetch", "download data sets of the TU collection",
                 "Writes NAME.zip into the cache and prints its path.", "relaxwl datasets fetch MUTAG")
    fetch.add_argument("name", nargs="+", metavar="NAME", help="name of a data set")
    fetch.add_argument("--base-url", help="another address to download from")


def _shard(commands: Any) -> None:
    parser = _add(commands, "shard", "shard:run",
                  "write data sets as a folder of shards, for data that do not fit into memory",
                  "Reads data sets; writes DIR with a manifest and parts of bounded size, which "
                  "relaxwl.distributed.ShardedCollection opens. An interrupted run is resumed.",
                  "relaxwl shard NCI1.zip -o nci1.shards --graphs-per-shard 1000")
    option = parser.add_argument
    option("dataset", nargs="+", metavar="DATASET", help=DATASET_HELP)
    option("-o", "--out", required=True, metavar="DIR", help="the folder of shards")
    option("--graphs-per-shard", type=_whole(1), default=10_000, metavar="N", help="graphs in a shard (default 10000)")
    _add_reading_options(parser)


def _fit(commands: Any) -> None:
    parser = _add(commands, "fit", "predict:run_fit", "train a model that predicts classes or numbers of graphs",
                  "Reads a data set, or a folder of 'relaxwl shard'; selects kernels, writes the model and prints the "
                  "settings that were tried with their scores. For molecules, descriptors and fingerprints are used "
                  "as well.",
                  "relaxwl fit tox21.csv --target NR-AR NR-AhR --scoring roc_auc --errors skip -o model.rwl")
    option = parser.add_argument
    option("dataset", metavar="DATASET", help=f"{DATASET_HELP}; or a folder of 'relaxwl shard'")
    option("-o", "--output", required=True, help="model file to write, such as model.rwl")
    option("--effort", choices=("quick", "balanced", "thorough"),
           help="number of kernels and settings tried (default balanced; not for molecules)")
    option("--time-limit", type=_above_zero(), metavar="SECONDS", help="approximate time limit (not for "
           "molecules)")
    option("--task", choices=TASKS, default="auto", help=TASK_HELP)
    option("--scoring", metavar="SCORE", help="score for model selection and output: "
           f"{SCORES} (default accuracy or rmse)")
    option("--validate", choices=("random", "scaffold"), help="also fit without a fifth of the graphs, chosen at "
           "random or (molecules) with other scaffolds, and print the score of predicting these")
    option("--skip-targets", action="store_true", help="leave out targets without values and predict targets of a "
           "single class as constants, instead of reporting an error")
    _add_reading_options(parser, several=True)


def _predict(commands: Any) -> None:
    parser = _add(commands, "predict", "predict:run_predict", "predict classes or numbers of graphs",
                  "Reads a model that 'relaxwl fit' wrote and a data set; writes a CSV file with a row for each graph: "
                  "the prediction, probabilities of classes or the standard deviation (std), and novelty (a "
                  "p-value: below 0.05 a graph is unlike the training graphs). Columns of several "
                  "targets begin with the name of the target.",
                  "relaxwl predict model.rwl MUTAG.zip -o predictions.csv")
    option = parser.add_argument
    option("model_file", metavar="MODEL", help="model file of 'relaxwl fit'")
    option("dataset", metavar="DATASET", help=DATASET_HELP)
    option("-o", "--output", required=True, help="table to write, such as predictions.csv")
    option("--page", metavar="FILE", help="also write a page with the effects of nodes on predictions")
    option("--page-graphs", type=_whole(1), default=12, metavar="N",
           help="number of graphs on the page, the first ones (default 12)")
    option("--coverage", type=_above_zero(1), metavar="P", help="also write prediction intervals (columns lower "
           "and upper) or sets of classes with this coverage, such as 0.9")
    _add_reading_options(parser, ("raise", "skip", "nan"), several=True)


def _neighbors(commands: Any) -> None:
    parser = _add(commands, "neighbors", "predict:run_neighbors", "find the most similar training graphs",
                  "Reads a model that 'relaxwl fit' wrote and a data set; prints, under the name of each graph, the "
                  "distances (1 minus the similarity that the model uses) and the names of the training graphs "
                  "nearest to it, for molecules also their SMILES. With --distance it reads a data set instead of the "
                  "model, and prints the nearest graphs of it by the distance between graphs.",
                  "relaxwl neighbors model.rwl new.csv -k 3")
    option = parser.add_argument
    option("model_file", metavar="MODEL", help="model file of 'relaxwl fit', or with --distance a data set")
    option("dataset", metavar="QUERY", help=DATASET_HELP)
    option("--distance", action="store_true", help="search in the data set MODEL by the cost of turning the nodes of "
           "graphs, with trees of depth 3, into each other")
    option("-k", "--neighbors", type=_whole(1), default=5, metavar="N", help="number of neighbors (default 5)")
    _add_reading_options(parser)


def _explain(commands: Any) -> None:
    parser = _add(commands, "explain", "explain:run", "write a page with the neighborhoods that separate the classes",
                  "Reads a data set; writes a self-contained HTML file: clusters of neighborhoods, their centers as "
                  "trees, their members, and their positions in the graphs.",
                  "relaxwl explain MUTAG.zip -o explorer.html")
    option = parser.add_argument
    option("dataset", metavar="DATASET", help=DATASET_HELP)
    option("-o", "--output", default="explorer.html", help="the page (default: explorer.html)")
    option("--depth", type=_whole(0, DEEPEST_DRAWN), default=3,
           help=f"depth of the largest trees (default 3, at most {DEEPEST_DRAWN}: deeper trees are too large to draw)")
    option("--partitions", type=_whole(1), default=1, help="number of partitions (default 1)")
    option("--edge-labels", action="store_true", help="use edge labels")
    option("--task", choices=TASKS, default="auto", help=TASK_HELP)
    _add_reading_options(parser)


def _compare(commands: Any) -> None:
    parser = _add(commands, "compare", "compare:run", "test whether two collections of graphs differ, and in what",
                  "Reads two data sets, or one with two classes; prints the p-value of a permutation test and a lower "
                  "bound of the distance, and writes a self-contained HTML file: views, clusters and statistics that "
                  "differ, and typical graphs.", "relaxwl compare real.smi generated.smi -o page.html")
    option = parser.add_argument
    option("dataset", nargs="+", metavar="DATASET", help=f"{DATASET_HELP}; two, or one whose classes are compared")
    option("-o", "--output", metavar="PAGE", help="page to write, such as page.html")
    option("--permutations", type=_whole(19), default=999, metavar="N", help="number of permutations (default 999)")
    option("--explorer", metavar="FILE", help="also write an interactive page of clusters, to which PAGE links")
    _add_reading_options(parser)


def _add_reading_options(parser: argparse.ArgumentParser, errors: Sequence[str] = ("raise", "skip"), *,
                         several: bool = False) -> None:
    """Add the options for reading graphs; ``several`` allows several targets."""
    option = parser.add_argument_group("folders of graph files, Parquet files").add_argument
    more = " (several separated by commas, or 'all')" if several else ""
    option("--labels", metavar="FILE[:COLUMN]", help="table whose first column names the graphs (files), and whose "
           f"COLUMN has their classes or numbers{more}")
    for kind in ("node", "edge"):
        option(f"--{kind}-label", metavar="NAME", help=f"attribute with the labels of {kind}s, or several separated by "
               "commas")
        option(f"--{kind}-attributes", metavar="NAMES", help=f"numeric attributes of {kind}s, separated by commas; "
               "'' for none")
    option("--missing", metavar="LABEL", help="label of nodes and edges without a label; attributes may then be "
           "missing too")
    option("--directed", action="store_true", help="edges are arcs (also of TU files and lists of edges)")
    option = parser.add_argument_group("tables of molecules ('-' reads one from standard input)").add_argument
    option("--smiles", metavar="COLUMN", help="column of the SMILES (default: smiles)")
    many = "columns of the targets; empty cells are missing values; 'all': all columns except names and SMILES"
    option("--target", metavar="COLUMN", nargs="+" if several else None,
           help=many if several else "column of the targets")
    option("--name", metavar="COLUMN", help="column of names (default: the first one named name or id, also with a "
           "prefix, as in mol_id; else the SMILES)")
    meanings = {"raise": "raise: an error", "skip": "skip: left out", "nan": "nan: kept, without a prediction"}
    option("--errors", choices=errors, help="rows that cannot be read (default raise); "
           + "; ".join(meanings[name] for name in errors))
    option("--standardize", action="store_true", help="use the largest fragment of each molecule, neutralized; "
           "stored in the model")
    option("--stereo", action="store_true", help="include chirality and E/Z configuration in the labels of atoms and "
           "bonds; stored in the model")
    option("--max-atoms", type=_whole(1), metavar="N", help="larger molecules are treated as unreadable (default 1000)")


# fmt: on


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a function that parses an integer within bounds."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= (int(text) if most is None else most):
            bound = "" if most is None else f" and at most {most}"
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}{bound}, not {text!r}")
        return int(text)

    return read


def _above_zero(below: float = math.inf) -> Callable[[str], float]:
    """Return a function that parses a number above 0 and below a bound."""

    def read(text: str) -> float:
        from relaxwl._validation import read_number  # with NumPy, which --help does without

        try:
            value = read_number(text)
        except ValueError:
            value = math.nan
        if not 0 < value < below:
            bound = f" and below {below:g}" if below < math.inf else ""
            raise argparse.ArgumentTypeError(f"expected a number above 0{bound}, not {text!r}")
        return value

    return read


def _jobs(text: str) -> int:
    from relaxwl._validation import read_number

    try:
        number = int(text) if read_number(text) else 0
    except ValueError:
        number = 0
    if number == 0:
        raise UserError(f"--jobs must be a number of threads, -1 for all cores or -2 for all but one, not {text}")
    return number


if __name__ == "__main__":
    run()
