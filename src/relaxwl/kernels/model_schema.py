"""The schema of model files: every class that may be in a file, its fields, and a range for each of them.

Compiled code does not check indices, so all indices are checked here when a model is read: field by field, then object
by object, then the model as a whole. Modules above this one add their own classes:
:func:`record` for objects, :func:`fitted` for the attributes of estimators.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from relaxwl._validation import check_choice, is_integer
from relaxwl.clustering.partitioners import IdentityPartitioner, KMeansPartitioner
from relaxwl.costs import EditCost
from relaxwl.costs.codebook import METRICS, Codebook, UniformCosts
from relaxwl.graphs.building import DIRECTIONS
from relaxwl.graphs.labels import plain_label
from relaxwl.kernels.chains import LowerLevel, Partition, Trees
from relaxwl.kernels.counting import MAX_PATH_LENGTH, Counts, EdgeCounter, ShortestPathCounter, SubtreeCounter
from relaxwl.kernels.levels import Summary
from relaxwl.unfolding import TreeRows
from relaxwl.unfolding.encoding import EdgeEncoding, RootEncoding
from relaxwl.unfolding.rows import check_rows
from relaxwl.unfolding.tree import UNLABELED

Check = Callable[[Any, str], None]

# Limits of models in files: each depth, partition or class costs time in every prediction, however small the file is.
MAX_DEPTH, MAX_PARTITIONS, MAX_SAMPLES = 1000, 10_000, 10**6
MAX_VIEWS, MAX_BLOCKS, MAX_CLASSES, MAX_TARGETS, MAX_FOLDS = 64, 256, 1000, 10_000, 20
# Maximum of depths times partitions of all kernels of a model; each takes about 0.1 ms, however small the graph is.
MAX_LEVELS = 10_000
LARGEST = float(np.finfo(np.float64).max)
# Bound of numbers that are multiplied or squared, so that results are finite.
HUGE = 1e140
# Attributes that are computed on demand, or that a fitted model does not need.
NOT_KEPT = frozenset({"built", "distances_", "gram_seconds_", "labels_"})


def require(holds: Any, message: str) -> None:
    """Raise an error, which becomes a ``ModelFileError``, unless ``holds``."""
    if not holds:
        raise ValueError(message)


# --------------------------------------------------------------------------------------------- checks of a field


def of(kind: type | tuple[type, ...]) -> Check:
    """Return a check of a value's type."""

    def check(value: Any, what: str) -> None:
        names = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        require(isinstance(value, kind), f"{what} must be a {names}, not a {type(value).__name__}")

    return check


def number_or(kind: type, most: float = math.inf) -> Check:
    """Return a check of a number from 0 on, or of a value of another type."""
    return lambda value, what: None if isinstance(value, kind) else number(0, most)(value, what)


def whole(most: int = 2**31 - 1, least: int = 0) -> Check:
    """Return a check of a whole number within a range."""

    def check(value: Any, what: str) -> None:
        fits = is_integer(value) and least <= value <= most
        require(fits, f"{what} must be a whole number from {least} to {most}")

    return check


def number(least: float = -math.inf, most: float = math.inf, *, nan: bool = False) -> Check:
    """Return a check of a finite number within a range; with ``nan`` it may be missing."""

    def check(value: Any, what: str) -> None:
        # Python integers are accepted if they are exact as floats.
        real = isinstance(value, float) or (is_integer(value) and abs(value) <= 2**53)
        fits = real and ((nan and value != value) or (abs(value) <= LARGEST and least <= value <= most))
        bounds = "" if (least, most) == (-math.inf, math.inf) else f" from {least:g} to {most:g}"
        require(fits, f"{what} must be a finite number{bounds}")

    return check


def text(value: Any, what: str) -> None:
    """Check a text."""
    require(isinstance(value, str), f"{what} must be a text")


def choice(*values: Any) -> Check:
    """Return a check of a value that is one of a few."""

    def check(value: Any, what: str) -> None:
        known = any(type(value) is type(one) and value == one for one in values)
        require(known, f"{what} must be one of {', '.join(map(repr, values))}")

    return check


def vector(dtype: Any, ndim: int = 1, *, least: float = -math.inf, most: float = math.inf, gaps: bool = False) -> Check:
    """Return a check of an array: its type (or one of several), its axes, and that its numbers are finite and in range.

    With ``gaps`` numbers may be missing.
    """
    dtypes = [np.dtype(one) for one in (dtype if isinstance(dtype, tuple) else (dtype,))]

    def check(value: Any, what: str) -> None:
        fits = isinstance(value, np.ndarray) and value.ndim == ndim and value.dtype in dtypes
        names = " or ".join(one.name for one in dtypes)
        require(fits, f"{what} must be an array of {names} with {ndim} axes")
        finite = np.isfinite(value) | np.isnan(value) if gaps else np.isfinite(value)
        require(finite.all(), f"{what} must contain finite numbers")
        require(not (value < least).any(), f"{what} must contain numbers from {least:g} on")
        require(not (value > most).any(), f"{what} must contain numbers up to {most:g}")

    return check


def listed(check_item: Check, most: int = 2**31 - 1, least: int = 0, kind: Any = list) -> Check:
    """Return a check of a list (or a tuple) of a number of items, each with a check."""

    def check(value: Any, what: str) -> None:
        fits = isinstance(value, kind) and least <= len(value) <= most
        require(fits, f"{what} must be a {kind.__name__} of {least} to {most} items")
        for item in value:
            check_item(item, f"an item of {what}")

    return check


def mapped(check_item: Check, most: int = 2**31 - 1) -> Check:
    """Return a check of a dictionary from texts to values, each with a check."""

    def check(value: Any, what: str) -> None:
        require(isinstance(value, dict) and len(value) <= most, f"{what} must be a dictionary of at most {most} items")
        for key, item in value.items():
            check_item(item, f"{what}[{key!r}]")

    return check


def optional(check_value: Check) -> Check:
    """Return a check of a value that may be None, or of a field that may be absent."""

    def check(value: Any, what: str) -> None:
        if value is not None:
            check_value(value, what)

    check.optional = True  # type: ignore[attr-defined]
    return check


texts = listed(text)


def absent(check_value: Check) -> Check:
    """Return a check of a field that may be absent, but not None."""

    def check(value: Any, what: str) -> None:
        check_value(value, what)

    check.optional = True  # type: ignore[attr-defined]
    return check


def labels(value: Any, what: str) -> None:
    """Check a vocabulary: different labels, or None."""
    require(value is None or (isinstance(value, tuple) and len(set(value)) == len(value)), f"{what} must be labels")
    for label in value or ():
        plain_label(label)


def threads(value: Any, what: str) -> None:
    """Check a number of threads: not 0, or None."""
    optional(whole(most=2**31 - 1, least=-(2**31)))(value, what)
    require(value != 0, f"{what} must not be 0")


def counter(value: Any, what: str) -> None:
    """Check a counter."""
    of((SubtreeCounter, EdgeCounter, ShortestPathCounter))(value, what)


def counters(value: Any, what: str) -> None:
    """Check a list of counters, or of lists of counters."""
    of(list)(value, what)
    for one in value:
        (counters if isinstance(one, list) else counter)(one, what)


def unary_codes(value: Any, what: str) -> None:
    """Check the steps of the unary code of each depth."""
    require(isinstance(value, list) and all(isinstance(code, tuple) and len(code) == 2 for code in value),
            f"{what} must be a list of starts and steps for each depth")  # fmt: skip
    for starts, steps in value:
        vector(np.int64)(starts, what)
        vector(np.float64, most=HUGE)(steps, what)
        ordered = len(starts) and starts[0] == 0 and starts[-1] == len(steps) and (np.diff(starts) >= 0).all()
        require(ordered, f"the starts of {what} must ascend from 0 to the number of steps")
        below = np.concatenate([[0.0], steps[:-1]]) if len(steps) else steps
        below[starts[:-1][np.diff(starts) > 0]] = 0.0
        require((steps > below).all(), f"the steps of {what} must ascend")


# ------------------------------------------------------------------------------------------------- objects


class Record(NamedTuple):
    """A class of objects in files: its fields, each with a check, and a check of how they fit together."""

    kind: Any
    fields: dict[str, Check]
    fits: Callable[[Any], None] | None


RECORDS: dict[str, Record] = {}
# The fitted attributes of estimators, by the name of the class that defines them; derived classes inherit them.
FITTED: dict[str, dict[str, Check]] = {}


def record(kind: type, fits: Callable[[Any], None] | None = None, **fields: Check) -> None:
    """Register a class of objects in models, with its fields; all but optional fields are required.

    A class with ``to_state`` and ``from_state`` is restored by these, a dataclass by its fields, and any other by its
    attributes. ``fits`` raises a ``ValueError`` if the fields of an object are not consistent.
    """
    RECORDS[kind.__name__] = Record(kind, fields, fits)


def fitted(estimator: str, **attributes: Check) -> None:
    """Register the fitted attributes of a class of estimators by its name; all but optional ones are required.

    Parameters are checked by the estimator's ``_validate_parameters``, and consistency by ``_check_loaded``, if it has
    this method.
    """
    FITTED.setdefault(estimator, {}).update(attributes)


def check_fields(values: dict[str, Any], fields: dict[str, Check], name: str) -> None:
    """Check that all fields and no others are present, and that each is in its range."""
    unknown = values.keys() - fields.keys()
    require(not unknown, f"{name} has no attribute {', '.join(sorted(unknown))}")
    for field, check in fields.items():
        if field in values:
            check(values[field], field)
        else:
            require(hasattr(check, "optional"), f"{field} is missing")


def attributes_of(kind: type) -> dict[str, Check]:
    """Return the checks of the fitted attributes of a class of estimators."""
    found: dict[str, Check] = {}
    for base in reversed(kind.__mro__):
        found |= FITTED.get(base.__name__, {})
    return found


def _ascending_keys(counter: Any) -> None:
    keys = counter.keys
    require(keys.min(initial=0) >= 0 and (keys[1:] > keys[:-1]).all(), "keys must ascend from 0 on")


def _scaled_columns(book: Codebook) -> None:
    fits = book.scale is None or len(book.scale) == book.centers.shape[1]
    require(fits, f"scale must be a number for each of {book.centers.shape[1]} columns")


record(
    TreeRows, roots=vector(np.int32), indptr=vector(np.int64), points=vector(np.int32),
    counts=vector((np.int32, np.float64), most=HUGE), n_children=whole(2**62), n_edge_codes=whole(),
)  # fmt: skip
record(Counts, indptr=vector((np.int32, np.int64)), indices=vector((np.int32, np.int64)),
       data=vector(np.float64, least=0, most=HUGE), n_columns=whole(2**62),
       unknown_squares=vector(np.float64, least=0, most=HUGE),
       unknown_sums=vector(np.float64, least=0, most=HUGE))  # fmt: skip
record(UniformCosts, n_labels=whole(), relabel=number(0), blank=number(0))
record(LowerLevel, known=of(TreeRows), distances=optional(of((np.ndarray, UniformCosts))))
record(
    Partition, depth=whole(MAX_DEPTH), index=whole(MAX_PARTITIONS), partitioner=of(object), centers=of(TreeRows),
    lower=optional(of(LowerLevel)), drawn=of(TreeRows), summary=of(tuple),
)  # fmt: skip
record(SubtreeCounter, n_columns=whole())
record(EdgeCounter, _ascending_keys, n_known=whole(), keys=vector(np.int64), directed=optional(of(bool)))
record(ShortestPathCounter, _ascending_keys, n_known=whole(), keys=vector(np.int64))
record(RootEncoding, cost=of(EditCost), labels=labels, codebook=optional(of(Codebook)), symbols=of(tuple))
record(EdgeEncoding, cost=of(EditCost), labels=labels, codebook=optional(of(Codebook)), labeled=of(bool))
record(
    Codebook, _scaled_columns, centers=vector(np.float64, 2, gaps=True), metric=choice(*METRICS.values()),
    blank=number(0, HUGE), relabel=number_or(EditCost, HUGE), missing=optional(number(0, HUGE)),
    scale=optional(listed(number(1e-100, 1e100), least=1, kind=tuple)),
)  # fmt: skip
record(IdentityPartitioner, rows_=optional(of(TreeRows)))
record(
    KMeansPartitioner, n_clusters=number_or(str, 2**31), center=text, init=text, max_iter=optional(whole()),
    n_jobs=threads, random_state=optional(whole(2**63)), verbose=whole(10, -10), centers_=optional(of(TreeRows)),
    n_iter_=optional(whole()),
)  # fmt: skip

fitted(
    "GraphKernel", n_graphs_in_=absent(whole()), directed_=absent(of(bool)), unary_=absent(unary_codes),
)  # fmt: skip
_refined = {"node_vocabulary_": labels, "rows_": listed(of(TreeRows), MAX_DEPTH + 1, 1)}
fitted("WeisfeilerLehman", **_refined, edge_vocabulary_=labels, _counters=counters)
fitted(
    "RelaxedWeisfeilerLehman", partitions_=listed(listed(of(Partition), MAX_DEPTH + 1, 1), MAX_PARTITIONS, 1),
    root_encoding_=of(RootEncoding), edge_encoding_=of(EdgeEncoding), _counters=counters,
)  # fmt: skip
fitted("PersistentWL", **_refined)
fitted("ShortestPath", node_vocabulary_=labels, _counter=counter)
fitted("VertexEdgeHistogram", node_vocabulary_=labels, edge_vocabulary_=labels, _nodes=counter, _edges=counter)
fitted("GraphletSampling", graphlets_=vector(np.int64), n_samples_=whole(MAX_SAMPLES), seed_=whole(2**63))


# ------------------------------------------------------------------------------------------------- whole models


def check_levels(*kernels: Any) -> None:
    """Raise an error for kernels with so many depths and partitions that predictions would take minutes."""
    n_levels = sum((kernel.max_depth + 1) * getattr(kernel, "n_partitions", 1) for kernel in kernels)
    if n_levels > MAX_LEVELS:
        raise ValueError(f"max_depth + 1, times n_partitions, must be at most {MAX_LEVELS}, not {n_levels}")


def check_model(model: Any, values: dict[str, Any]) -> None:
    """Check an estimator made of ``values``: its parameters, its attributes, and their consistency."""
    parameters = model.get_params(deep=False).keys()
    require(parameters <= values.keys(), f"{', '.join(sorted(parameters - values.keys()))} is missing")
    threads(getattr(model, "n_jobs", None), "n_jobs")
    whole(MAX_DEPTH)(getattr(model, "max_depth", 0), "max_depth")
    whole(MAX_PARTITIONS, 1)(getattr(model, "n_partitions", 1), "n_partitions")
    if hasattr(model, "directions"):
        check_choice("directions", model.directions, DIRECTIONS)
    model._validate_parameters()
    attributes = {name: value for name, value in values.items() if name not in parameters}
    check_fields(attributes, attributes_of(type(model)), type(model).__name__)
    if hasattr(model, "rows_"):
        _check_refinement(model)
    if hasattr(model, "root_encoding_"):
        _check_relaxed(model)
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
        check_counters(kernel._counters, [len(rows) for rows in kernel.rows_], n_edge_codes)
        check_unary(kernel, [counter.n_columns for counter in kernel._counters])


def _check_relaxed(kernel: Any) -> None:
    """Check encodings, partitions and counters: each depth against the symbols and against the depth below."""
    _check_encodings(kernel.root_encoding_, kernel.edge_encoding_)
    depths = {len(levels) for levels in kernel.partitions_}
    require(depths == {kernel.max_depth + 1}, f"partitions_ must all have {kernel.max_depth + 1} depths")
    for index, levels in enumerate(kernel.partitions_):
        _check_levels(kernel, index, levels)
    require(len(kernel._counters) == len(kernel.partitions_), "there must be counters for each partition")
    for levels, found in zip(kernel.partitions_, kernel._counters, strict=True):
        check_counters(found, [len(level) for level in levels], kernel.edge_encoding_.n_codes)
    by_depth = zip(*kernel._counters, strict=True)
    check_unary(kernel, [sum(counter.n_columns for counter in found) for found in by_depth])
    if not kernel.approximate:
        lower = [{id(level.lower) for level in level_of} for level_of in zip(*kernel.partitions_, strict=True)]
        require(all(len(one) == 1 for one in lower), "partitions_ must share the trees of lower levels")


def _check_levels(kernel: Any, index: int, levels: list[Partition]) -> None:
    n_edges, n_roots, n_below = kernel.edge_encoding_.n_codes, len(kernel.root_encoding_.symbols), 0
    below = None
    for depth, level in enumerate(levels):
        of(Partition)(level, "partitions_")
        require((level.depth, level.index) == (depth, index), "partitions_ must be numbered by depth and partition")
        what = f"the centers of depth {depth}"
        for rows in (level.centers, level.trees.rows, _known(level.partitioner)):
            _check_rows(rows, n_below * n_edges, n_roots, what)
            require(len(rows) == len(level.centers), f"{what} must be as many as the clusters")
        require(level.trees.rows.is_integral, f"{what} must be drawn as trees")
        _check_summary(level.summary, len(level))
        symbols = kernel.root_encoding_
        trees = replace(level.trees, roots=symbols, edge_labels=kernel.edge_encoding_.names, below=below)
        object.__setattr__(level, "trees", trees)
        if depth + 1 == len(levels):
            require(level.lower is None, "the last depth must have no lower level")
            return
        of(LowerLevel)(level.lower, "the lower level")
        lower: Any = level.lower
        if kernel.approximate:
            require(lower.known is level.centers, "the lower level must be the centers")
        else:
            _check_rows(lower.known, n_below * n_edges, n_roots, "the lower level")
        n_below = len(lower.known)
        # Distances may be missing if no partitioner uses them, as when each cluster is a single tree. The partitions
        # of R-WL share the distances.
        chain = [levels] if kernel.approximate else kernel.partitions_
        unused = all(type(deeper.partitioner) is IdentityPartitioner for one in chain for deeper in one[depth + 1 :])
        if not (unused and lower.distances is None):
            _check_square(lower.distances, n_below + 1, f"the distances of depth {depth}")
        below = trees if kernel.approximate else Trees(lower.known, symbols, kernel.edge_encoding_.names, below)


def _check_square(matrix: Any, size: int, what: str) -> None:
    if isinstance(matrix, UniformCosts):
        require(len(matrix) == size, f"{what} must be those of {size - 1} labels")
        return
    is_square = isinstance(matrix, np.ndarray) and matrix.shape == (size, size)
    require(is_square, f"{what} must be a matrix of {size} rows and columns")
    known = matrix.dtype in (np.uint8, np.uint16, np.uint32, np.float64) and matrix.dtype.isnative
    require(known, f"{what} must contain numbers, not {matrix.dtype}")
    within = np.isfinite(matrix).all() and matrix.min(initial=0) >= 0 and matrix.max(initial=0) <= HUGE
    require(within, f"{what} must contain finite numbers from 0 to {HUGE:g}")


def _check_summary(summary: Summary, size: int) -> None:
    for name, dtype, ndim in (("sizes", np.int64, 1), ("n_trees", np.int64, 1), ("radius", np.float64, 1)):
        vector(dtype, ndim)(getattr(summary, name), name)
    vector(np.int64, 3)(summary.examples, "examples")
    require(all(len(part) == size for part in summary), f"a partition must describe each of its {size} clusters")
    require(summary.examples.shape[2] == 2, "examples must be pairs of graph and node")


def _check_encodings(roots: RootEncoding, edges: EdgeEncoding) -> None:
    """Check that symbols of nodes and edges are labels, or point into the codebooks of their attributes.

    Costs of edges must be compatible with those of nodes.
    """
    for book in (roots.codebook, edges.codebook):
        if book is not None:
            vector(np.float64, 2, gaps=book.missing is not None)(book.centers, "the codebook's centers")
    if edges.codebook is not None:
        for symbol in edges.labels or ():
            paired = isinstance(symbol, tuple) and len(symbol) == 2
            code: Any = symbol[1] if edges.labeled and paired else symbol  # type: ignore[index]
            known = is_integer(code) and 0 <= code < len(edges.codebook)
            require(known and paired == edges.labeled, "symbols of edges must have codes")
    if roots.codebook is None:
        expected: Any = (UNLABELED,) if roots.labels is None else roots.labels
        require(roots.symbols == expected, "symbols must be the labels")
    elif roots.labels is None:
        require(roots.symbols == tuple(range(len(roots.codebook))), "symbols must number the codebook's vectors")
    else:
        names = set(roots.labels)
        for symbol in roots.symbols:
            paired = isinstance(symbol, tuple) and len(symbol) == 2 and symbol[0] in names and is_integer(symbol[1])
            require(paired and 0 <= symbol[1] < len(roots.codebook), "symbols must be labels with codes")  # type: ignore[index]
    costs = roots.costs(roots.symbols)
    if edges.labels is not None:
        edges.costs(edges.labels, costs)


def _known(partitioner: Any) -> TreeRows:
    """Return the rows with which a fitted partitioner of this package compares others."""
    known = RECORDS.get(type(partitioner).__name__)
    name = "rows_" if isinstance(partitioner, IdentityPartitioner) else "centers_"
    ours = known is not None and known.kind is type(partitioner) and name in known.fields
    require(ours, f"{type(partitioner).__name__} is no partitioner")
    rows: TreeRows = getattr(partitioner, name, None)  # type: ignore[assignment]
    of(TreeRows)(rows, name)
    return rows


def check_counters(found: list[Any], n_ids: list[int], n_edges: int = 1, kinds: Any = None) -> None:
    """Check that counters have as many ids as there are trees, clusters or labels, and no pairs of others.

    ``n_edges`` is the number of codes of edges, and ``kinds`` are the classes of the counters if these are fixed.
    """
    known = [one.n_columns if isinstance(one, SubtreeCounter) else one.n_known for one in found]
    require(known == n_ids, f"the counters know {known} trees or clusters for each depth, and there are {n_ids}")
    require(kinds is None or tuple(map(type, found)) == kinds, "there must be counters of another kind")
    for one, n_known in zip(found, n_ids, strict=True):
        if not isinstance(one, SubtreeCounter):
            factor = n_edges if isinstance(one, EdgeCounter) else MAX_PATH_LENGTH
            require(one.keys.max(initial=-1) < n_known**2 * factor, f"keys must be pairs of {n_known} ids")


def check_unary(model: Any, n_columns: list[int]) -> None:
    """Check that the unary code, if there is one, matches the columns of each depth."""
    if hasattr(model, "unary_"):
        coded = [len(starts) - 1 for starts, _ in model.unary_]
        require(coded == n_columns, f"unary_ must be steps of {n_columns} columns, not {coded}")
