"""What a model must fulfil that comes from a file: which classes and attributes there may be, and how they fit.

Compiled code does not check its indices, so all that it will index with is checked here, as a whole, when a model has
been read. Packages above this one add their own classes by :func:`register`.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from relaxwl._validation import check_number, is_integer
from relaxwl.clustering.partitioners import (
    IdentityPartitioner,
    KMeansPartitioner,
    KMedoidsPartitioner,
    RadiusPartitioner,
)
from relaxwl.costs import Codebook, EditCost, UniformCosts
from relaxwl.kernels.counting import EdgeCounter, ShortestPathCounter, SubtreeCounter
from relaxwl.kernels.partition import Fed, Partition, Summary, Trees
from relaxwl.unfolding import Rows, check_rows
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding
from relaxwl.unfolding.tree import UNLABELLED

Check = Callable[[Any, str], None]

# Objects that a model may hold, beside estimators.
KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Codebook, EdgeCounter, EdgeEncoding, Fed, IdentityPartitioner, KMeansPartitioner, KMedoidsPartitioner,
        Partition, RadiusPartitioner, RootEncoding, Rows, ShortestPathCounter, SubtreeCounter,
        UniformCosts,
    )
}  # fmt: skip
# Attributes that are made anew when asked for, or not needed by a fitted model.
NOT_KEPT = frozenset({"built", "distances_", "gram_seconds_"})
# Deeper than any model: a weight for each depth is made room for before anything else is looked at.
MAX_DEPTH = 10_000
# More samples of a graph than this would take for ever.
MAX_SAMPLES = 10**7


def require(holds: Any, message: str) -> None:
    """Raise what turns into a ``ModelFileError``."""
    if not holds:
        raise ValueError(message)


def of(kind: type | tuple[type, ...]) -> Check:
    """Return a check of a value's type."""

    def check(value: Any, what: str) -> None:
        names = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        require(isinstance(value, kind), f"{what} must be a {names}, not a {type(value).__name__}")

    return check


def whole(most: int = 2**31 - 1) -> Check:
    """Return a check of a whole number from 0 on."""

    def check(value: Any, what: str) -> None:
        require(is_integer(value) and 0 <= value <= most, f"{what} must be a whole number from 0 to {most}")

    return check


def vector(dtype: Any, ndim: int = 1) -> Check:
    """Return a check of an array: its type, its number of axes, and that its numbers are finite."""

    def check(value: Any, what: str) -> None:
        fits = isinstance(value, np.ndarray) and value.ndim == ndim and value.dtype == dtype
        require(fits, f"{what} must be an array of {np.dtype(dtype).name} with {ndim} axes")
        require(np.isfinite(value).all(), f"{what} must hold finite numbers")

    return check


def labels(value: Any, what: str) -> None:
    """Check a vocabulary: different labels, or None."""
    require(value is None or (isinstance(value, tuple) and len(set(value)) == len(value)), f"{what} must be labels")


def texts(value: Any, what: str) -> None:
    """Check a list of texts."""
    require(isinstance(value, list) and all(isinstance(text, str) for text in value), f"{what} must be a list of texts")


def rows_of_depths(value: Any, what: str) -> None:
    """Check a list of rows; how they fit each other is checked with the whole model."""
    require(isinstance(value, list) and value, f"{what} must be a list with rows for each depth")
    for rows in value:
        of(Rows)(rows, what)


def counters(value: Any, what: str) -> None:
    """Check counters, also in lists."""
    if isinstance(value, list):
        for one in value:
            counters(one, what)
        return
    of((SubtreeCounter, EdgeCounter, ShortestPathCounter))(value, what)
    if isinstance(value, SubtreeCounter):
        whole()(getattr(value, "n_columns", None), "n_columns")
        return
    whole()(getattr(value, "n_known", None), "n_known")
    keys = getattr(value, "keys", None)
    vector(np.int64)(keys, "keys")
    require(
        keys is not None and keys.min(initial=0) >= 0 and (keys[1:] > keys[:-1]).all(), "keys must ascend from 0 on"
    )


def unary_codes(value: Any, what: str) -> None:
    """Check the steps of the unary code of each depth."""
    require(isinstance(value, list) and all(isinstance(code, tuple) and len(code) == 2 for code in value),
            f"{what} must be a list of starts and steps for each depth")  # fmt: skip
    for starts, steps in value:
        vector(np.int64)(starts, what)
        vector(np.float64)(steps, what)
        ordered = len(starts) and starts[0] == 0 and starts[-1] == len(steps) and (np.diff(starts) >= 0).all()
        require(ordered, f"the starts of {what} must ascend from 0 to the number of steps")
        below = np.concatenate([[0.0], steps[:-1]]) if len(steps) else steps
        below[starts[:-1][np.diff(starts) > 0]] = 0.0
        require((steps > below).all(), f"the steps of {what} must ascend")


# What estimators may hold beside their parameters.
ATTRIBUTES: dict[str, Check] = {
    "node_vocabulary_": labels,
    "edge_vocabulary_": labels,
    "rows_": rows_of_depths,
    "partitions_": of(list),
    "root_encoding_": of(RootEncoding),
    "edge_encoding_": of(EdgeEncoding),
    "_counters": counters,
    "_counter": counters,
    "_vertices": counters,
    "_edges": counters,
    "n_graphs_in_": whole(),
    "unary_": unary_codes,
    "directed_": of(bool),
    "n_samples_": whole(MAX_SAMPLES),
    "seed_": whole(2**63),
    "graphlets_": vector(np.int64),
    "trees_": texts,
    "weights_": vector(np.float64),
}

_REFINED = ("node_vocabulary_", "rows_")
# What a fitted kernel of a class is not used without.
FITTED: dict[str, tuple[str, ...]] = {
    "WeisfeilerLehman": (*_REFINED, "edge_vocabulary_", "_counters"),
    "WLOptimalAssignment": (*_REFINED, "edge_vocabulary_", "_counters"),
    "RelaxedWeisfeilerLehman": ("partitions_", "root_encoding_", "edge_encoding_", "_counters"),
    "PersistentWL": _REFINED,
    "GradualWL": ("node_vocabulary_", "centers_", "center_bounds_", "_counters"),
    "ShortestPath": ("node_vocabulary_", "_counter"),
    "VertexEdgeHistogram": ("node_vocabulary_", "edge_vocabulary_", "_vertices", "_edges"),
    "GraphletSampling": ("graphlets_", "n_samples_", "seed_"),
    "OddSth": ("node_vocabulary_", "tree_labels_", "tree_children_", "tree_starts_", "weights_"),
}


def register(kind: type | None = None, attributes: dict[str, Check] | None = None) -> None:
    """Let models hold objects of a class (arrays and plain values in its attributes), and estimators more attributes.

    A dataclass is restored by its fields, another class by its attributes; one with ``to_state`` and ``from_state``
    by these. An estimator (a class with ``_validate_parameters``) need not be registered, only its fitted attributes,
    each with a check that takes the value and its name; one with ``_check_loaded`` is asked to check itself as a whole.
    """
    if kind is not None:
        KINDS[kind.__name__] = kind
    ATTRIBUTES.update(attributes or {})


def check_model(model: Any, fitted: Iterable[str]) -> None:
    """Check a restored estimator: its parameters, each attribute in ``fitted``, and how all of it fits together."""
    n_jobs = getattr(model, "n_jobs", None)
    require(n_jobs is None or is_integer(n_jobs), f"n_jobs must be an integer or None, not {n_jobs!r}")
    whole(MAX_DEPTH)(getattr(model, "max_depth", 0), "max_depth")
    model._validate_parameters()
    for name in FITTED.get(type(model).__name__, ()):
        require(hasattr(model, name), f"{name} is missing")
    for name in sorted(fitted):
        require(name in ATTRIBUTES, f"{type(model).__name__} has no attribute {name}")
        ATTRIBUTES[name](getattr(model, name), name)
    if hasattr(model, "rows_"):
        _check_refinement(model)
    if hasattr(model, "root_encoding_"):
        _check_relaxed(model)
    if hasattr(model, "trees_"):
        require(len(model.trees_) == len(model.weights_), "trees_ and weights_ must be as many")
    if hasattr(model, "_check_loaded"):
        model._check_loaded()


def _check_rows(rows: Any, n_points: int, n_roots: int, what: str) -> None:
    require(check_rows(rows, n_points, n_roots, what) is rows, f"{what} must be int32 and int64 arrays, masses float64")


def _check_refinement(kernel: Any) -> None:
    """Check the distinct trees of each depth against the labels and the depth below."""
    require(len(kernel.rows_) == kernel.max_depth + 1, f"there must be rows_ for each of {kernel.max_depth + 1} depths")
    n_symbols, n_edge_codes = (
        1 if labels is None else len(labels)
        for labels in (kernel.node_vocabulary_, getattr(kernel, "edge_vocabulary_", None))
    )
    n_below = 0
    for rows in kernel.rows_:
        _check_rows(rows, n_below * n_edge_codes, n_symbols, "rows_")
        require(rows.counts.dtype == np.int32, "rows_ must have whole counts")
        n_below = len(rows)
    if hasattr(kernel, "_counters"):
        _check_numbers(kernel._counters, [len(rows) for rows in kernel.rows_])


def _check_relaxed(kernel: Any) -> None:
    """Check encodings, partitions and counters: each depth against the symbols and against what it is fed."""
    _check_encodings(kernel.root_encoding_, kernel.edge_encoding_)
    depths = {len(levels) for levels in kernel.partitions_}
    require(depths == {kernel.max_depth + 1}, f"partitions_ must all have {kernel.max_depth + 1} depths")
    for index, levels in enumerate(kernel.partitions_):
        _check_levels(kernel, index, levels)
    require(len(kernel._counters) == len(kernel.partitions_), "there must be counters for each partition")
    for levels, found in zip(kernel.partitions_, kernel._counters, strict=True):
        _check_numbers(found, [len(level) for level in levels])
    if not kernel.approximate:
        fed = [{id(level.fed) for level in level_of} for level_of in zip(*kernel.partitions_, strict=True)]
        require(all(len(one) == 1 for one in fed), "partitions_ must be fed the same trees")


def _check_levels(kernel: Any, index: int, levels: list[Partition]) -> None:
    n_edges, n_roots, n_below = kernel.edge_encoding_.n_codes, len(kernel.root_encoding_.symbols), 0
    below = None
    for depth, level in enumerate(levels):
        of(Partition)(level, "partitions_")
        require((level.depth, level.index) == (depth, index), "partitions_ must be numbered by depth and partition")
        what = f"the centres of depth {depth}"
        for rows in (level.centers, level.trees.rows, _known(level.partitioner)):
            _check_rows(rows, n_below * n_edges, n_roots, what)
            require(len(rows) == len(level.centers), f"{what} must be as many as the groups")
        require(level.trees.rows.is_integral, f"{what} must be drawn as trees")
        _check_summary(level.summary, len(level))
        symbols = kernel.root_encoding_
        trees = replace(level.trees, roots=symbols, edge_labels=kernel.edge_encoding_.names, below=below)
        object.__setattr__(level, "trees", trees)
        if depth + 1 == len(levels):
            require(level.fed is None, "the last depth must feed nothing")
            return
        of(Fed)(level.fed, "what is fed")
        fed: Any = level.fed
        if kernel.approximate:
            require(fed.known is level.centers, "what is fed must be the centres")
        else:
            _check_rows(fed.known, n_below * n_edges, n_roots, "what is fed")
        n_below = len(fed.known)
        # Distances may be left out where nobody looks at them: groups that are single trees are found by comparing.
        unused = kernel.approximate and all(
            type(deeper.partitioner) is IdentityPartitioner for deeper in levels[depth + 1 :]
        )
        if not (unused and fed.distances is None):
            _check_square(fed.distances, n_below + 1, f"the distances that depth {depth} feeds")
        below = trees if kernel.approximate else Trees(fed.known, symbols, kernel.edge_encoding_.names, below)


def _check_square(matrix: Any, size: int, what: str) -> None:
    if isinstance(matrix, UniformCosts):
        whole()(matrix.n_labels, what)
        require(len(matrix) == size, f"{what} must be those of {size - 1} labels")
        for name in ("relabel", "blank"):
            check_number(name, getattr(matrix, name))
            of(float)(getattr(matrix, name), name)
        return
    is_square = isinstance(matrix, np.ndarray) and matrix.shape == (size, size)
    require(is_square, f"{what} must be a matrix of {size} rows and columns")
    known = matrix.dtype in (np.uint8, np.uint16, np.uint32, np.float64) and matrix.dtype.isnative
    require(known, f"{what} must hold numbers, not {matrix.dtype}")
    require(np.isfinite(matrix).all() and matrix.min(initial=0) >= 0, f"{what} must hold finite numbers from 0 on")


def _check_summary(summary: Summary, size: int) -> None:
    for name, dtype, ndim in (("sizes", np.int64, 1), ("n_trees", np.int64, 1), ("radius", np.float64, 1)):
        vector(dtype, ndim)(getattr(summary, name), name)
    vector(np.int64, 3)(summary.examples, "examples")
    require(all(len(part) == size for part in summary), f"a partition must describe each of its {size} groups")
    require(summary.examples.shape[2] == 2, "examples must be pairs of graph and vertex")


def _check_encodings(roots: RootEncoding, edges: EdgeEncoding) -> None:
    for encoding in (roots, edges):
        of(EditCost)(encoding.cost, "the cost of an encoding")
        labels(encoding.labels, "the labels of an encoding")
    _check_edge_symbols(edges)
    of(tuple)(roots.symbols, "symbols")
    book: Any = roots.codebook
    if book is None:
        expected: Any = (UNLABELLED,) if roots.labels is None else roots.labels
        require(roots.symbols == expected, "symbols must be the labels")
        return
    _check_codebook(book)
    if roots.labels is None:
        require(roots.symbols == tuple(range(len(book))), "symbols must number the codebook's vectors")
        return
    known = set(roots.labels)
    for symbol in roots.symbols:
        paired = isinstance(symbol, tuple) and len(symbol) == 2 and symbol[0] in known and is_integer(symbol[1])
        require(paired and 0 <= symbol[1] < len(book), "symbols must be labels with codes")  # type: ignore[index]


def _check_codebook(book: Any) -> None:
    of(Codebook)(book, "codebook")
    check_number("blank", book.blank, zero=True)
    if not isinstance(book.relabel, EditCost):
        check_number("relabel", book.relabel, zero=True)
    gaps = False
    if book.missing is not None:
        check_number("missing", book.missing)
        gaps = np.isnan(book.centers)
    vector(np.float64, 2)(np.where(gaps, 0.0, book.centers), "the codebook's centres")


def _check_edge_symbols(edges: EdgeEncoding) -> None:
    """Check that symbols of edges with attributes point into their codebook."""
    of(bool)(edges.labelled, "labelled")
    if edges.codebook is None:
        return
    _check_codebook(edges.codebook)
    for symbol in edges.labels or ():
        paired = isinstance(symbol, tuple) and len(symbol) == 2
        code: Any = symbol[1] if edges.labelled and paired else symbol  # type: ignore[index]
        known = is_integer(code) and 0 <= code < len(edges.codebook)
        require(known and paired == edges.labelled, "symbols of edges must have codes")


def _known(partitioner: Any) -> Rows:
    """Return what a fitted partitioner of ours compares rows with."""
    require(type(partitioner) in KINDS.values(), f"{type(partitioner).__name__} is no partitioner")
    _check_partitioner(partitioner)
    name = "rows_" if isinstance(partitioner, IdentityPartitioner) else "centers_"
    rows: Rows = getattr(partitioner, name, None)  # type: ignore[assignment]
    of(Rows)(rows, name)
    return rows


def _check_partitioner(partitioner: Any) -> None:
    n_jobs, radius = getattr(partitioner, "n_jobs", None), getattr(partitioner, "radius", 0.0)
    require(n_jobs is None or is_integer(n_jobs), f"n_jobs must be an integer or None, not {n_jobs!r}")
    require(isinstance(radius, (int, float)) and radius >= 0, f"radius must be a number from 0 on, not {radius!r}")


def _check_numbers(found: list[Any], n_ids: list[int]) -> None:
    """Check that counters know as many ids as there are trees or groups."""
    known = [counter.n_columns if isinstance(counter, SubtreeCounter) else counter.n_known for counter in found]
    require(known == n_ids, f"the counters know {known} trees or groups for each depth, and there are {n_ids}")
